/* Small files take small time: files of many shapes, each at a size and at four
 * times that, through `tunec check`, `tunec space` and `tunec build`, of plain C
 * and, `emit`, of C with vectors.
 *
 * A shape is a text with a part that is repeated, one row below.  Twice the size
 * may take 2.5 times the time, so four times 6.25 times: what is quadratic takes
 * 16.  Counted is the CPU time of the process, 15 ms more at the smaller size for
 * what a start takes; where it is too much all is measured again, and the least
 * counts: a program beside us makes times longer, never shorter.  Memory grows as
 * time may.
 *
 * The quick tier has each shape by `check` and one of the others.  TIER=long: all;
 * and files of as much as a file may have, 1 MiB, within 5 s and 500 MB
 * (check), 60 s and 2 GB (build).
 *
 * SHAPE=name: that one alone; PRINT=n: prints it at that size.
 * TABLE=1: prints what each takes, and the ratios for twice the size, of the
 * tests' sizes and of 1 MiB (make bench ONLY=growth). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/sanitize.h"
#include "test/common_tier.h"

enum {
	TIMES = 4,    /* the second size */
	CHAIN = 1900, /* operands of one expression, below 2,000 */
	FULL_BYTES = 1 << 20,
	CHECK_S = 5,
	CHECK_MB = 500,
	BUILD_S = 60,
	BUILD_MB = 2000,
	TRIES = 4,
	SMALL_S = 5, /* the CPU time of either size, at most */
	LONGEST_S = 100,
	MOST_MB = 8000 /* then a run is ended */
};
#define GROWTH	6.25 /* of the time, from one size to the other */
#define FLOOR_S 0.015

/* `@` is the number of the item, `@1` one less, `@2` two less, `$` that of the
 * definition; `@%7` the remainder.  A definition holds at most `most` items (0:
 * all), with `between` between them. */
typedef struct {
	const char *name;
	const char *head; /* inputs and what precedes the definitions */
	const char *begin, *item, *between, *end; /* of a definition */
	const char *tail;			  /* after the last one */
	int most;
	int check, build; /* items at the smaller size; 0: not run */
	bool refused;
	bool
	    counted; /* `space` looks at each vector, at one size alone: there are
			 less than a million; or most of it is, as of build, what
			 the model says of groups */
	int emit;    /* as `build` */
	const char *inner, *close; /* after the last item, and once for each */
	const char
	    *join; /* what so begins and ends are parts of one definition,
			   * and this is between them */
} Shape;

#define X      "inputs:\n  x: 'f32[64]'\ncompute: |\n"
#define XI     "inputs:\n  x: 'f32[64]'\n  id: 'i32[64]'\ncompute: |\n"
#define SQUARE "inputs:\n  x: 'f32[64, 64]'\ncompute: |\n"

