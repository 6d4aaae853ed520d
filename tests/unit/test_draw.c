/* Pictures: what is refused, what happens without memory, and that nothing is left out uncounted. That the numbers are
 * right, and what is drawn, is judged by tests/python/test_draw.py. */
#include "draw/scene.h"
#include "draw/story.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bool memory_is_out, texts_find_no_memory;

void *__wrap_calloc(size_t n, size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size) { return memory_is_out ? NULL : __real_calloc(n, size); }

void *__wrap_realloc(void *p, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size) { return texts_find_no_memory ? NULL : __real_realloc(p, size); }

static tg_desc read_desc(const char *text) {
    tg_desc  desc;
    tg_error err;
    if (tg_desc_parse(&desc, text, strlen(text), &err) != TG_OK) fail_msg("%s: %s", text, err.message);
    return desc;
}

/* ---- wishes -------------------------------------------------------------------------------------- */

static void expect_refusal(const tg_layout *l, const tg_picture_params *params, tg_status status, const char *why) {
    tg_picture *picture = NULL;
    tg_error    err;
    assert_int_equal(tg_picture_create(&picture, l, params, &err), status);
    assert_null(picture);
    assert_int_equal(err.status, status);
    if (strstr(err.message, why) == NULL) fail_msg("'%s' does not say '%s'", err.message, why);
    assert_int_equal(tg_picture_create(&picture, l, params, NULL), status);
}

