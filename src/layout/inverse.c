/* The inverse map: what lives at an offset.
 *
 * Two steps. First the offset is decoded into positions of the memory modes; where strides nest
 * (every tiled layout, and most strided ones) this is one division per mode. Then the positions are
 * taken back up to a coordinate, and refused as padding where no coordinate has these digits: at
 * each axis the partial sums, from the last digit up, must stay below the weight of the digit
 * before (the greedy rule), and below the axis' range. */
#include "layout/layout.h"

enum { MAX_SEARCH = 1 << 20 };

/* Positions of all modes -> coordinate. False: no element has them. */
static bool ascend(int64_t *coord, const tg_layout *l, int64_t *q) {
    for (int32_t i = 0; i < l->nmodes; i++) {
        const tg_mode *m = &l->mode[i];
        if (m->axis == TG_AXIS_PAD && q[i] != 0) return false;
        if (tg_is_memory(m) && m->axis >= 0 && q[i] >= m->count) return false;
    }
    int64_t value[TG_MAX_AXES] = {0};
    for (int32_t i = l->nmodes, axis = l->naxes; axis-- > 0;) {
        /* from the last digit of the axis up; the axes above have already handed down their parts */
        for (; i > 0 && l->mode[l->chain[i - 1]].axis < 0;) i--;
        for (; i > 0 && l->mode[l->chain[i - 1]].axis == axis; i--) {
            const int32_t index = l->chain[i - 1];
            value[axis] += q[index] * l->mode[index].weight;
            if (value[axis] >= tg_chain_bound(l, i - 1)) return false;
        }
        if (axis < l->ndim) {
            coord[axis] = value[axis];
            continue;
        }
        for (int64_t limit = INT64_MAX;;) { /* parts by decreasing stride */
            int32_t part = -1;
            for (int32_t k = 0; k < l->nmodes; k++)
                if (l->mode[k].into == axis && l->mode[k].count > 1 && l->mode[k].stride < limit &&
                    (part < 0 || l->mode[k].stride > l->mode[part].stride))
                    part = k;
            if (part < 0) break;
            limit = l->mode[part].stride;
            q[part] = value[axis] / limit;
            value[axis] %= limit;
            if (q[part] >= l->mode[part].count) return false;
        }
        if (value[axis] != 0) return false;
    }
    return true;
}

/* Memory modes with more than one position, by decreasing |stride|; false if strides do not nest. */
static bool nesting_order(int32_t *order, int32_t *n, const tg_layout *l) {
    int32_t k = 0;
    for (int32_t i = 0; i < l->nmodes; i++) {
        const tg_mode *m = &l->mode[i];
        if (!tg_is_memory(m) || m->size <= 1 || m->stride == 0) continue;
        const int64_t magnitude = m->stride < 0 ? -m->stride : m->stride;
        int32_t       j = k++;
        for (; j > 0; j--) {
            const int64_t before = l->mode[order[j - 1]].stride;
            if ((before < 0 ? -before : before) >= magnitude) break;
            order[j] = order[j - 1];
        }
        order[j] = i;
    }
    *n = k;
    int64_t below = 0;
    for (int32_t i = k; i-- > 0;) {
        const tg_mode *m = &l->mode[order[i]];
        const int64_t  magnitude = m->stride < 0 ? -m->stride : m->stride;
        if (magnitude <= below) return false;
        if (!tg_muladd(&below, below, m->size - 1, magnitude)) return false;
    }
    return true;
}

/* One division per mode; false if the offset falls between positions. */
static bool decode(int64_t *q, const tg_layout *l, const int32_t *order, int32_t n, int64_t offset) {
    int64_t lowest = l->offset;
    for (int32_t i = 0; i < n; i++) {
        const tg_mode *m = &l->mode[order[i]];
        if (m->stride < 0) lowest += m->stride * (m->size - 1);
    }
    int64_t rest;
    if (!tg_sub(&rest, offset, lowest) || rest < 0) return false;
    for (int32_t i = 0; i < n; i++) {
        const tg_mode *m = &l->mode[order[i]];
        const int64_t  magnitude = m->stride < 0 ? -m->stride : m->stride;
        const int64_t  step = tg_min(rest / magnitude, m->size - 1);
        rest -= step * magnitude;
        q[order[i]] = m->stride < 0 ? m->size - 1 - step : step;
    }
    return rest == 0;
}

