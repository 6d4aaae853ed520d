/* What every explanation begins and ends with: the element type, the shape, and how much memory it takes. */
#include "explain.h"

#include <tegula/padding.h>

#include <stdlib.h>

/* ---- the element type ------------------------------------------------------------------- */

static const char *class_words(tg_dtype dtype) {
    switch (tg_dtype_get_class(dtype)) {
    case TG_CLASS_PRED: return "a truth value";
    case TG_CLASS_INT: return "a signed whole number";
    case TG_CLASS_UINT: return "an unsigned whole number";
    case TG_CLASS_FLOAT: return "a floating-point number";
    case TG_CLASS_COMPLEX: return "a complex number (two floats)";
    case TG_CLASS_NONE: break;
    }
    return "an element";
}

void explain_element_type(explanation *e, const char *remark) {
    const tg_dtype dtype = e->desc->layout.dtype;
    const int32_t  bits = tg_dtype_bits(dtype), storage = tg_dtype_storage_bits(dtype);
    words          w = {NULL, 0, 0};
    explain_step(e, tg_dtype_name(dtype), "element type");
    words_add(&w, "Every element is %s of %d bit%s", class_words(dtype), bits, plural_s(bits));
    if (bits == storage) words_add(&w, ", which is %d byte%s.", bits / 8, plural_s(bits / 8));
    else words_add(&w, "; unless something packs it, it takes %d byte%s.", storage / 8, plural_s(storage / 8));
    if (remark != NULL) words_add(&w, " %s", remark);
    explain_say_words(e, &w);
    explain_fact(e, "dtype", cli_json_text(tg_dtype_name(dtype)));
    explain_fact(e, "bits", cli_json_int(bits));
    explain_fact(e, "bytes_alone", cli_json_int(storage / 8));
}

/* ---- the shape ---------------------------------------------------------------------------- */

/* "[<=5,3]", as the text of the layout has it. */
static void add_shape_code(words *w, const tg_desc *desc) {
    words_add(w, "[");
    for (int32_t d = 0; d < desc->layout.ndim; d++) {
        const bool dynamic = desc->notation == TG_NOTATION_XLA && desc->xla.dynamic[d];
        words_add(w, "%s%s%lld", d > 0 ? "," : "", dynamic ? "<=" : "", (long long)desc->layout.shape[d]);
    }
    words_add(w, "]");
}

static void say_dims(explanation *e) {
    const tg_layout *layout = &e->desc->layout;
    int32_t          dims[TG_MAX_NDIM];
    int64_t          zeros[TG_MAX_NDIM] = {0}, last[TG_MAX_NDIM];
    words            w = {NULL, 0, 0};
    for (int32_t d = 0; d < layout->ndim; d++) {
        dims[d] = d;
        last[d] = layout->shape[d] - 1;
    }
    words_add(&w, "%d dimension%s, called ", layout->ndim, plural_s(layout->ndim));
    words_add_dims(&w, dims, layout->ndim);
    words_add(&w, " here.");
    if (tg_layout_numel(layout) > 0) {
        words_add(&w, " An element is named by its coordinate: %s from (",
                  layout->ndim == 1 ? "a number" : "a number for each dimension,");
        words_add_ints(&w, zeros, layout->ndim, ",");
        words_add(&w, ") to (");
        words_add_ints(&w, last, layout->ndim, ",");
        words_add(&w, ").");
    }
    explain_say_words(e, &w);
}

static void say_elements(explanation *e) {
    const tg_layout *layout = &e->desc->layout;
    words            w = {NULL, 0, 0};
    for (int32_t d = 0; d < layout->ndim; d++) {
        if (layout->shape[d] != 0) continue;
        explain_say(e, "d%d has size 0, so there are no elements.", d);
        return;
    }
    if (layout->ndim > 1) {
        words_add_ints(&w, layout->shape, layout->ndim, " x ");
        words_add(&w, " = ");
    }
    const int64_t numel = tg_layout_numel(layout);
    words_add(&w, "%lld element%s.", (long long)numel, plural_s(numel));
    explain_say_words(e, &w);
}

static void say_dynamic(explanation *e) {
    const tg_xla_shape *shape = &e->desc->xla;
    if (e->desc->notation != TG_NOTATION_XLA) return;
    for (int32_t d = 0; d < shape->ndim; d++)
        if (shape->dynamic[d])
            explain_say(
                e,
                "The size of d%d is dynamic: it is known only when the program runs, and %lld is the most it can "
                "be (`<=`). The layout keeps room for all of them.",
                d, (long long)shape->dims[d]);
}

void explain_shape(explanation *e) {
    const tg_layout *layout = &e->desc->layout;
    words            code = {NULL, 0, 0};
    add_shape_code(&code, e->desc);
    explain_step(e, code.bytes, "shape");
    words_free(&code);
    if (layout->ndim == 0) explain_say(e, "No dimensions: this is a single element, and its coordinate is ().");
    else {
        say_dims(e);
        say_elements(e);
    }
    say_dynamic(e);
    explain_fact(e, "shape", cli_json_ints(layout->shape, layout->ndim));
    explain_fact(e, "elements", cli_json_int(tg_layout_numel(layout)));
}

/* ---- how much memory ------------------------------------------------------------------------ */

