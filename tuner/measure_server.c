/* The measuring server: forks one child a job and survives whatever it does.
 *
 * It is forked by the driver before any thread starts, opens LLVM once, and
 * then only waits: for a job from the driver, or for a child to answer, die or
 * overrun its time.  A child is its own process group, so that killing it takes
 * all that it started.  Every process asks to be killed when its parent dies. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tuner/measure_internal.h"

static const rlim_t child_memory = (rlim_t)12 << 30;

typedef struct {
	const MeasureContext *context;
	int fd;
	char **known; /* SHA-256 of objects that were measured */
	int nknown, cap;
} Server;

bool measure_read(int fd, void *data, size_t size)
{
	for (char *p = data; size;) {
		ssize_t n = read(fd, p, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		size -= (size_t)n;
	}
	return true;
}

bool measure_write(int fd, const void *data, size_t size)
{
	for (const char *p = data; size;) {
		ssize_t n = write(fd, p, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		size -= (size_t)n;
	}
	return true;
}

static void child_limits(void)
{
	struct rlimit memory = {child_memory, child_memory}, core = {0, 0};
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	setrlimit(RLIMIT_AS, &memory);
	setrlimit(RLIMIT_CORE, &core);
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
}

/* Reads what the child has to say until it ends its side, or time is over. */
static bool read_answer(
    int fd, Measurement *out, int n, double limit_s, bool *late)
{
	double end = measure_now() + limit_s;
	size_t have = 0, want = sizeof *out * (size_t)n;
	*late = false;
	while (have < want) {
		double left = end - measure_now();
		struct pollfd p = {.fd = fd, .events = POLLIN};
		if (left <= 0 || poll(&p, 1, (int)(left * 1000) + 1) == 0) {
			*late = true;
			return false;
		}
		ssize_t got = read(fd, (char *)out + have, want - have);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		have += (size_t)got;
	}
	return true;
}

static void describe_death(int status, Measurement *m)
{
	m->outcome = OUTCOME_CRASH;
	if (WIFSIGNALED(status))
		snprintf(m->error, sizeof m->error, "killed by signal %d (%s)",
		    WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(m->error, sizeof m->error,
		    "ended with status %d and no result",
		    WEXITSTATUS(status));
}

static void remember(Server *s, const Measurement *m)
{
	if (!m->object[0] || m->same || m->outcome != OUTCOME_OK)
		return;
	if (s->nknown == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 256;
		s->known =
		    must_realloc(s->known, sizeof *s->known * (size_t)s->cap);
	}
	s->known[s->nknown] = must_alloc(sizeof m->object);
	memcpy(s->known[s->nknown++], m->object, sizeof m->object);
}

static void run_job(
    Server *s, const JobHeader *job, json_t *traces, Measurement *out)
{
	int pipes[2];
	int status = 0;
	bool late;
	for (int i = 0; i < job->n; i++)
		out[i] = (Measurement){
		    .outcome = OUTCOME_CRASH, .time_s = NAN, .spread_s = NAN};
	if (pipe2(pipes, O_CLOEXEC))
		return;
	pid_t pid = fork();
	if (pid == 0) {
		child_limits();
		close(s->fd);
		close(pipes[0]);
		measure_child(s->context, job, traces,
		    (const char *const *)s->known, s->nknown, pipes[1]);
		_exit(0);
	}
	close(pipes[1]);
	bool answered =
	    pid > 0 && read_answer(pipes[0], out, job->n, job->limit_s, &late);
	close(pipes[0]);
	if (pid < 0)
		return;
	if (!answered && !late) {
		/* The child closed its side: it is dying. */
		waitpid(pid, &status, 0);
		kill(-pid, SIGKILL);
		for (int i = 0; i < job->n; i++)
			describe_death(status, &out[i]);
		return;
	}
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	for (int i = 0; i < job->n && !answered; i++) {
		out[i].outcome = OUTCOME_TIMEOUT;
		snprintf(out[i].error, sizeof out[i].error,
		    "took more than %.3g s", job->limit_s);
	}
}

_Noreturn void measure_server(const MeasureContext *context, int fd)
{
	Server s = {.context = context, .fd = fd};
	Error error;
	JobHeader job;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_IGN);
	llvm_module(&error);
	while (measure_read(fd, &job, sizeof job)) {
		char *text = must_alloc(job.text + 1);
		if (!measure_read(fd, text, job.text))
			break;
		json_t *traces = json_loadb(
		    text, job.text, JSON_DECODE_ANY, NULL);
		size_t size = sizeof(Measurement) * (size_t)job.n;
		Measurement *out = must_alloc(size);
		run_job(&s, &job, traces, out);
		for (int i = 0; i < job.n; i++)
			remember(&s, &out[i]);
		bool sent = measure_write(fd, out, size);
		json_decref(traces);
		free(text);
		free(out);
		if (!sent)
			break;
	}
	_exit(0);
}
