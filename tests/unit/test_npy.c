/* tg_npy_*: headers as NumPy writes them, and every rule of the reader with the exact byte at fault.
 *
 * Rows hold the text of a header; `file_of` puts magic, version and length in front. In a row that
 * must fail, '@' stands before the byte at fault and is not part of the text. */
#include <tegula/io.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

enum { FILE_SIZE = 2048 };

typedef struct npy_file {
    unsigned char bytes[FILE_SIZE];
    size_t        text_at; /* where the text of the header starts */
    size_t        len;
    size_t        fault; /* place of the '@', or len */
} npy_file;

static npy_file file_of(unsigned char major, const char *text) {
    npy_file     f = {.bytes = {0x93, 'N', 'U', 'M', 'P', 'Y', major, 0}, .text_at = major == 1 ? 10 : 12};
    const char  *mark = strchr(text, '@');
    const size_t length = strlen(text) - (mark != NULL), before = mark != NULL ? (size_t)(mark - text) : length;
    assert_true(f.text_at + length <= FILE_SIZE);
    f.bytes[8] = (unsigned char)(length & 0xff);
    f.bytes[9] = (unsigned char)(length >> 8);
    memcpy(f.bytes + f.text_at, text, before);
    memcpy(f.bytes + f.text_at + before, text + before + (mark != NULL), length - before);
    f.len = f.text_at + length;
    f.fault = f.text_at + before;
    return f;
}

static tg_npy parsed(unsigned char major, const char *text) {
    const npy_file f = file_of(major, text);
    tg_npy         npy;
    tg_error       err = {.message = ""};
    if (tg_npy_parse(&npy, f.bytes, f.len, &err) != TG_OK) fail_msg("%s: %s at %zu", text, err.message, err.pos);
    assert_int_equal(npy.data_offset, f.len);
    return npy;
}

static void assert_untouched(const tg_npy *npy) {
    for (size_t i = 0; i < sizeof *npy; i++) assert_int_equal(((const unsigned char *)npy)[i], 0xa5);
}

static void assert_fails(const unsigned char *bytes, size_t len, tg_status status, size_t pos, const char *message) {
    tg_npy   npy;
    tg_error err = {.message = ""};
    memset(&npy, 0xa5, sizeof npy);
    const tg_status got = tg_npy_parse(&npy, bytes, len, &err);
    if (got != status || err.pos != pos || strstr(err.message, message) == NULL)
        fail_msg("wanted %s at %zu with '%s', got %s at %zu: %s", tg_status_name(status), pos, message,
                 tg_status_name(got), err.pos, err.message);
    assert_int_equal(err.status, status);
    assert_untouched(&npy);
    assert_int_equal(tg_npy_parse(&npy, bytes, len, NULL), status);
}

/* ---- what is read ------------------------------------------------------------- */

static void accepts_what_python_can_write(void **state) {
    (void)state;
    static const char *const same[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }          \n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
        "{'shape': (2, 3), 'descr': '<f4', 'fortran_order': False}",
        "{'fortran_order': False, 'shape': (2, 3), 'descr': '<f4',}\n\n",
        "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (2, 3)}",
        " \t{ 'descr'\n:\t'<f4' , 'fortran_order' : False , 'shape' : ( 2 , 3 , ) , } \t\r\n",
        "{'descr':'<f4','fortran_order':False,'shape':(2,3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }",
        "{'descr': '=f4', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': 'f4', 'fortran_order': False, 'shape': (2, 3), }",
    };
    for (unsigned char major = 1; major <= 3; major++)
        for (size_t i = 0; i < COUNT(same); i++) {
            const tg_npy npy = parsed(major, same[i]);
            assert_int_equal(npy.dtype, TG_F32);
            assert_false(npy.big_endian);
            assert_false(npy.fortran_order);
            assert_int_equal(npy.ndim, 2);
            assert_int_equal(npy.shape[0], 2);
            assert_int_equal(npy.shape[1], 3);
            assert_int_equal(npy.shape[2], 0);
            assert_int_equal(npy.data_bytes, 24);
        }
}

