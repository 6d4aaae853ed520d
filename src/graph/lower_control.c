/* Loops, branches, and what runs on several devices at once.
 *
 * The body of a loop is looked at once. Each array that it carries on is a node in front of it, which may have any
 * layout, and one behind it, which has the same one again:
 *
 *     x ---> while#1 ---> body ---> while#1/next       the value for the next round is brought into the layout of
 *            (any layout)           (that layout)      the last one, every round; x is brought into it once
 *
 * What the body does not change needs no second node. A copy within the body costs as often as the loop goes round,
 * where the module tells; else it counts as made twice, so that it is made outside where it can be. Carries run one
 * after the other, each over what it carries on: where the body swaps its values, those that it hands on as they came
 * are copied before. The nodes behind the first ones, up to the last carry, are a loop of the graph.
 *
 * All branches of a conditional are looked at, and write one result, in one layout. */
#include "graph/lower.h"

#include "base/checked.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

enum { UNKNOWN_ROUNDS = 2, MOST_TIMES = 1 << 30 };

/* ---- trees of values --------------------------------------------------------------------- */

/* A new tuple of as many things; `out` keeps what it is if it is none. False without memory. */
static bool new_tuple(tg_thing *out, const tg_order *o, uint32_t count) {
    const tg_thing nothing = {TG_NOTHING, 0, 0};
    *out = (tg_thing){TG_TUPLE, (uint32_t)o->l->things.count, count};
    for (uint32_t i = 0; i < count; i++)
        if (!tg_thing_rows_push(&o->l->things, nothing)) return false;
    return true;
}

/* `n` trees of the same form become one; `leaf` makes an array of n arrays. */
typedef tg_status join_leaf(tg_node_view *out, const tg_order *o, const tg_node_view *const *parts, size_t n);

static tg_status join_arrays(tg_thing *out, const tg_order *o, const tg_thing *parts, size_t n, join_leaf *leaf) {
    tg_node_view         result, *rows = malloc((n + 1) * sizeof *rows);
    const tg_node_view **at = malloc((n + 1) * sizeof *at);
    tg_status       s = rows != NULL && at != NULL ? TG_OK : tg_lower_no_memory(o);
    for (size_t i = 0; i < n && s == TG_OK; i++) {
        rows[i] = o->l->views.rows[parts[i].first];
        at[i] = &rows[i];
    }
    if (s == TG_OK) s = leaf(&result, o, at, n);
    free(rows);
    free(at);
    if (s != TG_OK) return s;
    *out = (tg_thing){TG_ARRAY, (uint32_t)o->l->views.count, 1};
    return tg_rows_push(&o->l->views, result) ? TG_OK : tg_lower_no_memory(o);
}

static tg_status join_at(tg_thing *out, const tg_order *o, const tg_thing *parts, size_t n, join_leaf *leaf,
                         int32_t depth) {
    tg_status s = tg_lower_look(o, depth);
    if (s != TG_OK) return s;
    for (size_t i = 1; i < n; i++)
        if (parts[i].kind != parts[0].kind || parts[i].count != parts[0].count)
            return tg_lower_fail(o, "its values have different shapes");
    *out = parts[0];
    if (parts[0].kind == TG_ARRAY) return join_arrays(out, o, parts, n, leaf);
    if (parts[0].kind != TG_TUPLE) return TG_OK;
    if (!new_tuple(out, o, parts[0].count)) return tg_lower_no_memory(o);
    tg_thing *children = malloc((n + 1) * sizeof *children);
    if (children == NULL) s = tg_lower_no_memory(o);
    for (uint32_t c = 0; c < out->count && s == TG_OK; c++) {
        const size_t name = o->l->name.count;
        tg_thing     made;
        for (size_t i = 0; i < n; i++) children[i] = o->l->things.rows[parts[i].first + c];
        s = tg_lower_name_element(o, c);
        if (s == TG_OK) s = join_at(&made, o, children, n, leaf, depth + 1);
        if (s == TG_OK) o->l->things.rows[out->first + c] = made;
        o->l->name.count = name;
    }
    free(children);
    return s;
}

