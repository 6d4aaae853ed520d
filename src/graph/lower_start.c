/* What reductions start with. The device has neutral values of its own; anything else is one more operation behind the
 * reduction:
 *
 *     reduce(p, 5), add       sum of p, then sum + 5 */
#include "graph/literal.h"
#include "graph/lower.h"

#include <math.h>

/* ---- neutral values --------------------------------------------------------------------------- */

static bool is_neutral_real(tg_reduction r, double x) {
    switch (r) {
    case TG_REDUCE_SUM: return x == 0;
    case TG_REDUCE_PRODUCT: return x == 1;
    case TG_REDUCE_MAX: return isinf(x) && x < 0;
    case TG_REDUCE_MIN: return isinf(x) && x > 0;
    case TG_REDUCE_AND:
    case TG_REDUCE_OR:
    case TG_REDUCE_XOR: break;
    }
    return false;
}

/* x as its type has it, at least as wide as a bit. */
static bool is_neutral_whole(tg_reduction r, tg_dtype dtype, int64_t x) {
    const int32_t bits = tg_dtype_bits(dtype);
    const bool    is_signed = tg_dtype_get_class(dtype) == TG_CLASS_INT;
    const int64_t ones = (int64_t)(UINT64_MAX >> (64 - bits)), top = (int64_t)(UINT64_C(1) << (bits - 1));
    const int64_t kept = x & ones;
    switch (r) {
    case TG_REDUCE_PRODUCT: return kept == (1 & ones);
    case TG_REDUCE_AND: return kept == ones;
    case TG_REDUCE_MIN: return kept == (is_signed ? top - 1 : ones);
    case TG_REDUCE_MAX: return kept == (is_signed ? top : 0);
    case TG_REDUCE_SUM:
    case TG_REDUCE_OR:
    case TG_REDUCE_XOR: break;
    }
    return kept == 0;
}

/* The constant that node is; TG_HLO_NONE if it is none of one element. */
static int64_t constant_of(const tg_lowering *l, int64_t node) {
    size_t low = 0, high = l->constants.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (l->constants.rows[middle].node < node) low = middle + 1;
        else high = middle;
    }
    if (low == l->constants.count || l->constants.rows[low].node != node) return TG_HLO_NONE;
    return tg_node_at(l->graph, node)->host.ndim == 0 ? l->constants.rows[low].instruction : TG_HLO_NONE;
}

bool tg_lower_is_neutral(const tg_order *o, tg_reduction reduction, int64_t k) {
    tg_node_view start;
    double       real = 0;
    int64_t      whole = 0;
    if (tg_lower_view(&start, o, k) != TG_OK) return false;
    const int64_t constant = constant_of(o->l, start.node);
    if (constant == TG_HLO_NONE ||
        tg_read_literal(&real, &whole, 1, tg_hlo_get_arguments(o->l->module, constant), NULL) != TG_OK)
        return false;
    switch (tg_dtype_get_class(start.dtype)) {
    case TG_CLASS_FLOAT: return is_neutral_real(reduction, real);
    case TG_CLASS_PRED:
    case TG_CLASS_INT:
    case TG_CLASS_UINT: return is_neutral_whole(reduction, start.dtype, whole);
    default: return false;
    }
}

/* ---- one more operation --------------------------------------------------------------------------- */

static bool put_word(tg_lowering *l, const char *word) {
    for (; *word != '\0'; word++)
        if (!tg_char_rows_push(&l->name, *word)) return false;
    return true;
}

tg_status tg_lower_put_start(tg_node_view *view, const tg_order *o, tg_reduction reduction, int64_t k) {
    static const char *const opcodes[] = {"add", "maximum", "minimum", "multiply", "and", "or", "xor"};
    const tg_node_row       *n = tg_node_at(o->l->graph, view->node);
    const size_t             name = o->l->name.count;
    tg_node_view             start;
    tg_draft                 d;
    tg_status                s = tg_lower_view(&start, o, k);
    if (s != TG_OK || tg_lower_is_neutral(o, reduction, k)) return s;
    if (start.ndim != 0) return tg_lower_fail(o, "what it starts with is no scalar");
    tg_draft_start(&d, o, TG_NODE_POINTWISE, view);
    d.node.opcode = tg_text_of(opcodes[reduction]);
    d.node.has_format = n->on_device;
    d.node.format = n->format;
    if (!put_word(o->l, "/start") || !tg_draft_same(&d, o, view) || !tg_draft_same(&d, o, &start))
        return tg_lower_no_memory(o);
    s = tg_draft_finish(view, &d, o);
    o->l->name.count = name;
    return s;
}
