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
 * because caches and page tables are kept best by long walks on both sides: 16 rows of a matrix with all their columns
 * read 16 pages in turn and write 2 KiB at a time. Loops that would make a block too large are cut in chunks; the
 * chunks, and the loops that are left, run above the blocks in the order of dst. */
#include "base/checked.h"
#include "relayout/plan.h"

#include <string.h>

enum {
    RUN_BYTES = 32,    /* shorter runs are rather wide elements, if they can be */
    LINE_PAIR = 128,
    STRIDED_TILE = 64, /* elements */
    PARTS_WANTED = 16  /* blocks of a small move */
};

enum { NONE = -1, OUTER = 0, ROWS = 1, COLS = 2 };

typedef struct maker {
    tg_plan_private *plan;
    tg_box          *box;
    tg_loop         *loop; /* the caller's; by decreasing dst, steps in bytes, without the run */
    bool             used[TG_BOX_LOOPS];
    int32_t          n;
    int64_t          run;  /* elements that are neighbours on both sides; 0: none */
    int64_t          tail; /* elements */
    int32_t          dst_width, src_width; /* bytes; 0: packed */
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
    const int64_t  few = m->pair->tuning->copy_rows;
    bool           d_is_rows = b == NULL;
    if (b != NULL && (a->n <= few) != (b->n <= few)) d_is_rows = a->n <= few;
    else if (b != NULL) d_is_rows = magnitude(a->src) <= b->dst;
    take(m, d_is_rows ? d : other, ROWS);
    take(m, d_is_rows ? other : d, OUTER);
}

/* Long walks: on in src, or else on in dst. */
static void take_transposed(maker *m, int64_t width) {
    const tg_block *b = &m->box->block;
    int32_t         o = find_src(m, b->rows * width);
    if (o == NONE) o = find_dst(m, b->cols * width);
    if (o == NONE) o = find_dst(m, b->rows * b->dst_row);
    if (o == NONE) o = smallest_src(m);
    take(m, o, OUTER);
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
        set_columns(m, n * bits / 8, 1, 1);
        box->block.tail = m->tail * bits / 8;
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
    const int32_t a = find_dst(m, m->dst_width), b = find_src(m, m->src_width);
    if (a != NONE && b != NONE) choose_transpose(m, a, b, m->src_width);
    else if (a == NONE && (m->tail > 0 || m->n == 0)) choose_rows(m); /* single elements */
    else choose_strided(m, a != NONE ? a : smallest_dst(m));
}

static void choose_route(maker *m) {
    const tg_box *box = m->box;
    const bool    straight = box->family == TG_FAMILY_ROWS, together = box->block.dst_col == m->dst_width;
    m->box->route = !m->converts ? TG_ROUTE_MOVE
                    : straight   ? TG_ROUTE_CONVERT
                    : together   ? TG_ROUTE_STAGED
                                 : TG_ROUTE_SCATTER;
}

static bool make_mover(const maker *m, tg_mover *out, tg_family family, int32_t width, bool stream, bool far) {
    const tg_plan_private *p = m->plan;
    switch (family) {
    case TG_FAMILY_ROWS: return tg_mover_rows(out, m->pair->cpu, stream, far);
    case TG_FAMILY_TRANSPOSE: return tg_mover_transpose(out, width, m->pair->cpu, stream, far);
    case TG_FAMILY_STRIDED: return tg_mover_strided(out, width, m->pair->cpu, stream, far);
    default: return tg_mover_convert(out, p->dst_encoding, p->src_encoding, m->pair->cpu, stream, far);
    }
}

/* A mover that another box has already, or a new one; NONE if there is none. */
static int32_t find_mover(maker *m, tg_family family, int32_t width, bool stream, bool far) {
    tg_nest *nest = &m->plan->as.nest;
    for (int32_t i = 0; i < nest->nmovers; i++) {
        const tg_mover *k = &nest->mover[i];
        if (nest->family[i] == family && nest->width[i] == width && k->stream == stream && k->far == far) return i;
    }
    if (nest->nmovers == TG_PLAN_MOVERS) return NONE;
    if (!make_mover(m, &nest->mover[nest->nmovers], family, width, stream, far)) return NONE;
    nest->family[nest->nmovers] = family;
    nest->width[nest->nmovers] = width;
    return nest->nmovers++;
}

