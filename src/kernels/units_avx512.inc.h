/* Vectors of units (units.h): rows that are close together in src are read as a whole, and AVX-512 permutes all bytes
 * of a vector at once. Units of 4 bytes of which two are padding:
 *
 *     src    a b c d e f ...           dst    a b x x c d x x e f x x ... */

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
} unit_vectors;

/* False if units are too far apart, or go downwards. */
static bool unit_vectors_of(unit_vectors *v, int64_t unit, units u, unit_pad pad) {
    const int64_t  n = 64 / unit, window = (n - 1) * u.s_step + u.bytes;
    const uint64_t each = 0x0101010101010101, first = 0x0706050403020100;
    uint8_t        place[64], padding[64];
    if (u.s_step <= 0 || u.d_step != unit || window > UNIT_VECTORS * 64) return false;
    for (int k = 0; k < UNIT_VECTORS; k++) v->part[k] = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t  at = i * u.s_step, here = tg_min(u.bytes, 64 - at % 64);
        const uint64_t places[2] = {first + each * (uint64_t)at, first + each * (uint64_t)(at + 8)};
        memcpy(place + i * unit, places, (size_t)unit);
        memcpy(padding + i * unit, &pad, (size_t)unit);
        v->part[at / 64] |= (((uint64_t)1 << here) - 1) << (i * unit);
        if (here < u.bytes) v->part[at / 64 + 1] |= (((uint64_t)1 << (u.bytes - here)) - 1) << (i * unit + here);
    }
    v->units = n;
    v->n = (int)((window + 63) / 64);
    v->place = _mm512_loadu_si512(place);
    v->pad = _mm512_loadu_si512(padding);
    v->end = ~(uint64_t)0 >> (-window % 64 & 63);
    return true;
}

/* As many of a run as fill vectors; that many are returned. */
TG_INLINE int64_t put_vectors(int vectors, uint8_t *d, const uint8_t *s, units u, const unit_vectors *v, bool stream) {
    int64_t left = u.n;
    for (; left >= v->units; left -= v->units, d += 64, s += v->units * u.s_step) {
        __m512i all = v->pad;
        TG_UNROLL
        for (int k = 0; k < vectors; k++) {
            const __m512i in =
                k + 1 < vectors ? _mm512_loadu_si512(s + k * 64) : _mm512_maskz_loadu_epi8(v->end, s + k * 64);
            all = _mm512_mask_permutexvar_epi8(all, v->part[k], v->place, in);
        }
        if (stream) _mm512_stream_si512((void *)d, all);
        else _mm512_storeu_si512(d, all);
    }
    return u.n - left;
}

TG_OUTLINE int64_t put_unit_vectors(uint8_t *d, const uint8_t *s, units u, const unit_vectors *from, bool stream) {
    const unit_vectors v = *from; /* a value, which no store can change */
    switch (v.n) {
    case 1: return stream ? put_vectors(1, d, s, u, &v, true) : put_vectors(1, d, s, u, &v, false);
    case 2: return stream ? put_vectors(2, d, s, u, &v, true) : put_vectors(2, d, s, u, &v, false);
    case 3: return stream ? put_vectors(3, d, s, u, &v, true) : put_vectors(3, d, s, u, &v, false);
    default: return stream ? put_vectors(4, d, s, u, &v, true) : put_vectors(4, d, s, u, &v, false);
    }
}

/* False if these are not to be moved so. */
static bool in_unit_vectors(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b, const walk *w, units u,
                            unit_pad pad) {
    const int64_t unit = b->cols + b->tail;
    const bool    stream = m->stream && at_lines(d, w);
    unit_vectors  v;
    if (w->along.n * w->across.n < LEAST_UNITS || !unit_vectors_of(&v, unit, u, pad)) return false;
    for (int64_t o = w->across.n; o > 0; o--, d += w->across.dst, s += w->across.src) {
        const int64_t done = put_unit_vectors(d, s, u, &v, stream);
        const units   rest = {u.n - done, u.d_step, u.s_step, u.bytes};
        if (rest.n > 0) put_units(unit, d + done * unit, s + done * u.s_step, rest, pad);
    }
    return true;
}
