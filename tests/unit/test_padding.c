/* The analysis of padding: which rounding adds how much, told step by step, and what is advised. That the numbers are
 * right everywhere is judged by tests/python/test_padding.py; here stand the cases that a reader can follow. */
#include <tegula/padding.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { TEXT = 512 };

static tg_xla_shape read_shape(const char *text) {
    tg_xla_shape shape;
    tg_error     err;
    size_t       count = 0;
    if (tg_xla_shape_parse(&shape, 1, &count, text, strlen(text), &err) != TG_OK) fail_msg("%s: %s", text, err.message);
    if (count != 1) fail_msg("%s: %zu nodes", text, count);
    return shape;
}

/* "0.1 d0+d1 2->4 +8": the part as level.place, dimensions, sizes and bytes. */
static int write_part(char *buf, size_t cap, const tg_padding_part *part) {
    int at = snprintf(buf, cap, "%d.%d ", part->level, part->place);
    for (int32_t d = 0, some = 0; d < TG_MAX_NDIM; d++)
        if ((part->dims >> d & 1) != 0) at += snprintf(buf + at, cap - (size_t)at, "%sd%d", some++ ? "+" : "", d);
    return at + snprintf(buf + at, cap - (size_t)at, "%s%lld->%lld +%lld", part->dims != 0 ? " " : "",
                         (long long)part->size, (long long)part->padded, (long long)part->bytes);
}

static void write_steps(char buf[TEXT], const tg_padding *p) {
    size_t at = (size_t)snprintf(buf, TEXT, "%lld", (long long)p->logical_bytes);
    if (p->widening_bytes != 0)
        at += (size_t)snprintf(buf + at, TEXT - at, "; %d->%d bits +%lld", p->logical_bits, p->stored_bits,
                               (long long)p->widening_bytes);
    for (int32_t i = 0; i < p->nparts; i++) {
        if (p->part[i].padded == p->part[i].size) continue;
        at += (size_t)snprintf(buf + at, TEXT - at, "; ");
        at += (size_t)write_part(buf + at, TEXT - at, &p->part[i]);
    }
    if (p->tail_bytes != 0) at += (size_t)snprintf(buf + at, TEXT - at, "; tail +%lld", (long long)p->tail_bytes);
    (void)snprintf(buf + at, TEXT - at, "; = %lld", (long long)p->physical_bytes);
}

/* Parts that pad nothing are left out of the text. */
static const struct {
    const char *shape, *steps;
    int32_t     worst;
} measured[] = {
    {"f32[17,130]", "8840; = 8840", -1},
    {"f32[16,128]{1,0:T(8,128)}", "8192; = 8192", -1},
    {"f32[17,130]{1,0:T(8,128)}", "8840; 0.1 d1 130->256 +8568; 0.0 d0 17->24 +7168; = 24576", 0},
    {"f32[1024,1]{1,0:T(8,128)}", "4096; 0.1 d1 1->128 +520192; = 524288", 0},
    {"f32[1,1]{1,0:T(8,128)}", "4; 0.1 d1 1->128 +508; 0.0 d0 1->8 +3584; = 4096", 0},
    /* the header's example */
    {"pred[100,100]{1,0:T(8,128)E(32)}",
     "10000; 8->32 bits +30000; 0.1 d1 100->128 +11200; 0.0 d0 100->104 +2048; = 53248", 0},
    /* the second level pads what the first one left: a tile of one row */
    {"bf16[1,130]{1,0:T(1,128)(2,1)}", "260; 0.1 d1 130->256 +252; 1.0 d0 1->2 +512; = 1024", 2 + 1},
    /* ... and here it reaches the rows of tiles: 3 of them become 4 */
    {"bf16[24,128]{1,0:T(8,128)(2,1,1,1)}", "6144; 1.0 d0 3->4 +2048; = 8192", 2 + 3},
    {"f32[2,3,5]{2,1,0:T(*,4)}", "120; 0.1 d1+d2 15->16 +8; = 128", 0},
    {"f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", "49280; 0.4 d3+d4 110->111 +448; = 49728", 0},
    {"f32[5]{0:T(2,8)}", "20; 0.1 d0 5->8 +12; 0.0 1->2 +32; = 64", 1},
    {"f32[]{:T(256)}", "4; 0.0 1->256 +1020; = 1024", 0},
    {"f32[10]{0:L(128)}", "40; tail +472; = 512", -1},
    {"f32[3]{0:T(4)L(6)}", "12; 0.0 d0 3->4 +4; tail +8; = 24", 0},
    /* packed elements: bytes are rounded once, over everything so far */
    {"s4[5,7]{1,0:E(4)}", "18; = 18", -1},
    {"s4[5,7]{1,0:T(2,8)E(4)}", "18; 0.1 d1 7->8 +2; 0.0 d0 5->6 +4; = 24", 1},
    {"s4[5]{0:E(3)}", "2; = 2", -1},
    {"f32[0,5]{1,0:T(8,128)}", "0; 0.1 d1 5->128 +0; = 0", 0},
};

