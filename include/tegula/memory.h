/* memory.h - where the tensors of a planned graph live: in the scratchpad of the cores, or in the device's memory.
 *
 * Each core of a Spyre has a scratchpad (LX) of 2 MiB; all share the device's memory (HBM), seven segments of 16 GiB.
 * What stays in the scratchpad between the step that writes it and those that read it moves no bytes to HBM and back.
 * Time is counted in ticks; where a graph is planned these are the steps of its program.
 *
 *     tick       0    1    2    3          a is written at 0 and read at 2: it is alive in [0,3)
 *     a        [ w    .    r  ]            c is written at 2, where a is read for the last time, so it can take the
 *     b             [ w    r  ]            place of a; b and a are alive together and must not overlap
 *     c                  [ w    r  ]
 *
 * Conventions of tegula.h hold. Source: torch-spyre, scratchpad and HBM pool planning. */
#ifndef TEGULA_MEMORY_H
#define TEGULA_MEMORY_H

#include <tegula/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the scratchpad by itself ------------------------------------------------------ */

#define TG_LX_BYTES (INT64_C(2) << 20)          /* of each core */
#define TG_LX_PROGRAM_BYTES (INT64_C(64) << 10) /* of these, for its program */
#define TG_LX_ALIGNMENT 128
#define TG_LX_BACKEND_FRACTION 0.2 /* what is left to the backend unless somebody says otherwise */

/* Bytes that can be planned when a fraction in [0,1] is left to the backend: (2 MiB - 64 KiB) * (1 - fraction), rounded
 * up to 128. june: as it was before August 2026, 2 MiB * (1 - fraction), rounded down. TG_ERR_ARGUMENT. */
TG_API tg_status tg_lx_capacity(int64_t *bytes, double fraction, bool june, tg_error *err);

typedef struct tg_buffer {
    int64_t        size; /* bytes, at least 1 */
    int64_t        nuses;
    const int64_t *uses; /* ticks, increasing, at least one: alive in [uses[0], uses[nuses - 1] + 1) */
    bool           comes_from_outside; /* the first use is a read; else it is the write that makes it */
    int64_t        nparents;
    const int64_t *parents; /* buffers whose place it may take when it is written, the best ones first */
    bool           barred;  /* it has to live elsewhere */
    int64_t        saved_bytes; /* by keeping it; 0: size for each use, but not for a first one that reads */
} tg_buffer;

typedef enum tg_solver {
    TG_SOLVER_EXACT = 0, /* the most saved bytes, proven, or with a bound */
    TG_SOLVER_GREEDY,    /* torch-spyre's: tick by tick, on top of what is there if that goes, else in the first gap */
    TG_SOLVER_FIRSTFIT,  /* torch-spyre's: short lives with many uses first, each in the first gap */
    TG_SOLVER_BESTFIT    /* the same, each in the gap that it fills best */
} tg_solver;

TG_API const char *tg_solver_name(tg_solver solver); /* "exact"; NULL if none */

typedef struct tg_scratchpad_params { /* zero-initialise for defaults, except for capacity */
    tg_solver solver;
    int64_t   capacity;     /* bytes, >= 0 */
    int64_t   alignment;    /* of addresses, bytes; 0: TG_LX_ALIGNMENT */
    int64_t   max_branches; /* of the exact search; 0: 20000 */
} tg_scratchpad_params;

typedef struct tg_placement {
    int64_t address;     /* bytes; -1: it is not in the scratchpad */
    int64_t in_place_of; /* the parent whose place it takes, -1 if none */
} tg_placement;

typedef struct tg_scratchpad_summary {
    int64_t kept;        /* buffers in the scratchpad */
    int64_t saved_bytes; /* by these */
    int64_t bound_bytes; /* no placement saves more; post: at least saved_bytes. INT64_MAX where nobody has looked */
    bool    optimal;     /* saved_bytes == bound_bytes */
    int64_t peak_bytes;  /* behind the highest one */
    int64_t branches;    /* of the search */
} tg_scratchpad_summary;

