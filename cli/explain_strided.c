/* `tegula explain` of strides and offset: of a strided tensor, and of the host tensor of a Spyre layout. */
#include "explain.h"

#include <stdlib.h>

/* What one step along a dimension does. */
static void say_stride(explanation *e, const tg_host *host, int32_t d, int bits) {
    const int64_t stride = host->strides[d], size = host->shape[d], steps = stride < 0 ? -stride : stride;
    int64_t       nbytes = 0;
    words         w = {NULL, 0, 0};
    words_add(&w, "  d%d  stride %lld: ", d, (long long)stride);
    if (size <= 1) words_add(&w, "never stepped, there is %s", size == 0 ? "no element" : "only one place along it");
    else if (stride == 0)
        words_add(&w, "a step stays in the same slot, so all %lld along d%d are one element (broadcast)",
                  (long long)size, d);
    else {
        words_add(&w, "a step goes %lld slot%s %s", (long long)steps, plural_s(steps), stride > 0 ? "on" : "back");
        if (bits % 8 == 0 && !__builtin_mul_overflow(steps, (int64_t)(bits / 8), &nbytes))
            words_add(&w, ", %lld byte%s", (long long)nbytes, plural_s(nbytes));
    }
    explain_say_words(e, &w);
}

/* Strides of a dense array whose dimensions are listed slowest first; dimensions of size 1 may have any. */
static bool is_dense(const tg_host *host, bool first_is_slowest) {
    int64_t step = 1;
    for (int32_t i = 0; i < host->ndim; i++) {
        const int32_t d = first_is_slowest ? host->ndim - 1 - i : i;
        if (host->shape[d] == 0) return true;
        if (host->shape[d] != 1 && host->strides[d] != step) return false;
        if (__builtin_mul_overflow(step, host->shape[d], &step)) return false; /* a size behind it is 0 */
    }
    return true;
}

static void say_order(explanation *e, const tg_host *host) {
    if (is_dense(host, true))
        explain_say(e, "Together: row-major without gaps, as C and NumPy have it; the last dimension runs fastest.");
    else if (is_dense(host, false))
        explain_say(e, "Together: column-major without gaps, as Fortran has it; the first dimension runs fastest.");
}

static void explain_strides(explanation *e, const tg_host *host, int bits, const char *what) {
    words code = {NULL, 0, 0};
    words_add(&code, "strides=[");
    words_add_ints(&code, host->strides, host->ndim, ",");
    words_add(&code, "]");
    explain_step(e, code.bytes, what);
    words_free(&code);
    explain_say(e,
                "Memory is a row of slots, counted from 0, and each slot holds one element. The stride of a dimension "
                "says how many slots a step along it goes:");
    for (int32_t d = 0; d < host->ndim; d++) say_stride(e, host, d, bits);
    say_order(e, host);
    explain_fact(e, "strides", cli_json_ints(host->strides, host->ndim));
}

/* Where coordinate (0, ..., 0) lies; told where it is not slot 0. */
static void explain_offset(explanation *e, const tg_host *host) {
    if (host->offset == 0) return;
    words code = {NULL, 0, 0};
    words_add(&code, "offset=%lld", (long long)host->offset);
    explain_step(e, code.bytes, "offset");
    words_free(&code);
    explain_say(e, "The element with the coordinate of zeros lies in slot %lld, and the strides count from there.",
                (long long)host->offset);
    explain_fact(e, "offset", cli_json_int(host->offset));
}

static void say_coverage(explanation *e) {
    cli_coverage c;
    cli_get_coverage(&c, &e->desc->layout);
    if (!c.known) return;
    if (!c.unique) explain_say(e, "Some coordinates share a slot: writing one element changes others.");
    else if (!c.exhaustive)
        explain_say(e, "Every element has a slot of its own, and %lld slot%s of the storage hold%s none.",
                    (long long)c.padding, plural_s(c.padding), c.padding == 1 ? "s" : "");
    explain_fact(e, "unique", json_boolean(c.unique));
    explain_fact(e, "exhaustive", json_boolean(c.exhaustive));
}

void explain_strided(explanation *e) {
    const tg_host *host = &e->desc->host;
    explain_element_type(e, NULL);
    explain_shape(e);
    if (host->ndim > 0) {
        explain_strides(e, host, e->desc->layout.elem_bits, "strides");
        say_coverage(e);
    }
    explain_offset(e, host);
}

void explain_host(explanation *e) {
    const tg_host *host = &e->desc->host;
    explain_element_type(e, NULL);
    explain_shape(e);
    if (host->ndim > 0) explain_strides(e, host, tg_dtype_storage_bits(host->dtype), "strides of the host tensor");
    explain_offset(e, host);
}
