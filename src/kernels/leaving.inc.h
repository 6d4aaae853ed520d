/* Rows that leave a buffer around the caches, wherever they begin in dst, while lines that come next are fetched; see
 * carried.inc.h, and uneven.c. With vectors of VEC bytes; behind vector.inc.h, stream.h, target.h and base/checked.h.
 */

/* Rows that lie in a buffer. */
typedef struct V(leaving) {
    uint8_t *const *row; /* where they begin in dst */
    int64_t         rows;
    int64_t         begin; /* bytes of each that have left before, */
    int64_t         bytes; /* and that leave now */
    int64_t         pitch; /* from row to row in the buffer */
    bool            last;  /* nothing follows: the line that they begin is written in part */
} V(leaving);

/* Lines of what is turned later, which are fetched while rows leave. */
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
