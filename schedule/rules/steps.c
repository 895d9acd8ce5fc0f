/* The steps that rules write: trace text in which a loop may be missing, and one line
 * stands for a step of each of several loops.  What is missing is left out here, so
 * that a rule need not ask at each comma whether there is something on both sides.
 *
 *     reorder(y.h, , y_i0, y_j0, )        reorder(y.h, y_i0, y_j0)
 *     each unroll(y_i1, , y_j1)      -->  unroll(y_i1)
 *                                         unroll(y_j1)
 *     vectorize(, 8)                      nothing
 *
 * A loop is its name, one that is missing "", and several are names with commas. */
#include "schedule/rules/rules.h"

#include <assert.h>
#include <string.h>

void rule_put(Rules *r, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	buf_vprintf(&r->text, format, args);
	va_end(args);
}

const char *rule_plain_name(char *name)
{
	for (char *p = name; *p; p++)
		if (*p == '~')
			*p = '_';
	return name;
}

const char *rule_name(
    Rules *r, const Block *block, const char *axis, const char *suffix)
{
	return rule_plain_name(
	    arena_printf(r->arena, "%s_%s%s", block->name, axis, suffix));
}

/* --- loops --------------------------------------------------------------------- */

const char *rule_loop(
    const Rules *r, const char *stage, const Block *b, int axis)
{
	return axis < 0
	    ? ""
	    : arena_printf(r->arena, "%s.%s", stage, b->axes[axis].name);
}

const char *rule_join(const Rules *r, const char *loops, const char *more)
{
	return !*loops ? more
	    : !*more   ? loops
		       : arena_printf(r->arena, "%s, %s", loops, more);
}

const char *rule_and(const Rules *r, const char *loops, const char *stage,
    const Block *b, int axis)
{
	return rule_join(r, loops, rule_loop(r, stage, b, axis));
}

const char *rule_loops(const Rules *r, const char *stage, const Block *b,
    int first, int end, int but, int nor)
{
	const char *loops = "";
	for (int a = first; a < end; a++)
		if (a != but && a != nor)
			loops = rule_and(r, loops, stage, b, a);
	return loops;
}

const char *rule_dims(
    const Rules *r, const char *copy, int first, int end, int but)
{
	const char *dims = "";
	for (int d = first; d < end; d++)
		if (d != but)
			dims = rule_join(r, dims,
			    arena_printf(
				r->arena, *copy ? "%s.x%d" : "%sx%d", copy, d));
	return dims;
}

const char *rule_fuse(Rules *r, const char *loops, const char *name)
{
	if (!strchr(loops, ','))
		return loops;
	rule_put(r, "%s = fuse(%s)\n", name, loops);
	return name;
}

/* --- sizes ---------------------------------------------------------------------- */

const char *rule_size(const Rules *r, int64_t n)
{
	return arena_printf(r->arena, "%lld", (long long)n);
}

const char *rule_and_size(const Rules *r, const char *sizes, int64_t n)
{
	return rule_join(r, sizes, rule_size(r, n));
}

const char *rule_powers(const Rules *r, int64_t first, int64_t most)
{
	const char *sizes = "";
	assert(first > 0);
	for (int64_t n = first; n <= most; n *= 2)
		sizes = rule_and_size(r, sizes, n);
	return sizes;
}

const char *rule_sizes(const Rules *r, const int *values, int64_t most)
{
	const char *sizes = "";
	assert(values[0] && "one is there in any case");
	for (int i = 0; values[i]; i++)
		if (values[i] <= most || !i)
			sizes = rule_and_size(r, sizes, values[i]);
	return sizes;
}

/* --- splits --------------------------------------------------------------------- */

enum { PARTS_MOST = 6 };

