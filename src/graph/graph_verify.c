/* Judging a plan by the rules, from the layouts that it names and nothing else. It is told in full again here, with
 * torch-spyre's two sets, so that a mistake in how plans are found is not one here, too. */
#include "graph/coordinate.h"
#include "graph/model.h"
#include "graph/rules.h"

#include "base/error.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* The plan, from outside: what the public functions say. */
typedef struct judge {
    const tg_graph      *g;
    const tg_graph_plan *plan;
    int64_t             *copy; /* restickify of each row of g->accesses, or -1 */
    tg_stick            *sticks; /* of the operands that count, and of the result */
    size_t               cap;
    const char          *fault;
    int64_t              node, operand; /* at fault; operand -1: the result */
} judge;

static bool accuse(judge *j, int64_t node, int64_t operand, const char *fault) {
    j->fault = fault;
    j->node = node;
    j->operand = operand;
    return false;
}

/* ---- layouts ------------------------------------------------------------------------------- */

static bool is_map(const tg_spyre *layout, const tg_host *host) {
    tg_layout l;
    return tg_layout_from_spyre(&l, layout, host, NULL) == TG_OK;
}

static bool same_layout(const tg_spyre *a, const tg_spyre *b) {
    if (a->rank != b->rank || a->device_dtype != b->device_dtype || a->arrangement != b->arrangement) return false;
    for (int32_t k = 0; k < a->rank; k++)
        if (a->device_size[k] != b->device_size[k] || a->stride_map[k] != b->stride_map[k]) return false;
    return true;
}

static bool judge_copies(judge *j) {
    const tg_plan_summary s = tg_graph_plan_summary(j->plan);
    for (int64_t i = 0; i < s.nrestickifies; i++) {
        const tg_restickify r = tg_graph_plan_restickify(j->plan, i);
        tg_spyre            from;
        if (!tg_graph_plan_layout(&from, j->plan, r.producer) || !same_layout(&from, &r.from))
            return accuse(j, r.producer, -1, "a restickify of it begins with another layout than its own");
        if (j->g->device_formats && r.from.device_dtype != TG_SEN169_FP16)
            return accuse(j, r.producer, -1, "the device copies SEN169_FP16 alone");
        if (!is_map(&r.to, &tg_node_at(j->g, r.producer)->host))
            return accuse(j, r.producer, -1, "a restickify of it ends in a layout that does not hold the tensor");
        for (int64_t k = r.first_reader; k < r.first_reader + r.nreaders; k++) {
            const tg_reader    reader = tg_graph_plan_reader(j->plan, k);
            const tg_node_row *n = tg_node_at(j->g, reader.node);
            if (tg_graph_operand(j->g, reader.node, reader.operand) != r.producer)
                return accuse(j, reader.node, reader.operand, "it is listed for a restickify of another tensor");
            j->copy[n->first_operand + (uint32_t)reader.operand] = i;
        }
    }
    return true;
}

/* The layout that operand k reads; false if the tensor is not on the device. */
static bool read_layout(tg_spyre *out, const judge *j, const tg_node_row *n, uint32_t k) {
    const int64_t copy = j->copy[n->first_operand + k];
    if (copy < 0) return tg_graph_plan_layout(out, j->plan, j->g->accesses.rows[n->first_operand + k].node);
    *out = tg_graph_plan_restickify(j->plan, copy).to;
    return true;
}

/* ---- rules ------------------------------------------------------------------------------------ */

static uint32_t loops_of(const tg_access *a) {
    uint32_t loops = 0;
    for (int32_t i = 0; i < a->nterms; i++)
        if (a->terms[i].loop >= 0) loops |= UINT32_C(1) << a->terms[i].loop;
    return loops;
}

static bool in(uint32_t loops, int32_t loop) { return loop >= 0 && (loops >> loop & 1) != 0; }

