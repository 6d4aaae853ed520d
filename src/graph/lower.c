/* Walking through a module: the instructions of the entry in their order, those of calls and fusions in their place. */
#include "graph/lower.h"

#include "base/error.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

enum { BUDGET = 1 << 22 }; /* instructions that are inlined, as often as they are: some seconds of work */
enum { OUTPUTS = 1 << 16, LEAVES = 1 << 16 };

static tg_lower lower_parameter, lower_tuple, lower_get_tuple_element, lower_call, lower_fusion, lower_custom_call,
    lower_on_host, lower_cholesky, lower_solve, lower_random, lower_transfer, lower_bits, lower_exchange;

typedef struct rule {
    const char *opcode;
    tg_lower   *lower;
    int64_t     operands; /* how many there must be; 0: any number, or lower looks itself */
} rule;

/* What each opcode does. Opcodes that are not here are boundaries. */
static const rule rules[] = {
    {"parameter", lower_parameter, 0},
    {"constant", tg_lower_constant, 0},
    {"iota", tg_lower_iota, 0},
    /* views */
    {"broadcast", tg_lower_broadcast, 1},
    {"transpose", tg_lower_transpose, 1},
    {"reshape", tg_lower_reshape, 1},
    {"bitcast", tg_lower_bitcast, 1},
    {"slice", tg_lower_slice, 1},
    {"copy", tg_lower_same, 1}, /* changes XLA's layout alone */
    {"copy-start", tg_lower_copy_start, 1},
    {"copy-done", tg_lower_copy_done, 1},
    {"add-dependency", tg_lower_same, 0},
    {"optimization-barrier", tg_lower_same, 0},
    {"opt-barrier", tg_lower_same, 0},
    /* tuples and calls */
    {"tuple", lower_tuple, 0},
    {"get-tuple-element", lower_get_tuple_element, 1},
    {"call", lower_call, 0},
    {"fusion", lower_fusion, 0},
    {"custom-call", lower_custom_call, 0},
    {"while", tg_lower_while, 1},
    {"conditional", tg_lower_conditional, 0},
    /* with rules of their own */
    {"dot", tg_lower_dot, 2},
    {"convolution", tg_lower_convolution, 2},
    {"reduce", tg_lower_reduce, 0},
    {"reduce-window", tg_lower_reduce_windows, 0},
    {"gather", tg_lower_gather, 2},
    {"concatenate", tg_lower_concatenate, 0},
    {"pad", tg_lower_pad, 2},
    {"dynamic-slice", tg_lower_dynamic_slice, 0},
    {"dynamic-update-slice", tg_lower_dynamic_update_slice, 0},
    {"scatter", tg_lower_scatter, 0},
    {"select-and-scatter", tg_lower_select_and_scatter, 3},
    {"reverse", tg_lower_reverse, 1},
    {"sort", tg_lower_sort, 0},
    {"topk", tg_lower_topk, 0},
    /* on several devices: each has its tensor */
    {"all-reduce", tg_lower_pointwise, 0},
    {"all-gather", tg_lower_all_gather, 0},
    {"collective-permute", tg_lower_pointwise, 0},
    {"collective-broadcast", tg_lower_pointwise, 0},
    {"reduce-scatter", tg_lower_dynamic_slice, 0},
    {"all-to-all", lower_exchange, 0},
    {"ragged-all-to-all", lower_exchange, 0},
    /* not on the device */
    {"bitcast-convert", lower_bits, 1},
    {"cholesky", lower_cholesky, 1},
    {"fft", lower_on_host, 0},
    {"triangular-solve", lower_solve, 2},
    {"rng", lower_random, 0},
    {"rng-bit-generator", lower_random, 0},
    {"rng-get-and-update-state", lower_random, 0},
    {"infeed", lower_transfer, 0},
    {"outfeed", lower_transfer, 0},
    {"recv", lower_transfer, 0},
    {"recv-done", lower_transfer, 0},
    {"send", lower_transfer, 0},
    {"send-done", lower_transfer, 0},
    /* element by element, of so many operands */
    {"abs", tg_lower_pointwise, 1},
    {"acos", tg_lower_pointwise, 1},
    {"acosh", tg_lower_pointwise, 1},
    {"add", tg_lower_pointwise, 2},
    {"and", tg_lower_pointwise, 2},
    {"asin", tg_lower_pointwise, 1},
    {"asinh", tg_lower_pointwise, 1},
    {"atan2", tg_lower_pointwise, 2},
    {"atanh", tg_lower_pointwise, 1},
    {"cbrt", tg_lower_pointwise, 1},
    {"ceil", tg_lower_pointwise, 1},
    {"clamp", tg_lower_pointwise, 3},
    {"compare", tg_lower_pointwise, 2},
    {"convert", tg_lower_pointwise, 1},
    {"cosh", tg_lower_pointwise, 1},
    {"cosine", tg_lower_pointwise, 1},
    {"count-leading-zeros", tg_lower_pointwise, 1},
    {"divide", tg_lower_pointwise, 2},
    {"erf", tg_lower_pointwise, 1},
    {"exponential", tg_lower_pointwise, 1},
    {"exponential-minus-one", tg_lower_pointwise, 1},
    {"floor", tg_lower_pointwise, 1},
    {"is-finite", tg_lower_pointwise, 1},
    {"log", tg_lower_pointwise, 1},
    {"log-plus-one", tg_lower_pointwise, 1},
    {"logistic", tg_lower_pointwise, 1},
    {"map", tg_lower_pointwise, 0},
    {"maximum", tg_lower_pointwise, 2},
    {"minimum", tg_lower_pointwise, 2},
    {"multiply", tg_lower_pointwise, 2},
    {"negate", tg_lower_pointwise, 1},
    {"not", tg_lower_pointwise, 1},
    {"or", tg_lower_pointwise, 2},
    {"popcnt", tg_lower_pointwise, 1},
    {"power", tg_lower_pointwise, 2},
    {"reduce-precision", tg_lower_pointwise, 1},
    {"remainder", tg_lower_pointwise, 2},
    {"round-nearest-afz", tg_lower_pointwise, 1},
    {"round-nearest-even", tg_lower_pointwise, 1},
    {"rsqrt", tg_lower_pointwise, 1},
    {"select", tg_lower_pointwise, 3},
    {"shift-left", tg_lower_pointwise, 2},
    {"shift-right-arithmetic", tg_lower_pointwise, 2},
    {"shift-right-logical", tg_lower_pointwise, 2},
    {"sign", tg_lower_pointwise, 1},
    {"sine", tg_lower_pointwise, 1},
    {"sinh", tg_lower_pointwise, 1},
    {"sqrt", tg_lower_pointwise, 1},
    {"subtract", tg_lower_pointwise, 2},
    {"tan", tg_lower_pointwise, 1},
    {"tanh", tg_lower_pointwise, 1},
    {"xor", tg_lower_pointwise, 2},
};

