/* tegula plan: a Spyre layout for every tensor of a graph, with the fewest bytes copied. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "tegula plan - choose Spyre layouts for a graph\n"
    "\n"
    "usage: tegula plan FILE.hlo [--cores N] [--model tegula|torch-spyre] [--method exact|greedy|beam]\n"
    "                   [--max-branches N] [--restickify-reductions] [--keep-unit-dims] [--device-formats]\n"
    "                   [--release 2026-08|2026-06] [--solver exact|greedy|firstfit|bestfit] [--lx-fraction F]\n"
    "                   [--memory] [--explain NAME] [--limit N] [--out DIR] [--force] [--run] [--seed N] [--json]\n"
    "\n"
    "Reads HLO text (of XLA, or jax's lowered.as_text('hlo')), chooses a layout for every tensor, and says which\n"
    "tensors have to be copied into another layout (restickified), for whom, and why. The plan is the one with the\n"
    "fewest bytes copied, which the report calls proven; of graphs that are too wide for a proof it says how\n"
    "much too much it may copy, and is never worse than greedy and beam. Exit status 3 where there is no plan, with\n"
    "the operations that cannot agree. `-` is standard input.\n"
    "\n"
    "  --cores N                  share the work of each operation among up to N cores, 1 to 32; 32 if not given\n"
    "  --model NAME               tegula: a copy serves all who need it, priced in bytes; torch-spyre: each reader "
    "has\n"
    "                             its own, priced in elements of the host tensor\n"
    "  --method NAME              exact; or what to compare with: greedy, beam (200 wide)\n"
    "  --max-branches N           of the search in a graph too wide to be solved otherwise; if not given, as many as\n"
    "                             some seconds allow, the same on every machine\n"
    "  --restickify-reductions    operands of reductions may be copied, too\n"
    "  --keep-unit-dims           dimensions of size 1 keep a device dimension, as in torch-spyre today\n"
    "  --device-formats           what the device has no kernel for, in its data format, is left to the host\n"
    "  --release NAME             how work is shared: spans and costs of torch-spyre in August or June 2026\n"
    "  --solver NAME              what stays in the scratchpad of the cores (LX): exact; or torch-spyre's greedy,\n"
    "                             firstfit, bestfit\n"
    "  --lx-fraction F            leave so much of LX to the backend, 0 to 1; 0.2 if not given\n"
    "  --memory                   where each tensor lives, from when to when, and why\n"
    "  --explain NAME             one operation: its loops, and how it reads and writes each tensor; a '?' in a place\n"
    "                             is an index that the data says\n"
    "  --limit N                  at most N copies in the report; 20 if not given\n"
    "  --out DIR                  write the kernels (SuperDSC), the transfers (DCI), bundle.json and the report into a "
    "new\n"
    "                             or empty directory\n"
    "  --force                    DIR may hold an earlier bundle, which is replaced\n"
    "  --run                      run the plan on the simulated device, and compare every result with float64; exit\n"
    "                             status 1 where one is wrong\n"
    "  --seed N                   the inputs of --run are drawn with this seed; 1 if not given\n"
    "\n"
    "example:\n"
    "  $ tegula plan module_0001.jit_step.txt\n";

enum { OPT_CORES, OPT_MODEL, OPT_METHOD, OPT_BRANCHES, OPT_REDUCTIONS, OPT_UNIT_DIMS, OPT_FORMATS, OPT_RELEASE,
       OPT_SOLVER, OPT_FRACTION, OPT_MEMORY, OPT_EXPLAIN, OPT_LIMIT, OPT_OUT, OPT_FORCE, OPT_RUN,
       OPT_SEED };

/* The place of a word in a list; its first one if it is not given. */
static int choose(int *out, const char *option, const char *word, const char *const *names) {
    *out = 0;
    return word != NULL ? cli_choose(out, option, word, names) : CLI_OK;
}

