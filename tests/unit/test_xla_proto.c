/* XLA's protos: what is written and read, what is refused and where, and the bounds that keep hostile bytes harmless.
 * Agreement with XLA itself is tests/python/test_xla_proto.py. */
#include <tegula/xla_proto.h>

#include "proto_bytes.h"

#include <stdlib.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

enum { MAX_NODES = 256 };

static tg_xla_shape nodes[MAX_NODES];

/* tuple_shapes { ... } n times around the leaf. */
static message nested(int n, const char *leaf) {
    message inner = message_of(leaf);
    for (int i = 0; i < n; i++) {
        message             outer = message_of("10 0d 22");
        const unsigned char length[] = {(unsigned char)((inner.len & 0x7f) | 0x80), (unsigned char)(inner.len >> 7)};
        put(&outer, length, 2);
        put(&outer, inner.bytes, inner.len);
        inner = outer;
    }
    return inner;
}

static size_t parse(const char *text) {
    tg_error err;
    size_t   count = 0;
    if (tg_xla_shape_parse(nodes, MAX_NODES, &count, text, strlen(text), &err) != TG_OK)
        fail_msg("'%s': %s", text, err.message);
    assert_true(count <= MAX_NODES);
    return count;
}

/* ---- writing and reading -------------------------------------------------------- */

/* Bytes from jaxlib 0.10.2. */
static const struct { const char *text, *hex; } written[] = {
    {"f32[2,3]{1,0:T(2,128)}", "10 0b 1a 02 02 03 2a 0e 0a 02 01 00 32 05 0a 03 02 80 01 80 01 01 32 02 00 00"},
    {"f32[]", "10 0b 2a 03 80 01 01"},
    {"token[]", "10 11"},
    {"opaque[]", "10 0e"},
    {"()", "10 0d"},
    {"b(s8[4]{0})", "10 22 22 10 10 02 1a 01 04 2a 06 0a 01 00 80 01 01 32 01 00"},
    {"pred[<=4,?]{0,1:L(128)E(8)S(-1)SC(0:1)}",
     "10 01 1a 0b 04 80 80 80 80 80 80 80 80 80 01 2a 1b 0a 02 00 01 38 08 40 ff ff ff ff ff ff ff ff ff 01 80 01 80 "
     "01 8a 01 03 12 01 01 32 02 01 01"},
    {"u4[8]{0:#(u32)*(u16)M(8)}", "10 16 1a 01 08 2a 0c 0a 01 00 58 08 60 07 78 08 80 01 01 32 01 00"},
    {"(f32[2], (token[]))", "10 0d 22 10 10 0b 1a 01 02 2a 06 0a 01 00 80 01 01 32 01 00 22 06 10 0d 22 02 10 11"},
};

static void writes_what_xla_writes(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(written); i++) {
        const message want = message_of(written[i].hex);
        const size_t  count = parse(written[i].text);
        unsigned char buf[MAX_BYTES];
        size_t        need = 0;
        assert_int_equal(tg_xla_shape_to_proto(NULL, 0, &need, nodes, count, NULL), TG_OK);
        assert_int_equal(need, want.len);
        memset(buf, 0xa5, sizeof buf);
        assert_int_equal(tg_xla_shape_to_proto(buf, need - 1, &need, nodes, count, NULL), TG_OK);
        for (size_t k = 0; k < sizeof buf; k++) assert_int_equal(buf[k], 0xa5);
        assert_int_equal(tg_xla_shape_to_proto(buf, need, &need, nodes, count, NULL), TG_OK);
        assert_bytes(&want, buf, need, written[i].text);
        assert_int_equal(buf[need], 0xa5);
    }
}

static void assert_reads(const message *m, const char *text) {
    char     got[MAX_BYTES];
    size_t   count = 0;
    tg_error err;
    if (tg_xla_shape_from_proto(nodes, MAX_NODES, &count, m->bytes, m->len, &err) != TG_OK)
        fail_msg("%s: %s at %zu", text, err.message, err.pos);
    (void)tg_xla_shape_format(got, sizeof got, nodes, count, true);
    assert_string_equal(got, text);
}