/* sticks[k] of every operand, sticks[noperands] of the result. */
static bool look(judge *j, int64_t id, const tg_node_row *n) {
    const int64_t *ranges = tg_node_ranges(j->g, n);
    for (uint32_t k = 0; k <= n->noperands; k++) {
        const tg_access a = k < n->noperands ? tg_operand_at(j->g, n, k) : tg_access_of(j->g, &n->result);
        tg_spyre        layout;
        const bool there =
            k < n->noperands ? read_layout(&layout, j, n, k) : tg_graph_plan_layout(&layout, j->plan, id);
        j->sticks[k] = (tg_stick){.loop = -1};
        if (there) tg_stick_of(&j->sticks[k], &layout, ranges, &a);
    }
    return true;
}

static bool judge_agreement(judge *j, int64_t id, const tg_node_row *n) {
    for (uint32_t k = 0; k <= n->noperands; k++) {
        const int64_t operand = k < n->noperands ? (int64_t)k : -1;
        if (j->sticks[k].kind == TG_STICK_OFFSET) return accuse(j, id, operand, "it begins inside a stick");
        if (j->sticks[k].kind == TG_STICK_BAD) return accuse(j, id, operand, "its stick cannot be expressed");
    }
    if (!tg_sticks_compatible(j->sticks, (int32_t)n->noperands + 1))
        return accuse(j, id, -1, "its tensors do not agree on the loop in their sticks");
    for (uint32_t k = 0; k <= n->noperands; k++)
        if (in(n->no_stick, j->sticks[k].loop))
            return accuse(j, id, k < n->noperands ? (int64_t)k : -1,
                          "it has a loop in its sticks that must not be there");
    return true;
}

/* The places say nothing of sticks. */
static bool judge_scatter(judge *j, int64_t id, const tg_node_row *n) {
    j->sticks[1] = (tg_stick){.loop = -1};
    if (!judge_agreement(j, id, n)) return false;
    const tg_stick *result = &j->sticks[n->noperands];
    if (result->kind == TG_STICK_LOOP && result->unknown_outermost) return true;
    return accuse(j, id, -1, "what is picked is not outermost, or no row is in its sticks");
}

static bool judge_carry(judge *j, int64_t id, const tg_node_row *n) {
    tg_spyre old, kept;
    if (j->copy[n->first_operand] >= 0) return accuse(j, id, 0, "what is written over was copied before");
    if (!read_layout(&old, j, n, 0) || !tg_graph_plan_layout(&kept, j->plan, id) || !same_layout(&old, &kept))
        return accuse(j, id, -1, "it does not keep the layout of what it is written over");
    return judge_agreement(j, id, n);
}

static bool is_on(const tg_stick *s, int32_t loop) { return s->kind == TG_STICK_LOOP && s->loop == loop; }

/* x on a summed loop, y and the result on one loop of the columns. */
static bool is_product(const judge *j, const tg_node_row *n, uint32_t x, uint32_t y) {
    const tg_access a = tg_operand_at(j->g, n, x), b = tg_operand_at(j->g, n, y), c = tg_access_of(j->g, &n->result);
    const uint32_t  summed = loops_of(&a) & loops_of(&b) & ~loops_of(&c);
    const uint32_t  columns = loops_of(&b) & loops_of(&c) & ~loops_of(&a);
    const tg_stick *s = j->sticks;
    return s[x].kind == TG_STICK_LOOP && in(summed, s[x].loop) && s[2].kind == TG_STICK_LOOP &&
           in(columns, s[2].loop) && is_on(&s[y], s[2].loop);
}

/* Without summed loops or columns on either side there is nothing but to agree. */
static bool judge_matmul(judge *j, int64_t id, const tg_node_row *n) {
    const tg_access a = tg_operand_at(j->g, n, 0), b = tg_operand_at(j->g, n, 1), c = tg_access_of(j->g, &n->result);
    const uint32_t  x = loops_of(&a), y = loops_of(&b), z = loops_of(&c);
    if ((x & y & ~z) == 0 || ((y & z & ~x) == 0 && (x & z & ~y) == 0)) return judge_agreement(j, id, n);
    const bool swapped = (y & z & ~x) == 0;
    if (is_product(j, n, swapped, !swapped)) return true;
    return accuse(j, id, -1, "a product wants x on the summed dimension, y and the result on the columns");
}