/* ---- what the others need ----------------------------------------------------------------- */

tg_status tg_lower_fail(const tg_order *o, const char *what) {
    return tg_fail(o->l->err, TG_ERR_UNSUPPORTED, "%t %t: %s", o->at.opcode.chars, o->at.opcode.len, o->at.name.chars,
                   o->at.name.len, what);
}

tg_status tg_lower_no_memory(const tg_order *o) { return tg_graph_no_memory(o->l->err); }

tg_status tg_lower_look(const tg_order *o, int32_t depth) {
    if (depth <= TG_HLO_MAX_DEPTH && o->l->leaves-- > 0) return TG_OK;
    return tg_fail(o->l->err, TG_ERR_LIMIT,
                   "%t: its operands have more than %d arrays, or tuples at a depth of more than %d",
                   o->at.name.chars, o->at.name.len, (int64_t)LEAVES, (int64_t)TG_HLO_MAX_DEPTH);
}

/* Elements of tuples along "#1#0". */
static tg_status follow_path(tg_thing *thing, const tg_order *o, tg_hlo_text path) {
    int64_t   index[TG_MAX_NDIM];
    size_t    n = 0;
    tg_status s = TG_OK;
    if (path.len > 0) s = tg_hlo_read_path(index, TG_MAX_NDIM, &n, path, o->l->err);
    if (s != TG_OK) return s;
    for (size_t i = 0; i < n && i < TG_MAX_NDIM; i++) {
        if (thing->kind != TG_TUPLE || index[i] < 0 || index[i] >= (int64_t)thing->count)
            return tg_lower_fail(o, "an operand is an element that its tuple does not have");
        *thing = o->l->things.rows[thing->first + (uint32_t)index[i]];
    }
    return TG_OK;
}

