#include "line_copies.h"

#include <stdio.h>
#include <string.h>

static const char *const order_names[TOUR_ORDERS] = {"dst", "src", "bands", "blocks"};
static const char *const stores_names[LINES_STORES] = {"plain", "around", "next", "512", "1024"};

/* ---- copies ---- */

#if defined(__x86_64__)
#  include "turning.h"

#  define JOINING __attribute__((target("avx512f,avx512bw,avx512dq,avx512vbmi")))
#  define JOINER JOINING INLINED

enum { JOINED = 8 }; /* sticks with loads of their own */

INLINE __m512i get(const uint8_t *s) { return _mm512_loadu_si512((const void *)s); }

INLINE void put(uint8_t *d, __m512i v, bool around) {
    if (around) _mm512_stream_si512((void *)d, v);
    else _mm512_store_si512((void *)d, v);
}

/* A load that is not stored. */
INLINE void only_get(const uint8_t *s) { __asm__ volatile("" : : "v"(get(s))); }

INLINE void fetch(const uint8_t *s) { _mm_prefetch((const char *)s, _MM_HINT_T1); }

/* Two lines of those that a group of `wide` tiles fetches, row by row, beginning with number l. */
INLINE void fetch_ahead(const touched *t, const uint8_t *later, int64_t l, int64_t wide) {
    const uint8_t *const s = later + t->from[l / (2 * wide) * 2] + l % (2 * wide) * LINE;
    fetch(s);
    fetch(s + LINE);
}

/* Where a tile is, what is to be fetched meanwhile, and if that is for a group of `wide` tiles, which of them it is. */
typedef struct spot {
    uint8_t       *d;
    const uint8_t *s, *later; /* NULL: nothing */
    int64_t        wide, at;
} spot;

INLINE spot spot_at(uint8_t *d, const uint8_t *s, const uint8_t *later, int64_t wide, int64_t at) {
    const spot x = {(uint8_t *)((uintptr_t)d & ~(uintptr_t)(LINE - 1)), s, later, wide, at};
    return x;
}

/* Few lines: nto and nfrom are constants, and the places stay in registers. */
INLINE void copy_few(const int64_t *to, const int64_t *from, int nto, int nfrom, spot x, bool around) {
    const int both = nto < nfrom ? nto : nfrom;
    UNROLL
    for (int k = 0; k < nfrom; k++) {
        if (x.later != NULL) fetch(x.later + from[k]);
        if (k < both) put(x.d + to[k], get(x.s + from[k]), around);
        else only_get(x.s + from[k]);
    }
}

/* Rounded as ties away from zero. The exponent grows by 16, the fraction loses a bit. */
INLINE __m512i dlf16_of_f16(__m512i x) {
    const __m512i sign = _mm512_set1_epi16((short)0x8000), m = _mm512_andnot_si512(sign, x);
    return _mm512_or_si512(_mm512_avg_epu16(m, _mm512_set1_epi16(0x4000)), _mm512_and_si512(sign, x));
}

/* Rounded to even, in the upper halves. */
INLINE __m512i rounded_bf16(__m512i x) {
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(x, 16), _mm512_set1_epi32(1));
    return _mm512_add_epi32(_mm512_add_epi32(x, _mm512_set1_epi32(0x7fff)), odd);
}

/* The upper halves of 16 numbers, and of 16 more. */
INLINE __m512i bf16_of_f32(__m512i x, __m512i y) {
    const __m512i upper = _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27,
                                           25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    return _mm512_permutex2var_epi16(rounded_bf16(x), upper, rounded_bf16(y));
}

/* A stick of two lines out of two of float16, or of four of float32: nfrom, a constant. */
INLINE void copy_converted(const int64_t *to, const int64_t *from, int nfrom, spot x, bool around) {
    UNROLL
    for (int k = 0; k < 2; k++) {
        UNROLL
        for (int i = k * nfrom / 2; i < (k + 1) * nfrom / 2; i++)
            if (x.later != NULL) fetch(x.later + from[i]);
        const __m512i v = nfrom == 2 ? dlf16_of_f16(get(x.s + from[k]))
                                     : bf16_of_f32(get(x.s + from[2 * k]), get(x.s + from[2 * k + 1]));
        put(x.d + to[k], v, around);
    }
}

