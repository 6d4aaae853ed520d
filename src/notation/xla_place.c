/* Where a text says what no layout has.
 *
 * The rules of a layout judge values, which know no text. So the text is read again, and the plain row-major array
 * gets what is said part by part, in the order of the text, until it is a layout no longer: the part that came last is
 * at fault, and of it the first number that cannot be.
 *
 *     f32[8,8]{1,0:T(8,128)(0,1)}
 *             ^ ^    ^      ^     shape, order, first tile: a layout; with the second tile: none */
#include "notation/notation.h"
#include "notation/xla_lex.h"

typedef struct tracer {
    tg_xla_lexer        lexer;
    const tg_xla_shape *said;
    tg_xla_shape        part; /* what is said up to the cursor */
} tracer;

static bool is_layout(const tracer *t) {
    tg_layout layout;
    return tg_layout_from_xla(&layout, &t->part, NULL) == TG_OK;
}

static size_t here(const tracer *t) { return t->lexer.token.pos; }
static bool   is_at(const tracer *t, tg_xla_token_kind kind) { return t->lexer.token.kind == kind; }

static void go_to(tracer *t, tg_xla_token_kind kind) {
    while (!is_at(t, kind) && !is_at(t, TG_XLA_TOK_EOF)) tg_xla_lexer_next(&t->lexer);
}

/* Over items and the commas behind them. */
static void skip_items(tracer *t, int32_t n) {
    for (; n > 0; n--) {
        tg_xla_lexer_next(&t->lexer);
        if (is_at(t, TG_XLA_TOK_COMMA)) tg_xla_lexer_next(&t->lexer);
    }
}

/* The first number that is no dimension, or one that came before. */
static size_t place_in_order(tracer *t) {
    const tg_xla_layout *layout = &t->said->layout;
    uint32_t             seen = 0;
    int32_t              i = 0;
    for (; i < layout->ndim; i++) {
        const int32_t d = layout->minor_to_major[i];
        if (d < 0 || d >= layout->ndim || (seen >> d & 1) != 0) break;
        seen |= (uint32_t)1 << d;
    }
    skip_items(t, i);
    return here(t);
}

/* The first number that is no size, the last one if it is `*`; else the tile. At its bracket. */
static size_t place_in_tile(tracer *t, const int64_t *dims, int32_t n) {
    const size_t bracket = here(t);
    int32_t      i = 0;
    while (i < n && (dims[i] > 0 || (dims[i] == TG_XLA_COMBINE && i + 1 < n))) i++;
    if (i == n) return bracket;
    tg_xla_lexer_next(&t->lexer);
    skip_items(t, i);
    return here(t);
}

/* At the first tile's bracket. True if the tiles are at fault, and where; else behind the last one. */
static bool find_in_tiles(size_t *pos, tracer *t) {
    const tg_xla_layout *said = &t->said->layout;
    tg_xla_layout       *layout = &t->part.layout;
    int32_t              first = 0;
    for (int32_t i = 0; i < said->ntiles; first += said->tile_ndim[i++]) {
        layout->ntiles = i + 1;
        layout->tile_ndim[i] = said->tile_ndim[i];
        for (int32_t k = first; k < first + said->tile_ndim[i]; k++) layout->tile_dims[k] = said->tile_dims[k];
        if (!is_layout(t)) {
            *pos = place_in_tile(t, said->tile_dims + first, said->tile_ndim[i]);
            return true;
        }
        go_to(t, TG_XLA_TOK_RPAREN);
        tg_xla_lexer_next(&t->lexer);
    }
    return false;
}

/* A property that is no tile is said now; those that are not kept (D) change nothing. */
static void say_property(tracer *t, const tg_xla_lexer *name) {
    const tg_xla_layout *said = &t->said->layout;
    tg_xla_layout       *layout = &t->part.layout;
    if (name->token.kind == TG_XLA_TOK_OCTOTHORP) layout->index_type = said->index_type;
    else if (name->token.kind == TG_XLA_TOK_ASTERISK) layout->pointer_type = said->pointer_type;
    else if (tg_xla_lexer_is(name, "L")) layout->tail_padding = said->tail_padding;
    else if (tg_xla_lexer_is(name, "E")) layout->element_size_in_bits = said->element_size_in_bits;
    else if (tg_xla_lexer_is(name, "S")) layout->memory_space = said->memory_space;
    else if (!tg_xla_lexer_is(name, "D")) *layout = *said; /* SC, and M behind it */
}

/* Behind the colon. */
static size_t place_in_properties(tracer *t) {
    while (!is_at(t, TG_XLA_TOK_RBRACE) && !is_at(t, TG_XLA_TOK_EOF)) {
        const tg_xla_lexer name = t->lexer;
        size_t             pos = 0;
        go_to(t, TG_XLA_TOK_LPAREN);
        if (tg_xla_lexer_is(&name, "T")) {
            if (find_in_tiles(&pos, t)) return pos;
            continue;
        }
        say_property(t, &name);
        tg_xla_lexer_next(&t->lexer);
        if (!is_layout(t)) return here(t);
        go_to(t, TG_XLA_TOK_RPAREN);
        tg_xla_lexer_next(&t->lexer);
    }
    return here(t);
}

size_t tg_xla_place(const char *text, size_t len, const tg_xla_shape *array) {
    tracer t = {.lexer = tg_xla_lexer_make(text, len), .said = array, .part = *array};
    t.part.layout = (tg_xla_layout){.ndim = array->ndim, .tail_padding = 1};
    for (int32_t i = 0; i < array->ndim; i++) t.part.layout.minor_to_major[i] = array->ndim - 1 - i;
    go_to(&t, TG_XLA_TOK_LSQUARE);
    if (!is_layout(&t)) return here(&t);
    go_to(&t, TG_XLA_TOK_LBRACE);
    tg_xla_lexer_next(&t.lexer);
    for (int32_t i = 0; i < array->ndim; i++) t.part.layout.minor_to_major[i] = array->layout.minor_to_major[i];
    if (!is_layout(&t)) return place_in_order(&t);
    go_to(&t, TG_XLA_TOK_COLON);
    tg_xla_lexer_next(&t.lexer);
    return place_in_properties(&t);
}
