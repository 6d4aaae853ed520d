/* Values of attributes about dimensions: slices, padding, windows, labels of convolutions. */
#include "hlo/hlo_value.h"

#include "base/error.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* ---- slices --------------------------------------------------------------------------- */

/* [start:limit] or [start:limit:stride] */
static tg_status take_slice(tg_hlo_slice *out, tg_cursor *c, tg_error *err) {
    *out = (tg_hlo_slice){0, 0, 1};
    tg_status status = tg_hlo_value_char(c, '[', "'['", err);
    if (status == TG_OK) status = tg_hlo_value_int(&out->start, c, err);
    if (status == TG_OK) status = tg_hlo_value_char(c, ':', "':' behind the start", err);
    if (status == TG_OK) status = tg_hlo_value_int(&out->limit, c, err);
    if (status == TG_OK && tg_take_char(c, ':')) status = tg_hlo_value_int(&out->stride, c, err);
    return status == TG_OK ? tg_hlo_value_char(c, ']', "']' behind the slice", err) : status;
}

static tg_status walk_slices(tg_hlo_slice *out, size_t cap, size_t *count, tg_hlo_text value, tg_error *err) {
    tg_cursor c = tg_hlo_value_cursor(value);
    size_t    n = 0;
    tg_status status = tg_hlo_value_char(&c, '{', "'{'", err);
    if (status != TG_OK) return status;
    if (!tg_take_char(&c, '}')) {
        do {
            tg_hlo_slice slice;
            status = take_slice(&slice, &c, err);
            if (status != TG_OK) return status;
            if (n < cap) out[n] = slice;
            n++;
        } while (tg_take_char(&c, ','));
        status = tg_hlo_value_char(&c, '}', "',' or '}' behind the slice", err);
        if (status != TG_OK) return status;
    }
    status = tg_hlo_value_end(&c, err);
    if (status == TG_OK) *count = n;
    return status;
}

tg_status tg_hlo_read_slices(tg_hlo_slice *out, size_t cap, size_t *count, tg_hlo_text value, tg_error *err) {
    const tg_status status = walk_slices(NULL, 0, count, value, err);
    return status == TG_OK && cap > 0 ? walk_slices(out, cap, count, value, err) : status;
}

/* ---- padding -------------------------------------------------------------------------- */

/* low_high or low_high_interior */
static tg_status take_padding(tg_hlo_padding *out, tg_cursor *c, tg_error *err) {
    *out = (tg_hlo_padding){0, 0, 0};
    tg_status status = tg_hlo_value_int(&out->low, c, err);
    if (status == TG_OK) status = tg_hlo_value_char(c, '_', "'_' behind the low padding", err);
    if (status == TG_OK) status = tg_hlo_value_int(&out->high, c, err);
    if (status == TG_OK && tg_take_char(c, '_')) status = tg_hlo_value_int(&out->interior, c, err);
    return status;
}

static tg_status walk_padding(tg_hlo_padding *out, size_t cap, size_t *count, tg_hlo_text value, tg_error *err) {
    tg_cursor c = tg_hlo_value_cursor(value);
    size_t    n = 0;
    if (tg_at_end(&c)) { /* of a scalar */
        *count = 0;
        return TG_OK;
    }
    do {
        tg_hlo_padding  padding;
        const tg_status status = take_padding(&padding, &c, err);
        if (status != TG_OK) return status;
        if (n < cap) out[n] = padding;
        n++;
    } while (tg_take_char(&c, 'x'));
    const tg_status status = tg_hlo_value_end(&c, err);
    if (status == TG_OK) *count = n;
    return status;
}

tg_status tg_hlo_read_padding(tg_hlo_padding *out, size_t cap, size_t *count, tg_hlo_text value, tg_error *err) {
    const tg_status status = walk_padding(NULL, 0, count, value, err);
    return status == TG_OK && cap > 0 ? walk_padding(out, cap, count, value, err) : status;
}

/* ---- windows -------------------------------------------------------------------------- */

/* What one number, or pair, of a field does to its dimension. */
typedef tg_status (*take_number)(tg_hlo_window_dim *dim, tg_cursor *c, tg_error *err);

static tg_status take_size(tg_hlo_window_dim *dim, tg_cursor *c, tg_error *err) {
    return tg_hlo_value_int(&dim->size, c, err);
}

static tg_status take_stride(tg_hlo_window_dim *dim, tg_cursor *c, tg_error *err) {
    return tg_hlo_value_int(&dim->stride, c, err);
}

