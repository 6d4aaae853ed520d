/* What HLO instructions calculate. The lowering says which instruction a node comes from, and the views that are its
 * operands; here stands what only calculating needs: directions, where pieces begin, the elements of
 * constants. What cannot be told stays TG_OP_NONE, and is an error only for who wants to run it. */
#include "sim/program.h"

#include "base/checked.h"
#include "base/error.h"
#include "graph/literal.h"
#include "graph/lower.h"
#include "sim/numbers.h"
#include "sim/ops.h"

#include <stdlib.h>
#include <string.h>

/* A node that is being translated. */
typedef struct source {
    tg_program          *program;
    tg_lowering          lowering; /* for what reads attributes there */
    tg_frame             frame;
    tg_order             order;
    const tg_node_view       *views;
    uint32_t             nviews;
    int64_t              id;
    tg_node_info         info;
    bool                 no_memory;
    tg_error            *err;
} source;

/* Room for what a computation points to. */
typedef struct room {
    tg_index  indices[TG_MAX_NDIM];
    tg_term   terms[TG_MAX_NDIM];
    tg_formula_step steps[TG_MAX_STEPS];
    tg_piece *pieces; /* NULL or allocated */
} room;

/* False where the instruction says nothing that can be calculated. */
typedef bool translate(tg_compute *c, room *r, source *s);

static bool has_views(const source *s, uint32_t n) {
    for (uint32_t k = 0; k < n; k++)
        if (k >= s->nviews || s->views[k].node < 0) return false;
    return true;
}

static tg_access element(const tg_node_view *view) { return (tg_access){.node = view->node, .offset = view->offset}; }

static bool read_dims(int64_t *out, int32_t *count, const source *s, const char *key) {
    return tg_lower_ints(out, count, &s->order, key) == TG_OK;
}

/* ---- constants ------------------------------------------------------------------------------- */

static void put_constant(tg_compute *c, source *s, int64_t node, tg_dtype dtype, int64_t n, tg_hlo_text text) {
    const size_t width = (size_t)tg_dtype_storage_bits(dtype) / 8, count = (size_t)n;
    double      *real = malloc((count + 1) * sizeof *real);
    int64_t     *whole = malloc((count + 1) * sizeof *whole);
    tg_number   *numbers = malloc((count + 1) * sizeof *numbers);
    char        *data = malloc(count * width + 1);
    s->no_memory = real == NULL || whole == NULL || numbers == NULL || data == NULL;
    bool ok = !s->no_memory && tg_dtype_is_number(dtype);
    ok = ok && tg_read_literal(real, whole, n, text, NULL) == TG_OK;
    for (int64_t i = 0; ok && i < n; i++) {
        if (tg_dtype_is_whole(dtype)) numbers[i].whole = whole[i];
        else numbers[i].real = real[i];
    }
    ok = ok && tg_numbers_write(data, dtype, n, numbers, NULL) == TG_OK;
    c->op = TG_OP_CONSTANT;
    c->data = data;
    c->nbytes = count * width;
    if (ok) s->no_memory = tg_program_set(s->program, node, c, NULL) != TG_OK;
    free(real);
    free(whole);
    free(numbers);
    free(data);
}

static bool translate_constant(tg_compute *c, room *r, source *s) {
    int64_t n = 1;
    (void)r;
    for (int32_t d = 0; d < s->info.host.ndim; d++)
        if (!tg_mul(&n, n, s->info.host.shape[d])) return false;
    const tg_hlo_text text = tg_hlo_get_arguments(s->order.l->module, s->order.id);
    if (n <= 0 || (size_t)n > text.len) return false;
    put_constant(c, s, s->id, s->info.host.dtype, n, text);
    return false; /* it is set */
}

static bool translate_iota(tg_compute *c, room *r, source *s) {
    int64_t dim[TG_MAX_NDIM];
    int32_t n = 0;
    (void)r;
    c->op = TG_OP_IOTA;
    if (!read_dims(dim, &n, s, "iota_dimension") || n != 1 || dim[0] < 0 || dim[0] >= s->info.nloops) return false;
    c->loop = (int32_t)dim[0];
    return true;
}

/* ---- element by element, products, reductions ----------------------------------------------------- */

/* Of an opcode that the lowering does not know it does not say how operands are read. */
static bool says_how(const source *s) {
    for (int32_t k = 0; k < s->info.noperands && k < (int32_t)s->nviews; k++) {
        const tg_access a = tg_graph_access(s->lowering.graph, s->id, k);
        for (int32_t d = 0; d < s->views[k].ndim; d++)
            if (a.nterms == 0 && s->views[k].shape[d] > 1 && s->views[k].step[d] > 0) return false;
    }
    return s->info.noperands == (int32_t)s->nviews;
}

