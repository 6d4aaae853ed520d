/* Views: functions of one variable judged by exhaustion, views of views, answers and refusals.
 * tests/python/test_view.py judges answers against the definition. */
#include "transfer/viewing.h"
#include "random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- terms ---- */

static int64_t below(int64_t n) { return random_below(n); }

/* The definition, without a hurry. */
static int64_t by_definition(const tg_view_term *t, int64_t p) {
    int64_t y = t->step * p + t->shift, q = 0;
    if (t->wrap > 0) {
        while (y < 0) y += t->wrap;
        while (y >= t->wrap) y -= t->wrap;
    }
    while (q * t->stride > y) q--;
    while ((q + 1) * t->stride <= y) q++;
    return q;
}

static void check_range(const tg_view_term *t, int64_t n) {
    int64_t low, high, least = INT64_MAX, greatest = INT64_MIN;
    for (int64_t p = 0; p < n; p++) {
        const int64_t y = by_definition(t, p);
        least = tg_min(least, y);
        greatest = tg_max(greatest, y);
    }
    tg_term_range(&low, &high, t, n);
    if (low != least || high != greatest)
        fail_msg("(%lld p + %lld) mod %lld, p < %lld: [%lld, %lld], not [%lld, %lld]", (long long)t->step,
                 (long long)t->shift, (long long)t->wrap, (long long)n, (long long)least, (long long)greatest,
                 (long long)low, (long long)high);
}

/* All small ones. */
static void test_ranges(void **unused) {
    (void)unused;
    for (int64_t wrap = 0; wrap <= 13; wrap++)
        for (int64_t step = -14; step <= 14; step++)
            for (int64_t shift = -3; shift <= 13; shift += 2)
                for (int64_t n = 1; n <= 15; n++) {
                    const tg_view_term t = {0, step, shift, wrap, 1};
                    check_range(&t, n);
                }
}

/* Larger ones, at random, and the largest there are. */
static void test_large_ranges(void **unused) {
    (void)unused;
    random_state = 20261122;
    for (int i = 0; i < 3000; i++) {
        const int64_t      wrap = 1 + below(2000);
        const tg_view_term t = {0, below(4000) - 2000, below(wrap), wrap, 1};
        check_range(&t, 1 + below(300));
    }
    int64_t            low, high;
    const int64_t      huge = INT64_MAX - 1;
    const tg_view_term t = {0, huge / 2 + 7, 5, huge, 1};
    tg_term_range(&low, &high, &t, INT64_MAX);
    assert_true(low >= 0 && low <= high && high < huge);
    const tg_view_term line = {0, 3, -5, 0, 1};
    tg_term_range(&low, &high, &line, 1000000000000);
    assert_int_equal(low, -5);
    assert_int_equal(high, 2999999999992);
}

static tg_view_term random_term(void) {
    tg_view_term t = {0, below(30) - 8, below(20), below(3) == 0 ? 0 : 1 + below(24), 1 + below(6)};
    if (below(4) == 0) t.step *= t.stride;
    return t;
}

static void test_simplified_terms_are_the_same(void **unused) {
    (void)unused;
    random_state = 20261122;
    for (int i = 0; i < 200000; i++) {
        const tg_view_term t = random_term();
        const int64_t      n = 1 + below(12);
        tg_view_term       s = t;
        int64_t            constant = 0;
        const bool         moves = tg_term_simplify(&s, &constant, n);
        for (int64_t p = 0; p < n; p++) {
            assert_int_equal(tg_term_at(&t, p), by_definition(&t, p));
            assert_int_equal(tg_term_at(&t, p), constant + (moves ? tg_term_at(&s, p) : 0));
        }
    }
}

static int64_t sum_at(const tg_sum *s, int64_t p) {
    int64_t sum = 0;
    for (int32_t i = 0; i < s->n; i++) sum += s->gain[i] * by_definition(&s->term[i], p);
    return sum;
}

