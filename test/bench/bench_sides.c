/* Kernels of different operators, and libraries, side by side.
 *
 *     bench_sides [-t THREADS] [-b TURNS] [-i sse|avx2|avx512] [-f FOLDER]
 *                 [-e SPEC:CASE@FILE.so] SIDE...
 *
 *     NAME[*COUNT]=SPEC:CASE@FILE.so      built by tunec, with FILE.h beside it
 *     NAME=lib:FILE.so TEXT               a library: test/bench/peers/side.h
 *     NAME=run:COMMAND                    a program, of the protocol below;
 *                                         $SIDE_THREADS, inputs in $SIDE_FOLDER
 *
 * A line for each side, then two:
 *
 *     NAME MS GFLOPS RATIO SPREAD
 *     parts RATIO SPREAD
 *     peak GFLOPS VARIATION
 *
 * median of the turns; GFLOP/s by the side's own operations, a library's by
 * those of the first side; its time over the first side's, the median of the
 * turns' ratios, and half of the middle half of these, in %.  `parts` is the
 * first side's time over the sum of all others', each COUNT times.  The peak is
 * of one core, of the widest vectors or of -i.  With -f, a folder for inputs and
 * results, also
 *
 *     work FLOPS BYTES              of the first side
 *     cores GFLOPS AGAIN SHARED TURNS    the peak of all threads, turns that
 *                                   were taken again, those of all turns that
 *                                   count although the threads shared a core
 *     about NAME TEXT               what a library says of its algorithm
 *     error NAME LARGEST SHARE      with -e, which computes the first side's
 *                                   operator in wider types: the largest
 *                                   difference from it, and of its largest value
 *     none NAME WHY                 a library that is left out
 *
 * Every side is a process of its own, so that no library meets the threads of
 * another.  Sides of one operator that tunec built have the same inputs and outputs,
 * page for page: where buffers lie makes one kernel differ from itself by a tenth.  It is asked by lines and answers by lines:
 *
 *     (at the start)    ready ABOUT, or none WHY
 *     result FILE       done: FILE has the first output; none: it has no result
 *     time              SECONDS of a call: one part, as below
 *     quit              nothing, and ends
 *
 * A part is a millisecond of calls that are not timed, then at least 5 of calls
 * that are.  On one thread the clock is that of the thread: what other processes
 * take does not count.  Before a part on several threads is a pause in which
 * spinning threads of others fall asleep. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/bench/bench.h"
#include "test/bench/cores.h"
#include "test/bench/object.h"
#include "test/bench/peers/side.h"

enum { SIDES = 40, MOST_TURNS = 201, PAUSE_MS = 60, SHARED_MS = 500 };

typedef struct {
	char name[64], *text;
	int count;
	double flops; /* 0: as the first side's */
	CommonMemory memory; /* with the other sides of its operator */
	char about[256];
	pid_t pid;
	FILE *ask, *answer;
	double turn_s[MOST_TURNS], ratio[MOST_TURNS];
} Side;

/* What a side's own process calls. */
typedef struct {
	Object object;
	void *library; /* its side */
	void (*run)(void *), (*result)(void *, void *);
	const void *output;
	size_t output_bytes;
} Work;

typedef struct {
	Arena *arena;
	int threads, nturns, nsides, again, shared;
	const char *isa, *folder, *exact;
	const Program *first; /* of the first side that has one */
	Side sides[SIDES];
	double peak[MOST_TURNS], cores[MOST_TURNS]; /* FLOP/s */
} Bench;

/* --- a side's own process --------------------------------------------------- */

static void work_call(const Work *w)
{
	if (w->run)
		w->run(w->library);
	else
		object_call(&w->object);
}

static double clock_s(int threads)
{
	return threads == 1 ? thread_s() : now_s();
}

static double part_s(const Work *w, int threads)
{
	int calls = 0;
	double begin = clock_s(threads), spent;
	do
		work_call(w);
	while (clock_s(threads) - begin < 0.001);
	begin = clock_s(threads);
	do
		work_call(w);
	while (++calls, (spent = clock_s(threads) - begin) < 0.005);
	return spent / calls;
}

