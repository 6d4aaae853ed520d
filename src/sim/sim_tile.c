/* Storage, tiles and numbers: everything goes through tg_plan_run, and differs in the layouts alone. */
#include "sim/sim_tile.h"

#include "base/checked.h"
#include "base/error.h"
#include "sim/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- formats ----------------------------------------------------------------------------------- */

/* The element type under which a format is converted, and the bytes of an element that nobody wrote. */
typedef struct form {
    tg_format format;
    tg_dtype  dtype;
    uint8_t   poison[4];
} form;

static const form forms[] = {
    {TG_SEN169_FP16, TG_F32, {0xFF, 0x7F, 0xFF, 0x7F}}, {TG_IEEE_FP32, TG_F32, {0xA5, 0xA5, 0xFF, 0x7F}},
    {TG_BFLOAT16, TG_F32, {0xFF, 0x7F, 0xFF, 0x7F}},    {TG_IEEE_FP16, TG_F32, {0xFF, 0x7F, 0xFF, 0x7F}},
    {TG_SEN143_FP8, TG_F32, {0x7F, 0x7F, 0x7F, 0x7F}},  {TG_IEEE_INT32, TG_S32, {0xA5, 0xA5, 0xA5, 0xA5}},
    {TG_IEEE_INT64, TG_S64, {0xA5, 0xA5, 0xA5, 0xA5}},  {TG_SENUINT32, TG_U32, {0xA5, 0xA5, 0xA5, 0xA5}},
    {TG_SENINT16, TG_S16, {0xA5, 0xA5, 0xA5, 0xA5}},    {TG_SENINT8, TG_S8, {0xA5, 0xA5, 0xA5, 0xA5}},
    {TG_SENINT4, TG_S4, {0xA5, 0xA5, 0xA5, 0xA5}},      {TG_SENINT2, TG_S2, {0xA5, 0xA5, 0xA5, 0xA5}},
    {TG_SENUINT2, TG_U2, {0xA5, 0xA5, 0xA5, 0xA5}},
};

static const form *find_form(tg_format format) {
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (forms[i].format == format) return &forms[i];
    return NULL;
}

/* ---- layouts -------------------------------------------------------------------------------------- */

/* The same memory, seen as a tensor that has n elements along dim; where it must be longer it gets more room, and then
 * gaps between its modes are to be closed. */
static tg_status set_extent(tg_layout *out, const tg_layout *in, int32_t dim, int64_t n, tg_error *err) {
    int32_t   order[TG_MAX_MODES], nmemory = 0, top = -1;
    tg_layout l = *in;
    for (int32_t m = 0; m < l.nmodes; m++) {
        if (l.mode[m].into == TG_TO_MEMORY) nmemory++;
        if (l.mode[m].axis == dim && (top < 0 || l.mode[m].weight > l.mode[top].weight)) top = m;
    }
    if (top < 0)
        return tg_fail(err, TG_ERR_UNSUPPORTED, "dimension %d has no place of its own in memory", (int64_t)dim);
    const bool grows = tg_ceil_div(n, l.mode[top].weight) > l.mode[top].size;
    if (grows) l.mode[top].size = tg_ceil_div(n, l.mode[top].weight);
    l.shape[dim] = l.axis_size[dim] = n;
    for (int32_t m = 0; m < l.nmodes; m++)
        if (l.mode[m].axis == dim) l.mode[m].count = tg_min(l.mode[m].size, tg_ceil_div(n, l.mode[m].weight));
    for (int32_t m = 0; m < nmemory; m++) order[m] = m;
    if (grows) return tg_layout_reorder(out, &l, order, err);
    *out = l;
    return tg_layout_validate(out, err);
}

static tg_status find_sticks(tg_tensor *t, const tg_spyre *spyre, tg_error *err) {
    const tg_mode *inner = &t->layout.mode[spyre->rank - 1];
    const bool     empty = tg_layout_numel(&t->layout) == 0;
    t->stick = spyre->device_size[spyre->rank - 1];
    t->stick_dim = TG_NO_DIM;
    t->lanes = t->layout;
    if (empty || inner->axis == TG_AXIS_PAD) return TG_OK;
    if (inner->axis < 0 || inner->axis >= t->host.ndim || inner->weight != 1 || t->layout.naxes > t->host.ndim ||
        spyre->arrangement != TG_STANDARD)
        return tg_fail(err, TG_ERR_UNSUPPORTED, "the sticks of a layout are no run of one dimension");
    t->stick_dim = inner->axis;
    const int64_t full = tg_ceil_div(t->host.shape[t->stick_dim], t->stick) * t->stick;
    return set_extent(&t->lanes, &t->layout, t->stick_dim, full, err);
}

