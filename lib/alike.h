/* What a mistyped word may have been meant to be.
 *
 *     Alike a = alike_to("trails");
 *     alike_look(&a, "trials"); ... each word that there is
 *     "unknown option '--trails'%s", alike_question(&a, "--")
 *         -> "; is it '--trials'?", or "" where none is like it */
#ifndef LIB_ALIKE_H
#define LIB_ALIKE_H

enum { ALIKE_SIZE = 63 }; /* longer words are like none */

typedef struct {
	const char *text;  /* borrowed, like the words */
	const char *found; /* the most alike, of equals the first in the alphabet;
			      NULL: none */
	int distance;      /* letters to change, insert or drop; exchanged
			      neighbours are one */
	char question[ALIKE_SIZE + 24];
} Alike;

Alike alike_to(const char *text);
void alike_look(Alike *a, const char *word);
/* `before` stands before the word. */
const char *alike_question(Alike *a, const char *before);

#endif
