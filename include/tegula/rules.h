/* rules.h - what the device asks of layouts, one rule at a time: for who has no graph.
 *
 * graph.h plans with these rules; here each can be asked alone. Layouts are torch-spyre's: a tensor of shape [256,128]
 * with dimension 0 in the sticks has device_size [4,128,64], stride_map [8192,1,128]: count of sticks, the other
 * dimension, the place in the stick.
 *
 * Conventions are those of tegula.h. */
#ifndef TEGULA_RULES_H
#define TEGULA_RULES_H

#include <tegula/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a layout whose tensor changes ------------------------------------------------ */

/* The layout of the same host tensor in another device format: the same dimensions, in sticks of that format. Their
 * number comes from the host tensor, never from the old number of sticks: 88 elements are 2 sticks of 64 or 3 of 32.
 * post: arrangement is TG_STANDARD. What the device leaves is tg_arrangement_after.
 * TG_ERR_UNSUPPORTED for a format without sticks; TG_ERR_UNREPRESENTABLE where no device dimension counts the sticks
 * and none is free to. Source: torch-spyre, dtype rescale. */
TG_API tg_status tg_spyre_convert(tg_spyre *out, const tg_spyre *from, const tg_host *host, tg_format format,
                                  tg_error *err);

/* The layout of a piece of the host tensor, or of a larger one, laid out alike: the host dimensions in the same device
 * dimensions. *resized is its host tensor: dense row-major if *host is, else with the same strides.
 *     [1024,4096]   [64,1024,64] / [64,4096,1]   ->   [512,1024]   [16,512,64] / [64,1024,1]
 * resized may be NULL. TG_ERR_UNREPRESENTABLE where a device dimension walks several host dimensions, where nothing
 * says which dimension is in the sticks, or which device dimension a dimension of size 1 grows in.
 * Source: torch-spyre, coarse tiling. */
TG_API tg_status tg_spyre_resize(tg_spyre *out, tg_host *resized, const tg_spyre *from, const tg_host *host,
                                 const int64_t *shape, tg_error *err);

/* How many device elements further on each of `count` tiles lies, that are `step` host elements apart.
 * pre: step >= 0, count >= 1. TG_ERR_UNREPRESENTABLE where that is not the same for all: a tile begins within a stick
 * or behind the end of a device dimension. Source: torch-spyre, tiling. */
TG_API tg_status tg_spyre_advance(int64_t *out, const tg_spyre *layout, int64_t step, int64_t count, tg_error *err);

/* The same memory with as few device dimensions as the access needs: those of size 1 go, but for the last, and two
 * neighbours that a single loop walks, one after the other without a gap, become one.
 *     [16,1,2,1,64] read at [floor(k/128), 0, floor(Mod(k, 128)/64), 0, Mod(k, 64)]   ->   [32,64]
 * Source: torch-spyre, normalisation before kernels are made. */
TG_API tg_status tg_spyre_join(tg_spyre *out, const tg_spyre *layout, int32_t nloops, const int64_t *ranges,
                               const tg_access *access, tg_error *err);

/* ---- element arrangements ------------------------------------------------------------ */

/* May operands with these arrangements meet in one operation element by element? All the same, or one other than
 * TG_STANDARD, not TG_EXX2, and standard ones that have the same element in all of a stick. broadcast[i] says that of
 * operand i; NULL: all standard ones are so. */
TG_API bool tg_arrangements_agree(int32_t n, const tg_arrangement *arrangement, const bool *broadcast);

/* The arrangement after a conversion on the device; sparse: one element a stick. TG_ERR_UNSUPPORTED where the device
 * does not convert what is arranged so. */
TG_API tg_status tg_arrangement_after(tg_arrangement *out, tg_arrangement before, tg_format from, tg_format to,
                                      bool sparse, tg_error *err);

/* ---- kernels of the device --------------------------------------------------------------- */

/* Has the device a kernel for an operation, by its HLO opcode (or torch-spyre's name: exx2, layernormnorm), on
 * tensors in a format? Conversions are tg_cast_kernel's. Source: torch-spyre. */
TG_API bool tg_has_kernel(tg_hlo_text opcode, tg_format format);

/* The kernel that converts elements on the device: "identity", "dl16tofp32", "fp32todl16", "fp8todl16"; NULL: the host
 * does it. */
TG_API const char *tg_cast_kernel(tg_dtype from, tg_dtype to);

/* ---- sharing work ------------------------------------------------------------------------ */

/* The largest divisor of size up to `most`. pre: both are at least 1. */
TG_API int64_t tg_core_split(int64_t size, int64_t most);

/* What there is to share. */
typedef struct tg_work {
    int32_t  nloops;
    int64_t  sizes[TG_MAX_LOOPS];  /* how many slices each could have; of loops in sticks the number of sticks */
    int64_t  splits[TG_MAX_LOOPS]; /* slices so far; 1: not split */
    uint32_t outputs, reductions;  /* loops that may be split, as bits: those of the result, and those summed up */
    int64_t  cores;
} tg_work;

/* Loops of the result by decreasing size, each as often as it goes; then one loop that is summed up, unless one is
 * split already. Source: torch-spyre. */
TG_API void tg_distribute(tg_work *work);

/* A product [B,M,K] x [B,K,N], or with one right operand for all B. */
typedef struct tg_product {
    int64_t b, m, n, k; /* N and K are whole sticks */
    int64_t n_sticks, k_sticks;
    bool    shared;     /* one right operand */
    int64_t cores;
    tg_cost_formula formula;
} tg_product;

/* Microseconds with so many slices of b, m, n, k, each at least 1. An estimate of torch-spyre's. */
TG_API double tg_product_cost(const tg_product *product, const int64_t splits[4]);

/* The cheapest splits; of equal ones those that come first with b, m, n, k ascending. */
TG_API void tg_product_split(int64_t splits[4], const tg_product *product);

/* Which slice of each of n loops a core works on. The first loop varies fastest, or loop `fastest` if that is not -1:
 * torch-spyre numbers so the cores of a product whose summed loop is split. Cores that are left over do the same again.
 * TG_ERR_ARGUMENT if cores is no multiple of the product of the splits, or core not in [0, cores). */
TG_API tg_status tg_core_slices(int64_t *slice, int32_t n, const int64_t *splits, int32_t fastest, int64_t core,
                                int64_t cores, tg_error *err);

/* Slices of a loop, which is named by its step: in the result if the result has it, else (summed) in operand 0. That is
 * how torch-spyre keeps them, op_it_space_splits. */
typedef struct tg_step_split {
    bool    summed;
    int64_t step, slices;
} tg_step_split;

/* Loops in one slice are left out. Returns how many there are, at most nloops; loops that neither access has are not
 * among them. */
TG_API int32_t tg_splits_to_steps(tg_step_split *out, int32_t nloops, const int64_t *splits, const tg_access *result,
                                  const tg_access *operand);

/* And back; loops of range 1 are found by no step. TG_ERR_ARGUMENT for a step that no loop makes. */
TG_API tg_status tg_splits_from_steps(int64_t *splits, int32_t nloops, const int64_t *ranges, const tg_access *result,
                                      const tg_access *operand, int32_t count, const tg_step_split *steps,
                                      tg_error *err);

#ifdef __cplusplus
}
#endif

#endif /* TEGULA_RULES_H */
