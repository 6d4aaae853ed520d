/* `tegula explain` of XLA layouts: the order of the dimensions, and what stands behind the tiles (explain_tiles.c). */
#include "explain.h"

#include <stdlib.h>

/* ---- the order of the dimensions --------------------------------------------------------- */

static bool is_descending(const tg_xla_layout *x) {
    for (int32_t i = 0; i < x->ndim; i++)
        if (x->minor_to_major[i] != x->ndim - 1 - i) return false;
    return true;
}

static bool is_ascending(const tg_xla_layout *x) {
    for (int32_t i = 0; i < x->ndim; i++)
        if (x->minor_to_major[i] != i) return false;
    return true;
}

static void say_order(explanation *e) {
    const tg_xla_layout *x = &e->desc->xla.layout;
    words                w = {NULL, 0, 0};
    if (x->ndim == 1) {
        explain_say(e, "There is one dimension, and it runs through memory.");
        return;
    }
    words_add(&w, "The dimensions from the one that runs fastest through memory (the most minor) to the slowest (the "
                  "most major): ");
    for (int32_t i = 0; i < x->ndim; i++) words_add(&w, "%sd%d", i > 0 ? ", " : "", x->minor_to_major[i]);
    if (is_descending(x)) words_add(&w, ". That is row-major order, as C and NumPy have it");
    else if (is_ascending(x)) words_add(&w, ". That is column-major order, as Fortran has it");
    words_add(&w, ". Below, sizes are listed the other way round, slowest first.");
    explain_say_words(e, &w);
}

/* Without tiles each dimension is one loop, and its stride says all. */
static void say_steps(explanation *e, const tg_layout *layout) {
    words       w = {NULL, 0, 0};
    const char *before = "There are no tiles, so a step along ";
    for (int32_t m = layout->nmodes; m-- > 0;) {
        const tg_mode *mode = &layout->mode[m];
        if (mode->axis < 0 || mode->size <= 1) continue;
        words_add(&w, "%sd%d goes %lld slot%s on", before, mode->axis, (long long)mode->stride, plural_s(mode->stride));
        before = ", along ";
    }
    if (w.len == 0) return;
    words_add(&w, ".");
    explain_say_words(e, &w);
}

static void explain_order(explanation *e) {
    const tg_xla_layout *x = &e->desc->xla.layout;
    int64_t              order[TG_MAX_NDIM];
    words                code = {NULL, 0, 0};
    tg_layout            untiled;
    if (x->ndim == 0 || !explain_lay_out(&untiled, &e->desc->xla, 0)) return;
    for (int32_t i = 0; i < x->ndim; i++) order[i] = x->minor_to_major[i];
    words_add(&code, "{");
    words_add_ints(&code, order, x->ndim, ",");
    words_add(&code, "}");
    explain_step(e, code.bytes, "minor to major");
    words_free(&code);
    explain_say(e, "Memory is a row of slots, counted from 0; each is room for one element, or padding.");
    say_order(e);
    explain_fact(e, "minor_to_major", cli_json_ints(order, x->ndim));
    explain_sizes(e, &untiled);
    if (x->ntiles == 0) say_steps(e, &untiled);
}

/* ---- behind the tiles ------------------------------------------------------------------------ */

static void begin_number(explanation *e, const char *letters, int64_t number, const char *name) {
    words code = {NULL, 0, 0};
    words_add(&code, "%s(%lld)", letters, (long long)number);
    explain_step(e, code.bytes, name);
    words_free(&code);
}

static void explain_tail(explanation *e) {
    const int64_t n = e->desc->xla.layout.tail_padding;
    tg_layout     without;
    if (n == 1 || !explain_lay_out(&without, &e->desc->xla, e->desc->xla.layout.ntiles)) return;
    const int64_t more = e->desc->layout.span - without.span;
    begin_number(e, "L", n, "padding at the end");
    explain_say(e, "The storage is rounded up to a multiple of %lld slots: %lld -> %lld, so %lld slot%s of padding %s "
                   "behind everything else.",
                (long long)n, (long long)without.span, (long long)e->desc->layout.span, (long long)more, plural_s(more),
                more == 1 ? "is" : "are");
    explain_fact(e, "multiple_of", cli_json_int(n));
    explain_fact(e, "slots_before", cli_json_int(without.span));
    explain_fact(e, "slots", cli_json_int(e->desc->layout.span));
}

