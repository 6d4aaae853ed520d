/* The engines that are shipped, as data. Sources: docs/sources.md, by the names in brackets.
 *
 * Spyre [torch-spyre docs]. What is public of its DMA are the descriptors that torch-spyre writes: any number of loops
 * in any order, elements converted on the way, each descriptor at the start of a stick of 128 bytes, and an innermost
 *     loop inside a stick. No widths of fields are published, so there are no limits on them.
 *
 * AIE [AIE-ML registers, mlir-aie]. Two buffer descriptors that share a stream: one of an interface tile (the host) and
 *     one of a memory tile (the device), of AI Engine-ML. Both walk d0, d1, ... and last an iteration, here in one nest
 * of four loops. Wraps have 10 bits, 0 is "do not wrap", so up to 1023; the last one before the iteration has no wrap
 *     field. Steps hold the number of 32-bit words less 1: 20 bits in an interface tile, 17 in a memory tile.
 * Iterations are 6 bits, less 1, and only they may step by 0. Lengths count words: 32 bits, and 17 bits. A tile has 16
 *     descriptors, a channel of a memory tile 24.
 *
 * TMA [CUDA driver]. One bulk tensor copy through a tensor map without interleave and swizzle: a box of up to 5
 * dimensions of up to 256 elements. Global memory (the host) has an innermost stride of one element, the other strides
 * are multiples of 16 bytes below 2^40, and the innermost run and the address are multiples of 16 bytes, too. The box
 * lies dense in shared memory (the device), at a multiple of 128 bytes, of which a block has 227 KiB. */
#include <tegula/transfer.h>

#include <string.h>

#define KIB ((int64_t)1024)
#define WORD ((int64_t)4)

static const tg_engine engines[] = {
    {
        .name = "spyre",
        .device = {.max_range = {128}, .run_unit = 1, .alignment = 128},
    },
    {
        .name = "aie",
        .device = {.max_loops = 5,
                   .max_range = {1023, 1023, 1023, 0, 64},
                   .run_unit = 4,
                   .max_stride = ((int64_t)1 << 17) * WORD,
                   .max_bytes = (((int64_t)1 << 17) - 1) * WORD,
                   .length_loops = 4,
                   .granule = 4,
                   .alignment = 4,
                   .strides = TG_STRIDES_POSITIVE_OR_REPEAT,
                   .linear = true},
        .host = {.max_loops = 4,
                 .max_range = {1023, 1023, 0, 64},
                 .run_unit = 4,
                 .max_stride = ((int64_t)1 << 20) * WORD,
                 .max_bytes = (((int64_t)1 << 32) - 1) * WORD,
                 .length_loops = 3,
                 .granule = 4,
                 .alignment = 4,
                 .strides = TG_STRIDES_POSITIVE_OR_REPEAT,
                 .linear = true},
        .max_descriptors = 16,
        .same_width = true,
    },
    {
        .name = "tma",
        .device = {.max_loops = 5, .max_bytes = 227 * KIB, .alignment = 128, .dense = true},
        .host = {.max_loops = 5,
                 .max_range = {256, 256, 256, 256, 256},
                 .max_stride = ((int64_t)1 << 40) - 16,
                 .granule = 16,
                 .alignment = 16,
                 .strides = TG_STRIDES_POSITIVE,
                 .unit_run = true},
        .max_bits = 64,
        .same_width = true,
    },
};

enum { ENGINES = sizeof engines / sizeof engines[0] };

const tg_engine *tg_engine_at(int32_t i) { return i >= 0 && i < ENGINES ? &engines[i] : NULL; }

const tg_engine *tg_engine_find(const char *name, size_t len) {
    for (int32_t i = 0; i < ENGINES; i++)
        if (strlen(engines[i].name) == len && memcmp(engines[i].name, name, len) == 0) return &engines[i];
    return NULL;
}
