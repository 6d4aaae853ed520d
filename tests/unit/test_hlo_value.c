/* Values of HLO attributes: a table for each reader, of what it reads and where it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <tegula/hlo.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

enum { UNTOUCHED = -77 };

static tg_hlo_text text_of(const char *text) { return (tg_hlo_text){text, strlen(text)}; }

/* A refusal leaves a message and a place; how != TG_OK. */
static void assert_refused(const char *text, tg_status how, const tg_error *err, tg_status status, size_t pos) {
    if (how != status || err->status != status || err->pos != pos || err->message[0] == '\0')
        fail_msg("'%s': status %d at %zu (%s), want %d at %zu", text, (int)how, err->pos, err->message, (int)status,
                 pos);
}

/* ---- lists of integers ---------------------------------------------------------------- */

typedef tg_status (*list_reader)(int64_t *out, size_t cap, size_t *count, tg_hlo_text value, tg_error *err);

static const struct { list_reader read; const char *text; size_t count; int64_t want[4]; } lists[] = {
    {tg_hlo_read_ints, "{0,1}", 2, {0, 1}},
    {tg_hlo_read_ints, "{}", 0, {0}},
    {tg_hlo_read_ints, " { -3 ,\n9223372036854775807 , 0 } ", 3, {-3, INT64_MAX, 0}},
    {tg_hlo_read_ints, "7", 1, {7}},
    {tg_hlo_read_path, "#1#0", 2, {1, 0}},
    {tg_hlo_read_path, "", 0, {0}},
};

static void test_lists(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(lists); i++)
        for (size_t cap = 0; cap <= lists[i].count + 1; cap++) {
            int64_t out[5];
            size_t  count = 99;
            for (size_t k = 0; k < COUNT(out); k++) out[k] = UNTOUCHED;
            const tg_status status = lists[i].read(cap > 0 ? out : NULL, cap, &count, text_of(lists[i].text), NULL);
            assert_int_equal(status, TG_OK);
            assert_int_equal(count, lists[i].count);
            for (size_t k = 0; k < COUNT(out); k++)
                assert_int_equal(out[k], k < cap && k < count ? lists[i].want[k] : UNTOUCHED);
        }
}

static const struct { list_reader read; const char *text; tg_status status; size_t pos; } bad_lists[] = {
    {tg_hlo_read_ints, "", TG_ERR_PARSE, 0},
    {tg_hlo_read_ints, "{", TG_ERR_PARSE, 1},
    {tg_hlo_read_ints, "{1", TG_ERR_PARSE, 2},
    {tg_hlo_read_ints, "{1,}", TG_ERR_PARSE, 3},
    {tg_hlo_read_ints, "{1 2}", TG_ERR_PARSE, 3},
    {tg_hlo_read_ints, "{1,{2}}", TG_ERR_PARSE, 3},
    {tg_hlo_read_ints, "{1}}", TG_ERR_PARSE, 3},
    {tg_hlo_read_ints, "{}1", TG_ERR_PARSE, 2},
    {tg_hlo_read_ints, "1,2", TG_ERR_PARSE, 1},
    {tg_hlo_read_ints, "{1,9223372036854775808}", TG_ERR_OVERFLOW, 3},
    {tg_hlo_read_path, "#", TG_ERR_PARSE, 1},
    {tg_hlo_read_path, "1", TG_ERR_PARSE, 0},
    {tg_hlo_read_path, "#1x", TG_ERR_PARSE, 2},
};

static void test_bad_lists(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(bad_lists); i++) {
        int64_t         out[2] = {UNTOUCHED, UNTOUCHED};
        size_t          count = 99;
        tg_error        err;
        const tg_status status = bad_lists[i].read(out, 2, &count, text_of(bad_lists[i].text), &err);
        assert_refused(bad_lists[i].text, status, &err, bad_lists[i].status, bad_lists[i].pos);
        assert_int_equal(count, 99);
        assert_int_equal(out[0], UNTOUCHED);
    }
}

