/* The table of workloads.
 *
 *     a  row-major <-> sticks of 128 bytes along the last dimension       [C/Es][R][Es]
 *     b  the same for three dimensions, the Spyre default                 [S][H/Es][B][Es]
 *     c  row-major -> sticks along the first dimension: a transpose       [R/Es][C][Es]
 *     d  sticks along one dimension -> sticks along the other
 *     e  row-major or column-major -> XLA's tiles (8,128) and (8,128)(2,1)
 *     f  one element per stick, the rest zero, and its inverse
 *     g  converting on the way
 *
 * .pad is a shape that fills no stick or tile, so padding is written and rows lie at odd places. Spyre text
 * says device_dtype=IEEE_FP16 where nothing is to be converted, since its default for f16 is DLFloat16; types
 * without a Spyre format of their width (u8, f64) take an XLA tile as high as the tensor, which is the
 * same map. T of e.t8x128.f32 is one tile, and that is a plain copy. */
#include "workloads.h"

#include <stdio.h>
#include <string.h>

const char size_letters[SIZES + 1] = "LNMSHT";

#define PLAIN16 " device_dtype=IEEE_FP16"

const workload workloads[] = {
    {"a.stick.u8", "u8", "u8[$]", "u8[$]{1,0:T($0,128)}", 2,
     {{16384, 16384}, {8192, 8192}, {2048, 4096}, {512, 1024}, {256, 1024}, {16, 256}}},
    {"a.stick.f16", "f16", "f16[$]", "f16[$] spyre" PLAIN16, 2,
     {{16384, 8192}, {8192, 4096}, {2048, 2048}, {512, 512}, {256, 512}, {16, 128}}},
    {"a.stick.f32", "f32", "f32[$]", "f32[$] spyre", 2,
     {{16384, 4096}, {8192, 2048}, {2048, 1024}, {512, 256}, {256, 256}, {16, 64}}},
    {"a.stick.f64", "f64", "f64[$]", "f64[$]{1,0:T($0,16)}", 2,
     {{16384, 2048}, {8192, 1024}, {2048, 512}, {512, 128}, {256, 128}, {16, 32}}},
    {"a.stick.f16.pad", "f16", "f16[$]", "f16[$] spyre" PLAIN16, 2,
     {{16384, 8150}, {8192, 4050}, {2048, 2010}, {512, 500}, {256, 500}, {16, 120}}},
    {"a.unstick.f16", "f16", "f16[$] spyre" PLAIN16, "f16[$]", 2,
     {{16384, 8192}, {8192, 4096}, {2048, 2048}, {512, 512}, {256, 512}, {16, 128}}},
    {"a.unstick.f16.pad", "f16", "f16[$] spyre" PLAIN16, "f16[$]", 2,
     {{16384, 8150}, {8192, 4050}, {2048, 2010}, {512, 500}, {256, 500}, {16, 120}}},

    {"b.stick3d.f16", "f16", "f16[$]", "f16[$] spyre" PLAIN16, 3,
     {{8, 4096, 4096}, {8, 2048, 2048}, {8, 512, 1024}, {8, 32, 1024}, {8, 16, 1024}, {2, 8, 128}}},
    {"b.stick3d.f16.pad", "f16", "f16[$]", "f16[$] spyre" PLAIN16, 3,
     {{5, 6500, 4050}, {5, 3200, 2050}, {5, 800, 1000}, {5, 50, 1000}, {5, 25, 1000}, {2, 8, 120}}},
    {"b.unstick3d.f16", "f16", "f16[$] spyre" PLAIN16, "f16[$]", 3,
     {{8, 4096, 4096}, {8, 2048, 2048}, {8, 512, 1024}, {8, 32, 1024}, {8, 16, 1024}, {2, 8, 128}}},

    {"c.tstick.u8", "u8", "u8[$]", "u8[$]{0,1:T($1,128)}", 2,
     {{16384, 16384}, {8192, 8192}, {2048, 4096}, {512, 1024}, {256, 1024}, {128, 32}}},
    {"c.tstick.f16", "f16", "f16[$]", "f16[$] spyre dim_order=[1,0]" PLAIN16, 2,
     {{16384, 8192}, {8192, 4096}, {2048, 2048}, {256, 1024}, {128, 1024}, {64, 32}}},
    {"c.tstick.f32", "f32", "f32[$]", "f32[$] spyre dim_order=[1,0]", 2,
     {{8192, 8192}, {4096, 4096}, {1024, 2048}, {256, 512}, {128, 512}, {32, 32}}},
    {"c.tstick.f64", "f64", "f64[$]", "f64[$]{0,1:T($1,16)}", 2,
     {{8192, 4096}, {4096, 2048}, {1024, 1024}, {128, 512}, {64, 512}, {16, 32}}},
    {"c.tstick.f16.pad", "f16", "f16[$]", "f16[$] spyre dim_order=[1,0]" PLAIN16, 2,
     {{16350, 8150}, {8150, 4050}, {2000, 2010}, {250, 1000}, {122, 1000}, {60, 30}}},

    {"d.restick.u8", "u8", "u8[$]{1,0:T($0,128)}", "u8[$]{0,1:T($1,128)}", 2,
     {{16384, 16384}, {8192, 8192}, {2048, 4096}, {512, 1024}, {256, 1024}, {128, 128}}},
    {"d.restick.f16", "f16", "f16[$] spyre" PLAIN16, "f16[$] spyre dim_order=[1,0]" PLAIN16, 2,
     {{16384, 8192}, {8192, 4096}, {2048, 2048}, {256, 1024}, {128, 1024}, {64, 64}}},
    {"d.restick.f32", "f32", "f32[$] spyre", "f32[$] spyre dim_order=[1,0]", 2,
     {{8192, 8192}, {4096, 4096}, {1024, 2048}, {256, 512}, {128, 512}, {32, 64}}},
    {"d.restick.f64", "f64", "f64[$]{1,0:T($0,16)}", "f64[$]{0,1:T($1,16)}", 2,
     {{8192, 4096}, {4096, 2048}, {1024, 1024}, {128, 512}, {64, 512}, {16, 64}}},

    {"e.t8x128.f32", "f32", "f32[$]", "f32[$]{1,0:T(8,128)}", 2,
     {{8192, 8192}, {4096, 4096}, {1024, 2048}, {256, 512}, {128, 512}, {8, 128}}},
    {"e.t8x128.f32.pad", "f32", "f32[$]", "f32[$]{1,0:T(8,128)}", 2,
     {{8190, 8150}, {4090, 4050}, {1020, 2010}, {254, 500}, {126, 500}, {7, 120}}},
    {"e.t8x128x21.bf16", "bf16", "bf16[$]", "bf16[$]{1,0:T(8,128)(2,1)}", 2,
     {{16384, 8192}, {8192, 4096}, {2048, 2048}, {256, 1024}, {128, 1024}, {16, 128}}},
    {"e.col_t8x128.f32", "f32", "f32[$]{0,1}", "f32[$]{1,0:T(8,128)}", 2,
     {{8192, 8192}, {4096, 4096}, {1024, 2048}, {256, 512}, {256, 256}, {8, 128}}},
    {"e.col_t8x128.bf16", "bf16", "bf16[$]{0,1}", "bf16[$]{1,0:T(8,128)}", 2,
     {{16384, 8192}, {8192, 4096}, {2048, 2048}, {256, 1024}, {256, 512}, {16, 128}}},
    {"e.col_t8x128x21.bf16", "bf16", "bf16[$]{0,1}", "bf16[$]{1,0:T(8,128)(2,1)}", 2,
     {{16384, 8192}, {8192, 4096}, {2048, 2048}, {256, 1024}, {256, 512}, {16, 128}}},

    {"f.sparse.f16", "f16", "f16[$]", "f16[$] spyre dim_order=[0,-1]" PLAIN16, 1,
     {{2097152}, {524288}, {65536}, {4096}, {2048}, {32}}},
    {"f.sparse.f32", "f32", "f32[$]", "f32[$] spyre dim_order=[0,-1]", 1,
     {{2097152}, {524288}, {65536}, {4096}, {2048}, {32}}},
    {"f.gather.f16", "f16", "f16[$] spyre dim_order=[0,-1]" PLAIN16, "f16[$]", 1,
     {{2097152}, {524288}, {65536}, {4096}, {2048}, {32}}},

    {"g.f32_bf16.stick", "f32 > bf16", "f32[$]", "f32[$] spyre device_dtype=BFLOAT16", 2,
     {{8192, 8192}, {4096, 4096}, {1024, 2048}, {256, 512}, {128, 512}, {8, 128}}},
    {"g.f16_dlf16.stick", "f16 > dlf16", "f16[$]", "f16[$] spyre", 2,
     {{16384, 8192}, {8192, 4096}, {2048, 2048}, {512, 512}, {256, 512}, {16, 128}}},
};
const int32_t workload_count = sizeof workloads / sizeof workloads[0];

bool workload_chosen(const workload *w, int size, const char *sizes, const char *filter) {
    return strchr(sizes, size_letters[size]) != NULL && (filter == NULL || strstr(w->name, filter) != NULL);
}

void workload_shape(char *buf, size_t cap, const workload *w, int size) {
    size_t used = 0;
    for (int32_t d = 0; d < w->ndim && used < cap; d++)
        used += (size_t)snprintf(buf + used, cap - used, "%s%lld", d == 0 ? "" : ",", (long long)w->shape[size][d]);
}

void workload_text(char *buf, size_t cap, const char *text, const workload *w, int size) {
    size_t used = 0;
    for (const char *p = text; *p != '\0' && used + 1 < cap; p++) {
        if (*p != '$') {
            buf[used++] = *p;
        } else if (p[1] >= '0' && p[1] < '0' + WORKLOAD_NDIM) {
            p++;
            used += (size_t)snprintf(buf + used, cap - used, "%lld", (long long)w->shape[size][*p - '0']);
        } else {
            workload_shape(buf + used, cap - used, w, size);
            while (buf[used] != '\0') used++;
        }
    }
    buf[used < cap ? used : cap - 1] = '\0';
}
