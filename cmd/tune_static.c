/* tunec tune for a GPU that is not here: the best candidates of the analytic model
 * are lowered, compiled and looked at.  Nothing is measured or stored.
 *
 *     samples -> the model's best, and their neighbours -> PTX -> ptxas -v
 *         -> registers, spills, shared memory, blocks that run at once
 *
 * Each group of a program is an operator of its own, as when it is tuned. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/tune_verb.h"
#include "codegen/cuda/cuda.h"
#include "lib/hash.h"
#include "lib/sort.h"
#include "tuner/measure/measure.h"

enum { SAMPLES = 1024, ROUNDS = 4, PARENTS = 64, CHILDREN = 8,
	MOST_FAILED = 32 };

typedef struct {
	Candidate candidate;
	double seconds; /* by the model */
} Ranked;
typedef VEC(Ranked) RankedVec;

typedef struct {
	Arena *arena; /* of an operator */
	const StaticTune *t;
	const Program *program;
	Space *space;
	RankedVec pool; /* best first, each once */
	bool assembled; /* there is a ptxas */
	VEC(uint64_t) seen; /* hashes of PTX: many decisions give one kernel */
} Look;

typedef enum { LOOK_SHOWN, LOOK_SAME, LOOK_FAILED } Looked;

/* --- candidates -------------------------------------------------------------- */

static int by_seconds(const void *a, const void *b)
{
	const Ranked *x = a, *y = b;
	if (x->seconds != y->seconds)
		return x->seconds < y->seconds ? -1 : 1;
	return memcmp(&x->candidate, &y->candidate, sizeof x->candidate);
}

static void add(Look *look, const Candidate *c)
{
	Ranked r;
	memset(&r, 0, sizeof r);
	r.candidate = *c;
	space_analytic(look->space, c, 1, &r.seconds);
	vec_push(look->arena, &look->pool, r);
}

/* Best first; what is there twice goes. */
static void order(Look *look)
{
	RankedVec *p = &look->pool;
	int n = 0;
	sort(p->at, (size_t)p->n, sizeof *p->at, by_seconds);
	for (int i = 0; i < p->n; i++)
		if (!n || memcmp(&p->at[n - 1].candidate, &p->at[i].candidate,
			      sizeof(Candidate)))
			p->at[n++] = p->at[i];
	p->n = n;
}

static void mutate(Look *look, Rng *rng)
{
	Candidate c;
	int parents = look->pool.n < PARENTS ? look->pool.n : PARENTS;
	for (int i = 0; i < parents * CHILDREN; i++) {
		Candidate from = look->pool.at[i / CHILDREN].candidate;
		if (space_mutate(look->space, rng, &from, &c))
			add(look, &c);
	}
	order(look);
}

static void find_candidates(Look *look)
{
	Rng rng = rng_stream(look->t->seed, 0, 0);
	Candidate c;
	for (int i = 0; i < SAMPLES && space_sample(look->space, &rng, &c); i++)
		add(look, &c);
	order(look);
	for (int i = 0; i < ROUNDS; i++)
		mutate(look, &rng);
}

/* --- one of them ------------------------------------------------------------- */

static Lowered *lowered_of(
    Look *look, Arena *arena, const Candidate *c, Error *error)
{
	const Machine *machine = &look->t->target->machine;
	Trace *trace = space_trace(arena, look->space, c);
	Nest *nest =
	    schedule_nest(arena, look->program, machine, trace, error);
	return nest ? lower(arena, nest, machine, error) : NULL;
}

static bool was_seen(Look *look, const Buf *ptx)
{
	uint64_t hash = hash64(ptx->data, ptx->size, 0);
	for (int i = 0; i < look->seen.n; i++)
		if (look->seen.at[i] == hash)
			return true;
	vec_push(look->arena, &look->seen, hash);
	return false;
}

