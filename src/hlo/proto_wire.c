/* Checking the bytes of a message before protobuf-c unpacks them.
 *
 * protobuf_c_message_unpack answers "no" without a reason, and what it accepts is not always safe or right:
 *
 * - it calls itself for each message inside a message, without a limit: 20 KB of nested tuples end the stack;
 * - of a message that stands twice where there is room for one, which protobuf merges, it loses the numbers of
 *   the first;
 * - field numbers above 2^29-1, whose upper bits protobuf drops, are other fields to it;
 * - it refuses what protobuf skips: groups, and fields that have another wire type than theirs.
 *
 * So everything is judged here, where the place and the rule are known, by walking over the bytes with
 * protobuf-c's own description of the messages; then unpacking can only fail for want of memory. The walk keeps
 * the messages that are open on a stack of its own:
 *
 *     22 04 22 02 10 11      tuple_shapes { tuple_shapes { element_type: 17 } }
 *     |     |     +--------- open: ShapeProto to 6, to 6, to 6
 *     |     +--------------- open: ShapeProto to 6, to 6
 *     +--------------------- open: ShapeProto to 6 */
#include "hlo/proto_wire.h"

#include "base/error.h"

enum { VARINT = 0, BITS64 = 1, BYTES = 2, GROUP = 3, END_GROUP = 4, BITS32 = 5 };
enum { TAG_BYTES = 5, VARINT_BYTES = 10 };

/* ---- fields ------------------------------------------------------------------- */

static bool take_varint(tg_wire *w, int32_t max_bytes, uint64_t *value) {
    uint64_t v = 0;
    size_t   pos = w->pos;
    for (int32_t i = 0; i < max_bytes && pos < w->end; i++) {
        const uint64_t byte = w->bytes[pos++];
        v |= (byte & 0x7f) << (7 * i);
        if (byte >= 0x80) continue;
        *value = v;
        w->pos = pos;
        return true;
    }
    return false;
}

static const char *take_length(tg_wire *w, uint64_t *length) {
    tg_wire ahead = *w;
    if (!take_varint(&ahead, TAG_BYTES, length)) return "a length that does not end within 5 bytes";
    if (*length > ahead.end - ahead.pos) return "a value that ends behind its message";
    *w = ahead;
    return NULL;
}

static const char *take_value(tg_wire *w, uint32_t type, size_t *begin) {
    uint64_t    length = 0;
    const char *broken = NULL;
    *begin = w->pos;
    switch (type) {
    case VARINT: return take_varint(w, VARINT_BYTES, &length) ? NULL : "a number that does not end within 10 bytes";
    case BITS64: length = 8; break;
    case BITS32: length = 4; break;
    case BYTES: broken = take_length(w, &length); break;
    case GROUP:
    case END_GROUP: return "a group, which is not read here";
    default: return "a wire type that there is not";
    }
    if (broken != NULL) return broken;
    if (length > w->end - w->pos) return "a value that ends behind its message";
    *begin = w->pos;
    w->pos += (size_t)length;
    return NULL;
}

const char *tg_wire_next(tg_wire *w, tg_wire_field *field) {
    uint64_t     tag;
    const size_t pos = w->pos;
    if (!take_varint(w, TAG_BYTES, &tag)) return "a tag that does not end within 5 bytes";
    *field = (tg_wire_field){.pos = pos, .number = (uint32_t)(tag >> 3), .type = (uint32_t)(tag & 7)};
    const char *broken = tag >> 3 == 0           ? "a field number 0"
                         : tag >> 32 != 0        ? "a field number above 2^29-1"
                                                 : take_value(w, field->type, &field->begin);
    if (broken != NULL) w->pos = pos;
    field->end = w->pos;
    return broken;
}

bool tg_wire_find(tg_wire *w, uint32_t number, tg_wire *value) {
    while (w->pos < w->end) {
        tg_wire_field field;
        if (tg_wire_next(w, &field) != NULL) return false;
        if (field.number != number) continue;
        *value = (tg_wire){w->bytes, field.begin, field.end};
        return true;
    }
    return false;
}

/* ---- the check ------------------------------------------------------------------ */

