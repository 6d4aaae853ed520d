/* Equal texts get equal numbers, counted from 0: a hash table with the texts in one piece of memory. */
#include "hlo/report.h"

#include "hlo/hlo_hash.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 64 };

static const char *text_at(const tg_report_texts *t, size_t id, size_t *len) {
    const size_t begin = id == 0 ? 0 : t->ends.rows[id - 1];
    *len = t->ends.rows[id] - begin;
    return t->chars.rows + begin;
}

/* The slot of the text, or the empty one where it belongs. A slot holds a number and 1. */
static size_t find_slot(const tg_report_texts *t, const char *text, size_t len) {
    size_t slot = tg_hlo_hash(0, text, len) & (t->nslots - 1);
    for (; t->slots[slot] != 0; slot = (slot + 1) & (t->nslots - 1)) {
        size_t            other = 0;
        const char *const chars = text_at(t, (size_t)t->slots[slot] - 1, &other);
        if (other == len && memcmp(chars, text, len) == 0) break;
    }
    return slot;
}

static bool grow(tg_report_texts *t) {
    const size_t wanted = t->nslots == 0 ? FIRST_SLOTS : t->nslots * 2;
    int64_t     *slots = wanted <= SIZE_MAX / sizeof *slots ? calloc(wanted, sizeof *slots) : NULL;
    if (slots == NULL) return false;
    free(t->slots);
    t->slots = slots;
    t->nslots = wanted;
    for (size_t id = 0; id < t->ends.count; id++) {
        size_t            len = 0;
        const char *const text = text_at(t, id, &len);
        t->slots[find_slot(t, text, len)] = (int64_t)id + 1;
    }
    return true;
}

bool tg_report_number(int64_t *out, tg_report_texts *t, const char *text, size_t len) {
    if (2 * (t->ends.count + 1) > t->nslots && !grow(t)) return false;
    int64_t *const slot = &t->slots[find_slot(t, text, len)];
    if (*slot == 0) {
        if (!tg_report_chars_reserve(&t->chars, len) || !tg_report_ends_push(&t->ends, t->chars.count + len))
            return false;
        memcpy(t->chars.rows + t->chars.count, text, len);
        t->chars.count += len;
        *slot = (int64_t)t->ends.count;
    }
    *out = *slot - 1;
    return true;
}

void tg_report_texts_free(tg_report_texts *t) {
    free(t->slots);
    free(t->chars.rows);
    free(t->ends.rows);
}