/* Sticks at even steps on both sides, in runs. */
INLINE void copy_rows(const lines *l, spot x, bool around) {
    const touched *const t = l->touched;
    for (int64_t k = 0; k < t->nfrom; k += 2 * l->rows) {
        uint8_t       *d = x.d + t->to[k];
        const uint8_t *s = x.s + t->from[k];
        for (int64_t i = 0; i < l->rows; i++, d += l->to_step, s += l->from_step) {
            if (x.wide > 0) {
                fetch_ahead(t, x.later, x.at * t->nfrom + k + 2 * i, x.wide);
            } else if (x.later != NULL) {
                fetch(x.later + (s - x.s));
                fetch(x.later + (s - x.s) + LINE);
            }
            const __m512i v = get(s), w = get(s + LINE);
            put(d, v, around);
            put(d + LINE, w, around);
        }
    }
}

/* Squares: 64 bytes of 64 / width lines become as many, turned. A tile is two by two of them. */
INLINE void copy_turned(const touched *t, spot x, int width, bool around) {
    const int n = LINE / width, each = n / 4;
    for (int p = 0; p < 2; p++)
        for (int r = 0; r < 2; r++) {
            const int64_t *const from = t->from + 2 * p * n + r, *const to = t->to + 2 * r * n + p,
                          *const ahead = t->from + (2 * p + r) * n;
            __m512i v[LINE];
            UNROLL
            for (int l = 0; l < 4; l++) {
                UNROLL
                for (int j = 0; j < each; j++) v[l * each + j] = get(x.s + from[2 * (l * each + j)]);
                turn_elements(width, &v[l * each]);
            }
            UNROLL
            for (int i = 0; i < each; i++) {
                turn_lanes(&v[i], each);
                UNROLL
                for (int l = 0; l < 4; l++) {
                    put(x.d + to[2 * (l * each + i)], v[l * each + i], around);
                    if (x.later != NULL) fetch(x.later + ahead[4 * i + l]);
                }
            }
        }
}

/* Sticks of one element and zeros, side by side, since memory may take lines of zeros faster than others. */
INLINE void copy_spread(const touched *t, spot x, bool around) {
    uint16_t element;
    memcpy(&element, x.s, sizeof element);
    const __m512i        first = _mm512_zextsi128_si512(_mm_cvtsi32_si128(element)), zeros = _mm512_setzero_si512();
    const uint8_t *const end = x.d + t->nto * LINE;
    for (int64_t k = 0; k < t->nfrom; k++) {
        if (x.later != NULL) fetch(x.later + t->from[k]);
        only_get(x.s + t->from[k]);
    }
    for (uint8_t *d = x.d; d < end; d += 2 * LINE) {
        put(d, first, around);
        put(d + LINE, zeros, around);
    }
}

static bool is_spread(const touched *t) {
    return t->of_dst.nruns == 0 && t->of_dst.bytes == 2 * LINE && t->to[t->nto - 1] == (t->nto - 1) * LINE;
}

/* Anything: what has no counterpart is only loaded, or stored once more. */
INLINE void copy_uneven(const touched *t, spot x, bool around) {
    const int64_t both = t->nto < t->nfrom ? t->nto : t->nfrom;
    __m512i       v = _mm512_setzero_si512();
    for (int64_t k = 0; k < both; k++) {
        if (x.later != NULL) fetch(x.later + t->from[k]);
        v = get(x.s + t->from[k]);
        put(x.d + t->to[k], v, around);
    }
    for (int64_t k = both; k < t->nfrom; k++) {
        if (x.later != NULL) fetch(x.later + t->from[k]);
        only_get(x.s + t->from[k]);
    }
    for (int64_t k = both; k < t->nto; k++) put(x.d + t->to[k], v, around);
}

typedef enum tile_kind { TILE_FEW, TILE_CONVERTED, TILE_ROWS, TILE_SPREAD, TILE_UNEVEN, TILE_TURNED } tile_kind;

