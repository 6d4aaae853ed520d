/* tg_element_from_number: every code of bf16, samples of other formats, the ends of the ranges, and what is refused. */
#include <tegula/tegula.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { CODES = 65536, KEPT = 0xA5 };

static tg_layout parse(const char *text) {
    tg_desc  desc;
    tg_error err;
    if (tg_desc_parse(&desc, text, strlen(text), &err) != TG_OK) fail_msg("%s: %s", text, err.message);
    return desc.layout;
}

static float widen(uint16_t code) {
    const uint32_t bits = (uint32_t)code << 16;
    float          value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Each finite bfloat16 is its own nearest; what is half-way to the next goes to the even one of the two. */
static void test_all_of_bfloat16(void **unused) {
    (void)unused;
    const tg_layout layout = parse("bf16[1]");
    for (uint32_t i = 0; i < CODES; i++) {
        const double value = (double)widen((uint16_t)i), next = (double)widen((uint16_t)(i + 1));
        uint16_t     code = 0;
        if (isnan(value)) continue;
        assert_int_equal(tg_element_from_number(&code, &layout, TG_F64, &value, NULL), TG_OK);
        assert_int_equal(code, i);
        if (isinf(value) || !isfinite(next)) continue;
        const double half = value + (next - value) / 2;
        assert_int_equal(tg_element_from_number(&code, &layout, TG_F64, &half, NULL), TG_OK);
        assert_int_equal(code, i + i % 2);
    }
}

typedef struct refusal {
    const char *layout;
    double      value;
    const char *message; /* NULL: it is taken */
} refusal;

static void test_the_element_type_comes_first(void **unused) {
    (void)unused;
    const refusal rows[] = {
        {"f16[1] spyre", 65519.9, NULL},
        {"f16[1] spyre", 65520, "the numbers of f16 are -65504 to 65504"},
        {"f16[1] spyre", 70000, "the numbers of f16 are -65504 to 65504"},
        {"f16[1] spyre", INFINITY, "f16 is stored as SEN169_FP16 here, whose numbers are -8573157376 to 8573157376"},
        {"f16[1] spyre", NAN, NULL},
        {"bf16[1] spyre", 9e9, "bf16 is stored as SEN169_FP16 here, whose numbers are -8573157376 to 8573157376"},
        {"bf16[1] spyre", 1e39, "bf16 is stored as SEN169_FP16 here, whose numbers are -8573157376 to 8573157376"},
        {"f8e4m3fn[1]", INFINITY, "the numbers of f8e4m3fn are -448 to 448"},
        {"f64[1]", INFINITY, NULL},
        {"f64[1]", 5e-324, NULL},
        {"f4e2m1fn[1]", NAN, "the numbers of f4e2m1fn are -6 to 6"},
        {"f8e8m0fnu[1]", 0, "the numbers of f8e8m0fnu are powers of two from 2^-127 to 2^127"},
        {"f8e8m0fnu[1]", 5e-324, "the numbers of f8e8m0fnu are powers of two from 2^-127 to 2^127"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_layout layout = parse(rows[i].layout);
        unsigned char   out[8];
        tg_error        err;
        memset(out, KEPT, sizeof out);
        const tg_status s = tg_element_from_number(out, &layout, TG_F64, &rows[i].value, &err);
        assert_int_equal(s, rows[i].message == NULL ? TG_OK : TG_ERR_OVERFLOW);
        if (rows[i].message == NULL) continue;
        assert_string_equal(err.message, rows[i].message);
        assert_int_equal(out[0], KEPT);
    }
}

static void test_the_ends_of_integers(void **unused) {
    (void)unused;
    static const struct {
        const char *layout;
        tg_dtype    type;
        int64_t     value;
        tg_status   status;
    } rows[] = {
        {"s1[1]", TG_S64, -1, TG_OK},          {"s1[1]", TG_S64, 1, TG_ERR_OVERFLOW},
        {"s8[1]", TG_S64, -128, TG_OK},        {"s8[1]", TG_S64, -129, TG_ERR_OVERFLOW},
        {"u8[1]", TG_U64, 255, TG_OK},         {"u8[1]", TG_S64, -1, TG_ERR_OVERFLOW},
        {"s64[1]", TG_S64, INT64_MIN, TG_OK},  {"s64[1]", TG_U64, INT64_MIN, TG_ERR_OVERFLOW},
        {"u64[1]", TG_U64, -1, TG_OK},         {"u64[1]", TG_S64, -1, TG_ERR_OVERFLOW},
        {"pred[1]", TG_S64, 1, TG_OK},         {"pred[1]", TG_U64, 2, TG_ERR_OVERFLOW},
        {"u8[1] spyre", TG_S64, 255, TG_OK},   {"u8[1] spyre", TG_S64, 300, TG_ERR_OVERFLOW},
        {"s64[1] spyre", TG_S64, INT32_MAX, TG_OK}, {"s64[1] spyre", TG_S64, (int64_t)INT32_MAX + 1, TG_ERR_OVERFLOW},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_layout layout = parse(rows[i].layout);
        unsigned char   out[8];
        assert_int_equal(tg_element_from_number(out, &layout, rows[i].type, &rows[i].value, NULL), rows[i].status);
    }
}

/* Beyond both, the format is named if it is the narrower one. */
static void test_the_narrower_range_is_told(void **unused) {
    (void)unused;
    static const struct {
        const char *layout;
        tg_dtype    type;
        int64_t     value;
        const char *message;
    } rows[] = {
        {"s64[1] spyre", TG_U64, INT64_MIN,
         "s64 is stored as IEEE_INT32 here, whose numbers are -2147483648 to 2147483647"},
        {"u8[1] spyre", TG_S64, INT64_MIN, "the numbers of u8 are 0 to 255"},
        {"u8[1] spyre", TG_U64, -1, "the numbers of u8 are 0 to 255"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_layout layout = parse(rows[i].layout);
        unsigned char   out[8];
        tg_error        err;
        assert_int_equal(tg_element_from_number(out, &layout, rows[i].type, &rows[i].value, &err), TG_ERR_OVERFLOW);
        assert_string_equal(err.message, rows[i].message);
    }
}

/* SEN152_FP8 takes these bits as they are, and of f8e5m2 the last ones are no numbers. */
static void test_formats_that_keep_bits(void **unused) {
    (void)unused;
    const double    largest = 57344;
    const tg_layout layout = parse("f8e5m2fnuz[100] spyre");
    unsigned char   out = 0;
    assert_int_equal(tg_element_from_number(&out, &layout, TG_F64, &largest, NULL), TG_OK);
    assert_int_equal(out, 0x7f);
}

static void test_numbers_of_other_kinds(void **unused) {
    (void)unused;
    const double    value[2] = {1, 2};
    const tg_layout whole = parse("s8[1]"), real = parse("f32[1]"), complex = parse("c64[1]");
    float           out[2] = {0, 0};
    assert_int_equal(tg_element_from_number(out, &whole, TG_F64, value, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_element_from_number(out, &real, TG_S64, value, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_element_from_number(out, &real, TG_C128, value, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_element_from_number(out, &real, TG_F32, value, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_element_from_number(out, &complex, TG_C128, value, NULL), TG_OK);
    assert_true(out[0] == 1 && out[1] == 2);
    assert_int_equal(tg_element_from_number(out, &complex, TG_F64, value, NULL), TG_OK);
    assert_true(out[0] == 1 && out[1] == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_of_bfloat16),
        cmocka_unit_test(test_the_element_type_comes_first),
        cmocka_unit_test(test_the_ends_of_integers),
        cmocka_unit_test(test_the_narrower_range_is_told),
        cmocka_unit_test(test_formats_that_keep_bits),
        cmocka_unit_test(test_numbers_of_other_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
