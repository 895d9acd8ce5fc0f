/* What devices there are, asked by a process that ends: a driver starts threads,
 * keeps the device, and may crash or hang in what it does first.
 *
 *     this process                       its child
 *       fork, read until the end           list
 *       kill what is late      <---        Answer, DeviceFacts, DeviceFacts ... */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/buf.h"
#include "tuner/device/device.h"

enum { LIMIT_S = 10 };

typedef struct {
	Status status;
	char why[sizeof((Error *)0)->text];
	int n;
} ProbeAnswer;

static void write_all(int fd, const void *data, size_t size)
{
	for (const char *p = data; size;) {
		ssize_t n = write(fd, p, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(1);
		p += n;
		size -= (size_t)n;
	}
}

static _Noreturn void be_child(
    const DeviceDriver *driver, const char *folder, int fd)
{
	Error error = {0};
	DeviceFacts *facts = NULL;
	ProbeAnswer a;
	memset(&a, 0, sizeof a);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	device_folder_use(folder);
	a.status = driver->list(arena_new(), &facts, &a.n, &error);
	memcpy(a.why, error.text, sizeof a.why);
	if (a.status)
		a.n = 0;
	write_all(fd, &a, sizeof a);
	write_all(fd, facts, sizeof *facts * (size_t)a.n);
	_exit(0);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Until the child ends its side; false: it is late. */
static bool read_all(int fd, Buf *out)
{
	char piece[4096];
	double end = now() + LIMIT_S;
	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		double left = end - now();
		if (left <= 0 || poll(&p, 1, (int)(left * 1000) + 1) == 0)
			return false;
		ssize_t n = read(fd, piece, sizeof piece);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return true;
		buf_add(out, piece, (size_t)n);
	}
}

static Status take(const Buf *said, Arena *arena, const char *name,
    int ended, DeviceFacts **facts, int *n, Error *error)
{
	ProbeAnswer a;
	if (said->size >= sizeof a)
		memcpy(&a, said->data, sizeof a);
	if (said->size < sizeof a ||
	    said->size != sizeof a + sizeof **facts * (size_t)a.n)
		return error_set(error, STATUS_CRASH,
		    "the driver of %s %s when it was asked for devices", name,
		    WIFSIGNALED(ended) ? strsignal(WTERMSIG(ended))
				       : "ended the process");
	if (a.status)
		return error_set(error, a.status, "%s", a.why);
	*n = a.n;
	*facts = arena_memdup(arena, said->data + sizeof a,
	    sizeof **facts * (size_t)a.n);
	return STATUS_OK;
}

static Status ask(const DeviceDriver *driver, const char *folder, Arena *arena,
    DeviceFacts **facts, int *n, Error *error)
{
	int ends[2], ended = 0;
	Buf said = {0};
	*n = 0;
	if (pipe(ends))
		return error_set(error, STATUS_MACHINE,
		    "no pipe to ask for devices: %s", strerror(errno));
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[0]);
		be_child(driver, folder, ends[1]);
	}
	int why = errno;
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return error_set(error, STATUS_MACHINE,
		    "no process to ask for devices: %s", strerror(why));
	}
	bool done = read_all(ends[0], &said);
	if (!done)
		kill(pid, SIGKILL);
	while (waitpid(pid, &ended, 0) < 0 && errno == EINTR)
		;
	close(ends[0]);
	Status status = done
	    ? take(&said, arena, driver->name, ended, facts, n, error)
	    : error_set(error, STATUS_TIMEOUT,
		  "the driver of %s did not answer for %d s", driver->name,
		  LIMIT_S);
	buf_free(&said);
	return status;
}

Status device_probe(const DeviceDriver *driver, Arena *arena,
    DeviceFacts **facts, int *n, Error *error)
{
	char folder[DEVICE_FOLDER];
	device_folder_make(folder);
	Status status = ask(driver, folder, arena, facts, n, error);
	device_folder_remove(folder);
	return status;
}
