/* ProgramShapeProto: the shapes of parameters, their names, and the shape of the result.
 *
 * The names that a reader gets are not those of the unpacked message, which is gone then, but lie in its bytes. */
#include "hlo/proto.h"
#include <tegula/xla_proto.h>

#include "base/error.h"
#include "base/text.h"

#include <stdlib.h>

static bool is_utf8(const void *text, size_t len) {
    const unsigned char *bytes = text;
    while (len > 0) {
        const size_t n = tg_utf8_length(bytes, len);
        if (n == 0) return false;
        bytes += n;
        len -= n;
    }
    return true;
}

/* ---- reading ------------------------------------------------------------------ */

static tg_status check_parts(const Tg__ProgramShapeProto *in, tg_error *err) {
    if (in->n_parameters != in->n_parameter_names)
        return tg_fail_at(err, 0,
                          "ProgramShapeProto has different numbers of parameters and parameter names: %d vs %d",
                          (int64_t)in->n_parameters, (int64_t)in->n_parameter_names);
    if (in->result == NULL) return tg_fail_at(err, 0, "not an XLA ProgramShapeProto: it has no result");
    return TG_OK;
}

/* pre: the field is there. */
static tg_wire found(tg_wire *rest, uint32_t number) {
    tg_wire value = *rest;
    (void)tg_wire_find(rest, number, &value);
    return value;
}

static tg_status read_trees(tg_proto_reader *r, const Tg__ProgramShapeProto *in, tg_wire all) {
    tg_wire   rest = all;
    tg_status status = TG_OK;
    for (size_t i = 0; i < in->n_parameters && status == TG_OK; i++)
        status = tg_proto_read_tree(r, in->parameters[i], found(&rest, TG_PROTO_PARAMETERS));
    if (status != TG_OK) return status;
    rest = all;
    return tg_proto_read_tree(r, in->result, found(&rest, TG_PROTO_RESULT));
}

static tg_status check_names(size_t n, tg_wire rest, tg_error *err) {
    for (size_t i = 0; i < n; i++) {
        const tg_wire name = found(&rest, TG_PROTO_PARAMETER_NAMES);
        if (!is_utf8(name.bytes + name.pos, name.end - name.pos))
            return tg_fail_at(err, name.pos, "not an XLA ProgramShapeProto: the name of parameter %d is not UTF-8",
                              (int64_t)i);
    }
    return TG_OK;
}

static void read_names(tg_xla_program_shape *out, tg_wire rest) {
    for (size_t i = 0; i < out->nparameters && i < out->name_cap; i++) {
        const tg_wire name = found(&rest, TG_PROTO_PARAMETER_NAMES);
        out->names[i] = (tg_xla_name){(const char *)name.bytes + name.pos, name.end - name.pos};
    }
}

static tg_status read_program(tg_xla_program_shape *out, const Tg__ProgramShapeProto *in, tg_wire all,
                              tg_error *err) {
    tg_proto_reader check = {.err = err}, store = {.nodes = out->nodes, .cap = out->node_cap};
    tg_status       status = check_parts(in, err);
    if (status == TG_OK) status = check_names(in->n_parameter_names, all, err);
    if (status == TG_OK) status = read_trees(&check, in, all);
    if (status != TG_OK) return status;
    if (store.cap > 0) (void)read_trees(&store, in, all);
    out->node_count = check.count;
    out->nparameters = in->n_parameters;
    read_names(out, all);
    return TG_OK;
}

tg_status tg_xla_program_shape_from_proto(tg_xla_program_shape *program, const void *bytes, size_t len,
                                          tg_error *err) {
    tg_proto  proto;
    tg_status status = tg_proto_unpack(&proto, &tg__program_shape_proto__descriptor, bytes, len, err);
    if (status != TG_OK) return status;
    const tg_wire all = {bytes, 0, len};
    status = read_program(program, (const Tg__ProgramShapeProto *)proto.message, all, err);
    tg_proto_free(&proto);
    return status;
}

