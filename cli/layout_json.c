/* The object of `tegula show --json`: schema tegula.layout/1 of the contract, field for field. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

void cli_get_coverage(cli_coverage *out, const tg_layout *layout) {
    cli_coverage c;
    int64_t      data = 0;
    memset(&c, 0, sizeof c);
    c.known = tg_layout_coverage(&c.unique, &c.exhaustive, &data, layout, &c.error) == TG_OK;
    c.padding = layout->span - data;
    *out = c;
}

int32_t cli_memory_sizes(int64_t sizes[TG_MAX_MODES], const tg_layout *layout) {
    int32_t n = 0;
    for (int32_t m = 0; m < layout->nmodes; m++)
        if (layout->mode[m].into == TG_TO_MEMORY) sizes[n++] = layout->mode[m].size;
    return n;
}

/* ---- Spyre --------------------------------------------------------------------------- */

static json_t *spyre_str(const tg_spyre *spyre) {
    const size_t len = tg_spyre_str(NULL, 0, spyre);
    char        *text = cli_allocate(len + 1);
    (void)tg_spyre_str(text, len + 1, spyre);
    json_t *value = cli_json_text(text);
    free(text);
    return value;
}

static json_t *name_or_null(const char *name) { return name != NULL ? cli_json_text(name) : json_null(); }

static json_t *spyre_object(const tg_desc *desc) {
    const tg_spyre *spyre = &desc->spyre;
    int64_t         dim_map[TG_SPYRE_MAX_RANK];
    json_t         *o = cli_json_object();
    const int32_t   bits = tg_format_bits(spyre->device_dtype);
    const bool      has_dim_map = tg_spyre_dim_map(dim_map, spyre, &desc->host, NULL) == TG_OK;
    cli_json_put(o, "device_size", cli_json_ints(spyre->device_size, spyre->rank));
    cli_json_put(o, "stride_map", cli_json_ints(spyre->stride_map, spyre->rank));
    cli_json_put(o, "dim_map", has_dim_map ? cli_json_ints(dim_map, spyre->rank) : json_null());
    cli_json_put(o, "device_dtype", name_or_null(tg_format_name(spyre->device_dtype)));
    cli_json_put(o, "elements_per_stick", cli_json_int(bits > 0 ? TG_SPYRE_STICK_BYTES * 8 / bits : 0));
    cli_json_put(o, "element_arrangement", name_or_null(tg_arrangement_name(spyre->arrangement)));
    cli_json_put(o, "str", spyre_str(spyre));
    return o;
}

/* ---- XLA ------------------------------------------------------------------------------- */

static json_t *ints32(const int32_t *values, int32_t n) {
    json_t *array = cli_json_array();
    for (int32_t i = 0; i < n; i++) cli_json_add(array, cli_json_int(values[i]));
    return array;
}

static json_t *tiles(const tg_xla_layout *layout) {
    json_t        *levels = cli_json_array();
    const int64_t *dims = layout->tile_dims;
    for (int32_t level = 0; level < layout->ntiles; level++) {
        json_t *tile = cli_json_array();
        for (int32_t i = 0; i < layout->tile_ndim[level]; i++, dims++)
            cli_json_add(tile, *dims == TG_XLA_COMBINE ? cli_json_text("*") : cli_json_int(*dims));
        cli_json_add(levels, tile);
    }
    return levels;
}

static json_t *splits(const tg_xla_layout *layout) {
    json_t        *array = cli_json_array();
    const int64_t *indices = layout->split_indices;
    for (int32_t i = 0; i < layout->nsplits; i++) {
        json_t *split = cli_json_object();
        cli_json_put(split, "dimension", cli_json_int(layout->split_dim[i]));
        cli_json_put(split, "indices", cli_json_ints(indices, layout->split_nindices[i]));
        cli_json_add(array, split);
        indices += layout->split_nindices[i];
    }
    return array;
}

static json_t *dynamic_dims(const tg_xla_shape *shape) {
    json_t *array = cli_json_array();
    for (int32_t d = 0; d < shape->ndim; d++) cli_json_add(array, json_boolean(shape->dynamic[d]));
    return array;
}

static bool is_dynamic(const tg_xla_shape *shape) {
    for (int32_t d = 0; d < shape->ndim; d++)
        if (shape->dynamic[d]) return true;
    return false;
}