static int read_branches(int64_t *out, const char *argument) {
    *out = 0;
    if (argument == NULL) return CLI_OK;
    cli_text text = cli_text_of("--max-branches", argument);
    int      status = cli_read_int(out, &text);
    if (status == CLI_OK && *out < 1) status = cli_fail_at(&text, 0, "the number of branches is 1 or more");
    free(text.bytes);
    return status;
}

static int read_params(tg_graph_params *out, const cli_args *args) {
    static const char *const models[] = {"tegula", "torch-spyre", NULL};
    static const char *const methods[] = {"exact", "greedy", "beam", NULL};
    int                      model, method;
    int                      status = choose(&model, "--model", args->option[OPT_MODEL], models);
    if (status == CLI_OK) status = choose(&method, "--method", args->option[OPT_METHOD], methods);
    if (status != CLI_OK) return status;
    memset(out, 0, sizeof *out);
    out->model = (tg_model)model;
    out->method = (tg_method)method;
    out->keep_unit_dims = args->option[OPT_UNIT_DIMS] != NULL;
    out->relay_reductions = args->option[OPT_REDUCTIONS] != NULL;
    return read_branches(&out->max_branches, args->option[OPT_BRANCHES]);
}

static int read_release(bool *june, const char *argument) {
    static const char *const releases[] = {"2026-08", "2026-06", NULL};
    int                      release;
    const int                status = choose(&release, "--release", argument, releases);
    *june = status == CLI_OK && release == 1;
    return status;
}

static int read_limit(int64_t *out, const char *argument) {
    *out = -1;
    if (argument == NULL) return CLI_OK;
    cli_text text = cli_text_of("--limit", argument);
    int      status = cli_read_int(out, &text);
    if (status == CLI_OK && *out < 0) status = cli_fail_at(&text, 0, "the number of copies is 0 or more");
    free(text.bytes);
    return status;
}

static int read_fraction(int64_t *lx_bytes, const char *argument) {
    char        *end = NULL;
    const double fraction = strtod(argument, &end);
    if (end == argument || *end != '\0') return cli_fail(CLI_USAGE, "--lx-fraction", "'%s' is no number", argument);
    if (tg_lx_capacity(lx_bytes, fraction, false, NULL) == TG_OK) return CLI_OK;
    return cli_fail(CLI_USAGE, "--lx-fraction", "%s is not in 0 to 1", argument);
}

static int read_memory(tg_memory_params *out, const cli_args *args) {
    static const char *const solvers[] = {"exact", "greedy", "firstfit", "bestfit", NULL};
    int                      solver;
    int                      status = choose(&solver, "--solver", args->option[OPT_SOLVER], solvers);
    memset(out, 0, sizeof *out);
    out->solver = (tg_solver)solver;
    out->has_lx_bytes = args->option[OPT_FRACTION] != NULL;
    if (status == CLI_OK && out->has_lx_bytes) status = read_fraction(&out->lx_bytes, args->option[OPT_FRACTION]);
    return status;
}

static int read_seed(int64_t *out, const char *argument) {
    *out = 1;
    if (argument == NULL) return CLI_OK;
    cli_text  text = cli_text_of("--seed", argument);
    const int status = cli_read_int(out, &text);
    free(text.bytes);
    return status;
}

static int read_cores(int32_t *out, const char *argument) {
    int64_t number = 0;
    *out = 0;
    if (argument == NULL) return CLI_OK;
    const int status = cli_read_count(&number, "--cores", argument, TG_MAX_CORES);
    *out = (int32_t)number;
    return status;
}

static int check_answer(const cli_args *args) {
    const char *out = args->option[OPT_OUT];
    if (out == NULL && args->option[OPT_FORCE] != NULL) return cli_fail(CLI_USAGE, "--force", "it is for --out DIR");
    if (out != NULL && args->option[OPT_EXPLAIN] != NULL)
        return cli_fail(CLI_USAGE, "--explain", "it prints one operation, --out writes all; ask for one");
    if (args->json && args->option[OPT_EXPLAIN] != NULL)
        return cli_fail(CLI_USAGE, "--explain", "it prints one operation as text, --json all; ask for one");
    return CLI_OK;
}

