/* One box: which loops its blocks are made of, in which order the blocks come, and who moves them.
 *
 * The columns of a block are the loop along which dst is written without gaps. Who can move the block follows from
 * how src goes along them, and from a second loop along which src is read without gaps:
 *
 *     loops of the box (n, dst, src), in elements             columns       rows          family
 *     (128, 2^20, 64) (16384, 64, 8192) (64, 1, 1)            (64, 1, 1)    (16384, ...)  rows: runs of one stick
 *     (256, 2^19, 2^19) (64, 1, 8192) (8192, 64, 1)           (64, 1, 2^13) (8192, 64, 1) transpose
 *     (4096, 1, 64)                                           that one      -             strided: a gather
 *
 * Where neighbours stay together on both sides but are only a few bytes, they are one wider element: a column-major
 * bfloat16 matrix into T(8,128)(2,1) is a transpose of 4-byte elements.
 *
 * A block has room for one loop more. Whatever continues what src reads or what dst writes belongs into the block,
 * because caches and page tables are kept best by long walks on both sides: 64 rows of a matrix with all their columns
 * read 64 pages in turn and write 8 KiB at a time. Loops that would make a block too large are cut in chunks; the
 * chunks, and the loops that are left, run above the blocks in the order of dst. */
#include "base/checked.h"
#include "relayout/plan.h"

enum {
    RUN_BYTES = 32,    /* shorter runs are rather wide elements, if they can be */
    LINE_PAIR = 128,
    STRIDED_TILE = 64, /* elements */
    FEW_ROWS = 16,
    SHORT_RUN = 64,    /* bytes: a transpose of shorter runs wants more loops */
    GOOD_RUN = 128,    /* bytes: no more loops from here on */
    TILE_LOOPS = 8,    /* on either side */
    PARTS_WANTED = 16  /* blocks of a small move */
};

enum { NONE = -1, OUTER = TG_PART_OUTER, ROWS = TG_PART_ROWS, COLS = TG_PART_COLS };

typedef struct maker {
    tg_plan_private *plan;
    tg_box          *box;
    tg_loop         *loop; /* the caller's; by decreasing dst, steps in bytes, without the run */
    bool             used[TG_BOX_LOOPS];
    int32_t          n;
    int64_t          run;  /* elements that are neighbours on both sides; 0: none */
    int64_t          tail; /* elements */
    int32_t          dst_width, src_width; /* bytes; 0: packed */
    tg_loop          cols[TILE_LOOPS], rows[TILE_LOOPS]; /* of a tile, innermost first */
    int32_t          ncols, nrows;
    bool             converts;
    const tg_pair   *pair;
} maker;

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; } /* validated strides: not INT64_MIN */

/* ---- fewer loops ---- */

/* dst is walked upwards. */
static void flip(tg_loop *l, int64_t *dst, int64_t *src) {
    if (l->dst >= 0) return;
    *dst += (l->n - 1) * l->dst;
    *src += (l->n - 1) * l->src;
    l->dst = -l->dst;
    l->src = -l->src;
}

static void sort(tg_loop *loop, int32_t n) {
    for (int32_t i = 1; i < n; i++) {
        if (loop[i - 1].dst >= loop[i].dst) continue;
        const tg_loop l = loop[i];
        int32_t       j = i;
        for (; j > 0 && loop[j - 1].dst < l.dst; j--) loop[j] = loop[j - 1];
        loop[j] = l;
    }
}

/* Two loops that both sides walk like one. */
static int32_t fuse(tg_loop *loop, int32_t n) {
    int32_t out = 0;
    for (int32_t i = 0; i < n; i++) {
        tg_loop *high = &loop[out - 1];
        if (out > 0 && high->dst == loop[i].n * loop[i].dst && high->src == loop[i].n * loop[i].src) {
            high->n *= loop[i].n; /* fits: positions of dst */
            high->dst = loop[i].dst;
            high->src = loop[i].src;
            continue;
        }
        if (out < i) loop[out] = loop[i];
        out++;
    }
    return out;
}