static void reads_what_it_writes(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(written); i++) {
        const message m = message_of(written[i].hex);
        char          text[MAX_BYTES];
        (void)tg_xla_shape_format(text, sizeof text, nodes, parse(written[i].text), true);
        assert_reads(&m, text);
    }
}

static const struct { const char *hex, *text; } readable[] = {
    {"10 0b", "f32[]"},
    {"10 0b 18 02 18 03 30 00 30 01", "f32[2,<=3]"}, /* not packed */
    {"2a 00 10 02 10 0b", "f32[]"}, /* any order, the last number counts */
    {"90 80 80 80 00 8b 80 00", "f32[]"}, /* longer than need be */
    {"08 01 10 0b 9a 06 01 00 a1 06 00 00 00 00 00 00 00 00 ad 06 00 00 00 00", "f32[]"}, /* unknown fields */
    {"10 8b 80 80 80 80 80 80 80 80 7f", "f32[]"}, /* 32 bits count */
    {"10 0b 1a 01 05 32 01 02", "f32[<=5]"}, /* not 0 is true */
    {"10 0b 1a 0a ff ff ff ff ff ff ff ff ff 01", "f32[-1]"},
    {"10 0d 1a 01 05", "()"}, /* a tuple's sizes are skipped */
    {"10 11 22 02 10 00", "token[]"}, /* and a token's elements */
    {"10 0b 2a 03 80 01 00", "f32[]"}, /* no tail padding is one of 1 */
    {"10 0b 2a 09 4a 02 00 01 6a 01 01 70 01", "f32[]"}, /* marks of sparse layouts */
    {"10 0b 2a 08 32 00 32 04 0a 02 00 01", "f32[]{:T()(0,1)}"},
    {"10 0b 2a 02 58 28", "f32[]{:#(invalid)}"},
};

static void reads_what_xla_reads(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(readable); i++) {
        const message m = message_of(readable[i].hex);
        assert_reads(&m, readable[i].text);
    }
}

static void tells_where_shapes_start(void **state) {
    (void)state;
    static const size_t want[] = {0, 7, 15, 19, 23};
    const message       m = message_of("10 0d 1a 01 05 22 04 1a 00 10 0b 08 00 22 0a 10 0d 22 02 10 11 22 02 10 0e");
    size_t              count = 0;
    assert_int_equal(tg_xla_shape_from_proto(nodes, MAX_NODES, &count, m.bytes, m.len, NULL), TG_OK);
    assert_int_equal(count, COUNT(want));
    for (size_t i = 0; i < count; i++) assert_int_equal(nodes[i].pos, want[i]);
}

static void counts_what_has_no_room(void **state) {
    (void)state;
    const message m = message_of("10 0d 22 02 10 0b 22 02 10 11");
    size_t        count = 0;
    memset(nodes, 0xa5, sizeof nodes);
    assert_int_equal(tg_xla_shape_from_proto(nodes, 2, &count, m.bytes, m.len, NULL), TG_OK);
    assert_int_equal(count, 3);
    assert_int_equal(nodes[0].nchildren, 2);
    assert_int_equal(nodes[1].dtype, TG_F32);
    assert_int_equal(((unsigned char *)&nodes[2])[0], 0xa5);
}

/* ---- refusals ------------------------------------------------------------------- */

