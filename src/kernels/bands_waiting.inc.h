/* Packed matrices with vectors of 16 and 32 bytes: how groups are folded, and their bytes turned to rows, which wait in
 * a buffer for the rest of their begun lines; see bands.c. */

/* ---- groups of lines, folded ---- */

/* Fields of a group, from `first` on. */
TG_INLINE void V(fold_group)(int bits, bool whole, uint8_t *to, const terms *t, int64_t at, int64_t rows, int first) {
    TG_UNROLL
    for (int j = 0; j < FIELDS(bits); j++) {
        const int64_t n = rows_of(bits, rows, first + j);
        TG_UNROLL
        for (int i = 0; i < LINE; i += VEC) {
            const V(fields) v = V(fold_field)(bits, whole, t, at + i, j, n - i);
            V(store)(to + j * SQUARE + i, (V(vec))v);
        }
    }
}

/* n groups that have all their lines, step apart. Functions of their own: among others gcc keeps on the stack what they
 * need. */
TG_INLINE void V(fold_packed)(int bits, bool whole, fetching fetch, uint8_t *to, const terms *v, int64_t step,
                              int64_t rows, int first, int64_t n) {
    const terms t = *v; /* which no store may change */
    for (int64_t at = 0; n > 0; n--, at += step, to += LINE) {
        V(fold_group)(bits, whole, to, &t, at, rows, first);
        if (fetch != NOTHING) V(fetch_lines)(bits, LINE, fetch == LATER, &t, at, step);
    }
}

/* The same of bytes. The group before stays in registers. */
TG_INLINE void V(fold_bytes)(int bits, bool nonzero, bool alike, bool whole, fetching fetch, uint8_t *to,
                             const terms *v, const terms *before, int64_t step, int64_t rows, int64_t n) {
    enum { VECTORS = BYTE_ROWS / VEC };
    const terms     t = *v;
    const V(shifts) m = V(shifts_of)(bits, &t);
    V(fields)       last[VECTORS] = {{0}};
    for (int i = 0; i < VECTORS; i++)
        if (!alike) last[i] = V(join_fields)(bits, nonzero, whole, before, i * VEC, rows - i * VEC);
    for (int64_t at = 0; n > 0; n--, at += step, to += LINE) {
        for (int i = 0; i < VECTORS; i++) {
            uint8_t *const  d = to + i * VEC / LINE * SQUARE + i * VEC % LINE;
            const V(fields) x = V(join_fields)(bits, nonzero, whole, &t, at + i * VEC, rows - i * VEC);
            V(store)(d, (V(vec))(alike ? x : V(shift_rows)(bits, &m, last[i], x)));
            last[i] = x;
        }
        if (fetch != NOTHING) V(fetch_lines)(bits, BYTE_ROWS, fetch == LATER, &t, at, step);
    }
}

/* `before`: of bytes, the group before. */
TG_INLINE void V(fold)(int bits, int kind, bool whole, fetching fetch, uint8_t *to, const terms *t, const terms *before,
                       int64_t step, int64_t rows, int first, int64_t n) {
    const bool nonzero = (kind & NONZERO) != 0, alike = (kind & ALIKE) != 0;
    if (kind == PACKED) V(fold_packed)(bits, whole, fetch, to, t, step, rows, first, n);
    else V(fold_bytes)(bits, nonzero, alike, whole, fetch, to, t, before, step, rows, n);
}

typedef void V(folder)(uint8_t *to, const terms *t, const terms *before, int64_t step, int64_t rows, int first,
                       int64_t n, fetching fetch);

#undef DEFINE_FOLDER
#define DEFINE_FOLDER(BITS, NAME, KIND)                                                                                \
    TG_OUTLINE void V(fold_##BITS##_##NAME)(uint8_t *to, const terms *t, const terms *before, int64_t step,            \
                                            int64_t rows, int first, int64_t n, fetching fetch) {                      \
        const bool whole = rows == rows_of_band(BITS, KIND);                                                           \
        if (!whole) V(fold)(BITS, KIND, false, fetch, to, t, before, step, rows, first, n);                            \
        else if (fetch == LATER) V(fold)(BITS, KIND, true, LATER, to, t, before, step, rows, first, n);                \
        else if (fetch == SOON) V(fold)(BITS, KIND, true, SOON, to, t, before, step, rows, first, n);                  \
        else V(fold)(BITS, KIND, true, NOTHING, to, t, before, step, rows, first, n);                                  \
    }

/* All groups of a chunk, those that lack lines one by one. */
TG_INLINE void V(fold_chunk)(int bits, int kind, V(folder) *fold, const bands *a, const chunk *c) {
    const int64_t step = a->src_col * (kind == PACKED ? 1 : 8 / bits), end = c->g + c->groups;
    terms         t, before;
    for (int64_t g = c->g, n; g < end; g += n) {
        n = g >= a->full_first && g < a->full_end ? tg_min(end, a->full_end) - g : 1;
        find_terms(bits, kind, &t, a, c, g);
        if (kind != PACKED && (kind & ALIKE) == 0) find_terms(bits, kind, &before, a, c, g - 1);
        fold(c->stage + (g - c->g) * LINE, &t, &before, step, c->rows, c->first, n,
             a->fetches ? LATER : a->far ? NOTHING : SOON);
    }
}

/* ---- bytes of groups, turned to rows ---- */

/* 16 bytes of each of some groups, from memory, which spares shuffles across lanes. */
TG_INLINE V(vec) V(lanes)(const uint8_t *s, int64_t step) {
#if VEC == 32
    return (V(vec))_mm256_inserti128_si256(_mm256_castsi128_si256(LOAD_16(s)), LOAD_16(s + step), 1);
#else
    (void)step;
    return V(load)(s);
#endif
}

