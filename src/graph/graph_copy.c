/* A second graph with the same nodes. */
#include "graph/model.h"

#include "base/error.h"

#include <string.h>

#define COPY(name, table)                                                                                              \
    if (!name##_reserve(&to->table, from->table.count)) return false;                                                  \
    if (from->table.count > 0) memcpy(to->table.rows, from->table.rows, from->table.count * sizeof *to->table.rows);   \
    to->table.count = from->table.count;

/* pre: `to` is empty. False without memory. */
static bool copy(tg_graph *to, const tg_graph *from) {
    COPY(tg_node_rows, nodes)
    COPY(tg_access_rows, accesses)
    COPY(tg_term_rows, terms)
    COPY(tg_int_rows, ranges)
    COPY(tg_char_rows, chars)
    COPY(tg_split_rows, pins)
    COPY(tg_window_rows, windows)
    COPY(tg_spyre_rows, layouts)
    COPY(tg_output_rows, outputs)
    COPY(tg_loop_rows, loops)
    to->device_formats = from->device_formats;
    return true;
}

tg_status tg_graph_copy(tg_graph **out, const tg_graph *graph, tg_error *err) {
    tg_graph       *made = NULL;
    const tg_status s = tg_graph_create(&made, err);
    if (s != TG_OK) return s;
    if (!copy(made, graph)) {
        tg_graph_destroy(&made);
        return tg_graph_no_memory(err);
    }
    *out = made;
    return TG_OK;
}