static void write_file(const char *path, const void *data, size_t bytes)
{
	FILE *f = fopen(path, "w");
	if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f))
		die(path, "cannot be written");
}

/* False where the side has none. */
static bool write_result(const Work *w, const char *path)
{
	if (w->run && !w->result)
		return false;
	work_call(w);
	if (!w->run) {
		write_file(path, w->output, w->output_bytes);
		return true;
	}
	void *to = aligned(w->output_bytes);
	w->result(w->library, to);
	write_file(path, to, w->output_bytes);
	return true;
}

static void serve(const Work *w, const char *about, int threads, FILE *in,
    FILE *out)
{
	char line[4096];
	work_call(w);
	if (threads > 1)
		cores_pin_tasks();
	fprintf(out, "ready %s\n", about);
	while (fflush(out), fgets(line, sizeof line, in)) {
		line[strcspn(line, "\n")] = 0;
		if (!strcmp(line, "quit"))
			return;
		if (!strncmp(line, "result ", 7))
			fprintf(out, "%s\n", write_result(w, line + 7)
				? "done" : "none");
		else
			fprintf(out, "%.9e\n", part_s(w, threads));
	}
}

static void none(FILE *out, const char *why)
{
	fprintf(out, "none %s\n", why);
	fflush(out);
	_exit(0);
}

static void output_of(const Program *p, Work *w)
{
	w->output_bytes = (size_t)buffer_bytes(&p->buffers[p->outputs[0]]);
	w->output = w->object.args[p->ninputs];
}

/* FILE.so TEXT */
static void serve_library(const Bench *b, char *text, FILE *in, FILE *out)
{
	Work w = {0};
	void *plain[MOST_ARGUMENTS];
	char *so = strsep(&text, " ");
	void *library = dlopen(so, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		none(out, dlerror());
	void *(*open)(const SideRequest *, const char **);
	const char *(*about)(void *), *why = "it cannot";
	*(void **)&open = dlsym(library, "side_open");
	*(void **)&w.run = dlsym(library, "side_run");
	*(void **)&w.result = dlsym(library, "side_result");
	*(void **)&about = dlsym(library, "side_about");
	if (!open || !w.run || !about || !text)
		none(out, "it is no side");
	make_inputs(b->first, -0.5, 0.5, plain);
	w.library = open(&(SideRequest){text, plain, b->threads}, &why);
	if (!w.library)
		none(out, why);
	output_of(b->first, &w);
	serve(&w, about(w.library), b->threads, in, out);
}

/* SPEC:CASE@FILE.so; with `exact` its inputs are those of the first side, in
 * its own types. */
static void serve_kernel(const Bench *b, const Side *s, bool exact, FILE *in,
    FILE *out)
{
	Work w = {0};
	void *plain[MOST_ARGUMENTS];
	char *so = strrchr(s->text, '@');
	*so++ = 0;
	const Program *p = load_program(b->arena, s->text);
	if (!exact)
		common_memory = s->memory;
	make_inputs(exact ? b->first : p, -0.5, 0.5, plain);
	for (int i = 0; exact && i < p->ninputs; i++) {
		DType from = b->first->buffers[i].type, to = p->buffers[i].type;
		void *wide = aligned((size_t)buffer_bytes(&p->buffers[i]));
		for (int64_t k = 0; k < buffer_elements(&p->buffers[i]); k++)
			scalar_store(to, wide, k, scalar_convert(to, from,
			    scalar_load(from, plain[i], k)));
		plain[i] = wide;
	}
	if (!object_open(&w.object, p, plain, so, false))
		die(so, dlerror());
	output_of(p, &w);
	serve(&w, "", b->threads, in, out);
}

/* --- sides, from the process that asks ---------------------------------------- */

static const char *ask(Side *s, const char *format, const char *argument)
{
	static char line[4096];
	fprintf(s->ask, format, argument);
	if (fflush(s->ask) || !fgets(line, sizeof line, s->answer))
		return NULL;
	line[strcspn(line, "\n")] = 0;
	return line;
}

static void run_side(Bench *b, Side *s, bool exact, int in, int out)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (b->threads == 1)
		bench_pin(0, 0);
	else
		setenv("OMP_PROC_BIND", "true", 1);
	if (!strncmp(s->text, "run:", 4)) {
		dup2(in, 0);
		dup2(out, 1);
		execl("/bin/sh", "sh", "-c", s->text + 4, (char *)NULL);
		_exit(127);
	}
	FILE *from = fdopen(in, "r"), *to = fdopen(out, "w");
	if (!strncmp(s->text, "lib:", 4))
		serve_library(b, s->text + 4, from, to);
	else
		serve_kernel(b, s, exact, from, to);
	_exit(0);
}