typedef struct open_message {
    const ProtobufCMessageDescriptor *type;
    size_t                            end;
    uint64_t                          seen; /* the single messages, a bit for each field */
} open_message;

typedef struct checker {
    tg_wire      rest;
    int32_t      depth; /* of the innermost open message */
    open_message open[TG_PROTO_MAX_DEPTH + 1];
    tg_error    *err;
} checker;

static tg_status fail(const checker *c, size_t pos, const char *rule) {
    return tg_fail_at(c->err, pos, "not an XLA %s: %s, in a %s", c->open[0].type->short_name, rule,
                      c->open[c->depth].type->short_name);
}

static tg_status fail_field(const checker *c, const tg_wire_field *f, const ProtobufCFieldDescriptor *d,
                            const char *rule) {
    return tg_fail_at(c->err, f->pos, "not an XLA %s: field %s (%d) of a %s %s", c->open[0].type->short_name, d->name,
                      (int64_t)f->number, c->open[c->depth].type->short_name, rule);
}

static tg_status fail_depth(const checker *c, size_t pos) {
    return tg_wire_at(c->err, pos,
                      tg_fail(c->err, TG_ERR_LIMIT, "more than %d messages inside each other, the limit of protobuf",
                              (int64_t)TG_PROTO_MAX_DEPTH));
}

static bool is_number(const ProtobufCFieldDescriptor *d) {
    return d->type != PROTOBUF_C_TYPE_MESSAGE && d->type != PROTOBUF_C_TYPE_BYTES;
}

static tg_status check_numbers(const checker *c, const tg_wire_field *f, const ProtobufCFieldDescriptor *d) {
    tg_wire  w = {c->rest.bytes, f->begin, f->end};
    uint64_t number;
    while (w.pos < w.end)
        if (!take_varint(&w, VARINT_BYTES, &number))
            return fail_field(c, f, d, "holds a number that does not end within 10 bytes");
    return TG_OK;
}

static tg_status open_field(checker *c, const tg_wire_field *f, const ProtobufCFieldDescriptor *d) {
    open_message  *outer = &c->open[c->depth];
    const uint64_t bit = (uint64_t)1 << (d - outer->type->fields);
    if (d->label != PROTOBUF_C_LABEL_REPEATED && (outer->seen & bit) != 0)
        return fail_field(c, f, d, "stands twice; the two are not merged here");
    outer->seen |= bit;
    if (c->depth == TG_PROTO_MAX_DEPTH) return fail_depth(c, f->pos);
    c->open[++c->depth] = (open_message){.type = d->descriptor, .end = f->end};
    c->rest.pos = f->begin;
    return TG_OK;
}

static tg_status check_known(checker *c, const tg_wire_field *f, const ProtobufCFieldDescriptor *d) {
    const bool packed = is_number(d) && d->label == PROTOBUF_C_LABEL_REPEATED && f->type == BYTES;
    if (f->type != (is_number(d) && !packed ? VARINT : BYTES)) return fail_field(c, f, d, "has another wire type");
    if (packed) return check_numbers(c, f, d);
    return d->type == PROTOBUF_C_TYPE_MESSAGE ? open_field(c, f, d) : TG_OK;
}

static tg_status check_next(checker *c) {
    open_message *m = &c->open[c->depth];
    tg_wire_field field;
    c->rest.end = m->end;
    const char *broken = tg_wire_next(&c->rest, &field);
    if (broken != NULL) return fail(c, c->rest.pos, broken);
    const ProtobufCFieldDescriptor *d = protobuf_c_message_descriptor_get_field(m->type, field.number);
    return d == NULL ? TG_OK : check_known(c, &field, d);
}

tg_status tg_wire_check(const ProtobufCMessageDescriptor *type, const void *bytes, size_t len, tg_error *err) {
    if (len > INT32_MAX)
        return tg_fail(err, TG_ERR_LIMIT, "a message of %d bytes; protobuf has at most 2^31-1", (int64_t)len);
    checker   c = {.rest = {bytes, 0, len}, .open = {{.type = type, .end = len}}, .err = err};
    tg_status status = TG_OK;
    while (c.depth >= 0 && status == TG_OK) {
        if (c.rest.pos == c.open[c.depth].end) c.depth--;
        else status = check_next(&c);
    }
    return status;
}
