/* What must hold of a store of any kind, whatever its file holds. */
#include "test/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "tuner/tuner.h"

/* The operator of the seeds. */
static const char op[] =
    "7a4a15184e7f5f759d545231996ec162e42b7960b8379df36982eeb013e46d1e";

static bool collect(Line *line, void *context)
{
	Buf *all = context;
	buf_add(all, line->text, line->size);
	buf_putc(all, '\n');
	return true;
}

/* All lines that a reader is given, each with a newline. */
static Status read_lines(const char *path, const char *of, Buf *all)
{
	Store *store;
	Error error = {0};
	Status status = store_open(path, STORE_READ, &store, &error);
	if (!status) {
		Buf damaged = {0};
		status = store_each(store, of, collect, all, &damaged, &error);
		buf_free(&damaged);
		store_close(store);
	}
	fuzz_require(!status == !error.text[0], "status %d, '%s'", (int)status,
	    error.text);
	return status;
}

/* The best of each target, found alone and among all, is the same, but in a
 * database whose facts lie: those say which lines are looked at. */
typedef struct {
	Store *store;
	bool facts;
	int n;
} Bests;

static void compare_best(const Line *best, int ok, void *context)
{
	Bests *bests = context;
	BestQuery query = {.op = op, .target = best->target};
	Line alone;
	Error error = {0};
	fuzz_require(ok > 0 && best->kind == LINE_TRIAL &&
		best->outcome == OUTCOME_OK && !best->measure &&
		!strcmp(best->op, op),
	    "not a best: %s", best->text);
	if (!best_find(&bests->store, 1, &query, &alone, &error))
		fuzz_require(bests->facts ||
			(alone.json && !strcmp(alone.id, best->id)),
		    "best %s, alone %s", best->text,
		    alone.json ? alone.text : "none");
	line_free(&alone);
	bests->n++;
}

static void find_best(const char *path)
{
	Arena *arena = arena_new();
	Bests bests = {.facts = !strstr(path, ".jsonl")};
	Error error = {0};
	TextVec targets = {0};
	BestQuery query = {.op = op};
	if (!store_open(path, STORE_READ, &bests.store, &error)) {
		best_each(&bests.store, 1, &query, compare_best, &bests, &error);
		best_targets(arena, &bests.store, 1, op, &targets, &error);
		store_close(bests.store);
	}
	arena_free(arena);
}

/* Appends a line, which goes to `all` as well. */
static void append(const char *path, Buf *all)
{
	Store *store;
	Error error = {0};
	Line line;
	if (store_open(path, STORE_WRITE, &store, &error)) {
		fuzz_require(error.text[0], "refused without a reason");
		return;
	}
	line_trial(&(Trial){.at = "2026-01-31T12:34:56.789Z",
		       .op = op,
		       .op_text = "",
		       .name = "appended",
		       .target = "c",
		       .outcome = OUTCOME_OK,
		       .time_s = 1},
	    &line);
	if (!store_append(store, &line, &error))
		collect(&line, all);
	line_free(&line);
	store_close(store);
}

void fuzz_store(const char *path)
{
	Buf before = {0}, one = {0}, after = {0};
	Buf file = fuzz_read(path);
	Status status = read_lines(path, NULL, &before);
	read_lines(path, op, &one);
	find_best(path);
	Buf same = fuzz_read(path);
	fuzz_require(same.size == file.size &&
		!memcmp(buf_text(&same), buf_text(&file), file.size),
	    "a reader changed the file");
	append(path, &before);
	fuzz_require(read_lines(path, NULL, &after) == status,
	    "the writer changed what reading says");
	fuzz_require(!strcmp(buf_text(&before), buf_text(&after)) || status,
	    "read before:\n%sand after:\n%s", buf_text(&before),
	    buf_text(&after));
	Buf *all[] = {&before, &one, &after, &file, &same};
	for (int i = 0; i < 5; i++)
		buf_free(all[i]);
}
