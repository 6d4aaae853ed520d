#include "graph/coordinate.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"

/* ---- digits --------------------------------------------------------------------------- */

static int64_t range_of(const tg_term *t, const int64_t *ranges) {
    int64_t range = t->loop == TG_LOOP_UNKNOWN ? t->extent : ranges[t->loop];
    if (t->extent > 0 && t->extent < range) range = t->extent;
    return t->modulus > 0 && t->modulus < range ? t->modulus : range;
}

static void add_term(tg_coordinate *out, const tg_dims *dims, int64_t stride, const tg_term *t,
                     const int64_t *ranges) {
    const int64_t loop_range = t->loop == TG_LOOP_UNKNOWN ? t->extent : ranges[t->loop];
    tg_digit_part p;
    const int64_t range = range_of(t, ranges);
    if (!tg_read_term(&p, dims, stride, t->step, range)) return;
    out->part[out->nparts++] = (tg_part){t->loop,  p.step,   p.wrap,
                                         p.stride, t->modulus < loop_range ? t->modulus : 0, range, p.uneven};
}

void tg_coordinate_of(tg_coordinate *out, const tg_dims *dims, int32_t d, const int64_t *ranges,
                      const tg_access *access) {
    out->nparts = 0;
    out->offset = 0;
    if (!tg_dims_walked(dims, d)) return;
    const int64_t stride = dims->stride[d];
    for (int32_t i = 0; i < access->nterms; i++) add_term(out, dims, stride, &access->terms[i], ranges);
    out->offset = tg_exact_offset(dims, access->offset, stride);
}

uint32_t tg_coordinate_loops(const tg_coordinate *c) {
    uint32_t loops = 0;
    for (int32_t i = 0; i < c->nparts; i++)
        if (c->part[i].loop != TG_LOOP_UNKNOWN) loops |= UINT32_C(1) << c->part[i].loop;
    return loops;
}

int32_t tg_coordinate_single(int64_t *modulus, const tg_coordinate *c, const int64_t *ranges) {
    if (c->nparts != 1 || c->part[0].loop == TG_LOOP_UNKNOWN) return -1;
    const tg_part *p = &c->part[0];
    if (p->uneven) return -1;
    if (p->step != p->stride || p->wrap % p->stride != 0) return -1;
    const int64_t wrap = p->wrap / p->stride;
    *modulus = wrap;
    if (p->modulus == 0) return p->loop;
    if (wrap != 0 && p->modulus % wrap != 0) return -1;
    if (wrap == 0 && p->modulus < ranges[p->loop]) *modulus = p->modulus;
    return p->loop;
}

/* ---- sticks --------------------------------------------------------------------------- */

static bool has_unknown(const tg_coordinate *c) {
    for (int32_t i = 0; i < c->nparts; i++)
        if (c->part[i].loop == TG_LOOP_UNKNOWN) return true;
    return false;
}

static void judge_stick(tg_stick *out, const tg_coordinate *c, const int64_t *ranges, int64_t stick) {
    tg_stick_place place = {.moves = c->nparts > 0, .offset = c->offset};
    out->loop = tg_coordinate_single(&place.modulus, c, ranges);
    place.single = out->loop >= 0;
    if (place.single) place.range = c->part[0].range;
    out->kind = tg_judge_stick(&place, stick);
    if (out->kind == TG_STICK_BAD) out->loop = -1;
}

/* Whether coordinates say all that the access reads. */
static bool reads_whole(const tg_dims *dims, const int64_t *ranges, const tg_access *access) {
    for (int32_t i = 0; i < access->nterms; i++)
        if (range_of(&access->terms[i], ranges) > 1 && !tg_reads_whole(dims, access->terms[i].step)) return false;
    return true;
}

void tg_stick_of(tg_stick *out, const tg_spyre *layout, const int64_t *ranges, const tg_access *access) {
    const tg_dims dims = tg_device_dims(layout);
    const int32_t last = layout->rank - 1;
    tg_coordinate c;
    bool          outermost = true, known = true;
    *out = (tg_stick){.loop = -1};
    for (int32_t d = 0; d < last; d++) {
        tg_coordinate_of(&c, &dims, d, ranges, access);
        out->others |= tg_coordinate_loops(&c);
        known = known && !has_unknown(&c);
        if (outermost && layout->device_size[d] > 1) {
            out->unknown_outermost = has_unknown(&c);
            outermost = false;
        }
    }
    tg_coordinate_of(&c, &dims, last, ranges, access);
    judge_stick(out, &c, ranges, layout->device_size[last]);
    if (known && !has_unknown(&c)) out->unknown_outermost = true; /* data says nothing: there is one place */
    if (!reads_whole(&dims, ranges, access)) {
        out->kind = TG_STICK_BAD;
        out->loop = -1;
    }
    if (out->loop >= 0) out->others &= ~(UINT32_C(1) << out->loop);
}