tg_status tg_tensor_make(tg_tensor *out, const tg_spyre *spyre, const tg_host *host, tg_error *err) {
    const form *f = find_form(spyre->device_dtype);
    memset(out, 0, sizeof *out);
    if (f == NULL)
        return tg_fail(err, TG_ERR_UNSUPPORTED, "no conversion is known for %s", tg_format_name(spyre->device_dtype));
    out->host = *host;
    out->carrier = f->dtype == TG_F32 ? TG_F32 : TG_S64;
    out->fill_dim = TG_NO_DIM;
    tg_status s = tg_layout_from_spyre(&out->layout, spyre, host, err);
    if (s != TG_OK) return s;
    out->layout.dtype = f->dtype;
    s = find_sticks(out, spyre, err);
    return s == TG_OK ? tg_layout_nbytes(&out->nbytes, &out->layout, err) : s;
}

tg_status tg_tensor_extend(tg_tensor *out, const tg_tensor *in, int32_t dim, int64_t padded, tg_error *err) {
    tg_layout longer;
    *out = *in;
    out->storage = NULL;
    out->fill_dim = dim;
    if (padded <= in->lanes.shape[dim]) return TG_OK;
    tg_status s = set_extent(&longer, &in->layout, dim, padded, err);
    if (s == TG_OK) s = set_extent(&out->layout, &longer, dim, in->host.shape[dim], err);
    out->lanes = longer;
    if (s == TG_OK && in->stick_dim != TG_NO_DIM)
        s = set_extent(&out->lanes, &longer, in->stick_dim, in->lanes.shape[in->stick_dim], err);
    return s == TG_OK ? tg_layout_nbytes(&out->nbytes, &out->layout, err) : s;
}

/* ---- storage ----------------------------------------------------------------------------------------- */

tg_status tg_tensor_allocate(tg_tensor *t, tg_error *err) {
    t->storage = malloc((size_t)t->nbytes + 1);
    if (t->storage == NULL) return tg_fail(err, TG_ERR_NOMEM, "there is no memory for a tensor of %d bytes", t->nbytes);
    tg_tensor_poison(t);
    return TG_OK;
}

void tg_tensor_poison(tg_tensor *t) {
    const form *f = find_form(t->layout.format);
    uint8_t    *bytes = t->storage;
    uint32_t    word;
    memcpy(&word, f->poison, sizeof word);
    for (int64_t i = 0; i + 4 <= t->nbytes; i += 4) memcpy(bytes + i, &word, sizeof word);
    for (int64_t i = t->nbytes / 4 * 4; i < t->nbytes; i++) bytes[i] = f->poison[i % 4];
}

int64_t tg_poison_of(const tg_tensor *t) {
    return tg_wrap(INT64_C(0x25A5A5A5A5A5A5A5), t->layout.elem_bits,
                   tg_dtype_get_class(t->layout.dtype) == TG_CLASS_INT);
}

static tg_status move(const tg_layout *dst, void *to, const tg_layout *src, const void *from, const int64_t *begin,
                      const int64_t *end, tg_error *err) {
    tg_plan              plan;
    const tg_plan_params params = {.dst = dst, .src = src, .begin = begin, .end = end, .convert = true};
    const tg_status      s = tg_plan_init(&plan, &params, err);
    return s == TG_OK ? tg_plan_run(&plan, to, from, NULL, err) : s;
}

static tg_status strided(tg_layout *out, const tg_tensor *t, const int64_t *shape, const int64_t *stride,
                         tg_error *err) {
    return tg_layout_strided(out, t->carrier, t->host.ndim, shape, stride, 0, err);
}

tg_status tg_tensor_copy(tg_tensor *dst, const tg_tensor *src, tg_error *err) {
    return move(&dst->layout, dst->storage, &src->layout, src->storage, NULL, NULL, err);
}

tg_status tg_tensor_fill(tg_tensor *t, int32_t dim, int64_t valid, int64_t padded, float value, tg_error *err) {
    const int64_t   nowhere[TG_MAX_NDIM] = {0}, whole = (int64_t)value;
    int64_t         begin[TG_MAX_NDIM] = {0}, end[TG_MAX_NDIM];
    tg_layout       src, dst;
    const int64_t   n = tg_max(padded, t->lanes.shape[dim]);
    tg_status       s = set_extent(&dst, &t->layout, dim, n, err);
    if (s == TG_OK) s = strided(&src, t, dst.shape, nowhere, err);
    if (s != TG_OK) return s;
    memcpy(end, dst.shape, sizeof end);
    begin[dim] = valid;
    end[dim] = padded;
    return move(&dst, t->storage, &src, t->carrier == TG_F32 ? (const void *)&value : &whole, begin, end, err);
}

