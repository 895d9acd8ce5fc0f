#ifndef TUNER_MEASURE_INTERNAL_H
#define TUNER_MEASURE_INTERNAL_H

#include "tuner/measure.h"

/* magnitude.c: the least number s of bits, such that no value of the program is
 * expected to overflow where floats of the inputs are at most
 * 2^(exponent - s). */
int magnitude_shift(const Program *program, int exponent);

/* measure_data.c: one shared mapping, made before the server is forked. */
typedef struct {
	const Program *program;
	unsigned char *base; /* shared between all processes */
	size_t size;
	/* offsets by set; arrays of ninputs, noutputs */
	size_t *input[MEASURE_SETS], *expected[MEASURE_SETS];
} MeasureData;

Status measure_data_new(Arena *arena, const Program *program,
    MeasureData *data, Error *error);
void measure_data_fill(MeasureData *data, uint64_t seed); /* the inputs */
void measure_data_free(MeasureData *data);
/* Empty, or where output differs: "out[3, 0]: 1.5, expected 2.5". */
bool measure_data_compare(const MeasureData *data, int set, int output,
    const void *got, char *why, size_t size);
/* The expected outputs against interp_point at 64 points and the corners. */
bool measure_data_check(const MeasureData *data, char *why, size_t size);

/* measure_time.c */
typedef void TimedCall(void *context);
typedef struct {
	TimedCall *call;
	void *context;
	double best_s;    /* 0: none */
	void *flush;      /* memory to walk over before each run; NULL: warm */
	size_t flush_bytes;
} TimedKernel;
void measure_time(const TimedKernel *kernel, Measurement *out);
/* Median and spread of runs_s. */
void measure_summary(Measurement *out);
/* n kernels in turn, order reversed half way: as many turns as fit into
 * MEASURE_FINAL_S seconds a kernel, six at least. */
void measure_time_interleaved(const TimedKernel *kernels, int n, Measurement *out);
double measure_now(void); /* seconds, monotonic */
/* Every thread of this process to a CPU of its own, in the order of the main
 * thread's set; once in a process, since it narrows that set. */
void measure_pin_threads(void);

/* measure_server.c: what driver and server say to each other */
typedef enum {
	JOB_REFERENCE,
	JOB_COMPILE, /* a child for each trace; they wait for JOB_RUN */
	JOB_RUN,
	JOB_FINAL,
	JOB_PEAK
} JobKind;
typedef struct {
	JobKind kind;
	int n;	   /* answers, one for each trace */
	int child; /* JOB_RUN: which of those compiled last */
	double best_s, limit_s, peak;
	size_t text; /* bytes of JSON that follow: a list of traces */
} JobHeader;
typedef struct {
	const Program *program;
	const Target *target;
	const MeasureOptions *options;
	const MeasureData *data;
} MeasureContext;
/* All of it, through a socket; false where the other side is gone. */
bool measure_read(int fd, void *data, size_t size);
bool measure_write(int fd, const void *data, size_t size);
/* Never returns. */
_Noreturn void measure_server(const MeasureContext *context, int fd);

/* measure_child.c: does the job, writes n Measurements to fd.  JOB_COMPILE has
 * one trace here; a JobHeader read from fd is its JOB_RUN. */
void measure_child(const MeasureContext *context, const JobHeader *job,
    json_t *traces, int fd);

/* Calls a function of n pointers; false: there are too many. */
bool measure_call(void *function, void **args, int n);

/* peak.c: a kernel that does nothing but FMAs; its FLOPs a call. */
Lowered *peak_lowered(Arena *arena, const Target *target, int threads,
    double *flops);

/* measure_simulate.c */
double simulate_seconds(const Program *program, const Target *target,
    const Trace *trace, uint64_t seed, Error *error);

#endif
