/* JSON as lines of a store have it: no spaces, keys in their order, UTF-8 as it
 * is, and of all decimal numbers that read back as the same double the
 * shortest, in the form of Python's repr, so that another program that reads
 * and writes a line gets the same bytes. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/escape.h"
#include "tuner/tuner.h"

/* The significant digits of x, without trailing zeros, and the exponent of the
 * first: 12.5 gives "125" and 1. */
static int shortest(double x, char digits[18])
{
	char text[40];
	for (int p = x < 1e-300 ? 0 : 14; p < 17; p++) {
		snprintf(text, sizeof text, "%.*e", p, x);
		if (strtod(text, NULL) == x)
			break;
	}
	int n = 0;
	const char *s = text;
	for (; *s != 'e'; s++)
		if (*s != '.')
			digits[n++] = *s;
	while (n > 1 && digits[n - 1] == '0')
		n--;
	digits[n] = '\0';
	return atoi(s + 1);
}

static void real_print(Buf *out, double x)
{
	assert(isfinite(x));
	if (signbit(x)) {
		buf_putc(out, '-');
		x = -x;
	}
	char digits[18];
	int exponent = shortest(x, digits), n = (int)strlen(digits);
	if (exponent < -4 || exponent >= 16) {
		buf_printf(out, n > 1 ? "%c.%s" : "%c", digits[0], digits + 1);
		buf_printf(
		    out, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
		return;
	}
	if (exponent < 0) {
		buf_puts(out, "0.");
		for (int i = -1; i > exponent; i--)
			buf_putc(out, '0');
		buf_puts(out, digits);
		return;
	}
	for (int i = 0; i < n || i <= exponent; i++) {
		if (i == exponent + 1)
			buf_putc(out, '.');
		buf_putc(out, i < n ? digits[i] : '0');
	}
	if (n <= exponent + 1)
		buf_puts(out, ".0");
}

static void array_print(Buf *out, const json_t *json)
{
	buf_putc(out, '[');
	for (size_t i = 0; i < json_array_size(json); i++) {
		if (i)
			buf_putc(out, ',');
		json_print(out, json_array_get(json, i));
	}
	buf_putc(out, ']');
}

static void object_print(Buf *out, const json_t *json)
{
	json_t *object = (json_t *)json; /* the iterator wants it so */
	const char *sep = "{";
	for (void *i = json_object_iter(object); i;
	     i = json_object_iter_next(object, i)) {
		const char *key = json_object_iter_key(i);
		buf_puts(out, sep);
		escape_json(out, key, strlen(key));
		buf_putc(out, ':');
		json_print(out, json_object_iter_value(i));
		sep = ",";
	}
	buf_puts(out, *sep == '{' ? "{}" : "}");
}

void json_print(Buf *out, const json_t *json)
{
	switch (json ? json_typeof(json) : JSON_NULL) {
	case JSON_OBJECT:
		object_print(out, json);
		break;
	case JSON_ARRAY:
		array_print(out, json);
		break;
	case JSON_STRING:
		escape_json(
		    out, json_string_value(json), json_string_length(json));
		break;
	case JSON_INTEGER:
		buf_printf(out, "%lld", (long long)json_integer_value(json));
		break;
	case JSON_REAL:
		real_print(out, json_real_value(json));
		break;
	case JSON_TRUE:
		buf_puts(out, "true");
		break;
	case JSON_FALSE:
		buf_puts(out, "false");
		break;
	case JSON_NULL:
		buf_puts(out, "null");
		break;
	}
}

/* A message may hold any bytes: what a compiler quoted, a name cut short. */
json_t *json_text(const char *text)
{
	json_t *json = json_string(text);
	if (json)
		return json;
	char *copy = must_alloc(strlen(text) + 1);
	strcpy(copy, text);
	for (char *s = copy; *s; s++)
		if (*s & 0x80)
			*s = '?';
	json = json_string(copy);
	free(copy);
	return json;
}