/* Terms that often continue each other, as digits do. */
static tg_sum random_sum(void) {
    tg_sum        s = {.n = 0};
    int64_t       wrap = below(2) * 24, gain = 1 + below(3);
    const int64_t step = 1 + below(5), shift = below(3);
    for (int64_t stride = 12; stride >= 1 && s.n < 4; stride /= 1 + below(3) + (stride == 1)) {
        s.gain[s.n] = below(4) == 0 ? 1 + below(9) : gain * stride;
        s.term[s.n++] = (tg_view_term){0, step, shift, wrap, stride};
        wrap = below(8) == 0 ? 1 + below(30) : stride;
        if (stride == 1) break;
    }
    return s;
}

static void test_normal_forms_are_the_same_function(void **unused) {
    int64_t joined = 0;
    (void)unused;
    random_state = 20261123;
    for (int i = 0; i < 200000; i++) {
        const tg_sum  s = random_sum();
        const int64_t n = 1 + below(40);
        tg_sum        normal = s;
        tg_sum_normalize(&normal, n);
        joined += normal.n < s.n;
        for (int64_t p = 0; p < n; p++)
            assert_int_equal(sum_at(&s, p) - sum_at(&s, 0), sum_at(&normal, p) - sum_at(&normal, 0));
    }
    assert_true(joined > 1000);
}

/* ---- views of views ---- */

static tg_view make_view(int32_t ndim, const int64_t *shape, const int64_t *strides, int64_t offset) {
    tg_view v = {.ndim = ndim, .offset = offset};
    for (int32_t d = 0; d < ndim; d++) {
        v.shape[d] = shape[d];
        v.strides[d] = strides[d];
    }
    return v;
}

static void check_view(const tg_view *v, int32_t ndim, const int64_t *shape, const int64_t *strides, int64_t offset) {
    assert_int_equal(v->ndim, ndim);
    assert_int_equal(v->offset, offset);
    for (int32_t d = 0; d < ndim; d++) {
        assert_int_equal(v->shape[d], shape[d]);
        assert_int_equal(v->strides[d], strides[d]);
    }
}

#define LIST(...) ((const int64_t[]){__VA_ARGS__})

static void test_views_of_views(void **unused) {
    const tg_view x = make_view(3, LIST(2, 3, 4), LIST(12, 4, 1), 5);
    tg_view       v;
    (void)unused;
    assert_int_equal(tg_view_permute(&v, &x, (const int32_t[]){2, 0, 1}, NULL), TG_OK);
    check_view(&v, 3, LIST(4, 2, 3), LIST(1, 12, 4), 5);
    assert_int_equal(tg_view_transpose(&v, &v, 0, 2, NULL), TG_OK); /* in place */
    check_view(&v, 3, LIST(3, 2, 4), LIST(4, 12, 1), 5);
    assert_int_equal(tg_view_reshape(&v, &x, 2, LIST(-1, 6), NULL), TG_OK);
    check_view(&v, 2, LIST(4, 6), LIST(6, 1), 5);
    assert_int_equal(tg_view_slice(&v, &x, 1, 2, -1, -2, NULL), TG_OK);
    check_view(&v, 3, LIST(2, 2, 4), LIST(12, -8, 1), 13);
    assert_int_equal(tg_view_select(&v, &x, 0, 1, NULL), TG_OK);
    check_view(&v, 2, LIST(3, 4), LIST(4, 1), 17);
    assert_int_equal(tg_view_unsqueeze(&v, &v, 2, NULL), TG_OK);
    check_view(&v, 3, LIST(3, 4, 1), LIST(4, 1, 1), 17);
    assert_int_equal(tg_view_expand(&v, &v, 4, LIST(2, -1, 4, 7), NULL), TG_OK);
    check_view(&v, 4, LIST(2, 3, 4, 7), LIST(0, 4, 1, 0), 17);
    assert_int_equal(tg_view_slice(&v, &x, 0, 0, 1, 1, NULL), TG_OK);
    assert_int_equal(tg_view_squeeze(&v, &v, 0, NULL), TG_OK);
    check_view(&v, 2, LIST(3, 4), LIST(4, 1), 5);
    assert_int_equal(tg_view_unfold(&v, &v, 1, 2, 2, NULL), TG_OK);
    check_view(&v, 3, LIST(3, 2, 2), LIST(4, 2, 1), 5);
}

