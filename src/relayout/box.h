/* A box while it is drafted, and the stories that make a box of the nest from it, in the order in which they are told:
 *
 *     box.inc.h      its loops: as few as possible, from elements to bytes; in the end, those that go around the blocks
 *     block.inc.h    which of them a block is made of
 *     bytes.c        the same where packed elements move as bytes,
 *     cell_loops.c   where the innermost loops of both sides are the same ones,
 *     packed_loops.c the same of packed elements,
 *     twice.c        where runs are short on both sides,
 *     panel.c        from memory,
 *     apart.c        where elements are apart on one side, or take turns on both,
 *     twice_units.c  where elements of short ones are missing
 *     route.inc.h    how a block gets from src to dst, and by which movers
 *     chunk.c        where the loops of a block are cut, so that no block is too large; small moves are not cut
 *     together.c     which blocks one thread moves, where they share bytes of dst
 *
 * What all plans need is one piece of code (plan.c says why): files that end in .inc.h are compiled with plan.c. */
#ifndef TG_RELAYOUT_BOX_H
#define TG_RELAYOUT_BOX_H

#include "kernels/stream.h"
#include "relayout/plan.h"

enum {
    TG_FOLLOWING_STEP = 8 << 10, /* bytes of src: rows in pieces that follow each other in dst are no farther apart
                                  * there (find_following) */
    TG_RUN_BYTES = 32            /* shorter runs are rather wide elements, if they can be */
};

/* What a mover is made for. */
typedef struct tg_turn {
    tg_family family;
    int32_t   width; /* bytes */
} tg_turn;

typedef struct tg_draft {
    tg_plan_private *plan;
    const tg_pair   *pair;
    tg_box          *box;      /* the next one of the nest */
    int64_t          dst, src; /* bytes: its first element */
    int64_t          tail;     /* elements */
    int64_t          wide_tail; /* behind runs of wide elements (nest.inc.h); 0 once the block has it */
    int64_t last; /* elements of the last run of the loop that counts chunks of columns; 0: there is none */
    bool             fill;     /* padding: src does not matter */
    bool             converts;
    bool             loose;    /* steps and places stay elements: packed ones begin inside a byte; runs and padding, and
                                * what bytes.c has made */
    int32_t          dst_width, src_width; /* bytes; 0: packed */
    int64_t          dst_unit, src_unit;   /* bytes of an element; 1 if steps and places are counted in elements yet,
                                            * because one side is packed */
    int64_t          run;      /* elements that are neighbours on both sides; 0: none */
    int32_t          n;
    uint64_t         left;     /* bit i: loop[i] belongs to no block yet */
    tg_loop          loop[TG_BOX_LOOPS]; /* without the run; by decreasing dst, chunks last */
    int32_t          ncols, nrows;
    tg_loop          cols[TG_TILE_LOOPS], rows[TG_TILE_LOOPS]; /* of a tile, innermost first */
    int64_t          unit;     /* elements of the run that a tile takes as one, or 1 */
    tg_turn          first, second; /* of route twice, into its stage and out of it */
    bool             by_bytes; /* bytes.c has made the block, or packed_loops.c */
    bool             shares;   /* blocks begin or end inside of bytes of dst */
} tg_draft;

_Static_assert(TG_BOX_LOOPS <= 64, "tg_draft.left is too small");

/* dst and src: elements. */
static inline void tg_draft_begin(tg_draft *d, tg_plan_private *plan, const tg_pair *pair, int64_t dst, int64_t src,
                                  bool fill) {
    d->plan = plan;
    d->pair = pair;
    d->fill = fill;
    d->dst_width = (int32_t)((uint32_t)plan->dst_bits / 8);
    d->src_width = (int32_t)((uint32_t)plan->src_bits / 8);
    const bool packed = TG_RARELY(d->dst_width == 0 || d->src_width == 0);
    d->dst_unit = packed ? 1 : d->dst_width;
    d->src_unit = packed ? 1 : d->src_width;
    d->dst = dst * d->dst_unit; /* this fits, and so do the steps below: storage in bytes does */
    d->src = src * d->src_unit;
    d->tail = d->wide_tail = d->last = 0;
    d->n = 0;
}