static void test_refusals(void **unused) {
    (void)unused;
    const tg_desc     desc = read_desc("f16[5,100,150] spyre"), plain = read_desc("f16[5,100,149]");
    const tg_desc     flat = read_desc("f16[75000]");
    const int64_t     outside[] = {4, 100, 0}, all[] = {-1, -1, -1}, none[] = {0, 0, 0}, beyond[] = {-1, -1, 150};
    const int64_t     uneven[] = {1, 33, 1}, nobody[] = {5, 0, 1}, shares[] = {5, 100, 1};
    const tg_layout  *l = &desc.layout;
    const tg_picture_params refused[] = {
        {.follow = outside}, {.slice = all},   {.slice = none},           {.slice = beyond},
        {.width = 39},       {.width = -1},    {.views = 16},             {.views = TG_VIEW_HOST},
        {.unit = -1},        {.label = (tg_draw_label)5}, {.host = &plain.layout}, {.other = &flat.layout},
        {.splits = uneven},  {.splits = nobody},          {.label = TG_LABEL_ORDER, .other = l},
        {.label = TG_LABEL_ORDER, .splits = shares},      {.label = TG_LABEL_COORD, .other = l},
        {.splits = shares, .other = l},                   {.views = TG_VIEW_DEVICE | TG_VIEW_INSIDE, .other = l},
        {.views = TG_VIEW_HOST, .other = l, .host = l},
    };
    static const char *const why[] = {
        "coordinate 100 of dimension 1 is not in [0, 100)",
        "one dimension or two, not 3",
        "one dimension or two, not 0",
        "slice 150 of dimension 2 is not in [0, 150)",
        "width 39 is less than 40",
        "width -1 is less than 40",
        "views 16 has unknown bits",
        "no host tensor",
        "unit -1 is negative",
        "label 5 is none",
        "the host tensor has size 149 in dimension 2 and the layout has 150",
        "the other layout has 1 dimensions and the layout has 3",
        "33 parts do not share the 100 pieces of dimension 1 evenly",
        "0 parts do not share the 100 pieces of dimension 1 evenly",
        "the order does not go with another layout",
        "the order does not go with cores",
        "coordinates do not go with another layout",
        "cores do not go with another layout",
        "the views logical and device only",
        "the views logical and device only",
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        expect_refusal(l, &refused[i], TG_ERR_ARGUMENT, why[i]);
    const tg_picture_params inside = {.views = TG_VIEW_INSIDE};
    expect_refusal(&plain.layout, &inside, TG_ERR_ARGUMENT, "no tile of more than 16 elements");
}

static void test_a_layout_that_is_none(void **unused) {
    (void)unused;
    tg_desc desc = read_desc("f32[4,6]");
    desc.layout.shape[0] = -1;
    expect_refusal(&desc.layout, NULL, TG_ERR_ARGUMENT, "");
}

static void test_no_memory(void **unused) {
    (void)unused;
    const tg_desc desc = read_desc("f32[4,6]");
    memory_is_out = true;
    expect_refusal(&desc.layout, NULL, TG_ERR_NOMEM, "no memory");
    memory_is_out = false;
}

static void test_defaults(void **unused) {
    (void)unused;
    const tg_desc desc = read_desc("f16[5,100,150] spyre");
    tg_picture   *picture = NULL;
    assert_int_equal(tg_picture_create(&picture, &desc.layout, NULL, NULL), TG_OK);
    assert_int_equal(picture->npanels, 4); /* two planes, memory, inside; there is no host tensor */
    assert_int_equal(picture->panel[2].view, TG_VIEW_DEVICE);
    assert_string_equal(picture->title, "");
    assert_true(sizeof *picture <= 1 << 20);
    tg_picture_destroy(&picture);
    assert_null(picture);
    tg_picture_destroy(&picture);
}

/* The header's example. */
static void test_example(void **unused) {
    (void)unused;
    const tg_desc           desc = read_desc("f16[5,100,150] spyre");
    const tg_picture_params params = {.unit = 64, .views = TG_VIEW_LOGICAL};
    tg_picture             *picture = NULL;
    assert_int_equal(tg_picture_create(&picture, &desc.layout, &params, NULL), TG_OK);
    const tg_panel *plane = &picture->panel[1];
    const tg_cell  *cell = &plane->cell[plane->nrows - 1][2], *beside = cell + 1;
    assert_string_equal(plane->title, "Logical tensor, plane d0 = 4 of 0..4");
    assert_int_equal(plane->ncols, 4);
    assert_string_equal(plane->col[2].label, "128..149");
    assert_string_equal(plane->col[3].label, "150..191");
    assert_string_equal(cell->label, "95936..95957");
    assert_true(cell->marked && cell->unit == 1499 && cell->data == 22);
    assert_true(beside->kind == TG_CELL_PADDING && beside->from == 95958 && beside->to == 95999);
    tg_picture_destroy(&picture);
}

/* What a notation knows by itself; the host panel is of tiled layouts. */
static void test_wishes_of_a_notation(void **unused) {
    static const struct {
        const char *text, *unit_name;
        int64_t     unit, stride; /* of dimension 0 on the host; 0: there is no host */
    } rows[] = {
        {"f16[5,150] spyre", "stick", 64, 150},
        {"f16[5,150] strides=[1,5] spyre", "stick", 64, 1},
        {"f32[5,150]{1,0:T(8,128)}", "tile", 1024, 150},
        {"f32[5,150]{0,1}", "tile", 0, 0},
        {"f32[5,150]", "tile", 0, 0},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_desc     desc = read_desc(rows[i].text);
        const int64_t     second[] = {1, 0};
        tg_picture_params params = {.width = 77, .label = TG_LABEL_BYTE};
        tg_layout         host;
        assert_int_equal(tg_picture_params_init(&params, &host, &desc, NULL), TG_OK);
        assert_string_equal(params.unit_name, rows[i].unit_name);
        assert_int_equal(params.unit, rows[i].unit);
        assert_true(params.width == 0 && params.label == TG_LABEL_USUAL);
        assert_ptr_equal(params.host, rows[i].stride != 0 ? &host : NULL);
        if (params.host != NULL) assert_int_equal(tg_layout_offset(&host, second), rows[i].stride);
    }
}

/* ---- the story of a transfer ------------------------------------------------------------------------- */

static void expect_no_story(const tg_story_params *params, tg_status status, const char *why) {
    tg_story *story = NULL;
    tg_error  err;
    assert_int_equal(tg_story_create(&story, params, &err), status);
    assert_null(story);
    if (strstr(err.message, why) == NULL) fail_msg("'%s' does not say '%s'", err.message, why);
}

static void test_stories_refused(void **unused) {
    (void)unused;
    const tg_desc      desc = read_desc("f32[4,6]"), other = read_desc("f32[6,4]");
    const tg_draw_loop rows[] = {{5, 6, 6}, {6, 1, 1}}, none[] = {{0, 1, 1}}, wide[] = {{INT64_MAX, 0, 0}, {3, 0, 0}};
    const tg_draw_loop far[] = {{3, INT64_MAX, 1}}, under[] = {{2, 1, -1}}, all[] = {{24, 1, 1}};
    const int64_t      outside[] = {4, 0};
    const tg_draw_nest bad[] = {
        {2, 0, 0, rows, ""}, {1, 0, 0, none, ""}, {2, 0, 0, wide, ""},
        {1, 0, 0, far, ""},  {1, 0, 0, under, ""}, {TG_STORY_LOOPS + 1, 0, 0, rows, ""},
    };
    static const char *const why[] = {
        "descriptor 1 leaves the memory of the host, offsets [0, 24)", "loop 0 of descriptor 1 has range 0",
        "the elements of descriptor 1 do not fit 63 bits", "descriptor 1 leaves the memory of the device",
        "descriptor 1 leaves the memory of the host", "descriptor 1 has 49 loops, not 0 to 48",
    };
    tg_story_params params = {.device = &desc.layout, .host = &desc.layout, .nnests = 1};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        params.nest = &bad[i];
        expect_no_story(&params, i == 2 ? TG_ERR_OVERFLOW : TG_ERR_ARGUMENT, why[i]);
    }
    const tg_draw_nest good = {1, 0, 0, all, "device[i] = host[i]"};
    params.nest = &good;
    params.width = 39;
    expect_no_story(&params, TG_ERR_ARGUMENT, "width 39 is less than 40");
    params.width = 0;
    params.follow = outside;
    expect_no_story(&params, TG_ERR_ARGUMENT, "coordinate 4 of dimension 0 is not in [0, 4)");
    params.follow = NULL;
    params.host = &other.layout;
    expect_no_story(&params, TG_ERR_ARGUMENT, "the device layout has shape [4,6] and the host layout [6,4]");
    params.host = &desc.layout;
    memory_is_out = true;
    expect_no_story(&params, TG_ERR_NOMEM, "no memory");
    memory_is_out = false;
    texts_find_no_memory = true;
    expect_no_story(&params, TG_ERR_NOMEM, "no memory");
    texts_find_no_memory = false;
}

