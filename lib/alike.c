#include "lib/alike.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { FAR = 3 };

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* Rows of the table of beginnings: the last three of them. */
static int distance(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b);
	int rows[3][ALIKE_SIZE + 1];
	if (na > ALIKE_SIZE || nb > ALIKE_SIZE || na > nb + 2 || nb > na + 2)
		return FAR;
	for (size_t j = 0; j <= nb; j++)
		rows[0][j] = (int)j;
	for (size_t i = 1; i <= na; i++) {
		int *row = rows[i % 3], *above = rows[(i + 2) % 3];
		const int *twice = rows[(i + 1) % 3];
		row[0] = (int)i;
		for (size_t j = 1; j <= nb; j++) {
			row[j] = least(above[j - 1] + (a[i - 1] != b[j - 1]),
			    least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				row[j] = least(row[j], twice[j - 2] + 1);
		}
	}
	return least(rows[na % 3][nb], FAR);
}

/* Of a letter none may be wrong, of a short word one, else two. */
Alike alike_to(const char *text)
{
	size_t n = strlen(text);
	return (Alike){.text = text, .distance = n < 2 ? 1 : n < 4 ? 2 : FAR};
}

void alike_look(Alike *a, const char *word)
{
	int d = distance(a->text, word);
	assert(d >= 0 && d <= FAR);
	if (d < a->distance ||
	    (d == a->distance && a->found && strcmp(word, a->found) < 0)) {
		a->distance = d;
		a->found = word;
	}
}

const char *alike_question(Alike *a, const char *before)
{
	a->question[0] = 0;
	if (a->found)
		snprintf(a->question, sizeof a->question, "; is it '%s%s'?",
		    before, a->found);
	return a->question;
}
