/* Measuring candidates: compiled, checked and timed in disposable processes.
 *
 *     measure.c         the driver's side: what to run, answers as values
 *     measure_attempt.c a job tried until the machine lets it be done
 *     measure_trouble.c whose fault it is: the candidate's or the machine's
 *     measure_server.c  a small process, forked before any thread starts, which
 *                       forks the children and outlives their crashes
 *     measure_child.c   compile, link, check against the reference, time
 *     measure_reference.c  the expected outputs: made and checked
 *     measure_device.c  which device candidates run on, if not on this CPU
 *     measure_data.c    input sets and expected outputs, shared by all
 *     measure_special.c the set of zeros, infinities and the like
 *     measure_form.c    what tells a candidate from another before compiling
 *     measure_time.c    the timing policy
 *     measure_cold.c    what leaves the caches before a kernel is called
 *     measure_team.c    threads, each on its CPU before a kernel is called
 *     measure_noise.c   how quiet the machine was meanwhile
 *     measure_simulate.c  a deterministic machine in place of this one
 *     peak.c            the machine's peak
 *     plausible.c       what a kernel takes at least
 *     measure_costs.c   what code costs: a row of numbers for the analytic model
 *
 * The driver itself runs no generated code. */
#ifndef TUNER_MEASURE_H
#define TUNER_MEASURE_H

#include "tuner/tuner.h"

enum { MEASURE_RUNS = 32, MEASURE_SETS = 4, MEASURE_WIDTH = 16 };
/* Seconds for each of the finalists in their interleaved re-measurement. */
#define MEASURE_FINAL_S 1.0

/* What the machine refused is no outcome of the candidate.  Doubtful: it may be
 * either's, and is the candidate's where it happens twice in a row. */
typedef enum { TROUBLE_NONE, TROUBLE_DOUBTFUL, TROUBLE_CERTAIN } Trouble;

typedef struct {
	Outcome outcome;
	Trouble trouble;      /* none in what the functions below answer */
	bool cut;             /* the time-out is of measure_until */
	char error[512];      /* what failed; "" where ok */
	double time_s;        /* median; NaN unless ok */
	double spread_s;      /* 1.4826 * median absolute deviation */
	int nruns;
	double runs_s[MEASURE_RUNS];
	char object[65];      /* SHA-256 of the object; "" where none was made */
	double check_s, run_s; /* where the time went */
	double noise_probe;   /* 0: quiet; 1: a probe took twice as long as the
			       * least of the run; NaN: not measured */
	int64_t noise_switches; /* threads that lost their CPU; -1: not known */
	double noise_cpu_s;   /* while they had it for so many seconds together */
	double probe_s;       /* the least probe of the run; 0: none yet */
	uint64_t form;        /* of code that was only lowered: its hash */
	int64_t instructions; /* likewise */
} Measurement;

/* Was the machine quiet enough for the time to count?  What is not known speaks
 * for neither. */
bool measure_quiet(
    double noise_probe, int64_t noise_switches, double noise_cpu_s);

typedef enum { MACHINE_REAL, MACHINE_SIMULATED } MeasureMachine;

typedef struct {
	MeasureMachine machine;
	bool cold;            /* flush twice the largest cache before each run */
	bool pin;             /* threads to CPUs, one each */
	bool any_device;      /* no matter which type: times do not count */
	double build_limit_s, run_limit_s;
	uint64_t seed;        /* of the inputs, and of the simulation's noise */
	/* Is told once what the machine refuses, which is then tried again;
	 * may be NULL. */
	void (*say)(const char *trouble);
	volatile const int *interrupted; /* ends the waiting; may be NULL */
} MeasureOptions;

typedef struct Measurer Measurer;

/* Forks the server and those that take its place when it dies: call before the
 * process has threads (stores and models start some), once for all programs of
 * a run; they share the servers.  out[i] is to be closed after an error, too.
 * Programs and target must outlive them. */
Status measure_open_all(const Program *const *programs, int n,
    const Target *target, const MeasureOptions *options, Measurer **out,
    Error *error);
Status measure_open(const Program *program, const Target *target,
    const MeasureOptions *options, Measurer **out, Error *error);
void measure_close(Measurer *m);
/* Measuring ends then, by measure_now's clock; infinite: when it is done.  What
 * is not done answers a time-out that is `cut`: no fault of the candidate. */
void measure_until(Measurer *m, double end_s);

/* The expected outputs are those of the plain nest (candidate 0) where that is
 * cheap, itself compared with the interpreter at 64 points and the corners.
 * Else those of a fast kernel which is compared so too, and in full: with the
 * plain nest at a reduced size, or with another kernel where that cannot be. */
typedef struct {
	/* Of two structures; NULL: the plain nest alone, whatever it takes. */
	const Trace *fast, *other;
	double plain_allowed_s; /* for a run of the plain nest on each set */
} ReferenceWish;

typedef struct {
	bool ready;        /* outputs are there; else `by` says why not */
	const Trace *fast; /* that made them; NULL: the plain nest */
	Measurement by;    /* of what made them */
	Measurement plain; /* of the plain nest */
	bool estimated;    /* its time was not measured */
} Reference;

/* Seconds that the analytic model expects of the plain nest on all sets. */
double measure_plain_guess(const Program *program, const Target *target);
Status measure_reference(Measurer *m, const ReferenceWish *wish,
    Reference *out, Error *error);
