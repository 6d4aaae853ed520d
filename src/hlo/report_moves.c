/* The copies report: what moves bytes without calculating, decided from the exact maps of both sides.
 *
 *     opcode             bytes stay if                                else
 *     copy, copy-done    -                                            a copy; to another space; a relayout
 *     transpose          the transposed map is the result's           a relayout
 *     reshape            the reshaped map is the result's             a relayout
 *     bitcast-convert    the same; of elements as wide, else unknown  a relayout
 *     bitcast            always; but it should be a reshape, a transpose, or one between two others */
#include "hlo/report.h"

#include "base/checked.h"
#include "base/error.h"

#include <tegula/padding.h>
#include <tegula/xla.h>

#include <stdlib.h>
#include <string.h>

TG_HLO_TABLE(move_table, tg_hlo_move)

enum { MAX_PATH = 32, TREES = 8 };

/* Tuples of thousands of elements are copied element by element: their trees are kept for a while. */
typedef struct trees {
    int64_t       shape[TREES]; /* whose tree nodes[i] is; TG_HLO_NONE if there is none */
    tg_xla_shape *nodes[TREES];
    size_t        count[TREES];
    unsigned      next; /* place of the next tree */
} trees;

static const char *const movers[] = {"copy", "copy-done", "transpose", "reshape", "bitcast", "bitcast-convert", NULL};

/* One instruction with the arrays on both of its sides. */
typedef struct sides {
    const tg_hlo_module *module;
    int64_t              id;
    tg_hlo_instruction   instruction; /* of that id */
    trees               *trees;
    tg_xla_shape         from, to;
    tg_status            status; /* TG_ERR_NOMEM ends the report */
    tg_error             error;
} sides;

const char *tg_hlo_move_kind_name(tg_hlo_move_kind kind) {
    static const char *const names[] = {"nothing", "copy", "space", "relayout", "unknown"};
    return kind >= TG_HLO_MOVES_NOTHING && kind <= TG_HLO_MOVES_UNKNOWN ? names[kind] : NULL;
}

/* ---- the arrays ------------------------------------------------------------------------ */

/* The place of a shape's tree in s->trees; TREES if there is no memory. */
static unsigned find_tree(sides *s, int64_t shape) {
    trees *const t = s->trees;
    for (unsigned i = 0; i < TREES; i++)
        if (t->nodes[i] != NULL && t->shape[i] == shape) return i;
    const unsigned i = t->next;
    size_t         count = (size_t)tg_hlo_get_shape(s->module, shape).nnodes;
    tg_xla_shape  *nodes = malloc((count + 1) * sizeof *nodes); /* fits: nodes are a part of a text below 4 GiB */
    if (nodes == NULL || tg_hlo_shape(nodes, count, &count, s->module, shape, &s->error) != TG_OK) {
        free(nodes);
        return TREES;
    }
    free(t->nodes[i]);
    t->nodes[i] = nodes;
    t->shape[i] = shape;
    t->count[i] = count;
    t->next = (i + 1) % TREES;
    return i;
}

/* The array that a path of element numbers leads to in a shape; what is missing, or NULL. */
static const char *find_array(sides *s, tg_xla_shape *out, int64_t shape, tg_hlo_text path_text) {
    int64_t path[MAX_PATH];
    size_t  npath = 0, first = 0, length = 1;
    if (shape == TG_HLO_NONE) return "a shape is missing";
    if (path_text.len > 0 && tg_hlo_read_path(path, MAX_PATH, &npath, path_text, NULL) != TG_OK)
        return "an operand's path is no list of numbers";
    if (npath > MAX_PATH) return "an operand's path is too long";
    if (npath == 0) {
        if (tg_hlo_get_shape(s->module, shape).kind != TG_XLA_ARRAY) return "a side is no array";
        return tg_hlo_shape(out, 1, &length, s->module, shape, NULL) == TG_OK ? NULL : "a shape is missing";
    }
    const unsigned at = find_tree(s, shape);
    if (at == TREES) {
        s->status = TG_ERR_NOMEM;
        return "memory";
    }
    const tg_xla_shape *const nodes = s->trees->nodes[at];
    if (tg_xla_subshape(&first, &length, nodes, s->trees->count[at], path, npath, NULL) != TG_OK)
        return "a path leads nowhere";
    if (length != 1 || nodes[first].kind != TG_XLA_ARRAY) return "a side is no array";
    *out = nodes[first];
    return NULL;
}

