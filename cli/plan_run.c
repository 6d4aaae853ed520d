/* tegula plan --run: the plan on the simulated device, with inputs drawn at random. */
#include "plan.h"

#include <math.h>
#include <stdlib.h>

/* A result is wrong where its error, root of the mean square, is more than this share of its numbers. Rounding at each
 * of some hundred operations stays far below. */
#define SHARE 0.0625
/* Nor are numbers missed that formats of 16 bits do not have. */
#define NOTHING 5.96e-8

/* splitmix64. Source: Vigna, xoshiro and splitmix. */
static uint64_t draw(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* Matrices are drawn so that products have about the size of what is multiplied. */
static double largest_of(const tg_host *host) {
    const int64_t rows = host->ndim >= 2 ? host->shape[host->ndim - 2] : 1;
    return rows > 3 ? sqrt(3 / (double)rows) : 1;
}

/* n numbers: floats up to `largest`, integers from 0 to 3, as the type has them in memory. */
static tg_status draw_elements(void *out, tg_dtype dtype, double largest, int64_t n, uint64_t *state, tg_error *err) {
    const tg_dtype_class c = tg_dtype_get_class(dtype);
    const bool           whole = c == TG_CLASS_INT || c == TG_CLASS_UINT;
    const tg_dtype       from = whole ? TG_S64 : dtype == TG_F64 ? TG_F64 : TG_F32;
    tg_layout            dst, src;
    tg_plan              plan;
    uint64_t            *room = cli_allocate(((size_t)n + 1) * sizeof *room);
    for (int64_t i = 0; i < n; i++) {
        const double x = (double)(draw(state) >> 11) / 9007199254740992.0;
        if (whole) ((int64_t *)room)[i] = (int64_t)(4 * x) % (tg_dtype_bits(dtype) > 2 ? 4 : 2);
        else if (from == TG_F64) ((double *)room)[i] = largest * (2 * x - 1);
        else ((float *)room)[i] = c == TG_CLASS_PRED ? (x < 0.5 ? 0.0f : 1.0f) : (float)(largest * (2 * x - 1));
    }
    tg_status s = tg_layout_strided(&dst, dtype, 1, &n, NULL, 0, err);
    if (s == TG_OK) s = tg_layout_strided(&src, from, 1, &n, NULL, 0, err);
    const tg_plan_params params = {.dst = &dst, .src = &src, .convert = dtype != from};
    if (s == TG_OK) s = tg_plan_init(&plan, &params, err);
    if (s == TG_OK) s = tg_plan_run(&plan, out, room, NULL, err);
    free(room);
    return s;
}

static tg_status write_inputs(tg_sim *sim, const plan_view *view, tg_error *err) {
    uint64_t  state = (uint64_t)view->seed;
    tg_status s = TG_OK;
    for (int64_t i = 0; i < tg_program_ninputs(view->program) && s == TG_OK; i++) {
        const int64_t  node = tg_program_input(view->program, i), nbytes = tg_sim_nbytes(sim, node);
        const tg_host  host = tg_graph_get(view->graph, node).host;
        const int64_t  n = nbytes * 8 / tg_dtype_storage_bits(host.dtype);
        void          *data = cli_allocate((size_t)nbytes + 1);
        s = draw_elements(data, host.dtype, largest_of(&host), n, &state, err);
        if (s == TG_OK) s = tg_sim_write(sim, node, data, err);
        free(data);
    }
    return s;
}

/* ---- answers ------------------------------------------------------------------------------------ */

static double share_of(const tg_sim_difference *d) {
    return d->mean_square > 0 ? sqrt(d->mean_error_square / d->mean_square) : d->mean_error_square > 0 ? 1 : 0;
}

static bool is_right(const tg_sim_difference *d) {
    return d->lost == 0 && (share_of(d) <= SHARE || d->largest <= NOTHING);
}

static void print_output(const plan_view *view, int64_t i, const tg_sim_difference *d) {
    const tg_output out = tg_graph_output(view->graph, i);
    printf("  output %lld, %s[", (long long)i, tg_dtype_name(out.view.dtype));
    cli_print_ints(out.view.shape, out.view.ndim, ",");
    fputs("]: ", stdout);
    if (d->lost > 0)
        printf("WRONG: %lld of %lld elements are no numbers\n", (long long)d->lost, (long long)d->elements);
    else
        printf("largest error %.2g where numbers reach %.3g; %.2g %% on average%s\n", d->largest, d->scale,
               100 * share_of(d), is_right(d) ? "" : ": WRONG");
}

static json_t *json_output(const plan_view *view, int64_t i, const tg_sim_difference *d) {
    const tg_output out = tg_graph_output(view->graph, i);
    json_t         *object = cli_json_object();
    cli_json_put(object, "dtype", cli_json_text(tg_dtype_name(out.view.dtype)));
    cli_json_put(object, "shape", cli_json_ints(out.view.shape, out.view.ndim));
    cli_json_put(object, "elements", cli_json_int(d->elements));
    cli_json_put(object, "lost", cli_json_int(d->lost));
    cli_json_put(object, "largest_error", json_real(d->largest));
    cli_json_put(object, "largest", json_real(d->scale));
    cli_json_put(object, "average_error", json_real(share_of(d)));
    cli_json_put(object, "right", is_right(d) ? json_true() : json_false());
    return object;
}

static tg_status answer(bool *right, tg_sim *sim, const plan_view *view, bool json, tg_error *err) {
    const int64_t n = tg_graph_output_count(view->graph);
    json_t       *list = cli_json_array();
    tg_status     s = TG_OK;
    *right = true;
    if (!json) printf("run on the simulated device, inputs drawn with seed %lld\n", (long long)view->seed);
    for (int64_t i = 0; i < n && s == TG_OK; i++) {
        tg_sim_difference d;
        s = tg_sim_check(&d, sim, i, err);
        if (s != TG_OK) break;
        *right = *right && is_right(&d);
        if (json) cli_json_add(list, json_output(view, i, &d));
        else print_output(view, i, &d);
    }
    if (json && s == TG_OK) {
        json_t *object = cli_json_object();
        cli_json_put(object, "schema", cli_json_text("tegula.run/1"));
        cli_json_put(object, "seed", cli_json_int(view->seed));
        cli_json_put(object, "outputs", list);
        (void)cli_print_json(object);
    } else {
        json_decref(list);
    }
    return s;
}

int plan_run(const plan_view *view, bool json) {
    const tg_sim_params params = {.division = plan_division_params(view), .seed = (uint64_t)view->seed};
    tg_sim             *sim = NULL;
    tg_error            err;
    bool                right = false;
    tg_status           s = tg_sim_create(&sim, view->graph, view->plan, view->program, &params, &err);
    if (s == TG_OK) s = write_inputs(sim, view, &err);
    if (s == TG_OK) s = tg_sim_run(sim, &err);
    if (s == TG_OK) s = answer(&right, sim, view, json, &err);
    tg_sim_destroy(&sim);
    if (s != TG_OK) return cli_fail_error("plan --run", &err);
    if (right) return CLI_OK;
    (void)fflush(stdout);
    return cli_fail(CLI_NO, view->name, "the plan gives wrong results on the simulated device");
}
