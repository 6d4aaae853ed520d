/* What stays the same while the panels of a picture are made: what is followed, which dimensions are shown, what a
 * cell spans, and which colour an element has. */
#include "draw/scene.h"

bool tg_scene_is_coarse(const tg_scene *s) { return s->grain.unit > TG_SMALL_UNIT; }

bool tg_scene_cuts(const tg_scene *s) {
    bool cuts = false;
    for (int32_t d = 0; d < s->layout->ndim; d++) cuts = cuts || s->cell[d] > 1;
    return cuts;
}

bool tg_scene_follows(const tg_scene *s, const int64_t *coord) {
    if (!s->has_follow) return false;
    for (int32_t d = 0; d < s->layout->ndim; d++)
        if (coord[d] != s->follow[d]) return false;
    return true;
}

/* Of a tile that is too large to be looked at a part is shown, which has no name of its own. */
const char *tg_scene_unit_name(const tg_scene *s) {
    if (s->params->unit > s->grain.unit && s->grain.unit > 1) return "piece";
    return s->params->unit_name != NULL ? s->params->unit_name : "tile";
}

/* ---- what moves --------------------------------------------------------------------------------- */

bool tg_scene_moves(const tg_scene *s, const int64_t *coord) {
    const tg_layout *other = s->params->other;
    return !tg_same_place(tg_layout_offset(s->layout, coord), s->layout->elem_bits, tg_layout_offset(other, coord),
                          other->elem_bits);
}

bool tg_scene_compares_bytes(const tg_scene *s) {
    return s->params->label == TG_LABEL_BYTE || s->layout->elem_bits != s->params->other->elem_bits;
}

/* ---- cores ------------------------------------------------------------------------------------ */

/* How many pieces of dimension d there are to share: sticks or tiles, or elements where nothing cuts it. */
static int64_t pieces(const tg_scene *s, int32_t d) { return tg_ceil_div(s->layout->shape[d], s->grain.tile[d]); }

tg_status tg_scene_check_splits(const tg_scene *s, tg_error *err) {
    int64_t cores = 1;
    for (int32_t d = 0; d < s->layout->ndim && s->params->splits != NULL; d++) {
        const int64_t split = s->params->splits[d];
        if (split < 1 || pieces(s, d) % split != 0)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, d, "%d parts do not share the %d pieces of dimension %d evenly",
                               split, pieces(s, d), (int64_t)d);
        if (!tg_mul(&cores, cores, split)) return tg_fail(err, TG_ERR_OVERFLOW, "the cores do not fit 63 bits");
    }
    return TG_OK;
}

int64_t tg_scene_core(const tg_scene *s, const int64_t *coord) {
    int64_t core = 0;
    if (s->params->splits == NULL) return -1;
    for (int32_t d = s->layout->ndim; d-- > 0;) {
        const int64_t split = s->params->splits[d];
        core = core * split + coord[d] / s->grain.tile[d] / (pieces(s, d) / split);
    }
    return core;
}

/* ---- colours --------------------------------------------------------------------------------- */

/* Tiles are told apart, counted in row-major order over the dimensions that they cut; where there is one of them or
 * none, rows. Only the remainder counts, so nothing can overflow. */
int32_t tg_scene_colour(const tg_scene *s, const int64_t *coord) {
    const tg_layout *l = s->layout;
    int64_t          index = 0;
    bool             several = false;
    if (s->params->splits != NULL) return (int32_t)(tg_scene_core(s, coord) % TG_DRAW_COLOURS);
    for (int32_t d = 0; d < l->ndim; d++) {
        if (s->grain.tile[d] <= 1) continue;
        const int64_t n = tg_ceil_div(l->shape[d], s->grain.tile[d]);
        index = (index * (n % TG_DRAW_COLOURS) + coord[d] / s->grain.tile[d]) % TG_DRAW_COLOURS;
        several = several || n > 1;
    }
    if (several) return (int32_t)index;
    const int32_t d = s->colour_dim;
    return d >= 0 ? (int32_t)(coord[d] % TG_DRAW_COLOURS) : 0;
}

static void put_dims(tg_writer *w, const tg_scene *s) {
    bool first = true;
    for (int32_t d = 0; d < s->layout->ndim; d++) {
        if (s->grain.tile[d] <= 1) continue;
        tg_put_text(w, first ? "d" : " and d");
        tg_put_int(w, d);
        first = false;
    }
}

/* How many there are of what letters count. */
static int64_t count_units(const tg_scene *s) {
    int64_t n = 1;
    for (int32_t d = 0; d < s->layout->ndim; d++) {
        const int64_t more = s->params->splits != NULL ? s->params->splits[d]
                             : s->grain.tile[d] > 1    ? pieces(s, d)
                                                       : 1;
        n = tg_times_at_most(n, more, TG_DRAW_COLOURS + 1);
    }
    return n;
}

static void put_again(tg_writer *w, bool again) {
    if (again) tg_put_text(w, ", and after F comes A again");
    tg_put_char(w, '.');
}

static void put_rows(tg_writer *w, const tg_scene *s) {
    const int32_t d = s->colour_dim;
    const bool    has_rows = d >= 0 && d == s->row_dim;
    if (d < 0) return;
    tg_put_text(w, has_rows ? "Letter and colour say which row, d" : "Letter and colour say which element along d");
    tg_put_int(w, d);
    tg_put_text(w, ": A is 0, B is 1");
    put_again(w, s->layout->shape[d] > TG_DRAW_COLOURS);
}

