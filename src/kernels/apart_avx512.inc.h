/* Transposes of elements that are apart: near each other in src along one loop, in dst along another one, but no
 * neighbours on one side, or on both. Lines of src are gathered into a stage, transposed from there, and rows are
 * scattered out of a second stage; of these three steps one that neighbours do not need falls away. Every second
 * element of lines a and b, to rows of two:
 *
 *     src   a0 . a1 . a2 . a3 .     stage   a0 a1 a2 a3     dst   a0 b0  a1 b1  a2 b2  a3 b3
 *           b0 . b1 . b2 . b3 .             b0 b1 b2 b3
 *
 * Where rows of dst are not scattered, and all of their elements have room, padding behind them is written as well.
 * Element by element the same takes a load and a store for each of them: elements of one or two bytes are 1.2 to 6
 * times as fast like this (an Emerald Rapids, as are the numbers below). */

enum {
    APART_STAGE = 16 << 10, /* bytes */
    APART_RUN = 256,        /* bytes of dst that are good, if there is room for lines of src as well */
    APART_ROWS = 2,         /* elements: masked stores that write less of a vector are as slow as single ones */
    APART_WIDTH = 2,        /* bytes: wider elements are moved as fast one by one */
    APART_LINE = 12,        /* elements: lines of 7 were 0.55 times as fast as single elements, */
    APART_ELEMENTS = 768    /* and matrices of 624 elements 0.7 times; of 896 they gain */
};

typedef struct axis {
    int64_t n, dst, src;
} axis;

/* Lines of src go along x and go on along x2, rows of dst along y and y2; z is what is left. Two of x2, y2 and z are
 * of one step. */
typedef struct apart {
    axis           x, x2, y, y2, z;
    int64_t        tail; /* elements, behind rows */
    const uint8_t *pad;
} apart;

static const axis no_axis = {1, 0, 0};

static inline bool is_near_step(int64_t step, int64_t width) {
    return tg_magnitude(step) >= width && tg_magnitude(step) <= TG_NEARER_STEP;
}

/* The loop of the smallest step on one side, other than `but`; -1: none is near. */
static inline int find_axis(const axis *of, bool in_dst, int64_t width, int but) {
    int best = -1;
    for (int i = 0; i < 3; i++) {
        const int64_t step = in_dst ? of[i].dst : of[i].src;
        if (i == but || of[i].n == 1 || !is_near_step(step, width)) continue;
        if (in_dst && (step < 0 || step > APART_ROWS * width)) continue;
        const int64_t least = best < 0 ? INT64_MAX : in_dst ? of[best].dst : tg_magnitude(of[best].src);
        if (tg_magnitude(step) < least) best = i;
    }
    return best;
}

/* False if this is no such block. */
static inline bool apart_of(apart *a, const tg_block *b, int64_t width) {
    const axis of[3] = {{b->cols, b->dst_col, b->src_col}, {b->rows, b->dst_row, b->src_row},
                        {b->outer, b->dst_outer, b->src_outer}};
    if (b->cols * b->rows * b->outer < APART_ELEMENTS) return false;
    const int y = find_axis(of, true, width, -1), x = y < 0 ? -1 : find_axis(of, false, width, y);
    if (x < 0) return false;
    const axis *const third = &of[3 - x - y];
    const bool on_src = third->src == of[x].n * of[x].src, on_dst = !on_src && third->dst == of[y].n * of[y].dst;
    *a = (apart){of[x], on_src ? *third : no_axis, of[y], on_dst ? *third : no_axis,
                 on_src || on_dst ? no_axis : *third, b->tail, b->pad};
    return a->x.n * a->x2.n >= APART_LINE && b->cols * b->rows * b->outer / a->z.n >= APART_ELEMENTS;
}

/* How much goes through the stages at a time: lines of src, and elements of each; and bytes from line to line, where
 * lines do not all begin in the same few places of a cache. */
typedef struct apart_tile {
    axis    x, x2, y, y2;
    int64_t line, row; /* bytes between lines in the first stage, between rows in the second one */
} apart_tile;

static inline int64_t pitch_of(int64_t bytes) { return bytes <= 64 ? bytes : (bytes + 63) / 64 * 64 | 64; }

/* Of so many steps of a and then of a2, where `most` have room. */
static inline int64_t steps_at_once(const axis *a, const axis *a2, int64_t most) {
    if (most >= a->n * a2->n) return a->n * a2->n;
    return most >= a->n ? most / a->n * a->n : most;
}

static inline void cut_axis(axis *a, axis *a2, int64_t steps) {
    const int64_t n = a->n;
    a->n = steps < n ? steps : n;
    a2->n = steps / a->n;
}

/* Of elements that have so much room the most whose pitch is what they are. */
static inline int64_t fitting_elements(int64_t bytes, int64_t width) {
    const int64_t each = 64 / width, n = bytes / width;
    return n > each ? ((n / each - 1) | 1) * each : n;
}

/* The longer rows of dst are, the better, up to APART_RUN; then as much of each line of src as has room, and then more
 * of dst again. Lines of some vectors are whole ones, for squares. */