static const Shape shapes[] = {
    {"chain", X "  d0[i < 64] = x[i]\n", "", "  d@[i < 64] = d@1[i] + 1\n", "",
	"", "", 0, .check = 1000, .build = 250},
    {"fibonacci", X "  d0[i < 64] = x[i]\n", "",
	"  d@[i < 64] = d@1[i] + d@2[i]\n", "", "", "", 0, .check = 1000,
	.build = 200, .counted = true},
    {"stencils", X "  d0[i < 64] = x[i]\n", "",
	"  d@[i < 64] = if 1 <= i < 63 then d@1[i - 1] + d@1[i + 1] else "
	"d@1[i]\n",
	"", "", "", 0, .check = 500, .build = 100},
    {"unused", X, "", "  d@[i < 64] = x[i] + @\n", "", "", "", 0, .check = 1000,
	.build = 500},
    {"sum", X, "  y$[i < 64] = ", "x[i]*@", " + ", "\n", "", CHAIN,
	.check = 475, .build = 475},
    {"shifts", X, "  y$[i < 64] = ", "x[(i + @) % 64]", " + ", "\n", "", CHAIN,
	.check = 475, .build = 50},
    {"quotients", X, "  y$[i < 64] = ", "x[(i + @)//@ % 64]", " + ", "\n", "",
	CHAIN, .check = 475, .build = 50},
    {"padded", X, "  y$[i < 64] = ", "(if i >= @%64 then x[i - @%64] else 0)",
	" + ", "\n", "", CHAIN, .check = 475, .build = 50},
    {"selects", X, "  y$[i < 64] = ", "(if x[i] > @ then x[i] else 0)", " + ",
	"\n", "", CHAIN, .check = 475, .build = 50},
    {"lookups", XI, "  y$[i < 64] = ", "x[clamp(id[i] + @, 0, 63)]", " + ",
	"\n", "", CHAIN, .check = 475, .build = 50},
    {"ands", X, "  y$[i < 64] = if ", "i + @ >= 0", " and ",
	" then x[i] else 0\n", "", CHAIN, .check = 475, .build = 475},
    {"ands_terms", X, "  y$[i < 64] = if ", "i//(@ + 1) >= 0", " and ",
	" then x[i] else 0\n", "", CHAIN, .check = 475, .build = 475},
    {"ands_sums", X, "  y$[i < 64] = if ", "i + @%7*(i//3) >= @", " and ",
	" then x[i] else 0\n", "", CHAIN, .check = 475, .build = 475},
    {"ands_differ", X, "  y$[i < 64] = if ", "i != @", " and ",
	" then x[i] else 0\n", "", CHAIN, .check = 475, .build = 475},
    {"ands_data", X, "  y$[i < 64] = if ", "x[i] != @", " and ",
	" then x[i] else 0\n", "", CHAIN, .check = 475, .build = 475},
    {"ands_mixed", X, "  y$[i < 64] = if ", "i*2 + 3 >= i and x[i] != @",
	" and ", " then x[i] else 0\n", "", 900, .check = 225, .build = 225},
    {"ands_value", X, "  y$[i < 64] = f32(", "x[i] > @", " and ", ")\n", "",
	CHAIN, .check = 475, .build = 475},
    {"ors", X, "  y$[i < 64] = if ", "i == @", " or ", " then 0 else x[i]\n",
	"", CHAIN, .check = 475, .build = 475},
    {"ors_held", X, "  y$[i < 64] = if ", "i == @", " or ",
	" then x[i] else 0\n", "", CHAIN, .check = 475, .build = 475},
    {"ors_data", X, "  y$[i < 64] = if ", "x[i] > @", " or ",
	" then 0 else x[i]\n", "", CHAIN, .check = 475, .build = 475},
    {"middles", X, "  y$[i < 64] = if ", "i + @", " <= ", " then x[i] else 0\n",
	"", 400, .check = 100, .build = 100},
    {"else_ifs", X, "  y$[i < 64] = ", "if i == @ then x[(i + @) % 64]",
	" else ", " else 0\n", "", 200, .check = 50, .build = 50},
    {"else_data", X, "  y$[i < 64] = ", "if x[i] > @ then x[(i + @) % 64]",
	" else ", " else 0\n", "", 200, .check = 50, .build = 50},
    {"then_ifs", X, "  y$[i < 64] = ", "if i >= @ then ", "", "\n", "", 200,
	.check = 50, .build = 50, .inner = "x[i]", .close = " else 0"},
    {"then_sums", X, "  y$[i < 64] = ", "if i >= @ then 1 + ", "", "\n", "",
	200, .check = 50, .build = 50, .inner = "x[i]", .close = " else 0"},
    {"index_sum", X, "  y$[i < 64] = x[(", "i//(@ + 1)", " + ", ") % 64]\n", "",
	CHAIN, .check = 475, .build = 100},
    {"index_ifs", X, "  y$[i < 64] = x[", "if i == @ then @%64", " else ",
	" else 0]\n", "", 200, .check = 50, .build = 50},
    {"index_mins", X, "  y$[i < 64] = x[(", "min(i, @%64)", " + ", ") % 64]\n",
	"", CHAIN, .check = 475, .build = 100},
    {"inputs", "inputs:\n", "", "  x@: 'f32[64]'\n", "", "",
	"compute: |\n"
	"  y[i < 64] = x1[i]\n",
	0, .check = 1000, .build = 1000},
    {"reads", "inputs: {x: 'f32[64, 200000]'}\ncompute: |\n", "  y$[i < 64] = ",
	"x[i, @]", " + ", "\n", "", CHAIN, .check = 475, .build = 475},
    {"params", "params:\n  p0: 1\n", "", "  p@: p@1 + 1\n", "", "",
	"inputs: {x: 'f32[64]'}\ncompute: |\n  y[i < 64] = x[i]\n", 0,
	.check = 1000, .build = 1000},
    {"params_flow", "params: {p0: 1", "", ", p@: p@1 + 1", "", "",
	"}\ninputs: {x: 'f32[64]'}\ncompute: |\n  y[i < 64] = x[i]\n", 0,
	.check = 1000, .build = 1000},
    {"cases", "params: {N: 8}\ninputs: {x: 'f32[N]'}\ncases:\n", "",
	"  c@: {N: @}\n", "", "", "compute: |\n  y[i < N] = x[i]\n", 0,
	.check = 500, .build = 50},
    {"cases_flow", "params: {N: 8}\ninputs: {x: 'f32[N]'}\ncases: {", "",
	"c@: {N: @}", ", ", "", "}\ncompute: |\n  y[i < N] = x[i]\n", 0,
	.check = 500, .build = 50},
    {"weights",
	"params: {N: 8}\ninputs: {x: 'f32[N]'}\nweights: {c1: 2}\ncases:\n", "",
	"  c@: {N: @}\n", "", "", "compute: |\n  y[i < N] = x[i]\n", 0,
	.check = 500, .build = 50},
    {"outputs", "inputs: {x: 'f32[64]'}\ncompute: |\n", "  y$[i < 64] = ",
	"x[i] + @", "", "\n", "", 1, .check = 5000, .build = 100},
    {"axes", "compute: |\n", "  y$[", "a@ < 1", ", ", "]: f32 = 1\n", "", 1000,
	.check = 1000, .build = 250},
    {"reduced_axes", "inputs: {x: 'f32[64]'}\ncompute: |\n",
	"  y$[i < 64] = sum[", "a@ < 2 - 1", ", ", "](x[i])\n", "", 1000,
	.check = 1000, .build = 250},
    {"reductions", SQUARE, "  y$[i < 64] = ", "sum[k < 64](x[i, k]*@)", " + ",
	"\n", "", CHAIN, .check = 250, .build = 50},
    {"equal_sums", SQUARE, "  y$[i < 64] = ", "sum[k < 64](x[i, k])", " + ",
	"\n", "", CHAIN, .check = 250, .build = 50},
    {"places", SQUARE, "  y$[i < 64] = ", "argmax[k < 64](x[i, k]*@)", " + ",
	"\n", "", CHAIN, .check = 250, .build = 25},
    {"functions", SQUARE,
	"  y$[i < 64] = ", "sum[k < 64](x[i, k]*exp(x[k, i] + @))", " + ", "\n",
	"", CHAIN, .check = 250, .build = 25, .counted = true},
    {"softmax", SQUARE "  m[i < 64] = max[k < 64](x[i, k])\n",
	"  y$[i < 64, j < 64] = ",
	"exp(x[i, j] - m[i])/@"
	"/sum[k < 64](exp(x[i, k] - m[i]))",
	" + ", "\n", "", CHAIN, .check = 100, .build = 25},
    {"nested_sums", X, "  y$[i < 64] = ", "sum[k@ < 2](1 + ", "", "\n", "", 200,
	.check = 50, .build = 50, .inner = "x[i]", .close = ")"},
    {"nested_triangles", X, "  y$[k < 8] = ", "sum[k@ < k + 1](1 + ", "", "\n",
	"", 100, .check = 12, .build = 12, .inner = "x[k]", .close = ")"},
    {"nested_mins", X, "  y$[i < 64] = x[", "min(i//@, ", "", "]\n", "", 200,
	.check = 50, .build = 50, .inner = "i", .close = ")"},
    {"nested_exps", X, "  y$[i < 64] = ", "exp(@ + ", "", "\n", "", 200,
	.check = 50, .build = 50, .inner = "x[i]", .close = ")"},
    {"nested_reads", XI, "  y$[i < 64] = x[", "clamp(id[", "", "]\n", "", 100,
	.check = 25, .build = 25, .inner = "i", .close = "], 0, 63)"},
    {"triangles", SQUARE, "  y$[i < 64] = ", "sum[k < i + 1](x[i, k]*@)", " + ",
	"\n", "", CHAIN, .check = 100, .build = 25},
    {"triangle_definitions", SQUARE, "",
	"  y@[i < 64] = sum[j < i + 1, k < j + 1, l < k + 1](x[i, l]*x[j, k])\n",
	"", "", "", 0, .check = 100, .build = 25},
    {"deep_triangles", X, "",
	"  y@[i < 250] = sum[j < i + 1, k < j + 1, l < k % 7, m < l + k](x[0])\n",
	"", "", "", 0, .check = 25, .build = 25},
    {"quotient_extents", SQUARE, "",
	"  y@[i < 64] = sum[j < i//2 + 1, k < min(j, 5) + i % 3](x[i, j]*x[j, "
	"min(k, 63)])\n",
	"", "", "", 0, .check = 25, .build = 25},
    {"large_extents", SQUARE, "",
	"  y@[i < 300]: f32 = sum[j < i*7//30 + 1, k < (j % 7)*3 + i//6]"
	"(x[j%64, k%64])\n",
	"", "", "", 0, .check = 25, .build = 25},
    {"errors", X, "", "  d@[i < 64] = z@[i]\n", "", "", "", 0, .check = 1000,
	.build = 0, .refused = true},
    {"misspelt", X, "", "  d@[i < 64] = d@a[i]\n", "", "", "", 0, .check = 1000,
	.build = 0, .refused = true},
    {"comments", X "  y[i < 64] = x[i]\n", "", "  # comment @\n", "", "", "", 0,
	.check = 5000, .build = 5000},
    {"casts", X, "  y$[i < 64] = ", "f32(f64(x[i]) + @)", " + ", "\n", "",
	CHAIN, .check = 475, .build = 475},
    {"exponentials", X, "  y$[i < 64] = ", "exp(x[i]*@)", " + ", "\n", "",
	CHAIN, .check = 475, .build = 475},
    {"products", X, "  y$[i < 64] = ", "x[i]", "*", "\n", "", CHAIN,
	.check = 475, .build = 475},
    {"numbers", X, "  y$[i < 64] = x[i] + ", "i*@", " + ", "\n", "", CHAIN,
	.check = 475, .build = 475},
    {"quotients_of_sums", SQUARE, "  y$[i < 64, j < 64] = ",
	"sum[k < 64]((x[i, k] - x[0, i])/x[1, i]*x[k, j]*@)", " + ", "\n", "",
	600, .check = 100, .build = 25},
    {"doubled_places", XI "  d0[i < 64] = id[i]\n", "",
	"  d@[i < 64] = d@1[i] + d@1[i]\n", "", "",
	"  y[i < 64] = x[clamp(d7[i], 0, 63)] + f32(argmax[k < 64](d7[k]))\n",
	0, .check = 500, .build = 10},
    {"const_inputs", "inputs:\n", "", "  x@: const f32[64]\n", "", "",
	"compute: |\n"
	"  y[i < 64] = x1[i]\n",
	0, .check = 1000, .build = 1000},
    {"ands_proven", X, "  y$[i < 64] = if ", "x[i] > @", " and ",
	" and i > 1 then x[i - 1] else 0\n", "", CHAIN, .check = 475,
	.build = 475},
    {"ands_read", X, "  y$[i < 64, j < 8] = if ", "i + @*j >= 0 and x[i] > @",
	" and ", " then x[i] else 0\n", "", 900, .check = 225, .build = 225},
    {"ands_read_terms", X, "  y$[i < 64] = if ", "i + i//@ >= 0 and x[i] > @",
	" and ", " then x[i] else 0\n", "", 900, .check = 225, .build = 225},
    {"ands_bound", "inputs:\n  x: 'f32[9000000]'\ncompute: |\n",
	"  y$[i < 64, j < 8] = if ", "i + @*j >= 40 and x[i + @*j - 40] > @",
	" and ", " then x[0] else 0\n", "", 900, .check = 225, .build = 225},
    {"ifs_bound", "inputs:\n  x: 'f32[900]'\ncompute: |\n",
	"  y$[i < 1000, j < 8] = ",
	"(if i + @%900*j < 900 then x[i + @%900*j] else 0)", " + ", "\n", "",
	900, .check = 225, .build = 25},
    {"body_sum", X "  y[i < 64] = ", "(", "x[i]*@", " + ", ")", "\n", 40,
	.check = 1000, .build = 500, .join = " + "},
    {"body_shifts", X "  y[i < 64] = ", "(", "x[(i + @) % 64]", " + ", ")",
	"\n", 40, .check = 1000, .build = 100, .join = " + "},
    {"body_reductions", SQUARE "  y[i < 64] = ", "(", "sum[k < 64](x[i, k]*@)",
	" + ", ")", "\n", 40, .check = 250, .build = 50, .join = " + "},
    {"body_padded", X "  y[i < 64] = ", "(",
	"(if i >= @%64 then x[i - @%64] else 0)", " + ", ")", "\n", 40,
	.check = 475, .build = 50, .join = " + "},
    {"body_ands", X "  y[i < 64] = if ", "(", "i + @ >= 0", " and ", ")",
	" then x[i] else 0\n", 40, .check = 475, .build = 475, .join = " and "},
    {"body_ands_terms", X "  y[i < 64, j < 8] = if ", "(",
	"i + @*j >= 0 and x[i] > @", " and ", ")", " then x[i] else 0\n", 40,
	.check = 500, .build = 225, .join = " and "},
    {"body_ands_each",
	"inputs:\n  x: 'f32[9000000]'\ncompute: |\n"
	"  y[i < 64, j < 8] = if ",
	"(", "i + @*j >= 40 and x[i + @*j - 40] > @", " and ", ")",
	" then x[0] else 0\n", 40, .check = 500, .build = 225, .join = " and "},
    {"body_index", X "  y[i < 64] = x[(", "(", "i//(@ + 1)", " + ", ")",
	") % 64]\n", 40, .check = 475, .build = 100, .join = " + "},
    {"body_index_mods", X "  y[i < 64] = x[(", "(", "i%(@ + 1)", " + ", ")",
	") % 64]\n", 40, .check = 475, .build = 100, .join = " + "},
    {"index_mods", X, "  y$[i < 64] = x[(", "i%(@ + 1)", " + ", ") % 64]\n", "",
	CHAIN, .check = 475, .build = 100},
    {"index_quotients_mods", X, "  y$[i < 64] = x[(", "i%(@ + 1) + i//(@ + 1)",
	" + ", ") % 64]\n", "", 900, .check = 225, .build = 50},
    {"index_clamps", X, "  y$[i < 64] = x[clamp(", "clamp(i + @, 3, @ + 9)",
	" + ", ", 0, 63)]\n", "", 900, .check = 225, .build = 50},
    {"dimensions", "inputs:\n  x: 'f32[64", "", ", 1", "", "]\n", "", 0,
	.check = 500, .build = 100,
	.inner = "]'\ncompute: |\n  y[i < 64] = x[i", .close = ", 0"},
    {"parentheses", X, "  y$[i < 64] = ", "(@ + ", "", "\n", "", 200,
	.check = 50, .build = 50, .inner = "x[i]", .close = ")"},
    {"long_names",
	X "  d0_0123456789012345678901234567890123456789[i < 64] = "
	  "x[i]\n",
	"",
	"  d@_0123456789012345678901234567890123456789[i < 64] = "
	"d@1_0123456789012345678901234567890123456789[i] + 1\n",
	"", "", "", 0, .check = 1000, .build = 250},
    {"shared", X "  d0[i < 64] = exp(x[i])\n", "",
	"  d@[i < 64] = d@1[i]*@ + d0[i]\n", "", "", "", 0, .check = 1000,
	.build = 200},
    {"dense_layers", SQUARE "  d0[i < 64, j < 64] = x[i, j]\n", "",
	"  d@[i < 64, j < 64] = sum[k < 64](d@1[i, k]*x[k, j])\n", "", "", "",
	0, .check = 500, .build = 1500, .emit = 10},
    {"softmaxes", SQUARE "  d0[i < 64, j < 64] = x[i, j]\n", "",
	"  d@[i < 64, j < 64] = exp(d@1[i, j] - max[k < 64](d@1[i, k]))\n", "",
	"", "", 0, .check = 500, .build = 25, .counted = true},
    {"pools", SQUARE "  d0[i < 64, j < 64] = x[i, j]\n", "",
	"  d@[i < 64, j < 64] = max[k < 3](d@1[i, (j + k) % 64])\n", "", "", "",
	0, .check = 500, .build = 25, .counted = true},
    {"products_of_rows", SQUARE,
	"  y$[i < 64, j < 64] = ", "sum[k < 64](x[i, k]*x[k, j] + @)", "", "\n",
	"", 1, .check = 250, .build = 25},
    {"extents", "params: {N: 9}\ninputs: {x: 'f32[N]'}\ncompute: |\n", "",
	"  y@[i < N + @] = x[i % N]\n", "", "", "", 0, .check = 500,
	.build = 100},
    {"cases_products", "params: {N: 8}\ninputs: {x: 'f32[N, N]'}\ncases:\n", "",
	"  c@: {N: @}\n", "", "",
	"compute: |\n  y[i < N, j < N] = sum[k < N](x[i, k]*x[k, j])\n", 0,
	.check = 500, .build = 50},
    {"cases_params",
	"params: {A: 8, B: A, C: B, N: C}\ninputs: {x: 'f32[N]'}\ncases:\n", "",
	"  c@: {A: @, B: @, C: @ + 1}\n", "", "",
	"compute: |\n  y[i < N] = x[i]\n", 0, .check = 500, .build = 50},
    {"templates",
	"inputs: {x: 'f32[64]'}\ncompute: |\n  y[i < 64] = x[i]\n"
	"schedule: |\n",
	"", "  t@:\n    a, b = split(y.i, ? in tile(2, inner<=16))\n", "", "",
	"", 0, .check = 250, .build = 50},
    {"template_steps",
	"inputs: {x: 'f32[64]'}\ncompute: |\n  y[i < 64] = x[i]\n"
	"schedule: |\n",
	"  t$:\n    s@1, t@1 = split(y.i, [_, 1])\n",
	"    s@, t@ = split(s@1, [_, 1])\n", "", "", "", 1000, .check = 250,
	.build = 250, .join = ""},
    {"and_ors", X, "  y$[i < 64] = if ", "(x[i] > @ and i != @)", " or ",
	" then x[i] else 0\n", "", 900, .check = 225, .build = 225},
    {"or_ands", X, "  y$[i < 64] = if ", "(x[i] > @ or i == @%64)", " and ",
	" then x[i] else 0\n", "", 900, .check = 225, .build = 225},
    {"masked_sums", SQUARE, "  y$[i < 64] = ",
	"sum[k < 64](if k <= i and k != @%64 then x[i, k]*@ else 0)", " + ",
	"\n", "", 900, .check = 225, .build = 25},
    {"mixed_reductions", SQUARE,
	"  y$[i < 64] = ", "sum[k < 64](x[i, k]*@)*max[k < 64](x[k, i] + @)",
	" + ", "\n", "", 600, .check = 150, .build = 25},
    {"chosen_by_sums", SQUARE, "  y$[i < 64] = ",
	"(if sum[k < 64](x[i, k]) > @ then x[i, @%64] else 0)", " + ", "\n", "",
	600, .check = 150, .build = 50},
    {"convolutions",
	"inputs:\n  x: 'f32[8, 16, 16]'\n  w: 'f32[8, 8, 3, 3]'\n"
	"compute: |\n  d0[c < 8, h < 16, v < 16] = x[c, h, v]\n",
	"",
	"  d@[c < 8, h < 16, v < 16] = sum[k < 8, r < 3, s < 3]("
	"if 1 <= h + r < 17 and 1 <= v + s < 17 then "
	"d@1[k, h + r - 1, v + s - 1]*w[c, k, r, s] else 0) + d@2[c, h, v]\n",
	"", "", "", 0, .check = 100, .build = 10},
    {"attention", SQUARE "  d0[i < 64, j < 64] = x[i, j]\n", "",
	"  s@[i < 64, j < 64] = sum[k < 64](d@1[i, k]*d@1[j, k])\n"
	"  e@[i < 64, j < 64] = exp(s@[i, j] - max[k < 64](s@[i, k]))\n"
	"  d@[i < 64, j < 64] = sum[k < 64](e@[i, k]*d@1[k, j])/"
	"sum[k < 64](e@[i, k])\n",
	"", "", "", 0, .check = 100, .build = 10},
    {"params_fibonacci", "params:\n  p0: 1\n", "", "  p@: (p@1 + p@2)%1000\n",
	"", "", "inputs: {x: 'f32[64]'}\ncompute: |\n  y[i < 64] = x[i]\n", 0,
	.check = 1000, .build = 1000},
    {"cases_overrides",
	"params: {A: 8, B: A*2, C: B + 1, D: C*A, E: D//3, F: E + B}\n"
	"inputs: {x: 'f32[A, F]'}\ncases:\n",
	"", "  c@: {A: @%97 + 2, C: @, E: A + @}\n", "", "",
	"compute: |\n  y[i < A] = sum[k < F](x[i, k]*x[i, F - 1 - k])\n", 0,
	.check = 500, .build = 50},
    {"many_axes", "compute: |\n", "",
	"  y@[i < 1, j < 1, k < 1, l < 1, m < 1, n < 1]: f32 = 1\n", "", "", "",
	0, .check = 500, .build = 50},
};

