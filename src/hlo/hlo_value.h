/* What the readers of values share: a list that counts what it has no room for, and failures with a place. */
#ifndef TG_HLO_HLO_VALUE_H
#define TG_HLO_HLO_VALUE_H

#include <tegula/hlo.h>

#include "base/text.h"

static inline tg_cursor tg_hlo_value_cursor(tg_hlo_text value) {
    return tg_cursor_make(value.len > 0 ? value.chars : "", value.len);
}

/* What stands at the cursor is not what the rule wants. */
tg_status tg_hlo_value_fail(const tg_cursor *c, const char *rule, tg_error *err);

/* Takes an integer. */
tg_status tg_hlo_value_int(int64_t *out, tg_cursor *c, tg_error *err);

/* Takes this character, blanks before it allowed. */
tg_status tg_hlo_value_char(tg_cursor *c, char ch, const char *rule, tg_error *err);

/* Nothing but blanks is left. */
tg_status tg_hlo_value_end(tg_cursor *c, tg_error *err);

#endif
