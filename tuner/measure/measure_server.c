/* The measuring server: forks a child for each job, for each candidate where they
 * are to be compiled, and survives whatever a child does.
 *
 * It is forked by the driver before any thread starts, opens LLVM once, and
 * allocates little enough to outlive a machine without memory; then it only waits: for a job from the driver, or for a child to answer, die or
 * overrun its time.  Candidates are compiled at once, on all CPUs; their
 * processes then wait, and each is measured when the driver says so, with
 * nothing beside it.  A child is its own process group, so that killing it takes
 * all that it started.  Every process asks to be killed when its parent dies.
 *
 * What is for a device is compiled and run by processes that have opened it,
 * which takes long: one goes on with the next candidate as long as all went well,
 * SERVED_MOST times. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/sanitize.h"
#include "tuner/measure/measure_kernel.h"

enum {
	SAID = 256,
	SERVED_MOST = 64, /* candidates of a process that has opened a device */
	IDLE_MOST = 16
};

/* A process of its own; one end of its socket is here. */
typedef struct {
	pid_t pid; /* 0: over; -1: not started */
	int fd;
	int said;  /* what it writes to standard error */
	int why;   /* not started: errno */
	int served; /* candidates before this one */
	long long oom_kills; /* of the machine, when it started */
} Child;

/* How one ended. */
typedef struct {
	int status; /* for waitpid */
	long resident_kb;
	char said[SAID];
} End;

typedef struct {
	const MeasureContext *contexts; /* one for each program */
	int ncontexts;
	int fd;
	Child lowered[MEASURE_LOWERED]; /* they wait for JOB_COMPILE */
	Child compiled[MEASURE_WIDTH]; /* they wait for JOB_RUN */
	int ncompiled;
	Child idle[IDLE_MOST]; /* they have opened the device */
	int nidle;
	Child over; /* it has answered; ended while the driver reads that */
	char *text; /* of the job */
	size_t text_size;
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

/* Should memory run out, it is the children that go. */
static void go_first(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)!write(fd, "500", 3);
	close(fd);
}

/* ASan has terabytes of address space for its own. */
#ifdef __SANITIZE_ADDRESS__
static const rlim_t child_bytes = RLIM_INFINITY;
#else
static const rlim_t child_bytes = MEASURE_CHILD_BYTES;
#endif

/* A device's driver may keep any number of addresses for its memory. */
static void child_limits(bool device)
{
	struct rlimit memory = {child_bytes, child_bytes}, core = {0, 0};
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	if (!ADDRESS_SANITIZER)
		setrlimit(device ? RLIMIT_DATA : RLIMIT_AS, &memory);
	setrlimit(RLIMIT_CORE, &core);
	go_first();
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
}

/* What a child allocates comes from large pages, and stays with it: to have the
 * kernel find thousands of small ones is a tenth of the time of compiling. */
static void widen_heap(void)
{
	enum { HEAP = 24 << 20, PAGE = 2 << 20 };
	mallopt(M_MMAP_THRESHOLD, HEAP + 2 * PAGE);
	mallopt(M_TRIM_THRESHOLD, 2 * HEAP);
	void *heap = aligned_alloc(PAGE, HEAP);
	if (heap)
		madvise(heap, HEAP, MADV_HUGEPAGE);
	free(heap);
}

/* In another child. */
static void forget_child(const Child *other, const Child *self)
{
	if (other->pid <= 0 || other == self)
		return;
	close(other->fd);
	close(other->said);
}

static bool is_on_device(const Server *s)
{
	return s->contexts->device->driver != NULL;
}

static bool skip(int fd, size_t size)
{
	char piece[4096];
	for (size_t n; size; size -= n) {
		n = size < sizeof piece ? size : sizeof piece;
		if (!measure_read(fd, piece, n))
			return false;
	}
	return true;
}

/* False where the other side is gone.  No memory for it: s->text is NULL. */
static bool read_text(Server *s, int fd, size_t size)
{
	if (!s->text || s->text_size <= size) {
		free(s->text);
		s->text = malloc(size + 1);
		s->text_size = size + 1;
	}
	if (!s->text)
		return skip(fd, size);
	s->text[size] = 0;
	return measure_read(fd, s->text, size);
}

