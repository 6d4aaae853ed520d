/* The files of a bundle: a SuperDSC for each kernel, DCI for what goes to the device and comes back, the report, and
 * bundle.json, which says how they belong together. Everything is written as it is made: there may be very many. */
#include "dma.h"
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include <tegula/sdsc.h>

enum { NAME = 128 };

typedef struct bundle_view {
    const plan_view *view;
    const tg_bundle *bundle;
    const char      *directory;
    plan_written    *out;
    char            *text; /* of a SuperDSC */
    size_t           cap;
    bool            *goes, *comes; /* of each step: there is DCI of its tensor, to the device and back */
    json_t         **refused;      /* why there is none, where it was wanted */
} bundle_view;

static tg_plan_step step_at(const bundle_view *b, int64_t i) { return tg_graph_plan_step(b->view->plan, i); }
static int64_t      count_steps(const bundle_view *b) { return tg_graph_plan_step_count(b->view->plan); }

/* ---- kernels ------------------------------------------------------------------------------------ */

static const char *kernel_name(char name[NAME], const bundle_view *b, int64_t i) {
    size_t need = 0;
    name[0] = '\0';
    (void)tg_bundle_format_name(name, NAME, &need, b->bundle, i, NULL);
    return name;
}

/* The text of kernel i with its line end, in b->text. */
static int format_kernel(size_t *len, bundle_view *b, int64_t i) {
    tg_error err;
    if (tg_bundle_format_sdsc(b->text, b->cap, len, b->bundle, i, &err) != TG_OK)
        return cli_fail_error("SuperDSC", &err);
    if (*len + 1 < b->cap) return CLI_OK;
    free(b->text);
    b->cap = 2 * *len + NAME;
    b->text = cli_allocate(b->cap);
    return format_kernel(len, b, i);
}

static int write_kernel(bundle_view *b, int64_t i) {
    char   name[NAME], file_name[2 * NAME];
    size_t len = 0;
    int    status = format_kernel(&len, b, i);
    if (status != CLI_OK) return status;
    (void)snprintf(file_name, sizeof file_name, "%s.json", kernel_name(name, b, i));
    FILE *file = plan_open_file(b->directory, file_name);
    if (file == NULL) return CLI_IO;
    b->text[len] = '\n';
    (void)fwrite(b->text, 1, len + 1, file);
    b->out->kernels++;
    return plan_close_file(file, file_name, CLI_OK);
}

/* ---- transfers ------------------------------------------------------------------------------------- */

static const char *dci_name(char name[NAME], int64_t step, bool to_device) {
    (void)snprintf(name, NAME, "dci_%lld_%s.json", (long long)step, to_device ? "h2d" : "d2h");
    return name;
}

/* The host tensor of a step as a DMA program sees it. */
static tg_status open_program(dma_program *p, const bundle_view *b, const tg_plan_step *s, bool to_device,
                              tg_error *err) {
    memset(p, 0, sizeof *p);
    p->desc.notation = TG_NOTATION_SPYRE;
    p->desc.host = tg_graph_get(b->view->graph, s->node).host;
    p->desc.spyre = s->layout;
    p->host_strides = p->desc.host.strides;
    p->params = (tg_dma_params){.direction = to_device ? TG_HOST_TO_DEVICE : TG_DEVICE_TO_HOST, .per_mode = true};
    const tg_host *h = &p->desc.host;
    tg_status      status = tg_layout_from_spyre(&p->desc.layout, &p->desc.spyre, h, err);
    if (status == TG_OK)
        status = tg_layout_strided(&p->host, h->dtype, h->ndim, h->shape, h->strides, h->offset, err);
    p->params.device = &p->desc.layout;
    p->params.host = &p->host;
    return status == TG_OK ? tg_dma_build(p->chunk, CLI_DMA_CHUNK, &p->count, &p->params, err) : status;
}

/* Where there is no such transfer the manifest says why, and the rest goes on. */
static int write_dci(bundle_view *b, int64_t i, bool to_device) {
    const tg_plan_step s = step_at(b, i);
    bool *const        there = to_device ? &b->goes[i] : &b->comes[i];
    char               name[NAME];
    tg_error           err;
    if (!s.on_device || *there || b->refused[i] != NULL) return CLI_OK;
    dma_program *const p = cli_allocate(sizeof *p);
    int                status = CLI_OK;
    if (open_program(p, b, &s, to_device, &err) != TG_OK) b->refused[i] = cli_json_text(err.message);
    else {
        FILE *file = plan_open_file(b->directory, dci_name(name, i, to_device));
        status = file != NULL ? cli_next_descriptors(p) : CLI_IO;
        if (status == CLI_OK) status = cli_put_dci(file, p);
        if (file != NULL) status = plan_close_file(file, name, status);
        *there = true;
        b->out->transfers++;
    }
    free(p);
    return status;
}

