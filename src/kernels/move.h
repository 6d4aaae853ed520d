/* The fast movers: blocks of whole bytes, chosen for the processor when a plan is made.
 *
 * A block is three loops with constant steps on both sides, small enough to describe a few hundred
 * kilobytes and large enough to hide a call. Its innermost loop, the columns, walks dst element by
 * element; how it walks src names the family:
 *
 *     family      dst_col   src_col   src_row     example
 *     rows        width     width     any         row-major to sticks: a column run is one stick
 *     convert     width     width     any         the same with float16 to DLFloat16
 *     transpose   width     any       width       a stick on the other dimension: 64 source rows are columns
 *     strided     any       any       any         what is left: gathers, scatters, broadcasts (step 0)
 *     packed      packed    any       packed      transposes of elements of 1, 2 or 4 bits, as neighbours in a byte
 *     turns       packed    any       any         2 or 4 rows of elements of 1 to 4 bits that take turns, and back
 *
 * dst never overlaps src nor itself. Pointers may have any alignment.
 *
 * move.c       which variant: family, width of an element, processor, stores around the caches
 * *.inc.h      parts of the file that includes them: most are templates, one for each algorithm, of which each vector
 *              size makes functions */
#ifndef TG_KERNELS_MOVE_H
#define TG_KERNELS_MOVE_H

#include "kernels/cpu.h"
#include "kernels/kernels.h"

enum {
    TG_SPREAD_BEFORE = 7,  /* bytes: elements of a byte before the first one of a line */
    TG_SPREAD_BEHIND = 64, /* the longest vector */
    TG_PAD_PATTERN = 64, /* bytes */
    TG_NEAR_STEP = 32,   /* bytes from element to element, of which a vector of 64 bytes has two or more, */
    TG_NEARER_STEP = 20, /* and three or more */
    TG_SPREAD_ROW = 12,     /* elements of a row of these, or as many as a vector has, at least, */
    TG_SPREAD_VECTORS = 16, /* and vectors in which the elements of one lie, at most */
    TG_NARROW_COLUMNS = 256, /* around the caches a transpose joins rows of so many, or fewer */
    TG_LISTED_SIDE = 256, /* rows, or lines, of a listed tile, at most */
    TG_CARRIED_READ = 256, /* bytes of each line that a transpose reads at once to rows that it carries */
    TG_BANDS_ROWS = 1024, /* of packed matrices in regions (bands.c), at most */
    TG_REGION = 2048,     /* lines of such a region */
    TG_STREAMS = 8       /* walks of src that movers of rows follow side by side, as prefetchers can */
};

/* Rows that a mover of packed matrices turns together (bands.c): 64 bytes of each line, or 128 where src is bytes. */
static inline int64_t tg_band_rows(int32_t bits, bool packed) { return packed ? 64 * (8 / bits) : 128; }

/* With vectors of 64 bytes, around the caches, are several bands of so many columns turned region by region? */
static inline bool tg_has_regions(int64_t cols) { return cols >= 2 * TG_REGION; }

/* Which loop of a block has a last step of shorter rows. */
typedef enum tg_ragged { TG_RAGGED_NOT, TG_RAGGED_ROWS, TG_RAGGED_OUTER } tg_ragged;

typedef struct tg_block {
    int64_t outer, rows, cols;             /* counts >= 1, outermost first; cols in elements */
    int64_t dst_outer, dst_row, dst_col;   /* steps in bytes, any sign */
    int64_t src_outer, src_row, src_col;   /* also 0 */
    int64_t tail;                          /* elements of padding behind each row of columns in dst, written in the
                                            * same pass; in family strided see tg_strided_takes_tail */
    const uint8_t *pad;                    /* TG_PAD_PATTERN bytes: the pad element again and again; if tail > 0 */
    tg_ragged ragged;                      /* family rows only: the last step of this loop has fewer columns, `last`, */
    int64_t last;                          /* and it alone has the tail */
} tg_block;

typedef struct tg_mover tg_mover;
typedef struct tg_cells tg_cells; /* cells.h */
typedef struct tg_packed_cells tg_packed_cells; /* packed_cells.h */

/* A tile of a transpose, both sides of which are several loops: its first element, and from there on where its rows
 * begin in dst, and its lines (columns) in src, in bytes. */
typedef struct tg_listed {
    uint8_t       *dst;
    const uint8_t *src;
    int64_t        rows, cols;
    const int64_t *row, *line;
} tg_listed;

#define TG_ONE_RUN ((int64_t)1 << 62)

/* Tiles one after the other: `next` gives another one, or returns false behind the last one. All have the same lists,
 * or the first part of them. */