static void test_an_integer(void **state) {
    (void)state;
    static const struct { const char *text; tg_status status; int64_t want; size_t pos;
    } rows[] = {
        {"3", TG_OK, 3, 0},         {" -12 ", TG_OK, -12, 0},    {"", TG_ERR_PARSE, 0, 0},
        {"3x", TG_ERR_PARSE, 0, 1}, {"{3}", TG_ERR_PARSE, 0, 0}, {"99999999999999999999", TG_ERR_OVERFLOW, 0, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t         out = UNTOUCHED;
        tg_error        err;
        const tg_status status = tg_hlo_read_int(&out, text_of(rows[i].text), &err);
        if (rows[i].status != TG_OK) assert_refused(rows[i].text, status, &err, rows[i].status, rows[i].pos);
        assert_int_equal(status, rows[i].status);
        assert_int_equal(out, status == TG_OK ? rows[i].want : UNTOUCHED);
    }
}

/* ---- strings -------------------------------------------------------------------------- */

static const struct { const char *text, *want; size_t len; } strings[] = {
    {"\"\"", "", 0},
    {"\"a b\"", "a b", 3},
    {"'it is'", "it is", 5},
    {"\"'\"", "'", 1},
    {"\"\\\"q\\\" \\\\ \\' \\?\"", "\"q\" \\ ' ?", 9},
    {"\"\\n\\t\\r\\a\\b\\f\\v\"", "\n\t\r\a\b\f\v", 7},
    {"\"\\303\\251\\0\\0011\"", "\303\251\0\0011", 5},
    {"\"\\x41\\X4a\\xc3g\"", "A\x4a\303g", 4},
    {"\"\\q\\8\"", "q8", 2},
};

static void test_strings(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(strings); i++)
        for (size_t cap = 0; cap <= strings[i].len + 1; cap++) {
            char   buf[32];
            size_t need = 99;
            memset(buf, 'x', sizeof buf);
            assert_int_equal(tg_hlo_read_string(cap > 0 ? buf : NULL, cap, &need, text_of(strings[i].text), NULL),
                             TG_OK);
            assert_int_equal(need, strings[i].len);
            if (cap > 0) {
                assert_memory_equal(buf, strings[i].want, cap - 1);
                assert_int_equal(buf[cap - 1], '\0');
            }
            assert_int_equal(buf[cap], 'x');
        }
}

static void test_bad_strings(void **state) {
    (void)state;
    static const struct { const char *text; size_t pos;
    } rows[] = {
        {"", 0},        {"a", 0},     {" \"a\"", 0}, {"\"", 1},     {"\"a", 2},
        {"\"a\\\"", 4}, {"\"a\\", 3}, {"\"a' ", 4},  {"\"a\"b", 3},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char            buf[8] = "x";
        size_t          need = 99;
        tg_error        err;
        const tg_status status = tg_hlo_read_string(buf, sizeof buf, &need, text_of(rows[i].text), &err);
        assert_refused(rows[i].text, status, &err, TG_ERR_PARSE, rows[i].pos);
        assert_int_equal(need, 99);
        assert_int_equal(buf[0], 'x');
    }
}

/* ---- dimensions ----------------------------------------------------------------------- */

static void test_slices(void **state) {
    (void)state;
    static const tg_hlo_slice want[] = {{0, 4, 2}, {1, 3, 1}, {-1, 9, 10}};
    tg_hlo_slice              out[3];
    size_t                    count = 0;
    for (size_t cap = 0; cap <= 3; cap++) {
        memset(out, 0, sizeof out);
        const tg_hlo_text value = text_of("{[0:4:2], [ 1 : 3 ],[-1:9:10]}");
        assert_int_equal(tg_hlo_read_slices(out, cap, &count, value, NULL), TG_OK);
        assert_int_equal(count, 3);
        assert_memory_equal(out, want, cap * sizeof *out);
    }
    assert_int_equal(tg_hlo_read_slices(out, 3, &count, text_of("{}"), NULL), TG_OK);
    assert_int_equal(count, 0);
}

static void test_padding(void **state) {
    (void)state;
    static const tg_hlo_padding want[] = {{0, 0, 0}, {1, 1, 2}, {-3, 4, 0}};
    tg_hlo_padding              out[3];
    size_t                      count = 0;
    for (size_t cap = 0; cap <= 3; cap++) {
        memset(out, 0, sizeof out);
        assert_int_equal(tg_hlo_read_padding(out, cap, &count, text_of("0_0x1_1_2x-3_4"), NULL), TG_OK);
        assert_int_equal(count, 3);
        assert_memory_equal(out, want, cap * sizeof *out);
    }
    assert_int_equal(tg_hlo_read_padding(out, 3, &count, text_of(""), NULL), TG_OK);
    assert_int_equal(count, 0);
}

