/* Shapes and layouts -> XLA's protos.
 *
 * The messages of protobuf-c are pointers to numbers and to each other. Most of the numbers can stay in the nodes
 * where they are; the messages, and what has another type there, come into one block, a tg_proto_node for each
 * node. XLA writes tail padding also where it is 1, and whether a dimension is dynamic also where none is. */
#include "hlo/proto.h"
#include "notation/xla_text.h"
#include <tegula/xla_proto.h>

#include "base/error.h"

#include <stdlib.h>

/* ---- layouts ------------------------------------------------------------------ */

static tg_status check_tile_dims(const int64_t *dims, int32_t n, tg_error *err) {
    for (int32_t i = 0; i < n; i++) {
        if (dims[i] >= 0) continue;
        if (dims[i] == TG_XLA_COMBINE)
            return tg_fail(err, TG_ERR_UNREPRESENTABLE, "`*` in a tile has no form in a proto: XLA reads no negative "
                                                        "tile dimension");
        return tg_fail(err, TG_ERR_ARGUMENT, "tile dimension must be >= 0: %d", dims[i]);
    }
    return TG_OK;
}

static tg_status check_numbers(const tg_xla_layout *in, tg_error *err) {
    if (in->tail_padding < 1)
        return tg_fail(err, TG_ERR_ARGUMENT, "tail_padding_alignment_in_elements must be >= 1: %d", in->tail_padding);
    if (!tg_proto_fits_int8(in->memory_space))
        return tg_fail(err, TG_ERR_ARGUMENT, "memory space does not fit int8: %d", in->memory_space);
    if (!tg_proto_fits_int8((int32_t)in->index_type) || !tg_proto_fits_int8((int32_t)in->pointer_type))
        return tg_fail(err, TG_ERR_ARGUMENT, "index and pointer type do not fit int8: %d, %d", (int64_t)in->index_type,
                       (int64_t)in->pointer_type);
    return TG_OK;
}

static tg_status build_tiles(tg_proto_node *out, const tg_xla_layout *in, tg_error *err) {
    const int64_t *dims = in->tile_dims;
    for (int32_t t = 0; t < in->ntiles; dims += in->tile_ndim[t++]) {
        const tg_status status = check_tile_dims(dims, in->tile_ndim[t], err);
        if (status != TG_OK) return status;
        tg__tile_proto__init(&out->tile[t]);
        out->tile[t].n_dimensions = (size_t)in->tile_ndim[t];
        out->tile[t].dimensions = (int64_t *)dims; /* only read */
        out->tiles[t] = &out->tile[t];
    }
    out->layout.n_tiles = (size_t)in->ntiles;
    out->layout.tiles = out->tiles;
    return TG_OK;
}

static void build_splits(tg_proto_node *out, const tg_xla_layout *in) {
    const int64_t *indices = in->split_indices;
    for (int32_t s = 0; s < in->nsplits; indices += in->split_nindices[s++]) {
        tg__split_config_proto__init(&out->split[s]);
        out->split[s].dimension = in->split_dim[s];
        out->split[s].n_split_indices = (size_t)in->split_nindices[s];
        out->split[s].split_indices = (int64_t *)indices; /* only read */
        out->splits[s] = &out->split[s];
    }
    out->layout.n_split_configs = (size_t)in->nsplits;
    out->layout.split_configs = out->splits;
}

/* pre: the layout is bounded. */
static tg_status build_layout(tg_proto_node *out, const tg_xla_layout *in, tg_error *err) {
    tg_status status = check_numbers(in, err);
    if (status != TG_OK) return status;
    tg__layout_proto__init(&out->layout);
    for (int32_t i = 0; i < in->ndim; i++) out->order[i] = in->minor_to_major[i];
    out->layout.n_minor_to_major = (size_t)in->ndim;
    out->layout.minor_to_major = out->order;
    if ((status = build_tiles(out, in, err)) != TG_OK) return status;
    build_splits(out, in);
    out->layout.tail_padding_alignment_in_elements = in->tail_padding;
    out->layout.index_primitive_type = (int32_t)in->index_type;
    out->layout.pointer_primitive_type = (int32_t)in->pointer_type;
    out->layout.element_size_in_bits = in->element_size_in_bits;
    out->layout.memory_space = in->memory_space;
    out->layout.dynamic_shape_metadata_prefix_bytes = in->metadata_prefix_bytes;
    return TG_OK;
}

/* ---- nodes -------------------------------------------------------------------- */

static int32_t element_type(const tg_xla_shape *node) {
    switch (node->kind) {
    case TG_XLA_TUPLE: return TG_PROTO_TUPLE;
    case TG_XLA_TOKEN: return TG_PROTO_TOKEN;
    case TG_XLA_OPAQUE: return TG_PROTO_OPAQUE;
    case TG_XLA_BUFFER: return TG_PROTO_BUFFER;
    case TG_XLA_ARRAY: break;
    }
    return (int32_t)node->dtype;
}

static tg_status build_array(tg_proto_node *out, const tg_xla_shape *in, tg_error *err) {
    if (tg_dtype_name(in->dtype) == NULL)
        return tg_fail(err, TG_ERR_ARGUMENT, "%d is no element type", (int64_t)in->dtype);
    for (int32_t d = 0; d < in->ndim; d++) out->dynamic[d] = in->dynamic[d];
    out->shape.n_dimensions = out->shape.n_is_dynamic_dimension = (size_t)in->ndim;
    out->shape.dimensions = (int64_t *)in->dims; /* only read */
    out->shape.is_dynamic_dimension = out->dynamic;
    if (!in->has_layout) return TG_OK;
    out->shape.layout = &out->layout;
    return build_layout(out, &in->layout, err);
}