static const char *const *split(Rules *r, const char *loop, const char *prefix,
    const char *suffixes, const char *sizes, va_list args)
{
	const char **parts = NEW_N(r->arena, const char *, PARTS_MOST);
	const char *all = "";
	int n = 0;
	for (const char *p = suffixes; *p; n++) {
		int length = (int)strcspn(p, " ");
		assert(n < PARTS_MOST);
		parts[n] = !*loop ? ""
				  : rule_plain_name(arena_printf(
					r->arena, "%s%.*s", prefix, length, p));
		all = rule_join(r, all, parts[n]);
		p += length + (p[length] == ' ');
	}
	while (n < PARTS_MOST)
		parts[n++] = "";
	if (*loop) {
		rule_put(r, "%s = split(%s, ", all, loop);
		buf_vprintf(&r->text, sizes, args);
		rule_put(r, ")\n");
	}
	return parts;
}

const char *const *rule_split_loop(Rules *r, const char *loop,
    const char *prefix, const char *suffixes, const char *sizes, ...)
{
	va_list args;
	va_start(args, sizes);
	const char *const *parts =
	    split(r, loop, prefix, suffixes, sizes, args);
	va_end(args);
	return parts;
}

const char *const *rule_split(Rules *r, const char *stage, const Block *b,
    int axis, const char *suffixes, const char *sizes, ...)
{
	va_list args;
	va_start(args, sizes);
	const char *prefix = axis < 0
	    ? ""
	    : rule_plain_name(
		  arena_printf(r->arena, "%s_%s", stage, b->axes[axis].name));
	const char *const *parts = split(
	    r, rule_loop(r, stage, b, axis), prefix, suffixes, sizes, args);
	va_end(args);
	return parts;
}

RuleSplit rule_tiles(Rules *r, const Block *b, int axis, const char *loop,
    const char *blocks, const char *sizes, int lanes)
{
	const char *name =
	    axis < 0 ? "" : rule_name(r, b, b->axes[axis].name, "");
	int n = *blocks != '\0';
	const char *const *x =
	    rule_split_loop(r, loop ? loop : rule_loop(r, b->name, b, axis),
		name, (lanes ? "b 0 1 v" : "b 0 1") + (n ? 0 : 2),
		"? in tile([%s], [%s], [%s])", blocks, sizes,
		lanes ? rule_size(r, lanes) : "");
	return (RuleSplit){n ? x[0] : "", x[n], x[n + 1], x[n + 2], x[0]};
}

void rule_vectors(Rules *r, const char *unrolled, const char *lane, int lanes)
{
	rule_put(
	    r, "each unroll(%s)\nvectorize(%s, %d)\n", unrolled, lane, lanes);
}

void rule_parallel(Rules *r, const char *loop)
{
	if (r->machine->threads > 1)
		rule_put(r, "parallel(%s)\n", loop);
}

void rule_copy(Rules *r, const RuleBlock *of, const RuleRead *read,
    const char *copy, const char *stage, const char *scope)
{
	bool several = rule_reads_of(of, read->buffer) > 1;
	rule_put(r, "%s = cache_read(%s, %s, %s, %s)\n", copy, stage,
	    r->program->buffers[read->buffer].name, scope,
	    several ? arena_printf(r->arena, "read=%d", read->number) : "");
}

const char *rule_copy_name(const Rules *r, const Block *b, const RuleRead *read)
{
	return rule_plain_name(arena_printf(r->arena, "%s_%s_s%d", b->name,
	    r->program->buffers[read->buffer].name, read->number));
}

void rule_fetch(Rules *r, const char *stage, const char *dims,
    const char *suffixes, const char *threads, int lanes)
{
	const char *plain = rule_plain_name(arena_strdup(r->arena, stage));
	const char *f = arena_printf(r->arena, "%s_f", plain);
	const char *const *x = rule_split_loop(r, rule_fuse(r, dims, f), plain,
	    suffixes, "[_, %s, %s]", threads, lanes ? rule_size(r, lanes) : "");
	int n = ((int)strlen(suffixes) + 1) / 3 - (lanes > 0);
	assert(n > 1 && n <= PARTS_MOST);
	for (int i = 1; i < n; i++)
		rule_put(
		    r, "bind(%s, threadIdx.%c)\n", x[i], suffixes[3 * i + 1]);
	if (lanes)
		rule_vectors(r, "", x[n], lanes);
	rule_put(r, "unroll(%s, 8)\n", x[0]); /* on their way at once */
}

