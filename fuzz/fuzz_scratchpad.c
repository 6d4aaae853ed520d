/* Buffers from bytes: every solver answers, the verifier agrees, the exact one is the best and keeps to its bound. Six
 * bytes a buffer: size, first tick, two steps to more uses, flags, a parent. What is refused says why. */
#include <tegula/memory.h>

#include <stdlib.h>
#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : abort())

enum { HEAD = 3, BYTES = 6, MOST = 60 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct problem {
    tg_buffer buffers[MOST];
    int64_t   uses[MOST][3], parents[MOST];
    int64_t   n;
} problem;

/* The first buffer from `from` on whose place b may take; -1 if there is none. */
static int64_t find_parent(const problem *p, const tg_buffer *b, int64_t from) {
    for (int64_t i = from; i < p->n; i++) {
        const tg_buffer *parent = &p->buffers[i];
        if (parent->uses[parent->nuses - 1] == b->uses[0] && parent->size >= b->size &&
            (parent->nuses > 1 || parent->comes_from_outside))
            return i;
    }
    return -1;
}

static void add_buffer(problem *p, const uint8_t *bytes) {
    const int64_t i = p->n;
    int64_t      *uses = p->uses[i];
    tg_buffer    *b = &p->buffers[i];
    *b = (tg_buffer){.size = bytes[0], .uses = uses, .nuses = 1, .comes_from_outside = (bytes[4] & 7) == 1,
                     .barred = (bytes[4] & 56) == 8, .saved_bytes = (bytes[4] & 64) != 0 ? bytes[3] : 0};
    uses[0] = bytes[1] & 31;
    for (int k = 2; k < 4; k++)
        if ((bytes[k] & 15) != 0 || bytes[4] == 255) {
            uses[b->nuses] = uses[b->nuses - 1] + (bytes[k] & 15); /* 0 is refused */
            b->nuses++;
        }
    p->parents[i] = (bytes[4] & 128) != 0 ? find_parent(p, b, bytes[5] % MOST) : -1;
    if (bytes[4] == 254) p->parents[i] = bytes[5]; /* any */
    b->parents = &p->parents[i];
    b->nparents = p->parents[i] >= 0 && (!b->comes_from_outside || bytes[4] == 254);
    p->n++;
}

static void solve(const problem *p, const uint8_t *head) {
    tg_placement          out[MOST];
    tg_scratchpad_summary sum[4];
    tg_scratchpad_params  params = {.capacity = head[0] * 4, .alignment = head[1] % 5, .max_branches = head[2] + 1};
    tg_error              err;
    char                  why[200];
    bool                  ok = false;
    for (int solver = 0; solver < 4; solver++) {
        params.solver = (tg_solver)solver;
        const tg_status s = tg_scratchpad_place(out, &sum[solver], p->buffers, p->n, &params, &err);
        CHECK(s == TG_OK || (s == TG_ERR_ARGUMENT && err.message[0] != '\0'));
        if (s != TG_OK) return;
        CHECK(tg_scratchpad_verify(&ok, why, sizeof why, out, p->buffers, p->n, &params, NULL) == TG_OK && ok);
        CHECK(sum[solver].saved_bytes <= sum[0].saved_bytes && sum[0].saved_bytes <= sum[0].bound_bytes);
        CHECK(sum[solver].peak_bytes <= params.capacity && sum[0].branches <= params.max_branches);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static problem p; /* large for a stack; filled again each time */
    p.n = 0;
    if (size < HEAD) return 0;
    for (size_t at = HEAD; at + BYTES <= size && p.n < MOST; at += BYTES) add_buffer(&p, data + at);
    solve(&p, data);
    return 0;
}
