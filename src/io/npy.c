/* The header of an .npy file: a Python dictionary in front of raw elements.
 *
 *     byte 0       6     8          10                                      128
 *          \x93NUMPY 1 0  118 0     {'descr': '<f4', ... 'shape': (2, 3), }  \n elements
 *          magic     version  length    text, blanks, one line feed
 *
 * The length is 2 bytes in version 1.0 and 4 in 2.0 and 3.0, least significant first; 3.0 says that
 * the text is UTF-8 where the others have Latin-1, which no key or type that we accept can show.
 * Of Python's syntax the reader takes what NumPy writes, now or in the past: three keys in any order,
 * strings in either quotes, a tuple of sizes that Python 2 may have printed as `3L`. The rest is an
 * error at its byte: keys twice, escapes, lists, leading zeros, text after the dictionary. The cursor
 * walks the file itself, so that a position in it is a position in the file.
 *
 * Types. `descr` is a byte order (`<` least significant first, `>` most, `=` or none the reader's own,
 * `|` not applicable), a kind and a size in bytes. Types of ml_dtypes have no kind of their own, and what
 * NumPy writes for them (the same from ml_dtypes 0.1.0 to 0.6.0) says less than it should:
 *
 *     bfloat16        '<V2'    the only 2-byte type; '|V2' once NumPy read and saved it without ml_dtypes
 *     float8_e5m2     '<f1'    the only type with this descr
 *     other 8-bit floats, and all types below 8 bits (one element a byte)    '<V1'    written, but not read:
 *                              the file does not say which of them it is, and a guess would be wrong data
 *
 * Source: NumPy's numpy.lib.format module; files saved by it, tests/python/test_npy.py. */
#include <tegula/io.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"

#include <string.h>

enum {
    VERSION_AT = 6,
    LENGTH_AT = 8,
    TEXT_AT = 10,        /* in version 1.0 */
    ALIGNMENT = 64,      /* of the first element */
    GROWTH_DIGITS = 21   /* room for the size of the slowest dimension, so that it can grow in place */
};

static const unsigned char magic[VERSION_AT] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* ---- element types ----------------------------------------------------------- */

typedef struct descr_row {
    const char *kind_size;
    char        order; /* as NumPy writes it on a little-endian machine */
    tg_dtype    dtype;
} descr_row;

static const descr_row descrs[] = {
    {"b1", '|', TG_PRED}, {"i1", '|', TG_S8}, {"u1", '|', TG_U8}, {"f1", '<', TG_F8E5M2},
    {"i2", '<', TG_S16}, {"u2", '<', TG_U16}, {"f2", '<', TG_F16}, {"V2", '<', TG_BF16},
    {"i4", '<', TG_S32}, {"u4", '<', TG_U32}, {"f4", '<', TG_F32},
    {"i8", '<', TG_S64}, {"u8", '<', TG_U64}, {"f8", '<', TG_F64},
    {"c8", '<', TG_C64}, {"c16", '<', TG_C128},
};

static const descr_row one_byte_descr = {"V1", '<', TG_INVALID}; /* what ml_dtypes leaves nameless */

