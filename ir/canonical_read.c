/* A canonical text read back, for what a log says of operators that no file at
 * hand has: it is written as a file and read as one.
 *
 *     i0 const f32[8]                   inputs:
 *     d0[a0 < 8]: f32 = (i0[a0] …)        x0: const f32[8]
 *     out d0                            compute: |
 *                                         d0[a0 < 8]: f32 = (x0[a0] …)
 *                                       outputs: [d0]
 *
 * What comes of it is the same operator only where it has the same text again. */
#include <ctype.h>
#include <string.h>

#include "ir/program.h"

typedef struct {
	Buf inputs, compute, outputs;
	Numerics numerics;
} CanonicalParts;

static bool begins(const char *line, size_t size, const char *word)
{
	size_t n = strlen(word);
	return size > n && !memcmp(line, word, n);
}

/* Inputs are x0 …: i8 is a word of the language. */
static void put_definition(Buf *out, const char *line, size_t size)
{
	buf_puts(out, "  ");
	for (size_t i = 0; i < size; i++) {
		size_t end = i + 1;
		while (end < size && isdigit((unsigned char)line[end]))
			end++;
		bool input = line[i] == 'i' && end > i + 1 && end < size &&
		    line[end] == '[' && !isalnum((unsigned char)line[i - 1]);
		buf_putc(out, input ? 'x' : line[i]);
	}
	buf_putc(out, '\n');
}

static void put_line(CanonicalParts *p, const char *line, size_t size)
{
	const char *space = memchr(line, ' ', size);
	if (!space)
		return;
	size_t name = (size_t)(space - line), rest = size - name - 1;
	if (begins(line, size, "out "))
		buf_printf(&p->outputs, "%s%.*s", p->outputs.size ? ", " : "",
		    (int)rest, space + 1);
	else if (begins(line, size, "numerics "))
		p->numerics = space[1] == 'e' ? NUMERICS_EXACT
		    : space[1] == 'f'	      ? NUMERICS_FAST
					      : NUMERICS_DEFAULT;
	else if (*line == 'i')
		buf_printf(&p->inputs, "  x%.*s: %.*s\n", (int)name - 1,
		    line + 1, (int)rest, space + 1);
	else if (*line == 'd')
		put_definition(&p->compute, line, size);
}

/* The file; it lives in the arena. */
static Source *file_of(Arena *arena, const char *op_text, Numerics *numerics)
{
	Source *source = NEW(arena, Source);
	CanonicalParts p = {0};
	for (const char *line = op_text; *line;) {
		size_t size = strcspn(line, "\n");
		put_line(&p, line, size);
		line += size + (line[size] == '\n');
	}
	source->name = "a record";
	source->text = arena_printf(arena,
	    "tunec: 1\nname: record\ninputs:\n%scompute: |\n%soutputs: [%s]\n",
	    buf_text(&p.inputs), buf_text(&p.compute), buf_text(&p.outputs));
	source->size = strlen(source->text);
	*numerics = p.numerics;
	buf_free(&p.inputs);
	buf_free(&p.compute);
	buf_free(&p.outputs);
	return source;
}

Program *canonical_read(Arena *arena, const char *op_text)
{
	Diag diag = {0};
	Numerics numerics;
	const Source *source = file_of(arena, op_text, &numerics);
	Spec *spec = spec_parse(arena, source, &diag);
	Program *p = spec
	    ? spec_program(arena, spec, NULL, NULL, 0, numerics, &diag)
	    : NULL;
	diag_free(&diag);
	return p && !strcmp(p->op_text, op_text) ? p : NULL;
}