/* What few layouts have is only there when they have it. */
static void put_rare_properties(json_t *o, const tg_xla_shape *shape) {
    const tg_xla_layout *layout = &shape->layout;
    if (is_dynamic(shape)) cli_json_put(o, "dynamic", dynamic_dims(shape));
    if (layout->index_type != TG_INVALID)
        cli_json_put(o, "index_type", name_or_null(tg_dtype_name(layout->index_type)));
    if (layout->pointer_type != TG_INVALID)
        cli_json_put(o, "pointer_type", name_or_null(tg_dtype_name(layout->pointer_type)));
    if (layout->nsplits > 0) cli_json_put(o, "splits", splits(layout));
    if (layout->metadata_prefix_bytes != 0)
        cli_json_put(o, "metadata_prefix_bytes", cli_json_int(layout->metadata_prefix_bytes));
}

static json_t *xla_object(const tg_desc *desc) {
    const tg_xla_layout *layout = &desc->xla.layout;
    int64_t              sizes[TG_MAX_MODES];
    json_t              *o = cli_json_object();
    cli_json_put(o, "minor_to_major", ints32(layout->minor_to_major, layout->ndim));
    cli_json_put(o, "tiles", tiles(layout));
    cli_json_put(o, "tail_padding", cli_json_int(layout->tail_padding));
    cli_json_put(o, "element_size_in_bits", cli_json_int(layout->element_size_in_bits));
    cli_json_put(o, "physical_shape", cli_json_ints(sizes, cli_memory_sizes(sizes, &desc->layout)));
    put_rare_properties(o, &desc->xla);
    return o;
}

/* ---- all -------------------------------------------------------------------------------- */

/* Without tiles each dimension is one mode, whose stride is the dimension's. */
static json_t *untiled_strides(const tg_layout *layout) {
    int64_t strides[TG_MAX_NDIM] = {0};
    for (int32_t m = 0; m < layout->nmodes; m++) {
        const int32_t axis = layout->mode[m].axis;
        if (axis >= 0 && axis < layout->ndim) strides[axis] = layout->mode[m].stride;
    }
    return cli_json_ints(strides, layout->ndim);
}

static json_t *strides_of(const tg_desc *desc) {
    if (desc->notation != TG_NOTATION_XLA) return cli_json_ints(desc->host.strides, desc->host.ndim);
    return desc->xla.layout.ntiles == 0 ? untiled_strides(&desc->layout) : json_null();
}

static void put_coverage(json_t *object, const tg_layout *layout) {
    cli_coverage c;
    cli_get_coverage(&c, layout);
    cli_json_put(object, "padding_elements", c.known ? cli_json_int(c.padding) : json_null());
    cli_json_put(object, "unique", c.known ? json_boolean(c.unique) : json_null());
    cli_json_put(object, "exhaustive", c.known ? json_boolean(c.exhaustive) : json_null());
}

int cli_put_layout(json_t *object, const tg_desc *desc) {
    const tg_layout *layout = &desc->layout;
    int64_t          nbytes = 0;
    tg_error         err;
    char            *text = cli_canonical_text(desc);
    if (tg_layout_nbytes(&nbytes, layout, &err) != TG_OK) {
        const int status = cli_fail_error(text, &err);
        free(text);
        return status;
    }
    cli_json_put(object, "schema", cli_json_text("tegula.layout/1"));
    cli_json_put(object, "text", cli_json_text(text));
    cli_json_put(object, "notation", name_or_null(tg_notation_name(desc->notation)));
    cli_json_put(object, "dtype", name_or_null(tg_dtype_name(layout->dtype)));
    cli_json_put(object, "element_bits", cli_json_int(layout->elem_bits));
    cli_json_put(object, "shape", cli_json_ints(layout->shape, layout->ndim));
    cli_json_put(object, "strides", strides_of(desc));
    cli_json_put(object, "offset", cli_json_int(desc->notation == TG_NOTATION_XLA ? 0 : desc->host.offset));
    cli_json_put(object, "elements", cli_json_int(tg_layout_numel(layout)));
    cli_json_put(object, "physical_elements", cli_json_int(layout->span));
    cli_json_put(object, "bytes", cli_json_int(nbytes));
    put_coverage(object, layout);
    cli_json_put(object, "memory_space", cli_json_int(layout->memory_space));
    if (desc->notation == TG_NOTATION_SPYRE) cli_json_put(object, "spyre", spyre_object(desc));
    if (desc->notation == TG_NOTATION_XLA) cli_json_put(object, "xla", xla_object(desc));
    free(text);
    return CLI_OK;
}
