/* Where tensors lie: each input, constant and output in a segment of its own, as far as there are enough, then one
 * behind the other in these; everything else in segment 0. Nothing is moved or used twice.
 * Source: torch-spyre, addresses in the device's memory. */
#include "graph/bundle.h"

#include "base/checked.h"
#include "base/error.h"

#include <stdlib.h>

enum { SEGMENTS = 7 };
static const int64_t segment_bytes = INT64_C(16) << 30;

typedef struct placing {
    tg_bundle *b;
    int64_t    end[SEGMENTS]; /* bytes taken in each segment */
    int32_t    next;          /* segment for the next argument */
} placing;

static bool place_in(int64_t *address, placing *p, int32_t segment, int64_t bytes) {
    int64_t rounded;
    if (!tg_round_up(&rounded, bytes, TG_SPYRE_STICK_BYTES) || rounded > segment_bytes - p->end[segment])
        return false;
    *address = segment * segment_bytes + p->end[segment];
    p->end[segment] += rounded;
    return true;
}

/* In the next segment that has room, from 1 on. */
static bool place_argument(int64_t *address, placing *p, int64_t bytes) {
    for (int32_t i = 0; i < SEGMENTS - 1; i++) {
        const int32_t segment = 1 + (p->next + i) % (SEGMENTS - 1);
        if (!place_in(address, p, segment, bytes)) continue;
        p->next = segment;
        return true;
    }
    return false;
}

static tg_status place_step(placing *p, int64_t i, const bool *outputs, tg_error *err) {
    tg_bundle_row     *row = &p->b->steps.rows[i];
    const tg_plan_step s = tg_graph_plan_step(p->b->plan, i);
    const bool         argument = s.kind == TG_STEP_NODE && (row->duty == TG_DUTY_NONE || outputs[s.node]);
    row->address = -1;
    if (!s.on_device) return TG_OK;
    if (argument ? place_argument(&row->address, p, s.bytes) : place_in(&row->address, p, 0, s.bytes)) return TG_OK;
    return tg_fail(err, TG_ERR_LIMIT, "step %d makes a tensor of %d bytes, for which the device has no room", i,
                   s.bytes);
}

static tg_status place_zeros(placing *p, tg_error *err) {
    p->b->zeros = -1;
    for (size_t i = 0; i < p->b->steps.count; i++) {
        if (tg_graph_plan_step(p->b->plan, (int64_t)i).kind != TG_STEP_FILL) continue;
        if (place_in(&p->b->zeros, p, 0, TG_SPYRE_STICK_BYTES)) return TG_OK;
        return tg_fail(err, TG_ERR_LIMIT, "the device has no room for a stick of zeros");
    }
    return TG_OK;
}

tg_status tg_bundle_place(tg_bundle *b, tg_error *err) {
    const size_t n = (size_t)tg_graph_count(b->graph);
    placing      p = {.b = b};
    bool        *outputs = calloc(n + 1, sizeof *outputs);
    tg_status    s = TG_OK;
    if (outputs == NULL) return tg_graph_no_memory(err);
    for (int64_t i = 0; i < tg_graph_output_count(b->graph); i++) outputs[tg_graph_output(b->graph, i).node] = true;
    for (size_t i = 0; i < b->steps.count && s == TG_OK; i++) s = place_step(&p, (int64_t)i, outputs, err);
    free(outputs);
    return s == TG_OK ? place_zeros(&p, err) : s;
}
