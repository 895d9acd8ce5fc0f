/* LLVM's IR for NVPTX or AMDGPU as one for a CPU: what a GPU has in its words becomes calls of
 * common_fibers.h, by names; what has an assembly text or gives several values,
 * of functions that are added at the end.
 *
 *     call { float, .. } asm sideeffect "mma.. {$0..", "=f.."(i32 %a, ..)
 * -->
 *     call { float, .. } @"mma.."(i32 %a, ..) */
#include "test/common_fibers.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ir/intrinsic.h"

static const struct {
	const char *from, *to;
} words[] = {{"e-p3:32:32-p4:32:32-p5:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64",
		 "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"},
    {"e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9",
	"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"},
    {"nvptx64-nvidia-cuda", "x86_64-pc-linux-gnu"},
    {"amdgcn-amd-amdhsa", "x86_64-pc-linux-gnu"},
    {"@tunec_shared = external addrspace(3) global [0 x i8]",
	"@tunec_shared = global [232448 x i8] zeroinitializer"},
    {" addrspace(1)", ""}, {" addrspace(3)", ""},
    {", addrspace(5)", ""}, {" addrspace(5)", ""},
    {"define amdgpu_kernel", "define"}, {"syncscope(\"workgroup\") ", ""},
    {"@llvm.amdgcn.workitem.id.", "@fibers_tid_"},
    {"@llvm.amdgcn.workgroup.id.", "@fibers_ctaid_"},
    {"@llvm.amdgcn.s.barrier", "@fibers_barrier"},
    {"@llvm.amdgcn.ds.swizzle", "@fibers_swizzle"},
    {"@llvm.nvvm.read.ptx.sreg.tid.", "@fibers_tid_"},
    {"@llvm.nvvm.read.ptx.sreg.ctaid.", "@fibers_ctaid_"},
    {"@llvm.nvvm.barrier0", "@fibers_barrier"},
    {"@llvm.nvvm.shfl.sync.bfly.i32", "@fibers_exchange"},
    {"@llvm.nvvm.f2tf32.rna", "@fibers_tf32"},
    {"@llvm.nvvm.ldmatrix.sync.aligned.m8n8.", "@matrix."},
    {" immarg", ""}, {"@llvm.nvvm.cp.async.commit.group", "@fibers_commit"},
    {"@llvm.nvvm.cp.async.wait.group", "@fibers_wait"},
    {"\"target-cpu\"", "\"cpu\""}, {"\"target-features\"", "\"features\""}};

static const char assembly[] = "asm sideeffect \"";

/* "@wgmma.n64k16.f32.f16.f16.a0b1": its shape and types, and the last two numbers
 * of floats, which say what lies across. */
static void put_group(Buf *out, const char *text, const char *end)
{
	const char *shape = strstr(text, ".m64") + strlen(".m64");
	const char *last = strstr(text, "wgmma.commit") - strlen("0, 0;\\0A");
	bool floats = strstr(text, "k16.") && strstr(text, "k16.") < end;
	buf_printf(out, "@wgmma.%.*s.a%cb%c",
	    (int)(strchr(shape, ' ') - shape), shape, floats ? last[0] : '0',
	    floats ? last[3] : '0');
}

/* The text, up to its first list of registers, becomes the name. */
static const char *put_assembly(Buf *out, const char *text)
{
	const char *name = text + strlen(assembly);
	const char *end = strchr(name, '"'), *list = strstr(name, " {");
	const char *behind = strchr(end, '('); /* the constraints */
	const char *group = strstr(name, "wgmma.mma_async");
	if (group && group < end) {
		put_group(out, name, end);
		return behind;
	}
	if (list && list < end)
		end = list;
	buf_printf(out, "@\"%.*s\"", (int)(end - name), name);
	return behind;
}

static const char *put_word(Buf *out, const char *text)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strncmp(text, words[i].from, strlen(words[i].from))) {
			buf_puts(out, words[i].to);
			return text + strlen(words[i].from);
		}
	buf_putc(out, *text);
	return text + 1;
}

static const char *put_line(Buf *out, const char *text)
{
	while (*text && *text != '\n')
		text = strncmp(text, assembly, strlen(assembly))
		    ? put_word(out, text) : put_assembly(out, text);
	return *text ? text + 1 : text;
}

/* In place of a declaration. */
static void define_matrix(Buf *out, const char *line)
{
	const char *name = strchr(line, '@'), *count = strstr(name, ".x") + 2;
	const char *type = *count == '1' ? "i32"
	    : *count == '2' ? "{ i32, i32 }" : "{ i32, i32, i32, i32 }";
	buf_printf(out,
	    "define internal %s %.*s(ptr %%row) {\n"
	    "  %%to = alloca %s\n"
	    "  call void @fibers_matrix(ptr %%to, ptr %%row, i32 %c, i32 %d)\n"
	    "  %%all = load %s, ptr %%to\n"
	    "  ret %s %%all\n}\n",
	    type, (int)(strchr(name, '(') - name), name, type, *count,
	    strstr(name, ".trans") != NULL, type, type);
}

static void put_stores(Buf *out, const char *type, char name, int n)
{
	for (int i = 0; i < n; i++)
		buf_printf(out,
		    "  %%p%c%d = getelementptr i32, ptr %%%c, i32 %d\n"
		    "  store %s %%%c%d, ptr %%p%c%d\n",
		    name, i, name, i, type, name, i, name, i);
}

static const char *ptx_name(DType type)
{
	return type == DT_I8 ? "s8" : type == DT_I32 ? "s32" : dtype_name(type);
}

static const char *operand_name(DType type)
{
	return type == DT_F32 ? "tf32" : ptx_name(type);
}

