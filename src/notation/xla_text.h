/* What the reader, the printer and the rules of XLA shapes share. */
#ifndef TG_NOTATION_XLA_TEXT_H
#define TG_NOTATION_XLA_TEXT_H

#include <tegula/tegula.h>

/* Tuples and buffers inside each other; each open one is an entry of a small stack. XLA: 8192. */
#define TG_XLA_MAX_DEPTH 512

/* The counts of a layout lie in its arrays; only then may the arrays be read. */
bool tg_xla_layout_is_bounded(const tg_xla_layout *layout);

/* The nodes are exactly one tree in pre-order, not too deep, and every count lies in its array. */
tg_status tg_xla_check_tree(const tg_xla_shape *nodes, size_t count, tg_error *err);

/* XLA's rules for one array, which it applies to the elements of a tuple while reading: element type,
 * sizes and overflow, then the layout if there is one. pre: the node is bounded. */
tg_status tg_xla_check_element(const tg_xla_shape *array, tg_error *err);

#endif