static apart_tile largest_tile(const apart *a, int64_t width) {
    const int64_t across = a->y.n * a->y2.n, along = a->x.n * a->x2.n, each = 64 / width;
    const bool    scatters = a->y.dst != width;
    apart_tile    t = {.x = a->x, .x2 = a->x2, .y = a->y, .y2 = a->y2};
    int64_t       w = tg_min(fitting_elements(APART_STAGE / tg_min(across, APART_RUN / width), width), along);
    w = steps_at_once(&a->x, &a->x2, w);
    t.line = pitch_of(w * width);
    int64_t h = tg_min(across, APART_STAGE / t.line);
    if (scatters) h = tg_min(h, fitting_elements(APART_STAGE / tg_min(w, each), width));
    h = steps_at_once(&a->y, &a->y2, h);
    t.row = pitch_of(h * width);
    const int64_t rows = APART_STAGE / t.row;
    if (scatters && rows < w) w = steps_at_once(&a->x, &a->x2, rows > each ? rows / each * each : rows);
    cut_axis(&t.x, &t.x2, w);
    cut_axis(&t.y, &t.y2, h);
    return t;
}

/* Does the transpose write the tails of rows as well? All columns have room in the stage. */
static inline bool takes_tail(const tg_block *b, int64_t width) {
    apart a;
    if (width > APART_WIDTH || b->dst_col != width || !apart_of(&a, b, width) || a.y.dst != width) return false;
    return largest_tile(&a, width).y.n == b->cols;
}

/* From step p of a and a2 on, so many. */
static inline void part_of_axis(axis *part, axis *part2, const axis *a, const axis *a2, int64_t p, int64_t most) {
    const int64_t left = most < a->n ? a->n - p % a->n : a->n * a2->n - p;
    part->n = a->n;
    cut_axis(part, part2, tg_min(most, left));
}

static inline int64_t dst_of_step(const axis *a, const axis *a2, int64_t p) {
    return p / a->n * a2->dst + p % a->n * a->dst;
}

static inline int64_t src_of_step(const axis *a, const axis *a2, int64_t p) {
    return p / a->n * a2->src + p % a->n * a->src;
}

TG_INLINE void move_apart_tile(int width, const tg_mover *turn, uint8_t *d, const uint8_t *s, const apart *a,
                               const apart_tile *t, uint8_t *in, uint8_t *out) {
    const bool     gathers = t->x.src != width, scatters = t->y.dst != width;
    const int64_t  w = t->x.n * t->x2.n, h = t->y.n * t->y2.n;
    const tg_block lines = {.outer = t->y2.n, .rows = t->y.n, .cols = w, .dst_outer = t->y.n * t->line,
                            .dst_row = t->line, .dst_col = width, .src_outer = t->y2.src, .src_row = t->y.src,
                            .src_col = t->x.src};
    const tg_block rows = {.outer = t->x2.n, .rows = t->x.n, .cols = h, .dst_outer = t->x2.dst, .dst_row = t->x.dst,
                           .dst_col = t->y.dst, .src_outer = t->x.n * t->row, .src_row = t->row, .src_col = width};
    tg_block       b = {.outer = t->x2.n, .rows = t->x.n, .cols = h, .dst_col = width, .src_outer = t->x.n * width,
                        .src_row = width, .src_col = t->line, .tail = a->tail, .pad = a->pad};
    b.dst_row = t->x.dst;
    b.dst_outer = t->x2.dst;
    if (scatters) {
        b.outer = 1;
        b.rows = w;
        b.dst_row = t->row;
    }
    if (!gathers) b.src_col = t->y.src;
    if (!gathers && t->y2.n > 1) { /* then x2 is of one step */
        b.outer = t->y2.n;
        b.cols = t->y.n;
        b.dst_outer = t->y.n * width;
        b.src_outer = t->y2.src;
    }
    if (gathers) move_gather(width, false, true, in, s, &lines);
    (void)turn->move(turn, scatters ? out : d, gathers ? in : s, &b);
    if (scatters) move_scatter(width, d, out, &rows);
}

TG_OUTLINE void move_apart(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const apart *from) {
    _Alignas(64) uint8_t in[APART_STAGE + 64], out[APART_STAGE + 64];
    const apart      a = *from;
    const apart_tile most = largest_tile(&a, width);
    const int64_t    w = most.x.n * most.x2.n, h = most.y.n * most.y2.n;
    const bool       scatters = a.y.dst != width;
    apart_tile       t = most;
    tg_mover         turn = *m;
    turn.move = tg_transpose_for(TG_CPU_AVX512, width);
    turn.far = turn.fetches = turn.sparing = turn.staged = false;
    turn.stream = m->stream && !scatters;
    turn.to_dst = m->to_dst && !scatters;
    turn.claims = m->claims && !scatters;
    for (int64_t z = 0; z < a.z.n; z++)
        for (int64_t y = 0; y < a.y.n * a.y2.n; y += t.y.n * t.y2.n) {
            part_of_axis(&t.y, &t.y2, &a.y, &a.y2, y, h);
            for (int64_t x = 0; x < a.x.n * a.x2.n; x += t.x.n * t.x2.n) {
                part_of_axis(&t.x, &t.x2, &a.x, &a.x2, x, w);
                move_apart_tile(width, &turn,
                                d + z * a.z.dst + dst_of_step(&a.y, &a.y2, y) + dst_of_step(&a.x, &a.x2, x),
                                s + z * a.z.src + src_of_step(&a.y, &a.y2, y) + src_of_step(&a.x, &a.x2, x), &a, &t,
                                in, out);
            }
        }
}

/* False if it is neither near each other on one side, nor on both along different loops. */
TG_INLINE bool spread(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    apart a;
    if (is_gather(b, width) || is_scatter(b, width)) move_spread(width, m, d, s, b);
    else if (width <= APART_WIDTH && m->apart && apart_of(&a, b, width)) move_apart(width, m, d, s, &a);
    else return false;
    return true;
}