static void reads_shapes(void **state) {
    (void)state;
    static const struct { const char *shape; int32_t ndim; int64_t first, data_bytes; } rows[] = {
        {"()", 0, 0, 2}, {"( )", 0, 0, 2}, {"(3,)", 1, 3, 6}, {"(3L,)", 1, 3, 6}, {"(0,)", 1, 0, 0},
        {"(0, 5)", 2, 0, 0}, {"(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,7)", 16, 1, 14},
        {"(4611686018427387903,)", 1, 4611686018427387903, 9223372036854775806},
        {"(2147483648, 2147483647)", 2, 2147483648, 9223372032559808512},
        {"(4611686018427387904, 4, 0)", 3, 4611686018427387904, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[256];
        (void)snprintf(text, sizeof text, "{'descr': '<f2', 'fortran_order': True, 'shape': %s, }", rows[i].shape);
        const tg_npy npy = parsed(1, text);
        assert_true(npy.fortran_order);
        assert_int_equal(npy.ndim, rows[i].ndim);
        if (npy.ndim > 0) assert_true(npy.shape[0] == rows[i].first);
        assert_true(npy.data_bytes == rows[i].data_bytes);
    }
}

static void reads_types(void **state) {
    (void)state;
    static const struct { const char *descr; tg_dtype dtype; bool big_endian; int64_t bytes; } rows[] = {
        {"|b1", TG_PRED, false, 1}, {"|i1", TG_S8, false, 1}, {"|u1", TG_U8, false, 1}, {"<i2", TG_S16, false, 2},
        {"<u2", TG_U16, false, 2}, {"<i4", TG_S32, false, 4}, {"<u4", TG_U32, false, 4}, {"<i8", TG_S64, false, 8},
        {"<u8", TG_U64, false, 8}, {"<f2", TG_F16, false, 2}, {"<f4", TG_F32, false, 4}, {"<f8", TG_F64, false, 8},
        {"<c8", TG_C64, false, 8}, {"<c16", TG_C128, false, 16},
        {">f4", TG_F32, true, 4}, {">i2", TG_S16, true, 2}, {">c16", TG_C128, true, 16},
        {">i1", TG_S8, false, 1}, {">b1", TG_PRED, false, 1}, {"b1", TG_PRED, false, 1}, {"<u1", TG_U8, false, 1},
        /* ml_dtypes */
        {"<V2", TG_BF16, false, 2}, {"|V2", TG_BF16, false, 2}, {">V2", TG_BF16, true, 2}, {"V2", TG_BF16, false, 2},
        {"<f1", TG_F8E5M2, false, 1},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (), }", rows[i].descr);
        const tg_npy npy = parsed(1, text);
        assert_int_equal(npy.dtype, rows[i].dtype);
        assert_int_equal(npy.big_endian, rows[i].big_endian);
        assert_int_equal(npy.data_bytes, rows[i].bytes);
    }
}