/* False, and why, where the side cannot be had. */
static bool start_side(Bench *b, Side *s, bool exact)
{
	int down[2], up[2];
	const char *said;
	if (pipe2(down, O_CLOEXEC) || pipe2(up, O_CLOEXEC))
		die("pipe", strerror(errno));
	fflush(NULL);
	s->pid = fork();
	if (s->pid < 0)
		die("fork", strerror(errno));
	if (!s->pid)
		run_side(b, s, exact, down[0], up[1]);
	close(down[0]);
	close(up[1]);
	s->ask = fdopen(down[1], "w");
	s->answer = fdopen(up[0], "r");
	said = ask(s, "", "");
	if (said && !strncmp(said, "ready", 5)) {
		snprintf(s->about, sizeof s->about, "%.250s",
		    said[5] ? said + 6 : "");
		return true;
	}
	snprintf(s->about, sizeof s->about, "%.250s", said &&
	    !strncmp(said, "none ", 5) ? said + 5 : "its process ended");
	return false;
}

static void stop_side(Side *s)
{
	fprintf(s->ask, "quit\n"); /* other sides may hold its end open */
	fclose(s->ask);
	fclose(s->answer);
	waitpid(s->pid, NULL, 0);
}

/* The operator of a side that tunec built. */
static const Program *program_of(Bench *b, const char *text)
{
	const char *so = strrchr(text, '@');
	if (!so)
		die(text, "is not SPEC:CASE@FILE.so");
	return load_program(b->arena,
	    strndup(text, (size_t)(so - text)));
}

static bool same_operator(const Side *a, const Side *b)
{
	const char *x = strrchr(a->text, '@'), *y = strrchr(b->text, '@');
	return x && y && x - a->text == y - b->text &&
	    !strncmp(a->text, b->text, (size_t)(x - a->text));
}

/* For inputs and outputs: that of an earlier side, or new. */
static CommonMemory memory_of(const Bench *b, const Side *s, const Program *p)
{
	size_t bytes = 0;
	for (int i = 0; i < b->nsides; i++)
		if (b->sides[i].memory.at && same_operator(&b->sides[i], s))
			return b->sides[i].memory;
	for (int i = 0; i < p->nbuffers; i++)
		if (p->buffers[i].role != BUFFER_TEMP)
			bytes += (size_t)buffer_bytes(&p->buffers[i]) + 128;
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		die("memory", strerror(errno));
	return (CommonMemory){at, at + bytes};
}

static void add_side(Bench *b, const char *text)
{
	Side *s = &b->sides[b->nsides];
	const char *equals = strchr(text, '='), *count = strchr(text, '*');
	if (b->nsides == SIDES || !equals || equals - text >= 64)
		die(text, "is not NAME=SIDE");
	*s = (Side){.count = 1, .text = strdup(equals + 1)};
	memcpy(s->name, text, (size_t)(equals - text));
	if (count && count < equals) {
		s->count = atoi(count + 1);
		s->name[count - text] = 0;
	}
	bool built = strncmp(s->text, "lib:", 4) && strncmp(s->text, "run:", 4);
	if (built) {
		const Program *p = program_of(b, s->text);
		s->flops = (double)p->flops;
		s->memory = memory_of(b, s, p);
		b->first = b->first ? b->first : p;
	}
	if (!b->first)
		die(text, "the first side is to be an operator's");
	if (start_side(b, s, false)) {
		b->nsides++;
		return;
	}
	stop_side(s);
	if (built)
		die(s->name, s->about);
	if (b->folder)
		printf("none %s %s\n", s->name, s->about);
	fprintf(stderr, "%s: skipped, %s\n", s->name, s->about);
}

