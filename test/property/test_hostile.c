/* Hostile text in every field of everything that tunec reads, looked for in
 * everything that it writes.
 *
 * Nothing here lists fields: records are made by tunec itself and each string
 * and key of each line is replaced in turn; the keys of a spec are those that
 * its reader names; verbs and options are those of --help.  What is new is
 * found by itself.  Looked for are
 *
 *     text      bytes that a terminal obeys, lines that a field began
 *     --json    lines that are no JSON
 *     C         the text outside of comments, or other code than without it
 *     .ll .s    other bytes than without it
 *     commands  printed ones, run by sh with a stub in place of tunec: another
 *               command, another file, a text that is not one word */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/arena.h"
#include "lib/escape.h"
#include "lib/vec.h"
#include "test/common_tier.h"

#define MARK "Qz7" /* short: an id has room for 16 bytes */

/* What ends, begins or hides something somewhere. */
static const char *const payloads[] = {
    "*/\n#include \"" MARK "\"\n/*",
    "*/int " MARK "=9;/*",
    "\"; int " MARK "; //",
    "\\\n" MARK,
    "?" "?/\n" MARK,
    "/*" MARK "\\",
    "'; touch " MARK "; '",
    "$(touch " MARK ")",
    "`touch " MARK "`",
    "\"; touch " MARK "; \"",
    "\n" MARK " touch " MARK "\n",
    "\x1b]0;" MARK "\a",
    "\x1b[31m" MARK "\r",
    "\xc2\x9b" "31m" MARK "\x7f",
    "\xe2\x80\xae" MARK "\xe2\x81\xa6\xe2\x80\xa8",
    "../../" MARK,
    "/" MARK,
    "-" MARK,
    "~" MARK "*",
    "<script>" MARK "</script>",
    "%s%n" MARK,
    "\"\\" MARK "'",
    "$" MARK " #" MARK ": %",
};
enum { NPAYLOADS = sizeof payloads / sizeof *payloads };
/* Of the payloads and fields that are tried one by one: all where there is time,
 * every 17th else, and under sanitizers, whose programs take ten times as long
 * to start, every 19th. */
static int stride = 1;

/* Many of them at once, where each run counts. */
static const char *const mixtures[] = {
    "*/\n#include \"" MARK "\"\n/**/int " MARK "=9;/*?" "?/\n\\\n" MARK "\\",
    "'\"; touch " MARK "; $(touch " MARK ")`touch " MARK "`\n" MARK,
    "\x1b]0;" MARK "\a\r\xc2\x9b\xe2\x80\xae\x7f%n\xe2\x80\xa8",
    /* short ones, for an id */
    "*/int " MARK "=9;/*",
    "$(touch " MARK ")",
};
enum {
	NMIXTURES = sizeof mixtures / sizeof *mixtures,
	NLONG = NMIXTURES - 2
};

typedef VEC(const char *) Texts;

static Arena *arena;
static const char *program; /* tunec */
static char top[] = "/tmp/test_hostile-XXXXXX";
static char *work, *shells; /* folders below it, two deep */
static int failures, runs;

/* What is being tried, for messages. */
static const char *tried = "", *tried_text = "";

/* --- running ------------------------------------------------------------- */

typedef struct {
	int code; /* of exit; -1: a signal */
	Buf out, err;
} Run;

static void failed(const char *what, const Buf *text)
{
	Buf shown = {0};
	escape_terminal(&shown, tried, strlen(tried), "");
	buf_puts(&shown, ", ");
	escape_terminal(&shown, tried_text, strlen(tried_text), "");
	buf_puts(&shown, ": ");
	escape_terminal(&shown, buf_text(text), text->size, "");
	if (failures++ < 20)
		print_error("%s: %.700s\n", what, buf_text(&shown));
	buf_free(&shown);
}

static void read_whole(const char *path, Buf *out)
{
	char piece[1 << 14];
	FILE *f = fopen(path, "rb");
	buf_clear(out);
	for (size_t n; f && (n = fread(piece, 1, sizeof piece, f));)
		buf_add(out, piece, n);
	if (f)
		fclose(f);
}

