/* What a build system asks of a kernel: its symbol, its arguments, the sizes that
 * it has to give, and where its schedule comes from. */
#include <string.h>

#include "cmd/build.h"
#include "lib/escape.h"

/* -1: it is not packed. */
static json_int_t packed_bytes(const Lowered *l, int buffer)
{
	for (int i = 0; i < l->packs.n; i++)
		if (l->packs.at[i]->pack_input == buffer)
			return (json_int_t)l->packed_bytes[i];
	return -1;
}

static json_t *argument(const Lowered *l, int buffer, const char *role)
{
	const Buffer *b = &l->program->buffers[buffer];
	json_t *o = json_buffer(b);
	json_int_t packed = packed_bytes(l, buffer);
	json_object_set_new(o, "const", json_boolean(b->is_const));
	json_object_set_new(o, "role", json_string(role));
	if (packed >= 0)
		json_object_set_new(o, "packed_bytes", json_integer(packed));
	return o;
}

static json_t *arguments(const Lowered *l)
{
	const Program *p = l->program;
	json_t *list = json_array();
	for (int i = 0; i < p->ninputs; i++)
		json_array_append_new(list, argument(l, i, "input"));
	for (int i = 0; i < p->noutputs; i++)
		json_array_append_new(
		    list, argument(l, p->outputs[i], "output"));
	return list;
}

/* Else words, that say where else the schedule comes from. */
static bool is_id(const char *record)
{
	return strlen(record) == 16 &&
	    strspn(record, "0123456789abcdef") == 16;
}

void build_facts(Buf *out, const Kernel *k)
{
	const Lowered *l = k->lowered;
	const char *record = k->comment.record;
	bool id = is_id(record);
	json_t *o = json_pack("{s:s,s:s,s:s,s:o,s:I,s:s,s:s?,s:s}", "name",
	    l->program->name, "case", l->program->case_name, "symbol",
	    l->kernel->name, "arguments", arguments(l), "workspace_bytes",
	    (json_int_t)l->workspace_bytes, "target", k->comment.target,
	    "record", id ? record : NULL, "schedule", id ? "record" : record);
	Buf text = {0};
	json_print(&text, o);
	escape_json_text(out, buf_text(&text), text.size);
	buf_putc(out, '\n');
	buf_free(&text);
	json_decref(o);
}
