/* Packed matrices, band by band, with vectors of VEC bytes; see bands.c. */
#include "kernels/vector.inc.h"

typedef unsigned char V(octets) __attribute__((vector_size(VEC), may_alias));
typedef unsigned long long V(fields) __attribute__((vector_size(VEC), may_alias));

/* ---- groups of lines, folded ---- */

/* Fewer than a vector. */
TG_INLINE V(fields) V(load_part)(const uint8_t *s, int64_t n) {
    if (n >= VEC) return (V(fields))V(load)(s);
#if VEC == 64
    return (V(fields))_mm512_maskz_loadu_epi8(_bzhi_u64(~(uint64_t)0, (unsigned)(n < 0 ? 0 : n)), s);
#else
    uint8_t part[VEC] = {0};
    if (n > 0) memcpy(part, s, (size_t)n);
    return (V(fields))V(load)(part);
#endif
}

TG_INLINE V(fields) V(turned)(V(fields) x, int64_t turn) {
#if VEC == 64
    return (V(fields))_mm512_rolv_epi64((__m512i)x, _mm512_set1_epi64(turn));
#else
    return turn >= 0 ? x << turn : x >> -turn;
#endif
}

/* Bits of x where `mask` has ones, and else those of y. */
TG_INLINE V(fields) V(choose_bits)(V(fields) mask, V(fields) x, V(fields) y) {
#if VEC == 64
    enum { SECOND_ELSE_THIRD = 0xca };
    return (V(fields))_mm512_ternarylogic_epi64((__m512i)mask, (__m512i)x, (__m512i)y, SECOND_ELSE_THIRD);
#else
    return (x & mask) | (y & ~mask);
#endif
}

TG_INLINE V(fields) V(choose)(uint64_t mask, V(fields) x, V(fields) y) {
    return V(choose_bits)((V(fields)){0} + mask, x, y);
}

/* VEC bytes of packed lines, of field j. Bytes of lines that are not `whole` are read as far as rows go. */
TG_INLINE V(fields) V(fold_field)(int bits, bool whole, const terms *t, int64_t at, int j, int64_t n) {
    const int per = 8 / bits;
    V(fields) all = {0};
    TG_UNROLL
    for (int k = 0; k < per; k++) {
        const uint8_t *const s = t->line[j * per + k] + at;
        const V(fields)      x = whole ? (V(fields))V(load)(s) : V(load_part)(s, n);
        const V(fields)      y = V(turned)(x, t->turn[j * per + k]);
        all = k == 0 ? y : V(choose)(ones(bits) << k * bits, y, all);
    }
    return all;
}

/* Fields of a group, from `first` on. */
TG_INLINE void V(fold_group)(int bits, bool whole, uint8_t *to, const terms *t, int64_t at, int64_t rows, int first) {
    TG_UNROLL
    for (int j = 0; j < FIELDS(bits); j++) {
        const int64_t n = rows_of(bits, rows, first + j);
        TG_UNROLL
        for (int i = 0; i < LINE; i += VEC) {
            const V(fields) v = V(fold_field)(bits, whole, t, at + i, j, n - i);
            V(store)(to + j * SQUARE + i, (V(vec))v);
        }
    }
}

/* Of bytes, an element of each line of a group to one. */
TG_INLINE V(fields) V(join_fields)(int bits, bool nonzero, bool whole, const terms *t, int64_t at, int64_t n) {
    V(fields) all = {0};
    TG_UNROLL
    for (int k = 0; k < 8 / bits; k++) {
        const uint8_t *const s = t->line[k] + at;
        V(fields)            x = whole ? (V(fields))V(load)(s) : V(load_part)(s, n);
        if (nonzero) x = (V(fields))((V(octets))x != 0) & ones(1);
        all = k == 0 ? x : V(choose)(ones(bits) << k * bits, x << k * bits, all);
    }
    return all;
}

/* Bits of rows that begin k elements into a byte: those that come from the group, and from the one before. */
typedef struct V(shifts) {
    V(fields) own[8], before[8];
} V(shifts);

