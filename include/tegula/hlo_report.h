/* tegula/hlo_report.h - what an HLO text tells about memory: which arrays are mostly padding, and which operations
 * only move bytes.
 *
 * Both reports ask every instruction of a module, with the exact sizes and maps of its layouts, all tile levels
 * included. They see what the text says and no buffer assignment: XLA may give two results the same memory, so the
 * sums are of results and not of what is alive at one time.
 *
 * Results that have no storage of their own do not count:
 *   - tuple, get-tuple-element, bitcast, opt-barrier, add-dependency, after-all, domain, while, conditional, call and
 *     async-done: they name storage of others, which is counted where it is made, in a called computation for example;
 *   - everything that ends in -start or -update: its -done counts;
 *   - parameters of computations other than the entry;
 *   - instructions of computations that only calculate for one instruction: what a fusion calls, and what reduce, sort,
 *     scatter and others apply to elements. Asked for by name, such a computation is looked at all the same.
 *
 * The conventions of tegula.h hold. Reports allocate: TG_ERR_NOMEM. What a list call that succeeded has made is given
 * back by its free function, which leaves zeros behind and does nothing to zeros. */
#ifndef TEGULA_HLO_REPORT_H
#define TEGULA_HLO_REPORT_H

#include <tegula/hlo.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero-initialised: everything. */
typedef struct tg_hlo_filter {
    tg_hlo_text computation; /* only this one, by name without `%`; TG_ERR_ARGUMENT if there is none */
    tg_hlo_text opcode;      /* only instructions with this opcode; no error if there are none */
} tg_hlo_filter;

/* Is this a computation that only calculates for one instruction (see above)? inside has ncomputations entries. */
TG_API tg_status tg_hlo_find_inside(bool *inside, const tg_hlo_module *module, tg_error *err);

/* ---- padding -------------------------------------------------------------------- */

/* An array that an instruction makes. */
typedef struct tg_hlo_buffer {
    int64_t instruction;
    size_t  node; /* of the instruction's shape (tg_hlo_shape); 0 unless it is a tuple */
    int64_t layout; /* a number that arrays of the same text have in common, and no others of this list */
    int64_t memory_space;
    int64_t logical_bytes, physical_bytes; /* tg_padding_measure */
} tg_hlo_buffer;

/* The sum of all arrays of a memory space. */
typedef struct tg_hlo_space {
    int64_t memory_space, nbuffers, logical_bytes, physical_bytes;
} tg_hlo_space;

typedef struct tg_hlo_buffers {
    int64_t        nbuffers, nspaces;
    tg_hlo_buffer *buffer;     /* by decreasing padding (physical - logical), then by layout, then in the order
                                * of the text */
    tg_hlo_space  *space;      /* by increasing number */
    int64_t        unmeasured; /* arrays without a size: unbounded dimensions, sizes beyond int64; not in the list */
} tg_hlo_buffers;

/* filter may be NULL. Sums beyond int64 are TG_ERR_OVERFLOW. */
TG_API tg_status tg_hlo_buffers_list(tg_hlo_buffers *out, const tg_hlo_module *module, const tg_hlo_filter *filter,
                                     tg_error *err);
TG_API void tg_hlo_buffers_free(tg_hlo_buffers *buffers);

/* ---- copies --------------------------------------------------------------------- */

typedef enum tg_hlo_move_kind {
    TG_HLO_MOVES_NOTHING = 0, /* every byte is where it was: could be, or is, a bitcast */
    TG_HLO_MOVES_COPY,        /* the same bytes at another place of the same memory space */
    TG_HLO_MOVES_SPACE,       /* the same bytes in another memory space */
    TG_HLO_MOVES_RELAYOUT,    /* bytes in another order, or with other padding, or another E(n) */
    TG_HLO_MOVES_UNKNOWN      /* shapes missing, not valid or without a size, sides that do not fit the operation (other
                               * sizes, types or widths), or maps too hard to compare; see tg_hlo_move.why */
} tg_hlo_move_kind;

/* "relayout" and so on; NULL if there is none. */
TG_API const char *tg_hlo_move_kind_name(tg_hlo_move_kind kind);

/* A copy, copy-done, transpose, reshape, bitcast or bitcast-convert. */
typedef struct tg_hlo_move {
    int64_t          instruction;
    int64_t operand; /* where the bytes come from (tg_hlo_get_operand); of copy-done it is that of its copy-start;
                      * TG_HLO_NONE if there is none */
    tg_hlo_move_kind kind;
    bool is_false_bitcast; /* kind NOTHING, and yet wrong: a bitcast whose two layouts no reshape and transpose without
                            * a move explains: its bytes stay, its elements do not */
    int64_t          read_bytes, written_bytes; /* physical; 0 for kinds NOTHING and UNKNOWN */
    const char      *why; /* kind UNKNOWN: what is missing; static text. Else NULL */
} tg_hlo_move;

typedef struct tg_hlo_moves {
    int64_t      nmoves;
    tg_hlo_move *move; /* false bitcasts, then by decreasing read + written; then in the order of the text */
} tg_hlo_moves;

/* A copy with equal layouts is one of bytes; copies, transposes and reshapes are decided as maps (tg_xla_shape_equal,
 * tg_xla_transpose_is_bitcast, tg_xla_reshape_is_bitcast), bitcasts by tg_xla_decompose_bitcast besides. */
TG_API tg_status tg_hlo_moves_list(tg_hlo_moves *out, const tg_hlo_module *module, const tg_hlo_filter *filter,
                                   tg_error *err);
TG_API void tg_hlo_moves_free(tg_hlo_moves *moves);

#ifdef __cplusplus
}
#endif

#endif /* TEGULA_HLO_REPORT_H */