static const struct { char kind; const char *holds; } foreign_kinds[] = {
    {'O', "Python objects"}, {'S', "text"}, {'a', "text"}, {'U', "text"},
    {'M', "dates"}, {'m', "time spans"}, {'V', "raw bytes"},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static bool host_is_big_endian(void) {
    const uint16_t one = 1;
    unsigned char  first;
    memcpy(&first, &one, 1);
    return first == 0;
}

static int64_t item_bytes(tg_dtype dtype) { return tg_dtype_storage_bits(dtype) / 8; }

static const descr_row *descr_by_text(const char *kind_size, size_t len) {
    for (size_t i = 0; i < COUNT(descrs); i++)
        if (tg_text_equal(kind_size, len, descrs[i].kind_size)) return &descrs[i];
    return NULL;
}

/* NULL if dtype is no element type. */
static const descr_row *descr_by_dtype(tg_dtype dtype) {
    for (size_t i = 0; i < COUNT(descrs); i++)
        if (descrs[i].dtype == dtype) return &descrs[i];
    return item_bytes(dtype) == 1 ? &one_byte_descr : NULL;
}

static const char *foreign_kind(const char *kind_size, size_t len) {
    for (size_t i = 0; len > 0 && i < COUNT(foreign_kinds); i++)
        if (foreign_kinds[i].kind == kind_size[0]) return foreign_kinds[i].holds;
    return "elements of a type that there is none for here";
}

static tg_status fail_descr(const char *text, size_t len, const char *kind_size, size_t kind_len, tg_error *err) {
    if (tg_text_equal(kind_size, kind_len, one_byte_descr.kind_size))
        return tg_fail(err, TG_ERR_UNSUPPORTED,
                       "element type '%t': NumPy writes it for every 1-byte type of ml_dtypes but one, and the file "
                       "does not say which; save the array as .view(numpy.uint8)", text, len);
    return tg_fail(err, TG_ERR_UNSUPPORTED, "element type '%t': the file holds %s", text, len,
                   foreign_kind(kind_size, kind_len));
}

/* The type that a descr says; `at` is its place in the file. */
static tg_status read_type(tg_npy *npy, const char *text, size_t len, size_t at, tg_error *err) {
    const bool       has_order = len > 0 && memchr("<>=|", text[0], 4) != NULL;
    const char       order = has_order ? text[0] : '=';
    const char      *kind_size = text + (has_order ? 1 : 0);
    const size_t     kind_len = len - (has_order ? 1 : 0);
    const descr_row *row = descr_by_text(kind_size, kind_len);
    if (row == NULL) return fail_descr(text, len, kind_size, kind_len, err);
    const bool ordered = item_bytes(row->dtype) > 1;
    if (order == '|' && ordered && row->dtype != TG_BF16)
        return tg_fail_at(err, at, "descr '%t': '|' says that there is no byte order, but %t needs one", text, len,
                          kind_size, kind_len);
    npy->dtype = row->dtype;
    npy->big_endian = ordered && (order == '>' || (order == '=' && host_is_big_endian()));
    return TG_OK;
}

/* ---- reading ------------------------------------------------------------------ */

static bool is_printable_ascii(int c) { return c >= 0x20 && c < 0x7f; }

static tg_status read_string(const char **text, size_t *len, tg_cursor *c, tg_error *err) {
    tg_skip_blanks(c);
    const size_t start = c->pos;
    const int    quote = tg_peek(c);
    if (quote != '\'' && quote != '"') return tg_fail_at(err, start, "expected a quoted string");
    for (c->pos++; tg_peek(c) != quote; c->pos++) {
        if (tg_at_end(c)) return tg_fail_at(err, start, "the string has no closing quote");
        if (tg_peek(c) == '\\' || !is_printable_ascii(tg_peek(c)))
            return tg_fail_at(err, c->pos, "a string must be of printable ASCII characters without escapes");
    }
    *text = c->text + start + 1;
    *len = c->pos - start - 1;
    c->pos++;
    return TG_OK;
}

/* Length of the bracketed text at the cursor, for messages: up to the bracket that closes it, the end,
 * or what may be no UTF-8, such as a field name in Latin-1. */
static size_t bracketed_length(const tg_cursor *c) {
    size_t depth = 0;
    for (size_t i = c->pos; i < c->len; i++) {
        if (!is_printable_ascii((unsigned char)c->text[i])) return i - c->pos;
        if (c->text[i] == '[' || c->text[i] == '(') depth++;
        if (c->text[i] == ']' || c->text[i] == ')') depth--;
        if (depth == 0) return i - c->pos + 1;
    }
    return c->len - c->pos;
}

static tg_status read_descr(tg_npy *npy, tg_cursor *c, tg_error *err) {
    tg_skip_blanks(c);
    if (tg_peek(c) == '[' || tg_peek(c) == '(')
        return tg_fail(err, TG_ERR_UNSUPPORTED, "element type %t: the file holds structured elements",
                       c->text + c->pos, bracketed_length(c));
    const size_t    at = c->pos;
    const char     *text = NULL;
    size_t          len = 0;
    const tg_status status = read_string(&text, &len, c, err);
    return status == TG_OK ? read_type(npy, text, len, at + 1, err) : status;
}

static tg_status read_fortran_order(tg_npy *npy, tg_cursor *c, tg_error *err) {
    tg_skip_blanks(c);
    npy->fortran_order = tg_take_word(c, "True");
    if (npy->fortran_order || tg_take_word(c, "False")) return TG_OK;
    return tg_fail_at(err, c->pos, "fortran_order must be True or False");
}

static bool has_leading_zero(const tg_cursor *c) {
    return c->pos + 1 < c->len && c->text[c->pos] == '0' && c->text[c->pos + 1] >= '0' && c->text[c->pos + 1] <= '9';
}

static size_t digits_length(const tg_cursor *c) {
    size_t n = 0;
    while (c->pos + n < c->len && c->text[c->pos + n] >= '0' && c->text[c->pos + n] <= '9') n++;
    return n;
}

static tg_status read_size(int64_t *size, int32_t dim, tg_cursor *c, tg_error *err) {
    tg_skip_blanks(c);
    if (tg_peek(c) == '-') return tg_fail_at(err, c->pos, "size of dimension %d must not be negative", (int64_t)dim);
    if (has_leading_zero(c)) return tg_fail_at(err, c->pos, "a size must not start with 0");
    bool found = false;
    if (!tg_take_int(c, size, &found))
        return tg_fail_dim(err, TG_ERR_OVERFLOW, dim, "size %t of dimension %d does not fit int64",
                           c->text + c->pos, digits_length(c), (int64_t)dim);
    if (!found) return tg_fail_at(err, c->pos, "expected a size");
    if (tg_peek(c) == 'L') c->pos++;
    return TG_OK;
}

/* What follows a size: *more is false after the closing parenthesis. */
static tg_status read_size_end(bool *more, int32_t ndim, tg_cursor *c, tg_error *err) {
    const bool comma = tg_take_char(c, ',');
    *more = !tg_take_char(c, ')');
    if (*more && !comma) return tg_fail_at(err, c->pos, "expected ',' or ')' after a size");
    if (!*more && !comma && ndim == 1)
        return tg_fail_at(err, c->pos - 1, "a tuple of one size needs a comma: (3,)");
    return TG_OK;
}

static tg_status read_shape(tg_npy *npy, tg_cursor *c, tg_error *err) {
    if (!tg_take_char(c, '(')) return tg_fail_at(err, c->pos, "shape must be a tuple of sizes");
    int32_t ndim = 0;
    for (bool more = !tg_take_char(c, ')'); more;) {
        if (ndim == TG_MAX_NDIM)
            return tg_fail(err, TG_ERR_LIMIT, "the shape has more than %d dimensions (TG_MAX_NDIM)",
                           (int64_t)TG_MAX_NDIM);
        tg_status status = read_size(&npy->shape[ndim], ndim, c, err);
        if (status == TG_OK) status = read_size_end(&more, ++ndim, c, err);
        if (status != TG_OK) return status;
    }
    npy->ndim = ndim;
    return TG_OK;
}

static const struct {
    const char *name;
    tg_status (*read)(tg_npy *npy, tg_cursor *c, tg_error *err);
} keys[] = {
    {"descr", read_descr}, {"fortran_order", read_fortran_order}, {"shape", read_shape},
};

static tg_status read_entry(bool seen[COUNT(keys)], tg_npy *npy, tg_cursor *c, tg_error *err) {
    tg_skip_blanks(c);
    const size_t    at = c->pos;
    const char     *text = NULL;
    size_t          len = 0, k = 0;
    const tg_status status = read_string(&text, &len, c, err);
    if (status != TG_OK) return status;
    while (k < COUNT(keys) && !tg_text_equal(text, len, keys[k].name)) k++;
    if (k == COUNT(keys)) return tg_fail_at(err, at, "unknown key '%t'", text, len);
    if (seen[k]) return tg_fail_at(err, at, "the key '%s' stands there twice", keys[k].name);
    seen[k] = true;
    if (!tg_take_char(c, ':')) return tg_fail_at(err, c->pos, "expected ':' after the key '%s'", keys[k].name);
    return keys[k].read(npy, c, err);
}

static tg_status read_dict(tg_npy *npy, tg_cursor *c, tg_error *err) {
    bool seen[COUNT(keys)] = {false};
    if (!tg_take_char(c, '{')) return tg_fail_at(err, c->pos, "expected '{'");
    while (!tg_take_char(c, '}')) {
        const tg_status status = read_entry(seen, npy, c, err);
        if (status != TG_OK) return status;
        const bool comma = tg_take_char(c, ',');
        tg_skip_blanks(c);
        if (!comma && tg_peek(c) != '}') return tg_fail_at(err, c->pos, "expected ',' or '}'");
    }
    for (size_t k = 0; k < COUNT(keys); k++)
        if (!seen[k]) return tg_fail_at(err, c->pos - 1, "the key '%s' is missing", keys[k].name);
    tg_skip_blanks(c);
    return tg_at_end(c) ? TG_OK : tg_fail_at(err, c->pos, "unexpected text after the dictionary");
}

static tg_status read_version(size_t *length_bytes, const unsigned char *bytes, size_t len, tg_error *err) {
    for (size_t i = 0; i < sizeof magic; i++) {
        if (i == len) return tg_fail_at(err, len, "the file ends inside the magic bytes \\x93NUMPY");
        if (bytes[i] != magic[i]) return tg_fail_at(err, i, "not an .npy file: it must start with \\x93NUMPY");
    }
    if (len < LENGTH_AT) return tg_fail_at(err, len, "the file ends before the format version");
    const unsigned char major = bytes[VERSION_AT], minor = bytes[VERSION_AT + 1];
    if (major < 1 || major > 3 || minor != 0)
        return tg_fail_at(err, VERSION_AT, "format version %d.%d is not 1.0, 2.0 or 3.0", (int64_t)major,
                          (int64_t)minor);
    *length_bytes = major == 1 ? 2 : 4;
    return TG_OK;
}

/* Where the text of the header starts and ends. */
static tg_status read_extent(size_t *start, size_t *end, const unsigned char *bytes, size_t len, tg_error *err) {
    size_t          width = 0;
    uint32_t        length = 0;
    const tg_status status = read_version(&width, bytes, len, err);
    if (status != TG_OK) return status;
    *start = LENGTH_AT + width;
    if (len < *start) return tg_fail_at(err, len, "the file ends inside the length of the header");
    for (size_t i = 0; i < width; i++) length |= (uint32_t)bytes[LENGTH_AT + i] << (8 * i);
    if (length > len - *start)
        return tg_fail_at(err, len, "the header should have %d bytes, but the file ends after %d of them",
                          (int64_t)length, (int64_t)(len - *start));
    *end = *start + length;
    return TG_OK;
}

static bool has_zero(const tg_npy *npy) {
    for (int32_t d = 0; d < npy->ndim; d++)
        if (npy->shape[d] == 0) return true;
    return false;
}

static tg_status count_bytes(int64_t *out, const tg_npy *npy, tg_error *err) {
    int64_t bytes = has_zero(npy) ? 0 : item_bytes(npy->dtype);
    for (int32_t d = 0; d < npy->ndim; d++)
        if (!tg_mul(&bytes, bytes, npy->shape[d]))
            return tg_fail_dim(err, TG_ERR_OVERFLOW, d, "shape %v of %d-byte elements: the bytes do not fit int64",
                               npy->shape, npy->ndim, item_bytes(npy->dtype));
    *out = bytes;
    return TG_OK;
}

tg_status tg_npy_parse(tg_npy *out, const void *bytes, size_t len, tg_error *err) {
    tg_npy    npy = {.dtype = TG_INVALID};
    size_t    start = 0, end = 0;
    tg_status status = read_extent(&start, &end, bytes, len, err);
    if (status != TG_OK) return status;
    tg_cursor c = {bytes, end, start};
    status = read_dict(&npy, &c, err);
    if (status != TG_OK) return status;
    npy.data_offset = (int64_t)end;
    status = count_bytes(&npy.data_bytes, &npy, err);
    if (status == TG_OK) *out = npy;
    return status;
}

/* ---- writing ------------------------------------------------------------------ */

static tg_status check_shape(const tg_npy *npy, tg_error *err) {
    int64_t bytes;
    if (npy->ndim < 0 || npy->ndim > TG_MAX_NDIM)
        return tg_fail(err, TG_ERR_ARGUMENT, "%d dimensions are not in [0,%d]", (int64_t)npy->ndim,
                       (int64_t)TG_MAX_NDIM);
    for (int32_t d = 0; d < npy->ndim; d++)
        if (npy->shape[d] < 0)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, d, "size %d of dimension %d must not be negative",
                               npy->shape[d], (int64_t)d);
    return count_bytes(&bytes, npy, err);
}