/* Addresses of n buffers. Two that are alive at the same tick do not overlap, unless one takes the place of the other:
 * that starts at the last tick of its parent, is no larger, and takes its address; what of the parent is behind it is
 * taken for that tick, too. A parent hands its place over once, and only if it was read or comes from outside.
 * The exact one is never worse than the best of the others. Time grows as n log n and with the pairs that are alive
 * together. TG_ERR_ARGUMENT for buffers that are none, parents that cannot be; TG_ERR_OVERFLOW, TG_ERR_NOMEM. */
TG_API tg_status tg_scratchpad_place(tg_placement *out, tg_scratchpad_summary *summary, const tg_buffer *buffers,
                                     int64_t n, const tg_scratchpad_params *params, tg_error *err);

/* Judge placements by these rules alone. *ok is false with the first fault in *why (snprintf rule; may be NULL if cap
 * is 0). pre: tg_scratchpad_place takes the buffers and the params. TG_ERR_NOMEM. */
TG_API tg_status tg_scratchpad_verify(bool *ok, char *why, size_t cap, const tg_placement *placements,
                                      const tg_buffer *buffers, int64_t n, const tg_scratchpad_params *params,
                                      tg_error *err);

/* ---- HBM ------------------------------------------------------------------------------ */

#define TG_HBM_SEGMENTS 7
#define TG_HBM_SEGMENT_BYTES (INT64_C(16) << 30) /* segment i begins at i times this */
#define TG_HBM_POOL_BYTES (INT64_C(14) << 30)    /* that the pool may use of segment 0 */

/* An allocator: the first block on the list of free ones that is large enough, whose rest stays free; else behind
 * everything. Neighbours on the list are not joined. */
typedef struct tg_pool tg_pool;

/* limit: bytes, >= 0. TG_ERR_ARGUMENT, TG_ERR_NOMEM. */
TG_API tg_status tg_pool_create(tg_pool **out, int64_t limit, tg_error *err);
TG_API void      tg_pool_destroy(tg_pool **pool); /* *pool may be NULL */

/* *address is -1 where it does not fit; nothing has changed then. TG_ERR_ARGUMENT for fewer than 1 byte. */
TG_API tg_status tg_pool_allocate(int64_t *address, tg_pool *pool, int64_t bytes, tg_error *err);
/* What was allocated with these bytes is free again. TG_ERR_ARGUMENT if it cannot be; TG_ERR_NOMEM. */
TG_API tg_status tg_pool_release(tg_pool *pool, int64_t address, int64_t bytes, tg_error *err);
TG_API int64_t   tg_pool_end(const tg_pool *pool); /* the first byte that was never allocated */

/* ---- a planned graph --------------------------------------------------------------------- */

typedef enum tg_home {
    TG_HOME_LX = 0, /* a piece in the scratchpad of each core */
    TG_HOME_POOL,   /* in the pool of segment 0, while it is alive */
    TG_HOME_OWN,    /* HBM of its own, as long as the program runs */
    TG_HOME_HOST,   /* not on the device */
    TG_HOME_NONE    /* there is no room for it: the program does not fit the device */
} tg_home;

TG_API const char *tg_home_name(tg_home home); /* "lx"; NULL if none */