static void test_reshapes_of_sizes_one_and_zero(void **unused) {
    const tg_view scalar = make_view(0, NULL, NULL, 9);
    const tg_view odd = make_view(4, LIST(1, 3, 1, 2), LIST(77, 2, 55, 1), 0);
    const tg_view empty = make_view(2, LIST(0, 5), LIST(3, 7), 1);
    tg_view       v;
    (void)unused;
    assert_int_equal(tg_view_reshape(&v, &scalar, 2, LIST(1, 1), NULL), TG_OK);
    check_view(&v, 2, LIST(1, 1), LIST(1, 1), 9);
    assert_int_equal(tg_view_reshape(&v, &odd, 1, LIST(6), NULL), TG_OK);
    check_view(&v, 1, LIST(6), LIST(1), 0);
    assert_int_equal(tg_view_reshape(&v, &odd, 3, LIST(6, 1, 1), NULL), TG_OK);
    assert_int_equal(v.strides[0], 1);
    assert_int_equal(tg_view_reshape(&v, &empty, 3, LIST(4, 0, 2), NULL), TG_OK);
    assert_int_equal(tg_view_reshape(&v, &empty, 2, LIST(-1, 0), NULL), TG_ERR_ARGUMENT);
}

/* ---- refusals ---- */

static tg_desc parse(const char *text) {
    tg_desc  desc;
    tg_error err;
    if (tg_desc_parse(&desc, text, strlen(text), &err) != TG_OK) fail_msg("%s: %s", text, err.message);
    return desc;
}

static void check_refused(tg_status got, tg_status status, const tg_error *err, const char *word) {
    assert_int_equal(got, status);
    assert_int_equal(err->status, status);
    if (strstr(err->message, word) == NULL) fail_msg("\"%s\" does not say \"%s\"", err->message, word);
}

static void test_refusals(void **unused) {
    const tg_view x = make_view(2, LIST(4, 6), LIST(6, 1), 0);
    const tg_view t = make_view(2, LIST(6, 4), LIST(1, 6), 0), far = make_view(1, LIST(3), LIST(INT64_MAX), 1);
    const tg_view huge = make_view(1, LIST(12), LIST(INT64_MAX / 4), 0);
    tg_view       v, before;
    tg_error      err;
    (void)unused;
    memset(&v, 0xa5, sizeof v);
    before = v;
    check_refused(tg_view_permute(&v, &x, (const int32_t[]){0, 0}, &err), TG_ERR_ARGUMENT, &err, "listed twice");
    check_refused(tg_view_permute(&v, &x, (const int32_t[]){0, 2}, &err), TG_ERR_ARGUMENT, &err, "not in [0, 2)");
    check_refused(tg_view_transpose(&v, &x, 0, -1, &err), TG_ERR_ARGUMENT, &err, "dimension -1");
    check_refused(tg_view_reshape(&v, &t, 1, LIST(24), &err), TG_ERR_UNREPRESENTABLE, &err, "would copy");
    check_refused(tg_view_reshape(&v, &x, 2, LIST(-1, -1), &err), TG_ERR_ARGUMENT, &err, "only one");
    check_refused(tg_view_reshape(&v, &x, 2, LIST(5, 5), &err), TG_ERR_ARGUMENT, &err, "elements");
    check_refused(tg_view_reshape(&v, &x, 17, LIST(24, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), &err),
                  TG_ERR_LIMIT, &err, "limit of 16");
    check_refused(tg_view_slice(&v, &x, 1, 0, 7, 1, &err), TG_ERR_ARGUMENT, &err, "leave dimension 1 of size 6");
    check_refused(tg_view_slice(&v, &x, 1, 0, 6, 0, &err), TG_ERR_ARGUMENT, &err, "step 0");
    check_refused(tg_view_slice(&v, &huge, 0, 0, 12, 5, &err), TG_ERR_OVERFLOW, &err, "63 bits");
    check_refused(tg_view_select(&v, &x, 0, 4, &err), TG_ERR_ARGUMENT, &err, "4 is not in [0, 4)");
    check_refused(tg_view_expand(&v, &x, 1, LIST(6), &err), TG_ERR_ARGUMENT, &err, "fewer");
    check_refused(tg_view_expand(&v, &x, 2, LIST(8, 6), &err), TG_ERR_ARGUMENT, &err, "only size 1");
    check_refused(tg_view_expand(&v, &x, 3, LIST(-1, 4, 6), &err), TG_ERR_ARGUMENT, &err, "only size 1");
    check_refused(tg_view_squeeze(&v, &x, 0, &err), TG_ERR_ARGUMENT, &err, "size 4, not 1");
    check_refused(tg_view_unsqueeze(&v, &x, 3, &err), TG_ERR_ARGUMENT, &err, "not in [0, 3)");
    check_refused(tg_view_unfold(&v, &x, 0, 5, 1, &err), TG_ERR_ARGUMENT, &err, "do not fit");
    check_refused(tg_view_parse(&v, &far, "x", 1, &err), TG_ERR_OVERFLOW, &err, "63 bits");
    assert_memory_equal(&v, &before, sizeof v);
}

