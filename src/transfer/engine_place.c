/* All loops of a descriptor in one nest that the engine has.
 *
 * Slots are filled from the innermost outwards. A slot takes one of the loops that are left, whole if it fits, else the
 * factors of its range that do, largest first; or it takes no loop, which helps where an outer slot holds more.
 * Elements are independent, so any order is the same transfer:
 *
 *     [2053 by 64][4096 by 1] f16 in AIE's 1023 words, 1023, no wrap, 64
 *     slot 0: 4096 elements are 2048 words, so a factor, 1024     left 2053 by 64 and 4 by 1024
 *     slot 1: 4 by 1024                                           left 2053 by 64
 *     slot 2: 2053 by 64, a prime, where nothing wraps
 *
 * A side that is dense, or that counts as linear, fixes its order: the next loop must step over what is already there.
 * As linear sides are freed of most rules, each such way is tried besides the plain one. */
#include "transfer/engine.h"

typedef struct placer {
    const tg_sides *sides;
    tg_dma         *out;
    bool            is_block[TG_SIDES]; /* the loops must fill this side densely */
    bool            is_free[TG_SIDES];  /* and then only its length counts */
    int32_t         slots, nloops, nleft;
    tg_dma_loop     left[TG_DMA_MAX_LOOPS]; /* innermost first */
    tg_dma_loop     slot[TG_DMA_MAX_LOOPS];
    int32_t        *work;
} placer;

static const tg_dma_loop one_step = {1, 0, 0, -1, -1, 0};

/* Slots 0, 1, ... become the loops of *out, and both sides agree. */
static bool finish(const placer *p, int32_t used) {
    tg_breach b;
    p->out->nloops = used;
    for (int32_t i = 0; i < used; i++) p->out->loop[i] = p->slot[used - 1 - i];
    return !tg_side_breaks(&b, &p->sides->at[TG_DEVICE_SIDE], p->out) &&
           !tg_side_breaks(&b, &p->sides->at[TG_HOST_SIDE], p->out);
}

/* May this slot take the loop with that many of its steps? */
static bool is_legal(const placer *p, int32_t slot, const tg_dma_loop *l, int64_t range) {
    for (int32_t k = 0; k < TG_SIDES; k++) {
        const tg_side *s = &p->sides->at[k];
        if (!p->is_free[k] && tg_side_loop_rule(s, slot, tg_side_stride(s, l), range) != TG_RULE_NONE) return false;
    }
    return true;
}

/* Would the loop go on where the filled slots end? */
static bool continues(const placer *p, const tg_dma_loop *l, int64_t filled) {
    for (int32_t k = 0; k < TG_SIDES; k++)
        if (p->is_block[k] && tg_side_stride(&p->sides->at[k], l) != filled) return false;
    return true;
}

/* Steps that the slot takes, if `filled` elements are in those inside it. */
static int64_t max_range(const placer *p, int32_t slot, int64_t filled) {
    int64_t most = INT64_MAX;
    for (int32_t k = 0; k < TG_SIDES; k++) {
        const tg_side *s = &p->sides->at[k];
        if (p->is_free[k]) continue;
        most = tg_min(most, tg_side_max_range(s, slot));
        if (slot < s->rules->length_loops) most = tg_min(most, tg_side_max_elements(s) / filled);
    }
    return most;
}

/* Can it help to leave this slot without a loop? If an outer one holds more, or counts as more. */
static bool may_stay_empty(const placer *p, int32_t slot) {
    if (slot == 0) return true;
    for (int32_t k = 0; k < TG_SIDES; k++) {
        const tg_engine_side *r = p->sides->at[k].rules;
        if (slot < r->length_loops || (slot < r->max_loops && r->strides == TG_STRIDES_POSITIVE_OR_REPEAT)) return true;
    }
    for (int32_t outer = slot + 1; outer < tg_min(p->slots, TG_ENGINE_MAX_LOOPS); outer++)
        if (max_range(p, outer, 1) > max_range(p, slot, 1)) return true;
    return false;
}

static bool fill(placer *p, int32_t slot, int64_t filled);

/* The inner loop cut to `range` steps, and the loop around it. Strides stay within those of the whole: no overflow. */
static void split(tg_dma_loop *outer, tg_dma_loop *inner, int64_t range) {
    outer->range = inner->range / range;
    outer->device_stride = inner->device_stride * range;
    outer->host_stride = inner->host_stride * range;
    if (!tg_mul(&outer->step, inner->step, range)) outer->dim = -1;
    inner->range = range;
    outer->mode = inner->mode = -1;
}