/* ---- which loop is what ---- */

static int32_t find_dst(const maker *m, int64_t step) {
    for (int32_t i = m->n; i-- > 0;)
        if (!m->used[i] && m->loop[i].dst == step) return i;
    return NONE;
}

static int32_t find_src(const maker *m, int64_t step) {
    for (int32_t i = m->n; i-- > 0;)
        if (!m->used[i] && m->loop[i].src == step) return i;
    return NONE;
}

static int32_t smallest_dst(const maker *m) {
    int32_t i = m->n - 1;
    while (i >= 0 && m->used[i]) i--;
    return i; /* NONE if all are used */
}

static int32_t smallest_src(const maker *m) {
    int32_t best = NONE;
    for (int32_t i = 0; i < m->n; i++) {
        if (m->used[i] || m->loop[i].src == 0) continue;
        if (best == NONE || magnitude(m->loop[i].src) < magnitude(m->loop[best].src)) best = i;
    }
    return best;
}

static void take(maker *m, int32_t index, int32_t part) {
    const tg_loop one = {1, 0, 0, 0, 0};
    const tg_loop *l = index == NONE ? &one : &m->loop[index];
    tg_block      *b = &m->box->block;
    if (index != NONE) m->used[index] = true;
    if (part == OUTER) b->outer = l->n, b->dst_outer = l->dst, b->src_outer = l->src;
    if (part == ROWS) b->rows = l->n, b->dst_row = l->dst, b->src_row = l->src;
    if (part == COLS) b->cols = l->n, b->dst_col = l->dst, b->src_col = l->src;
}

/* Of the loop that continues dst and the one that continues src, rows are the one that is short, or that strides less
 * where the other side reads or writes. */
static void take_rows(maker *m) {
    const int32_t d = smallest_dst(m);
    if (d == NONE) {
        take(m, NONE, ROWS);
        take(m, NONE, OUTER);
        return;
    }
    m->used[d] = true;
    const int32_t s = smallest_src(m), other = s != NONE ? s : smallest_dst(m);
    const tg_loop *a = &m->loop[d], *b = other == NONE ? NULL : &m->loop[other];
    bool           d_is_rows = b == NULL;
    if (b != NULL && (a->n <= FEW_ROWS) != (b->n <= FEW_ROWS)) d_is_rows = a->n <= FEW_ROWS;
    else if (b != NULL) d_is_rows = magnitude(a->src) <= b->dst;
    take(m, d_is_rows ? d : other, ROWS);
    take(m, d_is_rows ? other : d, OUTER);
}

/* Long walks: on in src, or else on in dst; where runs of dst are brief, on in dst. Where columns take turns in dst (or
 * rows in src), that side is one run already, and is walked on. */
static void take_transposed(maker *m, int64_t width) {
    const tg_block *b = &m->box->block;
    const bool      few_cols = b->cols * width < SHORT_RUN, few_rows = b->rows * width < SHORT_RUN;
    int32_t         o = few_cols && !few_rows ? find_dst(m, b->cols * width) : NONE;
    if (few_cols && b->dst_row == b->cols * width) o = find_dst(m, b->rows * b->dst_row);
    else if (few_rows && b->src_col == b->rows * width) o = find_src(m, b->cols * b->src_col);
    if (o == NONE) o = find_src(m, b->rows * width);
    if (o == NONE) o = find_dst(m, b->cols * width);
    if (o == NONE) o = find_dst(m, b->rows * b->dst_row);
    if (o == NONE) o = smallest_src(m);
    take(m, o, OUTER);
}

/* ---- tiles of several loops ---- */

/* Of what is transposed: packed elements have been unpacked by then. */
static int32_t tile_width(const maker *m) {
    return m->src_width > 0 ? m->src_width : m->dst_width > 0 ? m->dst_width : 1;
}

static int64_t step_of(int32_t width) { return width == 0 ? TG_PACKED_STEP : width; }