/* TILE_FEW, TILE_CONVERTED: nto lines are stored, of nfrom; nto is 0 otherwise. width: of what TILE_TURNED turns. */
INLINE void copy_tiles(const lines *l, uint8_t *d, const uint8_t *s, const tour *n, bool around, bool next,
                       tile_kind kind, int nto, int nfrom, int width) {
    const loop outer = n->nest.loop[n->nest.nloops - 3], middle = n->nest.loop[n->nest.nloops - 2],
               inner = n->nest.loop[n->nest.nloops - 1];
    const int64_t ahead = n->next;
    int64_t       to[4], from[4];
    for (int k = 0; k < nto; k++) to[k] = l->touched->to[k];
    for (int k = 0; k < nfrom; k++) from[k] = l->touched->from[k];
    for (int64_t i = 0; i < outer.n; i++)
        for (int64_t j = 0; j < middle.n; j++) {
            uint8_t       *d1 = d + i * outer.dst + j * middle.dst;
            const uint8_t *s1 = s + i * outer.src + j * middle.src;
            for (int64_t k = 0; k < inner.n; k++, d1 += inner.dst, s1 += inner.src) {
                const spot x = spot_at(d1, s1, next ? s1 + ahead : NULL, 0, 0);
                switch (kind) {
                case TILE_FEW: copy_few(to, from, nto, nfrom, x, around); break;
                case TILE_CONVERTED: copy_converted(to, from, nfrom, x, around); break;
                case TILE_ROWS: copy_rows(l, x, around); break;
                case TILE_SPREAD: copy_spread(l->touched, x, around); break;
                case TILE_UNEVEN: copy_uneven(l->touched, x, around); break;
                case TILE_TURNED: copy_turned(l->touched, x, width, around); break;
                }
            }
        }
}

INLINE void copy_groups(const lines *l, uint8_t *d, const uint8_t *s, const tour *n, int64_t wide) {
    const loop *const in = &n->nest.loop[n->nest.nloops - LEAST_LOOPS], *const rows = &in[1], *const tiles = &in[2];
    for (int64_t i = 0; i < in[0].n; i++, d += in[0].dst, s += in[0].src)
        for (int64_t j = 0; j < rows->n; j++) {
            uint8_t *const       d1 = d + j * rows->dst;
            const uint8_t *const s1 = s + j * rows->src;
            for (int64_t k = 0; k < tiles->n; k++) {
                const int64_t        group = k - k % wide + wide;
                const uint8_t *const later = group < tiles->n ? s1 + group * tiles->src : s1 + rows->src;
                copy_rows(l, spot_at(d1 + k * tiles->dst, s1 + k * tiles->src, later, wide, k % wide), true);
            }
        }
}

/* Bytes of two lines, from `past` bytes before the end of the first one on. */
JOINER __m512i bytes_across(int64_t past) {
    const __m512i first = _mm512_set_epi64(0x3f3e3d3c3b3a3938, 0x3736353433323130, 0x2f2e2d2c2b2a2928,
                                           0x2726252423222120, 0x1f1e1d1c1b1a1918, 0x1716151413121110,
                                           0x0f0e0d0c0b0a0908, 0x0706050403020100);
    return _mm512_add_epi8(first, _mm512_set1_epi8((char)(LINE - past)));
}

/* n sticks, a constant, side by side in dst from x.d on. Their lines are loaded once, as they are. */
JOINER void join_sticks(spot x, int64_t apart, const uint8_t *before, __m512i across, int n, bool around) {
    __m512i last = get(before + LINE);
    UNROLL
    for (int k = 0; k < n; k++) {
        if (x.later != NULL) {
            fetch(x.later + k * apart);
            fetch(x.later + k * apart + LINE);
        }
        const __m512i v = get(x.s + k * apart), w = get(x.s + k * apart + LINE);
        put(x.d + 2 * k * LINE, _mm512_permutex2var_epi8(last, across, v), around);
        put(x.d + (2 * k + 1) * LINE, _mm512_permutex2var_epi8(v, across, w), around);
        last = w;
    }
}

/* What is the same for all runs, by value: to look it up between stores would be to wait for them. */
typedef struct run {
    int64_t        n, apart, to_before; /* sticks; the last: from the first stick to the one before it */
    int64_t        ahead;               /* 0: nothing is fetched */
    const uint8_t *src;
} run;

