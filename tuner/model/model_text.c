/* A model of trees as a small file, so that what logs teach is used without them,
 * without XGBoost and without a trial.
 *
 *     tunec-model 1
 *     features cpu 1 192      of what, which version, how many
 *     prior 2.5               slope of -log of the analytic time
 *     trees 2
 *     17<3.5 =-0.25 90<1 =0 =0.125
 *     =0.5
 *
 * A tree is a line: a node is COLUMN<THRESHOLD and both its branches, or =VALUE.
 * Numbers read back as they were. */
#include <stdlib.h>
#include <string.h>

#include "lib/arena.h"
#include "tuner/model/kind.h"

enum { FORMAT = 1, TREES_MOST = 10000, NODES_MOST = 1 << 20, DEPTH_MOST = 16 };

static void write_node(Buf *out, const Forest *f, int node)
{
	const TreeNode *t = &f->nodes[node];
	if (t->feature < 0) {
		buf_printf(out, "=%.9g", (double)t->value);
		return;
	}
	buf_printf(out, "%d<%.9g ", t->feature, (double)t->threshold);
	write_node(out, f, t->left);
	buf_putc(out, ' ');
	write_node(out, f, t->right);
}

void model_write(Buf *out, const Model *model, const char *kind)
{
	double slope;
	const Forest *f = model_forest(model, &slope);
	buf_printf(out, "tunec-model %d\nfeatures %s\nprior %.17g\ntrees %d\n",
	    FORMAT, kind, slope, f->ntrees);
	for (int i = 0; i < f->ntrees; i++) {
		write_node(out, f, f->root[i]);
		buf_putc(out, '\n');
	}
}

/* --- and back -------------------------------------------------------------------- */

typedef struct {
	const char *at;
	int width;
	Forest forest;
	bool bad;
} ForestReading;

/* The text up to the end of a line, after a word. */
static const char *line_after(ForestReading *r, Arena *arena, const char *word)
{
	size_t n = strlen(word), size = strcspn(r->at, "\n");
	if (strncmp(r->at, word, n) || r->at[n] != ' ' || !r->at[size]) {
		r->bad = true;
		return "";
	}
	const char *text = arena_strndup(arena, r->at + n + 1, size - n - 1);
	r->at += size + 1;
	return text;
}

static double number(ForestReading *r)
{
	char *end;
	double x = strtod(r->at, &end);
	r->bad |= end == r->at || !(x > -1e30 && x < 1e30);
	r->at = end;
	return x;
}

static bool take(ForestReading *r, char c)
{
	if (*r->at != c)
		return false;
	r->at++;
	return true;
}

/* Which node it is. */
static int read_node(ForestReading *r, int depth)
{
	Forest *f = &r->forest;
	int node = f->nnodes++;
	if (depth > DEPTH_MOST || f->nnodes > NODES_MOST || r->bad) {
		r->bad = true;
		return node;
	}
	f->nodes = must_realloc(f->nodes, sizeof *f->nodes * (size_t)f->nnodes);
	if (take(r, '=')) {
		f->nodes[node] =
		    (TreeNode){.feature = -1, .value = (float)number(r)};
		return node;
	}
	double feature = number(r);
	TreeNode t = {.feature = (int)feature};
	r->bad |= !(feature >= 0 && feature < r->width) || !take(r, '<');
	t.threshold = (float)number(r);
	r->bad |= !take(r, ' ');
	t.left = read_node(r, depth + 1);
	r->bad |= !take(r, ' ');
	t.right = read_node(r, depth + 1);
	if (!r->bad)
		f->nodes[node] = t;
	return node;
}

static void read_trees(ForestReading *r, double n)
{
	r->bad |= !(n >= 1 && n <= TREES_MOST);
	if (r->bad)
		return;
	r->forest.ntrees = (int)n;
	r->forest.root = must_alloc(sizeof(int) * (size_t)n);
	for (int i = 0; i < r->forest.ntrees && !r->bad; i++) {
		r->forest.root[i] = read_node(r, 0);
		r->bad |= !take(r, '\n');
	}
	r->bad |= *r->at;
}

Model *model_read(const char *text, const char *name, int width,
    const char *kind, Error *error)
{
	Arena *arena = arena_new();
	ForestReading r = {.at = text, .width = width};
	int format = atoi(line_after(&r, arena, "tunec-model"));
	const char *features = line_after(&r, arena, "features");
	bool other = !r.bad && (format != FORMAT || strcmp(features, kind));
	double slope = atof(line_after(&r, arena, "prior"));
	double trees = atof(line_after(&r, arena, "trees"));
	r.bad |= !(slope >= 0 && slope < 1e6);
	if (other)
		error_set(error, STATUS_UNSUPPORTED,
		    "%s: a model of format %d, features %s: this needs %d, %s",
		    name, format, features, FORMAT, kind);
	else
		read_trees(&r, trees);
	if (!other && r.bad)
		error_set(
		    error, STATUS_INPUT, "%s: not a model, or damaged", name);
	arena_free(arena);
	if (other || r.bad) {
		forest_free(&r.forest);
		return NULL;
	}
	Forest *forest = must_alloc(sizeof *forest);
	*forest = r.forest;
	return model_of_forest(forest, width, slope);
}