static _Noreturn void be_child(Server *s, const Child *child,
    const JobHeader *job, int trace, int fd, int said)
{
	JobHeader next;
	child_limits(is_on_device(s));
	widen_heap();
	dup2(said, 2);
	close(s->fd);
	close(child->fd);
	close(child->said);
	for (int i = 0; i < s->ncompiled; i++)
		forget_child(&s->compiled[i], child);
	for (int i = 0; i < MEASURE_LOWERED; i++)
		forget_child(&s->lowered[i], child);
	for (int i = 0; i < s->nidle; i++)
		forget_child(&s->idle[i], child);
	for (;; job = &next, trace = next.trace) {
		assert(job->program >= 0 && job->program < s->ncontexts);
		measure_child(
		    &s->contexts[job->program], job, s->text, trace, fd);
		if (!is_on_device(s) || !measure_read(fd, &next, sizeof next) ||
		    !read_text(s, fd, next.text) || !s->text)
			_exit(0);
	}
}

static void start_child(
    Server *s, Child *child, const JobHeader *job, int trace)
{
	int ends[2], said[2];
	*child = (Child){.pid = -1, .oom_kills = trouble_oom_kills()};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
		child->why = errno;
		return;
	}
	/* One that says more than fits must not wait for a reader. */
	if (pipe2(said, O_CLOEXEC | O_NONBLOCK)) {
		child->why = errno;
		close(ends[0]);
		close(ends[1]);
		return;
	}
	child->fd = ends[0];
	child->said = said[0];
	child->pid = fork();
	if (child->pid == 0)
		be_child(s, child, job, trace, ends[1], said[1]);
	child->why = errno;
	close(ends[1]);
	close(said[1]);
	if (child->pid < 0) {
		close(child->fd);
		close(child->said);
	}
}

/* The first words of what it wrote to standard error, on one line. */
static void read_said(int fd, char said[SAID])
{
	ssize_t n = read(fd, said, SAID - 1);
	size_t size = 0;
	for (ssize_t i = 0; i < n; i++) {
		bool blank = (unsigned char)said[i] <= ' ';
		if (!blank)
			said[size++] = said[i];
		else if (size && said[size - 1] != ' ')
			said[size++] = ' ';
	}
	while (size && said[size - 1] == ' ')
		size--;
	said[size] = 0;
}

/* Ends the child and what it started.  One that is dying by itself is waited
 * for: what it died of is what happened. */
static End end_child(Child *child, bool dying)
{
	End end = {0};
	struct rusage usage = {0};
	if (child->pid <= 0)
		return end;
	if (!dying)
		kill(child->pid, SIGKILL);
	wait4(child->pid, &end.status, 0, &usage);
	kill(-child->pid, SIGKILL);
	read_said(child->said, end.said);
	end.resident_kb = usage.ru_maxrss;
	close(child->fd);
	close(child->said);
	child->pid = 0;
	return end;
}

typedef enum { ANSWER_READ, ANSWER_NONE, ANSWER_LATE } ServerAnswer;

/* Reads what the child has to say until it ends its side, or time is over. */
static ServerAnswer read_answer(int fd, Measurement *out, int n, double end)
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

static void describe_start(const Child *child, Measurement *m)
{
	if (child->pid == 0) {
		snprintf(m->error, sizeof m->error, "its process has ended");
		return;
	}
	m->trouble = TROUBLE_CERTAIN;
	snprintf(m->error, sizeof m->error, "no process can be started: %s",
	    strerror(child->why));
}

/* A SIGKILL that is not ours is the candidate's crash, as any other signal, if
 * it is not the kernel's for want of memory. */
static void describe_death(const Child *child, const End *end, Measurement *m)
{
	char how[128];
	bool oom = WIFSIGNALED(end->status) &&
	    WTERMSIG(end->status) == SIGKILL &&
	    trouble_oom_kills() > child->oom_kills;
	trouble_describe_end(end->status, how, sizeof how);
	snprintf(m->error, sizeof m->error, "%s%s%s%s", how,
	    oom			       ? " for lack of memory"
		: WIFEXITED(end->status) ? " and no result"
					 : "",
	    end->said[0] ? ": " : "", end->said);
	m->trouble = oom ? TROUBLE_CERTAIN : trouble_of_text(end->said);
	if (child->served && !m->trouble) /* it may be another's */
		m->trouble = TROUBLE_DOUBTFUL;
	if (trouble_own_memory(end->resident_kb, MEASURE_CHILD_BYTES))
		m->trouble = TROUBLE_NONE;
}

static void describe_lateness(
    const JobHeader *job, bool on_device, Measurement *m)
{
	m->outcome = OUTCOME_TIMEOUT;
	snprintf(m->error, sizeof m->error, "%stook more than %.3g s",
	    job->kind != JOB_COMPILE ? ""
		: on_device	     ? "compiling and a first call "
				     : "compiling ",
	    job->limit_s);
}

/* The child's n answers by `end`, or what became of it instead; true: it may go
 * on. */
