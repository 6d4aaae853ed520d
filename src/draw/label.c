/* What a cell says: ranges, boxes of coordinates, offsets and addresses. Plain ASCII, for both kinds of output. */
#include "draw/scene.h"

enum { LONGEST_BOX = 32 };

void tg_put_range(tg_writer *w, int64_t from, int64_t to) {
    tg_put_int(w, from);
    if (to == from) return;
    tg_put_text(w, "..");
    tg_put_int(w, to);
}

void tg_put_box(tg_writer *w, const int64_t *low, const int64_t *high, int32_t first, int32_t ndim) {
    tg_put_text(w, first > 0 ? "(..," : "(");
    for (int32_t d = first; d < ndim; d++) {
        if (d > first) tg_put_char(w, ',');
        tg_put_range(w, low[d], high[d]);
    }
    tg_put_char(w, ')');
}

/* Drop leading dimensions until the longest coordinate that there is has room; the last two stay. */
int32_t tg_label_first_dim(const tg_layout *l) {
    const int64_t zero[TG_MAX_NDIM] = {0};
    int64_t       last[TG_MAX_NDIM];
    int32_t       first = 0;
    for (int32_t d = 0; d < l->ndim; d++) last[d] = tg_max(l->shape[d] - 1, 0);
    for (; first + 2 < l->ndim; first++) {
        tg_writer counter = tg_writer_make(NULL, 0);
        tg_put_box(&counter, zero, last, first, l->ndim);
        if (counter.len <= LONGEST_BOX) break;
    }
    return first;
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

void tg_put_bytes_of(tg_writer *w, int64_t from, int64_t to, int32_t bits) {
    int64_t bit = 0;
    tg_put_place(w, from, bits);
    if (from == to) return;
    tg_put_text(w, "..");
    tg_put_int(w, byte_of(&bit, to, bits, bits - 1));
}

bool tg_label_core(tg_cell *cell, const tg_scene *s) {
    tg_writer w = tg_writer_make(cell->label, sizeof cell->label);
    if (!s->says_core || s->params->label != TG_LABEL_USUAL || cell->core < 0) return false;
    tg_put_text(&w, "core ");
    tg_put_int(&w, cell->core);
    (void)tg_writer_end(&w);
    return true;
}

void tg_label_offsets(char *label, size_t cap, const tg_scene *s, const tg_cell *cell, int32_t bits) {
    tg_writer w = tg_writer_make(label, cap);
    if (s->params->label == TG_LABEL_BYTE) tg_put_bytes_of(&w, cell->from, cell->to, bits);
    else if (s->params->label == TG_LABEL_ORDER && cell->unit >= 0 && tg_scene_is_coarse(s)) {
        tg_put_char(&w, '#');
        tg_put_int(&w, cell->unit);
    } else tg_put_range(&w, cell->from, cell->to);
    (void)tg_writer_end(&w);
}