TG_INLINE V(shifts) V(shifts_of)(int bits, const terms *t) {
    V(shifts) m;
    for (int k = 1; k < 8 / bits; k++) {
        const uint64_t lows = (((uint64_t)1 << k * bits) - 1) * (~(uint64_t)0 / 255);
        m.own[k] = (V(fields)){0} + (t->begins[k] & ~lows);
        m.before[k] = (V(fields)){0} + (t->begins[k] & lows);
    }
    return m;
}

/* Bytes are rows of all fields in turn: those that begin inside of a byte of dst begin with the group before. */
TG_INLINE V(fields) V(shift_rows)(int bits, const V(shifts) *m, V(fields) before, V(fields) v) {
    V(fields) all = v;
    TG_UNROLL
    for (int k = 1; k < 8 / bits; k++) {
        all = V(choose_bits)(m->own[k], v << k * bits, all);
        all = V(choose_bits)(m->before[k], before >> (8 - k * bits), all);
    }
    return all;
}

/* What is read some groups later, into the first-level cache; or, from farther away, a chunk later, which is what waits
 * for it longest. */
TG_INLINE void V(fetch_lines)(int bits, int bytes, bool far, const terms *t, int64_t at, int64_t step) {
    enum { SOON = 16 };
    TG_UNROLL
    for (int k = 0; k < 8 / bits; k++) {
        const uint8_t *const s = t->line[k] + at + (far ? CHUNK : SOON) * step;
        for (int i = 0; i < bytes; i += LINE) TG_FETCH_AS(s + i, !far);
        TG_FETCH_AS(s + bytes - 1, !far);
    }
}

/* n groups that have all their lines, step apart. Functions of their own: among others gcc keeps on the stack what they
 * need. */
TG_INLINE void V(fold_packed)(int bits, bool whole, bool far, uint8_t *to, const terms *v, int64_t step, int64_t rows,
                              int first, int64_t n) {
    const terms t = *v; /* which no store may change */
    for (int64_t at = 0; n > 0; n--, at += step, to += LINE) {
        V(fold_group)(bits, whole, to, &t, at, rows, first);
        V(fetch_lines)(bits, LINE, far, &t, at, step);
    }
}

/* The same of bytes. The group before stays in registers. */
TG_INLINE void V(fold_bytes)(int bits, bool nonzero, bool alike, bool whole, bool far, uint8_t *to, const terms *v,
                             const terms *before, int64_t step, int64_t rows, int64_t n) {
    enum { VECTORS = BYTE_ROWS / VEC };
    const terms     t = *v;
    const V(shifts) m = V(shifts_of)(bits, &t);
    V(fields)       last[VECTORS] = {{0}};
    for (int i = 0; i < VECTORS; i++)
        if (!alike) last[i] = V(join_fields)(bits, nonzero, whole, before, i * VEC, rows - i * VEC);
    for (int64_t at = 0; n > 0; n--, at += step, to += LINE) {
        for (int i = 0; i < VECTORS; i++) {
            uint8_t *const  d = to + i * VEC / LINE * SQUARE + i * VEC % LINE;
            const V(fields) x = V(join_fields)(bits, nonzero, whole, &t, at + i * VEC, rows - i * VEC);
            V(store)(d, (V(vec))(alike ? x : V(shift_rows)(bits, &m, last[i], x)));
            last[i] = x;
        }
        V(fetch_lines)(bits, BYTE_ROWS, far, &t, at, step);
    }
}

/* `before`: of bytes, the group before. */
TG_INLINE void V(fold)(int bits, int kind, bool whole, bool far, uint8_t *to, const terms *t, const terms *before,
                       int64_t step, int64_t rows, int first, int64_t n) {
    const bool nonzero = (kind & NONZERO) != 0, alike = (kind & ALIKE) != 0;
    if (kind == PACKED) V(fold_packed)(bits, whole, far, to, t, step, rows, first, n);
    else V(fold_bytes)(bits, nonzero, alike, whole, far, to, t, before, step, rows, n);
}

