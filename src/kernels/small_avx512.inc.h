/* Small matrices, one after the other, with AVX-512: of up to 256 bytes all find their places at once, in whole vectors
 * of both sides. Which byte goes where is the same for all of them. Where they follow each other without gaps, several
 * are one, so that vectors are full: of [N,3,3] elements of 8 bytes three.
 *
 * Places are listed byte by byte: of rows in lines in matrices there is no such arithmetic as of elements that are
 * evenly spaced (places_avx512.inc.h), and the matrices are many.
 *
 * (With shorter vectors plain C does them: 212 us, an Emerald Rapids, where squares and rests take 1400.)
 *
 *     512 KiB, an Emerald Rapids, x memcpy      before  now
 *     f16[16384,4,4] turned                     0.09    0.73
 *     bf16[4,65536]{0,1} to T(4,16)             0.07    0.76
 *     f64[4096,3,3]                             0.25    0.61 */

enum { SMALL_VECTORS = TG_SMALL_BYTES / 64 };

typedef struct small_matrices {
    int64_t   bytes;   /* of so many matrices together as are moved at once */
    int64_t   n, d_step, s_step; /* how many times, and how far from one to the next */
    int64_t   groups, d_group, s_group; /* all of that so many times */
    int64_t   ahead;   /* so many bytes ahead in src lines are fetched, or 0 */
    __m512i   place[SMALL_VECTORS]; /* of each byte among all of src, of which a shuffle takes the low six bits */
    __mmask64 from[SMALL_VECTORS][SMALL_VECTORS]; /* which bytes of vector j come from vector k, if there are so many */
    __mmask64 end;     /* of the last vector, what there is */
    bool      stream;
} small_matrices;

/* As many as fill vectors best; `all`: without a rest. */
static int64_t matrices_at_once(const tg_block *b, int64_t bytes, bool all) {
    int64_t best = 1;
    if (b->dst_outer != bytes || b->src_outer != bytes) return 1;
    for (int64_t n = 2; n * bytes <= TG_SMALL_BYTES && n <= b->outer; n++)
        if ((!all || b->outer % n == 0) && n * tg_ceil_div(best * bytes, 64) >= best * tg_ceil_div(n * bytes, 64))
            best = n;
    return best;
}

/* `count` of them at once. */
static void small_matrices_of(small_matrices *a, int width, int64_t count, const tg_mover *m, const uint8_t *d,
                              const tg_block *b) {
    const int64_t each = b->rows * b->cols * width;
    uint8_t       place[TG_SMALL_BYTES] = {0};
    a->bytes = count * each;
    a->n = b->outer / count;
    a->d_step = count * b->dst_outer;
    a->s_step = count * b->src_outer;
    a->groups = 1;
    a->d_group = a->s_group = a->ahead = 0;
    a->end = V(first_bytes)((a->bytes - 1) % 64 + 1);
    a->stream = m->stream && a->bytes % 64 == 0 && tg_at_lines(d, a->d_step, 0);
    uint8_t *to = place;
    for (int64_t i = 0; i < count; i++)
        for (int64_t r = 0; r < b->rows; r++)
            for (int64_t c = 0; c < b->cols; c++) {
                const int64_t at = i * each + (c * b->rows + r) * width;
                for (int64_t k = 0; k < width; k++) *to++ = (uint8_t)(at + k);
            }
    for (int j = 0; j < SMALL_VECTORS; j++) {
        a->place[j] = _mm512_loadu_si512(place + j * 64);
        for (int k = 0; k < SMALL_VECTORS; k++) { /* the high two bits are a vector's number */
            const __m512i high = _mm512_set1_epi8((char)0xc0), of = _mm512_set1_epi8((char)(k << 6));
            a->from[j][k] = _mm512_cmpeq_epi8_mask(_mm512_and_si512(a->place[j], high), of);
        }
    }
}

TG_NO_CHECKS TG_INLINE void turn_small(int vectors, uint8_t *d, const uint8_t *s, const small_matrices *from,
                                       bool stream) {
    const small_matrices a = *from; /* a value, which no store can change */
    const int64_t        d_left = a.d_group - a.n * a.d_step, s_left = a.s_group - a.n * a.s_step;
    for (int64_t groups = a.groups; groups > 0; groups--, d += d_left, s += s_left)
        for (int64_t i = a.n; i > 0; i--, d += a.d_step, s += a.s_step) {
            __m512i in[SMALL_VECTORS];
            TG_UNROLL
            for (int k = 0; k < vectors; k++) {
                in[k] = k + 1 < vectors ? _mm512_loadu_si512(s + k * 64) : _mm512_maskz_loadu_epi8(a.end, s + k * 64);
                if (a.ahead != 0) TG_FETCH(s + k * 64 + a.ahead);
            }
            TG_UNROLL
            for (int j = 0; j < vectors; j++) {
                __m512i out = _mm512_permutexvar_epi8(a.place[j], in[0]);
                TG_UNROLL
                for (int k = 1; k < vectors; k++)
                    out = _mm512_mask_permutexvar_epi8(out, a.from[j][k], a.place[j], in[k]);
                if (stream) _mm512_stream_si512((void *)(d + j * 64), out);
                else if (j + 1 < vectors) _mm512_storeu_si512(d + j * 64, out);
                else _mm512_mask_storeu_epi8(d + j * 64, a.end, out);
            }
        }
}

static void turn_all_small(uint8_t *d, const uint8_t *s, const small_matrices *a) {
    switch ((a->bytes + 63) / 64) {
#define VECTORS(n)                                     \
    case n:                                            \
        if (a->stream) turn_small(n, d, s, a, true);   \
        else turn_small(n, d, s, a, false);            \
        break;
        VECTORS(1)
        VECTORS(2)
        VECTORS(3)
        VECTORS(4)
#undef VECTORS
    default: break;
    }
}

TG_OUTLINE void turn_small_matrices(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const int64_t  each = b->rows * b->cols * width;
    small_matrices a;
    small_matrices_of(&a, width, matrices_at_once(b, each, false), m, d, b);
    turn_all_small(d, s, &a);
    const int64_t done = a.bytes / each * a.n;
    if (done == b->outer) return;
    tg_block rest = *b; /* fewer than are moved at once */
    rest.outer = b->outer - done;
    (void)tg_mover_run(m, d + done * b->dst_outer, s + done * b->src_outer, &rest);
}

/* n blocks of a few small matrices each, so many bytes apart: which byte goes where is found once for all of them.
 * False if they are no such blocks. (A Zen 4, 256 MiB, x memcpy: f16[16,8,512,2,1024] from {3,1,0,2,4} to {1,3,0,4,2}
 * 0.08 -> 0.82.) */
TG_OUTLINE bool turned_groups(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b, int64_t n,
                          int64_t dst_step, int64_t src_step) {
    enum { GROUPS_AHEAD = 4 };
    const int64_t  each = b->rows * b->cols * m->dst_width;
    small_matrices a;
    if (!tg_is_matrix_group(b, m->dst_width) || n * b->outer < TG_SMALL_MATRICES) return false;
    small_matrices_of(&a, m->dst_width, matrices_at_once(b, each, true), m, d, b);
    a.groups = n;
    a.d_group = dst_step;
    a.s_group = src_step;
    a.ahead = m->fetches ? GROUPS_AHEAD * src_step : 0;
    a.stream &= tg_at_lines(d, dst_step, 0);
    turn_all_small(d, s, &a);
    return true;
}
