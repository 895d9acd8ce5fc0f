/* Curves as SVG: shares up to 1 by trials, which stand at their logarithm; a band
 * around each curve. */
#include <math.h>

#include "test/lab/lab.h"

enum { LEFT = 46, TOP = 34, WIDTH = 560, HEIGHT = 330, FOOT = 40, KEY = 20 };

/* Points nearer than that to the one before are left out. */
static const double STEP = 2;

/* Okabe and Ito's colours, which are told apart by everybody. */
static const char *const colours[] = {"#000000", "#d55e00", "#0072b2",
    "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a8a00"};

typedef struct {
	FILE *out;
	int trials;
	double floor; /* the share at the foot */
} Chart;

static double x_of(const Chart *c, double trial)
{
	return LEFT + WIDTH * log(trial) / log(c->trials);
}

static double y_of(const Chart *c, double share)
{
	double height = (1 - share) / (1 - c->floor);
	return TOP + HEIGHT * fmin(height, 1);
}

static void text(
    const Chart *c, double x, double y, const char *anchor, const char *words)
{
	fprintf(c->out,
	    "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y,
	    anchor, words);
}

static void line(const Chart *c, double x, double y, double to_x, double to_y)
{
	fprintf(c->out,
	    "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
	    "stroke=\"#ddd\"/>\n",
	    x, y, to_x, to_y);
}

static void axes(const Chart *c)
{
	char words[32];
	double step = c->floor < 0.6 ? 0.1 : c->floor < 0.85 ? 0.05 : 0.02;
	for (int trial = 1; trial <= c->trials; trial *= 2) {
		double x = x_of(c, trial);
		line(c, x, TOP, x, TOP + HEIGHT);
		snprintf(words, sizeof words, "%d", trial);
		text(c, x, TOP + HEIGHT + 16, "middle", words);
	}
	for (double share = 1; share > c->floor - 1e-9; share -= step) {
		double y = y_of(c, share);
		line(c, LEFT, y, LEFT + WIDTH, y);
		snprintf(words, sizeof words, "%.2f", share);
		text(c, LEFT - 6, y + 4, "end", words);
	}
	text(c, LEFT + WIDTH / 2, TOP + HEIGHT + 32, "middle", "trials");
}

/* The points of a row of numbers, from one end or from the other. */
static void points(const Chart *c, const double *share, int n, bool backwards)
{
	double last_x = -STEP, last_y = 0;
	for (int i = 0; i < n; i++) {
		int at = backwards ? n - 1 - i : i;
		double x = x_of(c, at + 1), y = y_of(c, share[at]);
		if (fabs(x - last_x) < STEP && fabs(y - last_y) < STEP &&
		    i < n - 1)
			continue;
		fprintf(c->out, "%.1f,%.1f ", x, y);
		last_x = x;
		last_y = y;
	}
}

static void curve(const Chart *c, const ChartLine *l, const char *colour)
{
	fprintf(c->out, "<polygon fill=\"%s\" fill-opacity=\"0.12\" points=\"",
	    colour);
	points(c, l->low, l->n, false);
	points(c, l->high, l->n, true);
	fprintf(c->out,
	    "\"/>\n<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" "
	    "points=\"",
	    colour);
	points(c, l->y, l->n, false);
	fprintf(c->out, "\"/>\n");
}

static void key(const Chart *c, const ChartLine *lines, int n)
{
	int x = LEFT + WIDTH - 130, y = TOP + HEIGHT - n * KEY - 4;
	fprintf(c->out,
	    "<rect x=\"%d\" y=\"%d\" width=\"126\" height=\"%d\" "
	    "fill=\"#fff\" stroke=\"#ddd\"/>\n",
	    x, y, n * KEY);
	for (int i = 0; i < n; i++) {
		int at = y + i * KEY + KEY / 2;
		fprintf(c->out,
		    "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" "
		    "stroke=\"%s\" stroke-width=\"3\"/>\n",
		    x + 6, at, x + 28, at, colours[i]);
		text(c, x + 34, at + 4, "start", lines[i].name);
	}
}

/* The share at the foot: under all curves from the eighth trial on. */
static double floor_of(const ChartLine *lines, int n)
{
	double least = 1;
	for (int i = 0; i < n; i++)
		for (int k = 7; k < lines[i].n; k++)
			least = fmin(least, lines[i].y[k]);
	return fmin(floor(least * 20) / 20, 0.9);
}

void lab_chart(FILE *out, const char *title, const ChartLine *lines, int n)
{
	Chart c = {out, lines[0].n, floor_of(lines, n)};
	fprintf(out,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
	    "height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
	    "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
	    LEFT + WIDTH + 16, TOP + HEIGHT + FOOT);
	text(&c, LEFT, TOP - 14, "start", title);
	axes(&c);
	for (int i = 0; i < n; i++)
		curve(&c, &lines[i], colours[i]);
	key(&c, lines, n);
	fprintf(out, "</svg>\n");
}