static void assert_window_dim(const tg_hlo_window_dim *got, const tg_hlo_window_dim *want) {
    assert_int_equal(got->size, want->size);
    assert_int_equal(got->stride, want->stride);
    assert_int_equal(got->low, want->low);
    assert_int_equal(got->high, want->high);
    assert_int_equal(got->lhs_dilate, want->lhs_dilate);
    assert_int_equal(got->rhs_dilate, want->rhs_dilate);
    assert_int_equal(got->reversal, want->reversal);
}

static void test_windows(void **state) {
    (void)state;
    static const struct { const char *text; size_t count; tg_hlo_window_dim want[2]; } rows[] = {
        {"{}", 0, {{0}}},
        {"{size=3}", 1, {{3, 1, 0, 0, 1, 1, false}}},
        {"{size=3x5 stride=2x1 pad=1_2x-1_0 lhs_dilate=1x3 rhs_dilate=2x2 rhs_reversal=0x1}", 2,
         {{3, 2, 1, 2, 1, 2, false}, {5, 1, -1, 0, 3, 2, true}}},
        {" { pad=1_1x0_0 , size=2x2 } ", 2, {{2, 1, 1, 1, 1, 1, false}, {2, 1, 0, 0, 1, 1, false}}},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t cap = 0; cap <= 2; cap++) {
            tg_hlo_window_dim out[2];
            size_t            count = 99;
            assert_int_equal(tg_hlo_read_window(out, cap, &count, text_of(rows[i].text), NULL), TG_OK);
            assert_int_equal(count, rows[i].count);
            for (size_t k = 0; k < cap && k < count; k++) assert_window_dim(&out[k], &rows[i].want[k]);
        }
}

static void test_dim_labels(void **state) {
    (void)state;
    tg_hlo_dim_labels l;
    assert_int_equal(tg_hlo_read_dim_labels(&l, text_of("b01f_10io->fb?01"), NULL), TG_OK);
    assert_int_equal(l.nspatial, 2);
    assert_int_equal(l.input_batch, 0);
    assert_int_equal(l.input_feature, 3);
    assert_int_equal(l.input_spatial[0], 1);
    assert_int_equal(l.input_spatial[1], 2);
    assert_int_equal(l.kernel_input_feature, 2);
    assert_int_equal(l.kernel_output_feature, 3);
    assert_int_equal(l.kernel_spatial[0], 1);
    assert_int_equal(l.kernel_spatial[1], 0);
    assert_int_equal(l.output_batch, 1);
    assert_int_equal(l.output_feature, 0);
    assert_int_equal(l.output_spatial[0], 3);
    assert_int_equal(l.output_spatial[1], 4);
    assert_int_equal(tg_hlo_read_dim_labels(&l, text_of("bf_io->bf"), NULL), TG_OK);
    assert_int_equal(l.nspatial, 0);
}

typedef enum dims_kind { SLICES, PADDING, WINDOW, LABELS } dims_kind;

static tg_status read_dims(dims_kind kind, const char *text, size_t *count, tg_error *err) {
    static tg_hlo_slice      slices[2];
    static tg_hlo_padding    padding[2];
    static tg_hlo_window_dim window[2];
    static tg_hlo_dim_labels labels;
    switch (kind) {
    case SLICES: return tg_hlo_read_slices(slices, 2, count, text_of(text), err);
    case PADDING: return tg_hlo_read_padding(padding, 2, count, text_of(text), err);
    case WINDOW: return tg_hlo_read_window(window, 2, count, text_of(text), err);
    case LABELS: return tg_hlo_read_dim_labels(&labels, text_of(text), err);
    }
    return TG_OK;
}

