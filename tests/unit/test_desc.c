/* One line of notation: every refusal with its place (under the caret), and canonical texts. */
#include <tegula/tegula.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The caret stands in the row below the text, as the command shows it. */
static const struct {
    const char *text, *caret, *fragment;
} refusals[] = {
    {"",
     "^", "the text is empty; a layout is text such as f16[2,3]"},
    {"  ",
     "  ^", "the text is empty"},
    {"f17[2]",
     "^", "`f17` is not an element type"},
    {"[2,3]",
     "^", "expected an element type"},
    {"f16",
     "   ^", "expected `[`"},
    {"f16[2,",
     "      ^", "expected an integer in the shape"},
    {"f16[2 3]",
     "      ^", "expected `,` or `]`"},
    {"f16[2,x]",
     "      ^", "expected an integer in the shape"},
    {"f16[-2]",
     "    ^", "dimension 0 has negative size -2"},
    {"f16[99999999999999999999]",
     "    ^", "does not fit 63 bits"},
    {"f16[2,3] strides=[1]",
     "         ^", "1 strides for 2 dimensions"},
    {"f16[2,3] strides=[3,1] strides=[3,1]",
     "                       ^", "`strides` is said twice"},
    {"f16[2,3] strides[3,1]",
     "                ^", "expected `=` behind `strides`"},
    {"f16[2,3] offset=x",
     "                ^", "expected an integer offset"},
    {"f16[2,3] sprye",
     "         ^", "`sprye` is not a clause"},
    {"f16[2,3] dim_order=[0,1]",
     "         ^", "belongs behind the word `spyre`"},
    {"f16[2,3] spyre strides=[3,1]",
     "               ^", "belongs before the word `spyre`"},
    {"f16[2,3] spyre spyre",
     "               ^", "`spyre` is said twice"},
    {"f16[2,3] spyre dim_order=[0]",
     "               ^", "Incompatible host_size and dim_order"},
    {"f16[2,3] spyre dim_order=[0,1,2]",
     "               ^", "Incompatible host_size and dim_order"},
    {"f16[2,3] spyre dim_order=[0,0]",
     "                            ^", "dim_order lists dimension 0 twice"},
    {"f16[2,3] spyre dim_order=[0,4294967296]",
     "                            ^", "dim_order entry 1"},
    {"f16[2,3] spyre unit_dims=maybe",
     "                         ^", "`keep` or `drop`"},
    {"f16[2,3] spyre device_size=[1,2,64]",
     "               ^", "needs a stride_map or a dim_map"},
    {"f16[2,3] spyre stride_map=[1,2,64]",
     "               ^", "device_size must stand beside"},
    {"f16[2,3] spyre device_size=[1,2,64] stride_map=[64,3]",
     "                                    ^", "stride_map has 2 entries for 3"},
    {"f16[2,3] spyre device_size=[1,2,64] stride_map=[64,3,1] dim_map=[1,0,1]",
     "                                                        ^", "exclude each other"},
    {"f16[2,3] spyre device_size=[1,2,64] dim_map=[1,2,1]",
     "                                               ^", "dim_map entry 1 is 2"},
    {"f16[2,3] spyre device_size=[1,2,32] stride_map=[64,3,1]",
     "                                ^", "64 elements of SEN169_FP16, not 32"},
    {"f16[2,3] spyre device_size=[-1,64] stride_map=[64,1]",
     "                            ^", "device dimension 0 has negative size -1"},
    {"f16[2,3] spyre device_size=[1,2,64] stride_map=[64,3,-2]",
     "                                                     ^", "stride_map entry 2 is -2"},
    {"f16[2,3] spyre device_size=[1,2,64] stride_map=[64,3,2]",
     "                                    ^", "no device dimension steps by 1 or less, the stride of host dimension 1"},
    {"f16[2,3] spyre device_size=[] stride_map=[]",
     "               ^", "device_size has no entries"},
    {"f16[200] spyre device_size=[3,64] stride_map=[64,1]",
     "                                  ^", "would need 4 positions, not 3"},
    {"f64[2,3] spyre",
     "         ^", "Spyre backend does not support dtype f64"},
    {"c64[2,3] spyre",
     "         ^", "Spyre backend does not support dtype c64"},
    {"f16[2,3] spyre device_dtype=FP16",
     "                            ^", "`FP16` is not a device format"},
    {"f16[2,3] spyre device_dtype=SENINT24",
     "                            ^", "stick geometry"},
    {"f16[2,3] spyre arrangement=WILD",
     "                           ^", "`WILD` is not an element arrangement"},
    {"f32[4,96] spyre arrangement=DL16_TO_FP32",
     "          ^", "even number of sticks"},
    {"f16[2] strides=[-1] spyre",
     "                ^", "host strides of at least 0"},
    {"(f32[2], f32[3])",
     "^", "this shape is a tuple"},
    {"token[]",
     "^", "this shape is a token"},
    {"f32[2,3]{1,0:T(2,2}",
     "                  ^", "expects a list to end with ')'"},
    {"f32[2,2]{0,0}",
     "           ^", "duplicate"},
    {"f32[?]{0}",
     "   ^", "unbounded"},
    {"float32[2, 2] {0,0}",
     "                 ^", "duplicate"},
    {"f32[2,2]{0,2}",
     "           ^", "out-of-bounds value: [0,2]"},
    {"f32[8,8]{1,0:T(8,128)(0,1)}",
     "                      ^", "tile dimension 0 must be positive or `*`"},
    {"f32[8,8]{1,0:T(*,8)(4, *)}",
     "                       ^", "`*` in the last place"},
    {"f32[8,8]{1,0:D(D,C)T(8,128)()}",
     "                           ^", "a tile without dimensions"},
    {"f32[8,8]{1,0:T(8,128)(2,1)E(-4)}",
     "                            ^", "element_size_in_bits field is negative"},
    {"f32[8,8]{1,0:T(8,8)S(1)SC(3:1)M(4)}",
     "                          ^", "out-of-bounds physical dimension: 3"},
    {"f32[8,8]{1,0:T(4611686018427387904,4)}",
     "              ^", "does not fit 63 bits"},
    {"f32[8,8]{1,0:#(u32)}",
     "               ^", "index_primitive_type"},
    {"f32[2,3]{1,0:T(2,-2)}",
     "                 ^", "negative: -2"},
    {"f32[2,3]{1,0:E(8)T(2)}",
     "                 ^", "after D() T() L() #() *() E() S() SC() M(), each if at all and in this order"},
    {"f32[2,3]{1 0}",
     "           ^", "or to go on with ',' or ':'"},
    {"f32[4294967296,4294967296,4]{2,1,0:T(8,128)}",
     "   ^", "Dimensions overflow"},
    {"f16[2, -3]",
     "       ^", "dimension 1 has negative size -3"},
    {"f16[2,3] spyre dim_order=[1, 7]",
     "                             ^", "dim_order entry 1 is 7"},
    {"f16[2,3] strides=[3, -1] spyre dim_order=[0,1]",
     "                     ^", "host strides of at least 0"},
    {"((2,3),4):((1,2),6)",
     "^", "a CuTe layout has no element type"},
    {" 8:1",
     " ^", "a CuTe layout has no element type"},
    {"( (_2,3),4):((1,2),6)",
     "^", "a CuTe layout has no element type"},
    {"f16 (2,3):(3,1)",
     "    ^", "a shape stands in square brackets"},
    {"float32[2,3]{1,2,3}",
     "            ^", "Dimensions size is 2, but minor to major size is 3"},
};