static tg_status take_lhs_dilate(tg_hlo_window_dim *dim, tg_cursor *c, tg_error *err) {
    return tg_hlo_value_int(&dim->lhs_dilate, c, err);
}

static tg_status take_rhs_dilate(tg_hlo_window_dim *dim, tg_cursor *c, tg_error *err) {
    return tg_hlo_value_int(&dim->rhs_dilate, c, err);
}

static tg_status take_reversal(tg_hlo_window_dim *dim, tg_cursor *c, tg_error *err) {
    int64_t         number = 0;
    const tg_status status = tg_hlo_value_int(&number, c, err);
    dim->reversal = number != 0;
    return status;
}

static tg_status take_pad(tg_hlo_window_dim *dim, tg_cursor *c, tg_error *err) {
    tg_status status = tg_hlo_value_int(&dim->low, c, err);
    if (status == TG_OK) status = tg_hlo_value_char(c, '_', "'_' behind the low padding", err);
    return status == TG_OK ? tg_hlo_value_int(&dim->high, c, err) : status;
}

static const struct { const char *key; take_number take; } window_fields[] = {
    {"size", take_size},           {"stride", take_stride},         {"pad", take_pad},
    {"lhs_dilate", take_lhs_dilate}, {"rhs_dilate", take_rhs_dilate}, {"rhs_reversal", take_reversal},
};

/* "3x3": a number for each dimension; those beyond cap are read and dropped. */
static tg_status walk_numbers(tg_hlo_window_dim *dims, size_t cap, size_t *count, tg_hlo_text numbers,
                              take_number take, tg_error *err) {
    tg_cursor         c = tg_hlo_value_cursor(numbers);
    tg_hlo_window_dim dropped;
    size_t            n = 0;
    do {
        const tg_status status = take(n < cap ? &dims[n] : &dropped, &c, err);
        if (status != TG_OK) return status;
        n++;
    } while (tg_take_char(&c, 'x'));
    *count = n;
    return tg_hlo_value_end(&c, err);
}

/* The failure is about a field; its place is to be one in the whole value. */
static tg_status fail_in_field(tg_status status, tg_hlo_text value, tg_hlo_text field, tg_error *err) {
    if (err != NULL) err->pos += (size_t)(field.chars - value.chars);
    return status;
}

static tg_status walk_field(tg_hlo_window_dim *dims, size_t cap, size_t ndims, tg_hlo_text value,
                            const tg_hlo_attribute *field, tg_error *err) {
    size_t i = 0, n = 0;
    while (i < COUNT(window_fields) && !tg_hlo_text_is(field->key, window_fields[i].key)) i++;
    if (i == COUNT(window_fields))
        return tg_fail_at(err, field->pos, "not a window: it has no field '%t'", field->key.chars, field->key.len);
    const tg_status status = walk_numbers(dims, cap, &n, field->value, window_fields[i].take, err);
    if (status != TG_OK) return fail_in_field(status, value, field->value, err);
    if (n == ndims) return TG_OK;
    return tg_fail_at(err, field->pos, "not a window: %d numbers of '%t', and size has %d", (int64_t)n,
                      field->key.chars, field->key.len, (int64_t)ndims);
}

static tg_status count_dims(size_t *ndims, tg_hlo_text value, tg_error *err) {
    tg_hlo_text size;
    *ndims = 0;
    if (!tg_hlo_find_field(&size, value, "size")) return TG_OK;
    const tg_status status = walk_numbers(NULL, 0, ndims, size, take_size, err);
    return status == TG_OK ? TG_OK : fail_in_field(status, value, size, err);
}

/* The fields one after the other, then the closing brace. */
static tg_status walk_window(tg_hlo_window_dim *dims, size_t cap, size_t *ndims, tg_hlo_text value, tg_error *err) {
    tg_hlo_attribute field;
    size_t           pos = 0;
    tg_status        status = count_dims(ndims, value, err);
    while (status == TG_OK && tg_hlo_next_field(&field, value, &pos))
        status = walk_field(dims, cap, *ndims, value, &field, err);
    if (status != TG_OK) return status;
    tg_cursor c = tg_hlo_value_cursor(value);
    c.pos = pos;
    if (pos == 0) status = tg_hlo_value_char(&c, '{', "'{'", err);
    if (status == TG_OK) status = tg_hlo_value_char(&c, '}', "'key=value' or '}'", err);
    return status == TG_OK ? tg_hlo_value_end(&c, err) : status;
}

