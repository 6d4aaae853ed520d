/* A number cut into pieces on which host and device both move with constant steps.
 *
 * Each side is a sum of greedy digits (layout.h). On an interval inside one value of all digits above, let w be the
 * weight of a side's next digit. A step of p numbers, p a multiple of both sides' w, moves both sides by the same
 * amount wherever it starts: such steps are a loop, and what is left is the same question about p numbers, and about
 * the remainder behind the loop. Where no such step fits twice, the interval is cut at the next change of the
 * larger digit. 150 numbers in sticks of 64 on the device, even on the host:
 *
 *     [0, 150)  p = 64     a loop of 2 over [0, 64), and [128, 150)
 *     [0, 64)   even on both sides: a loop of 64
 *     [128,150) inside one stick, even: a loop of 22
 *
 * Weights that do not nest (48 and 64) need no code of their own: p is 192. */
#include "transfer/dma.h"

enum { MAX_DEPTH = TG_DMA_MAX_LOOPS, MAX_ENUMERATED = 1 << 16 };

/* A side at the start of an interval: digits before `level` do not change in it. */
typedef struct side {
    const tg_digits *f;
    int32_t          level;
    int64_t          rest; /* what the digits before `level` leave of the number */
} side;

typedef struct cutter {
    tg_pieces    *out;
    int32_t       depth;
    tg_piece_loop loop[MAX_DEPTH];
} cutter;

bool tg_pieces_add(tg_pieces *p, int64_t number, int64_t device, int64_t host, const tg_piece_loop *loops,
                   int32_t nloops) {
    if (p->n == TG_MAX_PIECES || nloops > TG_MAX_PIECE_LOOPS - p->nloops) return false;
    const tg_piece piece = {number, device, host, p->nloops, nloops};
    p->at[p->n++] = piece;
    for (int32_t i = 0; i < nloops; i++) p->loop[p->nloops++] = loops[i];
    return true;
}

static int64_t weight_of(const side *s) { return s->f->weight[s->level]; }

/* Pass the digits that do not change within the next n numbers. */
static void settle(side *s, int64_t n) {
    for (; s->level + 1 < s->f->n; s->level++) {
        const int64_t w = weight_of(s);
        if (s->rest / w != (s->rest + n - 1) / w) return;
        s->rest %= w;
    }
}

/* What the digits from `level` on give. */
static int64_t value_of(const side *s) {
    int64_t sum = 0, rest = s->rest;
    for (int32_t i = s->level; i < s->f->n; i++) {
        sum += rest / s->f->weight[i] * s->f->stride[i]; /* fits: a part of an offset */
        rest %= s->f->weight[i];
    }
    return sum;
}

/* The least step that both sides take evenly; 0 if it is not below n. */
static int64_t common_step(const side *a, const side *b, int64_t n) {
    const int64_t wa = weight_of(a), wb = weight_of(b);
    int64_t       p;
    return tg_mul(&p, wa / tg_gcd(wa, wb), wb) && p < n ? p : 0;
}

static bool push(cutter *c, int64_t n, const side *device, const side *host, int64_t step) {
    if (n == 1) return true;
    if (c->depth == MAX_DEPTH) return false;
    const tg_piece_loop loop = {n, step / weight_of(device) * device->f->stride[device->level],
                                step / weight_of(host) * host->f->stride[host->level], step};
    c->loop[c->depth++] = loop;
    return true;
}

static void advance(side *s, int64_t n) { s->rest += n; }

/* n numbers from x on, where the sides stand; device and host are the offsets that digits passed before give. */
static bool cut(cutter *c, int64_t x, int64_t device, int64_t host, side a, side b, int64_t n) {
    const int64_t before_a = value_of(&a), before_b = value_of(&b);
    settle(&a, n);
    settle(&b, n);
    device += before_a - value_of(&a);
    host += before_b - value_of(&b);
    const int64_t wa = weight_of(&a), wb = weight_of(&b);
    const int32_t depth = c->depth;
    if (wa == 1 && wb == 1) {
        const bool done = push(c, n, &a, &b, 1) &&
                          tg_pieces_add(c->out, x, device + value_of(&a), host + value_of(&b), c->loop, c->depth);
        c->depth = depth;
        return done;
    }
    const side   *larger = wa >= wb ? &a : &b;
    const int64_t w = weight_of(larger), start = larger->rest % w, p = start == 0 ? common_step(&a, &b, n) : 0;
    const int64_t loops = p > 0 ? n / p : 0;
    const bool    is_loop = loops > 1 || (loops == 1 && p == w);
    const int64_t done = is_loop ? loops * p : w - start; /* below n: else the larger digit would not change */
    if (is_loop && !push(c, loops, &a, &b, p)) return false;
    if (!cut(c, x, device, host, a, b, is_loop ? p : done)) return false;
    c->depth = depth;
    if (done == n) return true;
    advance(&a, done);
    advance(&b, done);
    return cut(c, x + done, device, host, a, b, n - done);
}

bool tg_pieces_cut(tg_pieces *p, const tg_digits *device, const tg_digits *host) {
    cutter     c;
    const side a = {device, 0, 0}, b = {host, 0, 0};
    c.out = p;
    c.depth = 0;
    return cut(&c, 0, 0, 0, a, b, device->size);
}

/* ---- without digits ---- */

typedef struct run {
    int64_t number, device, host, ddevice, dhost, n;
} run;

static bool add_run(tg_pieces *p, const run *r) {
    const tg_piece_loop loop = {r->n, r->ddevice, r->dhost, 1};
    return r->n == 0 || tg_pieces_add(p, r->number, r->device, r->host, &loop, r->n > 1);
}

/* One more element; false if a new run has to begin. */
static bool extend(run *r, int64_t device, int64_t host) {
    if (r->n == 1) {
        r->ddevice = device - r->device;
        r->dhost = host - r->host;
    } else if (device != r->device + r->n * r->ddevice || host != r->host + r->n * r->dhost) {
        return false;
    }
    r->n++;
    return true;
}

bool tg_pieces_enumerate(tg_pieces *p, const tg_layout *device, const tg_layout *host, const int32_t *dims, int32_t n) {
    int64_t coord[TG_MAX_NDIM] = {0}, at[TG_MAX_NDIM] = {0}, shape[TG_MAX_NDIM], count;
    for (int32_t i = 0; i < n; i++) shape[i] = device->shape[dims[i]];
    if (!tg_product(&count, shape, n) || count > MAX_ENUMERATED) return false;
    run r = {0, 0, 0, 0, 0, 0};
    do {
        for (int32_t i = 0; i < n; i++) coord[dims[i]] = at[i];
        const int64_t d = tg_layout_offset(device, coord) - device->offset;
        const int64_t h = tg_layout_offset(host, coord) - host->offset;
        if (r.n > 0 && extend(&r, d, h)) continue;
        if (!add_run(p, &r)) return false;
        const run next = {r.number + r.n, d, h, 0, 0, 1};
        r = next;
    } while (tg_next_coord(at, shape, n));
    return add_run(p, &r);
}