tg_status tg_lower_operand(tg_thing *out, const tg_order *o, int64_t k) {
    if (k >= o->at.noperands) return tg_lower_fail(o, "it has too few operands");
    const tg_hlo_operand operand = tg_hlo_get_operand(o->l->module, o->at.first_operand + k);
    const int64_t        place = operand.instruction - o->frame->first;
    if (operand.instruction == TG_HLO_NONE || place < 0 || operand.instruction >= o->id)
        return tg_fail(o->l->err, TG_ERR_UNSUPPORTED, "%t %t: nothing before it defines its operand %t",
                       o->at.opcode.chars, o->at.opcode.len, o->at.name.chars, o->at.name.len, operand.name.chars,
                       operand.name.len);
    *out = o->frame->things[place];
    return follow_path(out, o, operand.path);
}

tg_status tg_lower_view(tg_node_view *out, const tg_order *o, int64_t k) {
    tg_thing        thing;
    const tg_status s = tg_lower_operand(&thing, o, k);
    if (s != TG_OK) return s;
    if (thing.kind != TG_ARRAY) return tg_lower_fail(o, "one of its operands is no array");
    *out = o->l->views.rows[thing.first];
    return TG_OK;
}

tg_status tg_lower_view_of_shape(tg_node_view *out, const tg_order *o, const tg_xla_shape *shape) {
    tg_host host;
    memset(out, 0, sizeof *out);
    out->node = TG_NODE_NONE;
    out->dtype = shape->dtype;
    out->ndim = shape->ndim;
    for (int32_t d = 0; d < shape->ndim; d++) {
        if (shape->dims[d] == TG_XLA_UNBOUNDED) return tg_lower_fail(o, "its shape has no size");
        out->shape[d] = shape->dims[d];
    }
    const tg_status s = tg_host_contiguous(&host, shape->dtype, shape->ndim, shape->dims, o->l->err);
    if (s == TG_OK) tg_rows_dense(out);
    return s;
}

tg_status tg_lower_sizes(tg_node_view *out, const tg_order *o, int64_t shape) {
    tg_shape_memo *memo = &o->l->shapes[shape];
    tg_xla_shape   read;
    size_t         count = 0;
    if (!memo->read) {
        const tg_status s = tg_hlo_shape(&read, 1, &count, o->l->module, shape, o->l->err);
        if (s != TG_OK) return s;
        memo->view = (tg_node_view){.node = TG_NODE_NONE, .dtype = read.dtype, .ndim = read.ndim};
        memcpy(memo->view.shape, read.dims, sizeof memo->view.shape);
        memo->read = true;
    }
    *out = memo->view;
    return TG_OK;
}

tg_status tg_lower_shape(tg_node_view *out, const tg_order *o) {
    if (o->at.shape == TG_HLO_NONE) return tg_lower_fail(o, "it has no shape");
    tg_shape_memo *memo = &o->l->shapes[o->at.shape];
    if (!memo->judged) {
        tg_xla_shape shape;
        size_t       count = 0;
        tg_status    s = tg_hlo_shape(&shape, 1, &count, o->l->module, o->at.shape, o->l->err);
        if (s == TG_OK && shape.kind != TG_XLA_ARRAY) return tg_lower_fail(o, "its result is no array");
        if (s == TG_OK) s = tg_lower_view_of_shape(&memo->view, o, &shape);
        if (s != TG_OK) return s;
        memo->read = memo->judged = true;
    }
    *out = memo->view;
    return TG_OK;
}

tg_status tg_lower_ints(int64_t *out, int32_t *count, const tg_order *o, const char *key) {
    tg_hlo_text value;
    size_t      n = 0;
    *count = 0;
    if (!tg_hlo_find_attribute(&value, o->l->module, o->id, key)) return TG_OK;
    const tg_status s = tg_hlo_read_ints(out, TG_MAX_NDIM, &n, value, o->l->err);
    if (s != TG_OK) return s;
    if (n > TG_MAX_NDIM) return tg_lower_fail(o, "an attribute lists too many dimensions");
    *count = (int32_t)n;
    return TG_OK;
}

