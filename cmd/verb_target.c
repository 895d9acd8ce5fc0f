/* tunec target: what this machine is, which targets and modules work here and
 * why one does not. */
#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cmd/target_verb.h"
#include "tuner/model/kind.h"
#include "codegen/codegen.h"
#include "codegen/cuda/cuda.h"
#include "codegen/hip/hip.h"
#include "tuner/device/device.h"
#include "tuner/measure/measure.h"
#include "tuner/tuner.h"

static const Option options[] = {
    {"print", 0, OPTION_FLAG, offsetof(TargetOptions, print), NULL, NULL,
	"print only the canonical text, for a Makefile"},
    {"cpus", 0, OPTION_FLAG, offsetof(TargetOptions, cpus), NULL, NULL,
	"list the names that -mcpu= takes, of this machine's\n"
	"architecture or that of TARGET"},
    {"row", 0, OPTION_FLAG, offsetof(TargetOptions, row), NULL, NULL,
	"print what code costs there, as --machine takes it"},
    {"machine", 0, OPTION_TEXT, offsetof(TargetOptions, machine), "FILE", NULL,
	"with --row: as the row in FILE has it\n"
	"(default: $TUNEC_MACHINE, or the CPU's of the table)"},
    {"measure", 0, OPTION_FLAG, offsetof(TargetOptions, measure), NULL, NULL,
	"measure what code costs on this machine, and print that row"},
    {"time", 0, OPTION_TEXT, offsetof(TargetOptions, time), "TIME", "60s",
	"with --measure: what is not measured by then stays as it was"},
    {NULL, 'o', OPTION_TEXT, offsetof(TargetOptions, output), "FILE", NULL,
	"with --measure: write the row into FILE"},
    {0}};

/* A kind of target or a module: whether it works, and its version or why not.
 */
typedef struct {
	const char *name;
	bool works;
	char text[1200];
} Part;

/* What a driver has here. */
typedef struct {
	DeviceFacts *facts;
	int n;
	Error error; /* why none */
} Devices;
enum { DRIVERS_MAX = 4 };

enum {
	PART_LLVM,
	PART_C,
	PART_CUDA,
	PART_HIP,
	PART_OPENCL,
	NKINDS,
	MODULE_LLVM = NKINDS,
	MODULE_XGBOOST,
	NPARTS
};

static void try_llvm(Part *target, Part *module)
{
	Error error = {0};
	const LlvmModule *llvm = llvm_module(&error);
	module->works = target->works = llvm != NULL;
	snprintf(module->text, sizeof module->text, "%s%s", llvm ? "LLVM " : "",
	    llvm ? llvm->llvm_version() : error.text);
	snprintf(target->text, sizeof target->text, "%s", module->text);
}

static void try_xgboost(Part *module)
{
	Error error = {0};
	module->works = xgboost_module(&error) != NULL;
	snprintf(module->text, sizeof module->text, "%s",
	    module->works ? "" : error.text);
}

/* Emitting C needs nothing; compiling it here needs the compiler. */
static void try_c(Part *target)
{
	const char *cc = getenv("CC");
	if (!cc || !*cc)
		cc = "cc";
	Buf command = {0};
	buf_printf(&command, "%s --version >/dev/null 2>&1 </dev/null", cc);
	int state = system(command.data);
	buf_free(&command);
	target->works = true;
	snprintf(target->text, sizeof target->text, "%s",
	    WIFEXITED(state) && !WEXITSTATUS(state)
		? ""
		: "emitted, but not compiled here: no C compiler");
}

/* PTX by LLVM or NVRTC, assembled by ptxas: what there is of these. */
static void try_cuda(Arena *arena, Part *target, const Part *llvm)
{
	Error error = {0};
	NvrtcFacts nvrtc;
	bool found = !nvrtc_find(arena, &nvrtc, &error);
	const char *ptxas = toolkit_program(arena, "ptxas");
	target->works = llvm->works || found;
	snprintf(target->text, sizeof target->text,
	    "PTX by LLVM (%.400s) or NVRTC (%.300s); cubins by "
	    "ptxas (%.300s)",
	    llvm->works ? "works" : llvm->text,
	    found ? arena_printf(arena, "%d.%d, %s", nvrtc.major, nvrtc.minor,
			nvrtc.path)
		  : "missing: pip install nvidia-cuda-nvrtc",
	    ptxas ? ptxas : "missing: pip install nvidia-cuda-nvcc");
}

/* Code by LLVM, linked by lld; nothing here runs it. */
static void try_hip(Arena *arena, Part *target, const Part *llvm)
{
	const char *lld = hsaco_linker(arena);
	target->works = llvm->works;
	snprintf(target->text, sizeof target->text,
	    "code by LLVM (%.400s); .hsaco by ld.lld (%.300s); built, not run "
	    "here",
	    llvm->works ? "works" : llvm->text,
	    lld ? lld : "missing: apt install lld-19, or ROCm");
}

