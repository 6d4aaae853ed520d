/* The parts of `tegula show`. */
#ifndef TEGULA_CLI_SHOW_H
#define TEGULA_CLI_SHOW_H

#include "cli.h"

/* Room for a digit, and for a sum of digits. */
enum { SHOW_WORD = 256, SHOW_SUM = 4096 };

/* The digit that mode m counts, as arithmetic such as "d2 % 128 / 2" (show_modes.c). */
void show_digit(char text[SHOW_WORD], const tg_layout *layout, int32_t m);

/* The axis that combines others, as a sum such as "t0 = d1 * 5 + d2" (show_modes.c). */
void show_axis(char text[SHOW_SUM], const tg_layout *layout, int32_t axis);

/* The table of memory modes, with the digit that each counts (show_modes.c). */
void show_modes(const tg_layout *layout);

/* The arithmetic that takes the last coordinate to its offset (show_modes.c). */
void show_last_element(const tg_layout *layout);

/* Whether the text is a tuple, token, opaque or buffer, and so no single array (show_tree.c). */
bool show_is_tree(const cli_text *text);

/* The leaves of such a shape. */
int show_tree(const cli_text *text, bool json);

/* A leaf of such a shape: an array, a token, an opaque value or a buffer. */
typedef struct show_leaf {
    const int64_t *index; /* of the tuple elements that lead to it, `depth` of them */
    int32_t        depth;
    const char    *kind;  /* "array" */
    const char    *text;
    const tg_desc *desc;  /* NULL if it has no layout: no array, or one of unbounded size */
} show_leaf;

/* Visit the leaves in order, until a visit returns another status than CLI_OK. *whole is the canonical text of all,
 * to be freed; NULL if the status is not CLI_OK before the first visit. */
int show_each_leaf(char **whole, const cli_text *text, int (*visit)(void *context, const show_leaf *leaf),
                   void *context);

#endif
