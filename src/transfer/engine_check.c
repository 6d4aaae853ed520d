/* Checking a program against an engine, and saying what is wrong: the descriptor, the field, the value, the limit and
 * the nearest value that the engine would take. */
#include "transfer/engine.h"

#include "base/error.h"

enum { MAX_BITS = 4096 };

/* ---- is the question sound? ---- */

static bool is_sound_side(const tg_engine_side *r) {
    bool is_sound = r->max_loops >= 0 && r->max_loops <= TG_ENGINE_MAX_LOOPS && r->run_unit >= 0 &&
                    r->max_stride >= 0 && r->max_bytes >= 0 && r->length_loops >= 0 && r->granule >= 0 &&
                    r->alignment >= 0 && r->strides >= TG_STRIDES_ANY && r->strides <= TG_STRIDES_POSITIVE_OR_REPEAT;
    for (int32_t i = 0; i < TG_ENGINE_MAX_LOOPS; i++) is_sound = is_sound && r->max_range[i] >= 0;
    return is_sound;
}

static tg_status check_engine(const tg_engine *e, const char *name, tg_error *err) {
    if (!is_sound_side(&e->device) || !is_sound_side(&e->host) || e->max_descriptors < 0 || e->max_bits < 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "the description of %s has a limit below 0, or over %d loops", name,
                       (int64_t)TG_ENGINE_MAX_LOOPS);
    return TG_OK;
}

static tg_status check_widths(const tg_engine *e, const char *name, int32_t device, int32_t host, tg_error *err) {
    if (device < 1 || device > MAX_BITS || host < 1 || host > MAX_BITS)
        return tg_fail(err, TG_ERR_ARGUMENT, "elements of %d and %d bits: [1, %d] are known", (int64_t)device,
                       (int64_t)host, (int64_t)MAX_BITS);
    if (e->same_width && device != host)
        return tg_fail(
            err, TG_ERR_UNREPRESENTABLE,
            "elements have %d bits on the device and %d on the host, and %s does not convert: %d on both sides "
            "would do",
            (int64_t)device, (int64_t)host, name, (int64_t)host);
    if (e->max_bits != 0 && tg_max(device, host) > e->max_bits)
        return tg_fail(err, TG_ERR_UNREPRESENTABLE,
                       "elements have %d bits, and %s knows at most %d: parts of %d would do", tg_max(device, host),
                       name, (int64_t)e->max_bits, tg_gcd(e->max_bits, tg_max(device, host)));
    return TG_OK;
}

static bool has_sound_reach(const tg_dma *dma, bool is_device) {
    int64_t low = is_device ? dma->device_offset : dma->host_offset, high = low, reach;
    for (int32_t i = 0; i < dma->nloops; i++) {
        const int64_t stride = is_device ? dma->loop[i].device_stride : dma->loop[i].host_stride;
        if (stride == INT64_MIN || !tg_mul(&reach, dma->loop[i].range - 1, stride)) return false;
        if (!tg_add(reach < 0 ? &low : &high, reach < 0 ? low : high, reach)) return false;
    }
    return true;
}

static tg_status check_descriptor(const tg_dma *dma, size_t i, tg_error *err) {
    if (dma->nloops < 0 || dma->nloops > TG_DMA_MAX_LOOPS)
        return tg_fail(err, TG_ERR_ARGUMENT, "descriptor %d has %d loops; [0, %d] are possible", (int64_t)i,
                       (int64_t)dma->nloops, (int64_t)TG_DMA_MAX_LOOPS);
    for (int32_t k = 0; k < dma->nloops; k++)
        if (dma->loop[k].range < 1)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, k, "descriptor %d: loop %d has range %d, which must be at least 1",
                               (int64_t)i, (int64_t)k, dma->loop[k].range);
    if (!has_sound_reach(dma, true) || !has_sound_reach(dma, false) || tg_dma_elements(dma) < 0)
        return tg_fail(err, TG_ERR_OVERFLOW, "descriptor %d: its offsets do not fit int64", (int64_t)i);
    return TG_OK;
}

