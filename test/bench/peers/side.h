/* A library as a side of bench_sides: a shared object with these functions.
 *
 * The text is `VARIANT KIND,NAME=NUMBER,...,WORD,...`: how the library is to do
 * it, what, of which sizes.  Inputs are those of the operator that it is held
 * to, in the operator's order and layout; the result is its first output. */
#ifndef TEST_BENCH_PEERS_SIDE_H
#define TEST_BENCH_PEERS_SIDE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	const char *text;
	void *const *inputs;
	int threads;
} SideRequest;

/* NULL: the library cannot, and *why says so. */
void *side_open(const SideRequest *request, const char **why);
void side_run(void *side);
void side_result(void *side, void *to);
/* Which of its algorithms the library took. */
const char *side_about(void *side);

/* --- for those who write one ------------------------------------------------ */

/* What follows `,NAME=` or, for a word that stands alone, 1. */
static inline double side_value(const char *text, const char *name, double other)
{
	size_t n = strlen(name);
	for (const char *at = strchr(text, ','); at; at = strchr(at, ',')) {
		if (strncmp(++at, name, n))
			continue;
		if (at[n] == '=')
			return strtod(at + n + 1, NULL);
		if (!at[n] || at[n] == ',')
			return 1;
	}
	return other;
}

static inline int side_number(const char *text, const char *name, int other)
{
	return (int)side_value(text, name, other);
}

/* Whether the text is of this kind: `KIND`, then a comma or the end. */
static inline int side_is(const char *text, const char *kind)
{
	const char *space = strchr(text, ' '), *at = space ? space + 1 : text;
	size_t n = strlen(kind);
	return !strncmp(at, kind, n) && (!at[n] || at[n] == ',');
}

static inline int side_variant(const char *text, const char *variant)
{
	size_t n = strlen(variant);
	return !strncmp(text, variant, n) && text[n] == ' ';
}

#endif
