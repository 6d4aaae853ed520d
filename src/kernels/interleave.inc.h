/* Two, three, four, eight or sixteen rows that take turns, element by element, and back; with vectors of VEC bytes; see
 * transpose.c.
 *
 * First how vectors of rows become vectors of turns, for each number of rows; then long rows, and blocks of them, of
 * which V(interleaved) says whether they are such. */

#if VEC == 64
#  define LIST_BY_1 LIST64
#  define LIST_BY_2 LIST32
#  define LIST_BY_4 LIST16
#  define LIST_BY_8 LIST8
#  define ZIP(width) ZIP##width(TAKE32, TAKE16, TAKE8, TAKE4)
#  define ALL(width) ZIP##width(SKIP64, SKIP32, SKIP16, SKIP8)
#elif VEC == 32
#  define LIST_BY_1 LIST32
#  define LIST_BY_2 LIST16
#  define LIST_BY_4 LIST8
#  define LIST_BY_8 LIST4
#  define ZIP(width) ZIP##width(TAKE16, TAKE8, TAKE4, TAKE2)
#  define ALL(width) ZIP##width(SKIP32, SKIP16, SKIP8, SKIP4)
#else
#  define LIST_BY_1 LIST16
#  define LIST_BY_2 LIST8
#  define LIST_BY_4 LIST4
#  define LIST_BY_8 LIST2
#  define ZIP(width) ZIP##width(TAKE8, TAKE4, TAKE2, TAKE1)
#  define ALL(width) ZIP##width(SKIP16, SKIP8, SKIP4, SKIP2)
#endif

#define MIX(TYPE, a, b, ...) (V(vec)) __builtin_shufflevector((V(TYPE))(a), (V(TYPE))(b), __VA_ARGS__)

/* Elements of a and b take turns. */
TG_NO_CHECKS TG_INLINE void V(zip)(int width, V(vec) *low, V(vec) *high, V(vec) a, V(vec) b) {
    if (width == 1) {
        *low = MIX(bytes, a, b, ZIP(1)(0, VEC));
        *high = MIX(bytes, a, b, ZIP(1)(VEC / 2, VEC));
    } else if (width == 2) {
        *low = MIX(shorts, a, b, ZIP(2)(0, VEC / 2));
        *high = MIX(shorts, a, b, ZIP(2)(VEC / 4, VEC / 2));
    } else if (width == 4) {
        *low = MIX(words, a, b, ZIP(4)(0, VEC / 4));
        *high = MIX(words, a, b, ZIP(4)(VEC / 8, VEC / 4));
    } else {
        *low = MIX(vec, a, b, ZIP(8)(0, VEC / 8));
        *high = MIX(vec, a, b, ZIP(8)(VEC / 16, VEC / 8));
    }
}

#if VEC == 64
/* Elements of 2 bytes: those at even places meet by a shift, and those at odd ones; then pairs take turns, which is one
 * instruction for each vector, and two for elements of 2 bytes. */
TG_NO_CHECKS TG_INLINE void V(zip_by_shifts)(V(vec) *low, V(vec) *high, V(vec) a, V(vec) b) {
    enum { SECOND_ELSE_THIRD = 0xca };
    const __m512i x = (__m512i)a, y = (__m512i)b, lows = _mm512_set1_epi32(0xffff);
    const __m512i even = _mm512_ternarylogic_epi32(lows, x, _mm512_slli_epi32(y, 16), SECOND_ELSE_THIRD);
    const __m512i odd = _mm512_ternarylogic_epi32(lows, _mm512_srli_epi32(x, 16), y, SECOND_ELSE_THIRD);
    V(zip)(4, low, high, (V(vec))even, (V(vec))odd);
}

/* The same by lanes: their halves take turns, then lanes do. */
TG_NO_CHECKS TG_INLINE void V(zip_by_lanes)(V(vec) *low, V(vec) *high, V(vec) a, V(vec) b) {
    V(vec) t[2];
    V(unpack)(2, &t[0], &t[1], a, b);
    *low = __builtin_shufflevector(t[0], t[1], 0, 1, 8, 9, 2, 3, 10, 11);
    *high = __builtin_shufflevector(t[0], t[1], 4, 5, 12, 13, 6, 7, 14, 15);
}
#endif

