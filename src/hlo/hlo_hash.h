/* Hashes of short texts, eight bytes at a time. */
#ifndef TG_HLO_HLO_HASH_H
#define TG_HLO_HLO_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* An odd number with bits all over: the golden ratio in 64 bits. */
#define TG_HLO_MIX UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t tg_hlo_mix(uint64_t h, uint64_t word) {
    h = (h ^ word) * TG_HLO_MIX;
    return h ^ (h >> 29);
}

static inline uint64_t tg_hlo_hash(uint64_t seed, const char *text, size_t len) {
    uint64_t h = seed ^ len, word = 0;
    for (; len >= sizeof word; len -= sizeof word, text += sizeof word) {
        memcpy(&word, text, sizeof word);
        h = tg_hlo_mix(h, word);
    }
    word = 0;
    for (size_t i = 0; i < len; i++) word = word << 8 | (unsigned char)text[i];
    h = tg_hlo_mix(h, word);
    return tg_hlo_mix(h, h >> 32);
}

#endif
