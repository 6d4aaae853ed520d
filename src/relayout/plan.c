/* Making a plan: check both layouts, choose the conversion, then a nest (nest.inc.h) or, where that cannot be, a walk.
 *
 * Nothing here allocates and nothing is cleared that need not be: a plan for a few kilobytes must not take longer than
 * moving them. So the common case is checked in one pass (tg_layout_quick), and only what that cannot say is asked
 * again, slowly and with an error text.
 *
 * A plan is 1400 to 2700 instructions, each of them once. What they cost is fetching them, 0.05 ns each (an Emerald
 * Rapids), and 0.35 ns more where a jump is taken: hints (TG_RARELY) keep what most plans do in a line, here and in the
 * files that make boxes, and that alone takes a quarter of the time away. They stand where a condition nearly always
 * goes one way, as a trace of the workloads of bench/ says; and several conditions that nearly always hold are one,
 * by | and ^. And all of it is compiled as one file, nest.inc.h and what that includes: the code that
 * makes a plan then lies in one place, which is 8 % and, above all, does not change with every line that is written
 * elsewhere (12 % more, measured, when two functions moved). */
#include "base/compiler.h"

TG_ALIGN_FUNCTIONS

#include "relayout/plan.h"

#include "base/checked.h"
#include "base/error.h"
#include "layout/layout.h"
#include "relayout/combine.h"
#include "relayout/nest.inc.h"

#include <string.h>

enum { GROUPS_WANTED = 16 }; /* of a small move */

static const uint32_t ALL_CPU = TG_CPU_AVX2 | TG_CPU_AVX512 | TG_CPU_NEON;

const tg_tuning tg_default_tuning = {
    .block_bytes = 1 << 20,
    .block_bytes_min = 16 << 10,
    .run_grain = 4096,
    .copy_rows = 64,
    .transpose_bytes = 512,
    .group_bytes = 512 << 10,
    .group_bytes_min = 64 << 10,
    .slab_bytes = TG_SLAB_BYTES,
    .step_bytes = 64 << 20,
    .task_bytes = 128 << 10,
    .shared_bytes = 4 << 20,
    .combined_bytes = TG_COMBINED_ENOUGH,
    .stream_bytes = -1,
    .far_bytes = 4 << 20,
    .memory_bytes = 32 << 20,
};

/* ---- checks ---- */

/* A loop's count times its step is less than twice the storage: so it always fits. */
static tg_status check_storage(const tg_layout *l, const char *name, tg_error *err) {
    if (l->span <= INT64_MAX / 2 / tg_max(l->elem_bits / 8, 1)) return TG_OK;
    return tg_fail(err, TG_ERR_OVERFLOW,
                   "plan: the storage of %s has %d elements of %d bits, and 2^62 bytes are too many", name, l->span,
                   (int64_t)l->elem_bits);
}

TG_COLD static tg_status check_slowly(tg_extent *out, const tg_layout *l, const char *name, tg_error *err) {
    if (l == NULL) return tg_fail(err, TG_ERR_ARGUMENT, "plan: %s is NULL", name);
    tg_error        why;
    const tg_status s = tg_layout_validate(l, &why);
    if (s != TG_OK) return tg_fail_dim(err, s, why.dim, "plan: %s: %s", name, why.message);
    out->numel = tg_layout_numel(l);
    out->dense = false; /* not known yet */
    out->single = 0;
    out->copies = 1;
    for (int32_t m = 0; m < l->nmodes; m++)
        if (l->mode[m].axis == TG_AXIS_COPY && !tg_mul(&out->copies, out->copies, l->mode[m].size))
            out->copies = INT64_MAX;
    if (out->numel == 0) return check_storage(l, name, err);
    int64_t low, high;
    tg_layout_bounds(l, &low, &high);
    if (low < 0 || high >= l->span)
        return tg_fail(err, TG_ERR_ARGUMENT, "plan: offsets of %s run from %d to %d, outside its storage [0, %d)", name,
                       low, high, l->span);
    return check_storage(l, name, err);
}

