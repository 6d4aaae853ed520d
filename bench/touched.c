#include "touched.h"

#include "turned.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#  include <immintrin.h>
#endif

enum { STICK = 128, MOST = 128, NO_DIM = -1 };

typedef struct tile {
    int64_t dst, src; /* bytes */
} tile;

struct lines {
    uint8_t       *dst;
    const uint8_t *src;
    int64_t        n, ntiles;            /* sticks of a tile, tiles */
    int64_t        to[MOST], from[MOST]; /* of its sticks, from where the tile begins */
    tile          *tile;                 /* and one more than ntiles, which is the last again */
};

/* ---- which lines ---- */

/* The first dimension along which elements follow each other. */
static int32_t contiguous_dim(const tg_layout *l) {
    int64_t zero[TG_MAX_NDIM] = {0}, one[TG_MAX_NDIM] = {0};
    for (int32_t d = 0; d < l->ndim; d++) {
        one[d] = 1;
        if (l->shape[d] > 1 && tg_layout_offset(l, one) - tg_layout_offset(l, zero) == 1) return d;
        one[d] = 0;
    }
    return NO_DIM;
}

static int64_t byte_at(const tg_layout *l, const int64_t *coord) {
    return tg_layout_offset(l, coord) * l->elem_bits / 8;
}

/* Whether n elements along d, from the first one on, are one stick. */
static bool is_stick(const tg_layout *l, int32_t d, int64_t n) {
    int64_t coord[TG_MAX_NDIM] = {0};
    const int64_t first = byte_at(l, coord);
    coord[d] = n - 1;
    return l->shape[d] >= n && byte_at(l, coord) - first == STICK - l->elem_bits / 8;
}

static int by_dst(const void *a, const void *b) {
    const int64_t x = ((const tile *)a)->dst, y = ((const tile *)b)->dst;
    return (x > y) - (x < y);
}

/* Tiles begin at multiples of step. Returns whether all of their sticks lie in room. */
static bool find_tiles(lines *l, const tg_layout *dst, const tg_layout *src, const int64_t *step, int64_t room) {
    int64_t coord[TG_MAX_NDIM] = {0}, most_to = 0, most_from = 0;
    for (int64_t k = 0; k < l->n; k++) {
        if (l->to[k] < 0 || l->from[k] < 0) return false;
        most_to = l->to[k] > most_to ? l->to[k] : most_to;
        most_from = l->from[k] > most_from ? l->from[k] : most_from;
    }
    for (int64_t i = 0; i < l->ntiles; i++) {
        const tile t = {byte_at(dst, coord), byte_at(src, coord)};
        l->tile[i] = t;
        if (t.dst + most_to + STICK > room || t.src + most_from + STICK > room) return false;
        for (int32_t d = dst->ndim - 1; d >= 0; d--) {
            coord[d] += step[d];
            if (coord[d] < dst->shape[d]) break;
            coord[d] = 0;
        }
    }
    qsort(l->tile, (size_t)l->ntiles, sizeof *l->tile, by_dst);
    l->tile[l->ntiles] = l->tile[l->ntiles - 1];
    return true;
}

static bool find_lines(lines *l, const tg_layout *dst, const tg_layout *src, int64_t room) {
    const int32_t a = contiguous_dim(src), b = contiguous_dim(dst);
    const int64_t n = STICK * 8 / dst->elem_bits;
    int64_t       step[TG_MAX_NDIM], coord[TG_MAX_NDIM] = {0};
    if (a == NO_DIM || b == NO_DIM || n > MOST || !is_stick(src, a, n) || !is_stick(dst, b, n)) return false;
    l->ntiles = 1;
    for (int32_t d = 0; d < dst->ndim; d++) {
        step[d] = d == a || d == b ? n : 1;
        l->ntiles *= (dst->shape[d] + step[d] - 1) / step[d];
    }
    l->n = a == b ? 1 : n;
    for (int64_t k = 0; k < l->n; k++) {
        coord[a] = a == b ? 0 : k;
        l->to[k] = byte_at(dst, coord);
        coord[a] = 0;
        coord[b] = a == b ? 0 : k;
        l->from[k] = byte_at(src, coord);
        coord[b] = 0;
    }
    l->tile = malloc((size_t)(l->ntiles + 1) * sizeof *l->tile);
    if (l->tile == NULL) {
        fprintf(stderr, "bench_relayout: no memory for a list of lines\n");
        exit(1);
    }
    return find_tiles(l, dst, src, step, room);
}

/* ---- the copies ---- */

#if defined(__x86_64__)

#  define COPY_LINES(NAME, STORE, FETCH)                                                                          \
      __attribute__((target("avx512f"))) static void NAME(const lines *l) {                                      \
          for (int64_t i = 0; i < l->ntiles; i++) {                                                              \
              uint8_t *const       d = l->dst + l->tile[i].dst;                                                  \
              const uint8_t *const s = l->src + l->tile[i].src, *const later = l->src + l->tile[i + 1].src;      \
              for (int64_t k = 0; k < l->n; k++) {                                                               \
                  FETCH(later + l->from[k]);                                                                     \
                  STORE((void *)(d + l->to[k]), _mm512_loadu_si512((const void *)(s + l->from[k])));             \
                  STORE((void *)(d + l->to[k] + 64), _mm512_loadu_si512((const void *)(s + l->from[k] + 64)));   \
              }                                                                                                  \
          }                                                                                                      \
          _mm_sfence();                                                                                          \
      }
#  define FETCH_STICK(p)                                   \
      do {                                                 \
          _mm_prefetch((const char *)(p), _MM_HINT_T1);      \
          _mm_prefetch((const char *)(p) + 64, _MM_HINT_T1); \
      } while (0)
#  define FETCH_NOTHING(p) ((void)(p))

COPY_LINES(copy_plain, _mm512_storeu_si512, FETCH_NOTHING)
COPY_LINES(copy_around, _mm512_stream_si512, FETCH_STICK)

static bool can_copy(const lines *l) {
    int64_t bits = 0;
    for (int64_t k = 0; k < l->n; k++) bits |= l->to[k];
    for (int64_t i = 0; i < l->ntiles; i++) bits |= l->tile[i].dst;
    return bits % 64 == 0 && __builtin_cpu_supports("avx512f");
}

/* A tile is two squares wide and high. */
void lines_run_turned(void *context) {
    const lines *const l = context;
    (void)turn_squares(STICK / l->n, 4 * l->ntiles);
}

bool lines_turn(const lines *l) { return l->n > 1; }

void lines_run(void *context) { copy_plain(context); }
void lines_run_around(void *context) { copy_around(context); }

#else

static bool can_copy(const lines *l) {
    (void)l;
    return false;
}

bool lines_turn(const lines *l) {
    (void)l;
    return false;
}

void lines_run_turned(void *context) { (void)context; }
void lines_run(void *context) { (void)context; }
void lines_run_around(void *context) { (void)context; }

#endif

lines *lines_create(const tg_layout *dst_layout, const tg_layout *src_layout, void *dst, const void *src, size_t room) {
    if (dst_layout->elem_bits != src_layout->elem_bits || dst_layout->elem_bits % 8 != 0) return NULL;
    lines *l = calloc(1, sizeof *l);
    if (l == NULL) return NULL;
    l->dst = dst;
    l->src = src;
    if (find_lines(l, dst_layout, src_layout, (int64_t)room) && can_copy(l)) return l;
    lines_destroy(l);
    return NULL;
}

void lines_destroy(lines *l) {
    if (l != NULL) free(l->tile);
    free(l);
}
