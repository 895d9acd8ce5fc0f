/* Standard error: the only file that writes to it.  Messages are of one line;
 * what a text in them has of newlines and controls is shown as escapes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "lib/escape.h"

bool say_colored(void)
{
	const char *no = getenv("NO_COLOR");
	return !(no && *no) && isatty(2);
}

static void put_escaped(const char *text, size_t size)
{
	Buf safe = {0};
	escape_terminal(&safe, text, size, "");
	fwrite(buf_text(&safe), 1, safe.size, stderr);
	buf_free(&safe);
}

static void say(const char *kind, int color, const char *format, va_list args)
{
	Buf text = {0};
	out_flush();
	if (!kind)
		fprintf(stderr, "tunec: ");
	else if (say_colored())
		fprintf(stderr, "tunec: \033[1;%dm%s:\033[0m ", color, kind);
	else
		fprintf(stderr, "tunec: %s: ", kind);
	buf_vprintf(&text, format, args);
	put_escaped(buf_text(&text), text.size);
	putc('\n', stderr);
	buf_free(&text);
}

void say_error(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	say("error", 31, format, args);
	va_end(args);
}

void say_warning(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	say("warning", 35, format, args);
	va_end(args);
}

void say_note(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	say(NULL, 0, format, args);
	va_end(args);
}

int say_usage(const char *verb, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	say("error", 31, format, args);
	va_end(args);
	fprintf(stderr, "try 'tunec %s%s--help'\n", verb ? verb : "",
	    verb ? " " : "");
	return EXIT_USAGE;
}

/* The window may change at any moment.  Its last column stays empty, since some
 * terminals go on to the next line when that is written. */
static size_t live_columns(void)
{
	struct winsize size;
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col < 2)
		return 79;
	return size.ws_col - 1u;
}

/* Bytes of a text that take so many columns: of one outside ASCII the bytes after
 * its first take none. */
static size_t cut_to(const char *text, size_t columns)
{
	size_t n = 0;
	for (; text[n]; n++)
		if ((text[n] & 0xc0) != 0x80 && !columns--)
			break;
	return n;
}

void say_live(const char *text)
{
	Buf safe = {0};
	escape_terminal(&safe, text, strlen(text), "");
	fprintf(stderr, "\r\033[K%.*s",
	    (int)cut_to(buf_text(&safe), live_columns()), buf_text(&safe));
	fflush(stderr);
	buf_free(&safe);
}

void say_in_signal(const char *text)
{
	const char *head = isatty(2) ? "\r\033[Ktunec: " : "tunec: ";
	struct iovec parts[] = {
	    {(void *)head, strlen(head)},
	    {(void *)text, strlen(text)},
	    {"\n", 1},
	};
	if (writev(STDERR_FILENO, parts, 3) < 0)
		return; /* there is nobody to tell */
}

static void say_colored_line(const char *line, size_t size)
{
	static const struct {
		const char *word;
		int color;
	} kinds[] = {{": error: ", 31}, {": warning: ", 35}};
	for (int i = 0; i < 2; i++) {
		const char *at =
		    memmem(line, size, kinds[i].word, strlen(kinds[i].word));
		if (!at)
			continue;
		int head = (int)(at - line) + 2;
		int word = (int)strlen(kinds[i].word) - 3;
		fprintf(stderr, "\033[1m%.*s\033[1;%dm%.*s\033[0m%.*s", head,
		    line, kinds[i].color, word, line + head,
		    (int)size - head - word, line + head + word);
		return;
	}
	fwrite(line, 1, size, stderr);
}

void say_diag(const Diag *diag, const Common *common)
{
	if (!diag->text.size || (common->quiet && !diag->errors))
		return;
	out_flush();
	if (!say_colored()) {
		fwrite(diag->text.data, 1, diag->text.size, stderr);
		return;
	}
	const char *p = diag->text.data, *end = p + diag->text.size;
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *next = newline ? newline + 1 : end;
		say_colored_line(p, (size_t)(next - p));
		p = next;
	}
}
