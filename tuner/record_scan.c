/* The members of a line without building a tree: finding the best of thousands
 * of trials looks at a handful of values of each. */
#include <string.h>

#include "tuner/internal.h"

static const char *skip_space(const char *s, const char *end)
{
	while (s < end && (*s == ' ' || *s == '\t' || *s == '\r' || *s == '\n'))
		s++;
	return s;
}

/* s is behind the opening quote; behind the closing one, or NULL.  A quote
 * behind an odd number of backslashes is part of the text. */
static const char *skip_string(const char *s, const char *end)
{
	for (const char *from = s; s < end; s++) {
		s = memchr(s, '"', (size_t)(end - s));
		if (!s)
			return NULL;
		const char *t = s;
		while (t > from && t[-1] == '\\')
			t--;
		if (!((s - t) & 1))
			return s + 1;
	}
	return NULL;
}

/* Behind the value at s, or NULL. */
static const char *skip_value(const char *s, const char *end)
{
	int depth = 0;
	do {
		if (s >= end)
			return NULL;
		char c = *s++;
		if (c == '"' && !(s = skip_string(s, end)))
			return NULL;
		if (c == '{' || c == '[')
			depth++;
		if (c == '}' || c == ']')
			depth--;
		if (c == '"' || c == '}' || c == ']')
			continue;
		if (!depth)
			while (s < end && !strchr(",}] \t\r\n", *s))
				s++;
	} while (depth > 0);
	return depth ? NULL : s;
}

bool line_members(const char *text, size_t size, const char *const *keys, int n,
    Member *members)
{
	const char *end = text + size;
	memset(members, 0, sizeof *members * (size_t)n);
	const char *s = skip_space(text, end);
	if (s >= end || *s++ != '{')
		return false;
	for (;;) {
		s = skip_space(s, end);
		if (s >= end || *s++ != '"')
			return false;
		const char *key = s;
		if (!(s = skip_string(s, end)))
			return false;
		size_t length = (size_t)(s - 1 - key);
		s = skip_space(s, end);
		if (s >= end || *s++ != ':')
			return false;
		const char *value = skip_space(s, end);
		if (!(s = skip_value(value, end)))
			return false;
		for (int i = 0; i < n; i++)
			if (strlen(keys[i]) == length &&
			    !memcmp(keys[i], key, length))
				members[i] =
				    (Member){value, (size_t)(s - value)};
		s = skip_space(s, end);
		if (s < end && *s == ',') {
			s++;
			continue;
		}
		return s < end && *s == '}' && skip_space(s + 1, end) == end;
	}
}

bool member_is(Member member, const char *text)
{
	size_t n = strlen(text);
	return member.at && member.size == n + 2 && member.at[0] == '"' &&
	       !memcmp(member.at + 1, text, n);
}