static inline tg_status check_layout(tg_extent *out, const tg_layout *l, const char *name, tg_error *err) {
    if (TG_MOSTLY(l != NULL && tg_layout_quick(out, l))) return TG_OK;
    return check_slowly(out, l, name, err);
}

TG_COLD static tg_status fail_copies(const tg_layout *dst, tg_error *err) {
    int32_t i = 0;
    while (dst->mode[dst->chain[i]].axis != TG_AXIS_COPY || dst->mode[dst->chain[i]].size > 0) i++;
    const int32_t m = dst->chain[i];
    return tg_fail_dim(err, TG_ERR_ARGUMENT, m, "plan: mode %d of dst makes 0 copies", (int64_t)m);
}

static tg_status check_pair(const tg_layout *dst, int64_t copies, const tg_layout *src, bool convert, tg_error *err) {
    int64_t differs = dst->ndim ^ src->ndim;
    for (int32_t d = 0; d < dst->ndim; d++) differs |= dst->shape[d] ^ src->shape[d];
    if (TG_RARELY(differs != 0))
        return tg_fail(err, TG_ERR_ARGUMENT, "plan: the shapes differ: dst %v, src %v", dst->shape, (int)dst->ndim,
                       src->shape, (int)src->ndim);
    if (TG_RARELY(copies == 0)) return fail_copies(dst, err);
    if (TG_RARELY(dst->dtype != src->dtype) && !convert)
        return tg_fail(err, TG_ERR_ARGUMENT, "plan: the element types differ, and `convert` is not set: dst %s, src %s",
                       tg_dtype_name(dst->dtype), tg_dtype_name(src->dtype));
    return TG_OK;
}

static const int64_t zeros[TG_MAX_NDIM];

static tg_status check_box(tg_pair *p, const tg_plan_params *params, tg_error *err) {
    p->begin = zeros;
    p->end = p->dst->shape;
    p->whole = true;
    if (TG_MOSTLY(params->begin == NULL && params->end == NULL)) return TG_OK;
    if (params->begin != NULL) p->begin = params->begin;
    if (params->end != NULL) p->end = params->end;
    bool empty = false;
    p->numel = 1;
    for (int32_t d = 0; d < p->dst->ndim; d++) {
        const int64_t begin = p->begin[d], end = p->end[d], size = p->dst->shape[d];
        if (begin < 0 || begin > end || end > size)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, d, "plan: the box is [%d, %d) in dimension %d of size %d", begin,
                               end, (int64_t)d, size);
        p->whole = p->whole && begin == 0 && end == size;
        empty = empty || begin == end;
        if (!tg_mul(&p->numel, p->numel, end - begin)) p->numel = INT64_MAX; /* only where a size is 0 */
    }
    if (empty) p->numel = 0;
    return TG_OK;
}

/* Checks that dst is unique, and decides who fills the padding: the boxes, a pass before all else, or nobody because
 * there is none. */
static tg_status check_coverage(tg_plan_private *plan, tg_pair *p, const tg_extent *dst, tg_error *err) {
    plan->fill_first = false;
    p->dense = TG_MOSTLY(dst->dense);
    if (TG_MOSTLY(p->dense)) p->dense_span = dst->dense_span;
    else p->dense = tg_layout_dense(&p->dense_span, p->dst);
    if (TG_MOSTLY(p->dense)) {
        p->pad = p->pad && dst->numel * dst->copies != p->dst->span; /* fits: so does a dense span */
    } else {
        bool            unique, exhaustive;
        const tg_status s = tg_layout_coverage(&unique, &exhaustive, NULL, p->dst, err);
        if (s != TG_OK) return s;
        if (!unique) return tg_fail(err, TG_ERR_ARGUMENT, "plan: dst is not unique: two coordinates share an offset");
        p->pad = p->pad && !exhaustive;
    }
    if (TG_MOSTLY(!p->pad || (p->dense && dst->numel > 0 && p->dst->naxes == p->dst->ndim))) return TG_OK;
    if (!p->whole)
        return tg_fail(err, TG_ERR_UNSUPPORTED,
                       "plan: the padding of dst cannot be shared out to boxes: it lies between "
                       "strides or folds");
    plan->fill_first = true;
    p->pad = false;
    return TG_OK;
}