/* The loop `range` steps long in this slot, what remains of it left for others. */
static bool take(placer *p, int32_t slot, int64_t filled, tg_dma_loop *l, int64_t range) {
    const tg_dma_loop whole = *l;
    if (!is_legal(p, slot, l, range)) return false;
    p->slot[slot] = whole;
    l->range = 1;
    if (range < whole.range) split(l, &p->slot[slot], range);
    p->nleft -= l->range == 1;
    const bool done = fill(p, slot + 1, filled * range);
    p->nleft += l->range == 1;
    *l = whole;
    return done;
}

static bool take_factor(placer *p, int32_t slot, int64_t filled, tg_dma_loop *l) {
    const int64_t most = max_range(p, slot, filled), range = l->range;
    if (range <= most) return take(p, slot, filled, l, range);
    if (p->nleft > p->slots - slot - 1 || most < 2) return false; /* what remains would have no slot */
    const int64_t fewest = tg_ceil_div(range, most);
    int64_t       small = fewest;
    for (; small <= range / small && --*p->work > 0; small++)
        if (range % small == 0 && take(p, slot, filled, l, range / small)) return true;
    /* all divisors of the range come in pairs: now the other ones */
    for (small = tg_min(most, small); small > 1 && --*p->work > 0; small--)
        if (range % small == 0 && range / small > small && take(p, slot, filled, l, small)) return true;
    return false;
}

static bool fill(placer *p, int32_t slot, int64_t filled) {
    if (--*p->work <= 0) return false;
    if (p->nleft == 0) return finish(p, slot);
    if (p->nleft > p->slots - slot) return false;
    for (int32_t i = 0; i < p->nloops; i++) {
        tg_dma_loop *l = &p->left[i];
        if (l->range > 1 && continues(p, l, filled) && take_factor(p, slot, filled, l)) return true;
    }
    if (p->nleft > p->slots - slot - 1 || !may_stay_empty(p, slot) || !is_legal(p, slot, &one_step, 1)) return false;
    p->slot[slot] = one_step;
    return fill(p, slot + 1, filled);
}

int32_t tg_sides_slots(const tg_sides *sides, bool is_device_free, bool is_host_free) {
    const int32_t device = sides->at[TG_DEVICE_SIDE].rules->max_loops, host = sides->at[TG_HOST_SIDE].rules->max_loops;
    int32_t       n = TG_DMA_MAX_LOOPS;
    if (device != 0 && !is_device_free) n = device;
    return host != 0 && !is_host_free ? (int32_t)tg_min(n, host) : n;
}

static bool is_linear(const placer *p, int32_t side) { return p->sides->at[side].rules->linear; }

/* The length that counts all loops, before any is placed. */
static bool is_short(const placer *p, int64_t elements) {
    for (int32_t k = 0; k < TG_SIDES; k++) {
        const tg_side *s = &p->sides->at[k];
        const int32_t  n = s->rules->length_loops;
        if ((p->is_free[k] || n == 0 || n >= p->slots) && elements > tg_side_max_elements(s)) return false;
    }
    return true;
}

static bool place_as(placer *p, int64_t elements, bool device, bool host) {
    const bool as_block[TG_SIDES] = {device, host};
    for (int32_t k = 0; k < TG_SIDES; k++) {
        if (as_block[k] && !is_linear(p, k)) return false;
        p->is_free[k] = as_block[k];
        p->is_block[k] = as_block[k] || p->sides->at[k].rules->dense;
    }
    p->slots = tg_sides_slots(p->sides, device, host);
    return is_short(p, elements) && fill(p, 0, 1);
}

bool tg_sides_place(tg_dma *out, const tg_dma *dma, const tg_sides *sides, int32_t *work) {
    placer p;
    p.sides = sides;
    p.out = out;
    p.work = work;
    p.nloops = dma->nloops;
    p.nleft = 0;
    out->device_offset = dma->device_offset;
    out->host_offset = dma->host_offset;
    for (int32_t i = 0; i < dma->nloops; i++) {
        p.left[i] = dma->loop[dma->nloops - 1 - i];
        p.nleft += p.left[i].range > 1;
    }
    const int64_t n = tg_dma_elements(dma);
    return place_as(&p, n, true, true) || place_as(&p, n, true, false) || place_as(&p, n, false, true) ||
           place_as(&p, n, false, false);
}
