/* Making a plan: check, look at both sides as functions of shared coordinates, choose the rectangle.
 *
 * The rectangle decides the speed. Its columns should be the dimension with the longest runs, best
 * where both sides are contiguous; its rows should use up what the columns leave of a cache line or
 * continue the run that the columns write. For the Spyre default of a float16 matrix [R, C]:
 *
 *     dimension   dst slope   src slope   run     chosen as
 *     0 (R)          64           C        R      rows: 16 sticks are 2 KiB of contiguous stores
 *     1 (C)           1           1       64      columns: one 128-byte stick
 *
 * and for its stick on the other dimension, where no dimension is contiguous on both sides:
 *
 *     0 (R)           1           C       64      rows: 64 of them, a whole stick
 *     1 (C)          64           1        C      columns: 64 at a time, as many as a line pair holds
 */
#include "relayout/plan.h"

#include "base/checked.h"
#include "base/error.h"
#include "layout/layout.h"

#include <stdlib.h>
#include <string.h>

enum {
    STEP_BYTES = 32 << 20,  /* of src in one step */
    UNIT_BYTES = 256 << 10, /* of src in one unit: small enough to share out, large enough to hide its cost */
    UNIT_BYTES_MIN = 4 << 10,
    UNITS_WANTED = 16,      /* of a small tensor, so that tasks can be cut */
    STREAM_BYTES = 4 << 20, /* src and dst together leave a second-level cache of 1 to 2 MiB no chance */
    LONG_RUN = 64,          /* elements; longer runs are not better */
    COPY_ROWS = 16,         /* streams that hardware prefetch follows well (docs/sources.md: measured) */
    LINES_BYTES = 128,      /* two cache lines, fetched together */
    TILE_ELEMENTS = 4096    /* of a transposing tile: both sides of it stay in the first-level cache */
};

/* ---- checks ---- */

static tg_status check_layout(const tg_layout *l, const char *name, tg_error *err) {
    if (l == NULL) return tg_fail(err, TG_ERR_ARGUMENT, "plan: %s is NULL", name);
    const tg_status s = tg_layout_validate(l, err);
    if (s != TG_OK) return s;
    if (tg_layout_numel(l) == 0) return TG_OK;
    int64_t low, high;
    tg_layout_bounds(l, &low, &high);
    if (low < 0 || high >= l->span)
        return tg_fail(err, TG_ERR_ARGUMENT, "plan: offsets of %s run from %d to %d, outside its storage [0, %d)", name,
                       low, high, l->span);
    return TG_OK;
}

static tg_status check_pair(const tg_layout *dst, const tg_layout *src, tg_error *err) {
    if (dst->ndim != src->ndim || memcmp(dst->shape, src->shape, (size_t)dst->ndim * sizeof dst->shape[0]) != 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "plan: the shapes differ: dst %v, src %v", dst->shape, (int)dst->ndim,
                       src->shape, (int)src->ndim);
    if (dst->dtype != src->dtype)
        return tg_fail(err, TG_ERR_ARGUMENT, "plan: the element types differ: dst %s, src %s",
                       tg_dtype_name(dst->dtype), tg_dtype_name(src->dtype));
    return TG_OK;
}

static tg_status check_coverage(tg_plan *p, tg_error *err) {
    bool            unique, exhaustive;
    const tg_status s = tg_layout_coverage(&unique, &exhaustive, NULL, &p->dst_layout, err);
    if (s != TG_OK) return s;
    if (!unique) return tg_fail(err, TG_ERR_ARGUMENT, "plan: dst is not unique: two coordinates share an offset");
    p->write_pad = p->verify_pad && !exhaustive;
    return TG_OK;
}

static const char *format_text(tg_format format) {
    const char *name = tg_format_name(format);
    return format == TG_FORMAT_NATIVE ? "native" : name != NULL ? name : "unknown";
}

static tg_status choose_kernel(tg_plan *p, tg_error *err) {
    const tg_layout *d = &p->dst_layout, *s = &p->src_layout;
    p->dst_encoding = tg_encoding_of(d->dtype, d->format, d->elem_bits);
    p->src_encoding = tg_encoding_of(s->dtype, s->format, s->elem_bits);
    const bool same = d->format == s->format && d->elem_bits == s->elem_bits;
    if (same ? tg_kernel_copy(&p->kernel, d->elem_bits)
             : tg_kernel_convert(&p->kernel, p->dst_encoding, p->src_encoding))
        return TG_OK;
    if (same)
        return tg_fail(err, TG_ERR_UNSUPPORTED, "plan: elements of %d bits cannot be moved", (int64_t)d->elem_bits);
    return tg_fail(err, TG_ERR_UNSUPPORTED, "plan: no conversion of %s from %s in %d bits to %s in %d bits",
                   tg_dtype_name(d->dtype), format_text(s->format), (int64_t)s->elem_bits, format_text(d->format),
                   (int64_t)d->elem_bits);
}

