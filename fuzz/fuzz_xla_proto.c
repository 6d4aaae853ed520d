/* XLA's protos: any bytes give a value or an error within the bytes, as a shape, a layout and a program shape.
 * What was read is written, and reads back the same; it prints to text that reads back too. The memory that reading
 * takes is the library's to bound. */
#include <tegula/xla_proto.h>

#include <stdlib.h>
#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *allocate(size_t size) {
    void *p = malloc(size + 1);
    if (p == NULL) abort();
    return p;
}

static void check_error(const tg_error *err, tg_status status, size_t size) {
    CHECK(status == TG_ERR_PARSE || status == TG_ERR_LIMIT || status == TG_ERR_UNSUPPORTED);
    CHECK(err->status == status && err->pos <= size);
    CHECK(err->message[0] != '\0' && memchr(err->message, '\0', sizeof err->message) != NULL);
    CHECK(strchr(err->message, '\n') == NULL);
    CHECK(strstr(err->message, "says protobuf-c") == NULL); /* the check before it leaves nothing to refuse */
}

/* ---- shapes ------------------------------------------------------------------- */

typedef struct shape {
    tg_xla_shape *nodes;
    size_t        count;
} shape;

/* nodes == NULL if it is none. Counting and storing must agree. */
static shape read_shape(const uint8_t *data, size_t size) {
    shape           s = {NULL, 0};
    tg_error        err;
    const tg_status status = tg_xla_shape_from_proto(NULL, 0, &s.count, data, size, &err);
    if (status != TG_OK) {
        check_error(&err, status, size);
        return s;
    }
    size_t again = 0;
    s.nodes = allocate(s.count * sizeof *s.nodes);
    CHECK(tg_xla_shape_from_proto(s.nodes, s.count, &again, data, size, NULL) == TG_OK && again == s.count);
    for (size_t i = 0; i < s.count; i++)
        CHECK(s.nodes[i].pos <= size && (i == 0 || s.nodes[i].pos > s.nodes[i - 1].pos));
    return s;
}

static uint8_t *write_shape(const tg_xla_shape *nodes, size_t count, size_t *size) {
    tg_error err;
    CHECK(tg_xla_shape_to_proto(NULL, 0, size, nodes, count, &err) == TG_OK);
    uint8_t *bytes = allocate(*size);
    CHECK(tg_xla_shape_to_proto(bytes, *size, size, nodes, count, NULL) == TG_OK);
    return bytes;
}

/* The second writing must give the bytes of the first; bytes are all there is to a shape. */
static void check_shape(const tg_xla_shape *nodes, size_t count) {
    size_t      once_size, twice_size;
    uint8_t    *once = write_shape(nodes, count, &once_size);
    const shape back = read_shape(once, once_size);
    CHECK(back.nodes != NULL && back.count == count);
    uint8_t *twice = write_shape(back.nodes, back.count, &twice_size);
    CHECK(once_size == twice_size && memcmp(once, twice, once_size) == 0);
    CHECK(tg_xla_shape_format(NULL, 0, nodes, count, true) == tg_xla_shape_format(NULL, 0, back.nodes, count, true));
    free(twice);
    free(back.nodes);
    free(once);
}

static void try_shape(const uint8_t *data, size_t size) {
    const shape s = read_shape(data, size);
    if (s.nodes == NULL) return;
    CHECK(tg_xla_shape_format(NULL, 0, s.nodes, s.count, true) > 0);
    (void)tg_xla_shape_validate(s.nodes, s.count, NULL);
    check_shape(s.nodes, s.count);
    free(s.nodes);
}

/* ---- layouts ------------------------------------------------------------------ */

static void try_layout(const uint8_t *data, size_t size) {
    tg_xla_layout   layout, back;
    tg_error        err;
    const tg_status status = tg_xla_layout_from_proto(&layout, data, size, &err);
    if (status != TG_OK) {
        check_error(&err, status, size);
        return;
    }
    uint8_t once[4096], twice[4096];
    size_t  once_size, twice_size;
    CHECK(tg_xla_layout_to_proto(once, sizeof once, &once_size, &layout, NULL) == TG_OK && once_size <= sizeof once);
    CHECK(tg_xla_layout_from_proto(&back, once, once_size, NULL) == TG_OK);
    CHECK(tg_xla_layout_to_proto(twice, sizeof twice, &twice_size, &back, NULL) == TG_OK);
    CHECK(once_size == twice_size && memcmp(once, twice, once_size) == 0);
}

/* ---- program shapes -------------------------------------------------------------- */

static void check_names(const tg_xla_program_shape *a, const tg_xla_program_shape *b) {
    CHECK(a->nparameters == b->nparameters && a->node_count == b->node_count);
    for (size_t i = 0; i < a->nparameters; i++)
        CHECK(a->names[i].len == b->names[i].len && memcmp(a->names[i].text, b->names[i].text, a->names[i].len) == 0);
}

/* False if it is none. The arrays are for the caller to free. */
static bool read_program(tg_xla_program_shape *p, const uint8_t *data, size_t size) {
    tg_error err;
    *p = (tg_xla_program_shape){.nodes = NULL};
    const tg_status status = tg_xla_program_shape_from_proto(p, data, size, &err);
    if (status != TG_OK) {
        check_error(&err, status, size);
        return false;
    }
    p->node_cap = p->node_count;
    p->name_cap = p->nparameters;
    p->nodes = allocate(p->node_cap * sizeof *p->nodes);
    p->names = allocate(p->name_cap * sizeof *p->names);
    CHECK(tg_xla_program_shape_from_proto(p, data, size, NULL) == TG_OK);
    CHECK(p->node_cap == p->node_count && p->name_cap == p->nparameters);
    for (size_t i = 0; i < p->nparameters; i++)
        CHECK(p->names[i].len <= size && (const uint8_t *)p->names[i].text <= data + size - p->names[i].len);
    return true;
}

static void try_program(const uint8_t *data, size_t size) {
    tg_xla_program_shape p, back;
    size_t               once_size = 0, twice_size = 0;
    if (!read_program(&p, data, size)) return;
    CHECK(tg_xla_program_shape_to_proto(NULL, 0, &once_size, &p, NULL) == TG_OK);
    uint8_t *once = allocate(once_size), *twice = allocate(once_size);
    CHECK(tg_xla_program_shape_to_proto(once, once_size, &once_size, &p, NULL) == TG_OK);
    CHECK(read_program(&back, once, once_size));
    check_names(&p, &back);
    CHECK(tg_xla_program_shape_to_proto(twice, once_size, &twice_size, &back, NULL) == TG_OK);
    CHECK(once_size == twice_size && memcmp(once, twice, once_size) == 0);
    free(twice);
    free(once);
    free(back.names);
    free(back.nodes);
    free(p.names);
    free(p.nodes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    try_shape(data, size);
    try_layout(data, size);
    try_program(data, size);
    return 0;
}
