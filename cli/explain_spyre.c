/* `tegula explain` of Spyre layouts: sticks, device_size, and stride_map entry by entry. */
#include "explain.h"

#include "show.h"

#include <stdlib.h>
#include <string.h>

static void add_list(words *w, const char *name, const int64_t *values, int32_t n) {
    words_add(w, "%s=[", name);
    words_add_ints(w, values, n, ",");
    words_add(w, "]");
}

static void list_step(explanation *e, const char *code, const int64_t *values, int32_t n, const char *name) {
    words w = {NULL, 0, 0};
    add_list(&w, code, values, n);
    explain_step(e, w.bytes, name);
    words_free(&w);
    explain_fact(e, code, cli_json_ints(values, n));
}

/* ---- sticks ------------------------------------------------------------------------------ */

static int stick_elements(const tg_spyre *spyre) {
    const int bits = tg_format_bits(spyre->device_dtype);
    return bits > 0 ? TG_SPYRE_STICK_BYTES * 8 / bits : 0;
}

/* " (1 sign, 6 exponent and 9 fraction bits)" for SEN169_FP16: the digits in the names of Spyre's floats, the last one
 * hexadecimal, are these counts. */
static void add_format_bits(words *w, const char *format) {
    const char *hex = "0123456789ABCDEF", *fraction = NULL;
    if (strncmp(format, "SEN1", 4) != 0 || strstr(format, "_FP") != format + 6) return;
    if (format[4] < '0' || format[4] > '9' || (fraction = strchr(hex, format[5])) == NULL) return;
    words_add(w, " (1 sign, %c exponent and %d fraction bits)", format[4], (int)(fraction - hex));
}

static void explain_sticks(explanation *e) {
    const tg_spyre *spyre = &e->desc->spyre;
    const char     *format = tg_format_name(spyre->device_dtype);
    const int       bits = tg_format_bits(spyre->device_dtype), stick = stick_elements(spyre);
    words           w = {NULL, 0, 0};
    explain_step(e, "spyre", "memory in sticks");
    words_add(
        &w,
        "From here on it is about the device. Spyre moves and computes in sticks of %d bytes. Elements are stored "
        "as %s",
        TG_SPYRE_STICK_BYTES, format);
    add_format_bits(&w, format);
    words_add(&w, ", %d bit%s each, so a stick has %d slots.", bits, plural_s(bits), stick);
    explain_say_words(e, &w);
    explain_fact(e, "device_dtype", cli_json_text(format));
    explain_fact(e, "stored_bits", cli_json_int(bits));
    explain_fact(e, "elements_per_stick", cli_json_int(stick));
}

static void explain_device_size(explanation *e) {
    const tg_spyre *spyre = &e->desc->spyre;
    const int64_t   slots = e->desc->layout.span;
    words           w = {NULL, 0, 0};
    list_step(e, "device_size", spyre->device_size, spyre->rank, "sizes on the device");
    words_add(&w,
              "The device tensor has %d dimension%s, slowest first and without gaps between them. The last one runs "
              "through the slots of a stick. ",
              spyre->rank, plural_s(spyre->rank));
    words_add_ints(&w, spyre->device_size, spyre->rank, " x ");
    words_add(&w, " = %lld slot%s", (long long)slots, plural_s(slots));
    if (stick_elements(spyre) > 0) {
        const int64_t sticks = slots / stick_elements(spyre);
        words_add(&w, " = %lld stick%s", (long long)sticks, plural_s(sticks));
    }
    words_add(&w, ".");
    explain_say_words(e, &w);
    explain_fact(e, "slots", cli_json_int(slots));
}

/* ---- stride_map --------------------------------------------------------------------------- */

/* The memory modes of a Spyre layout are its device dimensions, unless an arrangement cuts them further or there are no
 * elements. modes[k] is that of device dimension k; false if they are not so. */
static bool device_modes(int32_t modes[TG_SPYRE_MAX_RANK], const tg_desc *desc) {
    const tg_layout *layout = &desc->layout;
    int32_t          n = 0;
    if (tg_layout_numel(layout) == 0) return false;
    for (int32_t m = 0; m < layout->nmodes; m++) {
        if (layout->mode[m].into != TG_TO_MEMORY) continue;
        if (n >= desc->spyre.rank || layout->mode[m].size != desc->spyre.device_size[n]) return false;
        modes[n++] = m;
    }
    return n == desc->spyre.rank;
}

/* What the entry says by itself. */
static void add_meaning(words *w, int64_t map) {
    if (map == -1) words_add(w, "no step on the host");
    else if (map == 0) words_add(w, "the same host element again");
    else words_add(w, "%lld host element%s on", (long long)map, plural_s(map));
}

/* What it walks, which follows from strides and sizes. */
static void add_walk(words *w, const tg_layout *layout, int32_t m) {
    const tg_mode *mode = &layout->mode[m];
    char           digit[SHOW_WORD];
    if (mode->axis == TG_AXIS_COPY) {
        words_add(w, "; %lld cop%s of the same", (long long)mode->size, mode->size == 1 ? "y" : "ies");
        return;
    }
    if (mode->axis == TG_AXIS_PAD) {
        if (mode->size > 1) words_add(w, "; only position 0 holds elements, the others are padding");
        return;
    }
    show_digit(digit, layout, m);
    words_add(w, "; it counts %s", digit);
    if (mode->count < mode->size)
        words_add(w, ", which has %lld value%s", (long long)mode->count, plural_s(mode->count));
}