JOINER void join_run(run r, uint8_t *d, const uint8_t *s, bool around) {
    const __m512i  across = bytes_across((int64_t)((uintptr_t)d % LINE));
    const uint8_t *before = s - r.src < -r.to_before ? s : s + r.to_before; /* the first run has none */
    int64_t        k = 0;
    for (; k + JOINED <= r.n; k += JOINED, d += JOINED * 2 * LINE, s += JOINED * r.apart) {
        join_sticks(spot_at(d, s, r.ahead != 0 ? s + r.ahead : NULL, 0, 0), r.apart, before, across, JOINED, around);
        before = s + (JOINED - 1) * r.apart;
    }
    for (; k < r.n; k++, d += 2 * LINE, s += r.apart) {
        join_sticks(spot_at(d, s, r.ahead != 0 ? s + r.ahead : NULL, 0, 0), r.apart, before, across, 1, around);
        before = s;
    }
}

/* Whole runs where the innermost loop is theirs, or else stick by stick. */
JOINER void join_tiles(const lines *l, uint8_t *d, const uint8_t *s, const tour *n, bool around, bool next) {
    const loop outer = n->nest.loop[n->nest.nloops - 3], middle = n->nest.loop[n->nest.nloops - 2],
               inner = n->nest.loop[n->nest.nloops - 1];
    const bool    whole = inner.dst == 2 * LINE;
    const int64_t runs = whole ? 1 : inner.n;
    const run     r = {whole ? inner.n : 1, l->apart, whole && inner.n == l->run ? l->to_last : -l->apart,
                       next ? n->next : 0, l->src};
    for (int64_t i = 0; i < outer.n; i++)
        for (int64_t j = 0; j < middle.n; j++) {
            uint8_t       *d1 = d + i * outer.dst + j * middle.dst;
            const uint8_t *s1 = s + i * outer.src + j * middle.src;
            for (int64_t k = 0; k < runs; k++, d1 += inner.dst, s1 += inner.src) join_run(r, d1, s1, around);
        }
}

#  define COPY(NAME, ...) \
      TARGET static void NAME(const lines *l, uint8_t *d, const uint8_t *s, const tour *n) { __VA_ARGS__; }