/* Elements on either side of a tile, so that it fits into the stage. */
static int64_t tile_side(int32_t width) { return width == 1 ? 128 : width <= 4 ? 64 : 32; }

/* Starting with loop `index`, the loops that go on where the ones before end in dst (or src), until their run is good.
 */
static int32_t take_run_of_loops(maker *m, tg_loop *set, int32_t index, bool in_dst, int32_t bits, int64_t *total) {
    const int64_t most = tile_side(tile_width(m));
    int32_t       n = 0;
    *total = 1;
    while (index != NONE && n < TILE_LOOPS) {
        const tg_loop *l = &m->loop[index];
        if (n > 0 && *total * l->n > most) break;
        set[n++] = *l;
        m->used[index] = true;
        *total *= l->n;
        const int64_t bytes = tg_bytes_for(*total, bits);
        if (bytes >= GOOD_RUN || (bits < 8 && *total % (8 / bits) != 0)) break;
        index = in_dst ? find_dst(m, bytes) : find_src(m, bytes);
    }
    return n;
}

static void set_tile(maker *m, int64_t cols, int64_t rows) {
    tg_box         *box = m->box;
    tg_block       *b = &box->block;
    const tg_block zero = {.outer = 1};
    *b = zero;
    b->cols = cols;
    b->rows = rows;
    b->dst_col = m->dst_width; /* 0: packed */
    b->src_col = m->cols[0].src;
    b->dst_row = m->rows[0].dst;
    b->src_row = m->src_width;
    b->tail = m->tail;
    box->route = TG_ROUTE_TILE;
    box->family = TG_FAMILY_TRANSPOSE;
    box->width = tile_width(m);
}

/* Transposes of packed elements, and of runs so short that blocks of three loops would be a handful of elements. */
static bool choose_tile(maker *m, int32_t a, int32_t b) {
    const int32_t dst = m->plan->dst_bits, src = m->plan->src_bits;
    const bool    packed = m->dst_width == 0 || m->src_width == 0;
    const bool writes_briefly = tg_bytes_for(m->loop[a].n, dst) < SHORT_RUN,
               reads_briefly = tg_bytes_for(m->loop[b].n, src) < SHORT_RUN;
    int64_t       cols, rows;
    if (m->tail > 0 && m->loop[a].n > tile_side(tile_width(m))) return false;
    m->used[b] = true; /* not a column */
    m->ncols = take_run_of_loops(m, m->cols, a, true, dst, &cols);
    m->nrows = take_run_of_loops(m, m->rows, b, false, src, &rows);
    const bool wide = writes_briefly && (m->ncols > 1 || (reads_briefly && m->nrows > 1));
    if (packed || wide || m->ncols > 2 || m->nrows > 2) {
        set_tile(m, cols, rows);
        return true;
    }
    for (int32_t i = 0; i < m->n; i++) m->used[i] = false;
    m->ncols = m->nrows = 0;
    return false;
}

/* ---- families ---- */

static void set_columns(maker *m, int64_t n, int64_t dst, int64_t src) {
    tg_block *b = &m->box->block;
    b->cols = n;
    b->dst_col = dst;
    b->src_col = src;
}

static void choose_rows(maker *m) {
    tg_box       *box = m->box;
    const int64_t n = tg_max(m->run, 1);
    box->family = TG_FAMILY_ROWS;
    box->block.tail = m->tail;
    if (m->converts) {
        box->width = m->src_width;
        set_columns(m, n, m->dst_width, m->src_width);
    } else {
        const int32_t bits = m->plan->dst_bits;
        box->width = 1;
        set_columns(m, tg_bytes_for(n, bits), 1, 1);
        box->block.tail = tg_bytes_for(m->tail, bits);
    }
    take_rows(m);
}

static void choose_transpose(maker *m, int32_t a, int32_t b, int32_t width) {
    m->box->family = TG_FAMILY_TRANSPOSE;
    m->box->width = width;
    m->box->block.tail = m->tail;
    take(m, a, COLS);
    take(m, b, ROWS);
    take_transposed(m, width);
}

