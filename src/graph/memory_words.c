/* Why a tensor lives where it does, in words. */
#include "graph/memory.h"

#include "base/text.h"
#include "graph/model.h"

static void put_step(tg_writer *w, const tg_memory *m, int64_t i) {
    const tg_plan_step step = tg_graph_plan_step(m->plan, i);
    const tg_node_info info = tg_graph_get(m->graph, step.node);
    if (step.kind == TG_STEP_RESTICKIFY) tg_put_text(w, "the copy of ");
    if (step.kind == TG_STEP_FILL) tg_put_text(w, "the filled copy of ");
    if (info.name.len > 0) tg_put_bytes(w, info.name.chars, info.name.len);
    else tg_put_text(w, "node ");
    if (info.name.len == 0) tg_put_int(w, step.node);
}

static void put_kept(tg_writer *w, const tg_memory *m, const tg_residence *r) {
    tg_put_text(w, "its readers slice it as its producer does");
    if (r->in_place_of < 0) return;
    tg_put_text(w, "; in the place of ");
    put_step(w, m, r->in_place_of);
}

/* What a copy does, from both ends. */
static void put_copy(tg_writer *w, const tg_memory *m, int64_t i, const tg_residence *r, const char *copy) {
    tg_put_text(w, r->because_of == i ? "written by " : "read by ");
    tg_put_text(w, copy);
    if (r->because_of == i) return;
    tg_put_text(w, ", for ");
    put_step(w, m, r->because_of);
}

static void put_no_kernel(tg_writer *w, const tg_memory *m, int64_t i, const tg_residence *r) {
    if (r->because_of == i) tg_put_text(w, "made by what is no kernel of the device");
    else put_step(w, m, r->because_of);
    if (r->because_of == i) return;
    const tg_node_kind kind = tg_graph_get(m->graph, tg_graph_plan_step(m->plan, r->because_of).node).kind;
    const bool         kernel = kind != TG_NODE_BOUNDARY && kind != TG_NODE_DEFAULT &&
                                kind != TG_NODE_SEARCH && kind != TG_NODE_STATISTICS && kind != TG_NODE_NORMALIZE;
    tg_put_text(w, kernel ? " reads it by index" : ", which reads it, is no kernel of the device");
}

static void put_loop(tg_writer *w, const tg_memory *m, const tg_residence *r) {
    tg_put_text(w, r->in_place_of < 0 ? "needed in every round of a loop" : "for the next round of a loop");
    if (r->in_place_of < 0) return;
    tg_put_text(w, ", in the place of ");
    put_step(w, m, r->in_place_of);
}

static void put_footprint(tg_writer *w, const tg_memory *m, int64_t i) {
    tg_put_text(w, "a core's piece of ");
    tg_put_int(w, m->storage[i]);
    tg_put_text(w, " bytes is more than LX has, ");
    tg_put_int(w, m->params.lx_bytes);
}

static void put_reason(tg_writer *w, const tg_memory *m, int64_t i, const tg_residence *r) {
    switch (r->reason) {
    case TG_REASON_KEPT: put_kept(w, m, r); break;
    case TG_REASON_HOST: tg_put_text(w, "not on the device"); break;
    case TG_REASON_INPUT: tg_put_text(w, "an input comes in HBM"); break;
    case TG_REASON_OUTPUT: tg_put_text(w, "a result of the graph is wanted in HBM"); break;
    case TG_REASON_CONSTANT: tg_put_text(w, "a constant comes in HBM"); break;
    case TG_REASON_UNREAD: tg_put_text(w, "no consumer reads it from LX"); break;
    case TG_REASON_RESTICKIFY: put_copy(w, m, i, r, "a restickify, which works from HBM to HBM"); break;
    case TG_REASON_FILL: put_copy(w, m, i, r, "a fill"); break;
    case TG_REASON_NO_KERNEL: put_no_kernel(w, m, i, r); break;
    case TG_REASON_DIVISION:
        put_step(w, m, r->because_of);
        tg_put_text(w, " slices it in another way");
        break;
    case TG_REASON_FOOTPRINT: put_footprint(w, m, i); break;
    case TG_REASON_SPILLED: tg_put_text(w, "there is no room in LX while it is alive"); break;
    case TG_REASON_LOOP: put_loop(w, m, r); break;
    case TG_REASON_SHARED: tg_put_text(w, "cores share the sums in it, so that none has them"); break;
    }
}

size_t tg_memory_why(char *buf, size_t cap, const tg_memory *memory, int64_t step) {
    tg_writer w = tg_writer_make(buf, cap);
    put_reason(&w, memory, step, &memory->rows[step]);
    return tg_writer_end(&w);
}