/* Emitting OpenCL C needs nothing; a device's driver builds and runs it. */
static void try_opencl(Arena *arena, Part *target, const Devices *devices)
{
	Error error = {0};
	int usable = device_choose(devices->facts, devices->n, true, 0);
	target->works = target_parse(arena, target->name, &error) != NULL;
	if (!target->works)
		snprintf(target->text, sizeof target->text, "%s", error.text);
	else if (usable >= 0)
		snprintf(target->text, sizeof target->text, "%s",
		    devices->facts[usable].version);
	else
		snprintf(target->text, sizeof target->text,
		    "emitted, but not run here: %s",
		    devices->n ? "its devices have no compiler or no timers"
			       : devices->error.text);
}

static void find_devices(Arena *arena, Devices *out)
{
	for (int i = 0; device_drivers[i]; i++) {
		assert(i < DRIVERS_MAX);
		device_probe(device_drivers[i], arena, &out[i].facts,
		    &out[i].n, &out[i].error);
	}
}

static const Devices *devices_of(const Devices *all, const char *name)
{
	int i = 0;
	while (strcmp(device_drivers[i]->name, name))
		i++;
	return &all[i];
}

static void find_parts(
    Arena *arena, const Devices *devices, Part parts[NPARTS])
{
	static const char *const names[NPARTS] = {
	    "llvm", "c", "cuda", "hip", "opencl",
	    "tunec-llvm.so", "tunec-xgboost.so"};
	for (int i = 0; i < NPARTS; i++)
		parts[i].name = names[i];
	try_llvm(&parts[PART_LLVM], &parts[MODULE_LLVM]);
	try_c(&parts[PART_C]);
	try_cuda(arena, &parts[PART_CUDA], &parts[MODULE_LLVM]);
	try_hip(arena, &parts[PART_HIP], &parts[MODULE_LLVM]);
	try_opencl(
	    arena, &parts[PART_OPENCL], devices_of(devices, "opencl"));
	try_xgboost(&parts[MODULE_XGBOOST]);
}

/* --- this machine --------------------------------------------------------- */

static void print_caches(const HostFacts *h)
{
	const int64_t bytes[] = {h->l1_bytes, h->l2_bytes, h->l3_bytes};
	const char *before = "caches    ";
	for (int i = 0; i < 3; i++) {
		if (!bytes[i])
			continue;
		bool mib = bytes[i] % (1 << 20) == 0;
		out_text("%sL%d %lld %s", before, i + 1,
		    (long long)bytes[i] >> (mib ? 20 : 10),
		    mib ? "MiB" : "KiB");
		before = ", ";
	}
	if (*before == ',')
		out_text("\n");
}

/* In the largest unit that it is a whole number of. */
static const char *format_bytes(Arena *arena, int64_t bytes)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
	int unit = 0;
	double x = (double)bytes;
	for (; unit < 3 && x >= 1024; unit++)
		x /= 1024;
	return arena_printf(arena, "%.4g %s", x, units[unit]);
}

static void print_device(
    Arena *arena, const char *title, const char *through, const DeviceFacts *f)
{
	out_text("%s  %s %s, %s, %s, driver %s%s\n", title, through,
	    device_type_name(f->type), out_word(arena, f->name),
	    out_word(arena, f->version), out_word(arena, f->driver),
	    f->usable ? "" : "; not usable");
	out_text("          groups of %lld, %s shared (%s), %d units, "
		 "vectors of %d f32, %s%s%s\n",
	    (long long)f->group_threads, format_bytes(arena, f->local_bytes),
	    f->local_dedicated ? "its own" : "plain memory", f->units,
	    f->float_lanes, format_bytes(arena, f->memory_bytes),
	    f->f64 ? ", f64" : "", f->f16 ? ", f16" : "");
}

static void print_devices(Arena *arena, const Devices *devices)
{
	const char *title = "devices ";
	for (int d = 0; device_drivers[d]; d++)
		for (int i = 0; i < devices[d].n; i++) {
			print_device(arena, title, device_drivers[d]->name,
			    &devices[d].facts[i]);
			title = "        ";
		}
}

static void print_text(Arena *arena, const HostFacts *h, const Target *host,
    const Part *parts, const Devices *devices)
{
	out_text("machine   %s, %d CPUs",
	    *h->model ? out_word(arena, h->model) : "unknown", h->cpus);
	if (h->clock_ghz > 0)
		out_text(", %.2f GHz", h->clock_ghz);
	out_text("\n");
	print_caches(h);
	out_text("features  %s\nhost      %s\n", h->features, host->text);
	for (int i = 0; i < NPARTS; i++)
		out_text("%s  %-16s %s%s%s\n",
		    i == 0	       ? "targets "
		    : i == MODULE_LLVM ? "modules "
				       : "        ",
		    parts[i].name, parts[i].works ? "works" : "no",
		    *parts[i].text ? ": " : "",
		    out_word(arena, parts[i].text));
	print_devices(arena, devices);
}

static json_t *devices_json(const Devices *devices)
{
	json_t *list = json_array();
	for (int d = 0; device_drivers[d]; d++)
		for (int i = 0; i < devices[d].n; i++)
			json_array_append_new(list,
			    device_json(
				device_drivers[d], &devices[d].facts[i]));
	return list;
}