static bool collect(const Server *s, Child *child, const JobHeader *job, int n,
    double end, Measurement *out)
{
	for (int i = 0; i < n; i++)
		out[i] = measure_nothing(OUTCOME_CRASH);
	if (child->pid <= 0) {
		for (int i = 0; i < n; i++)
			describe_start(child, &out[i]);
		return false;
	}
	ServerAnswer answer = read_answer(child->fd, out, n, end);
	if (answer == ANSWER_READ) {
		if (out->outcome == OUTCOME_CRASH && child->served &&
		    !out->trouble)
			out->trouble = TROUBLE_DOUBTFUL;
		return true;
	}
	End ended = end_child(child, answer == ANSWER_NONE);
	for (int i = 0; i < n; i++)
		if (answer == ANSWER_LATE)
			describe_lateness(job, is_on_device(s), &out[i]);
		else
			describe_death(child, &ended, &out[i]);
	return false;
}

static void resolve_doubts(Measurement *out, int n)
{
	for (int i = 0; i < n; i++)
		if (out[i].trouble == TROUBLE_DOUBTFUL &&
		    trouble_memory_short())
			out[i].trouble = TROUBLE_CERTAIN;
}

static void drop_compiled(Server *s)
{
	for (int i = 0; i < s->ncompiled; i++)
		end_child(&s->compiled[i], false);
	s->ncompiled = 0;
}

static void drop_lowered(Server *s)
{
	for (int i = 0; i < MEASURE_LOWERED; i++)
		end_child(&s->lowered[i], false);
}

/* --- processes that have opened a device ---------------------------------------- */

/* Its candidate is done with: the next one may have it, unless it did harm. */
static void keep_or_end(Server *s, Child *child, const Measurement *out)
{
	bool harmless = out->outcome == OUTCOME_OK ||
	    out->outcome == OUTCOME_BUILD ||
	    out->outcome == OUTCOME_IMPLAUSIBLE;
	if (child->pid <= 0)
		return;
	if (!is_on_device(s) || !harmless || out->trouble ||
	    ++child->served >= SERVED_MOST || s->nidle == IDLE_MOST) {
		end_child(child, false);
		return;
	}
	s->idle[s->nidle++] = *child;
	*child = (Child){0};
}

/* One that is idle has the i-th trace from now on; false: none is. */
static bool take_idle(Server *s, Child *child, const JobHeader *job, int i)
{
	JobHeader one = *job;
	one.trace = i;
	while (s->nidle) {
		*child = s->idle[--s->nidle];
		if (measure_write(child->fd, &one, sizeof one) &&
		    measure_write(child->fd, s->text, job->text))
			return true;
		end_child(child, false);
	}
	return false;
}

/* --- jobs ------------------------------------------------------------------------ */

/* The one that has lowered the trace goes on, or one that has opened the device;
 * else one from the beginning. */
static void start_compiling(Server *s, const JobHeader *job, int i)
{
	int place = job->lowered[i];
	JobHeader one = *job;
	Child *child = &s->compiled[i];
	one.n = 1;
	if (take_idle(s, child, &one, i))
		return;
	assert(place < MEASURE_LOWERED);
	if (place >= 0 && s->lowered[place].pid > 0) {
		*child = s->lowered[place];
		s->lowered[place] = (Child){0};
		if (measure_write(child->fd, &one, sizeof one))
			return;
		end_child(child, false);
	}
	start_child(s, child, &one, i);
}

/* Which of those that compile has something to say, or is late first. */
static int next_to_answer(
    const Server *s, const int *under_way, int n, const double *end)
{
	struct pollfd p[MEASURE_WIDTH];
	int first = 0;
	for (int i = 0; i < n; i++) {
		const Child *child = &s->compiled[under_way[i]];
		if (child->pid <= 0)
			return i;
		p[i] = (struct pollfd){.fd = child->fd, .events = POLLIN};
		if (end[under_way[i]] < end[under_way[first]])
			first = i;
	}
	double left = fmax(end[under_way[first]] - measure_now(), 0);
	poll(p, (nfds_t)n, (int)(left * 1000) + 1);
	for (int i = 0; i < n; i++)
		if (p[i].revents)
			return i;
	return first;
}

/* So many at a time; those that are compiled wait for their turn. */
static void run_compile(Server *s, const JobHeader *job, Measurement *out)
{
	double end[MEASURE_WIDTH];
	int under_way[MEASURE_WIDTH], n = 0;
	s->ncompiled = job->n;
	for (int begun = 0; begun < job->n || n;) {
		while (begun < job->n && n < job->at_once) {
			int i = under_way[n++] = job->order[begun++];
			end[i] = fmin(measure_now() + job->limit_s, job->end_s);
			start_compiling(s, job, i);
		}
		int at = next_to_answer(s, under_way, n, end);
		int i = under_way[at];
		under_way[at] = under_way[--n];
		if (collect(s, &s->compiled[i], job, 1, end[i], &out[i]) &&
		    out[i].outcome != OUTCOME_OK)
			keep_or_end(s, &s->compiled[i], &out[i]);
	}
}

