/* Reading XLA's text for shapes and layouts.
 *
 * The grammar is docs/notation-xla.md. What is particular:
 *
 * - A shape is a tree, and its value a list of nodes in pre-order. The reader does not recurse: it keeps
 *   the open tuples and buffers on a small stack, which is what limits the nesting. Here is the stack
 *   while each node is read:
 *
 *       text   ( f32[2], ( token[] ), b( s8[4] ) )
 *       node   0 1       2 3          4  5
 *       open   - 0       0 0,2        0  0,4
 *
 * - The text is read twice, first without storing anything: so a failed call writes nothing, and the
 *   second run, which stores what the caller has room for, cannot fail.
 *
 * - Messages carry XLA's own words where XLA has some, because that is what people search for, but with
 *   the sign itself for XLA's name of it, kRbrace say; then what was seen. Every failure has a position,
 *   of any status.
 *
 * - XLA ignores failures inside the properties of a layout as long as the rest can be read, so it takes
 *   `{1,0:T(2,}` for `{1,0:T(2)}`. We do not. */
#include "notation/xla_text.h"

#include "base/error.h"
#include "base/text.h"
#include "notation/notation.h"
#include "notation/xla_lex.h"

/* ---- the reader's state ------------------------------------------------------- */

typedef struct reader {
    tg_xla_lexer  lexer;
    const char   *what;  /* "shape" or "layout", for messages */
    tg_xla_shape *nodes; /* the caller's, cap of them */
    size_t        cap;
    size_t        count; /* nodes so far, stored or not */
    int32_t       depth;
    size_t        open[TG_XLA_MAX_DEPTH]; /* node numbers of the open tuples and buffers */
    tg_xla_shape  array;                  /* the array that is being read; its layout also when alone */
    size_t        number_pos;             /* of the last number taken */
    tg_error     *err;
    tg_status     status;
} reader;

static reader reader_make(const char *what, const char *text, size_t len, tg_error *err) {
    return (reader){.lexer = tg_xla_lexer_make(text, len), .what = what, .err = err};
}

static const tg_xla_token *seen(const reader *r) { return &r->lexer.token; }
static const char         *seen_text(const reader *r) { return r->lexer.text + seen(r)->pos; }

/* ---- failures ----------------------------------------------------------------- */

/* Marks the failure whose message is already written. Always false. */
static bool fail_as(reader *r, tg_status status, size_t pos) {
    if (r->err != NULL) {
        r->err->status = status;
        r->err->pos = pos;
    }
    r->status = status;
    return false;
}

/* The token under the cursor is not what the rule wants. The rule comes in two pieces. */
static bool fail_seen(reader *r, const char *rule, const char *rest) {
    const tg_xla_token *t = seen(r);
    if (t->kind == TG_XLA_TOK_EOF)
        (void)tg_fail_at(r->err, t->pos, "not an XLA %s: %s%s (saw the end)", r->what, rule, rest);
    else
        (void)tg_fail_at(r->err, t->pos, "not an XLA %s: %s%s (saw '%t')", r->what, rule, rest, seen_text(r),
                         t->len);
    return fail_as(r, TG_ERR_PARSE, t->pos);
}

static bool fail_type(reader *r) {
    const tg_xla_token *t = seen(r);
    if (t->kind == TG_XLA_TOK_EOF)
        (void)tg_fail_at(r->err, t->pos, "not an XLA %s: expected primitive type, saw the end", r->what);
    else
        (void)tg_fail_at(r->err, t->pos, "not an XLA %s: expected primitive type, saw '%t'", r->what, seen_text(r),
                         t->len);
    return fail_as(r, TG_ERR_PARSE, t->pos);
}

/* The last number taken breaks a rule. */
static bool fail_number(reader *r, const char *rule, int64_t number) {
    (void)tg_fail_at(r->err, r->number_pos, "not an XLA %s: %s: %d", r->what, rule, number);
    return fail_as(r, TG_ERR_PARSE, r->number_pos);
}