static void say_entry(explanation *e, int32_t k, int32_t mode) {
    const tg_spyre *spyre = &e->desc->spyre;
    words           w = {NULL, 0, 0};
    words_add(&w, "  dimension %d  size %lld, map %lld: ", k, (long long)spyre->device_size[k],
              (long long)spyre->stride_map[k]);
    if (spyre->device_size[k] <= 1) words_add(&w, "never stepped");
    else add_meaning(&w, spyre->stride_map[k]);
    if (mode >= 0) add_walk(&w, &e->desc->layout, mode);
    explain_say_words(e, &w);
}

static void explain_stride_map(explanation *e) {
    const tg_spyre  *spyre = &e->desc->spyre;
    const tg_layout *layout = &e->desc->layout;
    int32_t          modes[TG_SPYRE_MAX_RANK];
    json_t          *walks = cli_json_array();
    const bool       known = device_modes(modes, e->desc);
    list_step(e, "stride_map", spyre->stride_map, spyre->rank, "steps on the host");
    explain_say(e, "A step along a dimension of the device goes so many elements on in the host tensor:");
    for (int32_t k = 0; k < spyre->rank; k++) {
        char digit[SHOW_WORD] = "";
        say_entry(e, k, known ? modes[k] : -1);
        if (known) show_digit(digit, layout, modes[k]);
        cli_json_add(walks, known ? cli_json_text(digit) : json_null());
    }
    for (int32_t axis = layout->ndim; axis < layout->naxes && known; axis++) {
        char sum[SHOW_SUM];
        show_axis(sum, layout, axis);
        explain_say(e, "  where %s", sum);
    }
    if (known) explain_say(e, "In what it counts, / is division that drops the rest, and %% is that rest.");
    explain_fact(e, "counts", walks);
}

/* ---- padding --------------------------------------------------------------------------------- */

static bool is_sparse(const tg_desc *desc) {
    const tg_spyre *spyre = &desc->spyre;
    return spyre->rank > 0 && spyre->stride_map[spyre->rank - 1] == -1 && spyre->device_size[spyre->rank - 1] > 1;
}

/* The positions that a dimension has on the device, where they are more than it needs. */
static void say_padded_dim(explanation *e, int32_t d) {
    const tg_layout *layout = &e->desc->layout;
    int64_t          sizes[TG_MAX_MODES], places = 1;
    int32_t          n = 0;
    words            w = {NULL, 0, 0};
    for (int32_t m = 0; m < layout->nmodes; m++) {
        if (layout->mode[m].axis != d || layout->mode[m].size == 1) continue;
        sizes[n++] = layout->mode[m].size;
        if (__builtin_mul_overflow(places, layout->mode[m].size, &places)) return;
    }
    if (n == 0 || places <= layout->shape[d]) return;
    words_add(&w, "  d%d: ", d);
    words_add_ints(&w, sizes, n, " x ");
    if (n > 1) words_add(&w, " = %lld", (long long)places);
    words_add(&w, " positions for %lld values", (long long)layout->shape[d]);
    explain_say_words(e, &w);
}

static void explain_padding(explanation *e) {
    char         percent[32];
    cli_coverage c;
    cli_get_coverage(&c, &e->desc->layout);
    if (!c.known || e->desc->layout.span == 0) return;
    explain_step(e, NULL, "padding");
    explain_fact(e, "sparse", json_boolean(is_sparse(e->desc)));
    explain_fact(e, "padding_slots", cli_json_int(c.padding));
    if (is_sparse(e->desc))
        explain_say(e,
                    "The layout is sparse: the slots of a stick walk no dimension, so only the first slot of a stick "
                    "holds an element.");
    if (c.padding == 0) explain_say(e, "Every slot holds an element.");
    else
        explain_say(e, "%lld of the %lld slots hold no element (%s).", (long long)c.padding,
                    (long long)e->desc->layout.span, cli_percent(percent, c.padding, e->desc->layout.span));
    for (int32_t d = 0; d < e->desc->layout.ndim; d++) say_padded_dim(e, d);
}

static void explain_arrangement(explanation *e) {
    const tg_arrangement arrangement = e->desc->spyre.arrangement;
    words                code = {NULL, 0, 0};
    if (arrangement == TG_STANDARD) return;
    words_add(&code, "arrangement=%s", tg_arrangement_name(arrangement));
    explain_step(e, code.bytes, "order inside a stick");
    words_free(&code);
    explain_fact(e, "element_arrangement", cli_json_text(tg_arrangement_name(arrangement)));
    if (arrangement != TG_DL16_TO_FP32 && arrangement != TG_FP32_TO_DL16) {
        explain_say(e,
                    "The device orders the elements inside a stick for its own use. How is not public, so the places "
                    "below are those of the order that the sizes say.");
        return;
    }
    explain_say(e,
                "The elements inside a stick stand in another order, the one in which the device's conversion between "
                "16 and 32 bits leaves them. Memory then has these sizes, slowest first:");
    explain_sizes(e, &e->desc->layout);
}

void explain_spyre(explanation *e) {
    explain_host(e);
    explain_sticks(e);
    explain_device_size(e);
    explain_stride_map(e);
    explain_arrangement(e);
    explain_padding(e);
}
