/* Printing XLA's text for shapes and layouts: the canonical form, which reads back to the same value.
 *
 * What is not said is what has its default: tail padding 1, memory space 0, element size 0, no tiles. The
 * colon stands only before a property, and the braces of a scalar only if something is in them. */
#include "notation/xla_text.h"

#include "base/text.h"

/* ---- layouts ------------------------------------------------------------------ */

static void put_text_number(tg_writer *w, const char *text, int64_t number) {
    tg_put_text(w, text);
    tg_put_int(w, number);
}

static void put_number_property(tg_writer *w, const char *word, int64_t number) {
    put_text_number(w, word, number);
    tg_put_char(w, ')');
}

static void put_type_property(tg_writer *w, const char *sign, tg_dtype type) {
    const tg_dtype_class class_ = tg_dtype_get_class(type);
    tg_put_text(w, sign);
    tg_put_text(w, class_ == TG_CLASS_INT || class_ == TG_CLASS_UINT ? tg_dtype_name(type) : "invalid");
    tg_put_char(w, ')');
}

static void put_tiles(tg_writer *w, const tg_xla_layout *layout) {
    const int64_t *dims = layout->tile_dims;
    if (layout->ntiles > 0) tg_put_char(w, 'T');
    for (int32_t i = 0; i < layout->ntiles; dims += layout->tile_ndim[i++]) {
        tg_put_char(w, '(');
        for (int32_t k = 0; k < layout->tile_ndim[i]; k++) {
            if (k > 0) tg_put_char(w, ',');
            if (dims[k] == TG_XLA_COMBINE) tg_put_char(w, '*');
            else tg_put_int(w, dims[k]);
        }
        tg_put_char(w, ')');
    }
}

static void put_splits(tg_writer *w, const tg_xla_layout *layout) {
    const int64_t *indices = layout->split_indices;
    if (layout->nsplits > 0) tg_put_text(w, "SC");
    for (int32_t i = 0; i < layout->nsplits; indices += layout->split_nindices[i++]) {
        put_text_number(w, "(", layout->split_dim[i]);
        tg_put_char(w, ':');
        tg_put_ints(w, indices, layout->split_nindices[i], ",");
        tg_put_char(w, ')');
    }
}

static void put_properties(tg_writer *w, const tg_xla_layout *layout) {
    put_tiles(w, layout);
    if (layout->tail_padding != 1) put_number_property(w, "L(", layout->tail_padding);
    if (layout->index_type != TG_INVALID) put_type_property(w, "#(", layout->index_type);
    if (layout->pointer_type != TG_INVALID) put_type_property(w, "*(", layout->pointer_type);
    if (layout->element_size_in_bits != 0) put_number_property(w, "E(", layout->element_size_in_bits);
    if (layout->memory_space != 0) put_number_property(w, "S(", layout->memory_space);
    put_splits(w, layout);
    if (layout->metadata_prefix_bytes > 0) put_number_property(w, "M(", layout->metadata_prefix_bytes);
}

static bool has_properties(const tg_xla_layout *layout) {
    tg_writer nowhere = tg_writer_make(NULL, 0);
    put_properties(&nowhere, layout);
    return nowhere.len > 0;
}

static void put_layout(tg_writer *w, const tg_xla_layout *layout) {
    tg_put_char(w, '{');
    for (int32_t i = 0; i < layout->ndim; i++) put_text_number(w, i > 0 ? "," : "", layout->minor_to_major[i]);
    if (has_properties(layout)) {
        tg_put_char(w, ':');
        put_properties(w, layout);
    }
    tg_put_char(w, '}');
}

size_t tg_xla_layout_format(char *buf, size_t cap, const tg_xla_layout *layout) {
    tg_writer w = tg_writer_make(buf, cap);
    if (tg_xla_layout_is_bounded(layout)) put_layout(&w, layout);
    return tg_writer_end(&w);
}

/* ---- shapes ------------------------------------------------------------------- */

static void put_dims(tg_writer *w, const tg_xla_shape *array) {
    tg_put_char(w, '[');
    for (int32_t d = 0; d < array->ndim; d++) {
        if (d > 0) tg_put_char(w, ',');
        if (array->dynamic[d] && array->dims[d] == TG_XLA_UNBOUNDED) tg_put_char(w, '?');
        else put_text_number(w, array->dynamic[d] ? "<=" : "", array->dims[d]);
    }
    tg_put_char(w, ']');
}

/* The layout of a scalar is printed only if it says something. */
static void put_array(tg_writer *w, const tg_xla_shape *array, bool with_layout) {
    const char *name = tg_dtype_name(array->dtype);
    tg_put_text(w, name != NULL ? name : "primitive_type_invalid");
    put_dims(w, array);
    if (!with_layout || !array->has_layout) return;
    if (array->ndim > 0 || array->layout.ndim > 0 || has_properties(&array->layout)) put_layout(w, &array->layout);
}

/* The open tuples and buffers, with their elements and how many of them are begun. */
typedef struct printer {
    tg_writer w;
    bool      with_layout;
    int32_t   depth;
    int32_t   size[TG_XLA_MAX_DEPTH], begun[TG_XLA_MAX_DEPTH];
} printer;

/* Between elements; every fifth is numbered. */
static void put_separator(printer *p) {
    if (p->depth == 0) return;
    const int32_t i = p->begun[p->depth - 1]++;
    if (i == 0) return;
    tg_put_text(&p->w, ", ");
    if (i % 5 != 0) return;
    put_text_number(&p->w, "/*index=", i);
    tg_put_text(&p->w, "*/");
}

static void put_closings(printer *p) {
    for (; p->depth > 0 && p->begun[p->depth - 1] == p->size[p->depth - 1]; p->depth--) tg_put_char(&p->w, ')');
}

static void put_opening(printer *p, const tg_xla_shape *node) {
    tg_put_text(&p->w, node->kind == TG_XLA_BUFFER ? "b(" : "(");
    p->size[p->depth] = node->nchildren;
    p->begun[p->depth++] = 0;
}

static void put_node(printer *p, const tg_xla_shape *node) {
    put_separator(p);
    switch (node->kind) {
    case TG_XLA_ARRAY: put_array(&p->w, node, p->with_layout); break;
    case TG_XLA_TOKEN: tg_put_text(&p->w, "token[]"); break;
    case TG_XLA_OPAQUE: tg_put_text(&p->w, "opaque[]"); break;
    case TG_XLA_TUPLE:
    case TG_XLA_BUFFER: put_opening(p, node); break;
    }
    put_closings(p);
}

size_t tg_xla_shape_format(char *buf, size_t cap, const tg_xla_shape *nodes, size_t count, bool with_layout) {
    printer p = {.w = tg_writer_make(buf, cap), .with_layout = with_layout};
    if (tg_xla_check_tree(nodes, count, NULL) == TG_OK)
        for (size_t i = 0; i < count; i++) put_node(&p, &nodes[i]);
    return tg_writer_end(&p.w);
}
