/* One line of notation: which notation it is, the clauses of strided and Spyre text, and conversion.
 *
 *     f16[5,100,150] strides=[1,5,500] offset=0 spyre dim_order=[1,0,2] unit_dims=keep
 *     type shape     clauses of the host tensor  ^     clauses of the device layout
 *
 * XLA text is recognised by what only it has: a `{` behind the shape, dynamic sizes, or no element
 * type in front; it goes to the XLA reader as a whole. */
#include "notation/notation.h"

#include <string.h>

const char *tg_notation_name(tg_notation n) {
    switch (n) {
    case TG_NOTATION_STRIDED: return "strided";
    case TG_NOTATION_XLA: return "xla";
    case TG_NOTATION_SPYRE: return "spyre";
    case TG_NOTATION_CUTE: return "cute";
    }
    return NULL;
}

/* ---- lists and clauses ---- */

/* "[1,2,3]": at most cap entries. */
static tg_status read_list(tg_cursor *c, int64_t *values, int32_t cap, int32_t *n, const char *what, tg_error *err) {
    bool found;
    tg_skip_blanks(c);
    const size_t start = c->pos;
    if (!tg_take_char(c, '[')) return tg_fail_at(err, c->pos, "expected `[` and the %s", what);
    *n = 0;
    if (tg_take_char(c, ']')) return TG_OK;
    do {
        int64_t value = 0;
        tg_skip_blanks(c);
        const size_t at = c->pos;
        if (!tg_take_int(c, &value, &found))
            return tg_fail_at(err, at, "this number of the %s does not fit 63 bits", what);
        if (!found) return tg_fail_at(err, at, "expected an integer in the %s", what);
        if (*n >= cap) {
            (void)tg_fail_at(err, start, "the %s has more than %d entries, the limit", what, (int64_t)cap);
            if (err != NULL) err->status = TG_ERR_LIMIT;
            return TG_ERR_LIMIT;
        }
        values[(*n)++] = value;
    } while (tg_take_char(c, ','));
    if (!tg_take_char(c, ']')) return tg_fail_at(err, c->pos, "expected `,` or `]` in the %s", what);
    return TG_OK;
}

/* What the clauses say; at[] holds where each began. */
enum { STRIDES, OFFSET, DIM_ORDER, UNIT_DIMS, DEVICE_SIZE, STRIDE_MAP, DIM_MAP, ARRANGEMENT, DEVICE_DTYPE, CLAUSES };

static const char *const clause_names[CLAUSES] = {"strides",    "offset",  "dim_order",   "unit_dims",   "device_size",
                                                  "stride_map", "dim_map", "arrangement", "device_dtype"};

typedef struct clauses {
    bool            has[CLAUSES];
    size_t          at[CLAUSES];
    bool            spyre;
    size_t          spyre_at;
    int64_t         strides[TG_MAX_NDIM], offset;
    int64_t         order[TG_MAX_NDIM + 1];
    int64_t         device_size[TG_SPYRE_MAX_RANK], map[TG_SPYRE_MAX_RANK];
    int32_t         nstrides, norder, nsize, nmap;
    tg_spyre_params params;
} clauses;

static tg_status read_word(tg_cursor *c, const char **word, size_t *len, size_t *at, const char *what, tg_error *err) {
    tg_skip_blanks(c);
    *at = c->pos;
    *len = tg_take_name(c, word);
    return *len > 0 ? TG_OK : tg_fail_at(err, *at, "expected %s", what);
}