/* What does not walk channels has nothing else in its sticks: windows do not pick them apart. */
static bool has_channel(const tg_stick *stick, const tg_access *access, int32_t channel) {
    return in(loops_of(access), channel) ? is_on(stick, channel) : stick->kind == TG_STICK_NONE;
}

static bool judge_convolution(judge *j, int64_t id, const tg_node_row *n) {
    const tg_access a = tg_operand_at(j->g, n, 0), b = tg_operand_at(j->g, n, 1), c = tg_access_of(j->g, &n->result);
    if (has_channel(&j->sticks[0], &a, n->in_channel) && has_channel(&j->sticks[1], &b, n->out_channel) &&
        has_channel(&j->sticks[2], &c, n->out_channel))
        return true;
    return accuse(j, id, -1, "a convolution wants in-channels, out-channels and out-channels in its sticks");
}

/* Loops that walk within the rows that are picked, each along a dimension of the result. */
static uint32_t row_loops(const judge *j, const tg_node_row *n) {
    const tg_access result = tg_access_of(j->g, &n->result), table = tg_operand_at(j->g, n, 0);
    const uint32_t  common = loops_of(&result) & loops_of(&table) & ~n->no_stick;
    uint32_t        loops = 0;
    for (int32_t l = 0; l < n->nloops; l++)
        if (in(common, l) && tg_host_dim(&n->host, tg_node_ranges(j->g, n), &result, l) >= 0) loops |= UINT32_C(1) << l;
    return loops;
}

/* Rows are moved in whole sticks. Where there are none the host picks single elements, and the result is sparse. */
static bool judge_gather(judge *j, int64_t id, const tg_node_row *n, tg_model model) {
    const tg_stick *table = &j->sticks[0], *result = &j->sticks[n->noperands];
    const uint32_t  rows = row_loops(j, n);
    if (rows == 0 && result->kind == TG_STICK_NONE) return true;
    if (result->kind != TG_STICK_LOOP || !in(rows, result->loop))
        return accuse(j, id, -1, "a gather has a loop within its rows in the sticks, or nothing if it has no rows");
    if (model == TG_MODEL_TORCH_SPYRE || (is_on(table, result->loop) && table->unknown_outermost)) return true;
    return accuse(j, id, 0, "a table wants what is picked outermost, and the result's loop in its sticks");
}

static bool judge_default(judge *j, int64_t id, const tg_node_row *n, bool keep_unit_dims) {
    const tg_spyre_params params = {.keep_unit_dims = keep_unit_dims, .has_device_dtype = true,
                                    .device_dtype = n->format};
    tg_spyre wanted, layout;
    if (tg_spyre_default(&wanted, &n->host, &params, NULL) == TG_OK && tg_graph_plan_layout(&layout, j->plan, id) &&
        same_layout(&wanted, &layout))
        return true;
    return accuse(j, id, -1, "it does not have the default layout");
}

static bool is_last_dim(const tg_node_row *n, const tg_access *result, int32_t loop) {
    for (int32_t i = 0; i < result->nterms; i++)
        if (result->terms[i].loop == loop) return result->terms[i].step == n->host.strides[n->host.ndim - 1];
    return false;
}

static bool judge_statistics(judge *j, int64_t id, const tg_node_row *n) {
    const tg_access result = tg_access_of(j->g, &n->result);
    if (in(loops_of(&result), j->sticks[0].loop))
        return accuse(j, id, 0, "statistics want a summed dimension in the sticks of their operand");
    return judge_agreement(j, id, n);
}

static bool judge_normalize(judge *j, int64_t id, const tg_node_row *n) {
    const tg_access result = tg_access_of(j->g, &n->result);
    const int32_t   loop = j->sticks[n->noperands].loop;
    if (loop >= 0 && !is_last_dim(n, &result, loop))
        return accuse(j, id, -1, "a normalization wants the last dimension in its sticks");
    return judge_agreement(j, id, n);
}

