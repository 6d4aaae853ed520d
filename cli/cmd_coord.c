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

static int read_offset(int64_t *offset, const char *argument) {
    cli_text  text = cli_text_of("offset", argument);
    const int status = cli_read_int(offset, &text);
    free(text.bytes);
    return status;
}

static int run(const cli_args *args) {
    tg_desc  desc;
    tg_error err;
    tg_slot  slot = TG_SLOT_OUTSIDE;
    int64_t  offset = 0, coord[TG_MAX_NDIM] = {0};
    int      status = cli_read_layout(&desc, "layout", args->argument[0]);
    if (status == CLI_OK) status = read_offset(&offset, args->argument[1]);
    if (status != CLI_OK) return status;
    if (tg_layout_coord(&slot, coord, &desc.layout, offset, &err) != TG_OK) {
        (void)cli_fail_error("offset", &err);
        return CLI_IO; /* the search would take too long: a question of resources */
    }
    if (slot == TG_SLOT_DATA) return answer_coord(coord, desc.layout.ndim, args->json);
    if (slot == TG_SLOT_PADDING) return answer_padding(args->json);
    return cli_fail(CLI_USAGE, "offset", "%lld is outside the storage, which has %lld elements", (long long)offset,
                    (long long)desc.layout.span);
}

const cli_command cli_coord = {
    .name = "coord",
    .summary = "which element lives at an offset, or padding",
    .help = help,
    .arguments = {"LAYOUT", "OFFSET"},
    .run = run,
};