static tg_status read_clause_value(tg_cursor *c, clauses *x, int which, tg_error *err) {
    const char *word = NULL;
    size_t      len, at;
    bool        found;
    tg_status   s;
    switch (which) {
    case STRIDES: return read_list(c, x->strides, TG_MAX_NDIM, &x->nstrides, "strides", err);
    case DIM_ORDER: return read_list(c, x->order, TG_MAX_NDIM + 1, &x->norder, "dim_order", err);
    case DEVICE_SIZE: return read_list(c, x->device_size, TG_SPYRE_MAX_RANK, &x->nsize, "device_size", err);
    case STRIDE_MAP: return read_list(c, x->map, TG_SPYRE_MAX_RANK, &x->nmap, "stride_map", err);
    case DIM_MAP: return read_list(c, x->map, TG_SPYRE_MAX_RANK, &x->nmap, "dim_map", err);
    case OFFSET:
        tg_skip_blanks(c);
        at = c->pos;
        if (!tg_take_int(c, &x->offset, &found)) return tg_fail_at(err, at, "the offset does not fit 63 bits");
        return found ? TG_OK : tg_fail_at(err, at, "expected an integer offset");
    case UNIT_DIMS:
        if ((s = read_word(c, &word, &len, &at, "`keep` or `drop`", err)) != TG_OK) return s;
        x->params.keep_unit_dims = tg_text_equal(word, len, "keep");
        if (x->params.keep_unit_dims || tg_text_equal(word, len, "drop")) return TG_OK;
        return tg_fail_at(err, at, "unit_dims is `keep` or `drop`, not `%t`", word, len);
    case ARRANGEMENT:
        if ((s = read_word(c, &word, &len, &at, "an element arrangement such as DL16_TO_FP32", err)) != TG_OK) return s;
        if (tg_arrangement_from_name(&x->params.arrangement, word, len)) return TG_OK;
        return tg_fail_at(
            err, at,
            "`%t` is not an element arrangement; there are STANDARD, DL16_TO_FP32, QFP8CH, EXX2, FP32_TO_DL16, QFP8WT",
            word, len);
    default:
        if ((s = read_word(c, &word, &len, &at, "a device format such as SEN169_FP16", err)) != TG_OK) return s;
        x->params.has_device_dtype = true;
        x->params.device_dtype = tg_format_from_name(word, len);
        if (tg_format_bits(x->params.device_dtype) > 0) return TG_OK;
        return tg_fail_at(err, at, "`%t` is not a device format with stick geometry, such as SEN169_FP16 or IEEE_FP32",
                          word, len);
    }
}

static tg_status read_clause(tg_cursor *c, clauses *x, tg_error *err) {
    const char *name = NULL;
    size_t      len, at;
    tg_status   s = read_word(c, &name, &len, &at, "a clause such as strides=[...] or spyre", err);
    if (s != TG_OK) return s;
    if (tg_text_equal(name, len, "spyre")) {
        if (x->spyre) return tg_fail_at(err, at, "`spyre` is said twice");
        x->spyre = true;
        x->spyre_at = at;
        return TG_OK;
    }
    for (int which = 0; which < CLAUSES; which++) {
        if (!tg_text_equal(name, len, clause_names[which])) continue;
        if (x->has[which]) return tg_fail_at(err, at, "`%s` is said twice", clause_names[which]);
        if (which >= DIM_ORDER && !x->spyre)
            return tg_fail_at(err, at, "`%s` belongs behind the word `spyre`", clause_names[which]);
        if (which < DIM_ORDER && x->spyre)
            return tg_fail_at(err, at, "`%s` of the host tensor belongs before the word `spyre`", clause_names[which]);
        if (!tg_take_char(c, '=')) return tg_fail_at(err, c->pos, "expected `=` behind `%s`", clause_names[which]);
        x->has[which] = true;
        x->at[which] = at;
        return read_clause_value(c, x, which, err);
    }
    return tg_fail_at(
        err, at, "`%t` is not a clause; expected strides=, offset=, spyre%s", name, len,
        x->spyre ? ", dim_order=, unit_dims=, device_size=, stride_map=, dim_map=, arrangement=, device_dtype=" : "");
}

