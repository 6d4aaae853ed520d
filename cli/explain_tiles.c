/* `tegula explain` of XLA's tile levels: what each cuts, what it pads, and the sizes it leaves.
 *
 * The sizes after k tile levels are those of the layout that has only these levels, so that the same function that
 * answers every other question answers this one. What a level pads comes from the analysis of padding.h. */
#include "explain.h"

#include "show.h"

#include <tegula/padding.h>

#include <stdlib.h>

/* One level: its numbers, and the layout before it. */
typedef struct tile_level {
    int32_t           number;   /* 0 is the first */
    int32_t           n;        /* numbers, `*` included */
    const int64_t    *tile;
    const tg_padding *padding;  /* of the whole layout */
    const tg_layout  *before, *after;
} tile_level;

bool explain_lay_out(tg_layout *out, const tg_xla_shape *array, int32_t levels) {
    tg_xla_shape shape = *array;
    shape.layout.ntiles = levels;
    shape.layout.tail_padding = 1;
    return tg_layout_from_xla(out, &shape, NULL) == TG_OK;
}

/* The memory modes of a layout are the sizes that a level finds, most major first; returns their number. */
static int32_t memory_modes(int32_t modes[TG_MAX_MODES], const tg_layout *layout) {
    int32_t n = 0;
    for (int32_t m = 0; m < layout->nmodes; m++)
        if (layout->mode[m].into == TG_TO_MEMORY) modes[n++] = m;
    return n;
}

static void add_tile(words *w, const int64_t *tile, int32_t n, const char *separator) {
    for (int32_t i = 0; i < n; i++) {
        if (i > 0) words_add(w, "%s", separator);
        if (tile[i] == TG_XLA_COMBINE) words_add(w, "*");
        else words_add(w, "%lld", (long long)tile[i]);
    }
}

static void say_front(explanation *e, int32_t numbers, int32_t found) {
    const int32_t more = numbers - found;
    words         w = {NULL, 0, 0};
    if (more <= 0) return;
    words_add(&w, "The tile has %d number%s and there ", numbers, plural_s(numbers));
    if (found == 0) words_add(&w, "is no size");
    else words_add(&w, "%s only %d size%s", found == 1 ? "is" : "are", found, plural_s(found));
    words_add(&w, " to cut, so ");
    if (more == 1) words_add(&w, "a size of 1 is put in front.");
    else words_add(&w, "%d sizes of 1 are put in front.", more);
    explain_say_words(e, &w);
}

static void say_cut(explanation *e, const tile_level *level) {
    words   w = {NULL, 0, 0};
    int64_t plain[TG_XLA_MAX_TILE_DIMS];
    int32_t nplain = 0;
    for (int32_t i = 0; i < level->n; i++)
        if (level->tile[i] != TG_XLA_COMBINE) plain[nplain++] = level->tile[i];
    if (nplain < level->n) explain_say(e, "First `*` joins a size with the one behind it: together they count as one.");
    words_add(&w,
              level->number == 0 ? "The last " : "The same once more, with the sizes that are there now: the last ");
    if (nplain == 1) words_add(&w, "size is cut into tiles of ");
    else words_add(&w, "%d sizes are cut into tiles of ", nplain);
    words_add_ints(&w, plain, nplain, " x ");
    if (level->number == 0)
        words_add(&w,
                  ". A tile lies in memory in one piece, and tiles follow one another; inside a tile, and from tile to "
                  "tile, the last size still runs fastest. A size that does not fill its tiles is rounded up, and "
                  "the rest is padding");
    words_add(&w, ":");
    explain_say_words(e, &w);
}

/* The size in front of the tile that the number at `place` cuts, as it was counted before the level. */
static void add_counted(words *w, const tile_level *level, const int32_t *modes, int32_t found, int32_t place,
                        uint32_t owners) {
    const int32_t at = found - level->n + place;
    const int32_t mode = at >= 0 ? modes[at] : -1;
    char          digit[SHOW_WORD];
    if (mode >= 0 && level->before->mode[mode].axis >= 0) {
        show_digit(digit, level->before, mode);
        words_add(w, "%s", digit);
        return;
    }
    for (int32_t d = 0; d < TG_MAX_NDIM; d++) {
        if ((owners >> d & 1) == 0) continue;
        words_add(w, "d%d", d);
        return;
    }
    words_add(w, "(in front)");
}

/* What a part rounds, in words: the sizes under `*` and the one that they are joined to. */
static void add_name(words *w, const tile_level *level, const int32_t *modes, int32_t found,
                     const tg_padding_part *part) {
    int32_t first = part->place;
    while (first > 0 && level->tile[first - 1] == TG_XLA_COMBINE) first--;
    for (int32_t place = first; place <= part->place; place++) {
        if (place > first) words_add(w, " with ");
        add_counted(w, level, modes, found, place, part->dims);
    }
}

static json_t *part_fact(const tg_padding_part *part, const char *name) {
    json_t *o = cli_json_object(), *dims = cli_json_array();
    for (int32_t d = 0; d < TG_MAX_NDIM; d++)
        if ((part->dims >> d & 1) != 0) cli_json_add(dims, cli_json_int(d));
    cli_json_put(o, "dims", dims);
    cli_json_put(o, "of", cli_json_text(name));
    cli_json_put(o, "size", cli_json_int(part->size));
    cli_json_put(o, "tile", cli_json_int(part->tile));
    cli_json_put(o, "tiles", cli_json_int(part->padded / part->tile));
    cli_json_put(o, "padded", cli_json_int(part->padded));
    cli_json_put(o, "padding_bytes", cli_json_int(part->bytes));
    return o;
}

