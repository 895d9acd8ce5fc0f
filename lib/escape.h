/* Text of strangers on its way out: one function for each place that a text may
 * reach.  Each appends to a Buf; what it appended is read there as this text,
 * whatever bytes it has.
 *
 * What a person cannot see, or what moves other text about, is shown as the
 * escape that C has for it: a control byte and a byte that is no UTF-8 as \x1b,
 * a C1 control, a control of the writing direction or a line separator as
 * \u202e. */
#ifndef LIB_ESCAPE_H
#define LIB_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/buf.h"

/* Bytes of the UTF-8 sequence at p, 0 where it is none (or a surrogate). */
int utf8_size(const char *p, size_t left);

/* To a person.  Of newline and tab only those in `keep` stay as they are, the
 * others are shown as \n and \t. */
void escape_terminal(Buf *out, const char *text, size_t size, const char *keep);
/* Into a comment of C, on one line: does not end it, begins none, and is the
 * same text in every standard of C and C++.  A newline becomes a space. */
void escape_comment(Buf *out, const char *text);
/* A string literal of C or C++, quotes and all: the same bytes when compiled. */
void escape_c_string(Buf *out, const char *text);
/* The same of a text of many lines, a literal for each, each on a line of its
 * own and indented. */
void escape_c_lines(Buf *out, const char *text, size_t size);
/* A string of JSON, quotes and all.  Valid UTF-8 stays, other bytes become
 * U+FFFD. */
void escape_json(Buf *out, const char *text, size_t size);
/* Text that is JSON already, to a person: the same values, and what cannot be
 * seen as \u escapes. */
void escape_json_text(Buf *out, const char *json, size_t size);
/* One word of a POSIX shell, quoted where that is needed: its bytes are the
 * text's, and every byte on the line can be seen. */
void escape_shell(Buf *out, const char *text);
/* A name in a rule of make, its target or what it needs.  False, and nothing
 * appended, where make has no way to write it. */
typedef enum { MAKE_TARGET, MAKE_NEEDED } MakePlace;
bool escape_make(Buf *out, const char *name, MakePlace place);

#endif
