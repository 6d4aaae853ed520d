/* What a cell says: ranges, boxes of coordinates, offsets and addresses. Plain ASCII, for both kinds of output. */
#include "draw/scene.h"

void tg_put_range(tg_writer *w, int64_t from, int64_t to) {
    tg_put_int(w, from);
    if (to == from) return;
    tg_put_text(w, "..");
    tg_put_int(w, to);
}

void tg_put_box(tg_writer *w, const int64_t *low, const int64_t *high, int32_t ndim) {
    tg_put_char(w, '(');
    for (int32_t d = 0; d < ndim; d++) {
        if (d > 0) tg_put_char(w, ',');
        tg_put_range(w, low[d], high[d]);
    }
    tg_put_char(w, ')');
}

/* offset * bits = 8 * byte + bit, bit in [0, 8), for the first bit of an element or the last. */
static int64_t byte_of(int64_t *bit, int64_t offset, int32_t bits, int32_t into) {
    const int64_t rest = (offset % 8 + 8) % 8, eights = (offset - rest) / 8;
    const int64_t in_eight = rest * bits + into;
    *bit = in_eight % 8;
    return eights * bits + in_eight / 8; /* fits: the bytes of the layout do */
}

void tg_put_place(tg_writer *w, int64_t offset, int32_t bits) {
    int64_t bit = 0;
    tg_put_int(w, byte_of(&bit, offset, bits, 0));
    if (bit == 0) return;
    tg_put_char(w, '.');
    tg_put_int(w, bit);
}

static void put_bytes(tg_writer *w, int64_t from, int64_t to, int32_t bits, const char *between) {
    int64_t bit = 0;
    tg_put_place(w, from, bits);
    if (from == to) return;
    tg_put_text(w, between);
    tg_put_int(w, byte_of(&bit, to, bits, bits - 1));
}

void tg_put_bytes_of(tg_writer *w, int64_t from, int64_t to, int32_t bits) { put_bytes(w, from, to, bits, ".."); }

bool tg_same_place(int64_t a, int32_t a_bits, int64_t b, int32_t b_bits) {
    int64_t a_bit = 0, b_bit = 0;
    return byte_of(&a_bit, a, a_bits, 0) == byte_of(&b_bit, b, b_bits, 0) && a_bit == b_bit;
}

bool tg_label_core(tg_cell *cell, const tg_scene *s) {
    tg_writer w = tg_writer_make(cell->label, sizeof cell->label);
    if (!s->says_core || s->params->label != TG_LABEL_USUAL || (cell->core < 0 && !cell->is_shared)) return false;
    tg_put_text(&w, cell->is_shared ? "several cores" : "core ");
    if (!cell->is_shared) tg_put_int(&w, cell->core);
    (void)tg_writer_end(&w);
    return true;
}

void tg_label_offsets(char *label, size_t cap, const tg_scene *s, const tg_cell *cell, int32_t bits) {
    tg_writer w = tg_writer_make(label, cap);
    if (s->params->label == TG_LABEL_BYTE) put_bytes(&w, cell->from, cell->to, bits, cell->is_loose ? "~" : "..");
    else if (s->params->label == TG_LABEL_ORDER && cell->unit >= 0 && tg_scene_is_coarse(s)) {
        tg_put_char(&w, '#');
        tg_put_int(&w, cell->unit);
    } else if (cell->is_loose) {
        tg_put_int(&w, cell->from);
        tg_put_char(&w, '~');
        tg_put_int(&w, cell->to);
    } else tg_put_range(&w, cell->from, cell->to);
    (void)tg_writer_end(&w);
}
