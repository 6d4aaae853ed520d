/* The wire format of protocol buffers: reading fields where they lie, and the check before protobuf-c unpacks. */
#ifndef TG_HLO_PROTO_WIRE_H
#define TG_HLO_PROTO_WIRE_H

#include <protobuf-c/protobuf-c.h>
#include <tegula/tegula.h>

/* Messages inside the outermost one. As many as protobuf's own readers take, so what is read and written here
 * is what XLA reads. */
#define TG_PROTO_MAX_DEPTH 100

/* The rest of a message. */
typedef struct tg_wire {
    const unsigned char *bytes; /* of the outermost message, as positions count from there */
    size_t               pos, end;
} tg_wire;

typedef struct tg_wire_field {
    size_t   pos; /* of its tag */
    uint32_t number, type;
    size_t   begin, end; /* of its value, without the length in front */
} tg_wire_field;

/* Take the field at the front. NULL, or the rule that the bytes break; then w->pos is the place.
 * pre: w->pos < w->end. */
const char *tg_wire_next(tg_wire *w, tg_wire_field *field);

/* Take fields up to and including the next with this number, whose value is a message; false if there is none.
 * pre: the bytes were checked. */
bool tg_wire_find(tg_wire *w, uint32_t number, tg_wire *value);

/* TG_OK if protobuf-c can unpack the bytes as a message of this type without harm, and into the same as
 * XLA reads; proto_wire.c tells what that excludes. Errors have the place. */
tg_status tg_wire_check(const ProtobufCMessageDescriptor *type, const void *bytes, size_t len, tg_error *err);

/* The failure `status` happened at pos. */
static inline tg_status tg_wire_at(tg_error *err, size_t pos, tg_status status) {
    if (err != NULL) err->pos = pos;
    return status;
}

#endif
