/* tegula/xla.h on any two shapes: every function answers or says why not, what it writes is valid, and what promises to
 * move no byte moves none. The input is four bytes of arguments and two lines of shape text. */
#include <tegula/xla.h>

#include <stdlib.h>
#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_NODES = 64, ARGUMENTS = 4 };

typedef struct shape {
    tg_xla_shape nodes[MAX_NODES];
    size_t       count;
} shape;

static tg_error err;

/* True if the call succeeded; a failure must say what and why. */
static bool ok(tg_status status) {
    if (status == TG_OK) return true;
    CHECK(err.status == status && err.message[0] != '\0' && strchr(err.message, '\n') == NULL);
    return false;
}

static bool read_shape(shape *s, const char *text, size_t len) {
    return ok(tg_xla_shape_parse(s->nodes, MAX_NODES, &s->count, text, len, &err)) && s->count <= MAX_NODES;
}

static void check_valid(const tg_xla_shape *array) { CHECK(tg_xla_shape_validate(array, 1, NULL) == TG_OK); }

/* Decided with yes, or not decided. */
static void check_reshape(const tg_xla_shape *a, const tg_xla_shape *b) {
    bool yes = true;
    check_valid(b);
    if (a->layout.nsplits == 0 && ok(tg_xla_reshape_is_bitcast(&yes, NULL, a, b, false, &err))) CHECK(yes);
}

static void check_transpose(const tg_xla_shape *a, const tg_xla_shape *b, const int32_t *perm) {
    bool yes = true;
    check_valid(b);
    if (ok(tg_xla_transpose_is_bitcast(&yes, NULL, a, b, perm, true, &err))) CHECK(yes);
}

static void check_edits(const tg_xla_shape *a, int32_t at, int64_t n) {
    tg_xla_shape  out, back;
    bool          same = true;
    const int64_t sizes[] = {n, 3};
    const int32_t inserted[] = {at, at + 1};
    if (ok(tg_xla_insert_dimensions(&out, a, at, sizes, 2, &err))) {
        check_valid(&out);
        CHECK(tg_xla_delete_dimensions(&back, &out, inserted, 2, &err) == TG_OK);
        if (ok(tg_xla_shape_equal(&same, NULL, a, 1, &back, 1, &err)) && a->layout.nsplits == 0) CHECK(same);
    }
    if (ok(tg_xla_delete_dimensions(&out, a, &at, 1, &err))) check_valid(&out);
    if (ok(tg_xla_append_major_dimension(&out, a, n, &err))) check_valid(&out);
    if (ok(tg_xla_prepend_major_dimension(&out, a, n, &err))) check_valid(&out);
    if (ok(tg_xla_drop_degenerate_dimensions(&out, a, &err))) check_reshape(a, &out);
    if (ok(tg_xla_make_descending(&out, a, &err))) {
        int32_t order[TG_MAX_NDIM];
        CHECK(tg_xla_major_to_minor(order, &a->layout, &err) == TG_OK);
        check_transpose(a, &out, order);
    }
    if (ok(tg_xla_move_dim_to_major(&out.layout, &a->layout, at, &err)))
        CHECK(out.layout.minor_to_major[out.layout.ndim - 1] == at);
}

static void check_pair(const tg_xla_shape *a, const tg_xla_shape *b) {
    tg_xla_shape     out;
    tg_xla_bitcast   bitcast;
    tg_xla_unit_dims units;
    tg_xla_witness   w;
    tg_xla_pair      pairs[TG_MAX_NDIM];
    int32_t          perm[TG_MAX_NDIM], n;
    bool             yes;
    (void)ok(tg_xla_reshape_is_bitcast(&yes, &w, a, b, true, &err));
    (void)ok(tg_xla_reshape_is_bitcast_untiled(&yes, a, b, true, &err));
    if (ok(tg_xla_deduce_transpose(&yes, perm, a, b, &err)) && yes) check_transpose(a, b, perm);
    if (ok(tg_xla_deduce_transpose_untiled(&yes, perm, a, b, &err)) && yes)
        CHECK(tg_xla_transpose_is_bitcast_untiled(&yes, a, b, perm, true, &err) == TG_OK && yes);
    if (ok(tg_xla_decompose_bitcast(&bitcast, a, b, &err)) && bitcast.kind == TG_XLA_BITCAST_TRT)
        check_valid(&bitcast.reshape_shape);
    (void)ok(tg_xla_decompose_bitcast_untiled(&bitcast, a, b, &err));
    if (ok(tg_xla_align_layouts(&yes, &out, a, b->ndim, b->dims, &err)) && yes) check_reshape(a, &out);
    if (ok(tg_xla_align_layouts_untiled(&yes, &out, a, b->ndim, b->dims, &err)) && yes) check_valid(&out);
    (void)ok(tg_xla_dims_unmodified_by_reshape(&n, pairs, a, b, &err));
    (void)ok(tg_xla_inserted_or_deleted_units(&yes, &units, a, b, &err));
}