/* Inputs and constants go, outputs come; a step of the host takes its operands and brings its result. */
static int write_transfers(bundle_view *b) {
    const tg_graph *g = b->view->graph;
    int             status = CLI_OK;
    for (int64_t i = 0; i < count_steps(b) && status == CLI_OK; i++) {
        const tg_duty duty = tg_bundle_get_step(b->bundle, i).duty;
        const int32_t n = duty == TG_DUTY_HOST ? step_at(b, i).noperands : 0;
        if (duty != TG_DUTY_DEVICE) status = write_dci(b, i, true);
        for (int32_t k = 0; k < n && status == CLI_OK; k++)
            status = write_dci(b, tg_graph_plan_step_operand(b->view->plan, i, k), false);
    }
    for (int64_t i = 0; i < tg_graph_output_count(g) && status == CLI_OK; i++)
        status = write_dci(b, tg_graph_plan_node_step(b->view->plan, tg_graph_output(g, i).node), false);
    return status;
}

/* ---- the manifest ------------------------------------------------------------------------------------ */

static json_t *json_dci(const bundle_view *b, int64_t step, bool to_device) {
    char name[NAME];
    return (to_device ? b->goes : b->comes)[step] ? cli_json_text(dci_name(name, step, to_device)) : json_null();
}

/* "k", "k restickified", "k filled" */
static json_t *json_tensor_name(const bundle_view *b, const tg_plan_step *s) {
    static const char *const behind[] = {"", " restickified", " filled"};
    json_t                  *name = plan_json_node(b->view, s->node);
    if (s->kind == TG_STEP_NODE) return name;
    json_t *whole = json_sprintf("%s%s", json_string_value(name), behind[s->kind]);
    if (whole == NULL) return name;
    json_decref(name);
    return whole;
}

static json_t *json_layout(const bundle_view *b, const tg_plan_step *s) {
    char   *text = plan_layout_text(b->view, s->node, &s->layout);
    json_t *value = cli_json_text(text);
    free(text);
    return value;
}

static json_t *json_buffer(const bundle_view *b, int64_t i) {
    const tg_plan_step   s = step_at(b, i);
    const tg_bundle_step at = tg_bundle_get_step(b->bundle, i);
    json_t              *o = cli_json_object();
    cli_json_put(o, "id", cli_json_int(i));
    cli_json_put(o, "name", json_tensor_name(b, &s));
    cli_json_put(o, "memory", cli_json_text(!s.on_device ? "host" : at.in_lx ? "lx" : "hbm"));
    cli_json_put(o, "address", s.on_device ? cli_json_int(at.address) : json_null());
    cli_json_put(o, "bytes", cli_json_int(s.bytes));
    cli_json_put(o, "layout", s.on_device ? json_layout(b, &s) : json_null());
    if (b->view->memory != NULL && tg_memory_get(b->view->memory, i).in_place_of >= 0)
        cli_json_put(o, "in_place_of", cli_json_int(tg_memory_get(b->view->memory, i).in_place_of));
    if (b->refused[i] != NULL) cli_json_put(o, "no_dci", json_incref(b->refused[i]));
    return o;
}

static json_t *json_zeros(const bundle_view *b) {
    json_t *o = cli_json_object();
    cli_json_put(o, "id", cli_json_int(count_steps(b)));
    cli_json_put(o, "name", cli_json_text("zeros"));
    cli_json_put(o, "memory", cli_json_text("hbm"));
    cli_json_put(o, "address", cli_json_int(tg_bundle_zeros(b->bundle)));
    cli_json_put(o, "bytes", cli_json_int(TG_SPYRE_STICK_BYTES));
    cli_json_put(o, "layout", json_null());
    return o;
}

static void put_item(FILE *file, bool *first, json_t *value) {
    if (!*first) putc(',', file);
    *first = false;
    putc('\n', file);
    cli_put_json(file, value);
}

