/* bundle.json: what the files of a bundle are, and how they belong together. An item of a list is a line. */
#include "graph/bundle.h"
#include "graph/report.h"

enum { NAME = 128 };

/* A line for the next item. */
static void open_item(tg_json *j) {
    if (j->comma) tg_put_char(&j->w, ',');
    tg_put_text(&j->w, "\n{");
    j->comma = false;
}

static void put_file(tg_json *j, const char *key, const tg_bundle *b, int64_t kernel) {
    char   name[NAME] = "";
    size_t need = 0;
    (void)tg_bundle_format_name(name, sizeof name, &need, b, kernel, NULL);
    tg_json_key(j, key);
    tg_put_char(&j->w, '"');
    tg_put_text(&j->w, name);
    tg_put_text(&j->w, ".json\"");
}

static void put_dci(tg_json *j, const tg_bundle *b, int64_t step, bool to_device) {
    const tg_bundle_row *row = &b->steps.rows[step];
    tg_json_key(j, "dci");
    if (!(to_device ? row->goes : row->comes)) {
        tg_put_text(&j->w, "null");
        return;
    }
    tg_put_text(&j->w, "\"dci_");
    tg_put_int(&j->w, step);
    tg_put_text(&j->w, to_device ? "_h2d.json\"" : "_d2h.json\"");
}

static void put_ints(tg_json *j, const char *key, const int64_t *values, int32_t n) {
    tg_json_open(j, key, '[');
    for (int32_t i = 0; i < n; i++) tg_json_int(j, NULL, values[i]);
    tg_json_close(j, ']');
}

/* "k", "k restickified", "k filled" */
static void put_tensor(tg_json *j, const tg_bundle *b, const tg_plan_step *s) {
    static const char *const behind[] = {"", " restickified", " filled"};
    tg_json_name(j, "name", b->graph, s->node, behind[s->kind]);
}

/* ---- what goes in and out ------------------------------------------------------------------------- */

static void put_host(tg_json *j, const tg_host *host) {
    tg_json_words(j, "dtype", tg_dtype_name(host->dtype));
    put_ints(j, "shape", host->shape, host->ndim);
    put_ints(j, "strides", host->strides, host->ndim);
}

/* Inputs, or constants. */
static void put_data(tg_json *j, const tg_bundle *b, const char *key, bool inputs) {
    tg_json_open(j, key, '[');
    for (int64_t i = 0; i < (int64_t)b->steps.count; i++) {
        const tg_plan_step s = tg_graph_plan_step(b->plan, i);
        const tg_node_row *n = tg_node_at(b->graph, s.node);
        if (b->steps.rows[i].duty != TG_DUTY_NONE || (n->kind == TG_NODE_INPUT) != inputs) continue;
        open_item(j);
        tg_json_node(j, "name", b->graph, s.node);
        tg_json_int(j, "buffer", i);
        put_host(j, &n->host);
        put_dci(j, b, i, true);
        tg_json_close(j, '}');
    }
    tg_json_close(j, ']');
}

static void put_outputs(tg_json *j, const tg_bundle *b) {
    tg_json_open(j, "outputs", '[');
    for (size_t i = 0; i < b->outputs.count; i++) {
        const tg_output out = b->outputs.rows[i];
        const int64_t   step = tg_graph_plan_node_step(b->plan, out.node);
        open_item(j);
        tg_json_node(j, "name", b->graph, out.node);
        tg_json_int(j, "buffer", step);
        put_host(j, &out.view);
        tg_json_int(j, "offset", out.view.offset);
        put_dci(j, b, step, false);
        tg_json_close(j, '}');
    }
    tg_json_close(j, ']');
}

/* ---- steps, loops, buffers ------------------------------------------------------------------------- */

static void put_reads(tg_json *j, const tg_bundle *b, int64_t i, int32_t noperands, bool by_host) {
    tg_json_open(j, "reads", '[');
    for (int32_t k = 0; k < noperands; k++) {
        const int64_t source = tg_graph_plan_step_operand(b->plan, i, k);
        if (!by_host) {
            tg_json_int(j, NULL, source);
            continue;
        }
        tg_json_open(j, NULL, '{');
        tg_json_int(j, "buffer", source);
        put_dci(j, b, source, false);
        tg_json_close(j, '}');
    }
    tg_json_close(j, ']');
}

static void put_kernels(tg_json *j, const tg_bundle *b, const tg_bundle_row *row) {
    tg_json_open(j, "kernels", '[');
    for (int64_t k = 0; k < row->nkernels; k++) put_file(j, NULL, b, row->first_kernel + k);
    tg_json_close(j, ']');
}

