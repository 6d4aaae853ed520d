/* What a plan knows, and how its two ways of moving share it.
 *
 * nest   Digits of both sides that nest, which is what Spyre and XLA layouts and strided tensors have: every
 *        dimension falls into a few segments on which both sides are plain loops, and a choice of one segment for
 *        each dimension is a box. Boxes are cut into blocks for the fast movers (kernels/move.h), which get there by
 *        one of the routes below: straight, or by way of buffers where elements change, turn in short runs, or begin
 *        inside of bytes.
 * walk   Anything else (tiles of 48 against tiles of 64, folds, packed elements that no box can have):
 *        both sides are evaluated as functions of the coordinates while moving, run by run.
 *
 * Work is counted in groups, some hundred kilobytes each. Every box gives each group the same share of its
 * blocks, so that ragged edges are moved close to the full boxes that they border on, where both are in the order of
 * dst (box.inc.h), and tasks and steps are ranges of groups. */
#ifndef TG_RELAYOUT_PLAN_H
#define TG_RELAYOUT_PLAN_H

#include "base/checked.h"
#include "kernels/kernels.h"
#include "kernels/move.h"
#include "kernels/stream.h"
#include "relayout/side.h"

enum {
    TG_PLAN_BOXES = 32, /* data and padding together */
    TG_PLAN_LOOPS = 128, /* of all boxes together */
    TG_BOX_LOOPS = 40,
    TG_TILE_LOOPS = 8, /* on either side of a tile, and of a cell */
    TG_PLAN_MOVERS = 8,
    TG_TURN_SIDE = TG_LISTED_SIDE, /* rows, or lines, of a tile of route turn */
    TG_SLAB_BYTES = 32 << 10, /* of the buffer in which slabs are made */
    TG_LARGE_SLAB_BYTES = 128 << 10, /* where such slabs would leave a quarter of each line of src, or more */
    TG_STAGE_BYTES = 16 << 10, /* of each of the two buffers that elements pass through on their way */
    TG_TWICE_BYTES = 32 << 10, /* of the one of route twice */
    TG_PANEL_BYTES = 96 << 10, /* and where it is a panel (panel.c) */
    TG_SPACED_BYTES = 32 << 10 /* of the one of route lines */
};

/* How a block gets from src to dst: straight by one mover, or through a stage on the stack. */
typedef enum tg_route {
    TG_ROUTE_MOVE,     /* one mover: same bits */
    TG_ROUTE_CONVERT,  /* one converting mover */
    TG_ROUTE_GATHER,   /* moved together in dst's order, then converted */
    TG_ROUTE_NARROW,   /* converted to no more bytes, then transposed */
    TG_ROUTE_SCATTER,  /* moved together, converted, then moved apart: no neighbours in dst */
    TG_ROUTE_TILE,     /* runs of src gathered, unpacked, transposed, converted or packed, then runs of dst */
    TG_ROUTE_TWICE,    /* transposed into a stage, and once more out of it; or gathered, or scattered, on one side */
    TG_ROUTE_PANEL,    /* moved or transposed into a larger stage, and by runs out of it (panel.c); or as twice */
    TG_ROUTE_BYTES,    /* packed elements, wherever they begin: spread to bytes, moved, joined; matrices of them (family
                        * packed): one mover */
    TG_ROUTE_SHIFT,    /* runs of packed elements that begin at different bits of a byte */
    TG_ROUTE_FILL,     /* padding */
    TG_ROUTE_LINES,    /* lines gathered, with others of padding between them, then transposed */
    TG_ROUTE_CELLS,    /* up to 1024 bytes without a gap, on one side at least, rearranged by a list (cell_loops.c,
                        * packed_loops.c) */
    TG_ROUTE_TURN      /* the same bits: lines of src transposed straight to rows of dst, all of them listed (family
                        * tiles) */
} tg_route;

