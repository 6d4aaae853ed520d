/* The rules of one side of an engine, as questions with a value for an answer.
 *
 * Lengths are compared in bits, so that packed elements and elements wider than the engine's unit need no cases of
 * their own: f16 in words of 4 bytes has runs of even length and even strides, f64 has two words in every element. */
#include "transfer/engine.h"

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; } /* never INT64_MIN */

bool tg_side_is_whole(const tg_side *s, int64_t n, int32_t unit) {
    const int64_t u = (int64_t)unit * 8;
    return unit == 0 || n % u * s->bits % u == 0;
}

bool tg_side_needs_run(const tg_side *s) {
    const tg_engine_side *r = s->rules;
    return r->unit_run || (r->run_unit != 0 && (int64_t)r->run_unit * 8 != s->bits) ||
           !tg_side_is_whole(s, 1, r->granule);
}

/* Elements in so many bytes, rounded down; 0 bytes is no limit. */
static int64_t elements_in(const tg_side *s, int64_t bytes) {
    int64_t bits;
    return bytes == 0 || !tg_mul(&bits, bytes, 8) ? INT64_MAX : bits / s->bits;
}

int64_t tg_side_max_range(const tg_side *s, int32_t slot) {
    const tg_engine_side *r = s->rules;
    const int64_t         n = r->max_range[tg_min(slot, TG_ENGINE_MAX_LOOPS - 1)];
    int64_t               bytes;
    if (n == 0) return INT64_MAX;
    if (slot > 0 || r->run_unit == 0) return n;
    return tg_mul(&bytes, n, r->run_unit) ? elements_in(s, bytes) : INT64_MAX;
}

int64_t tg_side_max_elements(const tg_side *s) { return elements_in(s, s->rules->max_bytes); }

static bool has_allowed_sign(const tg_side *s, int32_t slot, int64_t stride) {
    const tg_engine_side *r = s->rules;
    if (stride > 0 || r->strides == TG_STRIDES_ANY) return true;
    return stride == 0 && r->strides == TG_STRIDES_POSITIVE_OR_REPEAT && slot == r->max_loops - 1;
}

tg_rule tg_side_loop_rule(const tg_side *s, int32_t slot, int64_t stride, int64_t range) {
    const tg_engine_side *r = s->rules;
    const bool            is_run = slot == 0 && (stride == 1 || range == 1);
    if (slot == 0 && !is_run && tg_side_needs_run(s)) return TG_RULE_RUN_STRIDE;
    if (is_run && !tg_side_is_whole(s, range, r->granule)) return TG_RULE_RUN_LENGTH;
    if (range > tg_side_max_range(s, slot)) return TG_RULE_RANGE;
    if (range == 1) return TG_RULE_NONE;
    if (!has_allowed_sign(s, slot, stride)) return TG_RULE_SIGN;
    if (!is_run && !tg_side_is_whole(s, stride, r->granule)) return TG_RULE_STRIDE_UNIT;
    return magnitude(stride) > elements_in(s, r->max_stride) ? TG_RULE_STRIDE_LONG : TG_RULE_NONE;
}

bool tg_side_is_dense(const tg_side *s, const tg_dma *dma, int32_t *loop, int64_t *want) {
    *want = 1;
    for (*loop = dma->nloops - 1; *loop >= 0; (*loop)--) {
        const tg_dma_loop *l = &dma->loop[*loop];
        if (l->range == 1) continue;
        if (tg_side_stride(s, l) != *want || !tg_mul(want, *want, l->range)) return false;
    }
    return true;
}

/* Elements that the n innermost loops move, 0 for all; INT64_MAX if that does not fit. */
static int64_t moved_by(const tg_dma *dma, int32_t n) {
    int64_t all = 1;
    for (int32_t i = dma->nloops - 1; i >= 0 && (n == 0 || i >= dma->nloops - n); i--)
        if (!tg_mul(&all, all, dma->loop[i].range)) return INT64_MAX;
    return all;
}

static bool breaks_length(tg_breach *out, const tg_side *s, const tg_dma *dma, int32_t loops) {
    const int64_t all = moved_by(dma, loops), most = tg_side_max_elements(s);
    if (all > most) *out = (tg_breach){TG_RULE_BYTES, -1, 0, all, most};
    return all > most;
}

static bool breaks_offset(tg_breach *out, const tg_side *s, const tg_dma *dma) {
    const int64_t offset = tg_side_offset(s, dma);
    if (tg_side_is_whole(s, offset, s->rules->alignment)) return false;
    *out = (tg_breach){TG_RULE_OFFSET, -1, 0, offset, s->rules->alignment};
    return true;
}

/* One block is one run, whatever the loops are. */
static bool breaks_as_block(tg_breach *out, const tg_side *s, const tg_dma *dma) {
    const int64_t all = moved_by(dma, 0);
    if (breaks_length(out, s, dma, 0)) return true;
    if (tg_side_is_whole(s, all, s->rules->granule)) return false;
    *out = (tg_breach){TG_RULE_RUN_LENGTH, dma->nloops - 1, 0, all, s->rules->granule};
    return true;
}

static int64_t limit_of(const tg_side *s, tg_rule rule, int32_t slot) {
    switch (rule) {
    case TG_RULE_RANGE: return tg_side_max_range(s, slot);
    case TG_RULE_RUN_LENGTH:
    case TG_RULE_STRIDE_UNIT: return s->rules->granule;
    case TG_RULE_STRIDE_LONG: return elements_in(s, s->rules->max_stride);
    default: return 1;
    }
}

static bool breaks_loop(tg_breach *out, const tg_side *s, const tg_dma *dma, int32_t slot) {
    static const tg_dma_loop one = {1, 1, 1, -1, -1, 0};
    const int32_t            i = dma->nloops - 1 - slot;
    const tg_dma_loop       *l = i < 0 ? &one : &dma->loop[i];
    const int64_t            stride = tg_side_stride(s, l);
    const tg_rule            rule = tg_side_loop_rule(s, slot, stride, l->range);
    if (rule == TG_RULE_NONE) return false;
    const int64_t value = rule == TG_RULE_RANGE || rule == TG_RULE_RUN_LENGTH ? l->range : stride;
    *out = (tg_breach){rule, i, slot, value, limit_of(s, rule, slot)};
    return true;
}

bool tg_side_breaks(tg_breach *out, const tg_side *s, const tg_dma *dma) {
    const tg_engine_side *r = s->rules;
    int32_t               loop = -1;
    int64_t               want = 1;
    if (breaks_offset(out, s, dma)) return true;
    const bool is_dense = (r->dense || r->linear) && tg_side_is_dense(s, dma, &loop, &want);
    if (r->dense && !is_dense) {
        *out = (tg_breach){TG_RULE_DENSE, loop, dma->nloops - 1 - loop, tg_side_stride(s, &dma->loop[loop]), want};
        return true;
    }
    if (r->linear && is_dense) return breaks_as_block(out, s, dma);
    if (r->max_loops != 0 && dma->nloops > r->max_loops) {
        *out = (tg_breach){TG_RULE_LOOPS, -1, 0, dma->nloops, r->max_loops};
        return true;
    }
    for (int32_t slot = 0; slot < tg_max(1, dma->nloops); slot++)
        if (breaks_loop(out, s, dma, slot)) return true;
    return breaks_length(out, s, dma, r->length_loops);
}
