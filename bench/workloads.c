/* The table of workloads.
 *
 *     a  row-major <-> sticks of 128 bytes along the last dimension       [C/Es][R][Es]
 *     b  the same for three dimensions, the Spyre default                 [S][H/Es][B][Es]
 *     c  row-major -> sticks along the first dimension: a transpose       [R/Es][C][Es]
 *     d  sticks along one dimension -> sticks along the other
 *     e  row-major or column-major -> XLA's tiles (8,128) and (8,128)(2,1)
 *     f  one element per stick, the rest zero, and its inverse
 *     g  converting on the way
 *     h  anything else: tiles that do not nest, dimensions reversed, odd pitches, three bytes to a pixel, channels,
 *        packed 4-bit elements, transposes that convert, broadcasts
 *     m  some of those above, where dst begins 16 bytes past a cache line, as it may after malloc
 *
 * .pad is a shape that fills no stick or tile, so padding is written and rows lie at odd places. Spyre text
 * says device_dtype=IEEE_FP16 where nothing is to be converted, since its default for f16 is DLFloat16; types
 * without a Spyre format of their width (u8, f64) take an XLA tile as high as the tensor, which is the
 * same map. T of e.t8x128.f32 is one tile, and that is a plain copy. */
#include "workloads.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const char size_letters[SIZES + 1] = "LNMSHT";

#define PLAIN16 " device_dtype=IEEE_FP16"

#define REVERSED_6  "{0,1,2,3,4,5}"
#define REVERSED_11 "{0,1,2,3,4,5,6,7,8,9,10}"

