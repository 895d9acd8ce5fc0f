#ifndef TUNER_MEASURE_INTERNAL_H
#define TUNER_MEASURE_INTERNAL_H

#include "lib/rng.h"
#include "tuner/device/device.h"
#include "tuner/measure/measure.h"

/* magnitude.c: the least number s of bits, such that no value of the program is
 * expected to overflow where floats of the inputs are at most
 * 2^(exponent - s). */
int magnitude_shift(const Program *program, int exponent);
/* magnitude_product.c: such that no order of a product overflows; does the
 * program have products of floats over an axis, and of how many elements of an
 * input at most (0: of none as they are)? */
int magnitude_product_shift(const Program *program, int exponent);
bool magnitude_multiplies(const Program *program);
double magnitude_factors(const Program *program, int input);

/* What is known of an expected output on a set, for all processes. */
typedef struct {
	double largest; /* finite number in it; 0: not looked at */
	double error;   /* the most by which f32 was seen to miss the exact result */
} Judged;

/* measure_data.c: one shared mapping, made before the server is forked. */
enum { SET_UNIFORM, SET_INTEGERS, SET_EXTREMES, SET_SPECIAL };
typedef struct {
	const Program *program;
	unsigned char *base; /* shared between all processes */
	size_t size;
	/* offsets by set; arrays of ninputs, noutputs */
	size_t *input[MEASURE_SETS], *expected[MEASURE_SETS];
	size_t judged; /* of each set, of each output */
} MeasureData;

/* measure_special.c: the runs of an input of the fourth set. */
typedef enum { SPECIAL_ALL, SPECIAL_FINITE, SPECIAL_NONZERO } SpecialLevel;
typedef enum { RUN_ORDINARY, RUN_ZERO, RUN_REPEATED, RUN_TINY, RUN_SUBNORMAL }
    RunKind;
typedef struct {
	SpecialLevel level;
	int64_t elements, row, plane; /* of the buffer */
	double zero, infinity;
	int64_t infinite, finite; /* the elements from and to before which */
	/* at hand: */
	RunKind kind;
	int64_t end;
	int64_t subnormal; /* such runs are of what is tiny from there on */
	double repeated, share; /* 0 to 1 */
} Runs;
enum { RUNS_DRAWN = 1 << 16 }; /* elements; the others are copies */
Runs runs_of(const Buffer *b, SpecialLevel level, Rng *rng);
void runs_step(Runs *r, Rng *rng, int64_t at); /* before each element */
double runs_float(const Runs *r, int64_t at, DType type, double ordinary,
    double scale);
int64_t runs_int(const Runs *r, int64_t ordinary, int64_t low, int64_t high,
    int64_t least, int64_t most);
/* What the set begins with, and whether expected outputs are there to compare,
 * else it is drawn again with the next level. */
SpecialLevel special_first(const Program *program);
bool special_serves(const MeasureData *data);

Status measure_data_new(Arena *arena, const Program *program,
    MeasureData *data, Error *error);
void measure_data_fill(MeasureData *data, uint64_t seed); /* the inputs */
void measure_data_special(
    MeasureData *data, uint64_t seed, SpecialLevel level);
void measure_data_forget(MeasureData *data); /* gives back the memory */
void measure_data_free(MeasureData *data);

/* measure_compare.c: is an output what is expected?  False, and where it
 * differs: "out[3, 0] is 1.5, expected 2.5".  `rounded`: by how much of themselves
 * the operands of its products were rounded; 0: they were not. */
bool compare_output(const MeasureData *data, int set, int output, double rounded,
    const void *got, char *why, size_t size);
/* The expected outputs against the interpreter at the corners and 64 points, as
 * many as fit into so many seconds. */
bool compare_expected(
    const MeasureData *data, double seconds, char *why, size_t size);

/* measure_noise.c: probes beside what is timed. */
enum { NOISE_PROBES = 512 };
typedef struct {
	int threads;
	double *thread_s; /* of the last probe */
	double least_s;   /* of any thread that this run has seen */
	double probe_s[NOISE_PROBES]; /* the slowest thread of each */
	int n;
	double again_s;   /* that samples took which are taken again */
	int64_t switches; /* when it began, as cpu_s */
	double cpu_s;
} Noise;
/* Probes on the OpenMP threads of the kernel, which has run before.  least_s: of
 * the run; 0: none yet. */
void noise_begin(Noise *noise, int threads, double least_s);
void noise_probe(Noise *noise);
/* Was the machine disturbed before or after the last sample, which took so long?
 * Then its probe is forgotten and the sample is to be taken again, unless that
 * has been done too often. */
