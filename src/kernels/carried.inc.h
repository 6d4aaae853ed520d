/* Long rows of which each begins at another place of a cache line, around the caches; see transpose.c.
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

/* Rows that lie in a buffer. */
typedef struct V(leaving) {
    uint8_t *const *row; /* where they begin in dst */
    int64_t         rows;
    int64_t         begin; /* bytes of each that have left before, */
    int64_t         bytes; /* and that leave now */
    int64_t         pitch; /* from row to row in the buffer */
    bool            last;  /* nothing follows: the line that they begin is written in part */
} V(leaving);

/* Lines of a later stick, which are fetched while rows leave. */
typedef struct V(coming) {
    const uint8_t *const *line;
    int64_t               lines, bytes; /* so many of each */
    bool                  whole; /* they begin and end with lines of the cache */
} V(coming);

TG_INLINE void V(fetch_line)(const V(coming) *c, int64_t i) {
    const uint8_t *const p = c->line[i];
    for (int64_t b = 0; b < c->bytes; b += TG_LINE_BYTES) TG_FETCH_HERE(p + b, false);
    if (!c->whole) TG_FETCH_HERE(p + c->bytes - 1, false);
}

/* Rows leave a buffer for dst, where they are listed; the line that is begun goes on in the next one. */
TG_INLINE void V(leave_rows)(const V(leaving) *k, const uint8_t *out, uint8_t *next, const V(coming) *c) {
    const bool first = k->begin == 0, last = k->last;
    int64_t    share = 0, fetched = 0; /* lines that are due, times rows; lines */
    for (int64_t i = 0; i < k->rows; i++, out += k->pitch, next += k->pitch) {
        uint8_t *const       row = k->row[i] + k->begin;
        const int64_t        begun = (int64_t)((uintptr_t)row % TG_LINE_BYTES), end = begun + k->bytes;
        uint8_t *const       to = row - begun;
        const uint8_t *const from = out + TG_LINE_BYTES - begun;
        int64_t              at = 0;
        if (first && begun > 0) {
            at = TG_LINE_BYTES;
            tg_stream_part(row, from + begun, tg_min(at, end) - begun);
        }
        for (; at + TG_LINE_BYTES <= end; at += TG_LINE_BYTES)
            for (int j = 0; j < TG_LINE_BYTES; j += VEC) V(stream)(to + at + j, V(load)(from + at + j));
        if (last && at < end) tg_stream_part(to + at, from + at, end - at);
        for (int j = 0; j < TG_LINE_BYTES && !last; j += VEC) V(store)(next + j, V(load)(out + k->bytes + j));
        for (share += c->lines; share >= k->rows; share -= k->rows) V(fetch_line)(c, fetched++);
    }
}

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
