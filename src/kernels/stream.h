/* Stores around the caches.
 *
 * A normal store first reads the line that it is going to overwrite, so copying much more than a cache
 * holds moves three bytes for every two. A non-temporal store of a whole 64-byte line does not. It
 * pays as soon as source and destination together outgrow the caches that are faster than memory (tg_cpu_stream_bytes),
 * and costs where the destination would have stayed in it (docs/sources.md, measured: 1.5 to 1.8 times faster, 2 times
 * slower). Where the compiler has no such store these are plain copies. */
#ifndef TG_KERNELS_STREAM_H
#define TG_KERNELS_STREAM_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    TG_LINE_BYTES = 64,
    TG_STICK_BYTES = 128 /* two lines, which caches fetch together; a stick of Spyre */
};

/* Do all of a grid of rows begin at lines? */
static inline bool tg_at_lines(const uint8_t *d, int64_t step, int64_t other) {
    return (((uintptr_t)d | (uintptr_t)step | (uintptr_t)other) & (TG_LINE_BYTES - 1)) == 0;
}

typedef long long tg_vec16 __attribute__((vector_size(16), may_alias));

typedef int __attribute__((may_alias)) tg_vec4;

#if defined(__clang__)
static inline void tg_stream_16(tg_vec16 *d, tg_vec16 v) { __builtin_nontemporal_store(v, d); }
static inline void tg_stream_4(tg_vec4 *d, int v) { __builtin_nontemporal_store(v, d); }
#elif defined(__SSE2__)
static inline void tg_stream_16(tg_vec16 *d, tg_vec16 v) { __builtin_ia32_movntdq(d, v); }
static inline void tg_stream_4(tg_vec4 *d, int v) { __builtin_ia32_movnti((int *)d, v); }
#else
static inline void tg_stream_16(tg_vec16 *d, tg_vec16 v) { *d = v; }
static inline void tg_stream_4(tg_vec4 *d, int v) { *d = v; }
#endif

/* Before other threads may read what was streamed. */
static inline void tg_stream_end(void) {
#if defined(__SSE2__)
    __builtin_ia32_sfence();
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* n bytes, few, of lines of which others write the rest, another time. A plain store would wait for its line, and so
 * would all stores behind it (a Zen 4, 64 MiB, two parts in 4 KiB: 1.5 times as fast). Where the place or n is no
 * multiple of 4 it is a plain store. */
TG_INLINE void tg_stream_part(uint8_t *restrict d, const uint8_t *restrict s, int64_t n) {
    int64_t i = 0;
    if (((uintptr_t)d | (uintptr_t)n) % sizeof(int) != 0) {
        memcpy(d, s, (size_t)n);
        return;
    }
    while (i < n) {
        tg_vec16 v;
        int      x;
        if ((uintptr_t)(d + i) % 16 == 0 && n - i >= 16) {
            memcpy(&v, s + i, 16);
            tg_stream_16((tg_vec16 *)(void *)(d + i), v);
            i += 16;
        } else {
            memcpy(&x, s + i, sizeof x);
            tg_stream_4((tg_vec4 *)(void *)(d + i), x);
            i += (int64_t)sizeof x;
        }
    }
}

/* The same, or by a plain store into a line that was asked for (move.h: claims). */
TG_INLINE void tg_put_part(uint8_t *restrict d, const uint8_t *restrict s, int64_t n, bool claims) {
    if (claims) memcpy(d, s, (size_t)n);
    else tg_stream_part(d, s, n);
}

/* Whole lines are streamed, and so are the parts of lines at both ends, if they can be. */
TG_INLINE void tg_stream_copy(uint8_t *restrict d, const uint8_t *restrict s, size_t n) {
    const size_t lead = (size_t)(-(uintptr_t)d % TG_LINE_BYTES);
    if (n < lead + TG_LINE_BYTES) {
        memcpy(d, s, n);
        return;
    }
    tg_stream_part(d, s, (int64_t)lead);
    size_t i = lead;
    for (; n - i >= TG_LINE_BYTES; i += TG_LINE_BYTES) {
        tg_vec16 v[4];
        memcpy(v, s + i, sizeof v);
        for (int k = 0; k < 4; k++) tg_stream_16((tg_vec16 *)(void *)(d + i) + k, v[k]);
    }
    tg_stream_part(d + i, s + i, (int64_t)(n - i));
}

#endif
