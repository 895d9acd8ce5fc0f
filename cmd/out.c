/* Standard output: the only file that writes to it, so that no text of a
 * stranger reaches a terminal as it came (test/tools/layers.sh looks). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "lib/escape.h"
#include "tuner/tuner.h"

static bool closed; /* its reader went away */

static void note(bool written)
{
	closed |= !written && errno == EPIPE;
}

static void put_line(const char *text)
{
	note(puts(text) >= 0);
}

void out_text(const char *format, ...)
{
	Buf text = {0}, safe = {0};
	va_list args;
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	escape_terminal(&safe, buf_text(&text), text.size, "\n\t");
	note(fwrite(buf_text(&safe), 1, safe.size, stdout) == safe.size);
	buf_free(&text);
	buf_free(&safe);
}

const char *out_word(Arena *arena, const char *text)
{
	Buf safe = {0};
	escape_terminal(&safe, text, strlen(text), "");
	const char *word = arena_strdup(arena, buf_text(&safe));
	buf_free(&safe);
	return word;
}

void out_json(const json_t *json)
{
	Buf text = {0};
	json_print(&text, json);
	out_json_text(buf_text(&text));
	buf_free(&text);
}

void out_json_text(const char *text)
{
	Buf safe = {0};
	escape_json_text(&safe, text, strlen(text));
	put_line(buf_text(&safe));
	buf_free(&safe);
}

void out_line(const char *text)
{
	put_line(text);
}

bool out_flush(void)
{
	note(!fflush(stdout));
	return !ferror(stdout);
}

Status out_files(const OutputFile *files, int n, Error *error)
{
	out_flush();
	Status status = outputs_write(files, n, error);
	closed |= status == STATUS_CLOSED;
	return status == STATUS_CLOSED ? STATUS_OK : status;
}

bool out_closed(void)
{
	return closed;
}
