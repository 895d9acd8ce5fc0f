/* Files: all or none, untouched if equal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codegen/codegen.h"

static char folder[32];

static char *in_folder(const char *name)
{
	static char paths[8][512];
	static int next;
	char *path = paths[next++ % 8];
	snprintf(path, sizeof *paths, "%s/%s", folder, name);
	return path;
}

static OutputFile file(const char *name, const char *text)
{
	return (OutputFile){
	    *name == '/' || *name == '-' ? name : in_folder(name), text,
	    strlen(text)};
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(in_folder(name), "w");
	fputs(text, f);
	fclose(f);
}

static void expect(const char *name, const char *text)
{
	char have[64] = "";
	FILE *f = fopen(in_folder(name), "r");
	if (!text) {
		assert_null(f);
		return;
	}
	assert_non_null(f);
	have[fread(have, 1, sizeof have - 1, f)] = 0;
	fclose(f);
	assert_string_equal(have, text);
}

/* Files in the folder: no temporary one is ever left. */
static int count_files(void)
{
	int n = 0;
	DIR *d = opendir(folder);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void test_written(void **state)
{
	(void)state;
	Error error = {0};
	struct stat before, after;
	put("old", "old text");
	chmod(in_folder("old"), 0640);
	put("equal", "equal");
	stat(in_folder("equal"), &before);
	OutputFile files[] = {
	    file("new", "new"), file("old", "newer"), file("equal", "equal")};
	assert_int_equal(outputs_write(files, 3, &error), STATUS_OK);
	expect("new", "new");
	expect("old", "newer");
	expect("equal", "equal");
	stat(in_folder("equal"), &after);
	assert_true(before.st_ino == after.st_ino &&
		    before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
	stat(in_folder("old"), &after);
	assert_int_equal(after.st_mode & 0777, 0640);
	assert_int_equal(count_files(), 3);
}

static void test_links_and_devices(void **state)
{
	(void)state;
	Error error = {0};
	struct stat st;
	put("target", "a");
	assert_int_equal(symlink("target", in_folder("link")), 0);
	OutputFile files[] = {file("link", "b"), file("/dev/null", "c")};
	assert_int_equal(outputs_write(files, 2, &error), STATUS_OK);
	expect("target", "b");
	lstat(in_folder("link"), &st);
	assert_true(S_ISLNK(st.st_mode));
	stat("/dev/null", &st);
	assert_true(S_ISCHR(st.st_mode));
}

static void refuse(OutputFile bad, Status status, const char *message)
{
	Error error = {0};
	int n = count_files();
	OutputFile files[] = {file("first", "1"), file("kept", "2"), bad};
	assert_int_equal(outputs_write(files, 3, &error), status);
	if (!strstr(error.text, message))
		fail_msg("%s", error.text);
	expect("first", NULL);
	expect("kept", "kept");
	assert_int_equal(count_files(), n);
}

static void test_refused(void **state)
{
	(void)state;
	put("kept", "kept");
	mkdir(in_folder("sub"), 0777);
	refuse(file("no/such", "x"), STATUS_IO, "No such file or directory");
	refuse(file("sub", "x"), STATUS_IO, "Is a directory");
	refuse(file("first", "x"), STATUS_USAGE, "is written twice");
	if (!access("/dev/full", W_OK))
		refuse(file("/dev/full", "x"), STATUS_IO, "No space left");
}

static void test_standard_output(void **state)
{
	(void)state;
	Error error = {0};
	OutputFile files[] = {file("-", "text")};
	fflush(stdout);
	int old = dup(1), to = open(in_folder("out"), O_WRONLY | O_CREAT, 0600);
	dup2(to, 1);
	Status status = outputs_write(files, 1, &error);
	dup2(old, 1);
	close(to);
	close(old);
	assert_int_equal(status, STATUS_OK);
	expect("out", "text");
}

static int setup(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/tunec-outputs-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	DIR *d = opendir(folder);
	for (struct dirent *e; (e = readdir(d));)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			remove(in_folder(e->d_name));
	closedir(d);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_written, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		test_links_and_devices, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		test_standard_output, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