static void put_step(tg_json *j, const tg_bundle *b, int64_t i, const tg_bundle_row *row) {
    const tg_plan_step s = tg_graph_plan_step(b->plan, i);
    const bool         by_host = row->duty == TG_DUTY_HOST;
    open_item(j);
    put_tensor(j, b, &s);
    tg_json_words(j, "kind", tg_step_kind_name(s.kind));
    if (s.kind == TG_STEP_NODE) tg_json_hlo(j, "opcode", tg_graph_get(b->graph, s.node).opcode);
    tg_json_words(j, "runs_on", tg_duty_name(row->duty));
    if (by_host) tg_json_bytes(j, "why", b->chars.rows + row->why, row->why_len);
    else put_kernels(j, b, row);
    put_reads(j, b, i, s.noperands, by_host);
    tg_json_int(j, "writes", i);
    if (by_host) put_dci(j, b, i, true);
    tg_json_close(j, '}');
}

static void put_steps(tg_json *j, const tg_bundle *b) {
    tg_json_open(j, "steps", '[');
    for (int64_t i = 0; i < (int64_t)b->steps.count; i++)
        if (b->steps.rows[i].duty != TG_DUTY_NONE) put_step(j, b, i, &b->steps.rows[i]);
    tg_json_close(j, ']');
}

/* Which steps run in rounds, by the buffers that they write. */
static void put_loops(tg_json *j, const tg_bundle *b) {
    tg_json_open(j, "loops", '[');
    for (int64_t i = 0; i < tg_graph_loop_count(b->graph); i++) {
        const tg_loop loop = tg_graph_loop(b->graph, i);
        open_item(j);
        tg_json_int(j, "first", loop.first > 0 ? tg_graph_plan_node_step(b->plan, loop.first - 1) + 1 : 0);
        tg_json_int(j, "last", tg_graph_plan_node_step(b->plan, loop.end - 1));
        tg_json_number(j, "while", loop.test >= 0 ? tg_graph_plan_node_step(b->plan, loop.test) : 0, loop.test >= 0);
        tg_json_close(j, '}');
    }
    tg_json_close(j, ']');
}

static void put_buffer(tg_json *j, const tg_bundle *b, int64_t i) {
    const tg_plan_step   s = tg_graph_plan_step(b->plan, i);
    const tg_bundle_row *row = &b->steps.rows[i];
    open_item(j);
    tg_json_int(j, "id", i);
    put_tensor(j, b, &s);
    tg_json_words(j, "memory", !s.on_device ? "host" : row->in_lx ? "lx" : "hbm");
    tg_json_number(j, "address", row->address, s.on_device);
    tg_json_int(j, "bytes", s.bytes);
    if (row->in_lx) tg_json_int(j, "core_bytes", row->core_bytes);
    if (s.on_device) tg_json_layout(j, "layout", b->graph, s.node, &s.layout);
    else tg_json_raw(j, "layout", "null");
    if (row->in_place_of >= 0) tg_json_int(j, "in_place_of", row->in_place_of);
    if (row->refused_len > 0) tg_json_bytes(j, "no_dci", b->chars.rows + row->refused, row->refused_len);
    tg_json_close(j, '}');
}

static void put_zeros(tg_json *j, const tg_bundle *b) {
    open_item(j);
    tg_json_int(j, "id", (int64_t)b->steps.count);
    tg_json_text(j, "name", "zeros");
    tg_json_text(j, "memory", "hbm");
    tg_json_int(j, "address", b->zeros);
    tg_json_int(j, "bytes", TG_SPYRE_STICK_BYTES);
    tg_json_raw(j, "layout", "null");
    tg_json_close(j, '}');
}

static void put_buffers(tg_json *j, const tg_bundle *b) {
    tg_json_open(j, "buffers", '[');
    for (int64_t i = 0; i < (int64_t)b->steps.count; i++) put_buffer(j, b, i);
    if (b->zeros >= 0) put_zeros(j, b);
    tg_json_close(j, ']');
}

size_t tg_bundle_format_manifest(char *buf, size_t cap, const tg_bundle *bundle, tg_hlo_text module) {
    const int32_t cores = bundle->params.division.cores;
    tg_json       j = {tg_writer_make(buf, cap), false};
    tg_json_open(&j, NULL, '{');
    tg_json_text(&j, "schema", "tegula.bundle/1");
    tg_json_hlo(&j, "module", module);
    tg_json_int(&j, "cores", cores > 0 ? cores : TG_MAX_CORES);
    tg_json_text(&j, "report", "report.txt");
    put_data(&j, bundle, "inputs", true);
    put_data(&j, bundle, "constants", false);
    put_outputs(&j, bundle);
    put_steps(&j, bundle);
    put_loops(&j, bundle);
    put_buffers(&j, bundle);
    tg_json_close(&j, '}');
    return tg_writer_end(&j.w);
}
