/* One element all along each row, with vectors of VEC bytes; see strided.c. */
#include "kernels/vector.inc.h"

#define SPLAT(TYPE)                                                     \
    {                                                                   \
        typedef TYPE elements __attribute__((vector_size(VEC)));        \
        TYPE         x;                                                 \
        memcpy(&x, s, sizeof x);                                        \
        return (V(vec))((elements){0} + x);                             \
    }

TG_INLINE V(vec) V(splat)(int width, const uint8_t *s) {
    V(vec) v;
    if (width == 1) SPLAT(uint8_t)
    if (width == 2) SPLAT(uint16_t)
    if (width == 4) SPLAT(uint32_t)
    if (width == 8) SPLAT(uint64_t)
    for (size_t i = 0; i < VEC; i += 16) memcpy((uint8_t *)&v + i, s, 16);
    return v;
}

/* n bytes of v. Where elements are aligned, so are all vectors but the first and the last one. */
TG_INLINE void V(broadcast_row)(int width, uint8_t *d, V(vec) v, int64_t n) {
    uint8_t line[VEC];
    if (n < VEC) {
        V(store)(line, v);
        memcpy(d, line, (size_t)n);
        return;
    }
    V(store)(d, v);
    const int64_t lead = (int64_t)(-(uintptr_t)d % VEC);
    for (int64_t i = lead % width == 0 ? lead : VEC; n - i >= VEC; i += VEC) V(store)(d + i, v);
    V(store)(d + n - VEC, v);
}

/* The same around the caches, a line or more; elements are aligned. */
TG_INLINE void V(broadcast_lines)(uint8_t *d, V(vec) v, int64_t n) {
    uint8_t line[TG_LINE_BYTES] __attribute__((aligned(64)));
    int64_t i = (int64_t)(-(uintptr_t)d % TG_LINE_BYTES);
    for (int k = 0; k < TG_LINE_BYTES; k += VEC) V(store)(line + k, v);
    if (i > 0) tg_stream_part(d, line, i);
    for (; n - i >= TG_LINE_BYTES; i += TG_LINE_BYTES)
        for (int k = 0; k < TG_LINE_BYTES; k += VEC) V(stream)(d + i + k, v);
    if (i < n) tg_stream_part(d + i, line, n - i);
}

/* Not inline: its frame would hold up small blocks of other steps. */
TG_OUTLINE void V(broadcast)(int width, const tg_mover *m, uint8_t *d, const uint8_t *s,
                             const tg_block *b) {
    const int64_t n = b->cols * width;
    const bool    stream = m->stream && elements_aligned(width, d, b) && n >= TG_LINE_BYTES;
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t r = 0; r < b->rows; r++) {
            uint8_t *const to = d + o * b->dst_outer + r * b->dst_row;
            const V(vec)   v = V(splat)(width, s + o * b->src_outer + r * b->src_row);
            if (stream) V(broadcast_lines)(to, v, n);
            else V(broadcast_row)(width, to, v, n);
        }
}

#undef SPLAT
