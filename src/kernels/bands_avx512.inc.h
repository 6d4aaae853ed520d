/* Packed matrices with vectors of 64 bytes: how groups are folded, and their bytes turned to rows; see bands.c.
 *
 * Four neighbouring groups are folded together, and their lanes change places: so a strip, 16 rows of all groups, is
 * one piece of the stage, of which vectors have what the rounds of shuffles inside of lanes want.
 *
 *     stage     strip 0, rows 0 to 15: groups 0 1 2 3 | 4 5 6 7 | ... | 60 61 62 63     strip 1, rows 16 to 31 ...
 *
 * What turns out is 64 bytes of each row, in the order 0 4 8 ... 1 5 9 ..., of which the first ones belong to a begun
 * line of dst. One shuffle puts them in order and rotates them to where they are in lines; those of the next line wait
 * for the next chunk. So lines are written once and whole, and what is read was written a chunk ago. (A load waits for
 * older stores with the same low 12 bits. Loads of a strip lie in 1 KiB, and `begun` is whole pages from the stage.)
 *
 * An Emerald Rapids, seven eighths of 1021 x 1029 of 4 bits, in us: to read all lines 9 to 11, to fold them 12; to turn
 * them in the first-level cache 10.5, with stores to where bytes are 27, rotated and whole 13.5. */

enum { PIECE = STRIP * CHUNK };

/* ---- groups of lines, folded ---- */

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

TG_INLINE void fetch_groups(int bits, int bytes, const folding *f, const terms *t, int64_t i) {
    TG_UNROLL
    for (int l = 0; l < 4; l++) {
        if (f->fetches) V(fetch_lines)(bits, bytes, true, t, (i + l) * f->step, f->step);
        else if (f->soon) V(fetch_lines)(bits, bytes, false, t, (i + l) * f->step, f->step);
    }
}