static void say_sum(explanation *e, int64_t logical, int64_t nbytes) {
    words w = {NULL, 0, 0};
    words_add_bytes(&w, nbytes);
    if (nbytes == logical) words_add(&w, ": the elements and nothing else.");
    else if (nbytes < logical) {
        words_add(&w, ", fewer than the ");
        words_add_bytes(&w, logical);
        words_add(&w, " of all elements, because some share a place.");
    } else {
        words_add(&w, ", of which the elements need ");
        words_add_bytes(&w, logical);
        words_add(&w, ".");
        if (logical > 0) words_add(&w, " That is %.4g times as much as they need.", (double)nbytes / (double)logical);
    }
    explain_say_words(e, &w);
}

static void add_owners(words *w, uint32_t owners) {
    int32_t dims[TG_MAX_NDIM], n = 0;
    for (int32_t d = 0; d < TG_MAX_NDIM; d++)
        if ((owners >> d & 1) != 0) dims[n++] = d;
    if (n == 0) words_add(w, "a size put in front");
    words_add_dims(w, dims, n);
}

/* The step with the largest factor: the width of elements, a rounding, or the tail. */
static void say_worst(explanation *e, const tg_padding *padding) {
    const int32_t          worst = tg_padding_worst(padding);
    const tg_padding_part *part = worst >= 0 ? &padding->part[worst] : NULL;
    const int64_t          before_tail = padding->physical_bytes - padding->tail_bytes;
    words                  w = {NULL, 0, 0};
    if (padding->elements == 0) return;
    const double rounding = part != NULL && part->size > 0 ? (double)part->padded / (double)part->size : 1;
    const double widening = (double)padding->stored_bits / (double)padding->logical_bits;
    const double tail = before_tail > 0 ? (double)padding->physical_bytes / (double)before_tail : 1;
    if (padding->widening_bytes > 0 && widening >= rounding && widening >= tail) {
        words_add(&w, "The padding that weighs most: elements of %d bits are stored in %d.", padding->logical_bits,
                  padding->stored_bits);
        explain_say_words(e, &w);
        return;
    }
    if (padding->tail_bytes > 0 && tail >= rounding) {
        words_add(&w, "The padding that weighs most: the end is rounded up, by L(n).");
        explain_say_words(e, &w);
        return;
    }
    if (part == NULL) return;
    words_add(&w, "The padding that weighs most: tile level %d rounds ", part->level + 1);
    add_owners(&w, part->dims);
    words_add(&w, " from %lld up to %lld.", (long long)part->size, (long long)part->padded);
    explain_say_words(e, &w);
}

static void put_choice(explanation *e, json_t *list, const tg_padding_choice *choice, const char *change) {
    json_t      *o = cli_json_object();
    words        w = {NULL, 0, 0};
    const size_t len = tg_xla_layout_format(NULL, 0, &choice->layout);
    char        *text = cli_allocate(len + 1);
    (void)tg_xla_layout_format(text, len + 1, &choice->layout);
    words_add(&w, "Cheaper by %s: %s takes ", change, text);
    words_add_bytes(&w, choice->physical_bytes);
    words_add(&w, ".");
    explain_say_words(e, &w);
    cli_json_put(o, "layout", cli_json_text(text));
    cli_json_put(o, "bytes", cli_json_int(choice->physical_bytes));
    cli_json_put(o, "saved_bytes", cli_json_int(choice->saved_bytes));
    cli_json_add(list, o);
    free(text);
}

static void say_advice(explanation *e) {
    tg_padding_advice advice;
    json_t           *list = cli_json_array();
    if (tg_padding_advise(&advice, &e->desc->xla, NULL) == TG_OK) {
        if (advice.order.saved_bytes > 0) put_choice(e, list, &advice.order, "another order of the dimensions");
        if (advice.tiling.saved_bytes > advice.order.saved_bytes) put_choice(e, list, &advice.tiling, "another tiling");
    }
    explain_fact(e, "cheaper", list);
}

/* The bytes that the elements alone would take, where they are stored as this layout stores them. */
static int64_t bytes_of_elements(const tg_layout *layout) {
    tg_layout dense = *layout;
    int64_t   nbytes = 0;
    dense.span = tg_layout_numel(layout);
    (void)tg_layout_nbytes(&nbytes, &dense, NULL);
    return nbytes;
}

static int64_t say_xla_total(explanation *e, int64_t nbytes) {
    tg_padding padding;
    if (tg_padding_measure(&padding, &e->desc->xla, NULL) != TG_OK) return nbytes;
    say_sum(e, padding.logical_bytes, nbytes);
    say_worst(e, &padding);
    say_advice(e);
    return padding.logical_bytes;
}

void explain_total(explanation *e) {
    const tg_layout *layout = &e->desc->layout;
    int64_t          nbytes = 0, logical = 0;
    cli_coverage     c;
    (void)tg_layout_nbytes(&nbytes, layout, NULL);
    cli_get_coverage(&c, layout);
    explain_last_step(e, "total", "all together");
    if (e->desc->notation == TG_NOTATION_XLA) logical = say_xla_total(e, nbytes);
    else say_sum(e, logical = bytes_of_elements(layout), nbytes);
    if (!c.known) explain_say(e, "How much of it is padding was not counted: %s.", c.error.message);
    explain_fact(e, "elements", cli_json_int(tg_layout_numel(layout)));
    explain_fact(e, "slots", cli_json_int(layout->span));
    explain_fact(e, "padding_slots", c.known ? cli_json_int(c.padding) : json_null());
    explain_fact(e, "logical_bytes", cli_json_int(logical));
    explain_fact(e, "bytes", cli_json_int(nbytes));
}
