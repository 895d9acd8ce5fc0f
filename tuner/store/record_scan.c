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

/* The character behind a backslash, which is what `*s` is behind; 0 if there is
 * none.  Enough for ASCII. */
static unsigned unescape(const char **s, const char *end)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	if (*s >= end)
		return 0;
	char c = *(*s)++;
	const char *at = strchr(from, c);
	unsigned code = 0;
	if (c != 'u')
		return (unsigned char)(c && at ? to[at - from] : c);
	for (int i = 0; i < 4 && *s < end; i++) {
		c = *(*s)++;
		code = code * 16 + (unsigned)(c <= '9' ? c - '0'
						       : (c | 32) - 'a' + 10);
	}
	return code;
}

/* Is this what stands between the quotes of a JSON string? */
static bool string_is(const char *s, size_t size, const char *text)
{
	const char *end = s + size;
	if (!memchr(s, '\\', size))
		return strlen(text) == size && !memcmp(text, s, size);
	for (; s < end && *text; text++) {
		unsigned c = (unsigned char)*s++;
		if (c == '\\')
			c = unescape(&s, end);
		if (c != (unsigned char)*text)
			return false;
	}
	return s == end && !*text;
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
			if (string_is(key, length, keys[i]))
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
	return member.at && member.size >= 2 && member.at[0] == '"' &&
	       string_is(member.at + 1, member.size - 2, text);
}
