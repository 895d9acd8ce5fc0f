/* Escaping: what each destination reads is the text, whatever bytes it has.
 * The readers are the real ones: the C compiler, sh, make and jansson. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/escape.h"
#include "lib/rng.h"

typedef void Escape(Buf *out, const char *text);

static void terminal(Buf *out, const char *text)
{
	escape_terminal(out, text, strlen(text), "\n");
}

static void json(Buf *out, const char *text)
{
	escape_json(out, text, strlen(text));
}

static void json_text(Buf *out, const char *text)
{
	escape_json_text(out, text, strlen(text));
}

static void make_target(Buf *out, const char *text)
{
	if (!escape_make(out, text, MAKE_TARGET))
		buf_puts(out, "refused");
}

static void make_needed(Buf *out, const char *text)
{
	if (!escape_make(out, text, MAKE_NEEDED))
		buf_puts(out, "refused");
}

static const struct {
	Escape *escape;
	const char *text, *want;
} cases[] = {
    {terminal, "caf\xc3\xa9 \\x", "caf\xc3\xa9 \\x"},
    {terminal, "a\tb\nc", "a\\tb\nc"},
    {terminal, "\x1b[31m\a\r\x7f", "\\x1b[31m\\x07\\x0d\\x7f"},
    {terminal, "\xc2\x9b" "31m", "\\u009b31m"},
    {terminal, "\x9b\xff\xc3", "\\x9b\\xff\\xc3"},
    {terminal, "\xed\xa0\x80\xc0\xaf", "\\xed\\xa0\\x80\\xc0\\xaf"},
    {terminal, "a\xe2\x80\xae" "b\xe2\x81\xa6\xd8\x9c", "a\\u202eb\\u2066\\u061c"},
    {terminal, "\xe2\x80\xa8\xef\xbb\xbf", "\\u2028\\ufeff"},
    {terminal, "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
    {escape_comment, "plain \\x, a*b/c", "plain \\x, a*b/c"},
    {escape_comment, "*/ /* **/ /*/", "* / / * ** / / * /"},
    {escape_comment, "*\\\n/", "*\\ /"},
    {escape_comment, "*?" "?/\n/", "*? ?/ /"},
    {escape_comment, "ends\\", "ends\\x5c"},
    {escape_comment, "ends\\ \t", "ends\\x5c  "},
    {escape_comment, "a\x1b\xe2\x80\xae\xff", "a\\x1b\\u202e\\xff"},
    {escape_c_string, "a\"b\\c\n?" "?/\x1b" "1\xc3\xa9",
	"\"a\\\"b\\\\c\\n?\\?/\\0331\xc3\xa9\""},
    {escape_c_string, "", "\"\""},
    {json, "a\"\\\b\n\t\r\xff\xc3\xa9", "\"a\\\"\\\\\\u0008\\n\\t\\r\xef\xbf\xbd\xc3\xa9\""},
    {json_text, "{\"a\": \"\x7f\xc2\x9b\xc3\xa9\xf0\x9f\xbf\xbf\"}",
	"{\"a\": \"\\u007f\\u009b\xc3\xa9\\ud83f\\udfff\"}"},
    {escape_shell, "mm.yaml:x", "mm.yaml:x"},
    {escape_shell, "", "''"},
    {escape_shell, "llvm -mcpu=a", "'llvm -mcpu=a'"},
    {escape_shell, "x'; touch y; '", "'x'\\''; touch y; '\\'''"},
    {escape_shell, "$(id)`id`", "'$(id)`id`'"},
    {escape_shell, "a\x1b[%\\'", "\"$(printf 'a\\033[%%\\\\'\\''')\""},
    {escape_shell, "-\n", "\"$(printf '\\055')\"'\n'"},
    {escape_shell, "\n", "'\n'"},
    {make_target, "a b#c:d$e.c", "a\\ b\\#c\\:d$$e.c"},
    {make_target, "a\\b\\ c", "a\\b\\\\\\ c"},
    {make_target, "a%=", "a\\%$(or =)"},
    {make_needed, "a%=", "a%$(or =)"},
    {make_needed, "~a*", "./~a\\*"},
    {make_needed, "a\nb", "refused"},
    {make_needed, "a;b", "refused"},
    {make_needed, "a(b)", "refused"},
    {make_needed, "a|b", "refused"},
    {make_target, "a&", "refused"},
    {make_target, "a\\", "refused"},
    {make_target, "a\\b*", "refused"},
    {make_target, "", "refused"},
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		Buf out = {0};
		cases[i].escape(&out, cases[i].text);
		assert_string_equal(buf_text(&out), cases[i].want);
		buf_free(&out);
	}
}

/* What stands before is part of what a comment may not end. */
static void test_comment_joins(void **state)
{
	(void)state;
	Buf out = {0};
	buf_puts(&out, "/* x*");
	escape_comment(&out, "/ int a;");
	assert_string_equal(buf_text(&out), "/* x* / int a;");
	buf_free(&out);
}