static tg_status join_trees(tg_thing *out, const tg_order *o, const tg_thing *parts, size_t n, join_leaf *leaf) {
    return join_at(out, o, parts, n, leaf, 0);
}

static bool same_array(const tg_node_view *a, const tg_node_view *b) {
    return a->dtype == b->dtype && a->ndim == b->ndim &&
           memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0;
}

static bool same_view(const tg_node_view *a, const tg_node_view *b) {
    return same_array(a, b) && memcmp(a->step, b->step, sizeof a->step) == 0 && a->node == b->node &&
           a->offset == b->offset;
}

static void keep_format(tg_draft *d, const tg_order *o, const tg_node_view *like) {
    const tg_node_row *n = tg_node_at(o->l->graph, like->node);
    d->node.has_format = n->on_device;
    d->node.format = n->format;
}

/* A node that has the shape and the format of `like`. */
static void start_alike(tg_draft *d, const tg_order *o, tg_node_kind kind, const tg_node_view *like) {
    tg_draft_start(d, o, kind, like);
    keep_format(d, o, like);
}

/* ---- how often ------------------------------------------------------------------------------ */

/* The number that follows a word in a text; false if there is none. One that does not fit is INT64_MAX. */
static bool number_after(int64_t *out, tg_hlo_text text, const char *word) {
    const size_t n = strlen(word);
    for (size_t i = 0; i + n < text.len; i++) {
        if (memcmp(text.chars + i, word, n) != 0) continue;
        const size_t digits = i + n;
        int64_t      value = 0;
        for (i = digits; i < text.len && text.chars[i] >= '0' && text.chars[i] <= '9'; i++)
            if (value == INT64_MAX || !tg_muladd(&value, text.chars[i] - '0', value, 10)) value = INT64_MAX;
        *out = value;
        return i > digits;
    }
    return false;
}

/* What a constant instruction says, if it is one number. */
static bool constant_of(int64_t *out, const tg_hlo_module *m, int64_t id) {
    if (id == TG_HLO_NONE || !tg_hlo_text_is(tg_hlo_get_instruction(m, id).opcode, "constant")) return false;
    return tg_hlo_read_int(out, tg_hlo_get_arguments(m, id), NULL) == TG_OK;
}

static int64_t operand_of(const tg_hlo_module *m, const tg_hlo_instruction *at, int64_t k) {
    return k < at->noperands ? tg_hlo_get_operand(m, at->first_operand + k).instruction : TG_HLO_NONE;
}

/* Which element of the parameter an instruction takes; -1 if it is no such instruction. */
static int64_t element_of(const tg_hlo_module *m, int64_t id) {
    tg_hlo_text value;
    int64_t     index = -1;
    if (id == TG_HLO_NONE || !tg_hlo_text_is(tg_hlo_get_instruction(m, id).opcode, "get-tuple-element")) return -1;
    if (!tg_hlo_find_attribute(&value, m, id, "index") || tg_hlo_read_int(&index, value, NULL) != TG_OK) return -1;
    return index;
}

/* Element `index` of the tuple that an instruction makes. */
static int64_t tuple_element(const tg_hlo_module *m, int64_t id, int64_t index) {
    if (id == TG_HLO_NONE) return TG_HLO_NONE;
    const tg_hlo_instruction at = tg_hlo_get_instruction(m, id);
    return tg_hlo_text_is(at.opcode, "tuple") ? operand_of(m, &at, index) : TG_HLO_NONE;
}