/* The elements of a and then b at even places, and at odd ones. */
TG_NO_CHECKS TG_INLINE void V(unzip)(int width, V(vec) *even, V(vec) *odd, V(vec) a, V(vec) b) {
    if (width == 1) {
        *even = MIX(bytes, a, b, ALL(1)(0));
        *odd = MIX(bytes, a, b, ALL(1)(1));
    } else if (width == 2) {
        *even = MIX(shorts, a, b, ALL(2)(0));
        *odd = MIX(shorts, a, b, ALL(2)(1));
    } else if (width == 4) {
        *even = MIX(words, a, b, ALL(4)(0));
        *odd = MIX(words, a, b, ALL(4)(1));
    } else {
        *even = MIX(vec, a, b, ALL(8)(0));
        *odd = MIX(vec, a, b, ALL(8)(1));
    }
}

/* Three rows a, b, c take turns in three vectors of n elements. Place p of vector j has element q / 3 of row q % 3,
 * where q = j * n + p: first those of a and b come to their places, then those of c between them. Back, place p of row
 * k has element 3 * p + k of the three vectors. -1 is any element. */
#define ZIP_AB(n, q)     ((q) % 3 == 0 ? (q) / 3 : (q) % 3 == 1 ? (n) + (q) / 3 : -1)
#define ZIP_C(n, j, p)   (((j) * (n) + (p)) % 3 < 2 ? (p) : (n) + ((j) * (n) + (p)) / 3)
#define UNZIP_AB(n, q)   ((q) < 2 * (n) ? (q) : -1)
#define UNZIP_C(n, p, q) ((q) < 2 * (n) ? (p) : (q) - (n))
#define PLACES(n, p, j)     ZIP_AB(n, (j) * (n) + (p))
#define PLACES_C(n, p, j)   ZIP_C(n, j, p)
#define RETURNS(n, p, k)    UNZIP_AB(n, 3 * (p) + (k))
#define RETURNS_C(n, p, k)  UNZIP_C(n, p, 3 * (p) + (k))
#define ZIP3_OF(TYPE, N, LIST, j, a, b, c) \
    MIX(TYPE, MIX(TYPE, a, b, LIST(PLACES, N, j)), c, LIST(PLACES_C, N, j))
#define UNZIP3_OF(TYPE, N, LIST, k, a, b, c) \
    MIX(TYPE, MIX(TYPE, a, b, LIST(RETURNS, N, k)), c, LIST(RETURNS_C, N, k))
#define THREE(OF, TYPE, N, LIST)                                                                                   \
    w[0] = OF(TYPE, N, LIST, 0, v[0], v[1], v[2]), w[1] = OF(TYPE, N, LIST, 1, v[0], v[1], v[2]),                   \
    w[2] = OF(TYPE, N, LIST, 2, v[0], v[1], v[2])

TG_NO_CHECKS TG_INLINE void V(turns_of_three)(int width, bool back, V(vec) *w, const V(vec) *v) {
    if (width == 1 && !back) THREE(ZIP3_OF, bytes, VEC, LIST_BY_1);
    else if (width == 1) THREE(UNZIP3_OF, bytes, VEC, LIST_BY_1);
    else if (width == 2 && !back) THREE(ZIP3_OF, shorts, VEC / 2, LIST_BY_2);
    else if (width == 2) THREE(UNZIP3_OF, shorts, VEC / 2, LIST_BY_2);
    else if (width == 4 && !back) THREE(ZIP3_OF, words, VEC / 4, LIST_BY_4);
    else if (width == 4) THREE(UNZIP3_OF, words, VEC / 4, LIST_BY_4);
    else if (!back) THREE(ZIP3_OF, vec, VEC / 8, LIST_BY_8);
    else THREE(UNZIP3_OF, vec, VEC / 8, LIST_BY_8);
}

/* Eight or sixteen rows, in 16-byte lanes: registers j and j + ways / 2 are unpacked into 2j and 2j + 1. That rotates
 * the bits of (register, element of a lane) by one, so after as many rounds as `ways` has bits each lane holds turns,
 * on and on from register to register, and after as many more as elements of a lane have, rows again. */
