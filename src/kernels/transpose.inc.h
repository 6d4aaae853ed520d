/* Transposes with vectors of VEC bytes; see transpose.c. */
#include "kernels/vector.inc.h"

/* ---- in registers ---- */

/* One 16-byte piece of each of VEC / 16 lines that lie `step` apart. Inserting from memory does the work across
 * lanes while loading. */
#if VEC == 64
static inline V(vec) V(lanes)(const uint8_t *s, int64_t step) {
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(LOAD128(s)), LOAD128(s + step), 1);
    const __m256i high =
        _mm256_inserti128_si256(_mm256_castsi128_si256(LOAD128(s + 2 * step)), LOAD128(s + 3 * step), 1);
    return (V(vec))_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
#  define EACH_LANE(X) X(0), X(1), X(2), X(3)
#elif VEC == 32
static inline V(vec) V(lanes)(const uint8_t *s, int64_t step) {
    return (V(vec))_mm256_inserti128_si256(_mm256_castsi128_si256(LOAD128(s)), LOAD128(s + step), 1);
}
#  define EACH_LANE(X) X(0), X(1)
#else
static inline V(vec) V(lanes)(const uint8_t *s, int64_t step) {
    (void)step;
    return V(load)(s);
}
#  define EACH_LANE(X) X(0)
#endif

typedef int8_t  V(bytes) __attribute__((vector_size(VEC)));
typedef int16_t V(shorts) __attribute__((vector_size(VEC)));
typedef int32_t V(words) __attribute__((vector_size(VEC)));

#define UNPACK(TYPE, a, b, PART) (V(vec)) __builtin_shufflevector((V(TYPE))(a), (V(TYPE))(b), EACH_LANE(PART))

INLINE void V(unpack)(int width, V(vec) *low, V(vec) *high, V(vec) a, V(vec) b) {
    if (width == 1) {
        *low = UNPACK(bytes, a, b, LOW1);
        *high = UNPACK(bytes, a, b, HIGH1);
    } else if (width == 2) {
        *low = UNPACK(shorts, a, b, LOW2);
        *high = UNPACK(shorts, a, b, HIGH2);
    } else if (width == 4) {
        *low = UNPACK(words, a, b, LOW4);
        *high = UNPACK(words, a, b, HIGH4);
    } else {
        *low = UNPACK(vec, a, b, LOW8);
        *high = UNPACK(vec, a, b, HIGH8);
    }
}

/* 16 bytes at s of the lines of one vector become n = 16 / width rows, in w[0 .. n). */
INLINE void V(group)(int width, V(vec) *w, const uint8_t *s) {
    const int n = 16 / width;
    V(vec)    v[5][16];
    TG_UNROLL
    for (int j = 0; j < n; j++) v[0][j] = V(lanes)(s + j * STICK, n * STICK);
    TG_UNROLL
    for (int round = 0; 1 << round < n; round++) {
        TG_UNROLL
        for (int j = 0; j < n / 2; j++)
            V(unpack)(width, &v[round + 1][2 * j], &v[round + 1][2 * j + 1], v[round][j], v[round][j + n / 2]);
    }
    TG_UNROLL
    for (int j = 0; j < n; j++) w[j] = v[width == 1 ? 4 : width == 2 ? 3 : width == 4 ? 2 : width == 8 ? 1 : 0][j];
}

/* ---- tiles ---- */

/* Lines of one stick at s become rows of one stick: `groups` times 16 bytes of them, `parts` vectors' worth of
 * columns. Meanwhile what lies `ahead` of s is fetched, an eighth in each step. */
INLINE void V(tile)(int width, uint8_t *const *rows, const uint8_t *s, int groups, int parts, int64_t ahead,
                    bool stream) {
    const int n = 16 / width, lines = STICK / width * STICK / TG_LINE_BYTES / 8;
    for (int g = 0; g < groups; g++) {
        if (ahead > 0)
            for (int i = 0; i < lines; i++) TG_FETCH(s + ahead + (g * lines + i) * TG_LINE_BYTES);
        for (int p = 0; p < parts; p++) {
            V(vec) v[16];
            V(group)(width, v, s + g * 16 + p * (VEC / width) * STICK);
            TG_UNROLL
            for (int i = 0; i < n; i++) {
                if (stream)
                    V(stream)(rows[g * n + i] + p * VEC, v[i]);
                else
                    V(store)(rows[g * n + i] + p * VEC, v[i]);
            }
        }
    }
}

