/* Bytes become two small layouts of one shape and a move between them; the result must be what plain
 * loops over tg_layout_offset give, to the last byte around the buffer, and tg_plan_verify must agree.
 *
 * The bytes are a program: shape and element type, then for each side splits, reorders, padding and
 * copies, reversals, dimensions of src that are expanded from one element, and one transposition of both. What an
 * operation refuses is skipped. The move is run whole, or as two boxes that share the tensor out; with the
 * instruction sets of this processor or fewer, and with hints.
 * Bit copies are compared with loops of our own; conversions are left to tg_plan_verify. */
#include <tegula/tegula.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MARGIN = 32, MAX_ELEMENTS = 2048, MAX_STORAGE = 1 << 16 };

typedef struct input {
    const uint8_t *p;
    size_t         left;
} input;

static int32_t take(input *in, int32_t below) {
    if (in->left == 0) return 0;
    in->left--;
    return *in->p++ % below;
}

static void require(bool holds) {
    if (!holds) abort();
}

/* ---- layouts ---- */

static int32_t memory_modes(const tg_layout *l) {
    int32_t n = 0;
    while (n < l->nmodes && l->mode[n].into == TG_TO_MEMORY) n++;
    return n;
}

static void reorder(tg_layout *l, input *in) {
    int32_t       order[TG_MAX_MODES];
    const int32_t n = memory_modes(l);
    for (int32_t i = 0; i < n; i++) order[i] = i;
    for (int32_t i = n - 1; i > 0; i--) {
        const int32_t j = take(in, i + 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    (void)tg_layout_reorder(l, l, order, NULL);
}

/* Padding or copies: modes that belong to no dimension, innermost or outermost. */
static void add_mode(tg_layout *l, input *in) {
    const int64_t n = 1 + take(in, 3);
    const int32_t at = take(in, 2) == 0 ? 0 : memory_modes(l);
    const bool    copies = take(in, 2) == 0;
    tg_layout     r = *l;
    if (r.nmodes == TG_MAX_MODES) return;
    memmove(&r.mode[at + 1], &r.mode[at], (size_t)(r.nmodes - at) * sizeof r.mode[0]);
    r.nmodes++;
    const tg_mode m = {n, copies ? n : 1, 1, 0, copies ? TG_AXIS_COPY : TG_AXIS_PAD, TG_TO_MEMORY};
    r.mode[at] = m;
    for (int32_t i = 0; i + 1 < r.nmodes; i++)
        if (r.chain[i] >= at) r.chain[i]++;
    r.chain[r.nmodes - 1] = (uint8_t)at; /* evaluation order: modes without an axis last, by number */
    for (int32_t i = r.nmodes - 1; i > 0 && r.mode[r.chain[i - 1]].axis < 0 && r.chain[i - 1] > r.chain[i]; i--) {
        const uint8_t t = r.chain[i];
        r.chain[i] = r.chain[i - 1];
        r.chain[i - 1] = t;
    }
    int32_t order[TG_MAX_MODES];
    for (int32_t i = 0; i < r.nmodes; i++) order[i] = i;
    if (tg_layout_reorder(&r, &r, order, NULL) == TG_OK) *l = r;
}

static void reverse(tg_layout *l, input *in) {
    const int32_t dim = take(in, l->ndim > 0 ? l->ndim : 1);
    if (dim < l->ndim && l->shape[dim] > 0) (void)tg_layout_slice(l, l, dim, l->shape[dim] - 1, -1, -1, NULL);
}

static tg_layout make_side(input *in, tg_dtype dtype, int32_t ndim, const int64_t *shape) {
    tg_layout l;
    require(tg_layout_strided(&l, dtype, ndim, shape, NULL, 0, NULL) == TG_OK);
    for (int32_t i = take(in, 5); i > 0; i--) {
        switch (take(in, 5)) {
        case 0: reorder(&l, in); break;
        case 1: add_mode(&l, in); break;
        case 2: reverse(&l, in); break;
        default: {
            const int32_t m = take(in, l.nmodes > 0 ? l.nmodes : 1);
            (void)tg_layout_split(&l, &l, m, 1 + take(in, 9), NULL);
        }
        }
    }
    return l;
}

/* A side some of whose dimensions repeat one element. */
static tg_layout make_expanded(input *in, tg_dtype dtype, int32_t ndim, const int64_t *shape) {
    int64_t short_shape[TG_MAX_NDIM];
    for (int32_t k = 0; k < ndim; k++) short_shape[k] = take(in, 6) == 0 ? 1 : shape[k];
    tg_layout l = make_side(in, dtype, ndim, short_shape);
    for (int32_t k = 0; k < ndim; k++) require(tg_layout_expand(&l, &l, k, shape[k], NULL) == TG_OK);
    return l;
}

typedef struct type_pair {
    tg_dtype  dtype;
    tg_format dst, src;
    int32_t   dst_bits, src_bits;
} type_pair;

static const type_pair pairs[] = {
    {TG_F16, TG_FORMAT_NATIVE, TG_FORMAT_NATIVE, 16, 16}, {TG_U8, TG_FORMAT_NATIVE, TG_FORMAT_NATIVE, 8, 8},
    {TG_F32, TG_FORMAT_NATIVE, TG_FORMAT_NATIVE, 32, 32}, {TG_C64, TG_FORMAT_NATIVE, TG_FORMAT_NATIVE, 64, 64},
    {TG_C128, TG_FORMAT_NATIVE, TG_FORMAT_NATIVE, 128, 128}, {TG_S4, TG_FORMAT_NATIVE, TG_FORMAT_NATIVE, 4, 4},
    {TG_U1, TG_FORMAT_NATIVE, TG_FORMAT_NATIVE, 1, 1},    {TG_F16, TG_SEN169_FP16, TG_FORMAT_NATIVE, 16, 16},
    {TG_F16, TG_FORMAT_NATIVE, TG_SEN169_FP16, 16, 16},   {TG_BF16, TG_SEN169_FP16, TG_FORMAT_NATIVE, 16, 16},
    {TG_S4, TG_FORMAT_NATIVE, TG_FORMAT_NATIVE, 4, 8},    {TG_S64, TG_IEEE_INT32, TG_FORMAT_NATIVE, 32, 64},
    {TG_U8, TG_FORMAT_NATIVE, TG_SENUINT32, 8, 32},       {TG_PRED, TG_SEN169_FP16, TG_FORMAT_NATIVE, 16, 8},
};

/* ---- naive ---- */

static bool get_bit(const uint8_t *p, int64_t bit) { return (p[bit / 8] >> (bit % 8) & 1) != 0; }

static void put_bit(uint8_t *p, int64_t bit, bool set) {
    p[bit / 8] = (uint8_t)((p[bit / 8] & ~(1 << (bit % 8))) | (int)set << (bit % 8));
}

static void put_element(uint8_t *dst, const tg_layout *d, int32_t m, int64_t to, const uint8_t *src, int64_t from,
                        uint8_t *seen) {
    for (; m < d->nmodes; m++) {
        if (d->mode[m].axis != TG_AXIS_COPY) continue;
        for (int64_t i = 0; i < d->mode[m].size; i++)
            put_element(dst, d, m + 1, to + i * d->mode[m].stride, src, from, seen);
        return;
    }
    for (int64_t b = 0; b < d->elem_bits; b++)
        put_bit(dst, to * d->elem_bits + b, get_bit(src, from * d->elem_bits + b));
    seen[to] = 1;
}

/* The halves of a dimension, each with the padding beside it. False if the plan cannot share padding out. */
static bool run_halves(const tg_plan_params *whole, int32_t dim, int64_t cut, uint8_t *dst, const uint8_t *src,
                       tg_status *status) {
    int64_t  begin[TG_MAX_NDIM] = {0}, end[TG_MAX_NDIM];
    tg_plan  low, high;
    tg_error err;
    memcpy(end, whole->dst->shape, sizeof end);
    tg_plan_params part = *whole;
    part.begin = begin;
    part.end = end;
    end[dim] = cut;
    tg_status made = tg_plan_init(&low, &part, &err);
    end[dim] = whole->dst->shape[dim];
    begin[dim] = cut;
    if (made == TG_OK) made = tg_plan_init(&high, &part, &err);
    if (made != TG_OK) {
        require(made == TG_ERR_UNSUPPORTED && whole->pad != NULL);
        return false;
    }
    *status = tg_plan_run(&high, dst, src, NULL, &err);
    if (*status == TG_OK) *status = tg_plan_run(&low, dst, src, NULL, &err);
    return true;
}

static void naive(uint8_t *dst, const tg_layout *d, const uint8_t *src, const tg_layout *s, const uint8_t *pad) {
    int64_t        coord[TG_MAX_NDIM] = {0};
    uint8_t *const seen = calloc((size_t)d->span + 1, 1);
    require(seen != NULL);
    for (int64_t n = tg_layout_numel(d); n > 0; n--) {
        put_element(dst, d, 0, tg_layout_offset(d, coord), src, tg_layout_offset(s, coord), seen);
        for (int32_t k = d->ndim; k-- > 0;) {
            if (++coord[k] < d->shape[k]) break;
            coord[k] = 0;
        }
    }
    for (int64_t i = 0; pad != NULL && i < d->span; i++)
        for (int64_t b = 0; seen[i] == 0 && b < d->elem_bits; b++) put_bit(dst, i * d->elem_bits + b, get_bit(pad, b));
    free(seen);
}

/* ---- one case ---- */

static void run_tasks(void *context, void (*task)(void *arg, size_t index), void *arg, size_t ntasks) {
    (void)context;
    while (ntasks-- > 0) task(arg, ntasks);
}

static uint8_t *noise(size_t n, uint32_t seed) {
    uint8_t *const p = malloc(n);
    require(p != NULL);
    for (size_t i = 0; i < n; i++) p[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
    return p;
}

static void check(const tg_layout *d, const tg_layout *s, int64_t dst_bytes, int64_t src_bytes, input *in) {
    static const uint8_t  pad_bytes[16] = {0x5b, 0xa7, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    const uint8_t *const  pad = take(in, 2) == 0 ? pad_bytes : NULL;
    const uint32_t        without[] = {0, TG_CPU_AVX512, TG_CPU_AVX512 | TG_CPU_AVX2 | TG_CPU_NEON};
    const tg_plan_params  params = {.dst = d, .src = s, .pad = pad, .threads = take(in, 5),
                                    .hint = (uint32_t)take(in, 3), .without = without[take(in, 3)]};
    const tg_executor     backwards = {run_tasks, NULL, 1 + take(in, 3)};
    const tg_executor    *e = take(in, 2) == 0 ? &backwards : NULL;
    const size_t          lead = (size_t)(MARGIN + take(in, 8)), dst_size = (size_t)dst_bytes + lead + MARGIN;
    tg_plan               p;
    tg_error              err;
    if (tg_plan_init(&p, &params, &err) != TG_OK) {
        require(err.message[0] != '\0');
        return;
    }
    uint8_t *const src = noise((size_t)src_bytes + 8, 1), *const got = noise(dst_size, 2),
                   *const want = noise(dst_size, 2);
    uint8_t *const  from = src + take(in, 8);
    tg_status       status = TG_OK;
    bool            equal = false;
    const int32_t dim = take(in, 8);
    const bool halves =
        dim < d->ndim && run_halves(&params, dim, take(in, (int32_t)d->shape[dim] + 1), got + lead, from, &status);
    for (int64_t i = 0; i < tg_plan_steps(&p) && status == TG_OK && !halves; i++)
        status = tg_plan_run_step(&p, i, got + lead, from, e, &err);
    require(status == TG_OK || status == TG_ERR_OVERFLOW);
    if (status == TG_OK && d->format == s->format && d->elem_bits == s->elem_bits) {
        naive(want + lead, d, from, s, pad);
        require(memcmp(got, want, dst_size) == 0);
    }
    require(memcmp(got, want, lead) == 0 && memcmp(got + dst_size - MARGIN, want + dst_size - MARGIN, MARGIN) == 0);
    require(tg_plan_verify(&equal, NULL, NULL, &params, got + lead, from, &err) == TG_OK);
    require(equal == (status == TG_OK));
    free(src);
    free(got);
    free(want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input           in = {data, size < 4096 ? size : 4096};
    const type_pair t = pairs[take(&in, (int32_t)(sizeof pairs / sizeof pairs[0]))];
    const int32_t   ndim = take(&in, 5);
    int64_t         shape[TG_MAX_NDIM] = {0}, numel = 1, dst_bytes, src_bytes;
    for (int32_t k = 0; k < ndim; k++) {
        shape[k] = take(&in, take(&in, 4) == 0 ? 90 : 9);
        numel *= shape[k];
        if (numel > MAX_ELEMENTS) return 0;
    }
    tg_layout d = make_side(&in, t.dtype, ndim, shape), s = make_expanded(&in, t.dtype, ndim, shape);
    d.format = t.dst;
    d.elem_bits = t.dst_bits;
    s.format = t.src;
    s.elem_bits = t.src_bits;
    if (ndim > 1 && take(&in, 3) == 0) { /* the same view of both is the same move */
        const int32_t i = take(&in, ndim), j = take(&in, ndim);
        require(tg_layout_transpose(&d, &d, i, j, NULL) == TG_OK && tg_layout_transpose(&s, &s, i, j, NULL) == TG_OK);
    }
    require(tg_layout_nbytes(&dst_bytes, &d, NULL) == TG_OK && tg_layout_nbytes(&src_bytes, &s, NULL) == TG_OK);
    if (dst_bytes > MAX_STORAGE || src_bytes > MAX_STORAGE) return 0;
    check(&d, &s, dst_bytes, src_bytes, &in);
    return 0;
}
