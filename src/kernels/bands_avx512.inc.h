/* Packed matrices with vectors of 64 bytes: how groups are folded; see bands.c.
 *
 * Four neighbouring groups are folded together, and their lanes change places: so a strip, 16 rows of all groups, is
 * one piece of the stage, of which vectors have what the rounds of shuffles inside of lanes want.
 *
 *     stage     strip 0, rows 0 to 15: groups 0 1 2 3 | 4 5 6 7 | ... | 60 61 62 63     strip 1, rows 16 to 31 ...
 *
 * An Emerald Rapids, seven eighths of 1021 x 1029 of 4 bits: to read all lines takes 6.5 us, to fold them 11.5, from
 * the first-level cache 10, and between strips that leave 15, since these push lines and stage out of it. */

enum { PIECE = STRIP * CHUNK };

/* 64 rows of four groups, whose lanes change places. */
TG_INLINE void put_lanes(uint8_t *to, const V(fields) *v) {
    V(vec) in[4], out[4];
    TG_UNROLL
    for (int l = 0; l < 4; l++) in[l] = (V(vec))v[l];
    V(turn_lanes)(out, in, 1);
    TG_UNROLL
    for (int q = 0; q < 4; q++) V(store)(to + q * PIECE, out[q]);
}

/* Some groups of a chunk, four at a time: n, step apart, of which `t` tells the first one; or four, each told alone, of
 * which some lack lines. */
typedef struct folding {
    uint8_t     *to;
    int64_t      rows, n, step;
    const terms *t, *single[4];
    const terms *before;        /* of bytes, the group before */
    int          field;         /* the first one */
    bool         whole;         /* vectors are there, also behind the rows */
    bool         fetches, soon; /* lines are asked for: those of the next chunk, or of the second next four groups */
} folding;

TG_INLINE void fetch_groups(int bits, int bytes, const folding *f, const terms *t, int64_t at) {
    TG_UNROLL
    for (int l = 0; l < 4; l++) {
        if (f->fetches) V(fetch_lines)(bits, bytes, true, t, at + l * f->step, f->step);
        else if (f->soon) V(fetch_lines)(bits, bytes, false, t, at + l * f->step, f->step);
    }
}

TG_INLINE void fold_packed(int bits, bool whole, const folding *v) {
    const folding f = *v; /* which no store may change, nor */
    const terms   t = *f.t;
    int64_t       at = 0;
    for (int64_t i = 0; i < f.n; i += 4, at += 4 * f.step) {
        __asm__("" : "+r"(at)); /* or gcc keeps a list of places on the stack */
        TG_UNROLL
        for (int j = 0; j < FIELDS(bits); j++) {
            const int64_t n = rows_of(bits, f.rows, f.field + j);
            V(fields)     v4[4];
            TG_UNROLL
            for (int l = 0; l < 4; l++) v4[l] = V(fold_field)(bits, whole, &t, at + l * f.step, j, n);
            put_lanes(f.to + j * SQUARE + i * STRIP, v4);
        }
        fetch_groups(bits, LINE, &f, &t, at);
    }
}

TG_INLINE void fold_singles(int bits, const folding *f) {
    for (int j = 0; j < FIELDS(bits); j++) {
        const int64_t n = rows_of(bits, f->rows, f->field + j);
        V(fields)     v[4];
        for (int l = 0; l < 4; l++) v[l] = V(fold_field)(bits, false, f->single[l], 0, j, n);
        put_lanes(f->to + j * SQUARE, v);
    }
}

/* 16 bytes of each of four lines. */
TG_INLINE V(fields) load_lanes(const uint8_t *s, int64_t step) {
    __m512i v = _mm512_castsi128_si512(LOAD_16(s));
    v = _mm512_inserti32x4(v, LOAD_16(s + step), 1);
    v = _mm512_inserti32x4(v, LOAD_16(s + 2 * step), 2);
    return (V(fields))_mm512_inserti32x4(v, LOAD_16(s + 3 * step), 3);
}

/* Bands of so few rows: a strip of each field. */
TG_INLINE void fold_strip(int bits, const folding *f) {
    const terms t = *f->t;
    const int   per = 8 / bits;
    for (int64_t i = 0; i < f->n; i += 4) {
        TG_UNROLL
        for (int j = 0; j < FIELDS(bits); j++) {
            V(fields) all = {0};
            TG_UNROLL
            for (int k = 0; k < per; k++) {
                const int       m = j * per + k;
                const V(fields) x = V(turned)(load_lanes(t.line[m] + i * f->step, f->step), t.turn[m]);
                all = k == 0 ? x : V(choose)(ones(bits) << k * bits, x, all);
            }
            V(store)(f->to + j * SQUARE + i * STRIP, (V(vec))all);
        }
        fetch_groups(bits, STRIP, f, &t, i * f->step);
    }
}