static const Shape *shape_found(const char *name)
{
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (!strcmp(shapes[i].name, name))
			return &shapes[i];
	return NULL;
}

/* `text` with its numbers. */
static void print(Buf *out, const char *text, int item, int definition)
{
	for (const char *p = text; *p; p++) {
		if (*p == '$') {
			buf_printf(out, "%d", definition);
		} else if (*p != '@') {
			buf_putc(out, *p);
		} else if (p[1] == '%') {
			char *end;
			long by = strtol(p + 2, &end, 10);
			buf_printf(out, "%d", item % (int)by);
			p = end - 1;
		} else if (p[1] == '1' || p[1] == '2') {
			int number = item - (*++p - '0');
			buf_printf(out, "%d", number < 0 ? 0 : number);
		} else {
			buf_printf(out, "%d", item);
		}
	}
}

static void end(Buf *out, const Shape *s, int items, int item, int definition)
{
	if (s->inner)
		buf_puts(out, s->inner);
	for (int i = 0; s->close && i < items; i++)
		buf_puts(out, s->close);
	print(out, s->end, item, definition);
}

/* With so many items, or (n is 0) with as many as a file of those bytes can
 * have. */
static void generate(Buf *out, const Shape *s, int n, size_t bytes)
{
	int definition = 0, place = 0, i = 1;
	size_t close = s->close ? strlen(s->close) : 0;
	buf_puts(out, "tunec: 1\nname: op\n");
	buf_puts(out, s->head);
	/* the list of outputs takes some bytes for each definition */
	for (; n ? i <= n
		 : out->size + 10 * (size_t)definition + close * (size_t)place <
		     bytes - 30000;
	     i++) {
		definition += !place;
		if (s->join && definition > 1 && !place)
			buf_puts(out, s->join);
		print(out, place ? s->between : s->begin, i, definition);
		print(out, s->item, i, definition);
		if (++place == s->most) {
			end(out, s, place, i, definition);
			place = 0;
		}
	}
	if (place)
		end(out, s, place, i, definition);
	buf_puts(out, s->tail);
	if (s->join || definition < 2)
		return;
	for (int k = 1; k <= definition; k++)
		buf_printf(out, "%s y%d", k > 1 ? "," : "outputs: [", k);
	buf_puts(out, "]\n");
}