static void choose_strided(maker *m, int32_t columns) {
    m->box->family = TG_FAMILY_STRIDED;
    m->box->width = m->src_width;
    m->box->block.tail = m->tail;
    take(m, columns, COLS);
    const int32_t r = smallest_src(m);
    take(m, r != NONE ? r : smallest_dst(m), ROWS);
    take(m, smallest_dst(m), OUTER);
}

static bool is_wide(int64_t bytes) { return bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16; }

/* Short runs as one wide element each. */
static bool choose_wide(maker *m) {
    const int64_t bytes = m->run * m->dst_width;
    if (m->converts || m->tail > 0 || m->dst_width == 0 || bytes >= RUN_BYTES || !is_wide(bytes)) return false;
    const int32_t a = find_dst(m, bytes), b = find_src(m, bytes);
    if (a == NONE || b == NONE || a == b) return false;
    choose_transpose(m, a, b, (int32_t)bytes);
    return true;
}

static void choose_family(maker *m) {
    if (m->run > 0) {
        if (!choose_wide(m)) choose_rows(m);
        return;
    }
    const int32_t a = find_dst(m, step_of(m->dst_width)), b = find_src(m, step_of(m->src_width));
    if (a != NONE && b != NONE && choose_tile(m, a, b)) return; /* a != b: there is no run */
    if (a != NONE && b != NONE) choose_transpose(m, a, b, m->src_width);
    else if (a == NONE && (m->tail > 0 || m->n == 0)) choose_rows(m); /* single elements */
    else choose_strided(m, a != NONE ? a : smallest_dst(m));
}

static void choose_route(maker *m) {
    const tg_box *box = m->box;
    if (box->route == TG_ROUTE_TILE) return;
    const bool    straight = box->family == TG_FAMILY_ROWS, together = box->block.dst_col == m->dst_width;
    m->box->route = !m->converts ? TG_ROUTE_MOVE
                    : straight   ? TG_ROUTE_CONVERT
                    : together   ? TG_ROUTE_STAGED
                                 : TG_ROUTE_SCATTER;
}

/* What a mover is made for. */
typedef struct wish {
    tg_family   family;
    int32_t     width;
    bool        stream, far;
    tg_encoding dst, src; /* family convert */
} wish;

static bool make_mover(tg_mover *out, const wish *w, uint32_t cpu) {
    switch (w->family) {
    case TG_FAMILY_ROWS: return tg_mover_rows(out, cpu, w->stream, w->far);
    case TG_FAMILY_TRANSPOSE: return tg_mover_transpose(out, w->width, cpu, w->stream, w->far);
    case TG_FAMILY_STRIDED: return tg_mover_strided(out, w->width, cpu, w->stream, w->far);
    default: return tg_mover_convert(out, w->dst, w->src, cpu, w->stream, w->far);
    }
}

static bool is_wished(const tg_nest *nest, int32_t i, const wish *w) {
    const tg_mover *k = &nest->mover[i];
    if (nest->family[i] != w->family || k->stream != w->stream || k->far != w->far) return false;
    if (w->family != TG_FAMILY_CONVERT) return nest->width[i] == w->width;
    return tg_encoding_same(k->dst, w->dst) && tg_encoding_same(k->src, w->src);
}

/* A mover that another box has already, or a new one; false if there is none. */
static bool find_mover(maker *m, int32_t *out, const wish *w) {
    tg_nest *nest = &m->plan->as.nest;
    for (*out = 0; *out < nest->nmovers; ++*out)
        if (is_wished(nest, *out, w)) return true;
    if (nest->nmovers == TG_PLAN_MOVERS || !make_mover(&nest->mover[*out], w, m->pair->cpu)) return false;
    nest->family[*out] = w->family;
    nest->width[*out] = w->width;
    nest->nmovers++;
    return true;
}

