/* Rows of whole lines that follow each other in dst and begin inside of its lines; see convert_rows.c.
 *
 * With vectors of a line the end of what one line of src becomes and the beginning of the next one are put together in
 * a register, from row to row (an Emerald Rapids, float16 to DLFloat16 in sticks, dst 16 bytes past a line, of the same
 * to a line: M 0.73 -> 0.90, L 0.85 -> 0.90; what is written to a buffer and read from there waits for all stores
 * around the caches before it). Otherwise rows are brought together in a buffer, in src's elements. */

/* ---- in a buffer ---- */

/* The loop along which dst goes on, the other one, and what a row of src takes. */
typedef struct joined {
    int64_t n, src, across_n, across_dst, across_src;
    int64_t bytes, row; /* of a row, in dst and in src */
} joined;

/* Bytes [from, to) of what becomes a line at s. */
static bool put_line_part(uint8_t *d, const uint8_t *s, const pair *p, int64_t from, int64_t to) {
    const grid g = {.outer = 1, .rows = 1, .lines = 1};
    uint8_t    line[TG_LINE_BYTES];
    const bool bad = p->loop(line, s, &g, false);
    tg_stream_part(d, line + from, to - from);
    return bad;
}

static inline void bring_row(uint8_t *d, const uint8_t *s, int64_t n, int64_t ahead) {
    int64_t i = 0;
    for (; n - i >= TG_LINE_BYTES; i += TG_LINE_BYTES) {
        if (ahead > 0) TG_FETCH(s + i + ahead);
        memcpy(d + i, s + i, TG_LINE_BYTES);
    }
    tg_copy_short(d + i, s + i, n - i);
}

/* Rows [from, to) of a run, brought together in src's elements, so that they are converted as one piece. The line where
 * they begin is written as a whole, the one where they end is left to the rows behind. */
static bool join_rows(uint8_t *d, const uint8_t *s, const joined *j, const pair *p, int64_t from, int64_t to,
                      int64_t ahead) {
    const int64_t need = TG_LINE_BYTES / p->dst * p->src; /* a line, in src */
    const int64_t rest = (int64_t)((uintptr_t)d % TG_LINE_BYTES), before = rest / p->dst * p->src;
    grid          g = {.outer = 1, .rows = 1, .lines = (to - from) * j->bytes / TG_LINE_BYTES};
    uint8_t       run[TG_LINE_BYTES * WIDEST + JOINED_BYTES + TG_LINE_BYTES * WIDEST]; /* with a line at either end */
    uint8_t      *line = d + from * j->bytes - rest, *end = run + need;
    if (from > 0) memcpy(run, s + (from - 1) * j->src + j->row - need, (size_t)need);
    else memset(run, 0, (size_t)need); /* which all conversions take */
    for (int64_t i = from; i < to; i++, end += j->row) bring_row(end, s + i * j->src, j->row, ahead);
    const uint8_t *first = run + need - before;
    bool           bad = false;
    if (from == 0 && rest > 0) {
        bad = put_line_part(line + rest, first, p, rest, TG_LINE_BYTES);
        line += TG_LINE_BYTES;
        first += need;
        g.lines--;
    }
    bad |= p->loop(line, first, &g, true);
    if (to == j->n && rest > 0) {
        memset(end, 0, (size_t)need);
        bad |= put_line_part(line + g.lines * TG_LINE_BYTES, first + g.lines * need, p, 0, rest);
    }
    return bad;
}

static bool can_join(joined *out, const uint8_t *dst, const tg_block *b, const pair *p, int64_t groups) {
    const bool by_rows = b->dst_row == groups * p->dst;
    *out = by_rows ? (joined){b->rows, b->src_row, b->outer, b->dst_outer, b->src_outer, 0, 0}
                   : (joined){b->outer, b->src_outer, b->rows, b->dst_row, b->src_row, 0, 0};
    out->bytes = groups * p->dst;
    out->row = groups * p->src;
    return b->tail == 0 && (by_rows || b->dst_outer == out->bytes) && out->bytes % TG_LINE_BYTES == 0 &&
           out->row * JOINED_ROWS <= JOINED_BYTES &&
           ((uintptr_t)dst | (uintptr_t)out->across_dst) % (uintptr_t)p->dst == 0;
}