static bool choose_movers(maker *m) {
    tg_box    *box = m->box;
    const bool stream = m->plan->stream, far = m->plan->far, last = box->route == TG_ROUTE_MOVE;
    box->mover = box->convert = box->scatter = NONE;
    if (box->route != TG_ROUTE_CONVERT) {
        box->mover = find_mover(m, box->family, box->width, stream && last, far);
        if (box->mover == NONE) return false;
    }
    if (m->converts) {
        const bool straight = box->route == TG_ROUTE_CONVERT, apart = box->route == TG_ROUTE_SCATTER;
        box->convert = find_mover(m, TG_FAMILY_CONVERT, m->dst_width, stream && !apart, far && straight);
        if (box->convert == NONE) return false;
    }
    if (box->route != TG_ROUTE_SCATTER) return true;
    box->scatter = find_mover(m, TG_FAMILY_STRIDED, m->dst_width, false, false);
    return box->scatter != NONE;
}

/* ---- chunks ---- */

/* The loop of this part of the block takes at most `most` steps at a time; the chunks are a loop above. */
static bool chunk(maker *m, int32_t part, int64_t most) {
    tg_block      *b = &m->box->block;
    int64_t *const n = part == OUTER ? &b->outer : part == ROWS ? &b->rows : &b->cols;
    const int64_t  dst = part == OUTER ? b->dst_outer : part == ROWS ? b->dst_row : b->dst_col;
    const int64_t  src = part == OUTER ? b->src_outer : part == ROWS ? b->src_row : b->src_col;
    if (*n <= most) return true;
    if (m->n == TG_BOX_LOOPS) return false;
    const tg_loop l = {tg_ceil_div(*n, most), most * dst, most * src, *n, part};
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
    if (box->family == TG_FAMILY_ROWS) {
        if (b->tail == 0) fits = chunk(m, COLS, fitting(room, b->cols, width, 4096));
        fits = fits && (b->rows <= t->whole_rows || chunk(m, ROWS, t->copy_rows));
    } else if (box->family == TG_FAMILY_TRANSPOSE) {
        if (b->tail == 0) fits = chunk(m, COLS, tg_max(t->transpose_bytes / width, 1));
        fits = fits && chunk(m, ROWS, fitting(room, b->rows, b->cols * width, line));
    } else {
        const int64_t cols = b->rows > 1 ? STRIDED_TILE : fitting(room, b->cols, width, line);
        if (b->tail == 0) fits = chunk(m, COLS, cols);
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
    if (nest->nloops + n > TG_PLAN_LOOPS) return false;
    box->first = nest->nloops;
    box->nloops = n;
    box->blocks = 1;
    for (int32_t i = 0; i < n; i++) {
        nest->loop[nest->nloops++] = m->loop[i];
        box->blocks *= m->loop[i].n; /* fits: positions of dst */
    }
    return true;
}

/* ---- from elements to bytes ---- */

static bool scale(int64_t *x, int32_t bits) {
    if (bits < 8 && *x % (8 / bits) != 0) return false;
    *x = bits < 8 ? *x / (8 / bits) : *x * (bits / 8);
    return true;
}

static bool take_run(maker *m, bool fill) {
    const int32_t per_byte = m->plan->dst_bits < 8 ? 8 / m->plan->dst_bits : 1;
    m->run = 0;
    for (int32_t i = m->n; i-- > 0;) {
        if (m->loop[i].dst != 1 || (m->loop[i].src != 1 && !fill)) continue;
        m->run = m->loop[i].n;
        m->n--;
        memmove(&m->loop[i], &m->loop[i + 1], (size_t)(m->n - i) * sizeof m->loop[0]);
        break;
    }
    if (m->dst_width > 0 && m->src_width > 0) return true;
    return m->run > 0 && m->run % per_byte == 0 && m->tail % per_byte == 0;
}

static bool to_bytes(maker *m) {
    const int32_t dst = m->plan->dst_bits, src = m->plan->src_bits;
    for (int32_t i = 0; i < m->n; i++)
        if (!scale(&m->loop[i].dst, dst) || !scale(&m->loop[i].src, src)) return false;
    return scale(&m->box->dst, dst) && scale(&m->box->src, src);
}

/* ---- boxes ---- */

static void choose_fill(maker *m) {
    tg_box *box = m->box;
    box->route = TG_ROUTE_FILL;
    box->family = TG_FAMILY_ROWS;
    box->width = 1;
    set_columns(m, tg_max(m->run, 1) * m->plan->dst_bits / 8, 1, 0);
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
    if (!take_run(&m, fill) || !to_bytes(&m)) {
        plan->why = "packed elements begin inside a byte, or are no neighbours";
        return false;
    }
    if (!finish(&m, fill)) return false;
    nest->nboxes++;
    return true;
}