static bool translate_pointwise(tg_compute *c, room *r, source *s) {
    tg_hlo_text direction = {NULL, 0};
    (void)r;
    if (!says_how(s)) return false;
    (void)tg_hlo_find_attribute(&direction, s->order.l->module, s->order.id, "direction");
    c->op = tg_op_of_hlo(s->order.at.opcode, direction);
    return c->op != TG_OP_NONE && s->info.noperands == tg_op_arity(c->op);
}

static bool translate_dot(tg_compute *c, room *r, source *s) {
    const tg_hlo_text none = {NULL, 0};
    (void)r;
    c->op = s->info.kind == TG_NODE_POINTWISE ? tg_op_of_hlo(s->info.opcode, none) : TG_OP_PRODUCT;
    return s->info.noperands == 2;
}

/* What it starts with is put together with its result by a node of its own, which has the opcode of that. */
static bool put_start(tg_compute *c, const source *s) {
    const tg_hlo_text none = {NULL, 0};
    c->op = tg_op_of_hlo(s->info.opcode, none);
    return c->op != TG_OP_NONE;
}

static bool put_reduction(tg_compute *c, source *s) {
    c->op = TG_OP_REDUCE;
    return s->info.noperands == 1 && s->nviews == 2 && has_views(s, 2) && tg_lower_reduction(&c->reduction, &s->order);
}

static bool translate_reduce(tg_compute *c, room *r, source *s) {
    (void)r;
    return put_start(c, s) || put_reduction(c, s);
}

/* ---- windows: the node has them ---------------------------------------------------------------------- */

static bool translate_reverse(tg_compute *c, room *r, source *s) {
    (void)r;
    c->op = TG_OP_COPY;
    return has_views(s, 1) && s->info.noperands == 1;
}

/* Where the lowering could not tell the windows, it is a boundary that says so. */
static bool translate_convolution(tg_compute *c, room *r, source *s) {
    (void)r;
    c->op = TG_OP_PRODUCT;
    return has_views(s, 2) && (s->info.kind == TG_NODE_CONVOLUTION || s->info.nwindows > 0);
}

/* ---- pieces --------------------------------------------------------------------------------------------- */

static bool translate_pad(tg_compute *c, room *r, source *s) {
    (void)r;
    c->op = TG_OP_PAD;
    if (s->info.noperands != 2 || !has_views(s, 2)) return false;
    c->has_start = true;
    c->start = element(&s->views[1]);
    return true;
}

static bool translate_concatenate(tg_compute *c, room *r, source *s) {
    int64_t dim[TG_MAX_NDIM], first = 0;
    int32_t n = 0;
    c->op = TG_OP_PIECES;
    if (s->info.noperands != (int32_t)s->nviews || !has_views(s, s->nviews) || !read_dims(dim, &n, s, "dimensions") ||
        n != 1 || dim[0] < 0 || dim[0] >= s->info.nloops)
        return false;
    r->pieces = calloc(s->nviews + 1, sizeof *r->pieces);
    s->no_memory = r->pieces == NULL;
    if (s->no_memory) return false;
    for (uint32_t k = 0; k < s->nviews; k++) {
        r->pieces[k] = (tg_piece){.operand = (int32_t)k, .loop = (int32_t)dim[0], .first = first,
                                  .size = s->views[k].shape[dim[0]]};
        first += r->pieces[k].size;
    }
    c->pieces = r->pieces;
    c->npieces = (int32_t)s->nviews;
    return true;
}

static bool translate_update(tg_compute *c, room *r, source *s) {
    c->op = TG_OP_PIECES;
    const uint32_t ndim = (uint32_t)s->info.host.ndim;
    if (s->nviews != 2 + ndim || s->info.noperands != (int32_t)s->nviews || !has_views(s, s->nviews)) return false;
    r->pieces = calloc(ndim + 1, sizeof *r->pieces);
    s->no_memory = r->pieces == NULL;
    if (s->no_memory) return false;
    for (uint32_t d = 0; d < ndim; d++) {
        if (s->views[1].shape[d] == s->info.host.shape[d] && d + 1 < ndim) continue; /* one piece there is */
        r->pieces[c->npieces++] = (tg_piece){.operand = 1, .loop = (int32_t)d, .size = s->views[1].shape[d],
                                             .has_from = true, .from = element(&s->views[2 + d])};
    }
    c->pieces = r->pieces;
    return true;
}

/* ---- indices ----------------------------------------------------------------------------------------------- */