static void put_buffers(FILE *file, const bundle_view *b) {
    bool first = true;
    fputs(",\"buffers\":[", file);
    for (int64_t i = 0; i < count_steps(b); i++) put_item(file, &first, json_buffer(b, i));
    if (tg_bundle_zeros(b->bundle) >= 0) put_item(file, &first, json_zeros(b));
    putc(']', file);
}

/* Inputs, or constants. */
static void put_data(FILE *file, const bundle_view *b, const char *key, bool inputs) {
    bool first = true;
    fprintf(file, ",\"%s\":[", key);
    for (int64_t i = 0; i < count_steps(b); i++) {
        const tg_node_info info = tg_graph_get(b->view->graph, step_at(b, i).node);
        if (tg_bundle_get_step(b->bundle, i).duty != TG_DUTY_NONE) continue;
        if ((info.kind == TG_NODE_INPUT) != inputs) continue;
        json_t *o = cli_json_object();
        cli_json_put(o, "name", plan_json_node(b->view, step_at(b, i).node));
        cli_json_put(o, "buffer", cli_json_int(i));
        cli_json_put(o, "dtype", cli_json_text(tg_dtype_name(info.host.dtype)));
        cli_json_put(o, "shape", cli_json_ints(info.host.shape, info.host.ndim));
        cli_json_put(o, "strides", cli_json_ints(info.host.strides, info.host.ndim));
        cli_json_put(o, "dci", json_dci(b, i, true));
        put_item(file, &first, o);
    }
    putc(']', file);
}

static void put_outputs(FILE *file, const bundle_view *b) {
    bool first = true;
    fputs(",\"outputs\":[", file);
    for (int64_t i = 0; i < tg_graph_output_count(b->view->graph); i++) {
        const tg_output out = tg_graph_output(b->view->graph, i);
        const int64_t   step = tg_graph_plan_node_step(b->view->plan, out.node);
        json_t         *o = cli_json_object();
        cli_json_put(o, "name", plan_json_node(b->view, out.node));
        cli_json_put(o, "buffer", cli_json_int(step));
        cli_json_put(o, "dtype", cli_json_text(tg_dtype_name(out.view.dtype)));
        cli_json_put(o, "shape", cli_json_ints(out.view.shape, out.view.ndim));
        cli_json_put(o, "strides", cli_json_ints(out.view.strides, out.view.ndim));
        cli_json_put(o, "offset", cli_json_int(out.view.offset));
        cli_json_put(o, "dci", json_dci(b, step, false));
        put_item(file, &first, o);
    }
    putc(']', file);
}

static json_t *json_reads(const bundle_view *b, int64_t i, bool by_host) {
    json_t *list = cli_json_array();
    for (int32_t k = 0; k < step_at(b, i).noperands; k++) {
        const int64_t source = tg_graph_plan_step_operand(b->view->plan, i, k);
        if (!by_host) {
            cli_json_add(list, cli_json_int(source));
            continue;
        }
        json_t *o = cli_json_object();
        cli_json_put(o, "buffer", cli_json_int(source));
        cli_json_put(o, "dci", json_dci(b, source, false));
        cli_json_add(list, o);
    }
    return list;
}

static json_t *json_files(const bundle_view *b, const tg_bundle_step *at) {
    json_t *list = cli_json_array();
    for (int64_t k = at->first_kernel; k < at->first_kernel + at->nkernels; k++) {
        char name[NAME], file[2 * NAME];
        (void)snprintf(file, sizeof file, "%s.json", kernel_name(name, b, k));
        cli_json_add(list, cli_json_text(file));
    }
    return list;
}

static json_t *json_step(const bundle_view *b, int64_t i, const tg_bundle_step *at) {
    const tg_plan_step s = step_at(b, i);
    const bool         by_host = at->duty == TG_DUTY_HOST;
    json_t            *o = cli_json_object();
    cli_json_put(o, "name", json_tensor_name(b, &s));
    cli_json_put(o, "kind", cli_json_text(tg_step_kind_name(s.kind)));
    if (s.kind == TG_STEP_NODE) cli_json_put(o, "opcode", hlo_json_text(tg_graph_get(b->view->graph, s.node).opcode));
    cli_json_put(o, "runs_on", cli_json_text(tg_duty_name(at->duty)));
    if (by_host) cli_json_put(o, "why", hlo_json_text(at->why));
    else cli_json_put(o, "kernels", json_files(b, at));
    cli_json_put(o, "reads", json_reads(b, i, by_host));
    cli_json_put(o, "writes", cli_json_int(i));
    if (by_host) cli_json_put(o, "dci", json_dci(b, i, true));
    return o;
}