int64_t tg_lower_callee(const tg_order *o, const char *key) {
    tg_hlo_text value;
    int64_t     id = TG_HLO_NONE;
    size_t      n = 0;
    if (!tg_hlo_find_attribute(&value, o->l->module, o->id, key)) return TG_HLO_NONE;
    if (tg_hlo_read_computations(&id, 1, &n, o->l->module, value, NULL) != TG_OK || n != 1) return TG_HLO_NONE;
    return id;
}

tg_status tg_lower_put_view(const tg_order *o, const tg_node_view *view) {
    *o->out = (tg_thing){TG_ARRAY, (uint32_t)o->l->views.count, 1};
    return tg_rows_push(&o->l->views, *view) ? TG_OK : tg_lower_no_memory(o);
}

/* ---- parameters -------------------------------------------------------------------------------- */

/* The host tensor of a parameter: dense, in the order that its XLA layout says. */
static void host_of_shape(tg_host *out, const tg_node_view *view, const tg_xla_shape *shape) {
    int64_t step = 1;
    *out = (tg_host){.dtype = view->dtype, .ndim = view->ndim};
    for (int32_t i = 0; i < view->ndim; i++) {
        const int32_t d = shape->has_layout ? shape->layout.minor_to_major[i] : view->ndim - 1 - i;
        out->strides[d] = step;
        step *= view->shape[d] > 0 ? view->shape[d] : 1;
    }
    for (int32_t d = 0; d < view->ndim; d++) out->shape[d] = view->shape[d];
}

static tg_status add_input(tg_thing *out, const tg_order *o, const tg_xla_shape *shape, bool alone) {
    tg_node_view   view;
    tg_host   host;
    tg_spyre  layout;
    bool      given = false;
    tg_status s = tg_lower_view_of_shape(&view, o, shape);
    if (s != TG_OK) return s;
    if (!tg_lower_is_layout(shape)) return tg_lower_fail(o, "its layout does not list its dimensions");
    host_of_shape(&host, &view, shape);
    if (alone) s = tg_lower_read_layout(&layout, &given, o, &host);
    const tg_hlo_text name = {o->l->name.rows, o->l->name.count};
    if (s == TG_OK) s = tg_graph_add_input(&view.node, o->l->graph, name, &host, given ? &layout : NULL, o->l->err);
    if (s != TG_OK) return s;
    memcpy(view.step, host.strides, sizeof view.step);
    *out = (tg_thing){TG_ARRAY, (uint32_t)o->l->views.count, 1};
    return tg_rows_push(&o->l->views, view) ? TG_OK : tg_lower_no_memory(o);
}

static bool put_element(tg_lowering *l, uint32_t i) {
    char digits[16];
    tg_writer w = tg_writer_make(digits, sizeof digits);
    tg_put_char(&w, '#');
    tg_put_int(&w, i);
    const size_t len = tg_writer_end(&w);
    if (!tg_char_rows_reserve(&l->name, len)) return false;
    memcpy(l->name.rows + l->name.count, digits, len);
    l->name.count += len;
    return true;
}

tg_status tg_lower_name_element(const tg_order *o, uint32_t i) {
    return put_element(o->l, i) ? TG_OK : tg_lower_no_memory(o);
}

/* A tree of shapes; *at moves over the nodes of this one. `make` is called for each array. */
static tg_status make_tree(tg_thing *out, const tg_order *o, const tg_xla_shape *nodes, size_t *at, bool alone,
                           tg_make_leaf *make) {
    const tg_xla_shape *shape = &nodes[(*at)++];
    *out = (tg_thing){TG_NOTHING, 0, 0};
    if (shape->kind == TG_XLA_ARRAY) return make(out, o, shape, alone);
    if (shape->kind != TG_XLA_TUPLE) {
        for (int32_t i = 0; i < shape->nchildren; i++) (*at)++; /* a buffer's array */
        return TG_OK;
    }
    const tg_thing tuple = {TG_TUPLE, (uint32_t)o->l->things.count, (uint32_t)shape->nchildren};
    for (int32_t i = 0; i < shape->nchildren; i++)
        if (!tg_thing_rows_push(&o->l->things, *out)) return tg_lower_no_memory(o);
    tg_status s = TG_OK;
    for (uint32_t i = 0; i < tuple.count && s == TG_OK; i++) {
        const size_t name = o->l->name.count;
        tg_thing     child;
        if (!put_element(o->l, i)) return tg_lower_no_memory(o);
        s = make_tree(&child, o, nodes, at, false, make);
        o->l->name.count = name;
        if (s == TG_OK) o->l->things.rows[tuple.first + i] = child;
    }
    *out = tuple;
    return s;
}