static const struct { const char *hex; tg_status status; size_t pos; const char *message; } unreadable[] = {
    /* bytes that are no message */
    {"10", TG_ERR_PARSE, 0, "not an XLA ShapeProto: a number that does not end within 10 bytes, in a ShapeProto"},
    {"10 0b 10 80", TG_ERR_PARSE, 2, "a number that does not end within 10 bytes"},
    {"10 0b 10 80 80 80 80 80 80 80 80 80 80 01", TG_ERR_PARSE, 2, "a number that does not end within 10 bytes"},
    {"10 0b 90 80 80 80 80 00 01", TG_ERR_PARSE, 2, "a tag that does not end within 5 bytes"},
    {"10 0b 92", TG_ERR_PARSE, 2, "a tag that does not end within 5 bytes"},
    {"10 0b 02 00", TG_ERR_PARSE, 2, "a field number 0"},
    {"10 0b 90 80 80 80 10 00", TG_ERR_PARSE, 2, "a field number above 2^29-1"},
    {"10 0b 1a 02 01", TG_ERR_PARSE, 2, "a value that ends behind its message"},
    {"10 0b 1a ff ff ff ff 7f 01", TG_ERR_PARSE, 2, "a value that ends behind its message"},
    {"10 0b 1a 81 80 80 80 80 00 05", TG_ERR_PARSE, 2, "a length that does not end within 5 bytes"},
    {"10 0b 9d 06 00 00 00", TG_ERR_PARSE, 2, "a value that ends behind its message"},
    {"10 0b 99 06 00 00 00 00 00 00 00", TG_ERR_PARSE, 2, "a value that ends behind its message"},
    {"10 0b 0e", TG_ERR_PARSE, 2, "a wire type that there is not"},
    {"10 0b 0f", TG_ERR_PARSE, 2, "a wire type that there is not"},
    {"10 0b 0b 0c", TG_ERR_PARSE, 2, "a group, which is not read here"},
    {"10 0b 0c", TG_ERR_PARSE, 2, "a group, which is not read here"},
    {"10 0b 2a 04 32 02 0a 01", TG_ERR_PARSE, 6, "a value that ends behind its message, in a TileProto"},
    /* fields that are not what they should be */
    {"10 0b 12 01 0b", TG_ERR_PARSE, 2, "field element_type (2) of a ShapeProto has another wire type"},
    {"10 0b 1d 00 00 00 00", TG_ERR_PARSE, 2, "field dimensions (3) of a ShapeProto has another wire type"},
    {"10 0b 28 00", TG_ERR_PARSE, 2, "field layout (5) of a ShapeProto has another wire type"},
    {"10 0b 1a 01 85", TG_ERR_PARSE, 2, "field dimensions (3) of a ShapeProto holds a number that does not end"},
    {"10 0b 2a 00 2a 00", TG_ERR_PARSE, 4, "field layout (5) of a ShapeProto stands twice"},
    {"10 0b 2a 02 38 04 2a 01 38", TG_ERR_PARSE, 6, "field layout (5) of a ShapeProto stands twice"},
    /* rules of XLA */
    {"", TG_ERR_PARSE, 0, "not an XLA shape: 0 is no element type"},
    {"10 25", TG_ERR_PARSE, 0, "not an XLA shape: 37 is no element type"},
    {"10 8b ff ff ff ff ff ff ff ff 01", TG_ERR_PARSE, 0, "not an XLA shape: -117 is no element type"},
    {"10 0d 22 02 10 0b 22 02 10 28", TG_ERR_PARSE, 8, "40 is no element type"},
    {"10 0b 1a 01 05 32 02 00 00", TG_ERR_PARSE, 0,
     "Malformed shape proto: number of is_dynamic_dimension fields (2) does not match number of dimension fields (1)."},
    {"10 0b 32 01 00", TG_ERR_PARSE, 0, "number of is_dynamic_dimension fields (1)"},
    {"10 0d 2a 00", TG_ERR_PARSE, 0, "Malformed shape proto: element_type TUPLE should not have a layout."},
    {"10 0d 22 04 10 11 2a 00", TG_ERR_PARSE, 4, "element_type TOKEN should not have a layout."},
    {"10 0e 2a 00", TG_ERR_PARSE, 0, "element_type OPAQUE_TYPE should not have a layout."},
    {"10 22 2a 00 22 02 10 0b", TG_ERR_PARSE, 0, "element_type BUFFER should not have a layout."},
    {"10 22", TG_ERR_PARSE, 0, "Buffer shape must have exactly one tuple shape. (it has 0)"},
    {"10 22 22 02 10 0b 22 02 10 0b", TG_ERR_PARSE, 0, "Buffer shape must have exactly one tuple shape. (it has 2)"},
    {"10 22 22 02 10 0d", TG_ERR_PARSE, 0, "Buffer shape must have array shape."},
    {"10 22 22 00", TG_ERR_PARSE, 0, "Buffer shape must have array shape."},
    {"10 0b 2a 0c 80 01 ff ff ff ff ff ff ff ff ff 01", TG_ERR_PARSE, 0,
     "tail_padding_alignment_in_elements must not be negative: -1"},
    {"10 0b 2a 0e 32 0c 0a 0a fe ff ff ff ff ff ff ff ff 01", TG_ERR_PARSE, 0, "tile dimension must be >= 0"},
    {"10 0b 2a 0e 32 0c 0a 0a 80 80 80 80 80 80 80 80 80 01", TG_ERR_PARSE, 0, "(`*` has no form in a proto)"},
    /* ours */
    {"10 0b 2a 03 40 80 01", TG_ERR_PARSE, 0, "memory space does not fit int8: 128"},
    {"10 0b 2a 0b 40 ff fe ff ff ff ff ff ff ff 01", TG_ERR_PARSE, 0, "memory space does not fit int8: -129"},
    {"10 0b 2a 03 58 80 01", TG_ERR_PARSE, 0, "index_primitive_type does not fit int8: 128"},
    {"10 0b 2a 03 60 80 01", TG_ERR_PARSE, 0, "pointer_primitive_type does not fit int8: 128"},
    {"10 0d 22 06 10 0b 2a 02 52 00", TG_ERR_UNSUPPORTED, 4, "Layout has physical shape"},
    {"10 0b 1a 11 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01", TG_ERR_LIMIT, 0, "more than 16 dimensions"},
    {"10 0b 2a 13 0a 11 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00", TG_ERR_LIMIT, 0,
     "more than 16 numbers in minor_to_major"},
    {"10 0b 2a 07 0a 05 80 80 80 80 08", TG_ERR_LIMIT, 0, "minor_to_major number 2147483648 does not fit int32"},
    {"10 0b 2a 12 32 00 32 00 32 00 32 00 32 00 32 00 32 00 32 00 32 00", TG_ERR_LIMIT, 0, "more than 8 tile levels"},
    {"10 0b 2a 1b 8a 01 00 8a 01 00 8a 01 00 8a 01 00 8a 01 00 8a 01 00 8a 01 00 8a 01 00 8a 01 00", TG_ERR_LIMIT, 0,
     "more than 8 split configs"},
};