/* n bytes, at most a stick. */
INLINE void V(part)(uint8_t *d, const uint8_t *s, int64_t n) {
#if VEC == 64
    const uint64_t all = ~(uint64_t)0;
    const uint64_t low = n >= 64 ? all : ~(all << n), high = n <= 64 ? 0 : n >= 128 ? all : ~(all << (n - 64));
    _mm512_mask_storeu_epi8(d, low, _mm512_maskz_loadu_epi8(low, s));
    _mm512_mask_storeu_epi8(d + 64, high, _mm512_maskz_loadu_epi8(high, s + 64));
#else
    memcpy(d, s, (size_t)n);
#endif
}

/* `n` bytes at `at` of each line into the stage. What lies `ahead` is fetched. */
INLINE void V(stage_in)(uint8_t *stage, const uint8_t *const *line, int64_t lines, int64_t at, int64_t n,
                        int64_t ahead) {
    if (n < STICK) {
        for (int64_t k = 0; k < lines; k++) V(part)(stage + k * STICK, line[k] + at, n);
        return;
    }
    for (int64_t k = 0; k < lines; k++) {
        const uint8_t *const s = line[k] + at;
        V(vec)               v[STICK / VEC];
        TG_UNROLL
        for (int i = 0; i < STICK / VEC; i++) v[i] = V(load)(s + i * VEC);
        if (ahead > 0) {
            TG_FETCH(s + ahead);
            TG_FETCH(s + ahead + TG_LINE_BYTES);
        }
        TG_UNROLL
        for (int i = 0; i < STICK / VEC; i++) *(V(vec) *)(void *)(stage + k * STICK + i * VEC) = v[i];
    }
}

/* ---- matrices ---- */

/* A tile whose rows are not whole sticks leaves through a stage of its own. */
static void V(ragged_out)(uint8_t *const *rows, const uint8_t *out, int64_t nr, int64_t n) {
    for (int64_t i = 0; i < nr; i++) V(part)(rows[i], out + i * STICK, n);
}

INLINE void V(run_columns)(int width, uint8_t *d, const uint8_t *s, const matrix *a, int64_t c, work *w) {
    const int64_t side = STICK / width, nc = a->cols - c < side ? a->cols - c : side;
    const int     parts = (int)((nc * width + VEC - 1) / VEC);
    const int64_t lines = source_lines(w->line, s, a, c, nc);
    uint8_t      *dump[MAX_SIDE];
    if (nc < side)
        for (int64_t i = 0; i < side; i++) dump[i] = w->out + i * STICK;
    for (int64_t k = lines; k < nc; k++) memcpy(w->stage + k * STICK, a->pad, STICK);
    for (int64_t r = 0; r < a->dst.n; r += side) {
        const int64_t  nr = a->dst.n - r < side ? a->dst.n - r : side;
        const int      groups = (int)((nr * width + 15) / 16);
        const bool     whole = nr == side && nc == side;
        const bool     in_place = whole && a->in_place && lines == nc;
        const int64_t  ahead = a->far && a->dst.n - r >= 3 * side ? 2 * STICK : 0;
        const uint8_t *from = w->stage;
        if (in_place)
            from = w->line[0] + r * width;
        else
            V(stage_in)(w->stage, w->line, lines, r * width, nr * width, ahead);
        destination_rows(w->rows, d + c * width, a, r, nr, w->out);
        if (whole && a->stream)
            V(tile)(width, w->rows, from, 8, STICK / VEC, in_place ? a->ahead : 0, true);
        else if (whole)
            V(tile)(width, w->rows, from, 8, STICK / VEC, in_place ? a->ahead : 0, false);
        else
            V(tile)(width, nc < side ? dump : w->rows, from, groups, parts, 0, false);
        if (nc < side) V(ragged_out)(w->rows, w->out, nr, nc * width);
    }
}

#include "kernels/interleave.inc.h"

/* ---- blocks ---- */

INLINE const uint8_t *V(run_block)(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    work    w;
    matrix  a;
    if (V(interleaved)(width, m, d, s, b)) return NULL;
    const int64_t outer = matrix_of(&a, w.pad, width, m, d, b);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t c = 0; c < a.cols; c += STICK / width)
            V(run_columns)(width, d + o * b->dst_outer, s + o * b->src_outer, &a, c, &w);
    return NULL;
}

static const uint8_t *V(transpose_1)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    return V(run_block)(1, m, d, s, b);
}

static const uint8_t *V(transpose_2)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    return V(run_block)(2, m, d, s, b);
}

static const uint8_t *V(transpose_4)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    return V(run_block)(4, m, d, s, b);
}

static const uint8_t *V(transpose_8)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    return V(run_block)(8, m, d, s, b);
}

static const uint8_t *V(transpose_16)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    return V(run_block)(16, m, d, s, b);
}

#undef EACH_LANE
#undef UNPACK
