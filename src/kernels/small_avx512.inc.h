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
    __m512i   place[SMALL_VECTORS]; /* of each byte in its vector */
    __mmask64 from[SMALL_VECTORS][SMALL_VECTORS]; /* which bytes of vector j come from vector k */
    __mmask64 end;     /* of the last vector, what there is */
    bool      stream;
} small_matrices;

/* As many as fill vectors best. */
static int64_t matrices_at_once(const tg_block *b, int64_t bytes) {
    int64_t best = 1;
    if (b->dst_outer != bytes || b->src_outer != bytes) return 1;
    for (int64_t n = 2; n * bytes <= TG_SMALL_BYTES && n <= b->outer; n++)
        if (n * tg_ceil_div(best * bytes, 64) >= best * tg_ceil_div(n * bytes, 64)) best = n;
    return best;
}

static void small_matrices_of(small_matrices *a, int width, const tg_mover *m, const uint8_t *d, const tg_block *b) {
    const int64_t each = b->rows * b->cols * width, count = matrices_at_once(b, each);
    uint8_t       place[TG_SMALL_BYTES] = {0};
    memset(a->from, 0, sizeof a->from);
    a->bytes = count * each;
    a->n = b->outer / count;
    a->d_step = count * b->dst_outer;
    a->s_step = count * b->src_outer;
    a->end = V(first_bytes)((a->bytes - 1) % 64 + 1);
    a->stream = m->stream && a->bytes % 64 == 0 && tg_at_lines(d, a->d_step, 0);
    int64_t to = 0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t r = 0; r < b->rows; r++)
            for (int64_t c = 0; c < b->cols; c++)
                for (int64_t k = 0; k < width; k++, to++) {
                    const int64_t at = i * each + (c * b->rows + r) * width + k;
                    place[to] = (uint8_t)at;
                    a->from[to / 64][at / 64] |= (uint64_t)1 << to % 64;
                }
    for (int j = 0; j < SMALL_VECTORS; j++) a->place[j] = _mm512_loadu_si512(place + j * 64);
}

TG_NO_CHECKS TG_INLINE void turn_small(int vectors, uint8_t *d, const uint8_t *s, const small_matrices *from,
                                       bool stream) {
    const small_matrices a = *from; /* a value, which no store can change */
    for (int64_t i = a.n; i > 0; i--, d += a.d_step, s += a.s_step) {
        __m512i in[SMALL_VECTORS];
        TG_UNROLL
        for (int k = 0; k < vectors; k++)
            in[k] = k + 1 < vectors ? _mm512_loadu_si512(s + k * 64) : _mm512_maskz_loadu_epi8(a.end, s + k * 64);
        TG_UNROLL
        for (int j = 0; j < vectors; j++) {
            __m512i out = _mm512_permutexvar_epi8(a.place[j], in[0]);
            TG_UNROLL
            for (int k = 1; k < vectors; k++) out = _mm512_mask_permutexvar_epi8(out, a.from[j][k], a.place[j], in[k]);
            if (stream) _mm512_stream_si512((void *)(d + j * 64), out);
            else if (j + 1 < vectors) _mm512_storeu_si512(d + j * 64, out);
            else _mm512_mask_storeu_epi8(d + j * 64, a.end, out);
        }
    }
}

TG_OUTLINE void turn_small_matrices(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const int64_t  each = b->rows * b->cols * width;
    small_matrices a;
    small_matrices_of(&a, width, m, d, b);
    switch ((a.bytes + 63) / 64) {
#define VECTORS(n)                                      \
    case n:                                             \
        if (a.stream) turn_small(n, d, s, &a, true);    \
        else turn_small(n, d, s, &a, false);            \
        break;
        VECTORS(1)
        VECTORS(2)
        VECTORS(3)
        VECTORS(4)
#undef VECTORS
    default: break;
    }
    const int64_t done = a.bytes / each * a.n;
    if (done == b->outer) return;
    tg_block rest = *b; /* fewer than are moved at once */
    rest.outer = b->outer - done;
    (void)tg_mover_run(m, d + done * b->dst_outer, s + done * b->src_outer, &rest);
}