/* ---- the rectangle ---- */

typedef struct candidate {
    tg_step dst, src;
    int64_t run;
} candidate;

static candidate look(const tg_plan *p, int32_t d) {
    const int64_t origin[TG_MOVE_DIMS] = {0};
    candidate     c = {tg_side_step(&p->dst, d, origin), tg_side_step(&p->src, d, origin), 0};
    c.run = tg_min(p->size[d], tg_min(c.dst.length, c.src.length));
    return c;
}

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; } /* validated strides: not INT64_MIN */

static bool is_contiguous(const candidate *c) { return c->dst.slope == 1 && c->src.slope == 1; }

static int64_t col_score(const candidate *c) {
    const int64_t worth = is_contiguous(c) ? 16 : c->dst.slope == 1 || c->src.slope == 1 ? 4 : 1;
    return worth * tg_min(c->run, LONG_RUN);
}

/* The longest runs; of two that are contiguous on one side each, the one that strides less on the
 * other: a tile of small strides stays in the first-level cache, one of a large power of two does not. */
static void choose_col(tg_plan *p) {
    int64_t best = -1, best_pitch = 0;
    p->col = 0;
    for (int32_t d = 0; d < p->ndim; d++) {
        if (p->size[d] == 1) continue;
        const candidate c = look(p, d);
        const int64_t   score = col_score(&c), pitch = tg_max(magnitude(c.dst.slope), magnitude(c.src.slope));
        if (score < best || (score == best && pitch >= best_pitch)) continue;
        best = score;
        best_pitch = pitch;
        p->col = d;
    }
}

/* Rows and columns that one group ties together do not make a rectangle. */
static bool independent(const tg_plan *p, int32_t d, int32_t e) {
    return p->dst.group[d] != p->dst.group[e] && p->src.group[d] != p->src.group[e];
}

static int64_t row_score(const candidate *row, const candidate *col) {
    const bool uses_lines =
        (col->src.slope != 1 && row->src.slope == 1) || (col->dst.slope != 1 && row->dst.slope == 1);
    const bool goes_on = row->dst.slope == col->run;
    return tg_min(row->run, COPY_ROWS) * (uses_lines ? 64 : goes_on ? 4 : 1);
}

static void choose_row(tg_plan *p, const candidate *col) {
    int64_t best = 1, best_slope = 0;
    p->row = TG_NO_ROW;
    for (int32_t d = 0; d < p->ndim; d++) {
        if (d == p->col || p->size[d] == 1 || !independent(p, d, p->col)) continue;
        const candidate c = look(p, d);
        const int64_t   score = row_score(&c, col), slope = magnitude(c.dst.slope);
        if (score < best || (score == best && slope >= best_slope)) continue;
        best = score;
        best_slope = slope;
        p->row = d;
    }
}

/* The other dimensions by decreasing step in dst. */
static void choose_outer(tg_plan *p) {
    int64_t slope[TG_MOVE_DIMS];
    p->nouter = 0;
    for (int32_t d = 0; d < p->ndim; d++) {
        if (d == p->col || d == p->row || p->size[d] == 1) continue;
        const int64_t step = magnitude(look(p, d).dst.slope);
        int32_t       i = p->nouter++;
        for (; i > 0 && slope[i - 1] < step; i--) {
            slope[i] = slope[i - 1];
            p->outer[i] = p->outer[i - 1];
        }
        slope[i] = step;
        p->outer[i] = d;
    }
}

/* ---- cutting ---- */