static tg_status check_writable(const tg_npy *npy, tg_error *err) {
    if (descr_by_dtype(npy->dtype) == NULL)
        return tg_fail(err, TG_ERR_ARGUMENT, "%d is not an element type", (int64_t)npy->dtype);
    if (npy->big_endian)
        return tg_fail(err, TG_ERR_ARGUMENT, "headers are written for little-endian data: swap the bytes first");
    return check_shape(npy, err);
}

static void put_repeated(tg_writer *w, char c, size_t n) {
    for (size_t i = 0; i < n; i++) tg_put_char(w, c);
}

static size_t decimal_length(int64_t value) {
    tg_writer w = tg_writer_make(NULL, 0);
    tg_put_int(&w, value);
    return w.len;
}

static void put_dict(tg_writer *w, const tg_npy *npy) {
    const descr_row *row = descr_by_dtype(npy->dtype);
    tg_put_text(w, "{'descr': '");
    tg_put_char(w, row->order);
    tg_put_text(w, row->kind_size);
    tg_put_text(w, "', 'fortran_order': ");
    tg_put_text(w, npy->fortran_order ? "True" : "False");
    tg_put_text(w, ", 'shape': (");
    tg_put_ints(w, npy->shape, npy->ndim, ", ");
    tg_put_text(w, npy->ndim == 1 ? ",), }" : "), }");
    if (npy->ndim > 0)
        put_repeated(w, ' ', GROWTH_DIGITS - decimal_length(npy->shape[npy->fortran_order ? npy->ndim - 1 : 0]));
}