TG_NO_CHECKS TG_INLINE void V(rotate)(int width, int ways, int rounds, V(vec) *v) {
    V(vec) t[16];
    TG_UNROLL
    for (int r = 0; r < rounds; r++) {
        TG_UNROLL
        for (int j = 0; j < ways / 2; j++) V(unpack)(width, &t[2 * j], &t[2 * j + 1], v[j], v[j + ways / 2]);
        TG_UNROLL
        for (int j = 0; j < ways; j++) v[j] = t[j];
    }
}

/* Lane l of all registers is part l of the turns; in memory one vector has lanes of one part. */
TG_NO_CHECKS TG_INLINE void V(many_turns)(int width, int ways, bool back, V(vec) *w, const V(vec) *v) {
    const int bits = width == 1 ? 4 : width == 2 ? 3 : width == 4 ? 2 : 1, each = ways / LANES;
    V(vec)    t[16];
    if (back) {
        TG_UNROLL
        for (int i = 0; i < each; i++) V(turn_lanes)(w + i * LANES, v + i, each);
        V(rotate)(width, ways, bits, w);
        return;
    }
    TG_UNROLL
    for (int j = 0; j < ways; j++) t[j] = v[j];
    V(rotate)(width, ways, ways == 8 ? 3 : 4, t);
    TG_UNROLL
    for (int i = 0; i < each; i++) {
        V(vec) part[LANES];
        V(turn_lanes)(part, t + i * LANES, 1);
        TG_UNROLL
        for (int l = 0; l < LANES; l++) w[l * each + i] = part[l];
    }
}

/* n bytes, or a vector if that is less; none if n is not positive. */
#if VEC == 64
TG_INLINE V(vec) V(load_some)(const uint8_t *s, int64_t n) {
    return (V(vec))_mm512_maskz_loadu_epi8(V(bytes_left)(n), s);
}

TG_INLINE void V(store_some)(uint8_t *d, V(vec) v, int64_t n) {
    _mm512_mask_storeu_epi8(d, V(bytes_left)(n), (__m512i)v);
}
#else
TG_OUTLINE V(vec) V(load_some)(const uint8_t *s, int64_t n) {
    uint8_t v[VEC] = {0};
    for (int64_t i = 0; i < n && i < VEC; i++) v[i] = s[i];
    return V(load)(v);
}

TG_OUTLINE void V(store_some)(uint8_t *d, V(vec) v, int64_t n) {
    uint8_t from[VEC];
    V(store)(from, v);
    for (int64_t i = 0; i < n && i < VEC; i++) d[i] = from[i];
}
#endif

/* Vectors of `ways` rows become as many vectors of turns, or back. */
TG_NO_CHECKS TG_INLINE void V(turns)(int width, int ways, bool back, V(vec) *w, const V(vec) *v) {
    V(vec) t[4];
    if (ways >= 8) {
        V(many_turns)(width, ways, back, w, v);
    } else if (ways == 2 && !back) {
        V(zip)(width, &w[0], &w[1], v[0], v[1]);
    } else if (ways == 2) {
        V(unzip)(width, &w[0], &w[1], v[0], v[1]);
    } else if (ways == 3) {
        V(turns_of_three)(width, back, w, v);
    } else if (!back) {
        V(zip)(width, &t[0], &t[1], v[0], v[2]);
        V(zip)(width, &t[2], &t[3], v[1], v[3]);
        V(zip)(width, &w[0], &w[1], t[0], t[2]);
        V(zip)(width, &w[2], &w[3], t[1], t[3]);
    } else {
        V(unzip)(width, &t[0], &t[1], v[0], v[1]);
        V(unzip)(width, &t[2], &t[3], v[2], v[3]);
        V(unzip)(width, &w[0], &w[2], t[0], t[2]);
        V(unzip)(width, &w[1], &w[3], t[1], t[3]);
    }
}

/* n bytes of each of `ways` rows, less than a vector. */
TG_NO_CHECKS TG_INLINE void V(take_rest)(int width, int ways, bool back, uint8_t *d, const uint8_t *s, int64_t row,
                                         int64_t n) {
    V(vec) v[MOST_TURNS], w[MOST_TURNS];
    TG_UNROLL
    for (int k = 0; k < ways; k++)
        v[k] = back ? V(load_some)(s + k * VEC, ways * n - k * VEC) : V(load_some)(s + k * row, n);
    V(turns)(width, ways, back, w, v);
    TG_UNROLL
    for (int k = 0; k < ways; k++) {
        if (back) V(store_some)(d + k * row, w[k], n);
        else V(store_some)(d + k * VEC, w[k], ways * n - k * VEC);
    }
}