static bool fail_limit(reader *r, size_t pos, int64_t limit, const char *of) {
    (void)tg_fail(r->err, TG_ERR_LIMIT, "more than %d %s, a limit of this library", limit, of);
    return fail_as(r, TG_ERR_LIMIT, pos);
}

/* ---- single tokens ------------------------------------------------------------- */

static bool is_at(const reader *r, tg_xla_token_kind kind) { return seen(r)->kind == kind; }

static bool take(reader *r, tg_xla_token_kind kind) {
    if (!is_at(r, kind)) return false;
    tg_xla_lexer_next(&r->lexer);
    return true;
}

static bool take_word(reader *r, const char *word) {
    if (!tg_xla_lexer_is(&r->lexer, word)) return false;
    tg_xla_lexer_next(&r->lexer);
    return true;
}

/* Of those that open and close lists. */
static const char *sign_of(tg_xla_token_kind kind) {
    switch (kind) {
    case TG_XLA_TOK_LSQUARE: return "'['";
    case TG_XLA_TOK_RSQUARE: return "']'";
    case TG_XLA_TOK_LPAREN: return "'('";
    case TG_XLA_TOK_RPAREN: return "')'";
    default: return "':'";
    }
}

static bool expect(reader *r, tg_xla_token_kind kind, const char *rule) {
    return take(r, kind) || fail_seen(r, rule, "");
}

static bool expect_number(reader *r, int64_t *number) {
    const tg_xla_token *t = seen(r);
    if (t->kind != TG_XLA_TOK_INT) return fail_seen(r, "expects integer", "");
    if (!t->fits) {
        (void)fail_seen(r, "expects integer", " that fits int64");
        return fail_as(r, TG_ERR_OVERFLOW, t->pos);
    }
    *number = t->value;
    r->number_pos = t->pos;
    tg_xla_lexer_next(&r->lexer);
    return true;
}

/* open [ item { "," item } ] close */
static bool read_list(reader *r, tg_xla_token_kind open, tg_xla_token_kind close, bool (*item)(reader *)) {
    if (!take(r, open)) return fail_seen(r, "expects a list starting with ", sign_of(open));
    if (!is_at(r, close)) {
        do
            if (!item(r)) return false;
        while (take(r, TG_XLA_TOK_COMMA));
    }
    return take(r, close) || fail_seen(r, "expects a list to end with ", sign_of(close));
}

/* ---- layouts ------------------------------------------------------------------ */

static bool read_order_item(reader *r) {
    tg_xla_layout *layout = &r->array.layout;
    int64_t        number;
    if (!expect_number(r, &number)) return false;
    if (layout->ndim == TG_MAX_NDIM) return fail_limit(r, r->number_pos, TG_MAX_NDIM, "numbers in minor_to_major");
    if (number < INT32_MIN || number > INT32_MAX) {
        (void)tg_fail(r->err, TG_ERR_LIMIT, "minor_to_major number %d does not fit int32, a limit of this library",
                      number);
        return fail_as(r, TG_ERR_LIMIT, r->number_pos);
    }
    layout->minor_to_major[layout->ndim++] = (int32_t)number;
    return true;
}

static bool read_order(reader *r) {
    if (!is_at(r, TG_XLA_TOK_INT)) return true;
    do
        if (!read_order_item(r)) return false;
    while (take(r, TG_XLA_TOK_COMMA));
    return true;
}

/* A mark of XLA's dropped sparse layouts: read, and thrown away as XLA does. */
static bool read_level_type(reader *r) {
    if (!take_word(r, "D") && !take_word(r, "C") && !take_word(r, "S") && !take_word(r, "H"))
        return fail_seen(r, "expected a DimLevelType abbreviation (D, C, or S)", "");
    (void)take(r, TG_XLA_TOK_PLUS);
    (void)take(r, TG_XLA_TOK_TILDE);
    return true;
}