tg_status tg_hlo_read_window(tg_hlo_window_dim *out, size_t cap, size_t *count, tg_hlo_text value, tg_error *err) {
    size_t          ndims = 0;
    const tg_status status = walk_window(NULL, 0, &ndims, value, err);
    if (status != TG_OK) return status;
    for (size_t i = 0; i < cap && i < ndims; i++)
        out[i] = (tg_hlo_window_dim){.size = 1, .stride = 1, .lhs_dilate = 1, .rhs_dilate = 1};
    *count = ndims;
    return cap > 0 ? walk_window(out, cap, &ndims, value, err) : TG_OK;
}

/* ---- labels --------------------------------------------------------------------------- */

enum { MISSING = -1 };

/* The labels of one side. */
typedef struct labels {
    int32_t ndim, nspatial;
    int32_t first, second; /* b and f, or i and o */
    int32_t spatial[TG_MAX_NDIM];
} labels;

/* The place that the label's dimension is to be written to, NULL if the label is none of this side. */
static int32_t *place_of(labels *side, int label, char first, char second) {
    if (label == first) return &side->first;
    if (label == second) return &side->second;
    if (label >= '0' && label <= '9') return &side->spatial[label - '0'];
    return NULL;
}

static labels no_labels(void) {
    labels side = {.first = MISSING, .second = MISSING};
    for (int32_t d = 0; d < TG_MAX_NDIM; d++) side.spatial[d] = MISSING;
    return side;
}

static bool is_complete(const labels *side) {
    bool complete = side->first != MISSING && side->second != MISSING;
    for (int32_t d = 0; d < side->nspatial; d++) complete = complete && side->spatial[d] != MISSING;
    return complete;
}

/* Takes the labels up to anything that is none. */
static tg_status take_labels(labels *out, tg_cursor *c, char first, char second, tg_error *err) {
    *out = no_labels();
    const tg_cursor start = *c;
    for (;; c->pos++, out->ndim++) {
        const int label = tg_peek(c);
        int32_t  *place = place_of(out, label, first, second);
        if (label != '?' && place == NULL) break;
        if (out->ndim == TG_MAX_NDIM || (place != NULL && *place != MISSING))
            return tg_hlo_value_fail(c, "each label once and few", err);
        if (place != NULL) *place = out->ndim;
        if (label >= '0' && label <= '9') out->nspatial++;
    }
    return is_complete(out) ? TG_OK : tg_hlo_value_fail(&start, "labels b f, i o and 0 1 2 ... of all dimensions", err);
}

static void copy_spatial(int32_t *out, const labels *side) {
    for (int32_t d = 0; d < TG_MAX_NDIM; d++) out[d] = d < side->nspatial ? side->spatial[d] : 0;
}

tg_status tg_hlo_read_dim_labels(tg_hlo_dim_labels *out, tg_hlo_text value, tg_error *err) {
    labels    input, kernel, output;
    tg_cursor c = tg_hlo_value_cursor(value);
    tg_status status = take_labels(&input, &c, 'b', 'f', err);
    if (status == TG_OK) status = tg_hlo_value_char(&c, '_', "'_' behind the input's labels", err);
    if (status == TG_OK) status = take_labels(&kernel, &c, 'i', 'o', err);
    if (status == TG_OK) status = tg_hlo_value_char(&c, '-', "'->' behind the kernel's labels", err);
    if (status == TG_OK) status = tg_hlo_value_char(&c, '>', "'->' behind the kernel's labels", err);
    if (status == TG_OK) status = take_labels(&output, &c, 'b', 'f', err);
    if (status == TG_OK) status = tg_hlo_value_end(&c, err);
    if (status != TG_OK) return status;
    if (input.nspatial != kernel.nspatial || input.nspatial != output.nspatial)
        return tg_hlo_value_fail(&c, "as many spatial dimensions on each side", err);
    out->nspatial = input.nspatial;
    out->input_batch = input.first;
    out->input_feature = input.second;
    out->kernel_input_feature = kernel.first;
    out->kernel_output_feature = kernel.second;
    out->output_batch = output.first;
    out->output_feature = output.second;
    copy_spatial(out->input_spatial, &input);
    copy_spatial(out->kernel_spatial, &kernel);
    copy_spatial(out->output_spatial, &output);
    return TG_OK;
}
