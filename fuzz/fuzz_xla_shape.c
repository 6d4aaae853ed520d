/* XLA shape text: any bytes give a shape or an error within the bytes; a shape prints to text that
 * reads back to the same text, with layouts and without; a valid shape may stand in a tuple. The same
 * bytes are tried as a layout alone. */
#include <tegula/tegula.h>

#include <stdlib.h>
#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct text {
    char  *chars;
    size_t len;
} text;

typedef struct shape {
    tg_xla_shape *nodes;
    size_t        count;
} shape;

static void *allocate(size_t size) {
    void *p = malloc(size + 1);
    if (p == NULL) abort();
    return p;
}

static void check_error(const tg_error *err, tg_status status, size_t size) {
    CHECK(status == TG_ERR_PARSE || status == TG_ERR_LIMIT || status == TG_ERR_OVERFLOW ||
          status == TG_ERR_UNSUPPORTED);
    CHECK(err->status == status && err->pos <= size);
    CHECK(err->message[0] != '\0' && memchr(err->message, '\0', sizeof err->message) != NULL);
    CHECK(strchr(err->message, '\n') == NULL);
}

/* The nodes of a text, or nodes == NULL. Counting and storing must agree. */
static shape read_shape(const char *chars, size_t len) {
    shape           s = {NULL, 0};
    tg_error        err;
    const tg_status status = tg_xla_shape_parse(NULL, 0, &s.count, chars, len, &err);
    if (status != TG_OK) {
        check_error(&err, status, len);
        return s;
    }
    size_t again = 0;
    s.nodes = allocate(s.count * sizeof *s.nodes);
    CHECK(tg_xla_shape_parse(s.nodes, s.count, &again, chars, len, NULL) == TG_OK && again == s.count);
    for (size_t i = 0; i < s.count; i++) CHECK(s.nodes[i].pos < len);
    return s;
}

static text print_shape(const shape *s, bool with_layout) {
    text t = {NULL, tg_xla_shape_format(NULL, 0, s->nodes, s->count, with_layout)};
    CHECK(t.len > 0);
    t.chars = allocate(t.len);
    CHECK(tg_xla_shape_format(t.chars, t.len + 1, s->nodes, s->count, with_layout) == t.len);
    CHECK(strlen(t.chars) == t.len);
    return t;
}

static void check_round_trip(const shape *s, bool with_layout) {
    const text  once = print_shape(s, with_layout);
    const shape back = read_shape(once.chars, once.len);
    CHECK(back.nodes != NULL && back.count == s->count);
    const text twice = print_shape(&back, with_layout);
    CHECK(once.len == twice.len && memcmp(once.chars, twice.chars, once.len) == 0);
    free(once.chars);
    free(twice.chars);
    free(back.nodes);
}

static void check_valid_in_tuple(const shape *s) {
    if (tg_xla_shape_validate(s->nodes, s->count, NULL) != TG_OK) return;
    const text t = print_shape(s, true);
    char      *wrapped = allocate(t.len + 2);
    wrapped[0] = '(';
    memcpy(wrapped + 1, t.chars, t.len);
    wrapped[t.len + 1] = ')';
    size_t          count = 0;
    const tg_status status = tg_xla_shape_parse(NULL, 0, &count, wrapped, t.len + 2, NULL);
    CHECK(status == TG_ERR_LIMIT || (status == TG_OK && count == s->count + 1));
    free(wrapped);
    free(t.chars);
}

static void try_layout(const char *chars, size_t len) {
    tg_error        err;
    tg_xla_layout   layout, back;
    const tg_status status = tg_xla_layout_parse(&layout, chars, len, &err);
    if (status != TG_OK) {
        check_error(&err, status, len);
        return;
    }
    char         once[4096], twice[4096];
    const size_t n = tg_xla_layout_format(once, sizeof once, &layout);
    CHECK(n > 0 && n < sizeof once);
    CHECK(tg_xla_layout_parse(&back, once, n, NULL) == TG_OK);
    CHECK(tg_xla_layout_format(twice, sizeof twice, &back) == n && memcmp(once, twice, n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *chars = (const char *)data;
    const shape s = read_shape(chars, size);
    if (s.nodes != NULL) {
        check_round_trip(&s, true);
        check_round_trip(&s, false);
        check_valid_in_tuple(&s);
        free(s.nodes);
    }
    try_layout(chars, size);
    return 0;
}
