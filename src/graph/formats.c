/* Which operations the device has kernels for, in which data formats, and which types it converts. Source: torch-spyre;
 * its names are in the comments where HLO has another one.
 *
 * SEN169_FP16 has a kernel for everything, IEEE_FP32 for what is listed here, and all formats can be moved as they are:
 * pieced together, read at other places, carried from round to round. */
#include <tegula/rules.h>

#include "base/error.h"
#include "graph/model.h"

#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const char *const moving[] = {
    "add-dependency", "all-gather", "bitcast", "broadcast", "collective-broadcast", "collective-permute", "concatenate",
    "conditional", "constant", "copy", "dynamic-slice", "dynamic-update-slice", "gather", "get-tuple-element", "iota",
    "pad", "parameter", "reduce-scatter", "reshape", "scatter", "slice", "transpose", "tuple", "while",
};

static const char *const on_fp32[] = {
    "abs", "add", "compare", "divide", /* realdiv, reciprocal */ "exponential", "floor", "logistic", /* sigmoid */
    "maximum", /* relu */ "minimum", "multiply", "negate", "reduce", "rsqrt", "select", /* where */ "sqrt", "subtract",
    "topk", "exx2", "layernormnorm", "layernormscale",
};

static bool lists(const char *const *words, size_t n, tg_hlo_text word) {
    for (size_t i = 0; i < n; i++)
        if (tg_hlo_text_is(word, words[i])) return true;
    return false;
}

bool tg_has_kernel(tg_hlo_text opcode, tg_format format) {
    if (lists(moving, COUNT(moving), opcode) || format == TG_SEN169_FP16) return true;
    return format == TG_IEEE_FP32 && lists(on_fp32, COUNT(on_fp32), opcode);
}

/* clang-format off */
static const struct { tg_dtype from, to; const char *kernel; } casts[] = {
    {TG_F16,      TG_BF16, "identity"},
    {TG_BF16,     TG_F16,  "identity"},
    {TG_F16,      TG_PRED, "identity"},
    {TG_BF16,     TG_PRED, "identity"},
    {TG_F32,      TG_PRED, "identity"},
    {TG_F16,      TG_F32,  "dl16tofp32"},
    {TG_BF16,     TG_F32,  "dl16tofp32"},
    {TG_F32,      TG_F16,  "fp32todl16"},
    {TG_F32,      TG_BF16, "fp32todl16"},
    {TG_F8E4M3FN, TG_F16,  "fp8todl16"},
};
/* clang-format on */

const char *tg_cast_kernel(tg_dtype from, tg_dtype to) {
    if (from == to) return "identity";
    for (size_t i = 0; i < COUNT(casts); i++)
        if (casts[i].from == from && casts[i].to == to) return casts[i].kernel;
    return NULL;
}

/* ---- of a graph ------------------------------------------------------------------------- */

static bool put_text(tg_graph *g, const char *text, size_t len) {
    if (!tg_char_rows_reserve(&g->chars, len)) return false;
    memcpy(g->chars.rows + g->chars.count, text, len);
    g->chars.count += len;
    return true;
}

tg_status tg_graph_make_boundary(tg_graph *graph, int64_t node, tg_hlo_text reason, tg_error *err) {
    if (node < 0 || node >= tg_graph_count(graph))
        return tg_fail(err, TG_ERR_ARGUMENT, "there is no node %d of %d", node, tg_graph_count(graph));
    tg_node_row *n = &graph->nodes.rows[node];
    const size_t at = graph->chars.count;
    if (n->kind == TG_NODE_INPUT) return tg_fail(err, TG_ERR_ARGUMENT, "node %d is an input", node);
    if (reason.len > 0 && !put_text(graph, reason.chars, reason.len)) return tg_graph_no_memory(err);
    n->kind = TG_NODE_BOUNDARY;
    n->reason = at;
    n->reason_len = (uint32_t)reason.len;
    n->npins = n->nwishes = n->ntiles = 0;
    return TG_OK;
}

