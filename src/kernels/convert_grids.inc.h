/* The loops of a pair of encodings, with vectors of VEC bytes; see convert_rows.c and convert_rows.inc.h. */

static void V(stream_lines)(uint8_t *restrict dst, const uint8_t *restrict src, int64_t n) {
    for (int64_t i = 0; i < n; i += VEC) V(stream)(dst + i, V(load)(src + i));
}

/* The loops; PUT stores one vector, of which a row has so many. What lies AHEAD bytes further on in src is fetched, if
 * that is not 0; if CLAIMS, lines of dst are asked for. */
#define LINES(NAME, STEP, VECTORS, PUT, AHEAD, CLAIMS)                                                                \
    for (int64_t o = 0; o < g.outer; o++) {                                                                           \
        uint8_t       *d_row = dst + o * g.dst_outer;                                                                 \
        const uint8_t *s_row = src + o * g.src_outer;                                                                 \
        for (int64_t r = g.rows; r > 0; r--, d_row += g.dst_row, s_row += g.src_row) {                                \
            uint8_t       *d = d_row;                                                                                 \
            const uint8_t *s = s_row;                                                                                 \
            for (int64_t n = VECTORS; n > 0; n--, d += VEC, s += STEP) {                                              \
                for (int i = 0; (AHEAD) > 0 && i < STEP; i += TG_LINE_BYTES) TG_FETCH(s + (AHEAD) + i);               \
                if (CLAIMS) TG_CLAIM(d + TG_CLAIMED);                                                                 \
                PUT(d, V(one_##NAME)(s, &bad));                                                                       \
            }                                                                                                         \
        }                                                                                                             \
    }

/* In a cache, rows of one stick are the most frequent, and the shortest. */
#if defined(TG_SANITIZED)
#  define GRIDS(NAME, STEP)                                                                                           \
    LINES(NAME, STEP, vectors, (stream ? V(stream) : V(store)), (stream ? g.ahead : 0), claims)
#else
#  define GRIDS(NAME, STEP)                                                                                           \
    if (stream && g.ahead > 0) {                                                                                      \
        LINES(NAME, STEP, vectors, V(stream), g.ahead, false)                                                         \
    } else if (stream) {                                                                                              \
        LINES(NAME, STEP, vectors, V(stream), 0, false)                                                               \
    } else if (claims) {                                                                                              \
        LINES(NAME, STEP, vectors, V(store), 0, true)                                                                 \
    } else if (vectors == STICK / VEC) {                                                                              \
        LINES(NAME, STEP, STICK / VEC, V(store), 0, false)                                                            \
    } else {                                                                                                          \
        LINES(NAME, STEP, vectors, V(store), 0, false)                                                                \
    }
#endif

#if VEC == 64
#  define JOINS true
/* Lines that begin inside of vectors: the end of one and the beginning of the next one are put together. */
#  define JOINED(NAME, STEP, PUT, AHEAD)                                                                              \
      for (int64_t o = 0; o < g.outer; o++) {                                                                         \
          uint8_t       *d = dst + o * g.dst_outer;                                                                   \
          const uint8_t *s_row = src + o * g.src_outer;                                                               \
          V(vec)         last = V(one_##NAME)(s_row + g.before, &bad);                                                \
          for (int64_t r = g.rows; r > 0; r--, s_row += g.src_row) {                                                  \
              const uint8_t *s = s_row;                                                                               \
              for (int64_t n = vectors; n > 0; n--, d += VEC, s += STEP) {                                            \
                  const V(vec) v = V(one_##NAME)(s, &bad);                                                            \
                  for (int i = 0; (AHEAD) > 0 && i < STEP; i += TG_LINE_BYTES) TG_FETCH(s + (AHEAD) + i);             \
                  if (!stream) TG_CLAIM(d + TG_CLAIMED);                                                              \
                  PUT(d, (V(vec))_mm512_permutex2var_epi32((__m512i)last, places, (__m512i)v));                       \
                  last = v;                                                                                           \
              }                                                                                                       \
          }                                                                                                           \
      }
#  define JOINED_GRIDS(NAME, STEP)                                                                                    \
      if (g.begun > 0) {                                                                                              \
          const __m512i count = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);              \
          const __m512i places = _mm512_add_epi32(count, _mm512_set1_epi32((int)((VEC - g.begun) / 4)));              \
          if (stream) JOINED(NAME, STEP, V(stream), g.ahead)                                                          \
          else JOINED(NAME, STEP, V(store), 0)                                                                        \
          return V(nonzero)(bad);                                                                                     \
      }
#else
#  define JOINS false
#  define JOINED_GRIDS(NAME, STEP)
#endif

/* Each pair: the function of a grid, and the entry of move.h. SRC bytes, or 2^LOG elements, make DST bytes;
 * EXPR is one vector. Pairs that claim no lines (convert_rows.c: claims) have no loop for it. */
#define PAIR(NAME, SRC, DST, LOG, EXPR)                                                                               \
    TG_INLINE V(vec) V(one_##NAME)(const uint8_t *s, V(bits) bad) {                                               \
        (void)bad;                                                                                                    \
        return EXPR;                                                                                                  \
    }                                                                                                                 \
    static bool V(grid_##NAME)(uint8_t *restrict dst, const uint8_t *restrict src, const grid *grid_, bool stream) {  \
        const grid    g = *grid_; /* a copy, since stores might change the other */                                   \
        const int64_t vectors = g.lines * (TG_LINE_BYTES / VEC);                                                      \
        const bool    claims = (DST) > (SRC) && g.claims;                                                             \
        V(vec)        bad = {0};                                                                                      \
        JOINED_GRIDS(NAME, VEC * (SRC) / (DST))                                                                       \
        GRIDS(NAME, VEC * (SRC) / (DST))                                                                              \
        return V(nonzero)(bad);                                                                                       \
    }                                                                                                                 \
    static const uint8_t *V(move_##NAME)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {        \
        static const pair p = {V(grid_##NAME), V(stream_lines), SRC, DST, LOG, JOINS, V(cpu)};                        \
        return move_block(m, d, s, b, &p);                                                                            \
    }
