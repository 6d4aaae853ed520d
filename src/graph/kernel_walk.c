/* How a kernel walks a tensor. A SuperDSC says it as dimensions that nest: the sticks of a tensor are counted by the
 * innermost dimension, and each further one steps over all of those within it.
 *
 *     device_size [4,128,64] over [128,256], loops i < 100, j < 256
 *       j   lies in the sticks; from one stick to the next 128 * 64 elements
 *       i   from one row to the next 64 elements
 *     order i, j; i walks 100 of 128, a gap of 28; j walks 256 of 256
 *
 * A loop has one stride, whatever device dimensions it runs through, and several loops may share a device dimension, as
 * batch and row of a tensor whose rows were joined. What cannot be said in that way is refused. */
#include "graph/kernel.h"

#include "base/checked.h"
#include "base/error.h"

#include <string.h>

/* Reading tensor k. */
typedef struct walk {
    const tg_kernel        *kernel;
    int64_t                 ranges[TG_MAX_LOOPS]; /* those of the kernel; where windows move, the places there are */
    const tg_kernel_tensor *t;
    tg_sdsc_tensor         *out;
    const char             *name;
    int64_t                 step[TG_SPYRE_MAX_RANK]; /* elements from one position of a device dimension to the next */
    int64_t                 total;
    int64_t                 unit; /* host elements of a whole stick */
    uint64_t                idle; /* bit k: no loop is in device dimension k */
    int32_t                 dim_of[TG_MAX_LOOPS];
    tg_error               *err;
} walk;

const char *tg_sdsc_tensor_name(const tg_sdsc *s, int32_t k) {
    static const char *const names[] = {"operand 0", "operand 1", "operand 2", "operand 3",
                                        "operand 4", "operand 5", "operand 6"};
    return k == s->kernel->ntensors - 1 ? "the result" : names[k];
}

static tg_status refuse(const walk *w, const char *why) {
    return tg_fail(w->err, TG_ERR_UNREPRESENTABLE, "%s %s", w->name, why);
}

static tg_status too_large(const walk *w) {
    return tg_fail(w->err, TG_ERR_OVERFLOW, "the storage of %s does not fit 63 bits", w->name);
}

/* ---- what can be asked ------------------------------------------------------------------ */

static tg_status check_layout(walk *w) {
    const tg_spyre *l = &w->t->layout;
    if (l->rank < 1 || l->rank > TG_SPYRE_MAX_RANK || tg_format_bits(l->device_dtype) == 0)
        return tg_fail(w->err, TG_ERR_ARGUMENT, "%s has %d device dimensions, of 1 to %d, or a format without sticks",
                       w->name, (int64_t)l->rank, (int64_t)TG_SPYRE_MAX_RANK);
    w->out->eps = 8 * TG_SPYRE_STICK_BYTES / tg_format_bits(l->device_dtype);
    if (l->device_size[l->rank - 1] != w->out->eps) return refuse(w, "does not end with whole sticks");
    w->total = 1;
    for (int32_t k = l->rank - 1; k >= 0; k--) {
        w->step[k] = w->total;
        if (l->device_size[k] < 0 || !tg_mul(&w->total, w->total, l->device_size[k])) return too_large(w);
    }
    return TG_OK;
}

static tg_status check_access(const walk *w) {
    const tg_access *a = &w->t->access;
    if (a->offset < 0 || a->nterms < 0 || a->nterms > 2 * TG_MAX_LOOPS)
        return tg_fail(w->err, TG_ERR_ARGUMENT, "%s begins at %d and has %d terms", w->name, a->offset,
                       (int64_t)a->nterms);
    for (int32_t i = 0; i < a->nterms; i++) {
        const tg_term *t = &a->terms[i];
        if (t->loop == TG_LOOP_UNKNOWN) return refuse(w, "is touched where only the data knows");
        if (t->loop < 0 || t->loop >= w->kernel->nloops || t->step < 0 || t->modulus < 0 || t->extent < 0)
            return tg_fail(w->err, TG_ERR_ARGUMENT, "%s has a term of loop %d and step %d", w->name, (int64_t)t->loop,
                           t->step);
        if (t->extent > 1 && t->extent < w->ranges[t->loop])
            return refuse(w, "is walked by a part of a loop only");
    }
    return TG_OK;
}

/* ---- strides ---------------------------------------------------------------------------- */

/* Elements from one step of the loop to the next, or from one of its sticks, in this part of a coordinate. False if it
 * is no whole number. */
static bool stride_of(int64_t *stride, const walk *w, const tg_part *p, int32_t k, bool in_sticks) {
    int64_t product;
    if (!tg_mul(&product, w->step[k], in_sticks ? w->unit : p->step) || product % p->stride != 0) return false;
    *stride = product / p->stride;
    return true;
}

