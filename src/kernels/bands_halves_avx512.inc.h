/* Packed matrices of single bits, with vectors of 64 bytes: how groups are folded; see bands.c.
 *
 * To choose each field of each group from lines, as elements of four bits are, takes eight loads a vector, most of
 * which cross a line of the cache. Here 32 bytes of each line are shifted once, so that all begin with a byte, and
 * three rounds, in which fields of eight lines change places by halves, make the bytes of all fields: as if all rows
 * began with a byte too. Those that do not get the end of the group before shifted in, as where lines are bytes.
 *
 *     vector    32 bytes of a line of group g, and of the one of group g + 1: a pair
 *
 * So a band is 32 bytes of all lines, and a chunk of all eight fields takes as much of the stage as four fields do of
 * 64 bytes, for which lines come twice.
 *
 * An Emerald Rapids, 512 KiB: 0.11 of memcpy before, 0.16 to 0.17 so; M 0.22 and 0.32, N 0.25 and 0.32. Shifts of two
 * vectors (AVX-512 VBMI2) are no faster, nor, at 512 KiB, fetches. Of two bits it would lose (0.22, 0.19). */

/* Where rows of a field begin in a byte: bits that come from the group, and shifts of it and of the one before. */
typedef struct phase {
    int64_t own, up, down;
} phase;

enum { HALF = LINE / 2, HALF_SQUARE = HALF * CHUNK, READ_BEHIND = 8, PAIRS = 8, PAIR = 8 * LINE };

typedef struct halves {
    V(fields) last[8]; /* of each field, the bytes of the last two groups, as if rows began with a byte */
    phase     of[8];
    uint8_t  *to;      /* of the stage, for the next four groups */
    int64_t   rows, step;
    uint8_t   pairs[PAIRS * PAIR] __attribute__((aligned(64))); /* vectors of all fields */
} halves;