/* The step of a packed element, where one is meant: columns of a tile or of family packed in dst, rows in src. */
#define TG_PACKED_STEP INT64_MAX

/* The loops of a block. */
typedef enum tg_block_loop { TG_BLOCK_OUTER, TG_BLOCK_ROWS, TG_BLOCK_COLS, TG_BLOCK_LOOPS } tg_block_loop;

enum { TG_NO_LOOP = -1, TG_NO_MOVER = -1, TG_NOT_PARTED = -1 };

/* A loop around blocks: one of the tensor, or one that counts chunks of a loop of the block. */
typedef struct tg_loop {
    int64_t n, dst, src; /* steps in bytes; of loose boxes, and inside of packed cells, in elements */
    int32_t chunks_of;   /* a tg_block_loop, or TG_NO_LOOP; a loop of the tensor whose last run is shorter counts chunks
                          * of columns */
} tg_loop;

typedef enum tg_family {
    TG_FAMILY_ROWS,
    TG_FAMILY_TRANSPOSE,
    TG_FAMILY_STRIDED,
    TG_FAMILY_PACKED,
    TG_FAMILY_MIX,    /* packed rows take turns in dst; columns are bytes of each */
    TG_FAMILY_PART,   /* and back */
    TG_FAMILY_MIX_EIGHTS, /* the same of up to eight rows (tg_mover_eights) */
    TG_FAMILY_PART_EIGHTS,
    TG_FAMILY_PAD_EIGHTS, /* turns on both sides */
    TG_FAMILY_SPREAD, /* packed elements to bytes */
    TG_FAMILY_JOIN,   /* and back */
    TG_FAMILY_BANDS,  /* transposes of packed elements that begin inside of bytes: only movers, their boxes are of
                       * family packed */
    TG_FAMILY_CONVERT,
    TG_FAMILY_CELLS,
    TG_FAMILY_PACKED_CELLS, /* with the bits of an element for a width */
    TG_FAMILY_TILES /* transposes of tiles that are listed: only movers, their boxes are of family transpose */
} tg_family;

typedef struct tg_box {
    int64_t   dst, src;      /* bytes: its first element */
    tg_block  block;         /* the largest; pad is set when run */
    int64_t   total[TG_BLOCK_LOOPS]; /* steps of all chunks of a loop; the last chunk may be smaller */
    int64_t   blocks;
    int32_t   first, nloops; /* in nest.loop, outermost first */
    int8_t    together;      /* where blocks share bytes of dst: threads part them at so many steps of the outermost
                              * loop, or TG_NOT_PARTED; else 0 */
    int8_t ncols, nrows; /* route cells: ncols loops of a cell, innermost first, behind those of the box; routes tile,
                          * turn: behind them, the loops of columns and those of rows, innermost first; routes twice,
                          * panel: those of what goes into the stage, and of what leaves it (twice.c); route bytes: all
                          * loops of the block are columns */
    tg_route  route;
    bool      loose;         /* packed elements begin inside of bytes: all places and steps are elements; routes
                              * bytes, shift and fill */
    /* along: route bytes, bit i: a line on this side is made of loop i, among others; lines are block.dst_row, src_row
     * bytes apart in their stage. counted: routes twice, panel: which loops into the stage, and out of it, rows and
     * columns of the block count (tg_counted_loops). */
    union {
        struct { uint8_t along_dst, along_src; };
        struct { uint8_t counted_in, counted_out; };
    };
    bool      gaps;          /* route bytes: lines of dst have gaps, which stay as they are */
    tg_family family;
    int32_t   width;         /* bytes of what is moved, which may be several elements */
    int32_t   mover, in, out; /* in nest.mover: what moves; before it, into the stage; after it, out of it; or
                               * TG_NO_MOVER */
} tg_box;

/* By two movers, with a buffer between them? */
static inline bool tg_goes_twice(const tg_box *box) {
    return box->route == TG_ROUTE_TWICE || box->route == TG_ROUTE_PANEL;
}