static void explain_element_size(explanation *e) {
    const int64_t bits = e->desc->xla.layout.element_size_in_bits;
    const int     alone = tg_dtype_storage_bits(e->desc->layout.dtype);
    if (bits == 0) return;
    begin_number(e, "E", bits, "element size in bits");
    if (bits > alone)
        explain_say(e, "Each slot has %lld bits, although the element needs %d: it takes %.4g times as much memory.",
                    (long long)bits, alone, (double)bits / alone);
    else if (bits == alone) explain_say(e, "Each slot has %lld bits, as it would without this.", (long long)bits);
    else if (8 % bits == 0)
        explain_say(e, "Elements are packed: %lld of them share a byte, the first one in its low bits.",
                    (long long)(8 / bits));
    else explain_say(e, "Elements are packed: each takes %lld bits, and bytes are filled from their low bits.",
                     (long long)bits);
    explain_fact(e, "element_size_in_bits", cli_json_int(bits));
}

static const char *space_words(int64_t space) {
    switch (space) {
    case 1: return "On TPUs 1 is the small fast memory beside the processor (VMEM).";
    case 5: return "5 is memory of the host that devices can reach (pinned).";
    default: return "Which one has this number is the device's own affair.";
    }
}

static void explain_space(explanation *e) {
    const int64_t space = e->desc->xla.layout.memory_space;
    if (space == 0) return;
    begin_number(e, "S", space, "memory space");
    explain_say(e, "In which of the device's memories the array lies; without S it is 0, the main one. %s Nothing else "
                   "changes by it.",
                space_words(space));
    explain_fact(e, "memory_space", cli_json_int(space));
}

/* ---- splits and prefix ------------------------------------------------------------------------- */

static void say_pieces(explanation *e, int64_t size, const int64_t *indices, int32_t n) {
    words w = {NULL, 0, 0};
    words_add(&w, "The pieces have ");
    for (int32_t i = 0; i <= n; i++) {
        const int64_t from = i > 0 ? indices[i - 1] : 0, to = i < n ? indices[i] : size;
        words_add(&w, "%s%lld", i == 0 ? "" : i < n ? ", " : " and ", (long long)(to - from));
    }
    words_add(&w, " elements along it.");
    explain_say_words(e, &w);
}

static void explain_split(explanation *e, int32_t i, const int64_t *indices) {
    const tg_xla_layout *x = &e->desc->xla.layout;
    const int64_t        physical = x->split_dim[i];
    const int32_t        n = x->split_nindices[i], d = x->minor_to_major[x->ndim - 1 - physical];
    words                code = {NULL, 0, 0}, w = {NULL, 0, 0};
    words_add(&code, "%s(%lld:", i == 0 ? "SC" : "", (long long)physical);
    words_add_ints(&code, indices, n, ",");
    words_add(&code, ")");
    explain_step(e, code.bytes, "split over memories");
    words_free(&code);
    words_add(&w, "Counted from the slowest, dimension %lld is d%d. ", (long long)physical, d);
    if (n == 0) words_add(&w, "It is not cut.");
    else {
        words_add(&w, "It is cut before its element%s ", plural_s(n));
        words_add_ints(&w, indices, n - 1, ", ");
        words_add(&w, "%s%lld", n > 1 ? " and " : "", (long long)indices[n - 1]);
        words_add(&w, ", and each piece lies in another memory.");
    }
    explain_say_words(e, &w);
    if (n > 0) say_pieces(e, e->desc->xla.dims[d], indices, n);
    explain_fact(e, "physical_dimension", cli_json_int(physical));
    explain_fact(e, "dimension", cli_json_int(d));
    explain_fact(e, "indices", cli_json_ints(indices, n));
}

static void explain_splits(explanation *e) {
    const tg_xla_layout *x = &e->desc->xla.layout;
    const int64_t       *indices = x->split_indices;
    for (int32_t i = 0; i < x->nsplits; indices += x->split_nindices[i++]) explain_split(e, i, indices);
    if (x->nsplits > 0) explain_say(e, "The slots told here are those of the whole array, as if it were not split.");
}

static void explain_prefix(explanation *e) {
    const int64_t n = e->desc->xla.layout.metadata_prefix_bytes;
    if (n <= 0) return;
    begin_number(e, "M", n, "bytes in front");
    explain_say(
        e,
        "%lld byte%s with the run-time sizes of dynamic dimensions stand%s in front of the data. Slots, bytes and "
        "totals told here begin behind them.",
        (long long)n, plural_s(n), n == 1 ? "s" : "");
    explain_fact(e, "metadata_prefix_bytes", cli_json_int(n));
}

void explain_xla(explanation *e) {
    const int64_t bits = e->desc->xla.layout.element_size_in_bits;
    char          remark[64] = "";
    if (bits != 0) (void)snprintf(remark, sizeof remark, "Here it takes %lld bits, see E below.", (long long)bits);
    explain_element_type(e, bits != 0 ? remark : NULL);
    explain_shape(e);
    explain_order(e);
    explain_tiles(e);
    explain_tail(e);
    explain_element_size(e);
    explain_space(e);
    explain_splits(e);
    explain_prefix(e);
}