static void assert_refused(const message *m, tg_status status, size_t pos, const char *words, const char *what) {
    size_t          count = 12345;
    tg_error        err = {.message = ""};
    const tg_status got = tg_xla_shape_from_proto(nodes, MAX_NODES, &count, m->bytes, m->len, &err);
    if (got != status || err.pos != pos || strstr(err.message, words) == NULL)
        fail_msg("%s: wanted %s at %zu with '%s', got %s at %zu: %s", what, tg_status_name(status), pos, words,
                 tg_status_name(got), err.pos, err.message);
    assert_int_equal(err.status, status);
    assert_int_equal(count, 12345);
    assert_int_equal(tg_xla_shape_from_proto(NULL, 0, &count, m->bytes, m->len, NULL), status);
}

static void refuses_and_tells_where(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(unreadable); i++) {
        const message m = message_of(unreadable[i].hex);
        memset(nodes, 0xa5, sizeof nodes);
        assert_refused(&m, unreadable[i].status, unreadable[i].pos, unreadable[i].message, unreadable[i].hex);
        for (size_t k = 0; k < sizeof nodes; k++) assert_int_equal(((unsigned char *)nodes)[k], 0xa5);
    }
}

static const struct { const char *text; tg_status status; const char *message; } unwritable[] = {
    {"f32[8]{0:T(*,2)}", TG_ERR_UNREPRESENTABLE, "`*` in a tile has no form in a proto"},
    {"(token[], b(f32[8]{0:T(2)(*,*,2)}))", TG_ERR_UNREPRESENTABLE, "`*` in a tile has no form in a proto"},
};

