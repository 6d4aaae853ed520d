/* Tile numbers that follow their dimensions.
 *
 * A tile level is a list of numbers for the last places of a list that the level before made. So which dimension a
 * number cuts is not written anywhere, and when a dimension goes or comes, numbers shift to others. Here the list is
 * made as tg_layout_from_xla makes it (a level with k numbers replaces the last k places by their counts, then their
 * insides), with a mark for each place: it stays, it goes, it comes. From numbers of places that stay a new level is
 * written; a place that comes gets the number 1.
 *
 *     bf16[16,32,256]{2,1,0:T(8,128)(2,1)} without dimension 1     a, (b), c by the three dimensions
 *     places         numbers            written        places after
 *     a (b) c          (8)  128         T(128)         a (b) c   (b) c
 *     a (b) c (b) c         (2)  1      T(1)           ...: nothing but ones is left of it, and it is dropped
 *
 * A number that `*` shares among places belongs to all of them, and stays as long as one does. The dimensions of size 1
 * that a level longer than the list puts in front are none of the shape's: sharing with them is sharing with nobody. */
#include "hlo/shape.h"

#include <string.h>

/* TG_MAX_NDIM places to begin with; TG_XLA_MAX_TILE_DIMS at most of each: prepended, added by numbers that are read,
 * added by numbers that are written; and twice as many by the level that turns out to be too long to write. */
enum { MAX_PLACES = TG_MAX_NDIM + 6 * TG_XLA_MAX_TILE_DIMS };

enum { PLACE_OF_ONE = TG_PLACE_COMES + 1 }; /* prepended, and never more than one position */

typedef struct places {
    int32_t n;
    uint8_t at[MAX_PLACES]; /* tg_shape_place or PLACE_OF_ONE */
} places;

/* One level at work. */
typedef struct level {
    int64_t numbers[MAX_PLACES]; /* written */
    int32_t nnumbers;
    bool    lost;            /* a number that cut went */
    places  counts, insides; /* of the covered places, `*` applied */
    bool    open;            /* `*` has been seen and its number has not */
    int32_t kept, gone, ones; /* places of the open group */
} level;

static int32_t count_old(const places *p) {
    int32_t n = 0;
    for (int32_t i = 0; i < p->n; i++) n += p->at[i] != TG_PLACE_COMES;
    return n;
}

/* Before a level with more numbers than places, dimensions of size 1 come in front. */
static void prepend_units(places *p, int32_t numbers) {
    const int32_t more = numbers - count_old(p);
    if (more <= 0) return;
    memmove(&p->at[more], &p->at[0], (size_t)p->n);
    memset(p->at, PLACE_OF_ONE, (size_t)more);
    p->n += more;
}

/* Index of the first place that the last `numbers` old places begin with. */
static int32_t first_covered(const places *p, int32_t numbers) {
    int32_t first = p->n;
    while (numbers > 0) numbers -= p->at[--first] != TG_PLACE_COMES;
    return first;
}

static void put_place(level *v, int count, int inside) {
    v->counts.at[v->counts.n++] = (uint8_t)count;
    v->insides.at[v->insides.n++] = (uint8_t)inside;
}

static void put_number(level *v, int64_t number) { v->numbers[v->nnumbers++] = number; }

static void close_group(level *v) {
    v->open = false;
    v->kept = v->gone = v->ones = 0;
}

static void end_group(level *v, int64_t number) {
    if (v->kept == 0 && v->gone > 0) {
        v->lost = v->lost || number != 1;
        put_place(v, TG_PLACE_GOES, TG_PLACE_GOES);
    } else {
        for (int32_t i = 1; i < v->kept + v->ones; i++) put_number(v, TG_XLA_COMBINE);
        put_number(v, number);
        if (v->kept > 0) put_place(v, TG_PLACE_STAYS, TG_PLACE_STAYS);
        else put_place(v, PLACE_OF_ONE, number == 1 ? PLACE_OF_ONE : TG_PLACE_STAYS);
    }
    close_group(v);
}

static void put_new(level *v) {
    put_number(v, 1);
    put_place(v, TG_PLACE_COMES, TG_PLACE_COMES);
}

static void cover_new(level *v) {
    if (v->open && v->kept + v->gone > 0) { /* between places that `*` joins */
        v->kept++;
        return;
    }
    if (v->open) { /* `*` of nothing but ones, which now stand alone: as places, they are new too */
        for (int32_t i = 1; i < v->ones; i++) put_number(v, TG_XLA_COMBINE);
        put_new(v);
        close_group(v);
    }
    put_new(v);
}

static void cover_old(level *v, int place, int64_t number) {
    v->kept += place == TG_PLACE_STAYS;
    v->gone += place == TG_PLACE_GOES;
    v->ones += place == PLACE_OF_ONE;
    v->open = true;
    if (number != TG_XLA_COMBINE) end_group(v, number);
}

/* Apply the numbers of one level to the places. */
static void run_level(level *v, places *p, const int64_t *numbers, int32_t count) {
    *v = (level){.nnumbers = 0};
    prepend_units(p, count);
    const int32_t first = first_covered(p, count);
    for (int32_t i = first; i < p->n; i++) {
        if (p->at[i] == TG_PLACE_COMES) cover_new(v);
        else cover_old(v, p->at[i], *numbers++);
    }
    memcpy(&p->at[first], v->counts.at, (size_t)v->counts.n);
    memcpy(&p->at[first + v->counts.n], v->insides.at, (size_t)v->insides.n);
    p->n = first + v->counts.n + v->insides.n;
}

static bool only_ones(const level *v) {
    for (int32_t i = 0; i < v->nnumbers; i++)
        if (v->numbers[i] != 1) return false;
    return true;
}

tg_status tg_shape_retile(tg_xla_layout *layout, const tg_shape_place *marks, int32_t n, tg_error *err) {
    const tg_xla_layout in = *layout;
    const int64_t      *numbers = in.tile_dims;
    places              p = {.n = n};
    int32_t             used = 0, idle = 0, used_idle = 0; /* levels at the end that do nothing, and their numbers */
    for (int32_t i = 0; i < n; i++) p.at[i] = (uint8_t)marks[i];
    layout->ntiles = 0;
    memset(layout->tile_ndim, 0, sizeof layout->tile_ndim);
    memset(layout->tile_dims, 0, sizeof layout->tile_dims);
    for (int32_t t = 0; t < in.ntiles; numbers += in.tile_ndim[t++]) {
        level v;
        run_level(&v, &p, numbers, in.tile_ndim[t]);
        if (v.nnumbers == 0) continue;
        if (used + v.nnumbers > TG_XLA_MAX_TILE_DIMS) {
            *layout = in;
            return tg_fail(err, TG_ERR_LIMIT, "the tiles need more than %d numbers", (int64_t)TG_XLA_MAX_TILE_DIMS);
        }
        memcpy(&layout->tile_dims[used], v.numbers, (size_t)v.nnumbers * sizeof v.numbers[0]);
        used += v.nnumbers;
        layout->tile_ndim[layout->ntiles++] = v.nnumbers;
        const bool idles = v.lost && only_ones(&v);
        idle = idles ? idle + 1 : 0;
        used_idle = idles ? used_idle + v.nnumbers : 0;
    }
    for (; idle > 0; idle--) layout->tile_ndim[--layout->ntiles] = 0;
    memset(&layout->tile_dims[used - used_idle], 0, (size_t)used_idle * sizeof layout->tile_dims[0]);
    return TG_OK;
}
