/* XLA shape text: what reads, how it prints, where and why it is refused; and the rules on values.
 * Agreement with XLA itself is tests/python/test_xla_text.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <tegula/tegula.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

enum { MAX_NODES = 64, MAX_TEXT = 8192 };

/* 600 of them: room for every nesting test. */
static char deep_text[2 * 600 + 1];

static const char *nested(int depth) {
    memset(deep_text, '(', (size_t)depth);
    memset(deep_text + depth, ')', (size_t)depth);
    deep_text[2 * depth] = '\0';
    return deep_text;
}

static size_t parse(tg_xla_shape *nodes, const char *text) {
    tg_error  err;
    size_t    count = 0;
    tg_status status = tg_xla_shape_parse(nodes, MAX_NODES, &count, text, strlen(text), &err);
    if (status != TG_OK) fail_msg("'%s': %s", text, err.message);
    assert_true(count <= MAX_NODES);
    return count;
}

/* ---- reading and printing ------------------------------------------------------- */

static const struct { const char *text, *canonical, *no_layout; } readable[] = {
    {"f32[123,456]", "f32[123,456]{1,0}", "f32[123,456]"},
    {"bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)}", "bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)}", "bf16[32,32,4096]"},
    {"f32[]", "f32[]", "f32[]"},
    {"f32[]{:}", "f32[]", "f32[]"},
    {"f32[]{:T(256)}", "f32[]{:T(256)}", "f32[]"},
    {"f32[2]{0:}", "f32[2]{0}", "f32[2]"},
    {"f32[0,1]", "f32[0,1]{1,0}", "f32[0,1]"},
    {"u32[<=123,?]", "u32[<=123,?]{1,0}", "u32[<=123,?]"},
    {"f32[<=-9223372036854775808]", "f32[?]{0}", "f32[?]"},
    {"f32[9223372036854775807,2147483648]{0,1}", "f32[9223372036854775807,2147483648]{0,1}",
     "f32[9223372036854775807,2147483648]"},
    {"f32[2,2]{0,0}", "f32[2,2]{0,0}", "f32[2,2]"},
    {"f32[8]{0:T()}", "f32[8]{0:T()}", "f32[8]"},
    {"f32[8]{0:T(*,-9223372036854775808,2)}", "f32[8]{0:T(*,*,2)}", "f32[8]"},
    {"f32[8]{0:L(1)E(0)S(0)M(-3)}", "f32[8]{0}", "f32[8]"},
    {"f32[8]{0:S(-128)}", "f32[8]{0:S(-128)}", "f32[8]"},
    {"f32[8]{0:D(C+,S~)T(2)}", "f32[8]{0:T(2)}", "f32[8]"},
    {"f32[2,3]{1,0:T(2,128)L(4)#(u32)*(u16)E(16)S(1)SC(0:1)(1:1,2)M(8)}",
     "f32[2,3]{1,0:T(2,128)L(4)#(u32)*(u16)E(16)S(1)SC(0:1)(1:1,2)M(8)}", "f32[2,3]"},
    {"f32 [ 2 , 3 ] { 1 , 0 : T ( 2 , * ) S ( 1 ) }", "f32[2,3]{1,0:T(2,*)S(1)}", "f32[2,3]"},
    {"f32[2, // x\n3]/* y */", "f32[2,3]{1,0}", "f32[2,3]"},
    {"()", "()", "()"},
    {"( ( ) , token[] , opaque [ ] )", "((), token[], opaque[])", "((), token[], opaque[])"},
    {"b( f32[2] )", "b(f32[2]{0})", "b(f32[2])"},
    {"(s8[1], s8[1], s8[1], s8[1], s8[1], b(s8[1]))",
     "(s8[1]{0}, s8[1]{0}, s8[1]{0}, s8[1]{0}, s8[1]{0}, /*index=5*/b(s8[1]{0}))",
     "(s8[1], s8[1], s8[1], s8[1], s8[1], /*index=5*/b(s8[1]))"},
};

static void assert_prints(const tg_xla_shape *nodes, size_t count, bool with_layout, const char *want) {
    char         buf[MAX_TEXT];
    const size_t len = tg_xla_shape_format(buf, sizeof buf, nodes, count, with_layout);
    assert_string_equal(buf, want);
    assert_int_equal(len, strlen(want));
}

