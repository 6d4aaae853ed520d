/* A plan as kernels: every step is tried, and what has no kernel is for the host. */
#include "graph/bundle.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

const char *tg_duty_name(tg_duty duty) {
    static const char *const names[] = {"none", "device", "host"};
    return (int)duty >= 0 && duty <= TG_DUTY_HOST ? names[duty] : NULL;
}

/* ---- making ------------------------------------------------------------------------------------- */

static bool is_data(const tg_bundle *b, const tg_plan_step *s) {
    if (s->kind != TG_STEP_NODE) return false;
    const tg_node_info info = tg_graph_get(b->graph, s->node);
    return info.kind == TG_NODE_INPUT || info.kind == TG_NODE_CONSTANT ||
           (info.kind == TG_NODE_DEFAULT && info.noperands == 0);
}

static bool list_steps(tg_bundle *b) {
    const int64_t n = tg_graph_plan_step_count(b->plan);
    if (!tg_bundle_rows_reserve(&b->steps, (size_t)n + 1) || !tg_char_rows_reserve(&b->chars, 1)) return false;
    for (int64_t i = 0; i < n; i++) {
        const tg_plan_step s = tg_graph_plan_step(b->plan, i);
        b->steps.rows[b->steps.count++] =
            (tg_bundle_row){.duty = is_data(b, &s) ? TG_DUTY_NONE : TG_DUTY_DEVICE, .address = -1, .in_place_of = -1};
    }
    return true;
}

static bool is_fatal(tg_status s) { return s == TG_ERR_NOMEM || s == TG_ERR_OVERFLOW; }

static tg_status try_piece(const tg_bundle *b, int64_t step, int64_t piece, tg_error *err) {
    tg_build        build;
    size_t          need = 0;
    const tg_status s = tg_build_kernel(&build, b, step, piece, err);
    return s == TG_OK ? tg_kernel_format_name(NULL, 0, &need, &build.kernel, 0, err) : s;
}

/* A boundary has its own reason. */
static tg_hlo_text find_reason(const tg_bundle *b, int64_t i, const tg_error *why) {
    const tg_plan_step s = tg_graph_plan_step(b->plan, i);
    const tg_hlo_text  reason = tg_graph_get(b->graph, s.node).reason;
    if (s.kind == TG_STEP_NODE && reason.len > 0) return reason;
    return (tg_hlo_text){why->message, strlen(why->message)};
}

static tg_status give_to_host(tg_bundle *b, int64_t i, const tg_error *told, tg_error *err) {
    tg_bundle_row    *row = &b->steps.rows[i];
    const tg_hlo_text why = find_reason(b, i, told);
    if (!tg_char_rows_reserve(&b->chars, why.len)) return tg_graph_no_memory(err);
    memcpy(b->chars.rows + b->chars.count, why.chars, why.len);
    row->duty = TG_DUTY_HOST;
    row->why = b->chars.count;
    row->why_len = (uint32_t)why.len;
    b->chars.count += why.len;
    return TG_OK;
}

static tg_status try_step(tg_bundle *b, int64_t i, tg_error *err) {
    tg_bundle_row *row = &b->steps.rows[i];
    const int64_t  npieces = tg_count_pieces(b, i);
    tg_error       why;
    tg_status      s = TG_OK;
    row->first_kernel = (int64_t)b->kernels.count;
    if (row->duty == TG_DUTY_NONE) return TG_OK;
    for (int64_t k = 0; k < npieces && s == TG_OK; k++) s = try_piece(b, i, k, &why);
    if (is_fatal(s)) return tg_fail(err, s, "%s", why.message);
    if (s != TG_OK) return give_to_host(b, i, &why, err);
    row->nkernels = npieces;
    for (int64_t k = 0; k < npieces; k++)
        if (!tg_piece_rows_push(&b->kernels, (tg_piece_row){i, k})) return tg_graph_no_memory(err);
    return TG_OK;
}