/* ---- strides that overlap ---- */

typedef struct search {
    const tg_layout *l;
    int32_t          mode[TG_MAX_MODES]; /* of each variable */
    int32_t          n;
    bool             found;
    bool             first_wins; /* solutions come in row-major order */
    int64_t          best[TG_MAX_NDIM];
} search;

static bool precedes(const int64_t *a, const int64_t *b, int32_t n) {
    for (int32_t d = 0; d < n; d++)
        if (a[d] != b[d]) return a[d] < b[d];
    return false;
}

static bool accept(void *context, const int64_t *v) {
    search *s = context;
    int64_t q[TG_MAX_MODES] = {0}, coord[TG_MAX_NDIM] = {0};
    for (int32_t i = 0; i < s->n; i++) q[s->mode[i]] = v[i];
    if (!ascend(coord, s->l, q)) return false;
    if (s->found && !precedes(coord, s->best, s->l->ndim)) return false;
    s->found = true;
    for (int32_t d = 0; d < s->l->ndim; d++) s->best[d] = coord[d];
    return s->first_wins;
}

static tg_solved search_overlapping(int64_t *coord, const tg_layout *l, int64_t offset) {
    search  s = {.l = l, .first_wins = l->naxes == l->ndim};
    int64_t stride[TG_MAX_MODES], lo[TG_MAX_MODES], hi[TG_MAX_MODES], v[TG_MAX_MODES], target;
    for (int32_t pass = 0; pass < 2; pass++) { /* digits in chain order are row-major order; copies last */
        for (int32_t i = 0; i < l->nmodes; i++) {
            const int32_t  index = l->chain[i];
            const tg_mode *m = &l->mode[index];
            if (!tg_is_memory(m) || m->axis == TG_AXIS_PAD || (m->axis >= 0) != (pass == 0)) continue;
            stride[s.n] = m->stride;
            lo[s.n] = 0;
            hi[s.n] = m->count - 1;
            s.mode[s.n++] = index;
        }
    }
    if (!tg_sub(&target, offset, l->offset)) return TG_SOLVED_NO;
    tg_solve        p = {s.n, stride, lo, hi, accept, &s, MAX_SEARCH};
    const tg_solved r = tg_solve_box(v, &p, target);
    if (r == TG_SOLVED_UNDECIDED) return r;
    for (int32_t d = 0; s.found && d < l->ndim; d++) coord[d] = s.best[d];
    return s.found ? TG_SOLVED_YES : TG_SOLVED_NO;
}

/* A digit of a fold that moves nothing: its values are different coordinates, and which of them comes
 * first depends on the order of the dimensions that are folded. */
static bool has_resting_fold(const tg_layout *l) {
    if (l->naxes == l->ndim) return false;
    for (int32_t i = 0; i < l->nmodes; i++)
        if (tg_is_memory(&l->mode[i]) && l->mode[i].axis >= 0 && l->mode[i].stride == 0 && l->mode[i].count > 1)
            return true;
    return false;
}

tg_status tg_layout_coord(tg_slot *slot, int64_t *coord, const tg_layout *in, int64_t offset, tg_error *err) {
    const int64_t base = tg_layout_base(in);
    if (offset < base || offset - base >= in->span) {
        *slot = TG_SLOT_OUTSIDE;
        return TG_OK;
    }
    *slot = TG_SLOT_PADDING;
    if (tg_layout_numel(in) == 0) return TG_OK;
    int32_t order[TG_MAX_MODES], n;
    int64_t q[TG_MAX_MODES] = {0}, found[TG_MAX_NDIM] = {0};
    if (nesting_order(order, &n, in) && !has_resting_fold(in)) {
        if (!decode(q, in, order, n, offset) || !ascend(found, in, q)) return TG_OK;
    } else {
        const tg_solved r = search_overlapping(found, in, offset);
        if (r == TG_SOLVED_UNDECIDED)
            return tg_fail(err, TG_ERR_LIMIT,
                           "finding what lies at offset %d among overlapping strides needs over %d steps", offset,
                           (int64_t)MAX_SEARCH);
        if (r == TG_SOLVED_NO) return TG_OK;
    }
    *slot = TG_SLOT_DATA;
    for (int32_t d = 0; d < in->ndim; d++) coord[d] = found[d];
    return TG_OK;
}
