/* What reading and writing XLA's protos share. */
#ifndef TG_HLO_PROTO_H
#define TG_HLO_PROTO_H

#include "hlo/proto_wire.h"

#include <xla_data.pb-c.h>

/* Element types that are no tg_dtype. Source: xla_data.proto, PrimitiveType. */
enum { TG_PROTO_TUPLE = 13, TG_PROTO_OPAQUE = 14, TG_PROTO_TOKEN = 17, TG_PROTO_BUFFER = 34 };

/* Fields that are looked for where they lie, by number. */
enum { TG_PROTO_TUPLE_SHAPES = 4, TG_PROTO_PARAMETERS = 1, TG_PROTO_RESULT = 2, TG_PROTO_PARAMETER_NAMES = 3 };

/* XLA keeps some numbers of a layout in eight bits. What does not fit is refused, not another number. */
static inline bool tg_proto_fits_int8(int64_t number) { return number >= INT8_MIN && number <= INT8_MAX; }

/* ---- unpacking ------------------------------------------------------------------- */

/* What unpacking one message may allocate. A tuple of ten thousand tiled arrays takes some 6 MiB. */
#define TG_PROTO_MAX_MEMORY ((size_t)256 << 20)

/* A message of protobuf-c and the allocator that its memory came from. */
typedef struct tg_proto {
    ProtobufCMessage   *message;
    ProtobufCAllocator  allocator;
    size_t              left; /* of TG_PROTO_MAX_MEMORY */
    tg_status           refusal; /* why the allocator gave nothing */
} tg_proto;

/* Check and unpack. On success *proto needs tg_proto_free; it must not be moved. */
tg_status tg_proto_unpack(tg_proto *proto, const ProtobufCMessageDescriptor *type, const void *bytes, size_t len,
                          tg_error *err);
void tg_proto_free(tg_proto *proto);

/* ---- reading --------------------------------------------------------------------- */

/* Where nodes go, and what they come from. */
typedef struct tg_proto_reader {
    tg_xla_shape *nodes; /* the caller's, cap of them */
    size_t        cap;
    size_t        count; /* nodes so far, stored or not */
    size_t        pos;   /* of the message that is being read, for errors */
    tg_error     *err;
} tg_proto_reader;

/* The layout at r->pos. */
tg_status tg_proto_read_layout(tg_proto_reader *r, tg_xla_layout *out, const Tg__LayoutProto *in);
/* The tree of a shape, whose bytes are `at`. */
tg_status tg_proto_read_tree(tg_proto_reader *r, const Tg__ShapeProto *root, tg_wire at);

/* ---- writing --------------------------------------------------------------------- */

/* The messages of one node; what they point at is in here, in the node, or another of these. */
typedef struct tg_proto_node {
    Tg__ShapeProto        shape;
    Tg__LayoutProto       layout;
    uint64_t              dynamic[TG_MAX_NDIM];
    int64_t               order[TG_MAX_NDIM];
    Tg__TileProto         tile[TG_XLA_MAX_TILES];
    Tg__TileProto        *tiles[TG_XLA_MAX_TILES];
    Tg__SplitConfigProto  split[TG_XLA_MAX_SPLITS];
    Tg__SplitConfigProto *splits[TG_XLA_MAX_SPLITS];
} tg_proto_node;

/* Room for the messages of `count` nodes, used from the front. */
typedef struct tg_proto_builder {
    size_t           count, used;
    tg_proto_node   *nodes;
    Tg__ShapeProto **elements; /* of the tuples: as many as nodes suffice, each is the element of one */
    size_t           elements_used;
} tg_proto_builder;

tg_status tg_proto_builder_init(tg_proto_builder *b, size_t count, tg_error *err);
void      tg_proto_builder_free(tg_proto_builder *b);

/* The message of one tree of nodes, `depth` messages inside the outermost one. pre: room for count nodes.
 * post: the message may be packed as long as the nodes and the builder are there. */
tg_status tg_proto_build_tree(tg_proto_builder *b, Tg__ShapeProto **root, const tg_xla_shape *nodes, size_t count,
                              int32_t depth, tg_error *err);

/* *need is the length; the message is written if it fits. */
tg_status tg_proto_pack(void *buf, size_t cap, size_t *need, const ProtobufCMessage *message, tg_error *err);

#endif