/* Which clauses go together. */
static tg_status check_clauses(const clauses *x, int32_t ndim, tg_error *err) {
    if (x->has[STRIDES] && x->nstrides != ndim)
        return tg_fail_at(err, x->at[STRIDES], "%d strides for %d dimension%s", (int64_t)x->nstrides, (int64_t)ndim,
                          ndim == 1 ? "" : "s");
    const bool maps = x->has[STRIDE_MAP] || x->has[DIM_MAP];
    if (x->has[STRIDE_MAP] && x->has[DIM_MAP])
        return tg_fail_at(err, x->at[DIM_MAP], "stride_map and dim_map exclude each other");
    if (x->has[DEVICE_SIZE] && !maps)
        return tg_fail_at(err, x->at[DEVICE_SIZE], "device_size needs a stride_map or a dim_map beside it");
    if (maps && !x->has[DEVICE_SIZE])
        return tg_fail_at(err, x->at[x->has[STRIDE_MAP] ? STRIDE_MAP : DIM_MAP],
                          "a device_size must stand beside this map");
    if (maps && x->nmap != x->nsize)
        return tg_fail_at(err, x->at[x->has[STRIDE_MAP] ? STRIDE_MAP : DIM_MAP], "%s has %d entries for %d",
                          x->has[STRIDE_MAP] ? "stride_map" : "dim_map", (int64_t)x->nmap, (int64_t)x->nsize);
    if (maps && x->has[DIM_ORDER])
        return tg_fail_at(err, x->at[DIM_ORDER], "dim_order chooses a default layout; device_size says it explicitly");
    if (maps && x->has[UNIT_DIMS])
        return tg_fail_at(err, x->at[UNIT_DIMS], "unit_dims chooses a default layout; device_size says it explicitly");
    return TG_OK;
}

/* ---- building ---- */

/* A refusal of a meaning, put at the place of the text that says it. */
static tg_status place(tg_status s, size_t pos, tg_error *err) {
    const tg_status status = s == TG_ERR_ARGUMENT ? TG_ERR_PARSE : s;
    if (s != TG_OK && err != NULL) {
        err->status = status;
        err->pos = pos;
    }
    return status;
}

/* Of a clause or a shape that begins at `at`: where number i of its list is. */
static size_t entry_at(const char *text, size_t len, size_t at, int32_t i) {
    while (at < len && text[at] != '[') at++;
    for (at++; at < len && i > 0; at++) i -= text[at] == ',';
    tg_cursor c = {text, len, at};
    tg_skip_blanks(&c);
    return c.pos < len ? c.pos : len;
}

/* What of device_size and the map beside it is refused: the number that no layout has there, or the map. */
static size_t place_in_maps(const tg_cursor *c, const clauses *x, const tg_desc *desc) {
    if (x->nsize == 0) return x->at[DEVICE_SIZE];
    const size_t  map_at = x->at[x->has[STRIDE_MAP] ? STRIDE_MAP : DIM_MAP];
    const int64_t highest = x->has[DIM_MAP] ? desc->host.ndim - 1 : INT64_MAX;
    const int32_t bits = tg_format_bits(desc->spyre.device_dtype), last = x->nsize - 1;
    for (int32_t k = 0; k < x->nsize; k++) {
        if (x->device_size[k] < 0) return entry_at(c->text, c->len, x->at[DEVICE_SIZE], k);
        if (x->map[k] < -1 || x->map[k] > highest) return entry_at(c->text, c->len, map_at, k);
    }
    const bool is_stick = x->params.arrangement == TG_QFP8WT || bits == 0 ||
                          x->device_size[last] == TG_SPYRE_STICK_BYTES * 8 / bits;
    return is_stick ? map_at : entry_at(c->text, c->len, x->at[DEVICE_SIZE], last);
}

/* What a default layout refuses: a stride of the host tensor, an entry of dim_order, or the layout as a whole. */
static size_t place_in_order(const tg_cursor *c, const clauses *x, const tg_desc *desc, const tg_error *err) {
    for (int32_t d = 0; d < desc->host.ndim; d++)
        if (desc->host.strides[d] < 0) return entry_at(c->text, c->len, x->at[STRIDES], d);
    if (!x->has[DIM_ORDER]) return x->spyre_at;
    const bool has_entry = err != NULL && err->status == TG_ERR_ARGUMENT && err->dim >= 0 && err->dim < x->norder;
    return has_entry ? entry_at(c->text, c->len, x->at[DIM_ORDER], err->dim) : x->at[DIM_ORDER];
}