static bool read_level_types(reader *r) {
    return !take_word(r, "D") || read_list(r, TG_XLA_TOK_LPAREN, TG_XLA_TOK_RPAREN, read_level_type);
}

static int32_t count_tile_dims(const tg_xla_layout *layout) {
    int32_t n = 0;
    for (int32_t i = 0; i < layout->ntiles; i++) n += layout->tile_ndim[i];
    return n;
}

/* A number, or `*`. XLA stores that as INT64_MIN and so takes the number for it. */
static bool read_tile_dim(reader *r) {
    tg_xla_layout *layout = &r->array.layout;
    const size_t   pos = seen(r)->pos;
    int64_t        number = TG_XLA_COMBINE;
    if (!take(r, TG_XLA_TOK_ASTERISK) && !expect_number(r, &number)) return false;
    if (number < 0 && number != TG_XLA_COMBINE)
        return fail_number(r, "a tile dimension must be positive, or `*`, not negative", number);
    const int32_t n = count_tile_dims(layout);
    if (n == TG_XLA_MAX_TILE_DIMS) return fail_limit(r, pos, TG_XLA_MAX_TILE_DIMS, "tile dimensions in all levels");
    layout->tile_dims[n] = number;
    layout->tile_ndim[layout->ntiles - 1]++;
    return true;
}

static bool read_tiles(reader *r) {
    tg_xla_layout *layout = &r->array.layout;
    if (!take_word(r, "T")) return true;
    do {
        if (layout->ntiles == TG_XLA_MAX_TILES) return fail_limit(r, seen(r)->pos, TG_XLA_MAX_TILES, "tile levels");
        layout->ntiles++;
        if (!read_list(r, TG_XLA_TOK_LPAREN, TG_XLA_TOK_RPAREN, read_tile_dim)) return false;
    } while (is_at(r, TG_XLA_TOK_LPAREN));
    return true;
}

/* Word "(" INT ")"; leaves *number alone where the word does not stand. */
static bool read_number_property(reader *r, const char *word, const char *name, int64_t *number) {
    if (!take_word(r, word)) return true;
    if (!take(r, TG_XLA_TOK_LPAREN)) return fail_seen(r, name, " to start with '('");
    if (!expect_number(r, number)) return false;
    return take(r, TG_XLA_TOK_RPAREN) || fail_seen(r, name, " to end with ')'");
}

static bool read_tail_padding(reader *r) {
    int64_t *n = &r->array.layout.tail_padding;
    if (!read_number_property(r, "L", "expects multiple padded to in elements", n)) return false;
    return *n > 0 || fail_number(r, "layout tail_padding_alignment_in_elements field is <= 0", *n);
}

static bool read_memory_space(reader *r) {
    int64_t *n = &r->array.layout.memory_space;
    if (!read_number_property(r, "S", "expects memory space", n)) return false;
    return (*n >= INT8_MIN && *n <= INT8_MAX) || fail_number(r, "memory space does not fit int8", *n);
}

/* Sign "(" utype ")" */
static bool read_type_property(reader *r, tg_xla_token_kind sign, const char *start, const char *end,
                               tg_dtype *type) {
    if (!take(r, sign)) return true;
    if (!expect(r, TG_XLA_TOK_LPAREN, start)) return false;
    if (!is_at(r, TG_XLA_TOK_TYPE)) return fail_type(r);
    if (tg_dtype_get_class(seen(r)->dtype) != TG_CLASS_UINT)
        return fail_seen(r, "expecting an unsigned integer type", "");
    *type = seen(r)->dtype;
    tg_xla_lexer_next(&r->lexer);
    return expect(r, TG_XLA_TOK_RPAREN, end);
}

static int32_t count_split_indices(const tg_xla_layout *layout) {
    int32_t n = 0;
    for (int32_t i = 0; i < layout->nsplits; i++) n += layout->split_nindices[i];
    return n;
}