tg_status tg_lower_result(tg_order *o, tg_make_leaf *make) {
    size_t count = 0, at = 0;
    if (o->at.shape == TG_HLO_NONE) return tg_lower_fail(o, "it has no shape");
    const size_t  n = (size_t)tg_hlo_get_shape(o->l->module, o->at.shape).nnodes;
    tg_xla_shape *nodes = malloc((n + 1) * sizeof *nodes);
    if (nodes == NULL) return tg_lower_no_memory(o);
    tg_status s = tg_hlo_shape(nodes, n, &count, o->l->module, o->at.shape, o->l->err);
    if (s == TG_OK) s = make_tree(o->out, o, nodes, &at, true, make);
    free(nodes);
    return s;
}

static tg_status lower_parameter(tg_order *o) {
    int64_t   number = 0;
    tg_status s = tg_hlo_read_int(&number, tg_hlo_get_arguments(o->l->module, o->id), o->l->err);
    if (s != TG_OK) return s;
    if (o->frame->entry) return tg_lower_result(o, add_input);
    if (number < 0 || (uint64_t)number >= o->frame->nargs) return tg_lower_fail(o, "the call has no such argument");
    *o->out = o->frame->args[number];
    return TG_OK;
}

/* ---- boundaries ------------------------------------------------------------------------------------ */

/* All arrays in a thing become operands. */
static tg_status add_operands(tg_draft *d, const tg_order *o, const tg_thing *thing, int32_t depth) {
    int32_t   none[TG_MAX_NDIM]; /* what is read of them is not known */
    tg_status s = tg_lower_look(o, depth);
    if (s != TG_OK) return s;
    for (int32_t i = 0; i < TG_MAX_NDIM; i++) none[i] = TG_LOOP_NONE;
    if (thing->kind == TG_ARRAY && !tg_draft_operand(d, o, &o->l->views.rows[thing->first], none))
        return tg_lower_no_memory(o);
    for (uint32_t i = 0; thing->kind == TG_TUPLE && i < thing->count && s == TG_OK; i++) {
        const tg_thing child = o->l->things.rows[thing->first + i];
        s = add_operands(d, o, &child, depth + 1);
    }
    return s;
}

static tg_status make_boundary(tg_thing *out, const tg_order *o, const tg_xla_shape *shape, bool alone) {
    tg_node_view   view;
    tg_draft  d;
    tg_status s = tg_lower_view_of_shape(&view, o, shape);
    (void)alone;
    if (s != TG_OK) return s;
    tg_draft_start(&d, o, TG_NODE_BOUNDARY, &view);
    d.node.reason = tg_text_of(o->reason != NULL ? o->reason : "nothing is known of the operation");
    for (int64_t k = 0; k < o->at.noperands && s == TG_OK; k++) {
        tg_thing operand;
        s = tg_lower_operand(&operand, o, k);
        if (s == TG_OK) s = add_operands(&d, o, &operand, 0);
    }
    if (s == TG_OK) s = tg_draft_finish(&view, &d, o);
    if (s != TG_OK) return s;
    *out = (tg_thing){TG_ARRAY, (uint32_t)o->l->views.count, 1};
    return tg_rows_push(&o->l->views, view) ? TG_OK : tg_lower_no_memory(o);
}

tg_hlo_text tg_text_of(const char *text) { return (tg_hlo_text){text, strlen(text)}; }

tg_status tg_lower_boundary(tg_order *o) { return tg_lower_result(o, make_boundary); }

tg_status tg_lower_refuse(tg_order *o, const char *reason) {
    o->reason = reason;
    return tg_lower_boundary(o);
}

/* Bits of an element as XLA counts them. */
static int32_t bits_in_text(tg_dtype dtype) { return dtype == TG_PRED ? 8 : tg_dtype_bits(dtype); }