/* Loops whose steps overlap: a place is found although greedy steps miss it. 7 = 2 * 2 + 1 * 3, not 2 * 3 + 1. */
static void test_a_search_that_goes_back(void **unused) {
    (void)unused;
    const tg_desc         desc = read_desc("f32[24]");
    const tg_draw_loop    loops[] = {{3, 3, 0}, {4, 2, 0}, {2, -8, 0}};
    const tg_draw_nest    nest = {3, 8, 0, loops, ""};
    const tg_story_params params = {.device = &desc.layout, .host = &desc.layout, .nest = &nest, .nnests = 1};
    int64_t               index[TG_STORY_LOOPS];
    size_t                number;
    bool                  touched[24] = {false};
    for (int64_t i = 0; i < 3; i++)
        for (int64_t j = 0; j < 4; j++)
            for (int64_t k = 0; k < 2; k++) touched[8 + 3 * i + 2 * j - 8 * k] = true;
    for (int64_t place = 0; place < 24; place++) {
        tg_teller      t = {.params = &params, .work = 1000};
        const tg_found found = tg_find_touch(&t, TG_SIDE_DEVICE, place, &number, index);
        assert_int_equal(found, touched[place] ? TG_FOUND : TG_FOUND_NONE);
        if (touched[place]) assert_int_equal(8 + 3 * index[0] + 2 * index[1] - 8 * index[2], place);
        tg_teller tired = {.params = &params, .work = 0};
        assert_int_equal(tg_find_touch(&tired, TG_SIDE_DEVICE, place, &number, index), TG_FOUND_UNKNOWN);
    }
}

/* Found by fuzzing: parts of nothing. */
static void test_splits_of_no_elements(void **unused) {
    (void)unused;
    const tg_desc           desc = read_desc("f32[0,6]");
    const int64_t           splits[] = {3, 2};
    const tg_picture_params params = {.splits = splits};
    tg_picture             *picture = NULL;
    assert_int_equal(tg_picture_create(&picture, &desc.layout, &params, NULL), TG_OK);
    assert_int_equal(picture->panel[0].nrows, 0);
    tg_picture_destroy(&picture);
}

/* Stick k holds the elements k, k + 4, ... of 128: half of them are the first core's. */
static void test_a_stick_of_several_cores(void **unused) {
    (void)unused;
    const tg_desc           desc = read_desc("f32[256] spyre device_size=[1,4,2,32] stride_map=[-1,1,128,4]");
    const int64_t           splits[] = {4};
    const tg_picture_params params = {.splits = splits, .unit = 32, .views = TG_VIEW_DEVICE};
    tg_picture             *picture = NULL;
    assert_int_equal(tg_picture_create(&picture, &desc.layout, &params, NULL), TG_OK);
    for (int32_t r = 0; r < picture->panel[0].nrows; r++)
        for (int32_t c = 0; c < 2; c++) {
            const tg_cell *cell = &picture->panel[0].cell[r][c];
            assert_string_equal(cell->label, "several cores");
            assert_true(cell->is_shared && cell->core == -1 && cell->colour == -1);
        }
    tg_picture_destroy(&picture);
}

