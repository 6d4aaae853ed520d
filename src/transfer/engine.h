/* Private to the transfer room: what an engine's rules say of a loop, and programs that keep them.
 *
 * A slot is a place in the engine's nest, counted from the innermost, 0. Rules that hold for one loop in one slot are
 * in one function, which checking and placing share. */
#ifndef TG_TRANSFER_ENGINE_H
#define TG_TRANSFER_ENGINE_H

#include "base/checked.h"

#include <tegula/transfer.h>

enum { TG_DEVICE_SIDE = 0, TG_HOST_SIDE, TG_SIDES };

/* One side of an engine with the elements that it moves. */
typedef struct tg_side {
    const tg_engine_side *rules;
    int32_t               bits; /* of an element */
    bool                  is_device;
} tg_side;

typedef struct tg_sides {
    const char *name; /* of the engine */
    tg_side     at[TG_SIDES];
} tg_sides;

typedef enum tg_rule {
    TG_RULE_NONE = 0,
    TG_RULE_LOOPS,
    TG_RULE_OFFSET,
    TG_RULE_DENSE,
    TG_RULE_RUN_STRIDE,
    TG_RULE_RUN_LENGTH,
    TG_RULE_RANGE,
    TG_RULE_SIGN,
    TG_RULE_STRIDE_UNIT,
    TG_RULE_STRIDE_LONG,
    TG_RULE_BYTES
} tg_rule;

/* A rule that a descriptor breaks, with the value that breaks it and the limit, in the units of the rule. */
typedef struct tg_breach {
    tg_rule rule;
    int32_t loop, slot; /* loop is -1 where it is the descriptor */
    int64_t value, limit;
} tg_breach;

static inline int64_t tg_side_stride(const tg_side *s, const tg_dma_loop *l) {
    return s->is_device ? l->device_stride : l->host_stride;
}

static inline int64_t tg_side_offset(const tg_side *s, const tg_dma *dma) {
    return s->is_device ? dma->device_offset : dma->host_offset;
}

/* n elements are a whole number of units of so many bytes; 0 is no unit. */
bool tg_side_is_whole(const tg_side *s, int64_t n, int32_t unit);

/* The innermost loop must be a run of neighbours: the engine says so, or its unit is not one element. */
bool tg_side_needs_run(const tg_side *s);

/* Steps of a loop in this slot at most, elements of a descriptor at most; INT64_MAX: no limit. */
int64_t tg_side_max_range(const tg_side *s, int32_t slot);
int64_t tg_side_max_elements(const tg_side *s);

/* The rule that a loop breaks in this slot, or none. */
tg_rule tg_side_loop_rule(const tg_side *s, int32_t slot, int64_t stride, int64_t range);

/* The loops fill one block without gaps, in their order; if not, *loop is the first from the inside that jumps and
 * *want the stride that would not. */
bool tg_side_is_dense(const tg_side *s, const tg_dma *dma, int32_t *loop, int64_t *want);

/* True if the descriptor breaks a rule of the side; the first one is in *out. */
bool tg_side_breaks(tg_breach *out, const tg_side *s, const tg_dma *dma);

/* Fill *err for a breach of descriptor i. */
tg_status tg_side_complain(const tg_sides *sides, const tg_side *s, const tg_breach *b, size_t i, tg_error *err);
tg_status tg_sides_too_many(const char *name, int64_t count, int64_t limit, tg_error *err);

/* The sides of an engine for elements of these widths, if engine, widths and program are sound. */
tg_status tg_sides_make(tg_sides *out, const tg_engine *engine, int32_t device_bits, int32_t host_bits,
                        const tg_dma *program, size_t count, tg_error *err);

/* Dimensions that both sides have, those not counted that are freed as linear blocks. */
int32_t tg_sides_slots(const tg_sides *sides, bool is_device_free, bool is_host_free);

/* The loops of dma in one descriptor, ordered and factored so that all rules hold; false if there is no way, or none
 * was found before *work, which is counted down, was spent. */
bool tg_sides_place(tg_dma *out, const tg_dma *dma, const tg_sides *sides, int32_t *work);

/* How a descriptor is cut: a tree whose nodes cut one loop into equal pieces and a rest, and whose leaves are placed.
 */
enum { TG_CUT_NODES = 256 };

typedef struct tg_cut {
    int32_t loop; /* -1: a leaf */
    int64_t step; /* steps of the loop in one piece */
    int32_t piece, rest;
    int64_t count; /* descriptors in all */
} tg_cut;

typedef struct tg_cuts {
    int32_t n;
    tg_cut  at[TG_CUT_NODES]; /* the first is the root */
} tg_cuts;

/* The fewest descriptors that a bounded search finds; false if it finds no way. dma is changed and restored. */
bool tg_cuts_find(tg_cuts *out, tg_dma *dma, const tg_sides *sides);

#endif