/* A draft that goes on from another one of data, again and again. */
static inline void tg_draft_like(tg_draft *d, const tg_draft *common) {
    d->plan = common->plan;
    d->pair = common->pair;
    d->fill = common->fill;
    d->dst_width = common->dst_width;
    d->src_width = common->src_width;
    d->dst_unit = common->dst_unit;
    d->src_unit = common->src_unit;
}

/* The next box of the same draft begins like `common`, which has loops of data. */
static inline void tg_draft_again(tg_draft *d, const tg_draft *common) {
    d->dst = common->dst;
    d->src = common->src;
    d->tail = d->wide_tail = d->last = 0;
    d->n = common->n;
    for (int32_t i = 0; i < d->n; i++) {
        const tg_loop *l = &common->loop[i];
        d->loop[i].n = l->n;
        d->loop[i].dst = l->dst;
        d->loop[i].src = d->fill ? 0 : l->src;
        d->loop[i].chunks_of = TG_NO_LOOP;
    }
}

/* The box begins so many elements further on. */
static inline void tg_draft_shift(tg_draft *d, int64_t dst, int64_t src) {
    d->dst += dst * d->dst_unit;
    d->src += src * d->src_unit;
}

/* A loop that walks upwards in dst, and from where: at the other end, if it walked downwards. Steps in bytes. */
static inline void tg_upwards(tg_loop *out, int64_t *dst, int64_t *src, int64_t n, int64_t dst_step,
                              int64_t src_step) {
    if (TG_RARELY(dst_step < 0)) {
        *dst += (n - 1) * dst_step;
        *src += (n - 1) * src_step;
        dst_step = -dst_step;
        src_step = -src_step;
    }
    out->n = n;
    out->dst = dst_step;
    out->src = src_step;
    out->chunks_of = TG_NO_LOOP;
}

/* One more loop, upwards in dst: by decreasing steps. */
static inline void tg_draft_put(tg_draft *d, int64_t n, int64_t dst, int64_t src, int32_t chunks_of) {
    tg_loop *l = &d->loop[d->n++];
    for (; l > d->loop && TG_RARELY(l[-1].dst < dst); l--) *l = l[-1];
    l->n = n; /* not a copy: wide loads would wait for narrow stores */
    l->dst = dst;
    l->src = src;
    l->chunks_of = chunks_of;
}

/* One more loop of any direction, steps in elements. */
static inline void tg_draft_loop(tg_draft *d, int64_t n, int64_t dst, int64_t src) {
    tg_loop l;
    tg_upwards(&l, &d->dst, &d->src, n, dst * d->dst_unit, TG_RARELY(d->fill) ? 0 : src * d->src_unit);
    tg_draft_put(d, l.n, l.dst, l.src, TG_NO_LOOP);
}

static inline bool tg_draft_has(const tg_draft *d, int32_t i) { return (d->left >> i & 1) != 0; }

static inline void tg_draft_take(tg_draft *d, int32_t i) { d->left &= ~((uint64_t)1 << i); }

/* The loop that takes steps of so many bytes on one side, or TG_NO_LOOP. */
static inline int32_t tg_draft_find_dst(const tg_draft *d, int64_t step) {
    for (int32_t i = d->n; i-- > 0;)
        if (d->loop[i].dst == step && tg_draft_has(d, i)) return i;
    return TG_NO_LOOP;
}

static inline int32_t tg_draft_find_src(const tg_draft *d, int64_t step) {
    for (int32_t i = d->n; i-- > 0;)
        if (d->loop[i].src == step && tg_draft_has(d, i)) return i;
    return TG_NO_LOOP;
}

/* From one element to its neighbour. */
static inline int64_t tg_element_step(int32_t width) { return TG_RARELY(width == 0) ? TG_PACKED_STEP : width; }

