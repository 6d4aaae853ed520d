/* `--pad VALUE`: one element, written by hand. */
#ifndef TEGULA_CLI_PAD_H
#define TEGULA_CLI_PAD_H

#include "cli.h"

enum { PAD_BYTES = 16 }; /* the widest element, c128 */

/* The bytes of VALUE as an element of `layout`: its type, and then its storage format. Numbers are rounded to
 * the nearest one that these have; what is out of range of either is refused. */
int pad_encode(unsigned char out[PAD_BYTES], const tg_layout *layout, const char *value);

#endif