static const workload table[] = {
    {"a.stick.u8", "u8", "u8[$]", "u8[$]{1,0:T($0,128)}", 2,
     {{16384, 16384}, {8192, 8192}, {2048, 4096}, {512, 1024}, {256, 1024}, {16, 256}}, 0},
    {"a.stick.f16", "f16", "f16[$]", "f16[$] spyre" PLAIN16, 2,
     {{16384, 8192}, {8192, 4096}, {2048, 2048}, {512, 512}, {256, 512}, {16, 128}}, 0},
    {"a.stick.f32", "f32", "f32[$]", "f32[$] spyre", 2,
     {{16384, 4096}, {8192, 2048}, {2048, 1024}, {512, 256}, {256, 256}, {16, 64}}, 0},
    {"a.stick.f64", "f64", "f64[$]", "f64[$]{1,0:T($0,16)}", 2,
     {{16384, 2048}, {8192, 1024}, {2048, 512}, {512, 128}, {256, 128}, {16, 32}}, 0},
    {"a.stick.f16.pad", "f16", "f16[$]", "f16[$] spyre" PLAIN16, 2,
     {{16384, 8150}, {8192, 4050}, {2048, 2010}, {512, 500}, {256, 500}, {16, 120}}, 0},
    {"a.unstick.f16", "f16", "f16[$] spyre" PLAIN16, "f16[$]", 2,
     {{16384, 8192}, {8192, 4096}, {2048, 2048}, {512, 512}, {256, 512}, {16, 128}}, 0},
    {"a.unstick.f16.pad", "f16", "f16[$] spyre" PLAIN16, "f16[$]", 2,
     {{16384, 8150}, {8192, 4050}, {2048, 2010}, {512, 500}, {256, 500}, {16, 120}}, 0},

    {"b.stick3d.f16", "f16", "f16[$]", "f16[$] spyre" PLAIN16, 3,
     {{8, 4096, 4096}, {8, 2048, 2048}, {8, 512, 1024}, {8, 32, 1024}, {8, 16, 1024}, {2, 8, 128}}, 0},
    {"b.stick3d.f16.pad", "f16", "f16[$]", "f16[$] spyre" PLAIN16, 3,
     {{5, 6500, 4050}, {5, 3200, 2050}, {5, 800, 1000}, {5, 50, 1000}, {5, 25, 1000}, {2, 8, 120}}, 0},
    {"b.unstick3d.f16", "f16", "f16[$] spyre" PLAIN16, "f16[$]", 3,
     {{8, 4096, 4096}, {8, 2048, 2048}, {8, 512, 1024}, {8, 32, 1024}, {8, 16, 1024}, {2, 8, 128}}, 0},

    {"c.tstick.u8", "u8", "u8[$]", "u8[$]{0,1:T($1,128)}", 2,
     {{16384, 16384}, {8192, 8192}, {2048, 4096}, {512, 1024}, {256, 1024}, {128, 32}}, 0},
    {"c.tstick.f16", "f16", "f16[$]", "f16[$] spyre dim_order=[1,0]" PLAIN16, 2,
     {{16384, 8192}, {8192, 4096}, {2048, 2048}, {256, 1024}, {128, 1024}, {64, 32}}, 0},
    {"c.tstick.f32", "f32", "f32[$]", "f32[$] spyre dim_order=[1,0]", 2,
     {{8192, 8192}, {4096, 4096}, {1024, 2048}, {256, 512}, {128, 512}, {32, 32}}, 0},
    {"c.tstick.f64", "f64", "f64[$]", "f64[$]{0,1:T($1,16)}", 2,
     {{8192, 4096}, {4096, 2048}, {1024, 1024}, {128, 512}, {64, 512}, {16, 32}}, 0},
    {"c.tstick.f16.pad", "f16", "f16[$]", "f16[$] spyre dim_order=[1,0]" PLAIN16, 2,
     {{16350, 8150}, {8150, 4050}, {2000, 2010}, {250, 1000}, {122, 1000}, {60, 30}}, 0},

    {"d.restick.u8", "u8", "u8[$]{1,0:T($0,128)}", "u8[$]{0,1:T($1,128)}", 2,
     {{16384, 16384}, {8192, 8192}, {2048, 4096}, {512, 1024}, {256, 1024}, {128, 128}}, 0},
    {"d.restick.f16", "f16", "f16[$] spyre" PLAIN16, "f16[$] spyre dim_order=[1,0]" PLAIN16, 2,
     {{16384, 8192}, {8192, 4096}, {2048, 2048}, {256, 1024}, {128, 1024}, {64, 64}}, 0},
    {"d.restick.f32", "f32", "f32[$] spyre", "f32[$] spyre dim_order=[1,0]", 2,
     {{8192, 8192}, {4096, 4096}, {1024, 2048}, {256, 512}, {128, 512}, {32, 64}}, 0},
    {"d.restick.f64", "f64", "f64[$]{1,0:T($0,16)}", "f64[$]{0,1:T($1,16)}", 2,
     {{8192, 4096}, {4096, 2048}, {1024, 1024}, {128, 512}, {64, 512}, {16, 64}}, 0},

    {"e.t8x128.f32", "f32", "f32[$]", "f32[$]{1,0:T(8,128)}", 2,
     {{8192, 8192}, {4096, 4096}, {1024, 2048}, {256, 512}, {128, 512}, {8, 128}}, 0},
    {"e.t8x128.f32.pad", "f32", "f32[$]", "f32[$]{1,0:T(8,128)}", 2,
     {{8190, 8150}, {4090, 4050}, {1020, 2010}, {254, 500}, {126, 500}, {7, 120}}, 0},
    {"e.t8x128x21.bf16", "bf16", "bf16[$]", "bf16[$]{1,0:T(8,128)(2,1)}", 2,
     {{16384, 8192}, {8192, 4096}, {2048, 2048}, {256, 1024}, {128, 1024}, {16, 128}}, 0},
    {"e.col_t8x128.f32", "f32", "f32[$]{0,1}", "f32[$]{1,0:T(8,128)}", 2,
     {{8192, 8192}, {4096, 4096}, {1024, 2048}, {256, 512}, {256, 256}, {8, 128}}, 0},
    {"e.col_t8x128.bf16", "bf16", "bf16[$]{0,1}", "bf16[$]{1,0:T(8,128)}", 2,
     {{16384, 8192}, {8192, 4096}, {2048, 2048}, {256, 1024}, {256, 512}, {16, 128}}, 0},
    {"e.col_t8x128x21.bf16", "bf16", "bf16[$]{0,1}", "bf16[$]{1,0:T(8,128)(2,1)}", 2,
     {{16384, 8192}, {8192, 4096}, {2048, 2048}, {256, 1024}, {256, 512}, {16, 128}}, 0},

    {"f.sparse.f16", "f16", "f16[$]", "f16[$] spyre dim_order=[0,-1]" PLAIN16, 1,
     {{2097152}, {524288}, {65536}, {4096}, {2048}, {32}}, 0},
    {"f.sparse.f32", "f32", "f32[$]", "f32[$] spyre dim_order=[0,-1]", 1,
     {{2097152}, {524288}, {65536}, {4096}, {2048}, {32}}, 0},
    {"f.gather.f16", "f16", "f16[$] spyre dim_order=[0,-1]" PLAIN16, "f16[$]", 1,
     {{2097152}, {524288}, {65536}, {4096}, {2048}, {32}}, 0},

    {"g.f32_bf16.stick", "f32 > bf16", "f32[$]", "f32[$] spyre device_dtype=BFLOAT16", 2,
     {{8192, 8192}, {4096, 4096}, {1024, 2048}, {256, 512}, {128, 512}, {8, 128}}, 0},
    {"g.f16_dlf16.stick", "f16 > dlf16", "f16[$]", "f16[$] spyre", 2,
     {{16384, 8192}, {8192, 4096}, {2048, 2048}, {512, 512}, {256, 512}, {16, 128}}, 0},

    {"h.retile.f32", "f32", "f32[$]{1,0:T($0,48)}", "f32[$]{1,0:T($0,64)}", 2,
     {{16640, 4032}, {8704, 1920}, {2176, 960}, {340, 384}, {170, 384}, {5, 192}}, 0},
    {"h.reversed.f16", "f16", "f16[$]", "f16[$]" REVERSED_6, 6,
     {{32, 32, 32, 32, 32, 4}, {32, 32, 32, 16, 16, 4}, {16, 16, 16, 16, 16, 4},
      {8, 8, 8, 8, 16, 4}, {8, 8, 8, 8, 8, 4}, {4, 4, 4, 4, 2, 4}}, 0},
    {"h.reversed4.f32", "f32", "f32[$]", "f32[$]" REVERSED_11, 11,
     {{64, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}, {16, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}, {2, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4},
      {1, 1, 2, 4, 4, 4, 4, 4, 4, 4, 4}, {1, 1, 1, 4, 4, 4, 4, 4, 4, 4, 4}, {1, 1, 1, 1, 1, 1, 4, 4, 4, 4, 4}}, 0},
    {"h.pitch.f16", "f16", "f16[$] strides=[$2,1]", "f16[$] strides=[1,$3]", 2,
     {{16384, 8192, 8201, 16397}, {8192, 4096, 4105, 8205}, {2048, 2048, 2057, 2061}, {512, 512, 521, 525},
      {256, 512, 521, 269}, {32, 64, 73, 45}}, 0},
    {"h.untstick.f16.pad", "f16", "f16[$] spyre dim_order=[1,0]" PLAIN16, "f16[$]", 2,
     {{16350, 8150}, {8150, 4050}, {2000, 2010}, {250, 1000}, {122, 1000}, {60, 30}}, 0},
    {"h.untile_col.bf16", "bf16", "bf16[$]{1,0:T(8,128)(2,1)}", "bf16[$]{0,1}", 2,
     {{16384, 8192}, {8192, 4096}, {2048, 2048}, {256, 1024}, {256, 512}, {16, 128}}, 0},
    {"h.planes.u8", "u8", "u8[$]", "u8[$]{0,1}", 2,
     {{3, 89478400}, {3, 22369600}, {3, 2796160}, {3, 174720}, {3, 87360}, {3, 1344}}, 0},
    {"h.pixels.u8", "u8", "u8[$]{0,1}", "u8[$]", 2,
     {{3, 89478400}, {3, 22369600}, {3, 2796160}, {3, 174720}, {3, 87360}, {3, 1344}}, 0},
    {"h.s4.transposed", "s4", "s4[$]{1,0:E(4)}", "s4[$]{0,1:E(4)}", 2,
     {{32768, 16384}, {16384, 8192}, {4096, 4096}, {1024, 1024}, {512, 1024}, {64, 128}}, 0},
    {"h.five.u8", "u8", "u8[$]", "u8[$]{0,1}", 2,
     {{5, 53687091}, {5, 13421772}, {5, 1677721}, {5, 104857}, {5, 52428}, {5, 819}}, 0},
    {"h.channels.f16", "f16", "f16[$]", "f16[$]{1,3,2,0}", 4,
     {{446, 96, 56, 56}, {111, 96, 56, 56}, {14, 96, 56, 56}, {1, 96, 52, 52}, {1, 96, 37, 37}, {1, 96, 4, 5}}, 0},
    {"h.channels_back.f16", "f16", "f16[$]{1,3,2,0}", "f16[$]", 4,
     {{446, 96, 56, 56}, {111, 96, 56, 56}, {14, 96, 56, 56}, {1, 96, 52, 52}, {1, 96, 37, 37}, {1, 96, 4, 5}}, 0},
    {"h.retile_both.f32", "f32", "f32[$]{1,0:T(48,48)}", "f32[$]{1,0:T(64,64)}", 2,
     {{8256, 8256}, {4032, 4224}, {1344, 1536}, {320, 384}, {320, 192}, {32, 32}}, 0},
    {"h.retile_turned.f32", "f32", "f32[$]{1,0:T(8,128)}", "f32[$]{0,1:T(8,128)}", 2,
     {{8192, 8192}, {4096, 4096}, {1024, 2048}, {256, 512}, {128, 512}, {128, 128}}, 0},
    {"h.s4.t8x128x81", "s4", "s4[$]{1,0:E(4)}", "s4[$]{1,0:T(8,128)(8,1)E(4)}", 2,
     {{32768, 16384}, {16384, 8192}, {4096, 4096}, {1024, 1024}, {512, 1024}, {64, 128}}, 0},
    {"h.s4.transposed.pad", "s4", "s4[$]{1,0:E(4)}", "s4[$]{0,1:E(4)}", 2,
     {{32765, 16389}, {16381, 8197}, {4093, 4101}, {1021, 1029}, {509, 1029}, {61, 133}}, 0},
    {"h.s4.packed.pad", "s4", "s4[$]{0,1}", "s4[$]{1,0:E(4)}", 2,
     {{32765, 8197}, {16381, 4101}, {4093, 2053}, {1021, 517}, {509, 517}, {61, 69}}, 0},
    {"h.u2.t8x128x21", "u2", "u2[$]{1,0:E(2)}", "u2[$]{1,0:T(8,128)(2,1)E(2)}", 2,
     {{32768, 32768}, {16384, 16384}, {4096, 8192}, {1024, 2048}, {1024, 1024}, {128, 128}}, 0},
    {"h.f32_bf16.t8x128x21", "f32 > bf16", "f32[$]", "bf16[$]{1,0:T(8,128)(2,1)}", 2,
     {{8192, 8192}, {4096, 4096}, {1024, 2048}, {256, 512}, {128, 512}, {16, 128}}, 0},
    {"h.f16_dlf16.tstick", "f16 > dlf16", "f16[$]", "f16[$] spyre dim_order=[1,0]", 2,
     {{16384, 8192}, {8192, 4096}, {2048, 2048}, {256, 1024}, {128, 1024}, {64, 32}}, 0},
    {"h.broadcast.f32", "f32", "f32[$] strides=[0,1]", "f32[$]", 2,
     {{8192, 8192}, {4096, 4096}, {1024, 2048}, {256, 512}, {128, 512}, {8, 128}}, 0},
    {"h.broadcast_col.f32", "f32", "f32[$] strides=[1,0]", "f32[$]", 2,
     {{8192, 8192}, {4096, 4096}, {1024, 2048}, {256, 512}, {128, 512}, {8, 128}}, 0},
};
enum { TABLE_ROWS = sizeof table / sizeof table[0] };