typedef struct tg_tiles tg_tiles;
struct tg_tiles {
    bool (*next)(tg_tiles *tiles, tg_listed *tile);
    int64_t most_rows, most_cols, least_rows, least_cols; /* of all tiles */
    int64_t joined_rows;  /* so many rows of any tile are one run of dst; if not 1, all tiles have as many columns, and
                           * multiples of it of rows */
    int64_t joined_bytes; /* of that run, and those of the tiles that follow */
    bool    at_lines;               /* rows begin and end at cache lines */
    int64_t line_step;              /* all lines are multiples of it apart */
    int64_t line_run, line_by;      /* lines come in runs of so many, a power of two, that are so far apart, or */
    int64_t row_run, row_by;        /* TG_ONE_RUN: all lines of a tile are; and rows */
};

typedef void tg_turn_tiles(const tg_mover *mover, tg_tiles *tiles);

/* Moves one block whose first elements are at dst and src. Returns NULL, or (family convert only) the place
 * in src of an integer that does not fit; dst is then unspecified. */
typedef const uint8_t *tg_block_move(const tg_mover *mover, uint8_t *dst, const uint8_t *src, const tg_block *block);

struct tg_mover {
    union {
        tg_block_move *move;
        tg_turn_tiles *tiles; /* of tg_mover_tiles */
    };
    const char    *name;      /* for people: "transpose 2-byte avx512" */
    int16_t dst_width;        /* (of two bytes: a mover has no more room) bytes of an element, 1 to 31; rows: 1;
                                 tg_mover_eights: how many rows */
    bool           memory;    /* src comes from no cache at all, probably; false until set */
    bool           stream;    /* whole lines are written around the caches; the caller ends with tg_stream_end */
    bool           far;       /* src does not come from the second-level cache */
    bool           fetches;   /* what src has further on is fetched; runs and the pipeline of transpose.c go by `far` */
    bool           sparing;   /* TG_CPU_SPARING, and src comes from memory */
    bool staged; /* family transpose: all that is far and streamed goes through the pipeline of transpose.c */
    bool           few_streams; /* TG_CPU_FEW_STREAMS */
    bool           to_dst;      /* TG_CPU_AVX512, of what writes dst into the second-level cache or around the caches
                                 * (parts of lines), and of transposes into a stage; false until set */
    bool           claims;      /* TG_CPU_CLAIMS, likewise, whatever the vectors */
    bool halves; /* family bands, of single bits: folded by halves; TG_CPU_SPARING, not known of others */
    bool           apart;       /* family strided: it may have a stage of 32 KiB (apart_avx512.inc.h) */
    bool           at_hand;     /* both sides are in the first-level cache, and pieces are faster there; never claims */
    bool           few_pieces;  /* at_hand: of two bytes only blocks that are long both ways go so */
    tg_encoding    dst, src;  /* family convert, as are: */
    union {
        tg_move        *plain; /* row by row (tg_kernel_convert), for pairs and places without a loop of their own */
        const tg_cells *cells; /* of tg_mover_cells */
        const tg_packed_cells *packed; /* of tg_mover_packed_cells */
    };
    tg_convert    *convert, *then;
};

static inline const uint8_t *tg_mover_run(const tg_mover *mover, uint8_t *dst, const uint8_t *src, const tg_block *b) {
    return mover->move(mover, dst, src, b);
}

/* `cpu`: the features that may be used. All choosers write every field; they return false where there is no
 * such mover. */
bool tg_mover_rows(tg_mover *out, uint32_t cpu, bool stream, bool far);
/* Widths 1, 2, 4, 8 and 16, and with AVX-512 all others up to 31. */
bool tg_mover_transpose(tg_mover *out, int32_t width, uint32_t cpu, bool stream, bool far);
bool tg_mover_tiles(tg_mover *out, int32_t width, uint32_t cpu, bool stream, bool far);     /* transposes, listed */
/* Rows of cells that a list says (cells.h): cols * dst_col are bytes of each line of dst, and src_col means
 * nothing. No tail. */
bool tg_mover_cells(tg_mover *out, uint32_t cpu, bool stream, bool far);
/* Cells of packed elements that a list says (packed_cells.h), so many as cols; where these have padding pad is set, and
 * tail means nothing. With AVX-512 only. */
bool tg_mover_packed_cells(tg_mover *out, int32_t bits, uint32_t cpu, bool stream, bool far);
bool tg_mover_strided(tg_mover *out, int32_t width, uint32_t cpu, bool stream, bool far);   /* 1, 2, 4, 8, 16 */
/* bits: 1, 2, 4. Rows and columns of a block are elements; columns are whole bytes, rows begin at one. dst_col and
 * src_row mean nothing; other steps are bytes. No tail. */
bool tg_mover_packed(tg_mover *out, int32_t bits, uint32_t cpu, bool stream, bool far);
/* Rows of packed elements, 2 or 4, that take turns in dst, or, `back`, in src.
 * cols is bytes of each row, which are src_col, or dst_col, apart; on the other side, as many times as many neighbours.
 * No tail. */
