/* What frontend_attributes want of a tensor or an operation: spyre_layout="spyre dim_order=[1,0]", in the notation of
 * docs/notation.md behind the shape, spyre_splits="p0=8,p1=4" and spyre_tiles="p0=2". */
#include "graph/lower.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"

#include <string.h>

/* "f16[128,256] strides=[256,1] spyre ..." from the host tensor and what frontend_attributes say of it. */
static size_t write_layout(char *buf, size_t cap, const tg_host *host, tg_hlo_text says) {
    tg_writer w = tg_writer_make(buf, cap);
    tg_put_text(&w, tg_dtype_name(host->dtype));
    tg_put_char(&w, '[');
    tg_put_ints(&w, host->shape, host->ndim, ",");
    tg_put_text(&w, "] strides=[");
    tg_put_ints(&w, host->strides, host->ndim, ",");
    tg_put_text(&w, "] ");
    tg_put_bytes(&w, says.chars, says.len);
    return tg_writer_end(&w);
}

static bool find_hint(tg_hlo_text *value, const tg_order *o, const char *key) {
    tg_hlo_text attributes;
    return tg_hlo_find_attribute(&attributes, o->l->module, o->id, "frontend_attributes") &&
           tg_hlo_find_field(value, attributes, key);
}

/* A quoted text among the instruction's frontend_attributes. */
static tg_status read_hint(char *says, size_t cap, size_t *len, bool *given, const tg_order *o, const char *key) {
    tg_hlo_text value;
    *given = find_hint(&value, o, key);
    if (!*given) return TG_OK;
    if (value.len == 0 || value.chars[0] != '"')
        return tg_fail(o->l->err, TG_ERR_UNSUPPORTED, "%t: %s is to be a quoted text", o->at.name.chars, o->at.name.len,
                       key);
    const tg_status s = tg_hlo_read_string(says, cap, len, value, o->l->err);
    if (s == TG_OK && *len >= cap) return tg_lower_fail(o, "what frontend_attributes say of it is too long");
    return s;
}

enum { HINT = 2048 };

tg_status tg_lower_read_layout(tg_spyre *out, bool *given, const tg_order *o, const tg_host *host) {
    char      says[HINT], text[2 * HINT];
    size_t    need = 0;
    tg_desc   desc;
    tg_status s = read_hint(says, HINT, &need, given, o, "spyre_layout");
    if (s != TG_OK || !*given) return s;
    const size_t len = write_layout(text, sizeof text, host, (tg_hlo_text){says, need});
    tg_error err;
    s = tg_desc_parse(&desc, text, len, &err);
    if (s != TG_OK) return tg_fail(o->l->err, s, "%t: spyre_layout: %s", o->at.name.chars, o->at.name.len, err.message);
    if (desc.notation != TG_NOTATION_SPYRE) return tg_lower_fail(o, "spyre_layout says no Spyre layout");
    *out = desc.spyre;
    return TG_OK;
}

/* ---- what the user wants of a node ---------------------------------------------------------------- */

/* "p0=8,p1=4" */
static bool read_split(tg_split *out, tg_cursor *c) {
    int64_t loop = 0;
    bool    has_loop = false, has_slices = false;
    tg_skip_blanks(c);
    if (!tg_take_char(c, 'p') || !tg_take_int(c, &loop, &has_loop) || !tg_take_char(c, '=') ||
        !tg_take_int(c, &out->slices, &has_slices) || !has_loop || !has_slices)
        return false;
    out->loop = (int32_t)tg_min(tg_max(loop, -1), TG_MAX_LOOPS);
    return out->loop >= 0 && out->slices >= 1;
}

/* Wishes and tiles stand behind the pins, and these may have to move for it to the end of all. */
static bool move_pins(tg_graph *g, tg_node_row *n) {
    const uint32_t first = n->first_pin;
    n->first_pin = (uint32_t)g->pins.count;
    for (uint32_t i = 0; i < n->npins; i++)
        if (!tg_split_rows_push(&g->pins, g->pins.rows[first + i])) return false;
    return true;
}