static bool find_convert(maker *m, int32_t *out, tg_encoding dst, tg_encoding src, bool stream, bool far) {
    const wish w = {TG_FAMILY_CONVERT, 0, stream, far, dst, src};
    return find_mover(m, out, &w);
}

/* Runs are gathered and written by movers of runs; packed elements are unpacked and packed with that, and other
 * conversions are done on the way out. */
static bool choose_tile_movers(maker *m) {
    const tg_plan_private *p = m->plan;
    tg_box                *box = m->box;
    const tg_encoding      packed = {TG_KIND_BITS, p->dst_bits, p->dst_bits}, bytes = {TG_KIND_BITS, 8, p->dst_bits};
    const bool             pack = m->dst_width == 0, unpack = m->src_width == 0;
    const wish             turn = {.family = TG_FAMILY_TRANSPOSE, .width = box->width};
    const wish             in = {.family = TG_FAMILY_ROWS, .width = 1, .far = p->far};
    const wish             out = {.family = TG_FAMILY_ROWS, .width = 1, .stream = p->stream};
    if (!find_mover(m, &box->mover, &turn)) return false;
    if (pack && unpack)
        return p->dst_bits == p->src_bits && find_convert(m, &box->in, bytes, packed, false, p->far) &&
               find_convert(m, &box->out, packed, bytes, p->stream, false);
    if (unpack)
        return find_convert(m, &box->in, p->dst_encoding, p->src_encoding, false, p->far) &&
               find_mover(m, &box->out, &out);
    if (!find_mover(m, &box->in, &in)) return false;
    return m->converts ? find_convert(m, &box->out, p->dst_encoding, p->src_encoding, p->stream, false)
                       : find_mover(m, &box->out, &out);
}

static bool choose_movers(maker *m) {
    const tg_plan_private *p = m->plan;
    tg_box                *box = m->box;
    const bool turned = box->family == TG_FAMILY_TRANSPOSE, around = turned ? p->stream_turned : p->stream;
    const bool stream = around && box->route == TG_ROUTE_MOVE;
    const wish move = {.family = box->family, .width = box->width, .stream = stream, .far = p->far};
    const wish apart = {.family = TG_FAMILY_STRIDED, .width = m->dst_width};
    box->mover = box->in = box->out = NONE;
    switch (box->route) {
    case TG_ROUTE_MOVE: return find_mover(m, &box->mover, &move);
    case TG_ROUTE_CONVERT: return find_convert(m, &box->mover, p->dst_encoding, p->src_encoding, p->stream, p->far);
    case TG_ROUTE_STAGED:
        return find_mover(m, &box->in, &move) && find_convert(m, &box->mover, p->dst_encoding, p->src_encoding,
                                                              around, false);
    case TG_ROUTE_SCATTER:
        return find_mover(m, &box->in, &move) &&
               find_convert(m, &box->mover, p->dst_encoding, p->src_encoding, false, false) &&
               find_mover(m, &box->out, &apart);
    default: return choose_tile_movers(m);
    }
}

/* ---- chunks ---- */

/* Bytes of n steps, or of n packed elements. */
static int64_t walk_bytes(int64_t n, int64_t step, int32_t bits, bool packed) {
    return packed ? n * bits / 8 : n * step;
}

/* The loop of this part of the block takes at most `most` steps at a time; the chunks are a loop above. */
static bool chunk(maker *m, int32_t part, int64_t most) {
    tg_block      *b = &m->box->block;
    int64_t *const n = part == OUTER ? &b->outer : part == ROWS ? &b->rows : &b->cols;
    const int64_t  dst = part == OUTER ? b->dst_outer : part == ROWS ? b->dst_row : b->dst_col;
    const int64_t  src = part == OUTER ? b->src_outer : part == ROWS ? b->src_row : b->src_col;
    if (*n <= most) return true;
    if (m->n == TG_BOX_LOOPS) return false;
    const int32_t src_run = m->box->route == TG_ROUTE_TILE ? ROWS : COLS; /* along which src may be packed */
    const tg_loop l = {tg_ceil_div(*n, most),
                       walk_bytes(most, dst, m->plan->dst_bits, part == COLS && dst == 0),
                       walk_bytes(most, src, m->plan->src_bits, m->src_width == 0 && part == src_run && src == 0), *n,
                       part};
    m->used[m->n] = false;
    m->loop[m->n++] = l;
    *n = most;
    return true;
}