static const char *find_sides(sides *s, tg_hlo_move *move) {
    if (s->instruction.noperands < 1) return "the operand is missing";
    move->operand = s->instruction.first_operand;
    tg_hlo_operand from = tg_hlo_get_operand(s->module, move->operand);
    if (tg_hlo_text_is(s->instruction.opcode, "copy-done")) {
        const tg_hlo_instruction start = tg_hlo_get_instruction(s->module, from.instruction);
        if (start.noperands < 1) return "the copy-start is missing";
        move->operand = start.first_operand;
        from = tg_hlo_get_operand(s->module, move->operand);
    }
    int64_t shape = from.shape;
    if (shape == TG_HLO_NONE && from.instruction != TG_HLO_NONE)
        shape = tg_hlo_get_instruction(s->module, from.instruction).shape;
    const char *why = find_array(s, &s->to, s->instruction.shape, (tg_hlo_text){0});
    return why != NULL ? why : find_array(s, &s->from, shape, from.path);
}

/* ---- what happens ----------------------------------------------------------------------- */

static bool is_copy(const sides *s) {
    return tg_hlo_text_is(s->instruction.opcode, "copy") || tg_hlo_text_is(s->instruction.opcode, "copy-done");
}

/* What a failure of the library means for the two arrays. */
static const char *reason(tg_status status) {
    switch (status) {
    case TG_OK: return NULL;
    case TG_ERR_UNREPRESENTABLE: return "a size is unbounded";
    case TG_ERR_OVERFLOW: return "a size is beyond 64 bits";
    case TG_ERR_LIMIT: return "the two maps are too hard to compare";
    default: return "a layout does not fit its shape";
    }
}

/* The permutation of a transpose. */
static bool read_perm(const sides *s, int32_t *perm) {
    const int32_t ndim = s->from.ndim;
    tg_hlo_text   value = {0};
    int64_t       dims[TG_MAX_NDIM];
    uint32_t      seen = 0;
    size_t        n = 0;
    (void)tg_hlo_find_attribute(&value, s->module, s->id, "dimensions");
    if (tg_hlo_read_ints(dims, TG_MAX_NDIM, &n, value, NULL) != TG_OK || n != (size_t)ndim) return false;
    for (size_t i = 0; i < n; i++) {
        if (dims[i] < 0 || dims[i] >= ndim || (seen >> dims[i] & 1) != 0) return false;
        seen |= (uint32_t)1 << dims[i];
        perm[i] = (int32_t)dims[i];
    }
    return true;
}

static bool same_sizes(const tg_xla_shape *from, const tg_xla_shape *to, const int32_t *perm) {
    if (from->ndim != to->ndim) return false;
    for (int32_t d = 0; d < to->ndim; d++)
        if (to->dims[d] != from->dims[perm != NULL ? perm[d] : d]) return false;
    return true;
}

/* Would the bytes be the same if both were in one memory space? First: does the operation make sense? */
static const char *same_bytes(sides *s, bool *same) {
    const bool   casts = tg_hlo_text_is(s->instruction.opcode, "bitcast-convert");
    tg_xla_shape to = s->to;
    int64_t      a = 0, b = 0;
    int32_t      perm[TG_MAX_NDIM];
    to.layout.memory_space = s->from.layout.memory_space;
    s->status = tg_xla_shape_validate(&s->from, 1, &s->error);
    if (s->status == TG_OK) s->status = tg_xla_shape_validate(&s->to, 1, &s->error);
    if (s->status != TG_OK) return reason(s->status);
    if (!casts && !tg_hlo_text_is(s->instruction.opcode, "bitcast") && s->from.dtype != to.dtype)
        return "the element types differ";
    if (tg_hlo_text_is(s->instruction.opcode, "transpose")) {
        if (!read_perm(s, perm)) return "its dimensions are no permutation";
        if (!same_sizes(&s->from, &to, perm)) return "the sizes are not those of the transpose";
        s->status = tg_xla_transpose_is_bitcast(same, NULL, &s->from, &to, perm, false, &s->error);
    } else if (is_copy(s)) {
        if (!same_sizes(&s->from, &to, NULL)) return "the sizes differ";
        s->status = tg_xla_shape_equal(same, NULL, &s->from, 1, &to, 1, &s->error);
    } else {
        s->status = tg_xla_elements(&a, &s->from, 1, &s->error);
        if (s->status == TG_OK) s->status = tg_xla_elements(&b, &to, 1, &s->error);
        if (s->status != TG_OK) return reason(s->status);
        if (casts && tg_dtype_storage_bits(s->from.dtype) != tg_dtype_storage_bits(to.dtype))
            return "elements of another width";
        if (a != b && !tg_hlo_text_is(s->instruction.opcode, "bitcast")) return "the numbers of elements differ";
        s->status = tg_xla_reshape_is_bitcast(same, NULL, &s->from, &to, true, &s->error);
    }
    return reason(s->status);
}