/* i = first; while (i < last) i += 1, as jax writes it. */
static bool count_rounds(int64_t *out, const tg_order *o, int64_t condition, int64_t body) {
    const tg_hlo_module *m = o->l->module;
    tg_hlo_text          direction;
    int64_t              first = 0, last = 0, step = 0;
    const int64_t        root = tg_hlo_get_computation(m, condition).root;
    if (root == TG_HLO_NONE) return false;
    const tg_hlo_instruction test = tg_hlo_get_instruction(m, root);
    if (!tg_hlo_text_is(test.opcode, "compare") || !tg_hlo_find_attribute(&direction, m, root, "direction") ||
        !tg_hlo_text_is(direction, "LT"))
        return false;
    const int64_t index = element_of(m, operand_of(m, &test, 0));
    if (index < 0 || !constant_of(&last, m, operand_of(m, &test, 1))) return false;
    if (!constant_of(&first, m, tuple_element(m, operand_of(m, &o->at, 0), index))) return false;
    const int64_t next = tuple_element(m, tg_hlo_get_computation(m, body).root, index);
    if (next == TG_HLO_NONE) return false;
    const tg_hlo_instruction sum = tg_hlo_get_instruction(m, next);
    if (!tg_hlo_text_is(sum.opcode, "add") || element_of(m, operand_of(m, &sum, 0)) != index ||
        !constant_of(&step, m, operand_of(m, &sum, 1)) || step != 1)
        return false;
    if (!tg_sub(out, last, first)) return false;
    *out = tg_max(*out, 0);
    return true;
}

static bool find_rounds(int64_t *out, const tg_order *o, int64_t condition, int64_t body) {
    tg_hlo_text config;
    if (tg_hlo_find_attribute(&config, o->l->module, o->id, "backend_config") &&
        number_after(out, config, "\"known_trip_count\":{\"n\":\""))
        return true;
    return count_rounds(out, o, condition, body);
}

/* How often the body runs, with the loops around it. A loop that never goes round counts as once, since its nodes are
 * there; where nothing is told, loops within loops may end at the limit. */
static tg_status multiply_times(const tg_order *o, int64_t condition, int64_t body) {
    int64_t    rounds = 0, *times = &o->l->times;
    const bool told = find_rounds(&rounds, o, condition, body);
    if (!told) rounds = UNKNOWN_ROUNDS;
    if (tg_mul(times, *times, tg_max(rounds, 1)) && *times <= MOST_TIMES) return TG_OK;
    *times = MOST_TIMES;
    if (!told) return TG_OK;
    return tg_fail(o->l->err, TG_ERR_LIMIT, "%t: %d rounds, with those of the loops around it, are more than %d",
                   o->at.name.chars, o->at.name.len, rounds, (int64_t)MOST_TIMES);
}

/* ---- loops ------------------------------------------------------------------------------------- */

/* What a loop begins with, in any layout. */
static tg_status begin_leaf(tg_node_view *out, const tg_order *o, const tg_node_view *const *parts, size_t n) {
    tg_draft d;
    (void)n;
    start_alike(&d, o, TG_NODE_POINTWISE, parts[0]);
    if (!tg_draft_same(&d, o, parts[0])) return tg_lower_no_memory(o);
    return tg_draft_finish(out, &d, o);
}

/* Of what it began with, and what the next round begins with. */
static tg_status next_leaf(tg_node_view *out, const tg_order *o, const tg_node_view *const *parts, size_t n) {
    tg_draft d;
    (void)n;
    *out = *parts[0];
    if (!same_array(parts[0], parts[1])) return tg_lower_fail(o, "its body gives another shape than it takes");
    if (same_view(parts[0], parts[1])) return TG_OK;
    start_alike(&d, o, TG_NODE_CARRY, parts[0]);
    if (!tg_draft_same(&d, o, parts[0]) || !tg_draft_same(&d, o, parts[1])) return tg_lower_no_memory(o);
    return tg_draft_finish(out, &d, o);
}

/* What a body hands on as it came, or a view of that, in memory of its own: its place may be written over before it is
 * read. */
static tg_status keep_leaf(tg_node_view *out, const tg_order *o, const tg_node_view *const *parts, size_t n) {
    (void)n;
    *out = *parts[1];
    const bool made = parts[1]->node >= o->l->loop;
    return made || same_view(parts[0], parts[1]) ? TG_OK : tg_draft_copy(out, o, TG_NODE_POINTWISE);
}

static tg_status look_inside(tg_thing *out, const tg_order *o, int64_t computation, const tg_thing *args, size_t n) {
    tg_lowering *l = o->l;
    const size_t prefix = l->prefix, name = l->name.count;
    tg_status    s = tg_lower_check_call(o, computation, n);
    if (s != TG_OK) return s;
    if (!tg_trace_instruction(o) || !tg_char_rows_push(&l->name, '/')) return tg_lower_no_memory(o);
    l->prefix = l->name.count;
    s = tg_lower_computation(out, l, computation, args, n);
    l->prefix = prefix;
    l->name.count = name;
    return s;
}

