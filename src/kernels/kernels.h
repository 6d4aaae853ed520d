/* What moves elements: kernels know rectangles of elements, never layouts.
 *
 * A rectangle is `rows` lines of `cols` elements, each side with a first element and two steps. One
 * call moves one rectangle, so the cost of choosing is paid once for some kilobytes. Elements of
 * less than a byte are packed, first element in the low bits; all counts are elements there too.
 *
 * An encoding is what the bits of a stored element mean. Equal encodings are copied; others are
 * converted by way of a common middle (float32 or int64), so that n encodings need 2n loops, and
 * only pairs that must be fast have a loop of their own.
 *
 * encoding.c  which encoding an element type has in a device format
 * copy.c      the same bits elsewhere; filling
 * convert.c   loops over runs that convert
 * losses.c    which values a conversion of floats cannot keep
 * ref.c       the definition of load, store and convert for one element; shares no loop with these
 */
#ifndef TG_KERNELS_KERNELS_H
#define TG_KERNELS_KERNELS_H

#include <tegula/tegula.h>

/* ---- encodings ---- */

typedef enum tg_kind {
    TG_KIND_NONE = 0,
    TG_KIND_BITS, /* compared as bits only; unused bits of a wider store are zero */
    TG_KIND_SINT, /* two's complement, sign-extended to the store */
    TG_KIND_UINT,
    TG_KIND_BOOL, /* zero or not */
    TG_KIND_F16,
    TG_KIND_BF16,
    TG_KIND_F32,
    TG_KIND_DLF16,    /* DLFloat16, SEN169_FP16: 1 sign, 6 exponent, 9 fraction */
    TG_KIND_F8E4M3FN, /* also SEN143_FP8: no infinity, 0x7f is NaN, the largest is 448 */
    TG_KIND_F8E5M2
} tg_kind;

typedef struct tg_encoding {
    tg_kind kind;
    int32_t bits;       /* stored */
    int32_t value_bits; /* of them with meaning, <= bits */
} tg_encoding;

/* How elements of dtype are stored in `format` with elem_bits each; kind NONE if we do not know. */
void tg_encoding_find(tg_encoding *out, tg_dtype dtype, tg_format format, int32_t elem_bits);

/* The same as a value, for callers that have time: compilers return three words by way of memory, in two loads that
 * wait for three stores. */
static inline tg_encoding tg_encoding_of(tg_dtype dtype, tg_format format, int32_t elem_bits) {
    tg_encoding e;
    tg_encoding_find(&e, dtype, format, elem_bits);
    return e;
}

static inline bool tg_encoding_same(tg_encoding a, tg_encoding b) {
    return (((int32_t)a.kind ^ (int32_t)b.kind) | (a.bits ^ b.bits) | (a.value_bits ^ b.value_bits)) == 0;
}

static inline bool tg_is_float(tg_kind kind) { return kind >= TG_KIND_F16; }

/* ---- kernels ---- */

typedef struct tg_line {
    int64_t first, row, col; /* elements: where the rectangle begins, what one step adds */
} tg_line;

typedef struct tg_rect {
    int64_t rows, cols;
    tg_line dst, src;
} tg_rect;

typedef struct tg_kernel tg_kernel;

/* Moves one rectangle; dst and src point at element 0 of their storage, at any byte address.
 * Returns -1, or the place (row * cols + col) of an integer that does not fit dst's encoding. */
typedef int64_t tg_move(const tg_kernel *kernel, void *restrict dst, const void *restrict src, const tg_rect *rect);

/* Converts n neighbours of whole bytes (packed elements are spread to one byte each). Returns n, or
 * the place of an integer that does not fit. */
typedef int64_t tg_convert(const tg_kernel *kernel, void *restrict dst, const void *restrict src, int64_t n);

struct tg_kernel {
    tg_move    *move;
    tg_encoding dst, src;
    tg_convert *convert, *then; /* src -> dst, or src -> middle and then middle -> dst; NULL: copies */
    bool        stream; /* write contiguous lines around the caches; the caller ends with tg_stream_end */
};

/* Whether elements of this width can be copied: 1, 2, 4 bits, and 1 to 16 bytes by powers of two. */
static inline bool tg_bits_movable(int32_t bits) { return bits >= 1 && bits <= 128 && (bits & (bits - 1)) == 0; }

/* All return false where there is no such kernel. */
bool tg_kernel_copy(tg_kernel *out, int32_t bits);
bool tg_kernel_convert(tg_kernel *out, tg_encoding dst, tg_encoding src);

/* Elements [first, first + n) of dst become copies of `element`. */
bool tg_fill(void *dst, int64_t first, int64_t n, const void *element, int32_t bits);

/* ---- packed elements ---- */

/* Element `index` of 1, 2 or 4 bits, in the low bits. */
static inline unsigned tg_get_packed(const uint8_t *base, int64_t index, int32_t bits) {
    const int64_t bit = index * bits;
    return (unsigned)base[bit / 8] >> (bit % 8) & ((1u << bits) - 1);
}

static inline void tg_put_packed(uint8_t *base, int64_t index, int32_t bits, unsigned value) {
    const int64_t  bit = index * bits;
    const unsigned mask = ((1u << bits) - 1) << (bit % 8);
    base[bit / 8] = (uint8_t)((base[bit / 8] & ~mask) | (value << (bit % 8) & mask));
}

/* n neighbours, from element `from` on to element `to` on: at any bits of their bytes. */
void tg_copy_packed(uint8_t *restrict dst, int64_t to, const uint8_t *restrict src, int64_t from, int64_t n,
                    int32_t bits);

/* ---- losses ---- */

/* Magnitudes (bits without the sign) that a conversion loses: [1, vanish_end) become 0, and
 * [overflow_begin, overflow_end) are finite and become infinity, NINF, or the NaN of f8e4m3fn. */
typedef struct tg_losses {
    int32_t  bits; /* 8, 16 or 32 */
    uint32_t vanish_end, overflow_begin, overflow_end;
} tg_losses;

/* False if the conversion loses nothing in these ways: not two different float encodings, or dst has the range. */
bool tg_losses_of(tg_losses *out, tg_encoding dst, tg_encoding src);

/* Add the losses among elements [first, first + n) of base. */
void tg_losses_count(int64_t *overflowed, int64_t *vanished, const tg_losses *losses, const void *base, int64_t first,
                     int64_t n);

/* ---- the definition, one element at a time ---- */

/* The bits of one stored element, low first. */
typedef struct tg_word {
    uint64_t lo, hi;
} tg_word;

/* bits is 1, 2, 4, 8, 16, 32, 64 or 128; base points at element 0. */
tg_word tg_ref_load(const void *base, int64_t index, int32_t bits);
void    tg_ref_store(void *base, int64_t index, int32_t bits, tg_word word);

/* False where an integer does not fit; `to` and `from` must be convertible (tg_kernel_convert). */
bool tg_ref_convert(tg_word *out, tg_encoding to, tg_encoding from, tg_word in);

/* The value of an integer or bool, for messages. */
int64_t tg_ref_int(tg_encoding encoding, tg_word in);

#endif