bool tg_mover_turns(tg_mover *out, int32_t bits, int32_t rows, bool back, uint32_t cpu, bool stream, bool far);
/* Up to eight rows of packed elements that take turns, in words of eight, or of as many as there are rows, at least
 * two. */
typedef enum tg_eights {
    TG_EIGHTS_MIX,  /* in dst */
    TG_EIGHTS_PART, /* in src */
    TG_EIGHTS_PAD   /* in both: by as many in one of them, by eight in the other one */
} tg_eights;

/* cols is bytes of each row, which are src_col (mix), or dst_col (part), apart; where rows take turns the other one of
 * these is how many do. Turns of missing rows are padding in dst: b.pad. With AVX-512 only. No tail. */
bool tg_mover_eights(tg_mover *out, int32_t bits, int32_t rows, tg_eights way, uint32_t cpu, bool stream, bool far);
/* Lines of packed elements as bytes, and back: cols of each of `rows` lines. The packed side is counted in elements:
 * the first line begins at element src_outer (dst_outer), and the next one src_row (dst_row) further on. Bytes of a
 * line are neighbours. Spreading writes, and joining reads, up to TG_SPREAD_BEFORE bytes before each line, and up to
 * TG_SPREAD_BEHIND from its beginning or behind its end; lines are spread in order. Joining keeps what else is in the
 * first and the last byte of a line. No outer loop, no tail. Encodings tell whether bytes have a sign, and whether they
 * are bools. */
bool tg_mover_spread(tg_mover *out, tg_encoding dst, tg_encoding src, uint32_t cpu);
bool tg_mover_join(tg_mover *out, tg_encoding dst, tg_encoding src, uint32_t cpu);
/* Transposes of packed elements that begin anywhere, of packed lines (columns of dst) or of bytes of the same values:
 * of those the low bits count, or of bools whether they are 0. All places and steps are elements: rows of dst begin at
 * element dst_outer, and dst_row further on, lines of src at src_outer, and src_col further on; neighbours in both are
 * neighbours in memory. Rows do not overlap. What else is in the first and the last byte of a row stays. No outer loop,
 * no tail. */
bool tg_mover_bands(tg_mover *out, tg_encoding dst, tg_encoding src, uint32_t cpu, bool stream, bool far);
bool tg_mover_convert(tg_mover *out, tg_encoding dst, tg_encoding src, uint32_t cpu, bool stream, bool far);

enum {
    TG_MOST_TOGETHER = 4,  /* columns of a block */
    TG_SMALL_BYTES = 256,  /* of a small matrix */
    TG_SMALL_MATRICES = 16 /* so many are worth their preparation */
};

/* Family transpose: is a block many matrices of few bytes, each without gaps on both sides? With AVX-512 these are
 * turned several at once. */
static inline bool tg_has_small_matrices(const tg_block *b, int64_t width) {
    const int64_t row = b->cols * width, line = b->rows * width;
    return b->dst_row == row && b->src_col == line && b->tail == 0 && b->outer >= TG_SMALL_MATRICES &&
           b->rows * row <= TG_SMALL_BYTES;
}

/* Have n lines, `step` bytes apart, no place in a second-level cache together? Its sets repeat every 128 KiB and have 8
 * ways, or 16: every k-th line is in the same set where k steps are nearly a multiple of that. (99864 bytes apart each
 * 21st is, 8 bytes before: [99864,224,3] of bytes reversed, a Zen 4, 0.32 of memcpy, and 0.65 with 99800.) */
static inline bool tg_crowds_second(int64_t step, int64_t n) {
    enum { SETS_BYTES = 128 << 10, WAYS = 8, LINE = 64 };
    uint64_t at = LINE;
    for (int64_t k = 1; k * WAYS < n; k++) {
        at += (uint64_t)step;
        if (at % SETS_BYTES <= 2 * LINE) return true;
    }
    return false;
}

/* Can a mover of family strided write the tails of this block as well? Else it has none. */
bool tg_strided_takes_tail(const tg_mover *mover, const tg_block *block);

/* n blocks of family transpose, so many bytes apart, whose rows take turns, and that together are one run of dst which
 * begins inside of a line. False where one block after the other is as good, or better: nothing is written. */
bool tg_transpose_together(const tg_mover *mover, uint8_t *dst, const uint8_t *src, const tg_block *block, int64_t n,
                           int64_t dst_step, int64_t src_step);

/* Write n bytes of the pattern (TG_PAD_PATTERN bytes, the first one at dst), at any address. */
void tg_fill_bytes(uint8_t *dst, int64_t n, const uint8_t *pattern, bool stream);

#endif
