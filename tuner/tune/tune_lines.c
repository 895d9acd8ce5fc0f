/* What a run stores: a mark when it begins and one when it ends, a line for each
 * trial. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "tuner/tune/tune_internal.h"

json_t *lines_machine(Arena *arena)
{
	HostFacts facts;
	json_t *m = json_object();
	host_facts(arena, &facts);
	json_object_set_new(m, "model", json_text(facts.model));
	json_object_set_new(m, "features", json_text(facts.features));
	json_object_set_new(m, "cores", json_integer(facts.cpus));
	json_object_set_new(m, "caches",
	    json_pack("[I,I,I]", (json_int_t)facts.l1_bytes,
		(json_int_t)facts.l2_bytes, (json_int_t)facts.l3_bytes));
	json_object_set_new(m, "clock_ghz", json_real(facts.clock_ghz));
	return m;
}

static Status put_mark(Tuning *t, LineKind kind, json_t *fields)
{
	Line line;
	line_mark(kind, fields, &line);
	json_decref(fields);
	Status status = store_append(t->store, &line, t->error);
	if (kind == LINE_RUN_START)
		memcpy(t->run_id, line.id, sizeof t->run_id);
	line_free(&line);
	return status;
}

static void set_measure(const Tuning *t, json_t *mark)
{
	const char *word = known_measure_word(&t->options);
	if (word)
		json_object_set_new(mark, "measure", json_string(word));
}

static json_t *settings_json(const TuneSetting *s)
{
	json_t *settings = json_object();
	for (; s && s->name; s++)
		json_object_set_new(settings, s->name, json_text(s->value));
	return settings;
}

Status lines_start(Tuning *t)
{
	const TuneOptions *o = &t->options;
	json_t *f = json_object();
	json_object_set_new(f, "ops", json_pack("[s]", t->program->op));
	json_object_set_new(f, "target", json_text(t->target->text));
	json_object_set_new(f, "regime", json_string(known_cache_word(&t->options)));
	json_object_set_new(f, "trials",
	    o->trials < 0 ? json_null() : json_integer(o->trials));
	json_object_set_new(
	    f, "time_s", o->time_s < 0 ? json_null() : json_real(o->time_s));
	json_object_set_new(f, "seed", json_integer((json_int_t)o->seed));
	json_object_set_new(f, "search", json_string(o->guide.search));
	json_object_set_new(f, "settings", settings_json(o->settings));
	/* two that begin in one millisecond are two */
	uint64_t nonce = 0;
	if (getrandom(&nonce, sizeof nonce, 0) != sizeof nonce)
		nonce = (uint64_t)getpid();
	json_object_set_new(
	    f, "nonce", json_integer((json_int_t)(nonce >> 1)));
	json_object_set_new(f, "counter",
	    json_integer((json_int_t)t->history.counter + 1));
	set_measure(t, f);
	FORWARD_IF_ERROR(put_mark(t, LINE_RUN_START, f));
	memcpy(t->history.own, t->run_id, sizeof t->history.own);
	return known_follow(t);
}

json_t *tune_times_json(const TuneTimes *t)
{
	return json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "search",
	    t->search, "features", t->features, "train", t->train, "lower",
	    t->lower, "compile", t->compile, "check", t->check, "run", t->run,
	    "idle", t->idle);
}