bool noise_again(Noise *noise, double sample_s);
/* The same for n measurements that were taken in turn. */
void noise_end(Noise *noise, Measurement *out, int n);
/* Up to 1: quiet. */
double noise_level(
    double noise_probe, int64_t noise_switches, double noise_cpu_s);

/* measure_cold.c: of a machine whose last cache has so many bytes. */
bool measure_meets_cold(const Program *program, int64_t cache_bytes);

/* measure_time.c */
typedef void TimedCall(void *context);
typedef struct {
	TimedCall *call;
	void *context;
	double best_s;    /* 0: none */
	TimedCall *before; /* each run, not timed; NULL: nothing is done */
	Noise *noise;     /* probed after each sample; NULL: not */
	/* Seconds of so many calls, by a clock of its own, infinite where they
	 * failed; NULL: by this machine's. */
	double (*seconds)(void *context, int calls);
	int calls_most;   /* in a sample; 0: any */
	double budget_s;  /* 0: as the policy has it */
} TimedKernel;
/* A time that is hopeless against the best. */
double measure_hopeless(double best_s);
void measure_time(const TimedKernel *kernel, Measurement *out);
/* Median and spread of runs_s. */
void measure_summary(Measurement *out);
/* n kernels in turn, each turn in the other order: as many turns as fit into
 * MEASURE_FINAL_S seconds a kernel, six at least; no more than fit into
 * `seconds`, also where others come and they take longer, but two. */
void measure_time_interleaved(const TimedKernel *kernels, int n,
    double seconds, Measurement *out);

/* measure_team.c: the OpenMP threads of this process, where libgomp is open. */
typedef void TeamTask(void *context);
void measure_team(TeamTask *task, void *context, int threads);
/* So many on CPUs of their own, in the order of the main thread's set, itself
 * first; those that were pinned before are so many at least.  False, and errno,
 * where one cannot be. */
bool measure_pin_team(int threads);

/* measure_server.c: what driver and server say to each other */
typedef enum {
	JOB_PLAIN, /* the expected outputs by the plain nest */
	JOB_FAST,  /* the same by the first of the traces */
	JOB_FORM,  /* the hash of each trace's lowered form, by a child for each
		      that waits for JOB_COMPILE */
	JOB_COMPILE, /* a child for each trace; they wait for JOB_RUN */
	JOB_AGAIN,   /* one of these anew, beside the others */
	JOB_RUN,
	JOB_FINAL,
	JOB_PEAK,
	JOB_COPY  /* as many bytes as the program moves */
} JobKind;
enum { MEASURE_LOWERED = 16 }; /* children that wait with a lowered form */
typedef struct {
	JobKind kind;
	int program; /* which of the run's */
	int n;	   /* answers, one for each trace; at most MEASURE_WIDTH */
	/* By trace: the place of the child that has lowered it, or is to;
	 * JOB_COMPILE: -1: none, as where that child is gone. */
	int lowered[MEASURE_WIDTH];
	/* JOB_COMPILE: how many at a time, and the order in which they begin. */
	int at_once, order[MEASURE_WIDTH];
	int child; /* JOB_RUN, JOB_AGAIN: which of those compiled last */
	int64_t most_instructions; /* JOB_FORM; 0: any */
	double best_s, peak, probe_s;
	double limit_s;	  /* for all of it; JOB_COMPILE: for each */
	double end_s;	  /* of the run; then nothing begins */
	double allowed_s; /* JOB_FINAL: see measure_final */
	int trace;   /* which of them a process is for that has others behind it */
	size_t text; /* bytes of JSON that follow: a list of traces */
} JobHeader;
/* What runs the candidates: this CPU, by LLVM's objects, or a device. */
typedef struct {
	const DeviceDriver *driver; /* NULL: this CPU */
	int index;                  /* of its list */
	DeviceFacts facts;
	char folder[DEVICE_FOLDER];
} MeasureDevice;
typedef struct {
	const Program *program;
	const Target *target;
	const Target *host; /* of what is expected; the target, if it runs here */
	const MeasureDevice *device;
	const MeasureOptions *options;
	const MeasureData *data;
} MeasureContext;

/* measure_device.c: the device for a target, which no process that measures has
 * opened yet; for a CPU nothing. */
Status measure_device_find(const Target *target, bool any_device,
    MeasureDevice *out, Error *error);
void measure_device_forget(MeasureDevice *device); /* its folder */
/* In a process that measures, before it opens the device. */
void measure_device_settings(const MeasureContext *context);
/* All of it, through a socket; false where the other side is gone. */
bool measure_read(int fd, void *data, size_t size);
bool measure_write(int fd, const void *data, size_t size);
/* Bytes of address space that a candidate may have; less where the process has
 * less. */