static void test_judging_refuses(void **unused) {
    static tg_view_answer answer, before;
    const tg_desc         tensor = parse("f16[4,6] spyre"), twice = parse("f16[4,6] strides=[1,1] spyre");
    const tg_desc         folded = parse("f32[4,6]{0,1:T(*,3)}"), woven = parse("f32[4,6] strides=[3,2]");
    const tg_view         x = make_view(2, LIST(4, 6), LIST(6, 1), 0), bad = make_view(1, LIST(-1), LIST(1), 0);
    const tg_view         low = make_view(1, LIST(2), LIST(1), INT64_MIN);
    const tg_view         near = make_view(1, LIST(2), LIST(1), INT64_MIN + 1);
    const tg_view         steep = make_view(1, LIST(2), LIST(INT64_MIN), 0);
    tg_view               deep = x;
    tg_error              err;
    (void)unused;
    memset(&answer, 0xa5, sizeof answer);
    before = answer;
    deep.ndim = 17;
    check_refused(tg_view_judge(&answer, &tensor, &bad, &err), TG_ERR_ARGUMENT, &err, "-1");
    check_refused(tg_view_judge(&answer, &tensor, &deep, &err), TG_ERR_ARGUMENT, &err, "17 dimensions");
    check_refused(tg_view_judge(&answer, &twice, &x, &err), TG_ERR_UNSUPPORTED, &err, "share places");
    check_refused(tg_view_judge(&answer, &woven, &x, &err), TG_ERR_UNSUPPORTED, &err, "interleave");
    check_refused(tg_view_judge(&answer, &folded, &x, &err), TG_ERR_UNREPRESENTABLE, &err, "order");
    check_refused(tg_view_judge(&answer, &tensor, &low, &err), TG_ERR_OVERFLOW, &err, "too far apart");
    check_refused(tg_view_judge(&answer, &tensor, &steep, &err), TG_ERR_OVERFLOW, &err, "63 bits");
    assert_memory_equal(&answer, &before, sizeof answer);
    assert_int_equal(tg_view_judge(&answer, &tensor, &bad, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_view_judge(&answer, &tensor, &near, &err), TG_OK);
    assert_int_equal(answer.reason, TG_VIEW_OUTSIDE);
}

/* ---- answers ---- */

static const struct {
    const char *layout, *view, *access; /* access NULL: a relayout */
    tg_stick_kind stick;
} answers[] = {
    {"f16[5,100,150] spyre", "x", "[p1, floor(p2/64), p0, Mod(p2, 64)]", TG_STICK_LOOP},
    {"f16[5,100,150] spyre", "x[3]", "[p0, floor(p1/64), 3, Mod(p1, 64)]", TG_STICK_LOOP},
    {"f16[5,100,150] spyre", "x[..., 128:]", "[p1, 2, p0, p2]", TG_STICK_LOOP},
    {"f16[5,100,150] spyre", "x[..., 130:]", "[p1, 2, p0, p2 + 2]", TG_STICK_OFFSET},
    {"f16[5,100,150] spyre", "x[..., 7]", "[p1, 0, p0, 7]", TG_STICK_BAD},
    {"f16[5,100,150] spyre", "x[..., 64]", "[p1, 1, p0, 0]", TG_STICK_NONE},
    {"f16[5,100,128] spyre", "x.flatten(1)", "[floor(p1/128), floor(Mod(p1, 128)/64), p0, Mod(p1, 64)]", TG_STICK_LOOP},
    {"f16[5,100,150] spyre", "x.flatten(1)", NULL, TG_STICK_NONE},
    {"f16[5,100,150] spyre", "x.flatten(0, 1)", "[Mod(p0, 100), floor(p1/64), floor(p0/100), Mod(p1, 64)]",
     TG_STICK_LOOP},
    {"f16[64,64] spyre", "x[:, ::-1]", "[0, p0, 63 - p1]", TG_STICK_BAD},
    {"f16[2,3,64] spyre unit_dims=keep", "x[:1]", "[p1, 0, 0, p2]", TG_STICK_LOOP},
    {"f16[64,5] spyre dim_order=[0,1,-1]", "x.t()", "[p0, 0, p1, 0]", TG_STICK_NONE},
    {"f16[40,60] spyre device_size=[38,64] stride_map=[64,1]", "x", NULL, TG_STICK_NONE},
    {"f16[40,60] spyre device_size=[38,64] stride_map=[64,1]", "x.flatten()", "[floor(p0/64), Mod(p0, 64)]",
     TG_STICK_LOOP},
    {"f16[2,128] spyre arrangement=FP32_TO_DL16", "x[:, :32]", "[0, p0, floor(p1/4), 0, Mod(p1, 4)]", TG_STICK_NONE},
    /* 10 is one step after the last of 0, 3, 6, 9, and less than 4 steps of 3. */
    {"f16[5,4] strides=[10,3]", "x", "[10*p0 + 3*p1]", TG_STICK_NONE},
    {"f16[5,4] strides=[10,3] spyre", "x", "[0, p0, p1]", TG_STICK_LOOP},
    {"f16[3,4] strides=[3,3]", "x[1]", "[3*p0 + 3]", TG_STICK_NONE},
    {"f16[0]", "x", "[0]", TG_STICK_NONE}, /* its one coordinate was never set */
    {"f16[0,3] strides=[1,1] offset=7", "x", "[7]", TG_STICK_NONE},
};

static void test_answers(void **unused) {
    static tg_view_answer answer;
    char                  text[512];
    tg_error              err;
    (void)unused;
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        const tg_desc tensor = parse(answers[i].layout);
        tg_view       base, v;
        assert_int_equal(tg_view_of(&base, &tensor, &err), TG_OK);
        assert_int_equal(tg_view_parse(&v, &base, answers[i].view, strlen(answers[i].view), &err), TG_OK);
        if (tg_view_judge(&answer, &tensor, &v, &err) != TG_OK) fail_msg("%s: %s", answers[i].view, err.message);
        tg_view_format_access(text, sizeof text, &answer);
        if (strcmp(text, answers[i].access != NULL ? answers[i].access : "") != 0 ||
            answer.stick != answers[i].stick ||
            answer.verdict != (answers[i].access != NULL ? TG_VIEW_FREE : TG_VIEW_RELAYOUT))
            fail_msg("%s %s: %s, stick %d", answers[i].layout, answers[i].view, text, (int)answer.stick);
    }
}

