/* Rows that take turns where all of dst is one run that begins inside of a line, with vectors of 64 bytes; see
 * transpose.c.
 *
 * The pairs of rows of one row of tiles T(8,128)(2,1) are blocks, and each writes 512 bytes of every tile. Together
 * they are one run of dst: tile by tile, and in it pair by pair, two lines of all are parts, where each pair alone has
 * two in every tile (an Emerald Rapids, of the same move to a line, L, N, M, S: 0.70, 0.69, 0.78, 0.88 -> 0.98, 0.96,
 * 0.95, 1.02). */

/* Tiles of `blocks` runs of n bytes of each row. Steps are of src. */
typedef struct V(turned_runs) {
    int64_t n, row, tiles, tile, blocks, block;
    bool    stream;
} V(turned_runs);

TG_NO_CHECKS TG_INLINE void V(take_lines)(int width, int ways, V(vec) *w, const uint8_t *s, int64_t row) {
    V(vec) v[MOST_TURNS];
    TG_UNROLL
    for (int k = 0; k < ways; k++) v[k] = V(load)(s + k * row);
    V(turns)(width, ways, false, w, v);
}

TG_NO_CHECKS TG_INLINE void V(join_turns_of)(int width, int ways, uint8_t *d, const uint8_t *s, V(turned_runs) r,
                                             bool stream) {
    int64_t at = VEC;
    V(vec)  w[MOST_TURNS];
    V(take_lines)(width, ways, w, s, r.row);
    V(joiner) j = V(join_from)(d, (__m512i)w[0], stream);
    TG_UNROLL
    for (int k = 1; k < ways; k++) V(join_line)(&j, (__m512i)w[k], stream);
    for (int64_t t = r.tiles; t > 0; t--, s += r.tile) {
        const uint8_t *from = s;
        for (int64_t i = r.blocks; i > 0; i--, from += r.block, at = 0)
            for (; at < r.n; at += VEC) {
                V(take_lines)(width, ways, w, from + at, r.row);
                TG_UNROLL
                for (int k = 0; k < ways; k++) V(join_line)(&j, (__m512i)w[k], stream);
            }
    }
    V(join_to)(&j, d, stream);
}

#define DEFINE_JOIN_TURNS(width, ways)                                                                            \
    TG_OUTLINE void V(join_turns_##width##_##ways)(uint8_t *d, const uint8_t *s, const V(turned_runs) *r) {       \
        if (r->stream) V(join_turns_of)(width, ways, d, s, *r, true);                                             \
        else V(join_turns_of)(width, ways, d, s, *r, false);                                                      \
    }
DEFINE_JOIN_TURNS(1, 2)
DEFINE_JOIN_TURNS(1, 4)
DEFINE_JOIN_TURNS(2, 2)
DEFINE_JOIN_TURNS(2, 4)
DEFINE_JOIN_TURNS(4, 2)
DEFINE_JOIN_TURNS(4, 4)
#undef DEFINE_JOIN_TURNS

/* Blocks so many bytes apart; false: they are no such run. */
static bool V(joined_turns)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b, int64_t blocks,
                            int64_t dst_step, int64_t src_step) {
    typedef void       join(uint8_t * d, const uint8_t *s, const V(turned_runs) *r);
    static join *const joins[3][2] = {{V(join_turns_1_2), V(join_turns_1_4)},
                                      {V(join_turns_2_2), V(join_turns_2_4)},
                                      {V(join_turns_4_2), V(join_turns_4_4)}};
    const int          width = m->dst_width, ways = V(ways_of)(width, b, false);
    const int64_t      n = b->rows * width, run = n * ways;
    if ((ways != 2 && ways != 4) || width > 4 || n % VEC != 0 || (uintptr_t)d % TG_LINE_BYTES == 0) return false;
    if ((blocks > 1 && dst_step != run) || (b->outer > 1 && b->dst_outer != blocks * run)) return false;
    const V(turned_runs) r = {n, b->src_col, b->outer, b->src_outer, blocks, src_step, m->stream};
    joins[width / 2][ways / 4](d, s, &r);
    return true;
}