static void refuses_to_write_what_cannot_be_read(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(unwritable); i++) {
        const size_t count = parse(unwritable[i].text);
        size_t       need = 12345;
        tg_error     err = {.message = ""};
        assert_int_equal(tg_xla_shape_to_proto(NULL, 0, &need, nodes, count, &err), unwritable[i].status);
        assert_non_null(strstr(err.message, unwritable[i].message));
        assert_int_equal(need, 12345);
    }
}

/* Values that no text gives: each breaks the layout {0:T(8)} of f32[8] once. */
static void break_tail_padding(tg_xla_shape *s) { s->layout.tail_padding = 0; }
static void break_memory_space(tg_xla_shape *s) { s->layout.memory_space = 128; }
static void break_index_type(tg_xla_shape *s) { s->layout.index_type = (tg_dtype)128; }
static void break_pointer_type(tg_xla_shape *s) { s->layout.pointer_type = (tg_dtype)200; }
static void break_tile(tg_xla_shape *s) { s->layout.tile_dims[0] = -1; }
static void break_counts(tg_xla_shape *s) { s->layout.ntiles = TG_XLA_MAX_TILES + 1; }
static void break_dtype(tg_xla_shape *s) { s->dtype = TG_INVALID; }
static void break_kind(tg_xla_shape *s) { s->kind = (tg_xla_kind)7; }
static void break_children(tg_xla_shape *s) { s->nchildren = 1; }

static const struct { void (*break_it)(tg_xla_shape *); bool in_layout; const char *message; } broken[] = {
    {break_tail_padding, true, "tail_padding_alignment_in_elements must be >= 1: 0"},
    {break_memory_space, true, "memory space does not fit int8: 128"},
    {break_index_type, true, "index and pointer type do not fit int8: 128, 0"},
    {break_pointer_type, true, "index and pointer type do not fit int8: 0, 200"},
    {break_tile, true, "tile dimension must be >= 0: -1"},
    {break_counts, true, "a layout whose counts do not lie in its arrays"},
    {break_dtype, false, "0 is no element type"},
    {break_kind, false, "7 is no kind of shape"},
    {break_children, false, "a shape of kind 0 with 1 elements"},
};

static void refuses_to_write_broken_values(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(broken); i++) {
        const size_t count = parse("f32[8]{0:T(8)}");
        size_t       need;
        tg_error     err = {.message = ""};
        broken[i].break_it(&nodes[0]);
        assert_int_equal(tg_xla_shape_to_proto(NULL, 0, &need, nodes, count, &err), TG_ERR_ARGUMENT);
        assert_string_equal(err.message, broken[i].message);
        if (!broken[i].in_layout) continue;
        assert_int_equal(tg_xla_layout_to_proto(NULL, 0, &need, &nodes[0].layout, &err), TG_ERR_ARGUMENT);
        assert_string_equal(err.message, broken[i].message);
    }
    size_t   need;
    tg_error err;
    assert_int_equal(tg_xla_shape_to_proto(NULL, 0, &need, NULL, 0, &err), TG_ERR_ARGUMENT);
    assert_string_equal(err.message, "0 nodes, but the shape needs more");
}

/* ---- bounds ------------------------------------------------------------------- */

