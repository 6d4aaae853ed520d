/* Private to the notation room: what its files share. A notation never includes another one. */
#ifndef TG_NOTATION_NOTATION_H
#define TG_NOTATION_NOTATION_H

#include "base/text.h"
#include "layout/layout.h"

/* Where the text of an XLA array, which can be read, says what tg_layout_from_xla refuses. */
size_t tg_xla_place(const char *text, size_t len, const tg_xla_shape *array);

#endif
