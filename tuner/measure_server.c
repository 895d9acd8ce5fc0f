/* The measuring server: forks a child for each job, for each candidate where they
 * are to be compiled, and survives whatever a child does.
 *
 * It is forked by the driver before any thread starts, opens LLVM once, and
 * then only waits: for a job from the driver, or for a child to answer, die or
 * overrun its time.  Candidates are compiled at once, on all CPUs; their
 * processes then wait, and each is measured when the driver says so, with
 * nothing beside it.  A child is its own process group, so that killing it takes
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
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tuner/measure_internal.h"

static const rlim_t child_memory = (rlim_t)12 << 30;

/* A process of its own; one end of its socket is here. */
typedef struct {
	pid_t pid; /* 0: over; -1: not started */
	int fd;
} Child;

typedef struct {
	const MeasureContext *context;
	int fd;
	Child compiled[MEASURE_WIDTH]; /* they wait for JOB_RUN */
	int ncompiled;
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
		ssize_t n = send(fd, p, size, MSG_NOSIGNAL);
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

static void start_child(
    Server *s, Child *child, const JobHeader *job, json_t *traces)
{
	int ends[2];
	*child = (Child){.pid = -1};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return;
	child->pid = fork();
	if (child->pid == 0) {
		child_limits();
		close(s->fd);
		close(ends[0]);
		for (int i = 0; i < s->ncompiled; i++)
			if (s->compiled[i].pid > 0)
				close(s->compiled[i].fd);
		measure_child(s->context, job, traces, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	child->fd = ends[0];
	if (child->pid < 0)
		close(child->fd);
}

/* Ends the child and what it started; its status for waitpid.  One that is dying
 * by itself is waited for: what it died of is what happened. */
static int end_child(Child *child, bool dying)
{
	int status = 0;
	if (child->pid <= 0)
		return status;
	if (!dying)
		kill(child->pid, SIGKILL);
	waitpid(child->pid, &status, 0);
	kill(-child->pid, SIGKILL);
	close(child->fd);
	child->pid = 0;
	return status;
}

typedef enum { ANSWER_READ, ANSWER_NONE, ANSWER_LATE } Answer;

/* Reads what the child has to say until it ends its side, or time is over. */
static Answer read_answer(int fd, Measurement *out, int n, double end)
{
	size_t have = 0, want = sizeof *out * (size_t)n;
	while (have < want) {
		double left = end - measure_now();
		struct pollfd p = {.fd = fd, .events = POLLIN};
		if (left <= 0 || poll(&p, 1, (int)(left * 1000) + 1) == 0)
			return ANSWER_LATE;
		ssize_t got = read(fd, (char *)out + have, want - have);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return ANSWER_NONE;
		have += (size_t)got;
	}
	return ANSWER_READ;
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

static void describe_lateness(const JobHeader *job, Measurement *m)
{
	m->outcome = OUTCOME_TIMEOUT;
	snprintf(m->error, sizeof m->error, "%stook more than %.3g s",
	    job->kind == JOB_COMPILE ? "compiling " : "", job->limit_s);
}

/* The child's n answers by `end`, or what became of it instead; true: it may go
 * on. */
static bool collect(
    Child *child, const JobHeader *job, int n, double end, Measurement *out)
{
	for (int i = 0; i < n; i++)
		out[i] = (Measurement){.outcome = OUTCOME_CRASH,
		    .error = "no process can be started",
		    .time_s = NAN,
		    .spread_s = NAN};
	if (child->pid <= 0)
		return false;
	Answer answer = read_answer(child->fd, out, n, end);
	if (answer == ANSWER_READ)
		return true;
	int status = end_child(child, answer == ANSWER_NONE);
	for (int i = 0; i < n; i++)
		if (answer == ANSWER_LATE)
			describe_lateness(job, &out[i]);
		else
			describe_death(status, &out[i]);
	return false;
}

static void drop_compiled(Server *s)
{
	for (int i = 0; i < s->ncompiled; i++)
		end_child(&s->compiled[i], false);
	s->ncompiled = 0;
}

/* All at once; those that are compiled wait for their turn. */
static void run_compile(
    Server *s, const JobHeader *job, json_t *traces, Measurement *out)
{
	double end = measure_now() + job->limit_s;
	JobHeader one = *job;
	one.n = 1;
	for (int i = 0; i < job->n; i++) {
		json_t *trace = json_pack("[O]", json_array_get(traces, i));
		start_child(s, &s->compiled[i], &one, trace);
		json_decref(trace);
		s->ncompiled++;
	}
	for (int i = 0; i < job->n; i++)
		if (collect(&s->compiled[i], job, 1, end, &out[i]) &&
		    out[i].outcome != OUTCOME_OK)
			end_child(&s->compiled[i], false);
}

static void run_job(
    Server *s, const JobHeader *job, json_t *traces, Measurement *out)
{
	Child own, *child = &own;
	if (job->kind == JOB_COMPILE) {
		run_compile(s, job, traces, out);
		return;
	}
	if (job->kind == JOB_RUN) {
		child = &s->compiled[job->child];
		if (child->pid > 0)
			measure_write(child->fd, job, sizeof *job);
	} else {
		start_child(s, child, job, traces);
	}
	collect(child, job, job->n, measure_now() + job->limit_s, out);
	end_child(child, false);
}

_Noreturn void measure_server(const MeasureContext *context, int fd)
{
	Server s = {.context = context, .fd = fd};
	Error error;
	JobHeader job;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	llvm_module(&error);
	while (measure_read(fd, &job, sizeof job)) {
		char *text = must_alloc(job.text + 1);
		if (!measure_read(fd, text, job.text))
			break;
		json_t *traces = json_loadb(text, job.text, 0, NULL);
		size_t size = sizeof(Measurement) * (size_t)job.n;
		Measurement *out = must_alloc(size);
		if (job.kind != JOB_RUN)
			drop_compiled(&s);
		run_job(&s, &job, traces, out);
		bool sent = measure_write(fd, out, size);
		json_decref(traces);
		free(text);
		free(out);
		if (!sent)
			break;
	}
	_exit(0);
}