/* One loop in one device dimension. */
static tg_status take_part(walk *w, const tg_part *p, int32_t k) {
    const int32_t dim = w->dim_of[p->loop];
    const bool    in_sticks = dim == w->out->stick, known = w->out->scale[dim] == 1;
    int64_t       stride;
    if (p->modulus != 0 || p->uneven || !stride_of(&stride, w, p, k, in_sticks) ||
        (!known && (in_sticks ? p->stride != w->unit : p->step % p->stride != 0)))
        return refuse(w, "is walked in pieces that are no whole steps");
    if (known && stride != w->out->stride[dim]) return refuse(w, "has one loop in several places");
    if (!known) w->out->order[w->out->ndims++] = dim;
    w->out->scale[dim] = 1;
    w->out->stride[dim] = stride;
    return TG_OK;
}

/* The last position of a coordinate; a loop is not there twice. */
static tg_status check_reach(const walk *w, const tg_coordinate *c, int32_t k) {
    int64_t  last = c->offset;
    uint32_t loops = 0;
    for (int32_t i = 0; i < c->nparts; i++) {
        const tg_part *p = &c->part[i];
        int64_t        reach = INT64_MAX;
        if ((loops >> p->loop & 1) != 0) return refuse(w, "has one loop in several places");
        loops |= UINT32_C(1) << p->loop;
        (void)tg_mul(&reach, w->ranges[p->loop] - 1, p->step);
        if (p->wrap > 0) reach = tg_min(reach, p->wrap - 1);
        if (!tg_add(&last, last, reach / p->stride)) return too_large(w);
    }
    return last < w->t->layout.device_size[k] ? TG_OK : refuse(w, "is left by what the loops touch");
}

static tg_status take_dimension(walk *w, int32_t k) {
    const tg_dims dims = tg_device_dims(&w->t->layout);
    tg_coordinate c;
    tg_coordinate_of(&c, &dims, k, w->ranges, &w->t->access);
    tg_status s = check_reach(w, &c, k);
    if (c.nparts == 0) w->idle |= UINT64_C(1) << k;
    if (s == TG_OK && !tg_muladd(&w->out->offset, w->out->offset, c.offset, w->step[k])) s = too_large(w);
    for (int32_t i = 0; i < c.nparts && s == TG_OK; i++) s = take_part(w, &c.part[i], k);
    return s;
}

/* ---- sticks ----------------------------------------------------------------------------- */

static tg_status take_stick(walk *w) {
    const tg_spyre *l = &w->t->layout;
    tg_stick        stick;
    tg_stick_of(&stick, l, w->ranges, &w->t->access);
    w->out->stick = TG_NO_DIM;
    if (stick.kind == TG_STICK_OFFSET) return refuse(w, "does not begin at a whole stick");
    if (stick.kind == TG_STICK_BAD) return refuse(w, "has something in its sticks that is not one loop");
    if (stick.kind == TG_STICK_NONE) return TG_OK;
    w->out->stick = w->dim_of[stick.loop];
    return tg_mul(&w->unit, l->stride_map[l->rank - 1], w->out->eps) ? TG_OK : too_large(w);
}

/* How well an idle device dimension counts the one stick of a loop; 0: not at all. */
static int32_t fitness(const walk *w, int32_t k) {
    const tg_spyre *l = &w->t->layout;
    const bool      one = l->device_size[k] == 1, counts = l->stride_map[k] == w->unit;
    if ((w->idle >> k & 1) == 0) return 0;
    return counts ? 2 + one : one;
}

/* A loop that ends within its first stick: the device dimension that counts sticks, else an idle one. */
static void place_one_stick(walk *w) {
    const int32_t dim = w->out->stick;
    int32_t       at = -1;
    if (dim == TG_NO_DIM || w->out->scale[dim] == 1) return;
    for (int32_t k = 0; k < w->t->layout.rank - 1; k++)
        if (fitness(w, k) > 0 && (at < 0 || fitness(w, k) >= fitness(w, at))) at = k;
    w->out->order[w->out->ndims++] = dim;
    w->out->scale[dim] = 1;
    w->out->stride[dim] = at >= 0 ? w->step[at] : w->total;
}

/* By stride. The one that was found first comes first among equals: it is further in, or counts one stick. */
static void sort_dims(tg_sdsc_tensor *t, const tg_sdsc *s) {
    for (int32_t i = 1; i < t->ndims; i++)
        for (int32_t k = i; k > 0; k--) {
            const int32_t a = t->order[k - 1], b = t->order[k];
            const bool    one_stick = b == t->stick && s->kernel->ranges[s->loop[b]] <= t->eps;
            if (t->stride[a] < t->stride[b] || (t->stride[a] == t->stride[b] && !one_stick)) break;
            t->order[k - 1] = b;
            t->order[k] = a;
        }
}

