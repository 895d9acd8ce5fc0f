/* How an emitted file begins: the comment, headers, and what each function is told.
 *
 *     c: conv2d                 -->   a comment: by tunec ..., target, record
 *     target with AVX2                #include ..., TUNEC_FUNCTION: target("avx2,fma")
 *
 * Every function names the machine's features in an attribute and is compiled
 * without contraction, so that no flag decides what it computes or how fast; a
 * compiler that is not for the machine gets generic vectors. */
#include "codegen/c/emit_c.h"
#include "lib/escape.h"

/* gcc up to 13 forgets the mask of a load that it makes of one under an `if` in
 * a loop, where the mask is constant and the machine has AVX-512VL: its
 * blendm from memory matches vpblendd, which reads the whole vector, past the
 * end of whatever the `if` guarded (PR target/110309).  At -O3, and at -O2
 * where it vectorizes at all.  It makes masked loads nowhere else, so there is
 * none without if-conversion.  Buffers that end with what a vector may read
 * would not do: inputs end where the caller says. */
static void put_gcc_options(const EmitC *e, Buf *out)
{
	/* The first would carry what the next iteration reads as well through the
	 * loop, in registers that the sums need; the second makes copies of what
	 * follows a branch, with other registers for the sums in each, or, which
	 * is worse where there are few, one register of a sum's values in all
	 * branches, and copies; the next ones make a tree of a sum of integers
	 * and put it behind all its terms; the last would put lanes that are read
	 * one by one together in memory. */
	const char *all = e->isa.plain
	    ? "\"fp-contract=off\""
	    : arena_printf(e->arena,
		  "\"fp-contract=off\", \"no-predictive-commoning\", \\\n"
		  "\t    \"%s\", \"no-tree-reassoc\", "
		  "\"no-tree-ter\", \\\n\t    \"no-tree-slp-vectorize\"%s",
		  e->isa.avx512 ? "no-thread-jumps" : "no-tree-coalesce-vars",
		  e->window ? ", \"live-range-shrinkage\"" : "");
	if (e->conditional)
		buf_printf(out,
		    "/* gcc up to 13 would read past what an `if` guards. */\n"
		    "#if __GNUC__ < 14 && %s\n"
		    "#define TUNEC_OPTIMIZE \\\n"
		    "\toptimize(%s, \"no-tree-loop-if-convert\")\n#else\n",
		    e->isa.avx512
			? "(defined TUNEC_X86 || defined __AVX512VL__)"
			: "defined __AVX512VL__",
		    all);
	buf_printf(out, "#define TUNEC_OPTIMIZE optimize(%s)\n%s", all,
	    e->conditional ? "#endif\n" : "");
}

/* A value of which the compilers of `known` do not see what it is of from there on. */
static void put_barrier(
    Buf *out, const char *why, const char *known, const char *name, char in)
{
	buf_printf(out,
	    "/* %s */\n#if defined __clang__ && %s\n"
	    "#define TUNEC_%s(x) __asm__(\"\" : \"+%c\"(x))\n"
	    "#else\n#define TUNEC_%s(x) ((void)0)\n#endif\n\n",
	    why, known, name, in, name);
}

/* clang 14 makes vpdpbusd of a sum over lanes of u8 by i8 and takes one for the
 * other. */
static void put_barriers(const EmitC *e, Buf *out)
{
	if (e->apart)
		put_barrier(out,
		    "clang 14 exchanges the signs of u8 by i8 in a sum over "
		    "lanes.",
		    "__clang_major__ < 15 && defined __x86_64__", "APART", 'r');
	if (e->kept)
		put_barrier(out,
		    "clang computes a value where an `if` reads it, or behind one.",
		    "defined TUNEC_X86", "KEPT", 'v');
}

/* clang orders instructions for a machine without AVX2 unless told otherwise, and
 * reads vectors before there are registers for them.  gcc takes a vector from memory
 * for each instruction, as if that cost nothing where it crosses lines of the cache;
 * told otherwise it moves sums about that fill the registers. */
static void put_tune(const EmitC *e, Buf *out)
{
	if (!e->isa.avx2)
		return;
	buf_puts(out,
	    "#if __clang_major__ >= 13\n"
	    "#define TUNEC_TUNE \",tune=haswell\"\n");
	if (!e->isa.avx512 && !e->sums)
		buf_puts(out,
		    "#elif !defined __clang__\n"
		    "#define TUNEC_TUNE \",tune=skylake\"\n");
	buf_puts(out, "#else\n#define TUNEC_TUNE\n#endif\n");
}