Status lines_end(Tuning *t)
{
	const TuneResult *r = &t->result;
	json_t *f = json_object();
	json_object_set_new(f, "run", json_string(t->run_id));
	json_object_set_new(f, "ops", json_pack("[s]", t->program->op));
	json_object_set_new(f, "target", json_text(t->target->text));
	json_object_set_new(f, "regime", json_string(known_cache_word(&t->options)));
	json_object_set_new(f, "complete",
	    json_boolean(!r->interrupted && !r->hopeless && !r->broken));
	json_object_set_new(f, "exhausted", json_boolean(r->exhausted));
	json_object_set_new(f, "elapsed_s", json_real(tune_elapsed(t)));
	json_object_set_new(f, "spent_s", json_real(r->spent_s));
	json_object_set_new(
	    f, "trials", json_integer((json_int_t)r->trials));
	json_object_set_new(
	    f, "failed", json_integer((json_int_t)r->failed));
	json_object_set_new(f, "equal", json_integer((json_int_t)r->equal));
	json_object_set_new(f, "large", json_integer((json_int_t)r->large));
	json_object_set_new(
	    f, "scored", json_integer((json_int_t)r->scored));
	json_object_set_new(f, "peak_flops_per_s", json_real(r->peak_all));
	json_object_set_new(f, "times_s", tune_times_json(&r->times));
	json_object_set_new(f, "batches", propose_batches(t));
	json_object_set_new(f, "refusals", propose_refusals(t));
	if (r->exhausted)
		json_object_set_new(
		    f, "space", json_string(propose_space_key(t)));
	json_t *limit = limit_json(t);
	if (limit)
		json_object_set_new(f, "limit", limit);
	if (t->options.accept)
		json_object_set_new(f, "accept", json_true());
	set_measure(t, f);
	return put_mark(t, LINE_RUN_END, f);
}

static json_t *noise_json(const Measurement *m)
{
	if (isnan(m->noise_probe))
		return NULL;
	return json_pack("{s:f,s:I,s:f}", "probe", m->noise_probe, "switches",
	    (json_int_t)m->noise_switches, "cpu_s", m->noise_cpu_s);
}

Status lines_trial(Tuning *t, const char *trace_text, const Measurement *m,
        const TrialNote *note, char id[17])
{
	json_t *trace = json_loads(trace_text, 0, NULL);
	json_t *by = json_object();
	json_object_set_new(by, "tunec", json_string(TUNEC_VERSION));
	json_object_set_new(by, "compiler",
	    json_string(t->target->kind == TARGET_OPENCL ? "opencl" : "llvm"));
	json_object_set_new(by, "search", json_string(t->options.guide.search));
	json_object_set_new(
	    by, "seed", json_integer((json_int_t)t->options.seed));
	json_object_set_new(by, "trial",
	    json_integer((json_int_t)(t->history.trials + t->result.trials)));
	json_object_set_new(by, "run", json_string(t->run_id));
	if (note->form) {
		char text[FORM_DIGITS + 1];
		snprintf(text, sizeof text, "%016llx", (unsigned long long)note->form);
		json_object_set_new(by, "form", json_string(text));
	}
	if (!known_measure_word(&t->options)) /* those are the same every time */
		json_object_set_new(by, "elapsed_s", json_real(tune_elapsed(t)));
	Trial trial = {.op = t->program->op,
	    .op_text = t->program->op_text,
	    .name = t->program->name,
	    .case_name = t->program->case_name,
	    .target = t->target->text,
	    .trace = trace,
	    .outcome = m->outcome,
	    .error = m->outcome == OUTCOME_OK ? NULL : m->error,
	    .time_s = m->time_s,
	    .spread_s = m->spread_s,
	    .runs_s = m->runs_s,
	    .nruns = m->nruns,
	    .cold = t->options.measure.cold,
	    .constants_cold = tune_measures(t) && !tune_on_device(t) &&
		!t->options.measure.cold && measure_constants_cold(t->program),
	    .threads = t->target->threads,
	    .pinning =
		t->options.measure.pin && !tune_on_device(t) ? "cores" : "none",
	    .final = note->final,
	    .predicted_s = note->predicted_s,
	    .verified = t->verified,
	    .machine = t->machine,
	    .by = by,
	    .same_as = note->same_as,
	    .measure = known_measure_word(&t->options),
	    .noise = noise_json(m)};
	Line line;
	line_trial(&trial, &line);
	json_decref(trial.noise);
	Status status = store_append(t->store, &line, t->error);
	memcpy(id, line.id, sizeof line.id);
	line_free(&line);
	json_decref(by);
	json_decref(trace);
	return status;
}

