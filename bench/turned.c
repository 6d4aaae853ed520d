#include "turned.h"

#if defined(__x86_64__)
#  include "turning.h"

enum { LINE = 64 };

INLINE void turn(int width, int64_t count) {
    static uint8_t from[LINE * LINE] __attribute__((aligned(64))); /* read by all threads */
    uint8_t        to[LINE * LINE] __attribute__((aligned(64)));
    const int      n = 16 / width;
    for (; count > 0; count--) {
        __m512i v[LINE];
        UNROLL
        for (int l = 0; l < 4; l++) {
            UNROLL
            for (int j = 0; j < n; j++) v[l * n + j] = _mm512_load_si512(from + (l * n + j) * LINE);
            turn_elements(width, &v[l * n]);
        }
        UNROLL
        for (int i = 0; i < n; i++) {
            turn_lanes(&v[i], n);
            UNROLL
            for (int l = 0; l < 4; l++) _mm512_store_si512(to + (l * n + i) * LINE, v[l * n + i]);
        }
        __asm__ volatile("" : : "r"(from), "r"(to) : "memory"); /* every time, please */
    }
}

TARGET static void turn_1(int64_t count) { turn(1, count); }
TARGET static void turn_2(int64_t count) { turn(2, count); }
TARGET static void turn_4(int64_t count) { turn(4, count); }
TARGET static void turn_8(int64_t count) { turn(8, count); }

/* Two lines of one row and two of the next become four of pairs. */
TARGET static void interleave(int64_t count) {
    static uint8_t from[4 * LINE] __attribute__((aligned(64)));
    uint8_t        to[4 * LINE] __attribute__((aligned(64)));
    const __m512i  low = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38, 6,
                                          37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0),
                   high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
    for (; count > 0; count--) {
        UNROLL
        for (int k = 0; k < 2; k++) {
            const __m512i a = _mm512_load_si512(from + k * LINE), b = _mm512_load_si512(from + (2 + k) * LINE);
            _mm512_store_si512(to + 2 * k * LINE, _mm512_permutex2var_epi16(a, low, b));
            _mm512_store_si512(to + (2 * k + 1) * LINE, _mm512_permutex2var_epi16(a, high, b));
        }
        __asm__ volatile("" : : "r"(from), "r"(to) : "memory");
    }
}

bool interleave_pairs(int64_t count) {
    if (!__builtin_cpu_supports("avx512bw")) return false;
    interleave(count);
    return true;
}

bool turn_squares(int64_t width, int64_t count) {
    if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq")) return false;
    switch (width) {
    case 1: turn_1(count); return true;
    case 2: turn_2(count); return true;
    case 4: turn_4(count); return true;
    case 8: turn_8(count); return true;
    default: return false;
    }
}

#else

bool turn_squares(int64_t width, int64_t count) {
    (void)width;
    (void)count;
    return false;
}

bool interleave_pairs(int64_t count) {
    (void)count;
    return false;
}

#endif