/* Version 2.0 exists for headers over 65535 bytes, such as this one of blanks. */
static void reads_long_headers(void **state) {
    (void)state;
    static const char    text[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    static unsigned char bytes[12 + 70000] = {0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0, 0x70, 0x11, 0x01, 0x00};
    tg_npy               npy;
    memset(bytes + 12, ' ', 70000);
    memcpy(bytes + 12 + 69000, text, strlen(text));
    assert_int_equal(tg_npy_parse(&npy, bytes, sizeof bytes, NULL), TG_OK);
    assert_int_equal(npy.data_offset, sizeof bytes);
}

/* ---- what is refused ------------------------------------------------------------ */

static void refuses_with_place(void **state) {
    (void)state;
    static const struct { const char *text, *message; } rows[] = {
        {"@", "expected '{'"},
        {"   @", "expected '{'"},
        {"@[1]", "expected '{'"},
        {"{@}", "the key 'descr' is missing"},
        {"{'descr': '<f4', 'fortran_order': False, @}", "the key 'shape' is missing"},
        {"{'descr': '<f4', 'shape': (3,)@}", "the key 'fortran_order' is missing"},
        {"{'shape': (3,), 'fortran_order': False @}", "the key 'descr' is missing"},
        {"{@,}", "expected a quoted string"},
        {"{@descr: '<f4'}", "expected a quoted string"},
        {"{@u'descr': '<f4'}", "expected a quoted string"},
        {"{'descr': '<f4',@, 'shape': ()}", "expected a quoted string"},
        {"{'descr': '<f4',  @'x': 1}", "unknown key 'x'"},
        {"{@'Descr': '<f4'}", "unknown key 'Descr'"},
        {"{@'': '<f4'}", "unknown key ''"},
        {"{'descr': '<f4', @'descr': '<f4'}", "the key 'descr' stands there twice"},
        {"{'descr' @'<f4'}", "expected ':' after the key 'descr'"},
        {"{'descr': @'<f4", "no closing quote"},
        {"{'descr': @\"<f4'}", "no closing quote"},
        {"{'descr': '<f4@\n'}", "printable ASCII characters without escapes"},
        {"{'descr': '<f@\\x34'}", "printable ASCII characters without escapes"},
        {"{'descr': '<f@\xe9'}", "printable ASCII characters without escapes"},
        {"{'descr': @3}", "expected a quoted string"},
        {"{'descr': '@|f4'}", "'|' says that there is no byte order, but f4 needs one"},
        {"{'descr': '<f4' @'fortran_order': False}", "expected ',' or '}'"},
        {"{'descr': '<f4'@", "expected ',' or '}'"},
        {"{'descr': '<f4',@", "expected a quoted string"},
        {"{'fortran_order': @0}", "fortran_order must be True or False"},
        {"{'fortran_order': @Falsehood}", "fortran_order must be True or False"},
        {"{'fortran_order': @'True'}", "fortran_order must be True or False"},
        {"{'fortran_order':@", "fortran_order must be True or False"},
        {"{'shape': @[2, 3]}", "shape must be a tuple"},
        {"{'shape': @3}", "shape must be a tuple"},
        {"{'shape': (@,)}", "expected a size"},
        {"{'shape': (2, @, 3)}", "expected a size"},
        {"{'shape': (2 @3)}", "expected ',' or ')'"},
        {"{'shape': (3@)}", "a tuple of one size needs a comma"},
        {"{'shape': (3@.0,)}", "expected ',' or ')'"},
        {"{'shape': (3L@L,)}", "expected ',' or ')'"},
        {"{'shape': (1@_000,)}", "expected ',' or ')'"},
        {"{'shape': (0@x10,)}", "expected ',' or ')'"},
        {"{'shape': (2, @-3)}", "size of dimension 1 must not be negative"},
        {"{'shape': (@-0,)}", "size of dimension 0 must not be negative"},
        {"{'shape': (@+3,)}", "expected a size"},
        {"{'shape': (@03,)}", "must not start with 0"},
        {"{'shape': (@None,)}", "expected a size"},
        {"{'shape': (@(2), 3)}", "expected a size"},
        {"{'shape': (2, 3@", "expected ',' or ')'"},
        {"{'shape': (2,@", "expected a size"},
        {"{'shape': (@", "expected a size"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': ()} @x", "unexpected text after the dictionary"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': ()}@,", "unexpected text after the dictionary"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': ()}\n@}", "unexpected text after the dictionary"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': ()} @# note", "unexpected text after the dictionary"},
    };
    for (unsigned char major = 1; major <= 3; major++)
        for (size_t i = 0; i < COUNT(rows); i++) {
            const npy_file f = file_of(major, rows[i].text);
            assert_fails(f.bytes, f.len, TG_ERR_PARSE, f.fault, rows[i].message);
        }
}

static void refuses_types(void **state) {
    (void)state;
    static const struct { const char *descr, *message; } rows[] = {
        {"'|O'", "'|O': the file holds Python objects"}, {"'|S8'", "'|S8': the file holds text"},
        {"'<U8'", "'<U8': the file holds text"}, {"'<M8[ns]'", "'<M8[ns]': the file holds dates"},
        {"'<m8[s]'", "'<m8[s]': the file holds time spans"}, {"'|V8'", "'|V8': the file holds raw bytes"},
        {"'<f16'", "'<f16': the file holds elements of a type"}, {"'<c32'", "'<c32'"}, {"'<W4'", "'<W4'"},
        {"'<f3'", "'<f3'"}, {"'float32'", "'float32'"}, {"''", "''"}, {"'<'", "'<'"}, {"'<f04'", "'<f04'"},
        {"'<<f4'", "'<<f4'"}, {"'<f4 '", "'<f4 '"},
        {"'<V1'", "the file does not say which"}, {"'|V1'", "the file does not say which"},
        {"[('x', '<f4'), ('y', '<i2')]", "element type [('x', '<f4'), ('y', '<i2')]: the file holds structured"},
        {"('<f4', (2,))", "element type ('<f4', (2,)): the file holds structured"},
        {"[('x'", "element type [('x'"},
        {"[('\xe9', '<f4')]", "element type [(': the file holds structured"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[160];
        (void)snprintf(text, sizeof text, "{'descr': %s, 'fortran_order': False, 'shape': (), }", rows[i].descr);
        const npy_file f = file_of(1, text);
        assert_fails(f.bytes, f.len, TG_ERR_UNSUPPORTED, 0, rows[i].message);
    }
}

static void refuses_sizes_over_the_limits(void **state) {
    (void)state;
    static const struct { const char *shape; tg_status status; const char *message; } rows[] = {
        {"(9223372036854775807,)", TG_ERR_OVERFLOW, "shape [9223372036854775807] of 4-byte elements"},
        {"(2305843009213693952,)", TG_ERR_OVERFLOW, "do not fit int64"},
        {"(2147483648, 2147483648)", TG_ERR_OVERFLOW, "shape [2147483648,2147483648] of 4-byte elements"},
        {"(9223372036854775808,)", TG_ERR_OVERFLOW, "size 9223372036854775808 of dimension 0 does not fit int64"},
        {"(0, 99999999999999999999)", TG_ERR_OVERFLOW, "size 99999999999999999999 of dimension 1"},
        {"(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)", TG_ERR_LIMIT, "more than 16 dimensions (TG_MAX_NDIM)"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[160];
        (void)snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }", rows[i].shape);
        const npy_file f = file_of(1, text);
        assert_fails(f.bytes, f.len, rows[i].status, 0, rows[i].message);
    }
}

static void refuses_other_files(void **state) {
    (void)state;
    static const struct { const char *bytes; size_t len, pos; const char *message; } rows[] = {
        {"", 0, 0, "ends inside the magic"},
        {"\x93NUM", 4, 4, "ends inside the magic"},
        {"NUMPY", 5, 0, "not an .npy file"},
        {"\x93NUMPX\1\0", 8, 5, "not an .npy file"},
        {"PK\3\4", 4, 0, "not an .npy file"},
        {"\x93NUMPY", 6, 6, "before the format version"},
        {"\x93NUMPY\1", 7, 7, "before the format version"},
        {"\x93NUMPY\0\0\0\0", 10, 6, "format version 0.0"},
        {"\x93NUMPY\4\0\0\0", 10, 6, "format version 4.0"},
        {"\x93NUMPY\1\1\0\0", 10, 6, "format version 1.1"},
        {"\x93NUMPY\1\0", 8, 8, "inside the length of the header"},
        {"\x93NUMPY\1\0\2", 9, 9, "inside the length of the header"},
        {"\x93NUMPY\2\0\2\0\0", 11, 11, "inside the length of the header"},
        {"\x93NUMPY\1\0\3\0{}", 12, 12, "should have 3 bytes, but the file ends after 2"},
        {"\x93NUMPY\2\0\xff\xff\xff\xff{}", 14, 14, "should have 4294967295 bytes, but the file ends after 2"},
        {"\x93NUMPY\1\0\0\0{}", 12, 10, "expected '{'"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_fails((const unsigned char *)rows[i].bytes, rows[i].len, TG_ERR_PARSE, rows[i].pos, rows[i].message);
    assert_fails(NULL, 0, TG_ERR_PARSE, 0, "ends inside the magic");
}

/* Every prefix of a good file fails, and its fault is within it. */
static void refuses_prefixes(void **state) {
    (void)state;
    const npy_file f = file_of(2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n");
    for (size_t len = 0; len < f.len; len++) {
        tg_npy   npy;
        tg_error err;
        assert_int_equal(tg_npy_parse(&npy, f.bytes, len, &err), TG_ERR_PARSE);
        assert_int_equal(err.pos, len);
    }
}

/* ---- writing --------------------------------------------------------------------- */

/* The bytes that NumPy 2.4.6 writes: np.save of np.zeros((2, 3), '<f4', order='F'). */
static void writes_what_numpy_writes(void **state) {
    (void)state;
    static const char expected[] = "\x93NUMPY\1\0v\0{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }"
                                   "                                                           \n";
    const tg_npy npy = {.dtype = TG_F32, .fortran_order = true, .ndim = 2, .shape = {2, 3}};
    char         buf[128];
    size_t       need = 0;
    assert_int_equal(sizeof expected - 1, 128);
    assert_int_equal(tg_npy_format(buf, sizeof buf, &need, &npy, NULL), TG_OK);
    assert_int_equal(need, 128);
    assert_memory_equal(buf, expected, 128);
}

static void writes_at_most_cap_bytes(void **state) {
    (void)state;
    const tg_npy npy = {.dtype = TG_S64, .ndim = 1, .shape = {7}};
    char         whole[128], buf[160];
    size_t       need = 0;
    assert_int_equal(tg_npy_format(NULL, 0, &need, &npy, NULL), TG_OK);
    assert_int_equal(need, 128);
    assert_int_equal(tg_npy_format(whole, sizeof whole, &need, &npy, NULL), TG_OK);
    for (size_t cap = 0; cap <= sizeof buf; cap++) {
        const size_t written = cap < need ? cap : need;
        memset(buf, 0x5a, sizeof buf);
        assert_int_equal(tg_npy_format(buf, cap, &need, &npy, NULL), TG_OK);
        assert_int_equal(need, 128);
        assert_memory_equal(buf, whole, written);
        for (size_t i = written; i < sizeof buf; i++) assert_int_equal(buf[i], 0x5a);
    }
}

static void writes_what_it_reads(void **state) {
    (void)state;
    for (int dtype = TG_PRED; dtype <= TG_F6E2M3FN; dtype++)
        for (int32_t ndim = 0; ndim <= TG_MAX_NDIM; ndim++) {
            tg_npy   npy = {.dtype = (tg_dtype)dtype, .fortran_order = ndim % 2 == 1, .ndim = ndim}, back;
            char     buf[1024], descr[5];
            size_t   need = 0;
            tg_error err;
            for (int32_t d = 0; d < ndim; d++) npy.shape[d] = d == 3 ? 1000000007 : d % 3;
            if (tg_dtype_bits(npy.dtype) == 0) continue;
            assert_int_equal(tg_npy_format(buf, sizeof buf, &need, &npy, NULL), TG_OK);
            assert_true(need <= sizeof buf && need % 64 == 0 && buf[need - 1] == '\n');
            memcpy(descr, buf + 21, 5);
            if (memcmp(descr, "<V1'", 4) == 0) {
                assert_int_equal(tg_npy_parse(&back, buf, need, &err), TG_ERR_UNSUPPORTED);
                assert_int_equal(tg_dtype_storage_bits(npy.dtype), 8);
                continue;
            }
            assert_int_equal(tg_npy_parse(&back, buf, need, &err), TG_OK);
            assert_int_equal(back.dtype, npy.dtype);
            assert_int_equal(back.fortran_order, npy.fortran_order);
            assert_int_equal(back.ndim, npy.ndim);
            assert_memory_equal(back.shape, npy.shape, sizeof npy.shape);
            assert_int_equal(back.data_offset, need);
        }
}

static void refuses_to_write(void **state) {
    (void)state;
    static const struct { tg_npy npy; tg_status status; int32_t dim; const char *message; } rows[] = {
        {{.dtype = TG_INVALID}, TG_ERR_ARGUMENT, -1, "0 is not an element type"},
        {{.dtype = (tg_dtype)99}, TG_ERR_ARGUMENT, -1, "99 is not an element type"},
        {{.dtype = TG_F32, .big_endian = true}, TG_ERR_ARGUMENT, -1, "little-endian"},
        {{.dtype = TG_F32, .ndim = 17}, TG_ERR_ARGUMENT, -1, "17 dimensions are not in [0,16]"},
        {{.dtype = TG_F32, .ndim = -1}, TG_ERR_ARGUMENT, -1, "-1 dimensions are not in [0,16]"},
        {{.dtype = TG_F32, .ndim = 2, .shape = {2, -3}}, TG_ERR_ARGUMENT, 1, "size -3 of dimension 1"},
        {{.dtype = TG_F32, .ndim = 2, .shape = {INT64_C(1) << 31, INT64_C(1) << 31}}, TG_ERR_OVERFLOW, 1, "int64"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char     buf[128] = "";
        size_t   need = 12345;
        tg_error err = {.message = ""};
        assert_int_equal(tg_npy_format(buf, sizeof buf, &need, &rows[i].npy, &err), rows[i].status);
        assert_non_null(strstr(err.message, rows[i].message));
        assert_int_equal(err.dim, rows[i].dim);
        assert_int_equal(need, 12345);
        assert_int_equal(buf[0], 0);
    }
}

/* ---- as a layout -------------------------------------------------------------------- */

static void becomes_a_layout(void **state) {
    (void)state;
    tg_layout     l;
    const int64_t coord[3] = {1, 2, 3};
    tg_npy        npy = {.dtype = TG_F16, .ndim = 3, .shape = {2, 3, 5}};
    assert_int_equal(tg_layout_from_npy(&l, &npy, NULL), TG_OK);
    assert_int_equal(l.dtype, TG_F16);
    assert_int_equal(l.span, 30);
    assert_int_equal(tg_layout_offset(&l, coord), 1 * 15 + 2 * 5 + 3);
    npy.fortran_order = true;
    assert_int_equal(tg_layout_from_npy(&l, &npy, NULL), TG_OK);
    assert_int_equal(l.span, 30);
    assert_int_equal(tg_layout_offset(&l, coord), 1 + 2 * 2 + 3 * 6);
    assert_int_equal(tg_layout_validate(&l, NULL), TG_OK);
}

static void becomes_a_layout_or_an_error(void **state) {
    (void)state;
    const int64_t big = INT64_C(1) << 62;
    const struct { tg_npy npy; tg_status status; } rows[] = {
        {{.dtype = TG_F32}, TG_OK},
        {{.dtype = TG_F32, .fortran_order = true}, TG_OK},
        {{.dtype = TG_F32, .ndim = 2, .shape = {0, 7}}, TG_OK},
        {{.dtype = TG_F32, .fortran_order = true, .ndim = 2, .shape = {0, 7}}, TG_OK},
        {{.dtype = TG_F32, .ndim = 3, .shape = {big, 4, 0}}, TG_ERR_OVERFLOW},
        {{.dtype = TG_F32, .fortran_order = true, .ndim = 3, .shape = {big, 4, 0}}, TG_ERR_OVERFLOW},
        {{.dtype = TG_F32, .ndim = 17}, TG_ERR_ARGUMENT},
        {{.dtype = TG_F32, .ndim = -1}, TG_ERR_ARGUMENT},
        {{.dtype = TG_F32, .fortran_order = true, .ndim = 1, .shape = {-1}}, TG_ERR_ARGUMENT},
        {{.dtype = TG_INVALID, .ndim = 1, .shape = {1}}, TG_ERR_ARGUMENT},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        tg_layout l;
        tg_error  err = {.message = ""};
        assert_int_equal(tg_layout_from_npy(&l, &rows[i].npy, &err), rows[i].status);
        assert_true(rows[i].status == TG_OK || err.message[0] != '\0');
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_what_python_can_write),
        cmocka_unit_test(reads_shapes),
        cmocka_unit_test(reads_types),
        cmocka_unit_test(reads_long_headers),
        cmocka_unit_test(refuses_with_place),
        cmocka_unit_test(refuses_types),
        cmocka_unit_test(refuses_sizes_over_the_limits),
        cmocka_unit_test(refuses_other_files),
        cmocka_unit_test(refuses_prefixes),
        cmocka_unit_test(writes_what_numpy_writes),
        cmocka_unit_test(writes_at_most_cap_bytes),
        cmocka_unit_test(writes_what_it_reads),
        cmocka_unit_test(refuses_to_write),
        cmocka_unit_test(becomes_a_layout),
        cmocka_unit_test(becomes_a_layout_or_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
