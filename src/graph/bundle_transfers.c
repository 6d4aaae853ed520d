/* What is carried between the host and the device: inputs and constants go, outputs come; a step of the host takes its
 * operands, and brings its result. Where no loops say the transfer, that is kept, with the reason. */
#include "graph/bundle.h"

#include <tegula/transfer.h>

#include <string.h>

/* The host tensor of a step, moved whole. */
static tg_status try_transfer(const tg_bundle *b, const tg_plan_step *step, bool to_device, tg_error *err) {
    const tg_host   *h = &tg_node_at(b->graph, step->node)->host;
    tg_layout        device, host;
    size_t           count = 0;
    tg_dma_params    params = {.device = &device, .host = &host, .per_mode = true,
                               .direction = to_device ? TG_HOST_TO_DEVICE : TG_DEVICE_TO_HOST};
    tg_status        s = tg_layout_from_spyre(&device, &step->layout, h, err);
    if (s == TG_OK) s = tg_layout_strided(&host, h->dtype, h->ndim, h->shape, h->strides, h->offset, err);
    return s == TG_OK ? tg_dma_build(NULL, 0, &count, &params, err) : s;
}

static bool keep_reason(tg_bundle *b, tg_bundle_row *row, const tg_error *why) {
    const size_t len = strlen(why->message);
    if (!tg_char_rows_reserve(&b->chars, len)) return false;
    memcpy(b->chars.rows + b->chars.count, why->message, len);
    row->refused = b->chars.count;
    row->refused_len = (uint32_t)len;
    b->chars.count += len;
    return true;
}

static bool add_transfer(tg_bundle *b, int64_t i, bool to_device) {
    const tg_plan_step step = tg_graph_plan_step(b->plan, i);
    tg_bundle_row     *row = &b->steps.rows[i];
    bool *const        there = to_device ? &row->goes : &row->comes;
    tg_error           why;
    if (!step.on_device || *there || row->refused_len > 0) return true;
    if (try_transfer(b, &step, to_device, &why) != TG_OK) return keep_reason(b, row, &why);
    *there = true;
    return tg_transfer_rows_push(&b->transfers, (tg_bundle_transfer){i, to_device});
}

bool tg_list_transfers(tg_bundle *b) {
    bool ok = true;
    for (int64_t i = 0; i < (int64_t)b->steps.count && ok; i++) {
        const tg_duty duty = b->steps.rows[i].duty;
        const int32_t n = duty == TG_DUTY_HOST ? tg_graph_plan_step(b->plan, i).noperands : 0;
        if (duty != TG_DUTY_DEVICE) ok = add_transfer(b, i, true);
        for (int32_t k = 0; k < n && ok; k++)
            ok = add_transfer(b, tg_graph_plan_step_operand(b->plan, i, k), false);
    }
    for (size_t i = 0; i < b->outputs.count && ok; i++)
        ok = add_transfer(b, tg_graph_plan_node_step(b->plan, b->outputs.rows[i].node), false);
    return ok;
}