/* Messages from a node down to the deepest one in it that is not of another node. */
static int32_t own_depth(const tg_xla_shape *node) {
    const bool has_parts = node->layout.ntiles > 0 || node->layout.nsplits > 0;
    return node->has_layout ? (has_parts ? 2 : 1) : 0;
}

/* ---- the tree ----------------------------------------------------------------- */

tg_status tg_proto_builder_init(tg_proto_builder *b, size_t count, tg_error *err) {
    *b = (tg_proto_builder){.count = count};
    if (count < SIZE_MAX / sizeof *b->nodes) {
        b->nodes = malloc((count + 1) * sizeof *b->nodes);
        b->elements = malloc((count + 1) * sizeof(Tg__ShapeProto *));
    }
    if (b->nodes != NULL && b->elements != NULL) return TG_OK;
    tg_proto_builder_free(b);
    return tg_fail(err, TG_ERR_NOMEM, "no memory for the messages of %d shapes", (int64_t)count);
}

void tg_proto_builder_free(tg_proto_builder *b) {
    free(b->nodes);
    free(b->elements);
}

/* The tuples and buffers that still want elements. */
typedef struct open_shapes {
    int32_t depth;
    struct {
        Tg__ShapeProto *message;
        size_t          wanted;
    } at[TG_PROTO_MAX_DEPTH + 1];
} open_shapes;

static void join(tg_proto_builder *b, open_shapes *open, Tg__ShapeProto *message, size_t nchildren) {
    if (open->depth > 0) {
        Tg__ShapeProto *tuple = open->at[open->depth - 1].message;
        tuple->tuple_shapes[tuple->n_tuple_shapes++] = message;
        open->at[open->depth - 1].wanted--;
    }
    if (nchildren > 0) {
        message->tuple_shapes = &b->elements[b->elements_used];
        b->elements_used += nchildren;
        open->at[open->depth].message = message;
        open->at[open->depth++].wanted = nchildren;
    }
    while (open->depth > 0 && open->at[open->depth - 1].wanted == 0) open->depth--;
}

static tg_status build_node(tg_proto_builder *b, open_shapes *open, const tg_xla_shape *node, int32_t depth,
                            tg_error *err) {
    tg_proto_node *out = &b->nodes[b->used++];
    if (depth + open->depth + own_depth(node) > TG_PROTO_MAX_DEPTH)
        return tg_fail(err, TG_ERR_LIMIT, "more than %d messages inside each other, the limit of protobuf",
                       (int64_t)TG_PROTO_MAX_DEPTH);
    tg__shape_proto__init(&out->shape);
    out->shape.element_type = element_type(node);
    const tg_status status = node->kind == TG_XLA_ARRAY ? build_array(out, node, err) : TG_OK;
    if (status == TG_OK) join(b, open, &out->shape, (size_t)node->nchildren);
    return status;
}

tg_status tg_proto_build_tree(tg_proto_builder *b, Tg__ShapeProto **root, const tg_xla_shape *nodes, size_t count,
                              int32_t depth, tg_error *err) {
    tg_status   status = tg_xla_check_tree(nodes, count, err);
    open_shapes open = {.depth = 0};
    *root = &b->nodes[b->used].shape;
    for (size_t i = 0; i < count && status == TG_OK; i++) status = build_node(b, &open, &nodes[i], depth, err);
    return status;
}

/* ---- packing ------------------------------------------------------------------ */

tg_status tg_proto_pack(void *buf, size_t cap, size_t *need, const ProtobufCMessage *message, tg_error *err) {
    const size_t size = protobuf_c_message_get_packed_size(message);
    if (size > INT32_MAX)
        return tg_fail(err, TG_ERR_LIMIT, "a message of %d bytes; protobuf has at most 2^31-1", (int64_t)size);
    if (size > 0 && size <= cap) (void)protobuf_c_message_pack(message, buf);
    *need = size;
    return TG_OK;
}

tg_status tg_xla_shape_to_proto(void *buf, size_t cap, size_t *need, const tg_xla_shape *nodes, size_t count,
                                tg_error *err) {
    tg_proto_builder b;
    Tg__ShapeProto  *root;
    tg_status        status = tg_proto_builder_init(&b, count, err);
    if (status != TG_OK) return status;
    status = tg_proto_build_tree(&b, &root, nodes, count, 0, err);
    if (status == TG_OK) status = tg_proto_pack(buf, cap, need, &root->base, err);
    tg_proto_builder_free(&b);
    return status;
}

tg_status tg_xla_layout_to_proto(void *buf, size_t cap, size_t *need, const tg_xla_layout *layout, tg_error *err) {
    tg_proto_node node;
    if (!tg_xla_layout_is_bounded(layout))
        return tg_fail(err, TG_ERR_ARGUMENT, "a layout whose counts do not lie in its arrays");
    const tg_status status = build_layout(&node, layout, err);
    return status != TG_OK ? status : tg_proto_pack(buf, cap, need, &node.layout.base, err);
}
