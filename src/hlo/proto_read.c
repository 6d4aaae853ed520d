/* XLA's protos -> shapes and layouts.
 *
 * As in text, reading is not judging: sizes may be negative, an order no permutation. Refused is what XLA refuses, in
 * its words, and what our values have no place for. What XLA skips is skipped: the sizes of a tuple, the elements of
 * an array.
 *
 * The nodes of a shape come in the order of the bytes, so a node's place is found by walking over the fields of
 * the open tuples once more, beside the unpacked messages, which do not know where they lay. */
#include "hlo/proto.h"
#include <tegula/xla_proto.h>

#include "base/error.h"

/* ---- failures ----------------------------------------------------------------- */

static tg_status fail_limit(const tg_proto_reader *r, int64_t limit, const char *of) {
    return tg_wire_at(r->err, r->pos,
                      tg_fail(r->err, TG_ERR_LIMIT, "more than %d %s, a limit of this library", limit, of));
}

static tg_status fail_number(const tg_proto_reader *r, const char *rule, int64_t number) {
    return tg_fail_at(r->err, r->pos, "not an XLA layout: %s: %d", rule, number);
}

/* ---- layouts ------------------------------------------------------------------ */

static tg_status fail_order(const tg_proto_reader *r, int64_t number) {
    return tg_wire_at(r->err, r->pos,
                      tg_fail(r->err, TG_ERR_LIMIT,
                              "minor_to_major number %d does not fit int32, a limit of this library", number));
}

static tg_status read_order(const tg_proto_reader *r, tg_xla_layout *out, const Tg__LayoutProto *in) {
    if (in->n_minor_to_major > TG_MAX_NDIM) return fail_limit(r, TG_MAX_NDIM, "numbers in minor_to_major");
    out->ndim = (int32_t)in->n_minor_to_major;
    for (int32_t i = 0; i < out->ndim; i++) {
        const int64_t number = in->minor_to_major[i];
        if (number < INT32_MIN || number > INT32_MAX) return fail_order(r, number);
        out->minor_to_major[i] = (int32_t)number;
    }
    return TG_OK;
}

static tg_status read_tile(const tg_proto_reader *r, int64_t *dims, int32_t room, const Tg__TileProto *in) {
    if (in->n_dimensions > (size_t)room) return fail_limit(r, TG_XLA_MAX_TILE_DIMS, "tile dimensions in all levels");
    for (size_t i = 0; i < in->n_dimensions; i++) {
        dims[i] = in->dimensions[i];
        if (dims[i] < 0)
            return fail_number(r, "tile dimension must be >= 0 (`*` has no form in a proto)", dims[i]);
    }
    return TG_OK;
}

static tg_status read_tiles(const tg_proto_reader *r, tg_xla_layout *out, const Tg__LayoutProto *in) {
    if (in->n_tiles > TG_XLA_MAX_TILES) return fail_limit(r, TG_XLA_MAX_TILES, "tile levels");
    int32_t used = 0;
    for (size_t t = 0; t < in->n_tiles; t++) {
        const tg_status s = read_tile(r, &out->tile_dims[used], TG_XLA_MAX_TILE_DIMS - used, in->tiles[t]);
        if (s != TG_OK) return s;
        out->tile_ndim[t] = (int32_t)in->tiles[t]->n_dimensions;
        used += out->tile_ndim[t];
    }
    out->ntiles = (int32_t)in->n_tiles;
    return TG_OK;
}

static tg_status read_splits(const tg_proto_reader *r, tg_xla_layout *out, const Tg__LayoutProto *in) {
    if (in->n_split_configs > TG_XLA_MAX_SPLITS) return fail_limit(r, TG_XLA_MAX_SPLITS, "split configs");
    int32_t used = 0;
    for (size_t s = 0; s < in->n_split_configs; s++) {
        const Tg__SplitConfigProto *config = in->split_configs[s];
        if (config->n_split_indices > (size_t)(TG_XLA_MAX_SPLIT_INDICES - used))
            return fail_limit(r, TG_XLA_MAX_SPLIT_INDICES, "split indices in all split configs");
        out->split_dim[s] = config->dimension;
        out->split_nindices[s] = (int32_t)config->n_split_indices;
        for (size_t i = 0; i < config->n_split_indices; i++) out->split_indices[used++] = config->split_indices[i];
    }
    out->nsplits = (int32_t)in->n_split_configs;
    return TG_OK;
}