static Looked compile(Look *look, Arena *arena, const Lowered *l,
    CudaUseVec *uses, Error *error)
{
	const Target *t = look->t->target;
	EmitComment comment = {t->text, "none", ""};
	Buf ptx = {0};
	Status status = cuda_ptx(&l, 1, t, &comment, &ptx, error);
	bool same = !status && was_seen(look, &ptx);
	if (!status && !same && look->assembled)
		status = ptxas_run(arena, t->cpu, ptx.data, ptx.size, NULL,
		    uses, error);
	buf_free(&ptx);
	return status ? LOOK_FAILED : same ? LOOK_SAME : LOOK_SHOWN;
}

static int64_t threads_of(const LowLaunch *k)
{
	return k->block[0] * k->block[1] * k->block[2];
}

/* ptxas knows what a kernel declares, and not what its launch gives. */
static int64_t shared_of(const LowLaunch *k, const CudaUse *use)
{
	return use ? use->shared_bytes + k->dynamic_bytes : k->shared_bytes;
}

/* The part of a processor's threads that its blocks are. */
static double fill_of(const Machine *m, const LowLaunch *k, const Occupancy *o)
{
	int64_t warps = (threads_of(k) + m->warp - 1) / m->warp;
	return (double)(o->blocks * warps * m->warp) / m->processor_threads;
}

static Occupancy occupancy_of(
    const Machine *m, const LowLaunch *k, const CudaUse *use)
{
	return occupancy(m, threads_of(k), use ? use->registers : 0,
	    shared_of(k, use));
}

static void print_launch(
    const Machine *m, const LowLaunch *k, const CudaUse *use)
{
	Occupancy o = occupancy_of(m, k, use);
	char registers[32] = "      ?      ?";
	if (use)
		snprintf(registers, sizeof registers, "%7d %6lld",
		    use->registers,
		    (long long)(use->spill_stores + use->spill_loads));
	out_text("%s %7lld %9lld %8lld %7d %8.0f %%\n", registers,
	    (long long)shared_of(k, use),
	    (long long)threads_of(k),
	    (long long)(k->grid[0] * k->grid[1] * k->grid[2]), o.blocks,
	    100 * fill_of(m, k, &o));
}

static json_t *launch_json(
    const Machine *m, const LowLaunch *k, const CudaUse *use)
{
	Occupancy o = occupancy_of(m, k, use);
	json_t *j = json_pack("{sssIsIsIsisf}", "kernel", k->function->name,
	    "threads", (json_int_t)threads_of(k), "blocks",
	    (json_int_t)(k->grid[0] * k->grid[1] * k->grid[2]), "shared_bytes",
	    (json_int_t)shared_of(k, use),
	    "processor_blocks", o.blocks, "occupancy", fill_of(m, k, &o));
	json_object_set_new(j, "registers",
	    use ? json_integer(use->registers) : json_null());
	json_object_set_new(j, "spill_bytes",
	    use ? json_integer(use->spill_stores + use->spill_loads)
		: json_null());
	return j;
}

static void print_candidate(Look *look, int rank, double seconds,
    const Lowered *l, const CudaUseVec *uses)
{
	for (int i = 0; i < l->launches.n; i++) {
		const LowLaunch *k = &l->launches.at[i];
		char first[32] = "";
		if (!i)
			snprintf(first, sizeof first, "%3d %9.2f", rank,
			    seconds * 1e6);
		out_text("  %13s", first);
		print_launch(
		    &look->t->target->machine, k, cuda_use_of(uses, k->function->name));
	}
}

static void print_candidate_json(Look *look, Arena *arena, int rank,
    const Ranked *r, const Lowered *l, const CudaUseVec *uses)
{
	const Program *p = look->program;
	json_t *launches = json_array();
	for (int i = 0; i < l->launches.n; i++)
		json_array_append_new(launches,
		    launch_json(&look->t->target->machine,
			&l->launches.at[i],
			cuda_use_of(uses,
			    l->launches.at[i].function->name)));
	json_t *j = json_pack("{sssssssssisbsfsoso}", "op", p->op, "name",
	    p->name, "case", p->case_name, "target", look->t->target->text,
	    "rank", rank, "measured", false, "model_s", r->seconds, "launches",
	    launches, "trace",
	    trace_to_json(trace_canonical(arena, p,
		space_trace(arena, look->space, &r->candidate))));
	out_json(j);
	json_decref(j);
}