static void say_part(explanation *e, const tg_padding_part *part, const char *name, int width) {
    const int64_t tiles = part->padded / part->tile;
    words         w = {NULL, 0, 0};
    words_add(&w, "  %-*s  %lld", width, name, (long long)part->size);
    if (part->padded != part->size) words_add(&w, " -> %lld", (long long)part->padded);
    words_add(&w, " = %lld tile%s of %lld", (long long)tiles, plural_s(tiles), (long long)part->tile);
    if (part->bytes > 0) {
        words_add(&w, "; the padding adds ");
        words_add_bytes(&w, part->bytes);
    }
    explain_say_words(e, &w);
}

/* A row for each size that is cut, most major first; parts come the other way round. */
static void say_parts(explanation *e, const tile_level *level) {
    int32_t modes[TG_MAX_MODES];
    int     width = 0;
    json_t *facts = cli_json_array();
    char   *names[TG_XLA_MAX_TILE_DIMS];
    const tg_padding *p = level->padding;
    const int32_t     found = memory_modes(modes, level->before);
    for (int32_t i = p->nparts; i-- > 0;) {
        words w = {NULL, 0, 0};
        if (p->part[i].level != level->number) continue;
        add_name(&w, level, modes, found, &p->part[i]);
        names[i] = w.bytes;
        if ((int)w.len > width) width = (int)w.len;
    }
    for (int32_t i = p->nparts; i-- > 0;) {
        if (p->part[i].level != level->number) continue;
        say_part(e, &p->part[i], names[i], width);
        cli_json_add(facts, part_fact(&p->part[i], names[i]));
        free(names[i]);
    }
    explain_fact(e, "roundings", facts);
}

/* The 32-bit words of TPUs take elements of this many rows: those that the place inside the tile counts, which is the
 * last size but one. */
static void say_packing(explanation *e, const tile_level *level) {
    const int64_t bits = level->before->elem_bits;
    int32_t       modes[TG_MAX_MODES];
    words         w = {NULL, 0, 0};
    if (level->number == 0 || level->n != 2 || level->tile[1] != 1 || level->tile[0] < 2) return;
    if (level->tile[0] > 32 || level->tile[0] * bits != 32) return;
    const int32_t  n = memory_modes(modes, level->after);
    const tg_mode *row = &level->after->mode[modes[n - 2]];
    if (row->axis < 0) return;
    words_add(&w, "So %lld ", (long long)level->tile[0]);
    if (row->axis >= level->after->ndim) words_add(&w, "elements");
    else if (row->weight == 1) words_add(&w, "neighbours along d%d", row->axis);
    else words_add(&w, "elements that are %lld apart along d%d", (long long)row->weight, row->axis);
    words_add(&w, " lie side by side and fill a word of 32 bits, which is how TPUs pack elements of %lld bits.",
              (long long)bits);
    explain_say_words(e, &w);
}

static json_t *tile_fact(const tile_level *level) {
    json_t *tile = cli_json_array();
    for (int32_t i = 0; i < level->n; i++)
        cli_json_add(tile, level->tile[i] == TG_XLA_COMBINE ? cli_json_text("*") : cli_json_int(level->tile[i]));
    return tile;
}

static void explain_level(explanation *e, const tile_level *level) {
    words   code = {NULL, 0, 0}, name = {NULL, 0, 0};
    int32_t modes[TG_MAX_MODES];
    words_add(&code, "%s(", level->number == 0 ? "T" : "");
    add_tile(&code, level->tile, level->n, ",");
    words_add(&code, ")");
    words_add(&name, "tile level %d", level->number + 1);
    explain_step(e, code.bytes, name.bytes);
    words_free(&code);
    words_free(&name);
    explain_fact(e, "tile", tile_fact(level));
    say_front(e, level->n, memory_modes(modes, level->before));
    say_cut(e, level);
    say_parts(e, level);
    if (level->number == 0)
        explain_say(e,
                    "Each size that was cut is two now: the number of the tile (/, division that drops the rest), and "
                    "the place inside it (%%, that rest).");
    else explain_say(e, "Which leaves:");
    explain_sizes(e, level->after);
    say_packing(e, level);
}

void explain_tiles(explanation *e) {
    const tg_xla_layout *x = &e->desc->xla.layout;
    const int64_t       *tile = x->tile_dims;
    tg_padding           padding;
    tg_layout            before, after;
    if (tg_padding_measure(&padding, &e->desc->xla, NULL) != TG_OK) return; /* not reached: the layout has a size */
    if (!explain_lay_out(&before, &e->desc->xla, 0)) return;                /* neither: it is part of the whole */
    for (int32_t k = 0; k < x->ntiles; k++) {
        if (!explain_lay_out(&after, &e->desc->xla, k + 1)) return;
        const tile_level level = {k, x->tile_ndim[k], tile, &padding, &before, &after};
        explain_level(e, &level);
        tile += x->tile_ndim[k];
        before = after;
    }
}