static tg_status read_numbers(const tg_proto_reader *r, tg_xla_layout *out, const Tg__LayoutProto *in) {
    out->tail_padding = in->tail_padding_alignment_in_elements;
    if (out->tail_padding < 0)
        return fail_number(r, "tail_padding_alignment_in_elements must not be negative", out->tail_padding);
    if (out->tail_padding == 0) out->tail_padding = 1;
    out->element_size_in_bits = in->element_size_in_bits;
    out->metadata_prefix_bytes = in->dynamic_shape_metadata_prefix_bytes;
    return TG_OK;
}

static tg_status read_small_numbers(const tg_proto_reader *r, tg_xla_layout *out, const Tg__LayoutProto *in) {
    if (!tg_proto_fits_int8(in->memory_space))
        return fail_number(r, "memory space does not fit int8", in->memory_space);
    if (!tg_proto_fits_int8(in->index_primitive_type))
        return fail_number(r, "index_primitive_type does not fit int8", in->index_primitive_type);
    if (!tg_proto_fits_int8(in->pointer_primitive_type))
        return fail_number(r, "pointer_primitive_type does not fit int8", in->pointer_primitive_type);
    out->memory_space = in->memory_space;
    out->index_type = (tg_dtype)in->index_primitive_type;
    out->pointer_type = (tg_dtype)in->pointer_primitive_type;
    return TG_OK;
}

static tg_status refuse_physical_shape(const tg_proto_reader *r) {
    return tg_wire_at(r->err, r->pos,
                      tg_fail(r->err, TG_ERR_UNSUPPORTED, "Layout has physical shape, which is not kept here"));
}

tg_status tg_proto_read_layout(tg_proto_reader *r, tg_xla_layout *out, const Tg__LayoutProto *in) {
    *out = (tg_xla_layout){.tail_padding = 1};
    if (in->physical_shape != NULL) return refuse_physical_shape(r);
    tg_status status = read_order(r, out, in);
    if (status == TG_OK) status = read_tiles(r, out, in);
    if (status == TG_OK) status = read_splits(r, out, in);
    if (status == TG_OK) status = read_numbers(r, out, in);
    return status != TG_OK ? status : read_small_numbers(r, out, in);
}

/* ---- nodes -------------------------------------------------------------------- */

static bool is_array(int32_t element_type) {
    return element_type > 0 && tg_dtype_name((tg_dtype)element_type) != NULL;
}

static tg_status read_kind(const tg_proto_reader *r, tg_xla_shape *out, const Tg__ShapeProto *in) {
    switch (in->element_type) {
    case TG_PROTO_TUPLE: out->kind = TG_XLA_TUPLE; return TG_OK;
    case TG_PROTO_OPAQUE: out->kind = TG_XLA_OPAQUE; return TG_OK;
    case TG_PROTO_TOKEN: out->kind = TG_XLA_TOKEN; return TG_OK;
    case TG_PROTO_BUFFER: out->kind = TG_XLA_BUFFER; return TG_OK;
    default: break;
    }
    if (!is_array(in->element_type))
        return tg_fail_at(r->err, r->pos, "not an XLA shape: %d is no element type", (int64_t)in->element_type);
    out->kind = TG_XLA_ARRAY;
    out->dtype = (tg_dtype)in->element_type;
    return TG_OK;
}

static tg_status read_dims(const tg_proto_reader *r, tg_xla_shape *out, const Tg__ShapeProto *in) {
    if (in->n_is_dynamic_dimension != 0 && in->n_is_dynamic_dimension != in->n_dimensions)
        return tg_fail_at(r->err, r->pos,
                          "Malformed shape proto: number of is_dynamic_dimension fields (%d) does not match number of "
                          "dimension fields (%d).",
                          (int64_t)in->n_is_dynamic_dimension, (int64_t)in->n_dimensions);
    if (in->n_dimensions > TG_MAX_NDIM) return fail_limit(r, TG_MAX_NDIM, "dimensions");
    out->ndim = (int32_t)in->n_dimensions;
    for (int32_t d = 0; d < out->ndim; d++) {
        out->dims[d] = in->dimensions[d];
        out->dynamic[d] = in->n_is_dynamic_dimension != 0 && in->is_dynamic_dimension[d] != 0;
    }
    return TG_OK;
}

static tg_status read_array(tg_proto_reader *r, tg_xla_shape *out, const Tg__ShapeProto *in) {
    const tg_status status = read_dims(r, out, in);
    if (status != TG_OK || in->layout == NULL) return status;
    out->has_layout = true;
    return tg_proto_read_layout(r, &out->layout, in->layout);
}

static tg_status check_buffer(const tg_proto_reader *r, const Tg__ShapeProto *in) {
    if (in->n_tuple_shapes != 1)
        return tg_fail_at(r->err, r->pos, "Buffer shape must have exactly one tuple shape. (it has %d)",
                          (int64_t)in->n_tuple_shapes);
    if (is_array(in->tuple_shapes[0]->element_type)) return TG_OK;
    return tg_fail_at(r->err, r->pos, "Buffer shape must have array shape.");
}