/* All movers have elements of these widths. */
static inline bool tg_is_element(int64_t bytes) {
    return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

/* Elements on either side of a tile, so that it fits into the stage. */
static inline int64_t tg_tile_side(int32_t width) { return width == 1 ? 128 : width <= 4 ? 64 : 32; }

/* Route lines: so many rows, of so many bytes, are whole sticks of dst, or more of them. */
static inline int64_t tg_spaced_grain(int64_t row) { return TG_STICK_BYTES / (row & -row); }

/* Do transposes go from memory to memory, around the caches? */
static inline bool tg_turns_around(const tg_plan_private *p) { return p->stream_turned && p->far; }

/* Do cells of so many bytes leave as whole lines of dst? (An Intel processor is slower where half sticks are stored
 * far apart.) */
static inline bool tg_leaves_whole(const tg_draft *d, int64_t bytes) {
    return bytes % ((d->pair->cpu & TG_CPU_CLAIMS) != 0 ? TG_STICK_BYTES : TG_LINE_BYTES) == 0;
}

/* Does all of the move stay in the first-level cache? Then nothing is cut. */
static inline bool tg_stays_near(const tg_draft *d) { return d->plan->bytes <= d->pair->tuning->block_bytes_min; }

/* Of src, bytes of cache lines for each element: where no loop of the block goes on inside of a line, all of one. */
int64_t tg_touched_bytes(const tg_block *b);
/* How many steps of a loop, of so many bytes on either side, are a block's, at most, if it shares lines with others.
 * From far, where other boxes write what lies between (padding, the rest of ragged tiles) and in the same lines, a
 * block reaches no further than a group of all boxes does: where both follow each other in the order of dst, these
 * lines are still in a cache when the second one comes to them (256 MiB, an Emerald Rapids, x memcpy: 6 or 7 rows of
 * bytes to padded tiles 0.28 and 0.4). Steps that are longer than that share nothing, and lines of src are read as a
 * whole. */
int64_t tg_steps_within_reach(const tg_draft *d, int64_t dst, int64_t src);
/* Bytes of a block: there should be some to share out. */
int64_t tg_room_of_block(const tg_draft *d);
void    tg_draft_chunks(tg_draft *d);
/* A loop goes into the block, as a whole or `each` steps at a time: then it counts chunks from now on. */
void    tg_draft_take_chunks(tg_draft *d, int32_t index, int64_t each, tg_block_loop which);
/* Makes the box two transposes, if it can be: of loops a, along dst, and b, along src, both short, and others, of those
 * that are left: all that belong to no block. */
bool    tg_draft_twice(tg_draft *d, uint64_t left, int32_t a, int32_t b);
/* The same, if they are of units: runs of dst that the tail makes units, or of src that are parts of them. Loop a is
 * the one along dst, or, of padded single elements, none; b the one along src. Nothing is converted. */
bool    tg_draft_padded_units(tg_draft *d, int32_t a, int32_t b);
bool    tg_draft_parted_units(tg_draft *d, int32_t a, int32_t b);
/* Makes the box a panel, if it can be and is worth it, of loops that are left; of elements or runs that stay as they
 * are, from memory and around the caches. */
bool    tg_draft_panel(tg_draft *d, uint64_t left);
/* Makes the box a gather into a stage and a transpose out of it, or a transpose and a scatter, of elements that are
 * apart on one side and of all loops that are left, if that can be and pays (apart.c). */
bool    tg_draft_apart(tg_draft *d);
/* And of elements that take turns on both sides, along loop a in dst and b in src. */
bool    tg_draft_turns_both(tg_draft *d, int32_t a, int32_t b);
/* A cell: bytes of it in dst, and in src. Of one that comes from lines, or goes to lines, those of each line; and lines
 * of src. */
typedef struct tg_cell_size {
    int64_t dst, src, lines;
} tg_cell_size;

/* Bytes of a cell that is an element of each of a few lines that go on, at most, where transposes, or in caches copies,
 * can do it as well. */
enum { TG_SHORT_CELL_OF_LINES = 36 };

/* Takes the loops of a cell (cell_loops.c), and makes the box one of cells; false if there are none, or they are not
 * worth it. tg_draft_take_lined_cell: one that comes from a few lines, or goes to a few, of loops that are left; `any`:
 * be it worth it or not. */
bool tg_draft_take_cell(tg_draft *d, tg_cell_size *cell);
bool tg_draft_take_lined_cell(tg_draft *d, uint64_t left, bool any, tg_cell_size *cell);
/* Then the block, of cells that are moved as they are. */
void tg_draft_cell_block(tg_draft *d, const tg_cell_size *cell);
/* Of a box that shares, with all its loops. */
void tg_draft_together(tg_draft *d);

#endif
