/* What people write first, and what it is called here: words and signs of other
 * languages, for messages that say what to write. */
#include "ir/spec/spec.h"

#include <string.h>
#include <strings.h>

typedef enum { FUNCTION, REDUCTION, DTYPE, VALUE } HintKind;

typedef struct {
	HintKind kind;
	const char *word, *hint;
} Hint;

static const Hint hints[] = {
#define HINT(kind, word, write, rest) {kind, word, write rest},
#include "ir/spec/hints.def"
};

typedef struct {
	const char *sign, *hint;
} SignHint;

static const SignHint signs[] = {
#define SIGN(sign, write, rest) {sign, "'" write "'" rest},
#include "ir/spec/hints.def"
};

static const char *find(HintKind kind, const char *word)
{
	for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
		if (hints[i].kind == kind && !strcasecmp(hints[i].word, word))
			return hints[i].hint;
	return NULL;
}

const char *hint_function(const char *word)
{
	return find(FUNCTION, word);
}

const char *hint_reduction(const char *word)
{
	return find(REDUCTION, word);
}

const char *hint_dtype(const char *word)
{
	return find(DTYPE, word);
}

const char *hint_value(const char *word)
{
	return find(VALUE, word);
}

size_t hint_sign(const char *text, size_t size, const char **write)
{
	for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
		const char *sign = signs[i].sign;
		size_t n = strlen(sign);
		if (sign[0] != text[0] || size < n || memcmp(text, sign, n))
			continue;
		*write = signs[i].hint;
		return n;
	}
	return 0;
}

const char *hint_character(char c)
{
	switch (c) {
	case ';':
		return "is not needed: a definition ends where the next one "
		       "begins";
	case '{': return "is no bracket of the language: write '('";
	case '}': return "is no bracket of the language: write ')'";
	case '#':
		return "is allowed in 'compute: |' only: a comment here needs "
		       "a blank before it";
	default: return "is no character of the language";
	}
}