/* --- at random ----------------------------------------------------------- */

enum { NTEXTS = 400, TEXT_MAX = 12 };

static char folder[] = "/tmp/test_escape-XXXXXX";

/* Bytes that mean something somewhere, and any. */
static void random_text(Rng *rng, char text[TEXT_MAX + 1])
{
	static const char special[] = "*/\\\n?'\"$`%#:; \t()-=~&|[]!{}<>\r\x1b"
				      "\x7f\xc2\x9b\xe2\x80\xae/*";
	int n = (int)rng_below(rng, TEXT_MAX + 1);
	for (int i = 0; i < n; i++)
		text[i] = rng_below(rng, 4)
		    ? special[rng_below(rng, sizeof special - 1)]
		    : (char)(1 + rng_below(rng, 255));
	text[n] = '\0';
}

static void write_file(const char *name, const Buf *text)
{
	FILE *f = fopen(name, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(buf_text(text), 1, text->size, f), text->size);
	assert_int_equal(fclose(f), 0);
}

static void read_command(const char *command, Buf *out)
{
	FILE *f = popen(command, "r");
	char piece[4096];
	assert_non_null(f);
	for (size_t n; (n = fread(piece, 1, sizeof piece, f));)
		buf_add(out, piece, n);
	if (pclose(f))
		fail_msg("%s failed: %.300s", command, buf_text(out));
}

static void same_bytes(const Buf *got, const Buf *want)
{
	assert_int_equal(got->size, want->size);
	assert_memory_equal(buf_text(got), buf_text(want), want->size);
}

/* A comment that ended early, or late, would leave a name too many or too few. */
static void test_comments_compile(void **state)
{
	(void)state;
	Rng rng = rng_stream(1, 0, 0);
	Buf file = {0}, sum = {0};
	for (int i = 0; i < NTEXTS; i++) {
		char text[TEXT_MAX + 1];
		random_text(&rng, text);
		buf_printf(&file, "enum { a%d /* ", i);
		escape_comment(&file, text);
		buf_printf(&file, " */ = %d };\nenum { b%d = 0 /*\n *", i, i);
		escape_comment(&file, text);
		buf_puts(&file, "\n */ };\n");
		buf_printf(&sum, " + a%d + b%d", i, i);
	}
	buf_printf(&file, "_Static_assert(%d == %s, \"\");\n",
	    NTEXTS * (NTEXTS - 1) / 2, buf_text(&sum));
	write_file("comment.c", &file);
	Buf none = {0};
	read_command("cc -std=c11 -Wall -Wextra -Werror -fsyntax-only comment.c "
		     "2>&1", &none);
	read_command("cc -std=gnu2x -Wall -Wextra -Werror -fsyntax-only "
		     "comment.c 2>&1", &none);
	assert_string_equal(buf_text(&none), "");
	buf_free(&none);
	buf_free(&file);
	buf_free(&sum);
}

static void test_strings_compile(void **state)
{
	(void)state;
	Rng rng = rng_stream(2, 0, 0);
	Buf file = {0}, want = {0}, got = {0};
	buf_puts(&file, "#include <stdio.h>\n#include <string.h>\n"
			"static const char *texts[] = {\n");
	for (int i = 0; i < NTEXTS; i++) {
		char text[TEXT_MAX + 1];
		random_text(&rng, text);
		escape_c_string(&file, text);
		buf_puts(&file, ",\n");
		buf_add(&want, text, strlen(text) + 1);
	}
	buf_printf(&file, "};\nint main(void)\n{\n\tfor (int i = 0; i < %d; i++)"
			  "\n\t\tfwrite(texts[i], 1, strlen(texts[i]) + 1, "
			  "stdout);\n\treturn 0;\n}\n", NTEXTS);
	write_file("string.c", &file);
	read_command("cc -std=c11 -Wall -Wextra -Werror string.c -o string && "
		     "./string", &got);
	same_bytes(&got, &want);
	buf_free(&file);
	buf_free(&want);
	buf_free(&got);
}