/* --- runs -------------------------------------------------------------------- */

typedef enum { CHECK, BUILD, SPACE, EMIT, VERBS } Verb;

static const char *const verbs[] = {"check", "build", "space", "emit"};

/* Of the smaller size; a space is made for each build. */
static int items(const Shape *s, Verb verb)
{
	return verb == CHECK		  ? s->check
	    : verb == EMIT		  ? s->emit
	    : verb == SPACE && s->counted ? 0
					  : s->build;
}

typedef struct {
	double seconds;
	long kbytes;
	bool fine; /* accepted, or refused where it is to be */
} Cost;

static char folder[] = "/tmp/growth-XXXXXX";

static void write_spec(const Shape *s, int n, size_t bytes)
{
	Buf text = {0};
	generate(&text, s, n, bytes);
	FILE *file = fopen("op.yaml", "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text.data, 1, text.size, file), text.size);
	assert_int_equal(fclose(file), 0);
	buf_free(&text);
}

static void quiet(void)
{
	int null = open("/dev/null", O_RDWR);
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
}

/* `seconds` and `mbytes` are what the run may take. */
static Cost run(const Shape *s, Verb verb, double seconds, long mbytes)
{
	const char *tunec = getenv("TUNEC");
	struct rlimit time = {(rlim_t)seconds + 1, (rlim_t)seconds + 2};
	struct rlimit memory = {(rlim_t)mbytes << 20, (rlim_t)mbytes << 20};
	struct rusage usage;
	int status;
	pid_t pid = fork();
	if (!pid) {
		quiet();
		setrlimit(RLIMIT_CPU, &time);
		setrlimit(RLIMIT_AS, &memory);
		if (verb == EMIT)
			execl(tunec, "tunec", "build", "op.yaml", "--target",
			    "llvm -mcpu=icelake-server", "--db", "none.jsonl",
			    "-o", "op.c", NULL);
		else if (verb == BUILD)
			execl(tunec, "tunec", "build", "op.yaml", "--target",
			    "c", "--db", "none.jsonl", "-o", "op.c", NULL);
		else if (verb == SPACE)
			execl(tunec, "tunec", "space", "op.yaml", "--target",
			    "c", NULL);
		else
			execl(tunec, "tunec", "check", "op.yaml", NULL);
		_exit(127);
	}
	assert_int_equal(wait4(pid, &status, 0, &usage), pid);
	return (Cost){
	    .seconds = (double)usage.ru_utime.tv_sec +
		(double)usage.ru_utime.tv_usec * 1e-6,
	    .kbytes = usage.ru_maxrss,
	    .fine = WIFEXITED(status) && WEXITSTATUS(status) == s->refused,
	};
}

/* The least of what was seen of both sizes, until one pair is in proportion. */
static bool in_proportion(const Shape *s, Verb verb, int n, Cost *a, Cost *b)
{
	for (int try = 0; try < TRIES; try++) {
		Cost now[2];
		for (int i = 0; i < 2; i++) {
			write_spec(s, i ? n * TIMES : n, 0);
			now[i] = run(s, verb, SMALL_S, MOST_MB);
			if (!now[i].fine) {
				*b = now[i];
				return false;
			}
		}
		if (!try || now[0].seconds < a->seconds)
			*a = now[0];
		if (!try || now[1].seconds < b->seconds)
			*b = now[1];
		if (b->seconds <= GROWTH * (a->seconds + FLOOR_S) &&
		    (double)b->kbytes <= GROWTH * (double)a->kbytes)
			return true;
	}
	return false;
}

static int grows(const Shape *s, Verb verb)
{
	int n = items(s, verb);
	Cost a = {0}, b = {0};
	if (!n || in_proportion(s, verb, n, &a, &b))
		return 0;
	print_error("%s %s: %d items take %.3f s and %ld MB, %d %.3f s and "
		    "%ld MB%s\n",
	    verbs[verb], s->name, n, a.seconds, a.kbytes >> 10, n * TIMES,
	    b.seconds, b.kbytes >> 10, b.fine ? "" : ", and fail");
	return 1;
}

static int fills(const Shape *s, Verb verb)
{
	double seconds = verb == BUILD ? BUILD_S : CHECK_S;
	long mbytes = verb == BUILD ? BUILD_MB : CHECK_MB;
	if (!items(s, verb))
		return 0;
	write_spec(s, 0, FULL_BYTES);
	Cost c = run(s, verb, LONGEST_S, MOST_MB);
	if (c.fine && c.seconds <= seconds && c.kbytes >> 10 <= mbytes)
		return 0;
	print_error("%s %s: 1 MiB takes %.1f s and %ld MB%s\n", verbs[verb],
	    s->name, c.seconds, c.kbytes >> 10, c.fine ? "" : ", and fails");
	return 1;
}

static void each_shape(int (*look)(const Shape *s, Verb verb), Verb verb)
{
	const char *only = getenv("SHAPE");
	int bad = 0;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (!only || strstr(shapes[i].name, only))
			bad += look(&shapes[i], verb);
	assert_int_equal(bad, 0);
}

/* In the quick tier each shape by one of the verbs that plan, in turn. */
static int grows_in_turn(const Shape *s, Verb verb)
{
	bool turn = (s - shapes) % (VERBS - BUILD) == verb - BUILD;
	return tier_is_long() || getenv("SHAPE") || turn ? grows(s, verb) : 0;
}

/* --- the table --------------------------------------------------------------- */

/* The least time of up to three runs, while they are short. */
static Cost least(const Shape *s, Verb verb)
{
	Cost best = run(s, verb, LONGEST_S, MOST_MB);
	for (int i = 0; i < 2 && best.fine && best.seconds < 1; i++) {
		Cost again = run(s, verb, LONGEST_S, MOST_MB);
		if (again.seconds < best.seconds)
			best.seconds = again.seconds;
	}
	return best;
}

/* Of the longer run, beside what half the size takes. */
static void print_pair(const Cost *half, const Cost *whole)
{
	printf(" %7.3f | %5ld | %5.2f%s |", whole->seconds, whole->kbytes >> 10,
	    whole->seconds / (half->seconds + FLOOR_S),
	    half->fine && whole->fine ? "" : ", FAILS");
}

/* A space and C with vectors have no bound at 1 MiB. */
static int print_row(const Shape *s, Verb verb)
{
	int n = items(s, verb);
	Cost c[4] = {0};
	if (!n)
		return 0;
	for (int i = 0; i < (verb >= SPACE ? 2 : 4); i++) {
		write_spec(s, i < 2 ? n * (i ? TIMES : TIMES / 2) : 0,
		    i == 2 ? FULL_BYTES / 2 : FULL_BYTES);
		c[i] = least(s, verb);
	}
	printf("| %s | %s | %d |", s->name, verbs[verb], n * TIMES);
	print_pair(&c[0], &c[1]);
	if (verb < SPACE)
		print_pair(&c[2], &c[3]);
	puts("");
	fflush(stdout);
	return 0;
}

static void print_table(void)
{
	puts("| shape | verb | items | s | MB | for twice the size |"
	     " 1 MiB: s | MB | for twice the size |\n"
	     "| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
	each_shape(print_row, CHECK);
	each_shape(print_row, BUILD);
	each_shape(print_row, SPACE);
	each_shape(print_row, EMIT);
}

static void test_check(void **state)
{
	(void)state;
	each_shape(grows, CHECK);
}

static void test_build(void **state)
{
	(void)state;
	each_shape(grows_in_turn, BUILD);
}

static void test_space(void **state)
{
	(void)state;
	each_shape(grows_in_turn, SPACE);
}

static void test_emit(void **state)
{
	(void)state;
	each_shape(grows_in_turn, EMIT);
}

static void test_full_check(void **state)
{
	(void)state;
	if (!tier_is_long())
		return;
	each_shape(fills, CHECK);
}

static void test_full_build(void **state)
{
	(void)state;
	if (!tier_is_long())
		return;
	each_shape(fills, BUILD);
}

static int work_in_folder(void **state)
{
	(void)state;
	return !mkdtemp(folder) || chdir(folder);
}

static int remove_folder(void **state)
{
	(void)state;
	unlink("op.yaml");
	unlink("op.c");
	return chdir("/") || rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_check),
	    cmocka_unit_test(test_build),
	    cmocka_unit_test(test_space),
	    cmocka_unit_test(test_emit),
	    cmocka_unit_test(test_full_check),
	    cmocka_unit_test(test_full_build),
	};
	const char *print = getenv("PRINT"), *shape = getenv("SHAPE");
	if (print && shape && shape_found(shape)) {
		Buf out = {0};
		generate(&out, shape_found(shape), atoi(print), FULL_BYTES);
		fwrite(out.data, 1, out.size, stdout);
		buf_free(&out);
		return 0;
	}
	if (getenv("TABLE")) {
		void *none = NULL;
		work_in_folder(&none);
		print_table();
		return remove_folder(&none);
	}
	if (ADDRESS_SANITIZER) {
		puts("time and memory are the sanitizer's");
		return 77;
	}
	return cmocka_run_group_tests_name(
	    "growth", tests, work_in_folder, remove_folder);
}
