/* A hash table that is kind to caches. An entry computation may define millions of names, and a table of them
 * is far larger than a cache; but names are numbered, and what stands close in the text has close numbers:
 *
 *     name             add.1230   add.1231   ...   add.1239   add.1240
 *     hash, 28 bits    that of add.123, for all ten           that of add.124
 *     slot in block    0          1                9          0
 *
 * So ten neighbours share a block of sixteen slots, two lines of a cache. Blocks are numbered by the hash's
 * high bits: when the table doubles, block b becomes 2b and 2b + 1, and entries move in the order they lie in. */
#include "hlo/hlo_names.h"

#include "hlo/hlo_hash.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_BITS = 4, BLOCK = 1 << BLOCK_BITS, FIRST_SLOTS = BLOCK };

static bool reserve(tg_hlo_name_slot **slots, size_t *cap, size_t size) {
    if (*cap >= size) return true;
    free(*slots);
    *cap = 0;
    *slots = size <= SIZE_MAX / sizeof **slots ? malloc(size * sizeof **slots) : NULL;
    if (*slots == NULL) return false;
    *cap = size;
    return true;
}

bool tg_hlo_names_start(tg_hlo_names *names) {
    if (!reserve(&names->slots, &names->cap, FIRST_SLOTS)) return false;
    names->size = FIRST_SLOTS;
    names->count = 0;
    memset(names->slots, 0, FIRST_SLOTS * sizeof *names->slots);
    return true;
}

void tg_hlo_names_destroy(tg_hlo_names *names) {
    free(names->slots);
    free(names->spare);
    *names = (tg_hlo_names){.slots = NULL};
}

/* Where a name with this hash belongs among `size` slots. */
static size_t home(uint32_t hash, size_t size) {
    const uint64_t block = (uint64_t)hash * (size / BLOCK) >> 32;
    return (size_t)block * BLOCK + (hash & (BLOCK - 1));
}

/* Twice as many slots, in the spare table. */
static bool grow(tg_hlo_names *names) {
    const size_t size = 2 * names->size, mask = size - 1;
    if (!reserve(&names->spare, &names->spare_cap, size)) return false;
    memset(names->spare, 0, size * sizeof *names->spare);
    for (size_t i = 0; i < names->size; i++) {
        if (names->slots[i].taken == 0) continue;
        size_t slot = home(names->slots[i].hash, size);
        while (names->spare[slot].taken != 0) slot = (slot + 1) & mask;
        names->spare[slot] = names->slots[i];
    }
    const tg_hlo_names old = *names;
    names->slots = old.spare;
    names->cap = old.spare_cap;
    names->spare = old.slots;
    names->spare_cap = old.cap;
    names->size = size;
    return true;
}

/* The name of the row is exactly this one: the same bytes, and no letter more. */
static bool is_name(const tg_hlo_module *m, const tg_hlo_instruction_row *row, size_t pos, size_t len) {
    const size_t end = row->pos + len;
    return end <= m->len && memcmp(m->text + row->pos, m->text + pos, len) == 0 &&
           (end == m->len || !(tg_hlo_class[(unsigned char)m->text[end]] & TG_HLO_WORD));
}

/* The slot that has the name, or the empty one where it belongs. */
static size_t find_slot(const tg_hlo_names *names, const tg_hlo_module *m, const tg_hlo_instruction_row *rows,
                        uint32_t hash, size_t pos, size_t len) {
    const size_t mask = names->size - 1;
    size_t       slot = home(hash, names->size);
    for (; names->slots[slot].taken != 0; slot = (slot + 1) & mask) {
        const tg_hlo_name_slot *s = &names->slots[slot];
        if (s->hash == hash && is_name(m, &rows[s->taken - 1], pos, len)) break;
    }
    return slot;
}

/* pre: len > 0 */
static uint32_t hash_of(const tg_hlo_module *m, size_t pos, size_t len) {
    const uint64_t hash = tg_hlo_hash(m->seed, m->text + pos, len - 1);
    return ((uint32_t)hash & ~(uint32_t)(BLOCK - 1)) | ((unsigned char)m->text[pos + len - 1] & (BLOCK - 1));
}

uint32_t tg_hlo_names_find(const tg_hlo_names *names, const tg_hlo_module *m, const tg_hlo_instruction_row *rows,
                           size_t pos, size_t len) {
    const uint32_t taken = names->slots[find_slot(names, m, rows, hash_of(m, pos, len), pos, len)].taken;
    return taken > 0 ? taken - 1 : TG_HLO_NO_ROW;
}

bool tg_hlo_names_put(tg_hlo_names *names, const tg_hlo_module *m, const tg_hlo_instruction_row *rows, uint32_t row,
                      size_t pos, size_t len) {
    if (names->count >= names->size / 8 * 5 && !grow(names)) return false;
    const uint32_t          hash = hash_of(m, pos, len);
    tg_hlo_name_slot *const slot = &names->slots[find_slot(names, m, rows, hash, pos, len)];
    if (slot->taken == 0) names->count++;
    *slot = (tg_hlo_name_slot){hash, row + 1};
    return true;
}