static void nests_a_hundred_deep(void **state) {
    (void)state;
    /* own: messages inside the leaf. pos: of the tag of message 101, after five bytes for each tuple */
    static const struct { const char *leaf; int own; size_t pos; } leaves[] = {
        {"10 11", 0, 502}, {"10 0b 2a 00", 1, 502}, {"10 0b 2a 02 32 00", 2, 499}, {"10 0b 2a 03 8a 01 00", 2, 499}};
    for (size_t i = 0; i < COUNT(leaves); i++) {
        const int     most = 100 - leaves[i].own;
        const message deep = nested(most, leaves[i].leaf), deeper = nested(most + 1, leaves[i].leaf);
        size_t        count = 0, need = 0;
        tg_error      err = {.message = ""};
        assert_int_equal(tg_xla_shape_from_proto(nodes, MAX_NODES, &count, deep.bytes, deep.len, &err), TG_OK);
        assert_int_equal(count, most + 1);
        assert_int_equal(tg_xla_shape_to_proto(NULL, 0, &need, nodes, count, &err), TG_OK);
        assert_refused(&deeper, TG_ERR_LIMIT, leaves[i].pos, "more than 100 messages inside each other",
                       leaves[i].leaf);
        memmove(nodes + 1, nodes, count * sizeof nodes[0]);
        nodes[0] = (tg_xla_shape){.kind = TG_XLA_TUPLE, .nchildren = 1};
        assert_int_equal(tg_xla_shape_to_proto(NULL, 0, &need, nodes, count + 1, &err), TG_ERR_LIMIT);
        assert_non_null(strstr(err.message, "more than 100 messages inside each other"));
    }
}

/* `count` copies of two bytes. */
static tg_status read_repeated(unsigned char first, unsigned char second, size_t count, tg_error *err) {
    size_t         nodes_count;
    unsigned char *bytes = malloc(2 * count);
    assert_non_null(bytes);
    for (size_t i = 0; i < count; i++) {
        bytes[2 * i] = first;
        bytes[2 * i + 1] = second;
    }
    const tg_status status = tg_xla_shape_from_proto(NULL, 0, &nodes_count, bytes, 2 * count, err);
    free(bytes);
    return status;
}

/* Left to itself protobuf-c needs a kilobyte of stack for each. */
static void deep_bytes_do_no_harm(void **state) {
    (void)state;
    enum { DEEP = 100000, LEVEL = 6 };
    unsigned char *bytes = malloc(LEVEL * DEEP);
    assert_non_null(bytes);
    for (size_t i = 0; i < DEEP; i++) {
        const size_t        rest = LEVEL * (DEEP - 1 - i);
        const unsigned char level[LEVEL] = {0x10, 0x0d, 0x22, (unsigned char)((rest & 0x7f) | 0x80),
                                            (unsigned char)((rest >> 7 & 0x7f) | 0x80), (unsigned char)(rest >> 14)};
        memcpy(bytes + LEVEL * i, level, LEVEL);
    }
    size_t   count;
    tg_error err = {.message = ""};
    assert_int_equal(tg_xla_shape_from_proto(NULL, 0, &count, bytes, LEVEL * DEEP, &err), TG_ERR_LIMIT);
    assert_int_equal(err.pos, LEVEL * 100 + 2);
    free(bytes);
}

static void memory_is_bounded(void **state) {
    (void)state;
    tg_error err = {.message = ""};
    assert_int_equal(read_repeated(0x22, 0x00, 1000, &err), TG_ERR_PARSE); /* elements of no type */
    assert_int_equal(read_repeated(0x22, 0x00, 2000000, &err), TG_ERR_LIMIT);
    assert_string_equal(err.message,
                        "an XLA ShapeProto of 4000000 bytes needs more than 256 MiB, a limit of this library");
    assert_int_equal(err.pos, 0);
    assert_int_equal(read_repeated(0x08, 0x00, 5000000, &err), TG_ERR_LIMIT); /* unknown fields */
}