static const char *format_text(tg_format format) {
    const char *name = tg_format_name(format);
    return format == TG_FORMAT_NATIVE ? "native" : name != NULL ? name : "unknown";
}

TG_COLD static tg_status fail_conversion(const tg_layout *d, const tg_layout *s, tg_error *err) {
    if (d->format == TG_FORMAT_NATIVE && s->format == TG_FORMAT_NATIVE && d->dtype != s->dtype)
        return tg_fail(err, TG_ERR_UNSUPPORTED, "plan: there is no conversion of %s (%d bits) to %s (%d bits)",
                       tg_dtype_name(s->dtype), (int64_t)s->elem_bits, tg_dtype_name(d->dtype), (int64_t)d->elem_bits);
    return tg_fail(err, TG_ERR_UNSUPPORTED, "plan: no conversion of %s from %s in %d bits to %s%s%s in %d bits",
                   tg_dtype_name(s->dtype), format_text(s->format), (int64_t)s->elem_bits,
                   d->dtype == s->dtype ? "" : tg_dtype_name(d->dtype), d->dtype == s->dtype ? "" : " ",
                   format_text(d->format), (int64_t)d->elem_bits);
}

static tg_status choose_conversion(tg_plan_private *plan, const tg_pair *p, tg_error *err) {
    const tg_layout  *d = p->dst, *s = p->src;
    const tg_encoding none = {TG_KIND_NONE, 0, 0};
    plan->dst_encoding = none;
    plan->src_encoding = none;
    plan->dst_bits = d->elem_bits;
    plan->src_bits = s->elem_bits;
    if (d->dtype == s->dtype && d->format == s->format && d->elem_bits == s->elem_bits) {
        if (TG_MOSTLY(tg_bits_movable(d->elem_bits))) return TG_OK;
        return tg_fail(err, TG_ERR_UNSUPPORTED, "plan: elements of %d bits cannot be moved", (int64_t)d->elem_bits);
    }
    tg_encoding to, from;
    tg_encoding_find(&to, d->dtype, d->format, d->elem_bits);
    tg_encoding_find(&from, s->dtype, s->format, s->elem_bits);
    const bool bits = TG_RARELY(d->dtype != s->dtype) && (to.kind == TG_KIND_BITS || from.kind == TG_KIND_BITS);
    if (TG_MOSTLY(!bits && tg_encoding_same(to, from) && tg_bits_movable(d->elem_bits) && to.kind != TG_KIND_NONE))
        return TG_OK;
    tg_kernel kernel;
    if (bits || !tg_kernel_convert(&kernel, to, from)) return fail_conversion(d, s, err);
    plan->dst_encoding = to;
    plan->src_encoding = from;
    return TG_OK;
}

/* ---- sizes ---- */

/* Bytes that n elements take, if they fit. */
static bool bytes_of(int64_t *out, int64_t n, int32_t bits) {
    if (TG_MOSTLY(bits >= 8)) return tg_mul(out, n, bits / 8);
    *out = tg_ceil_div(n, 8 / bits);
    return true;
}

/* Bytes read and written: src's elements, and all of dst's storage, or the elements of a box. */
static bool count_bytes(int64_t *out, const tg_pair *p) {
    int64_t written, read;
    return bytes_of(&written, p->whole ? p->dst->span : p->numel, p->dst->elem_bits) &&
           bytes_of(&read, p->numel, p->src->elem_bits) && tg_add(out, written, read);
}

/* What the processor writes around its caches it does not read out of them either. */
static void choose_stores(tg_plan_private *plan, const tg_pair *p) {
    const tg_tuning *t = p->tuning;
    tg_stream_bytes  limit = {t->stream_bytes, t->stream_bytes};
    int64_t          far = t->far_bytes;
    if (TG_MOSTLY(t->stream_bytes < 0)) {
        limit = tg_cpu_stream_bytes(p->cpu, plan->threads <= 1);
        far = tg_min(far, limit.runs);
    }
    plan->stream = plan->bytes >= limit.runs;
    plan->stream_turned = plan->bytes >= limit.turned;
    plan->far = plan->bytes >= far;
    plan->memory = plan->bytes >= t->memory_bytes;
    if (TG_RARELY(p->hint != 0)) plan->stream = plan->stream_turned = p->hint == TG_HINT_DEVICE;
    plan->claims = (plan->bytes > FIRST_LEVEL) & ((p->cpu & TG_CPU_CLAIMS) != 0);
}

