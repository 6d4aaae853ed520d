/* Packed matrices with vectors of 64 bytes: how bytes of groups are turned to rows, and leave; see bands.c.
 *
 * What turns out of a strip (bands_avx512.inc.h) is 64 bytes of each row, in the order 0 4 8 ... 1 5 9 ..., of which
 * the first ones belong to a begun line of dst. One shuffle puts them in order and rotates them to where they are in
 * lines; those of the next line wait for the next chunk. So lines are written once and whole, and what is read was
 * written a chunk ago, or before a region of other bands. (A load waits for older stores with the same low 12 bits.
 * Loads of a strip lie in 1 KiB, and `begun` is whole pages from the stage.)
 *
 * An Emerald Rapids, seven eighths of 1021 x 1029 of 4 bits: to turn them in the first-level cache takes 10.5 us,
 * rotated and whole to dst 13, to where bytes are 27. With folding 28; by two masked stores for each row, without
 * `begun`, 40; with half of the rounds of shuffles in the folder, which waits for lines meanwhile, 28.6. */

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
 * has it, or, with a high bit that a shuffle ignores, where that of the chunk before had it. Bytes of groups 0 4 8 ...
 * come first, then 1 5 9 ... */
#define FOUR(x)  (x), (x) + 16, (x) + 32, (x) + 48
#define ALL(x)   FOUR(x), FOUR((x) + 1), FOUR((x) + 2), FOUR((x) + 3), FOUR((x) + 4), FOUR((x) + 5), FOUR((x) + 6), \
                 FOUR((x) + 7), FOUR((x) + 8), FOUR((x) + 9), FOUR((x) + 10), FOUR((x) + 11), FOUR((x) + 12), \
                 FOUR((x) + 13), FOUR((x) + 14), FOUR((x) + 15)
enum { CAME_BEFORE = 0x80 };
static const uint8_t rotations[2 * LINE] = {ALL(CAME_BEFORE), ALL(0)};
#undef FOUR
#undef ALL

/* A row's bytes, rotated to their places in lines. */
typedef struct rotated {
    uint8_t  *line;   /* where its first one goes */
    __m512i   own;    /* of this line, and the first ones of the next line */
    __mmask64 before; /* not of this line */
} rotated;

TG_INLINE rotated rotate(V(vec) row, uint8_t *d) {
    uint8_t *line = d - (uintptr_t)d % LINE;
    int64_t  back = line - d;
    __asm__("" : "+r"(line), "+r"(back)); /* or gcc makes more of them */
    const __m512i from = _mm512_loadu_si512(rotations + LINE + back);
    return (rotated){line, _mm512_permutexvar_epi8(from, (__m512i)row), _mm512_movepi8_mask(from)};
}

/* The line, the first bytes of which came before. */
TG_INLINE V(vec) filled(const rotated *x, const uint8_t *begun) {
    return (V(vec))_mm512_mask_mov_epi8(x->own, x->before, _mm512_loadu_si512(begun));
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
 * of the cache (an Emerald Rapids, 1024 rows of 512 bytes from the middle of a line: 56 us, so 41). */
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
        if (first) _mm512_mask_storeu_epi8(x.line, ~x.before, x.own);
        else V(put)(x.line, filled(&x, begun + j * LINE), stream);
        a[j] = (V(vec))x.own;
        row_done(&w);
    }
    put_begun(begun, a);
}

/* Of the last chunk, `left` bytes of each row; or of the only one. */
TG_INLINE void leave_last(bool only, bool claims, const leaving *v, const uint8_t *s) {
    const int64_t left = v->left;
    row_walk      w = walk_rows(v, true);
    V(vec)        a[STRIP];
    turn_strip(a, s);
    TG_UNROLL
    for (int j = 0; j < STRIP; j++) {
        uint8_t *const  d = row_now(&w);
        const rotated   x = rotate(a[j], d);
        const int64_t   end = d - x.line + left;
        const __mmask64 before = only ? x.before : 0;
        const V(vec)    now = only ? (V(vec))x.own : filled(&x, v->begun + j * LINE);
        if (claims) {
            TG_CLAIM(row_claimed(&w));
            TG_CLAIM(row_claimed(&w) + left - 1);
        }
        _mm512_mask_storeu_epi8(x.line, V(first_bytes)(end) & ~before, (__m512i)now);
        if (end > LINE) _mm512_mask_storeu_epi8(x.line + LINE, V(first_bytes)(end - LINE), x.own);
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
        const __m512i in_order = _mm512_loadu_si512(rotations + LINE);
        V(put)(row_now(&w), (V(vec))_mm512_permutexvar_epi8(in_order, (__m512i)a[j]), stream);
        row_done(&w);
    }
}

/* Bits of the first and of the last byte of the row at `at` that are not its own. `begin` and `end`: its bytes' places,
 * from the line on; outside of it there is no such byte. */
TG_INLINE V(fields) others_of(const leaving *v, int64_t at, int64_t begin, int64_t end) {
    const int64_t  per = 1 << v->shift, into = at & (per - 1), rest = (into + v->cols) & (per - 1);
    const unsigned first = (1u << into * 8 / per) - 1, last = rest == 0 ? 0 : 0xffu << rest * 8 / per & 0xff;
    return (V(fields))_mm512_or_si512(
        _mm512_maskz_set1_epi8(V(bytes_between)(begin, begin + 1), (char)first),
        _mm512_maskz_set1_epi8(V(bytes_between)(end - 1, end), (char)last));
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
        const __mmask64 part = V(bytes_between)(v->g == 0 ? inside : 0, end), rest = V(bytes_between)(0, end - LINE);
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
    for (int i = 0; is_packed(kind) && i < fields_of(bits, kind); i++) {
        const int j = c->first + i;
        if (a->field[j].bytes > c->g)
            leave_rows(bits, a, c, c->stage + i * square_of(kind), a->waiting + i * square_of(kind), c->row + j, per,
                       rows_of(bits, c->rows, j), a->field[j].bytes);
    }
    for (int64_t r = 0; !is_packed(kind) && r < c->rows; r += LINE)
        leave_rows(bits, a, c, c->stage + r * CHUNK, a->waiting + r * CHUNK, c->row + r, 1, tg_min(c->rows - r, LINE),
                   a->least);
}
