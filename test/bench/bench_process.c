/* Whole processes: how long one takes, how much memory a tree of them has.
 *
 *     bench_process [-n N] [-e EXIT] COMMAND ARGUMENT...
 *         runs it N times, output discarded; prints the median in ms
 *     bench_process -m COMMAND ARGUMENT...
 *         runs it once; prints the largest sum of PSS over the process and all
 *         its descendants in MB, sampled 20 times a second, and how long it ran
 *         in seconds
 *
 * PSS is memory with shared pages divided among those that share them, read
 * from smaps_rollup.  With -e a run that exits otherwise is an error. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/bench/bench.h"

enum { MOST_RUNS = 1000, MOST_PROCESSES = 32768 };

extern char **environ;

static pid_t start(char **command, bool quiet)
{
	posix_spawn_file_actions_t files;
	pid_t child;
	posix_spawn_file_actions_init(&files);
	if (quiet) {
		posix_spawn_file_actions_addopen(
		    &files, 1, "/dev/null", O_WRONLY, 0);
		posix_spawn_file_actions_addopen(
		    &files, 2, "/dev/null", O_WRONLY, 0);
	}
	errno = posix_spawnp(&child, command[0], &files, NULL, command, environ);
	posix_spawn_file_actions_destroy(&files);
	if (errno) {
		perror(command[0]);
		exit(1);
	}
	return child;
}

static int exit_code(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* --- memory ---------------------------------------------------------------- */

typedef struct {
	pid_t pid, parent;
	bool below;
} Process;

static long read_number(const char *path, const char *behind)
{
	char text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	char *at = strstr(text, behind);
	return at ? strtol(at + strlen(behind), NULL, 10) : 0;
}

/* In /proc/PID/stat the parent follows the state, which follows the name in
 * parentheses. */
static pid_t parent_of(pid_t pid)
{
	char path[64], text[512];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	char *at = strrchr(text, ')');
	return at && strlen(at) > 4 ? (pid_t)strtol(at + 4, NULL, 10) : 0;
}

static int list_processes(Process *all)
{
	int n = 0;
	DIR *folder = opendir("/proc");
	if (!folder)
		return 0;
	for (struct dirent *e; (e = readdir(folder)) && n < MOST_PROCESSES;) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
		if (pid > 0)
			all[n++] = (Process){pid, parent_of(pid), false};
	}
	closedir(folder);
	return n;
}

/* kB of everything below this process. */
static long tree_pss_kb(void)
{
	static Process all[MOST_PROCESSES];
	int n = list_processes(all);
	long sum = 0;
	for (bool more = true; more;) {
		more = false;
		for (int i = 0; i < n; i++) {
			bool below = all[i].parent == getpid();
			for (int k = 0; k < n && !below; k++)
				below = all[k].below &&
				    all[k].pid == all[i].parent;
			more = more || (below && !all[i].below);
			all[i].below = below;
		}
	}
	for (int i = 0; i < n; i++) {
		char path[64];
		snprintf(path, sizeof path, "/proc/%d/smaps_rollup",
		    (int)all[i].pid);
		if (all[i].below)
			sum += read_number(path, "\nPss:");
	}
	return sum;
}

static int measure_memory(char **command)
{
	long most = 0;
	int status;
	/* Whoever loses its parent becomes a child of ours. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	double begin = now_s();
	pid_t child = start(command, true);
	for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) != child;) {
		if (ended > 0)
			continue;
		long kb = tree_pss_kb();
		most = kb > most ? kb : most;
		nanosleep(&(struct timespec){0, 50000000}, NULL);
	}
	printf("%.1f %.2f\n", (double)most * 1024e-6, now_s() - begin);
	return exit_code(status);
}

/* --- time -------------------------------------------------------------------- */

static int measure_time(char **command, int runs, int want)
{
	double ms[MOST_RUNS];
	for (int i = 0; i < runs; i++) {
		int status;
		double begin = now_s();
		pid_t child = start(command, true);
		waitpid(child, &status, 0);
		ms[i] = 1e3 * (now_s() - begin);
		if (want >= 0 && exit_code(status) != want) {
			fprintf(stderr, "%s: exit %d, not %d\n", command[0],
			    exit_code(status), want);
			return 1;
		}
	}
	printf("%.2f\n", median(ms, runs));
	return 0;
}

int main(int argc, char **argv)
{
	int runs = 1, want = -1, option;
	bool memory = false;
	while ((option = getopt(argc, argv, "+n:e:m")) != -1)
		if (option == 'n')
			runs = atoi(optarg);
		else if (option == 'e')
			want = atoi(optarg);
		else if (option == 'm')
			memory = true;
		else
			return 2;
	if (optind == argc || runs < 1 || runs > MOST_RUNS)
		return 2;
	return memory ? measure_memory(argv + optind)
		      : measure_time(argv + optind, runs, want);
}