static void make_groups(tg_plan_private *plan, const tg_tuning *t) {
    plan->groups = plan->groups_per_step = plan->steps = 1;
    plan->task_bytes = t->task_bytes;
    plan->shared_bytes = t->shared_bytes;
    plan->combined_bytes = t->combined_bytes;
    if (TG_MOSTLY(plan->work < 2 * t->group_bytes_min)) return;
    const bool    slabs = plan->way == TG_WAY_NEST && plan->as.nest.slabs.nloops > 0;
    const int64_t most = TG_RARELY(plan->way == TG_WAY_WALK) ? plan->as.walk.units
                         : TG_RARELY(slabs)                  ? plan->as.nest.slabs.count
                                                             : INT64_MAX;
    const int64_t size = tg_max(tg_min(plan->work / GROUPS_WANTED, t->group_bytes), t->group_bytes_min);
    if (plan->work < 2 * size) return;
    plan->groups = tg_max(tg_min(plan->work / size, most), 1);
    const bool shared = plan->threads > 1 && plan->groups > plan->threads;
    if (shared) plan->groups -= plan->groups % plan->threads; /* each thread as many */
    plan->groups_per_step = tg_max(plan->groups / tg_max(plan->work / t->step_bytes, 1), 1);
    plan->steps = tg_ceil_div(plan->groups, plan->groups_per_step);
}

static bool is_direct(const tg_plan_private *p) {
    return TG_MOSTLY(p->way == TG_WAY_NEST && !p->fill_first && !p->stream_turned && p->groups == 1) &&
           p->as.nest.single;
}

/* ---- init ---- */

static tg_status check_params(const tg_plan *out, const tg_plan_params *params, tg_error *err) {
    if (out == NULL || params == NULL) return tg_fail(err, TG_ERR_ARGUMENT, "plan: out and params must not be NULL");
    if (params->hint != 0 && params->hint != TG_HINT_CACHED && params->hint != TG_HINT_DEVICE)
        return tg_fail(err, TG_ERR_ARGUMENT, "plan: the hint is %d, which is no value of tg_hint",
                       (int64_t)params->hint);
    if (params->threads < 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "plan: the number of threads is %d, not at least 0",
                       (int64_t)params->threads);
    if ((params->without & ~ALL_CPU) != 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "plan: `without` is %d, and has bits besides those of tg_cpu, %d",
                       (int64_t)params->without, (int64_t)ALL_CPU);
    return TG_OK;
}

/* Eight bytes full of an element of up to eight; of a packed one only the low bits count. */
static uint64_t eight_of(const void *element, int32_t bits) {
    uint8_t  a;
    uint16_t b;
    uint32_t c;
    uint64_t d;
    switch (bits) {
    case 64: memcpy(&d, element, sizeof d); return d;
    case 32: memcpy(&c, element, sizeof c); return c * 0x0000000100000001u;
    case 16: memcpy(&b, element, sizeof b); return b * 0x0001000100010001u;
    case 8: memcpy(&a, element, sizeof a); return a * 0x0101010101010101u;
    default: memcpy(&a, element, sizeof a); return (a & ((1u << bits) - 1)) * (~(uint64_t)0 / ((1u << bits) - 1));
    }
}

/* The pad element again and again. */
static void repeat_pad(uint8_t *pattern, const void *element, int32_t bits) {
    uint64_t sixteen[2];
    if (bits == 128) memcpy(sixteen, element, sizeof sixteen);
    else sixteen[0] = sixteen[1] = eight_of(element, bits);
    for (size_t i = 0; i < TG_PAD_PATTERN; i += sizeof sixteen) memcpy(pattern + i, sixteen, sizeof sixteen);
}