bool tg_sticks_compatible(const tg_stick *sticks, int32_t n) {
    uint32_t in_sticks = 0, elsewhere = 0;
    for (int32_t i = 0; i < n; i++) {
        if (sticks[i].kind == TG_STICK_LOOP) in_sticks |= UINT32_C(1) << sticks[i].loop;
        elsewhere |= sticks[i].others;
    }
    return (in_sticks & (in_sticks - 1)) == 0 && (in_sticks & elsewhere) == 0;
}

/* ---- text ----------------------------------------------------------------------------- */

static void put_loop(tg_writer *w, const tg_part *p) {
    if (p->modulus > 0) tg_put_text(w, "Mod(");
    if (p->loop == TG_LOOP_UNKNOWN) tg_put_char(w, '?');
    else tg_put_char(w, 'p');
    if (p->loop != TG_LOOP_UNKNOWN) tg_put_int(w, p->loop);
    if (p->modulus > 0) {
        tg_put_text(w, ", ");
        tg_put_int(w, p->modulus);
        tg_put_char(w, ')');
    }
}

/* "6*p0" */
static void put_product(tg_writer *w, int64_t factor, const tg_part *p) {
    if (factor != 1) {
        tg_put_int(w, factor);
        tg_put_char(w, '*');
    }
    put_loop(w, p);
}

/* "Mod(6*p0, 64)", or without a modulus "6*p0" */
static void put_wrapped(tg_writer *w, int64_t factor, int64_t wrap, const tg_part *p) {
    if (wrap > 0) tg_put_text(w, "Mod(");
    put_product(w, factor, p);
    if (wrap == 0) return;
    tg_put_text(w, ", ");
    tg_put_int(w, wrap);
    tg_put_char(w, ')');
}

static void put_part(tg_writer *w, const tg_part *p) {
    const int64_t common = tg_gcd(tg_gcd(p->step, p->wrap), p->stride);
    const int64_t step = p->step / common, wrap = p->wrap / common, stride = p->stride / common;
    if (stride == 1) {
        put_wrapped(w, step, wrap, p);
        return;
    }
    tg_put_text(w, "floor(");
    put_wrapped(w, step, wrap, p);
    tg_put_char(w, '/');
    tg_put_int(w, stride);
    tg_put_char(w, ')');
}

static void put_coordinate(tg_writer *w, const tg_coordinate *c) {
    for (int32_t i = 0; i < c->nparts; i++) {
        if (i > 0) tg_put_text(w, " + ");
        put_part(w, &c->part[i]);
    }
    if (c->offset == 0 && c->nparts > 0) return;
    if (c->nparts > 0) tg_put_text(w, " + ");
    tg_put_int(w, c->offset);
}

tg_status tg_check_access(int32_t nloops, const tg_access *access, tg_error *err) {
    if (nloops < 0 || nloops > TG_MAX_LOOPS || access->nterms < 0 || access->nterms > 2 * TG_MAX_LOOPS)
        return tg_fail(err, TG_ERR_LIMIT, "%d loops and %d terms are over the limits of %d and %d", (int64_t)nloops,
                       (int64_t)access->nterms, (int64_t)TG_MAX_LOOPS, (int64_t)(2 * TG_MAX_LOOPS));
    if (access->offset < 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "an access begins at %d, before its tensor", access->offset);
    for (int32_t i = 0; i < access->nterms; i++) {
        const tg_term *t = &access->terms[i];
        if (t->step < 0)
            return tg_fail(err, TG_ERR_ARGUMENT, "an access steps by %d along loop %d: it runs backwards", t->step,
                           (int64_t)t->loop);
        if (t->modulus < 0 || t->extent < 0 || t->loop < TG_LOOP_UNKNOWN || t->loop >= nloops)
            return tg_fail(err, TG_ERR_ARGUMENT, "term %d has no loop, or a modulus or extent below 0", (int64_t)i);
    }
    return TG_OK;
}

tg_status tg_coordinate_format(char *buf, size_t cap, size_t *need, int32_t ndim, const int64_t *size,
                               const int64_t *stride, int32_t dim, int32_t nloops, const int64_t *ranges,
                               const tg_access *access, tg_error *err) {
    const tg_dims   dims = {ndim, size, stride};
    tg_writer       w = tg_writer_make(buf, cap);
    tg_coordinate   c;
    const tg_status s = tg_check_access(nloops, access, err);
    if (s != TG_OK) return s;
    if (dim < 0 || dim >= ndim)
        return tg_fail(err, TG_ERR_ARGUMENT, "dimension %d is not in [0, %d)", (int64_t)dim, (int64_t)ndim);
    tg_coordinate_of(&c, &dims, dim, ranges, access);
    put_coordinate(&w, &c);
    *need = tg_writer_end(&w);
    return TG_OK;
}
