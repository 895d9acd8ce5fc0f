/* A kernel inside a measuring child: compiled, loaded, with buffers, called and
 * compared with the expected outputs.  Nothing is freed: the process ends soon.
 *
 *     measure_kernel.c         on this CPU, and what is the same everywhere
 *     measure_cold.c           what leaves the caches before it is called
 *     measure_kernel_device.c  on a device; there a process goes on with the next
 *                              candidate, and what one had is released */
#ifndef TUNER_MEASURE_KERNEL_H
#define TUNER_MEASURE_KERNEL_H

#include "tuner/measure/measure_internal.h"

struct Loaded {
	const MeasureContext *context;
	int most_operations; /* of the lowered form; 0: any */
	bool larger;         /* it was given up, it would have more */
	Lowered *lowered;
	Buf object;
	void *function;
	int nargs;    /* the kernel's, workspace included */
	/* by argument, once loaded: */
	void **args, **sources; /* const inputs as they are before packing */
	void **packs;           /* by const input: its function */
	bool guarded;  /* the buffers end at pages without access */
	size_t wanted; /* bytes of the buffer that was asked for last */
	size_t workspace; /* bytes */

	/* On a device; args are copies on this side, the workspace has none. */
	DeviceProgram *program;
	DeviceLaunch *launches; /* as lowered->launches */
	DeviceBuffer **buffers; /* by argument */
	double call_s; /* of the last call */
	Error failed;  /* of a call */
};

/* Each answers false with outcome, error and trouble in m where it fails. */

/* `json`: a trace; NULL: candidate 0. */
bool kernel_lower(Loaded *k, Arena *arena, const json_t *json, int threads,
    Measurement *m);
/* To an object, with its hash. */
bool kernel_compile_lowered(Loaded *k, Measurement *m);
/* Both. */
bool kernel_compile(Loaded *k, Arena *arena, const json_t *json, int threads,
    Measurement *m);
bool kernel_load(Loaded *k, Measurement *m);

/* Arguments on an input set between guard pages, constants packed, all that is
 * written poisoned; of a second set in the same places. */
bool kernel_guard(Loaded *k, int set, Measurement *m);
/* Arguments of n kernels of one program for timing, which have all buffers in
 * common but packed constants: the order of kernels must not hang on where
 * their buffers happen to lie. */
bool kernel_place(Loaded *const *kernels, int n, Measurement *m);

void kernel_call(void *loaded);
/* measure_cold.c: what is done before each call that is timed; NULL: nothing. */
TimedCall *kernel_before(const Loaded *kernel);
/* What went wrong, which is not the candidate's fault where the machine refused
 * what is within its limit: `wanted` bytes, or a library's own business. */
void kernel_tell(const char *what, size_t wanted, Measurement *m);
/* Threads to CPUs, where that is wanted; before the first call. */
bool kernel_pin(const Loaded *kernel, Measurement *m);

/* After a call on guarded arguments. */
bool kernel_inputs_unchanged(const Loaded *k, int set, Measurement *m);
/* In full with the expected outputs, on all sets; what is hopeless against
 * best_s twice in a row on the first alone.  best_s 0: none known.  m->runs_s:
 * of each set. */
bool kernel_check(Loaded *k, double best_s, Measurement *m);

/* measure_kernel_device.c */
bool kernel_on_device(const Loaded *k);
bool device_compile(Loaded *k, Measurement *m); /* to what the driver takes */
bool device_load(Loaded *k, Measurement *m);
/* The arguments to the device, their tails poisoned; back from it, the tails
 * compared. */
bool device_put(Loaded *k, Measurement *m);
bool device_get(Loaded *k, Measurement *m);
void device_call(Loaded *k);
/* Did all calls succeed? */
bool device_sound(const Loaded *k, Measurement *m);
double device_seconds(void *loaded, int calls);
/* The buffers of another kernel of the program, but for packed constants. */
void device_share(Loaded *k, const Loaded *from);
/* All that it had on the device and on this side. */
void device_release(Loaded *k);

#endif