TG_INLINE void fold_packed(int bits, bool whole, const folding *f) {
    const terms t = *f->t; /* which no store may change */
    for (int64_t i = 0; i < f->n; i += 4) {
        TG_UNROLL
        for (int j = 0; j < FIELDS(bits); j++) {
            const int64_t n = rows_of(bits, f->rows, f->field + j);
            V(fields)     v[4];
            TG_UNROLL
            for (int l = 0; l < 4; l++) v[l] = V(fold_field)(bits, whole, &t, (i + l) * f->step, j, n);
            put_lanes(f->to + j * SQUARE + i * STRIP, v);
        }
        fetch_groups(bits, LINE, f, &t, i);
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
        fetch_groups(bits, STRIP, f, &t, i);
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
        if (!singles) fetch_groups(bits, BYTE_ROWS, f, &t, i);
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

/* ---- bytes of groups, turned to rows ---- */

/* Rows of dst, at places in elements, and what of their lines has come before. */
typedef struct leaving {
    uint8_t *d;        /* element 0, and bytes of a row before the chunk */
    int64_t  at, step; /* the first row, and from one to the next one */
    int64_t  rows, cols, g;
    int64_t  left;     /* bytes of a row from the chunk on, if all have as many */
    int      shift;    /* elements to bytes */
    bool     claims;
    uint8_t *begun;
} leaving;

/* By the place in a line where the chunk's bytes of a row begin: for each byte of a line where the vector of the row
 * has it, or that of the chunk before had it; and whether that is so. Bytes of groups 0 4 8 ... come first, then
 * 1 5 9 ... */
#define FOUR(x)  (x), (x) + 16, (x) + 32, (x) + 48
#define ALL      FOUR(0), FOUR(1), FOUR(2), FOUR(3), FOUR(4), FOUR(5), FOUR(6), FOUR(7), FOUR(8), FOUR(9), FOUR(10), \
                 FOUR(11), FOUR(12), FOUR(13), FOUR(14), FOUR(15)
#define EIGHT    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff
static const uint8_t rotations[2 * LINE] = {ALL, ALL};
static const uint8_t came_before[2 * LINE] = {EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT};
#undef FOUR
#undef ALL
#undef EIGHT

/* A row's bytes, rotated to their places in lines. */
typedef struct rotated {
    uint8_t *line;   /* where its first one goes */
    __m512i  own;    /* of this line, and the first ones of the next line */
    __m512i  before; /* ones: not of this line */
} rotated;

TG_INLINE rotated rotate(V(vec) row, uint8_t *d) {
    uint8_t *line = d - (uintptr_t)d % LINE;
    int64_t  back = line - d;
    __asm__("" : "+r"(line), "+r"(back)); /* or gcc makes more of them */
    return (rotated){line, _mm512_permutexvar_epi8(_mm512_loadu_si512(rotations + LINE + back), (__m512i)row),
                     _mm512_loadu_si512(came_before + LINE + back)};
}

/* The line, the first bytes of which came before. */
TG_INLINE V(vec) filled(const rotated *x, const uint8_t *begun) {
    enum { FIRST_BY_THIRD = 0xe4 }; /* else the second one */
    return (V(vec))_mm512_ternarylogic_epi64(_mm512_loadu_si512(begun), x->own, x->before, FIRST_BY_THIRD);
}

TG_INLINE void turn_strip(V(vec) *a, const uint8_t *s) {
    V(vec) b[STRIP];
    TG_UNROLL
    for (int j = 0; j < STRIP; j++) a[j] = V(load)(s + j * LINE);
    V(turn_round)(b, a);
    V(turn_round)(a, b);
    V(turn_round)(b, a);
    V(turn_round)(a, b);
}

/* Where the next row is: of an even step in bytes, or in elements. */
typedef struct row_walk {
    uint8_t *d;
    int64_t  at, step, ahead;
    int      shift;
    bool     even;
} row_walk;

TG_INLINE row_walk walk_rows(const leaving *v, bool even) {
    const int64_t step = even ? v->step >> v->shift : v->step;
    return (row_walk){even ? v->d + (v->at >> v->shift) : v->d, v->at, step, TG_CLAIMED_RUNS * step, v->shift, even};
}

TG_INLINE uint8_t *row_now(row_walk *w) {
    if (w->even) __asm__("" : "+r"(w->d)); /* or gcc keeps a list of places on the stack */
    else __asm__("" : "+r"(w->at));
    return w->even ? w->d : w->d + (w->at >> w->shift);
}

TG_INLINE uint8_t *row_claimed(const row_walk *w) {
    return w->even ? w->d + w->ahead : w->d + ((w->at + w->ahead) >> w->shift);
}

TG_INLINE void row_done(row_walk *w) {
    if (w->even) w->d += w->step;
    else w->at += w->step;
}

/* For the next chunk, behind all stores into dst: between those they hold each other up where rows crowd into few sets
 * of the cache (1024 rows of 512 bytes from the middle of a line: 56 us, so 41). */
TG_INLINE void put_begun(uint8_t *begun, const V(vec) *own) {
    __asm__ volatile("" ::: "memory");
    TG_UNROLL
    for (int j = 0; j < STRIP; j++) V(store)(begun + j * LINE, own[j]);
}

/* A strip of a chunk that is not the last one. `first`: nor has anything come before. */
TG_INLINE void leave_strip(bool even, bool first, bool stream, bool claims, const leaving *v, const uint8_t *s) {
    uint8_t *const begun = v->begun;
    row_walk       w = walk_rows(v, even);
    V(vec)         a[STRIP];
    turn_strip(a, s);
    TG_UNROLL
    for (int j = 0; j < STRIP; j++) {
        const rotated x = rotate(a[j], row_now(&w));
        if (claims) TG_CLAIM(row_claimed(&w));
        if (first) _mm512_mask_storeu_epi8(x.line, ~_mm512_movepi8_mask(x.before), x.own);
        else V(put)(x.line, filled(&x, begun + j * LINE), stream);
        a[j] = (V(vec))x.own;
        row_done(&w);
    }
    put_begun(begun, a);
}

/* Of the last chunk, `left` bytes of each row; or of the only one. */
TG_INLINE void leave_last(bool only, bool claims, const leaving *v, const uint8_t *s) {
    const uint64_t all = ~(uint64_t)0;
    const int64_t  left = v->left;
    row_walk       w = walk_rows(v, true);
    V(vec)         a[STRIP];
    turn_strip(a, s);
    TG_UNROLL
    for (int j = 0; j < STRIP; j++) {
        uint8_t *const  d = row_now(&w);
        const rotated   x = rotate(a[j], d);
        const int64_t   end = d - x.line + left;
        const __mmask64 before = only ? _mm512_movepi8_mask(x.before) : 0;
        const V(vec)    now = only ? (V(vec))x.own : filled(&x, v->begun + j * LINE);
        if (claims) {
            TG_CLAIM(row_claimed(&w));
            TG_CLAIM(row_claimed(&w) + left - 1);
        }
        _mm512_mask_storeu_epi8(x.line, _bzhi_u64(all, (unsigned)end) & ~before, (__m512i)now);
        if (end > LINE) _mm512_mask_storeu_epi8(x.line + LINE, _bzhi_u64(all, (unsigned)(end - LINE)), x.own);
        row_done(&w);
    }
}

/* Where rows are whole lines. */
TG_INLINE void leave_whole(bool stream, const leaving *v, const uint8_t *s) {
    row_walk w = walk_rows(v, true);
    V(vec)   a[STRIP];
    turn_strip(a, s);
    TG_UNROLL
    for (int j = 0; j < STRIP; j++) {
        V(put)(row_now(&w), (V(vec))_mm512_permutexvar_epi8(_mm512_loadu_si512(rotations), (__m512i)a[j]), stream);
        row_done(&w);
    }
}

TG_INLINE __mmask64 bytes_between(int64_t from, int64_t to) {
    return from >= LINE ? 0 : _bzhi_u64(~(uint64_t)0 << tg_max(from, 0), (unsigned)tg_max(to, 0));
}

/* Bits of the first and of the last byte of the row at `at` that are not its own. `begin` and `end`: its bytes' places,
 * from the line on; outside of it there is no such byte. */
TG_INLINE V(fields) others_of(const leaving *v, int64_t at, int64_t begin, int64_t end) {
    const int64_t  per = 1 << v->shift, into = at & (per - 1), rest = (into + v->cols) & (per - 1);
    const unsigned first = (1u << into * 8 / per) - 1, last = rest == 0 ? 0 : 0xffu << rest * 8 / per & 0xff;
    return (V(fields))_mm512_or_si512(
        _mm512_maskz_set1_epi8(begin < 0 ? 0 : bytes_between(begin, begin + 1), (char)first),
        _mm512_maskz_set1_epi8(end < 1 ? 0 : bytes_between(end - 1, end), (char)last));
}

/* Rows of any chunk, and fewer than 16. `late`: what is in a byte with others is read when it is written. */
TG_INLINE void leave_any(bool late, const leaving *v, const uint8_t *s) {
    const int64_t per = 1 << v->shift;
    row_walk      w = walk_rows(v, false);
    V(vec)        a[STRIP];
    turn_strip(a, s);
    TG_UNROLL
    for (int j = 0; j < STRIP; j++) {
        if (j >= v->rows) break;
        uint8_t *const  d = row_now(&w);
        const rotated   x = rotate(a[j], d);
        const int64_t   left = tg_ceil_div((w.at & (per - 1)) + v->cols, per) - v->g, inside = d - x.line;
        const int64_t   end = left <= 0 ? 0 : left > CHUNK ? LINE : inside + left;
        const __mmask64 part = bytes_between(v->g == 0 ? inside : 0, end), rest = bytes_between(0, end - LINE);
        __m512i         now = (__m512i)filled(&x, v->begun + j * LINE), next = x.own;
        if (v->claims) TG_CLAIM(row_claimed(&w));
        if (late) {
            const V(fields) old = (V(fields))_mm512_maskz_loadu_epi8(part, x.line);
            const V(fields) more = (V(fields))_mm512_maskz_loadu_epi8(rest, x.line + LINE);
            const int64_t   last = left > CHUNK ? 0 : end;
            now = (__m512i)V(choose_bits)(others_of(v, w.at, v->g == 0 ? inside : -1, last), old, (V(fields))now);
            next = (__m512i)V(choose_bits)(others_of(v, w.at, -1, last - LINE), more, (V(fields))next);
        }
        _mm512_mask_storeu_epi8(x.line, part, now);
        if (end > LINE) _mm512_mask_storeu_epi8(x.line + LINE, rest, next);
        V(store)(v->begun + j * LINE, (V(vec))x.own);
        row_done(&w);
    }
}

typedef void strip_move(const leaving *v, const uint8_t *s);

/* Functions of their own, for elements of all widths. */
#define STRIP_MOVE(name, MOVE) \
    TG_OUTLINE void name(const leaving *v, const uint8_t *s) { MOVE; }
STRIP_MOVE(even_streamed, leave_strip(true, false, true, false, v, s))
STRIP_MOVE(even_claimed, leave_strip(true, false, false, true, v, s))
STRIP_MOVE(even_stored, leave_strip(true, false, false, false, v, s))
STRIP_MOVE(strip_streamed, leave_strip(false, false, true, false, v, s))
STRIP_MOVE(strip_claimed, leave_strip(false, false, false, true, v, s))
STRIP_MOVE(strip_stored, leave_strip(false, false, false, false, v, s))
STRIP_MOVE(whole_streamed, leave_whole(true, v, s))
STRIP_MOVE(whole_stored, leave_whole(false, v, s))
STRIP_MOVE(first_of_even, leave_strip(true, true, false, v->claims, v, s))
STRIP_MOVE(last_of_even, leave_last(false, v->claims, v, s))
STRIP_MOVE(only_of_even, leave_last(true, v->claims, v, s))
STRIP_MOVE(strip_any, leave_any(false, v, s))
STRIP_MOVE(strip_late, leave_any(true, v, s))
#undef STRIP_MOVE

/* [even][streamed, claimed, or neither] */
static strip_move *const between[2][3] = {{strip_streamed, strip_claimed, strip_stored},
                                          {even_streamed, even_claimed, even_stored}};

/* How a strip of 16 rows leaves, of which the shortest one has `least` bytes. */
static strip_move *move_of(const bands *a, const chunk *c, bool even, int64_t least) {
    const bool first = c->g == 0, last = c->g + CHUNK >= least;
    if (a->direct && c->groups == CHUNK) return a->stream ? whole_streamed : whole_stored;
    if (a->late) return strip_late;
    if (!first && !last) return between[even][a->stream ? 0 : a->claims ? 1 : 2];
    return !even ? strip_any : first && last ? only_of_even : first ? first_of_even : last_of_even;
}

/* Rows from `row` on, each so many from the one before. */
static void leave_rows(int bits, const bands *a, const chunk *c, const uint8_t *s, uint8_t *begun, int64_t row,
                       int64_t each, int64_t rows, int64_t least) {
    leaving           v = {.d = a->d + c->g, .at = a->first + row * a->row, .step = each * a->row, .rows = rows,
                           .cols = a->cols, .g = c->g, .left = least - c->g, .shift = 3 - bits / 2,
                           .claims = a->claims, .begun = begun};
    strip_move *const move = move_of(a, c, each > 1, least), *const some = a->late ? strip_late : strip_any;
    for (; v.rows > 0; v.rows -= STRIP, v.at += STRIP * v.step, s += PIECE, v.begun += STRIP * LINE)
        (v.rows < STRIP ? some : move)(&v, s);
}

/* Of packed lines, fields are squares in the stage, and leave by themselves; of bytes, they are all rows in turn. */
TG_INLINE void V(chunk_out)(int bits, int kind, const bands *a, const chunk *c) {
    const int per = 8 / bits;
    if (!a->late) keep_others(bits, kind, a, c);
    for (int i = 0; kind == PACKED && i < FIELDS(bits); i++) {
        const int j = c->first + i;
        if (a->field[j].bytes > c->g)
            leave_rows(bits, a, c, c->stage + i * SQUARE, a->waiting + i * SQUARE, c->row + j, per,
                       rows_of(bits, c->rows, j), a->field[j].bytes);
    }
    for (int64_t r = 0; kind != PACKED && r < c->rows; r += LINE)
        leave_rows(bits, a, c, c->stage + r * CHUNK, a->waiting + r * CHUNK, c->row + r, 1, tg_min(c->rows - r, LINE),
                   a->least);
}