/* A multiple of `grain` near what fits into `room`. */
static int64_t fitting(int64_t room, int64_t n, int64_t each, int64_t grain) {
    if (n <= grain || n * each <= room) return n; /* fits: these are bytes of dst */
    const int64_t most = room / each;
    return most <= grain ? grain : most / grain * grain;
}

static bool make_chunks(maker *m, int64_t room) {
    tg_box        *box = m->box;
    tg_block      *b = &box->block;
    const tg_tuning *t = m->pair->tuning;
    const int64_t  width = m->converts ? tg_max(m->dst_width, 1) : box->width;
    const int64_t  line = tg_max(LINE_PAIR / width, 1);
    bool           fits = true;
    if (box->route == TG_ROUTE_TILE) {
        if (m->ncols == 1) fits = chunk(m, COLS, tile_side(box->width));
        return fits && (m->nrows > 1 || chunk(m, ROWS, tile_side(box->width)));
    }
    if (box->family == TG_FAMILY_ROWS) {
        fits = chunk(m, COLS, fitting(room, b->cols, width, t->run_grain));
        fits = fits && chunk(m, ROWS, t->copy_rows);
    } else if (box->family == TG_FAMILY_TRANSPOSE) {
        fits = chunk(m, COLS, tg_max(t->transpose_bytes / width, 1));
        fits = fits && chunk(m, ROWS, fitting(room, b->rows, b->cols * width, line));
    } else {
        const int64_t cols = b->rows > 1 ? STRIDED_TILE : fitting(room, b->cols, width, line);
        fits = chunk(m, COLS, cols);
        fits = fits && chunk(m, ROWS, fitting(room, b->rows, b->cols * width, STRIDED_TILE));
    }
    return fits && chunk(m, OUTER, fitting(room, b->outer, b->rows * b->cols * width, 1));
}

/* The loops that are left go above the blocks, by decreasing dst. */
static bool keep_loops(maker *m) {
    tg_nest *nest = &m->plan->as.nest;
    tg_box  *box = m->box;
    int32_t  n = 0;
    for (int32_t i = 0; i < m->n; i++)
        if (!m->used[i]) m->loop[n++] = m->loop[i]; /* n <= i */
    sort(m->loop, n);
    if (nest->nloops + n + m->ncols + m->nrows > TG_PLAN_LOOPS) return false;
    box->first = nest->nloops;
    box->nloops = n;
    box->ncols = m->ncols;
    box->nrows = m->nrows;
    box->blocks = 1;
    for (int32_t i = 0; i < n; i++) {
        nest->loop[nest->nloops++] = m->loop[i];
        box->blocks *= m->loop[i].n; /* fits: positions of dst */
    }
    for (int32_t i = 0; i < m->ncols; i++) nest->loop[nest->nloops++] = m->cols[i];
    for (int32_t i = 0; i < m->nrows; i++) nest->loop[nest->nloops++] = m->rows[i];
    return true;
}

/* ---- from elements to bytes ---- */

static bool scale(int64_t *x, int32_t bits) {
    if (bits < 8 && *x % (8 / bits) != 0) return false;
    *x = bits < 8 ? *x / (8 / bits) : *x * (bits / 8);
    return true;
}

static void take_run(maker *m, bool fill) {
    m->run = 0;
    for (int32_t i = m->n; i-- > 0;) {
        if (m->loop[i].dst != 1 || (m->loop[i].src != 1 && !fill)) continue;
        m->run = m->loop[i].n;
        m->n--;
        for (; i < m->n; i++) m->loop[i] = m->loop[i + 1]; /* none, as a rule */
        return;
    }
}

