/* CuTe's shape:stride text, for reading next to CuTe code.
 *
 * One mode per dimension, in their order; a dimension that is cut is a nested mode with the fastest
 * digit first: f16[8,128] in tiles of 64 is (8,(64,2)):(64,(1,512)). CuTe has no padding inside a
 * mode and no offset. */
#include "notation/notation.h"

static tg_status digits_of(tg_digits *f, const tg_layout *l, int32_t d, tg_error *err) {
    if (!tg_digits_of_dims(f, l, &d, 1))
        return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, d,
                           "dimension %d is folded with others, which CuTe's text cannot say", (int64_t)d);
    tg_digits_coalesce(f);
    int64_t above = f->size;
    for (int32_t i = 0; i < f->n; i++) {
        if (above % f->weight[i] != 0)
            return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, d,
                               "dimension %d is cut into tiles of %d, which do not divide %d; CuTe has no padding",
                               (int64_t)d, f->weight[i], above);
        above = f->weight[i];
    }
    return TG_OK;
}

static void put_mode(tg_writer *w, const tg_digits *f, bool strides) {
    if (f->n > 1) tg_put_char(w, '(');
    for (int32_t i = f->n; i-- > 0;) {
        const int64_t above = i > 0 ? f->weight[i - 1] : f->size;
        tg_put_int(w, strides ? f->stride[i] : above / f->weight[i]);
        if (i > 0) tg_put_char(w, ',');
    }
    if (f->n > 1) tg_put_char(w, ')');
}

tg_status tg_cute_format(char *buf, size_t cap, size_t *need, const tg_layout *in, tg_error *err) {
    tg_writer w = tg_writer_make(buf, cap);
    tg_layout l;
    tg_status s = tg_layout_coalesce(&l, in, err);
    if (s != TG_OK) return s;
    if (l.offset != 0) return tg_fail(err, TG_ERR_UNREPRESENTABLE, "CuTe layouts start at offset 0, not %d", l.offset);
    for (int32_t i = 0; i < l.nmodes; i++)
        if (l.mode[i].axis == TG_AXIS_COPY)
            return tg_fail(err, TG_ERR_UNREPRESENTABLE, "CuTe layouts hold one copy of each element");
    tg_digits f;
    for (int32_t d = 0; d < l.ndim; d++)
        if ((s = digits_of(&f, &l, d, err)) != TG_OK) return s;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) tg_put_char(&w, ':');
        if (l.ndim == 0) tg_put_char(&w, pass == 0 ? '1' : '0');
        else tg_put_char(&w, '(');
        for (int32_t d = 0; d < l.ndim; d++) {
            if (d > 0) tg_put_char(&w, ',');
            (void)digits_of(&f, &l, d, NULL); /* passed above */
            put_mode(&w, &f, pass == 1);
        }
        if (l.ndim > 0) tg_put_char(&w, ')');
    }
    *need = tg_writer_end(&w);
    return TG_OK;
}