static bool read_split_index(reader *r) {
    tg_xla_layout *layout = &r->array.layout;
    int64_t        number;
    if (!expect_number(r, &number)) return false;
    const int32_t n = count_split_indices(layout);
    if (n == TG_XLA_MAX_SPLIT_INDICES)
        return fail_limit(r, r->number_pos, TG_XLA_MAX_SPLIT_INDICES, "split indices in all split configs");
    layout->split_indices[n] = number;
    layout->split_nindices[layout->nsplits - 1]++;
    return true;
}

static bool read_splits(reader *r) {
    tg_xla_layout *layout = &r->array.layout;
    if (!take_word(r, "SC")) return true;
    do {
        if (layout->nsplits == TG_XLA_MAX_SPLITS)
            return fail_limit(r, seen(r)->pos, TG_XLA_MAX_SPLITS, "split configs");
        if (!expect(r, TG_XLA_TOK_LPAREN, "expects split configs to start with '('")) return false;
        if (!expect_number(r, &layout->split_dim[layout->nsplits])) return false;
        layout->nsplits++;
        if (!read_list(r, TG_XLA_TOK_COLON, TG_XLA_TOK_RPAREN, read_split_index)) return false;
    } while (is_at(r, TG_XLA_TOK_LPAREN));
    return true;
}

/* P(shape) belongs to sparse layouts, which XLA has dropped. XLA's ParseLayout still keeps it. */
static bool refuse_physical_shape(reader *r) {
    const size_t pos = seen(r)->pos;
    if (!take_word(r, "P")) return true;
    if (!is_at(r, TG_XLA_TOK_LPAREN)) return fail_seen(r, "expects physical shape to start with '('", "");
    (void)tg_fail_at(r->err, pos, "Layout has physical shape, but is not for a sparse array: P(...) is not kept here");
    return fail_as(r, r->what[0] == 's' ? TG_ERR_PARSE : TG_ERR_UNSUPPORTED, pos);
}

/* In the only order that XLA reads and prints. */
static bool read_properties(reader *r) {
    tg_xla_layout *layout = &r->array.layout;
    return read_level_types(r) && read_tiles(r) && read_tail_padding(r) &&
           read_type_property(r, TG_XLA_TOK_OCTOTHORP, "expects '#' to be followed by '('",
                              "expects index primitive type to be followed by ')'", &layout->index_type) &&
           read_type_property(r, TG_XLA_TOK_ASTERISK, "expects '*' to be followed by '('",
                              "expects pointer primitive type to be followed by ')'", &layout->pointer_type) &&
           read_number_property(r, "E", "expects element size in bits", &layout->element_size_in_bits) &&
           read_memory_space(r) && read_splits(r) && refuse_physical_shape(r) &&
           read_number_property(r, "M", "expects dynamic shape metadata prefix bytes", &layout->metadata_prefix_bytes);
}

static bool read_layout(reader *r) {
    r->array.layout = (tg_xla_layout){.tail_padding = 1};
    if (!expect(r, TG_XLA_TOK_LBRACE, "expects layout to start with '{'") || !read_order(r)) return false;
    const bool has_properties = take(r, TG_XLA_TOK_COLON);
    if (has_properties && !read_properties(r)) return false;
    if (take(r, TG_XLA_TOK_RBRACE)) return true;
    return fail_seen(r, "expects layout to end with '}'",
                     has_properties ? ", after D() T() L() #() *() E() S() SC() M(), each if at all and in this order"
                                    : ", or to go on with ',' or ':'");
}

/* ---- arrays, token, opaque ---------------------------------------------------- */

static bool add_node(reader *r, const tg_xla_shape *node) {
    if (r->count == INT32_MAX) return fail_limit(r, node->pos, INT32_MAX, "shapes in one text");
    if (r->depth > 0 && r->open[r->depth - 1] < r->cap) r->nodes[r->open[r->depth - 1]].nchildren++;
    if (r->count < r->cap) r->nodes[r->count] = *node;
    r->count++;
    return true;
}