/* --- results -------------------------------------------------------------------- */

static void write_inputs(const Bench *b)
{
	char path[4096];
	void *plain[MOST_ARGUMENTS];
	make_inputs(b->first, -0.5, 0.5, plain);
	for (int i = 0; i < b->first->ninputs; i++) {
		snprintf(path, sizeof path, "%s/input%d", b->folder, i);
		write_file(path, plain[i],
		    (size_t)buffer_bytes(&b->first->buffers[i]));
		free(plain[i]);
	}
}

/* The first output of a side, in f64; NULL where it has none. */
static double *result_of(const Bench *b, Side *s, const Buffer *out)
{
	char path[4096];
	int64_t n = buffer_elements(out);
	snprintf(path, sizeof path, "%s/result", b->folder);
	const char *said = ask(s, "result %s\n", path);
	FILE *f = said && !strcmp(said, "done") ? fopen(path, "r") : NULL;
	if (!said)
		die(s->name, "its process ended");
	if (!f)
		return NULL;
	void *data = aligned((size_t)buffer_bytes(out));
	double *v = malloc((size_t)n * sizeof *v);
	size_t got = fread(data, (size_t)buffer_bytes(out), 1, f);
	fclose(f);
	unlink(path);
	for (int64_t i = 0; v && i < n; i++)
		v[i] = scalar_convert(DT_F64, out->type,
		    scalar_load(out->type, data, i)).d;
	free(data);
	if (got == 1)
		return v;
	free(v);
	return NULL;
}

static void report_error(const Bench *b, Side *s, const Buffer *out,
    const double *want)
{
	double *got = result_of(b, s, out);
	double largest = 0, value = 0;
	if (!got)
		return;
	for (int64_t i = 0; i < buffer_elements(out); i++) {
		double off = fabs(got[i] - want[i]);
		value = fmax(value, fabs(want[i]));
		largest = isnan(off) ? INFINITY : fmax(largest, off);
	}
	printf("error %s %.3e %.3e\n", s->name, largest,
	    value > 0 ? largest / value : largest);
	free(got);
}

/* Largest errors, against the operator in wider types. */
static void report_errors(Bench *b)
{
	const Program *p = program_of(b, b->exact), *q = b->first;
	Side wide = {.text = strdup(b->exact)};
	if (!start_side(b, &wide, true))
		die(b->exact, wide.about);
	double *want = result_of(b, &wide, &p->buffers[p->outputs[0]]);
	stop_side(&wide);
	if (!want)
		die(b->exact, "gave no result");
	for (int i = 0; i < b->nsides; i++)
		report_error(b, &b->sides[i], &q->buffers[q->outputs[0]], want);
	free(want);
}

/* --- measuring ------------------------------------------------------------------ */

static double ask_s(const Bench *b, Side *s)
{
	if (b->threads > 1)
		nanosleep(&(struct timespec){0, PAUSE_MS * 1000000L}, NULL);
	const char *said = ask(s, "time\n", "");
	if (!said)
		die(s->name, "its process ended");
	return atof(said);
}

/* Whether the threads had a core each, by the peaks of all and of one. */
static bool turn_peaks(Bench *b, int turn)
{
	static double best;
	b->peak[turn] = cores_peak(b->isa, 1);
	b->cores[turn] = b->threads > 1 ? cores_peak(b->isa, b->threads)
					: b->peak[turn];
	best = fmax(best, b->peak[turn]);
	return b->cores[turn] >= 0.75 * b->threads * best;
}

/* A turn in which threads shared a core is taken again, as often as there are
 * turns twice over; after that it counts, and is counted. */
