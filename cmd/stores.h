/* The stores that a verb was given: layers, the first of which is written. */
#ifndef CMD_STORES_H
#define CMD_STORES_H

#include "cmd/cmd.h"
#include "tuner/tuner.h"

typedef struct {
	int n;
	Store **at; /* on the heap */
	int nread;  /* of these at the end, that the user named, only to be read */
} Stores;

/* The option's line in a verb's table. */
#define STORES_OPTION(field)                                                   \
	{                                                                      \
		"db", 0, OPTION_LIST, field, "STORE", NULL,                    \
		    "store of records, repeatable: the first is written, the\n" \
		    "others are looked into after it (default: TUNEC_DB, else\n" \
		    "tunec.db)"                                                \
	}

/* What --db, else TUNEC_DB, else the default names.  `first` is the mode of the
 * first, the others are read.  The exit code, after a message; nothing is open
 * unless it is EXIT_DONE. */
const char *stores_preset(void); /* TUNEC_DB, else the default */
int stores_open(const TextList *db, StoreMode first, Stores *out);
void stores_close(Stores *stores);
/* Is there any to look into, not counting what does not exist? */
bool stores_exist(const Stores *stores);
/* Warns of what was skipped by the last reading of each, and of those that were to
 * be read and do not exist: to a reader they are empty, and may be mistyped. */
void stores_warn(const Stores *stores, const Common *common);

/* --- apart.c: outputs that are no inputs ------------------------------------- */

typedef struct {
	const char *path, *what; /* "the spec" */
} Input;
typedef VEC(Input) InputVec;

/* What a command reads.  trace: NULL where it takes none. */
void inputs_of(Arena *arena, const ProgramVec *programs, const char *trace,
    const TextVec *stores, InputVec *inputs);
/* An exit code, and what is wrong is said: an output that is the same file as
 * something that is read, or as another. */
int outputs_apart(Arena *arena, const TextVec *outputs, const InputVec *inputs);

#endif