RuleWriter rule_writer(Rules *r, int i, const char *scope)
{
	const Block *block = &r->program->blocks[i];
	int reader = rule_results(r, i) > 1
	    ? -1
	    : rule_elementwise_reader(r, &r->blocks[i]);
	int by = reader < 0 ? i : reader;
	assert(rule_is_open(r, i) && rule_is_open(r, by));
	RuleWriter w = {reader, &r->program->blocks[by],
	    reader < 0 ? rule_name(r, block, "acc", "") : block->name};
	r->blocks[i].scheduled = r->blocks[by].scheduled = true;
	r->blocks[i].host = r->blocks[by].host = by;
	if (reader < 0)
		rule_put(
		    r, "%s = cache_write(%s, %s)\n", w.acc, block->name, scope);
	else
		rule_put(r, "set_scope(%s, %s)\n", w.acc, scope);
	return w;
}

/* --- what is missing ------------------------------------------------------------ */

static bool opens(char c)
{
	return c == '(' || c == '[' || c == '{';
}

static bool closes(const char *p)
{
	return *p == ')' || *p == ']' || *p == '}' || !strncmp(p, " =", 2);
}

/* Without commas that have nothing on one side. */
static const char *without_missing(Arena *arena, const char *line, size_t size)
{
	char *out = arena_alloc(arena, 2 * size + 1);
	size_t n = 0;
	bool comma = false;
	for (size_t i = 0; i < size; i++) {
		if (!strncmp(line + i, "[]", 2)) { /* no sizes */
			i++;
			continue;
		}
		if (line[i] == ',') {
			comma = n && !opens(out[n - 1]);
			while (i + 1 < size && line[i + 1] == ' ')
				i++;
			continue;
		}
		if (comma && !closes(line + i)) {
			out[n++] = ',';
			out[n++] = ' ';
		}
		comma = false;
		out[n++] = line[i];
	}
	out[n] = '\0';
	return out;
}

/* Is the loop missing that the step is of? */
static bool has_none(const char *line, size_t size)
{
	const char *open = memchr(line, '(', size);
	bool several = open &&
	    ((open - line >= 7 && !strncmp(open - 7, "reorder", 7)) ||
		(open - line >= 4 && !strncmp(open - 4, "fuse", 4)) ||
		!strncmp(line, "each ", 5));
	return open && !several && (open[1] == ',' || open[1] == ')');
}

static void put_each(Buf *out, const char *step)
{
	int verb = (int)strcspn(step, "(");
	for (const char *p = step + verb + 1; *p && *p != ')';) {
		int length = (int)strcspn(p, ",)");
		buf_printf(out, "%.*s(%.*s)\n", verb, step, length, p);
		p += length + (p[length] == ',' ? 2 : 0);
	}
}

const char *rule_steps(const Rules *r)
{
	Buf out = {0};
	for (const char *p = buf_text(&r->text); *p;) {
		size_t size = strcspn(p, "\n");
		const char *step = without_missing(r->arena, p, size);
		if (!strncmp(step, "each ", 5))
			put_each(&out, step + 5);
		else if (!has_none(p, size) && !strstr(step, "()"))
			buf_printf(&out, "%s\n", step);
		p += size + (p[size] == '\n');
	}
	const char *text = arena_strdup(r->arena, buf_text(&out));
	buf_free(&out);
	return text;
}

void rule_put_fused(Rules *r, int leader, const char *writer,
    const char *reduce, const char *scope)
{
	const char *own = r->program->blocks[leader].name;
	int left = r->blocks[leader].nfused;
	for (int i = leader; left && i < r->program->nblocks; i++) {
		const Block *block = &r->program->blocks[i];
		const char *acc = block->name;
		left -= r->blocks[i].fused_with == leader;
		if (r->blocks[i].fused_with != leader)
			continue;
		if (reduce != own) {
			acc = rule_name(r, block, "acc", "");
			rule_put(r,
			    "%s = cache_write(%s, %s)\n"
			    "compute_with(%s, %s)\n",
			    acc, block->name, scope, block->name, writer);
		}
		rule_put(r, "compute_with(%s, %s)\n", acc, reduce);
	}
	assert(!left && "those that run in its loops stand behind it");
}