static Looked look_at(Look *look, int rank, const Ranked *r, Error *error)
{
	Arena *arena = arena_new();
	CudaUseVec uses = {0};
	*error = (Error){0};
	Lowered *l = lowered_of(look, arena, &r->candidate, error);
	Looked looked =
	    l ? compile(look, arena, l, &uses, error) : LOOK_FAILED;
	if (looked == LOOK_SHOWN && look->t->common->json)
		print_candidate_json(look, arena, rank, r, l, &uses);
	else if (looked == LOOK_SHOWN)
		print_candidate(look, rank, r->seconds, l, &uses);
	out_flush();
	arena_free(arena);
	return looked;
}

/* --- an operator -------------------------------------------------------------- */

static void print_title(const Look *look, const char *label)
{
	char *count = space_count(look->arena, look->space);
	if (look->t->common->json)
		return;
	out_text("%s: the model's best of %d looked at, of %s; nothing was "
		 "measured\n",
	    label, look->pool.n, count);
	out_text("  rank  model us    regs  spill  shared   threads   blocks  "
		 "at once  occupancy\n");
}

/* Those that do not compile are passed over, and counted. */
static int look_all(Look *look, const char *label)
{
	Error error = {0};
	char first[sizeof error.text] = "";
	int shown = 0, failed = 0;
	for (int i = 0; i < look->pool.n && shown < look->t->candidates &&
	     failed < MOST_FAILED && measure_now() < look->t->end_s; i++) {
		Looked looked =
		    look_at(look, shown + 1, &look->pool.at[i], &error);
		shown += looked == LOOK_SHOWN;
		if (looked != LOOK_FAILED)
			continue;
		if (!failed++)
			memcpy(first, error.text, sizeof first);
		if (error.status == STATUS_MISSING)
			break;
	}
	if (failed)
		say_warning("%s: %d candidates do not compile; the first: %s",
		    label, failed, first);
	if (shown)
		return EXIT_DONE;
	say_error("%s: no candidate was compiled", label);
	return EXIT_FAILED;
}

static int look_at_operator(
    const StaticTune *t, const Program *p, const char *label)
{
	Error error = {0};
	Look look = {.arena = arena_new(), .t = t, .program = p};
	int code = EXIT_FAILED;
	look.assembled = toolkit_program(look.arena, "ptxas") != NULL;
	look.space =
	    space_new(look.arena, p, &t->target->machine, &error);
	if (look.space && t->schedule)
		space_keep_named(look.space, t->schedule);
	if (look.space) {
		find_candidates(&look);
		print_title(&look, label);
		code = look_all(&look, label);
	} else {
		say_error("%s: %s", label, error.text);
	}
	arena_free(look.arena);
	return code;
}

int tune_static(Arena *arena, const StaticTune *t, const ProgramVec *programs)
{
	int code = EXIT_DONE;
	say_warning("%s: nothing is measured or kept; what follows is what the "
		    "analytic model thinks best, compiled%s",
	    t->why, toolkit_program(arena, "ptxas")
		? "" : " (ptxas is missing: registers are not known)");
	for (int i = 0; i < programs->n; i++) {
		const Program *p = programs->at[i];
		const Groups *g = groups_of(arena, p, &t->target->machine);
		for (int k = 0; k < g->n; k++)
			if (g->groups[k].same_as == k)
				code = exit_worse(code, look_at_operator(t,
				    g->groups[k].program,
				    g->n == 1 ? program_label(arena, p)
				    : arena_printf(arena, "%s, group %s",
					  program_label(arena, p),
					  g->groups[k].name)));
	}
	return code;
}
