/* Whose fault it is: the candidate's or the machine's.
 *
 * What a process is refused (a thread, a descriptor, room on a disk) no
 * candidate brings about: that is the machine's trouble.  Memory is the
 * candidate's own matter where it breaks the limit on its address space, or
 * where its process was a good part of the machine; otherwise it is doubtful,
 * and certain where the machine is visibly out of memory.
 *
 * Libraries tell why they failed only in words, so the words of strerror are
 * what everything is judged by, our own messages as well. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tuner/measure/measure_internal.h"

/* Address space that LLVM or malloc may ask for in one piece. */
static const size_t piece_bytes = (size_t)64 << 20;
/* A process with this part of what there is has used the memory itself. */
enum { GOOD_PART = 4, LEAST_PART = 50 };

Trouble trouble_of_text(const char *text)
{
	static const int refused[] = {
	    EAGAIN, EMFILE, ENFILE, ENOSPC, EDQUOT, EIO};
	static const char *const memory[] = {
	    "out of memory", "Out of memory", "bad_alloc"};
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (strstr(text, strerror(refused[i])))
			return TROUBLE_CERTAIN;
	if (strstr(text, strerror(ENOMEM)))
		return TROUBLE_DOUBTFUL;
	for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
		if (strstr(text, memory[i]))
			return TROUBLE_DOUBTFUL;
	return TROUBLE_NONE;
}

/* A file of /proc with one line for each key; -1: not known. */
static long long proc_value(const char *path, const char *key)
{
	char text[8192];
	long long value;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	const char *at = strstr(text, key);
	return at && sscanf(at + strlen(key), "%lld", &value) == 1 ? value : -1;
}

bool trouble_own_limit(size_t size)
{
	struct rlimit limit;
	long long have = proc_value("/proc/self/status", "VmSize:");
	if (size < piece_bytes)
		size = piece_bytes;
	return have >= 0 && !getrlimit(RLIMIT_AS, &limit) &&
	    limit.rlim_cur != RLIM_INFINITY &&
	    (size > limit.rlim_cur ||
		(rlim_t)have * 1024 > limit.rlim_cur - size);
}

bool trouble_own_memory(long resident_kb, size_t limit)
{
	long long all = proc_value("/proc/meminfo", "MemTotal:");
	long long most = (long long)(limit / 1024);
	if (all > 0 && all < most)
		most = all;
	return resident_kb > most / GOOD_PART;
}

bool trouble_memory_short(void)
{
	long long all = proc_value("/proc/meminfo", "MemTotal:");
	long long left = proc_value("/proc/meminfo", "MemAvailable:");
	void *map = mmap(NULL, piece_bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return true;
	munmap(map, piece_bytes);
	return left >= 0 && left < all / LEAST_PART;
}

long long trouble_oom_kills(void)
{
	return proc_value("/proc/vmstat", "oom_kill ");
}

void trouble_describe_end(int status, char *text, size_t size)
{
	if (WIFSIGNALED(status))
		snprintf(text, size, "killed by signal %d (%s)",
		    WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(text, size, "ended with status %d",
		    WEXITSTATUS(status));
}
