/* The program: a table of verbs, one file each.
 *
 * To add a verb: write cmd/verb_NAME.c that ends with `const Verb verb_NAME`,
 * and add its line to verbs.def.  The verb's options are a struct that begins
 * with `Common`, and a table that says which field each option fills:
 *
 *     typedef struct { Common common; const char *target; int64_t trials; } Tune;
 *     static const Option options[] = {
 *         {"target", 't', OPTION_TEXT, offsetof(Tune, target), "TARGET",
 *             NULL, "what to tune for (default: this machine)"},
 *         {"trials", 0, OPTION_INT, offsetof(Tune, trials), "N", "0",
 *             "stop after N trials"},
 *         {0}};
 *
 *     main.c      the table, --help, --version, exit
 *     options.c   GNU long and short options from such tables
 *     out.c       standard output
 *     say.c       messages on standard error
 *     specs.c     SPEC operands, exit codes
 *     stores.c    --db; apart.c: outputs that are no inputs */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "codegen/codegen.h"
#include "ir/program.h"
#include "lib/arena.h"
#include "lib/status.h"

/* --- exit codes ------------------------------------------------------------ */

enum {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,      /* the input or the operation */
	EXIT_USAGE = 2,
	EXIT_NO_RECORD = 3,
	EXIT_WRONG = 4,       /* a replay's results or time */
	EXIT_INTERRUPTED = 130
};

/* Of several specs the worst counts: 130, 2, 1, 4, 3, 0. */
int exit_worse(int a, int b);
int exit_of_status(Status status);

/* --- options --------------------------------------------------------------- */

typedef struct {
	int n, cap;
	const char **at;
} TextList; /* values of a repeatable option, in order; on the heap */

/* What every verb has. */
typedef struct {
	bool help, quiet, verbose, json;
	/* verbs with `specs` */
	TextList define;      /* -D NAME=EXPR */
	const char *numerics; /* "default", "exact", "fast" */
	bool apply_templates; /* no option: set by the verb that looks at the
				 spec alone */
} Common;

typedef enum {
	OPTION_FLAG, /* bool */
	OPTION_TEXT, /* const char * */
	OPTION_INT,  /* int64_t, at least 0 */
	OPTION_LIST  /* TextList */
} OptionKind;

typedef struct {
	const char *name; /* long name; "-MD" is the word -MD, with one dash;
			     NULL where there is only a letter */
	char letter;      /* 0: none */
	OptionKind kind;
	size_t offset;      /* of the field in the verb's struct */
	const char *value;  /* "N", "FILE": the value's name in --help */
	const char *preset; /* default as the user would write it; NULL: none */
	const char *help;   /* one line, or several with '\n' */
} Option; /* a table ends with {0} */

/* --- verbs ------------------------------------------------------------------ */

typedef struct {
	const char *name;
	const char *operands; /* "SPEC[:CASE]...", as in --help */
	const char *summary;  /* one line */
	const char *text;     /* paragraphs below the options; may be NULL */
	const Option *options; /* may be NULL */
	size_t size;           /* of the options struct, Common first */
	bool specs;            /* has -D and --numerics */
	int min_operands, max_operands; /* max -1: any number */
	int (*run)(void *options, int n, char **operands); /* exit code */
} Verb;

/* Fills `options` and moves the operands to the front of argv (the first is
 * argv[0]).  Their number, or -1 after a message on standard error. */
int options_parse(const Verb *verb, void *options, int argc, char **argv);
void options_free(const Verb *verb, void *options);
void options_help(const Verb *verb);
/* "60s", "2m", "1h", "500ms", "60": seconds; -1 if it is none of these. */
double time_parse(const char *text);

/* --- what is printed ---------------------------------------------------------- */

/* On standard output, a person's: controls are shown as escapes.  Newlines and
 * tabs stay, those of a stranger's text too: where it has to stay on its line,
 * it goes through out_word. */
void out_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *out_word(Arena *arena, const char *text);
/* For machines, a line: what was made here as an object, or as the text of one;
 * a line of a store, byte for byte. */
void out_json(const json_t *json);
void out_json_text(const char *text);
void out_line(const char *text);
/* Has everything arrived that was printed? */
bool out_flush(void);
/* Files, all or none; what nobody reads any more is no failure. */
Status out_files(const OutputFile *files, int n, Error *error);
bool out_closed(void); /* it did not, since nobody reads any more */

/* --- messages ---------------------------------------------------------------- */

/* "tunec: error: …" on standard error, one line. */
void say_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "tunec: …" */
void say_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Usage errors add a hint to --help and give EXIT_USAGE. */
int say_usage(const char *verb, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* In place of the line before, on a terminal, as far as its width goes; "" leaves
 * an empty one. */
void say_live(const char *text);
/* A note, from a handler of signals. */
void say_in_signal(const char *text);
/* Standard error is a terminal and NO_COLOR is not set. */
bool say_colored(void);
/* The diagnostics collected so far, coloured where that is allowed. */
void say_diag(const Diag *diag, const Common *common);

/* --- specs ------------------------------------------------------------------- */

/* "NAME=EXPR" of -D to its parts; false where there is no '='. */
bool define_parse(Arena *arena, const char *text, SpecDefine *define);
/* Loads SPEC operands, prints what is wrong with them and appends a program for
 * each case that was accepted.  The exit code: EXIT_DONE, or that of the worst. */
int specs_load(Arena *arena, const Common *common, int n, char **operands,
    ProgramVec *programs);
/* The same, one program after another, each in an arena that dies when `visit`
 * returns.  The exit code: the worst, with those of `visit`. */
typedef int SpecVisit(Arena *arena, const Program *program, void *context);
int specs_each(const Common *common, int n, char **operands, SpecVisit *visit,
    void *context);
/* Name, dtype and shape, for machines. */
json_t *json_buffer(const Buffer *buffer);
/* "conv2d:resnet18_c6", as messages name an operator. */
const char *program_label(Arena *arena, const Program *program);
/* --target as given, else TUNEC_TARGET; NULL if neither is. */
const char *target_asked(const char *given);
/* --machine as given, else TUNEC_MACHINE; NULL if neither is. */
const char *machine_asked(const char *given);
/* The row in that file, which is NULL where none was asked for; it lives in the
 * arena. */
Status machine_row(
    Arena *arena, const char *given, const CostsFile **out, Error *error);
/* Gives it to a target, where there is one. */
Status machine_take(Target *target, const CostsFile *row, Error *error);
#define MACHINE_HELP                                                           \
	"foresee times by the row in FILE, as tunec target --measure\n"        \
	"writes it (default: $TUNEC_MACHINE, or the CPU's of the table)"

#endif