/* Are its blocks of more loops than tg_block has, which follow those of the box? */
static inline bool tg_has_tiles(const tg_box *box) {
    return box->route == TG_ROUTE_TILE || tg_goes_twice(box) ||
           box->route == TG_ROUTE_CELLS || box->route == TG_ROUTE_TURN || box->route == TG_ROUTE_BYTES;
}

/* Two of a few loops, by their numbers. */
static inline uint8_t tg_counted_loops(int32_t by_rows, int32_t by_cols) { return (uint8_t)(by_rows | by_cols << 4); }

static inline bool tg_is_of_eights(tg_family family) {
    return family >= TG_FAMILY_MIX_EIGHTS && family <= TG_FAMILY_PAD_EIGHTS;
}

/* Route lines: bytes between lines in the buffer, an odd number of cache lines: lines whose places are the same in
 * 4 KiB push each other out of the first-level cache. */
static inline int64_t tg_spaced_pitch(int64_t bytes) {
    return (tg_ceil_div(bytes, TG_LINE_BYTES) | 1) * TG_LINE_BYTES;
}

/* Is it of packed rows that take turns? Its width is how many. */
static inline bool tg_takes_turns(const tg_box *box) {
    return box->family == TG_FAMILY_MIX || box->family == TG_FAMILY_PART || tg_is_of_eights(box->family);
}

/* Pieces of dst that are made in a buffer, padding and all (slabs.inc.h). Their loops are the nest's first ones,
 * outermost first. The last one counts slabs, of some steps each; loop `across`, if there is one, slabs too, of some
 * parts each. */
typedef struct tg_slabs {
    int32_t nloops;       /* 0: boxes write dst itself */
    int32_t across;       /* in nest.loop; TG_NO_LOOP: a slab is one part */
    int64_t count;        /* slabs */
    int64_t steps, total; /* of the innermost loop: in a slab, in all */
    int64_t parts, total_parts; /* of loop across, likewise; parts follow each other in the buffer */
    int64_t dst_step, src_step; /* bytes, of one of them */
    int64_t first;        /* of dst, bytes: where the first slab begins. Boxes are relative to a slab */
} tg_slabs;

typedef struct tg_nest {
    int32_t  nboxes, nloops, nmovers;
    tg_slabs slabs;
    bool     single; /* each box is one block, of the same bits or of padding */
    tg_family family[TG_PLAN_MOVERS]; /* what mover was made for */
    int32_t  width[TG_PLAN_MOVERS];
    tg_mover mover[TG_PLAN_MOVERS];
    tg_loop  loop[TG_PLAN_LOOPS];
    tg_box   box[TG_PLAN_BOXES];
} tg_nest;

/* Slabs of parts: how many these are, and the bytes from one to the next. */
static inline tg_loop tg_parts_of_slab(const tg_nest *nest) {
    const tg_loop *l = &nest->loop[nest->slabs.across];
    const int64_t  n = nest->slabs.parts;
    return (tg_loop){n, l->dst / n, l->src / n, TG_NO_LOOP};
}

/* Routes twice, panel: the steps of loop i on one side of the stage, of which rows or columns of the block count some:
 * whole but in the last chunks. */
static inline int64_t tg_twice_steps(const tg_loop *loop, int32_t i, uint8_t counted, const tg_block *part,
                                     const tg_block *most) {
    int64_t n = loop[i].n;
    if (i == counted >> 4 && part->cols < most->cols) n = n / most->cols * part->cols;
    if (i == (counted & 15) && part->rows < most->rows) n = n / most->rows * part->rows;
    return n;
}

/* Route twice: elements that the first transpose adds to each run of its columns, which are padding, so that the second
 * one's elements, which are as wide as several, are complete. Runs of several of these miss none. */
static inline int64_t tg_missing_elements(const tg_nest *nest, const tg_box *box) {
    const int64_t unit = nest->width[box->mover] / nest->width[box->in];
    return unit > 1 ? tg_max(unit - nest->loop[box->first + box->nloops].n, 0) : 0;
}