static void test_reads_and_prints(void **state) {
    (void)state;
    static tg_xla_shape nodes[MAX_NODES];
    for (size_t i = 0; i < COUNT(readable); i++) {
        size_t count = parse(nodes, readable[i].text);
        assert_prints(nodes, count, true, readable[i].canonical);
        assert_prints(nodes, count, false, readable[i].no_layout);
        count = parse(nodes, readable[i].canonical);
        assert_prints(nodes, count, true, readable[i].canonical);
    }
}

/* The text of a tree, its nodes in pre-order, and what each says of itself. */
static void test_nodes_are_in_pre_order(void **state) {
    (void)state;
    static const struct { tg_xla_kind kind; int32_t nchildren; size_t pos; } want[] = {
        {TG_XLA_TUPLE, 3, 0}, {TG_XLA_ARRAY, 0, 1},  {TG_XLA_TUPLE, 1, 9},
        {TG_XLA_TOKEN, 0, 10}, {TG_XLA_BUFFER, 1, 20}, {TG_XLA_ARRAY, 0, 22},
    };
    static tg_xla_shape nodes[MAX_NODES];
    assert_int_equal(parse(nodes, "(f32[2], (token[]), b(s8[4,5]))"), COUNT(want));
    for (size_t i = 0; i < COUNT(want); i++) {
        assert_int_equal(nodes[i].kind, want[i].kind);
        assert_int_equal(nodes[i].nchildren, want[i].nchildren);
        assert_int_equal(nodes[i].pos, want[i].pos);
        assert_int_equal(nodes[i].has_layout, want[i].kind == TG_XLA_ARRAY);
    }
    assert_int_equal(nodes[5].dtype, TG_S8);
    assert_int_equal(nodes[5].dims[1], 5);
    assert_int_equal(nodes[5].layout.minor_to_major[0], 1);
    assert_int_equal(nodes[5].layout.tail_padding, 1);
}

static void test_tiles_and_splits_are_flat_lists(void **state) {
    (void)state;
    static tg_xla_shape nodes[MAX_NODES];
    parse(nodes, "f32[9,9]{1,0:T(8,128)()(*,2,1)SC(1:3,4)(0:5)}");
    const tg_xla_layout *l = &nodes[0].layout;
    const int64_t        tiles[] = {8, 128, TG_XLA_COMBINE, 2, 1}, splits[] = {3, 4, 5};
    assert_int_equal(l->ntiles, 3);
    assert_int_equal(l->tile_ndim[0], 2);
    assert_int_equal(l->tile_ndim[1], 0);
    assert_int_equal(l->tile_ndim[2], 3);
    assert_memory_equal(l->tile_dims, tiles, sizeof tiles);
    assert_int_equal(l->nsplits, 2);
    assert_int_equal(l->split_dim[0], 1);
    assert_int_equal(l->split_nindices[0], 2);
    assert_memory_equal(l->split_indices, splits, sizeof splits);
}

static void test_nodes_beyond_cap_are_counted_only(void **state) {
    (void)state;
    static const char   text[] = "(f32[2], (s8[1], (token[], token[])), b(s8[4]))";
    static tg_xla_shape nodes[MAX_NODES], whole[MAX_NODES];
    const size_t        all = parse(whole, text);
    assert_int_equal(all, 9);
    for (size_t cap = 0; cap <= all; cap++) {
        memset(nodes, 0x5a, sizeof nodes);
        size_t count = 0;
        assert_int_equal(tg_xla_shape_parse(cap > 0 ? nodes : NULL, cap, &count, text, strlen(text), NULL), TG_OK);
        assert_int_equal(count, all);
        for (size_t i = 0; i < cap; i++) assert_int_equal(nodes[i].kind, whole[i].kind);
        assert_int_equal(((unsigned char *)&nodes[cap])[0], 0x5a);
    }
}

/* ---- refusals -------------------------------------------------------------------- */

#define ONES_17 "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"

