/* tegula show: all there is to know of a layout, for a reader who has not seen one before, or as JSON.
 *
 * The heart is the table of memory modes: the storage is a nest of loops, outermost first, and every loop walks
 * one digit of one coordinate. show_tree.c has the shapes of several arrays. */
#include "show.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "tegula show - explain a layout\n"
    "\n"
    "usage: tegula show LAYOUT [--json]\n"
    "\n"
    "Prints sizes, padding, and how the storage is walked. Each line of the table is a loop over memory, outermost\n"
    "first: one step of it moves `stride` elements in memory and `weight` elements along dimension `dim`, so it\n"
    "counts one digit of that coordinate. In digits, / is division that drops the rest, and % is that rest.\n"
    "An XLA shape may also be a tuple: its arrays are listed.\n"
    "\n"
    "example:\n"
    "  $ tegula show 'f16[5,100,150] spyre'\n";

static void print_heading(const char *heading) {
    const bool colour = cli_has_colour(stdout);
    printf("\n  %s%s%s\n", colour ? "\033[1m" : "", heading, colour ? "\033[0m" : "");
}

static const char *plural(int64_t n) { return n == 1 ? "" : "s"; }

/* ---- sizes -------------------------------------------------------------------------------- */

static void print_elements(const tg_desc *desc) {
    const tg_layout *layout = &desc->layout;
    printf("  elements  %lld of %s", (long long)tg_layout_numel(layout), tg_dtype_name(layout->dtype));
    if (layout->format != TG_FORMAT_NATIVE) printf(", stored as %s", tg_format_name(layout->format));
    printf(", %d bit%s each%s\n", layout->elem_bits, plural(layout->elem_bits),
           layout->elem_bits % 8 != 0 ? ", packed" : "");
}

static void print_storage(const tg_layout *layout, int64_t nbytes) {
    char human[32];
    printf("  storage   %lld element%s, %lld byte%s", (long long)layout->span, plural(layout->span),
           (long long)nbytes, plural(nbytes));
    if (nbytes >= 1024) printf(" (%s)", cli_human_bytes(human, nbytes));
    if (layout->memory_space != 0) printf(", in memory space %d", layout->memory_space);
    putchar('\n');
}

/* How far a dimension's digits reach in memory, at least its size; the size where that is not known. */
static int64_t padded_size(const tg_layout *layout, int32_t d) {
    int64_t last = 0, step = 0;
    for (int32_t m = 0; m < layout->nmodes; m++) {
        const tg_mode *mode = &layout->mode[m];
        if (mode->axis != d) continue;
        if (__builtin_mul_overflow(mode->size - 1, mode->weight, &step) || __builtin_add_overflow(last, step, &last))
            return layout->shape[d];
    }
    return last + 1 > layout->shape[d] ? last + 1 : layout->shape[d];
}

static void print_padded_dims(const tg_layout *layout) {
    const char *before = " (";
    for (int32_t d = 0; d < layout->ndim; d++) {
        const int64_t padded = padded_size(layout, d);
        if (padded == layout->shape[d]) continue;
        printf("%sd%d: %lld -> %lld", before, d, (long long)layout->shape[d], (long long)padded);
        before = ", ";
    }
    if (*before == ',') putchar(')');
}

static void print_padding(const tg_layout *layout, const cli_coverage *c) {
    char percent[32];
    if (!c->known) {
        printf("  padding   not counted: %s\n", c->error.message);
        return;
    }
    if (c->padding == 0) {
        puts("  padding   none");
        return;
    }
    printf("  padding   %lld element%s, %s of the storage", (long long)c->padding, plural(c->padding),
           cli_percent(percent, c->padding, layout->span));
    print_padded_dims(layout);
    putchar('\n');
}

static int print_sizes(const tg_desc *desc) {
    cli_coverage c;
    int64_t      nbytes = 0;
    tg_error     err;
    if (tg_layout_nbytes(&nbytes, &desc->layout, &err) != TG_OK) return cli_fail_error("layout", &err);
    cli_get_coverage(&c, &desc->layout);
    print_elements(desc);
    print_storage(&desc->layout, nbytes);
    print_padding(&desc->layout, &c);
    if (c.known && !c.unique) puts("  shared    some elements share a place with others");
    return CLI_OK;
}

/* ---- notations ------------------------------------------------------------------------------ */

static void print_list(const char *name, const int64_t *values, int32_t n) {
    printf("    %-15s [", name);
    cli_print_ints(values, n, ",");
    puts("]");
}

static void print_host(const tg_host *host) {
    printf("    %-15s [", "host strides");
    cli_print_ints(host->strides, host->ndim, ",");
    if (host->offset == 0) puts("]");
    else printf("], offset %lld\n", (long long)host->offset);
}

