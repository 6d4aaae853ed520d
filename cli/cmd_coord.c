/* tegula coord: what lives at a place. */
#include "cli.h"

#include <stdlib.h>

static const char help[] =
    "tegula coord - say which element lives at a place\n"
    "\n"
    "usage: tegula coord LAYOUT OFFSET [--json]\n"
    "\n"
    "Prints the coordinate of the element at OFFSET, counted in elements from the start of the storage, or\n"
    "`padding` (exit status 1) where the storage has room but no element. If several elements share the place,\n"
    "it is the first one in row-major order.\n"
    "\n"
    "example:\n"
    "  $ tegula coord 'bf16[32,32,4096]{2,1,0:T(8,128)(2,1)}' 433873\n"
    "  3,13,1000\n";

static int answer_json(const int64_t *coord, int32_t ndim) {
    json_t *answer = cli_json_object();
    cli_json_put(answer, "coord", coord != NULL ? cli_json_ints(coord, ndim) : json_null());
    return cli_print_json(answer);
}

static int answer_padding(bool json) {
    if (json) (void)answer_json(NULL, 0);
    else puts("padding");
    return CLI_NO;
}

static int answer_coord(const int64_t *coord, int32_t ndim, bool json) {
    if (json) return answer_json(coord, ndim);
    if (ndim == 0) fputs("()", stdout);
    cli_print_ints(coord, ndim, ",");
    putchar('\n');
    return CLI_OK;
}

int64_t cli_first_offset(const tg_desc *desc) {
    const tg_host *host = &desc->host;
    int64_t        lowest = desc->layout.offset;
    if (desc->notation == TG_NOTATION_STRIDED && tg_layout_numel(&desc->layout) > 0)
        for (int32_t d = 0; d < host->ndim; d++) /* fits: all offsets of a layout do */
            if (host->strides[d] < 0) lowest += (host->shape[d] - 1) * host->strides[d];
    return lowest < 0 ? lowest : 0;
}

static int fail_outside(const tg_desc *desc, int64_t offset, const cli_text *text) {
    const long long first = cli_first_offset(desc), span = desc->layout.span;
    if (first == 0)
        return cli_fail_at(text, 0, "%lld is outside the storage, which has %lld element%s", (long long)offset, span,
                           span == 1 ? "" : "s");
    return cli_fail_at(text, 0, "%lld is outside the storage, which is [%lld, %lld)", (long long)offset, first,
                       first + span);
}

static int find(const tg_desc *desc, int64_t offset, const cli_text *text, bool json) {
    tg_error err;
    tg_slot  slot = TG_SLOT_OUTSIDE;
    int64_t  coord[TG_MAX_NDIM] = {0};
    if (tg_layout_coord(&slot, coord, &desc->layout, offset, &err) != TG_OK) {
        (void)cli_fail_error("offset", &err);
        return CLI_IO; /* the search would take too long: a question of resources */
    }
    if (slot == TG_SLOT_DATA) return answer_coord(coord, desc->layout.ndim, json);
    return slot == TG_SLOT_PADDING ? answer_padding(json) : fail_outside(desc, offset, text);
}

static int run(const cli_args *args) {
    tg_desc desc;
    int64_t offset = 0;
    int     status = cli_read_layout(&desc, "layout", args->argument[0]);
    if (status != CLI_OK) return status;
    cli_text text = cli_text_of("offset", args->argument[1]);
    status = cli_read_int(&offset, &text);
    if (status == CLI_OK) status = find(&desc, offset, &text, args->json);
    free(text.bytes);
    return status;
}

const cli_command cli_coord = {
    .name = "coord",
    .summary = "which element lives at an offset, or padding",
    .help = help,
    .arguments = {"LAYOUT", "OFFSET"},
    .run = run,
};
