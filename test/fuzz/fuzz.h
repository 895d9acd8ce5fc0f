/* Readers of outside bytes, tried on any bytes.
 *
 * A file fuzz_NAME.c is one reader: its comment says what must hold, its
 * LLVMFuzzerTestOneInput tries one input.  It is linked twice: with libFuzzer
 * (make fuzz, test/tools/fuzz.sh), and with driver.c as a quick test over the
 * same seeds, which are corpus/NAME and what `fuzz_seeds` names beside it, with
 * random damage by the pieces of NAME.dict.
 *
 * To add a reader: fuzz_NAME.c, and seeds in corpus/NAME/.  An input that broke
 * it stays there, named for what it did. */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schedule/schedule.h"

/* With the argument --seeds, prints the folders of seeds and ends. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
extern const char fuzz_name[];
extern const char *const fuzz_seeds[]; /* more folders of seeds, then NULL */
extern const int fuzz_rounds;	       /* damaged inputs of the quick test */

/* common.c */

/* Ends the process with the message unless `holds`. */
void fuzz_require(bool holds, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A copy with a NUL behind it, malloc'd to the byte. */
char *fuzz_text(const uint8_t *data, size_t size);
/* A chain of a copy, a product, a sum, a maximum and a difference of neighbours
 * under a condition, read once. */
const Program *fuzz_program(void);
extern const Machine fuzz_machine; /* two cores with AVX2 */
/* What must hold of any trace that a reader gave: it prints as what reads back
 * the same, in text and JSON, and applied to fuzz_program it gives a reason or
 * a nest that lowers to what the verifier accepts. */
void fuzz_trace(Arena *arena, const Trace *trace);
/* The path of a file of that name in a folder of this process, in memory where
 * there is such a place; removed at exit. */
const char *fuzz_path(const char *name);
void fuzz_write(const char *path, const void *data, size_t size);
/* What the file holds. */
Buf fuzz_read(const char *path);

/* stores.c: what must hold of a store, whatever the file of that path holds.
 * Readers give an error or lines, and change nothing.  A writer gives an error
 * or appends, and all that was read before is read after it, in its order. */
void fuzz_store(const char *path);

#endif