#  define COPIES(NAME, ...)                                              \
      COPY(NAME##_plain, copy_tiles(l, d, s, n, false, false, __VA_ARGS__)) \
      COPY(NAME##_around, copy_tiles(l, d, s, n, true, false, __VA_ARGS__)) \
      COPY(NAME##_next, copy_tiles(l, d, s, n, true, true, __VA_ARGS__))
COPIES(sticks, TILE_FEW, 2, 2, 0)
COPIES(halves, TILE_FEW, 2, 4, 0)
COPIES(pairs, TILE_FEW, 4, 4, 0)
COPIES(converted_sticks, TILE_CONVERTED, 2, 2, 0)
COPIES(converted_halves, TILE_CONVERTED, 2, 4, 0)
COPIES(rows, TILE_ROWS, 0, 0, 0)
COPIES(spread, TILE_SPREAD, 0, 0, 0)
COPIES(uneven, TILE_UNEVEN, 0, 0, 0)
COPIES(turned_1, TILE_TURNED, 0, 0, 1)
COPIES(turned_2, TILE_TURNED, 0, 0, 2)
COPIES(turned_4, TILE_TURNED, 0, 0, 4)
COPIES(turned_8, TILE_TURNED, 0, 0, 8)
COPY(rows_512, copy_groups(l, d, s, n, 4))
COPY(rows_1024, copy_groups(l, d, s, n, 8))

#  define JOIN(NAME, ...) \
      JOINING static void NAME(const lines *l, uint8_t *d, const uint8_t *s, const tour *n) { __VA_ARGS__; }
JOIN(joined_plain, join_tiles(l, d, s, n, false, false))
JOIN(joined_around, join_tiles(l, d, s, n, true, false))
JOIN(joined_next, join_tiles(l, d, s, n, true, true))

typedef void (*copy)(const lines *l, uint8_t *d, const uint8_t *s, const tour *n);

static copy copy_of(const lines *l) {
    static const copy sticks[] = {sticks_plain, sticks_around, sticks_next},
                      halves[] = {halves_plain, halves_around, halves_next},
                      pairs[] = {pairs_plain, pairs_around, pairs_next},
                      converted[][3] = {
                          {converted_sticks_plain, converted_sticks_around, converted_sticks_next},
                          {converted_halves_plain, converted_halves_around, converted_halves_next}},
                      rows[] = {rows_plain, rows_around, rows_next, rows_512, rows_1024},
                      joined[] = {joined_plain, joined_around, joined_next},
                      spread[] = {spread_plain, spread_around, spread_next},
                      uneven[] = {uneven_plain, uneven_around, uneven_next},
                      turned[][3] = {{turned_1_plain, turned_1_around, turned_1_next},
                                     {turned_2_plain, turned_2_around, turned_2_next},
                                     {turned_4_plain, turned_4_around, turned_4_next},
                                     {turned_8_plain, turned_8_around, turned_8_next}};
    if (l->run > 0) return joined[l->stores];
    if (l->width > 0) return turned[l->width == 8 ? 3 : l->width / 2][l->stores];
    const int32_t nto = l->touched->nto, nfrom = l->touched->nfrom;
    if (l->converted) return converted[nfrom / 4][l->stores];
    return nto == 2 && nfrom == 2 ? sticks[l->stores] : nto == 2 && nfrom == 4 ? halves[l->stores]
         : nto == 4 && nfrom == 4 ? pairs[l->stores] : l->rows > 0 ? rows[l->stores]
         : is_spread(l->touched) ? spread[l->stores] : uneven[l->stores];
}

static bool can_copy(void) { return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"); }
static bool can_join(void) { return can_copy() && __builtin_cpu_supports("avx512vbmi"); }

static void walk(const lines *l, copy inner, const tour *t, int32_t depth, uint8_t *d, const uint8_t *s) {
    if (depth == t->nest.nloops - LEAST_LOOPS) {
        inner(l, d, s, t);
        return;
    }
    const loop *const c = &t->nest.loop[depth];
    for (int64_t i = 0; i < c->n; i++) walk(l, inner, t, depth + 1, d + i * c->dst, s + i * c->src);
}

static void run_part(void *arg, size_t i) {
    const lines *const l = arg;
    for (int32_t k = 0; k < l->ntours; k++) {
        const tour *const t = &l->tour[i][k];
        walk(l, copy_of(l), t, 0, l->dst + t->nest.dst, l->src + t->nest.src);
    }
    if (l->stores != STORES_PLAIN) _mm_sfence();
}

#else

static bool can_copy(void) { return false; }
static bool can_join(void) { return false; }
static void run_part(void *arg, size_t i) {
    (void)arg;
    (void)i;
}

#endif

void lines_run(void *context) {
    lines *const l = context;
    if (l->executor == NULL) run_part(l, 0);
    else l->executor->run(l->executor->context, run_part, l, (size_t)l->executor->threads);
}

/* ---- ways ---- */

/* Rows of a stick each, at even steps on both sides: how many until a step differs; 0 where tiles are not such rows. */
static void find_rows(lines *l) {
    const touched *const t = l->touched;
    if (t->nfrom != t->nto || t->nfrom % 2 != 0 || t->nfrom < 4) return;
    const int64_t to = t->to[2] - t->to[0], from = t->from[2] - t->from[0];
    int64_t       rows = 0;
    for (int32_t k = 0; k < t->nto; k += 2) {
        if (t->to[k + 1] - t->to[k] != LINE || t->from[k + 1] - t->from[k] != LINE) return;
        const bool even = k > 0 && t->to[k] - t->to[k - 2] == to && t->from[k] - t->from[k - 2] == from;
        if (k > 0 && !even && rows == 0) rows = k / 2;
        if (k > 0 && rows > 0 && even == (k / 2 % rows == 0)) return;
    }
    l->rows = rows > 0 ? rows : t->nto / 2;
    if (t->nto / 2 % l->rows != 0) l->rows = 0;
    l->to_step = to;
    l->from_step = from;
}

/* Whether rows go on in the next tiles. */
static bool has_groups(const lines *l) {
    const nest *const n = &l->tour[0][0].nest;
    const loop *const last = &n->loop[n->nloops - 1];
    return l->rows >= 8 && l->from_step >= 1024 && last->src == 2 * LINE && last->n >= 16;
}

static bool whole_lines(const touched *t) {
    for (int32_t k = 0; k < t->nto; k++)
        if (t->to[k] % LINE != 0) return false;
    return true;
}

/* Whether a tile is a stick of lines, which become a stick of others. */
static bool is_turned(const lines *l) {
    const touched *const t = l->touched;
    if (t->nto != t->nfrom || t->nto * l->width != 4 * LINE || l->stores > STORES_NEXT) return false;
    for (int32_t k = 0; k < t->nto; k += 2)
        if (t->to[k + 1] - t->to[k] != LINE || t->from[k + 1] - t->from[k] != LINE) return false;
    return true;
}

/* Runs of sticks of dst, of which some begin inside of lines: false where tiles are not such sticks. */
static bool find_runs(lines *l) {
    const touched *const t = l->touched;
    const nest *const    n = &t->nest[0];
    bool                 inside = (uintptr_t)l->dst % LINE != 0;
    if (t->nto != 2 || t->nfrom != 2 || t->to[1] != LINE || t->from[1] != LINE) return false;
    for (int32_t k = 0; k < n->nloops; k++) {
        inside = inside || n->loop[k].dst % LINE != 0;
        if (n->loop[k].dst != 2 * LINE) continue;
        l->run = n->loop[k].n;
        l->apart = n->loop[k].src;
    }
    for (int32_t k = 0; k < n->nloops; k++)
        if (n->loop[k].dst == l->run * 2 * LINE) l->to_last = (l->run - 1) * l->apart - n->loop[k].src;
    return inside && l->run > 0;
}

/* False where the order is none of its own, or the way of its stores does not fit. */
static bool make_way(lines *l, tour_order order) {
    const int64_t threads = l->executor == NULL ? 1 : l->executor->threads;
    for (int64_t i = 0; i < threads; i++) l->ntours = tours_find(l->tour[i], l->touched, order, i, threads);
    find_rows(l);
    snprintf(l->way, sizeof l->way, "%s %s", order_names[order], stores_names[l->stores]);
    snprintf(l->name, sizeof l->name, "%s %s",
             l->run > 0 ? "joined" : l->converted ? "converted" : l->width > 0 ? "squares" : "lines", l->way);
    if (l->ntours == 0) return false;
    if (l->run > 0 || l->converted) return l->stores <= STORES_NEXT;
    return l->width > 0 ? is_turned(l) : l->stores < STORES_512 || has_groups(l);
}

static int all_ways(lines *out, const lines *like) {
    int n = 0;
    if (!whole_lines(like->touched) || (like->executor != NULL && like->executor->threads > MOST_THREADS)) return 0;
    for (tour_order order = 0; order < TOUR_ORDERS; order++)
        for (lines_stores stores = 0; stores < LINES_STORES; stores++) {
            out[n] = *like;
            out[n].stores = stores;
            if (make_way(&out[n], order)) n++;
        }
    return n;
}

int lines_ways(lines *out, const touched *t, int32_t width, uint8_t *dst, const uint8_t *src,
               const tg_executor *executor) {
    const lines like = {.touched = t, .width = width, .dst = dst, .src = src, .executor = executor};
    return can_copy() ? all_ways(out, &like) : 0;
}

int joined_ways(lines *out, const touched *t, uint8_t *dst, const uint8_t *src, const tg_executor *executor) {
    lines like = {.touched = t, .dst = dst, .src = src, .executor = executor};
    return can_join() && find_runs(&like) ? all_ways(out, &like) : 0;
}

/* How many lines of src make a tile's two of dst; 0 for other conversions, and for none. */
static int32_t converted_lines(const tg_layout *to, const tg_layout *from) {
    const tg_format x = tg_layout_stored_format(to), y = tg_layout_stored_format(from);
    return x == TG_SEN169_FP16 && y == TG_IEEE_FP16 ? 2 : x == TG_BFLOAT16 && y == TG_IEEE_FP32 ? 4 : 0;
}

int converted_ways(lines *out, const touched *t, const tg_layout *to, const tg_layout *from, uint8_t *dst,
                   const uint8_t *src, const tg_executor *executor) {
    const lines   like = {.touched = t, .converted = true, .dst = dst, .src = src, .executor = executor};
    const int32_t nfrom = converted_lines(to, from);
    bool          fits = nfrom > 0 && t->nto == 2 && t->nfrom == nfrom && t->to[1] == LINE;
    for (int32_t k = 0; fits && k < nfrom; k++) fits = t->from[k] == k * LINE;
    return can_copy() && fits && (uintptr_t)dst % LINE == 0 ? all_ways(out, &like) : 0;
}