static tg_status build_spyre(tg_desc *out, clauses *x, const tg_cursor *c, tg_error *err) {
    int32_t order[TG_MAX_NDIM + 1];
    for (int32_t i = 0; i < x->norder; i++) {
        if (x->order[i] < INT32_MIN || x->order[i] > INT32_MAX)
            return tg_fail_at(err, entry_at(c->text, c->len, x->at[DIM_ORDER], i),
                              "dim_order entry %d is %d, which is not a dimension", (int64_t)i, x->order[i]);
        order[i] = (int32_t)x->order[i];
    }
    tg_status s = TG_OK;
    if (x->has[STRIDE_MAP]) {
        out->spyre.rank = x->nsize;
        out->spyre.arrangement = x->params.arrangement;
        out->spyre.device_dtype =
            x->params.has_device_dtype ? x->params.device_dtype : tg_format_for_dtype(out->host.dtype);
        if (out->spyre.device_dtype == TG_FORMAT_INVALID)
            s = tg_fail(err, TG_ERR_ARGUMENT,
                        "Spyre backend does not support dtype %s: it has no device format; say device_dtype=",
                        tg_dtype_name(out->host.dtype));
        memcpy(out->spyre.device_size, x->device_size, sizeof x->device_size);
        memcpy(out->spyre.stride_map, x->map, sizeof x->map);
    } else if (x->has[DIM_MAP]) {
        s = tg_spyre_from_dim_map(&out->spyre, &out->host, x->nsize, x->device_size, x->map, &x->params, err);
    } else {
        if (x->has[DIM_ORDER]) {
            x->params.dim_order = order;
            x->params.norder = x->norder;
        }
        s = tg_spyre_default(&out->spyre, &out->host, &x->params, err);
    }
    if (s == TG_OK) s = tg_layout_from_spyre(&out->layout, &out->spyre, &out->host, err);
    if (s == TG_OK) return TG_OK;
    return place(s, x->has[DEVICE_SIZE] ? place_in_maps(c, x, out) : place_in_order(c, x, out, err), err);
}

/* A size of the shape, or all of it. */
static size_t place_in_shape(const tg_cursor *c, size_t shape_at, const int64_t *shape, int32_t ndim) {
    for (int32_t d = 0; d < ndim; d++)
        if (shape[d] < 0) return entry_at(c->text, c->len, shape_at, d);
    return shape_at;
}

static tg_status build(tg_desc *out, clauses *x, const tg_cursor *c, size_t shape_at, const int64_t *shape,
                       int32_t ndim, tg_dtype dtype, tg_error *err) {
    tg_status s = check_clauses(x, ndim, err);
    if (s != TG_OK) return s;
    const size_t fault = place_in_shape(c, shape_at, shape, ndim);
    if ((s = place(tg_host_contiguous(&out->host, dtype, ndim, shape, err), fault, err)) != TG_OK) {
        /* strides given in full may fit where the dense ones do not */
        if (!x->has[STRIDES] || s != TG_ERR_OVERFLOW) return s;
        out->host = (tg_host){.dtype = dtype, .ndim = ndim};
        memcpy(out->host.shape, shape, (size_t)ndim * sizeof shape[0]);
    }
    if (x->has[STRIDES]) memcpy(out->host.strides, x->strides, (size_t)ndim * sizeof x->strides[0]);
    out->host.offset = x->offset;
    out->notation = x->spyre ? TG_NOTATION_SPYRE : TG_NOTATION_STRIDED;
    if (x->spyre) return build_spyre(out, x, c, err);
    s = tg_layout_strided(&out->layout, dtype, ndim, shape, out->host.strides, x->offset, err);
    return place(s, x->has[STRIDES] ? x->at[STRIDES] : x->has[OFFSET] ? x->at[OFFSET] : shape_at, err);
}

/* ---- XLA ---- */

enum { MAX_REWRITTEN = 4096 };

