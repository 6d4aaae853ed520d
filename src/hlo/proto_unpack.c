/* Unpacking with protobuf-c: after the check, and within a bound on memory.
 *
 * A tuple of empty shapes takes two bytes for each, and unpacked about two hundred, so the length of what came in
 * is a poor bound on what it takes. The allocator counts what it hands out, and nothing that comes back: that
 * is only the lists of fields that protobuf-c keeps while it reads a message. */
#include "hlo/proto.h"

#include "base/error.h"

#include <stdlib.h>

enum { BLOCK_BYTES = 16 }; /* what malloc keeps for itself, about */

static void *allocate(void *context, size_t size) {
    tg_proto *proto = context;
    if (size > proto->left || proto->left - size < BLOCK_BYTES) {
        proto->refusal = TG_ERR_LIMIT;
        return NULL;
    }
    void *p = malloc(size);
    if (p == NULL) proto->refusal = TG_ERR_NOMEM;
    else proto->left -= size + BLOCK_BYTES;
    return p;
}

static void release(void *context, void *p) {
    (void)context;
    free(p);
}

static tg_status explain(const tg_proto *proto, const ProtobufCMessageDescriptor *type, size_t len, tg_error *err) {
    const char *name = type->short_name;
    switch (proto->refusal) {
    case TG_ERR_LIMIT:
        return tg_fail(err, TG_ERR_LIMIT, "an XLA %s of %d bytes needs more than %d MiB, a limit of this library", name,
                       (int64_t)len, (int64_t)(TG_PROTO_MAX_MEMORY >> 20));
    case TG_ERR_NOMEM: return tg_fail(err, TG_ERR_NOMEM, "no memory for an XLA %s of %d bytes", name, (int64_t)len);
    default: return tg_fail_at(err, 0, "not an XLA %s, says protobuf-c", name);
    }
}

tg_status tg_proto_unpack(tg_proto *proto, const ProtobufCMessageDescriptor *type, const void *bytes, size_t len,
                          tg_error *err) {
    const tg_status status = tg_wire_check(type, bytes, len, err);
    if (status != TG_OK) return status;
    *proto = (tg_proto){.allocator = {allocate, release, proto}, .left = TG_PROTO_MAX_MEMORY, .refusal = TG_OK};
    proto->message = protobuf_c_message_unpack(type, &proto->allocator, len, bytes);
    return proto->message != NULL ? TG_OK : explain(proto, type, len, err);
}

void tg_proto_free(tg_proto *proto) { protobuf_c_message_free_unpacked(proto->message, &proto->allocator); }
