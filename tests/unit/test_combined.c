/* Moves whose boxes share lines of dst, which blocks of all of them leave together (src/relayout/combine_run.c). */
#include "checked_move.h"
#include "layouts.h"

/* As if dst were in memory; so many bytes leave together. */
static tg_tuning tuning_of(int64_t combined_bytes) {
    tg_tuning t = tg_default_tuning;
    t.group_bytes = 5000 + random_below(60000);
    t.group_bytes_min = 1 + random_below(20000);
    t.block_bytes_min = 1 + random_below(4000);
    t.step_bytes = 1 + random_below(100000);
    t.task_bytes = 1 + random_below(20000);
    t.stream_bytes = t.far_bytes = t.memory_bytes = 0;
    t.combine = true;
    t.combined_bytes = combined_bytes;
    return t;
}

static bool leaves_together(const tg_plan *p) {
    char text[4000];
    (void)tg_plan_describe(text, sizeof text, p);
    return strstr(text, "are put together in a buffer") != NULL;
}

/* All ways but the one by default, without some instruction sets. Returns how many plans were such. */
static int check_combined(const tg_layout *d, const tg_layout *s, uint32_t without) {
    static const int64_t bytes[] = {1, 300, 4000, 16 << 10};
    static const uint8_t pad[16] = {0x5a, 0xc3, 7};
    tg_plan_params params = {.dst = d, .src = s, .pad = pad, .threads = (int32_t)random_below(4), .convert = true,
                             .without = without};
    const buffer         src = buffer_make(s), blank = buffer_make(d), want = buffer_copy(blank);
    int                  found = 0;
    naive(want.data, src.data, d, s, params.pad);
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++)
        for (int k = 1; k < WAYS; k++) {
            const tg_tuning t = tuning_of(bytes[i]);
            const buffer    dst = buffer_copy(blank);
            tg_plan         p;
            assert_int_equal(tg_plan_tuned(&p, &params, &t, NULL), TG_OK);
            found += leaves_together(&p);
            run_way(&ways[k], &p, dst, src);
            expect_same(ways[k].name, &params, &p, dst, want);
            free(dst.memory);
        }
    free(src.memory);
    free(blank.memory);
    free(want.memory);
    return found;
}

/* Out of tiles: rows of no whole lines, ragged tiles, channels, converted. Those of the second table are moved as
 * otherwise: there is no row of part of a line, or a mover joins them by itself, or few lines are in parts. */
