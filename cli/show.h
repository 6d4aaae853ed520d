/* The parts of `tegula show`. */
#ifndef TEGULA_CLI_SHOW_H
#define TEGULA_CLI_SHOW_H

#include "cli.h"

/* The table of memory modes, with the digit that each counts (show_modes.c). */
void show_modes(const tg_layout *layout);

/* The arithmetic that takes the last coordinate to its offset (show_modes.c). */
void show_last_element(const tg_layout *layout);

/* Whether the text is a tuple, token, opaque or buffer, and so no single array (show_tree.c). */
bool show_is_tree(const cli_text *text);

/* The leaves of such a shape. */
int show_tree(const cli_text *text, bool json);

#endif
