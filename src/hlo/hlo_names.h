/* The names of one computation while it is read: name to row of its instruction. */
#ifndef TG_HLO_HLO_NAMES_H
#define TG_HLO_HLO_NAMES_H

#include "hlo/hlo_module.h"

/* A row and its name's hash, so that most rows of other names need not be looked at. */
typedef struct tg_hlo_name_slot {
    uint32_t hash;  /* of all but the last letter; in the low four bits, those of the last letter */
    uint32_t taken; /* row + 1 */
} tg_hlo_name_slot;

/* The slots in use are the first `size`, a power of two, of `cap`: starting the next computation costs nothing
 * that grows with the one before. `spare` is where they move when they become too few. */
typedef struct tg_hlo_names {
    tg_hlo_name_slot *slots, *spare;
    size_t            cap, spare_cap;
    size_t            size, count;
} tg_hlo_names;

/* No names; false without memory. */
bool tg_hlo_names_start(tg_hlo_names *names);
void tg_hlo_names_destroy(tg_hlo_names *names);

/* The row whose name is [pos, pos + len), TG_HLO_NO_ROW if there is none. */
uint32_t tg_hlo_names_find(const tg_hlo_names *names, const tg_hlo_module *m, const tg_hlo_instruction_row *rows,
                           size_t pos, size_t len);

/* The name [pos, pos + len) means this row from now on; false without memory. */
bool tg_hlo_names_put(tg_hlo_names *names, const tg_hlo_module *m, const tg_hlo_instruction_row *rows, uint32_t row,
                      size_t pos, size_t len);

#endif