static bool judge_rule(judge *j, int64_t id, const tg_node_row *n, const tg_graph_params *params) {
    switch (n->kind) {
    case TG_NODE_POINTWISE:
    case TG_NODE_CONCATENATE:
    case TG_NODE_SEARCH:
    case TG_NODE_REDUCE: return judge_agreement(j, id, n);
    case TG_NODE_SCATTER: return judge_scatter(j, id, n);
    case TG_NODE_CARRY: return judge_carry(j, id, n);
    case TG_NODE_STATISTICS: return judge_statistics(j, id, n);
    case TG_NODE_NORMALIZE: return judge_normalize(j, id, n);
    case TG_NODE_MATMUL: return judge_matmul(j, id, n);
    case TG_NODE_CONVOLUTION: return judge_convolution(j, id, n);
    case TG_NODE_GATHER: return judge_gather(j, id, n, params->model);
    case TG_NODE_DEFAULT: /* iota is known beforehand, so that any layout can be written */
        return (n->noperands == 0 && params->model == TG_MODEL_TEGULA) ||
               judge_default(j, id, n, params->keep_unit_dims);
    case TG_NODE_CLONE:
    case TG_NODE_BOUNDARY: return judge_default(j, id, n, params->keep_unit_dims);
    case TG_NODE_INPUT:
    case TG_NODE_CONSTANT: break;
    }
    return true;
}

static bool judge_node(judge *j, int64_t id, const tg_graph_params *params) {
    const tg_node_row *n = tg_node_at(j->g, id);
    tg_spyre           layout;
    if (!n->on_device) return true;
    if (!tg_graph_plan_layout(&layout, j->plan, id)) return accuse(j, id, -1, "it has no layout");
    if (!is_map(&layout, &n->host)) return accuse(j, id, -1, "its layout does not hold the tensor");
    if (n->layout >= 0 && !same_layout(&layout, &j->g->layouts.rows[n->layout]))
        return accuse(j, id, -1, n->kind == TG_NODE_INPUT ? "an input has another layout than the one it came with"
                                                          : "it does not have the layout that is wanted");
    return look(j, id, n) && judge_rule(j, id, n, params);
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static bool judge_all(judge *j, const tg_graph_params *params) {
    if (!tg_graph_plan_summary(j->plan).feasible) return accuse(j, -1, -1, "it is not feasible");
    if (!judge_copies(j)) return false;
    for (int64_t id = 0; id < tg_graph_count(j->g); id++)
        if (!judge_node(j, id, params)) return false;
    return true;
}

static size_t put_fault(char *why, size_t cap, const judge *j) {
    tg_writer w = tg_writer_make(why, cap);
    if (j->node >= 0) {
        const tg_node_info info = tg_graph_get(j->g, j->node);
        tg_put_text(&w, "node ");
        tg_put_int(&w, j->node);
        tg_put_char(&w, ' ');
        tg_put_bytes(&w, info.name.chars, info.name.len);
    } else {
        tg_put_text(&w, "the plan");
    }
    if (j->operand >= 0) tg_put_text(&w, ", operand ");
    if (j->operand >= 0) tg_put_int(&w, j->operand);
    tg_put_text(&w, ": ");
    tg_put_text(&w, j->fault);
    return tg_writer_end(&w);
}

static uint32_t most_operands(const tg_graph *g) {
    uint32_t most = 0;
    for (size_t i = 0; i < g->nodes.count; i++)
        if (g->nodes.rows[i].noperands > most) most = g->nodes.rows[i].noperands;
    return most;
}

tg_status tg_graph_plan_verify(bool *ok, char *why, size_t cap, const tg_graph *graph, const tg_graph_plan *plan,
                               tg_error *err) {
    const tg_graph_params params = tg_graph_plan_params(plan);
    judge                 j = {.g = graph, .plan = plan, .fault = ""};
    j.copy = malloc((graph->accesses.count + 1) * sizeof *j.copy);
    j.sticks = malloc(((size_t)most_operands(graph) + 1) * sizeof *j.sticks);
    const bool memory = j.copy != NULL && j.sticks != NULL;
    for (size_t i = 0; memory && i < graph->accesses.count; i++) j.copy[i] = -1;
    if (memory) *ok = judge_all(&j, &params);
    if (memory && cap > 0 && *ok) why[0] = '\0';
    if (memory && cap > 0 && !*ok) (void)put_fault(why, cap, &j);
    free(j.copy);
    free(j.sticks);
    return memory ? TG_OK : tg_graph_no_memory(err);
}