/* Named ones may be views; what nobody reads is wanted as it is. */
static bool list_outputs(tg_bundle *b) {
    const int64_t n = tg_graph_plan_step_count(b->plan), named = tg_graph_output_count(b->graph);
    bool         *results = calloc((size_t)n + 1, sizeof *results);
    bool          ok = results != NULL;
    if (ok) tg_mark_results(results, b->graph, b->plan);
    for (int64_t i = 0; i < named && ok; i++) ok = tg_output_rows_push(&b->outputs, tg_graph_output(b->graph, i));
    for (int64_t i = 0; i < n && ok && named == 0; i++) {
        const int64_t node = tg_graph_plan_step(b->plan, i).node;
        if (results[i]) ok = tg_output_rows_push(&b->outputs, (tg_output){node, tg_node_at(b->graph, node)->host});
    }
    free(results);
    return ok;
}

tg_status tg_bundle_create(tg_bundle **out, const tg_graph *graph, const tg_graph_plan *plan,
                           const tg_bundle_params *params, tg_error *err) {
    const tg_division_params *d = &params->division;
    if (!tg_graph_plan_summary(plan).feasible)
        return tg_fail(err, TG_ERR_ARGUMENT, "a plan that is not feasible has no kernels");
    if (d->cores < 0 || d->cores > TG_MAX_CORES || d->max_span_bytes < 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "%d cores, of 1 to %d, or a span of %d bytes", (int64_t)d->cores,
                       (int64_t)TG_MAX_CORES, d->max_span_bytes);
    tg_bundle *b = calloc(1, sizeof *b);
    if (b == NULL) return tg_graph_no_memory(err);
    b->graph = graph;
    b->plan = plan;
    b->params = *params;
    tg_status s = list_steps(b) && list_outputs(b) ? tg_bundle_place(b, err) : tg_graph_no_memory(err);
    for (int64_t i = 0; i < (int64_t)b->steps.count && s == TG_OK; i++) s = try_step(b, i, err);
    if (s == TG_OK && !tg_list_transfers(b)) s = tg_graph_no_memory(err);
    if (s == TG_OK) *out = b;
    else tg_bundle_destroy(&b);
    return s;
}

void tg_bundle_destroy(tg_bundle **bundle) {
    tg_bundle *b = *bundle;
    if (b == NULL) return;
    free(b->steps.rows);
    free(b->kernels.rows);
    free(b->transfers.rows);
    free(b->chars.rows);
    free(b->outputs.rows);
    free(b);
    *bundle = NULL;
}

/* ---- asking ---------------------------------------------------------------------------------------- */

tg_bundle_step tg_bundle_get_step(const tg_bundle *bundle, int64_t step) {
    const tg_bundle_row *row = &bundle->steps.rows[step];
    return (tg_bundle_step){.duty = row->duty,
                            .first_kernel = row->first_kernel,
                            .nkernels = row->nkernels,
                            .why = {bundle->chars.rows + row->why, row->why_len},
                            .address = row->address,
                            .in_lx = row->in_lx};
}

int64_t tg_bundle_zeros(const tg_bundle *bundle) { return bundle->zeros; }
int64_t tg_bundle_transfer_count(const tg_bundle *bundle) { return (int64_t)bundle->transfers.count; }

tg_bundle_transfer tg_bundle_get_transfer(const tg_bundle *bundle, int64_t i) { return bundle->transfers.rows[i]; }

int64_t tg_bundle_kernel_count(const tg_bundle *bundle) { return (int64_t)bundle->kernels.count; }
int64_t tg_bundle_kernel_step(const tg_bundle *bundle, int64_t i) { return bundle->kernels.rows[i].step; }

static tg_status build(tg_build *out, const tg_bundle *bundle, int64_t i, tg_error *err) {
    const tg_piece_row *row = &bundle->kernels.rows[i];
    return tg_build_kernel(out, bundle, row->step, row->piece, err);
}

tg_status tg_bundle_format_sdsc(char *buf, size_t cap, size_t *need, const tg_bundle *bundle, int64_t i,
                                tg_error *err) {
    tg_build        b;
    const tg_status s = build(&b, bundle, i, err);
    return s == TG_OK ? tg_kernel_format_sdsc(buf, cap, need, &b.kernel, i, err) : s;
}

tg_status tg_bundle_format_name(char *buf, size_t cap, size_t *need, const tg_bundle *bundle, int64_t i,
                                tg_error *err) {
    tg_build        b;
    const tg_status s = build(&b, bundle, i, err);
    return s == TG_OK ? tg_kernel_format_name(buf, cap, need, &b.kernel, i, err) : s;
}