enum {
    TG_NO_ROW = -1,
    TG_WALK_LINES = 256 /* rows of one block, where they are listed */
};

typedef struct tg_walk {
    tg_kernel kernel;
    tg_side   dst, src;
    int32_t   ndim, nouter;
    int64_t   begin[TG_MOVE_DIMS], size[TG_MOVE_DIMS]; /* coordinates [begin, begin + size) */
    int32_t   outer[TG_MOVE_DIMS]; /* dimensions, outermost first */
    int32_t   row, col;            /* row: TG_NO_ROW if there is none */
    int64_t   row_block, row_blocks;
    int64_t   tile_cols;           /* columns of one kernel call, at most */
    bool      by_pieces;           /* columns are runs of whole bytes that stay as they are: walk_pieces.c */
    bool      same_pieces;         /* wherever the other dimensions are */
    int64_t   bytes;               /* of an element of such runs */
    int64_t   col_chunk, col_chunks;
    int64_t   units;               /* a coordinate of the outer loops x one block of rows x one chunk of columns */
} tg_walk;

typedef enum tg_way { TG_WAY_NOTHING, TG_WAY_NEST, TG_WAY_WALK } tg_way;

typedef struct __attribute__((may_alias)) tg_plan_private {
    tg_way      way;
    bool        fill_first; /* all of dst's storage is filled before the first element */
    bool        serial;     /* tasks could share a byte */
    bool        stream;     /* movers of runs write around the caches */
    bool        stream_turned; /* transposes do: they begin earlier, since their stores are scattered over dst */
    bool        far;        /* src is not in the second-level cache */
    bool        claims;     /* lines that padding fills, or begins in, are asked for before (TG_CPU_CLAIMS) */
    bool        combines;   /* blocks that share lines leave together, around the caches; movers write into a buffer */
    bool        memory;     /* src is in no cache at all, probably */
    bool        direct;     /* a nest of single blocks, into the caches: nothing to decide when run */
    const char *why;        /* of way walk: what a nest could not do */
    int32_t     threads;
    int32_t     dst_bits, src_bits;
    tg_encoding dst_encoding, src_encoding; /* kind NONE if only copied */
    tg_dtype    dtype;
    tg_format   dst_format;
    int64_t     span;       /* of dst, elements */
    int64_t     bytes;      /* that are read and written, about */
    int64_t     work;       /* the same for what threads share out, with all of the lines of which they read a little */
    int64_t     groups, groups_per_step, steps;
    int64_t     task_bytes, shared_bytes, combined_bytes; /* of the tuning */
    uint8_t     pad[TG_PAD_PATTERN];
    union {
        tg_nest nest;
        tg_walk walk;
    } as;
} tg_plan_private;

_Static_assert(sizeof(tg_plan_private) <= sizeof(tg_plan), "TG_PLAN_WORDS is too small");

/* Do transposes write around the caches? Not into the buffer of slabs, which then is written so. */
static inline bool tg_stores_around(const tg_plan_private *p) {
    return p->stream_turned && p->as.nest.slabs.nloops == 0;
}

static inline const tg_plan_private *tg_plan_see(const tg_plan *plan) { return (const void *)plan; }


/* Bytes of n elements, of whole bytes if they are packed; n * bits would not always fit. */
static inline int64_t tg_bytes_for(int64_t n, int32_t bits) {
    return TG_RARELY(bits < 8) ? n / (8 / bits) : n * (bits / 8);
}

/* Do so many elements fill bytes? */
static inline bool tg_is_whole(int64_t n, int32_t bits) { return bits >= 8 || n % (8 / bits) == 0; }

