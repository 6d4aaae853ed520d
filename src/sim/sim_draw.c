/* Trying a plan: inputs that are drawn, and when a result counts as right. */
#include "sim/sim_model.h"

#include "base/checked.h"
#include "base/error.h"

#include <math.h>
#include <stdlib.h>

/* A result is wrong where its error, root of the mean square, is more than this share of its numbers. Rounding at each
 * of some hundred operations stays far below. */
#define SHARE 0.0625
/* Nor are numbers missed that formats of 16 bits do not have. */
#define NOTHING 5.96e-8

double tg_sim_average_error(const tg_sim_difference *d) {
    if (d->mean_square > 0) return sqrt(d->mean_error_square / d->mean_square);
    return d->mean_error_square > 0 ? 1 : 0;
}

bool tg_sim_is_right(const tg_sim_difference *d) {
    return d->lost == 0 && (tg_sim_average_error(d) <= SHARE || d->largest <= NOTHING);
}

/* splitmix64. Source: Vigna, xoshiro and splitmix. */
static uint64_t draw(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* Matrices are drawn so that products have about the size of what is multiplied. */
static double largest_of(const tg_host *host) {
    const int64_t rows = host->ndim >= 2 ? host->shape[host->ndim - 2] : 1;
    return rows > 3 ? sqrt(3 / (double)rows) : 1;
}

static bool is_whole(tg_dtype dtype) {
    const tg_dtype_class c = tg_dtype_get_class(dtype);
    return c == TG_CLASS_INT || c == TG_CLASS_UINT;
}

/* Floats up to `largest`, integers from 0 to 3 (0 and 1 where there are no more), as a type that all fit in. */
static void draw_numbers(uint64_t *room, tg_dtype dtype, double largest, int64_t n, uint64_t *state) {
    for (int64_t i = 0; i < n; i++) {
        const double x = (double)(draw(state) >> 11) / 9007199254740992.0;
        if (is_whole(dtype)) ((int64_t *)room)[i] = (int64_t)(4 * x) % (tg_dtype_bits(dtype) > 2 ? 4 : 2);
        else if (dtype == TG_F64) ((double *)room)[i] = largest * (2 * x - 1);
        else ((float *)room)[i] = dtype == TG_PRED ? (x < 0.5 ? 0.0f : 1.0f) : (float)(largest * (2 * x - 1));
    }
}

static tg_status convert(void *to, const void *from, tg_dtype dtype, int64_t n, tg_error *err) {
    const tg_dtype source = is_whole(dtype) ? TG_S64 : dtype == TG_F64 ? TG_F64 : TG_F32;
    tg_layout      dst, src;
    tg_plan        plan;
    tg_status      s = tg_layout_strided(&dst, dtype, 1, &n, NULL, 0, err);
    if (s == TG_OK) s = tg_layout_strided(&src, source, 1, &n, NULL, 0, err);
    const tg_plan_params params = {.dst = &dst, .src = &src, .convert = dtype != source};
    if (s == TG_OK) s = tg_plan_init(&plan, &params, err);
    return s == TG_OK ? tg_plan_run(&plan, to, from, NULL, err) : s;
}

static tg_status draw_input(tg_sim *sim, int64_t node, uint64_t *state, tg_error *err) {
    const tg_host *host = &sim->node[node].tensor.host;
    const int64_t  nbytes = tg_sim_nbytes(sim, node), n = nbytes * 8 / tg_dtype_storage_bits(host->dtype);
    void          *data = malloc((size_t)nbytes + 1);
    uint64_t      *room = malloc(((size_t)n + 1) * sizeof *room);
    tg_status      s = TG_ERR_NOMEM;
    if (data == NULL || room == NULL) {
        (void)tg_fail(err, s, "there is no memory for an input of %d bytes", nbytes);
    } else {
        draw_numbers(room, host->dtype, largest_of(host), n, state);
        s = convert(data, room, host->dtype, n, err);
        if (s == TG_OK) s = tg_sim_write(sim, node, data, err);
    }
    free(data);
    free(room);
    return s;
}

tg_status tg_sim_draw(tg_sim *sim, uint64_t seed, tg_error *err) {
    const int64_t ninputs = tg_program_ninputs(sim->program);
    tg_status     s = TG_OK;
    for (int64_t i = 0; i < ninputs && s == TG_OK; i++)
        s = draw_input(sim, tg_program_input(sim->program, i), &seed, err);
    for (int64_t id = 0; id < sim->count && ninputs == 0 && s == TG_OK; id++)
        if (tg_node_at(sim->graph, id)->kind == TG_NODE_INPUT) s = draw_input(sim, id, &seed, err);
    return s;
}