/* Sixteen sizes of 19 digits stay far below 65535 bytes, from where version 2.0 would be needed. */
_Static_assert(TG_MAX_NDIM * (19 + 2) + 100 + GROWTH_DIGITS + ALIGNMENT < 65535, "needs version 2.0 headers");

/* Blanks that make the header a multiple of 64 bytes; NumPy adds 64 where none are needed. */
static size_t padding_length(size_t dict_length) { return ALIGNMENT - (TEXT_AT + dict_length + 1) % ALIGNMENT; }

tg_status tg_npy_format(void *buf, size_t cap, size_t *need, const tg_npy *npy, tg_error *err) {
    const tg_status status = check_writable(npy, err);
    if (status != TG_OK) return status;
    tg_writer measure = tg_writer_make(NULL, 0);
    put_dict(&measure, npy);
    const size_t padding = padding_length(measure.len), length = measure.len + padding + 1;
    /* A writer keeps its last byte for the terminator, which a header does not have. */
    tg_writer w = tg_writer_make(buf, cap < SIZE_MAX ? cap + 1 : cap);
    tg_put_bytes(&w, (const char *)magic, sizeof magic);
    tg_put_bytes(&w, "\1\0", 2);
    tg_put_char(&w, (char)(length & 0xff));
    tg_put_char(&w, (char)(length >> 8));
    put_dict(&w, npy);
    put_repeated(&w, ' ', padding);
    tg_put_char(&w, '\n');
    *need = w.len;
    return TG_OK;
}