/* n elements of each of `ways` rows, which lie `row` bytes apart in src, or in dst if we go back. */
TG_NO_CHECKS TG_INLINE void V(turns_of)(int width, int ways, bool back, uint8_t *d, const uint8_t *s, int64_t row,
                                        int64_t n, int64_t ahead, bool near, bool stream, bool claims) {
    const int64_t d_step = back ? row : VEC, s_step = back ? VEC : row;
    const int64_t d_next = back ? VEC : ways * VEC, s_next = back ? ways * VEC : VEC;
    int64_t       i = 0;
    for (; n - i >= VEC / width; i += VEC / width, d += d_next, s += s_next) {
        V(vec) v[MOST_TURNS], w[MOST_TURNS];
        TG_UNROLL
        for (int k = 0; k < ways; k++) {
            v[k] = V(load)(s + k * s_step);
            if (ahead > 0) TG_FETCH_AS(s + k * s_step + ahead, near);
        }
        V(turns)(width, ways, back, w, v);
        TG_UNROLL
        for (int k = 0; k < ways; k++) {
            if (claims) TG_CLAIM(d + k * d_step + TG_CLAIMED);
            V(put)(d + k * d_step, w[k], stream);
        }
    }
    if (i < n) V(take_rest)(width, ways, back, d, s, row, (n - i) * width);
}

TG_INLINE void V(take_turns)(int width, int ways, bool back, uint8_t *d, const uint8_t *s, int64_t row, int64_t n,
                             int64_t ahead, bool near, bool stream) {
    V(turns_of)(width, ways, back, d, s, row, n, ahead, near, stream, false);
}

/* n bytes: whole lines, and less than one, of which others write the rest. `claims`: by a plain store (rows.c). */
TG_INLINE void V(put_end)(uint8_t *d, const uint8_t *s, int64_t n, bool claims) {
    const int64_t whole = n / TG_LINE_BYTES * TG_LINE_BYTES;
    tg_stream_copy(d, s, (size_t)whole);
    tg_put_part(d + whole, s + whole, n - whole, claims);
}

/* The same in turns, where dst begins inside of a line: what comes before its first line, and less than a vector at the
 * end, comes out of a buffer. */
TG_NO_CHECKS TG_INLINE void V(turn_inside)(int width, int ways, uint8_t *d, const uint8_t *s, int64_t row, int64_t n,
                                           int64_t ahead, bool near, bool claims) {
    const int64_t each = VEC / width, unit = ways * width, lead = (int64_t)(-(uintptr_t)d % TG_LINE_BYTES) / unit;
    const int64_t rest = (n - lead) % each, first = tg_max(each, TG_LINE_BYTES / unit); /* whole vectors */
    uint8_t       out[MOST_TURNS * TG_LINE_BYTES] __attribute__((aligned(64)));
    V(take_turns)(width, ways, false, out, s, row, first, 0, false, false);
    V(put_end)(d, out, lead * unit, claims);
    V(take_turns)(width, ways, false, d + lead * unit, s + lead * width, row, n - lead - rest, ahead, near, true);
    V(take_turns)(width, ways, false, out, s + (n - each) * width, row, each, 0, false, false);
    V(put_end)(d + (n - rest) * unit, out + (each - rest) * unit, rest * unit, claims);
}

#if VEC == 64
/* Two rows of elements of 2 bytes, in the first-level cache: of each two vectors in turn, one by lanes and one by
 * shifts. The former keep the one port for shuffles busy, and the latter the other one (an Emerald Rapids, 4 KiB: 43 ns
 * the former, 43 the latter, 35 both; two vectors of either way 37, in any other order 40). n: elements of a row, a
 * multiple of VEC. */
