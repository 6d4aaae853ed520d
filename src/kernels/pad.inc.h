/* Padding behind a row, with vectors of VEC bytes; included after vector.inc.h by what writes rows. */

/* n bytes of it, elements of `pad` (move.h: tg_block). Whole lines of it are best stored as such: around the caches
 * tg_fill_bytes takes 16 bytes at a time (a Zen 4, 256 MiB, f32[n,3]{0,1} to T(8,128) 1.7 and 1.1 of memcpy). */
TG_INLINE void V(pad)(uint8_t *d, int64_t n, const uint8_t *pad, bool stream) {
    const V(vec) v = V(load)(pad);
    int64_t      done = 0;
#if VEC == 64
    if (n < VEC) {
        _mm512_mask_storeu_epi8(d, V(first_bytes)(n), (__m512i)v);
        return;
    }
#endif
    for (; stream && (uintptr_t)d % TG_LINE_BYTES == 0 && done + VEC <= n; done += VEC) V(stream)(d + done, v);
    if (stream || n < VEC) {
        tg_fill_bytes(d + done, n - done, pad, stream);
        return;
    }
    for (; done < n - VEC; done += VEC) V(store)(d + done, v);
    V(store)(d + n - VEC, v); /* over the one before: any element is the same one */
}