tg_status tg_sides_make(tg_sides *out, const tg_engine *engine, int32_t device_bits, int32_t host_bits,
                        const tg_dma *program, size_t count, tg_error *err) {
    const char *name = engine->name != NULL ? engine->name : "the engine";
    tg_status   s = check_engine(engine, name, err);
    if (s == TG_OK) s = check_widths(engine, name, device_bits, host_bits, err);
    for (size_t i = 0; i < count && s == TG_OK; i++) s = check_descriptor(&program[i], i, err);
    if (s != TG_OK) return s;
    out->name = name;
    out->at[TG_DEVICE_SIDE] = (tg_side){&engine->device, device_bits, true};
    out->at[TG_HOST_SIDE] = (tg_side){&engine->host, host_bits, false};
    return TG_OK;
}

/* ---- what is wrong ---- */

/* A count of elements as its length: bytes, or bits where it is no whole number of them. */
typedef struct length {
    int64_t     n;
    const char *unit;
} length;

static length length_of(const tg_side *s, int64_t elements) {
    int64_t bits;
    if (!tg_mul(&bits, elements, s->bits)) return (length){elements, "elements"};
    return bits % 8 == 0 ? (length){bits / 8, "bytes"} : (length){bits, "bits"};
}

/* "56 or 64": the multiples of `unit` bytes next to n elements; 0 is none where it would be no stride and no run. */
typedef struct nearest {
    int64_t below, above;
    bool    has_below;
} nearest;

static nearest nearest_to(const tg_side *s, int64_t n, int64_t unit, bool may_be_0) {
    const int64_t step = unit * 8 / tg_gcd(unit * 8, s->bits);
    const int64_t rest = (n % step + step) % step, below = n - rest;
    return (nearest){below, below + step, below != 0 || may_be_0};
}

static const char *side_name(const tg_side *s) { return s->is_device ? "device" : "host"; }

/* "descriptor 0: host offset 60 is 120 bytes; tma needs multiples of 16 bytes: 56 or 64 would do". */
static tg_status complain_unit(const tg_sides *sides, const tg_side *s, const tg_breach *b, size_t i, const char *what,
                               bool may_be_0, tg_error *err) {
    const length  is = length_of(s, b->value);
    const nearest n = nearest_to(s, b->value, b->limit, may_be_0);
    if (!n.has_below)
        return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, b->loop,
                           "descriptor %d: %s %s %d is %d %s; %s needs multiples of %d bytes: %d would do", (int64_t)i,
                           side_name(s), what, b->value, is.n, is.unit, sides->name, b->limit, n.above);
    return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, b->loop,
                       "descriptor %d: %s %s %d is %d %s; %s needs multiples of %d bytes: %d or %d would do",
                       (int64_t)i, side_name(s), what, b->value, is.n, is.unit, sides->name, b->limit, n.below,
                       n.above);
}

static tg_status complain_sign(const tg_sides *sides, const tg_side *s, const tg_breach *b, size_t i, tg_error *err) {
    if (b->value < 0)
        return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, b->loop,
                           "descriptor %d: %s stride %d; %s needs positive ones: %d, from the other end, would do",
                           (int64_t)i, side_name(s), b->value, sides->name, -b->value);
    if (s->rules->strides == TG_STRIDES_POSITIVE_OR_REPEAT)
        return tg_fail_dim(
            err, TG_ERR_UNREPRESENTABLE, b->loop,
            "descriptor %d: %s stride 0 in dimension %d; %s repeats in dimension %d alone: a stride of 1 or "
            "more, or the outermost place would do",
            (int64_t)i, side_name(s), (int64_t)b->slot, sides->name, (int64_t)s->rules->max_loops - 1);
    return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, b->loop,
                       "descriptor %d: %s stride 0; %s needs positive ones: 1 or more, or a descriptor for each step, "
                       "would do",
                       (int64_t)i, side_name(s), sides->name);
}