static void run_again(Server *s, const JobHeader *job, Measurement *out)
{
	Child *child = &s->compiled[job->child];
	end_child(child, false);
	start_child(s, child, job, job->child);
	if (s->ncompiled <= job->child)
		s->ncompiled = job->child + 1;
	if (collect(s, child, job, 1, measure_now() + job->limit_s, out) &&
	    out->outcome != OUTCOME_OK)
		end_child(child, false);
}

/* All at once; those that are lowered wait to be compiled or dropped. */
static void run_forms(Server *s, const JobHeader *job, Measurement *out)
{
	double end = measure_now() + job->limit_s;
	JobHeader one = *job;
	one.n = 1;
	for (int i = 0; i < job->n; i++) {
		int place = job->lowered[i];
		assert(place >= 0 && place < MEASURE_LOWERED);
		end_child(&s->lowered[place], false);
		start_child(s, &s->lowered[place], &one, i);
	}
	for (int i = 0; i < job->n; i++) {
		Child *child = &s->lowered[job->lowered[i]];
		if (collect(s, child, job, 1, end, &out[i]) &&
		    (out[i].outcome != OUTCOME_OK || is_on_device(s)))
			end_child(child, false);
	}
}

/* Compiles what a child has just compiled: what LLVM sets up for that, a third of
 * a small kernel's time, those that are forked from now on have. */
static void warm_up(Server *s, const JobHeader *job)
{
	const MeasureContext *c = &s->contexts[job->program];
	Arena *arena = arena_new();
	Measurement ignored = measure_nothing(OUTCOME_OK);
	double flops;
	Loaded k = {.context = c,
	    .lowered = peak_lowered(
		arena, c->program, c->target, c->target->threads, &flops)};
	kernel_compile_lowered(&k, &ignored);
	buf_free(&k.object);
	arena_free(arena);
}

static void run_job(Server *s, const JobHeader *job, Measurement *out)
{
	Child own, *child = &own;
	if (job->kind == JOB_FORM) {
		run_forms(s, job, out);
		return;
	}
	if (job->kind != JOB_RUN && job->kind != JOB_AGAIN)
		drop_compiled(s);
	if (job->kind == JOB_COMPILE) {
		run_compile(s, job, out);
		return;
	}
	if (job->kind != JOB_RUN && job->kind != JOB_AGAIN)
		drop_lowered(s);
	if (job->kind == JOB_AGAIN) {
		run_again(s, job, out);
		return;
	}
	if (job->kind == JOB_RUN) {
		child = &s->compiled[job->child];
		if (child->pid > 0)
			measure_write(child->fd, job, sizeof *job);
	} else {
		start_child(s, child, job, 0);
	}
	bool alive = collect(s,
	    child, job, job->n, measure_now() + job->limit_s, out);
	if (alive && job->kind == JOB_RUN && is_on_device(s)) {
		keep_or_end(s, child, out);
	} else {
		s->over = *child;
		*child = (Child){0};
	}
	if (job->kind == JOB_PEAK && out->outcome == OUTCOME_OK &&
	    !is_on_device(s))
		warm_up(s, job);
}

/* --- the driver's jobs -------------------------------------------------------- */

static void refuse(const JobHeader *job, Measurement *out)
{
	for (int i = 0; i < job->n; i++) {
		out[i] = measure_nothing(OUTCOME_CRASH);
		out[i].trouble = TROUBLE_CERTAIN;
		snprintf(out[i].error, sizeof out[i].error,
		    "no memory for the measuring process: %s",
		    strerror(ENOMEM));
	}
}

_Noreturn void measure_server(
    const MeasureContext *contexts, int n, int fd, bool spare)
{
	static Measurement out[MEASURE_WIDTH];
	Server s = {.contexts = contexts, .ncontexts = n, .fd = fd};
	Error error;
	JobHeader job;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	if (!spare)
		llvm_module(&error);
	while (measure_read(fd, &job, sizeof job) &&
	    read_text(&s, fd, job.text)) {
		llvm_module(&error);
		if (s.text)
			run_job(&s, &job, out);
		else
			refuse(&job, out);
		resolve_doubts(out, job.n);
		bool heard =
		    measure_write(fd, out, sizeof *out * (size_t)job.n);
		end_child(&s.over, false);
		if (!heard)
			break;
	}
	_exit(0);
}