static bool translate_dynamic_slice(tg_compute *c, room *r, source *s) {
    c->op = TG_OP_COPY;
    const uint32_t ndim = (uint32_t)s->info.host.ndim;
    if (s->nviews != 1 + ndim || s->info.noperands != (int32_t)s->nviews || !has_views(s, s->nviews)) return false;
    for (uint32_t d = 0; d < ndim; d++) {
        const int64_t limit = s->views[0].shape[d] - s->info.host.shape[d];
        if (limit > 0)
            r->indices[c->nindices++] = (tg_index){.operand = 0, .step = s->views[0].step[d], .limit = limit,
                                                   .from = element(&s->views[1 + d])};
    }
    c->indices = r->indices;
    return true;
}

/* Dimensions of the result that no slice fills follow those of the indices, the one of the vector left out. */
static int32_t batch_terms(tg_term *terms, const source *s, const int64_t *offset, int32_t noffset, int64_t vector) {
    int32_t n = 0, from = 0;
    for (int32_t d = 0; d < s->info.host.ndim; d++) {
        bool in_slice = false;
        for (int32_t i = 0; i < noffset; i++) in_slice = in_slice || offset[i] == d;
        if (in_slice) continue;
        if (from == vector) from++;
        if (from >= s->views[1].ndim || s->views[1].shape[from] != s->info.host.shape[d]) return -1;
        terms[n++] = (tg_term){.loop = d, .step = s->views[1].step[from++]};
    }
    return n;
}

static bool translate_gather(tg_compute *c, room *r, source *s) {
    int64_t offset[TG_MAX_NDIM], map[TG_MAX_NDIM], sizes[TG_MAX_NDIM], vector[TG_MAX_NDIM];
    int64_t batch[TG_MAX_NDIM];
    int32_t noffset = 0, nmap = 0, nsizes = 0, nvector = 0, nbatch = 0;
    c->op = TG_OP_COPY;
    if (!has_views(s, 2) || s->info.kind != TG_NODE_GATHER || !read_dims(offset, &noffset, s, "offset_dims") ||
        !read_dims(map, &nmap, s, "start_index_map") || !read_dims(sizes, &nsizes, s, "slice_sizes") ||
        !read_dims(batch, &nbatch, s, "operand_batching_dims") || nbatch != 0 ||
        !read_dims(vector, &nvector, s, "index_vector_dim") || nvector != 1 || nsizes != s->views[0].ndim)
        return false;
    const int32_t nterms = batch_terms(r->terms, s, offset, noffset, vector[0]);
    if (nterms < 0) return false;
    for (int32_t i = 0; i < nmap; i++) {
        const int64_t d = map[i], step = vector[0] < s->views[1].ndim ? s->views[1].step[vector[0]] : 0;
        if (d < 0 || d >= nsizes) return false;
        r->indices[c->nindices++] = (tg_index){
            .operand = 0, .step = s->views[0].step[d], .limit = s->views[0].shape[d] - sizes[d],
            .from = {.node = s->views[1].node, .offset = s->views[1].offset + i * step, .nterms = nterms,
                     .terms = r->terms}};
    }
    c->indices = r->indices;
    return true;
}

/* ---- control ------------------------------------------------------------------------------------------------- */

/* What a loop begins with, and what it hands on: operand 1, over operand 0. */
static bool translate_while(tg_compute *c, room *r, source *s) {
    (void)r;
    c->op = s->info.noperands == 1 ? TG_OP_COPY : TG_OP_PIECES;
    return s->info.noperands == 1 || s->info.noperands == 2;
}

/* Of branches the one whose number operand 0 is; of a truth value the first one is that of true, and a number that is
 * none means the last. */
static bool translate_conditional(tg_compute *c, room *r, source *s) {
    const int32_t n = s->info.noperands - 1;
    const tg_host which = tg_graph_get(s->lowering.graph, tg_graph_operand(s->lowering.graph, s->id, 0)).host;
    int32_t       chosen = n;
    if (n < 1 || 2 * n > TG_MAX_STEPS) return false;
    c->op = TG_OP_FORMULA;
    c->dtype = s->info.host.dtype;
    for (int32_t i = n - 1; i > 0; i--) {
        const int32_t is = n + 1 + c->nsteps;
        r->steps[c->nsteps++] = (tg_formula_step){.op = which.dtype == TG_PRED ? TG_OP_NE : TG_OP_EQ,
                                                  .from = {0, TG_NUMBER},
                                                  .number = {0, which.dtype == TG_PRED ? 0 : i - 1}};
        r->steps[c->nsteps++] = (tg_formula_step){.op = TG_OP_SELECT, .from = {is, i, chosen}};
        chosen = is + 1;
    }
    if (n == 1) r->steps[c->nsteps++] = (tg_formula_step){.op = TG_OP_SELECT, .from = {0, 1, 1}};
    c->steps = r->steps;
    return true;
}