static void test_words_of_a_shell(void **state)
{
	(void)state;
	Rng rng = rng_stream(3, 0, 0);
	Buf file = {0}, want = {0}, got = {0};
	for (int i = 0; i < NTEXTS; i++) {
		char text[TEXT_MAX + 1];
		Buf word = {0};
		random_text(&rng, text);
		escape_shell(&word, text);
		for (size_t k = 0; k < word.size; k++)
			assert_false((unsigned char)word.data[k] < 0x20 &&
				     word.data[k] != '\n');
		buf_printf(&file, "printf '%%s\\0' %s\n", buf_text(&word));
		buf_add(&want, text, strlen(text) + 1);
		buf_free(&word);
	}
	write_file("words", &file);
	read_command("sh ./words", &got);
	same_bytes(&got, &want);
	buf_free(&file);
	buf_free(&want);
	buf_free(&got);
}

/* In a folder of its own, so that a pattern could find the wrong file. */
static void test_names_for_make(void **state)
{
	(void)state;
	Rng rng = rng_stream(4, 0, 0);
	Buf rules = {0}, all = {0}, want = {0}, got = {0};
	int refused = 0;
	assert_int_equal(mkdir("make", 0700), 0);
	assert_int_equal(chdir("make"), 0);
	for (int i = 0; i < NTEXTS; i++) {
		char text[TEXT_MAX + 1], name[TEXT_MAX + 16];
		Buf target = {0}, needed = {0};
		random_text(&rng, text);
		for (char *c = text; *c; c++)
			if (*c == '/')
				*c = '.';
		snprintf(name, sizeof name, "%s%d", text, i);
		Buf empty = {0};
		if (escape_make(&target, name, MAKE_TARGET) &&
		    escape_make(&needed, name, MAKE_NEEDED)) {
			write_file(name, &empty);
			buf_printf(&all, " %s", needed.data);
			buf_printf(&rules, "%s: force\n"
				   "\t@:$(file >>../log,$@)\n", target.data);
			buf_printf(&want, "%s\n", name);
		} else {
			assert_true(strpbrk(name, "\t\n\v\f\r;|&()\\") != NULL);
			refused++;
		}
		buf_free(&target);
		buf_free(&needed);
	}
	assert_true(refused < NTEXTS / 2 + 100);
	Buf file = {0};
	buf_printf(&file, "all:%s\nforce:;\n%s", buf_text(&all), buf_text(&rules));
	write_file("../Makefile", &file);
	read_command("make -s -f ../Makefile 2>&1", &got);
	assert_string_equal(buf_text(&got), "");
	read_command("cat ../log", &got);
	assert_int_equal(chdir(".."), 0);
	same_bytes(&got, &want);
	buf_free(&file);
	buf_free(&rules);
	buf_free(&all);
	buf_free(&want);
	buf_free(&got);
}

static void test_strings_of_json(void **state)
{
	(void)state;
	Rng rng = rng_stream(5, 0, 0);
	for (int i = 0; i < 20 * NTEXTS; i++) {
		char text[TEXT_MAX + 1];
		Buf out = {0};
		json_error_t why;
		random_text(&rng, text);
		escape_json(&out, text, strlen(text));
		json_t *value = json_loadb(
		    out.data, out.size, JSON_DECODE_ANY, &why);
		if (!value)
			fail_msg("%s: %s", out.data, why.text);
		json_t *valid = json_string(text);
		assert_true(!valid || json_equal(valid, value));
		json_decref(valid);
		json_decref(value);
		buf_free(&out);
	}
}

static int enter_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) && !chdir(folder) ? 0 : -1;
}

static int leave_folder(void **state)
{
	(void)state;
	char command[64];
	snprintf(command, sizeof command, "rm -rf %s", folder);
	return chdir("/") || system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_cases),
	    cmocka_unit_test(test_comment_joins),
	    cmocka_unit_test(test_comments_compile),
	    cmocka_unit_test(test_strings_compile),
	    cmocka_unit_test(test_words_of_a_shell),
	    cmocka_unit_test(test_names_for_make),
	    cmocka_unit_test(test_strings_of_json),
	};
	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
