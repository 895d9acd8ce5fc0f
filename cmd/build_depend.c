/* Rules for make: what each file that tunec build writes is made of. */
#include <string.h>
#include <unistd.h>

#include "cmd/build.h"
#include "lib/escape.h"

/* As make reads names. */
static Status put_name(
    Buf *out, const char *name, MakePlace place, Error *error)
{
	if (escape_make(out, name, place))
		return STATUS_OK;
	return error_set(error, STATUS_INPUT,
	    "-MD: no rule of make can name the file %s", name);
}

static Status put_needed_name(Buf *out, const char *name, Error *error)
{
	buf_putc(out, ' ');
	return put_name(out, name, MAKE_NEEDED, error);
}

static Status put_specs(const ProgramVec *programs, Buf *out, Error *error)
{
	for (int i = 0; i < programs->n; i++) {
		const char *name = programs->at[i]->source->name;
		bool again = !strcmp(name, "-");
		for (int k = 0; k < i; k++)
			again |= !strcmp(name, programs->at[k]->source->name);
		if (!again)
			FORWARD_IF_ERROR(put_needed_name(out, name, error));
	}
	return STATUS_OK;
}

static Status put_needed(OutputPlan *plan, Buf *out, Error *error)
{
	const Build *build = plan->build;
	FORWARD_IF_ERROR(put_specs(plan->programs, out, error));
	if (build->kernel.trace && strcmp(build->kernel.trace, "-"))
		FORWARD_IF_ERROR(
		    put_needed_name(out, build->kernel.trace, error));
	if (build->kernel.trace || build->kernel.schedule)
		return STATUS_OK;
	if (build->kernel.model)
		FORWARD_IF_ERROR(
		    put_needed_name(out, build->kernel.model, error));
	const char *machine = machine_asked(build->kernel.machine);
	if (machine && strcmp(machine, "-"))
		FORWARD_IF_ERROR(put_needed_name(out, machine, error));
	TextVec stores = {0};
	kernels_stores(plan->arena, &build->kernel, &stores);
	for (int i = 0; i < stores.n; i++)
		if (!strcmp(plan_suffix(stores.at[i]), "jsonl") &&
		    !access(stores.at[i], F_OK))
			FORWARD_IF_ERROR(
			    put_needed_name(out, stores.at[i], error));
	return STATUS_OK;
}

/* The rules of the outputs, each into its own file or all into one. */
static Status put_rules(
    OutputPlan *plan, const char *needed, Buf *all, Error *error)
{
	int n = plan->outputs.n;
	for (int i = 0; i < n; i++) {
		const Output o = plan->outputs.at[i];
		if (!o.asked || !strcmp(o.path, "-"))
			continue;
		size_t begin = all->size;
		FORWARD_IF_ERROR(put_name(all, o.path, MAKE_TARGET, error));
		buf_printf(all, ":%s\n", needed);
		if (plan->build->depend_file)
			continue;
		Output file = {arena_printf(plan->arena, "%s.d", o.path), KIND_H,
			false, -1, {0}};
		buf_add(&file.data, all->data + begin, all->size - begin);
		vec_push(plan->arena, &plan->outputs, file);
	}
	return STATUS_OK;
}

Status plan_depend(OutputPlan *plan, Error *error)
{
	const char *path = plan->build->depend_file;
	Buf needed = {0}, all = {0};
	Status status = put_needed(plan, &needed, error);
	if (!status)
		status = put_rules(plan, buf_text(&needed), &all, error);
	buf_free(&needed);
	if (status || !path) {
		buf_free(&all);
		return status;
	}
	Output file = {path, KIND_H, false, -1, all};
	vec_push(plan->arena, &plan->outputs, file);
	return STATUS_OK;
}
