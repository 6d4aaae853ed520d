/* Transposes into a cache of lines that are evenly spaced, with vectors of VEC bytes; see transpose.c. */

/* Lines [first, first + n) of row `row` of a tile that is far. */
TG_INLINE void V(fetch_even)(const matrix *a, const even_tile *t, int64_t row, int64_t first, int64_t n) {
    if (row >= t->rows) return;
    const uint8_t *p = t->s + first * a->src.step + row * a->width;
    for (int64_t i = 0; i < n; i++, p += a->src.step) TG_FETCH(p);
}

/* The first `rows` rows of a stick, whole squares, in tiles of a stick by a stick: whole sticks are written at once,
 * and 128 bytes of a line read, which caches fetch together. By half squares where whole ones' lines have no place in
 * the first-level cache together. */
TG_INLINE void V(run_even_squares)(int width, bool groups, bool halves, bool far, const matrix *a, const even_stick *k,
                                   int64_t rows) {
    const int     n = VEC / width, side = STICK / width, lines = halves ? n / 2 : n;
    const int64_t s_step = a->src.step, row = a->dst.step, group = a->group, pair = a->pair;
    const bool           inside = far && width == 1 && !groups && a->crowded;
    uint8_t *const       to = k->d;
    const uint8_t *const from = k->s;
    for (int64_t first = 0; first < rows; first += side) {
        const even_tile later = far ? even_later(a, k, first) : (even_tile){NULL, 0};
        for (int p = 0; p < side; p += lines)
            for (int64_t r = first; r < rows && r < first + side; r += n) {
                const uint8_t *const s = from + p * s_step + r * width;
                uint8_t *const       d = to + p * width + (groups ? line_offset(&a->dst, r) : r * row);
                if (far && !inside) V(fetch_even)(a, &later, r - first, p, lines);
                if (inside && r - first < later.rows) V(square_far)(d, s, s_step, row, later.s - (from + first));
                else if (halves) V(half)(width)(d, s, s_step, row);
                else if (groups) V(square_groups)(width)(d, s, s_step, row, group, pair);
                else V(square_even)(width)(d, s, s_step, row);
            }
    }
}

TG_INLINE void V(run_even_stick)(int width, bool far, const matrix *a, const even_stick *k, int64_t rows) {
    const bool halves = VEC == 64 && (width == 2 || width == 4) && a->halves;
    if (a->dst.inner != a->dst.n) V(run_even_squares)(width, true, false, far, a, k, rows);
    else if (halves) V(run_even_squares)(width, false, true, far, a, k, rows);
    else V(run_even_squares)(width, false, false, far, a, k, rows);
}

/* The rows from `first` on, fewer than a square has; the last strip may write some rows once more. */
TG_INLINE void V(run_even_strips)(int width, const matrix *a, const even_stick *k, int64_t first) {
    const int  n = VEC / width, least = 16 / width;
    const bool claims = a->claims;
    for (int64_t r = first; r < a->dst.n; r += least) {
        const int64_t        at = tg_min(r, a->dst.n - least);
        const uint8_t *const s = k->s + at * width;
        uint8_t *const       d = k->d + line_offset(&a->dst, at);
        for (int i = 0; claims && i < least; i++) {
            TG_CLAIM(d + i * a->dst.step);
            TG_CLAIM(d + i * a->dst.step + TG_LINE_BYTES);
            TG_CLAIM(d + i * a->dst.step + STICK - 1);
        }
        for (int p = 0; p < STICK / VEC; p++)
            V(strip_even)(width)(d + p * VEC, s + p * n * a->src.step, a->src.step, a->dst.step);
    }
}

#if VEC == 64
#  include "kernels/ahead_avx512.inc.h"
#  include "kernels/pieces_avx512.inc.h"
#endif

/* As many whole sticks as there are. */
TG_INLINE void V(run_even)(int width, matrix *a) {
    const int     side = STICK / width;
    const int64_t sticks = a->src.n / side, squares = a->dst.n * width / VEC * VEC / width;
    if (a->dst.n < 16 / width) return;
#if VEC == 64
    if (a->claims && go_in_pieces(width, a)) {
        a->first = run_in_pieces(width, a);
        return;
    }
    if (a->claims && sticks > 0 && squares > 0) run_ahead(width, a, sticks, squares);
    const bool done = a->claims;
#else
    const bool done = false;
#endif
    for (int64_t o = 0; o < a->outer; o++)
        for (int64_t i = 0; i < sticks; i++) {
            const even_stick k = {a->d + o * a->dst_outer + i * STICK,
                                  a->s + o * a->src_outer + i * side * a->src.step, sticks - i};
            if (!done && a->fetches) V(run_even_stick)(width, true, a, &k, squares);
            else if (!done) V(run_even_stick)(width, false, a, &k, squares);
            if (squares < a->dst.n) V(run_even_strips)(width, a, &k, squares);
        }
    a->first = sticks * side;
}

/* And of the last columns a stick that begins earlier, and writes some columns twice: by themselves they would go by
 * way of a buffer (512 KiB, x memcpy: [510,1000] of one byte 0.34 and 0.43, [250,510] of four 0.55 and 0.70). */
TG_INLINE void V(run_even_all)(int width, matrix *a) {
    const int64_t side = STICK / width;
    V(run_even)(width, a);
    if (!a->claims || a->first == 0 || a->first == a->cols || a->src.n < a->cols) return;
    matrix rest = *a;
    rest.d += (a->cols - side) * width;
    rest.s += (a->cols - side) * a->src.step;
    rest.src.n = rest.src.inner = rest.cols = side;
    V(run_even)(width, &rest);
    a->first = a->cols;
}
