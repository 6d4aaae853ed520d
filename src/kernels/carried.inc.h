/* Long rows of which each begins at another place of a cache line, around the caches; see transpose.c.
 *
 * The rows of one tile, all their columns, go through two buffers in turn: a stick is turned into one of them while the
 * rows of the stick before leave the other, since what is loaded right behind its stores waits for these, and they for
 * all stores around the caches before them (an Emerald Rapids, sticks to ragged rows, 8 to 256 MiB: 1.2 times as fast
 * as with one buffer; odd pitches on both sides 1.0 to 1.14). In a buffer a row begins at a cache line, and before it
 * lie the last bytes of the stick before, so that whole lines of dst are one load each, wherever they begin:
 *
 *     buffer, a row     |   the last 64 bytes of the stick before   |   128 bytes of this stick   |
 *     leaves                                  |  a line of dst  |  a line of dst  |   (the rest goes on) */

/* Rows that lie in a buffer. */
typedef struct V(leaving) {
    int64_t begin; /* bytes from where rows begin in dst to where these go */
    int64_t cols;
} V(leaving);

/* Stick i of a tile, wherever it begins in a cache line; lines of fewer bytes than a stick make one together. */
TG_INLINE void V(fetch_stick)(int width, const source_tile *t, int64_t i) {
    const int64_t deep = CARRIED_ROWS * width, each = tg_min(deep, STICK);
    for (int64_t b = i * STICK; b < (i + 1) * STICK; b += each) {
        const int64_t at = t->at + b % deep;
        if (b / deep >= t->lines || at >= t->end) return;
        const uint8_t *const p = t->line[b / deep] + at;
        TG_FETCH_HERE(p, false);
        if (each > TG_LINE_BYTES) TG_FETCH_HERE(p + TG_LINE_BYTES, false);
        if (!t->between) TG_FETCH_HERE(p + each - 1, false);
    }
}

/* Rows of a stick leave a buffer for dst, where they are listed; the line that is begun goes on in the next one. A tile
 * has as many rows as its lines have sticks: after each row a stick of a later tile is fetched. */
TG_INLINE void V(leave_rows)(int width, const matrix *a, uint8_t *const *rows, const V(leaving) *k, const uint8_t *out,
                             uint8_t *next, const source_tile *later) {
    const int64_t bytes = k->cols * width;
    const bool    first = k->begin == 0, last = k->begin + bytes == a->cols * width;
    for (int64_t i = 0; i < a->dst.n; i++, out += CARRY, next += CARRY) {
        uint8_t *const       row = rows[i] + k->begin;
        const int64_t        begun = (int64_t)((uintptr_t)row % TG_LINE_BYTES), end = begun + bytes;
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
        for (int j = 0; j < TG_LINE_BYTES && !last; j += VEC) V(store)(next + j, V(load)(out + STICK + j));
        if (a->fetches) V(fetch_stick)(width, later, i);
    }
}

/* Columns of a stick, or fewer, come into a buffer. */
TG_INLINE void V(turn_apart)(int width, const matrix *a, work *w, const stick *k, uint8_t *out) {
    const int64_t rows = tg_max(a->dst.n, 16 / width), bytes = rows * width;
    source_tile   t = {k->line, k->lines, 0, bytes, a->between};
    for (int64_t i = 0; i < rows; i++) w->to[i] = out + i * CARRY + TG_LINE_BYTES;
    if (k->lines < STICK / width || a->dst.n < rows) V(complete)(width, w, &t, &t, a->dst.n * width, a->pad);
    V(run_tile)(width, w->to, &t, bytes, (int)((k->cols * width + VEC - 1) / VEC), NULL, false, false);
}

/* All columns of a matrix of at most CARRIED_ROWS rows. */
TG_INLINE void V(carry_tile)(int width, const matrix *a, work *w) {
    const source_tile none = {0};
    V(leaving)        before = {0};
    unsigned          i = 0;
    w->o = w->c = 0;
    for (; i < STICKS - 1; i++) next_stick(w, a, i);
    for (i = 0; w->stick[i % STICKS].cols > 0; i++) {
        const stick *const now = &w->stick[i % STICKS];
        uint8_t *const     in = w->out + i % 2 * CARRIED_BYTES, *const out = w->out + (i + 1) % 2 * CARRIED_BYTES;
        next_stick(w, a, i + STICKS - 1);
        V(turn_apart)(width, a, w, now, in);
        const int64_t     deep = CARRIED_ROWS * width;
        const source_tile later = tile_ahead(a, w, i, deep, deep);
        if (i > 0) V(leave_rows)(width, a, w->row, &before, out, in, &later);
        before = (V(leaving)){now->d - a->d, now->cols};
    }
    const uint8_t *const out = w->out + (i + 1) % 2 * CARRIED_BYTES;
    V(leave_rows)(width, a, w->row, &before, out, w->out + i % 2 * CARRIED_BYTES, &none);
}

TG_INLINE void V(run_carried)(int width, const matrix *a, work *w) {
    for (int64_t o = 0; o < a->outer; o++)
        for (int64_t r = 0; r < a->dst.n; r += CARRIED_ROWS) {
            matrix part = *a;
            part.s += o * a->src_outer + r * width;
            part.dst.n = part.dst.inner = tg_min(CARRIED_ROWS, a->dst.n - r);
            part.outer = 1;
            target_addresses(w->row, a->d + o * a->dst_outer, &a->dst, r, part.dst.n);
            V(carry_tile)(width, &part, w);
        }
}
