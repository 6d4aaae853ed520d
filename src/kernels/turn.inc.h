/* Registers and the elements of their 16-byte lanes that change places, with vectors of VEC bytes; behind vector.inc.h
 * and transpose.h. See transpose.c. */

/* One 16-byte piece of each of LANES lines. Inserting from memory does the work across lanes while loading. */
#if VEC == 64
#  define LANES 4
TG_NO_CHECKS TG_INLINE V(vec) V(lanes)(const uint8_t *const *lane) {
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(LOAD128(lane[0])), LOAD128(lane[1]), 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(LOAD128(lane[2])), LOAD128(lane[3]), 1);
    return (V(vec))_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
#  define EACH_LANE(X) X(0), X(1), X(2), X(3)
#elif VEC == 32
#  define LANES 2
TG_NO_CHECKS TG_INLINE V(vec) V(lanes)(const uint8_t *const *lane) {
    return (V(vec))_mm256_inserti128_si256(_mm256_castsi128_si256(LOAD128(lane[0])), LOAD128(lane[1]), 1);
}
#  define EACH_LANE(X) X(0), X(1)
#else
#  define LANES 1
TG_NO_CHECKS TG_INLINE V(vec) V(lanes)(const uint8_t *const *lane) { return V(load)(lane[0]); }
#  define EACH_LANE(X) X(0)
#endif

typedef int8_t  V(bytes) __attribute__((vector_size(VEC)));
typedef int16_t V(shorts) __attribute__((vector_size(VEC)));
typedef int32_t V(words) __attribute__((vector_size(VEC)));

#define UNPACK(TYPE, a, b, PART) (V(vec)) __builtin_shufflevector((V(TYPE))(a), (V(TYPE))(b), EACH_LANE(PART))

TG_NO_CHECKS TG_INLINE void V(unpack)(int width, V(vec) *low, V(vec) *high, V(vec) a, V(vec) b) {
    if (width == 1) {
        *low = UNPACK(bytes, a, b, LOW1);
        *high = UNPACK(bytes, a, b, HIGH1);
    } else if (width == 2) {
        *low = UNPACK(shorts, a, b, LOW2);
        *high = UNPACK(shorts, a, b, HIGH2);
    } else if (width == 4) {
        *low = UNPACK(words, a, b, LOW4);
        *high = UNPACK(words, a, b, HIGH4);
    } else {
        *low = UNPACK(vec, a, b, LOW8);
        *high = UNPACK(vec, a, b, HIGH8);
    }
}

/* Register j with register j + n / 2: the order of the registers turns by one bit, and that of the elements too. */
TG_NO_CHECKS TG_INLINE void V(round)(int width, V(vec) *out, const V(vec) *in) {
    const int half = 8 / width;
    TG_UNROLL
    for (int j = 0; j < half; j++) V(unpack)(width, &out[2 * j], &out[2 * j + 1], in[j], in[j + half]);
}

/* Of bytes, what the first round leaves in even registers, or in odd ones; and another round of these 8. */
TG_NO_CHECKS TG_INLINE void V(half_round)(V(vec) *out, const V(vec) *in, bool odd) {
    TG_UNROLL
    for (int j = 0; j < 8; j++) {
        V(vec) low, high;
        V(unpack)(1, &low, &high, in[j], in[j + 8]);
        out[j] = odd ? high : low;
    }
}

TG_NO_CHECKS TG_INLINE void V(round_of_8)(V(vec) *out, const V(vec) *in) {
    TG_UNROLL
    for (int j = 0; j < 4; j++) V(unpack)(1, &out[2 * j], &out[2 * j + 1], in[j], in[j + 4]);
}

/* n = 16 / width registers (`in` is lost), in each of their 16-byte lanes: after as many rounds as the index of a
 * register has bits, registers and elements have changed places. */
TG_NO_CHECKS TG_INLINE void V(turn)(int width, V(vec) *out, V(vec) *in) {
    V(vec) a[16];
    if (width == 16) out[0] = in[0];
    if (width == 8) V(round)(8, out, in);
    if (width < 8) V(round)(width, a, in);
    if (width == 4) V(round)(4, out, a);
    if (width < 4) V(round)(width, in, a);
    if (width == 2) V(round)(2, out, in);
    if (width == 1) V(round)(1, a, in);
    if (width == 1) V(round)(1, out, a);
}