void tg_scene_put_colours(tg_writer *w, const tg_scene *s) {
    const int64_t n = count_units(s);
    if (s->params->splits != NULL) {
        tg_put_text(w, "Letter and colour say which core: A is core 0");
        if (n > 1) tg_put_text(w, ", B core 1");
        put_again(w, n > TG_DRAW_COLOURS);
    } else if (n > 1) {
        tg_put_text(w, "Letter and colour say which ");
        tg_put_text(w, tg_scene_unit_name(s));
        tg_put_text(w, " along ");
        put_dims(w, s);
        tg_put_text(w, ": A is the first, B the second");
        put_again(w, n > TG_DRAW_COLOURS);
    } else put_rows(w, s);
}

/* ---- dimensions ------------------------------------------------------------------------------- */

static tg_status take_slice(tg_scene *s, tg_error *err) {
    const tg_layout *l = s->layout;
    int32_t          nfree = 0;
    for (int32_t d = 0; d < l->ndim; d++) {
        const int64_t x = s->params->slice[d];
        if (x < -1 || x >= l->shape[d])
            return tg_fail_dim(err, TG_ERR_ARGUMENT, d, "slice %d of dimension %d is not in [0, %d)", x, (int64_t)d,
                               l->shape[d]);
        s->at[d] = x;
        if (x >= 0) continue;
        if (nfree++ == 0) s->row_dim = d;
        else s->col_dim = d;
    }
    if (nfree > 2 || nfree < tg_min(l->ndim, 1))
        return tg_fail(err, TG_ERR_ARGUMENT, "a slice shows one dimension or two, not %d", (int64_t)nfree);
    if (nfree == 1) {
        s->col_dim = s->row_dim;
        s->row_dim = -1;
    }
    return TG_OK;
}

/* Show the last two dimensions that tiles cut, and the last others if these are fewer. */
static void choose_dims(tg_scene *s) {
    int32_t chosen[2] = {-1, -1}, n = 0;
    for (int32_t pass = 0; pass < 2; pass++)
        for (int32_t d = s->layout->ndim; d-- > 0 && n < 2;)
            if ((s->grain.tile[d] > 1) == (pass == 0)) chosen[n++] = d;
    s->col_dim = chosen[0] > chosen[1] ? chosen[0] : chosen[1];
    s->row_dim = chosen[0] > chosen[1] ? chosen[1] : chosen[0];
}

/* Whether letters can count along d: a cell has one letter, and must not hold several coordinates of d. */
static bool counts(const tg_scene *s, int32_t d) { return d >= 0 && s->cell[d] == 1; }

tg_status tg_scene_choose_dims(tg_scene *s, tg_error *err) {
    s->row_dim = s->col_dim = -1;
    for (int32_t d = 0; d < s->layout->ndim; d++) s->at[d] = -1;
    tg_status status = TG_OK;
    if (s->params->slice != NULL) status = take_slice(s, err);
    else choose_dims(s);
    s->colour_dim = counts(s, s->row_dim) && s->layout->shape[s->row_dim] > 1 ? s->row_dim
                    : counts(s, s->col_dim)                                     ? s->col_dim
                                                                                : -1;
    return status;
}

/* ---- the followed element ----------------------------------------------------------------------- */

tg_status tg_scene_choose_follow(tg_scene *s, tg_error *err) {
    const tg_layout *l = s->layout;
    s->has_follow = tg_layout_numel(l) > 0;
    if (s->params->follow != NULL && !tg_layout_in_bounds(l, s->params->follow, err)) return TG_ERR_ARGUMENT;
    for (int32_t d = 0; d < l->ndim && s->has_follow; d++) {
        const int64_t last = s->at[d] >= 0 ? s->at[d] : l->shape[d] - 1;
        s->follow[d] = s->params->follow != NULL ? s->params->follow[d] : last;
    }
    return TG_OK;
}

/* ---- cells ---------------------------------------------------------------------------------------- */

static int64_t cell_of(const tg_grain *grain, int32_t d) { return grain->unit > TG_SMALL_UNIT ? grain->tile[d] : 1; }

/* As much of a core's part as one cell may hold, of which `volume` is taken. */
static void grow_cells(tg_scene *s, int64_t volume) {
    for (int32_t d = s->layout->ndim; d-- > 0 && tg_layout_numel(s->layout) > 0;) {
        const int64_t most = TG_LARGEST_CELL / volume;
        int64_t       part = pieces(s, d) / s->params->splits[d], n = tg_min(part, most);
        if (s->params->splits[d] == 1 || s->cell[d] != s->grain.tile[d]) continue;
        while (part % n != 0) n--;
        s->cell[d] *= n;
        volume *= n;
    }
}

void tg_scene_choose_cells(tg_scene *s, const tg_grain *other) {
    int64_t volume = 1;
    for (int32_t d = 0; d < s->layout->ndim; d++) {
        const int64_t a = cell_of(&s->grain, d), b = other != NULL ? cell_of(other, d) : 1;
        if (tg_scene_is_coarse(s)) s->cell[d] = b > 1 ? tg_gcd(a, b) : a; /* a part of one unit */
        else s->cell[d] = b;
        if (!tg_mul(&volume, volume, s->cell[d]) || volume > TG_LARGEST_CELL) s->cell[d] = volume = 1;
    }
    if (s->params->splits != NULL) grow_cells(s, volume);
}
