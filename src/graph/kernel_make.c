/* The dimensions of a kernel: names for its loops, extents of whole sticks, and for each tensor those that it lacks.
 *
 *     y[i,j] + b[j], j in the sticks     i is mb, j is out
 *       y, result   order mb out, scale 1 1
 *       b           order out mb, scale 1 (out) and -1 (mb): it does not have rows
 *     sum of y over j: the result has order mb out, scale 1 and -2: j was in the sticks
 *
 * Operands of a product are left as they are; only what x shares with y and the result (a batch for which x is the
 * same) is added to it. Tensors with the same dimensions, the same one in the sticks and the same sticks have one
 * label. Source: torch-spyre, superdsc.py. */
#include "graph/kernel.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"

#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const char *const outer_names[] = {"mb", "x", "y", "i", "j", "ki", "kj"};
static const char *const product_names[] = {"ki", "kj", "y", "x", "mb"}; /* in front of out and in */
static const char *const labels[TG_SDSC_LABELS] = {"OUTPUT", "KERNEL", "INPUT", "KERNEL_IDX"};
static const char *const depthwise_labels[TG_SDSC_LABELS] = {"OUTPUT", "INPUT", "KERNEL", "KERNEL_IDX"};
static const char *const product_labels[TG_SDSC_LABELS] = {"INPUT", "KERNEL", "OUTPUT", "KERNEL_IDX"};

static bool is_product(const tg_sdsc *s) {
    return s->kernel->kind == TG_KERNEL_MATMUL || s->kernel->kind == TG_KERNEL_CONVOLUTION;
}

/* ---- loops ------------------------------------------------------------------------------ */

static bool is_name(const char *op) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    const size_t      len = strlen(op);
    return len > 0 && len < 64 && strspn(op, letters) == len;
}

static tg_status check_kernel(const tg_kernel *k, tg_error *err) {
    static const int32_t ntensors[] = {1, 2, 3, 2, 3};
    const bool           fixed = k->kind != TG_KERNEL_POINTWISE;
    if ((int)k->kind < 0 || k->kind > TG_KERNEL_CONVOLUTION || (int)k->mask_value < 0 ||
        k->mask_value > TG_PAD_HIGHEST)
        return tg_fail(err, TG_ERR_ARGUMENT, "kind %d or mask value %d of a kernel is not known", (int64_t)k->kind,
                       (int64_t)k->mask_value);
    if (k->ntensors < ntensors[k->kind] || k->ntensors > (fixed ? ntensors[k->kind] : TG_KERNEL_MAX_TENSORS))
        return tg_fail(err, TG_ERR_ARGUMENT, "the kernel has %d tensors", (int64_t)k->ntensors);
    if (k->nloops < 0 || k->nloops > TG_MAX_LOOPS)
        return tg_fail(err, TG_ERR_LIMIT, "the kernel has %d loops; the limit is %d", (int64_t)k->nloops,
                       (int64_t)TG_MAX_LOOPS);
    if (!is_name(k->op)) return tg_fail(err, TG_ERR_ARGUMENT, "'%t' is no name of a function", k->op, strlen(k->op));
    return TG_OK;
}

static tg_status take_loops(tg_sdsc *s, tg_error *err) {
    const tg_kernel *k = s->kernel;
    for (int32_t l = 0; l < k->nloops; l++) {
        const int64_t split = k->splits != NULL ? k->splits[l] : 1;
        if (k->ranges[l] < 1 || split < 1)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, l, "loop %d has range %d in %d slices; both are 1 or more",
                               (int64_t)l, k->ranges[l], split);
        if (k->ranges[l] == 1 && split > 1)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, l, "loop %d has one step, and %d slices", (int64_t)l, split);
        if (k->ranges[l] == 1) continue;
        if (s->ndims == TG_SDSC_DIMS - is_product(s))
            return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, l, "there are names for %d loops only",
                               (int64_t)TG_SDSC_DIMS - is_product(s));
        s->loop[s->ndims] = l;
        s->extent[s->ndims] = k->ranges[l];
        s->split[s->ndims++] = split;
    }
    return TG_OK;
}

/* ---- sticks ----------------------------------------------------------------------------- */

static tg_status check_product(const tg_sdsc *s, tg_error *err) {
    const tg_sdsc_tensor *x = &s->tensor[0], *y = &s->tensor[1], *r = &s->tensor[2];
    const int32_t         k = x->stick, n = y->stick;
    if (k == TG_NO_DIM || n == TG_NO_DIM || r->stick != n || y->scale[k] != 1 || r->scale[k] != 0 || x->scale[n] != 0)
        return tg_fail(err, TG_ERR_UNREPRESENTABLE,
                       "a product has the summed loop in the sticks of operand 0, the columns in those of operand 1 "
                       "and the result");
    return TG_OK;
}