static void test_titles(void **unused) {
    (void)unused;
    static const struct {
        const char *given, *shown;
    } rows[] = {{"a\nb\x7f\033[1m", "a?b??[1m"}, {"\xc3\xa4 \xff \xc2\x85", "\xc3\xa4 ? ?"}, {"<&>\"", "<&>\""}};
    const tg_desc desc = read_desc("f32[2]");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_picture_params params = {.title = rows[i].given};
        tg_picture             *picture = NULL;
        assert_int_equal(tg_picture_create(&picture, &desc.layout, &params, NULL), TG_OK);
        assert_string_equal(picture->title, rows[i].shown);
        tg_picture_destroy(&picture);
    }
}

static void test_a_long_title_is_shortened(void **unused) {
    (void)unused;
    const tg_desc           desc = read_desc("f32[2]");
    char                    title[1000];
    const tg_picture_params params = {.title = title};
    tg_picture             *picture = NULL;
    memset(title, 'x', sizeof title - 1);
    title[sizeof title - 1] = '\0';
    assert_int_equal(tg_picture_create(&picture, &desc.layout, &params, NULL), TG_OK);
    const size_t n = strlen(picture->title);
    assert_true(n < sizeof picture->title && strcmp(picture->title + n - 4, "x...") == 0);
    tg_picture_destroy(&picture);
}

/* ---- what is left out ------------------------------------------------------------------------------- */

static bool is_shown(const tg_pick *picks, int32_t n, int64_t index) {
    for (int32_t k = 0; k < n; k++)
        if (picks[k].hidden == 0 && picks[k].index == index) return true;
    return false;
}

static void check_choice(int64_t n, int32_t room, int64_t must) {
    tg_pick       picks[TG_MAX_PICKS];
    const int32_t npicks = tg_tracks_choose(picks, n, room, &must, 1);
    int64_t       next = 0;
    for (int32_t k = 0; k < npicks; k++) {
        assert_int_equal(picks[k].index, next);
        next += picks[k].hidden > 0 ? picks[k].hidden : 1;
    }
    assert_int_equal(next, n);
    assert_true(npicks <= (room > 5 ? room : 5));
    if (n <= room) assert_int_equal(npicks, n);
    if (n > 0) assert_true(is_shown(picks, npicks, 0) && is_shown(picks, npicks, n - 1));
    if (must >= 0 && must < n) assert_true(is_shown(picks, npicks, must));
}

static void test_tracks(void **unused) {
    (void)unused;
    for (int64_t n = 0; n <= 30; n++)
        for (int32_t room = TG_FEWEST_COLS; room <= TG_MAX_PICKS; room++)
            for (int64_t must = -1; must <= n; must++) check_choice(n, room, must);
    for (int64_t must = -1; must < 5; must++) check_choice(INT64_MAX, 7, must < 4 ? must : INT64_MAX - 2);
}

/* The table at the head of tracks.c. */
static void test_tracks_as_told(void **unused) {
    (void)unused;
    tg_pick       picks[TG_MAX_PICKS];
    const int64_t must = 40;
    assert_int_equal(tg_tracks_choose(picks, 100, 7, &must, 1), 7);
    static const tg_pick told[] = {{0, 0}, {1, 0}, {2, 38}, {40, 0}, {41, 57}, {98, 0}, {99, 0}};
    for (size_t k = 0; k < sizeof told / sizeof told[0]; k++) {
        assert_int_equal(picks[k].index, told[k].index);
        assert_int_equal(picks[k].hidden, told[k].hidden);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),   cmocka_unit_test(test_a_layout_that_is_none),
        cmocka_unit_test(test_no_memory),  cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_stories_refused),
        cmocka_unit_test(test_a_search_that_goes_back),
        cmocka_unit_test(test_example),    cmocka_unit_test(test_splits_of_no_elements),
        cmocka_unit_test(test_a_stick_of_several_cores),
        cmocka_unit_test(test_titles),     cmocka_unit_test(test_wishes_of_a_notation),
        cmocka_unit_test(test_a_long_title_is_shortened),
        cmocka_unit_test(test_tracks),     cmocka_unit_test(test_tracks_as_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
