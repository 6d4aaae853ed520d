/* Vectors of short rows that are close together: AVX-512 permutes all bytes of a vector at once. With padding behind
 * them that fills units (units.h), here of 4 bytes; and with gaps between them, which are not written:
 *
 *     src    a b c d e f ...           dst    a b x x c d x x e f x x ...
 *     src    a b c . d e f . g h ...   dst    a b c . . . . d e f . . . . g h ...
 *
 * Places are listed unit by unit: units of any number of bytes have no such arithmetic as elements
 * (places_avx512.inc.h), and there are few in a vector. */

enum {
    LEAST_UNITS = 256, /* of a block that is worth the preparation */
    UNIT_VECTORS = 4   /* of src, for one of dst */
};

typedef struct unit_vectors {
    int64_t   units;              /* of a vector of dst */
    int       n;                  /* vectors of src */
    __m512i   place, pad;         /* of each byte in its vector; padding where it belongs */
    __mmask64 part[UNIT_VECTORS]; /* bytes that come from each of them */
    __mmask64 end;                /* of the last one, what there is */
    __mmask64 out;                /* what is written */
} unit_vectors;

/* False if units are too far apart, or too few, or go downwards. pad NULL: gaps stay as they are. */
static bool unit_vectors_of(unit_vectors *v, units u, const unit_pad *pad) {
    if (u.d_step < u.bytes || u.d_step > TG_NEARER_STEP || u.s_step <= 0 || u.s_step > UNIT_VECTORS * 64) return false;
    const int64_t  n = (64 - u.bytes) / u.d_step + 1, window = (n - 1) * u.s_step + u.bytes;
    const uint64_t each = 0x0101010101010101, first = 0x0706050403020100;
    uint8_t        place[64] = {0}, padding[64] = {0};
    if (u.n < n || window > UNIT_VECTORS * 64) return false;
    for (int k = 0; k < UNIT_VECTORS; k++) v->part[k] = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t  at = i * u.s_step, to = i * u.d_step, here = tg_min(u.bytes, 64 - at % 64);
        const uint64_t places[2] = {first + each * (uint64_t)at, first + each * (uint64_t)(at + 8)};
        memcpy(place + to, places, (size_t)u.bytes);
        if (pad != NULL) memcpy(padding + to, pad, (size_t)u.d_step);
        v->part[at / 64] |= (((uint64_t)1 << here) - 1) << to;
        if (here < u.bytes) v->part[at / 64 + 1] |= (((uint64_t)1 << (u.bytes - here)) - 1) << (to + here);
    }
    v->units = n;
    v->n = (int)((window + 63) / 64);
    v->place = _mm512_loadu_si512(place);
    v->pad = _mm512_loadu_si512(padding);
    v->end = V(first_bytes)((window - 1) % 64 + 1);
    v->out = pad != NULL ? ~(uint64_t)0 : v->part[0] | v->part[1] | v->part[2] | v->part[3];
    return true;
}

TG_INLINE void put_vector(int vectors, uint8_t *d, const uint8_t *s, const unit_vectors *v, bool stream) {
    __m512i all = v->pad;
    TG_UNROLL
    for (int k = 0; k < vectors; k++) {
        const bool    whole = k + 1 < vectors;
        const __m512i in = whole ? _mm512_loadu_si512(s + k * 64) : _mm512_maskz_loadu_epi8(v->end, s + k * 64);
        all = _mm512_mask_permutexvar_epi8(all, v->part[k], v->place, in);
    }
    if (stream) _mm512_stream_si512((void *)d, all);
    else if (v->out == ~(__mmask64)0) _mm512_storeu_si512(d, all);
    else _mm512_mask_storeu_epi8(d, v->out, all);
}

/* A run. The last vector begins a little earlier, where it does not fit. */
TG_INLINE void put_vectors(int vectors, uint8_t *d, const uint8_t *s, units u, const unit_vectors *v, bool stream) {
    const int64_t d_step = v->units * u.d_step, s_step = v->units * u.s_step;
    int64_t       left = u.n;
    for (; left >= v->units; left -= v->units, d += d_step, s += s_step) put_vector(vectors, d, s, v, stream);
    const int64_t back = v->units - left;
    if (left > 0) put_vector(vectors, d - back * u.d_step, s - back * u.s_step, v, false);
}

TG_OUTLINE void put_unit_vectors(uint8_t *d, const uint8_t *s, units u, const unit_vectors *from, bool stream) {
    const unit_vectors v = *from; /* a value, which no store can change */
    switch (v.n) {
    case 1: stream ? put_vectors(1, d, s, u, &v, true) : put_vectors(1, d, s, u, &v, false); break;
    case 2: stream ? put_vectors(2, d, s, u, &v, true) : put_vectors(2, d, s, u, &v, false); break;
    case 3: stream ? put_vectors(3, d, s, u, &v, true) : put_vectors(3, d, s, u, &v, false); break;
    default: stream ? put_vectors(4, d, s, u, &v, true) : put_vectors(4, d, s, u, &v, false);
    }
}

/* False if these are not to be moved so. pad NULL: without padding. */
TG_OUTLINE bool in_unit_vectors(const tg_mover *m, uint8_t *d, const uint8_t *s, const walk *from, int64_t bytes,
                                const unit_pad *pad) {
    const walk   w = *from;
    const units  u = {w.along.n, w.along.dst, w.along.src, bytes};
    const bool   stream = m->stream && pad != NULL && at_lines(d, &w);
    unit_vectors v;
    if (w.along.n * w.across.n < LEAST_UNITS || !unit_vectors_of(&v, u, pad)) return false;
    for (int64_t o = w.across.n; o > 0; o--, d += w.across.dst, s += w.across.src)
        put_unit_vectors(d, s, u, &v, stream);
    return true;
}