tg_status tg_tensor_write(tg_tensor *t, const void *data, tg_error *err) {
    tg_layout src, dst = t->layout;
    tg_status s = tg_layout_strided(&src, t->host.dtype, t->host.ndim, t->host.shape, t->host.strides, 0, err);
    if (s != TG_OK) return s;
    dst.dtype = t->host.dtype;
    return move(&dst, t->storage, &src, data, NULL, NULL, err);
}

/* ---- numbers -------------------------------------------------------------------------------------------- */

static float within(const tg_tensor *t, float x) {
    if (t->layout.format != TG_SEN169_FP16 || !(fabsf(x) > TG_LARGEST_SEN169)) return x;
    return x > 0 ? TG_LARGEST_SEN169 : -TG_LARGEST_SEN169;
}

/* As the type of the host tensor has it, and then as the format has it. */
static int64_t wrapped(const tg_tensor *t, int64_t x) {
    const tg_dtype dtype = t->host.dtype;
    const int32_t  bits = tg_dtype_bits(dtype);
    if (tg_dtype_is_whole(dtype) && dtype != TG_PRED) x = tg_wrap(x, bits, tg_dtype_get_class(dtype) == TG_CLASS_INT);
    return tg_wrap(x, t->layout.elem_bits, tg_dtype_get_class(t->layout.dtype) == TG_CLASS_INT);
}

/* A type of 64 bits is not said to wrap around at those of the format. */
static tg_status check_fits(const tg_tensor *t, int64_t x, tg_error *err) {
    if (tg_dtype_bits(t->host.dtype) < 64 || !tg_dtype_is_whole(t->host.dtype) || wrapped(t, x) == x) return TG_OK;
    return tg_fail(err, TG_ERR_OVERFLOW, "%d does not fit into the %d bits that the device has for it", x,
                   (int64_t)t->layout.elem_bits);
}

/* Elements in the order of host storage, as float32 or int64. */
static tg_status host_elements(tg_layout *layout, void **elements, const tg_tensor *t, tg_error *err) {
    const tg_status s = strided(layout, t, t->host.shape, t->host.strides, err);
    if (s != TG_OK) return s;
    *elements = calloc((size_t)layout->span + 1, sizeof(int64_t));
    return *elements != NULL ? TG_OK : tg_fail(err, TG_ERR_NOMEM, "there is no memory for %d elements", layout->span);
}

static float settled(float x) { return x != x ? copysignf(TG_LARGEST_SEN169, x) : x; }

static bool has_one_code(const tg_tensor *t) { return t->settles && t->layout.format == TG_SEN169_FP16; }

tg_status tg_tensor_get(tg_number *out, const tg_tensor *t, tg_error *err) {
    const bool whole = tg_dtype_is_whole(t->host.dtype);
    tg_layout  layout;
    void      *elements;
    tg_status  s = host_elements(&layout, &elements, t, err);
    if (s != TG_OK) return s;
    s = move(&layout, elements, &t->layout, t->storage, NULL, NULL, err);
    for (int64_t i = 0; s == TG_OK && has_one_code(t) && i < layout.span; i++)
        ((float *)elements)[i] = settled(((float *)elements)[i]);
    for (int64_t i = 0; s == TG_OK && i < layout.span; i++) {
        if (t->carrier == TG_S64 && whole) out[i].whole = ((int64_t *)elements)[i];
        else if (t->carrier == TG_S64) out[i].real = (double)((int64_t *)elements)[i];
        else if (whole) out[i].whole = tg_to_whole((double)((float *)elements)[i]);
        else out[i].real = (double)((float *)elements)[i];
    }
    free(elements);
    return s;
}

tg_status tg_tensor_put(tg_tensor *t, const tg_number *in, tg_error *err) {
    const bool whole = tg_dtype_is_whole(t->host.dtype);
    tg_layout  layout;
    void      *elements;
    tg_status  s = host_elements(&layout, &elements, t, err);
    if (s != TG_OK) return s;
    for (int64_t i = 0; i < layout.span; i++) {
        const int64_t x = whole ? in[i].whole : 0;
        if (t->carrier == TG_S64 && s == TG_OK) s = check_fits(t, x, err);
        if (t->carrier == TG_S64) ((int64_t *)elements)[i] = wrapped(t, whole ? x : tg_to_whole(in[i].real));
        else ((float *)elements)[i] = within(t, whole ? (float)in[i].whole : (float)in[i].real);
    }
    if (s == TG_OK) s = move(&t->layout, t->storage, &layout, elements, NULL, NULL, err);
    free(elements);
    return s;
}

