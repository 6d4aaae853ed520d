/* Where tensors lie, as the planning of memory has it. The stick of zeros that fills read lies behind its pool. */
#include "graph/bundle.h"

#include "base/checked.h"
#include "base/error.h"

#include <tegula/memory.h>

static tg_status place_step(tg_bundle *b, int64_t i, const tg_memory *memory, tg_error *err) {
    tg_bundle_row     *row = &b->steps.rows[i];
    const tg_residence r = tg_memory_get(memory, i);
    row->address = -1;
    if (r.home == TG_HOME_HOST) return TG_OK;
    if (r.home == TG_HOME_NONE)
        return tg_fail(err, TG_ERR_LIMIT, "step %d makes a tensor of %d bytes, for which the device has no room", i,
                       r.bytes);
    row->address = r.address;
    row->in_lx = r.home == TG_HOME_LX;
    row->core_bytes = row->in_lx ? r.bytes : 0;
    row->in_place_of = r.in_place_of;
    return TG_OK;
}

static bool has_fills(const tg_bundle *b) {
    for (size_t i = 0; i < b->steps.count; i++)
        if (tg_graph_plan_step(b->plan, (int64_t)i).kind == TG_STEP_FILL) return true;
    return false;
}

static tg_status place_all(tg_bundle *b, const tg_memory *memory, tg_error *err) {
    tg_status s = TG_OK;
    for (size_t i = 0; i < b->steps.count && s == TG_OK; i++) s = place_step(b, (int64_t)i, memory, err);
    b->zeros = -1;
    if (s != TG_OK || !has_fills(b)) return s;
    (void)tg_round_up(&b->zeros, tg_memory_get_summary(memory).pool_peak, TG_SPYRE_STICK_BYTES);
    return TG_OK;
}

tg_status tg_bundle_place(tg_bundle *b, tg_error *err) {
    const tg_memory_params params = {.division = b->params.division};
    tg_memory             *own = NULL;
    if (b->params.memory != NULL) return place_all(b, b->params.memory, err);
    tg_status s = tg_memory_create(&own, b->graph, b->plan, &params, err);
    if (s == TG_OK) s = place_all(b, own, err);
    tg_memory_destroy(&own);
    return s;
}