/* Packed elements of dst are written by whole bytes. */
static bool fills_bytes(const maker *m) {
    const int64_t per_byte = m->dst_width == 0 ? 8 / m->plan->dst_bits : 1;
    if (m->dst_width > 0 && m->src_width > 0) return true;
    int64_t run = m->run;
    for (int32_t i = 0; run == 0 && i < m->n; i++)
        if (m->loop[i].dst == 1) run = m->loop[i].n;
    return run > 0 && run % per_byte == 0 && m->tail % per_byte == 0;
}

/* A step of one packed element is told from all others by its value. */
static bool step_to_bytes(int64_t *step, int32_t bits) {
    if (bits < 8 && *step == 1) {
        *step = TG_PACKED_STEP;
        return true;
    }
    return scale(step, bits);
}

static bool to_bytes(maker *m) {
    const int32_t dst = m->plan->dst_bits, src = m->plan->src_bits;
    for (int32_t i = 0; i < m->n; i++)
        if (!step_to_bytes(&m->loop[i].dst, dst) || !step_to_bytes(&m->loop[i].src, src)) return false;
    return scale(&m->box->dst, dst) && scale(&m->box->src, src);
}

/* Elements of less than a byte move as runs, or through tiles. */
static bool can_pack(const maker *m) {
    if ((m->dst_width > 0 && m->src_width > 0) || m->run > 0) return true;
    const int32_t a = find_dst(m, step_of(m->dst_width)), b = find_src(m, step_of(m->src_width));
    return a != NONE && b != NONE && a != b && m->tail == 0;
}

/* ---- boxes ---- */

static void choose_fill(maker *m) {
    tg_box *box = m->box;
    box->route = TG_ROUTE_FILL;
    box->family = TG_FAMILY_ROWS;
    box->width = 1;
    set_columns(m, tg_bytes_for(tg_max(m->run, 1), m->plan->dst_bits), 1, 0);
    take(m, smallest_dst(m), ROWS);
    take(m, smallest_dst(m), OUTER);
}

static bool finish(maker *m, bool fill) {
    const tg_tuning *t = m->pair->tuning;
    const int64_t    room = tg_max(tg_min(m->plan->bytes / PARTS_WANTED, t->block_bytes), t->block_bytes_min);
    if (fill) {
        choose_fill(m);
    } else {
        choose_family(m);
        choose_route(m);
        if (!choose_movers(m)) return false;
    }
    return make_chunks(m, room) && keep_loops(m);
}

bool tg_nest_add_box(tg_plan_private *plan, const tg_pair *pair, tg_loop *loops, int32_t n, int64_t dst, int64_t src,
                     int64_t tail, bool fill) {
    tg_nest *nest = &plan->as.nest;
    maker    m;
    if (nest->nboxes == TG_PLAN_BOXES) return false;
    m.plan = plan;
    m.loop = loops;
    m.box = &nest->box[nest->nboxes];
    m.box->dst = dst;
    m.box->src = src;
    m.box->block.tail = 0;
    m.tail = tail;
    m.ncols = m.nrows = 0;
    m.box->route = TG_ROUTE_MOVE;
    m.pair = pair;
    m.converts = plan->dst_encoding.kind != TG_KIND_NONE && !fill;
    m.dst_width = plan->dst_bits / 8;
    m.src_width = plan->src_bits / 8;
    for (int32_t i = 0; i < n; i++) {
        m.used[i] = false;
        flip(&loops[i], &m.box->dst, &m.box->src);
    }
    sort(loops, n);
    m.n = fuse(loops, n);
    take_run(&m, fill);
    if (!fills_bytes(&m) || !to_bytes(&m) || !can_pack(&m)) {
        plan->why = "packed elements begin inside a byte, or are no neighbours";
        return false;
    }
    if (!finish(&m, fill)) return false;
    nest->nboxes++;
    return true;
}