/* Sizes that measuring has found (bench/README.md); tests use others, so that small moves are cut as well. */
typedef struct tg_tuning {
    int64_t block_bytes, block_bytes_min; /* of dst, in one call of a mover: large enough to hide its cost, small enough
                                           * to share out */
    int64_t run_grain;       /* long runs are cut at multiples of it, elements or bytes; a multiple of TG_PAD_PATTERN */
    int64_t copy_rows;       /* of a block of runs, where src does not go on along them; their movers read fewer
                              * streams at a time, and choose which */
    int64_t transpose_bytes; /* of a run of dst in a transposing block */
    int64_t group_bytes, group_bytes_min; /* of dst and src: a share of all boxes */
    int64_t slab_bytes;      /* at most TG_SLAB_BYTES */
    int64_t step_bytes;
    int64_t task_bytes;      /* a task with less work than this costs more than it brings */
    int64_t shared_bytes;    /* from so much per thread on there are several tasks for each, so that threads end
                              * together; with less, a part that moves to another thread has to move to another cache
                              * as well, and one task each is faster */
    bool    combine;         /* where boxes share lines, whatever the processor and the size; else combine.h */
    int64_t combined_bytes;  /* of dst: so many leave together there (combine_run.c) */
    int64_t stream_bytes; /* of both sides: from here on stores go around the caches; -1: as the processor likes it */
    int64_t far_bytes;       /* from here on src is not in the second-level cache; nor is it where the processor likes
                              * stores around the caches */
    int64_t memory_bytes;    /* from here on it is probably in no cache at all */
} tg_tuning;

extern const tg_tuning tg_default_tuning;

/* tg_plan_init with other sizes. */
tg_status tg_plan_tuned(tg_plan *out, const tg_plan_params *params, const tg_tuning *tuning, tg_error *err);

/* What both ways are made from; everything checked. */
typedef struct tg_pair {
    const tg_tuning *tuning;
    const tg_layout *dst, *src;
    const int64_t   *begin, *end; /* never NULL */
    bool             pad, whole;  /* padding is wanted; begin and end are everything */
    bool             dense;       /* dst's positions fill [0, dense_span) without gaps */
    int64_t          dense_span;
    int64_t          numel;       /* in the box */
    uint32_t         single;      /* bit d: dimension d has one mode on either side, of weight 1 */
    uint32_t         cpu;
    uint32_t         hint;
} tg_pair;

/* nest_run.c: blocks of groups [first, end); the place in src of an integer that does not fit, or NULL. */
const uint8_t *tg_nest_run(const tg_plan_private *plan, uint8_t *dst, const uint8_t *src, int64_t first, int64_t end);

/* All blocks of a nest of slabs, of the one that begins at dst and src; as a mover. */
const uint8_t *tg_nest_slab(const tg_plan_private *plan, uint8_t *dst, const uint8_t *src);

/* slabs_run.c: slabs [first, end), as tg_nest_run. */
const uint8_t *tg_slabs_run(const tg_plan_private *plan, uint8_t *dst, const uint8_t *src, int64_t first, int64_t end);

/* Where group g begins among the blocks of a box: not where two threads would write one byte. */
int64_t tg_nest_begin_of(const tg_plan_private *plan, const tg_box *box, int64_t g);

/* combine_run.c: the same as tg_nest_run, of a nest that is combined. */
const uint8_t *tg_combine_run(const tg_plan_private *plan, uint8_t *dst, const uint8_t *src, int64_t first,
                              int64_t end);

/* The block that begins at these places of the box; as a mover. */
const uint8_t *tg_box_block(const tg_plan_private *plan, const tg_box *box, uint8_t *dst, int64_t dst_at,
                            const uint8_t *src, int64_t src_at, const tg_block *b);

/* Lines of src that lie apart, which no prefetcher expects: all of the block's at once. (TG_FETCH alone has no effect
 * that gcc sees, and it leaves out calls of functions that do nothing else.) */
void tg_block_fetch(const tg_block *b, const uint8_t *src, int64_t width);

/* The one block of a box without loops; as a mover. */
const uint8_t *tg_nest_block(const tg_plan_private *plan, const tg_box *box, uint8_t *dst, const uint8_t *src);

