/* The same bits elsewhere.
 *
 * A rectangle whose lines are contiguous on both sides is moved line by line: by memcpy, by moves of
 * fixed size that cost no call where a line is one 128-byte stick, or around the caches (stream.h).
 * Anything else moves element by element. Packed elements are bytes in the middle of a line, shifted ones where
 * the sides begin at different bits of a byte, and single elements at its ends.
 */
#include "kernels/kernels.h"
#include "kernels/stream.h"
#include "kernels/unaligned.h"

#include <string.h>

enum { STICK_BYTES = 128 };

static void copy_lines(uint8_t *restrict d, const uint8_t *restrict s, int64_t rows, size_t n, int64_t drow,
                       int64_t srow, bool stream) {
    if (stream) {
        for (int64_t r = 0; r < rows; r++) tg_stream_copy(d + r * drow, s + r * srow, n);
        return;
    }
    if (n == STICK_BYTES) {
        for (int64_t r = 0; r < rows; r++) memcpy(d + r * drow, s + r * srow, STICK_BYTES);
        return;
    }
    for (int64_t r = 0; r < rows; r++) memcpy(d + r * drow, s + r * srow, n);
}

#define DEFINE_COPY(UNIT)                                                                                        \
    static int64_t copy_##UNIT(const tg_kernel *kernel, void *restrict dst, const void *restrict src,            \
                               const tg_rect *r) {                                                               \
        UNIT       *d = (UNIT *)dst + r->dst.first;                                                              \
        const UNIT *s = (const UNIT *)src + r->src.first;                                                        \
        if (r->dst.col == 1 && r->src.col == 1) {                                                                \
            const int64_t size = (int64_t)sizeof(UNIT);                                                          \
            copy_lines((uint8_t *)d, (const uint8_t *)s, r->rows, (size_t)(r->cols * size), r->dst.row * size,   \
                       r->src.row * size, kernel->stream);                                                       \
            return -1;                                                                                           \
        }                                                                                                        \
        for (int64_t y = 0; y < r->rows; y++, d += r->dst.row, s += r->src.row)                                  \
            for (int64_t x = 0; x < r->cols; x++) d[x * r->dst.col] = s[x * r->src.col];                         \
        return -1;                                                                                               \
    }

DEFINE_COPY(unit8)
DEFINE_COPY(unit16)
DEFINE_COPY(unit32)
DEFINE_COPY(unit64)
DEFINE_COPY(unit128)

/* ---- packed elements ---- */

typedef uint64_t two_words __attribute__((vector_size(16)));

/* Where each byte is the end of one of src and the beginning of the next one. */
#define DEFINE_SHIFT(WORDS)                                                                                          \
    static void shift_##WORDS(uint8_t *restrict d, const uint8_t *restrict s, int32_t down) {                        \
        const uint64_t low = ~(uint64_t)0 / 255 * (255u >> down), high = ~low;                                       \
        WORDS          v, w;                                                                                         \
        memcpy(&v, s, sizeof v);                                                                                     \
        memcpy(&w, s + 1, sizeof w);                                                                                 \
        v = (v >> down & low) | (w << (8 - down) & high);                                                            \
        memcpy(d, &v, sizeof v);                                                                                     \
    }

DEFINE_SHIFT(two_words)
DEFINE_SHIFT(uint64_t)

/* n bytes of dst, from n + 1 of src; down: 1 to 7 bits. */
static void shift_bytes(uint8_t *restrict d, const uint8_t *restrict s, int64_t n, int32_t down) {
    enum { WIDE = sizeof(two_words), WORD = sizeof(uint64_t) };
    if (n >= WIDE) {
        for (int64_t i = 0; i < n - WIDE; i += WIDE) shift_two_words(d + i, s + i, down);
        shift_two_words(d + n - WIDE, s + n - WIDE, down);
    } else if (n >= WORD) {
        shift_uint64_t(d, s, down);
        shift_uint64_t(d + n - WORD, s + n - WORD, down);
    } else {
        for (int64_t i = 0; i < n; i++) d[i] = (uint8_t)(s[i] >> down | s[i + 1] << (8 - down));
    }
}

/* n <= 8 bits from bit `from` on, to bit `to` of one byte. */
static void copy_bits(uint8_t *restrict d, int64_t to, const uint8_t *restrict s, int64_t from, int64_t n) {
    const int32_t  into = (int32_t)(from & 7), at = (int32_t)(to & 7);
    const unsigned mask = ((1u << n) - 1) << at;
    unsigned       bits = (unsigned)s[from >> 3] >> into;
    if (into + n > 8) bits |= (unsigned)s[(from >> 3) + 1] << (8 - into);
    d[to >> 3] = (uint8_t)((d[to >> 3] & ~mask) | (bits << at & mask));
}