typedef void V(folder)(uint8_t *to, const terms *t, const terms *before, int64_t step, int64_t rows, int first,
                       int64_t n, bool far);

#undef DEFINE_FOLDER
#define DEFINE_FOLDER(BITS, NAME, KIND)                                                                                \
    TG_OUTLINE void V(fold_##BITS##_##NAME)(uint8_t *to, const terms *t, const terms *before, int64_t step,            \
                                            int64_t rows, int first, int64_t n, bool far) {                            \
        if (rows != rows_of_band(BITS, KIND)) V(fold)(BITS, KIND, false, far, to, t, before, step, rows, first, n);    \
        else if (far) V(fold)(BITS, KIND, true, true, to, t, before, step, rows, first, n);                            \
        else V(fold)(BITS, KIND, true, false, to, t, before, step, rows, first, n);                                    \
    }

/* All groups of a chunk, those that lack lines one by one. */
TG_INLINE void V(fold_chunk)(int bits, int kind, V(folder) *fold, const bands *a, const chunk *c) {
    const int64_t step = a->src_col * (kind == PACKED ? 1 : 8 / bits), end = c->g + c->groups;
    terms         t, before;
    for (int64_t g = c->g, n; g < end; g += n) {
        n = g >= a->full_first && g < a->full_end ? tg_min(end, a->full_end) - g : 1;
        find_terms(bits, kind, &t, a, c, g);
        if (kind != PACKED && (kind & ALIKE) == 0) find_terms(bits, kind, &before, a, c, g - 1);
        fold(c->stage + (g - c->g) * LINE, &t, &before, step, c->rows, c->first, n, a->far);
    }
}

/* ---- bytes of groups, turned to rows ---- */

/* 16 bytes of each of some groups, from memory, which spares shuffles across lanes. */
TG_INLINE V(vec) V(lanes)(const uint8_t *s, int64_t step) {
#if VEC == 64
    __m512i v = _mm512_castsi128_si512(LOAD_16(s));
    v = _mm512_inserti32x4(v, LOAD_16(s + step), 1);
    v = _mm512_inserti32x4(v, LOAD_16(s + 2 * step), 2);
    return (V(vec))_mm512_inserti32x4(v, LOAD_16(s + 3 * step), 3);
#elif VEC == 32
    return (V(vec))_mm256_inserti128_si256(_mm256_castsi128_si256(LOAD_16(s)), LOAD_16(s + step), 1);
#else
    (void)step;
    return V(load)(s);
#endif
}

#undef EACH_LANE
#if VEC == 64
#  define EACH_LANE(X) X(0), X(1), X(2), X(3)
#elif VEC == 32
#  define EACH_LANE(X) X(0), X(1)
#else
#  define EACH_LANE(X) X(0)
#endif

/* Vector j with vector j + 8: after four rounds vectors and the bytes in each lane have changed places. */
TG_INLINE void V(turn_round)(V(vec) *out, const V(vec) *in) {
    TG_UNROLL
    for (int j = 0; j < 8; j++) {
        const V(octets) a = (V(octets))in[j], b = (V(octets))in[j + 8];
        out[2 * j] = (V(vec))__builtin_shufflevector(a, b, EACH_LANE(LOW));
        out[2 * j + 1] = (V(vec))__builtin_shufflevector(a, b, EACH_LANE(HIGH));
    }
}

/* 16 bytes of each of VEC groups become VEC bytes of 16 rows. */
TG_INLINE void V(strip)(uint8_t *d, int64_t step, const uint8_t *s, bool stream) {
    V(vec) a[16], b[16];
    TG_UNROLL
    for (int j = 0; j < 16; j++) a[j] = V(lanes)(s + j * LINE, 16 * LINE);
    V(turn_round)(b, a);
    V(turn_round)(a, b);
    V(turn_round)(b, a);
    V(turn_round)(a, b);
    TG_UNROLL
    for (int j = 0; j < 16; j++) V(put)(d + j * step, a[j], stream);
}

