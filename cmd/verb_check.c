/* tunec check: parse, type-check, prove bounds; print what was understood.
 *
 *     conv2d:resnet18_c6: 231.4 MFLOP, 1.393 MB, 166 FLOP a byte
 *       data    f32[1, 128, 28, 28]  input
 *       weight  const f32[128, 128, 3, 3]  input
 *       conv    f32[1, 128, 28, 28]  231.2 MFLOP
 *       out     f32[1, 128, 28, 28]  200.7 kFLOP  output
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cmd/cmd.h"

typedef struct {
	Common common;
} Check;

static double intensity(const Program *p)
{
	return p->bytes ? (double)p->flops / (double)p->bytes : 0;
}

/* --- for machines ------------------------------------------------------------ */

static json_t *json_argument(const Buffer *b)
{
	json_t *o = json_buffer(b);
	json_object_set_new(o, "const", json_boolean(b->is_const));
	return o;
}

/* JSON has no infinity. */
static json_t *json_param(const Param *q)
{
	if (!q->is_float)
		return json_integer(q->value);
	return isfinite(q->real) ? json_real(q->real)
				 : json_string(q->real > 0 ? "inf" : "-inf");
}

static json_t *json_params(const Program *p)
{
	json_t *o = json_object();
	for (int i = 0; i < p->nparams; i++) {
		const Param *q = &p->params[i];
		json_object_set_new(o, q->name, json_param(q));
	}
	return o;
}

static json_t *json_definitions(const Program *p)
{
	json_t *list = json_array();
	for (int i = 0; i < p->ndefinitions; i++) {
		const Definition *d = &p->definitions[i];
		json_t *o = json_buffer(&p->buffers[d->buffer]);
		json_object_set_new(o, "flops", json_integer(d->flops));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *json_program(const Program *p)
{
	json_t *o = json_object();
	json_t *inputs = json_array(), *outputs = json_array();
	for (int i = 0; i < p->ninputs; i++)
		json_array_append_new(inputs, json_argument(&p->buffers[i]));
	for (int i = 0; i < p->noutputs; i++)
		json_array_append_new(
		    outputs, json_argument(&p->buffers[p->outputs[i]]));
	json_object_set_new(o, "name", json_string(p->name));
	json_object_set_new(o, "case", json_string(p->case_name));
	json_object_set_new(o, "symbol", json_string(p->symbol));
	json_object_set_new(o, "params", json_params(p));
	json_object_set_new(o, "inputs", inputs);
	json_object_set_new(o, "outputs", outputs);
	json_object_set_new(o, "definitions", json_definitions(p));
	json_object_set_new(o, "flops", json_integer(p->flops));
	json_object_set_new(o, "bytes", json_integer(p->bytes));
	json_object_set_new(o, "intensity", json_real(intensity(p)));
	json_object_set_new(o, "op", json_string(p->op));
	return o;
}

static void print_json(const Program *p)
{
	json_t *o = json_program(p);
	char *line = json_dumps(o, JSON_PRESERVE_ORDER);
	out_json_text(line);
	free(line);
	json_decref(o);
}

/* --- for people -------------------------------------------------------------- */

/* "231 M", "1.4 k", "12 ": four digits at most and a decimal prefix. */
static void scaled(char text[32], int64_t value)
{
	static const char prefixes[] = " kMGTPE";
	double x = (double)value;
	int k = 0;
	while (x >= 999.95 && prefixes[k + 1]) {
		x /= 1000;
		k++;
	}
	if (k)
		snprintf(text, 32, "%.4g %c", x, prefixes[k]);
	else
		snprintf(text, 32, "%" PRId64 " ", value);
}

static void print_type(const Buffer *b)
{
	out_text("%s%s[", b->is_const ? "const " : "", dtype_name(b->type));
	for (int i = 0; i < b->ndim; i++)
		out_text("%s%" PRId64, i ? ", " : "", b->shape[i]);
	out_text("]");
}

static int name_width(const Program *p)
{
	size_t width = 0;
	for (int i = 0; i < p->ninputs; i++)
		if (strlen(p->buffers[i].name) > width)
			width = strlen(p->buffers[i].name);
	for (int i = 0; i < p->ndefinitions; i++)
		if (strlen(p->definitions[i].name) > width)
			width = strlen(p->definitions[i].name);
	return (int)width;
}

static void print_definition(const Program *p, const Definition *d, int width)
{
	char flops[32];
	const Buffer *b = &p->buffers[d->buffer];
	out_text("  %-*s  ", width, d->name);
	print_type(b);
	scaled(flops, d->flops);
	if (d->flops)
		out_text("  %sFLOP", flops);
	out_text("%s\n", b->role == BUFFER_OUTPUT ? "  output" : "");
}

static void print_text(const Program *p, bool verbose)
{
	char flops[32], bytes[32];
	int width = name_width(p);
	scaled(flops, p->flops);
	scaled(bytes, p->bytes);
	out_text("%s%s%s: %sFLOP, %sB, %.3g FLOP a byte\n", p->name,
	    *p->case_name ? ":" : "", p->case_name, flops, bytes,
	    intensity(p));
	for (int i = 0; i < p->ninputs; i++) {
		out_text("  %-*s  ", width, p->buffers[i].name);
		print_type(&p->buffers[i]);
		out_text("  input\n");
	}
	for (int i = 0; i < p->ndefinitions; i++)
		print_definition(p, &p->definitions[i], width);
	if (verbose)
		out_text("  op %s\n", p->op);
}

/* --- the verb ------------------------------------------------------------------ */

static int check_one(Arena *arena, const Program *p, void *context)
{
	const Common *common = context;
	(void)arena;
	if (common->json)
		print_json(p);
	else if (!common->quiet)
		print_text(p, common->verbose);
	return EXIT_DONE;
}

static int check_run(void *options, int n, char **operands)
{
	Common *common = &((Check *)options)->common;
	common->apply_templates = true;
	return specs_each(common, n, operands, check_one, common);
}

const Verb verb_check = {
	.name = "check",
	.operands = "SPEC[:CASE]...",
	.summary = "parse, type-check, prove bounds; print what was understood",
	.size = sizeof(Check),
	.specs = true,
	.min_operands = 1,
	.max_operands = -1,
	.run = check_run,
};