static void print_spyre(const tg_desc *desc) {
    const tg_spyre *spyre = &desc->spyre;
    const int32_t   bits = tg_format_bits(spyre->device_dtype);
    const char     *format = tg_format_name(spyre->device_dtype);
    int64_t         dim_map[TG_SPYRE_MAX_RANK];
    const size_t    len = tg_spyre_str(NULL, 0, spyre);
    char           *text = cli_allocate(len + 1);
    (void)tg_spyre_str(text, len + 1, spyre);
    print_heading("Spyre");
    print_list("device_size", spyre->device_size, spyre->rank);
    print_list("stride_map", spyre->stride_map, spyre->rank);
    if (tg_spyre_dim_map(dim_map, spyre, &desc->host, NULL) == TG_OK) print_list("dim_map", dim_map, spyre->rank);
    else printf("    %-15s none: it cannot say this layout\n", "dim_map");
    print_host(&desc->host);
    printf("    %-15s %s", "device format", format != NULL ? format : "none");
    if (bits > 0) printf(", %d elements in a stick of 128 bytes", TG_SPYRE_STICK_BYTES * 8 / bits);
    if (spyre->arrangement != TG_STANDARD) printf(", arranged %s", tg_arrangement_name(spyre->arrangement));
    printf("\n    %s\n", text);
    free(text);
}

static void print_tiles(const tg_xla_layout *layout) {
    const int64_t *dims = layout->tile_dims;
    printf("    %-15s ", "tiles");
    for (int32_t level = 0; level < layout->ntiles; level++) {
        for (int32_t i = 0; i < layout->tile_ndim[level]; i++, dims++) {
            fputs(i == 0 ? "(" : ",", stdout);
            if (*dims == TG_XLA_COMBINE) putchar('*');
            else printf("%lld", (long long)*dims);
        }
        fputs(layout->tile_ndim[level] == 0 ? "()" : ")", stdout);
    }
    puts(layout->ntiles == 0 ? "none" : "");
}

static void print_dynamic(const tg_xla_shape *shape) {
    const char *before = "";
    for (int32_t d = 0; d < shape->ndim; d++) {
        if (!shape->dynamic[d]) continue;
        if (*before == '\0') printf("    %-15s ", "dynamic");
        printf("%sd%d: at most %lld", before, d, (long long)shape->dims[d]);
        before = ", ";
    }
    if (*before != '\0') putchar('\n');
}

static void print_xla(const tg_desc *desc) {
    const tg_xla_layout *layout = &desc->xla.layout;
    int64_t              values[TG_MAX_MODES];
    print_heading("XLA");
    for (int32_t i = 0; i < layout->ndim; i++) values[i] = layout->minor_to_major[i];
    print_list("minor_to_major", values, layout->ndim);
    print_tiles(layout);
    const int32_t n = cli_memory_sizes(values, &desc->layout);
    print_list("physical shape", values, n);
    if (layout->tail_padding != 1)
        printf("    %-15s up to a multiple of %lld elements\n", "tail padding", (long long)layout->tail_padding);
    if (layout->metadata_prefix_bytes > 0)
        printf("    %-15s %lld byte%s\n", "metadata prefix", (long long)layout->metadata_prefix_bytes,
               plural(layout->metadata_prefix_bytes));
    print_dynamic(&desc->xla);
}

static void print_strided(const tg_desc *desc) {
    print_heading("strided");
    print_list("strides", desc->host.strides, desc->host.ndim);
    printf("    %-15s %lld\n", "offset", (long long)desc->host.offset);
}

/* ---- the command ------------------------------------------------------------------------------ */

static int show_text(const tg_desc *desc) {
    const bool colour = cli_has_colour(stdout);
    char      *text = cli_canonical_text(desc);
    printf("%s%s%s\n\n", colour ? "\033[1;36m" : "", text, colour ? "\033[0m" : "");
    free(text);
    const int status = print_sizes(desc);
    if (status != CLI_OK) return status;
    print_heading("memory, outermost loop first");
    show_modes(&desc->layout);
    if (desc->notation == TG_NOTATION_SPYRE) print_spyre(desc);
    else if (desc->notation == TG_NOTATION_XLA) print_xla(desc);
    else print_strided(desc);
    print_heading("where the last element lives");
    show_last_element(&desc->layout);
    return CLI_OK;
}

static int show_json(const tg_desc *desc) {
    json_t   *object = cli_json_object();
    const int status = cli_put_layout(object, desc);
    if (status == CLI_OK) return cli_print_json(object);
    json_decref(object);
    return status;
}

static int show_array(const cli_text *text, bool json) {
    tg_desc  desc;
    tg_error err;
    if (tg_desc_parse(&desc, text->bytes, text->len, &err) != TG_OK) return cli_fail_reading(text, &err);
    return json ? show_json(&desc) : show_text(&desc);
}

static int run(const cli_args *args) {
    cli_text text;
    int      status = cli_read_text(&text, "layout", args->argument[0]);
    if (status != CLI_OK) return status;
    status = show_is_tree(&text) ? show_tree(&text, args->json) : show_array(&text, args->json);
    free(text.bytes);
    return status;
}

const cli_command cli_show = {
    .name = "show",
    .summary = "explain a layout: sizes, padding, how memory is walked",
    .help = help,
    .arguments = {"LAYOUT"},
    .run = run,
};
