#ifndef TUNER_TUNE_INTERNAL_H
#define TUNER_TUNE_INTERNAL_H

#include "tuner/tune/guide.h"
#include "tuner/store/history.h"
#include "tuner/tune/tune.h"

enum { FORM_DIGITS = 16, TUNE_BATCH = 32 };

enum { FINALISTS = 5 }; /* of the final round */

/* A trace's name: SHA-256 of its canonical JSON. */
typedef struct {
	unsigned char bytes[32];
} TraceKey;

/* A trace that was measured, by whomever.  There are many in a long run: what few
 * are asked for is not kept of all. */
typedef struct {
	TraceKey key;
	char id[17];	/* "": no trial */
	bool plain;     /* the plain loops */
	uint64_t form;	/* hash of the lowered form; 0: not known */
	double time_s;  /* infinite: failed */
	double predicted_s; /* 0: nothing was */
	/* The canonical JSON: of what may be a finalist, and until it is learnt of
	 * what was stored; NULL of others. */
	const char *text;
	const Trace
	    *trace; /* of what may be a finalist; NULL: not of this program */
	const Measurement *measured; /* NULL: nothing that is asked for again */
} Known;

/* What the search proposes. */
typedef struct {
	Candidate candidate;
	const Trace *trace; /* in t->passing where it was drawn */
	bool drawn;	    /* the trace is the candidate's */
	uint64_t form;	    /* 0: not known */
	int64_t instructions;
	double predicted_s;
} Proposal;

/* A trial's code. */
typedef struct {
	double time_s;
	int64_t instructions;
} CodeSize;

struct Tuning {
	Arena *arena;
	Arena *passing; /* what a batch needs: until the next one is drawn */
	Arena *
	    unlearnt; /* texts that the search has not been told of; NULL: none */
	const Program *program;
	const Target *target;
	double least_s; /* stored times below were not measured */
	TuneOptions options;
	Store *store;
	TuneResult result;
	Error *error; /* of the call in hand */
	Measurer *measurer;
	Space *space;
	Guide *guide;
	VEC(Known) known; /* trials of the store and of this run */
	VEC(Known) replay;
	VEC(uint64_t) forms;
	int64_t code_most; /* instructions of a candidate; 0: no limit */
	VEC(CodeSize) sizes; /* of this run's that were right */
	json_t *machine, *verified;
	char run_id[17];
	History history; /* of what others stored: before, and now beside it */
	int nstored;     /* of known, those from before this run */
	char *plain_text; /* the plain loops' trace */
	TraceKey plain_key;
	Reference reference;
	const Trace *const *given; /* of a program of several groups */
	int ngiven;
	const Trace *winner; /* of this run's final round; NULL: none */
	bool ready;      /* the expected outputs are there */
	double active_s; /* in the steps before this one */
	double since;    /* this one began; 0: none is under way */
	/* Of the last ones: each; lowering and compiling on one CPU. */
	double trial_s, lower_s, compile_s;
	double round_end_s; /* of the search's round that is under way */
	/* What the last one found; how many of these were proposed. */
	Candidate found[TUNE_BATCH];
	int nfound, taken;
	double final_most_s; /* that the final round may take */
	bool resumed; /* what an earlier run left is made again */
	bool confirmed; /* its bound was measured again */
	bool stopped; /* before the budget was spent */
	bool ended; /* the round found all that there was */
	Status ahead; /* of a round that ran beside compiling */
	/* Of new code; how many of these were tried.  A visit may end between: the
	 * next one goes on, or what was never measured would count as visited. */
	Proposal batch[TUNE_BATCH];
	int nbatch, tried;
	int failed_by[OUTCOME_IMPLAUSIBLE + 1];
	void (*progress)(const TuneProgress *, void *);
	void *context;
};

/* tune.c */
double tune_elapsed(const Tuning *t);
double tune_time_left(const Tuning *t); /* infinite: no such limit */
/* Of the time that is left what is likely its own. */
double tune_own_left(const Tuning *t);
int64_t tune_trials_left(const Tuning *t);
bool tune_budget_left(const Tuning *t); /* for one more trial */
bool tune_interrupted(const Tuning *t);
/* Is there a machine to measure on? */
bool tune_measures(const Tuning *t);
bool tune_on_device(const Tuning *t); /* not on this CPU */
bool tune_peak_is_short(const Tuning *t); /* of all threads: it was disturbed */
void tune_report(Tuning *t, TunePhase phase);
/* The expected outputs, by the plain nest where that takes a twentieth of the
 * time at most, else by `fast`, compared with `other`.  *made is false where
 * time ended before they were there. */