static const struct { dims_kind kind; const char *text; tg_status status; size_t pos; } bad_dims[] = {
    {SLICES, "", TG_ERR_PARSE, 0},
    {SLICES, "{0:1}", TG_ERR_PARSE, 1},
    {SLICES, "{[0]}", TG_ERR_PARSE, 3},
    {SLICES, "{[0:]}", TG_ERR_PARSE, 4},
    {SLICES, "{[0:1:]}", TG_ERR_PARSE, 6},
    {SLICES, "{[0:1:2:3]}", TG_ERR_PARSE, 7},
    {SLICES, "{[0:1],}", TG_ERR_PARSE, 7},
    {SLICES, "{[0:1]", TG_ERR_PARSE, 6},
    {SLICES, "{[0:1]}x", TG_ERR_PARSE, 7},
    {SLICES, "{[0:99999999999999999999]}", TG_ERR_OVERFLOW, 4},
    {PADDING, "0", TG_ERR_PARSE, 1},
    {PADDING, "0_", TG_ERR_PARSE, 2},
    {PADDING, "0_0x", TG_ERR_PARSE, 4},
    {PADDING, "0_0_0_0", TG_ERR_PARSE, 5},
    {PADDING, "{0_0}", TG_ERR_PARSE, 0},
    {WINDOW, "", TG_ERR_PARSE, 0},
    {WINDOW, "size=3", TG_ERR_PARSE, 0},
    {WINDOW, "{size=3", TG_ERR_PARSE, 7},
    {WINDOW, "{size=3x}", TG_ERR_PARSE, 8},
    {WINDOW, "{size=3y}", TG_ERR_PARSE, 7},
    {WINDOW, "{size=3 strife=2}", TG_ERR_PARSE, 8},
    {WINDOW, "{size=3 stride=2x2}", TG_ERR_PARSE, 8},
    {WINDOW, "{stride=2}", TG_ERR_PARSE, 1},
    {WINDOW, "{size=3 pad=1}", TG_ERR_PARSE, 13},
    {WINDOW, "{size=3 pad}", TG_ERR_PARSE, 8},
    {WINDOW, "{size=3} x", TG_ERR_PARSE, 9},
    {WINDOW, "{size=3 stride=99999999999999999999}", TG_ERR_OVERFLOW, 15},
    {LABELS, "", TG_ERR_PARSE, 0},
    {LABELS, "b0f", TG_ERR_PARSE, 3},
    {LABELS, "b0f_0io", TG_ERR_PARSE, 7},
    {LABELS, "b0f_0io->0f", TG_ERR_PARSE, 9},
    {LABELS, "b0f_0io->b0fx", TG_ERR_PARSE, 12},
    {LABELS, "b0bf_0io->b0f", TG_ERR_PARSE, 2},
    {LABELS, "b1f_0io->b0f", TG_ERR_PARSE, 0},
    {LABELS, "b01f_0io->b0f", TG_ERR_PARSE, 13},
    {LABELS, "bf????????????????_io->bf", TG_ERR_PARSE, 16},
};

static void test_bad_dims(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(bad_dims); i++) {
        size_t          count = 99;
        tg_error        err;
        const tg_status status = read_dims(bad_dims[i].kind, bad_dims[i].text, &count, &err);
        assert_refused(bad_dims[i].text, status, &err, bad_dims[i].status, bad_dims[i].pos);
        assert_int_equal(count, 99);
    }
}

/* ---- fields ---------------------------------------------------------------------------- */

static const struct { const char *text; int count; const char *keys[4], *values[4]; } fields[] = {
    {"{op_name=\"a \\\"b, }\" source_line=3}", 2, {"op_name", "source_line"}, {"\"a \\\"b, }\"", "3"}},
    {"{a=\"b\",c-d.e={\"k\":\"v,}\"} , f = [1, 2]}", 3, {"a", "c-d.e", "f"}, {"\"b\"", "{\"k\":\"v,}\"}", "[1, 2]"}},
    {"{kind=\"x\", entry={replicated}, exit={maximal device=1}}", 3, {"kind", "entry", "exit"},
     {"\"x\"", "{replicated}", "{maximal device=1}"}},
    {"{visualizing_index=0,util=55.5}", 2, {"visualizing_index", "util"}, {"0", "55.5"}},
    {"{a= , b=1}", 2, {"a", "b"}, {"", "1"}},
    {"{}", 0, {NULL}, {NULL}},
    {"", 0, {NULL}, {NULL}},
    {"a=1", 0, {NULL}, {NULL}},
    {"{a}", 0, {NULL}, {NULL}},
    {"{a=1 b}", 1, {"a"}, {"1"}},
};