/* Why a tensor lives where it does. */
typedef enum tg_reason {
    TG_REASON_KEPT = 0,    /* it stays in LX between its producer and its readers */
    TG_REASON_HOST,        /* not on the device */
    TG_REASON_INPUT,
    TG_REASON_OUTPUT,
    TG_REASON_CONSTANT,
    TG_REASON_UNREAD,      /* no consumer reads it from LX */
    TG_REASON_RESTICKIFY,  /* read or written by a restickify, which works from HBM to HBM */
    TG_REASON_FILL,        /* the same, of a fill */
    TG_REASON_NO_KERNEL,   /* read or written by an operation that is no kernel of the device, or by index */
    TG_REASON_DIVISION,    /* a reader slices it among cores in another way than its producer (torch-spyre:
                              core_div_mismatch) */
    TG_REASON_FOOTPRINT,   /* its piece is larger than the scratchpad */
    TG_REASON_SPILLED,     /* there is no room for it in LX while it is alive, or others are worth more */
    TG_REASON_SHARED,      /* cores share the sums in it: none has them */
    TG_REASON_LOOP         /* a loop reads it in every round, or hands it on to the next one */
} tg_reason;

typedef struct tg_memory_params { /* zero-initialise for defaults */
    tg_division_params division;
    tg_solver          solver;
    bool               has_lx_bytes;
    int64_t            lx_bytes;   /* if has_lx_bytes; else tg_lx_capacity(TG_LX_BACKEND_FRACTION) */
    int64_t            pool_bytes; /* 0: TG_HBM_POOL_BYTES */
    int64_t            max_branches;
} tg_memory_params;

/* The tensor that a step makes. */
typedef struct tg_residence {
    tg_home   home;
    int64_t   address;     /* bytes, in the scratchpad of each core or in HBM; -1 if it has none */
    int64_t   bytes;       /* there: of LX the piece of one core, in whole sticks */
    int64_t   first, last; /* ticks: the steps that write it and read it last; of what is made before a loop and read in
                            * it the last step of the loop */
    int64_t   in_place_of; /* the step whose tensor has given it its place, -1 if none */
    tg_reason reason;
    int64_t   because_of;  /* the step that the reason speaks of, -1 if none */
} tg_residence;

typedef struct tg_memory_summary {
    int64_t lx_count, lx_capacity, lx_peak; /* of each core */
    int64_t lx_bytes;      /* of the tensors that are there, all cores together */
    int64_t saved_bytes;   /* HBM traffic that they do not make */
    int64_t traffic_bytes; /* what is left of it: every step reads its operands and writes its result */
    int64_t bound_bytes;   /* of saved_bytes, where work is divided as it is; INT64_MAX unless the solver is exact */
    bool    optimal;
    int64_t pool_count, pool_peak;
    int64_t own_count, own_bytes;
    int64_t none_count, none_bytes;
} tg_memory_summary;

typedef struct tg_memory tg_memory;

/* The graph and the plan stay as they are as long as the memory is asked. Where no outputs were added to the graph,
 * results that nobody reads are its outputs. TG_ERR_ARGUMENT for a plan that is not feasible, or of another graph;
 * What a loop hands on (TG_NODE_CARRY) takes the place of its operand 0, where nothing reads that later. Traffic counts
 * the steps of a loop once. TG_ERR_OVERFLOW, TG_ERR_NOMEM. */
TG_API tg_status tg_memory_create(tg_memory **out, const tg_graph *graph, const tg_graph_plan *plan,
                                  const tg_memory_params *params, tg_error *err);
TG_API void      tg_memory_destroy(tg_memory **memory); /* *memory may be NULL */

TG_API tg_memory_summary tg_memory_get_summary(const tg_memory *memory);

/* pre: 0 <= step < tg_graph_plan_step_count(plan). */
TG_API tg_residence tg_memory_get(const tg_memory *memory, int64_t step);

/* The reason in words (snprintf rule): "below slices it in another way". */
TG_API size_t tg_memory_why(char *buf, size_t cap, const tg_memory *memory, int64_t step);

/* Judge a memory by the rules alone: lives from first to last use, nothing on top of what is alive, limits, who may be
 * in LX at all. *ok is false with the first fault in *why (snprintf rule; may be NULL if cap is 0). */
TG_API tg_status tg_memory_verify(bool *ok, char *why, size_t cap, const tg_memory *memory, tg_error *err);

#ifdef __cplusplus
}
#endif

#endif /* TEGULA_MEMORY_H */