static tg_status choose_way(tg_plan_private *plan, const tg_pair *p, tg_error *err) {
    plan->why = NULL;
    plan->combines = false;
    if (TG_RARELY(p->numel == 0 && !p->pad)) {
        plan->way = TG_WAY_NOTHING;
        return TG_OK;
    }
    const bool folds = TG_RARELY(p->dst->naxes != p->dst->ndim) || TG_RARELY(p->src->naxes != p->src->ndim);
    plan->way = TG_WAY_NEST;
    if (TG_MOSTLY(!folds && make_nest(plan, p))) return TG_OK;
    if (folds) plan->why = "digits are folded into each other";
    plan->way = TG_WAY_WALK;
    if (p->pad && !p->whole)
        return tg_fail(err, TG_ERR_UNSUPPORTED, "plan: padding cannot be shared out to boxes here: %s", plan->why);
    plan->fill_first = plan->fill_first || p->pad;
    return tg_walk_make(plan, p, err);
}

TG_INLINE tg_status fill_in(tg_plan_private *plan, const tg_plan_params *params, const tg_tuning *tuning,
                            tg_error *err) {
    tg_pair   p;
    tg_extent dst, src;
    tg_status s = check_layout(&dst, params->dst, "dst", err);
    if (s == TG_OK) s = check_layout(&src, params->src, "src", err);
    if (s == TG_OK) s = check_pair(params->dst, dst.copies, params->src, params->convert, err);
    if (TG_RARELY(s != TG_OK)) return s;
    p.tuning = tuning;
    p.dst = params->dst;
    p.src = params->src;
    p.numel = dst.numel;
    p.single = dst.single & src.single;
    p.pad = params->pad != NULL;
    p.cpu = tg_cpu_features() & ~params->without;
    p.hint = params->hint;
    s = check_box(&p, params, err);
    if (s == TG_OK) s = check_coverage(plan, &p, &dst, err);
    if (s == TG_OK) s = choose_conversion(plan, &p, err);
    if (TG_RARELY(s != TG_OK)) return s;
    if (!count_bytes(&plan->bytes, &p))
        return tg_fail(err, TG_ERR_OVERFLOW, "plan: the bytes of %v do not fit 63 bits", p.dst->shape,
                       (int)p.dst->ndim);
    plan->work = plan->bytes;
    plan->threads = params->threads;
    plan->dtype = p.dst->dtype;
    plan->dst_format = p.dst->format;
    plan->span = p.dst->span;
    plan->serial = false;
    if (p.pad || plan->fill_first) repeat_pad(plan->pad, params->pad, plan->dst_bits);
    choose_stores(plan, &p);
    s = choose_way(plan, &p, err);
    if (TG_RARELY(s != TG_OK)) return s;
    make_groups(plan, tuning);
    plan->direct = is_direct(plan);
    return TG_OK;
}

/* Who runs a plan that was refused moves nothing. */
static void be_nothing(tg_plan_private *plan) {
    plan->way = TG_WAY_NOTHING;
    plan->why = NULL;
    plan->direct = plan->fill_first = plan->stream = plan->stream_turned = plan->combines = plan->serial = false;
    plan->bytes = plan->work = 0;
    plan->groups = plan->groups_per_step = plan->steps = 1;
}

tg_status tg_plan_tuned(tg_plan *out, const tg_plan_params *params, const tg_tuning *tuning, tg_error *err) {
    tg_plan_private *const plan = (void *)out;
    tg_status              s = check_params(out, params, err);
    if (s == TG_OK) s = fill_in(plan, params, tuning, err);
    if (TG_RARELY(s != TG_OK) && plan != NULL) be_nothing(plan);
    return s;
}

tg_status tg_plan_init(tg_plan *out, const tg_plan_params *params, tg_error *err) {
    return tg_plan_tuned(out, params, &tg_default_tuning, err);
}

int64_t tg_plan_steps(const tg_plan *plan) { return tg_plan_see(plan)->steps; }

TG_ALIGN_FUNCTIONS_END