/* What only the host can do. */
static tg_status lower_on_host(tg_order *o) { return tg_lower_refuse(o, "the host calculates it"); }
static tg_status lower_random(tg_order *o) { return tg_lower_refuse(o, "the host makes random numbers"); }
static tg_status lower_transfer(tg_order *o) { return tg_lower_refuse(o, "it talks to the host or other programs"); }

/* The result is like operand k. */
static tg_status solve(tg_order *o, int64_t k) {
    tg_node_view result, view;
    tg_status    s = tg_lower_shape(&result, o);
    if (s == TG_OK) s = tg_lower_view(&view, o, k);
    if (s == TG_OK) s = tg_lower_expect(o, "its result", &view, &result);
    return s == TG_OK ? lower_on_host(o) : s;
}

static tg_status lower_cholesky(tg_order *o) { return solve(o, 0); }
static tg_status lower_solve(tg_order *o) { return solve(o, 1); }

/* Where elements become wider or narrower, the parts of one are a last dimension. */
static tg_status lower_bits(tg_order *o) {
    tg_node_view result, view;
    tg_status    s = tg_lower_shape(&result, o);
    if (s == TG_OK) s = tg_lower_view(&view, o, 0);
    if (s != TG_OK) return s;
    const int32_t from = bits_in_text(view.dtype), to = bits_in_text(result.dtype);
    tg_node_view *parted = from > to ? &result : &view;
    const int32_t parts = from > to ? from / to : to / from;
    if (parts > 1 && (parted->ndim == 0 || parted->shape[--parted->ndim] != parts))
        return tg_lower_fail(o, "its last dimension is not the parts of an element");
    if (!tg_lower_same_sizes(&result, &view)) return tg_lower_fail(o, "it changes the shape");
    return tg_lower_refuse(o, "the bits of a device format are not those of the host");
}

static tg_status lower_exchange(tg_order *o) {
    return tg_lower_refuse(o, "pieces of tensors change places between devices");
}

/* Marks for XLA's partitioner calculate nothing, but may say that from here on each device has its piece. */
static tg_status lower_mark(tg_order *o) {
    tg_node_view result, view;
    tg_thing     operand;
    tg_status    s = tg_lower_operand(&operand, o, 0);
    if (s != TG_OK || operand.kind != TG_ARRAY) return s == TG_OK ? tg_lower_same(o) : s;
    view = o->l->views.rows[operand.first];
    s = tg_lower_shape(&result, o);
    if (s == TG_OK) s = tg_lower_expect_type(o, "its result", view.dtype, result.dtype);
    if (s != TG_OK) return s;
    return tg_lower_same_sizes(&result, &view) ? tg_lower_same(o) : tg_lower_refuse(o, "each device has a piece of it");
}

static tg_status lower_custom_call(tg_order *o) {
    static const char *const marks[] = {"\"Sharding\"", "\"SPMDFullToShardShape\"", "\"SPMDShardToFullShape\""};
    tg_hlo_text              target;
    const bool               named = tg_hlo_find_attribute(&target, o->l->module, o->id, "custom_call_target");
    for (size_t i = 0; named && i < COUNT(marks); i++)
        if (tg_hlo_text_is(target, marks[i])) return lower_mark(o);
    if (named && tg_hlo_text_is(target, "\"TopK\"")) return tg_lower_topk(o);
    return tg_lower_refuse(o, "its target is code of another library");
}

/* ---- tuples and calls --------------------------------------------------------------------------------- */

static tg_status lower_tuple(tg_order *o) {
    tg_lowering   *l = o->l;
    const tg_thing nothing = {TG_NOTHING, 0, 0};
    *o->out = (tg_thing){TG_TUPLE, (uint32_t)l->things.count, (uint32_t)o->at.noperands};
    for (int64_t k = 0; k < o->at.noperands; k++)
        if (!tg_thing_rows_push(&l->things, nothing)) return tg_lower_no_memory(o);
    tg_status s = TG_OK;
    for (int64_t k = 0; k < o->at.noperands && s == TG_OK; k++) {
        tg_thing child;
        s = tg_lower_operand(&child, o, k);
        if (s == TG_OK) l->things.rows[o->out->first + (uint32_t)k] = child;
    }
    return s;
}