static void cut(tg_plan *p, const candidate *col, int64_t total) {
    const int64_t bits = p->src_layout.elem_bits, rows = p->row == TG_NO_ROW ? 1 : p->size[p->row];
    const int64_t line_elements = tg_max(LINES_BYTES * 8 / bits, 1);
    const int64_t wanted = is_contiguous(col) ? COPY_ROWS : tg_min(tg_max(line_elements, COPY_ROWS), 128);
    p->row_block = tg_max(tg_min(wanted, rows), 1);
    p->row_blocks = tg_ceil_div(rows, p->row_block);
    p->tile_cols = is_contiguous(col) ? INT64_MAX : tg_max(TILE_ELEMENTS / p->row_block, LONG_RUN);

    const int64_t total_bytes = total / 8 * bits + 1; /* about; fits, as storage does, but for copies */
    const int64_t unit_bytes = tg_max(tg_min(total_bytes / UNITS_WANTED, UNIT_BYTES), UNIT_BYTES_MIN);
    const int64_t chunk = tg_max(unit_bytes * 8 / bits / p->row_block, 1), grain = tg_min(col->run, chunk);
    p->col_chunk = tg_max(tg_min(chunk / grain * grain, p->size[p->col]), 1);
    p->col_chunks = tg_ceil_div(p->size[p->col], p->col_chunk);
    p->units = p->row_blocks * p->col_chunks;
    for (int32_t i = 0; i < p->nouter; i++) p->units *= p->size[p->outer[i]];
    p->unit_bytes = tg_max(p->row_block * p->col_chunk * bits / 8, 1);
    p->units_per_step = tg_max(STEP_BYTES / p->unit_bytes, 1);
    p->steps = tg_max(tg_ceil_div(p->units, p->units_per_step), 1);
    p->kernel.stream = total_bytes + total / 8 * p->dst_layout.elem_bits >= STREAM_BYTES;
}

static tg_status make_loops(tg_plan *p, tg_error *err) {
    int64_t total;
    p->ndim = tg_move_dims(p->size, &p->dst_layout);
    if (!tg_product(&total, p->size, p->ndim) || total > INT64_MAX / 1024)
        return tg_fail(err, TG_ERR_OVERFLOW, "plan: the elements of %v and their copies are too many", p->size,
                       (int)p->ndim);
    tg_side_make(&p->dst, &p->dst_layout, p->ndim, true);
    tg_side_make(&p->src, &p->src_layout, p->ndim, false);
    if (total > 0 && !tg_sides_simplify(&p->dst, &p->src, p->size))
        return tg_fail(err, TG_ERR_OVERFLOW, "plan: fused dimensions do not fit 63 bits");
    tg_side_finish(&p->dst);
    tg_side_finish(&p->src);
    if (total == 0) {
        p->row = TG_NO_ROW;
        p->steps = 1;
        return TG_OK;
    }
    choose_col(p);
    const candidate col = look(p, p->col);
    choose_row(p, &col);
    choose_outer(p);
    cut(p, &col, total);
    return TG_OK;
}

/* ---- create and destroy ---- */

static tg_status fill_plan(tg_plan *p, const tg_plan_params *params, tg_error *err) {
    memset(p, 0, sizeof *p);
    p->dst_layout = *params->dst;
    p->src_layout = *params->src;
    p->threads = params->threads;
    p->serial = params->dst->elem_bits < 8;
    p->verify_pad = params->pad != NULL;
    tg_status s = check_coverage(p, err);
    if (s == TG_OK) s = choose_kernel(p, err);
    if (s != TG_OK) return s;
    if (params->pad != NULL) memcpy(p->pad, params->pad, (size_t)(params->dst->elem_bits + 7) / 8);
    return make_loops(p, err);
}

tg_status tg_plan_create(tg_plan **out, const tg_plan_params *params, tg_error *err) {
    if (out == NULL || params == NULL) return tg_fail(err, TG_ERR_ARGUMENT, "plan: out and params must not be NULL");
    if (params->zero != 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "plan: the reserved field is %d, not 0", (int64_t)params->zero);
    if (params->threads < 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "plan: the number of threads is %d, not at least 0",
                       (int64_t)params->threads);
    tg_status s = check_layout(params->dst, "dst", err);
    if (s == TG_OK) s = check_layout(params->src, "src", err);
    if (s == TG_OK) s = check_pair(params->dst, params->src, err);
    if (s != TG_OK) return s;
    tg_plan p;
    s = fill_plan(&p, params, err);
    if (s != TG_OK) return s;
    tg_plan *const plan = malloc(sizeof *plan);
    if (plan == NULL) return tg_fail(err, TG_ERR_NOMEM, "plan: no memory for %d bytes", (int64_t)sizeof *plan);
    *plan = p;
    *out = plan;
    return TG_OK;
}

void tg_plan_destroy(tg_plan **plan) {
    free(*plan);
    *plan = NULL;
}

int64_t tg_plan_steps(const tg_plan *plan) { return plan->steps; }