/* Of a line each, from there on: all bytes, of which READ_BEHIND are not needed; or as many as rows have. */
TG_INLINE V(fields) load_halves(bool whole, const uint8_t *a, const uint8_t *b, int64_t n_a, int64_t n_b) {
    const __mmask32 all = ~(__mmask32)0, x = whole ? all : _bzhi_u32(all, (unsigned)tg_max(n_a, 0)),
                    y = whole ? all : _bzhi_u32(all, (unsigned)tg_max(n_b, 0));
    const __m256i low = whole ? _mm256_loadu_si256((const __m256i *)(const void *)a) : _mm256_maskz_loadu_epi8(x, a);
    const __m256i high = whole ? _mm256_loadu_si256((const __m256i *)(const void *)b) : _mm256_maskz_loadu_epi8(y, b);
    return (V(fields))_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* Line k of two groups, beginning with a byte. */
TG_INLINE V(fields) shifted(bool whole, const terms *a, const terms *b, int k, int64_t at, int64_t step,
                            int64_t rows) {
    const uint8_t *const s = a->line[k] + at, *const r = b->line[k] + at + step;
    const int64_t        n = whole ? 0 : tg_ceil_div(a->turn[k] + rows, 8);
    const int64_t        m = whole ? 0 : tg_ceil_div(b->turn[k] + rows, 8);
    const __m512i        x = (__m512i)load_halves(whole, s, r, n, m);
    const __m512i        y = (__m512i)load_halves(whole, s + READ_BEHIND, r + READ_BEHIND, n - READ_BEHIND,
                                                  m - READ_BEHIND);
    const __m256i        turn_a = _mm256_set1_epi64x(a->turn[k]), turn_b = _mm256_set1_epi64x(b->turn[k]);
    const __m512i        turn = whole ? _mm512_set1_epi64(a->turn[k])
                                      : _mm512_inserti64x4(_mm512_castsi256_si512(turn_a), turn_b, 1);
    const __m512i        back = _mm512_sub_epi64(_mm512_set1_epi64(64), turn);
    return (V(fields))_mm512_or_si512(_mm512_srlv_epi64(x, turn), _mm512_sllv_epi64(y, back));
}

/* Fields of a's bytes that are high, of `shift` bits, change places with low ones of b's. */
TG_INLINE void swap_halves(V(fields) *a, V(fields) *b, int shift, uint64_t low) {
    const V(fields) x = *a, y = *b;
    *a = V(choose)(low, x, y << shift);
    *b = V(choose)(low, x >> shift, y);
}

TG_INLINE void swap_all(V(fields) *v) {
    TG_UNROLL
    for (int k = 0; k < 4; k++) swap_halves(&v[k], &v[k + 4], 4, 0x0f0f0f0f0f0f0f0f);
    TG_UNROLL
    for (int k = 0; k < 8; k++)
        if ((k & 2) == 0) swap_halves(&v[k], &v[k + 2], 2, 0x3333333333333333);
    TG_UNROLL
    for (int k = 0; k < 8; k += 2) swap_halves(&v[k], &v[k + 1], 1, 0x5555555555555555);
}

/* Two groups, of which a and b tell, as if rows began with a byte; or the same for both, which are `step` apart. */
TG_INLINE void fold_pair(bool whole, uint8_t *to, const terms *a, const terms *b, int64_t at, int64_t step,
                         int64_t rows) {
    V(fields) v[8];
    TG_UNROLL
    for (int k = 0; k < 8; k++) v[k] = shifted(whole, a, b, k, at, step, rows);
    swap_all(v);
    TG_UNROLL
    for (int k = 0; k < 8; k++) V(store)(to + k * LINE, (V(vec))v[k]);
}

/* Bits from the group, and from the one before. */
TG_INLINE __m512i begin_inside(const phase *p, __m512i x, __m512i before) {
    const __m512i up = _mm512_sllv_epi64(x, _mm512_set1_epi64(p->up));
    const __m512i down = _mm512_srlv_epi64(before, _mm512_set1_epi64(p->down));
    return (__m512i)V(choose_bits)((V(fields))_mm512_set1_epi64(p->own), (V(fields))up, (V(fields))down);
}

/* An even number of pairs of one field into the stage: rows begin where they do, and lanes change places, so that
 * strips are pieces as elsewhere. */
TG_INLINE void put_field(bool alike, uint8_t *to, const uint8_t *pair, const phase *v, V(fields) *last, int64_t pairs) {
    enum { HIGH_THEN_LOW = 0x4e };
    const phase p = *v;
    __m512i     before = (__m512i)*last;
    for (int64_t i = 0; i < pairs; i += 2, pair += 2 * PAIR, to += LINE) {
        __m512i a = (__m512i)V(load)(pair), b = (__m512i)V(load)(pair + PAIR);
        if (!alike) {
            const __m512i x = _mm512_shuffle_i64x2(before, a, HIGH_THEN_LOW);
            const __m512i y = _mm512_shuffle_i64x2(a, b, HIGH_THEN_LOW);
            before = b;
            a = begin_inside(&p, a, x);
            b = begin_inside(&p, b, y);
        }
        V(store)(to, (V(vec))_mm512_shuffle_i64x2(a, b, 0x88));
        V(store)(to + PIECE, (V(vec))_mm512_shuffle_i64x2(a, b, 0xdd));
    }
    *last = (V(fields))before;
}

TG_INLINE void put_fields(bool alike, halves *h, int64_t pairs) {
    for (int k = 0; k < 8; k++)
        put_field(alike, h->to + k * HALF_SQUARE, h->pairs + k * LINE, &h->of[k], &h->last[k], pairs);
    h->to += pairs / 2 * LINE;
}

/* n groups that have all their lines, behind which src goes on. */
TG_INLINE void fold_halves(bool alike, halves *h, const terms *v, int64_t n) {
    const terms   t = *v;
    const int64_t step = h->step;
    int64_t       at = 0;
    for (int64_t i = 0; i < n; i += 2 * PAIRS) {
        const int64_t pairs = tg_min(n - i, 2 * PAIRS) / 2;
        for (int64_t k = 0; k < pairs; k++, at += 2 * step) {
            fold_pair(true, h->pairs + k * PAIR, &t, &t, at, step, 0);
        }
        put_fields(alike, h, pairs);
    }
}

/* Four groups, each told alone, of which some lack lines. */
TG_INLINE void fold_half_four(bool alike, halves *h, const terms *t) {
    for (int l = 0; l < 4; l += 2) fold_pair(false, h->pairs + l / 2 * PAIR, &t[l], &t[l + 1], 0, 0, h->rows);
    put_fields(alike, h, 2);
}

typedef void fold_full(halves *h, const terms *t, int64_t n);
typedef void fold_some(halves *h, const terms *t);

TG_OUTLINE void halves_odd(halves *h, const terms *t, int64_t n) { fold_halves(false, h, t, n); }
TG_OUTLINE void halves_alike(halves *h, const terms *t, int64_t n) { fold_halves(true, h, t, n); }
TG_OUTLINE void half_four_odd(halves *h, const terms *t) { fold_half_four(false, h, t); }
TG_OUTLINE void half_four_alike(halves *h, const terms *t) { fold_half_four(true, h, t); }

static void find_half_terms(terms *t, const bands *a, const chunk *c, int64_t g) {
    const int64_t before = a->alike ? a->field[0].into : 0;
    for (int k = 0; k < 8; k++) {
        const int64_t at = element_at(a, c->row, g * 8 + k - before);
        t->line[k] = a->s + (at >> 3);
        t->turn[k] = at & 7;
    }
}

/* Four groups from g on, those of the chunk. */
static void find_half_four(terms *t, const bands *a, const chunk *c, int64_t g) {
    const int64_t last = c->g + c->groups - 1;
    for (int l = 0; l < 4; l++) find_half_terms(&t[l], a, c, tg_min(g + l, last));
}

static void begin_halves(halves *h, const bands *a, const chunk *c, fold_some *some) {
    terms t[4];
    h->to = c->stage;
    h->rows = c->rows;
    h->step = a->src_col;
    if (a->alike) return;
    for (int k = 0; k < 8; k++) {
        const int64_t up = a->field[k].into;
        h->of[k] = (phase){(int64_t)((0xff << up & 0xff) * (~(uint64_t)0 / 255)), up, 8 - up};
    }
    for (int l = 0; l < 4; l++) find_half_terms(&t[l], a, c, c->g - 1);
    some(h, t); /* into the stage, where others come */
    h->to = c->stage;
}

/* Groups that have all their lines, but for the last one, four by four; and the others. Behind lines but the last ones
 * src goes on, if it goes on so far. */
static void fold_half_chunk(const bands *a, const chunk *c) {
    fold_full *const full = a->alike ? halves_alike : halves_odd;
    fold_some *const some = a->alike ? half_four_alike : half_four_odd;
    const int64_t    end = c->g + c->groups, first = a->full_first > c->g ? c->g + 4 : c->g;
    const bool       on = a->src_col >= HALF + READ_BEHIND;
    const int64_t    n = on ? tg_max(tg_min(a->full_end - 1, end) - first, 0) / 4 * 4 : 0;
    halves           h;
    terms            t[4];
    begin_halves(&h, a, c, some);
    for (int64_t g = c->g; g < end; g += 4) {
        if (g == first && n > 0) {
            find_half_terms(t, a, c, g);
            full(&h, t, n);
            g += n;
            if (g >= end) return;
        }
        find_half_four(t, a, c, g);
        some(&h, t);
    }
}