/* n rows, or some more. */
TG_OUTLINE void V(square)(uint8_t *d, int64_t step, const uint8_t *s, int64_t n) {
    for (int64_t r = 0; r < n; r += STRIP)
        for (int64_t c = 0; c < CHUNK; c += VEC) V(strip)(d + r * step + c, step, s + r + c * LINE, false);
}

TG_OUTLINE void V(square_stream)(uint8_t *d, int64_t step, const uint8_t *s, int64_t n) {
    for (int64_t r = 0; r < n; r += STRIP)
        for (int64_t c = 0; c < CHUNK; c += VEC) V(strip)(d + r * step + c, step, s + r + c * LINE, true);
}

/* ---- rows that wait ---- */

TG_INLINE void V(put_line)(uint8_t *d, const uint8_t *s, bool stream) {
    TG_UNROLL
    for (int i = 0; i < LINE; i += VEC) V(put)(d + i, V(load)(s + i), stream);
}

/* Bytes [from, to) of a line. By a mask the store is one to the whole line, and does not reach into the next one. */
TG_INLINE void V(put_part)(uint8_t *d, const uint8_t *s, int64_t from, int64_t to) {
#if VEC == 64
    const __mmask64 part = _bzhi_u64(~(uint64_t)0 << from, (unsigned)to);
    _mm512_mask_storeu_epi8(d, part, _mm512_loadu_si512(s));
#else
    memcpy(d + from, s + from, (size_t)(to - from));
#endif
}

/* n rows of which a chunk came that is neither the first nor the last one: a line of each leaves, and what is left of
 * the chunk waits. */
TG_INLINE void V(leave_between)(bool stream, bool claims, uint8_t *d, int64_t d_step, uint8_t *row, int64_t step,
                                int64_t n) {
    for (; n > 0; n--, d += d_step, row += step) {
        const int64_t inside = (int64_t)((uintptr_t)d % LINE);
        if (claims) TG_CLAIM(d + TG_CLAIMED_RUNS * d_step);
        V(put_line)(d - inside, row + LINE - inside, stream);
        V(put_line)(row, row + LINE, false);
    }
}

/* n rows of the first chunk, up to a line of dst, or of the last one of so many bytes, or both. */
TG_INLINE void V(leave_end)(const bands *a, const field *f, uint8_t *d, uint8_t *row, int64_t step, int64_t n,
                            int64_t bytes, bool first, bool last) {
    const int64_t d_step = a->dst_row;
    for (; n > 0; n--, d += d_step, row += step) {
        const int64_t inside = (int64_t)((uintptr_t)d % LINE), end = last ? inside + bytes : LINE;
        if (a->claims) TG_CLAIM(d + TG_CLAIMED_RUNS * d_step);
        if (a->late) keep_ends(f, row + LINE, d, bytes, first, last);
        V(put_part)(d - inside, row + LINE - inside, first ? inside : 0, tg_min(end, LINE));
        if (end > LINE) V(put_part)(d - inside + LINE, row + 2 * LINE - inside, 0, end - LINE);
        if (!last) V(put_line)(row, row + LINE, false);
    }
}

/* Of a field, n rows of the groups from g on. */
TG_INLINE void V(leave)(const bands *a, const field *f, uint8_t *d, uint8_t *row, int64_t step, int64_t n, int64_t g) {
    const int64_t bytes = tg_min(CHUNK, f->bytes - g);
    const bool    first = g == 0, last = g + CHUNK >= f->bytes;
    if (bytes <= 0) return;
    if (first || last) V(leave_end)(a, f, d, row, step, n, bytes, first, last);
    else if (a->stream) V(leave_between)(true, false, d, a->dst_row, row, step, n);
    else V(leave_between)(false, a->claims, d, a->dst_row, row, step, n);
}

/* ---- all of it ---- */