/* 16 bytes of each of VEC groups become VEC bytes of 16 rows. */
TG_INLINE void V(strip)(uint8_t *d, int64_t step, const uint8_t *s, bool stream) {
    V(vec) a[16], b[16];
    TG_UNROLL
    for (int j = 0; j < 16; j++) a[j] = V(lanes)(s + j * LINE, 16 * LINE);
    V(turn_round)(b, a);
    V(turn_round)(a, b);
    V(turn_round)(b, a);
    V(turn_round)(a, b);
    TG_UNROLL
    for (int j = 0; j < 16; j++) V(put)(d + j * step, a[j], stream);
}

/* n rows, or some more. */
TG_OUTLINE void V(square)(uint8_t *d, int64_t step, const uint8_t *s, int64_t n) {
    for (int64_t r = 0; r < n; r += STRIP)
        for (int64_t c = 0; c < CHUNK; c += VEC) V(strip)(d + r * step + c, step, s + r + c * LINE, false);
}

TG_OUTLINE void V(square_stream)(uint8_t *d, int64_t step, const uint8_t *s, int64_t n) {
    for (int64_t r = 0; r < n; r += STRIP)
        for (int64_t c = 0; c < CHUNK; c += VEC) V(strip)(d + r * step + c, step, s + r + c * LINE, true);
}

/* ---- rows that wait ---- */

TG_INLINE void V(put_line)(uint8_t *d, const uint8_t *s, bool stream) {
    TG_UNROLL
    for (int i = 0; i < LINE; i += VEC) V(put)(d + i, V(load)(s + i), stream);
}

/* Bytes [from, to) of a line. */
TG_INLINE void V(put_part)(uint8_t *d, const uint8_t *s, int64_t from, int64_t to) {
    memcpy(d + from, s + from, (size_t)(to - from));
}

/* n rows of which a chunk came that is neither the first nor the last one: a line of each leaves, and what is left of
 * the chunk waits. */
TG_INLINE void V(leave_between)(bool stream, bool claims, uint8_t *d, int64_t d_step, uint8_t *row, int64_t step,
                                int64_t n) {
    for (; n > 0; n--, d += d_step, row += step) {
        const int64_t inside = (int64_t)((uintptr_t)d % LINE);
        if (claims) TG_CLAIM(d + TG_CLAIMED_RUNS * d_step);
        V(put_line)(d - inside, row + LINE - inside, stream);
        V(put_line)(row, row + LINE, false);
    }
}

/* n rows of the first chunk, up to a line of dst, or of the last one of so many bytes, or both. */
TG_INLINE void V(leave_end)(const bands *a, const field *f, uint8_t *d, uint8_t *row, int64_t step, int64_t n,
                            int64_t bytes, bool first, bool last) {
    const int64_t d_step = a->dst_row;
    for (; n > 0; n--, d += d_step, row += step) {
        const int64_t inside = (int64_t)((uintptr_t)d % LINE), end = last ? inside + bytes : LINE;
        if (a->claims) TG_CLAIM(d + TG_CLAIMED_RUNS * d_step);
        if (a->late) keep_ends(f, row + LINE, d, bytes, first, last);
        V(put_part)(d - inside, row + LINE - inside, first ? inside : 0, tg_min(end, LINE));
        if (end > LINE) V(put_part)(d - inside + LINE, row + 2 * LINE - inside, 0, end - LINE);
        if (!last) V(put_line)(row, row + LINE, false);
    }
}

/* Of a field, n rows of the groups from g on. */
TG_INLINE void V(leave)(const bands *a, const field *f, uint8_t *d, uint8_t *row, int64_t step, int64_t n, int64_t g) {
    const int64_t bytes = tg_min(CHUNK, f->bytes - g);
    const bool    first = g == 0, last = g + CHUNK >= f->bytes;
    if (bytes <= 0) return;
    if (first || last) V(leave_end)(a, f, d, row, step, n, bytes, first, last);
    else if (a->stream) V(leave_between)(true, false, d, a->dst_row, row, step, n);
    else V(leave_between)(false, a->claims, d, a->dst_row, row, step, n);
}

/* ---- a chunk ---- */

/* Of packed lines, fields are squares in the stage, and leave by themselves; of bytes, they are all rows in turn. */
TG_INLINE void V(chunk_out)(int bits, int kind, const bands *a, const chunk *c) {
    const int  per = 8 / bits;
    const bool direct = a->direct && c->groups == CHUNK && c->rows == rows_of_band(bits, kind);
    if (!a->late) keep_others(bits, kind, a, c);
    for (int64_t r = 0; kind != PACKED && r < c->rows; r += LINE)
        V(square)(a->waiting + r * WAITING + LINE, WAITING, c->stage + r * CHUNK, tg_min(c->rows - r, LINE));
    for (int i = 0; i < (kind == PACKED ? FIELDS(bits) : per); i++) {
        const int      j = c->first + i;
        const int64_t  n = rows_of(bits, c->rows, j);
        uint8_t *const from = c->stage + i * SQUARE, *const d = a->field[j].d + c->row / per * a->dst_row + c->g;
        uint8_t *const row = a->waiting + (kind == PACKED ? i * CHUNK : i) * WAITING;
        if (direct && a->stream) V(square_stream)(d, a->dst_row, from, n);
        else if (direct) V(square)(d, a->dst_row, from, n);
        else if (kind == PACKED) V(square)(row + LINE, WAITING, from, n);
        if (!direct) V(leave)(a, &a->field[j], d, row, (kind == PACKED ? 1 : per) * WAITING, n, c->g);
    }
}
