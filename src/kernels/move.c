/* Which mover: the family is the caller's, the rest follows from the processor. */
#include "kernels/lines.h"
#include "kernels/move.h"
#include "kernels/stream.h"
#include "kernels/variants.h"

#include <string.h>

enum { WIDTHS = 5 };

static int32_t set_of(uint32_t cpu) {
    return TG_MOSTLY((cpu & TG_CPU_AVX512) != 0) ? 2 : (cpu & TG_CPU_AVX2) != 0 ? 1 : (cpu & TG_CPU_NEON) != 0 ? 3 : 0;
}

static int32_t width_index(int32_t width) {
    switch (width) {
    case 1: return 0;
    case 2: return 1;
    case 4: return 2;
    case 8: return 3;
    case 16: return 4;
    default: return -1;
    }
}

#define NAMES(what) {what " plain", what " avx2", what " avx512", what " neon"}

static const char *const rows_names[4] = NAMES("rows");
static const char *const transpose_names[WIDTHS][4] = {NAMES("transpose 1-byte"), NAMES("transpose 2-byte"),
                                                       NAMES("transpose 4-byte"), NAMES("transpose 8-byte"),
                                                       NAMES("transpose 16-byte")};
static const char *const strided_names[WIDTHS][4] = {NAMES("strided 1-byte"), NAMES("strided 2-byte"),
                                                     NAMES("strided 4-byte"), NAMES("strided 8-byte"),
                                                     NAMES("strided 16-byte")};

static const char *const packed_cells_names[3] = {"cells 1-bit avx512", "cells 2-bit avx512", "cells 4-bit avx512"};
static const char *const cells_names[4] = {"cells plain", "cells plain", "cells avx512", "cells plain"};

static const char *const packed_names[3][4] = {NAMES("transpose 1-bit"), NAMES("transpose 2-bit"),
                                               NAMES("transpose 4-bit")};

static const char *const turns_names[3][4] = {NAMES("1 bit by turns"), NAMES("2 bits by turns"),
                                              NAMES("4 bits by turns")};

static const char *const spread_names[3][4] = {NAMES("bytes from 1 bit"), NAMES("bytes from 2 bits"),
                                               NAMES("bytes from 4 bits")};
static const char *const join_names[3][4] = {NAMES("1 bit from bytes"), NAMES("2 bits from bytes"),
                                             NAMES("4 bits from bytes")};

static const char *const bands_names[3][4] = {NAMES("transpose bytes to 1-bit"), NAMES("transpose bytes to 2-bit"),
                                              NAMES("transpose bytes to 4-bit")};

static void fill_mover(tg_mover *out, tg_block_move *move, const char *name, int32_t width, uint32_t cpu, bool stream,
                       bool far) {
    const tg_encoding bits = {TG_KIND_BITS, width * 8, width * 8};
    *out = (tg_mover){
        .move = move, .name = name, .dst_width = (int16_t)width, .stream = stream, .far = far, .fetches = far,
        .sparing = (cpu & TG_CPU_SPARING) != 0, .few_streams = (cpu & TG_CPU_FEW_STREAMS) != 0,
        .dst = bits, .src = bits};
}

bool tg_mover_rows(tg_mover *out, uint32_t cpu, bool stream, bool far) {
    fill_mover(out, tg_rows_for(cpu), rows_names[set_of(cpu)], 1, cpu, stream, far);
    return true;
}

/* Elements of other widths: with AVX-512 only. */
static bool find_uneven(tg_mover *out, int32_t width, uint32_t cpu, bool stream, bool far) {
#define NAME(width) [width] = "transpose " #width "-byte avx512"
    static const char *const names[32] = {NAME(3),  NAME(5),  NAME(6),  NAME(7),  NAME(9),  NAME(10), NAME(11),
                                          NAME(12), NAME(13), NAME(14), NAME(15), NAME(17), NAME(18), NAME(19),
                                          NAME(20), NAME(21), NAME(22), NAME(23), NAME(24), NAME(25), NAME(26),
                                          NAME(27), NAME(28), NAME(29), NAME(30), NAME(31)};
#undef NAME
    tg_block_move *const move = tg_uneven_for(cpu);
    if (width < 0 || width >= 32 || names[width] == NULL || move == NULL) return false;
    fill_mover(out, move, names[width], width, cpu, stream, far);
    return true;
}

bool tg_mover_transpose(tg_mover *out, int32_t width, uint32_t cpu, bool stream, bool far) {
    const int32_t i = width_index(width);
    if (i < 0) return find_uneven(out, width, cpu, stream, far);
    fill_mover(out, tg_transpose_for(cpu, width), transpose_names[i][set_of(cpu)], width, cpu, stream, far);
    out->staged = out->sparing || out->few_streams; /* the pipeline reads src by the same few loads */
    return true;
}

bool tg_mover_tiles(tg_mover *out, int32_t width, uint32_t cpu, bool stream, bool far) {
    const int32_t i = width_index(width);
    if (i < 0) return false;
    fill_mover(out, NULL, transpose_names[i][set_of(cpu)], width, cpu, stream, far);
    out->tiles = tg_tiles_for(cpu, width);
    return true;
}

bool tg_mover_strided(tg_mover *out, int32_t width, uint32_t cpu, bool stream, bool far) {
    const int32_t i = width_index(width);
    if (i < 0) return false;
    fill_mover(out, tg_strided_for(cpu, width), strided_names[i][set_of(cpu)], width, cpu, stream, far);
    return true;
}

bool tg_mover_cells(tg_mover *out, uint32_t cpu, bool stream, bool far) {
    fill_mover(out, tg_cells_for(cpu), cells_names[set_of(cpu)], 1, cpu, stream, far);
    return true;
}