TG_NO_CHECKS TG_OUTLINE void V(two_at_hand)(uint8_t *d, const uint8_t *s, const tg_block *b, int64_t n) {
    const int64_t row = b->src_col;
    for (int64_t o = 0; o < b->outer; o++, d += b->dst_outer, s += b->src_outer)
        for (int64_t i = 0; i < n; i += VEC) {
            V(vec) w[4];
            V(zip_by_lanes)(&w[0], &w[1], V(load)(s + 2 * i), V(load)(s + 2 * i + row));
            V(zip_by_shifts)(&w[2], &w[3], V(load)(s + 2 * i + VEC), V(load)(s + 2 * i + VEC + row));
            TG_UNROLL
            for (int k = 0; k < 4; k++) V(store)(d + 4 * i + k * VEC, w[k]);
        }
}
#endif

TG_INLINE void V(turn_blocks)(int width, int ways, bool back, const tg_mover *m, uint8_t *d, const uint8_t *s,
                              const tg_block *b) {
    const int64_t n = back ? b->cols : b->rows, row = back ? b->dst_row : b->src_col;
    const bool    stream = m->stream && tg_at_lines(d, b->dst_outer, back ? row : 0);
    const int64_t ahead = m->fetches ? 2048 : 0, d_outer = b->dst_outer, s_outer = b->src_outer;
    const bool    near = m->few_streams;
    const int64_t run = n * ways * width;
    const bool inside = m->stream && !stream && !back && ways != 3 && (uintptr_t)d % (uintptr_t)(ways * width) == 0 &&
                        (run | d_outer) % TG_LINE_BYTES == 0 && run >= FEW_LINES * TG_LINE_BYTES && n >= VEC / width;
    if (inside)
        for (int64_t o = b->outer; o > 0; o--, d += d_outer, s += s_outer) {
            if (m->claims) TG_CLAIM(d + TG_CLAIMED_RUNS * d_outer);
            if (m->claims) TG_CLAIM(d + TG_CLAIMED_RUNS * d_outer + run);
            V(turn_inside)(width, ways, d, s, row, n, ahead, near, m->claims);
        }
    else if (stream)
        for (int64_t o = b->outer; o > 0; o--, d += d_outer, s += s_outer)
            V(take_turns)(width, ways, back, d, s, row, n, ahead, near, true);
#if VEC == 64
    else if (width == 2 && ways == 2 && !back && n % VEC == 0 && m->at_hand && !m->few_pieces)
        V(two_at_hand)(d, s, b, n);
#endif
    else if (m->claims)
        for (int64_t o = b->outer; o > 0; o--, d += d_outer, s += s_outer)
            V(turns_of)(width, ways, back, d, s, row, n, 0, false, false, true);
    else
        for (int64_t o = b->outer; o > 0; o--, d += d_outer, s += s_outer)
            V(take_turns)(width, ways, back, d, s, row, n, 0, false, false);
}

/* How many rows take turns in this block, of those that we know; or 0. */
TG_INLINE int V(ways_of)(int width, const tg_block *b, bool back) {
    const int64_t ways = back ? b->rows : b->cols;
    const bool    turns = back ? b->src_col == b->rows * width : b->dst_row == b->cols * width;
    if (width > 8 || b->tail > 0 || !turns || ways * width >= STICK) return 0;
    return ways == 2 || ways == 3 || ways == 4 || ways == 8 || ways == 16 ? (int)ways : 0;
}

/* False if rows do not take turns in this block. */
TG_INLINE bool V(interleaved)(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const bool back = V(ways_of)(width, b, false) == 0;
    switch (V(ways_of)(width, b, back)) {
#define WAYS(n)                                                   \
    case n:                                                       \
        if (back) V(turn_blocks)(width, n, true, m, d, s, b);     \
        else V(turn_blocks)(width, n, false, m, d, s, b);         \
        return true;
        WAYS(2)
        WAYS(3)
        WAYS(4)
        WAYS(8)
        WAYS(16)
#undef WAYS
    default: return false;
    }
}

#undef LIST_BY_1
#undef LIST_BY_2
#undef LIST_BY_4
#undef LIST_BY_8
#undef ZIP_AB
#undef ZIP_C
#undef UNZIP_AB
#undef UNZIP_C
#undef PLACES
#undef PLACES_C
#undef RETURNS
#undef RETURNS_C
#undef ZIP3_OF
#undef UNZIP3_OF
#undef THREE
#undef ZIP
#undef ALL
#undef MIX