/* The caret stands under the place: pos. */
static const struct { const char *text; tg_status status; size_t pos; const char *says; } refused[] = {
    {"", TG_ERR_PARSE, 0, "expected primitive type, saw the end"},
    {"float32[2]", TG_ERR_PARSE, 0, "expected primitive type, saw 'float32'"},
    {"F32[2]", TG_ERR_PARSE, 0, "expected primitive type, saw 'F32'"},
    {"f32:[2]", TG_ERR_PARSE, 0, "expected primitive type, saw 'f32:'"},
    {"true", TG_ERR_PARSE, 0, "expected primitive type, saw 'true'"},
    {"f32(2)", TG_ERR_PARSE, 3, "expects a list starting with '['"},
    {"f32[2 3]", TG_ERR_PARSE, 6, "expects a list to end with ']'"},
    {"f32[2", TG_ERR_PARSE, 5, "expects a list to end with ']'"},
    {"f32[2,]", TG_ERR_PARSE, 6, "expects integer"},
    {"f32[2x3]", TG_ERR_PARSE, 4, "expects integer (saw '2x3')"},
    {"f32[1_2]", TG_ERR_PARSE, 4, "expects integer (saw '1_2')"},
    {"f32[1e3]", TG_ERR_PARSE, 4, "expects integer (saw '1e3')"},
    {"f32[2.]", TG_ERR_PARSE, 4, "expects integer (saw '2.')"},
    {"f32[<5]", TG_ERR_PARSE, 4, "expects integer (saw '<5]'"},
    {"f32[-1]", TG_ERR_PARSE, 4, "Invalid dimension size"},
    {"f32[<=-1]", TG_ERR_PARSE, 6, "Invalid dimension size"},
    {"f32[-9223372036854775808]", TG_ERR_PARSE, 4, "Invalid dimension size"},
    {"f32[9223372036854775808]", TG_ERR_OVERFLOW, 4, "fits int64"},
    {"f32[-9223372036854775809]", TG_ERR_OVERFLOW, 4, "fits int64"},
    {"f32[2]{0:E(18446744073709551615)}", TG_ERR_OVERFLOW, 11, "fits int64"},
    {"f32[]{}", TG_ERR_PARSE, 5, "Extra content after shape"},
    {"f32[2])", TG_ERR_PARSE, 6, "Extra content after shape"},
    {"f32[2]/*", TG_ERR_PARSE, 6, "Extra content after shape"},
    {"f32[2,3]{1}", TG_ERR_PARSE, 8, "Dimensions size is 2, but minor to major size is 1."},
    {"f32[2]{2147483648}", TG_ERR_LIMIT, 7, "does not fit int32"},
    {"f32[2]{0:E(4)L(8)}", TG_ERR_PARSE, 13, "expects layout to end with '}'"},
    {"f32[2]{0:S:(1)}", TG_ERR_PARSE, 9, "expects layout to end with '}'"},
    {"f32[2]{0:T}", TG_ERR_PARSE, 10, "expects a list starting with '('"},
    {"f32[2]{0:T(2,}", TG_ERR_PARSE, 13, "expects integer"},
    {"f32[2]{0:T(-2)}", TG_ERR_PARSE, 11, "a tile dimension must be positive, or `*`, not negative: -2"},
    {"f32[2]{0:E}", TG_ERR_PARSE, 10, "expects element size in bits to start with '('"},
    {"f32[2]{0:E(4}", TG_ERR_PARSE, 12, "expects element size in bits to end with ')'"},
    {"f32[2]{0:L(0)}", TG_ERR_PARSE, 11, "tail_padding_alignment_in_elements field is <= 0"},
    {"f32[2]{0:S(128)}", TG_ERR_PARSE, 11, "memory space does not fit int8"},
    {"f32[2]{0:#(f32)}", TG_ERR_PARSE, 11, "expecting an unsigned integer type"},
    {"f32[2]{0:*(u32}", TG_ERR_PARSE, 14, "expects pointer primitive type to be followed by ')'"},
    {"f32[2]{0:SC(0)}", TG_ERR_PARSE, 13, "expects a list starting with ':'"},
    {"f32[2]{0:D(X)}", TG_ERR_PARSE, 11, "expected a DimLevelType abbreviation (D, C, or S)"},
    {"f32[2]{0:P(f32[2])}", TG_ERR_PARSE, 9, "Layout has physical shape, but is not for a sparse array"},
    {"token[3]", TG_ERR_PARSE, 6, "token[] and opaque[] have no dimensions"},
    {"opaque[]{:T(2)}", TG_ERR_PARSE, 8, "token[] and opaque[] have no layout"},
    {"(f32[2]", TG_ERR_PARSE, 7, "expects ')' at the end of tuple."},
    {"(f32[2],)", TG_ERR_PARSE, 8, "expected primitive type"},
    {"b()", TG_ERR_PARSE, 2, "expected primitive type"},
    {"b(f32[]", TG_ERR_PARSE, 7, "expects ')' at the end of buffer shape."},
    {"b((f32[]))", TG_ERR_PARSE, 2, "Buffer shape must have array shape."},
    {"b(b(f32[]))", TG_ERR_PARSE, 2, "Buffer shape must have array shape."},
    {"b(token[])", TG_ERR_PARSE, 2, "Buffer shape must have array shape."},
    {"(f32[], f32[2,2]{0,0})", TG_ERR_PARSE, 19, "layout minor_to_major field has duplicate values: [0,0]"},
    {"(b(f32[2]{5}))", TG_ERR_PARSE, 10, "layout minor_to_major field has out-of-bounds value: [5]"},
    {"(f32[2,3]{1,1}, f32[2]{0})", TG_ERR_PARSE, 12, "layout minor_to_major field has duplicate values: [1,1]"},
    {"(f32[4], f32[2,3]{1,0:T(0)})", TG_ERR_PARSE, 24, "layout has invalid tiles: tile dimension 0 must be"},
    {"(f32[2305843009213693952])", TG_ERR_OVERFLOW, 4, "size may overflow int64_t."},
    {"(s8[4294967296,2147483648])", TG_ERR_OVERFLOW, 3, "Dimensions overflow."},
    {"f32[" ONES_17 "]", TG_ERR_LIMIT, 36, "more than 16 dimensions"},
    {"f32[2]{" ONES_17 "}", TG_ERR_LIMIT, 39, "more than 16 numbers in minor_to_major"},
    {"f32[2]{0:T(1)(1)(1)(1)(1)(1)(1)(1)(1)}", TG_ERR_LIMIT, 34, "more than 8 tile levels"},
    {"f32[2]{0:T(" ONES_17 ")(" ONES_17 ")}", TG_ERR_LIMIT, 76, "more than 32 tile dimensions"},
    {"f32[2]{0:SC(0:)(0:)(0:)(0:)(0:)(0:)(0:)(0:)(0:)}", TG_ERR_LIMIT, 43, "more than 8 split configs"},
    {"f32[2]{0:SC(0:" ONES_17 ")(0:" ONES_17 ")}", TG_ERR_LIMIT, 81, "more than 32 split indices"},
};