/* Behind the pins that come last of all; *count goes on. */
static tg_status add_wishes(uint32_t *count, const tg_order *o, const char *key, int32_t nloops) {
    char      says[HINT];
    size_t    len = 0;
    bool      given = false;
    tg_status s = read_hint(says, HINT, &len, &given, o, key);
    if (s != TG_OK || !given) return s;
    const tg_hlo_text name = o->at.name;
    tg_cursor         c = tg_cursor_make(says, len);
    do {
        tg_split split;
        if (!read_split(&split, &c)) break;
        if (split.loop >= nloops)
            return tg_fail(o->l->err, TG_ERR_UNSUPPORTED, "%t: %s names a loop that it does not have", name.chars,
                           name.len, key);
        if (!tg_split_rows_push(&o->l->graph->pins, split)) return tg_lower_no_memory(o);
        ++*count;
        if (c.pos == len) return TG_OK;
    } while (tg_take_char(&c, ','));
    return tg_fail(o->l->err, TG_ERR_UNSUPPORTED, "%t: %s is to be a list like p0=8,p1=4", name.chars, name.len, key);
}

static tg_status want_layout(const tg_order *o, tg_node_row *n, const tg_spyre *layout) {
    if (layout->device_dtype != n->format) return tg_lower_fail(o, "spyre_layout has another device format");
    if (n->kind == TG_NODE_CARRY || n->kind == TG_NODE_SCATTER)
        return tg_lower_fail(o, "spyre_layout is not for what gets its layout from its rule");
    n->layout = (int64_t)o->l->graph->layouts.count;
    return tg_spyre_rows_push(&o->l->graph->layouts, *layout) ? TG_OK : tg_lower_no_memory(o);
}

/* The instruction has made the last node, and shows all of it. */
static bool made_node(const tg_order *o, int64_t before) {
    const int64_t last = tg_graph_count(o->l->graph) - 1;
    return last >= before && o->out->kind == TG_ARRAY && o->l->views.rows[o->out->first].node == last;
}

/* The node that has the instruction's own name, and not one with a start or the like behind it: its loops are those
 * that the instruction has. pre: made_node. */
static tg_node_row *named_node(const tg_order *o, int64_t before) {
    const tg_char_rows *name = &o->l->name;
    tg_graph           *g = o->l->graph;
    int64_t             id = tg_graph_count(g) - 1;
    while (id > before) {
        const tg_node_row *n = tg_node_at(g, id);
        if (n->name_len == name->count && memcmp(g->chars.rows + n->name, name->rows, name->count) == 0) break;
        id--;
    }
    return &g->nodes.rows[id];
}

tg_status tg_lower_take_hints(const tg_order *o, int64_t before) {
    static const char *const keys[] = {"spyre_layout", "spyre_splits", "spyre_tiles"};
    tg_spyre                 layout;
    tg_hlo_text              ignored;
    bool                     wants_layout = false, wants = false;
    if (tg_hlo_text_is(o->at.opcode, "parameter")) return TG_OK;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) wants = wants || find_hint(&ignored, o, keys[i]);
    if (!wants) return TG_OK;
    if (!made_node(o, before))
        return tg_lower_fail(o, "what frontend_attributes want is for operations with one result, not for views");
    tg_node_row *n = &o->l->graph->nodes.rows[tg_graph_count(o->l->graph) - 1];
    tg_node_row *work = named_node(o, before);
    if (!move_pins(o->l->graph, work)) return tg_lower_no_memory(o);
    tg_status s = add_wishes(&work->nwishes, o, "spyre_splits", work->nloops);
    if (s == TG_OK) s = add_wishes(&work->ntiles, o, "spyre_tiles", work->nloops);
    if (s == TG_OK) s = tg_lower_read_layout(&layout, &wants_layout, o, &n->host);
    return s == TG_OK && wants_layout ? want_layout(o, n, &layout) : s;
}