static const char *const combined[][2] = {
    {"u8[3,3,48,255]{3,2,1,0:T(8,128)(4,1)}", "u8[3,3,48,255]"},
    {"u8[2,3,44,300]{3,2,1,0:T(8,128)(2,1)}", "u8[2,3,44,300]{1,3,2,0}"},
    {"u8[2,3,44,300]{3,2,1,0:T(8,128)}", "u8[2,3,44,300]{1,3,2,0}"},
    {"bf16[2,3,28,200]{3,2,1,0:T(8,128)(2,1)}", "bf16[2,3,28,200]{1,3,2,0}"},
    {"bf16[3,5,16,255]{3,2,1,0:T(8,128)(2,1)}", "bf16[3,5,16,255]"},
    {"u8[510,300]{0,1:T(8,128)(4,1)}", "u8[510,300]{0,1}"},
    {"bf16[300,500]{1,0:T(8,128)(2,1)}", "bf16[300,500]{1,0}"},
    {"bf16[900,9]{0,1:T(8,128)(2,1)}", "bf16[900,9]"},
    {"f32[3,3,16,127] spyre", "f32[3,3,16,127]{1,3,2,0}"},
    {"f16[700,12,5]{1,2,0:T(8,128)(2,1)}", "f16[700,12,5]"},
    {"f16[83,400]{1,0:T(8,128)(2,1)}", "f16[83,400] spyre dim_order=[1,0] device_dtype=IEEE_FP16"},
    {"bf16[29,900]{1,0:T(8,128)(2,1)}", "bf16[29,900]{0,1:T(8,128)}"}, /* pairs of rows, and a single one */
    {"u8[58,900]{1,0:T(2,128)}", "u8[58,900]{0,1:T(8,128)}"},
    {"u8[31,900]{1,0:T(8,128)(4,1)}", "u8[31,900]{0,1:T(8,128)}"}, /* and one of 3 bytes */
    {"u8[150,900]{1,0:T(8,128)(4,1)}", "u8[150,900]{0,1:T(8,128)}"}, /* listed tiles, and rows of 4 and 2 bytes */
    {"u8[278,400]{1,0:T(8,128)}", "u8[278,400]{0,1}"}, /* listed tiles, and rows of 6 bytes */
    {"f16[133,700]{1,0:T(8,128)(2,1)}", "f16[133,700]{0,1:T(8,128)}"},
    {"f16[5,900]{1,0:T(8,128)(2,1)}", "f16[5,900] spyre dim_order=[1,0] device_dtype=IEEE_FP16"},
    {"u8[7,900]{1,0:T(8,128)(4,1)}", "u8[7,900]{0,1:T(8,128)(4,1)}"}, /* data of one box, and padding */
    {"f32[57,400]{1,0:T(8,128)}", "f32[57,400]{0,1:T(8,128)}"},
};
static const char *const others[][2] = {
    {"u8[3,34,700]", "u8[3,34,700]{1,2,0:T(8,128)(4,1)}"},
    {"f16[8,12,16,45]", "f16[8,12,16,45]{3,2,1,0:T(8,128)(2,1)}"},
    {"f16[2,3,40,200]{1,3,2,0}", "f16[2,3,40,200]{3,2,1,0:T(8,128)}"},
    {"f16[200,517]", "f16[200,517]{0,1}"},
    {"f16[700,517]", "f16[700,517]{0,1}"},
    {"u8[1024,300]", "u8[1024,300]{0,1}"},
    {"f32[300,517]", "f32[300,517]{0,1}"},
    {"f16[32,400]{1,0:T(8,128)(2,1)}", "f16[32,400] spyre dim_order=[1,0] device_dtype=IEEE_FP16"}, /* one box */
    {"bf16[21,900]{1,0:T(8,128)}", "bf16[21,900]{1,0:T(8,128)(2,1)}"}, /* rows that take turns */
    {"u8[250,900]{1,0:T(8,128)}", "u8[250,900]{0,1:T(8,128)(4,1)}"},   /* listed tiles, few parts of lines */
};

/* Rows that a mover would store in parts, where stores do not wait for their lines. */
static const char *const ragged_rows[][2] = {
    {"f16[300,517]", "f16[300,517]{0,1}"},
    {"u8[5,300,64]", "u8[5,300,64]{1,2,0}"},
    {"u8[5,1000,77]", "u8[5,1000,77]{1,2,0}"},
    {"u8[3,60,257]{1,2,0}", "u8[3,60,257]{2,1,0}"},
};

static void test_chosen(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof combined / sizeof combined[0]; i++) {
        const tg_layout a = layout_of(combined[i][0]), b = layout_of(combined[i][1]);
        move_seed = random_state;
        const int found = check_combined(&b, &a, 0);
        if (found == 0) fail_msg("%s to %s: %d plans are combined", combined[i][0], combined[i][1], found);
        (void)check_combined(&a, &b, 0);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const tg_layout a = layout_of(others[i][0]), b = layout_of(others[i][1]);
        move_seed = random_state;
        const int found = check_combined(&b, &a, 0);
        if (found > 0) fail_msg("%s to %s: %d plans are combined", others[i][0], others[i][1], found);
    }
    for (size_t i = 0; i < sizeof ragged_rows / sizeof ragged_rows[0]; i++) {
        const tg_layout a = layout_of(ragged_rows[i][0]), b = layout_of(ragged_rows[i][1]);
        move_seed = random_state;
        const bool found = check_combined(&b, &a, 0) > 0, waits = (tg_cpu_features() & TG_CPU_CLAIMS) != 0;
        if (!found && !waits) fail_msg("%s to %s is not combined", ragged_rows[i][0], ragged_rows[i][1]);
    }
}