static void assert_refused(const char *text, size_t len, tg_status status, size_t pos, const char *says) {
    tg_error  err = {.status = TG_OK};
    size_t    count = 777;
    tg_xla_shape node = {.ndim = 99};
    const tg_status got = tg_xla_shape_parse(&node, 1, &count, text, len, &err);
    if (got != status || err.status != status || err.pos != pos || strstr(err.message, says) == NULL)
        fail_msg("'%s': got %s at %zu: %s", text, tg_status_name(got), err.pos, err.message);
    assert_int_equal(count, 777);
    assert_int_equal(node.ndim, 99);
    assert_int_equal(tg_xla_shape_parse(NULL, 0, &count, text, len, NULL), status);
}

static void test_refuses_with_rule_and_place(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++)
        assert_refused(refused[i].text, strlen(refused[i].text), refused[i].status, refused[i].pos, refused[i].says);
    assert_refused("f32[2]\0", 7, TG_ERR_PARSE, 6, "Extra content after shape");
    assert_refused("f32[2]// \0", 10, TG_ERR_PARSE, 6, "Extra content after shape");
}

static void test_every_prefix_is_refused_inside_itself(void **state) {
    (void)state;
    static const char text[] = "(f32[2,3]{1,0:T(2,128)L(4)E(16)S(1)SC(0:1)M(8)},b(s8[<=4]),token[])";
    for (size_t len = 0; len < strlen(text); len++) {
        tg_error err;
        size_t   count;
        assert_int_not_equal(tg_xla_shape_parse(NULL, 0, &count, text, len, &err), TG_OK);
        assert_true(err.pos <= len);
    }
}