static void put_steps(FILE *file, const bundle_view *b) {
    bool first = true;
    fputs(",\"steps\":[", file);
    for (int64_t i = 0; i < count_steps(b); i++) {
        const tg_bundle_step at = tg_bundle_get_step(b->bundle, i);
        if (at.duty == TG_DUTY_NONE) continue;
        b->out->host += at.duty == TG_DUTY_HOST;
        put_item(file, &first, json_step(b, i, &at));
    }
    putc(']', file);
}

/* Which steps run in rounds, by the buffers that they write. */
static void put_loops(FILE *file, const bundle_view *b) {
    const tg_graph_plan *plan = b->view->plan;
    bool                 first = true;
    fputs(",\"loops\":[", file);
    for (int64_t i = 0; i < tg_graph_loop_count(b->view->graph); i++) {
        const tg_loop loop = tg_graph_loop(b->view->graph, i);
        json_t       *o = cli_json_object();
        const int64_t begin = loop.first > 0 ? tg_graph_plan_node_step(plan, loop.first - 1) + 1 : 0;
        cli_json_put(o, "first", cli_json_int(begin));
        cli_json_put(o, "last", cli_json_int(tg_graph_plan_node_step(plan, loop.end - 1)));
        cli_json_put(o, "while", loop.test >= 0 ? cli_json_int(tg_graph_plan_node_step(plan, loop.test)) : json_null());
        put_item(file, &first, o);
    }
    putc(']', file);
}

static int write_manifest(const bundle_view *b) {
    static const char name[] = "bundle.json";
    FILE             *file = plan_open_file(b->directory, name);
    if (file == NULL) return CLI_IO;
    fputs("{\"schema\":\"tegula.bundle/1\",\"module\":", file);
    cli_put_json(file, hlo_json_text(b->view->module));
    fprintf(file, ",\"cores\":%d,\"report\":\"report.txt\"", b->view->cores > 0 ? b->view->cores : TG_MAX_CORES);
    put_data(file, b, "inputs", true);
    put_data(file, b, "constants", false);
    put_outputs(file, b);
    put_steps(file, b);
    put_loops(file, b);
    put_buffers(file, b);
    fputs("}\n", file);
    return plan_close_file(file, name, CLI_OK);
}

/* ---- the report ------------------------------------------------------------------------------------------ */

static int write_report(const bundle_view *b) {
    static const char name[] = "report.txt";
    FILE             *file = plan_open_file(b->directory, name);
    if (file == NULL) return CLI_IO;
    return plan_close_file(file, name, plan_put_report(file, b->view));
}

/* ---- the whole ---------------------------------------------------------------------------------------------- */

static int write_files(bundle_view *b) {
    int status = CLI_OK;
    for (int64_t i = 0; i < tg_bundle_kernel_count(b->bundle) && status == CLI_OK; i++) status = write_kernel(b, i);
    if (status == CLI_OK) status = write_transfers(b);
    if (status == CLI_OK) status = write_report(b);
    return status == CLI_OK ? write_manifest(b) : status;
}

static void *zeroed(size_t n, size_t size) {
    void *memory = cli_allocate((n + 1) * size);
    memset(memory, 0, (n + 1) * size);
    return memory;
}

int plan_write_bundle(plan_written *out, const plan_view *view, const char *directory) {
    const tg_bundle_params params = {.division = plan_division_params(view), .memory = view->memory};
    const size_t           n = (size_t)tg_graph_plan_step_count(view->plan);
    tg_bundle             *bundle = NULL;
    tg_error               err;
    if (tg_bundle_create(&bundle, view->graph, view->plan, &params, &err) != TG_OK)
        return cli_fail_error("plan", &err);
    bundle_view b = {.view = view, .bundle = bundle, .directory = directory, .out = out,
                     .goes = zeroed(n, sizeof(bool)), .comes = zeroed(n, sizeof(bool)),
                     .refused = zeroed(n, sizeof(json_t *)), .cap = 1 << 14, .text = cli_allocate(1 << 14)};
    const int status = write_files(&b);
    for (size_t i = 0; i < n; i++) json_decref(b.refused[i]);
    free(b.refused);
    free(b.goes);
    free(b.comes);
    free(b.text);
    tg_bundle_destroy(&bundle);
    return status;
}