/* A bitcast that is a reshape needs no further look. */
static const char *judge_bitcast(sides *s, tg_hlo_move *move, bool same) {
    tg_xla_bitcast explained;
    if (same) return NULL;
    tg_xla_shape to = s->to;
    to.layout.memory_space = s->from.layout.memory_space;
    s->status = tg_xla_decompose_bitcast(&explained, &s->from, &to, &s->error);
    move->is_false_bitcast = s->status == TG_OK && explained.kind == TG_XLA_BITCAST_NONE;
    return reason(s->status);
}

static const char *judge(sides *s, tg_hlo_move *move) {
    const bool  copies = is_copy(s);
    bool        same = false;
    const char *why = find_sides(s, move);
    if (why == NULL) why = same_bytes(s, &same);
    if (why != NULL) return why;
    if (tg_hlo_text_is(s->instruction.opcode, "bitcast")) return judge_bitcast(s, move, same);
    const bool same_space = s->from.layout.memory_space == s->to.layout.memory_space;
    move->kind = !same        ? TG_HLO_MOVES_RELAYOUT
                 : !same_space ? TG_HLO_MOVES_SPACE
                 : copies     ? TG_HLO_MOVES_COPY
                              : TG_HLO_MOVES_NOTHING;
    if (move->kind == TG_HLO_MOVES_NOTHING) return NULL;
    s->status = tg_xla_array_size(&move->read_bytes, &s->from, &s->error);
    if (s->status == TG_OK) s->status = tg_xla_array_size(&move->written_bytes, &s->to, &s->error);
    return reason(s->status);
}

static tg_status add_move(move_table *found, const tg_report_scope *scope, trees *known, int64_t id, tg_error *err) {
    sides s = {
        .module = scope->module, .trees = known, .id = id, .instruction = tg_hlo_get_instruction(scope->module, id)};
    if (!tg_report_is_one_of(s.instruction.opcode, movers) || !tg_report_counts_opcode(scope, s.instruction.opcode))
        return TG_OK;
    tg_hlo_move move = {.instruction = id, .operand = TG_HLO_NONE};
    move.why = judge(&s, &move);
    if (s.status == TG_ERR_NOMEM) return tg_report_no_memory(err);
    if (move.why != NULL) {
        move.kind = TG_HLO_MOVES_UNKNOWN;
        move.read_bytes = move.written_bytes = 0;
    }
    return move_table_push(found, move) ? TG_OK : tg_report_no_memory(err);
}

/* ---- the list --------------------------------------------------------------------------- */

static uint64_t moved(const tg_hlo_move *m) { return (uint64_t)m->read_bytes + (uint64_t)m->written_bytes; }

static int by_bytes(const void *x, const void *y) {
    const tg_hlo_move *a = x, *b = y;
    if (a->is_false_bitcast != b->is_false_bitcast) return a->is_false_bitcast ? -1 : 1;
    if (moved(a) != moved(b)) return moved(a) > moved(b) ? -1 : 1;
    return a->instruction < b->instruction ? -1 : a->instruction > b->instruction;
}

tg_status tg_hlo_moves_list(tg_hlo_moves *out, const tg_hlo_module *module, const tg_hlo_filter *filter,
                            tg_error *err) {
    tg_report_scope scope;
    move_table      found = {0};
    trees           known = {0};
    tg_status       status = tg_report_scope_make(&scope, module, filter, err);
    if (status != TG_OK) return status;
    for (int64_t c = scope.first; status == TG_OK && c < scope.end; c++) {
        if (!tg_report_counts_computation(&scope, c)) continue;
        const tg_hlo_computation at = tg_hlo_get_computation(module, c);
        for (int64_t i = 0; status == TG_OK && i < at.ninstructions; i++)
            status = add_move(&found, &scope, &known, at.first_instruction + i, err);
    }
    tg_report_scope_free(&scope);
    for (unsigned i = 0; i < TREES; i++) free(known.nodes[i]);
    if (status != TG_OK) {
        free(found.rows);
        return status;
    }
    if (found.count > 1) qsort(found.rows, found.count, sizeof *found.rows, by_bytes);
    *out = (tg_hlo_moves){(int64_t)found.count, found.rows};
    return TG_OK;
}

void tg_hlo_moves_free(tg_hlo_moves *moves) {
    free(moves->move);
    memset(moves, 0, sizeof *moves);
}
