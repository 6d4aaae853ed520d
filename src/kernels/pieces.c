#include "kernels/pieces.h"

#include "kernels/stream.h"

#include <string.h>

enum {
    LONG = 256,         /* bytes: worth a call */
    LONG_STREAM = 1024  /* shorter pieces would leave too many cache lines to be merged in memory */
};

typedef long long vec32 __attribute__((vector_size(32), may_alias));
typedef long long vec64 __attribute__((vector_size(64), may_alias));

/* One unit, or two that may overlap. */
#define DEFINE_COPIES(NAME, UNIT)                                                                                     \
    static void one_##NAME(uint8_t *restrict dst, const uint8_t *restrict src, const tg_place *line, int64_t lines) { \
        for (int64_t i = 0; i < lines; i++) memcpy(dst + line[i].dst, src + line[i].src, sizeof(UNIT));               \
    }                                                                                                                 \
                                                                                                                      \
    static void two_##NAME(uint8_t *restrict dst, const uint8_t *restrict src, int64_t n, const tg_place *line,       \
                           int64_t lines) {                                                                           \
        const size_t last = (size_t)n - sizeof(UNIT);                                                                 \
        for (int64_t i = 0; i < lines; i++) {                                                                         \
            const uint8_t *const s = src + line[i].src;                                                               \
            uint8_t *const       d = dst + line[i].dst;                                                               \
            UNIT                 v, w;                                                                                \
            memcpy(&v, s, sizeof v);                                                                                  \
            memcpy(&w, s + last, sizeof w);                                                                           \
            memcpy(d, &v, sizeof v);                                                                                  \
            memcpy(d + last, &w, sizeof w);                                                                           \
        }                                                                                                             \
    }

DEFINE_COPIES(2, uint16_t)
DEFINE_COPIES(4, uint32_t)
DEFINE_COPIES(8, uint64_t)
DEFINE_COPIES(16, tg_vec16)
DEFINE_COPIES(32, vec32)

/* Units, and a last one that may overlap the one before it. */
static void copy_units(uint8_t *restrict dst, const uint8_t *restrict src, int64_t n, const tg_place *line,
                       int64_t lines) {
    for (int64_t i = 0; i < lines; i++) {
        const uint8_t *const s = src + line[i].src;
        uint8_t *const       d = dst + line[i].dst;
        const size_t         last = (size_t)n - sizeof(vec64);
        for (size_t k = 0; k < last; k += sizeof(vec64)) memcpy(d + k, s + k, sizeof(vec64));
        memcpy(d + last, s + last, sizeof(vec64));
    }
}

static void copy_long(uint8_t *restrict dst, const uint8_t *restrict src, int64_t n, const tg_place *line,
                      int64_t lines, bool stream) {
    for (int64_t i = 0; i < lines; i++) {
        if (stream) tg_stream_copy(dst + line[i].dst, src + line[i].src, (size_t)n);
        else memcpy(dst + line[i].dst, src + line[i].src, (size_t)n);
    }
}

void tg_copy_piece(uint8_t *restrict dst, const uint8_t *restrict src, int64_t n, const tg_place *line, int64_t lines,
                   bool stream) {
    /* Cache lines, in the first line of the tensor; where they are none in another, tg_stream_copy sees to it. */
    const bool whole = ((uintptr_t)(dst + line[0].dst) | (uint64_t)n) % TG_LINE_BYTES == 0;
    const bool around = stream && (whole || n >= LONG_STREAM);
    if (n > LONG || around) copy_long(dst, src, n, line, lines, around);
    else if (n > 64) copy_units(dst, src, n, line, lines);
    else if (n > 32) two_32(dst, src, n, line, lines);
    else if (n == 32) one_32(dst, src, line, lines);
    else if (n > 16) two_16(dst, src, n, line, lines);
    else if (n == 16) one_16(dst, src, line, lines);
    else if (n > 8) two_8(dst, src, n, line, lines);
    else if (n == 8) one_8(dst, src, line, lines);
    else if (n > 4) two_4(dst, src, n, line, lines);
    else if (n == 4) one_4(dst, src, line, lines);
    else if (n == 3) two_2(dst, src, n, line, lines);
    else if (n == 2) one_2(dst, src, line, lines);
    else
        for (int64_t i = 0; i < lines; i++) dst[line[i].dst] = src[line[i].src];
}