bool tg_sdsc_is_depthwise(const tg_sdsc *s) {
    return s->kernel->kind == TG_KERNEL_CONVOLUTION && s->tensor[0].stick == s->tensor[2].stick;
}

static tg_status check_convolution(const tg_sdsc *s, tg_error *err) {
    const int32_t channels = s->tensor[2].stick;
    if (!tg_sdsc_is_depthwise(s)) return check_product(s, err);
    if (channels != TG_NO_DIM && s->tensor[1].stick == channels) return TG_OK;
    return tg_fail(err, TG_ERR_UNREPRESENTABLE,
                   "a convolution of each channel by itself has channels in the sticks of all tensors");
}

/* A restickify has one in each tensor. */
static tg_status check_restickify(const tg_sdsc *s, tg_error *err) {
    const tg_sdsc_tensor *from = &s->tensor[0], *to = &s->tensor[1];
    if (s->kernel->kind != TG_KERNEL_RESTICKIFY) return TG_OK;
    if (from->stick != TG_NO_DIM && to->stick != TG_NO_DIM && from->stick != to->stick) return TG_OK;
    return tg_fail(err, TG_ERR_UNREPRESENTABLE, "a restickify has different loops in the sticks of its two tensors");
}

/* The one loop that is in sticks. */
static tg_status agree(tg_sdsc *s, tg_error *err) {
    const tg_status status = check_restickify(s, err);
    if (status != TG_OK) return status;
    s->stick = s->tensor[s->kernel->kind == TG_KERNEL_REDUCTION ? 0 : s->kernel->ntensors - 1].stick;
    for (int32_t k = 0; k < s->kernel->ntensors; k++) {
        const tg_sdsc_tensor *t = &s->tensor[k];
        const bool            same = t->stick == s->stick || s->kernel->kind == TG_KERNEL_RESTICKIFY;
        const bool lies_across = t->stick == TG_NO_DIM && s->stick != TG_NO_DIM && t->scale[s->stick] == 1;
        if ((!same && t->stick != TG_NO_DIM) || lies_across)
            return tg_fail(err, TG_ERR_UNREPRESENTABLE, "%s has another loop in its sticks than the kernel",
                           tg_sdsc_tensor_name(s, k));
    }
    return TG_OK;
}

/* Every loop must walk the tensor that has them all. */
static tg_status check_loops(const tg_sdsc *s, tg_error *err) {
    const tg_sdsc_tensor *all = &s->tensor[s->kernel->kind == TG_KERNEL_REDUCTION ? 0 : s->kernel->ntensors - 1];
    for (int32_t d = 0; d < s->ndims; d++) {
        bool there = all->scale[d] == 1;
        for (int32_t k = 0; is_product(s) && k < 2; k++) there = there || s->tensor[k].scale[d] == 1;
        if (!there)
            return tg_fail(err, TG_ERR_UNREPRESENTABLE, "loop %d walks no tensor that says how far it goes",
                           (int64_t)s->loop[d]);
    }
    return TG_OK;
}

/* Where no tensor has a loop in its sticks, a dimension of its own stands for the places there. */
static tg_status add_idle_stick(tg_sdsc *s, tg_error *err) {
    if (is_product(s) || s->stick != TG_NO_DIM) return TG_OK;
    if (s->ndims == (int32_t)COUNT(outer_names))
        return tg_fail(err, TG_ERR_UNREPRESENTABLE, "there is no name left for the sticks of sparse tensors");
    const int32_t d = s->ndims++;
    s->loop[d] = TG_NO_DIM;
    s->extent[d] = s->tensor[0].eps;
    s->split[d] = 1;
    s->stick = d;
    for (int32_t k = 0; k < s->kernel->ntensors; k++) {
        tg_sdsc_tensor *t = &s->tensor[k];
        t->stick = d;
        t->scale[d] = 0;
    }
    return TG_OK;
}

static bool lies_apart(const tg_sdsc *s, const tg_sdsc_tensor *t) {
    const int32_t first = t->order[0];
    if (t->ndims == 0 || t->stride[first] == t->eps) return false;
    return s->extent[first] > (first == t->stick ? t->eps : 1);
}