static bool read_dim(reader *r) {
    tg_xla_shape *array = &r->array;
    const size_t  pos = seen(r)->pos;
    int64_t       size = TG_XLA_UNBOUNDED;
    const bool    unbounded = take(r, TG_XLA_TOK_QUESTION);
    const bool    dynamic = unbounded || take(r, TG_XLA_TOK_LEQ);
    if (!unbounded && !expect_number(r, &size)) return false;
    if (size < 0 && !(dynamic && size == TG_XLA_UNBOUNDED))
        return fail_number(r, "Invalid dimension size, which must be >= 0", size);
    if (array->ndim == TG_MAX_NDIM) return fail_limit(r, pos, TG_MAX_NDIM, "dimensions");
    array->dims[array->ndim] = size;
    array->dynamic[array->ndim++] = dynamic;
    return true;
}

/* `{` may also open the body of a computation, so XLA looks at what follows. */
static bool is_at_layout(const reader *r) {
    if (!is_at(r, TG_XLA_TOK_LBRACE)) return false;
    const tg_xla_token_kind next = tg_xla_lexer_peek(&r->lexer);
    return next == TG_XLA_TOK_INT || next == TG_XLA_TOK_COLON;
}

static void set_default_layout(tg_xla_shape *array) {
    array->layout = (tg_xla_layout){.ndim = array->ndim, .tail_padding = 1};
    for (int32_t i = 0; i < array->ndim; i++) array->layout.minor_to_major[i] = array->ndim - 1 - i;
}

static bool read_array_layout(reader *r) {
    tg_xla_shape *array = &r->array;
    const size_t  pos = seen(r)->pos;
    array->has_layout = true;
    set_default_layout(array);
    if (!is_at_layout(r)) return true;
    if (!read_layout(r)) return false;
    if (array->layout.ndim == array->ndim) return true;
    (void)tg_fail_at(r->err, pos, "not an XLA shape: Dimensions size is %d, but minor to major size is %d.",
                     (int64_t)array->ndim, (int64_t)array->layout.ndim);
    return fail_as(r, TG_ERR_PARSE, pos);
}

/* The element of a tuple must keep the rules that a shape alone may break. */
static bool check_element(reader *r) {
    const tg_status status = tg_xla_check_element(&r->array, r->err);
    const size_t    pos = r->array.pos;
    if (status == TG_OK) return true;
    return fail_as(r, status == TG_ERR_OVERFLOW ? TG_ERR_OVERFLOW : TG_ERR_PARSE,
                   pos + tg_xla_place(r->lexer.text + pos, seen(r)->pos - pos, &r->array));
}

static bool read_array(reader *r, bool in_tuple) {
    r->array = (tg_xla_shape){.kind = TG_XLA_ARRAY, .dtype = seen(r)->dtype, .pos = seen(r)->pos};
    tg_xla_lexer_next(&r->lexer);
    if (!read_list(r, TG_XLA_TOK_LSQUARE, TG_XLA_TOK_RSQUARE, read_dim)) return false;
    if (!read_array_layout(r)) return false;
    if (in_tuple && !check_element(r)) return false;
    return add_node(r, &r->array);
}

static bool refuse_dim(reader *r) { return fail_seen(r, "token[] and opaque[] have no dimensions", ""); }

static bool read_token_or_opaque(reader *r) {
    const bool         token = tg_text_equal(seen_text(r), seen(r)->len, "token");
    const tg_xla_shape node = {.kind = token ? TG_XLA_TOKEN : TG_XLA_OPAQUE, .pos = seen(r)->pos};
    tg_xla_lexer_next(&r->lexer);
    if (!read_list(r, TG_XLA_TOK_LSQUARE, TG_XLA_TOK_RSQUARE, refuse_dim)) return false;
    if (is_at_layout(r)) return fail_seen(r, "token[] and opaque[] have no layout", "");
    return add_node(r, &node);
}

/* ---- the tree ----------------------------------------------------------------- */

