/* Moves that are no workloads: lines of a file. */
#ifndef BENCH_MOVES_H
#define BENCH_MOVES_H

#include <stdbool.h>

/* One of them. text: the line; number: of the line, from 1. Returns whether all went well. */
typedef bool each_move(void *context, int number, const char *text, const char *src, const char *dst);

/* Lines "SRC -> DST" of a file, or of standard input if its name is "-"; empty ones and comments (#) are passed over.
 * A line that is wrong is told, and the others are read all the same. False if one of them went wrong, there is none,
 * or the file cannot be read, which is said on standard error in `program`'s name. */
bool moves_read(const char *program, const char *path, each_move *each, void *context);

/* Can the file be opened? If not, a sentence on standard error says so. */
bool moves_can_read(const char *program, const char *path);

#endif /* BENCH_MOVES_H */