/* clang aligns the stack for vectors only where it sees before it has given out
 * registers that it needs some of it; else each vector that it keeps there
 * crosses lines of the cache. */
static const char *clang_width(const EmitC *e)
{
	return e->isa.avx512
	    ? ", \\\n\t    min_vector_width(512), force_align_arg_pointer"
	    : e->isa.vector_bytes > 16 ? ", force_align_arg_pointer"
				       : "";
}

static void put_attributes(EmitC *e, Buf *out)
{
	const char *features =
	    e->isa.x86 ? emit_c_x86_features(e->arena, &e->isa) : "";
	const char *width = clang_width(e);
	const char *tune = e->isa.avx2 ? " TUNEC_TUNE" : "";
	if (e->isa.x86)
		buf_printf(out,
		    "#if defined __x86_64__ && %s && \\\n"
		    "    !defined TUNEC_GENERIC\n"
		    "#define TUNEC_X86 1\n#include <immintrin.h>\n#endif\n\n",
		    emit_c_x86_compilers(&e->isa));
	buf_puts(out,
	    "/* The machine of each function; a*b + c is what it says. */\n"
	    "#if defined __clang__\n#pragma STDC FP_CONTRACT OFF\n"
	    "#elif defined __GNUC__\n");
	put_gcc_options(e, out);
	buf_puts(out, "#endif\n");
	put_tune(e, out);
	if (*features)
		buf_printf(out,
		    "#if defined __clang__ && defined TUNEC_X86\n"
		    "#define TUNEC_FUNCTION \\\n"
		    "\t__attribute__((target(\"%s\"%s)%s))\n"
		    "#elif defined TUNEC_X86\n"
		    "#define TUNEC_FUNCTION \\\n"
		    "\t__attribute__((target(\"%s\"%s), TUNEC_OPTIMIZE))\n#elif",
		    features, tune, width, features, tune);
	else
		buf_puts(out, "#if");
	buf_puts(out,
	    " defined TUNEC_OPTIMIZE\n"
	    "#define TUNEC_FUNCTION __attribute__((TUNEC_OPTIMIZE))\n"
	    "#else\n#define TUNEC_FUNCTION\n#endif\n"
	    "#ifdef __GNUC__\n"
	    "#define TUNEC_HELPER static inline __attribute__((unused)) "
	    "TUNEC_FUNCTION\n"
	    "#else\n#define TUNEC_HELPER static inline TUNEC_FUNCTION\n"
	    "#endif\n\n");
}

void emit_c_title(Buf *out, const Program *p)
{
	buf_puts(out, "/* ");
	escape_comment(out, p->name);
	if (*p->case_name) {
		buf_putc(out, ':');
		escape_comment(out, p->case_name);
	}
}

static void comment_field(Buf *out, const char *key, const char *text)
{
	buf_printf(out, " * %s: ", key);
	escape_comment(out, text);
	buf_putc(out, '\n');
}

void emit_comment(
    Buf *out, const Lowered *const *lowered, int n, const EmitComment *comments)
{
	for (int i = 0; i < n; i++) {
		const Program *p = lowered[i]->program;
		const EmitComment *c = &comments[i];
		emit_c_title(out, p);
		buf_printf(out, ", by tunec %s\n", TUNEC_VERSION);
		comment_field(out, "target", c->target);
		comment_field(out, "record", c->record);
		if (c->measured && *c->measured)
			comment_field(out, "measured", c->measured);
		buf_puts(out, " */\n");
	}
}

void emit_c_headers(EmitC *e, Buf *out)
{
	if (e->math)
		buf_puts(out, "#include <math.h>\n");
	buf_puts(out,
	    "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n");
	put_attributes(e, out);
	put_barriers(e, out);
	if (e->omp)
		buf_puts(out,
		    "#ifdef _OPENMP\nint omp_get_thread_num(void);\n"
		    "int omp_get_num_threads(void);\n"
		    "#define TUNEC_THREAD omp_get_thread_num()\n"
		    "#define TUNEC_THREADS omp_get_num_threads()\n"
		    "#else\n#define TUNEC_THREAD 0\n"
		    "#define TUNEC_THREADS 1\n#endif\n\n");
}
