/* tunec log import: lines into the first store, all or none. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/log.h"
#include "lib/input.h"
#include "lib/sort.h"

typedef struct {
	char **at;
	int n, cap;
} Lines;

static void lines_add(Lines *lines, char *text)
{
	if (lines->n == lines->cap) {
		lines->cap = lines->cap ? 2 * lines->cap : 256;
		lines->at = must_realloc(
		    lines->at, sizeof *lines->at * (size_t)lines->cap);
	}
	lines->at[lines->n++] = text;
}

static void lines_free(Lines *lines)
{
	for (int i = 0; i < lines->n; i++)
		free(lines->at[i]);
	free(lines->at);
}

static bool take(Line *line, void *context)
{
	lines_add(context, line_text(line));
	return true;
}

/* --- a file of lines ----------------------------------------------------- */

/* A damaged line is refused with its place.  The last line may be torn: that is
 * what a killed writer leaves, and said. */
static int parse_lines(const char *name, const Buf *all, Lines *lines)
{
	const char *s = buf_text(all), *end = s + all->size;
	int code = EXIT_DONE;
	for (int number = 1; s < end; number++) {
		const char *newline = memchr(s, '\n', (size_t)(end - s));
		size_t size = (size_t)((newline ? newline : end) - s);
		Line line;
		Error error;
		bool blank = strspn(s, " \t\r") >= size;
		Status status =
		    blank ? STATUS_OK : line_parse(s, size, &line, &error);
		if (!blank && !status) {
			take(&line, lines);
			line_free(&line);
		} else if (status == STATUS_INPUT && !newline && number > 1 &&
		    size <= LINE_MOST) {
			say_warning(
			    "%s:%d: torn last line skipped", name, number);
		} else if (status) {
			say_error("%s:%d: %s", name, number, error.text);
			code = EXIT_FAILED;
		}
		s = newline ? newline + 1 : end;
	}
	return code;
}

static int read_store(const char *path, Lines *lines)
{
	Store *store;
	Error error;
	Buf damaged = {0};
	Status status = store_open(path, STORE_READ, &store, &error);
	if (!status)
		status = store_each(store, NULL, take, lines, &damaged, &error);
	store_close(store);
	if (status)
		say_error("%s", error.text);
	for (const char *s = buf_text(&damaged); !status && *s;) {
		int n = (int)strcspn(s, "\n");
		say_error("%.*s", n, s);
		s += n + (s[n] == '\n');
	}
	int code = damaged.size ? EXIT_FAILED : exit_of_status(status);
	buf_free(&damaged);
	return code;
}

enum { FILE_MOST = 1 << 30 }; /* bytes; it is in memory as a whole */

static Status too_large(const char *path, Error *error)
{
	return error_set(error, STATUS_INPUT,
	    "%s: larger than %d GiB: import it in parts", path,
	    FILE_MOST >> 30);
}

static bool is_database(const char *path)
{
	static const char magic[] = "SQLite format 3";
	Buf head = {0};
	Error ignored;
	bool is = !input_read(path, sizeof magic, &head, &ignored) &&
	    head.size == sizeof magic && !strcmp(head.data, magic);
	buf_free(&head);
	return is;
}

static int read_one(const char *path, Lines *lines)
{
	struct stat st;
	bool stream = !strcmp(path, "-");
	bool file = !stream && !stat(path, &st) && S_ISREG(st.st_mode);
	if (file && is_database(path))
		return read_store(path, lines);
	Buf all = {0};
	Error error;
	const char *name = stream ? "<stdin>" : path;
	Status status = file && st.st_size > FILE_MOST
	    ? too_large(name, &error)
	    : input_read(path, (size_t)FILE_MOST + 1, &all, &error);
	if (!status && all.size > FILE_MOST)
		status = too_large(name, &error);
	if (status)
		say_error("%s", error.text);
	int code = status ? EXIT_FAILED : parse_lines(name, &all, lines);
	buf_free(&all);
	return code;
}

/* --- into the store ------------------------------------------------------ */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_text_and_place(const void *a, const void *b)
{
	char **x = *(char **const *)a, **y = *(char **const *)b;
	int order = strcmp(*x, *y);
	return order ? order : (x > y) - (x < y);
}

/* Of equal lines the first stays; in place of the others is NULL. */
static void drop_repeated(Lines *lines)
{
	int n = lines->n;
	if (!n)
		return;
	char ***sorted = must_alloc(sizeof *sorted * (size_t)n);
	for (int i = 0; i < n; i++)
		sorted[i] = &lines->at[i];
	qsort(sorted, (size_t)n, sizeof *sorted, by_text_and_place);
	const char *kept = *sorted[0];
	for (int i = 1; i < n; i++) {
		if (strcmp(*sorted[i], kept)) {
			kept = *sorted[i];
			continue;
		}
		free(*sorted[i]);
		*sorted[i] = NULL;
	}
	free(sorted);
}

/* Lines on their way into a store, some at a time. */
enum { CHUNK = 256 };
typedef struct {
	Line line[CHUNK];
	int n;
} Chunk;

static Status append_chunk(
    Store *store, Chunk *chunk, Status status, int *added, Error *error)
{
	Line *lines[CHUNK];
	for (int i = 0; i < chunk->n; i++)
		lines[i] = &chunk->line[i];
	if (!status && chunk->n)
		status = store_append_all(store, lines, chunk->n, error);
	for (int i = 0; i < chunk->n; i++)
		line_free(lines[i]);
	*added += status ? 0 : chunk->n;
	chunk->n = 0;
	return status;
}

/* Lines that the store has, byte for byte, are not added again. */
static Status append_new(
    Store *store, const Lines *lines, int *added, Error *error)
{
	Lines known = {0};
	Chunk chunk = {.n = 0};
	Status status = store_each(store, NULL, take, &known, NULL, error);
	sort(known.at, (size_t)known.n, sizeof *known.at, by_text);
	for (int i = 0; i < lines->n && !status; i++) {
		if (!lines->at[i])
			continue;
		if (known.n && bsearch(&lines->at[i], known.at, (size_t)known.n,
				   sizeof *known.at, by_text))
			continue;
		status = line_parse(lines->at[i], strlen(lines->at[i]),
		    &chunk.line[chunk.n], error);
		chunk.n += !status;
		if (chunk.n == CHUNK)
			status = append_chunk(
			    store, &chunk, status, added, error);
	}
	status = append_chunk(store, &chunk, status, added, error);
	lines_free(&known);
	return status;
}

static int append_all(const Log *log, const Lines *lines)
{
	Stores stores;
	int code = stores_open(&log->db, STORE_WRITE, &stores);
	if (code)
		return code;
	Error error;
	int added = 0;
	Status status = append_new(stores.at[0], lines, &added, &error);
	if (status)
		say_error("%s", error.text);
	else if (log->common.json)
		out_text("{\"imported\":%d,\"there\":%d}\n", added,
		    lines->n - added);
	else if (!log->common.quiet)
		out_text("%s: %d imported, %d were there\n",
		    store_path(stores.at[0]), added, lines->n - added);
	stores_close(&stores);
	return exit_of_status(status);
}

int log_import(const Log *log, int n, char **files)
{
	if (!n)
		return say_usage("log", "import needs a FILE");
	Lines lines = {0};
	int code = EXIT_DONE;
	for (int i = 0; i < n; i++)
		code = exit_worse(code, read_one(files[i], &lines));
	if (!code) {
		drop_repeated(&lines);
		code = append_all(log, &lines);
	}
	lines_free(&lines);
	return code;
}