/* What fuzzing found: gaps that were none, and none that were. */
static void test_gaps(void **unused) {
    static const struct {
        const char *layout, *view;
        int64_t     at, low, high; /* the first number that is missing; -1: none */
    } rows[] = {
        {"f32[4,4,5] strides=[0,3,-11] offset=48", "x", -1, 4, 58},
        {"f32[4,4,5] strides=[0,3,-11] offset=48", "x.as_strided((7,), (1,), 13)", 14, 4, 58},
        {"f32[4,4,5] strides=[0,3,-11] offset=48", "x.as_strided((2,), (-1,), 15)", 14, 4, 58},
        {"f16[2,2] strides=[3,3]", "x.as_strided((2,), (2,))", 2, 0, 7},
        {"f16[2,2] strides=[3,3]", "x.as_strided((3,), (3,))", -1, 0, 7},
        {"f16[2,2] strides=[3,3]", "x.as_strided((4,), (3,))", 9, 0, 7},
        {"f16[6,4,3] strides=[40,4,2]", "x.as_strided((6, 9), (40, 2))", -1, 0, 217},
        {"f16[6,4,3] strides=[40,4,2]", "x.as_strided((6, 10), (40, 2))", 18, 0, 217}, /* rows of 0, 2, ..., 16 */
        {"f16[2,2,4] strides=[1,2,3]", "x.as_strided((13,), (1,))", -1, 0, 13},
        {"f16[2,2,4] strides=[1,2,3]", "x.as_strided((14,), (1,))", 13, 0, 13},
    };
    static tg_view_answer answer;
    tg_error              err;
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_desc tensor = parse(rows[i].layout);
        tg_view       base, v;
        assert_int_equal(tg_view_of(&base, &tensor, &err), TG_OK);
        assert_int_equal(tg_view_parse(&v, &base, rows[i].view, strlen(rows[i].view), &err), TG_OK);
        if (tg_view_judge(&answer, &tensor, &v, &err) != TG_OK) fail_msg("%s: %s", rows[i].layout, err.message);
        if ((answer.verdict == TG_VIEW_IMPOSSIBLE) != (rows[i].at >= 0))
            fail_msg("%s %s: verdict %d", rows[i].layout, rows[i].view, (int)answer.verdict);
        if (rows[i].at < 0) continue;
        assert_int_equal(answer.host_offset, rows[i].at);
        assert_int_equal(answer.low, rows[i].low);
        assert_int_equal(answer.high, rows[i].high);
    }
}