/* Of packed lines, fields are squares in the stage, and leave by themselves; of bytes, they are all rows in turn. */
TG_INLINE void V(chunk_out)(int bits, int kind, const bands *a, const chunk *c) {
    const int  per = 8 / bits;
    const bool direct = a->direct && c->groups == CHUNK && c->rows == rows_of_band(bits, kind);
    if (!a->late) keep_others(bits, kind, a, c);
    for (int64_t r = 0; kind != PACKED && r < c->rows; r += LINE)
        V(square)(a->waiting + r * WAITING + LINE, WAITING, c->stage + r * CHUNK, tg_min(c->rows - r, LINE));
    for (int i = 0; i < (kind == PACKED ? FIELDS(bits) : per); i++) {
        const int      j = c->first + i;
        const int64_t  n = rows_of(bits, c->rows, j);
        uint8_t *const from = c->stage + i * SQUARE, *const d = a->field[j].d + c->row / per * a->dst_row + c->g;
        uint8_t *const row = a->waiting + (kind == PACKED ? i * CHUNK : i) * WAITING;
        if (direct && a->stream) V(square_stream)(d, a->dst_row, from, n);
        else if (direct) V(square)(d, a->dst_row, from, n);
        else if (kind == PACKED) V(square)(row + LINE, WAITING, from, n);
        if (!direct) V(leave)(a, &a->field[j], d, row, (kind == PACKED ? 1 : per) * WAITING, n, c->g);
    }
}

TG_INLINE void V(all_bands)(int bits, int kind, V(folder) *fold, const bands *a) {
    const int64_t all = rows_of_band(bits, kind);
    chunk         c = {.stage = a->stage};
    const int     some = kind == PACKED ? FIELDS(bits) : 8 / bits;
    for (c.row = 0; c.row < a->rows; c.row += all) {
        c.rows = tg_min(all, a->rows - c.row);
        for (c.first = 0; c.first < 8 / bits; c.first += some)
            for (c.g = 0; c.g < a->groups; c.g += CHUNK) {
                c.groups = tg_min(CHUNK, a->groups - c.g);
                V(fold_chunk)(bits, kind, fold, a, &c);
                V(chunk_out)(bits, kind, a, &c);
            }
    }
}

#undef BANDS_OF
#define BANDS_OF(BITS, NAME, KIND)                                                                                     \
    case KIND: V(all_bands)(BITS, KIND, V(fold_##BITS##_##NAME), &a); break

#undef DEFINE_BANDS
#define DEFINE_BANDS(BITS)                                                                                             \
    DEFINE_FOLDER(BITS, packed, PACKED)                                                                                \
    DEFINE_FOLDER(BITS, bytes, BYTES)                                                                                  \
    DEFINE_FOLDER(BITS, alike, BYTES | ALIKE)                                                                          \
    DEFINE_FOLDER(BITS, bools, BYTES | NONZERO)                                                                        \
    DEFINE_FOLDER(BITS, bools_alike, BYTES | NONZERO | ALIKE)                                                          \
    static const uint8_t *V(bands_##BITS)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {        \
        uint8_t stage[FIELDS(BITS) * SQUARE] __attribute__((aligned(64)));                                             \
        uint8_t waiting[FIELDS(BITS) * CHUNK * WAITING + LINE] __attribute__((aligned(64)));                           \
        bands   a = bands_of(BITS, m, d, s, b);                                                                        \
        a.stage = stage;                                                                                               \
        a.waiting = waiting;                                                                                           \
        switch (kind_of(BITS, m, &a)) {                                                                                \
            BANDS_OF(BITS, packed, PACKED);                                                                            \
            BANDS_OF(BITS, bytes, BYTES);                                                                              \
            BANDS_OF(BITS, alike, BYTES | ALIKE);                                                                      \
            BANDS_OF(BITS, bools, BYTES | NONZERO);                                                                    \
            BANDS_OF(BITS, bools_alike, BYTES | NONZERO | ALIKE);                                                      \
        }                                                                                                              \
        return NULL;                                                                                                   \
    }

DEFINE_BANDS(1)
DEFINE_BANDS(2)
DEFINE_BANDS(4)
