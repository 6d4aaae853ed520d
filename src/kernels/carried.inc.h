/* Long rows of which each begins at another place of a cache line, around the caches (leaving.inc.h); see transpose.c.
 *
 * Some rows, all their columns, go through two buffers in turn: a stick is turned into one of them while the
 * rows of the stick before leave the other, since what is loaded right behind its stores waits for these, and they for
 * all stores around the caches before them (an Emerald Rapids, sticks to ragged rows, 8 to 256 MiB: 1.2 times as fast
 * as with one buffer; odd pitches on both sides 1.0 to 1.14). In a buffer a row begins at a cache line, and before it
 * lie the last bytes of the stick before, so that whole lines of dst are one load each, wherever they begin:
 *
 *     buffer, a row     |   the last 64 bytes of the stick before   |   128 bytes of this stick   |
 *     leaves                                  |  a line of dst  |  a line of dst  |   (the rest goes on)
 *
 * The sticks of these rows and of the next ones are one sequence: while rows of one leave, the lines of the one after
 * the next are fetched, a few for each row that leaves. (Three sticks ahead they have left the caches, where lines
 * crowd these: [32768,1022] of two bytes, a Zen 4, 0.51, 0.59, 0.74 of memcpy with three, two, one.) */

/* Columns of a stick, or fewer, come into a buffer, n rows of them. */
TG_INLINE void V(turn_apart)(int width, const matrix *a, work *w, uint8_t **to, const stick *k, int64_t n,
                             uint8_t *out) {
    const int64_t rows = tg_max(n, 16 / width), bytes = rows * width;
    source_tile   t = {k->line, k->lines, 0, bytes, a->between};
    for (int64_t i = 0; i < rows; i++) to[i] = out + i * CARRY + TG_LINE_BYTES;
    if (k->lines < STICK / width || n < rows) V(complete)(width, w, &t, &t, n * width, a->pad);
    V(run_tile)(width, to, &t, bytes, (int)((k->cols * width + VEC - 1) / VEC), NULL, false, false);
}

/* All of a matrix, some rows at a time: to those that list sticks, each so many rows are a matrix of their own, a
 * little further on in src. */
TG_INLINE void V(carry_rows)(int width, const matrix *a, work *w, carried *b) {
    const int64_t tiles = tg_ceil_div(a->dst.n, CARRIED_ROWS(width)), each = tg_ceil_div(a->dst.n, tiles);
    matrix        all = *a;
    V(leaving)    before = {0};
    int64_t       tile = 0, n = tg_min(each, a->dst.n);
    unsigned      i = 0;
    all.outer = tiles;
    all.src_outer = each * width;
    w->o = w->c = 0;
    for (; i < STICKS - 1; i++) next_stick(w, &all, i);
    for (i = 0; w->stick[i % STICKS].cols > 0; i++) {
        const stick *const now = &w->stick[i % STICKS];
        uint8_t *const     into = b->out[i % 2], *const out = b->out[(i + 1) % 2];
        const int64_t      begin = now->d - now->start;
        next_stick(w, &all, i + STICKS - 1);
        const stick *const later = &w->stick[(i + 1) % STICKS];
        if (begin == 0) target_addresses(b->row[tile % 2], a->d, &a->dst, tile * each, n);
        V(turn_apart)(width, a, w, b->to, now, n, into);
        const V(coming)
            c = {later->line, a->fetches ? later->lines : 0, n * width, a->between && n * width % TG_LINE_BYTES == 0};
        if (i > 0) V(leave_rows)(&before, out, into, &c);
        const bool last = begin + now->cols * width == a->cols * width;
        before = (V(leaving)){b->row[tile % 2], n, begin, now->cols * width, CARRY, last};
        if (!last) continue;
        tile++;
        n = tg_min(each, a->dst.n - tile * each);
    }
    const V(coming) none = {0};
    V(leave_rows)(&before, b->out[(i + 1) % 2], b->out[i % 2], &none);
}

TG_INLINE void V(run_carried)(int width, const matrix *a, work *w) {
    carried b;
    matrix  one = *a;
    one.outer = 1;
    for (int64_t o = 0; o < a->outer; o++, one.d += a->dst_outer, one.s += a->src_outer)
        V(carry_rows)(width, &one, w, &b);
}

/* Functions of their own, for the buffers on their stacks. */
#define DEFINE_CARRIED(width) \
    TG_OUTLINE void V(carried_##width)(const matrix *a, work *w) { V(run_carried)(width, a, w); }
DEFINE_CARRIED(1)
DEFINE_CARRIED(2)
DEFINE_CARRIED(4)
DEFINE_CARRIED(8)
DEFINE_CARRIED(16)
#undef DEFINE_CARRIED

typedef void V(carried_move)(const matrix *a, work *w);
BY_WIDTH(V(carried_move), carried)
