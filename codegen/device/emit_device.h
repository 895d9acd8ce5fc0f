/* What the files of the device-language emitter share.
 *
 *     emit_device.c          kernels, loops, buffers, the file
 *     emit_device_op.c       one operation: a statement for each part
 *     emit_device_memory.c   loads and stores
 *     emit_device_fragment.c products of a GPU's warp
 *     emit_device_live.c     what need not be there
 *     emit_device_convert.c  conversions
 *     emit_device_part.c     the parts that hold a temporary
 *     emit_device_type.c     types, literals, helpers
 *     emit_opencl_host.c     the .c that launches OpenCL's
 *     dialects.def           what CUDA C and OpenCL C call things
 *
 * A vector temporary is held in parts, variables of as many lanes as the
 * dialect has at most: OpenCL C has vectors of 16, CUDA C has no arithmetic on
 * vectors, so that a part is a lane.  A part of several bools is a vector of
 * ints, 0 or -1, as comparisons give it. */
#ifndef CODEGEN_EMIT_DEVICE_H
#define CODEGEN_EMIT_DEVICE_H

#include "codegen/c/emit_c.h"

typedef enum {
#define DIALECT(name, part, kernel, function, global, shared, aligned,         \
    barrier, suffix)                                                           \
	DIALECT_##name,
#include "codegen/device/dialects.def"
#undef DIALECT
} DialectName;

typedef struct {
	DialectName name;
	int part;             /* lanes of a variable, at most */
	const char *kernel;   /* before a kernel's name: format of x, y, z */
	const char *function; /* before a helper */
	const char *global, *shared; /* of pointers; of arrays */
	const char *aligned;         /* format of bytes */
	const char *barrier;
	const char *suffix;   /* of a 64-bit integer */
} Dialect;

typedef struct {
	EmitC c; /* names, scopes, text */
	const Dialect *dialect;
	bool exact; /* nothing may be contracted */
	bool cpu;   /* for a device that is one */
	/* of the kernel at hand */
	bool grouped; /* groups share the iterations of its loops */
	int aligned;  /* bytes that parameters may turn out to be aligned to;
			 `tunec_whole` says whether they are.  0: not asked */
	bool *live;   /* by temporary: something reads it */
} EmitDevice;

/* emit_device_type.c */
const char *device_text(EmitDevice *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool emit_device_reserved(const char *name);
/* To what stands before the kernel. */
void emit_device_put(EmitDevice *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Of an element in memory, and of so many lanes in a variable: "float8". */
const char *device_element(const EmitDevice *e, DType type);
const char *device_type(EmitDevice *e, DType type, int lanes);
int device_bytes(DType type); /* of a variable's lane */
const char *device_unsigned(EmitDevice *e, DType type, int lanes);
const char *device_float(EmitDevice *e, DType type, double value);
const char *device_int(EmitDevice *e, int64_t value);
const char *device_number(EmitDevice *e, DType type, int64_t value);
/* The names of helpers, defined on first use. */
const char *device_floordiv(EmitDevice *e, DType type, int lanes, bool remainder);
const char *device_saturate(EmitDevice *e, DType from, DType to);
const char *device_half(EmitDevice *e, DType from, DType to, int lanes);

/* A vector in memory, aligned as its elements are: a struct whose member is v. */
const char *device_packed(EmitDevice *e, DType type, int lanes);

/* An asynchronous copy of so many bytes; "commit" or "wait" of such. */
const char *device_copy(EmitDevice *e, int bytes);
const char *device_copies_word(EmitDevice *e, const char *word);

/* An affine sum of indices; as a place in an array. */
const char *device_affine(EmitDevice *e, const LowAffine *a);

/* emit_device_part.c */
/* Lanes of a part of a temporary, and how many parts it has. */
int device_part(const EmitDevice *e, int temp);
int device_parts(const EmitDevice *e, int temp);
const char *device_name(EmitDevice *e, int temp, int part);
/* The type of a variable: of a part. */
const char *device_variable(EmitDevice *e, int temp);
/* "float x" where this assignment declares x, else "x". */
const char *device_place(EmitDevice *e, int temp, int part);
/* The part of `dst` at hand; the last one declares all. */
void device_assign(EmitDevice *e, int dst, int part, const char *value);
/* Lane `lane` of a temporary, a scalar. */
const char *device_lane(EmitDevice *e, int temp, int lane);
/* A part of what an operation gives from a text for each of its lanes. */
typedef const char *LaneText(EmitDevice *e, const LowNode *n, int lane);
const char *device_from_lanes(
    EmitDevice *e, const LowNode *n, int part, LaneText *text);

/* emit_device_convert.c: `a`, so many lanes of one type, as another. */
const char *device_convert(
    EmitDevice *e, DType from, DType to, int lanes, const char *a);
/* A mask as one of values of so many bytes: "convert_long8(m)". */
const char *device_mask(EmitDevice *e, const char *mask, int lanes, int bytes);
/* What a comparison of values of so many bytes gives, as a mask. */
const char *device_as_mask(
    EmitDevice *e, const char *test, int lanes, int bytes);

/* emit_device_op.c */
void device_op(EmitDevice *e, const LowNode *n);

/* emit_device_live.c: fills `live`; an operation that need not be there. */
void device_find_live(EmitDevice *e);
bool device_is_dead(const EmitDevice *e, const LowNode *n);
/* A quotient or remainder whose divisor is not in the text. */
bool device_divides_by_bits(const EmitDevice *e, const LowNode *n);

/* emit_device_memory.c: loads and stores; false: not one of these. */
bool device_memory(EmitDevice *e, const LowNode *n);
void device_copies(EmitDevice *e, const LowNode *n); /* their groups */

/* emit_device_fragment.c */
void device_mma(EmitDevice *e, const LowNode *n);
void device_load_matrix(EmitDevice *e, const LowNode *n);
const char *device_tf32(EmitDevice *e, const char *x); /* it, rounded */

/* emit_device_group.c: of a warpgroup, and what they need of a barrier */
void device_wgmma(EmitDevice *e, const LowNode *n);
void device_barrier(EmitDevice *e, const LowNode *n);

#endif