static void test_refusals(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        tg_desc         desc;
        tg_error        err;
        const char     *text = refusals[i].text;
        const tg_status s = tg_desc_parse(&desc, text, strlen(text), &err);
        const size_t    want = strlen(refusals[i].caret) - 1;
        if (s == TG_OK || err.pos != want || strstr(err.message, refusals[i].fragment) == NULL)
            fail_msg("%s\n%s\nwanted \"%s\" at %zu, got %s \"%s\" at %zu", text, refusals[i].caret,
                     refusals[i].fragment, want, tg_status_name(s), s == TG_OK ? "" : err.message,
                     s == TG_OK ? (size_t)0 : err.pos);
        assert_int_equal(tg_desc_parse(&desc, text, strlen(text), NULL), s);
    }
}

static const struct {
    const char *text, *canonical;
} canonicals[] = {
    {"float16 [ 5 , 100 , 150 ]", "f16[5,100,150]"},
    {"half[5,100,150] strides=[15000,150,1] offset=0", "f16[5,100,150]"},
    {"f16[5,100,150] strides = [1,5,500]", "f16[5,100,150] strides=[1,5,500]"},
    {"bool[3] offset=7", "pred[3] offset=7"},
    {"f32[]", "f32[]"},
    {"f32[]{:}", "f32[]{:}"},
    {"f32[0,3]", "f32[0,3]"},
    {"f32[2,3]{1,0}", "f32[2,3]{1,0}"},
    {"bfloat16[2,3]{0,1:T(2,128)S(1)}", "bf16[2,3]{0,1:T(2,128)S(1)}"},
    {"f32[<=5,3]", "f32[<=5,3]{1,0}"},
    {"f16[5,100,150] spyre", "f16[5,100,150] spyre device_size=[100,3,5,64] stride_map=[150,64,15000,1]"},
    {"f16[5,100,150] spyre dim_order=[1,0,2]",
     "f16[5,100,150] spyre device_size=[5,3,100,64] stride_map=[15000,64,150,1]"},
    {"f16[5,100,150] spyre device_size=[100,3,5,64] dim_map=[1,2,0,2]",
     "f16[5,100,150] spyre device_size=[100,3,5,64] stride_map=[150,64,15000,1]"},
    {"f16[512,1] spyre", "f16[512,1] spyre device_size=[8,64] stride_map=[64,1]"},
    {"f16[512,1] spyre unit_dims=keep", "f16[512,1] spyre device_size=[1,512,64] stride_map=[-1,1,-1]"},
    {"f16[512,256] spyre dim_order=[0,1,-1]", "f16[512,256] spyre device_size=[256,1,512,64] stride_map=[1,-1,256,-1]"},
    {"f16[] spyre", "f16[] spyre device_size=[1,64] stride_map=[-1,-1]"},
    {"f16[1,1] spyre", "f16[1,1] spyre device_size=[1,64] stride_map=[-1,-1]"},
    {"f16[40,60] strides=[1,40] spyre", "f16[40,60] strides=[1,40] spyre device_size=[1,40,64] stride_map=[2560,1,40]"},
    {"f32[4,128] spyre arrangement=DL16_TO_FP32",
     "f32[4,128] spyre device_size=[4,4,32] stride_map=[32,128,1] arrangement=DL16_TO_FP32"},
    {"f16[4] spyre device_dtype=IEEE_FP32", "f16[4] spyre device_size=[1,32] stride_map=[32,1] device_dtype=IEEE_FP32"},
};