static tg_status parse_xla(tg_desc *out, const char *text, size_t len, tg_error *err) {
    tg_xla_shape node;
    size_t       count = 0;
    tg_status    s = tg_xla_shape_parse(&node, 1, &count, text, len, err);
    if (s != TG_OK) return s;
    if (count != 1 || node.kind != TG_XLA_ARRAY)
        return tg_fail_at(err, 0, "this shape is a %s; a layout belongs to one array",
                          node.kind == TG_XLA_TUPLE    ? "tuple"
                          : node.kind == TG_XLA_TOKEN  ? "token"
                          : node.kind == TG_XLA_OPAQUE ? "opaque value"
                                                       : "buffer");
    s = tg_layout_from_xla(&out->layout, &node, err);
    if (s != TG_OK) return place(s, tg_xla_place(text, len, &node), err);
    out->notation = TG_NOTATION_XLA;
    out->xla = node;
    out->host.dtype = node.dtype;
    out->host.ndim = node.ndim;
    memcpy(out->host.shape, node.dims, sizeof node.dims);
    return TG_OK;
}

/* XLA's reader knows XLA's type names only; a synonym is replaced before, and positions moved back. */
static tg_status parse_xla_with_type(tg_desc *out, tg_dtype dtype, const char *text, size_t len, size_t name_at,
                                     size_t name_len, tg_error *err) {
    const char *name = tg_dtype_name(dtype);
    if (tg_text_equal(text + name_at, name_len, name)) return parse_xla(out, text, len, err);
    char      buf[MAX_REWRITTEN];
    tg_writer w = tg_writer_make(buf, sizeof buf);
    tg_put_text(&w, name);
    const size_t new_len = w.len, rest = name_at + name_len;
    tg_put_bytes(&w, text + rest, len - rest);
    if (tg_writer_end(&w) >= sizeof buf) {
        (void)tg_fail_at(err, name_at, "XLA text with the type name `%t` is limited to %d bytes; write `%s`",
                         text + name_at, name_len, (int64_t)MAX_REWRITTEN - 1, name);
        return TG_ERR_PARSE;
    }
    const tg_status s = parse_xla(out, buf, w.len, err);
    if (s != TG_OK && err != NULL && err->pos >= new_len) err->pos = err->pos - new_len + rest;
    else if (s != TG_OK && err != NULL && err->pos > 0) err->pos = name_at;
    return s;
}

/* ---- the line ---- */

/* Is this XLA's? A `{` follows the shape, or a size is dynamic. */
static bool looks_like_xla(tg_cursor c) {
    if (!tg_take_char(&c, '[')) return false;
    for (; !tg_at_end(&c); c.pos++) {
        const int ch = tg_peek(&c);
        if (ch == '<' || ch == '?' || ch == '/') return true;
        if (ch == ']') break;
    }
    return tg_take_char(&c, ']') && tg_take_char(&c, '{');
}

/* A number, in brackets or not: "((2,3),4):((1,2),6)", "8:1", "(_8,_2)". */
static bool looks_like_cute(tg_cursor c) {
    while (tg_take_char(&c, '(')) continue;
    (void)tg_take_char(&c, '_');
    return tg_peek(&c) >= '0' && tg_peek(&c) <= '9';
}

static bool is_word(const char *text, size_t len, const char *const *words) {
    for (; *words != NULL; words++)
        if (tg_text_equal(text, len, *words)) return true;
    return false;
}