/* The answer does not depend on what it is asked twice, and its text follows the snprintf rule. */
static void test_text_is_cut(void **unused) {
    static tg_view_answer answer;
    const tg_desc         tensor = parse("f16[5,100,150] spyre");
    char                  text[8];
    tg_view               v;
    (void)unused;
    assert_int_equal(tg_view_of(&v, &tensor, NULL), TG_OK);
    assert_int_equal(tg_view_judge(&answer, &tensor, &v, NULL), TG_OK);
    assert_int_equal(tg_view_format_access(text, sizeof text, &answer), 35);
    assert_string_equal(text, "[p1, fl");
    assert_int_equal(tg_view_format_access(NULL, 0, &answer), 35);
}

static void test_targets(void **unused) {
    static const struct {
        const char *layout, *view, *target;
    } rows[] = {
        {"f16[2,1,70] spyre unit_dims=keep", "x.transpose(0, 1)", "f16[1,2,70] spyre unit_dims=keep"},
        {"f16[2,1,70] spyre", "x.transpose(0, 1)", "f16[1,2,70] spyre"},
        {"f16[2,1,70] spyre dim_order=[1,0,2]", "x", "f16[2,1,70] spyre"},
        {"bf16[8,300]{0,1:T(8,128)(2,1)S(1)}", "x.t()", "bf16[300,8]{1,0:T(8,128)(2,1)S(1)}"},
        {"bf16[8,300]{1,0:T(8,128)(2,1)}", "x.flatten()", "bf16[2400]{0}"},
        {"f32[4,5] strides=[1,4] offset=3", "x[1:]", "f32[3,5]"},
    };
    char     got[512], want[512];
    tg_error err;
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_desc tensor = parse(rows[i].layout), expected = parse(rows[i].target);
        tg_desc       target;
        tg_view       base, v;
        assert_int_equal(tg_view_of(&base, &tensor, &err), TG_OK);
        assert_int_equal(tg_view_parse(&v, &base, rows[i].view, strlen(rows[i].view), &err), TG_OK);
        if (tg_view_target(&target, &tensor, &v, &err) != TG_OK) fail_msg("%s: %s", rows[i].view, err.message);
        tg_desc_format(got, sizeof got, &target);
        tg_desc_format(want, sizeof want, &expected);
        assert_string_equal(got, want);
        assert_int_equal(tg_layout_validate(&target.layout, &err), TG_OK);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_large_ranges),
        cmocka_unit_test(test_simplified_terms_are_the_same),
        cmocka_unit_test(test_normal_forms_are_the_same_function),
        cmocka_unit_test(test_views_of_views),
        cmocka_unit_test(test_reshapes_of_sizes_one_and_zero),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_judging_refuses),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_text_is_cut),
        cmocka_unit_test(test_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