/* ---- writing ------------------------------------------------------------------ */

/* Nodes of the tree at the front, as far as the counts of elements tell; checking the tree is another matter. */
static size_t tree_size(const tg_xla_shape *nodes, size_t count) {
    int64_t wanted = 1;
    size_t  n = 0;
    while (n < count && wanted > 0) wanted += (int64_t)nodes[n++].nchildren - 1;
    return n;
}

/* Every parameter has a node at least, and the result too. */
static tg_status check_counts(const tg_xla_program_shape *in, tg_error *err) {
    if (in->nparameters < in->node_count) return TG_OK;
    return tg_fail(err, TG_ERR_ARGUMENT, "%d parameters and a result, but %d nodes", (int64_t)in->nparameters,
                   (int64_t)in->node_count);
}

/* pre: the builder has room for more, so the products fit. */
static tg_status allocate_lists(Tg__ProgramShapeProto *out, size_t nparameters, tg_error *err) {
    out->parameters = malloc((nparameters + 1) * sizeof(Tg__ShapeProto *));
    out->parameter_names = malloc((nparameters + 1) * sizeof(ProtobufCBinaryData));
    if (out->parameters != NULL && out->parameter_names != NULL) return TG_OK;
    return tg_fail(err, TG_ERR_NOMEM, "no memory for the lists of %d parameters", (int64_t)nparameters);
}

static tg_status build_trees(Tg__ProgramShapeProto *out, tg_proto_builder *b, const tg_xla_program_shape *in,
                             tg_error *err) {
    size_t    at = 0;
    tg_status status = TG_OK;
    for (size_t i = 0; i < in->nparameters && status == TG_OK; i++) {
        const size_t n = tree_size(in->nodes + at, in->node_count - at);
        status = tg_proto_build_tree(b, &out->parameters[i], in->nodes + at, n, 1, err);
        at += n;
    }
    if (status != TG_OK) return status;
    out->n_parameters = in->nparameters;
    return tg_proto_build_tree(b, &out->result, in->nodes + at, in->node_count - at, 1, err);
}

static tg_status build_names(Tg__ProgramShapeProto *out, const tg_xla_program_shape *in, tg_error *err) {
    for (size_t i = 0; i < in->nparameters; i++) {
        const tg_xla_name name = in->names != NULL ? in->names[i] : (tg_xla_name){NULL, 0};
        if (!is_utf8(name.text, name.len))
            return tg_fail(err, TG_ERR_ARGUMENT, "the name of parameter %d is not UTF-8", (int64_t)i);
        out->parameter_names[i] = (ProtobufCBinaryData){name.len, (uint8_t *)name.text}; /* only read */
    }
    out->n_parameter_names = in->nparameters;
    return TG_OK;
}

static tg_status write_program(void *buf, size_t cap, size_t *need, Tg__ProgramShapeProto *message,
                               tg_proto_builder *b, const tg_xla_program_shape *in, tg_error *err) {
    tg_status status = allocate_lists(message, in->nparameters, err);
    if (status == TG_OK) status = build_trees(message, b, in, err);
    if (status == TG_OK) status = build_names(message, in, err);
    return status != TG_OK ? status : tg_proto_pack(buf, cap, need, &message->base, err);
}

tg_status tg_xla_program_shape_to_proto(void *buf, size_t cap, size_t *need, const tg_xla_program_shape *program,
                                        tg_error *err) {
    Tg__ProgramShapeProto message = TG__PROGRAM_SHAPE_PROTO__INIT;
    tg_proto_builder      b;
    tg_status             status = check_counts(program, err);
    if (status == TG_OK) status = tg_proto_builder_init(&b, program->node_count, err);
    if (status != TG_OK) return status;
    status = write_program(buf, cap, need, &message, &b, program, err);
    free(message.parameters);
    free(message.parameter_names);
    tg_proto_builder_free(&b);
    return status;
}