static void define_mma(Buf *out, const Intrinsic *in)
{
	const char *type = in->sum == DT_F32 ? "float" : "i32";
	int word = fragment_word(in), size = (int)strlen(in->name) + 1;
	int n = (fragment_lanes(in, false) + fragment_lanes(in, true)) / word;
	buf_printf(out,
	    "@%s = internal constant [%d x i8] c\"%s\\00\"\n"
	    "define internal { %s, %s, %s, %s } @\"mma.sync.aligned.m%dn%dk%d."
	    "row.col.%s.%s.%s.%s\"(",
	    in->name, size, in->name, type, type, type, type, in->rows,
	    in->columns, in->terms, ptx_name(in->sum), operand_name(in->a),
	    operand_name(in->b), ptx_name(in->sum));
	for (int i = 0; i < n; i++)
		buf_printf(out, "i32 %%w%d, ", i);
	for (int i = 0; i < FRAGMENT_SUMS; i++)
		buf_printf(out, "%s%s %%c%d", i ? ", " : "", type, i);
	buf_printf(out, ") {\n  %%w = alloca [%d x i32]\n"
	    "  %%c = alloca [%d x i32]\n", n, FRAGMENT_SUMS);
	put_stores(out, "i32", 'w', n);
	put_stores(out, type, 'c', FRAGMENT_SUMS);
	buf_printf(out,
	    "  call void @fibers_mma(ptr @%s, ptr %%w, ptr %%c)\n"
	    "  %%all = load { %s, %s, %s, %s }, ptr %%c\n"
	    "  ret { %s, %s, %s, %s } %%all\n}\n",
	    in->name, type, type, type, type, type, type, type, type);
}

/* If the text has it. */
static void define_group(Buf *out, const Intrinsic *in, int n, int across)
{
	const char *type = in->sum == DT_F32 ? "float" : "i32";
	int size = (int)strlen(in->name) + 1, a = across % 2, b = across / 2;
	char name[80];
	snprintf(name, sizeof name, "@wgmma.n%dk%d.%s.%s.%s.a%db%d(", n,
	    in->terms / 4, ptx_name(in->sum), ptx_name(in->a), ptx_name(in->b),
	    a, b);
	if (!strstr(buf_text(out), name))
		return;
	buf_printf(out,
	    "@%s.%d.%d = internal constant [%d x i8] c\"%s\\00\"\n"
	    "define internal { ", in->name, n, across, size, in->name);
	for (int i = 0; i < n / 2; i++)
		buf_printf(out, "%s%s", i ? ", " : "", type);
	buf_printf(out, " } %s", name);
	for (int i = 0; i < 8; i++)
		buf_printf(out, "i64 %%t%d, ", i);
	for (int i = 0; i < n / 2; i++)
		buf_printf(out, "%s%s %%c%d", i ? ", " : "", type, i);
	buf_printf(out, ") {\n  %%t = alloca [8 x i64]\n"
	    "  %%c = alloca [%d x i32]\n", n / 2);
	for (int i = 0; i < 8; i++)
		buf_printf(out, "  %%pt%d = getelementptr i64, ptr %%t, i32 %d\n"
		    "  store i64 %%t%d, ptr %%pt%d\n", i, i, i, i);
	put_stores(out, type, 'c', n / 2);
	buf_printf(out,
	    "  call void @fibers_wgmma(ptr @%s.%d.%d, ptr %%c, i32 %d, ptr "
	    "%%t, i32 %d, i32 %d)\n", in->name, n, across, n, a, b);
	for (int i = 0; i < 2; i++) {
		buf_puts(out, i ? "  ret { " : "  %all = load { ");
		for (int k = 0; k < n / 2; k++)
			buf_printf(out, "%s%s", k ? ", " : "", type);
		buf_puts(out, i ? " } %all\n}\n" : " }, ptr %c\n");
	}
}

static void define_groups(Buf *out, const Intrinsic *in)
{
	for (int n = 8; n <= GROUP_MOST_COLUMNS; n *= 2)
		for (int across = 0; across < 4; across++)
			define_group(out, in, n, across);
}

static void define_copy(Buf *out, const char *cache, int bytes)
{
	buf_printf(out,
	    "define internal void @\"cp.async.%s.shared.global [$0], [$1], "
	    "%d;\"(i32 %%to, i64 %%from) {\n"
	    "  call void @fibers_copy(i32 %%to, i64 %%from, i32 %d)\n"
	    "  ret void\n}\n", cache, bytes, bytes);
}

void fibers_ir(Buf *out, const char *text)
{
	while (*text) {
		Buf line = {0};
		text = put_line(&line, text);
		if (!strncmp(buf_text(&line), "declare", 7) &&
		    strstr(buf_text(&line), "@matrix."))
			define_matrix(out, buf_text(&line));
		else
			buf_printf(out, "%s\n", buf_text(&line));
		buf_free(&line);
	}
	buf_puts(out, "declare void @fibers_matrix(ptr, ptr, i32, i32)\n"
	    "declare void @fibers_mma(ptr, ptr, ptr)\n"
	    "declare void @fibers_copy(i32, i64, i32)\n");
#define FRAGMENT(name, ...) \
	define_mma(out, intrinsic_at(intrinsic_find(#name)));
#include "ir/fragments.def"
#undef FRAGMENT
#define WARPGROUP(name, ...) \
	define_groups(out, intrinsic_at(intrinsic_find(#name)));
#include "ir/warpgroups.def"
#undef WARPGROUP
	buf_puts(out, "declare void @fibers_wgmma(ptr, ptr, i32, ptr, i32, i32)\n"
	    "define internal void @\"fence.proxy.async.shared::cta;\"() {\n"
	    "  ret void\n}\n");
	define_copy(out, "ca", 4);
	define_copy(out, "ca", 8);
	define_copy(out, "cg", 16);
}