static bool move_joined(const tg_mover *m, uint8_t *dst, const uint8_t *src, const joined *j, const pair *p) {
    const int64_t streams = m->sparing ? JOINED_ROWS : streams_of(m, true), ahead = ahead_of(m);
    bool          bad = false;
    for (int64_t i = 0; i < j->n; i += streams)
        for (int64_t o = 0; o < j->across_n; o++)
            bad |= join_rows(dst + o * j->across_dst, src + o * j->across_src, j, p, i, tg_min(i + streams, j->n),
                             ahead);
    return bad;
}

/* ---- in registers ---- */

static bool can_join_lines(const joined *j, const uint8_t *dst, const pair *p) {
    const int64_t begun = (int64_t)((uintptr_t)dst % TG_LINE_BYTES);
    return p->joins && begun > 0 && begun % JOINED_UNIT == 0 && j->across_dst % TG_LINE_BYTES == 0;
}

/* The first line of each run is begun by others, and its last one is ended by others: both lines of some runs at once,
 * since a grid of one line takes longer to begin than to convert. */
static bool join_ends(uint8_t *dst, const uint8_t *src, const joined *j, const pair *p, int64_t begun, bool claims) {
    const int64_t need = TG_LINE_BYTES / p->dst * p->src, step = j->across_dst;
    uint8_t       line[BATCH][2][TG_LINE_BYTES];
    bool          bad = false;
    for (int64_t o = 0; o < j->across_n; o += BATCH) {
        const grid g = {.outer = tg_min(BATCH, j->across_n - o), .dst_outer = sizeof line[0],
                        .src_outer = j->across_src, .rows = 2, .dst_row = TG_LINE_BYTES,
                        .src_row = (j->n - 1) * j->src + j->row - need, .lines = 1};
        uint8_t *const first = dst + o * step, *const last = first + j->n * j->bytes - begun;
        bad |= p->loop(line[0][0], src + o * j->across_src, &g, false);
        for (int64_t i = 0; i < g.outer; i++) {
            if (claims) TG_CLAIM(first + (i + TG_CLAIMED_RUNS) * step);
            if (claims) TG_CLAIM(last + (i + TG_CLAIMED_RUNS) * step);
            tg_put_part(first + i * step, line[i][0], TG_LINE_BYTES - begun, claims);
            tg_put_part(last + i * step, line[i][1] + TG_LINE_BYTES - begun, begun, claims);
        }
    }
    return bad;
}

/* Bands of rows, of which the first one begins with its second line. */
static bool join_lines(const tg_mover *m, uint8_t *dst, const uint8_t *src, const joined *j, const pair *p) {
    const int64_t begun = (int64_t)((uintptr_t)dst % TG_LINE_BYTES), need = TG_LINE_BYTES / p->dst * p->src;
    const int64_t streams = m->stream ? streams_of(m, true) : j->n;
    grid          g = {.outer = j->across_n, .dst_outer = j->across_dst, .src_outer = j->across_src,
                       .rows = 1, .dst_row = j->bytes, .src_row = j->src, .lines = j->bytes / TG_LINE_BYTES - 1,
                       .ahead = ahead_of(m), .begun = begun, .before = -need};
    bool          bad = join_ends(dst, src, j, p, begun, m->claims || !m->stream);
    if (g.lines > 0) bad |= p->loop(dst + TG_LINE_BYTES - begun, src + need, &g, m->stream);
    g.lines++;
    g.before = j->row - need - j->src;
    for (int64_t i = 1; i < j->n; i += g.rows) {
        g.rows = tg_min(streams, j->n - i);
        bad |= p->loop(dst + i * j->bytes - begun, src + i * j->src, &g, m->stream);
    }
    return bad;
}

