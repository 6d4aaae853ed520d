/* Bytes as a program of layout operations; after each step the post-conditions of tegula.h are
 * checked on every coordinate. Shapes stay small so that looking at all of them is cheap. */
#include <tegula/tegula.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_ELEMENTS = 512 };

typedef struct bytes {
    const uint8_t *at;
    size_t         left;
} bytes;

static uint8_t take(bytes *b) {
    if (b->left == 0) return 0;
    b->left--;
    return *b->at++;
}

static void require(bool holds) {
    if (!holds) abort();
}

static bool next(int64_t *coord, const tg_layout *l) {
    for (int32_t d = l->ndim; d-- > 0;) {
        if (++coord[d] < l->shape[d]) return true;
        coord[d] = 0;
    }
    return false;
}

/* How an operation maps coordinates of its result to coordinates of its operand. */
typedef struct step {
    int     op;
    int32_t dim, dim1;
    int64_t start, stop, step;
} step;

static void source_coord(int64_t *src, const int64_t *dst, const tg_layout *in, const tg_layout *out, const step *s) {
    memcpy(src, dst, sizeof(int64_t) * TG_MAX_NDIM);
    int64_t number = 0;
    switch (s->op) {
    case 4: src[s->dim] = dst[s->dim1]; src[s->dim1] = dst[s->dim]; break;
    case 5: src[s->dim] = s->start + s->step * dst[s->dim]; break;
    case 6: /* reshape */
        for (int32_t d = 0; d < out->ndim; d++) number = number * out->shape[d] + dst[d];
        for (int32_t d = in->ndim; d-- > 0; number /= in->shape[d]) src[d] = number % in->shape[d];
        break;
    case 7: if (in->shape[s->dim] == 1) src[s->dim] = 0; break;
    case 8: memmove(&src[s->dim], &dst[s->dim + 1], sizeof(int64_t) * (size_t)(TG_MAX_NDIM - 1 - s->dim)); break;
    default: break;
    }
}

static void check(const tg_layout *in, const tg_layout *out, const step *s) {
    tg_error err;
    require(tg_layout_validate(out, &err) == TG_OK);
    if (tg_layout_numel(out) == 0 || tg_layout_numel(out) > MAX_ELEMENTS) return;
    int64_t coord[TG_MAX_NDIM] = {0}, src[TG_MAX_NDIM], found[TG_MAX_NDIM] = {0};
    do {
        const int64_t offset = tg_layout_offset(out, coord);
        source_coord(src, coord, in, out, s);
        if (s->op != 2) require(offset == tg_layout_offset(in, src));
        tg_slot slot;
        if (tg_layout_coord(&slot, found, out, offset, NULL) == TG_OK)
            require(slot == TG_SLOT_DATA && tg_layout_offset(out, found) == offset);
    } while (next(coord, out));
}

static void check_equality(const tg_layout *a, const tg_layout *b) {
    bool       equal = false, really = true;
    tg_witness w;
    int64_t    coord[TG_MAX_NDIM] = {0};
    if (tg_layout_numel(a) == 0 || tg_layout_numel(a) > MAX_ELEMENTS) return;
    if (tg_layout_equal(&equal, &w, a, b, false, NULL) != TG_OK) return;
    if (w.what == TG_DIFFERENT_SHAPE || w.what == TG_DIFFERENT_WIDTH || w.what == TG_DIFFERENT_COPIES) return;
    do really = really && tg_layout_offset(a, coord) == tg_layout_offset(b, coord);
    while (next(coord, a));
    require(equal == really);
    if (!equal) require(tg_layout_offset(a, w.coord) == w.a && tg_layout_offset(b, w.coord) == w.b && w.a != w.b);
}

static int32_t memory_modes(const tg_layout *l) {
    int32_t n = 0;
    while (n < l->nmodes && l->mode[n].into == TG_TO_MEMORY) n++;
    return n;
}

static tg_status apply(tg_layout *out, const tg_layout *in, step *s, bytes *b) {
    const int32_t n = memory_modes(in), nd = in->ndim;
    const int32_t m = n > 0 ? take(b) % n : 0;
    s->dim = nd > 0 ? take(b) % nd : 0;
    s->dim1 = nd > 0 ? take(b) % nd : 0;
    switch (s->op) {
    case 0: return tg_layout_split(out, in, m, take(b) % 6, NULL);
    case 1: return tg_layout_merge(out, in, m, NULL);
    case 2: {
        int32_t order[TG_MAX_MODES];
        for (int32_t i = 0; i < n; i++) order[i] = i;
        for (int32_t i = n; i > 1; i--) {
            const int32_t j = take(b) % i, t = order[i - 1];
            order[i - 1] = order[j];
            order[j] = t;
        }
        return tg_layout_reorder(out, in, order, NULL);
    }
    case 3: return tg_layout_coalesce(out, in, NULL);
    case 4: return tg_layout_transpose(out, in, s->dim, s->dim1, NULL);
    case 5:
        if (nd == 0) return TG_ERR_ARGUMENT;
        s->step = (int8_t)take(b) % 5;
        s->start = take(b) % 9;
        s->stop = (int64_t)(take(b) % 10) - 1;
        return tg_layout_slice(out, in, s->dim, s->start, s->stop, s->step, NULL);
    case 6: {
        int64_t shape[4];
        const int32_t k = take(b) % 5;
        for (int32_t d = 0; d < k; d++) shape[d] = take(b) % 13;
        int64_t rest = tg_layout_numel(in); /* make the last size fit, where it can */
        for (int32_t d = 0; d + 1 < k; d++) rest = shape[d] > 0 ? rest / shape[d] : rest;
        if (k > 0) shape[k - 1] = rest;
        return tg_layout_reshape(out, in, k, shape, NULL);
    }
    case 7: return nd == 0 ? TG_ERR_ARGUMENT : tg_layout_expand(out, in, s->dim, take(b) % 5, NULL);
    case 8: return tg_layout_unsqueeze(out, in, s->dim, NULL);
    default: return TG_ERR_ARGUMENT;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bytes     b = {data, size};
    tg_layout l, first;
    int64_t   shape[3], strides[3];
    if (size > 4096) return 0;
    if (take(&b) % 3 == 0 && b.left > 1) { /* start from text */
        tg_desc      desc;
        const size_t n = take(&b) % b.left;
        if (tg_desc_parse(&desc, (const char *)b.at, n, NULL) != TG_OK || tg_layout_numel(&desc.layout) > MAX_ELEMENTS)
            return 0;
        l = desc.layout;
        b.at += n;
        b.left -= n;
    } else {
        const int32_t ndim = take(&b) % 4;
        const bool    dense = take(&b) % 2 == 0;
        for (int32_t d = 0; d < ndim; d++) {
            shape[d] = take(&b) % 9;
            strides[d] = (int8_t)take(&b) % 17;
        }
        if (tg_layout_strided(&l, TG_F16, ndim, shape, dense ? NULL : strides, take(&b) % 3, NULL) != TG_OK) return 0;
    }
    first = l;
    for (int k = 0; k < 24 && b.left > 0; k++) {
        step      s = {.op = take(&b) % 9};
        tg_layout out;
        if (apply(&out, &l, &s, &b) != TG_OK) continue;
        check(&l, &out, &s);
        if (s.op < 4) check_equality(&l, &out);
        l = out;
    }
    check_equality(&first, &l);
    return 0;
}
