/* Places in a tree of shapes: paths of element numbers, and the nodes they lead to. */
#include "hlo/shape.h"

#include "notation/xla_text.h"

tg_status tg_xla_leaf_count(size_t *out, const tg_xla_shape *nodes, size_t count, tg_error *err) {
    size_t          leaves = 0;
    const tg_status s = tg_xla_check_tree(nodes, count, err);
    if (s != TG_OK) return s;
    for (size_t i = 0; i < count; i++) /* a buffer and its array are two nodes */
        leaves += nodes[i].kind != TG_XLA_TUPLE && nodes[i].kind != TG_XLA_BUFFER;
    *out = leaves;
    return TG_OK;
}

/* The node after the subtree that begins at `first`; pre: a checked tree. */
static size_t end_of(const tg_xla_shape *nodes, size_t first) {
    size_t i = first;
    for (size_t wanted = 1; wanted > 0; wanted--) wanted += (size_t)nodes[i++].nchildren;
    return i;
}

tg_status tg_xla_subshape(size_t *first, size_t *length, const tg_xla_shape *nodes, size_t count, const int64_t *path,
                          size_t npath, tg_error *err) {
    size_t          at = 0;
    const tg_status s = tg_xla_check_tree(nodes, count, err);
    if (s != TG_OK) return s;
    for (size_t i = 0; i < npath; i++) {
        if (nodes[at].kind != TG_XLA_TUPLE)
            return tg_fail(err, TG_ERR_ARGUMENT, "the path has %d numbers, but after %d of them there is no tuple",
                           (int64_t)npath, (int64_t)i);
        if (path[i] < 0 || path[i] >= nodes[at].nchildren)
            return tg_fail(err, TG_ERR_ARGUMENT, "number %d of the path is %d, but the tuple there has %d elements",
                           (int64_t)i, path[i], (int64_t)nodes[at].nchildren);
        at++;
        for (int64_t skipped = 0; skipped < path[i]; skipped++) at = end_of(nodes, at);
    }
    *first = at;
    *length = end_of(nodes, at) - at;
    return TG_OK;
}

tg_status tg_xla_shape_index(int64_t *path, size_t cap, size_t *npath, const tg_xla_shape *nodes, size_t count,
                             size_t node, tg_error *err) {
    size_t          at = 0, n = 0;
    const tg_status s = tg_xla_check_tree(nodes, count, err);
    if (s != TG_OK) return s;
    if (node >= count)
        return tg_fail(err, TG_ERR_ARGUMENT, "node %d of a shape of %d nodes", (int64_t)node, (int64_t)count);
    while (at != node && nodes[at].kind == TG_XLA_TUPLE) {
        int64_t element = 0;
        at++;
        for (size_t end = end_of(nodes, at); end <= node; end = end_of(nodes, at)) {
            at = end;
            element++;
        }
        if (n < cap) path[n] = element;
        n++;
    }
    *npath = n;
    return TG_OK;
}
