/* A layout and, on the next line, a view of it as PyTorch writes it. What the answer says is looked up element by
 * element: a free view is read through the expressions, an element that is missing is missing and none before it is,
 * and what naive readers are said to get wrong is where the answer says. */
#include <tegula/view.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_ELEMENTS = 1 << 12 };

static int64_t device_at[MAX_ELEMENTS]; /* by host offset; -1: no element */
static bool    has_table;

static void require(bool holds) {
    if (!holds) abort();
}

static bool next(int64_t *coord, const int64_t *shape, int32_t ndim) {
    for (int32_t d = ndim; d-- > 0;) {
        if (++coord[d] < shape[d]) return true;
        coord[d] = 0;
    }
    return false;
}

static int64_t count(const tg_view *v) {
    int64_t n = 1;
    for (int32_t d = 0; d < v->ndim; d++) {
        if (v->shape[d] == 0) return 0;
        if (v->shape[d] > MAX_ELEMENTS) n = MAX_ELEMENTS + 1;
        else if (n <= MAX_ELEMENTS) n *= v->shape[d];
    }
    return n;
}

static int64_t host_offset(const tg_view *v, const int64_t *coord) {
    int64_t x = v->offset;
    for (int32_t d = 0; d < v->ndim; d++) x += coord[d] * v->strides[d];
    return x;
}

/* Where the element at a host offset lies; the first of those that share a place. */
static void fill_table(const tg_desc *tensor, const tg_view *base) {
    int64_t coord[TG_MAX_NDIM] = {0};
    has_table = count(base) <= MAX_ELEMENTS;
    for (int i = 0; i < MAX_ELEMENTS; i++) device_at[i] = -1;
    if (!has_table || count(base) == 0) return;
    do {
        const int64_t x = host_offset(base, coord);
        has_table = x >= 0 && x < MAX_ELEMENTS;
        if (has_table && device_at[x] < 0) device_at[x] = tg_layout_offset(&tensor->layout, coord);
    } while (has_table && next(coord, base->shape, base->ndim));
}

static int64_t look_up(int64_t x) { return x < 0 || x >= MAX_ELEMENTS ? -1 : device_at[x]; }

static bool is_at(const tg_naive *n, const int64_t *coord, int32_t ndim) {
    return n->state == TG_NAIVE_WRONG && memcmp(n->coord, coord, (size_t)ndim * sizeof *coord) == 0;
}

static void check_elements(const tg_view_answer *a, const tg_view *v) {
    int64_t coord[TG_MAX_NDIM] = {0};
    do {
        const int64_t x = host_offset(v, coord), device = look_up(x);
        if (a->verdict == TG_VIEW_IMPOSSIBLE) {
            const bool named = memcmp(a->coord, coord, (size_t)v->ndim * sizeof *coord) == 0;
            require(named == (device < 0));
            if (named) return;
            continue;
        }
        require(device >= 0);
        if (a->verdict == TG_VIEW_FREE) require(tg_view_device_offset(a, coord) == device);
        if (is_at(&a->rule, coord, v->ndim)) require(a->rule.right == device && a->rule.read != device);
        if (is_at(&a->own, coord, v->ndim)) require(a->own.right == device && a->own.read != device);
    } while (next(coord, v->shape, v->ndim));
    require(a->verdict != TG_VIEW_IMPOSSIBLE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static tg_desc        tensor, target;
    static tg_view_answer answer;
    const uint8_t        *line = memchr(data, '\n', size);
    tg_view               base, view;
    tg_error              err = {.message = ""};
    char                  text[256];
    if (line == NULL || tg_desc_parse(&tensor, (const char *)data, (size_t)(line - data), NULL) != TG_OK) return 0;
    if (tg_view_of(&base, &tensor, NULL) != TG_OK) return 0;
    const size_t len = size - (size_t)(line - data) - 1;
    if (tg_view_parse(&view, &base, (const char *)line + 1, len, &err) != TG_OK) {
        require(err.message[0] != '\0' && err.pos <= len);
        return 0;
    }
    (void)tg_view_target(&target, &tensor, &view, NULL);
    if (tg_view_judge(&answer, &tensor, &view, &err) != TG_OK) {
        require(err.message[0] != '\0');
        return 0;
    }
    (void)tg_view_format_access(text, sizeof text, &answer);
    fill_table(&tensor, &base);
    if (has_table && count(&view) > 0 && count(&view) <= MAX_ELEMENTS) check_elements(&answer, &view);
    return 0;
}
