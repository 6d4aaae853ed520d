/* Running slabs (slabs.inc.h): dst is made in a buffer, some steps at a time, and written from end to end.
 *
 * The buffer is filled with padding once, since data is in the same places of each slab. Lines of dst that two
 * slabs share are put together before they are written, so that all but the first and the last one of a range of
 * slabs go around the caches as a whole. */
#include "base/checked.h"
#include "kernels/stream.h"
#include "relayout/plan.h"

/* Bytes on their way to dst, one after the other. */
typedef struct outlet {
    uint8_t *to;
    int64_t  from;                               /* in the line of `to`: what is before it is not ours */
    _Alignas(TG_LINE_BYTES) uint8_t line[TG_LINE_BYTES]; /* the one of `to`, up to there */
} outlet;

static inline int64_t begun(const outlet *o) { return (int64_t)((uintptr_t)o->to % TG_LINE_BYTES); }

static void outlet_open(outlet *o, uint8_t *to) {
    o->to = to;
    o->from = begun(o);
}

/* What is begun of a line. */
static void outlet_close(outlet *o) {
    const int64_t n = begun(o) - o->from;
    if (n > 0) memcpy(o->to - n, o->line + o->from, (size_t)n);
}

/* Bytes that end a begun line; returns how many. */
static int64_t end_line(outlet *o, const uint8_t *bytes, int64_t n) {
    const int64_t at = begun(o), more = at == 0 ? 0 : tg_min(TG_LINE_BYTES - at, n);
    memcpy(o->line + at, bytes, (size_t)more);
    o->to += more;
    if (more == 0 || begun(o) != 0) return more;
    const int64_t whole = TG_LINE_BYTES - o->from;
    tg_stream_copy(o->to - whole, o->line + o->from, (size_t)whole);
    o->from = 0;
    return more;
}

static void put_bytes(outlet *o, const uint8_t *bytes, int64_t n) {
    const int64_t ended = end_line(o, bytes, n), whole = (n - ended) / TG_LINE_BYTES * TG_LINE_BYTES;
    bytes += ended;
    n -= ended + whole;
    tg_stream_copy(o->to, bytes, (size_t)whole);
    o->to += whole;
    if (n > 0) memcpy(o->line, bytes + whole, (size_t)n);
    o->to += n;
}

/* `pad` is TG_PAD_PATTERN bytes of elements. */
static void put_padding(outlet *o, const uint8_t *pad, int64_t n) {
    uint8_t       turned[TG_PAD_PATTERN];
    const int64_t ended = end_line(o, pad, tg_min(n, TG_PAD_PATTERN)), left = n - ended;
    const int64_t whole = left / TG_LINE_BYTES * TG_LINE_BYTES;
    for (int64_t i = 0; i < TG_PAD_PATTERN; i++) turned[i] = pad[(i + ended) % TG_PAD_PATTERN];
    tg_fill_bytes(o->to, whole, turned, true);
    if (left > whole) memcpy(o->line, turned, (size_t)(left - whole));
    o->to += left;
}

/* A slab: its bytes of dst that no other one has, where data begins in src, and the steps before these. */
typedef struct slab {
    int64_t dst, src, skipped;
} slab;

static slab slab_at(const tg_nest *nest, int64_t number) {
    const tg_slabs *w = &nest->slabs;
    const int32_t     last = w->nloops - 1;
    const int64_t     chunk = number % nest->loop[last].n;
    slab            v = {w->first, 0, tg_max((chunk + 1) * w->steps - w->total, 0)};
    for (int32_t i = last; i >= 0; i--) {
        const tg_loop *l = &nest->loop[i];
        v.dst += number % l->n * l->dst;
        v.src += number % l->n * l->src;
        number /= l->n;
    }
    v.src -= v.skipped * w->src_step;
    return v;
}

/* The bytes of slab `v` and the padding up to the next one. */
static void put_slab(outlet *o, const tg_plan_private *p, const uint8_t *buffer, const slab *v, int64_t next) {
    const tg_slabs *w = &p->as.nest.slabs;
    const int64_t     skipped = v->skipped * w->dst_step, n = tg_min(w->steps * w->dst_step - skipped, next - v->dst);
    put_bytes(o, buffer + skipped, n);
    put_padding(o, p->pad, next - v->dst - n);
}

const uint8_t *tg_slabs_run(const tg_plan_private *p, uint8_t *dst, const uint8_t *src, int64_t first, int64_t end) {
    _Alignas(TG_LINE_BYTES) uint8_t buffer[TG_SLAB_BYTES];
    const tg_nest    *nest = &p->as.nest;
    const tg_slabs *w = &nest->slabs;
    const int64_t     bytes = p->span * (p->dst_bits / 8);
    const uint8_t    *bad = NULL;
    outlet            o;
    if (first >= end) return NULL;
    tg_fill_bytes(buffer, w->steps * w->dst_step, p->pad, false);
    slab now = slab_at(nest, first);
    outlet_open(&o, first == 0 ? dst : dst + now.dst);
    if (first == 0) put_padding(&o, p->pad, now.dst);
    for (; first < end && bad == NULL; first++) {
        const slab next = first + 1 < w->count ? slab_at(nest, first + 1) : (slab){.dst = bytes};
        bad = tg_nest_slab(p, buffer, src + now.src);
        put_slab(&o, p, buffer, &now, next.dst);
        now = next;
    }
    outlet_close(&o);
    return bad;
}