/* Lines that are bytes. The group before stays in registers. */
TG_INLINE void fold_bytes(int bits, int kind, bool whole, bool singles, const folding *f) {
    enum { VECTORS = BYTE_ROWS / LINE };
    const bool      nonzero = (kind & NONZERO) != 0, alike = (kind & ALIKE) != 0;
    const terms     t = *f->t;
    const V(shifts) m = V(shifts_of)(bits, &t);
    V(fields)       last[VECTORS] = {{0}};
    for (int k = 0; k < VECTORS && !alike; k++)
        last[k] = V(join_fields)(bits, nonzero, false, f->before, k * LINE, f->rows - k * LINE);
    for (int64_t i = 0; i < f->n; i += 4) {
        for (int k = 0; k < VECTORS && k * LINE < f->rows; k++) {
            V(fields) v[4];
            TG_UNROLL
            for (int l = 0; l < 4; l++) {
                const terms *const of = singles ? f->single[l] : &t;
                const int64_t      at = (singles ? 0 : (i + l) * f->step) + k * LINE;
                const V(fields)    x = V(join_fields)(bits, nonzero, whole, of, at, f->rows - k * LINE);
                v[l] = alike ? x : V(shift_rows)(bits, &m, last[k], x);
                last[k] = x;
            }
            put_lanes(f->to + k * SQUARE + i * STRIP, v);
        }
        if (!singles) fetch_groups(bits, BYTE_ROWS, f, &t, i * f->step);
    }
}

TG_INLINE void fold_groups(int bits, int kind, bool singles, const folding *f) {
    if (kind != PACKED && (singles || !f->whole)) fold_bytes(bits, kind, false, singles, f);
    else if (kind != PACKED) fold_bytes(bits, kind, true, false, f);
    else if (singles) fold_singles(bits, f);
    else if (!f->whole) fold_packed(bits, false, f);
    else if (f->rows <= STRIP * 8 / bits) fold_strip(bits, f);
    else fold_packed(bits, true, f);
}

typedef void V(folder)(const folding *f, bool singles);

#undef DEFINE_FOLDER
#define DEFINE_FOLDER(BITS, NAME, KIND)                                                                                \
    TG_OUTLINE void V(fold_##BITS##_##NAME)(const folding *f, bool singles) { fold_groups(BITS, KIND, singles, f); }

/* Are lines so long that a vector of one, behind the rows of a band, ends before the last one of the next group? */
static bool go_on(const bands *a) { return a->src_col > LINE; }

/* Four groups from g on, of which some are not there, or lack lines. */
TG_INLINE void V(fold_four)(int bits, int kind, V(folder) *fold, const bands *a, const chunk *c, folding *f,
                            int64_t g) {
    terms t[4], before;
    f->to = c->stage + (g - c->g) * STRIP;
    f->n = 1;
    for (int l = 0; l < 4; l++) {
        const bool there = g + l < c->g + c->groups;
        if (there) find_terms(bits, kind, &t[l], a, c, g + l);
        f->single[l] = &t[there ? l : 0];
    }
    f->t = &t[0];
    f->before = &before;
    if (kind != PACKED && (kind & ALIKE) == 0) find_terms(bits, kind, &before, a, c, g - 1);
    fold(f, true);
}

/* Groups that have all their lines, four by four, but the last one of these if vectors would end behind src; and the
 * others. */
TG_INLINE void V(fold_chunk)(int bits, int kind, V(folder) *fold, const bands *a, const chunk *c) {
    const bool    all = c->rows == rows_of_band(bits, kind);
    const int64_t end = c->g + c->groups, first = a->full_first > c->g ? c->g + 4 : c->g;
    const int64_t full = tg_min(a->full_end - (!all && go_on(a)), end) - first, n = full < 0 ? 0 : full / 4 * 4;
    terms         t, before;
    folding       f = {.to = c->stage + (first - c->g) * STRIP, .rows = c->rows, .n = n, .t = &t, .before = &before,
                       .step = a->src_col * (kind == PACKED ? 1 : 8 / bits), .field = c->first,
                       .whole = all || go_on(a), .fetches = a->fetches,
                       .soon = !a->fetches && (kind == PACKED || a->far)}; /* near bytes: H 0.33 without, 0.31 */
    if (n > 0) {
        find_terms(bits, kind, &t, a, c, first);
        if (kind != PACKED && (kind & ALIKE) == 0) find_terms(bits, kind, &before, a, c, first - 1);
        fold(&f, false);
    }
    if (first > c->g) V(fold_four)(bits, kind, fold, a, c, &f, c->g);
    for (int64_t g = first + n; g < end; g += 4) V(fold_four)(bits, kind, fold, a, c, &f, g);
}