/* Any tiles, orders and steps. */
static void test_random(void **state) {
    (void)state;
    static const char *const names[] = {"u8", "f16", "f32", "f64"};
    static const char *const tiles[] = {"", ":T(8,128)", ":T(8,128)(2,1)", ":T(4,16)", ":T(2,32)(2,1)", ":T(7,16)"};
    static const char *const orders[] = {"2,1,0", "1,2,0", "0,1,2", "0,2,1", "2,0,1", "1,0,2"};
    int found = 0;
    for (int i = 0; i < 250 / SAMPLED; i++) {
        char          text[2][100];
        const int64_t type = random_below(4);
        const int     size[] = {1 + (int)random_below(9), 1 + (int)random_below(150), 1 + (int)random_below(300)};
        for (int k = 0; k < 2; k++)
            snprintf(text[k], sizeof text[k], "%s[%d,%d,%d]{%s%s}", names[type], size[0], size[1], size[2],
                     orders[random_below(6)], tiles[k == 1 && random_below(3) > 0 ? 0 : random_below(6)]);
        move_seed = random_state;
        const tg_layout a = layout_of(text[0]), b = layout_of(text[1]);
        found += check_combined(&b, &a, 0);
        if (i % 10 == 0) check_move(&b, &a);
    }
    if (found < 300 / SAMPLED) fail_msg("%d plans are combined", found);
}

/* Tiles to tiles, turned: listed ones, which reach over several of dst, and are cut into chunks. */
static void test_tiles(void **state) {
    (void)state;
    static const char *const names[] = {"u8", "f16", "f32"};
    static const char *const tiles[] = {"T(8,128)", "T(8,128)(2,1)", "T(8,128)(4,1)", "T(4,128)", "T(2,128)"};
    int                      found = 0;
    for (int i = 0; i < 150 / SAMPLED; i++) {
        char          text[2][100];
        const int64_t type = random_below(3);
        const int     size[] = {1 + (int)random_below(3), 30 + (int)random_below(400), 100 + (int)random_below(450)};
        for (int k = 0; k < 2; k++)
            snprintf(text[k], sizeof text[k], "%s[%d,%d,%d]{%s,0:%s}", names[type], size[0], size[1], size[2],
                     k == 0 ? "1,2" : "2,1", tiles[random_below(5)]);
        move_seed = random_state;
        const tg_layout a = layout_of(text[0]), b = layout_of(text[1]);
        found += check_combined(&b, &a, random_below(2) == 0 ? TG_CPU_AVX512 : 0);
    }
    if (found < 150 / SAMPLED) fail_msg("%d plans are combined", found);
}

/* Of itself where stores go around the caches: as large as it is, or by the caller's word. */
static void test_hints(void **state) {
    (void)state;
    static const struct {
        const char *shape;
        uint32_t    hint;
        bool        together;
    } cases[] = {
        {"u8[2,3,256,255]", 0, false},
        {"u8[400,3,256,255]", 0, true},
        {"u8[400,3,256,255]", TG_HINT_CACHED, false},
        {"u8[40,3,256,255]", TG_HINT_DEVICE, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[100];
        snprintf(text, sizeof text, "%s{3,2,1,0:T(8,128)(4,1)}", cases[i].shape);
        const tg_layout      src = layout_of(text), dst = layout_of(cases[i].shape);
        const tg_plan_params params = {.dst = &dst, .src = &src, .hint = cases[i].hint, .threads = 1};
        tg_plan              p;
        assert_int_equal(tg_plan_init(&p, &params, NULL), TG_OK);
        const bool want = cases[i].together && (tg_cpu_features() & TG_CPU_COMBINES) != 0;
        if (leaves_together(&p) != want) fail_msg("%s, hint %u: not %d", cases[i].shape, cases[i].hint, want);
    }
}

/* Rows that a transpose would leave in parts, in many more blocks than before. */
static void test_ragged_rows_by_size(void **state) {
    (void)state;
    const tg_layout      src = layout_of("u8[1800,224,672]{1,2,0}"), dst = layout_of("u8[1800,224,672]");
    const tg_plan_params params = {.dst = &dst, .src = &src, .threads = 1};
    const uint32_t       likes = tg_cpu_features() & (TG_CPU_COMBINES | TG_CPU_CLAIMS);
    tg_plan              p;
    assert_int_equal(tg_plan_init(&p, &params, NULL), TG_OK);
    if (likes == TG_CPU_COMBINES) assert_true(leaves_together(&p));
    if ((likes & TG_CPU_COMBINES) == 0) assert_false(leaves_together(&p));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chosen),
        cmocka_unit_test(test_hints),
        cmocka_unit_test(test_ragged_rows_by_size),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_tiles),
    };
    random_state = 20261127;
    return cmocka_run_group_tests_name("combined", tests, NULL, NULL);
}
