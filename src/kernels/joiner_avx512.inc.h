/* A run of dst that begins inside of a line, out of vectors of 64 bytes: a line of dst is the end of one and the
 * beginning of the next one. Only the first and the last line of the run are parts. */

/* For permutations of bytes: byte 0 goes to place n, byte 1 to the next one, and so on; round again. */
TG_INLINE __m512i V(moved_up)(int64_t n) {
    return _mm512_sub_epi8(V(ascending)(), _mm512_set1_epi8((char)n));
}

/* Bytes [from, to) of a line, of which others write the rest, another time: around the caches (stream.h), or by a
 * plain store, which is faster where the line was asked for before (TG_CLAIM). */
TG_INLINE void V(put_part)(uint8_t *line, __m512i v, int64_t from, int64_t to, bool plain) {
    uint8_t bytes[TG_LINE_BYTES];
    if (plain) {
        _mm512_mask_storeu_epi8(line, V(first_bytes)(to) & ~V(first_bytes)(from), v);
        return;
    }
    _mm512_storeu_si512(bytes, v);
    tg_stream_part(line + from, bytes + from, to - from);
}

typedef struct V(joiner) {
    uint8_t *line; /* the next one of dst */
    __m512i  last, across; /* what came before; where a line of dst is in it and the next one */
} V(joiner);

/* v is what the run at d begins with. `stream`: its first line and its last one, for which nobody has asked, go around
 * the caches as all others do. */
TG_INLINE V(joiner) V(join_from)(uint8_t *d, __m512i v, bool stream) {
    const int64_t   at = (int64_t)((uintptr_t)d % TG_LINE_BYTES);
    const V(joiner) j = {d - at + TG_LINE_BYTES, v, V(moved_up)(at - TG_LINE_BYTES)};
    V(put_part)(d - at, _mm512_permutexvar_epi8(j.across, v), at, TG_LINE_BYTES, !stream);
    return j;
}

TG_INLINE void V(join_line)(V(joiner) *j, __m512i v, bool stream) {
    if (!stream) TG_CLAIM(j->line + TG_CLAIMED);
    V(put)(j->line, (V(vec))_mm512_permutex2var_epi8(j->last, j->across, v), stream);
    j->line += TG_LINE_BYTES;
    j->last = v;
}

TG_INLINE void V(join_to)(const V(joiner) *j, const uint8_t *d, bool stream) {
    V(put_part)(j->line, _mm512_permutexvar_epi8(j->across, j->last), 0, (int64_t)((uintptr_t)d % TG_LINE_BYTES),
                !stream);
}