static void check_numbers(const tg_xla_shape *a, int64_t linear, int32_t dim) {
    tg_slot slot;
    int64_t index[TG_MAX_NDIM] = {0}, n, back, strides[TG_MAX_NDIM];
    bool    yes;
    if (ok(tg_xla_multi_index(&slot, index, a, linear, &err)) && slot == TG_SLOT_DATA) {
        CHECK(tg_xla_linear_index(&back, a, index, &err) == TG_OK && back == linear);
        CHECK(tg_xla_index_in_bounds(a, index, a->ndim, NULL));
        (void)tg_xla_bump_index(index, a);
    }
    (void)ok(tg_xla_multi_index_untiled(&slot, index, a, linear, &err));
    (void)ok(tg_xla_linear_index_first_tile(&back, a, index, &err));
    (void)ok(tg_xla_byte_strides(strides, a, &err));
    (void)ok(tg_xla_byte_strides_untiled(strides, a, &err));
    (void)ok(tg_xla_array_size_first_tile(&n, a, &err));
    (void)ok(tg_xla_array_size_per_split(&n, a, &err));
    (void)ok(tg_xla_max_split_size(&n, a, dim, &err));
    (void)ok(tg_xla_is_untiled(&yes, a, &err));
    (void)ok(tg_xla_packed_factor(&n, a, &err));
    (void)ok(tg_xla_is_effectively_most_major(&yes, a, dim, &err));
    (void)ok(tg_xla_array_data_size_first_tile(&n, a, &err));
    if (ok(tg_xla_array_data_size(&n, a, &err)) && ok(tg_xla_array_size(&back, a, &err))) CHECK(n <= back);
}

static void check_trees(shape *a, const shape *b, size_t node) {
    bool    yes;
    size_t  npath, first, length, leaves;
    int64_t path[8], n;
    if (ok(tg_xla_shape_index(path, 8, &npath, a->nodes, a->count, node, &err)) && npath <= 8) {
        CHECK(tg_xla_subshape(&first, &length, a->nodes, a->count, path, npath, &err) == TG_OK);
        CHECK(first == node || (first + 1 == node && a->nodes[first].kind == TG_XLA_BUFFER));
    }
    if (ok(tg_xla_leaf_count(&leaves, a->nodes, a->count, &err))) CHECK(leaves <= a->count);
    (void)ok(tg_xla_elements(&n, a->nodes, a->count, &err));
    (void)ok(tg_xla_byte_size(&n, a->nodes, a->count, 8, &err));
    if (ok(tg_xla_shape_equal(&yes, NULL, a->nodes, a->count, a->nodes, a->count, &err))) CHECK(yes);
    (void)ok(tg_xla_shape_equal(&yes, NULL, a->nodes, a->count, b->nodes, b->count, &err));
    (void)ok(tg_xla_dynamic_is_compatible(&yes, a->nodes, a->count, b->nodes, b->count, &err));
    CHECK(tg_xla_shape_equal_fields(&yes, a->nodes, a->count, a->nodes, a->count, 0, &err) == TG_OK && yes);
    (void)ok(tg_xla_copy_layouts(a->nodes, a->count, b->nodes, b->count, &err));
    (void)ok(tg_xla_set_packing(a->nodes, a->count, (node & 1) != 0, &err));
    (void)ok(tg_xla_device_to_host(a->nodes, a->count, &err));
    if (ok(tg_xla_set_default_layouts(a->nodes, a->count, &err)))
        (void)ok(tg_xla_shape_validate(a->nodes, a->count, &err));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static shape a, b;
    if (size < ARGUMENTS) return 0;
    const char  *text = (const char *)data + ARGUMENTS, *end = (const char *)data + size;
    const char  *line = memchr(text, '\n', (size_t)(end - text));
    if (line == NULL || !read_shape(&a, text, (size_t)(line - text)) ||
        !read_shape(&b, line + 1, (size_t)(end - line - 1)))
        return 0;
    if (a.nodes->kind == TG_XLA_ARRAY) {
        check_edits(a.nodes, data[0] % 17, data[1]);
        check_numbers(a.nodes, data[2] * (int64_t)data[3] - 1, data[0] % 17);
        check_pair(a.nodes, b.nodes);
    }
    check_trees(&a, &b, data[3] % MAX_NODES);
    return 0;
}
