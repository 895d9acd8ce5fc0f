/* What tuning prints: a live line, and what an operator came to. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/tune_verb.h"

/* --- the live line --------------------------------------------------------- */

static const char *format_rate(char *text, size_t size, double flops_per_s)
{
	if (flops_per_s >= 1e9)
		snprintf(text, size, "%.1f GFLOP/s", flops_per_s * 1e-9);
	else
		snprintf(text, size, "%.1f MFLOP/s", flops_per_s * 1e-6);
	return text;
}

static void put_progress(Buf *line, const TuneDisplay *d, const TuneProgress *p)
{
	char rate[32];
	buf_printf(line, "%s  ", d->label);
	if (p->phase == TUNE_REFERENCE) {
		buf_puts(line, "plain loops, for comparison");
		return;
	}
	buf_printf(line, "%lld trials", (long long)p->trials);
	if (p->failed)
		buf_printf(line, " (%lld failed)", (long long)p->failed);
	if (p->best_s > 0)
		buf_printf(line, "  best %s",
		    format_rate(rate, sizeof rate, p->best_flops_per_s));
	if (p->best_share > 0 && p->best_share <= 1)
		buf_printf(line, " (%.0f %% of the peak)", 100 * p->best_share);
	buf_printf(line, "  %.1f trials/s", p->trials_per_s);
	if (!isnan(p->rank_correlation))
		buf_printf(line, "  rank %.2f", p->rank_correlation);
	if (p->phase == TUNE_FINAL)
		buf_puts(line, "  measuring the best again");
	else if (p->left_s >= 0)
		buf_printf(line, "  %.0f s left", p->left_s);
}

/* Is it time for another line?  A log gets one each half minute. */
static bool is_due(TuneDisplay *d, const TuneProgress *p)
{
	double now = measure_now();
	if (d->live) {
		if (p->phase == TUNE_SEARCH && p->elapsed_s - d->last < 0.1)
			return false;
		d->last = p->elapsed_s;
		return true;
	}
	if (!d->told_s || now - *d->told_s < 30)
		return false;
	*d->told_s = now;
	return true;
}

void tune_show_progress(const TuneProgress *p, void *context)
{
	TuneDisplay *d = context;
	Buf line = {0};
	if (!is_due(d, p))
		return;
	put_progress(&line, d, p);
	if (d->live)
		say_live(buf_text(&line));
	else
		say_note("%s", buf_text(&line));
	buf_free(&line);
}

/* --- results --------------------------------------------------------------- */

static const char *format_time(char *text, size_t size, double s)
{
	if (s >= 1)
		snprintf(text, size, "%.3f s", s);
	else if (s >= 1e-3)
		snprintf(text, size, "%.3f ms", s * 1e3);
	else
		snprintf(text, size, "%.3f us", s * 1e6);
	return text;
}

/* Is it memory that keeps the operator from the peak, and clearly so?  A copy that
 * was half as fast as the operator was disturbed and says nothing. */
static bool is_bound_by_memory(const Program *p, const TuneResult *r)
{
	return 2 * r->copy_bytes_per_s * r->best_s > (double)p->bytes &&
	    r->peak_all > 0 &&
	    1.5 * r->operations / r->peak_all <
		(double)p->bytes / r->copy_bytes_per_s;
}

/* A part of the most there is; where it is more, the most alone, and why. */
static void print_share(double rate, double most, double unit, const char *of,
    const char *name, const char *why)
{
	if (rate <= most)
		out_text(", %.1f %% of %s %.1f %s", 100 * rate / most, of,
		    most * unit, name);
	else
		out_text(" (%s %.1f %s; %s)", of, most * unit, name, why);
}

static void print_rates(const Program *p, const TuneResult *r)
{
	char rate[32];
	double flops_per_s = r->operations / r->best_s;
	double bytes_per_s = (double)p->bytes / r->best_s;
	out_text(", %s", format_rate(rate, sizeof rate, flops_per_s));
	if (is_bound_by_memory(p, r)) {
		out_text(", %.1f GB/s", bytes_per_s * 1e-9);
		print_share(bytes_per_s, r->copy_bytes_per_s, 1e-9,
		    "a copy's", "GB/s", "it is in a cache");
	} else if (r->peak_all > 0) {
		print_share(flops_per_s, r->peak_all, 1e-9, "the peak of",
		    "GFLOP/s", measure_past_peak(p));
	}
}

static void print_text(
    const Program *p, const char *label, const TuneResult *r, bool verbose)
{
	char a[32];
	if (r->composed && !r->stored && !r->interrupted) {
		out_text("%s: no time to measure the whole; what is built is "
			 "its groups' best\n",
		    label);
	} else if (r->covered) {
		out_text("%s: the store has %lld trials: %s\n", label,
		    (long long)r->stored,
		    r->exhausted ? "the space is exhausted" : "covered");
	} else {
		out_text("%s: %lld trials in %.1f s (%.1f a second), "
		       "%lld failed%s%s%s\n",
		    label, (long long)r->trials, r->elapsed_s,
		    (double)r->trials / r->elapsed_s, (long long)r->failed,
		    r->exhausted ? "; the space is exhausted" : "",
		    r->interrupted ? "; interrupted" : "",
		    r->hopeless ? "; stopped, nearly all fail alike" : "");
	}
	if (r->best_s > 0) {
		out_text("  best %s", format_time(a, sizeof a, r->best_s));
		print_rates(p, r);
		out_text("  (%s)\n", r->best_id);
	}
	if (r->final_s > 0 && strcmp(r->final_id, r->best_id))
		out_text("  the final round of this run %s: %s (%s); the best "
		       "above stands%s\n",
		    r->final_quiet ? "was slower" : "was disturbed",
		    format_time(a, sizeof a, r->final_s), r->final_id,
		    r->final_quiet ? ", --accept takes the new one" : "");
	if (r->plain_s > 0 && r->plain_disturbed)
		out_text("  plain loops %s, disturbed by other work: no "
			 "comparison\n",
		    format_time(a, sizeof a, r->plain_s));
	else if (r->plain_s > 0 && r->best_s > 0)
		out_text("  plain loops %s%s: %.1f times slower%s\n",
		    r->plain_estimated ? "about " : "",
		    format_time(a, sizeof a, r->plain_s),
		    r->plain_s / r->best_s,
		    r->plain_estimated ? " (estimated, not run)" : "");
	if (verbose && !r->covered)
		out_text(
		    "  %lld candidates scored, %.0f a second; passed over: "
		    "%lld whose code was known, %lld of too much code\n",
		    (long long)r->scored, r->scored_per_s, (long long)r->equal,
		    (long long)r->large);
}

