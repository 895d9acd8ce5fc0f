/* The driver's line to its measuring servers: a job goes out, its answers come
 * back, and what the machine refused is tried again.
 *
 * A server has to be forked before the process has threads, so those that may
 * have to replace it are forked with it; they wait, and cost next to nothing. */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tuner/measure/measure_internal.h"

/* Seconds before the next attempt: five attempts over three seconds. */
static const double pauses[] = {0.1, 0.3, 0.8, 1.8};
enum { PAUSES = sizeof pauses / sizeof *pauses };

/* --- trying again ------------------------------------------------------------ */

static bool interrupted(const Servers *s)
{
	volatile const int *signal = s->contexts->options->interrupted;
	return signal && *signal;
}

/* False: interrupted.  In pieces, since any thread may get the signal. */
static bool wait_for(const Servers *s, double seconds)
{
	struct timespec piece = {.tv_nsec = 20000000};
	double end = measure_now() + seconds;
	while (measure_now() < end && !interrupted(s))
		nanosleep(&piece, NULL);
	return !interrupted(s);
}

/* Once, as long as it is the same. */
static void say(Servers *s, const char *trouble)
{
	void (*told)(const char *) = s->contexts->options->say;
	if (told && strcmp(s->said, trouble))
		told(trouble);
	snprintf(s->said, sizeof s->said, "%s", trouble);
}

static Measurement *worst(Measurement *m, int n)
{
	Measurement *worst = m;
	for (int i = 1; i < n; i++)
		if (m[i].trouble > worst->trouble)
			worst = &m[i];
	return worst;
}

static Status interruption(Error *error)
{
	return error_set(error, STATUS_INTERRUPTED, "interrupted");
}

Status servers_insist(Servers *s, void (*attempt)(void *context),
    void *context, Measurement *out, int n, Error *error)
{
	int doubts = 0;
	for (int i = 0;; i++) {
		attempt(context);
		Measurement *m = worst(out, n);
		doubts = m->trouble == TROUBLE_DOUBTFUL ? doubts + 1 : 0;
		if (m->trouble == TROUBLE_NONE || doubts == 2) {
			for (int k = 0; k < n; k++)
				out[k].trouble = TROUBLE_NONE;
			return STATUS_OK;
		}
		if (interrupted(s))
			return interruption(error);
		if (i == PAUSES || s->current == MEASURE_SERVERS)
			return error_set(
			    error, STATUS_MACHINE, "%s", m->error);
		say(s, m->error);
		if (!wait_for(s, pauses[i]))
			return interruption(error);
	}
}

/* --- servers -------------------------------------------------------------------- */

/* True, or false and errno. */
static bool start_server(Servers *s, int i)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return false;
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[0]);
		for (int k = 0; k < i; k++)
			close(s->fd[k]);
		measure_server(s->contexts, s->ncontexts, ends[1], i > 0);
	}
	int why = errno;
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		errno = why;
		return false;
	}
	s->pid[i] = pid;
	s->fd[i] = ends[0];
	return true;
}

typedef struct {
	Servers *servers;
	Measurement answer;
} FirstStart;

static void start_first(void *context)
{
	FirstStart *first = context;
	first->answer = (Measurement){0};
	if (start_server(first->servers, 0))
		return;
	first->answer.trouble = TROUBLE_CERTAIN;
	snprintf(first->answer.error, sizeof first->answer.error,
	    "no measuring process can be started: %s", strerror(errno));
}

Status servers_open(
    Servers *s, const MeasureContext *contexts, int n, Error *error)
{
	FirstStart first = {.servers = s};
	*s = (Servers){.contexts = contexts, .ncontexts = n};
	FORWARD_IF_ERROR(servers_insist(
	    s, start_first, &first, &first.answer, 1, error));
	for (int i = 1; i < MEASURE_SERVERS && start_server(s, i); i++)
		;
	return STATUS_OK;
}

static void end_server(Servers *s, int i, int *status)
{
	if (!s->pid[i])
		return;
	close(s->fd[i]);
	kill(s->pid[i], SIGKILL);
	waitpid(s->pid[i], status, 0);
	s->pid[i] = 0;
}

void servers_close(Servers *s)
{
	for (int i = 0; i < MEASURE_SERVERS; i++)
		end_server(s, i, NULL);
}

static void blame_machine(Measurement *out, int n, const char *why)
{
	for (int i = 0; i < n; i++) {
		out[i] = measure_nothing(OUTCOME_CRASH);
		out[i].trouble = TROUBLE_CERTAIN;
		snprintf(out[i].error, sizeof out[i].error, "%s", why);
	}
}

/* Its end of the socket is closed: it is dying by itself, and what it died of is
 * what happened. */
static void replace_server(Servers *s, Measurement *out, int n)
{
	char how[128], why[512];
	int status = 0, ended = s->current + 1;
	waitpid(s->pid[s->current], &status, 0);
	close(s->fd[s->current]);
	s->pid[s->current] = 0;
	trouble_describe_end(status, how, sizeof how);
	do
		s->current++;
	while (s->current < MEASURE_SERVERS && !s->pid[s->current]);
	if (s->current < MEASURE_SERVERS)
		snprintf(why, sizeof why, "the measuring process was %s", how);
	else
		snprintf(why, sizeof why,
		    "the measuring process was %s, number %d that has died",
		    how, ended);
	blame_machine(out, n, why);
}

bool servers_exchange(Servers *s, JobHeader job, json_t *traces,
    Beside beside, Measurement *out)
{
	assert(job.n <= MEASURE_WIDTH);
	if (s->current == MEASURE_SERVERS) {
		blame_machine(out, job.n, "no measuring process is left");
		return false;
	}
	char *text = json_dumps(traces, JSON_COMPACT);
	job.text = strlen(text);
	int fd = s->fd[s->current];
	bool sent = measure_write(fd, &job, sizeof job) &&
	    measure_write(fd, text, job.text);
	free(text);
	if (beside.work)
		beside.work(beside.context);
	bool done =
	    sent && measure_read(fd, out, sizeof *out * (size_t)job.n);
	if (!done)
		replace_server(s, out, job.n);
	return done;
}
