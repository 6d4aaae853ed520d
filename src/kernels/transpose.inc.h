/* Transposes with vectors of VEC bytes; see transpose.c.
 *
 * First squares, in registers; then what they make: tiles, sticks, matrices. The files that are included between them
 * are other ways to move a block. Which one it takes V(run_block) says, near the end. */
#include "kernels/vector.inc.h"
#include "kernels/pad.inc.h"
#include "kernels/lanes.inc.h"
#include "kernels/turn.inc.h"

/* The one of name_1 to name_16 that is for elements of so many bytes. */
#define BY_WIDTH(TYPE, name)                                                                       \
    TG_INLINE TYPE *V(name)(int width) {                                                              \
        return width == 1 ? V(name##_1) : width == 2 ? V(name##_2) : width == 4 ? V(name##_4)      \
             : width == 8 ? V(name##_8) : V(name##_16);                                            \
    }

/* ---- in registers ---- */

/* Stores of a square for each cache line that it fetches. */
#define STORES_EACH (TG_LINE_BYTES / VEC)

/* Both lines of dst in which each of n rows of a square is. */
TG_NO_CHECKS TG_INLINE void V(claim_rows)(uint8_t *const *row, int64_t at, int n) {
    TG_UNROLL
    for (int i = 0; i < n; i++) {
        TG_CLAIM_HERE(row[i] + at);
        TG_CLAIM_HERE(row[i] + at + VEC - 1);
    }
}

TG_NO_CHECKS TG_INLINE void V(claim_offsets)(uint8_t *d, const int64_t *row, int n) {
    TG_UNROLL
    for (int i = 0; i < n; i++) {
        TG_CLAIM_HERE(d + row[i]);
        TG_CLAIM_HERE(d + row[i] + VEC - 1);
    }
}

/* VEC bytes of each of VEC / width lines become VEC bytes of as many rows. */
TG_NO_CHECKS TG_INLINE void V(square_of)(int width, places at, bool stream) {
    const int n = 16 / width;
    V(vec)    v[LANES * 16];
    TG_UNROLL
    for (int l = 0; l < LANES; l++) {
        V(vec) in[16];
        TG_UNROLL
        for (int j = 0; j < n; j++) in[j] = V(load)(line_at(&at, l * n + j));
        if (at.ahead != 0) {
            TG_UNROLL
            for (int j = 0; j < n; j++) TG_FETCH(line_at(&at, l * n + j) + at.ahead);
        }
        V(turn)(width, &v[l * n], in);
        if (at.claims) V(claim_rows)(at.row + l * n, at.d_step, n);
        if (at.claimed != NULL) V(claim_offsets)(at.claimed, at.claimed_offset + l * n, n);
    }
    TG_UNROLL
    for (int i = 0; i < n; i++) {
        V(vec) out[LANES];
        V(turn_lanes)(out, &v[i], n);
        TG_UNROLL
        for (int l = 0; l < LANES; l++) {
            const int k = i * LANES + l;
            V(put)(row_at(&at, n, l, i), out[l], stream);
            if (k % STORES_EACH == 0) fetch_between(&at, k / STORES_EACH);
        }
    }
}

/* Functions of their own: where these hundreds of instructions are a part of loops, gcc keeps addresses for the next
 * round in registers that they need. */
#define DEFINE_SQUARE(width)                                                                                           \
    TG_NO_CHECKS TG_OUTLINE void V(square_##width)(uint8_t *const *row, int64_t to, const uint8_t *const *line,        \
                                                   int64_t at) {                                                       \
        V(square_of)(width, listed(row, to, line, at), false);                                                         \
    }                                                                                                                  \
    TG_NO_CHECKS TG_OUTLINE void V(square_claimed_##width)(uint8_t *const *row, int64_t to,                            \
                                                           const uint8_t *const *line, int64_t at) {                   \
        places p = listed(row, to, line, at);                                                                          \
        p.claims = true;                                                                                               \
        V(square_of)(width, p, false);                                                                                 \
    }                                                                                                                  \
    TG_NO_CHECKS TG_OUTLINE void V(square_stream_##width)(uint8_t *const *row, int64_t to, const uint8_t *const *line, \
                                                          int64_t at, const uint8_t *const *later, int64_t later_at) { \
        places p = listed(row, to, line, at);                                                                          \
        p.later = later;                                                                                               \
        p.later_at = later_at;                                                                                         \
        V(square_of)(width, p, true);                                                                                  \
    }                                                                                                                  \
    TG_NO_CHECKS TG_OUTLINE void V(square_solid_##width)(uint8_t *d, const uint8_t *s, int64_t row,                    \
                                                         const uint8_t *next) {                                        \
        V(square_of)(width, solid(d, s, row, next), false);                                                            \
    }                                                                                                                  \
    TG_NO_CHECKS TG_OUTLINE void V(square_solid_stream_##width)(uint8_t *d, const uint8_t *s, int64_t row,             \
                                                                const uint8_t *next) {                                 \
        V(square_of)(width, solid(d, s, row, next), true);                                                             \
    }                                                                                                                  \
    TG_NO_CHECKS TG_OUTLINE void V(square_even_##width)(uint8_t *d, const uint8_t *s, int64_t s_step, int64_t row) {   \
        V(square_of)(width, (places){.kind = EVEN, .d = d, .s = s, .s_step = s_step, .d_step = row}, false);           \
    }                                                                                                                  \
    TG_NO_CHECKS TG_OUTLINE void V(square_groups_##width)(uint8_t *d, const uint8_t *s, int64_t s_step, int64_t row,   \
                                                          int64_t group, int64_t pair) {                               \
        V(square_of)(width, (places){.kind = GROUPS, .d = d, .s = s, .s_step = s_step, .d_step = row,                  \
                                     .group = group, .pair = pair}, false);                                            \
    }

DEFINE_SQUARE(1)
DEFINE_SQUARE(2)
DEFINE_SQUARE(4)
DEFINE_SQUARE(8)
DEFINE_SQUARE(16)
#undef DEFINE_SQUARE

/* Of bytes a square has so many lines that fetching them at once holds it up. */
TG_NO_CHECKS TG_OUTLINE void V(square_far)(uint8_t *d, const uint8_t *s, int64_t s_step, int64_t row, int64_t ahead) {
    V(square_of)(1, (places){.kind = EVEN, .d = d, .s = s, .s_step = s_step, .d_step = row, .ahead = ahead}, false);
}

typedef void V(square_move)(uint8_t *const *row, int64_t to, const uint8_t *const *line, int64_t at);
typedef void V(square_stream_move)(uint8_t *const *row, int64_t to, const uint8_t *const *line, int64_t at,
                                   const uint8_t *const *later, int64_t later_at);
typedef void V(square_solid_move)(uint8_t *d, const uint8_t *s, int64_t row, const uint8_t *next);
typedef void V(square_even_move)(uint8_t *d, const uint8_t *s, int64_t s_step, int64_t row);
typedef void V(square_groups_move)(uint8_t *d, const uint8_t *s, int64_t s_step, int64_t row, int64_t group,
                                   int64_t pair);

BY_WIDTH(V(square_move), square)
BY_WIDTH(V(square_move), square_claimed)
BY_WIDTH(V(square_stream_move), square_stream)
BY_WIDTH(V(square_solid_move), square_solid)
BY_WIDTH(V(square_solid_move), square_solid_stream)
BY_WIDTH(V(square_even_move), square_even)
BY_WIDTH(V(square_groups_move), square_groups)

#if VEC == 64
/* 64 bytes of each of 32 / width lines become half of what a square writes to each of its rows. */
TG_NO_CHECKS TG_INLINE void V(half_of)(int width, uint8_t *d, const uint8_t *s, int64_t s_step, int64_t row) {
    const int n = 16 / width;
    V(vec)    in[16], a[16], b[16];
    TG_UNROLL
    for (int j = 0; j < n; j++) in[j] = V(load)(s + j * s_step);
    V(turn)(width, a, in);
    TG_UNROLL
    for (int j = 0; j < n; j++) in[j] = V(load)(s + (n + j) * s_step);
    V(turn)(width, b, in);
    TG_UNROLL
    for (int i = 0; i < n; i++) {
        const __m512i low = (__m512i)__builtin_shufflevector(a[i], b[i], 0, 1, 8, 9, 2, 3, 10, 11);
        const __m512i high = (__m512i)__builtin_shufflevector(a[i], b[i], 4, 5, 12, 13, 6, 7, 14, 15);
        _mm256_storeu_si256((void *)(d + i * row), _mm512_castsi512_si256(low));
        _mm256_storeu_si256((void *)(d + (n + i) * row), _mm512_extracti64x4_epi64(low, 1));
        _mm256_storeu_si256((void *)(d + (2 * n + i) * row), _mm512_castsi512_si256(high));
        _mm256_storeu_si256((void *)(d + (3 * n + i) * row), _mm512_extracti64x4_epi64(high, 1));
    }
}

#  define DEFINE_HALF(width)                                                                                           \
      TG_NO_CHECKS TG_OUTLINE void V(half_##width)(uint8_t *d, const uint8_t *s, int64_t s_step, int64_t row) {        \
          V(half_of)(width, d, s, s_step, row);                                                                        \
      }

DEFINE_HALF(1)
DEFINE_HALF(2)
DEFINE_HALF(4)
DEFINE_HALF(8)
DEFINE_HALF(16)
#  undef DEFINE_HALF

TG_INLINE V(square_even_move) *V(half)(int width) {
    return width == 1   ? V(half_1)
           : width == 2 ? V(half_2)
           : width == 4 ? V(half_4)
           : width == 8 ? V(half_8)
                        : V(half_16);
}
#else
TG_INLINE V(square_even_move) *V(half)(int width) { return V(square_even)(width); }
#endif

/* 16 bytes of each of VEC / width lines become VEC bytes of 16 / width rows. */
TG_NO_CHECKS TG_INLINE void V(strip_of)(int width, places at, bool stream) {
    const int n = 16 / width;
    V(vec)    in[16], out[16];
    TG_UNROLL
    for (int j = 0; j < n; j++) {
        const uint8_t *lane[LANES];
        TG_UNROLL
        for (int l = 0; l < LANES; l++) lane[l] = line_at(&at, l * n + j);
        in[j] = V(lanes)(lane);
    }
    V(turn)(width, out, in);
    TG_UNROLL
    for (int i = 0; i < n; i++) V(put)(row_at(&at, n, 0, i), out[i], stream);
}

/* The same of evenly spaced lines, to evenly spaced rows. */
#define DEFINE_STRIP(width)                                                                                            \
    TG_NO_CHECKS TG_OUTLINE void V(strip_even_##width)(uint8_t *d, const uint8_t *s, int64_t s_step, int64_t row) {    \
        V(strip_of)(width, (places){.kind = EVEN, .d = d, .s = s, .s_step = s_step, .d_step = row}, false);            \
    }

DEFINE_STRIP(1)
DEFINE_STRIP(2)
DEFINE_STRIP(4)
DEFINE_STRIP(8)
DEFINE_STRIP(16)
#undef DEFINE_STRIP

BY_WIDTH(V(square_even_move), strip_even)

/* ---- tiles ---- */

/* n bytes, at most a stick. */
TG_INLINE void V(part)(uint8_t *d, const uint8_t *s, int64_t n) {
#if VEC == 64
    const __mmask64 low = V(first_bytes)(n), high = V(bytes_left)(n - 64);
    _mm512_mask_storeu_epi8(d, low, _mm512_maskz_loadu_epi8(low, s));
    _mm512_mask_storeu_epi8(d + 64, high, _mm512_maskz_loadu_epi8(high, s + 64));
#else
    memcpy(d, s, (size_t)n);
#endif
}

/* n bytes, fewer than 16. */
TG_INLINE void V(bit)(uint8_t *d, const uint8_t *s, int64_t n) {
#if VEC == 64
    _mm_storeu_si128((__m128i *)(void *)d, _mm_maskz_loadu_epi8((__mmask16)V(first_bytes)(n), s));
#else
    memcpy(d, s, (size_t)n);
#endif
}

/* Lines [first, first + n), `at` bytes into a tile. */
TG_INLINE void V(fetch)(const source_tile *t, int64_t first, int64_t n, int64_t at) {
    const int64_t end = first + n < t->lines ? first + n : t->lines;
    if (t->at + at >= t->end) return;
    for (int64_t i = first; i < end; i++) TG_FETCH(t->line[i] + t->at + at);
}

/* A square of a tile, p squares to the right and i bytes into its lines, around the caches; the same square of a later
 * tile is fetched. */
TG_NO_CHECKS TG_INLINE void V(stream_square)(int width, uint8_t *const *row, const source_tile *t, int p, int64_t i,
                                          int64_t bytes, const source_tile *later) {
    const int     n = VEC / width, each = n * VEC / STICK; /* lines of which it fetches a stick, if not all at once */
    const int64_t at = i - i % STICK;
    const bool    whole = each > 0 && later != NULL && later->between && later->lines >= (p + 1) * n &&
                       later->at + at + STICK <= later->end && at + STICK <= bytes;
    const uint8_t *const *const line = whole ? later->line + p * n + i % STICK / VEC * each : NULL;
    if (later != NULL && !whole && i % TG_LINE_BYTES == 0) V(fetch)(later, p * n, n, i);
    V(square_stream)(width)(row + i / width, p * VEC, t->line + p * n, t->at + i, line, whole ? later->at + at : 0);
}

/* `bytes` (16 or more) of lines become rows of `parts` vectors. In a cache, lines are followed as far as the tile goes;
 * from memory, all of what rows get is written together. */
TG_NO_CHECKS TG_INLINE void V(run_tile)(int width, uint8_t *const *row, const source_tile *t, int64_t bytes, int parts,
                                     const source_tile *later, bool stream, bool claims) {
    const int n = VEC / width; /* lines, and rows, of a square */
    int64_t   i = 0;
    for (int p = 0; p < parts && i + VEC <= bytes;) {
        if (stream) {
            V(stream_square)(width, row, t, p, i, bytes, later);
        } else {
            if (later != NULL && i % TG_LINE_BYTES == 0) V(fetch)(later, p * n, n, i);
            if (claims) V(square_claimed)(width)(row + i / width, p * VEC, t->line + p * n, t->at + i);
            else V(square)(width)(row + i / width, p * VEC, t->line + p * n, t->at + i);
        }
        if (later != NULL) {
            if (++p == parts) p = 0, i += VEC;
        } else {
            i += VEC;
            if (i + VEC > bytes) i = 0, p++;
        }
    }
    for (i = bytes / VEC * VEC; i < bytes; i += 16) {
        const int64_t j = i + 16 <= bytes ? i : bytes - 16; /* the last one may write rows once more */
        for (int p = 0; p < parts; p++) {
            if (claims) V(claim_rows)(row + j / width, p * VEC, 16 / width);
            V(strip_of)(width, listed(row + j / width, p * VEC, t->line + p * n, t->at + j), stream);
        }
    }
}

/* Where columns are missing there is padding, or anything; where there are less than 16 bytes of a line, zeros. */
TG_INLINE void V(complete)(int width, work *w, source_tile *out, const source_tile *t, int64_t bytes,
                           const uint8_t *pad) {
    int64_t k = 0;
    for (; k < t->lines; k++) {
        w->edge[k] = t->line[k] + t->at;
        if (bytes >= 16) continue;
        V(bit)(w->stage + k * 16, w->edge[k], bytes);
        w->edge[k] = w->stage + k * 16;
    }
    for (; k < STICK / width; k++) w->edge[k] = pad;
    *out = (source_tile){w->edge, STICK / width, 0, bytes, t->between};
}

#include "kernels/even.inc.h"

/* As many whole sticks as there are, from one end of src to the other. */
TG_INLINE void V(run_solid)(int width, bool stream, matrix *a) {
    const int            n = VEC / width, side = STICK / width;
    const int64_t        sticks = a->src.n / side, row = a->dst.step;
    const uint8_t *const end = a->s + (a->outer - 1) * a->src_outer + a->src.n * STICK;
    for (int64_t o = 0; o < a->outer; o++)
        for (int64_t i = 0; i < sticks; i++) {
            uint8_t *const       d = a->d + o * a->dst_outer + i * STICK;
            const uint8_t *const s = a->s + o * a->src_outer + i * side * STICK;
            const uint8_t       *next = end - s > NEXT_BYTES + side * STICK ? s + NEXT_BYTES : s;
            for (int p = 0; p < side; p += n)
                for (int r = 0; r < side; r += n, next += n * VEC) {
                    uint8_t *const       to = d + r * row + p * width;
                    const uint8_t *const from = s + p * STICK + r * width;
                    if (stream) V(square_solid_stream)(width)(to, from, row, next);
                    else V(square_solid)(width)(to, from, row, next);
                }
        }
    a->first = sticks * side;
}

#include "kernels/seams.inc.h"

/* n rows of so many bytes, at most a stick, out of a buffer; before: their lines are claimed. */
TG_INLINE void V(claim_short)(uint8_t *const *row, int64_t n, int64_t bytes) {
    for (int64_t i = 0; i < n; i++) {
        TG_CLAIM(row[i]);
        TG_CLAIM(row[i] + bytes - 1);
    }
}

TG_INLINE void V(leave_short)(uint8_t *const *row, const uint8_t *from, int64_t n, int64_t bytes) {
#if VEC == 64
    const __mmask64 low = V(bytes_left)(bytes);
    if (bytes <= VEC) {
        for (int64_t i = 0; i < n; i++) _mm512_mask_storeu_epi8(row[i], low, V(load)(from + i * CARRY));
        return;
    }
#endif
    for (int64_t i = 0; i < n; i++) V(part)(row[i], from + i * CARRY, bytes);
}

/* Columns of one stick, or fewer. */
TG_INLINE void V(run_stick)(int width, const matrix *a, work *w, unsigned slot) {
    const stick *const now = &w->stick[slot % STICKS];
    const bool    seam = now->seam > 0, narrow = !seam && now->cols * width < (a->part > 0 ? VEC : STICK);
    const bool    apart = narrow || (seam && a->group_rows < a->dst.n), stream = a->stream && !apart;
    const int     parts = (int)((now->cols * width + VEC - 1) / VEC), depth = DEPTH(width) / width;
    const int64_t all = a->dst.n - (seam ? 1 : 0), least = 16 / width;
    const int64_t outer = a->outer > 1 ? a->dst_outer : 0;
    const bool    claims = a->claims && !tg_at_lines(a->d, a->dst.step | a->dst.outer, outer);
    for (int64_t r = 0; r < all; r += depth) {
        const int64_t first = all - r < least && r > 0 ? all - least : r;
        const int64_t n = all - first < depth ? all - first : depth;
        source_tile       t = {now->line, now->lines, first * width, a->dst.n * width, a->between};
        const source_tile later = tile_ahead(a, w, slot, r * width + DEPTH(width), DEPTH(width));
        target_addresses(w->row, now->d, &a->dst, first, n + (seam ? 1 : 0));
        uint8_t **const row = apart ? w->to : w->row;
        for (int64_t i = apart ? 0 : n; i < tg_max(n, least); i++) row[i] = w->out + i * CARRY;
        if (now->lines * width < parts * VEC || n < least) V(complete)(width, w, &t, &t, n * width, a->pad);
        const int64_t         bytes = n < least ? 16 : n * width;
        if (stream)
            V(run_tile)(width, row, &t, bytes, parts, a->fetches ? &later : NULL, true, false);
        else if (claims && !apart)
            V(run_tile)(width, row, &t, bytes, parts, NULL, false, true);
        else {
            if (claims) V(claim_short)(w->row, n, now->cols * width);
            V(run_tile)(width, row, &t, bytes, parts, a->fetches || claims ? &later : NULL, false, false);
        }
        if (narrow) V(leave_short)(w->row, w->out, n, now->cols * width);
        if (apart && seam) V(write_seam)(a, now, w, first, n);
    }
    if (seam) V(finish_seam)(width, a, now);
}

#include "kernels/interleave.inc.h"
#include "kernels/missing.inc.h"
#if VEC == 64
#  include "kernels/joiner_avx512.inc.h"
#  include "kernels/turns_joined_avx512.inc.h"
#endif
#include "kernels/narrow.inc.h"
#if VEC == 64
#  include "kernels/few_avx512.inc.h"
#  include "kernels/short_avx512.inc.h"
#  include "kernels/windows_avx512.inc.h"
#  include "kernels/gapped_avx512.inc.h"
#  include "kernels/cramped_avx512.inc.h"
#endif
#include "kernels/pipeline.inc.h"
#include "kernels/leaving.inc.h"
#include "kernels/carried.inc.h"
#include "kernels/listed.inc.h"

/* ---- blocks ---- */

TG_INLINE void V(run_sticks)(int width, const matrix *a, work *w) {
    w->o = 0;
    w->c = a->first;
    for (unsigned i = 0; i < STICKS - 1; i++) next_stick(w, a, i);
    for (unsigned i = 0; w->stick[i % STICKS].cols > 0; i++) {
        next_stick(w, a, i + STICKS - 1);
        if (!a->staged || w->stick[i % STICKS].lines < STICK / width) V(run_stick)(width, a, w, i);
    }
}

TG_INLINE void V(run_matrices)(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    work   w;
    matrix a;
    matrix_of(&a, w.pad, width, m, d, s, b);
    choose_way(&a, width, m);
    if (!a.stream && !a.carried && a.lead == 0 && a.src.n == a.cols && a.cols >= STICK / width) a.part = VEC / width;
    const bool whole = a.cols == a.src.n && a.cols % (STICK / width) == 0;
    if (a.staged) {
        const matrix all = a; /* a copy: no call can change the other */
        V(pipeline)(width, &all);
        if (a.seams) return;
    }
    if (a.staged && a.lead > 0) { /* all but the seam */
        a.first += whole_sticks(&a) * (STICK / width);
        a.staged = false;
    }
    if (a.solid && a.lead > 0) V(run_solid_seams)(width, &a, &w);
    else if (a.solid && a.stream) V(run_solid)(width, true, &a);
    else if (a.solid) V(run_solid)(width, false, &a);
    else if (a.even) V(run_even_all)(width, &a);
    if ((a.staged && whole) || a.first == a.cols) return;
    if (a.carried) V(carried)(width)(&a, &w);
    else V(run_sticks)(width, &a, &w);
}

/* Functions of their own: one block has the buffers on the stack of one of them, beside a stage of its caller's. */
#define DEFINE_MATRICES(width)                                                                                         \
  TG_OUTLINE void V(matrices_##width)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {            \
    V(run_matrices)(width, m, d, s, b);                                                                                \
  }
DEFINE_MATRICES(1)
DEFINE_MATRICES(2)
DEFINE_MATRICES(4)
DEFINE_MATRICES(8)
DEFINE_MATRICES(16)
#undef DEFINE_MATRICES

BY_WIDTH(V(turn_narrow_move), matrices)

TG_INLINE const uint8_t *V(run_block)(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
#if VEC == 64
    if (moved_at_hand(width, m, d, s, b)) return NULL;
    if (tg_has_small_matrices(b, width)) {
        tg_turn_small_matrices(m, d, s, b);
        return NULL;
    }
#else
    if (tg_has_small_matrices(b, width)) {
        plain_block(width, m, d, s, b);
        return NULL;
    }
#endif
    if (V(interleaved)(width, m, d, s, b)) return NULL;
#if VEC == 64
    if (moved_gapped(width, m, d, s, b)) return NULL;
#endif
    if (V(are_in_part)(width, b)) {
        V(turns_in_part)(width, m, d, s, b);
        return NULL;
    }
#if VEC == 64
    if (tg_turn_few_lanes(m, d, s, b)) return NULL;
    if (moved_windows(width, m, d, s, b) || moved_short(width, m, d, s, b)) return NULL;
    if (moved_apart(width, m, d, s, b) || joined(width, m, d, s, b)) return NULL;
    if (moved_cramped(width, m, d, s, b)) return NULL;
#endif
    if (V(is_narrow)(width, m, b)) V(turn_narrow)(width)(m, d, s, b);
    else V(matrices)(width)(m, d, s, b);
    return NULL;
}

/* Of the padding of rows, elements that are best filled by themselves: all, where lines of few bytes follow each other,
 * which then take turns, or where it is whole cache lines; and whole sticks behind other lines. (A Zen 4, x memcpy,
 * f32[n,3]{0,1} to T(8,128), 512 KiB 0.45 -> 0.6, 256 MiB 1.2 -> 1.5.) */
TG_INLINE int64_t V(padded_apart)(int width, const tg_mover *m, const uint8_t *d, const tg_block *b) {
    const int64_t bytes = b->cols * width, all = bytes + b->tail * width;
    const bool    at_lines = tg_at_lines(d, b->dst_row, b->outer > 1 ? b->dst_outer : 0);
    if (b->src_col != b->rows * width || b->src_col >= STICK) {
        const int64_t apart = all - tg_ceil_div(bytes, STICK) * STICK;
        return at_lines && all % STICK == 0 && apart > 0 ? apart / width : 0;
    }
    if (bytes % TG_LINE_BYTES == 0) return at_lines ? b->tail : 0;
    tg_block part = *b;
    part.tail = 0;
    return !m->stream && V(ways_of)(width, &part, true) > 0 ? b->tail : 0;
}

/* So many elements of the padding of all rows, its end. */
TG_OUTLINE void V(pad_rows)(int width, const tg_mover *m, uint8_t *d, const tg_block *b, int64_t apart) {
    d += (b->cols + b->tail - apart) * width;
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t r = 0; r < b->rows; r++)
            V(pad)(d + o * b->dst_outer + r * b->dst_row, apart * width, b->pad, m->stream);
}

TG_INLINE const uint8_t *V(run_padded)(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    tg_block      part;
    const int64_t apart = TG_MOSTLY(b->tail == 0) ? 0 : V(padded_apart)(width, m, d, b);
    if (apart > 0) {
        V(pad_rows)(width, m, d, b, apart);
        part = *b;
        part.tail -= apart;
        b = &part;
    }
    return V(run_block)(width, m, d, s, b);
}

static const uint8_t *V(transpose_1)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    return V(run_padded)(1, m, d, s, b);
}

static const uint8_t *V(transpose_2)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    return V(run_padded)(2, m, d, s, b);
}

static const uint8_t *V(transpose_4)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    return V(run_padded)(4, m, d, s, b);
}

static const uint8_t *V(transpose_8)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    return V(run_padded)(8, m, d, s, b);
}

static const uint8_t *V(transpose_16)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    return V(run_padded)(16, m, d, s, b);
}

#undef BY_WIDTH
#undef STORES_EACH
#undef EACH_LANE
#undef LANES
#undef UNPACK