void tg_copy_packed(uint8_t *restrict d, int64_t to, const uint8_t *restrict s, int64_t from, int64_t n,
                    int32_t bits) {
    const int32_t log = __builtin_ctz((unsigned)bits);
    d += to >> (3 - log); /* places in bits would not always fit */
    s += from >> (3 - log);
    to = (to << log) & 7;
    from = (from << log) & 7;
    n <<= log;
    const int64_t lead = n < (-to & 7) ? n : -to & 7;
    if (lead > 0) copy_bits(d, to, s, from, lead);
    const int64_t        whole = (n - lead) >> 3, rest = (n - lead) & 7;
    const int32_t        down = (int32_t)((from + lead) & 7);
    uint8_t *const       out = d + ((to + lead) >> 3);
    const uint8_t *const in = s + ((from + lead) >> 3);
    if (whole > 0 && down == 0) memcpy(out, in, (size_t)whole);
    else if (whole > 0) shift_bytes(out, in, whole, down);
    if (rest > 0) copy_bits(out + whole, 0, in + whole, down, rest);
}

static int64_t copy_packed(const tg_kernel *kernel, void *restrict dst, const void *restrict src, const tg_rect *r) {
    const int32_t bits = kernel->dst.bits;
    for (int64_t y = 0; y < r->rows; y++) {
        const int64_t to = r->dst.first + y * r->dst.row, from = r->src.first + y * r->src.row;
        if (r->dst.col == 1 && r->src.col == 1) {
            tg_copy_packed(dst, to, src, from, r->cols, bits);
            continue;
        }
        for (int64_t x = 0; x < r->cols; x++)
            tg_put_packed(dst, to + x * r->dst.col, bits, tg_get_packed(src, from + x * r->src.col, bits));
    }
    return -1;
}

bool tg_kernel_copy(tg_kernel *out, int32_t bits) {
    const tg_encoding e = {TG_KIND_BITS, bits, bits};
    tg_kernel         k = {NULL, e, e, NULL, NULL, false};
    switch (bits) {
    case 1:
    case 2:
    case 4: k.move = copy_packed; break;
    case 8: k.move = copy_unit8; break;
    case 16: k.move = copy_unit16; break;
    case 32: k.move = copy_unit32; break;
    case 64: k.move = copy_unit64; break;
    case 128: k.move = copy_unit128; break;
    default: return false;
    }
    *out = k;
    return true;
}

/* ---- filling ---- */

/* A block of copies doubles until it is all that is left. */
static void fill_bytes(uint8_t *d, int64_t nbytes, const uint8_t *element, int64_t size) {
    enum { BLOCK = 4096 };
    if (nbytes <= 0) return;
    const int64_t block = nbytes < BLOCK ? nbytes : BLOCK;
    memcpy(d, element, (size_t)size);
    for (int64_t done = size; done < block;) {
        const int64_t n = done < block - done ? done : block - done;
        memcpy(d + done, d, (size_t)n);
        done += n;
    }
    for (int64_t done = block; done < nbytes;) {
        const int64_t n = block < nbytes - done ? block : nbytes - done;
        memcpy(d + done, d, (size_t)n);
        done += n;
    }
}

static void fill_packed(uint8_t *d, int64_t first, int64_t n, unsigned value, int32_t bits) {
    const int64_t per_byte = 8 / bits, end = first + n;
    for (; first < end && first % per_byte != 0; first++) tg_put_packed(d, first, bits, value);
    uint8_t byte = 0;
    for (int64_t i = 0; i < per_byte; i++) tg_put_packed(&byte, i, bits, value);
    const int64_t whole = (end - first) / per_byte;
    if (whole > 0) memset(d + first / per_byte, byte, (size_t)whole);
    for (first += whole * per_byte; first < end; first++) tg_put_packed(d, first, bits, value);
}

bool tg_fill(void *dst, int64_t first, int64_t n, const void *element, int32_t bits) {
    if (bits < 8) {
        fill_packed(dst, first, n, tg_get_packed(element, 0, bits), bits);
        return true;
    }
    const int64_t size = bits / 8;
    if (bits % 8 != 0) return false;
    fill_bytes((uint8_t *)dst + first * size, n * size, element, size);
    return true;
}