/* Sticks that are touched may lie apart, as those of one row in [4,128,64]. A dimension of one step then stands within
 * all others, and the gap behind it is what is passed over. */
static tg_status add_filler(tg_sdsc *s, tg_error *err) {
    bool needed = false;
    for (int32_t k = 0; k < s->kernel->ntensors; k++) needed = needed || lies_apart(s, &s->tensor[k]);
    if (!needed) return TG_OK;
    if (s->ndims == (int32_t)COUNT(outer_names))
        return tg_fail(err, TG_ERR_UNREPRESENTABLE, "there is no name left for what lies between sticks");
    const int32_t d = s->ndims++;
    s->loop[d] = TG_NO_DIM;
    s->extent[d] = s->split[d] = 1;
    for (int32_t k = 0; k < s->kernel->ntensors; k++) {
        tg_sdsc_tensor *t = &s->tensor[k];
        memmove(t->order + 1, t->order, (size_t)t->ndims++ * sizeof *t->order);
        t->order[0] = d;
        t->scale[d] = 1;
        t->stride[d] = t->eps;
    }
    return TG_OK;
}

/* Extents in sticks are whole sticks, of the largest size that is there. */
static tg_status round_extents(tg_sdsc *s, tg_error *err) {
    for (int32_t k = 0; k < s->kernel->ntensors; k++) {
        const tg_sdsc_tensor *t = &s->tensor[k];
        if (t->stick != TG_NO_DIM && !tg_round_up(&s->extent[t->stick], s->extent[t->stick], t->eps))
            return tg_fail(err, TG_ERR_OVERFLOW, "a loop of whole sticks does not fit 63 bits");
    }
    return TG_OK;
}

/* ---- dimensions that a tensor lacks ----------------------------------------------------- */

static void append(tg_sdsc_tensor *t, int32_t dim, int32_t scale) {
    if (t->scale[dim] != 0) return;
    t->order[t->ndims++] = dim;
    t->scale[dim] = scale;
}

/* The order of the tensor that has all of them. An idle stick is no dimension that is lacking. */
static void complete(tg_sdsc *s) {
    const tg_kernel      *k = s->kernel;
    const tg_sdsc_tensor  all = s->tensor[k->kind == TG_KERNEL_REDUCTION ? 0 : k->ntensors - 1];
    const bool            idle = s->loop[s->stick] == TG_NO_DIM;
    for (int32_t i = 0; i < k->ntensors; i++) {
        tg_sdsc_tensor *t = &s->tensor[i];
        const bool      stickless = t->stick == TG_NO_DIM;
        for (int32_t n = 0; n < all.ndims; n++)
            append(t, all.order[n], stickless && all.order[n] == s->stick ? -2 : -1);
        if (stickless) t->stick = s->stick;
        if (idle) append(t, s->stick, 1);
    }
}

/* What x has not, though y and the result have: it is used again for each of these. */
static void complete_product(tg_sdsc *s) {
    const tg_sdsc_tensor y = s->tensor[1], *r = &s->tensor[2];
    for (int32_t i = 0; i < y.ndims; i++)
        if (y.order[i] != y.stick && r->scale[y.order[i]] == 1) append(&s->tensor[0], y.order[i], -1);
}

/* ---- names ------------------------------------------------------------------------------ */

/* mb, x, ...; the last loop is out. What is no loop comes behind them. */
static void name_dims(tg_sdsc *s) {
    int32_t nloops = 0;
    while (nloops < s->ndims && s->loop[nloops] != TG_NO_DIM) nloops++;
    for (int32_t d = 0; d < s->ndims; d++) s->name[d] = d == nloops - 1 ? "out" : outer_names[d];
}

/* ..., x, mb, out, in: the summed loop in the sticks of x is in, that of the result's sticks is out. */
static void name_product(tg_sdsc *s) {
    size_t next = COUNT(product_names);
    for (int32_t d = s->ndims; d-- > 0;) {
        if (d == s->tensor[0].stick) s->name[d] = "in";
        else if (d == s->tensor[2].stick) s->name[d] = "out";
        else if (s->loop[d] != TG_NO_DIM) s->name[d] = product_names[--next];
    }
    for (int32_t d = 0; d < s->ndims; d++)
        if (s->loop[d] == TG_NO_DIM) s->name[d] = product_names[--next];
}

static uint32_t dims_of(const tg_sdsc_tensor *t) {
    uint32_t dims = 0;
    for (int32_t i = 0; i < t->ndims; i++) dims |= UINT32_C(1) << t->order[i];
    return dims;
}

