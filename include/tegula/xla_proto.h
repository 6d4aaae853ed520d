/* tegula/xla_proto.h - XLA's shapes and layouts as protocol buffers: the bytes of ShapeProto, LayoutProto and
 * ProgramShapeProto, as jaxlib's Shape.to_serialized_proto() gives them and HLO modules contain them.
 *
 * For tools that exchange these with XLA; the conventions of tegula.h hold, with these besides:
 *  - Functions here allocate while they run and give everything back: reading at most 256 MiB (TG_ERR_LIMIT for
 *    a message that needs more), writing 1.4 KiB for each node. Reading needs some 128 KiB of stack.
 *  - Writing: *need is the length of the message, which is written if need <= cap and not at all otherwise
 *    (buf may be NULL if cap is 0). The bytes are those that XLA writes.
 *  - Reading takes what XLA takes and gives the same; what is refused besides is listed in docs/xla-proto.md.
 *    error.pos is the byte of the field at fault, or the start of the shape at fault. Fields that are not known are
 *    skipped. Nothing is judged: see tg_xla_shape_validate.
 *  - What is written reads back as the same value, so what cannot be read is not written: TG_ERR_UNREPRESENTABLE
 *    for `*` in a tile, which has no form in a proto, TG_ERR_LIMIT for more than 100 messages inside each other
 *    (a shape, its layout and a tile are three), TG_ERR_ARGUMENT for nodes that are no tree and other values that XLA
 *    does not read. */
#ifndef TEGULA_XLA_PROTO_H
#define TEGULA_XLA_PROTO_H

#include <tegula/tegula.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A ShapeProto: of any kind, with or without layouts. */
TG_API tg_status tg_xla_shape_to_proto(void *buf, size_t cap, size_t *need, const tg_xla_shape *nodes, size_t count,
                                       tg_error *err);

/* Writes at most cap nodes (nodes may be NULL if cap is 0) and sets *count to the number that the shape has;
 * *count > cap is not an error. nodes[i].pos is where its message starts in bytes. */
TG_API tg_status tg_xla_shape_from_proto(tg_xla_shape *nodes, size_t cap, size_t *count, const void *bytes,
                                         size_t len, tg_error *err);

/* A LayoutProto. */
TG_API tg_status tg_xla_layout_to_proto(void *buf, size_t cap, size_t *need, const tg_xla_layout *layout,
                                        tg_error *err);
TG_API tg_status tg_xla_layout_from_proto(tg_xla_layout *out, const void *bytes, size_t len, tg_error *err);

/* UTF-8, any characters. */
typedef struct tg_xla_name {
    const char *text; /* may be NULL if len is 0 */
    size_t      len;
} tg_xla_name;

/* The signature of a computation. Arrays are the caller's. */
typedef struct tg_xla_program_shape {
    tg_xla_shape *nodes;       /* the trees of the parameters in turn, then that of the result */
    size_t        node_cap;    /* for reading: room in nodes */
    size_t        node_count;
    tg_xla_name  *names;       /* one for each parameter; for writing, NULL if all are empty */
    size_t        name_cap;    /* for reading: room in names */
    size_t        nparameters;
} tg_xla_program_shape;

/* A ProgramShapeProto. The caps are not looked at. */
TG_API tg_status tg_xla_program_shape_to_proto(void *buf, size_t cap, size_t *need,
                                               const tg_xla_program_shape *program, tg_error *err);

/* in: program's arrays and caps (NULL where the cap is 0). out: as many nodes and names as there is room for, and both
 * counts, which may be larger. The names point into bytes. */
TG_API tg_status tg_xla_program_shape_from_proto(tg_xla_program_shape *program, const void *bytes, size_t len,
                                                 tg_error *err);

#ifdef __cplusplus
}
#endif

#endif /* TEGULA_XLA_PROTO_H */