tg_status tg_desc_parse(tg_desc *out, const char *text, size_t len, tg_error *err) {
    static const char *const xla_words[] = {"token", "opaque", "b", NULL};
    tg_cursor   c = tg_cursor_make(text, len);
    const char *name = NULL;
    tg_desc     desc;
    memset(&desc, 0, sizeof desc);
    tg_skip_blanks(&c);
    const size_t name_at = c.pos;
    if (tg_at_end(&c)) return tg_fail_at(err, name_at, "the text is empty; a layout is text such as f16[2,3]");
    if (looks_like_cute(c))
        return tg_fail_at(err, name_at,
                          "a CuTe layout has no element type, and is not read; write its shape and strides, "
                          "as f16[2,3] strides=[3,1]");
    if (tg_peek(&c) == '(' || tg_peek(&c) == '/') {
        const tg_status s = parse_xla(&desc, text, len, err);
        if (s == TG_OK) *out = desc;
        return s;
    }
    const size_t name_len = tg_take_name(&c, &name);
    if (name_len == 0) return tg_fail_at(err, name_at, "expected an element type such as f16");
    const tg_dtype dtype = tg_dtype_from_name(name, name_len);
    tg_status      s;
    if (is_word(name, name_len, xla_words)) {
        s = parse_xla(&desc, text, len, err);
    } else if (dtype == TG_INVALID) {
        return tg_fail_at(err, name_at,
                          "`%t` is not an element type; there are f16, bf16, f32, s8, u8, s4, pred, f8e4m3fn, ...",
                          name, name_len);
    } else if (looks_like_xla(c)) {
        s = parse_xla_with_type(&desc, dtype, text, len, name_at, name_len, err);
    } else {
        int64_t shape[TG_MAX_NDIM];
        int32_t ndim = 0;
        clauses x;
        memset(&x, 0, sizeof x);
        tg_skip_blanks(&c);
        const size_t shape_at = c.pos;
        if (tg_peek(&c) == '(')
            return tg_fail_at(
                err, shape_at,
                "a shape stands in square brackets; a CuTe layout is not read, write f16[2,3] strides=[3,1]");
        s = read_list(&c, shape, TG_MAX_NDIM, &ndim, "shape", err);
        for (tg_skip_blanks(&c); s == TG_OK && !tg_at_end(&c); tg_skip_blanks(&c)) s = read_clause(&c, &x, err);
        if (s == TG_OK) s = build(&desc, &x, &c, shape_at, shape, ndim, dtype, err);
    }
    if (s == TG_OK) *out = desc;
    return s;
}

/* ---- printing ---- */

static void put_list(tg_writer *w, const char *label, const int64_t *values, int32_t n) {
    tg_put_text(w, label);
    tg_put_char(w, '[');
    tg_put_ints(w, values, n, ",");
    tg_put_char(w, ']');
}

/* As XLA prints it; but where XLA leaves the layout of a scalar out, it is said, because without it the
 * line is strided notation. XLA reads `f32[]{:}` as well. */
static size_t format_xla(char *buf, size_t cap, const tg_desc *desc) {
    const size_t n = tg_xla_shape_format(buf, cap, &desc->xla, 1, true);
    if (desc->xla.ndim > 0 || tg_xla_layout_format(NULL, 0, &desc->xla.layout) > 2) return n;
    tg_writer w = tg_writer_make(buf, cap);
    tg_put_text(&w, tg_dtype_name(desc->xla.dtype));
    tg_put_text(&w, "[]{:}");
    return tg_writer_end(&w);
}

size_t tg_desc_format(char *buf, size_t cap, const tg_desc *desc) {
    if (desc->notation == TG_NOTATION_XLA) return format_xla(buf, cap, desc);
    tg_writer      w = tg_writer_make(buf, cap);
    const tg_host *host = &desc->host;
    const char    *name = tg_dtype_name(host->dtype);
    tg_host        dense;
    put_list(&w, name != NULL ? name : "?", host->shape, host->ndim);
    bool is_dense = tg_host_contiguous(&dense, host->dtype, host->ndim, host->shape, NULL) == TG_OK;
    for (int32_t d = 0; d < host->ndim; d++) is_dense = is_dense && dense.strides[d] == host->strides[d];
    if (!is_dense) put_list(&w, " strides=", host->strides, host->ndim);
    if (host->offset != 0) {
        tg_put_text(&w, " offset=");
        tg_put_int(&w, host->offset);
    }
    if (desc->notation == TG_NOTATION_SPYRE) {
        const tg_spyre *spyre = &desc->spyre;
        put_list(&w, " spyre device_size=", spyre->device_size, spyre->rank);
        put_list(&w, " stride_map=", spyre->stride_map, spyre->rank);
        if (spyre->arrangement != TG_STANDARD) {
            tg_put_text(&w, " arrangement=");
            tg_put_text(&w, tg_arrangement_name(spyre->arrangement));
        }
        if (spyre->device_dtype != tg_format_for_dtype(host->dtype)) {
            tg_put_text(&w, " device_dtype=");
            tg_put_text(&w, tg_format_name(spyre->device_dtype));
        }
    }
    return tg_writer_end(&w);
}