/* ---- as a layout ---------------------------------------------------------------- */

/* Strides of a dense array whose first dimension is the fastest. */
static tg_status column_major(int64_t *strides, const tg_npy *npy, tg_error *err) {
    int64_t stride = 1;
    for (int32_t d = 0; d < npy->ndim; d++) {
        strides[d] = stride;
        if (!tg_mul(&stride, stride, tg_max(npy->shape[d], 1)))
            return tg_fail_dim(err, TG_ERR_OVERFLOW, d, "shape %v: the strides do not fit int64", npy->shape,
                               npy->ndim);
    }
    return TG_OK;
}

tg_status tg_layout_from_npy(tg_layout *out, const tg_npy *npy, tg_error *err) {
    int64_t   strides[TG_MAX_NDIM];
    tg_status status = check_shape(npy, err);
    if (npy->big_endian && tg_dtype_storage_bits(npy->dtype) > 8)
        return tg_fail(err, TG_ERR_UNSUPPORTED,
                       "the elements are big-endian: the order of their bytes is not a layout");
    if (status == TG_OK && npy->fortran_order) status = column_major(strides, npy, err);
    if (status != TG_OK) return status;
    return tg_layout_strided(out, npy->dtype, npy->ndim, npy->shape, npy->fortran_order ? strides : NULL, 0, err);
}
