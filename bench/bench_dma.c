/* How long a DMA program takes to make: median and best of 200 samples, each of as many calls as fill 50 us. */
#define _POSIX_C_SOURCE 200809L

#include <tegula/transfer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES = 200, MAX_PROGRAM = 256, SAMPLE_NS = 50000 };

static const char *const layouts[] = {
    "f16[1024,256] spyre",
    "f16[5,100,150] spyre",
    "f16[3,5,7,9,11,100] spyre",
    "f16[3,5,7,9,11,100] strides=[1,3,15,105,945,10395] spyre",
    "f16[4800] spyre device_size=[3,2,14,64] stride_map=[120,64,360,1]",
    "f16[40,60] spyre device_size=[38,64] stride_map=[64,1]",
    "f16[2,3,4,5,6,128] spyre arrangement=FP32_TO_DL16",
    "f32[3,5,7,9,11,100]{5,4,3,2,1,0:T(2,2,2,4,8,64)}",
    "bf16[30,31,33,35,100,300]{5,4,3,2,1,0:T(8,128)(2,1)}",
};

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double time_calls(const tg_dma_params *params, size_t *count, int calls) {
    static tg_dma program[MAX_PROGRAM];
    const double  begin = now_ns();
    for (int i = 0; i < calls; i++)
        if (tg_dma_build(program, MAX_PROGRAM, count, params, NULL) != TG_OK) exit(1);
    return (now_ns() - begin) / calls;
}

static void measure(const char *text) {
    tg_desc   d;
    tg_layout host;
    double    samples[SAMPLES];
    size_t    count = 0;
    tg_error  err;
    if (tg_desc_parse(&d, text, strlen(text), &err) != TG_OK ||
        tg_layout_strided(&host, d.layout.dtype, d.layout.ndim, d.layout.shape,
                          d.notation == TG_NOTATION_SPYRE ? d.host.strides : NULL, 0, &err) != TG_OK) {
        fprintf(stderr, "%s: %s\n", text, err.message);
        exit(1);
    }
    const tg_dma_params params = {.device = &d.layout, .host = &host};
    const int           calls = 1 + (int)(SAMPLE_NS / time_calls(&params, &count, 3));
    for (int i = 0; i < SAMPLES; i++) samples[i] = time_calls(&params, &count, calls);
    qsort(samples, SAMPLES, sizeof samples[0], compare);
    printf("%-68s %4zu %9.2f %9.2f\n", text, count, samples[SAMPLES / 2] / 1000, samples[0] / 1000);
}

int main(void) {
    printf("%-68s %4s %9s %9s\n", "layout", "n", "us median", "best");
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) measure(layouts[i]);
    return 0;
}