static void write_whole(const char *path, const char *data, size_t size)
{
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static const char *below(const char *folder, const char *name)
{
	return arena_printf(arena, "%s/%s", folder, name);
}

static void child(const char *folder, const Texts *args, const char *variable,
    const char *value)
{
	int out = open(below(top, "out"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	int err = open(below(top, "err"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	int in = open("/dev/null", O_RDONLY);
	if (in < 0 || out < 0 || err < 0 || chdir(folder))
		_exit(127);
	dup2(in, 0);
	dup2(out, 1);
	dup2(err, 2);
	if (variable)
		setenv(variable, value, 1);
	alarm(30);
	execv(args->at[0], (char **)args->at);
	_exit(127);
}

/* The words end with NULL. */
static void run_words(Run *run, const char *folder, Texts *args,
    const char *variable, const char *value)
{
	int state = 0;
	vec_push(arena, args, NULL);
	pid_t pid = fork();
	if (!pid)
		child(folder, args, variable, value);
	assert_int_equal(waitpid(pid, &state, 0), pid);
	args->n--;
	runs++;
	run->code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
	read_whole(below(top, "out"), &run->out);
	read_whole(below(top, "err"), &run->err);
	if (run->code < 0 || run->code == 127)
		failed("crashed", &run->err);
}

static void run_free(Run *run)
{
	buf_free(&run->out);
	buf_free(&run->err);
}

/* --- what a terminal gets ------------------------------------------------ */

/* The line of a file, as a diagnostic shows it: a caret is below. */
static bool is_excerpt(const char *line)
{
	const char *below = line + strcspn(line, "\n");
	below += *below != 0;
	below += strspn(below, " \t");
	if (*below++ != '^')
		return false;
	return below[strspn(below, "~")] == '\n';
}

static void check_text(const Buf *text)
{
	Buf safe = {0};
	escape_terminal(&safe, buf_text(text), text->size, "\n\t");
	if (safe.size != text->size)
		failed("raw controls", text);
	buf_free(&safe);
	for (const char *s = buf_text(text); (s = strstr(s, MARK)); s++)
		if (s > text->data && s[-1] == '\n' && !is_excerpt(s))
			failed("a line of its own", text);
}

static void check_json(const Buf *text)
{
	const char *s = buf_text(text);
	for (size_t n; *s; s += n + 1) {
		json_error_t why;
		n = strcspn(s, "\n");
		json_t *line = json_loadb(s, n, 0, &why);
		if (!line || s[n] != '\n')
			failed("no line of JSON", text);
		json_decref(line);
		if (!s[n])
			break;
	}
}

/* --- printed commands ---------------------------------------------------- */

static int visit_any(const char *path, const struct stat *info, int type,
    struct FTW *ftw)
{
	(void)info;
	if (type == FTW_F)
		return remove(path);
	return ftw->level > 2 ? remove(path) : 0;
}

static bool is_record_file(const char *name)
{
	return strspn(name, "0123456789abcdef") == 16 &&
	       !strcmp(name + 16, ".json");
}

static int visit_made(const char *path, const struct stat *info, int type,
    struct FTW *ftw)
{
	(void)info;
	return type == FTW_F && strcmp(path + ftw->base, "args") &&
	       !is_record_file(path + ftw->base);
}

/* A word that has the mark in it is one of the texts, whole. */
static void check_words(const Texts *allowed, const Buf *command)
{
	Buf words = {0};
	read_whole(below(shells, "../../args"), &words);
	if (!words.size)
		failed("the command does not run tunec", command);
	const char *end = buf_text(&words) + words.size;
	for (const char *s = buf_text(&words); s < end; s += strlen(s) + 1) {
		bool whole = !strstr(s, MARK);
		for (int i = 0; i < allowed->n && !whole; i++)
			whole = !strcmp(s, allowed->at[i]);
		if (!whole)
			failed("not one word of the command", command);
	}
	buf_free(&words);
}

/* A line, and those that a quote goes on to. */
static size_t command_size(const char *text)
{
	bool quoted = false;
	size_t n = 0;
	for (; text[n] && (quoted || text[n] != '\n'); n++)
		quoted ^= text[n] == '\'';
	return n;
}

static void try_command(const char *text, size_t size, const Texts *allowed)
{
	Buf command = {0};
	Run run = {0};
	Texts args = {0};
	char *line = arena_strndup(arena, text, size);
	buf_add(&command, text, size);
	vec_push(arena, &args, "/bin/sh");
	vec_push(arena, &args, "-c");
	vec_push(arena, &args, line);
	run_words(&run, shells, &args, "PATH",
	    arena_printf(arena, "%s/stub:/usr/bin:/bin", top));
	if (run.err.size)
		failed("sh complains of the command", &command);
	check_words(allowed, &command);
	if (nftw(below(shells, "../.."), visit_made, 8, FTW_PHYS))
		failed("the command made a file", &command);
	nftw(below(shells, "../.."), visit_any, 8, FTW_DEPTH | FTW_PHYS);
	run_free(&run);
	buf_free(&command);
}

/* A command begins with "tunec VERB" and ends with the line, or with the quote
 * that stands before it; a choice is a list of options. */
static void check_commands(const Buf *text, const Texts *allowed)
{
	static const char choice[] = "choose one: ", option[] = "--target ";
	for (const char *s = buf_text(text); (s = strstr(s, "tunec ")); s++) {
		size_t n = command_size(s);
		char before = s > text->data ? s[-1] : '\n';
		if (before == '`' || before == '\'')
			n = (size_t)(strchr(s, before) - s);
		else if (before != ' ' && before != '\n')
			continue;
		if (islower((unsigned char)s[6]))
			try_command(s, n, allowed);
		s += n - 1;
	}
	const char *s = strstr(buf_text(text), choice);
	for (s = s ? s + sizeof choice - 1 : ""; *s == option[0];) {
		const char *next = strstr(s + 1, option);
		size_t n = next ? (size_t)(next - s) - 2 : command_size(s);
		Buf command = {0};
		buf_printf(&command, "tunec build x %.*s", (int)n, s);
		try_command(command.data, command.size, allowed);
		buf_free(&command);
		s = next ? next : s + n;
	}
}

/* --- what a compiler gets ------------------------------------------------ */

/* The next character of C after its first two phases: trigraphs that make a
 * backslash (the others do not matter here), lines joined. */
static char c_next(const char **p)
{
	for (;;) {
		const char *s = *p;
		int size = *s == '\\' ? 1 : !strncmp(s, "?" "?/", 3) ? 3 : 0;
		if (!size || s[size] != '\n') {
			*p += size ? size : *s != 0;
			return size ? '\\' : *s;
		}
		*p += size + 1;
	}
}

/* What is not comment. */
static void c_code(const Buf *text, Buf *out)
{
	enum { CODE, STRING, LINE, BLOCK } state = CODE;
	char quote = 0, last = 0;
	const char *p = buf_text(text);
	buf_clear(out);
	for (char c; (c = c_next(&p)); last = c) {
		if (state == CODE && last == '/' && (c == '/' || c == '*')) {
			state = c == '/' ? LINE : BLOCK;
			out->data[--out->size] = '\0';
			c = 0;
		} else if (state == CODE) {
			buf_putc(out, c);
			if (c == '"' || c == '\'') {
				state = STRING;
				quote = c;
			}
		} else if (state == STRING) {
			buf_putc(out, c);
			if (c == quote)
				state = CODE;
			else if (c == '\\')
				buf_putc(out, c_next(&p));
		} else if ((state == LINE && c == '\n') ||
			   (state == BLOCK && last == '*' && c == '/')) {
			state = CODE;
			buf_putc(out, c == '\n' ? c : ' ');
			c = 0;
		}
	}
	if (state != CODE)
		buf_puts(out, MARK " is not closed");
}

/* `want` (may be NULL) is the code without hostile text. */
static void check_c(const Buf *text, const Buf *want)
{
	Buf code = {0};
	c_code(text, &code);
	if (strstr(buf_text(&code), MARK))
		failed("in the code", text);
	else if (want && (code.size != want->size ||
			     memcmp(buf_text(&code), buf_text(want), code.size)))
		failed("other code", text);
	check_text(text);
	buf_free(&code);
}

/* The file holds for make: it is read, and what it needs is there. */
static void check_depfile(const char *name, const char *output)
{
	Texts args = {0};
	Run run = {0};
	Buf rules = {0};
	Buf text = {0};
	read_whole(below(work, name), &text);
	buf_puts(&rules, "all: ");
	escape_make(&rules, output, MAKE_NEEDED);
	buf_putc(&rules, '\n');
	buf_add(&rules, text.data, text.size);
	write_whole(below(work, "rules"), rules.data, rules.size);
	buf_free(&text);
	vec_push(arena, &args, "/usr/bin/make");
	vec_push(arena, &args, "-nf");
	vec_push(arena, &args, "rules");
	run_words(&run, work, &args, NULL, NULL);
	if (run.code)
		failed("make does not take the depfile", &run.err);
	run_free(&run);
	buf_free(&rules);
}

/* --- runs of tunec ------------------------------------------------------- */

static void push_args(Texts *args, va_list list)
{
	vec_push(arena, args, program);
	for (const char *s; (s = va_arg(list, const char *));)
		vec_push(arena, args, s);
}

/* Words end with NULL.  The exit code; all that is printed has been looked at. */
static int tunec_with(const char *variable, const char *value,
    const Texts *allowed, bool json, const Texts *args)
{
	static const Texts none;
	Texts words = *args;
	Run run = {0};
	run_words(&run, work, &words, variable, value);
	check_text(&run.err);
	if (json)
		check_json(&run.out);
	else
		check_text(&run.out);
	check_commands(&run.err, allowed ? allowed : &none);
	if (!json)
		check_commands(&run.out, allowed ? allowed : &none);
	run_free(&run);
	return run.code;
}

static int tunec(const Texts *allowed, bool json, ...)
{
	va_list list;
	Texts args = {0};
	va_start(list, json);
	push_args(&args, list);
	va_end(list);
	return tunec_with(NULL, NULL, allowed, json, &args);
}

static char *tunec_output(int want, ...)
{
	va_list list;
	Texts args = {0};
	Run run = {0};
	va_start(list, want);
	push_args(&args, list);
	va_end(list);
	run_words(&run, work, &args, NULL, NULL);
	if (run.code != want)
		fail_msg("exit %d: %s", run.code, buf_text(&run.err));
	char *text = arena_strdup(
	    arena, buf_text(want ? &run.err : &run.out));
	run_free(&run);
	return text;
}

static void put_file(const char *name, const char *text)
{
	write_whole(below(work, name), text, strlen(text));
}

/* --- records ------------------------------------------------------------- */

static const char harmless_spec[] =
    "tunec: 1\nname: product\nparams: {M: 8, N: 16}\n"
    "inputs:\n  a: 'f32[M, N]'\n  b: 'const f32[N, M]'\n"
    "compute: |\n  y[i < M, j < M] = sum[k < N](a[i, k]*b[k, j])\n"
    "cases:\n  x: {}\n  z: {M: 9}\n";

/* What tunec makes of them without hostile text. */
static struct {
	json_t *start, *plain, *tuned, *end, *crash;
	const char *target;
	Buf code, header, main, llvm, assembly; /* C without comments */
} own;

static json_t *line_of_kind(const char *store, const char *kind, int at)
{
	json_t *found = NULL;
	for (const char *s = store; *s; s += strcspn(s, "\n") + 1) {
		json_error_t why;
		json_t *line = json_loadb(s, strcspn(s, "\n"), 0, &why);
		assert_non_null(line);
		const char *text =
		    json_string_value(json_object_get(line, "kind"));
		if (!strcmp(text, kind) && (!found || at-- > 0)) {
			json_decref(found);
			found = line;
		} else {
			json_decref(line);
		}
	}
	return found;
}

static void put_lines(const char *name, json_t *const *lines, int n)
{
	Buf out = {0};
	for (int i = 0; i < n; i++) {
		char *text = json_dumps(lines[i], JSON_COMPACT);
		buf_printf(&out, "%s\n", text);
		free(text);
	}
	write_whole(below(work, name), buf_text(&out), out.size);
	buf_free(&out);
}

/* LLVM takes its time. */
static int build_all(const char *option, const char *file, bool llvm)
{
	return tunec(NULL, false, "build", "s.yaml:x", "--target", own.target,
	    option, file, "-o", "x.c", "-o", "x.h",
	    llvm ? "--emit=main,ll,s" : "--emit=main", NULL);
}

static void code_of(const char *name, Buf *out)
{
	Buf text = {0};
	read_whole(below(work, name), &text);
	c_code(&text, out);
	buf_free(&text);
}

static void make_own(void)
{
	Buf store = {0};
	put_file("s.yaml", harmless_spec);
	tunec_output(0, "tune", "s.yaml:x", "--trials=3", "--db=own.jsonl", NULL);
	read_whole(below(work, "own.jsonl"), &store);
	own.start = line_of_kind(buf_text(&store), "run-start", 0);
	own.plain = line_of_kind(buf_text(&store), "trial", 0);
	own.tuned = line_of_kind(buf_text(&store), "trial", 1);
	own.end = line_of_kind(buf_text(&store), "run-end", 0);
	own.crash = json_deep_copy(own.plain);
	json_object_set_new(own.crash, "outcome", json_string("crash"));
	json_object_set_new(own.crash, "error", json_string("signal 11"));
	json_object_set_new(own.crash, "time_s", json_null());
	json_object_set_new(own.crash, "same_as", json_string("0000000000000000"));
	own.target = json_string_value(json_object_get(own.plain, "target"));
	put_lines("one.jsonl", &own.plain, 1);
	assert_int_equal(build_all("--db", "one.jsonl", true), 0);
	code_of("x.c", &own.code);
	code_of("x.h", &own.header);
	code_of("product_x_main.c", &own.main);
	read_whole(below(work, "x.ll"), &own.llvm);
	read_whole(below(work, "x.s"), &own.assembly);
	buf_free(&store);
}

/* Replaces text number *n, counted down: strings and nulls, or keys. */
static bool replace(json_t *json, int *n, const char *text, bool keys,
    const char *path)
{
	const char *key;
	json_t *value;
	size_t i;
	void *next;
	json_object_foreach_safe(json, next, key, value)
	{
		bool leaf = keys || json_is_string(value) || json_is_null(value);
		const char *name = arena_printf(arena, "%s.%s", path, key);
		if (leaf && !(*n)--) {
			tried = arena_printf(
			    arena, "%s of %s", keys ? "key" : "text", name);
			if (keys) {
				json_object_set(json, text, value);
				json_object_del(json, key);
			} else {
				json_object_set_new(json, key, json_string(text));
			}
			return true;
		}
		if (replace(value, n, text, keys, name))
			return true;
	}
	json_array_foreach(json, i, value)
	{
		bool leaf = !keys && (json_is_string(value) || json_is_null(value));
		const char *name = arena_printf(arena, "%s[]", path);
		if (leaf && !(*n)--) {
			tried = arena_printf(arena, "text of %s", name);
			json_array_set_new(json, i, json_string(text));
			return true;
		}
		if (replace(value, n, text, keys, name))
			return true;
	}
	return false;
}

/* The line with one text replaced; NULL where it has not so many. */
static json_t *hostile_line(
    const json_t *line, int at, bool keys, const char *text, int id)
{
	json_t *copy = json_deep_copy(line);
	char digits[17];
	snprintf(digits, sizeof digits, "%016x", (unsigned)id);
	json_object_set_new(copy, "id", json_string(digits));
	tried_text = text;
	if (replace(copy, &at, text, keys, ""))
		return copy;
	json_decref(copy);
	return NULL;
}

/* What a printed command may have of a text: it, or as JSON has it. */
static void allow(Texts *allowed, const char *text)
{
	json_t *json = json_string(text);
	char *quoted = json_dumps(json, JSON_ENCODE_ANY);
	allowed->n = 0;
	vec_push(arena, allowed, text);
	vec_push(arena, allowed,
	    arena_strndup(arena, quoted + 1, strlen(quoted) - 2));
	free(quoted);
	json_decref(json);
}

static void try_logs(const Texts *ids)
{
	Texts args = {0};
	tunec(NULL, false, "log", "list", "--db=b.jsonl", NULL);
	tunec(NULL, true, "log", "list", "--json", "--db=b.jsonl", NULL);
	tunec(NULL, false, "log", "best", "--db=b.jsonl", NULL);
	tunec(NULL, false, "log", "explain", "s.yaml:z", "--db=b.jsonl", NULL);
	tunec(NULL, true, "log", "explain", "--json", "s.yaml:x",
	    "--db=b.jsonl", NULL);
	tunec(NULL, true, "log", "export", "--db=b.jsonl", NULL);
	vec_push(arena, &args, program);
	vec_push(arena, &args, "log");
	vec_push(arena, &args, "show");
	vec_push(arena, &args, "--db=b.jsonl");
	for (int i = 0; i < ids->n; i++)
		vec_push(arena, &args, ids->at[i]);
	tunec_with(NULL, NULL, NULL, false, &args);
}

/* All payloads in one text of a line: verbs that show records. */
static bool try_batch(const json_t *line, int at, bool keys)
{
	json_t *lines[NPAYLOADS + 1];
	Texts ids = {0}, allowed = {0};
	lines[0] = own.plain;
	for (int i = 0; i < NPAYLOADS; i++) {
		lines[i + 1] = hostile_line(line, at, keys, payloads[i], i + 1);
		if (!lines[i + 1])
			return false;
		vec_push(arena, &ids, arena_printf(arena, "%016x", i + 1));
	}
	put_lines("b.jsonl", lines, NPAYLOADS + 1);
	tried_text = "all";
	try_logs(&ids);
	for (int i = 0; i < NPAYLOADS; i++) {
		tried_text = payloads[i];
		allow(&allowed, payloads[i]);
		put_lines("e.jsonl", &lines[i + 1], 1);
		if (line == own.crash)
			tunec(&allowed, i % 2, "log", "errors", "--db=e.jsonl",
			    i % 2 ? "--json" : "--quiet", NULL);
		json_decref(lines[i + 1]);
	}
	return true;
}

static void check_built(bool same, bool llvm)
{
	static const struct {
		const char *name;
		const Buf *want;
		bool c;
	} files[] = {{"x.c", &own.code, true}, {"x.h", &own.header, true},
	    {"product_x_main.c", &own.main, true}, {"x.ll", &own.llvm, false},
	    {"x.s", &own.assembly, false}};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		Buf text = {0};
		const Buf *want = same ? files[i].want : NULL;
		read_whole(below(work, files[i].name), &text);
		if (files[i].c)
			check_c(&text, want);
		else if (llvm && (strstr(buf_text(&text), MARK) ||
			 (want && strcmp(buf_text(&text), buf_text(want)))))
			failed(files[i].name, &text);
		buf_free(&text);
	}
}

/* One text of one record: verbs that make kernels of it. */
static bool try_kernel(json_t *line, int at, bool keys, const char *text)
{
	json_t *lines[2] = {hostile_line(line, at, keys, text, 1), NULL};
	Texts allowed = {0};
	bool llvm = text == *mixtures && !keys;
	if (!lines[0])
		return false;
	bool trace = strstr(tried, ".trace") != NULL;
	put_lines("one.jsonl", lines, 1);
	bool target = !strcmp(tried, "text of .target"); /* then no record */
	if (!build_all("--db", "one.jsonl", llvm))
		check_built(!trace && !target, llvm);
	if (trace && !build_all("--trace", "one.jsonl", false))
		check_built(false, false);
	lines[1] = json_deep_copy(own.plain);
	json_object_set_new(lines[1], "target", json_string("c"));
	put_lines("two.jsonl", lines, 2);
	allow(&allowed, text);
	tunec(&allowed, false, "build", "s.yaml:x", "-o", "x.c", "--db",
	    "two.jsonl", NULL);
	tunec(&allowed, true, "replay", "--json", "s.yaml:x", "--target=c",
	    "--db", "two.jsonl", NULL);
	if (!trace)
		tunec(&allowed, false, "tune", "s.yaml:x", "--trials=1",
		    "--measure=simulate", "--db=one.jsonl", NULL);
	json_decref(lines[0]);
	json_decref(lines[1]);
	return true;
}

static void finish(void)
{
	static int before;
	struct rusage used;
	getrusage(RUSAGE_CHILDREN, &used);
	print_message("%d runs, %d ms so far\n", runs - before,
	    (int)(used.ru_utime.tv_sec * 1000 + used.ru_utime.tv_usec / 1000 +
		used.ru_stime.tv_sec * 1000 + used.ru_stime.tv_usec / 1000));
	before = runs;
	int n = failures;
	failures = 0;
	if (n)
		fail_msg("%d failures", n);
}

static void test_logs(void **state)
{
	(void)state;
	const json_t *const lines[] = {own.start, own.crash, own.end};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		for (int keys = 0; keys < 2; keys++)
			for (int at = (int)i % stride;
			     try_batch(lines[i], at, keys); at += stride)
				;
	finish();
}

static void test_kernels(void **state)
{
	(void)state;
	for (int m = 0; m < NMIXTURES; m++) {
		for (int at = m % stride;
		     try_kernel(own.plain, at, false, mixtures[m]); at += stride)
			;
		for (int at = 0;
		     !m && try_kernel(own.plain, at, true, *mixtures);
		     at += stride)
			;
	}
	finish();
}

/* What is imported is shown from the other kind of store. */
static void test_import(void **state)
{
	(void)state;
	for (int at = 0;; at++) {
		json_t *line = hostile_line(own.crash, at, false, mixtures[2], 1);
		if (!line)
			break;
		put_lines("i.jsonl", &line, 1);
		unlink(below(work, "i.db"));
		if (!tunec(NULL, false, "log", "import", "i.jsonl", "--db=i.db",
			NULL))
			tunec(NULL, false, "log", "list", "--db=i.db", NULL);
		json_decref(line);
	}
	finish();
}

/* --- traces -------------------------------------------------------------- */

static void test_traces(void **state)
{
	(void)state;
	static const char *const texts[] = {"%s(y.i)\n", "parallel(%s)\n",
	    "%s = split(y.i, [_, 4])\n", "o, i = split(y.i, [_, %s])\n",
	    "tail(y, ?=%s in {pad, mask})\n", "# %s\n", "parallel(y.i) %s\n"};
	const json_t *steps = json_object_get(own.tuned, "trace");
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		for (int k = 0; k < NPAYLOADS; k += stride) {
			tried = texts[i];
			tried_text = payloads[k];
			const char *place = strstr(texts[i], "%s");
			put_file("t.trace",
			    arena_printf(arena, "%.*s%s%s",
				(int)(place - texts[i]), texts[i], payloads[k],
				place + 2));
			if (!build_all("--trace", "t.trace", false))
				check_built(false, false);
		}
	for (int at = 0;; at++) {
		json_t *copy = json_deep_copy(steps);
		int n = at;
		tried_text = mixtures[at % NMIXTURES];
		bool more = replace(copy, &n, tried_text, false, "trace");
		put_lines("t.json", &copy, 1);
		json_decref(copy);
		if (!more)
			break;
		if (!build_all("--trace", "t.json", false))
			check_built(false, false);
	}
	finish();
}

/* --- specs --------------------------------------------------------------- */

/* Each text between { and } of one level is replaced in turn. */
static const char spec_text[] =
    "{tunec}: {1}\n{name}: {product}\n{doc}: {A product.}\n"
    "{params}:\n  {M}: {8}\n  {N}: {2*M}\n"
    "{inputs}:\n  {a}: {f32[M, N]}\n  b: {const f32[N, M]}\n"
    "{compute}: {|}\n  {y}[i < {M}, j < M] = sum[k < N](a[i, k]*{b}[k, j])\n"
    "  # {comment}\n"
    "{outputs}: {[y]}\n"
    "{cases}:\n  {x}:\n    {M}: {9}\n"
    "{weights}:\n  {x}: {2}\n"
    "{schedule}: {|}\n  {plain}:\n    {parallel}({y.i})\n    # {comment}\n";

typedef enum { FORM_RAW, FORM_ESCAPED, FORM_QUOTED, NFORMS } Form;

static void put_scalar(Buf *out, const char *text, Form form)
{
	if (form == FORM_RAW) {
		buf_puts(out, text);
	} else if (form == FORM_ESCAPED) {
		escape_json(out, text, strlen(text));
	} else {
		buf_putc(out, '\'');
		for (; *text; text++)
			buf_printf(out, *text == '\'' ? "''" : "%c", *text);
		buf_putc(out, '\'');
	}
}

/* The spec, with text number `at` (-1: none) replaced; false if there is none. */
static bool put_spec(Buf *out, int at, const char *text, Form form)
{
	int n = 0;
	buf_clear(out);
	for (const char *s = spec_text; *s; s++) {
		const char *end = *s == '{' ? strchr(s, '}') : NULL;
		if (!end) {
			buf_putc(out, *s);
			continue;
		}
		if (n++ == at) {
			put_scalar(out, text, form);
			tried = arena_printf(arena, "spec, %.*s in form %d",
			    (int)(end - s) + 1, s, form);
		} else {
			buf_add(out, s + 1, (size_t)(end - s) - 1);
		}
		s = end;
	}
	return at < n;
}

static void try_spec(const Buf *spec)
{
	write_whole(below(work, "h.yaml"), buf_text(spec), spec->size);
	if (tunec(NULL, false, "check", "h.yaml", NULL))
		return;
	tunec(NULL, true, "check", "--json", "h.yaml", NULL);
	tunec(NULL, false, "show", "--stage=c", "--schedule=plain", "h.yaml", NULL);
	tunec(NULL, true, "show", "--stage=c", "--json", "--target=c", "h.yaml",
	    NULL);
	if (tried_text == *payloads) /* it takes its time */
		tunec(NULL, false, "space", "--sample=1", "h.yaml", NULL);
	if (!tunec(NULL, false, "build", "h.yaml:x", "-o", "x.c", "-o", "x.h",
		"--emit=main", "--target=c", NULL)) {
		Buf text = {0};
		read_whole(below(work, "x.c"), &text);
		check_c(&text, NULL);
		read_whole(below(work, "x.h"), &text);
		check_c(&text, NULL);
		buf_free(&text);
	}
}

/* The reader names its keys; each is in the spec above. */
static void test_keys(void **state)
{
	(void)state;
	put_file("k.yaml", "tunec: 1\nunknown: 1\n");
	const char *said = tunec_output(1, "check", "k.yaml", NULL);
	const char *key = strstr(said, "there are ");
	assert_non_null(key);
	for (key += strlen("there are "); islower((unsigned char)*key);) {
		size_t n = strspn(key, "abcdefghijklmnopqrstuvwxyz_");
		char *want = arena_printf(arena, "{%.*s}:", (int)n, key);
		if (!strstr(spec_text, want))
			fail_msg("spec_text has no %s", want);
		key += n;
		key += strspn(key, ", ");
	}
	Buf spec = {0};
	assert_false(put_spec(&spec, 1000, "", FORM_RAW));
	write_whole(below(work, "h.yaml"), buf_text(&spec), spec.size);
	tunec_output(0, "check", "h.yaml", NULL);
	buf_free(&spec);
}

static void test_specs(void **state)
{
	(void)state;
	Buf spec = {0};
	for (int k = 0; k < NPAYLOADS; k += stride)
		for (int form = 0; form < NFORMS; form++) {
			tried_text = payloads[k];
			for (int at = 0;
			     put_spec(&spec, at, payloads[k], (Form)form); at++)
				try_spec(&spec);
		}
	buf_free(&spec);
	finish();
}

/* --- the command line ---------------------------------------------------- */

/* Words of a verb that does little, before what is tried. */
static void push_harmless(Texts *args, const char *verb)
{
	vec_push(arena, args, program);
	vec_push(arena, args, verb);
	if (!strcmp(verb, "log"))
		vec_push(arena, args, "list");
	if (!strcmp(verb, "tune")) {
		vec_push(arena, args, "--trials=1");
		vec_push(arena, args, "--measure=simulate");
		vec_push(arena, args, "--db=t.jsonl");
	}
	if (!strcmp(verb, "build"))
		vec_push(arena, args, "-oy.c");
	if (strcmp(verb, "target"))
		vec_push(arena, args, "s.yaml:x");
}

static void try_option(const char *verb, const char *option, const char *text)
{
	static const char *const suffixes[] = {"", ".c", ".jsonl"};
	Texts allowed = {0};
	for (int i = 0; i < 3; i++) {
		Texts args = {0};
		const char *value = arena_printf(arena, "%s%s", text, suffixes[i]);
		tried = arena_printf(arena, "%s %s", verb, option);
		tried_text = value;
		allow(&allowed, value);
		push_harmless(&args, verb);
		vec_push(arena, &args, option);
		vec_push(arena, &args, value);
		tunec_with(NULL, NULL, &allowed, false, &args);
		vec_push(arena, &args, "--json");
		tunec_with(NULL, NULL, &allowed, true, &args);
	}
}

/* Calls for each option that --help shows with a value. */
static void each_option(const char *verb,
    void (*visit)(const char *verb, const char *option))
{
	const char *help = tunec_output(0, verb, "--help", NULL);
	for (const char *s = help; *s; s += strcspn(s, "\n") + !!*s) {
		const char *p = s + strspn(s, " \n");
		size_t n = strcspn(p, "= \n");
		if (*p == '-' && p > s && (p[n] == '=' ||
		    (p[n] == ' ' && isupper((unsigned char)p[n + 1]))))
			visit(verb, arena_strndup(arena, p, n));
		s = p;
	}
}

static void try_mixtures(const char *verb, const char *option)
{
	for (int i = 0; i < NLONG; i++)
		try_option(verb, option, mixtures[i]);
	try_option(verb, option, "-" MARK);
}

static void test_options(void **state)
{
	(void)state;
	const char *help = tunec_output(0, "--help", NULL);
	const char *s = strstr(help, "verbs:\n");
	int n = 0;
	for (s += strlen("verbs:\n"); !strncmp(s, "  ", 2); n++) {
		each_option(arena_strndup(arena, s + 2, strcspn(s + 2, " ")),
		    try_mixtures);
		s += strcspn(s, "\n") + 1;
	}
	assert_true(n >= 8);
	finish();
}

static void test_operands(void **state)
{
	(void)state;
	static const char *const lines[][4] = {{"%s"}, {"log", "%s"},
	    {"log", "show", "%s"}, {"log", "import", "%s"},
	    {"log", "show", "--db=%s.jsonl", "1"}, {"check", "%s"},
	    {"check", "s.yaml:%s"}, {"check", "s.yaml", "-DM=%s"},
	    {"check", "s.yaml", "-D%s"}, {"check", "s.yaml", "-D%s=1"},
	    {"check", "--%s"}, {"check", "--q=%s"}, {"build", "%s", "-oy.c"},
	    {"target", "%s"}, {"target", "c %s"}, {"target", "llvm %s"},
	    {"target", "llvm -mcpu=%s"}, {"target", "llvm -mtriple=%s"},
	    {"target", "llvm -mtriple=x-%s"}, {"target", "llvm -mattr=%s"},
	    {"target", "llvm -mattr=+%s"}, {"target", "llvm -threads=%s"}};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		for (int k = 0; k < NPAYLOADS; k += stride) {
			Texts args = {0}, allowed = {0};
			vec_push(arena, &args, program);
			tried_text = payloads[k];
			for (int w = 0; w < 4 && lines[i][w]; w++) {
				const char *word = lines[i][w];
				const char *at = strstr(word, "%s");
				tried = word;
				vec_push(arena, &args, !at ? word
				    : arena_printf(arena, "%.*s%s%s",
					  (int)(at - word), word, payloads[k],
					  at + 2));
			}
			allow(&allowed, payloads[k]);
			tunec_with(NULL, NULL, &allowed, false, &args);
		}
	finish();
}

static void test_environment(void **state)
{
	(void)state;
	static const char *const names[] = {"TUNEC_DB", "TUNEC_TARGET",
	    "TUNEC_MODULES", "TMPDIR", "NO_COLOR"};
	static const char *const lines[][2] = {{"log", "list"},
	    {"log", "errors"}, {"build", "-oy.so"}, {"space", "-q"},
	    {"replay", "-q"}, {"show", "--stage=llvm"}, {"target", NULL}};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		for (size_t l = 0; l < sizeof lines / sizeof *lines; l++)
			for (int k = 0; k < NLONG; k++) {
				Texts args = {0}, allowed = {0};
				vec_push(arena, &args, program);
				vec_push(arena, &args, lines[l][0]);
				if (lines[l][1]) {
					vec_push(arena, &args, lines[l][1]);
					vec_push(arena, &args, "s.yaml:x");
				}
				tried = names[i];
				tried_text = mixtures[k];
				allow(&allowed, mixtures[k]);
				tunec_with(names[i], mixtures[k], &allowed,
				    false, &args);
			}
	finish();
}

/* --- names of files ------------------------------------------------------ */

static void try_names(const char *name, const char *spec, const char *store,
    const char *output)
{
	Texts allowed = {0};
	vec_push(arena, &allowed, store);
	const char *rules = arena_printf(arena, "%s.d", output);
	const char *c = output[0] == '-' ? arena_printf(arena, "./%s", output)
					 : output;
	tried = name;
	put_file(spec, "tunec: 1\nname: wrong\ncompute: |\n  y = \n");
	tunec(NULL, false, "check", "--", spec, NULL);
	put_file(spec, harmless_spec);
	put_lines(store, &own.crash, 1);
	tunec(&allowed, false, "log", "errors", "--db", store, NULL);
	unlink(below(work, rules));
	if (!tunec(NULL, false, "build", "--db", store, "-o", c, "-MD",
		"--target=c", "--", arena_printf(arena, "%s:x", spec), NULL))
		check_depfile(rules, c);
	write_whole(below(work, store), "damaged\n", 8);
	tunec(NULL, false, "log", "list", "--db", store, NULL);
	tunec(NULL, false, "log", "import", "--db=new.jsonl", "--", store, NULL);
}

static void test_names(void **state)
{
	(void)state;
	for (int k = 0; k < NPAYLOADS; k += stride) {
		tried_text = payloads[k];
		if (strchr(payloads[k], '/'))
			continue;
		try_names("names", arena_printf(arena, "%s.yaml", payloads[k]),
		    arena_printf(arena, "%s.jsonl", payloads[k]),
		    arena_printf(arena, "%s.c", payloads[k]));
	}
	finish();
}

/* ------------------------------------------------------------------------- */

/* In place of tunec: its words into a file. */
static const char stub[] = "#!/bin/sh\nprintf '%s\\0' \"$@\" end "
			   ">>\"${0%/*}/../shell/args\"\n";

static int enter(void **state)
{
	(void)state;
	const char *variant = getenv("VARIANT");
	if (variant && strcmp(variant, "release"))
		stride = 19;
	else if (!tier_is_long())
		stride = 17;
	program = getenv("TUNEC");
	arena = arena_new();
	if (!program || access(program, X_OK) || !mkdtemp(top))
		return -1;
	mkdir(below(top, "stub"), 0700);
	mkdir(below(top, "shell"), 0700);
	mkdir(below(top, "shell/a"), 0700);
	mkdir(below(top, "cases"), 0700);
	mkdir(below(top, "cases/a"), 0700);
	shells = arena_printf(arena, "%s/shell/a/b", top);
	work = arena_printf(arena, "%s/cases/a/b", top);
	mkdir(shells, 0700);
	mkdir(work, 0700);
	write_whole(below(top, "stub/tunec"), stub, sizeof stub - 1);
	chmod(below(top, "stub/tunec"), 0700);
	unsetenv("TUNEC_DB");
	unsetenv("TUNEC_TARGET");
	make_own();
	return 0;
}

static int visit_remove(const char *path, const struct stat *info, int type,
    struct FTW *ftw)
{
	(void)info;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int leave(void **state)
{
	(void)state;
	printf("# %d runs\n", runs);
	nftw(top, visit_remove, 8, FTW_DEPTH | FTW_PHYS);
	arena_free(arena);
	return 0;
}

int main(void)
{
	if (!getenv("TUNEC")) {
		printf("TUNEC does not name the program\n");
		return 77;
	}
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_logs),
	    cmocka_unit_test(test_kernels),
	    cmocka_unit_test(test_import),
	    cmocka_unit_test(test_traces),
	    cmocka_unit_test(test_keys),
	    cmocka_unit_test(test_specs),
	    cmocka_unit_test(test_options),
	    cmocka_unit_test(test_operands),
	    cmocka_unit_test(test_environment),
	    cmocka_unit_test(test_names),
	};
	return cmocka_run_group_tests(tests, enter, leave);
}