static void label_tensors(tg_sdsc *s) {
    const char *const *names = tg_sdsc_is_depthwise(s) ? depthwise_labels : is_product(s) ? product_labels : labels;
    for (int32_t k = 0; k < s->kernel->ntensors; k++) {
        tg_sdsc_tensor *t = &s->tensor[k];
        for (t->label = 0; t->label < s->nlabels; t->label++) {
            const tg_sdsc_tensor *first = &s->tensor[s->first[t->label]];
            if (first->stick == t->stick && first->eps == t->eps && dims_of(first) == dims_of(t)) break;
        }
        if (t->label < s->nlabels || s->nlabels == TG_SDSC_LABELS) continue;
        s->first[s->nlabels] = k;
        s->label[s->nlabels++] = names[t->label];
    }
}

/* ---- cores ------------------------------------------------------------------------------ */

static tg_status check_splits(tg_sdsc *s, tg_error *err) {
    s->ncores = 1;
    s->fastest = TG_NO_DIM;
    for (int32_t d = 0; d < s->ndims; d++) {
        int64_t unit = 1;
        for (int32_t k = 0; k < s->kernel->ntensors; k++)
            if (s->tensor[k].stick == d) unit = tg_max(unit, s->tensor[k].eps);
        if (s->split[d] > TG_MAX_CORES || s->extent[d] % (unit * s->split[d]) != 0)
            return tg_fail(err, TG_ERR_ARGUMENT, "%d slices do not divide loop %d of %d%s", s->split[d],
                           (int64_t)s->loop[d], s->extent[d] / unit, unit > 1 ? " sticks" : "");
        s->ncores *= s->split[d];
        if (s->ncores > TG_MAX_CORES)
            return tg_fail(err, TG_ERR_ARGUMENT, "the slices are for more than %d cores", (int64_t)TG_MAX_CORES);
        if (s->kernel->kind == TG_KERNEL_MATMUL && s->split[d] > 1 && s->tensor[2].scale[d] != 1) s->fastest = d;
    }
    return TG_OK;
}

/* ---- the whole -------------------------------------------------------------------------- */

static tg_status check_labels(const tg_sdsc *s, tg_error *err) {
    for (int32_t k = 0; k < s->kernel->ntensors; k++)
        if (s->tensor[k].label == TG_SDSC_LABELS)
            return tg_fail(err, TG_ERR_UNREPRESENTABLE, "the tensors differ in more than %d ways",
                           (int64_t)TG_SDSC_LABELS);
    return TG_OK;
}

static tg_status check_masks(const tg_sdsc *s, tg_error *err) {
    for (int32_t l = 0; l < 32; l++) {
        bool there = (s->kernel->masked >> l & 1) == 0;
        for (int32_t d = 0; d < s->ndims; d++) there = there || s->loop[d] == l;
        if (!there) return tg_fail(err, TG_ERR_ARGUMENT, "loop %d is masked, which has no second step", (int64_t)l);
    }
    return TG_OK;
}

tg_status tg_sdsc_make(tg_sdsc *out, const tg_kernel *kernel, tg_error *err) {
    memset(out, 0, sizeof *out);
    out->kernel = kernel;
    tg_status s = check_kernel(kernel, err);
    if (s == TG_OK) s = tg_sdsc_check_windows(kernel, err);
    if (s == TG_OK) s = take_loops(out, err);
    for (int32_t k = 0; k < kernel->ntensors && s == TG_OK; k++) s = tg_sdsc_walk(out, k, err);
    if (s == TG_OK && kernel->kind == TG_KERNEL_CONVOLUTION) s = check_convolution(out, err);
    else if (s == TG_OK) s = is_product(out) ? check_product(out, err) : agree(out, err);
    if (s == TG_OK) s = check_loops(out, err);
    if (s == TG_OK) s = add_idle_stick(out, err);
    if (s == TG_OK) s = round_extents(out, err);
    if (s == TG_OK) s = add_filler(out, err);
    for (int32_t k = 0; k < kernel->ntensors && s == TG_OK; k++) s = tg_sdsc_nest(out, k, err);
    if (s != TG_OK) return s;
    if (is_product(out)) complete_product(out);
    else complete(out);
    if (kernel->kind == TG_KERNEL_CONVOLUTION) s = tg_sdsc_name_convolution(out, err);
    else if (is_product(out)) name_product(out);
    else name_dims(out);
    label_tensors(out);
    if (s == TG_OK) s = check_labels(out, err);
    if (s == TG_OK) s = check_splits(out, err);
    return s == TG_OK ? check_masks(out, err) : s;
}