static tg_status put_word(const tg_order *o, const char *word) {
    for (; *word != '\0'; word++)
        if (!tg_char_rows_push(&o->l->name, *word)) return tg_lower_no_memory(o);
    return TG_OK;
}

/* pre: the nodes before `first` are made before the loop. */
static tg_status keep_apart(tg_thing *out, const tg_order *o, const tg_thing parts[2], int64_t first) {
    const size_t  name = o->l->name.count;
    const int64_t outer = o->l->loop;
    tg_thing      kept;
    o->l->loop = first;
    tg_status s = put_word(o, "/kept");
    if (s == TG_OK) s = join_trees(&kept, o, parts, 2, keep_leaf);
    if (s == TG_OK) *out = kept;
    o->l->loop = outer;
    o->l->name.count = name;
    return s;
}

static tg_status add_loop(const tg_order *o, int64_t first, const tg_thing *tested) {
    const tg_loop loop = {first, tg_graph_count(o->l->graph),
                          tested->kind == TG_ARRAY ? o->l->views.rows[tested->first].node : -1};
    return loop.end > first ? tg_graph_add_loop(o->l->graph, &loop, o->l->err) : TG_OK;
}

static tg_status check_test(const tg_order *o, const tg_thing *tested) {
    if (tested->kind != TG_ARRAY) return tg_lower_fail(o, "its condition gives no array");
    const tg_node_view truth = {.dtype = TG_PRED};
    return tg_lower_expect(o, "what its condition gives", &o->l->views.rows[tested->first], &truth);
}

tg_status tg_lower_while(tg_order *o) {
    const int64_t body = tg_lower_callee(o, "body"), condition = tg_lower_callee(o, "condition");
    const int64_t times = o->l->times;
    const size_t  name = o->l->name.count;
    tg_thing      start, carried, tested, parts[2];
    if (body == TG_HLO_NONE || condition == TG_HLO_NONE) return tg_lower_fail(o, "it does not name its computations");
    tg_status s = tg_lower_operand(&start, o, 0);
    if (s != TG_OK) return s;
    s = multiply_times(o, condition, body);
    if (s == TG_OK) s = join_trees(&carried, o, &start, 1, begin_leaf);
    if (s != TG_OK) return s;
    const int64_t first = tg_graph_count(o->l->graph);
    s = look_inside(&tested, o, condition, &carried, 1);
    if (s == TG_OK) s = check_test(o, &tested);
    if (s == TG_OK) s = look_inside(&parts[1], o, body, &carried, 1);
    parts[0] = carried;
    if (s == TG_OK) s = keep_apart(&parts[1], o, parts, first);
    o->l->times = times;
    if (s == TG_OK) s = put_word(o, "/next");
    if (s == TG_OK) s = join_trees(o->out, o, parts, 2, next_leaf);
    o->l->name.count = name;
    return s == TG_OK ? add_loop(o, first, &tested) : s;
}

/* ---- branches ------------------------------------------------------------------------------------ */

/* Which branch ran is read as well: operand 0, one element. */
static tg_status branch_leaf(tg_node_view *out, const tg_order *o, const tg_node_view *const *parts, size_t n) {
    tg_node_view which;
    tg_draft     d;
    tg_status    s = tg_lower_view(&which, o, 0);
    if (s != TG_OK) return s;
    start_alike(&d, o, TG_NODE_POINTWISE, parts[0]);
    if (!tg_draft_operand(&d, o, &which, NULL)) return tg_lower_no_memory(o);
    for (size_t i = 0; i < n; i++) {
        if (!same_array(parts[0], parts[i])) return tg_lower_fail(o, "its branches give different shapes");
        if (!tg_draft_same(&d, o, parts[i])) return tg_lower_no_memory(o);
    }
    return tg_draft_finish(out, &d, o);
}

