#include "lib/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NOT_STARTED = 127 };

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static _Noreturn void be_child(
    const char *const *argv, const char *folder, int out)
{
	int none = open("/dev/null", O_RDONLY);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(none, 0);
	dup2(out, 1);
	dup2(out, 2);
	if (chdir(folder) == 0)
		execvp(argv[0], (char *const *)argv);
	_exit(NOT_STARTED);
}

/* Until the program ends its side; false: it is late. */
static bool read_all(int fd, double limit_s, Buf *said)
{
	char piece[4096];
	double end = now() + limit_s;
	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		double left = end - now();
		if (left <= 0)
			return false;
		int ready = poll(&p, 1, (int)(left * 1000) + 1);
		if (ready <= 0) {
			if (ready < 0 && errno != EINTR)
				return false;
			continue;
		}
		ssize_t n = read(fd, piece, sizeof piece);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return true;
		buf_add(said, piece, (size_t)n);
	}
}

Status proc_run(const char *const *argv, const char *folder, double limit_s,
    Buf *said, int *code, Error *error)
{
	int ends[2], state = 0;
	if (pipe2(ends, O_CLOEXEC))
		return error_set(error, STATUS_MACHINE, "no pipe to %s: %s",
		    argv[0], strerror(errno));
	pid_t pid = fork();
	if (pid == 0)
		be_child(argv, folder, ends[1]);
	int why = errno;
	close(ends[1]);
	bool done = pid > 0 && read_all(ends[0], limit_s, said);
	close(ends[0]);
	if (pid < 0)
		return error_set(error, STATUS_MACHINE,
		    "no process to run %s: %s", argv[0], strerror(why));
	if (!done)
		kill(pid, SIGKILL);
	while (waitpid(pid, &state, 0) < 0 && errno == EINTR)
		continue;
	if (!done)
		return error_set(error, STATUS_TIMEOUT,
		    "%s took more than %g s", argv[0], limit_s);
	if (WIFSIGNALED(state))
		return error_set(error, STATUS_CRASH, "%s: %s", argv[0],
		    strsignal(WTERMSIG(state)));
	*code = WEXITSTATUS(state);
	if (*code == NOT_STARTED)
		return error_set(
		    error, STATUS_MISSING, "%s cannot be started", argv[0]);
	return STATUS_OK;
}

char *proc_find(Arena *arena, const char *folders, const char *name)
{
	char *found = NULL;
	while (folders && *folders && !found) {
		size_t n = strcspn(folders, ":");
		char *path =
		    arena_printf(arena, "%.*s/%s", (int)n, folders, name);
		if (n && !access(path, X_OK))
			found = path;
		folders += n + (folders[n] == ':');
	}
	return found;
}
