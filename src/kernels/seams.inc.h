/* Seams: where rows follow each other inside of cache lines, the end of a row and the beginning of the next one, which
 * are lines of dst together; see transpose.c. */

/* Rows [first, first + n) of a seam, out of a buffer: those that the next row follows as a whole. */
TG_INLINE void V(write_seam)(const matrix *a, const stick *k, work *w, int64_t first, int64_t n) {
    const int64_t own = k->seam * a->width, all = k->cols * a->width;
    int64_t       left = a->group_rows - first % a->group_rows; /* rows of the group */
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *const from = w->out + i * CARRY;
        uint8_t *const       to = w->row[i];
        if (--left > 0) {
            for (int64_t at = 0; at < all; at += VEC) V(stream)(to + at, V(load)(from + at));
        } else {
            tg_stream_part(to, from, own);
            tg_stream_part(w->row[i + 1] - (k->d - k->start), from + own, all - own);
            left = a->group_rows;
        }
    }
}

/* The columns before the seam of the first row, and the seam's of the last one. */
TG_INLINE void V(finish_seam)(int width, const matrix *a, const stick *k) {
    uint8_t *const last = k->d + line_offset(&a->dst, a->dst.n - 1);
    uint8_t        out[STICK];
    for (int64_t i = 0; i < STICK / width && i < k->cols; i++)
        memcpy(out + i * width, k->line[i] + (i < k->seam ? a->dst.n - 1 : -1) * width, (size_t)width);
    tg_stream_part(last, out, k->seam * width);
    tg_stream_part(k->start, out + k->seam * width, a->lead * width);
}

/* Sticks side by side that begin inside of cache lines, each matrix a tile: all of it is a seam. All rows of the tile
 * are turned, the last one to nowhere: its seam reads one element beyond lines 0, 1, ..., where the next line is. */
TG_INLINE void V(run_solid_seams)(int width, matrix *a, work *w) {
    const int            n = VEC / width, side = STICK / width;
    stick *const         k = &w->stick[0];
    const uint8_t *const end = a->s + (a->outer - 1) * a->src_outer + side * STICK;
    const loops          lines = {side, side, STICK, 0};
    w->o = 0;
    w->c = a->first;
    for (int64_t o = 0; o < a->outer; o++) {
        const uint8_t *const s = a->s + o * a->src_outer;
        const int64_t        reach = NEXT_BYTES + a->lead * STICK, ahead = end - s > reach + side * STICK ? reach : 0;
        int                  fetched = 0;
        next_stick(w, a, 0);
        target_addresses(w->row, k->d, &a->dst, 0, side);
        w->row[side - 1] = w->out;
        source_addresses(w->edge, s, &lines, 0, side);
        for (int p = 0; p < side; p += n)
            for (int r = 0; r < side; r += n, fetched += n * VEC / STICK)
                V(square_stream)(width)(w->row + r, p * width, k->line + p, r * width, w->edge + fetched, ahead);
        V(finish_seam)(width, a, k);
    }
    a->first = a->cols;
}
