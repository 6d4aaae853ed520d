/* Vectors of VEC bytes (16, 32 or 64) for the templates; included inside a region of target.h.
 *
 * V(name) is the name with the size behind it, so that one file holds several instances. */
#undef V
#define V_PASTE(name, size)  name##_##size
#define V_EXPAND(name, size) V_PASTE(name, size)
#define V(name)              V_EXPAND(name, VEC)

typedef long long V(vec) __attribute__((vector_size(VEC), may_alias));
typedef long long V(any) __attribute__((vector_size(VEC), aligned(1), may_alias)); /* at any address */

static inline V(vec) V(load)(const uint8_t *s) { return *(const V(any) *)(const void *)s; }
static inline void V(store)(uint8_t *d, V(vec) v) { *(V(any) *)(void *)d = v; }

/* Around the caches; d is a multiple of VEC, and all of a line is written soon. */
static inline void V(stream)(uint8_t *d, V(vec) v) {
    V(vec) *const to = (V(vec) *)(void *)d;
#if defined(__clang__)
    __builtin_nontemporal_store(v, to);
#elif VEC == 64
    __builtin_ia32_movntdq512(to, v);
#elif VEC == 32
    __builtin_ia32_movntdq256(to, v);
#elif defined(__SSE2__)
    __builtin_ia32_movntdq(to, v);
#else
    *to = v;
#endif
}

static inline void V(put)(uint8_t *d, V(vec) v, bool stream) {
    if (stream) V(stream)(d, v);
    else V(store)(d, v);
}

#if VEC == 64
/* 0, 1, 2 ... 63 */
TG_INLINE __m512i V(ascending)(void) {
    return _mm512_set_epi64(0x3f3e3d3c3b3a3938, 0x3736353433323130, 0x2f2e2d2c2b2a2928, 0x2726252423222120,
                            0x1f1e1d1c1b1a1918, 0x1716151413121110, 0x0f0e0d0c0b0a0908, 0x0706050403020100);
}

/* Masks of bytes. Of the first n ones; n < 256, and from VEC on all of them. */
TG_INLINE uint64_t V(first_bytes)(int64_t n) { return _bzhi_u64(~(uint64_t)0, (unsigned)n); }

/* Where n bytes are left, or no longer any, those of this vector. */
TG_INLINE uint64_t V(bytes_left)(int64_t n) {
    return n <= 0 ? 0 : n >= VEC ? ~(uint64_t)0 : ~(uint64_t)0 >> (VEC - n);
}

/* Of bytes [from, to), which may begin before the vector and end behind it; to < 256. */
TG_INLINE uint64_t V(bytes_between)(int64_t from, int64_t to) {
    return from >= VEC ? 0 : _bzhi_u64(~(uint64_t)0 << (from < 0 ? 0 : from), (unsigned)(to < 0 ? 0 : to));
}
#endif