Status tune_make_reference(
    Tuning *t, const Trace *fast, const Trace *other, bool *made);
void tune_measure_peaks(Tuning *t, bool again);

/* tune_whole.c */
Status whole_run(Tuning *t);

/* tune_known.c */
const char *known_cache_word(const TuneOptions *o);   /* "warm" */
const char *known_measure_word(const TuneOptions *o); /* NULL: measured */
char *known_text(Arena *arena, const Program *program, const Trace *trace);
TraceKey known_key(const char *text);
bool known_same(const TraceKey *a, const TraceKey *b);
/* Can it be one of the finalists, after all that is known? */
bool known_may_win(const Tuning *t, const Known *k);
Status known_open(Tuning *t);
/* What other tuners have added to the store meanwhile. */
Status known_follow(Tuning *t);
/* The trial of a trace. */
const Known *known_find(const Tuning *t, int from, const TraceKey *key);
/* The trial of this run that measured an equal object, or NULL. */
const Known *known_object(const Tuning *t, const char *object);
/* The first that is not the plain loops: candidate 1; -1. */
int known_first(const Tuning *t);
/* The fastest, the plain loops only where candidate 1 was measured; -1. */
int known_best(const Tuning *t, int n);
void known_replay(const Tuning *t, const TraceKey *key, Measurement *m);

/* tune_lines.c */
json_t *lines_machine(Arena *arena); /* this one; the caller's */
Status lines_start(Tuning *t);
Status lines_end(Tuning *t);
typedef struct {
	uint64_t form;       /* 0: not known */
	bool final;
	double predicted_s;  /* 0: nothing was */
	const char *same_as; /* NULL */
} TrialNote;
Status lines_trial(Tuning *t, const char *trace_text, const Measurement *m,
    const TrialNote *note, char id[17]);

/* tune_ceilings.c: what the run's end says of its limit; NULL: it is not known. */
json_t *limit_json(Tuning *t);

/* tune_propose.c: nothing else knows the space, the search and the model */
Status propose_open(Tuning *t);
void propose_close(Tuning *t);
bool propose_has_any(Tuning *t); /* is there a candidate? */
/* Candidate 1; the plain loops where the space has none. */
Status propose_first(Tuning *t, Proposal *out, bool *found);
/* A kernel of another structure than the trace; NULL. */
const Trace *propose_other(Tuning *t, const Trace *trace);
int propose_batch(const Tuning *t);
/* The next round of the search, before what was found last is measured. */
Status propose_ahead(Tuning *t, int n);
/* Up to n of new code, as many as processes can wait to compile them;
 * *exhausted: there are no more. */
Status propose_next(
    Tuning *t, int n, Proposal *out, int *got, bool *exhausted);
/* Instructions that are worth compiling: a quarter more than the least of what is
 * as fast as the best has. */
int64_t propose_code_most(const CodeSize *sizes, int n);
void propose_learn(Tuning *t, const Proposal *p, double time_s);
/* The proposal's trace, to stay. */
const Trace *propose_trace(Tuning *t, const Proposal *p);
/* What those from the i-th on say that are known, which the store told. */
void propose_learn_known(Tuning *t, int i);
char *propose_space_key(Tuning *t);
json_t *propose_refusals(const Tuning *t); /* reason: count; the caller's */
/* How good the model was, by batch, before it learnt from it; the caller's. */
json_t *propose_batches(const Tuning *t);

/* tune_trial.c */
/* Compiled at once, run one by one while the budget lasts; the times of the
 * *ran first, infinite for those that failed, NaN for those that are no trials:
 * another tuner had measured them by then, or time ended. */
Status trial_all(Tuning *t, const Proposal *proposals, int n, double *times,
    int *ran);
/* Of the kernel that made the expected outputs, which has run for it. */
Status trial_of_reference(Tuning *t, const Proposal *p, double *time_s);
/* The plain loops' measurement, which is no trial. */
void trial_plain(Tuning *t, const Measurement *m);
/* The fastest of the store once more, for what is hopeless against it. */
Status trial_again(Tuning *t);

/* tune_final.c */
double final_cost(const Tuning *t); /* seconds that are kept for it */
Status final_round(Tuning *t);

#endif