static const char *type_name(tg_xla_kind kind) {
    switch (kind) {
    case TG_XLA_TUPLE: return "TUPLE";
    case TG_XLA_TOKEN: return "TOKEN";
    case TG_XLA_OPAQUE: return "OPAQUE_TYPE";
    default: return "BUFFER";
    }
}

/* Of the kinds that have no layout XLA takes one for a buffer, and gives it to the array in place of its own. */
static tg_status refuse_layout(const tg_proto_reader *r, const Tg__ShapeProto *in, tg_xla_kind kind) {
    if (in->layout == NULL) return TG_OK;
    return tg_fail_at(r->err, r->pos, "Malformed shape proto: element_type %s should not have a layout.",
                      type_name(kind));
}

static tg_status read_node(tg_proto_reader *r, tg_xla_shape *out, const Tg__ShapeProto *in) {
    *out = (tg_xla_shape){.pos = r->pos};
    tg_status status = read_kind(r, out, in);
    if (status != TG_OK) return status;
    if (out->kind == TG_XLA_ARRAY) return read_array(r, out, in);
    if (out->kind == TG_XLA_BUFFER && (status = check_buffer(r, in)) != TG_OK) return status;
    if (out->kind == TG_XLA_TUPLE || out->kind == TG_XLA_BUFFER)
        out->nchildren = (int32_t)in->n_tuple_shapes; /* fits: each took some bytes of memory */
    return refuse_layout(r, in, out->kind);
}

/* ---- the tree ----------------------------------------------------------------- */

/* A tuple or buffer whose elements are being read, and the bytes behind the last of them. */
typedef struct open_shape {
    const Tg__ShapeProto *message;
    size_t                next;
    tg_wire               rest;
} open_shape;

typedef struct open_shapes {
    int32_t    depth;
    open_shape at[TG_PROTO_MAX_DEPTH + 1];
} open_shapes;

static tg_status visit(tg_proto_reader *r, open_shapes *open, const Tg__ShapeProto *message, tg_wire at) {
    tg_xla_shape node;
    r->pos = at.pos;
    const tg_status status = read_node(r, &node, message);
    if (status != TG_OK) return status;
    if (r->count < r->cap) r->nodes[r->count] = node;
    r->count++;
    if (node.nchildren > 0) open->at[open->depth++] = (open_shape){message, 0, at};
    return TG_OK;
}

tg_status tg_proto_read_tree(tg_proto_reader *r, const Tg__ShapeProto *root, tg_wire at) {
    open_shapes open = {.depth = 0};
    tg_status   status = visit(r, &open, root, at);
    while (status == TG_OK && open.depth > 0) {
        open_shape *top = &open.at[open.depth - 1];
        if (top->next == top->message->n_tuple_shapes) {
            open.depth--;
        } else {
            tg_wire element = at; /* found: unpacking found it */
            (void)tg_wire_find(&top->rest, TG_PROTO_TUPLE_SHAPES, &element);
            status = visit(r, &open, top->message->tuple_shapes[top->next++], element);
        }
    }
    return status;
}

/* ---- a shape, a layout ---------------------------------------------------------- */

/* First without storing, so that a failed call writes nothing. */
tg_status tg_xla_shape_from_proto(tg_xla_shape *nodes, size_t cap, size_t *count, const void *bytes, size_t len,
                                  tg_error *err) {
    tg_proto  proto;
    tg_status status = tg_proto_unpack(&proto, &tg__shape_proto__descriptor, bytes, len, err);
    if (status != TG_OK) return status;
    const Tg__ShapeProto *root = (const Tg__ShapeProto *)proto.message;
    const tg_wire         at = {bytes, 0, len};
    tg_proto_reader       check = {.err = err}, store = {.nodes = nodes, .cap = cap};
    status = tg_proto_read_tree(&check, root, at);
    if (status == TG_OK) {
        if (cap > 0) (void)tg_proto_read_tree(&store, root, at);
        *count = check.count;
    }
    tg_proto_free(&proto);
    return status;
}

tg_status tg_xla_layout_from_proto(tg_xla_layout *out, const void *bytes, size_t len, tg_error *err) {
    tg_proto  proto;
    tg_status status = tg_proto_unpack(&proto, &tg__layout_proto__descriptor, bytes, len, err);
    if (status != TG_OK) return status;
    tg_proto_reader r = {.err = err};
    tg_xla_layout   layout;
    status = tg_proto_read_layout(&r, &layout, (const Tg__LayoutProto *)proto.message);
    if (status == TG_OK) *out = layout;
    tg_proto_free(&proto);
    return status;
}
