/* Packed matrices, band by band, with vectors of VEC bytes; see bands.c. */
#include "kernels/vector.inc.h"
#include "kernels/lanes.inc.h"

typedef unsigned char V(octets) __attribute__((vector_size(VEC), may_alias));
typedef unsigned long long V(fields) __attribute__((vector_size(VEC), may_alias));

/* ---- groups of lines, folded ---- */

/* Fewer than a vector. */
TG_INLINE V(fields) V(load_part)(const uint8_t *s, int64_t n) {
    if (n >= VEC) return (V(fields))V(load)(s);
#if VEC == 64
    return (V(fields))_mm512_maskz_loadu_epi8(V(bytes_left)(n), s);
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
    enum { SECOND_BY_THIRD = 0xd8 }; /* else the first one, in whose register it is: masks stay where they are */
    return (V(fields))_mm512_ternarylogic_epi64((__m512i)y, (__m512i)x, (__m512i)mask, SECOND_BY_THIRD);
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

/* What is read some groups later, into the first-level cache; or a chunk later, which is what waits for it longest. */
TG_INLINE void V(fetch_lines)(int bits, int bytes, bool later, const terms *t, int64_t at, int64_t step) {
    enum { GROUPS = VEC == 64 ? 8 : 16 };
    TG_UNROLL
    for (int k = 0; k < 8 / bits; k++) {
        const uint8_t *const s = t->line[k] + at + (later ? CHUNK : GROUPS) * step;
        for (int i = 0; i < bytes; i += LINE) TG_FETCH_AS(s + i, !later);
        TG_FETCH_AS(s + bytes - 1, !later);
    }
}

/* ---- bytes of groups, turned to rows ---- */

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

#if VEC == 64
#  define EACH_WAITS LINE
#  include "kernels/bands_avx512.inc.h"
#  include "kernels/bands_halves_avx512.inc.h"
#  include "kernels/bands_leaving_avx512.inc.h"
#else
#  define EACH_WAITS WAITING
#  include "kernels/bands_waiting.inc.h"
#endif

/* ---- all of it ---- */

/* Bands one after the other, or region by region; what waits of each is kept for the next region. */
TG_INLINE void V(all_bands)(int bits, int kind, V(folder) *fold, bands *a) {
    const int64_t  rows = rows_of_band(bits, kind);
    uint8_t *const waiting = a->waiting;
    const int      some = is_packed(kind) ? fields_of(bits, kind) : 8 / bits;
    chunk          c = {.stage = a->stage, .lanes = VEC == 64};
    for (int64_t from = 0; from < a->groups; from += a->region)
        for (c.row = 0; c.row < a->rows; c.row += rows) {
            c.rows = tg_min(rows, a->rows - c.row);
            for (c.first = 0; c.first < 8 / bits; c.first += some) {
                const int64_t end = tg_min(from + a->region, a->groups);
                if (a->region < a->groups) a->waiting = waiting + c.row * LINE + c.first * square_of(kind);
                for (c.g = from; c.g < end; c.g += CHUNK) {
                    c.groups = tg_min(CHUNK, a->groups - c.g);
#if VEC == 64
                    if (kind == HALVES) fold_half_chunk(a, &c);
                    else
#endif
                        V(fold_chunk)(bits, kind, fold, a, &c);
                    V(chunk_out)(bits, kind, a, &c);
                }
            }
        }
}

/* Only vectors of 64 bytes fold by halves, and only single bits. */
#undef HAS_KIND
#define HAS_KIND(BITS, KIND) ((KIND) != HALVES || (VEC == 64 && (BITS) == 1))

#undef BANDS_OF
#define BANDS_OF(BITS, NAME, KIND)                                                                                     \
    case KIND: if (HAS_KIND(BITS, KIND)) V(all_bands)(BITS, KIND, V(fold_##BITS##_##NAME), a); break

/* With `waits` bytes for rows that wait. */
#undef TURN_BANDS
#define TURN_BANDS(BITS, NAME, waits)                                                                                  \
    TG_OUTLINE void V(NAME##_##BITS)(int kind, bands *a) {                                                             \
        uint8_t stage[FIELDS(BITS) * SQUARE + (waits)] __attribute__((aligned(64)));                                   \
        a->stage = stage;                                                                                              \
        a->waiting = stage + FIELDS(BITS) * SQUARE;                                                                    \
        V(turn_##BITS)(kind, a);                                                                                       \
    }

/* Only rows that wait with a line have room for regions. */
#undef TURN_REGIONS
#undef IN_REGIONS
#if VEC == 64
/* Are there several bands, around the caches, for which there is room to wait? Planners give lines of bytes one band,
 * and never more rows. */
static bool has_regions(int bits, const bands *a) {
    return a->stream && a->rows > tg_band_rows(bits, !a->bytes) && a->rows <= TG_BANDS_ROWS && tg_has_regions(a->cols);
}

#  define TURN_REGIONS(BITS) TURN_BANDS(BITS, by_regions, TG_BANDS_ROWS * LINE)
#  define IN_REGIONS(BITS)                                                                                             \
      if (has_regions(BITS, &a)) {                                                                                     \
          a.region = TG_REGION * (BITS) / 8;                                                                           \
          V(by_regions_##BITS)(kind, &a);                                                                              \
          return NULL;                                                                                                 \
      }
#else
#  define TURN_REGIONS(BITS)
#  define IN_REGIONS(BITS)
#endif

#undef DEFINE_BANDS
#define DEFINE_BANDS(BITS)                                                                                             \
    DEFINE_FOLDER(BITS, packed, PACKED)                                                                                \
    DEFINE_FOLDER(BITS, bytes, BYTES)                                                                                  \
    DEFINE_FOLDER(BITS, alike, BYTES | ALIKE)                                                                          \
    DEFINE_FOLDER(BITS, bools, BYTES | NONZERO)                                                                        \
    DEFINE_FOLDER(BITS, bools_alike, BYTES | NONZERO | ALIKE)                                                          \
    TG_OUTLINE void V(turn_##BITS)(int kind, bands *a) {                                                               \
        switch (kind) {                                                                                                \
            BANDS_OF(BITS, packed, HALVES);                                                                            \
            BANDS_OF(BITS, packed, PACKED);                                                                            \
            BANDS_OF(BITS, bytes, BYTES);                                                                              \
            BANDS_OF(BITS, alike, BYTES | ALIKE);                                                                      \
            BANDS_OF(BITS, bools, BYTES | NONZERO);                                                                    \
            BANDS_OF(BITS, bools_alike, BYTES | NONZERO | ALIKE);                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    TURN_BANDS(BITS, by_bands, FIELDS(BITS) * CHUNK * EACH_WAITS + LINE)                                               \
    TURN_REGIONS(BITS)                                                                                                 \
    static const uint8_t *V(bands_##BITS)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {        \
        const bool by_half = HAS_KIND(BITS, HALVES) && m->src.bits < 8 && m->halves;                                   \
        bands      a = bands_of(BITS, by_half, m, d, s, b);                                                            \
        const int  kind = kind_of(m, &a);                                                                              \
        IN_REGIONS(BITS)                                                                                               \
        V(by_bands_##BITS)(kind, &a);                                                                                  \
        return NULL;                                                                                                   \
    }

DEFINE_BANDS(1)
DEFINE_BANDS(2)
DEFINE_BANDS(4)
#undef EACH_WAITS
