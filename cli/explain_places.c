/* Where some elements land, from coordinate to slot to byte, and what the first slots hold.
 *
 * The elements are chosen so that every kind of step is seen once: the first element, a step along each dimension, the
 * first element of the next tile (or stick) along each dimension that is cut, and the last one. */
#include "explain.h"

#include <string.h>

enum { MOST_PLACES = 16, FIRST_SLOTS = 8, WHY = 64 };

typedef struct place {
    int64_t coord[TG_MAX_NDIM];
    char    why[WHY];
} place;

typedef struct places {
    int32_t n;
    place   at[MOST_PLACES];
} places;

/* ---- which elements ------------------------------------------------------------------------ */

/* Room is kept for the last element. */
static void add_place(places *p, const tg_layout *layout, int32_t d, int64_t x, const char *why) {
    place at = {{0}, ""};
    if (p->n >= MOST_PLACES - 1) return;
    if (d >= 0) at.coord[d] = x;
    for (int32_t i = 0; i < p->n; i++)
        if (memcmp(p->at[i].coord, at.coord, sizeof at.coord) == 0) return;
    if (d >= 0 && x >= layout->shape[d]) return;
    (void)snprintf(at.why, sizeof at.why, "%s", why);
    p->at[p->n++] = at;
}

/* The dimension that runs fastest comes first. */
static int32_t dim_by_speed(const tg_desc *desc, int32_t i) {
    return desc->notation == TG_NOTATION_XLA ? desc->xla.layout.minor_to_major[i] : desc->layout.ndim - 1 - i;
}

static void add_steps(places *p, const tg_desc *desc) {
    char why[WHY];
    for (int32_t i = 0; i < desc->layout.ndim; i++) {
        const int32_t d = dim_by_speed(desc, i);
        (void)snprintf(why, sizeof why, "a step along d%d", d);
        add_place(p, &desc->layout, d, 1, why);
    }
}

/* The smallest weight above `than` among the digits of d, or 0. */
static int64_t next_weight(const tg_layout *layout, int32_t d, int64_t than) {
    int64_t next = 0;
    for (int32_t m = 0; m < layout->nmodes; m++) {
        const tg_mode *mode = &layout->mode[m];
        if (mode->axis == d && mode->weight > than && (next == 0 || mode->weight < next)) next = mode->weight;
    }
    return next;
}

static void add_edges(places *p, const tg_desc *desc) {
    const bool    is_spyre = desc->notation == TG_NOTATION_SPYRE;
    const int32_t bits = desc->layout.elem_bits;
    char          why[WHY];
    for (int32_t i = 0; i < desc->layout.ndim; i++) {
        const int32_t d = dim_by_speed(desc, i);
        for (int64_t w = next_weight(&desc->layout, d, 1); w > 0; w = next_weight(&desc->layout, d, w)) {
            const char *what = is_spyre && w * bits == TG_SPYRE_STICK_BYTES * 8 ? "stick" : "tile";
            (void)snprintf(why, sizeof why, "the next %s along d%d, %lld on", what, d, (long long)w);
            add_place(p, &desc->layout, d, w, why);
        }
    }
}

static void add_last(places *p, const tg_layout *layout) {
    place last = {{0}, "the last one"};
    for (int32_t d = 0; d < layout->ndim; d++) last.coord[d] = layout->shape[d] - 1;
    for (int32_t i = 0; i < p->n; i++)
        if (memcmp(p->at[i].coord, last.coord, sizeof last.coord) == 0) return;
    p->at[p->n++] = last;
}

static void choose_places(places *p, const tg_desc *desc) {
    p->n = 0;
    add_place(p, &desc->layout, -1, 0, "the first element");
    add_steps(p, desc);
    add_edges(p, desc);
    add_last(p, &desc->layout);
}

/* ---- where they land --------------------------------------------------------------------------- */

static void put_place(json_t *list, const tg_layout *layout, const place *at) {
    const int64_t offset = tg_layout_offset(layout, at->coord);
    int64_t       byte = 0, bit = 0;
    cli_locate(&byte, &bit, offset, layout->elem_bits);
    json_t *const o = cli_json_object();
    cli_json_put(o, "coord", cli_json_ints(at->coord, layout->ndim));
    cli_json_put(o, "slot", cli_json_int(offset));
    cli_json_put(o, "byte_offset", cli_json_int(byte));
    cli_json_put(o, "bit", cli_json_int(bit));
    cli_json_put(o, "why", cli_json_text(at->why));
    cli_json_add(list, o);
}

/* What the first slots hold; stops at the end of the storage, and where that is too slow to find. */
static void put_slots(json_t *list, const tg_layout *layout, int64_t first) {
    for (int64_t offset = first; offset < first + FIRST_SLOTS; offset++) {
        int64_t coord[TG_MAX_NDIM];
        tg_slot slot = TG_SLOT_OUTSIDE;
        if (tg_layout_coord(&slot, coord, layout, offset, NULL) != TG_OK || slot == TG_SLOT_OUTSIDE) return;
        json_t *o = cli_json_object();
        cli_json_put(o, "slot", cli_json_int(offset));
        cli_json_put(o, "coord", slot == TG_SLOT_DATA ? cli_json_ints(coord, layout->ndim) : json_null());
        cli_json_add(list, o);
    }
}

void explain_places(explanation *e) {
    const tg_layout *layout = &e->desc->layout;
    json_t          *elements = cli_json_array(), *slots = cli_json_array();
    places           p;
    cli_json_put(e->object, "places", elements);
    cli_json_put(e->object, "first_slots", slots);
    if (tg_layout_numel(layout) == 0) return;
    choose_places(&p, e->desc);
    for (int32_t i = 0; i < p.n; i++) put_place(elements, layout, &p.at[i]);
    put_slots(slots, layout, cli_first_offset(e->desc));
}