tg_status tg_sdsc_walk(tg_sdsc *s, int32_t k, tg_error *err) {
    const tg_kernel *kernel = s->kernel;
    walk             w = {.kernel = kernel, .t = &kernel->tensors[k], .out = &s->tensor[k],
                          .name = tg_sdsc_tensor_name(s, k), .err = err};
    memset(w.out, 0, sizeof *w.out);
    memcpy(w.ranges, kernel->ranges, (size_t)kernel->nloops * sizeof *w.ranges);
    for (int32_t i = 0; k == 0 && i < kernel->nwindows; i++)
        w.ranges[kernel->windows[i].position] = kernel->windows[i].extent;
    for (int32_t d = 0; d < s->ndims; d++) w.dim_of[s->loop[d]] = d;
    tg_status status = check_layout(&w);
    if (status == TG_OK) status = check_access(&w);
    if (status == TG_OK) status = take_stick(&w);
    for (int32_t i = w.t->layout.rank - 2; i >= 0 && status == TG_OK; i--) status = take_dimension(&w, i);
    if (status != TG_OK) return status;
    place_one_stick(&w);
    sort_dims(w.out, s);
    return TG_OK;
}

/* ---- nesting ---------------------------------------------------------------------------- */

/* Steps from one stick to the next are steps of whole sticks. */
static int64_t steps_of(const tg_sdsc *s, int32_t k, int32_t dim) {
    const tg_sdsc_tensor *t = &s->tensor[k];
    return dim == t->stick ? s->extent[dim] / t->eps : tg_sdsc_places(s, k, dim);
}

/* Sticks of one width become sticks of another one whole, both halves of a wide one. */
static int64_t widest_stick(const tg_sdsc *s, int32_t dim) {
    int64_t eps = 1;
    for (int32_t k = 0; k < s->kernel->ntensors; k++)
        if (s->tensor[k].stick == dim) eps = tg_max(eps, s->tensor[k].eps);
    return eps;
}

static tg_status runs_over(const tg_sdsc *s, int32_t k, int32_t dim, int64_t room, tg_error *err) {
    const int64_t unit = dim == s->tensor[k].stick ? s->tensor[k].eps : 1, widest = widest_stick(s, dim);
    const int64_t loop = s->loop[dim], extent = s->extent[dim];
    const char   *name = tg_sdsc_tensor_name(s, k);
    if (unit > 1 && unit < widest)
        return tg_fail(err, TG_ERR_UNREPRESENTABLE, "the device converts whole sticks of %d elements: loop %d runs to "
                       "%d, and %s has room for %d, in sticks of %d", widest, loop, extent, name, room * unit, unit);
    return tg_fail(err, TG_ERR_UNREPRESENTABLE, "loop %d runs to %d, %s has room for %d", loop, extent, name,
                   room * unit);
}

/* The gap of the dimension at place i: what is there up to the next one, less what is walked. */
static tg_status find_gap(tg_sdsc *s, int32_t k, int32_t i, int64_t total, tg_error *err) {
    tg_sdsc_tensor *t = &s->tensor[k];
    const int32_t   dim = t->order[i];
    const bool      last = i + 1 == t->ndims || t->scale[t->order[i + 1]] != 1;
    const int64_t   next = last ? total : t->stride[t->order[i + 1]], steps = steps_of(s, k, dim);
    const int64_t   room = t->stride[dim] > 0 ? next / t->stride[dim] : 0;
    if (!last && next % t->stride[dim] != 0)
        return tg_fail(err, TG_ERR_UNREPRESENTABLE, "the loops of %s do not nest", tg_sdsc_tensor_name(s, k));
    t->gap[dim] = (room - steps) * (dim == t->stick ? t->eps : 1);
    if (t->gap[dim] >= 0) return TG_OK;
    if (s->kernel->kind != TG_KERNEL_RESTICKIFY || dim == t->stick || s->split[dim] > 1)
        return runs_over(s, k, dim, room, err);
    t->gap[dim] = steps - room; /* as torch-spyre says it: by so much the loop runs past the rows that are there */
    return TG_OK;
}

tg_status tg_sdsc_nest(tg_sdsc *s, int32_t k, tg_error *err) {
    const tg_spyre *l = &s->kernel->tensors[k].layout;
    tg_sdsc_tensor *t = &s->tensor[k];
    int64_t         total = 1; /* fits: the walk has found it */
    tg_status       status = TG_OK;
    for (int32_t i = 0; i < l->rank; i++) total *= l->device_size[i];
    if (t->ndims == 0 || t->scale[t->order[0]] != 1) return TG_OK;
    if (steps_of(s, k, t->order[0]) == 1) t->stride[t->order[0]] = t->eps; /* nobody steps along it */
    for (int32_t i = 0; i < t->ndims && t->scale[t->order[i]] == 1 && status == TG_OK; i++)
        status = find_gap(s, k, i, total, err);
    return status;
}