static void test_fields(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(fields); i++) {
        tg_hlo_attribute  field = {.pos = 0};
        tg_hlo_text       value = {NULL, 7};
        const tg_hlo_text text = text_of(fields[i].text);
        int               n = 0;
        for (size_t pos = 0; tg_hlo_next_field(&field, text, &pos); n++) {
            assert_true(n < fields[i].count);
            assert_true(tg_hlo_text_is(field.key, fields[i].keys[n]));
            assert_true(tg_hlo_text_is(field.value, fields[i].values[n]));
            assert_ptr_equal(text.chars + field.pos, field.key.chars);
            assert_true(tg_hlo_find_field(&value, text, fields[i].keys[n]));
            assert_ptr_equal(value.chars, field.value.chars);
        }
        assert_int_equal(n, fields[i].count);
        value.len = 7;
        assert_false(tg_hlo_find_field(&value, text, "none"));
        assert_int_equal(value.len, 7);
    }
}

/* Rows of XLA's own test and their like; tests/spec/hlo_text.json has them all. */
static void test_json_dict(void **state) {
    (void)state;
    static const struct { const char *text; bool is; } rows[] = {
        {"{}", true},  {"{{abc: 123}, {{{d}}}}", true}, {"{\"\\\"}\"}", true}, {"{a = 1 : f32, '}", true},
        {"", false},   {"}", false},                    {"{}}", false},        {"a{}", false},
        {"{", false},  {"{\"}", false},                 {"{} ", false},        {" {}", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(tg_hlo_is_json_dict(rows[i].text, strlen(rows[i].text)), rows[i].is);
}

/* ---- references to computations ----------------------------------------------------------- */

static const struct { const char *value; tg_status status; size_t pos, count; int64_t want[3]; } references[] = {
    {"%a", TG_OK, 0, 1, {0}},
    {"b.1", TG_OK, 0, 1, {1}},
    {"%a, %b.1", TG_OK, 0, 2, {0, 1}},
    {"{a,%b.1 , %a}", TG_OK, 0, 3, {0, 1, 0}},
    {"{}", TG_OK, 0, 0, {0}},
    {"%c", TG_ERR_PARSE, 0, 0, {0}},
    {"{a, c}", TG_ERR_PARSE, 4, 0, {0}},
    {"{a, [b]}", TG_ERR_PARSE, 4, 0, {0}},
    {"7", TG_ERR_PARSE, 0, 0, {0}},
    {"", TG_ERR_PARSE, 0, 0, {0}},
};

static void test_references(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(references); i++) {
        char           text[128] = "%a {} %b.1 {} ENTRY e { x = s8[] f(), calls=";
        int64_t        out[3] = {UNTOUCHED, UNTOUCHED, UNTOUCHED};
        size_t         count = 99;
        tg_error       err;
        tg_hlo_text    value;
        tg_hlo_module *m = NULL;
        strcat(text, references[i].value);
        strcat(text, "}");
        assert_int_equal(tg_hlo_parse(&m, text, strlen(text), NULL), TG_OK);
        assert_true(tg_hlo_find_attribute(&value, m, 0, "calls"));
        const tg_status status = tg_hlo_read_computations(out, 3, &count, m, value, &err);
        if (references[i].status == TG_OK) {
            assert_int_equal(status, TG_OK);
            assert_int_equal(count, references[i].count);
            assert_memory_equal(out, references[i].want, count * sizeof *out);
        } else {
            assert_refused(text, status, &err, references[i].status, references[i].pos);
            assert_int_equal(count, 99);
            assert_int_equal(out[0], UNTOUCHED);
        }
        assert_int_equal(tg_hlo_read_computations(out, 3, &count, m, text_of("%a"), NULL), TG_ERR_ARGUMENT);
        tg_hlo_destroy(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),      cmocka_unit_test(test_bad_lists), cmocka_unit_test(test_an_integer),
        cmocka_unit_test(test_strings),    cmocka_unit_test(test_bad_strings), cmocka_unit_test(test_slices),
        cmocka_unit_test(test_padding),    cmocka_unit_test(test_windows),   cmocka_unit_test(test_dim_labels),
        cmocka_unit_test(test_bad_dims),   cmocka_unit_test(test_fields),    cmocka_unit_test(test_json_dict),
        cmocka_unit_test(test_references),
    };
    return cmocka_run_group_tests_name("hlo_value", tests, NULL, NULL);
}