/* Gives back the memory of the expected outputs, which have to be made anew. */
void measure_forget(Measurer *m);
/* Bytes of inputs and expected outputs. */
size_t measure_data_bytes(const Measurer *m);

/* What a candidate is for a back end. */
typedef struct {
	uint64_t hash;        /* equal ones make one object; 0: not known */
	int64_t instructions; /* of the kernel, about */
} CodeForm;
/* What would have more than so many instructions (0: any) is given up, and has
 * one more. */
Status measure_forms(Measurer *m, const Trace *const *traces, int n,
    int64_t most_instructions, CodeForm *out, Error *error);

/* Candidates that are worth compiling before any is measured: MEASURE_WIDTH; for a
 * device as many as CPUs.  How many of n compile at a time: one for each CPU; for a
 * device all. */
int measure_width(const Measurer *m);
int measure_at_once(const Measurer *m, int n);

/* What is done, once, while the next candidates compile: nothing is measured
 * then. */
void measure_beside(
    Measurer *m, void (*work)(void *context), void *context);

/* Compiles n candidates, at most MEASURE_WIDTH, each in a process that
 * then waits for measure_run; what waited since the last call is dropped.
 * out[i] has the object's hash and no times yet, or an outcome that is not ok.
 *
 * Here and below failures of a candidate are outcomes.  A Status is returned
 * where measuring itself is not possible any more: STATUS_MACHINE when what the
 * machine refused was tried for some seconds, STATUS_INTERRUPTED when a signal
 * ended that.  Nothing is answered then. */
Status measure_compile(Measurer *m, const Trace *const *traces, int n,
    Measurement *out, Error *error);

/* Checks and times the candidate that measure_compile answered with `out`, its
 * i-th, once; nothing runs beside it.  best_s: hopeless ones stop early; 0:
 * none known. */
Status measure_run(
    Measurer *m, int i, double best_s, Measurement *out, Error *error);

/* Finalists, at most MEASURE_WIDTH, interleaved in one process, order reversed
 * half way; the noise is that of all together.  If that was not quiet and twice
 * as much fits into allowed_s seconds, once more: the quieter round counts. */
Status measure_final(Measurer *m, const Trace *const *traces, int n,
    double allowed_s, Measurement *out, Error *error);

/* FLOP/s of multiply-adds, or of what sums the program's products, on registers
 * alone: one thread, and all of the target's threads; the most that was measured
 * for this run's programs.  It is measured where it never was, or `again`.  Faster than twice that is
 * implausible. */
Status measure_peak(
    Measurer *m, bool again, double *one, double *all, Error *error);

/* peak.c: the operations of a program that the peak's instruction can do: a product
 * and a sum each of what dot products sum, whatever is taken off their factors;
 * else all, as written.  What is shown as speed is of these. */
double peak_operations(const Program *program, const Machine *machine);
/* Those of the program that is measured. */
double measure_operations(const Measurer *m);
/* plausible.c: FLOP/s by clock, cores and vectors, where nothing was measured; and
 * seconds that the program takes on any such machine, far below what it can: 0 where
 * nothing is known. */
double measure_nominal(const Machine *machine);
double measure_least_s(const Program *program, const Machine *machine);
/* Why a program may seem faster than the peak. */
const char *measure_past_peak(const Program *program);

/* Bytes read and written a second by a copy of about as many bytes as the program
 * moves, on the target's threads, the most that was measured for this run's
 * programs; 0 if simulated.  It is measured where it never was, or `again`. */
Status measure_copy(
    Measurer *m, bool again, double *bytes_per_s, Error *error);

/* measure_costs.c: the row of this machine, by kernels of microkernels.def. */
typedef struct {
	const Target *one, *all; /* this machine by one thread, and by all */
	double time_s; /* what is not measured by then stays as it was */
	/* Is told each number, what its kernel took, and what the model foresees
	 * by the least and the most that the number can be; NaN: the time does
	 * not tell it, or there is none.  May be NULL. */
	void (*told)(const char *key, double time_s, const double foreseen_s[2],
	    double value);
	void (*say)(const char *trouble);
	volatile const int *interrupted;
} CostsRun;
typedef struct {
	MachineCosts costs;    /* those of `one` where nothing was told */
	double peak;	       /* FLOP/s by one thread */
	bool told[COSTS_KEYS]; /* by number of a key */
} CostsMeasured;
/* Forks: before the process has threads. */
Status measure_costs(const CostsRun *run, CostsMeasured *out, Error *error);

/* As target_parse, but `opencl` alone is of the first device that is here. */
Target *measure_target(Arena *arena, const char *text, Error *error);
/* Can a target's code be measured here, by a device's driver or by this CPU?
 * False, and why not. */
bool measure_can(
    const Target *target, bool any_device, char *why, size_t size);
/* What makes the expected outputs: the target, or this CPU where it is a
 * device's. */
const Target *measure_host(const Measurer *m);
/* The device that candidates run on, for records; NULL: this CPU.  The
 * caller's. */
json_t *measure_device_json(const Measurer *m);

/* measure_cold.c: are a group's constants in no cache when this machine calls it,
 * as in the program that it is a group of? */
bool measure_constants_cold(const Program *program);

double measure_now(void); /* seconds, monotonic */
Measurement measure_nothing(Outcome outcome); /* no times */

#endif