/* ---- nodes --------------------------------------------------------------------------------------------------- */

static const struct { const char *opcode; translate *how; } opcodes[] = {
    {"constant", translate_constant},
    {"iota", translate_iota},
    {"dot", translate_dot},
    {"reduce", translate_reduce},
    {"reduce-window", translate_reduce},
    {"convolution", translate_convolution},
    {"pad", translate_pad},
    {"concatenate", translate_concatenate},
    {"dynamic-slice", translate_dynamic_slice},
    {"dynamic-update-slice", translate_update},
    {"gather", translate_gather},
    {"reverse", translate_reverse},
    {"while", translate_while},
    {"conditional", translate_conditional},
};

static translate *find_translation(tg_hlo_text opcode) {
    for (size_t i = 0; i < sizeof opcodes / sizeof opcodes[0]; i++)
        if (tg_hlo_text_is(opcode, opcodes[i].opcode)) return opcodes[i].how;
    return translate_pointwise;
}

/* A view as a node of its own; of a constant, which has no operands, it is that constant. */
static bool translate_copy(tg_compute *c, source *s) {
    c->op = TG_OP_COPY;
    if (s->info.kind == TG_NODE_CONSTANT) *c = tg_program_get(s->program, s->views[0].node);
    return c->op != TG_OP_NONE;
}

static tg_status add_node(source *s, const tg_origin *origin) {
    tg_compute c = {.op = TG_OP_NONE};
    room       r = {.pieces = NULL};
    tg_status  status = TG_OK;
    bool       known = false;
    if (s->info.kind == TG_NODE_INPUT) return TG_OK;
    s->order.id = origin->instruction;
    if (origin->instruction == TG_HLO_NONE) {
        known = translate_copy(&c, s);
    } else {
        s->order.at = tg_hlo_get_instruction(s->order.l->module, origin->instruction);
        known = find_translation(s->order.at.opcode)(&c, &r, s);
    }
    if (known) status = tg_program_set(s->program, s->id, &c, s->err);
    free(r.pieces);
    if (s->no_memory) return tg_fail(s->err, TG_ERR_NOMEM, "there is no memory for a program");
    return status;
}

/* Parameters stand in the text in any order. */
static int64_t parameter_number(const tg_hlo_module *module, const tg_origin *origin) {
    int64_t number = 0;
    if (tg_hlo_read_int(&number, tg_hlo_get_arguments(module, origin->instruction), NULL) != TG_OK) return INT64_MAX;
    return number;
}

static tg_status add_inputs(tg_program *program, const tg_graph *graph, const tg_hlo_module *module,
                            const tg_trace *trace, tg_error *err) {
    tg_input_rows *in = &program->inputs;
    tg_status      s = TG_OK;
    const size_t   first = in->count;
    for (size_t i = 0; i < trace->origins.count && s == TG_OK; i++) {
        const int64_t node = trace->first + (int64_t)i;
        if (tg_graph_get(graph, node).kind == TG_NODE_INPUT) s = tg_program_add_input(program, node, err);
    }
    for (size_t i = first + 1; s == TG_OK && i < in->count; i++) {
        const int64_t node = in->rows[i], number = parameter_number(module, &trace->origins.rows[node - trace->first]);
        size_t        j = i;
        for (; j > first; j--) {
            const int64_t before = in->rows[j - 1];
            if (parameter_number(module, &trace->origins.rows[before - trace->first]) <= number) break;
            in->rows[j] = before;
        }
        in->rows[j] = node;
    }
    return s;
}

tg_status tg_program_add_hlo(tg_program *program, tg_graph *graph, const tg_hlo_module *module, tg_error *err) {
    tg_trace  trace = {.first = 0};
    source    s = {.program = program, .err = err};
    tg_status status = tg_graph_trace_hlo(graph, module, &trace, err);
    s.lowering = (tg_lowering){.graph = graph, .module = module};
    s.order = (tg_order){.l = &s.lowering, .frame = &s.frame};
    for (size_t i = 0; i < trace.origins.count && status == TG_OK; i++) {
        const tg_origin *origin = &trace.origins.rows[i];
        s.views = origin->count > 0 ? trace.views.rows + origin->first : NULL;
        s.nviews = origin->count;
        s.id = trace.first + (int64_t)i;
        s.info = tg_graph_get(graph, s.id);
        status = add_node(&s, origin);
    }
    if (status == TG_OK) status = add_inputs(program, graph, module, &trace, err);
    free(trace.origins.rows);
    free(trace.views.rows);
    return status;
}