/* --run prints results, and no report. */
static int check_run(const cli_args *args) {
    if (args->option[OPT_RUN] == NULL && args->option[OPT_SEED] != NULL)
        return cli_fail(CLI_USAGE, "--seed", "it is for --run");
    if (args->option[OPT_RUN] == NULL) return CLI_OK;
    if (args->option[OPT_EXPLAIN] != NULL)
        return cli_fail(CLI_USAGE, "--explain", "it prints one operation, --run runs all; ask for one");
    if (args->option[OPT_MEMORY] != NULL && args->option[OPT_OUT] == NULL)
        return cli_fail(CLI_USAGE, "--memory", "it is for the report, --run prints results; ask for one");
    return CLI_OK;
}

/* Of a graph without a plan: is there one if reductions may restickify? */
static tg_graph_plan *try_relayed(const tg_graph *graph, tg_graph_params params) {
    tg_graph_plan *plan = NULL;
    tg_error       err;
    if (params.relay_reductions || params.method != TG_METHOD_EXACT) return NULL;
    params.relay_reductions = true;
    if (tg_graph_plan_create(&plan, graph, &params, &err) != TG_OK) return NULL;
    if (!tg_graph_plan_summary(plan).feasible) tg_graph_plan_destroy(&plan);
    return plan;
}

static void tell_written(const plan_written *w, const char *directory) {
    char text[64];
    printf("\n%s: %s, ", directory, hlo_plural(text, w->kernels, "kernel"));
    printf("%s", hlo_plural(text, w->transfers, "transfer"));
    if (w->host > 0) printf(", %s for the host (bundle.json says why)", hlo_plural(text, w->host, "step"));
    putchar('\n');
}

static int show(plan_view *view, const cli_args *args, const tg_graph_params *params) {
    const bool     feasible = tg_graph_plan_summary(view->plan).feasible;
    const char    *out = args->option[OPT_OUT];
    tg_graph_plan *relayed = feasible ? NULL : try_relayed(view->graph, *params);
    int            status = CLI_OK;
    view->relayed = relayed;
    plan_written   written = {0, 0, 0};
    if (feasible && out != NULL) status = plan_write(&written, view, out, args->option[OPT_FORCE] != NULL);
    if (status != CLI_OK) return status;
    if (args->option[OPT_RUN] != NULL && feasible) status = plan_run(view, args->json);
    else if (args->option[OPT_EXPLAIN] != NULL && feasible) status = plan_explain(view, args->option[OPT_EXPLAIN]);
    else status = args->json ? plan_put_json(view) : plan_put_report(stdout, view);
    if (feasible && out != NULL && !args->json) tell_written(&written, out);
    if (!feasible && status == CLI_OK) status = plan_complain(view);
    tg_graph_plan_destroy(&relayed);
    return status;
}

/* Memory first, if there is a plan. */
static int show_with_memory(plan_view *view, const cli_args *args, const tg_graph_params *params,
                            tg_memory_params *memory_params) {
    tg_memory *memory = NULL;
    tg_error   err;
    int        status;
    memory_params->division = plan_division_params(view);
    if (tg_graph_plan_summary(view->plan).feasible && (status = plan_check_splits(view)) != CLI_OK) return status;
    if (tg_graph_plan_summary(view->plan).feasible &&
        tg_memory_create(&memory, view->graph, view->plan, memory_params, &err) != TG_OK)
        return cli_fail_error("plan", &err);
    view->memory = memory;
    status = show(view, args, params);
    tg_memory_destroy(&memory);
    return status;
}

static tg_status make_plan(plan_view *view, tg_graph_plan **plan, tg_graph *graph, const tg_graph_params *params,
                           bool formats, tg_error *err) {
    if (!formats) return tg_graph_plan_create(plan, graph, params, err);
    view->arrangements = cli_allocate((size_t)tg_graph_count(graph) * sizeof *view->arrangements + 1);
    return tg_graph_plan_for_device(plan, view->arrangements, graph, params, err);
}