static void print_json(const Program *p, const TuneResult *r)
{
	json_t *o = json_pack("{s:s,s:s,s:s,s:b,s:I,s:I,s:I,s:I,s:b,s:f}",
	    "name", p->name, "case", p->case_name, "op", p->op, "covered",
	    r->covered, "trials", (json_int_t)r->trials, "ok",
	    (json_int_t)r->ok, "failed", (json_int_t)r->failed, "stored",
	    (json_int_t)r->stored, "exhausted", r->exhausted, "elapsed_s",
	    r->elapsed_s);
	json_object_set_new(
	    o, "best_s", r->best_s > 0 ? json_real(r->best_s) : json_null());
	json_object_set_new(o, "best",
	    r->best_id[0] ? json_string(r->best_id) : json_null());
	json_object_set_new(o, "final",
	    r->final_s > 0 ? json_string(r->final_id) : json_null());
	json_object_set_new(o, "final_s",
	    r->final_s > 0 ? json_real(r->final_s) : json_null());
	json_object_set_new(o, "plain_s",
	    r->plain_s > 0 ? json_real(r->plain_s) : json_null());
	json_object_set_new(
	    o, "plain_estimated", json_boolean(r->plain_estimated));
	json_object_set_new(o, "equal", json_integer((json_int_t)r->equal));
	json_object_set_new(o, "large", json_integer((json_int_t)r->large));
	json_object_set_new(o, "flops_per_s",
	    r->best_s > 0 ? json_real(r->operations / r->best_s)
			  : json_null());
	json_object_set_new(o, "bytes_per_s",
	    r->best_s > 0 ? json_real((double)p->bytes / r->best_s)
			  : json_null());
	json_object_set_new(o, "copy_bytes_per_s",
	    r->copy_bytes_per_s > 0 ? json_real(r->copy_bytes_per_s)
				    : json_null());
	json_object_set_new(o, "bound", r->best_s <= 0 || r->peak_all <= 0
		? json_null()
		: json_string(is_bound_by_memory(p, r) ? "memory" : "compute"));
	json_object_set_new(o, "peak_one", json_real(r->peak_one));
	json_object_set_new(o, "peak_all", json_real(r->peak_all));
	json_object_set_new(
	    o, "scored", json_integer((json_int_t)r->scored));
	json_object_set_new(o, "scored_per_s", json_real(r->scored_per_s));
	json_object_set_new(o, "limit_s",
	    r->bound_s > 0 ? json_real(r->bound_s) : json_null());
	json_object_set_new(
	    o, "left", r->left >= 0 ? json_real(r->left) : json_null());
	json_object_set_new(o, "last_gain",
	    r->last_gain >= 0 ? json_real(r->last_gain) : json_null());
	json_object_set_new(o, "enough", json_boolean(r->enough));
	json_object_set_new(o, "times_s", tune_times_json(&r->times));
	out_json(o);
	json_decref(o);
}

void tune_show(const Common *common, const Program *p, const char *label,
    const TuneResult *r)
{
	if (common->json)
		print_json(p, r);
	else if (!common->quiet)
		print_text(p, label, r, common->verbose);
}

void tune_show_times(const Common *common, const TuneTimes *t, double elapsed_s)
{
	double idle = elapsed_s - t->search - t->features - t->train -
	    t->lower - t->compile - t->check - t->run;
	if (common->json || common->quiet)
		return;
	out_text(
	    "time: %.1f s: search %.1f s, features and predict %.1f s, "
	    "train %.1f s, lower %.1f s, compile %.1f s, run %.1f s, check %.1f s, "
	    "idle %.1f s\n",
	    elapsed_s, t->search, t->features, t->train, t->lower, t->compile,
	    t->run, t->check, fmax(idle, 0));
}

void tune_show_limit(const Common *common, const TuneLimit *l)
{
	if (common->json || common->quiet || !(l->best_s > 0))
		return;
	if (l->unknown)
		out_text("limit: not known; ");
	else
		out_text(
		    "limit: %.0f %% of what the machine can do%s%s%s; at most "
		    "%.0f %% may be gained, ",
		    100 * l->bound_s / l->best_s, l->past ? " (past it: " : "",
		    l->past ? l->past : "", l->past ? ")" : "",
		    100 * l->left_s / l->best_s);
	out_text("as many trials again would gain about %.1f %%",
	    100 * l->gain_s / l->best_s);
	if (l->until > 0)
		out_text("; %d of %d end at --until %g%%", l->enough, l->tasks,
		    100 * l->until);
	out_text("\n");
}