/* The branches: in one attribute, or in two for true and false. */
static tg_status read_branches(int64_t *out, size_t *count, size_t cap, const tg_order *o) {
    tg_hlo_text value;
    *count = 0;
    if (tg_hlo_find_attribute(&value, o->l->module, o->id, "branch_computations")) {
        const tg_status s = tg_hlo_read_computations(out, cap, count, o->l->module, value, o->l->err);
        if (s != TG_OK) return s;
    } else {
        out[(*count)++] = tg_lower_callee(o, "true_computation");
        out[(*count)++] = tg_lower_callee(o, "false_computation");
    }
    if (*count == 0 || *count > cap || *count + 1 != (size_t)o->at.noperands)
        return tg_lower_fail(o, "it does not have one operand for each branch");
    for (size_t i = 0; i < *count; i++)
        if (out[i] == TG_HLO_NONE) return tg_lower_fail(o, "it does not name its computations");
    return TG_OK;
}

/* Of two branches a truth value is enough. */
static tg_status check_choice(const tg_order *o, size_t count) {
    tg_node_view which;
    tg_status    s = tg_lower_view(&which, o, 0);
    if (s != TG_OK) return s;
    if (which.ndim != 0) return tg_lower_fail(o, "what says which branch runs is no scalar");
    if (which.dtype == TG_S32 || (which.dtype == TG_PRED && count == 2)) return TG_OK;
    return tg_lower_fail(o, "what says which branch runs is neither s32 nor, of two branches, pred");
}

tg_status tg_lower_conditional(tg_order *o) {
    enum { CAP = 64 };
    int64_t   branches[CAP];
    tg_thing  results[CAP];
    size_t    count = 0;
    const size_t name = o->l->name.count;
    tg_status s = read_branches(branches, &count, CAP, o);
    if (s == TG_OK) s = check_choice(o, count);
    for (size_t i = 0; i < count && s == TG_OK; i++) {
        tg_thing arg;
        s = tg_lower_operand(&arg, o, (int64_t)i + 1);
        if (s == TG_OK) s = tg_lower_name_element(o, (uint32_t)i);
        if (s == TG_OK) s = look_inside(&results[i], o, branches[i], &arg, 1);
        o->l->name.count = name;
    }
    return s == TG_OK ? join_trees(o->out, o, results, count, branch_leaf) : s;
}

/* ---- several devices ---------------------------------------------------------------------------------- */

/* Every device has a piece; here they are put one behind the other along a dimension. */
tg_status tg_lower_all_gather(tg_order *o) {
    int64_t   dims[TG_MAX_NDIM];
    int32_t   ndims = 0, loop[TG_MAX_NDIM];
    tg_node_view   result, view;
    tg_draft  d;
    tg_status s = tg_lower_shape(&result, o);
    if (o->at.noperands != 1) return tg_lower_refuse(o, "it gathers several tensors at once");
    if (s == TG_OK) s = tg_lower_view(&view, o, 0);
    if (s == TG_OK) s = tg_lower_ints(dims, &ndims, o, "dimensions");
    if (s != TG_OK) return s;
    if (ndims != 1 || dims[0] < 0 || dims[0] >= result.ndim || view.ndim != result.ndim || view.shape[dims[0]] < 1)
        return tg_lower_fail(o, "it does not say along what");
    tg_node_view wanted = view;
    wanted.shape[dims[0]] = result.shape[dims[0]];
    s = tg_lower_expect(o, "its result", &wanted, &result);
    if (s != TG_OK) return s;
    if (result.shape[dims[0]] % view.shape[dims[0]] != 0)
        return tg_lower_fail(o, "its result is not a whole number of its operands");
    tg_draft_start(&d, o, TG_NODE_CONCATENATE, &result);
    keep_format(&d, o, &view);
    for (int32_t i = 0; i < view.ndim; i++) loop[i] = i;
    if (view.shape[dims[0]] != result.shape[dims[0]]) {
        d.node.no_stick |= UINT32_C(1) << dims[0];
        loop[dims[0]] = TG_LOOP_UNKNOWN;
    }
    if (!tg_draft_operand(&d, o, &view, loop)) return tg_lower_no_memory(o);
    tg_node_view out;
    s = tg_draft_finish(&out, &d, o);
    return s == TG_OK ? tg_lower_put_view(o, &out) : s;
}