bool tg_sdsc_is_nonstick(const tg_sdsc *s) {
    const tg_sdsc_tensor *t = &s->tensor[s->kernel->ntensors - 1];
    if (s->kernel->kind != TG_KERNEL_REDUCTION) return false;
    for (int32_t i = 0; i < t->ndims; i++)
        if (t->scale[t->order[i]] == -2) return false;
    return true;
}

/* ---- slices and addresses --------------------------------------------------------------- */

void tg_sdsc_numbering(int32_t dim[TG_SDSC_DIMS], const tg_sdsc *s) {
    int32_t n = 0;
    if (s->fastest != TG_NO_DIM) dim[n++] = s->fastest;
    for (int32_t d = 0; d < s->ndims; d++)
        if (d != s->fastest) dim[n++] = d;
}

void tg_sdsc_slices(int64_t slice[TG_SDSC_DIMS], const tg_sdsc *s, int64_t core) {
    int32_t dim[TG_SDSC_DIMS];
    tg_sdsc_numbering(dim, s);
    for (int32_t i = 0; i < s->ndims; i++) {
        slice[dim[i]] = core % s->split[dim[i]];
        core /= s->split[dim[i]];
    }
}

bool tg_sdsc_address(int64_t *address, const tg_sdsc *s, int32_t k, int64_t core) {
    const tg_kernel_tensor *from = &s->kernel->tensors[k];
    const tg_sdsc_tensor   *t = &s->tensor[k];
    int64_t                 slice[TG_SDSC_DIMS], elements = t->offset;
    *address = from->address;
    if (from->in_lx) return true;
    tg_sdsc_slices(slice, s, core);
    for (int32_t d = 0; d < s->ndims; d++) {
        const tg_kernel_window *w = tg_sdsc_window(s, k, d);
        const int64_t           steps = s->extent[d] / s->split[d] / (d == t->stick ? t->eps : 1);
        int64_t                 first;
        if (t->scale[d] != 1 || s->loop[d] == TG_NO_DIM) continue;
        if (!tg_mul(&first, slice[d], steps) || !tg_mul(&first, first, w != NULL ? w->stride : 1) ||
            !tg_muladd(&elements, elements, first, t->stride[d]))
            return false;
    }
    /* whole sticks: a tensor begins with one, and loops step over them */
    return tg_muladd(address, *address, elements / t->eps, TG_SPYRE_STICK_BYTES);
}

/* ---- questions -------------------------------------------------------------------------- */

static tg_status check_core(const tg_sdsc *s, int64_t core, tg_error *err) {
    if (core >= 0 && core < s->ncores) return TG_OK;
    return tg_fail(err, TG_ERR_ARGUMENT, "core %d is not in [0, %d)", core, s->ncores);
}

tg_status tg_kernel_slices(int64_t *slices, int64_t *ncores, const tg_kernel *kernel, int64_t core, tg_error *err) {
    tg_sdsc   s;
    int64_t   slice[TG_SDSC_DIMS];
    tg_status status = tg_sdsc_make(&s, kernel, err);
    if (status == TG_OK) status = check_core(&s, core, err);
    if (status != TG_OK) return status;
    tg_sdsc_slices(slice, &s, core);
    for (int32_t l = 0; l < kernel->nloops; l++) slices[l] = 0;
    for (int32_t d = 0; d < s.ndims; d++)
        if (s.loop[d] != TG_NO_DIM) slices[s.loop[d]] = slice[d];
    *ncores = s.ncores;
    return TG_OK;
}

tg_status tg_kernel_address(int64_t *address, const tg_kernel *kernel, int32_t tensor, int64_t core, tg_error *err) {
    tg_sdsc   s;
    int64_t   found;
    tg_status status = tg_sdsc_make(&s, kernel, err);
    if (status == TG_OK) status = check_core(&s, core, err);
    if (status != TG_OK) return status;
    if (tensor < 0 || tensor >= kernel->ntensors)
        return tg_fail(err, TG_ERR_ARGUMENT, "tensor %d is not in [0, %d)", (int64_t)tensor, (int64_t)kernel->ntensors);
    if (!tg_sdsc_address(&found, &s, tensor, core))
        return tg_fail(err, TG_ERR_OVERFLOW, "an address of %s does not fit 63 bits", tg_sdsc_tensor_name(&s, tensor));
    *address = found;
    return TG_OK;
}