static tg_status lower_get_tuple_element(tg_order *o) {
    int64_t   index[TG_MAX_NDIM];
    int32_t   count = 0;
    tg_thing  tuple;
    tg_status s = tg_lower_operand(&tuple, o, 0);
    if (s == TG_OK) s = tg_lower_ints(index, &count, o, "index");
    if (s != TG_OK) return s;
    if (count != 1 || tuple.kind != TG_TUPLE || index[0] < 0 || index[0] >= (int64_t)tuple.count)
        return tg_lower_fail(o, "its tuple does not have that element");
    *o->out = o->l->things.rows[tuple.first + (uint32_t)index[0]];
    return TG_OK;
}

static tg_status call(tg_order *o, const char *key) {
    const int64_t callee = tg_lower_callee(o, key);
    const size_t  n = (size_t)o->at.noperands;
    if (callee == TG_HLO_NONE) return tg_lower_fail(o, "it does not name one computation");
    tg_status s = tg_lower_check_call(o, callee, n);
    if (s != TG_OK) return s;
    tg_thing *args = malloc((n + 1) * sizeof *args);
    if (args == NULL) s = tg_lower_no_memory(o);
    for (size_t k = 0; k < n && s == TG_OK; k++) s = tg_lower_operand(&args[k], o, (int64_t)k);
    if (s == TG_OK) s = tg_lower_computation(o->out, o->l, callee, args, n);
    free(args);
    return s;
}

static tg_status lower_call(tg_order *o) { return call(o, "to_apply"); }
static tg_status lower_fusion(tg_order *o) { return call(o, "calls"); }

/* ---- computations --------------------------------------------------------------------------------------- */

static const rule *find_rule(tg_hlo_text opcode) {
    static const rule boundary = {"", tg_lower_boundary, 0};
    for (size_t i = 0; i < COUNT(rules); i++)
        if (opcode.len > 0 && rules[i].opcode[0] == opcode.chars[0] && tg_hlo_text_is(opcode, rules[i].opcode))
            return &rules[i];
    return &boundary;
}

static tg_status apply_rule(tg_order *o) {
    const rule *const r = find_rule(o->at.opcode);
    if (r->operands == 0 || o->at.noperands == r->operands) return r->lower(o);
    return tg_fail(o->l->err, TG_ERR_UNSUPPORTED, "%t %t: it takes %d operand%s, not %d", o->at.opcode.chars,
                   o->at.opcode.len, o->at.name.chars, o->at.name.len, r->operands, r->operands == 1 ? "" : "s",
                   o->at.noperands);
}

/* The name of the instruction behind those of the calls around it: "fusion.3/add.1". */
static bool put_name(tg_lowering *l, tg_hlo_text name, bool as_prefix) {
    l->name.count = l->prefix;
    if (!tg_char_rows_reserve(&l->name, name.len + 1)) return false;
    if (name.len > 0) memcpy(l->name.rows + l->name.count, name.chars, name.len);
    l->name.count += name.len;
    if (as_prefix) l->name.rows[l->name.count++] = '/';
    if (as_prefix) l->prefix = l->name.count;
    return true;
}

static tg_status lower_instruction(tg_lowering *l, tg_frame *f, int64_t id) {
    tg_order o = {l, f, id, tg_hlo_get_instruction(l->module, id), &f->things[id - f->first], NULL};
    const size_t prefix = l->prefix;
    const bool   calls = tg_hlo_text_is(o.at.opcode, "call") || tg_hlo_text_is(o.at.opcode, "fusion");
    if (!put_name(l, o.at.name, calls)) return tg_lower_no_memory(&o);
    const int64_t before = tg_graph_count(l->graph);
    l->leaves = LEAVES;
    tg_status     s = o.at.elided > 0 ? tg_lower_fail(&o, "the text leaves out some of its operands")
                                      : tg_lower_check_operands(&o);
    if (s == TG_OK) s = apply_rule(&o);
    if (s == TG_OK) s = tg_lower_check_result(&o);
    l->prefix = prefix;
    if (s == TG_OK) s = tg_lower_take_hints(&o, before);
    if (s != TG_OK && !l->told) tg_lower_tell(l->err, l->module, id);
    l->told = s != TG_OK;
    return s == TG_OK && !tg_trace_instruction(&o) ? tg_lower_no_memory(&o) : s;
}