#define MEASURE_CHILD_BYTES ((size_t)12 << 30)
/* Never returns.  `spare`: it may never have a job. */
_Noreturn void measure_server(
    const MeasureContext *contexts, int n, int fd, bool spare);

/* measure_form.c */
void measure_form(const Lowered *lowered, CodeForm *out);

/* measure_attempt.c: the driver's line to its servers.  All but the first wait
 * for the first to die. */
enum { MEASURE_SERVERS = 4 };
typedef struct {
	const MeasureContext *contexts; /* one for each program */
	int ncontexts;
	pid_t pid[MEASURE_SERVERS]; /* 0: none */
	int fd[MEASURE_SERVERS];
	int current;
	char said[512]; /* the last trouble that was said */
} Servers;
Status servers_open(
    Servers *s, const MeasureContext *contexts, int n, Error *error);
void servers_close(Servers *s);
/* What the driver does meanwhile; work NULL: it waits. */
typedef struct {
	void (*work)(void *context);
	void *context;
} Beside;
/* Sends a job and reads its answers; false where the server died of it: the
 * answers say so, and the next server is there for what follows. */
bool servers_exchange(Servers *s, JobHeader job, json_t *traces,
    Beside beside, Measurement *out);
/* Calls `attempt`, which fills out[0..n), until there is no trouble in them or it
 * has lasted too long. */
Status servers_insist(Servers *s, void (*attempt)(void *context),
    void *context, Measurement *out, int n, Error *error);

/* measure_trouble.c */
/* What a message blames, by the words of strerror. */
Trouble trouble_of_text(const char *text);
/* Would `size` bytes more, or the few that this process asks for at once, break
 * its own limit on address space? */
bool trouble_own_limit(size_t size);
/* Is what was resident a good part of the machine, or of a limit in bytes? */
bool trouble_own_memory(long resident_kb, size_t limit);
/* Is the machine visibly out of memory? */
bool trouble_memory_short(void);
/* How many processes the kernel has killed for memory; -1: not known. */
long long trouble_oom_kills(void);
/* What waitpid says of a process: "killed by signal 9 (Killed)". */
void trouble_describe_end(int status, char *text, size_t size);

/* measure_child.c: does the job, writes n Measurements to fd.  JOB_FORM,
 * JOB_COMPILE and JOB_AGAIN have one trace of the list here, the one that `trace`
 * says; what is read from fd tells them to go on: JOB_COMPILE, JOB_RUN. */
void measure_child(const MeasureContext *context, const JobHeader *job,
    const char *traces, int trace, int fd);

/* measure_reference.c: JOB_PLAIN and JOB_FAST. */
void job_plain(const MeasureContext *context, Arena *arena, Measurement *m);
void job_fast(const MeasureContext *context, Arena *arena,
    const json_t *traces, const JobHeader *job, Measurement *m);
/* measure_child.c: of a loaded kernel that was called.  probe_s: the least
 * probe of the run; 0: none yet. */
typedef struct Loaded Loaded;
void job_time(Loaded *kernel, double best_s, double probe_s, Measurement *m);

/* plausible.c: operations that no schedule saves, which the peak of the program's
 * kind is a bound to. */
double plausible_operations(
    Arena *arena, const Program *program, const Machine *machine);
/* Sets the outcome: ok, or implausible; FLOPs a second, 0: not known. */
void plausible_judge(const MeasureContext *context, double peak, Measurement *m);

/* Calls a function of n pointers; false: there are too many. */
void measure_call(void *function, void **args, int n);

/* peak.c: what multiplies and adds most of what a block sums, or of the largest of
 * a program's sums of products: PEAK_DOT and the number of an intrinsic, else FMAs. */
enum { PEAK_F32, PEAK_F64, PEAK_DOT, PEAK_KINDS = PEAK_DOT + MACHINE_DOTS };
int peak_kind(
    const Program *program, const Block *block, const Machine *machine);
int peak_of_program(const Program *program, const Machine *machine);
/* A kernel that does nothing but what a program's products are summed by; its
 * FLOPs a call. */
Lowered *peak_lowered(Arena *arena, const Program *program,
    const Target *target, int threads, double *flops);
/* The same that copies so many elements, `bytes` read and written in all. */
Lowered *copy_lowered(Arena *arena, const Target *target, int threads,
    int64_t bytes, int64_t *elements);

/* measure_simulate.c; what the analytic model foresees for a nest with numbers. */
double simulate_nest_seconds(
    Arena *arena, const Nest *nest, const Machine *machine);
double simulate_seconds(const Program *program, const Target *target,
    const Trace *trace, uint64_t seed, Error *error);

#endif
