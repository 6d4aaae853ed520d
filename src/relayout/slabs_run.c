/* Running slabs (slabs.inc.h): dst is made in a buffer, some steps at a time, and written from end to end.
 *
 * The buffer is filled with padding once, since data is in the same places of each slab. Lines of dst that two
 * slabs share are put together before they are written (kernels/lines.h), so that all but the first and the last one of
 * a range of slabs go around the caches as a whole. */
#include "base/checked.h"
#include "kernels/lines.h"
#include "kernels/stream.h"
#include "relayout/plan.h"

static void copy_lines(uint8_t *restrict dst, const uint8_t *restrict src, int64_t n) {
    tg_stream_copy(dst, src, (size_t)n);
}

/* Bytes that end a begun line; returns how many. */
static int64_t end_line(tg_lines *l, const uint8_t *bytes, int64_t n) {
    const int64_t more = l->to == 0 ? 0 : tg_min(TG_LINE_BYTES - l->to, n);
    memcpy(l->bytes + l->to, bytes, (size_t)more);
    l->to += more;
    if (l->to == TG_LINE_BYTES) tg_lines_flush(l, copy_lines);
    return more;
}

/* Whole lines leave straight from where they are; what is left begins one. */
static void put_bytes(tg_lines *l, const uint8_t *bytes, int64_t n) {
    const int64_t ended = end_line(l, bytes, n), whole = (n - ended) / TG_LINE_BYTES * TG_LINE_BYTES;
    const int64_t left = n - ended - whole;
    tg_stream_copy(l->dst, bytes + ended, (size_t)whole);
    l->dst += whole;
    memcpy(l->bytes + l->to, bytes + n - left, (size_t)left);
    l->to += left;
}

/* `pad` is TG_PAD_PATTERN bytes of elements. */
static void put_padding(tg_lines *l, const uint8_t *pad, int64_t n) {
    uint8_t       turned[TG_PAD_PATTERN];
    const int64_t ended = end_line(l, pad, tg_min(n, TG_PAD_PATTERN)), left = (n - ended) % TG_LINE_BYTES;
    const int64_t whole = n - ended - left;
    for (int64_t i = 0; i < TG_PAD_PATTERN; i++) turned[i] = pad[(i + ended) % TG_PAD_PATTERN];
    tg_fill_bytes(l->dst, whole, turned, true);
    l->dst += whole;
    memcpy(l->bytes + l->to, turned, (size_t)left);
    l->to += left;
}

/* A slab: its bytes of dst that no other one has, where data begins in src, and the steps, and parts, before these. */
typedef struct slab {
    int64_t dst, src, skipped, skipped_parts;
} slab;

/* A last chunk of `steps` that has fewer of `total` begins so much earlier. */
static int64_t skipped_by(int64_t chunk, int64_t steps, int64_t total) {
    return tg_max((chunk + 1) * steps - total, 0);
}

static slab slab_at(const tg_nest *nest, int64_t number) {
    const tg_slabs *w = &nest->slabs;
    const int32_t   last = w->nloops - 1;
    slab            v = {w->first, 0, 0, 0};
    for (int32_t i = last; i >= 0; i--) {
        const tg_loop *l = &nest->loop[i];
        const int64_t  chunk = number % l->n;
        v.dst += chunk * l->dst;
        v.src += chunk * l->src;
        number /= l->n;
        if (i == last) v.skipped = skipped_by(chunk, w->steps, w->total);
        if (i == w->across) v.skipped_parts = skipped_by(chunk, w->parts, w->total_parts);
    }
    v.src -= v.skipped * w->src_step;
    if (v.skipped_parts > 0) v.src -= v.skipped_parts * tg_parts_of_slab(nest).src;
    return v;
}