static json_t *parts_json(const Part *parts, int begin, int end)
{
	json_t *list = json_object();
	for (int i = begin; i < end; i++)
		json_object_set_new(list, parts[i].name,
		    json_pack("{sbss}", "works", parts[i].works,
			parts[i].works ? "version" : "why", parts[i].text));
	return list;
}

static void print_json(const HostFacts *h, const Target *host,
    const Part *parts, const Devices *devices)
{
	json_t *machine = json_pack("{sssssisIsIsIsf}", "model", h->model,
	    "features", h->features, "cpus", h->cpus, "l1_bytes",
	    (json_int_t)h->l1_bytes, "l2_bytes", (json_int_t)h->l2_bytes,
	    "l3_bytes", (json_int_t)h->l3_bytes, "clock_ghz", h->clock_ghz);
	json_t *all = json_pack("{sssososo}", "host", host->text, "machine",
	    machine, "targets", parts_json(parts, 0, NKINDS), "modules",
	    parts_json(parts, NKINDS, NPARTS));
	json_object_set_new(all, "devices", devices_json(devices));
	out_json(all);
	json_decref(all);
}

static int show_machine(Arena *arena, const TargetOptions *o)
{
	Error error = {0};
	HostFacts facts;
	Part parts[NPARTS] = {{0}};
	Devices devices[DRIVERS_MAX] = {{0}};
	Target *host = target_host(arena, &error);
	if (!host) {
		say_error("%s", error.text);
		return exit_of_status(error.status);
	}
	if (o->print) {
		out_text("%s\n", host->text);
		return EXIT_DONE;
	}
	host_facts(arena, &facts);
	find_devices(arena, devices); /* before a module starts threads */
	find_parts(arena, devices, parts);
	if (o->common.json)
		print_json(&facts, host, parts, devices);
	else
		print_text(arena, &facts, host, parts, devices);
	return EXIT_DONE;
}

/* --- one that is named ---------------------------------------------------- */

static int show_target(Arena *arena, const TargetOptions *o, const char *text)
{
	Error error = {0};
	char why[600] = "";
	Target *t = measure_target(arena, text, &error);
	if (!t) {
		say_error("%s", error.text);
		return exit_of_status(error.status);
	}
	bool runs =
	    t->kind == TARGET_C || measure_can(t, false, why, sizeof why);
	if (o->print) {
		out_text("%s\n", t->text);
	} else if (o->common.json) {
		json_t *j = json_pack("{sssbss}", "target", t->text,
		    "runs_here", runs, "why", why);
		out_json(j);
		json_decref(j);
	} else {
		out_text("%s\n%s%s\n", t->text,
		    runs ? "runs here" : "does not run here: ", why);
	}
	return EXIT_DONE;
}

/* Of an llvm target, as LLVM lists them. */
static int show_cpus(Arena *arena, const TargetOptions *o, const char *text)
{
	Error error = {0};
	Buf names = {0};
	Target *t = measure_target(arena, text, &error);
	const LlvmModule *llvm = t ? llvm_module(&error) : NULL;
	if (t && t->kind != TARGET_LLVM)
		error_set(&error, STATUS_UNSUPPORTED,
		    "target '%s' has no -mcpu=", t->text);
	bool listed = llvm && t->kind == TARGET_LLVM &&
	    llvm->cpus(t->triple, &names, &error);
	if (listed)
		error.status = STATUS_OK;
	if (error.status)
		say_error("%s", error.text);
	else if (!o->common.json)
		out_text("%s", buf_text(&names));
	for (char *name = error.status || !o->common.json
		 ? NULL
		 : strtok(names.data, "\n");
	     name; name = strtok(NULL, "\n")) {
		json_t *json = json_pack("{ss}", "cpu", name);
		out_json(json);
		json_decref(json);
	}
	buf_free(&names);
	return exit_of_status(error.status);
}

static int target_run(void *values, int n, char **operands)
{
	const TargetOptions *o = values;
	Arena *arena = arena_new();
	int code = o->measure ? measure_row(arena, o, n)
	    : n		      ? EXIT_DONE
	    : o->cpus	      ? show_cpus(arena, o, "host")
	    : o->row	      ? show_row(arena, o, "host")
			      : show_machine(arena, o);
	for (int i = 0; i < n && !o->measure; i++)
		code = exit_worse(code,
		    o->cpus	 ? show_cpus(arena, o, operands[i])
			: o->row ? show_row(arena, o, operands[i])
				 : show_target(arena, o, operands[i]));
	arena_free(arena);
	return code;
}

const Verb verb_target = {
    .name = "target",
    .operands = "[TARGET]...",
    .summary = "what this machine is, which targets and modules work here",
    .text = "With TARGETs: their canonical text, and whether code for them "
	    "runs here.\n",
    .options = options,
    .size = sizeof(TargetOptions),
    .max_operands = -1,
    .run = target_run,
};