static tg_status complain_long(const tg_sides *sides, const tg_side *s, const tg_breach *b, size_t i, const char *what,
                               tg_error *err) {
    const length is = length_of(s, b->value), most = length_of(s, b->limit);
    return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, b->loop,
                       "descriptor %d: %s %s %d is %d %s; %s has at most %d %s: %d would do", (int64_t)i, side_name(s),
                       what, b->value, is.n, is.unit, sides->name, most.n, most.unit, b->limit);
}

static tg_status complain_run(const tg_sides *sides, const tg_side *s, const tg_breach *b, size_t i, tg_error *err) {
    return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, b->loop,
                       "descriptor %d: the innermost %s stride is %d; %s needs a run of neighbours there: 1 would do",
                       (int64_t)i, side_name(s), b->value, sides->name);
}

static tg_status complain_shape(const tg_sides *sides, const tg_side *s, const tg_breach *b, size_t i, tg_error *err) {
    if (b->rule == TG_RULE_LOOPS)
        return tg_fail(err, TG_ERR_UNREPRESENTABLE,
                       "descriptor %d: %d loops; %s has %d dimensions on the %s: %d would do", (int64_t)i, b->value,
                       sides->name, b->limit, side_name(s), b->limit);
    if (b->rule == TG_RULE_DENSE)
        return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, b->loop,
                           "descriptor %d: %s stride %d; %s leaves no gaps on the %s: %d would do", (int64_t)i,
                           side_name(s), b->value, sides->name, side_name(s), b->limit);
    return tg_fail_dim(
        err, TG_ERR_UNREPRESENTABLE, b->loop,
        "descriptor %d: range %d; %s has at most %d in dimension %d of the %s, the innermost being 0: %d "
        "would do",
        (int64_t)i, b->value, sides->name, b->limit, (int64_t)b->slot, side_name(s), b->limit);
}

tg_status tg_side_complain(const tg_sides *sides, const tg_side *s, const tg_breach *b, size_t i, tg_error *err) {
    switch (b->rule) {
    case TG_RULE_OFFSET: return complain_unit(sides, s, b, i, "offset", true, err);
    case TG_RULE_RUN_LENGTH: return complain_unit(sides, s, b, i, "run of", false, err);
    case TG_RULE_STRIDE_UNIT: return complain_unit(sides, s, b, i, "stride", false, err);
    case TG_RULE_STRIDE_LONG: return complain_long(sides, s, b, i, "stride", err);
    case TG_RULE_BYTES: return complain_long(sides, s, b, i, "length", err);
    case TG_RULE_SIGN: return complain_sign(sides, s, b, i, err);
    case TG_RULE_RUN_STRIDE: return complain_run(sides, s, b, i, err);
    default: return complain_shape(sides, s, b, i, err);
    }
}

tg_status tg_sides_too_many(const char *name, int64_t count, int64_t limit, tg_error *err) {
    return tg_fail(err, TG_ERR_UNREPRESENTABLE, "%d descriptors; %s has %d: the program in %d parts would do", count,
                   name, limit, tg_ceil_div(count, limit));
}

tg_status tg_engine_check(const tg_dma *program, size_t count, const tg_engine *engine, int32_t device_bits,
                          int32_t host_bits, tg_error *err) {
    tg_sides  sides;
    tg_breach b;
    tg_status s = tg_sides_make(&sides, engine, device_bits, host_bits, program, count, err);
    if (s != TG_OK) return s;
    for (size_t i = 0; i < count; i++)
        for (int32_t k = 0; k < TG_SIDES; k++)
            if (tg_side_breaks(&b, &sides.at[k], &program[i]))
                return tg_side_complain(&sides, &sides.at[k], &b, i, err);
    if (engine->max_descriptors != 0 && count > (size_t)engine->max_descriptors)
        return tg_sides_too_many(sides.name, (int64_t)count, engine->max_descriptors, err);
    return TG_OK;
}
