/* tegula plan --run: the plan on the simulated device, with inputs drawn at random. */
#include "plan.h"

/* ---- answers ------------------------------------------------------------------------------------ */

static void print_output(const plan_view *view, int64_t i, const tg_sim_difference *d) {
    const tg_output out = tg_graph_output(view->graph, i);
    printf("  output %lld, %s[", (long long)i, tg_dtype_name(out.view.dtype));
    cli_print_ints(out.view.shape, out.view.ndim, ",");
    fputs("]: ", stdout);
    if (d->lost > 0)
        printf("WRONG: %lld of %lld elements are no numbers\n", (long long)d->lost, (long long)d->elements);
    else
        printf("largest error %.2g where numbers reach %.3g; %.2g %% on average%s\n", d->largest, d->scale,
               100 * tg_sim_average_error(d), tg_sim_is_right(d) ? "" : ": WRONG");
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
    cli_json_put(object, "average_error", json_real(tg_sim_average_error(d)));
    cli_json_put(object, "right", tg_sim_is_right(d) ? json_true() : json_false());
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
        *right = *right && tg_sim_is_right(&d);
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
    if (s == TG_OK) s = tg_sim_draw(sim, (uint64_t)view->seed, &err);
    if (s == TG_OK) s = tg_sim_run(sim, &err);
    if (s == TG_OK) s = answer(&right, sim, view, json, &err);
    tg_sim_destroy(&sim);
    if (s != TG_OK) return cli_fail_error("plan --run", &err);
    if (right) return CLI_OK;
    (void)fflush(stdout);
    return cli_fail(CLI_NO, view->name, "the plan gives wrong results on the simulated device");
}