static int plan_graph(tg_graph *graph, const tg_program *program, const tg_hlo_module *module, const char *name,
                      const cli_args *args) {
    plan_view        view = {.name = name, .module = tg_hlo_get_header(module).name, .graph = graph, .limit = -1,
                             .list_memory = args->option[OPT_MEMORY] != NULL, .program = program};
    tg_graph_params  params;
    tg_memory_params memory_params;
    tg_graph_plan   *plan = NULL;
    tg_error         err;
    int              status = read_params(&params, args);
    if (status == CLI_OK) status = read_memory(&memory_params, args);
    if (status == CLI_OK) status = read_limit(&view.limit, args->option[OPT_LIMIT]);
    if (status == CLI_OK) status = read_cores(&view.cores, args->option[OPT_CORES]);
    if (status == CLI_OK) status = read_release(&view.june, args->option[OPT_RELEASE]);
    if (status == CLI_OK) status = read_seed(&view.seed, args->option[OPT_SEED]);
    if (status == CLI_OK) status = check_answer(args);
    if (status == CLI_OK) status = check_run(args);
    if (status != CLI_OK) return status;
    if (make_plan(&view, &plan, graph, &params, args->option[OPT_FORMATS] != NULL, &err) == TG_OK) {
        view.plan = plan;
        status = show_with_memory(&view, args, &params, &memory_params);
    } else {
        status = cli_fail_error("plan", &err);
    }
    tg_graph_plan_destroy(&plan);
    free(view.arrangements);
    return status;
}

/* What nodes calculate is read only for who wants it. */
static tg_status add_module(tg_program *program, tg_graph *graph, const tg_hlo_module *module, const cli_args *args,
                            tg_error *err) {
    if (args->option[OPT_RUN] != NULL) return tg_program_add_hlo(program, graph, module, err);
    return tg_graph_add_hlo(graph, module, err);
}

static int fail_adding(const cli_text *text, const tg_error *err) {
    if (err->pos == 0) return cli_fail_error(text->name, err);
    (void)cli_fail_at(text, err->pos, "%s", err->message);
    return cli_status_of(err->status);
}

static int plan_text(const hlo_dump *d, const cli_args *args) {
    tg_hlo_module *module = NULL;
    tg_graph      *graph = NULL;
    tg_program    *program = NULL;
    tg_error       err;
    int            status = CLI_OK;
    if (tg_hlo_parse(&module, d->text.bytes, d->text.len, &err) != TG_OK) return hlo_fail_reading(&d->text, &err);
    if (tg_graph_create(&graph, &err) != TG_OK || tg_program_create(&program, &err) != TG_OK ||
        add_module(program, graph, module, args, &err) != TG_OK)
        status = fail_adding(&d->text, &err);
    else status = plan_graph(graph, program, module, d->text.name, args);
    tg_program_destroy(&program);
    tg_graph_destroy(&graph);
    tg_hlo_destroy(&module);
    return status;
}

static int run(const cli_args *args) {
    hlo_dump d;
    int      status = hlo_open(&d, args->argument[0]);
    if (status == CLI_OK) status = plan_text(&d, args);
    hlo_close(&d);
    return status;
}

const cli_command cli_plan = {
    .name = "plan",
    .summary = "choose Spyre layouts for a graph, with the fewest bytes copied",
    .help = help,
    .arguments = {"FILE"},
    .options = {{"cores", "a number"},
                {"model", "tegula or torch-spyre"},
                {"method", "exact, greedy or beam"},
                {"max-branches", "a number"},
                {"restickify-reductions", NULL},
                {"keep-unit-dims", NULL},
                {"device-formats", NULL},
                {"release", "2026-08 or 2026-06"},
                {"solver", "exact, greedy, firstfit or bestfit"},
                {"lx-fraction", "a number"},
                {"memory", NULL},
                {"explain", "a name"},
                {"limit", "a number"},
                {"out", "a directory"},
                {"force", NULL},
                {"run", NULL},
                {"seed", "a number"}},
    .run = run,
};