static void test_steps(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof measured / sizeof measured[0]; i++) {
        const tg_xla_shape shape = read_shape(measured[i].shape);
        tg_padding         p;
        tg_error           err;
        char               steps[TEXT];
        if (tg_padding_measure(&p, &shape, &err) != TG_OK) fail_msg("%s: %s", measured[i].shape, err.message);
        write_steps(steps, &p);
        if (strcmp(steps, measured[i].steps) != 0)
            fail_msg("%s: %s\ninstead of %s", measured[i].shape, steps, measured[i].steps);
        if (tg_padding_worst(&p) != measured[i].worst)
            fail_msg("%s: the worst is part %d", measured[i].shape, tg_padding_worst(&p));
    }
}

/* Ratios that doubles cannot tell apart are still told apart. */
static void test_worst_is_exact(void **unused) {
    (void)unused;
    tg_padding p;
    memset(&p, 0, sizeof p);
    p.nparts = 3;
    p.part[0] = (tg_padding_part){.size = INT64_MAX / 2, .padded = INT64_MAX - 1};
    p.part[1] = (tg_padding_part){.size = INT64_MAX / 2 - 1, .padded = INT64_MAX - 2};
    p.part[2] = (tg_padding_part){.size = INT64_MAX / 2 - 2, .padded = INT64_MAX - 5};
    assert_int_equal(tg_padding_worst(&p), 1); /* 2 + 1/(2^62-2), against 2 and 2 */
    p.part[1] = p.part[0];
    assert_int_equal(tg_padding_worst(&p), 0); /* the first of equals */
}

static void test_expansion(void **unused) {
    (void)unused;
    tg_padding p = {.logical_bytes = 4096, .physical_bytes = 524288};
    assert_true(tg_padding_expansion(&p) == 128.0);
    p = (tg_padding){.logical_bytes = 0};
    assert_true(tg_padding_expansion(&p) == 1.0);
}

/* ---- advice ---- */

static const struct {
    const char *shape, *order, *tiling;
    int64_t     order_saved, tiling_saved;
} advised[] = {
    {"f32[1024,1]{1,0:T(8,128)}", "{0,1:T(8,128)}", "{0,1:T(1,128)}", 491520, 520192},
    {"f32[1024,8]{1,0:T(8,128)}", "{0,1:T(8,128)}", "{0,1:T(8,128)}", 491520, 491520},
    {"f32[16,128]{1,0:T(8,128)}", "{1,0:T(8,128)}", "{1,0:T(8,128)}", 0, 0},
    {"f32[1024,1]", "{1,0}", "{1,0}", 0, 0}, /* nothing is padded: tiles could only add */
    {"f32[1024]{0:T(1024)}", "{0:T(1024)}", "{0:T(1024)}", 0, 0},
    {"f32[129]{0:T(1024)}", "{0:T(1024)}", "{0:T(256)}", 0, 3072}, /* T(128) takes as much, and stands behind */
    {"bf16[5]{0:T(2048)(128)(2,1)}", "{0:T(2048)(128)(2,1)}", "{0:T(1024)(128)(2,1)}", 0, 2048},
    {"f32[]{:T(256)}", "{:T(256)}", "{:T(128)}", 0, 512},
    {"f64[1000,1]{1,0:T(8,128)}", "{0,1:T(8,128)}", "{0,1:T(8,128)}", 958464, 958464}, /* no standard tiling */
    {"pred[8,128]{1,0:T(8,128)E(32)}", "{1,0:T(8,128)E(32)}", "{1,0:T(8,128)(4,1)}", 0, 3072},
    {"s4[64,128]{1,0}", "{1,0}", "{1,0:T(8,128)(8,1)E(4)}", 0, 4096}, /* packed at last */
    {"f32[3,300,3]{2,1,0:T(8,128)}", "{1,2,0:T(8,128)}", "{1,2,0:T(1,128)}", 430080, 453120},
    {"f32[0,5]{1,0:T(8,128)}", "{1,0:T(8,128)}", "{1,0:T(8,128)}", 0, 0},
};

static void expect_choice(const char *shape, const tg_padding_choice *choice, const char *layout, int64_t saved) {
    char text[TEXT];
    (void)tg_xla_layout_format(text, sizeof text, &choice->layout);
    if (strcmp(text, layout) != 0 || choice->saved_bytes != saved)
        fail_msg("%s: %s saves %lld\ninstead of %s, %lld", shape, text, (long long)choice->saved_bytes, layout,
                 (long long)saved);
}

static void test_advice(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof advised / sizeof advised[0]; i++) {
        const tg_xla_shape shape = read_shape(advised[i].shape);
        tg_padding_advice  advice;
        tg_error           err;
        if (tg_padding_advise(&advice, &shape, &err) != TG_OK) fail_msg("%s: %s", advised[i].shape, err.message);
        expect_choice(advised[i].shape, &advice.order, advised[i].order, advised[i].order_saved);
        expect_choice(advised[i].shape, &advice.tiling, advised[i].tiling, advised[i].tiling_saved);
    }
}

/* ---- failures ---- */

