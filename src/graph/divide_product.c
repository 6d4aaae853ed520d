/* What a product costs on so many cores, as torch-spyre estimates it: time for the arithmetic, for memory, for adding
 * up parts of sums, and what experience says about narrow tiles and idle cores. The formula of June 2026 is published
 * as a list of terms; how they go together, and that a pass has 8 rows, is our reading. */
#include "graph/divide.h"

#include <math.h>

static const double macs_per_us = 1.536e6; /* of a core: 98.304e12 / 2 / 32 cores / 1e6 */
static const double bytes_per_us = 204800;

static double log2_above(double x) { return x > 1 ? log2(x) : 0; }

/* Short tiles keep the matrix unit waiting. */
static double compute_time(const tg_product *p, const int64_t s[4], double rows) {
    const double macs = (double)p->b * (double)p->m * (double)p->n * (double)p->k /
                        ((double)s[0] * (double)s[1] * (double)s[2] * (double)s[3]);
    return macs / (macs_per_us * fmin(1, pow(fmax(1, rows / 8) / 5, 0.25)));
}

static double memory_time(const tg_product *p, const int64_t s[4]) {
    const double b = (double)p->b, m = (double)p->m, n = (double)p->n, k = (double)p->k;
    const double bytes = 2 * (b * m * k + (p->shared ? 1 : b) * k * n + b * m * n);
    const double readers = p->shared ? fmax((double)s[1], (double)s[2]) : (double)s[2];
    return bytes / bytes_per_us * fmax(1, pow(readers / 8, 0.75));
}

static double sum_time(const tg_product *p, const int64_t s[4]) {
    const double part = (double)p->b * (double)p->m * (double)p->n / ((double)s[0] * (double)s[1] * (double)s[2]);
    return (double)(s[3] - 1) * part * (p->shared ? 1e-3 : 1e-4);
}

static double shape_cost(const tg_product *p, const int64_t s[4], double rows, double columns) {
    const double target = fmax(4, fmin((double)p->cores / 2, fmax(1, (double)p->m / 32)));
    const double used = (double)s[0] * (double)s[1] * (double)s[2] * (double)s[3];
    return 10 * log2_above(target / (double)s[1]) + 30 * log2_above(16 / rows) + 25 * log2_above(columns / 512) +
           150 * log2_above((double)p->cores / used) + (p->shared ? 0 : 10 * log2((double)s[0]));
}

/* Splitting columns of deep products, and few columns of wide tiles. */
static double depth_cost(const tg_product *p, const int64_t s[4], double rows, double columns) {
    const double n = (double)p->n, depth = log2_above((double)p->k / n) * log2((double)s[2]);
    double       cost = 0;
    if (rows >= 16 && !p->shared && s[2] > 1) cost += 20 * depth;
    if (rows >= 16 && p->shared) cost += 5 * log2_above(4096 / n) * log2_above(columns / 128);
    if (p->shared && s[2] > 1) cost += 10 * depth;
    return cost;
}

static double august_cost(const tg_product *p, const int64_t splits[4]) {
    const double rows = (double)(p->m / splits[1]), columns = (double)(p->n / splits[2]);
    return compute_time(p, splits, rows) + memory_time(p, splits) + sum_time(p, splits) +
           shape_cost(p, splits, rows, columns) + depth_cost(p, splits, rows, columns);
}

/* The first formula. One pass is a tile of 8 rows; 8 of them keep the matrix unit busy. */
static double june_cost(const tg_product *p, const int64_t s[4]) {
    const double b = (double)p->b, m = (double)p->m, n = (double)p->n, k = (double)p->k;
    const double passes = fmax(1, (double)(p->m / s[1]) / 8);
    const double macs = b * m * n * k / ((double)s[0] * (double)s[1] * (double)s[2] * (double)s[3]);
    const double compute = macs / (macs_per_us * fmin(1, sqrt(passes / 8)));
    const double bytes = 2 * (b * m * k + (p->shared ? 1 : b) * k * n + b * m * n);
    const double memory = bytes / bytes_per_us * fmax(1, fmax((double)s[1], (double)s[2]) / 8);
    const double sums = (double)(s[3] - 1) * b * m * n * 1.4e-4;
    return (compute + memory + sums + 50 * log2_above(8 / passes)) * pow((double)s[0], 1.4);
}

double tg_product_cost(const tg_product *product, const int64_t splits[4]) {
    return product->formula == TG_COST_JUNE ? june_cost(product, splits) : august_cost(product, splits);
}

/* The next divisor of size above `divisor`, up to `most`; 0 if there is none. */
static int64_t next_divisor(int64_t size, int64_t divisor, int64_t most) {
    for (divisor++; divisor <= most && divisor <= size; divisor++)
        if (size % divisor == 0) return divisor;
    return 0;
}

void tg_product_split(int64_t splits[4], const tg_product *p) {
    double  best = INFINITY;
    int64_t s[4];
    for (s[0] = 1; s[0] > 0; s[0] = next_divisor(p->b, s[0], p->cores))
        for (s[1] = 1; s[1] > 0; s[1] = next_divisor(p->m, s[1], p->cores / s[0]))
            for (s[2] = 1; s[2] > 0; s[2] = next_divisor(p->n_sticks, s[2], p->cores / s[0] / s[1]))
                for (s[3] = 1; s[3] > 0; s[3] = next_divisor(p->k_sticks, s[3], p->cores / s[0] / s[1] / s[2])) {
                    const double cost = tg_product_cost(p, s);
                    if (cost >= best) continue;
                    best = cost;
                    for (int i = 0; i < 4; i++) splits[i] = s[i];
                }
}