static void test_canonical_text(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof canonicals / sizeof canonicals[0]; i++) {
        tg_desc     desc;
        tg_error    err;
        char        text[256], again[256], tiny[4];
        const char *in = canonicals[i].text;
        if (tg_desc_parse(&desc, in, strlen(in), &err) != TG_OK) fail_msg("%s: %s", in, err.message);
        const size_t n = tg_desc_format(text, sizeof text, &desc);
        assert_string_equal(text, canonicals[i].canonical);
        assert_int_equal(n, strlen(text));
        assert_int_equal(tg_desc_format(tiny, sizeof tiny, &desc), n); /* the snprintf rule */
        assert_int_equal(tiny[3], '\0');
        assert_int_equal(tg_desc_format(NULL, 0, &desc), n);
        assert_int_equal(tg_desc_parse(&desc, text, n, NULL), TG_OK);
        tg_desc_format(again, sizeof again, &desc);
        assert_string_equal(again, text);
    }
}

static void test_spyre_str(void **unused) {
    (void)unused;
    tg_desc desc;
    char    text[256];
    const char *in = "f16[5,100,150] spyre", *staggered = "f32[4,128] spyre arrangement=DL16_TO_FP32";
    assert_int_equal(tg_desc_parse(&desc, in, strlen(in), NULL), TG_OK);
    tg_spyre_str(text, sizeof text, &desc.spyre);
    assert_string_equal(text, "SpyreTensorLayout(device_size=[100, 3, 5, 64], stride_map =[150, 64, 15000, 1], "
                              "device_dtype=DataFormats.SEN169_FP16)");
    assert_int_equal(tg_desc_parse(&desc, staggered, strlen(staggered), NULL), TG_OK);
    tg_spyre_str(text, sizeof text, &desc.spyre);
    assert_string_equal(text,
                        "SpyreTensorLayout(device_size=[4, 4, 32], stride_map =[32, 128, 1], "
                        "device_dtype=DataFormats.IEEE_FP32, element_arrangement=ElementArrangement.DL16_TO_FP32)");
}