tg_status tg_lower_computation(tg_thing *out, tg_lowering *l, int64_t computation, const tg_thing *args,
                               size_t nargs) {
    const tg_hlo_computation c = tg_hlo_get_computation(l->module, computation);
    tg_frame f = {c.first_instruction, c.ninstructions, calloc((size_t)c.ninstructions + 1, sizeof(tg_thing)), args,
                  nargs, l->depth == 0};
    tg_status s = f.things != NULL ? TG_OK : tg_graph_no_memory(l->err);
    if (l->depth++ == TG_HLO_MAX_DEPTH)
        s = tg_fail(l->err, TG_ERR_LIMIT, "computation %t is called at a depth of %d", c.name.chars, c.name.len,
                    (int64_t)l->depth);
    for (int64_t i = 0; i < c.ninstructions && s == TG_OK; i++) s = lower_instruction(l, &f, f.first + i);
    *out = (tg_thing){TG_NOTHING, 0, 0};
    if (s == TG_OK && c.root != TG_HLO_NONE) *out = f.things[c.root - f.first];
    l->depth--;
    free(f.things);
    return s;
}

/* A module may be as long as it is; what calls add to it has a limit. */
static tg_status check_size(const tg_lowering *l) {
    int64_t         count = 0;
    const tg_status s = tg_lower_count(&count, l->module, l->err);
    if (s != TG_OK || count - BUDGET <= tg_hlo_get_header(l->module).ninstructions) return s;
    return tg_fail(l->err, TG_ERR_LIMIT,
                   count == INT64_MAX ? "with all calls inlined there are 2^63 instructions or more, which is too many"
                                      : "with all calls inlined there are %d instructions, which is too many",
                   count);
}

/* The root's arrays, tuples taken apart. */
static tg_status add_outputs(tg_lowering *l, tg_thing thing, int32_t depth) {
    tg_status s = TG_OK;
    if (l->budget-- <= 0 || depth > TG_HLO_MAX_DEPTH)
        return tg_fail(l->err, TG_ERR_LIMIT, "the root has more than %d arrays, or tuples at a depth of more than %d",
                       (int64_t)OUTPUTS, (int64_t)TG_HLO_MAX_DEPTH);
    for (uint32_t i = 0; thing.kind == TG_TUPLE && i < thing.count && s == TG_OK; i++)
        s = add_outputs(l, l->things.rows[thing.first + i], depth + 1);
    if (thing.kind != TG_ARRAY) return s;
    const tg_node_view *view = &l->views.rows[thing.first];
    tg_host        host = {.dtype = view->dtype, .ndim = view->ndim, .offset = view->offset};
    memcpy(host.shape, view->shape, sizeof host.shape);
    memcpy(host.strides, view->step, sizeof host.strides);
    return tg_graph_add_output(l->graph, view->node, &host, l->err);
}

tg_status tg_graph_trace_hlo(tg_graph *graph, const tg_hlo_module *module, tg_trace *trace, tg_error *err) {
    tg_lowering   l = {.graph = graph, .module = module, .times = 1, .budget = 2 * OUTPUTS, .trace = trace, .err = err};
    const int64_t entry = tg_hlo_get_header(module).entry;
    tg_thing      result = {TG_NOTHING, 0, 0};
    tg_status     s = TG_OK;
    if (trace != NULL) trace->first = tg_graph_count(graph);
    l.shapes = calloc((size_t)tg_hlo_get_header(module).nshapes + 1, sizeof *l.shapes);
    if (l.shapes == NULL || !tg_term_rows_reserve(&l.terms, 1) || !tg_char_rows_reserve(&l.name, 1))
        s = tg_graph_no_memory(err);
    else if (entry == TG_HLO_NONE) s = tg_fail(err, TG_ERR_UNSUPPORTED, "the module has no computation");
    else s = check_size(&l);
    if (s == TG_OK) s = tg_lower_computation(&result, &l, entry, NULL, 0);
    if (s == TG_OK) s = add_outputs(&l, result, 0);
    free(l.views.rows);
    free(l.things.rows);
    free(l.name.rows);
    free(l.accesses.rows);
    free(l.terms.rows);
    free(l.constants.rows);
    free(l.shapes);
    return s;
}

tg_status tg_graph_add_hlo(tg_graph *graph, const tg_hlo_module *module, tg_error *err) {
    return tg_graph_trace_hlo(graph, module, NULL, err);
}