/* ---- conversion ---- */

static tg_status to_strided(tg_desc *out, const tg_layout *in, tg_error *err) {
    tg_layout l;
    tg_status s = tg_layout_coalesce(&l, in, err);
    if (s == TG_OK) s = tg_host_contiguous(&out->host, in->dtype, in->ndim, in->shape, err);
    if (s != TG_OK) return s;
    if (in->elem_bits != tg_dtype_storage_bits(in->dtype))
        return tg_fail(err, TG_ERR_UNREPRESENTABLE, "strides count elements of %d bits; the layout stores %s in %d",
                       (int64_t)tg_dtype_storage_bits(in->dtype), tg_dtype_name(in->dtype), (int64_t)in->elem_bits);
    const bool empty = tg_layout_numel(in) == 0;
    for (int32_t d = 0; d < l.ndim && !empty; d++) {
        tg_digits f;
        if (l.shape[d] == 1) continue;
        if (!tg_digits_of_dims(&f, &l, &d, 1))
            return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, d,
                               "dimension %d is folded with others: it has no stride of its own", (int64_t)d);
        tg_digits_coalesce(&f);
        if (f.n > 1) return tg_digits_fail_cut(&f, d, err);
        out->host.strides[d] = f.stride[0];
    }
    for (int32_t i = 0; i < l.nmodes; i++)
        if (l.mode[i].axis == TG_AXIS_COPY)
            return tg_fail(err, TG_ERR_UNREPRESENTABLE, "a strided tensor holds one copy of each element");
    out->host.offset = empty ? 0 : l.offset;
    return tg_layout_strided(&out->layout, in->dtype, in->ndim, in->shape, out->host.strides, out->host.offset, err);
}

static tg_status to_spyre(tg_desc *out, const tg_layout *in, tg_error *err) {
    tg_status s = tg_host_contiguous(&out->host, in->dtype, in->ndim, in->shape, err);
    if (s == TG_OK) s = tg_spyre_from_layout(&out->spyre, in, &out->host, err);
    if (s == TG_OK) s = tg_layout_from_spyre(&out->layout, &out->spyre, &out->host, err);
    return s;
}

static tg_status to_xla(tg_desc *out, const tg_layout *in, tg_error *err) {
    tg_status s = tg_xla_from_layout(&out->xla, in, err);
    if (s == TG_OK) s = tg_layout_from_xla(&out->layout, &out->xla, err);
    out->host = (tg_host){.dtype = in->dtype, .ndim = in->ndim};
    memcpy(out->host.shape, in->shape, sizeof in->shape);
    return s;
}

tg_status tg_desc_convert(tg_desc *out, const tg_desc *in, tg_notation to, tg_error *err) {
    tg_desc desc;
    if (to == in->notation) {
        *out = *in;
        return TG_OK;
    }
    memset(&desc, 0, sizeof desc);
    desc.notation = to;
    tg_status s;
    switch (to) {
    case TG_NOTATION_STRIDED: s = to_strided(&desc, &in->layout, err); break;
    case TG_NOTATION_SPYRE: s = to_spyre(&desc, &in->layout, err); break;
    case TG_NOTATION_XLA: s = to_xla(&desc, &in->layout, err); break;
    case TG_NOTATION_CUTE:
        return tg_fail(err, TG_ERR_ARGUMENT, "CuTe text is written by tg_cute_format, not by conversion");
    default: return tg_fail(err, TG_ERR_ARGUMENT, "notation %d is not known", (int64_t)to);
    }
    if (s == TG_OK) *out = desc;
    return s;
}
