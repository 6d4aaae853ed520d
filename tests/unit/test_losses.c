/* tg_plan_losses: finite values that a format cannot hold, counted through the public interface. */
#include <tegula/tegula.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CODES = 65536 };

static tg_layout parse(const char *text) {
    tg_desc  desc;
    tg_error err;
    if (tg_desc_parse(&desc, text, strlen(text), &err) != TG_OK) fail_msg("%s: %s", text, err.message);
    return desc.layout;
}

static void count(int64_t *over, int64_t *gone, const char *from, const char *to, const void *data) {
    const tg_layout      src = parse(from), dst = parse(to);
    const tg_plan_params params = {.dst = &dst, .src = &src};
    tg_plan              plan;
    tg_error             err;
    if (tg_plan_init(&plan, &params, &err) != TG_OK) fail_msg("%s", err.message);
    assert_int_equal(tg_plan_losses(over, gone, &params, data, &err), TG_OK);
}

/* Every bfloat16, by double arithmetic: DLFloat16 runs from 2^-31 (1 + 1/512) to 2^32 (1 + 510/512), and
 * rounds at half of its steps. */
static void test_all_of_bfloat16(void **unused) {
    (void)unused;
    uint16_t *codes = malloc(CODES * sizeof codes[0]);
    int64_t   over = -1, gone = -1, want_over = 0, want_gone = 0;
    for (uint32_t i = 0; i < CODES; i++) {
        const uint32_t bits = i << 16;
        float          value;
        codes[i] = (uint16_t)i;
        memcpy(&value, &bits, sizeof value);
        const double m = fabs((double)value);
        if (isnan(m) || isinf(m) || m == 0) continue;
        want_over += m >= ldexp(1 + 510.5 / 512, 32);
        want_gone += m < ldexp(1 + 0.5 / 512, -31);
    }
    count(&over, &gone, "bf16[65536]", "bf16[65536] spyre", codes);
    assert_int_equal(over, want_over);
    assert_int_equal(gone, want_gone);
    assert_true(over > 20000 && gone > 20000);
    free(codes);
}

/* f8e4m3fn runs from 2^-9 to 448 and is NaN above 464, the half way to the next; 2^-10 is half way to 0, which is even.
 * The upper halves of float32 are all that matters: a step of f8e4m3fn has more bits below it. */
static void test_fp8(void **unused) {
    (void)unused;
    uint32_t *codes = malloc(CODES * sizeof codes[0]);
    int64_t   over = -1, gone = -1, want_over = 0, want_gone = 0;
    for (uint32_t i = 0; i < CODES; i++) {
        float value;
        codes[i] = i << 16;
        memcpy(&value, &codes[i], sizeof value);
        const double m = fabs((double)value);
        if (isnan(m) || isinf(m) || m == 0) continue;
        want_over += m > 464;
        want_gone += m <= ldexp(1, -10);
    }
    count(&over, &gone, "f32[65536]", "f32[65536] spyre device_dtype=SEN143_FP8", codes);
    assert_int_equal(over, want_over);
    assert_int_equal(gone, want_gone);
    count(&over, &gone, "f32[65536] spyre device_dtype=SEN143_FP8", "f32[65536]", codes);
    assert_int_equal(over, 0);
    assert_int_equal(gone, 0);
    free(codes);
}

static void test_float16_fits(void **unused) {
    (void)unused;
    uint16_t *codes = malloc(CODES * sizeof codes[0]);
    int64_t   over = -1, gone = -1;
    for (uint32_t i = 0; i < CODES; i++) codes[i] = (uint16_t)i;
    count(&over, &gone, "f16[65536]", "f16[65536] spyre", codes);
    assert_int_equal(over, 0);
    assert_int_equal(gone, 0);
    count(&over, &gone, "f16[65536] spyre", "f16[65536]", codes); /* the other way it has too much range */
    assert_true(over > 0 && gone > 0);
    free(codes);
}

/* What lies between the rows is not part of the tensor. */
static void test_gaps_do_not_count(void **unused) {
    (void)unused;
    uint16_t data[12];
    int64_t  over = -1, gone = -1;
    for (int i = 0; i < 12; i++) data[i] = i % 4 == 3 ? 0x7f00 : 0x3f80; /* 1.7e38 in the gaps, else 1 */
    count(&over, &gone, "bf16[3,3] strides=[4,1]", "bf16[3,3] spyre", data);
    assert_int_equal(over, 0);
    count(&over, &gone, "bf16[3,4]", "bf16[3,4] spyre", data);
    assert_int_equal(over, 3);
    assert_int_equal(gone, 0);
    count(&over, &gone, "bf16[3,4]", "bf16[3,4]{0,1}", data); /* a copy loses nothing */
    assert_int_equal(over, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_of_bfloat16),
        cmocka_unit_test(test_fp8),
        cmocka_unit_test(test_float16_fits),
        cmocka_unit_test(test_gaps_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