/* The tuple or buffer that starts at the cursor. */
static bool open_shape(reader *r, tg_xla_kind kind) {
    const tg_xla_shape node = {.kind = kind, .pos = seen(r)->pos};
    if (r->depth == TG_XLA_MAX_DEPTH) return fail_limit(r, node.pos, TG_XLA_MAX_DEPTH, "tuples inside each other");
    if (!add_node(r, &node)) return false;
    r->open[r->depth++] = r->count - 1;
    return true;
}

static bool is_at_buffer(const reader *r) {
    return tg_xla_lexer_is(&r->lexer, "b") && tg_xla_lexer_peek(&r->lexer) == TG_XLA_TOK_LPAREN;
}

static bool is_at_array(const reader *r) { return is_at(r, TG_XLA_TOK_TYPE) && seen(r)->dtype != TG_INVALID; }

static bool is_at_shape(const reader *r) {
    return is_at(r, TG_XLA_TOK_LPAREN) || is_at(r, TG_XLA_TOK_TYPE) || is_at_buffer(r);
}

static bool read_buffer(reader *r) {
    const bool in_tuple = r->depth > 0;
    if (!open_shape(r, TG_XLA_BUFFER)) return false;
    tg_xla_lexer_next(&r->lexer);
    tg_xla_lexer_next(&r->lexer);
    if (!is_at_array(r)) return is_at_shape(r) ? fail_seen(r, "Buffer shape must have array shape.", "") : fail_type(r);
    if (!read_array(r, in_tuple)) return false;
    r->depth--;
    return expect(r, TG_XLA_TOK_RPAREN, "expects ')' at the end of buffer shape.");
}

static bool read_leaf(reader *r) {
    if (is_at_buffer(r)) return read_buffer(r);
    if (is_at_array(r)) return read_array(r, r->depth > 0);
    return is_at(r, TG_XLA_TOK_TYPE) ? read_token_or_opaque(r) : fail_type(r);
}

static bool read_open_tuple(reader *r) {
    return open_shape(r, TG_XLA_TUPLE) && take(r, TG_XLA_TOK_LPAREN);
}

/* A shape has ended; so do the tuples around it that have no further element. */
static bool close_tuples(reader *r) {
    for (; r->depth > 0 && !is_at(r, TG_XLA_TOK_COMMA); r->depth--)
        if (!expect(r, TG_XLA_TOK_RPAREN, "expects ')' at the end of tuple.")) return false;
    return true;
}

static bool read_tree(reader *r) {
    do {
        if (!is_at(r, TG_XLA_TOK_LPAREN)) {
            if (!read_leaf(r)) return false;
        } else {
            if (!read_open_tuple(r)) return false;
            if (!is_at(r, TG_XLA_TOK_RPAREN)) continue;
        }
        if (!close_tuples(r)) return false;
        if (r->depth > 0) (void)take(r, TG_XLA_TOK_COMMA);
    } while (r->depth > 0);
    return true;
}

static bool read_whole_shape(reader *r) {
    return read_tree(r) && (is_at(r, TG_XLA_TOK_EOF) || fail_seen(r, "Extra content after shape", ""));
}

tg_status tg_xla_shape_parse(tg_xla_shape *nodes, size_t cap, size_t *count, const char *text, size_t len,
                             tg_error *err) {
    reader check = reader_make("shape", text, len, err);
    if (!read_whole_shape(&check)) return check.status;
    if (cap > 0) {
        reader store = reader_make("shape", text, len, NULL);
        store.nodes = nodes;
        store.cap = cap;
        (void)read_whole_shape(&store);
    }
    *count = check.count;
    return TG_OK;
}

tg_status tg_xla_layout_parse(tg_xla_layout *out, const char *text, size_t len, tg_error *err) {
    reader r = reader_make("layout", text, len, err);
    if (!read_layout(&r)) return r.status;
    if (!is_at(&r, TG_XLA_TOK_EOF)) {
        (void)fail_seen(&r, "Extra content after layout", "");
        return r.status;
    }
    *out = r.array.layout;
    return TG_OK;
}