static bool is_product(const tg_node_row *n) {
    return n->kind == TG_NODE_MATMUL || n->kind == TG_NODE_CONVOLUTION;
}

/* The format that the device has no kernel in; TG_FORMAT_INVALID if there is none. */
static tg_format missing_format(const tg_graph *g, const tg_node_row *n, tg_hlo_text opcode) {
    const uint32_t most = is_product(n) ? n->noperands : n->kind == TG_NODE_SEARCH && n->noperands > 0;
    if (n->kind != TG_NODE_SEARCH && !tg_has_kernel(opcode, n->format)) return n->format;
    for (uint32_t k = 0; k < most; k++) { /* places that a search finds come in a format of their own */
        const tg_format format = tg_node_at(g, g->accesses.rows[n->first_operand + k].node)->format;
        if (!tg_has_kernel(opcode, format)) return format;
    }
    return TG_FORMAT_INVALID;
}

/* "f32 to s32" */
static tg_status refuse_cast(tg_graph *g, int64_t id, tg_dtype from, tg_dtype to, tg_error *err) {
    const size_t at = g->chars.count;
    const char  *pieces[] = {"the host converts ", tg_dtype_name(from), " to ", tg_dtype_name(to)};
    for (size_t i = 0; i < COUNT(pieces); i++)
        if (!put_text(g, pieces[i], strlen(pieces[i]))) return tg_graph_no_memory(err);
    const tg_status s = tg_graph_make_boundary(g, id, (tg_hlo_text){NULL, 0}, err);
    g->nodes.rows[id].reason = at;
    g->nodes.rows[id].reason_len = (uint32_t)(g->chars.count - at);
    return s;
}

/* "the device has no tanh in IEEE_FP32" */
static tg_status refuse_kernel(tg_graph *g, int64_t id, tg_hlo_text opcode, tg_format format, tg_error *err) {
    char         name[64];
    const size_t at = g->chars.count, len = opcode.len < sizeof name ? opcode.len : sizeof name;
    if (len > 0) memcpy(name, opcode.chars, len); /* the text may move */
    const char *format_name = tg_format_name(format);
    if (!put_text(g, "the device has no ", 18) || !put_text(g, name, len) || !put_text(g, " in ", 4) ||
        !put_text(g, format_name, strlen(format_name)))
        return tg_graph_no_memory(err);
    const tg_status s = tg_graph_make_boundary(g, id, (tg_hlo_text){NULL, 0}, err);
    g->nodes.rows[id].reason = at;
    g->nodes.rows[id].reason_len = (uint32_t)(g->chars.count - at);
    return s;
}

static tg_status keep_node(tg_graph *g, int64_t id, tg_error *err) {
    const tg_node_row *n = tg_node_at(g, id);
    const tg_hlo_text  opcode = {g->chars.rows + n->opcode, n->opcode_len};
    if (n->kind == TG_NODE_INPUT || n->kind == TG_NODE_BOUNDARY || n->kind == TG_NODE_CLONE || opcode.len == 0)
        return TG_OK;
    if (tg_hlo_text_is(opcode, "convert") && n->noperands == 1) {
        const tg_dtype from = tg_node_at(g, g->accesses.rows[n->first_operand].node)->host.dtype;
        return tg_cast_kernel(from, n->host.dtype) != NULL ? TG_OK : refuse_cast(g, id, from, n->host.dtype, err);
    }
    const tg_format missing = missing_format(g, n, opcode);
    return missing == TG_FORMAT_INVALID ? TG_OK : refuse_kernel(g, id, opcode, missing, err);
}

tg_status tg_graph_keep_to_device(tg_graph *graph, tg_error *err) {
    tg_status s = TG_OK;
    for (int64_t id = 0; id < tg_graph_count(graph) && s == TG_OK; id++) s = keep_node(graph, id, err);
    graph->device_formats = graph->device_formats || s == TG_OK;
    return s;
}
