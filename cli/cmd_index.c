/* tegula index: where an element lives. */
#include "cli.h"

#include <stdlib.h>

static const char help[] =
    "tegula index - say where an element lives\n"
    "\n"
    "usage: tegula index LAYOUT COORDINATE [--json]\n"
    "\n"
    "Prints the place of the element in elements from the start of the storage. The coordinate has one number for\n"
    "each dimension, counted from 0, with commas between; brackets around it are fine. For a scalar it is ''.\n"
    "With --json also the byte and, for elements of less than a byte, the bit in it.\n"
    "\n"
    "example:\n"
    "  $ tegula index 'bf16[32,32,4096]{2,1,0:T(8,128)(2,1)}' 3,13,1000\n"
    "  433873\n";

void cli_locate(int64_t *byte, int64_t *bit, int64_t offset, int32_t bits) {
    const int64_t rest = (offset % 8 + 8) % 8;
    *byte = (offset - rest) / 8 * bits + rest * bits / 8; /* fits: the bytes of a layout do */
    *bit = rest * bits % 8;
}

static int print_json(int64_t offset, int32_t bits) {
    int64_t byte = 0, bit = 0;
    cli_locate(&byte, &bit, offset, bits);
    json_t *answer = cli_json_object();
    cli_json_put(answer, "offset", cli_json_int(offset));
    cli_json_put(answer, "byte_offset", cli_json_int(byte));
    cli_json_put(answer, "bit", cli_json_int(bit));
    return cli_print_json(answer);
}

static int run(const cli_args *args) {
    tg_desc desc;
    int64_t coord[TG_MAX_NDIM] = {0};
    int     status = cli_read_layout(&desc, "layout", args->argument[0]);
    if (status != CLI_OK) return status;
    cli_text text = cli_text_of("coordinate", args->argument[1]);
    status = cli_read_coordinate(coord, &desc.layout, &text);
    free(text.bytes);
    if (status != CLI_OK) return status;
    const int64_t offset = tg_layout_offset(&desc.layout, coord);
    if (args->json) return print_json(offset, desc.layout.elem_bits);
    printf("%lld\n", (long long)offset);
    return CLI_OK;
}

const cli_command cli_index = {
    .name = "index",
    .summary = "where an element lives: coordinate to offset",
    .help = help,
    .arguments = {"LAYOUT", "COORDINATE"},
    .run = run,
};
