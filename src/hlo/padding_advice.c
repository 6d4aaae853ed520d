/* Cheaper layouts for an XLA array: another order of its dimensions, or another of the tilings that are in use. */
#include <tegula/padding.h>

#include "hlo/padding_walk.h"

#include <string.h>

enum { MOST_LEVELS = 3, ANY_NDIM = -1, MOST_ROWS_AND_COLUMNS = 2 };

/* A row of the table in padding.h. */
typedef struct standard_tiling {
    int32_t bits;                                       /* of the element type, pred as 8 */
    int32_t ndim;                                       /* 0, 1, or 2 for two and more */
    int64_t tile[MOST_LEVELS][MOST_ROWS_AND_COLUMNS];   /* levels end at a 0; a level of one number has 0 behind it */
    int64_t element_size_in_bits;
} standard_tiling;

static const standard_tiling standard_tilings[] = {
    {32, 2, {{8, 128}}, 0},          {32, 2, {{4, 128}}, 0},           {32, 2, {{2, 128}}, 0}, {32, 2, {{1, 128}}, 0},
    {32, 1, {{1024}}, 0},            {32, 1, {{512}}, 0},              {32, 1, {{256}}, 0},    {32, 1, {{128}}, 0},
    {32, 0, {{128}}, 0},             {32, 0, {{256}}, 0},
    {16, 2, {{8, 128}, {2, 1}}, 0},  {16, 2, {{4, 128}, {2, 1}}, 0},   {16, 2, {{2, 128}, {2, 1}}, 0},
    {16, 1, {{1024}, {128}, {2, 1}}, 0},
    {16, 0, {{128}}, 0},             {16, 0, {{256}}, 0},
    {8, 2, {{8, 128}, {4, 1}}, 0},   {8, 2, {{32, 128}, {4, 1}}, 0},
    {8, 0, {{128}}, 0},              {8, 0, {{256}}, 0},
    {4, 2, {{8, 128}, {8, 1}}, 4},   {4, 2, {{64, 128}, {8, 1}}, 4},
    {4, 0, {{128}}, 4},              {4, 0, {{256}}, 4},
};

enum { NSTANDARD = sizeof standard_tilings / sizeof standard_tilings[0] };

static bool suits(const standard_tiling *tiling, const tg_xla_shape *array) {
    const int32_t bits = array->dtype == TG_PRED ? tg_dtype_storage_bits(TG_PRED) : tg_dtype_bits(array->dtype);
    return tiling->bits == bits && tiling->ndim == (array->ndim < 2 ? array->ndim : 2);
}

static void put_tiling(tg_xla_layout *x, const standard_tiling *tiling) {
    int32_t used = 0;
    memset(x->tile_ndim, 0, sizeof x->tile_ndim);
    memset(x->tile_dims, 0, sizeof x->tile_dims);
    x->ntiles = 0;
    for (int32_t level = 0; level < MOST_LEVELS && tiling->tile[level][0] != 0; level++) {
        const int32_t n = tiling->tile[level][1] != 0 ? 2 : 1;
        for (int32_t i = 0; i < n; i++) x->tile_dims[used++] = tiling->tile[level][i];
        x->tile_ndim[x->ntiles++] = n;
    }
    x->element_size_in_bits = tiling->element_size_in_bits;
}

/* ---- another order ------------------------------------------------------------------- */

/* Physical dimension p is 0 for the most major one; splits name dimensions so. */
static void put_order(tg_xla_layout *x, const int32_t *minor_to_major) {
    int64_t physical[TG_MAX_NDIM] = {0}; /* of each logical dimension, in the new order */
    for (int32_t i = 0; i < x->ndim; i++) physical[minor_to_major[i]] = x->ndim - 1 - i;
    for (int32_t i = 0; i < x->nsplits; i++)
        x->split_dim[i] = physical[x->minor_to_major[x->ndim - 1 - x->split_dim[i]]];
    memcpy(x->minor_to_major, minor_to_major, (size_t)x->ndim * sizeof minor_to_major[0]);
}

static int32_t count_changes(const tg_xla_layout *a, const tg_xla_layout *b) {
    int32_t n = 0;
    for (int32_t i = 0; i < a->ndim; i++) n += a->minor_to_major[i] != b->minor_to_major[i];
    return n;
}

/* The bytes of the choice; false if no layout value can carry it, which makes it no advice and no reason to fail. */
static bool weigh(tg_padding_choice *choice, const tg_xla_shape *array) {
    tg_xla_shape shape = *array;
    tg_layout    layout;
    shape.layout = choice->layout;
    return tg_layout_from_xla(&layout, &shape, NULL) == TG_OK &&
           tg_layout_nbytes(&choice->physical_bytes, &layout, NULL) == TG_OK;
}

/* *choice with its cheapest order; *has is false if no order of it fits. */
static tg_status find_choice(bool *has, tg_padding_choice *choice, const tg_xla_shape *array, tg_error *err) {
    int32_t         order[TG_MAX_NDIM];
    const tg_status s = tg_padding_find_order(order, array->dims, &choice->layout, err);
    *has = false;
    if (s == TG_ERR_OVERFLOW) return TG_OK;
    if (s != TG_OK) return s;
    put_order(&choice->layout, order);
    *has = weigh(choice, array);
    return TG_OK;
}

/* ---- the advice ------------------------------------------------------------------------ */

static tg_status find_tiling(tg_padding_choice *best, const tg_padding_choice *given, const tg_xla_shape *array,
                             tg_error *err) {
    bool    found = false;
    int32_t fewest = 0;
    for (size_t i = 0; i < NSTANDARD; i++) {
        tg_padding_choice choice = *given;
        bool              has = false;
        if (!suits(&standard_tilings[i], array)) continue;
        put_tiling(&choice.layout, &standard_tilings[i]);
        const tg_status s = find_choice(&has, &choice, array, err);
        if (s != TG_OK) return s;
        if (!has || choice.physical_bytes > best->physical_bytes) continue;
        const int32_t changes = count_changes(&choice.layout, &given->layout);
        if (choice.physical_bytes == best->physical_bytes && (!found || changes >= fewest)) continue;
        *best = choice;
        fewest = changes;
        found = true;
    }
    return TG_OK;
}

tg_status tg_padding_advise(tg_padding_advice *out, const tg_xla_shape *array, tg_error *err) {
    tg_layout         layout;
    tg_padding_choice given, order;
    bool              has = false;
    memset(&given, 0, sizeof given);
    tg_status s = tg_layout_from_xla(&layout, array, err);
    if (s == TG_OK) s = tg_layout_nbytes(&given.physical_bytes, &layout, err);
    if (s != TG_OK) return s;
    order = given;
    given.layout = order.layout = array->layout;
    if ((s = find_choice(&has, &order, array, err)) != TG_OK) return s;
    tg_padding_advice advice = {given, given};
    if (has && order.physical_bytes < given.physical_bytes) advice.order = advice.tiling = order;
    if ((s = find_tiling(&advice.tiling, &given, array, err)) != TG_OK) return s;
    advice.order.saved_bytes = given.physical_bytes - advice.order.physical_bytes;
    advice.tiling.saved_bytes = given.physical_bytes - advice.tiling.physical_bytes;
    *out = advice;
    return TG_OK;
}