static void test_cute(void **unused) {
    (void)unused;
    static const struct {
        const char *text, *cute;
    } rows[] = {
        {"f16[4,8]{0,1}", "(4,8):(1,4)"},
        {"f16[4,8]", "(4,8):(8,1)"},
        {"f16[]", "1:0"},
        {"f16[8]", "(8):(1)"},
        {"f16[8,128]{1,0:T(8,64)}", "(8,(64,2)):(64,(1,512))"},
        {"f16[8,128] spyre", "(8,(64,2)):(64,(1,512))"},
        {"f16[1,8]", "(1,8):(0,1)"},
        {"f16[5,100,150] spyre", NULL},
        {"f16[8] offset=2", NULL},
        {"f16[40,60] spyre device_size=[38,64] stride_map=[64,1]", "(40,60):(60,1)"}, /* the fold is dense */
        {"f16[60] spyre device_size=[2,64] stride_map=[0,1]", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tg_desc  desc;
        tg_error err;
        char     text[128];
        size_t   need = 0;
        assert_int_equal(tg_desc_parse(&desc, rows[i].text, strlen(rows[i].text), NULL), TG_OK);
        const tg_status s = tg_cute_format(text, sizeof text, &need, &desc.layout, &err);
        if (rows[i].cute == NULL) {
            assert_int_equal(s, TG_ERR_UNREPRESENTABLE);
        } else {
            assert_int_equal(s, TG_OK);
            assert_string_equal(text, rows[i].cute);
            assert_int_equal(need, strlen(text));
        }
    }
}

static tg_desc read_desc(const char *text) {
    tg_desc desc;
    assert_int_equal(tg_desc_parse(&desc, text, strlen(text), NULL), TG_OK);
    return desc;
}

static void test_host(void **unused) {
    static const struct {
        const char *text;
        int64_t     strides[3], offset;
    } rows[] = {
        {"f16[2,3,4]", {12, 4, 1}, 0},
        {"f16[2,3,4] strides=[1,2,6] offset=5", {12, 4, 1}, 0},
        {"f16[2,3,4]{0,1,2:T(2,2)}", {12, 4, 1}, 0},
        {"f16[2,3,4] spyre", {12, 4, 1}, 0},
        {"f16[2,3,4] strides=[1,2,6] offset=5 spyre", {1, 2, 6}, 5},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_desc desc = read_desc(rows[i].text);
        tg_host       host;
        assert_int_equal(tg_desc_host(&host, &desc, NULL), TG_OK);
        assert_int_equal(host.dtype, TG_F16);
        assert_int_equal(host.ndim, 3);
        assert_memory_equal(host.shape, desc.layout.shape, sizeof rows[i].strides);
        assert_memory_equal(host.strides, rows[i].strides, sizeof rows[i].strides);
        assert_int_equal(host.offset, rows[i].offset);
    }
}

static void test_unit(void **unused) {
    static const struct {
        const char *text;
        int64_t     places;
    } rows[] = {
        {"f16[2,3] spyre", 64}, {"f32[2,3] spyre", 32}, {"s8[] spyre", 128}, {"f32[20,30]", 0}, {"f32[20,30]{1,0}", 0},
        {"f32[20,30]{1,0:T(8,128)}", 1024}, {"bf16[20,30]{1,0:T(8,128)(2,1)}", 1024}, {"f32[130]{0:T(256)}", 256},
        {"f32[130]{0:T(8,128)}", 1024}, {"f32[2,3,5]{2,1,0:T(*,4)}", 0}, {"s4[5,7]{0,1:T(2,8)E(4)}", 16},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_desc desc = read_desc(rows[i].text);
        assert_int_equal(tg_desc_unit(&desc), rows[i].places);
    }
}

static void test_divide(void **unused) {
    static const struct {
        const char *text;
        int64_t     cores, splits[2];
    } rows[] = {
        {"f16[8,512] spyre", 32, {8, 4}},  {"f16[128,256] spyre", 32, {32, 1}},
        {"f16[100,150] spyre", 7, {5, 1}}, {"f16[4,640] spyre", 32, {2, 10}},
        {"f16[3,100] spyre", 1, {1, 1}},   {"f16[512] spyre dim_order=[0,-1]", 32, {32}},
        {"f16[] spyre", 65536, {0}},       {"f16[3,100] spyre", 65536, {3, 2}},
        {"f16[3,100] spyre device_size=[2,3,64] stride_map=[50,100,1]", 65536, {3, 2}},
        {"f32[64,128] spyre arrangement=DL16_TO_FP32", 8, {8, 1}},
        {"f32[33] spyre device_size=[4,32] stride_map=[1,4]", 1, {1}},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_desc desc = read_desc(rows[i].text);
        int64_t       splits[2] = {0};
        assert_int_equal(tg_spyre_divide(splits, &desc, rows[i].cores, NULL), TG_OK);
        assert_memory_equal(splits, rows[i].splits, sizeof splits);
    }
}

static void test_divide_refuses(void **unused) {
    static const struct {
        const char *text;
        int64_t     cores;
        const char *message;
    } rows[] = {
        {"f16[8,512] spyre", 0, "cores are 1 to 65536, not 0"},
        {"f16[8,512] spyre", 65537, "cores are 1 to 65536, not 65537"},
        {"f16[8,512]", 4, "division among cores is for tensors of Spyre that have elements"},
        {"f16[8,0] spyre", 4, "division among cores is for tensors of Spyre that have elements"},
        {"f32[256] spyre device_size=[1,4,2,32] stride_map=[-1,1,128,4]", 8,
         "8 parts of dimension 0 would share sticks: a stick has elements that are not side by side"},
        {"f32[33] spyre device_size=[4,32] stride_map=[1,4]", 8,
         "2 parts of dimension 0 would share sticks: a stick has elements that are not side by side"},
        {"f16[40,60] spyre device_size=[38,64] stride_map=[64,1]", 8,
         "6 parts of dimension 1 would share sticks: a stick has elements that are not side by side"},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_desc desc = read_desc(rows[i].text);
        int64_t       splits[2] = {7, 7};
        tg_error      err;
        assert_int_equal(tg_spyre_divide(splits, &desc, rows[i].cores, &err), TG_ERR_ARGUMENT);
        assert_string_equal(err.message, rows[i].message);
        assert_true(splits[0] == 7 && splits[1] == 7);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_canonical_text),
        cmocka_unit_test(test_spyre_str),
        cmocka_unit_test(test_cute),
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_unit),
        cmocka_unit_test(test_divide),
        cmocka_unit_test(test_divide_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