static const struct {
    const char *shape;
    tg_status   status;
    const char *fragment;
} refused[] = {
    {"f32[?]{0:T(128)}", TG_ERR_UNREPRESENTABLE, "dimension 0 is unbounded"},
    {"f32[2,2]{0,0}", TG_ERR_ARGUMENT, "duplicate values"},
    {"f32[2,2]{1,0:T(8,*)}", TG_ERR_ARGUMENT, "last place"},
    {"s8[4611686018427387904,1]{1,0:T(8,128)}", TG_ERR_OVERFLOW, "63 bits"},
    {"s8[4611686018427387904,1]{1,0:E(32)}", TG_ERR_OVERFLOW, "63 bits"},
    {"token[]", TG_ERR_UNREPRESENTABLE, "only array shapes"},
};

static void expect_refusal(size_t i, tg_status got, const tg_error *err) {
    if (got != refused[i].status || err->status != got || strstr(err->message, refused[i].fragment) == NULL)
        fail_msg("%s: %s \"%s\"", refused[i].shape, tg_status_name(got), err->message);
}

static void test_refusals_leave_the_output_alone(void **unused) {
    (void)unused;
    tg_padding        p, p_before;
    tg_padding_advice a, a_before;
    memset(&p, 0x5a, sizeof p);
    memset(&a, 0x5a, sizeof a);
    memcpy(&p_before, &p, sizeof p);
    memcpy(&a_before, &a, sizeof a);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        const tg_xla_shape shape = read_shape(refused[i].shape);
        tg_error           err;
        expect_refusal(i, tg_padding_measure(&p, &shape, &err), &err);
        expect_refusal(i, tg_padding_advise(&a, &shape, &err), &err);
        assert_int_equal(tg_padding_measure(&p, &shape, NULL), refused[i].status);
        assert_int_equal(tg_padding_advise(&a, &shape, NULL), refused[i].status);
        assert_memory_equal(&p, &p_before, sizeof p);
        assert_memory_equal(&a, &a_before, sizeof a);
    }
}

/* ---- memory ---- */

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

static int countdown = -1; /* allocations until one fails; negative: none does */

void *__wrap_calloc(size_t n, size_t size) {
    if (countdown >= 0 && countdown-- == 0) return NULL;
    return __real_calloc(n, size);
}

/* The answers for the 128 sets of seven dimensions do not fit on the stack: once for the given tiles, and once for each
 * of the four standard tilings. Any of these allocations may fail. */
static void test_no_memory(void **unused) {
    (void)unused;
    const tg_xla_shape shape = read_shape("f32[2,3,4,5,6,7,1]{6,5,4,3,2,1,0:T(8,128)(2,1)}");
    tg_padding_advice  advice, before;
    tg_error           err;
    memset(&advice, 0x5a, sizeof advice);
    memcpy(&before, &advice, sizeof advice);
    for (int n = 0; n < 5; n++) {
        countdown = n;
        const tg_status s = tg_padding_advise(&advice, &shape, &err);
        assert_int_equal(countdown, -1);
        assert_int_equal(s, TG_ERR_NOMEM);
        assert_string_equal(err.message, "no memory to compare the orders of 7 dimensions");
        assert_memory_equal(&advice, &before, sizeof advice);
    }
    countdown = 5;
    assert_int_equal(tg_padding_advise(&advice, &shape, &err), TG_OK);
    assert_int_equal(countdown, 0);
    countdown = -1;
}

/* ---- how much is compared ---- */

/* Sixteen dimensions, which have 16! orders; under `*` of the first level only the sets of dimensions count. */
static void test_many_orders(void **unused) {
    (void)unused;
    const tg_xla_shape shape =
        read_shape("s8[2,3,4,5,6,7,8,9,10,11,12,13,2,3,2,3]"
                   "{15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0:T(*,*,*,*,*,*,*,64,*,*,*,*,*,*,*,81)}");
    tg_padding_advice  advice;
    tg_error           err;
    if (tg_padding_advise(&advice, &shape, &err) != TG_OK) fail_msg("%s", err.message);
    assert_true(advice.order.physical_bytes == 224172748800); /* their product: one group can have 2^6, the other 3^4 */
}

/* A level behind the first that combines the tile counts of nine dimensions: 10!/1! orders to compare. */
static void test_too_many_orders(void **unused) {
    (void)unused;
    const tg_xla_shape shape = read_shape("s8[2,3,4,5,6,7,8,9,10,11]{9,8,7,6,5,4,3,2,1,0:T(2,2,2,2,2,2,2,2,2)"
                                          "(*,*,*,*,*,*,*,*,1,1,1,1,1,1,1,1,1,1)}");
    tg_padding_advice  advice;
    tg_error           err;
    assert_int_equal(tg_padding_advise(&advice, &shape, &err), TG_ERR_LIMIT);
    assert_non_null(strstr(err.message, "over 1048576 orders"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),     cmocka_unit_test(test_worst_is_exact),
        cmocka_unit_test(test_expansion), cmocka_unit_test(test_advice),
        cmocka_unit_test(test_refusals_leave_the_output_alone), cmocka_unit_test(test_too_many_orders),
        cmocka_unit_test(test_many_orders), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