static void lengths_are_bounded(void **state) {
    (void)state;
    size_t   count;
    tg_error err = {.message = ""};
    assert_int_equal(tg_xla_shape_from_proto(NULL, 0, &count, "", (size_t)INT32_MAX + 1, &err), TG_ERR_LIMIT);
    assert_string_equal(err.message, "a message of 2147483648 bytes; protobuf has at most 2^31-1");
}

/* ---- a layout alone --------------------------------------------------------------- */

static void layouts_go_and_come_back(void **state) {
    (void)state;
    static const struct { const char *text, *hex; } rows[] = {
        {"{}", "80 01 01"},
        {"{1,0:T(8,128)(2,1)S(1)}", "0a 02 01 00 32 05 0a 03 08 80 01 32 04 0a 02 02 01 40 01 80 01 01"},
        {"{0:L(4)E(-4)}", "0a 01 00 38 fc ff ff ff ff ff ff ff ff 01 80 01 04"},
        {"{3,-1}", "0a 0b 03 ff ff ff ff ff ff ff ff ff 01 80 01 01"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const message want = message_of(rows[i].hex);
        tg_xla_layout layout;
        unsigned char buf[MAX_BYTES];
        char          text[MAX_BYTES];
        size_t        need = 0;
        assert_int_equal(tg_xla_layout_parse(&layout, rows[i].text, strlen(rows[i].text), NULL), TG_OK);
        assert_int_equal(tg_xla_layout_to_proto(buf, sizeof buf, &need, &layout, NULL), TG_OK);
        assert_bytes(&want, buf, need, rows[i].text);
        memset(&layout, 0xa5, sizeof layout);
        assert_int_equal(tg_xla_layout_from_proto(&layout, want.bytes, want.len, NULL), TG_OK);
        (void)tg_xla_layout_format(text, sizeof text, &layout);
        assert_string_equal(text, rows[i].text);
    }
}

static void layouts_are_refused(void **state) {
    (void)state;
    static const struct { const char *hex; tg_status status; size_t pos; const char *message; } rows[] = {
        {"80 01", TG_ERR_PARSE, 0, "not an XLA LayoutProto: a number that does not end within 10 bytes"},
        {"80 01 01 40 80 01", TG_ERR_PARSE, 0, "memory space does not fit int8: 128"},
        {"52 02 10 0b", TG_ERR_UNSUPPORTED, 0, "Layout has physical shape"},
        {"8a 01 02 08 80", TG_ERR_PARSE, 3, "a number that does not end within 10 bytes, in a SplitConfigProto"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const message m = message_of(rows[i].hex);
        tg_xla_layout layout;
        tg_error      err = {.message = ""};
        memset(&layout, 0xa5, sizeof layout);
        assert_int_equal(tg_xla_layout_from_proto(&layout, m.bytes, m.len, &err), rows[i].status);
        assert_int_equal(err.pos, rows[i].pos);
        assert_non_null(strstr(err.message, rows[i].message));
        for (size_t k = 0; k < sizeof layout; k++) assert_int_equal(((unsigned char *)&layout)[k], 0xa5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_what_xla_writes),
        cmocka_unit_test(reads_what_it_writes),
        cmocka_unit_test(reads_what_xla_reads),
        cmocka_unit_test(tells_where_shapes_start),
        cmocka_unit_test(counts_what_has_no_room),
        cmocka_unit_test(refuses_and_tells_where),
        cmocka_unit_test(refuses_to_write_what_cannot_be_read),
        cmocka_unit_test(refuses_to_write_broken_values),
        cmocka_unit_test(nests_a_hundred_deep),
        cmocka_unit_test(deep_bytes_do_no_harm),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(lengths_are_bounded),
        cmocka_unit_test(layouts_go_and_come_back),
        cmocka_unit_test(layouts_are_refused),
    };
    return cmocka_run_group_tests_name("xla_proto", tests, NULL, NULL);
}
