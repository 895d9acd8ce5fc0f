#include "lib/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATIENCE_MS = 1000, GLANCE_MS = 20 };

static Status failed(const char *path, const char *why, Error *error)
{
	return error_set(error, STATUS_IO, "cannot read '%s': %s", path, why);
}

/* Of a pipe that was opened without waiting: does anybody write to it, or is just
 * about to open it?  What was read to find out is in `out`. */
static bool has_writer(int fd, Buf *out)
{
	for (int ms = 0; ms < PATIENCE_MS; ms += GLANCE_MS) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		char c;
		if (poll(&p, 1, GLANCE_MS))
			return true; /* there is something, or was a writer */
		ssize_t n = read(fd, &c, 1);
		if (n > 0)
			buf_putc(out, c);
		if (n)
			return true; /* EAGAIN: there is a writer */
	}
	return false;
}

static bool is_ready(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	return isatty(fd) || poll(&p, 1, PATIENCE_MS) > 0;
}

/* -1 after an error. */
static int open_input(const char *path, Buf *out, Error *error)
{
	struct stat st = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		int code = errno;
		bool socket = !stat(path, &st) && S_ISSOCK(st.st_mode);
		failed(path, socket ? "it is a socket" : strerror(code), error);
		return -1;
	}
	const char *why = NULL;
	if (fstat(fd, &st))
		why = strerror(errno);
	else if (S_ISFIFO(st.st_mode) && !has_writer(fd, out))
		why = "nobody writes to this pipe";
	else if (S_ISCHR(st.st_mode) && !is_ready(fd))
		why = "nothing comes from this device";
	else if (fcntl(fd, F_SETFL, 0))
		why = strerror(errno);
	if (!why)
		return fd;
	failed(path, why, error);
	close(fd);
	return -1;
}

/* Whoever gave us standard input may have made it one that does not wait. */
static bool goes_on(int fd)
{
	if (errno == EAGAIN) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		poll(&p, 1, -1);
		return true;
	}
	return errno == EINTR;
}

Status input_read(const char *path, size_t most, Buf *out, Error *error)
{
	bool stream = !strcmp(path, "-");
	size_t before = out->size;
	int fd = stream ? STDIN_FILENO : open_input(path, out, error);
	if (fd < 0)
		return error->status;
	Status status = STATUS_OK;
	char block[1 << 16];
	while (out->size - before < most) {
		size_t left = most - (out->size - before);
		ssize_t n =
		    read(fd, block, left < sizeof block ? left : sizeof block);
		if (n < 0 && goes_on(fd))
			continue;
		if (n < 0)
			status = failed(path, strerror(errno), error);
		if (n <= 0)
			break;
		buf_add(out, block, (size_t)n);
	}
	if (!stream)
		close(fd);
	return status;
}