/* stage_run.c: blocks of routes gather and scatter, narrow, tile, lines, twice and panel; as a mover. */
const uint8_t *tg_stage_block(const tg_plan_private *plan, const tg_box *box, uint8_t *dst, const uint8_t *src,
                              const tg_block *block);
const uint8_t *tg_narrow_block(const tg_plan_private *plan, const tg_box *box, uint8_t *dst, const uint8_t *src,
                               const tg_block *block);

/* The stage of route narrow, and of short cells, at a line of the cache, and what moves lines of src into it; no more
 * than so many at once, unless they are one run. */
typedef struct tg_narrow {
    const tg_mover *in;
    uint8_t        *bytes;
    int64_t         room, lines;
    int64_t         each; /* bytes of a line that become an element of the transpose */
} tg_narrow;

const uint8_t *tg_narrow_through(const tg_plan_private *plan, const tg_box *box, const tg_narrow *by, uint8_t *dst,
                                 const uint8_t *src, const tg_block *block);
const uint8_t *tg_tile_block(const tg_plan_private *plan, const tg_box *box, uint8_t *dst, const uint8_t *src,
                             const tg_block *block);

/* Of route lines; never fails. */
void tg_spaced_block(const tg_plan_private *plan, const tg_box *box, uint8_t *dst, const uint8_t *src,
                    const tg_block *block);

/* Bytes of a run of src that a block of route tile reads; and asks for those of the first so many columns, before that
 * block. Some may lie behind the end of src. */
int64_t tg_tile_run(const tg_plan_private *plan, const tg_box *box);
void    tg_tile_fetch(const tg_plan_private *plan, const tg_box *box, const uint8_t *src, int64_t cols);

const uint8_t *tg_twice_block(const tg_plan_private *plan, const tg_box *box, uint8_t *dst, const uint8_t *src,
                              const tg_block *block);
const uint8_t *tg_panel_block(const tg_plan_private *plan, const tg_box *box, uint8_t *dst, const uint8_t *src,
                              const tg_block *block);

/* Asks for what a block of routes twice and panel reads before it is moved; some may lie behind the end of src. */
void tg_twice_fetch(const tg_plan_private *plan, const tg_box *box, const uint8_t *src);

/* turn_run.c: blocks [first, end) of a box of route turn; or one, of boxes that leave together (combine_run.c). */
void tg_turn_box(const tg_plan_private *plan, const tg_box *box, uint8_t *dst, const uint8_t *src, int64_t first,
                 int64_t end);
void tg_turn_block(const tg_plan_private *plan, const tg_box *box, uint8_t *dst, const uint8_t *src,
                   const tg_block *block);

/* cells_run.c: blocks [first, end) of a box of route cells. */
void tg_cells_run(const tg_plan_private *plan, const tg_box *box, uint8_t *dst, const uint8_t *src, int64_t first,
                  int64_t end);

/* bytes_run.c: blocks of route bytes; element 0 of both sides, and where the block begins. */
void tg_bytes_block(const tg_plan_private *plan, const tg_box *box, uint8_t *dst, int64_t dst_at, const uint8_t *src,
                    int64_t src_at, const tg_block *block);

/* loose_run.c: blocks of other boxes that are loose; element 0 of both sides, and where the block begins. */
void tg_loose_block(const tg_plan_private *plan, const tg_box *box, uint8_t *dst, int64_t dst_at, const uint8_t *src,
                    int64_t src_at, const tg_block *block);

/* walk.c */
tg_status tg_walk_make(tg_plan_private *plan, const tg_pair *pair, tg_error *err);
/* walk_run.c: units [first, end); false when *bad (an element offset in src, -1 before) was set. */
bool tg_walk_run(const tg_plan_private *plan, uint8_t *dst, const uint8_t *src, int64_t first, int64_t end,
                 int64_t *bad);

#endif