static void test_nesting_is_limited(void **state) {
    (void)state;
    static tg_xla_shape nodes[513];
    static char         buf[MAX_TEXT];
    size_t              count = 0;
    assert_int_equal(tg_xla_shape_parse(nodes, 513, &count, nested(512), 1024, NULL), TG_OK);
    assert_int_equal(count, 512);
    assert_int_equal(tg_xla_shape_format(buf, sizeof buf, nodes, count, true), 1024);
    assert_string_equal(buf, nested(512));
    assert_int_equal(tg_xla_shape_validate(nodes, count, NULL), TG_OK);
    assert_refused(nested(513), 1026, TG_ERR_LIMIT, 512, "more than 512 tuples inside each other");

    nodes[512] = nodes[511];
    nodes[511].nchildren = 1;
    assert_int_equal(tg_xla_shape_validate(nodes, 513, NULL), TG_ERR_LIMIT);
    assert_int_equal(tg_xla_shape_format(buf, sizeof buf, nodes, 513, true), 0);
}

/* ---- layouts alone ----------------------------------------------------------------- */

static void test_layouts_alone(void **state) {
    (void)state;
    static const struct { const char *text, *want; } rows[] = {
        {"{}", "{}"},
        {"{:}", "{}"},
        {" { } ", "{}"},
        {"{:T(256)}", "{:T(256)}"},
        {"{3,2,1,0:T(42,123)(4,5)L(100)E(42)}", "{3,2,1,0:T(42,123)(4,5)L(100)E(42)}"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        tg_xla_layout layout;
        char          buf[128];
        assert_int_equal(tg_xla_layout_parse(&layout, rows[i].text, strlen(rows[i].text), NULL), TG_OK);
        assert_int_equal(tg_xla_layout_format(buf, sizeof buf, &layout), strlen(rows[i].want));
        assert_string_equal(buf, rows[i].want);
    }
}

static void test_layouts_alone_refused(void **state) {
    (void)state;
    static const struct { const char *text; tg_status status; size_t pos; const char *says; } rows[] = {
        {"", TG_ERR_PARSE, 0, "expects layout to start with '{'"},
        {"{1,0} x", TG_ERR_PARSE, 6, "Extra content after layout"},
        {"{T(2)}", TG_ERR_PARSE, 1, "expects layout to end with '}'"},
        {"{0,1:P(s32[10,20]{1,0})}", TG_ERR_UNSUPPORTED, 5, "physical shape"},
        {"{0:P}", TG_ERR_PARSE, 4, "expects physical shape to start with '('"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        tg_error      err;
        tg_xla_layout layout = {.ndim = 99};
        assert_int_equal(tg_xla_layout_parse(&layout, rows[i].text, strlen(rows[i].text), &err), rows[i].status);
        assert_int_equal(err.status, rows[i].status);
        assert_int_equal(err.pos, rows[i].pos);
        assert_non_null(strstr(err.message, rows[i].says));
        assert_int_equal(layout.ndim, 99);
    }
}

/* ---- the rules on values ------------------------------------------------------------- */

/* says == NULL: valid. */
static const struct { const char *text; tg_status status; const char *says; } ruled[] = {
    {"f32[2,3]{0,1}", TG_OK, NULL},
    {"f32[8]{0:T(2,2)}", TG_OK, NULL},
    {"u32[]{:T(128)}", TG_OK, NULL},
    {"f32[2,3,4]{2,1,0:T(*,2)}", TG_OK, NULL},
    {"f32[16,32]{0,1:SC(0:20)}", TG_OK, NULL},
    {"(f32[2], (token[], b(s8[3])), opaque[], ())", TG_OK, NULL},
    {"f32[?,9223372036854775807,0]", TG_OK, NULL},
    {"f32[2,2]{5,0}", TG_ERR_ARGUMENT, "layout minor_to_major field has out-of-bounds value: [5,0]; shape: f32[2,2]"},
    {"f32[2,2]{0,0}", TG_ERR_ARGUMENT, "layout minor_to_major field has duplicate values"},
    {"f32[2]{0:#(u32)}", TG_ERR_ARGUMENT, "layout has a index_primitive_type, but is not a sparse array"},
    {"f32[2]{0:*(u32)}", TG_ERR_ARGUMENT, "layout has a pointer_primitive_type, but is not a sparse array"},
    {"f32[2]{0:T()}", TG_ERR_ARGUMENT, "layout has invalid tiles"},
    {"f32[2]{0:T(2)(0)}", TG_ERR_ARGUMENT, "layout has invalid tiles: tile dimension 0 must be positive"},
    {"f32[2]{0:T(2,*)}", TG_ERR_ARGUMENT, "layout has invalid tiles: `*` in the last place"},
    {"(f32[2]{0:T(*)})", TG_ERR_ARGUMENT, "layout has invalid tiles: `*` in the last place"},
    {"f32[2]{0:E(-4)}", TG_ERR_ARGUMENT, "layout element_size_in_bits field is negative: -4"},
    {"f32[2]{0:SC(1:1)}", TG_ERR_ARGUMENT, "split config has out-of-bounds physical dimension: 1"},
    {"f32[9]{0:SC(0:1)(0:2)}", TG_ERR_ARGUMENT, "split config has duplicate physical dimension: 0"},
    {"f32[9]{0:SC(0:0)}", TG_ERR_ARGUMENT, "split config split indices must be strictly increasing and positive"},
    {"f32[9]{0:SC(0:3,3)}", TG_ERR_ARGUMENT, "split config split indices must be strictly increasing and positive"},
    {"f32[9]{0:SC(0:3,9)}", TG_ERR_ARGUMENT, "split config split index is out of bounds: 9 (dim size 9)"},
    {"f32[16,32]{1,0:SC(0:20)}", TG_ERR_ARGUMENT, "split config split index is out of bounds: 20 (dim size 16)"},
    {"f32[2305843009213693952]", TG_ERR_OVERFLOW, "Shape f32[2305843009213693952] size may overflow int64_t."},
    {"s8[9223372036854775807]", TG_OK, NULL},
    {"s8[4294967296,2147483648,0]", TG_ERR_OVERFLOW, "Dimensions overflow."},
    {"s8[0,4294967296,2147483648]", TG_OK, NULL},
    {"f32[<=9223372036854775807]", TG_ERR_OVERFLOW, "size may overflow int64_t."},
};

static void assert_ruled(const char *name, const tg_xla_shape *nodes, size_t count, tg_status status,
                         const char *says) {
    tg_error        err = {.message = ""};
    const tg_status got = tg_xla_shape_validate(nodes, count, &err);
    if (got != status || (says != NULL && strstr(err.message, says) == NULL))
        fail_msg("%s: got %s: %s", name, tg_status_name(got), err.message);
    assert_int_equal(tg_xla_shape_validate(nodes, count, NULL), status);
}

static void test_rules(void **state) {
    (void)state;
    static tg_xla_shape nodes[MAX_NODES];
    for (size_t i = 0; i < COUNT(ruled); i++) {
        const size_t count = parse(nodes, ruled[i].text);
        assert_ruled(ruled[i].text, nodes, count, ruled[i].status, ruled[i].says);
    }
}

/* Values that no text has: one field of f32[4,4]{1,0} is changed. */
static void test_rules_on_values_without_text(void **state) {
    (void)state;
    static tg_xla_shape good[MAX_NODES], bad[MAX_NODES];
    char                buf[64];
    parse(good, "f32[4,4]{1,0:T(2,2)}");
#define ROW(change, says)                                                                                    \
    do {                                                                                                     \
        bad[0] = good[0];                                                                                    \
        change;                                                                                              \
        assert_ruled(#change, bad, 1, TG_ERR_ARGUMENT, says);                                                \
        (void)tg_xla_shape_format(buf, sizeof buf, bad, 1, true);                                            \
        (void)tg_xla_layout_format(buf, sizeof buf, &bad[0].layout);                                         \
    } while (0)
    ROW(bad[0].kind = (tg_xla_kind)9, "no kind of shape");
    ROW(bad[0].dtype = TG_INVALID, "Invalid element type.");
    ROW(bad[0].ndim = -1, "dimensions");
    ROW(bad[0].ndim = TG_MAX_NDIM + 1, "dimensions");
    ROW(bad[0].ndim = 1, "field contains 2 elements, but shape has 1 dimensions");
    ROW(bad[0].nchildren = 1, "elements");
    ROW(bad[0].dims[0] = -2, "Invalid dimension size -2");
    ROW(bad[0].dims[0] = TG_XLA_UNBOUNDED, "is_dynamic=false");
    ROW(bad[0].has_layout = false, "shape f32[4,4] does not have a layout");
    ROW(bad[0].layout.ndim = TG_MAX_NDIM + 1, "counts");
    ROW(bad[0].layout.ntiles = TG_XLA_MAX_TILES + 1, "counts");
    ROW(bad[0].layout.ntiles = -1, "counts");
    ROW(bad[0].layout.tile_ndim[0] = TG_XLA_MAX_TILE_DIMS + 1, "counts");
    ROW(bad[0].layout.tile_ndim[0] = -1, "counts");
    ROW(bad[0].layout.nsplits = TG_XLA_MAX_SPLITS + 1, "counts");
    ROW((bad[0].layout.nsplits = 1, bad[0].layout.split_nindices[0] = TG_XLA_MAX_SPLIT_INDICES + 1), "counts");
    ROW(bad[0].layout.tile_dims[1] = -2, "tile dimension -2 must be positive");
    ROW(bad[0].layout.tail_padding = 0, "tail_padding_alignment_in_elements field is <= 0: {0}");
    ROW(bad[0].layout.minor_to_major[0] = INT32_MIN, "out-of-bounds value");
    ROW(bad[0].kind = TG_XLA_TUPLE, "a single Layout is not valid for tuple shapes");
    ROW(bad[0].kind = TG_XLA_TOKEN, "only arrays have dimensions");
#undef ROW
}

static void test_trees_that_do_not_close(void **state) {
    (void)state;
    static tg_xla_shape nodes[MAX_NODES];
    char                buf[64] = "x";
    const size_t        count = parse(nodes, "(f32[2], b(s8[4]), ())");
    assert_ruled("whole", nodes, count, TG_OK, NULL);
    for (size_t n = 0; n < count; n++) {
        assert_ruled("too few", nodes, n, TG_ERR_ARGUMENT, "needs more");
        assert_int_equal(tg_xla_shape_format(buf, sizeof buf, nodes, n, true), 0);
        assert_string_equal(buf, "");
    }
    nodes[0].nchildren--;
    assert_ruled("too many", nodes, count, TG_ERR_ARGUMENT, "the shape ends after 4");
    nodes[0].nchildren = INT32_MAX;
    assert_ruled("far too few", nodes, count, TG_ERR_ARGUMENT, "needs more");
    nodes[0].nchildren = -1;
    assert_ruled("negative", nodes, count, TG_ERR_ARGUMENT, "elements");

    parse(nodes, "(b(s8[4]), token[])");
    nodes[2] = nodes[3];
    nodes[3].pos = 0;
    assert_ruled("buffer of a token", nodes, 4, TG_ERR_ARGUMENT, "Buffer shape must have array shape.");
}

/* ---- output --------------------------------------------------------------------------- */

static void test_output_follows_snprintf(void **state) {
    (void)state;
    static const char   want[] = "(f32[2,3]{1,0:T(2,128)}, b(s8[4]{0}))";
    static tg_xla_shape nodes[MAX_NODES];
    const size_t        count = parse(nodes, want);
    for (size_t cap = 0; cap <= strlen(want) + 2; cap++) {
        char buf[64];
        memset(buf, 0x5a, sizeof buf);
        assert_int_equal(tg_xla_shape_format(cap > 0 ? buf : NULL, cap, nodes, count, true), strlen(want));
        assert_int_equal((unsigned char)buf[cap], 0x5a);
        if (cap == 0) continue;
        const size_t written = cap <= strlen(want) ? cap - 1 : strlen(want);
        assert_memory_equal(buf, want, written);
        assert_int_equal(buf[written], 0);
    }
}

static void test_prints_types_that_are_no_integers(void **state) {
    (void)state;
    tg_xla_layout layout = {.ndim = 1, .tail_padding = 1, .index_type = TG_F32, .pointer_type = TG_S32};
    char          buf[64];
    (void)tg_xla_layout_format(buf, sizeof buf, &layout);
    assert_string_equal(buf, "{0:#(invalid)*(s32)}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_and_prints),
        cmocka_unit_test(test_nodes_are_in_pre_order),
        cmocka_unit_test(test_tiles_and_splits_are_flat_lists),
        cmocka_unit_test(test_nodes_beyond_cap_are_counted_only),
        cmocka_unit_test(test_refuses_with_rule_and_place),
        cmocka_unit_test(test_every_prefix_is_refused_inside_itself),
        cmocka_unit_test(test_nesting_is_limited),
        cmocka_unit_test(test_layouts_alone),
        cmocka_unit_test(test_layouts_alone_refused),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_rules_on_values_without_text),
        cmocka_unit_test(test_trees_that_do_not_close),
        cmocka_unit_test(test_output_follows_snprintf),
        cmocka_unit_test(test_prints_types_that_are_no_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