/* ---- tiles -------------------------------------------------------------------------------------------------- */

tg_status tg_tile_make(tg_tile *out, const tg_tensor *t, tg_error *err) {
    *out = (tg_tile){.tensor = t, .whole = t->carrier == TG_S64, .count = 1};
    for (int32_t i = 0; i < t->host.ndim; i++) out->shape[i] = t->lanes.shape[i];
    if (t->stick_dim != TG_NO_DIM) {
        out->stride[t->stick_dim] = 1;
        out->count = out->shape[t->stick_dim];
    }
    for (int32_t d = t->host.ndim; d-- > 0;) {
        if (d == t->stick_dim) continue;
        out->stride[d] = tg_max(out->count, 1);
        if (!tg_mul(&out->count, out->count, out->shape[d]))
            return tg_fail(err, TG_ERR_OVERFLOW, "a tensor has too many elements");
    }
    if (out->whole) out->integer = malloc(((size_t)out->count + 1) * sizeof *out->integer);
    else out->real = malloc(((size_t)out->count + 1) * sizeof *out->real);
    if (out->integer == NULL && out->real == NULL)
        return tg_fail(err, TG_ERR_NOMEM, "there is no memory for a tile of %d elements", out->count);
    const int64_t poison = tg_poison_of(t);
    for (int64_t i = 0; out->whole && i < out->count; i++) out->integer[i] = poison;
    for (int64_t i = 0; !out->whole && i < out->count; i++) out->real[i] = NAN;
    return TG_OK;
}

void tg_tile_free(tg_tile *tile) {
    free(tile->real);
    free(tile->integer);
    tile->real = NULL;
    tile->integer = NULL;
}

static void *elements_of(const tg_tile *tile) {
    return tile->whole ? (void *)tile->integer : (void *)tile->real;
}

/* Elements along the sticks, padding left out: n of them from *place on. */
static int64_t row_length(const tg_tile *tile) {
    return tile->tensor->stick_dim != TG_NO_DIM ? tile->tensor->host.shape[tile->tensor->stick_dim] : 1;
}

static bool next_row(int64_t *at, int64_t *place, const tg_tile *tile) {
    const tg_host *host = &tile->tensor->host;
    for (int32_t d = host->ndim; d-- > 0;) {
        if (d == tile->tensor->stick_dim) continue;
        *place += tile->stride[d];
        if (++at[d] < host->shape[d]) return true;
        *place -= at[d] * tile->stride[d];
        at[d] = 0;
    }
    return false;
}

static void settle(tg_tile *tile) {
    int64_t at[TG_MAX_NDIM] = {0}, place = 0;
    if (tile->count == 0) return;
    do
        for (int64_t i = 0; i < row_length(tile); i++) tile->real[place + i] = settled(tile->real[place + i]);
    while (next_row(at, &place, tile));
}

static tg_status check_tile(const tg_tile *tile, tg_error *err) {
    int64_t   at[TG_MAX_NDIM] = {0}, place = 0;
    tg_status s = TG_OK;
    if (!tile->whole || tile->count == 0) return TG_OK;
    do
        for (int64_t i = 0; i < row_length(tile) && s == TG_OK; i++)
            s = check_fits(tile->tensor, tile->integer[place + i], err);
    while (s == TG_OK && next_row(at, &place, tile));
    return s;
}

tg_status tg_tile_unpack(tg_tile *tile, tg_error *err) {
    const tg_tensor *t = tile->tensor;
    tg_layout        dense;
    tg_status        s = strided(&dense, t, t->bare ? t->host.shape : tile->shape, tile->stride, err);
    if (s == TG_OK)
        s = move(&dense, elements_of(tile), t->bare ? &t->layout : &t->lanes, t->storage, NULL, NULL, err);
    if (s == TG_OK && has_one_code(t)) settle(tile);
    return s;
}

tg_status tg_tile_pack(const tg_tile *tile, tg_error *err) {
    const tg_tensor *t = tile->tensor;
    tg_layout        dense;
    tg_status        s = check_tile(tile, err);
    if (s != TG_OK) return s;
    for (int64_t i = 0; i < tile->count; i++) {
        if (tile->whole) tile->integer[i] = wrapped(t, tile->integer[i]);
        else tile->real[i] = within(t, tile->real[i]);
    }
    s = strided(&dense, t, tile->shape, tile->stride, err);
    return s == TG_OK ? move(&t->lanes, t->storage, &dense, elements_of(tile), NULL, NULL, err) : s;
}
