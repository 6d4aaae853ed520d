/* tg_layout_quick and tg_layout_dense: what they claim of a layout, tg_layout_validate and counting must confirm.
 *
 * Good layouts are broken in one or two places by values that are near, zero, negative or huge. A broken layout that is
 * called good would be moved, out of its storage. */
#include "layout/layout.h"
#include "random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ROUNDS = 300000, SEED = 20261120 };

static int32_t below(int32_t n) { return (int32_t)random_below(n); }

static const char *const texts[] = {
    "f16[5,100,150] spyre",
    "f32[8,130]{1,0:T(8,128)}",
    "bf16[16,300]{1,0:T(8,128)(2,1)}",
    "f16[6,1,4]",
    "u8[7]",
    "f32[]",
    "f16[5,6] strides=[7,1] offset=3",
    "f16[5,6] strides=[1,-5] offset=25",
    "f16[5,6] strides=[0,1]",
    "f16[64,30] spyre dim_order=[0,1,-1]",
    "s4[9,16]{1,0:E(4)}",
    "f16[4,70] spyre dim_order=[1,0]",
    "f32[3,5]{1,0:T(2,4)L(64)}",
    "f16[2,2,2,2,2,2]",
    "f64[10,10]{0,1}",
};

static tg_layout parse(const char *text) {
    tg_desc  desc;
    tg_error err;
    if (tg_desc_parse(&desc, text, strlen(text), &err) != TG_OK) fail_msg("%s: %s", text, err.message);
    return desc.layout;
}

static void break64(int64_t *value) {
    static const int64_t odd[] = {0, -1, 1, INT64_MAX, INT64_MIN, INT64_MAX / 2, 1000, 64};
    switch (below(4)) {
    case 0: *value = odd[below(8)]; break;
    case 1: *value = (int64_t)((uint64_t)*value + (uint64_t)below(3) - 1); break;
    case 2: *value = (int64_t)((uint64_t)*value * 2); break;
    default: *value = (int64_t)(0 - (uint64_t)*value); break;
    }
}

static void break_mode(tg_mode *m) {
    switch (below(6)) {
    case 0: break64(&m->size); break;
    case 1: break64(&m->count); break;
    case 2: break64(&m->weight); break;
    case 3: break64(&m->stride); break;
    case 4: m->axis += below(5) - 2; break;
    default: m->into += below(5) - 2; break;
    }
}

static void break_layout(tg_layout *l) {
    switch (below(9)) {
    case 0: l->ndim += below(5) - 2; break;
    case 1: l->naxes += below(3) - 1; break;
    case 2: l->nmodes += below(3) - 1; break;
    case 3: break64(&l->span); break;
    case 4: break64(&l->offset); break;
    case 5: break64(&l->shape[below(4)]); break;
    case 6: break64(&l->axis_size[below(4)]); break;
    case 7: l->chain[below(6)] = (uint8_t)random_bits(); break;
    default: break_mode(&l->mode[below(6)]); break;
    }
}

/* How far positions go that begin at 0 and follow each other; 0 if some do not. */
static int64_t end_of_positions(const tg_layout *l) {
    int64_t end = 1;
    bool    used[TG_MAX_MODES] = {false};
    for (int32_t n = 0; n < l->nmodes; n++) {
        int32_t i = 0;
        while (i < l->nmodes && (used[i] || (l->mode[i].size > 1 && l->mode[i].stride != end))) i++;
        if (i == l->nmodes) return 0;
        used[i] = true;
        end *= l->mode[i].size;
    }
    return l->offset == 0 ? end : 0;
}

static int32_t modes_of(const tg_layout *l, int32_t axis) {
    int32_t n = 0;
    for (int32_t i = 0; i < l->nmodes; i++) n += l->mode[i].axis == axis;
    return n;
}

static void check(const tg_layout *l) {
    tg_extent e;
    tg_error  err;
    int64_t   low, high, copies = 1;
    if (!tg_layout_quick(&e, l)) return;
    if (tg_layout_validate(l, &err) != TG_OK) fail_msg("not valid: %s; seed %d", err.message, (int)SEED);
    tg_layout_bounds(l, &low, &high);
    assert_true(low >= 0 && high < l->span);
    assert_true(l->span <= INT64_MAX / 2 && l->span <= INT64_MAX / l->elem_bits);
    assert_int_equal(e.numel, tg_layout_numel(l));
    if (e.dense) assert_int_equal(e.dense_span, end_of_positions(l));
    for (int32_t i = 0; i < l->nmodes; i++)
        if (l->mode[i].axis == TG_AXIS_COPY) copies *= l->mode[i].size;
    assert_int_equal(e.copies, copies);
    for (int32_t d = 0; d < l->ndim; d++) assert_int_equal(e.single >> d & 1, modes_of(l, d) == 1);
}

static void test_broken_layouts_are_not_called_good(void **unused) {
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        tg_layout l = parse(texts[below((int32_t)(sizeof texts / sizeof texts[0]))]);
        for (int n = 1 + below(2); n > 0; n--) break_layout(&l);
        check(&l);
    }
}

/* The common ones must be quick, or planning is slow. */
static void test_good_layouts_are_called_good(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const tg_layout l = parse(texts[i]);
        tg_extent       e;
        if (!tg_layout_quick(&e, &l)) fail_msg("%s", texts[i]);
        check(&l);
    }
}

/* Dense: as many places as positions, and none is used twice. */
static void test_dense(void **unused) {
    (void)unused;
    static const struct {
        const char *text;
        bool        dense;
        int64_t     span;
    } rows[] = {
        {"f16[5,100,150] spyre", true, 96000},
        {"f32[3,5]{1,0:T(2,4)L(64)}", true, 32},
        {"f16[5,6] strides=[7,1]", false, 0},
        {"f16[5,6] strides=[1,5]", true, 30},
        {"f16[2,3,5] strides=[1,2,6]", true, 30}, /* the innermost one is found last */
        {"f16[3,5,2] strides=[2,6,1]", true, 30},
        {"f16[4,2] strides=[1,2]", false, 0},
        {"f16[2,2] strides=[1,1]", false, 0},
        {"f16[5,6] offset=3", false, 0},
        {"f16[5,6] strides=[6,-1] offset=5", false, 0},
        {"f16[5,6] strides=[0,1]", false, 0},
        {"f16[]", true, 1},
        {"f16[0,3]", false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_layout l = parse(rows[i].text);
        int64_t         span = -1;
        if (tg_layout_dense(&span, &l) != rows[i].dense) fail_msg("%s", rows[i].text);
        if (rows[i].dense) assert_int_equal(span, rows[i].span);
    }
}

int main(void) {
    random_state = SEED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_broken_layouts_are_not_called_good),
        cmocka_unit_test(test_good_layouts_are_called_good),
        cmocka_unit_test(test_dense),
    };
    return cmocka_run_group_tests_name("quick", tests, NULL, NULL);
}