static void measure(Bench *b)
{
	for (int turn = 0; turn < b->nturns;) {
		bool apart = turn_peaks(b, turn);
		for (int i = 0; i < b->nsides; i++) {
			int at = turn % 2 ? b->nsides - 1 - i : i;
			b->sides[at].turn_s[turn] = ask_s(b, &b->sides[at]);
		}
		if (b->threads > 1 && apart)
			apart = turn_peaks(b, turn);
		if (apart || b->threads == 1 || b->again == 2 * b->nturns) {
			b->shared += b->threads > 1 && !apart;
			turn++;
			continue;
		}
		b->again++;
		nanosleep(&(struct timespec){0, SHARED_MS * 1000000L}, NULL);
	}
}

static double spread(double *v, int n)
{
	double m = median(v, n);
	return 50 * (quantile(v, n, 0.75) - quantile(v, n, 0.25)) / m;
}

static void report_parts(const Bench *b)
{
	double parts[MOST_TURNS];
	for (int t = 0; t < b->nturns; t++) {
		double sum = 0;
		for (int i = 1; i < b->nsides; i++)
			sum += b->sides[i].count * b->sides[i].turn_s[t];
		parts[t] = sum > 0 ? b->sides[0].turn_s[t] / sum : 0;
	}
	if (b->nsides > 1)
		printf("parts %.3f %.1f\n", median(parts, b->nturns),
		    spread(parts, b->nturns));
}

static void report(Bench *b)
{
	int n = b->nturns;
	report_parts(b);
	for (int i = b->nsides - 1; i >= 0; i--) /* quantile() sorts */
		for (int t = 0; t < n; t++)
			b->sides[i].ratio[t] = b->sides[i].turn_s[t] /
			    b->sides[0].turn_s[t];
	for (int i = 0; i < b->nsides; i++) {
		Side *s = &b->sides[i];
		double m = median(s->turn_s, n);
		double flops = s->flops > 0 ? s->flops : b->sides[0].flops;
		printf("%s %.6f %.1f %.3f %.1f\n", s->name, m * 1e3,
		    flops / m * 1e-9, median(s->ratio, n), spread(s->ratio, n));
	}
	double peak = median(b->peak, n);
	printf("peak %.1f %.1f\n", peak * 1e-9,
	    100 * (quantile(b->peak, n, 0.9) - quantile(b->peak, n, 0.1)) / peak);
	if (!b->folder)
		return;
	printf("work %lld %lld\n", (long long)b->first->flops,
	    (long long)b->first->bytes);
	printf("cores %.1f %d %d %d\n", median(b->cores, n) * 1e-9, b->again,
	    b->shared, n);
	for (int i = 0; i < b->nsides; i++)
		if (*b->sides[i].about)
			printf("about %s %s\n", b->sides[i].name,
			    b->sides[i].about);
}

/* For what sides load later. */
static void set_threads(int threads)
{
	char text[32];
	snprintf(text, sizeof text, "%d", threads);
	setenv("OMP_NUM_THREADS", text, 1);
	setenv("SIDE_THREADS", text, 1);
}

int main(int argc, char **argv)
{
	static Bench b = {.nturns = 15, .threads = 1};
	int option;
	while ((option = getopt(argc, argv, "+b:t:i:f:e:")) != -1)
		switch (option) {
		case 'b': b.nturns = atoi(optarg); break;
		case 't': b.threads = atoi(optarg); break;
		case 'i': b.isa = optarg; break;
		case 'f': b.folder = optarg; break;
		case 'e': b.exact = optarg; break;
		default: return 2;
		}
	if (argc == optind || b.nturns < 1 || b.nturns > MOST_TURNS ||
	    b.threads < 1 || (b.exact && !b.folder))
		return 2;
	signal(SIGPIPE, SIG_IGN);
	bench_cpu(0);
	set_threads(b.threads);
	if (b.folder)
		setenv("SIDE_FOLDER", b.folder, 1);
	b.arena = arena_new();
	for (int i = optind; i < argc; i++) {
		bool first = !b.first;
		add_side(&b, argv[i]);
		if (first && b.folder)
			write_inputs(&b);
	}
	if (b.exact)
		report_errors(&b);
	measure(&b);
	report(&b);
	for (int i = 0; i < b.nsides; i++)
		stop_side(&b.sides[i]);
	arena_free(b.arena);
	return 0;
}