bool tg_mover_packed_cells(tg_mover *out, int32_t bits, uint32_t cpu, bool stream, bool far) {
    tg_block_move *const move = tg_packed_cells_for(cpu);
    if (bits > 4 || !tg_bits_movable(bits) || move == NULL) return false;
    fill_mover(out, move, packed_cells_names[bits / 2], 1, cpu, stream, far);
    out->dst = out->src = (tg_encoding){TG_KIND_BITS, bits, bits};
    return true;
}

bool tg_mover_packed(tg_mover *out, int32_t bits, uint32_t cpu, bool stream, bool far) {
    if (bits != 1 && bits != 2 && bits != 4) return false;
    const tg_encoding packed = {TG_KIND_BITS, bits, bits};
    fill_mover(out, tg_packed_for(cpu, bits), packed_names[bits / 2][set_of(cpu)], 1, cpu, stream, far);
    out->dst = out->src = packed;
    return true;
}

bool tg_mover_turns(tg_mover *out, int32_t bits, int32_t rows, bool back, uint32_t cpu, bool stream, bool far) {
    if ((bits != 1 && bits != 2 && bits != 4) || (rows != 2 && rows != 4)) return false;
    fill_mover(out, tg_turns_for(cpu, bits, rows, back), turns_names[bits / 2][set_of(cpu)], 1, cpu, stream, far);
    out->dst = out->src = (tg_encoding){TG_KIND_BITS, bits, bits};
    return true;
}

bool tg_mover_eights(tg_mover *out, int32_t bits, int32_t rows, tg_eights way, uint32_t cpu, bool stream, bool far) {
    if ((bits != 1 && bits != 2 && bits != 4) || rows < 2 || rows > 8 || (cpu & TG_CPU_AVX512) == 0) return false;
    fill_mover(out, tg_eights_for(bits, way), turns_names[bits / 2][set_of(cpu)], rows, cpu, stream, far);
    out->dst = out->src = (tg_encoding){TG_KIND_BITS, bits, bits};
    return true;
}

bool tg_mover_spread(tg_mover *out, tg_encoding dst, tg_encoding src, uint32_t cpu) {
    if (src.bits > 4 || !tg_bits_movable(src.bits)) return false;
    fill_mover(out, tg_spread_for(cpu, src.bits), spread_names[src.bits / 2][set_of(cpu)], 1, cpu, false, false);
    out->dst = dst;
    out->src = src;
    return true;
}

bool tg_mover_join(tg_mover *out, tg_encoding dst, tg_encoding src, uint32_t cpu) {
    if (dst.bits > 4 || !tg_bits_movable(dst.bits)) return false;
    fill_mover(out, tg_join_for(cpu, dst.bits), join_names[dst.bits / 2][set_of(cpu)], 1, cpu, false, false);
    out->dst = dst;
    out->src = src;
    return true;
}

bool tg_mover_bands(tg_mover *out, tg_encoding dst, tg_encoding src, uint32_t cpu, bool stream, bool far) {
    const bool bytes = src.bits == 8;
    if (dst.bits > 4 || !tg_bits_movable(dst.bits) || (!bytes && src.bits != dst.bits)) return false;
    fill_mover(out, tg_bands_for(cpu, dst.bits), (bytes ? bands_names : packed_names)[dst.bits / 2][set_of(cpu)], 1,
               cpu, stream, far);
    out->dst = dst;
    out->src = src;
    out->halves = out->sparing;
    return true;
}

/* At least a pattern around the caches: twice the pattern holds a whole one from every phase. */
static void stream_pattern(uint8_t *dst, int64_t n, const uint8_t *pattern) {
    uint8_t twice[2 * TG_PAD_PATTERN];
    memcpy(twice, pattern, TG_PAD_PATTERN);
    memcpy(twice + TG_PAD_PATTERN, pattern, TG_PAD_PATTERN);
    const int64_t  lead = (int64_t)(-(uintptr_t)dst % TG_PAD_PATTERN);
    const uint8_t *line = twice + lead;
    int64_t        i = lead;
    tg_vec16       v[4];
    memcpy(v, line, sizeof v);
    tg_copy_short(dst, pattern, lead);
    for (; n - i >= TG_PAD_PATTERN; i += TG_PAD_PATTERN)
        for (int k = 0; k < 4; k++) tg_stream_16((tg_vec16 *)(void *)(dst + i) + k, v[k]);
    tg_copy_short(dst + i, line, n - i);
}

/* Are all bytes the same, as those of zeros? An element has 16 bytes at most. */
static bool is_one_byte(const uint8_t *pattern) {
    uint64_t first[2];
    memcpy(first, pattern, sizeof first);
    return first[0] == first[1] && first[0] == (first[0] & 0xff) * 0x0101010101010101;
}

void tg_fill_bytes(uint8_t *dst, int64_t n, const uint8_t *pattern, bool stream) {
    enum { LONG = 128 }; /* bytes, for which the C library has wider vectors (bf16[20000,10] to (2,1) 0.35 -> 0.62) */
    tg_vec16 v[4];
    int64_t  i = 0;
    if (stream && n >= TG_PAD_PATTERN) {
        stream_pattern(dst, n, pattern);
        return;
    }
    if (n < TG_PAD_PATTERN) {
        tg_copy_short(dst, pattern, n);
        return;
    }
    if (n >= LONG && is_one_byte(pattern)) {
        memset(dst, pattern[0], (size_t)n);
        return;
    }
    memcpy(v, pattern, sizeof v);
    for (; n - i >= TG_PAD_PATTERN; i += TG_PAD_PATTERN) memcpy(dst + i, v, sizeof v);
    tg_copy_short(dst + i, pattern, n - i);
}