/* The bytes of slab `v` and the padding up to the next one. */
static void put_slab(tg_lines *l, const tg_plan_private *p, const uint8_t *buffer, const slab *v, int64_t next) {
    const tg_slabs *w = &p->as.nest.slabs;
    const int64_t   skipped = v->skipped * w->dst_step, n = tg_min(w->steps * w->dst_step - skipped, next - v->dst);
    put_bytes(l, buffer + skipped, n);
    put_padding(l, p->pad, next - v->dst - n);
}

/* Its parts, each to a place of its own, where there is no padding between slabs. */
static void put_parts(const tg_plan_private *p, uint8_t *dst, const uint8_t *buffer, const slab *v) {
    const tg_slabs *w = &p->as.nest.slabs;
    const int64_t   bytes = w->steps * w->dst_step, skipped = v->skipped * w->dst_step;
    const int64_t   step = tg_parts_of_slab(&p->as.nest).dst;
    dst += v->dst;
    for (int64_t i = v->skipped_parts; i < w->parts; i++, dst += step)
        tg_stream_copy(dst, buffer + i * bytes + skipped, (size_t)(bytes - skipped));
}

static const uint8_t *run_parts(const tg_plan_private *p, uint8_t *buffer, uint8_t *dst, const uint8_t *src,
                                int64_t first, int64_t end) {
    for (; first < end; first++) {
        const slab     now = slab_at(&p->as.nest, first);
        const uint8_t *bad = tg_nest_slab(p, buffer, src + now.src);
        if (bad != NULL) return bad;
        put_parts(p, dst, buffer, &now);
    }
    return NULL;
}

/* In a buffer with room for a slab. */
static const uint8_t *run_slabs(const tg_plan_private *p, uint8_t *buffer, uint8_t *dst, const uint8_t *src,
                                int64_t first, int64_t end) {
    const tg_nest  *nest = &p->as.nest;
    const tg_slabs *w = &nest->slabs;
    const int64_t   bytes = tg_bytes_for(p->span, p->dst_bits);
    const uint8_t  *bad = NULL;
    tg_lines        lines;
    tg_fill_bytes(buffer, w->parts * w->steps * w->dst_step, p->pad, false);
    if (w->across != TG_NO_LOOP) return run_parts(p, buffer, dst, src, first, end);
    slab now = slab_at(nest, first);
    tg_lines_begin(&lines, first == 0 ? dst : dst + now.dst);
    if (first == 0) put_padding(&lines, p->pad, now.dst);
    for (; first < end && bad == NULL; first++) {
        const slab next = first + 1 < w->count ? slab_at(nest, first + 1) : (slab){.dst = bytes};
        bad = tg_nest_slab(p, buffer, src + now.src);
        put_slab(&lines, p, buffer, &now, next.dst);
        now = next;
    }
    tg_lines_end(&lines, copy_lines);
    return bad;
}

/* Each has its buffer on the stack, where movers, and stages, have theirs too. */
TG_OUTLINE const uint8_t *run_usual(const tg_plan_private *p, uint8_t *dst, const uint8_t *src, int64_t first,
                                    int64_t end) {
    _Alignas(TG_LINE_BYTES) uint8_t buffer[TG_SLAB_BYTES];
    return run_slabs(p, buffer, dst, src, first, end);
}

TG_OUTLINE const uint8_t *run_large(const tg_plan_private *p, uint8_t *dst, const uint8_t *src, int64_t first,
                                    int64_t end) {
    _Alignas(TG_LINE_BYTES) uint8_t buffer[TG_LARGE_SLAB_BYTES];
    return run_slabs(p, buffer, dst, src, first, end);
}

const uint8_t *tg_slabs_run(const tg_plan_private *p, uint8_t *dst, const uint8_t *src, int64_t first, int64_t end) {
    const tg_slabs *w = &p->as.nest.slabs;
    const bool      large = w->parts * w->steps * w->dst_step > TG_SLAB_BYTES;
    if (first >= end) return NULL;
    return large ? run_large(p, dst, src, first, end) : run_usual(p, dst, src, first, end);
}
