/* The part of convert_vector.inc.h for vectors of 16 bytes, in the compiler's own vectors: Arm's processors
 * have an instruction for each, which compilers find. */

typedef uint32_t V(half32) __attribute__((vector_size(VEC / 2)));
typedef uint16_t V(quarter16) __attribute__((vector_size(VEC / 4)));
typedef uint8_t  V(quarter8) __attribute__((vector_size(VEC / 4)));

#define GET(NAME, FROM, TO)                       \
    TG_INLINE V(TO) V(NAME)(const uint8_t *s) {      \
        V(FROM) v;                                \
        memcpy(&v, s, sizeof v);                  \
        return __builtin_convertvector(v, V(TO)); \
    }

GET(get_32_of_16, half16, u32)
GET(get_half16_of_8, quarter8, half16)
GET(get_64_of_32, half32, u64)
GET(get_64_of_16, quarter16, u64)
#undef GET

typedef V(u32) V(mask);
typedef V(u16) V(mask16);

TG_INLINE V(mask) V(gt)(V(u32) a, V(u32) b) { return (V(mask))((V(s32))a > (V(s32))b); }
TG_INLINE V(mask) V(eq)(V(u32) a, V(u32) b) { return (V(mask))(a == b); }
TG_INLINE V(u32) V(pick)(V(mask) m, V(u32) a, V(u32) b) { return (a & m) | (b & ~m); }
TG_INLINE V(u32) V(min)(V(u32) a, V(u32) b) { return V(pick)(V(gt)(a, b), b, a); }
TG_INLINE V(u32) V(max)(V(u32) a, V(u32) b) { return V(pick)(V(gt)(a, b), a, b); }

TG_INLINE V(mask16) V(gt16)(V(u16) a, V(u16) b) { return (V(mask16))((V(s16))a > (V(s16))b); }
TG_INLINE V(mask16) V(not0)(V(u16) v) { return (V(mask16))(v != 0); }
TG_INLINE V(mask16) V(eq16)(V(u16) a, V(u16) b) { return (V(mask16))(a == b); }
TG_INLINE V(u16) V(pick16)(V(mask16) m, V(u16) a, V(u16) b) { return (a & m) | (b & ~m); }
TG_INLINE V(u16) V(max16)(V(u16) a, V(u16) b) { return V(pick16)(V(gt16)(a, b), a, b); }

TG_INLINE bool V(nonzero)(V(vec) v) { return (v[0] | v[1]) != 0; }
TG_INLINE bool V(any32)(V(mask) m) { return V(nonzero)((V(vec))m); }
TG_INLINE bool V(any16)(V(mask16) m) { return V(nonzero)((V(vec))m); }

/* Halves are whole, and their sum with one more for two odd ones, or for one. */
TG_INLINE V(u16) V(avg16)(V(u16) a, V(u16) b) { return (a >> 1) + (b >> 1) + ((a | b) & 1); }
/* Of numbers that are not negative. */
TG_INLINE V(u16) V(adds16)(V(u16) a, V(u16) b) {
    const V(u16) sum = a + b;
    return V(pick16)(V(gt16)(V(all16)(0), sum), V(all16)(0x7fff), sum);
}
TG_INLINE V(u16) V(subs16)(V(u16) a, V(u16) b) { return (a - b) & (V(u16))(a > b); }

/* By bytes. */
TG_INLINE V(u16) V(lookup)(const uint16_t *table, V(u16) index) {
    V(u8) all;
    memcpy(&all, table, sizeof all);
    return (V(u16))vqtbl1q_u8((uint8x16_t)all, (uint8x16_t)(index * 0x202 + 0x100));
}

TG_INLINE V(u16) V(pack)(V(u32) a, V(u32) b) {
    const V(u32) top = V(all)(0x7fff), bottom = V(all)(0xffff8000u);
    return V(low_16)(V(min)(V(max)(a, bottom), top), V(min)(V(max)(b, bottom), top));
}
TG_INLINE V(u16) V(in_order)(V(u16) v) { return v; }

/* As convert.c does it. */
TG_INLINE V(u32) V(widen_half)(V(half16) h) {
    const V(u32) x = __builtin_convertvector(h, V(u32)), m = x & 0x7fffu;
    const V(u32) normal = (m << 13) + (112u << 23);
    const V(u32) small = (V(u32))(__builtin_convertvector((V(s32))m, V(f32)) * 0x1p-24f);
    const V(u32) huge = (m << 13) | 0x7f800000u | (V(gt)(m, V(all)(0x7c00u)) & 0x400000u);
    const V(u32) some = V(pick)(V(gt)(m, V(all)(0x7bffu)), huge, normal);
    return V(pick)(V(gt)(V(all)(0x400u), m), small, some) | (x & 0x8000u) << 16;
}

TG_INLINE V(u32) V(half_code)(V(u32) u) {
    const V(u32) a = u & 0x7fffffffu;
    const V(u32) normal = (a + 0xfffu + (a >> 13 & 1u) - (112u << 23)) >> 13;
    const V(u32) small = (V(u32))((V(f32))a + 0.5f) - 0x3f000000u;
    V(u32)       r = V(pick)(V(gt)(V(all)(0x38800000u), a), small, normal);
    r = V(pick)(V(gt)(a, V(all)(0x477fefffu)), V(all)(0x7c00u), r);
    r = V(pick)(V(gt)(a, V(all)(0x7f800000u)), (a >> 13 & 0x3ffu) | 0x7e00u, r);
    return r | (u >> 16 & 0x8000u);
}

TG_INLINE V(u16) V(narrow_half)(V(u32) a, V(u32) b) { return V(low_16)(V(half_code)(a), V(half_code)(b)); }

TG_INLINE V(u16) V(narrow_bf16)(V(u32) a, V(u32) b) { return V(high_16)(ROUND_BF16(a), ROUND_BF16(b)); }