/* "m." and a name of the table. */
static const char *const misaligned[] = {
    "m.a.stick.f16",  "m.a.unstick.f16.pad", "m.b.stick3d.f16.pad", "m.c.tstick.f16", "m.d.restick.f16",
    "m.e.t8x128.f32", "m.e.t8x128x21.bf16",  "m.e.col_t8x128.f32",  "m.f.sparse.f16", "m.g.f16_dlf16.stick",
};
enum { MISALIGNED_ROWS = sizeof misaligned / sizeof misaligned[0], MISALIGNED_BY = 16 };

int32_t workload_count(void) { return TABLE_ROWS + MISALIGNED_ROWS; }

static workload misaligned_at(int32_t i) {
    int32_t k = 0;
    while (strcmp(table[k].name, misaligned[i] + 2) != 0) k++;
    workload w = table[k];
    w.name = misaligned[i];
    w.dst_offset = MISALIGNED_BY;
    return w;
}

workload workload_at(int32_t i) { return i < TABLE_ROWS ? table[i] : misaligned_at(i - TABLE_ROWS); }

bool workload_chosen(const workload *w, int size, const char *sizes, const char *filter) {
    return strchr(sizes, size_letters[size]) != NULL && (filter == NULL || strstr(w->name, filter) != NULL);
}

void workload_shape(char *buf, size_t cap, const workload *w, int size) {
    size_t used = 0;
    buf[0] = '\0';
    for (int32_t d = 0; d < w->ndim && used < cap; d++)
        used += (size_t)snprintf(buf + used, cap - used, "%s%lld", d == 0 ? "" : ",", (long long)w->shape[size][d]);
}

void workload_text(char *buf, size_t cap, const char *text, const workload *w, int size) {
    size_t used = 0;
    for (const char *p = text; *p != '\0' && used + 1 < cap; p++) {
        if (*p != '$') {
            buf[used++] = *p;
        } else if (isdigit((unsigned char)p[1])) {
            p++;
            used += (size_t)snprintf(buf + used, cap - used, "%lld", (long long)w->shape[size][*p - '0']);
        } else {
            workload_shape(buf + used, cap - used, w, size);
            while (buf[used] != '\0') used++;
        }
    }
    buf[used < cap ? used : cap - 1] = '\0';
}
