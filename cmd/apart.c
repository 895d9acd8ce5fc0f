/* Outputs are apart from what a command reads, and from each other: by the files
 * that their names lead to, not by the names. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/stores.h"

/* A file that is there; or of one that is not, its folder and its name in it. */
typedef struct {
	bool known;
	dev_t device;
	ino_t inode;
	const char *name; /* "" */
} Place;

/* Standard streams are the files that they were redirected to.  What is no regular
 * file, as /dev/null, is no place: nothing is lost there. */
static Place place_of(Arena *arena, const char *path, int stream)
{
	struct stat st;
	const char *slash = strrchr(path, '/');
	const char *folder = !slash
	    ? "."
	    : arena_strndup(arena, path, (size_t)(slash - path) + 1);
	bool is_stream = !strcmp(path, "-");
	if (is_stream ? !fstat(stream, &st) : !stat(path, &st))
		return (Place){S_ISREG(st.st_mode), st.st_dev, st.st_ino, ""};
	if (is_stream || stat(folder, &st))
		return (Place){0};
	return (Place){true, st.st_dev, st.st_ino, slash ? slash + 1 : path};
}

static bool is_same(const Place *a, const Place *b)
{
	return a->known && b->known && a->device == b->device &&
	    a->inode == b->inode && !strcmp(a->name, b->name);
}

static void add_input(
    Arena *arena, InputVec *inputs, const char *path, const char *what)
{
	Input input = {path, what};
	vec_push(arena, inputs, input);
}

/* SQLite has its log beside the file that a link leads to. */
static void add_store(Arena *arena, InputVec *inputs, const char *path)
{
	char *real = realpath(path, NULL);
	const char *stem = real ? arena_strdup(arena, real) : path;
	free(real);
	add_input(arena, inputs, path, "the store");
	for (const char *const *end = store_beside(path); *end; end++)
		add_input(arena, inputs,
		    arena_printf(arena, "%s%s", stem, *end), "the store's");
}

void inputs_of(Arena *arena, const ProgramVec *programs, const char *trace,
    const TextVec *stores, InputVec *inputs)
{
	const Source *last = NULL;
	for (int i = 0; i < programs->n; i++) {
		const Source *spec = programs->at[i]->source;
		if (spec != last) /* else it is another case */
			add_input(arena, inputs, spec->name, "the spec");
		last = spec;
	}
	if (trace)
		add_input(arena, inputs, trace, "the trace");
	for (int i = 0; i < stores->n; i++)
		add_store(arena, inputs, stores->at[i]);
}

static Place *places_of(Arena *arena, const InputVec *inputs)
{
	Place *places = NEW_N(arena, Place, inputs->n);
	for (int i = 0; i < inputs->n; i++)
		places[i] = place_of(arena, inputs->at[i].path, STDIN_FILENO);
	return places;
}

int outputs_apart(Arena *arena, const TextVec *outputs, const InputVec *inputs)
{
	Place *read = places_of(arena, inputs);
	Place *written = NEW_N(arena, Place, outputs->n);
	for (int i = 0; i < outputs->n; i++) {
		const char *path = outputs->at[i];
		written[i] = place_of(arena, path, STDOUT_FILENO);
		for (int k = 0; k < inputs->n; k++) {
			if (!is_same(&written[i], &read[k]))
				continue;
			say_error("'%s' would be written over %s, %s", path,
			    inputs->at[k].what, inputs->at[k].path);
			return EXIT_FAILED;
		}
		for (int k = 0; k < i; k++) {
			if (!is_same(&written[i], &written[k]) ||
			    !strcmp(path, outputs->at[k]))
				continue;
			say_error("'%s' is written twice, as '%s' too", path,
			    outputs->at[k]);
			return EXIT_USAGE;
		}
	}
	return EXIT_DONE;
}
