/* HLO text that is refused: where, with which words, and at which limits. */
#include "hlo_outline.h"

static const struct { const char *text; tg_status status; size_t pos; const char *says;
} refused[] = {
    {"", TG_ERR_PARSE, 0, "line 1, column 1: expects HloModule, a computation or an instruction, saw the end"},
    {" \n // x\n", TG_ERR_PARSE, 8,
     "line 3, column 1: expects HloModule, a computation or an instruction, saw the end"},
    {"HloModule m\n}", TG_ERR_PARSE, 12, "line 2, column 1: expects a computation or an instruction, saw '}'"},
    {"HloModule a HloModule b", TG_ERR_PARSE, 12,
     "line 1, column 13: expects a computation or an instruction, saw 'HloModule'"},
    {"HloModule m, \xc3\xa9", TG_ERR_PARSE, 13,
     "line 1, column 14: expects the key of an attribute behind ',', saw '\xc3\xa9'"},
    {"HloModule m, a", TG_ERR_PARSE, 14, "line 1, column 15: expects '=' behind the key of an attribute, saw the end"},
    {"e {", TG_ERR_PARSE, 2, "line 1, column 3: this computation, or a bracket inside it, is not closed"},
    {"e {\n a = f32[] parameter(0\n}\n", TG_ERR_PARSE, 2,
     "line 1, column 3: this computation, or a bracket inside it, is not closed"},
    {"e {\n a = f32[] f()\n", TG_ERR_PARSE, 2,
     "line 1, column 3: this computation, or a bracket inside it, is not closed"},
    {"ENTRY e (x: f32[]) -> f32[]", TG_ERR_PARSE, 27,
     "line 1, column 28: expects the '{' of a computation, saw the end"},
    {"ENTRY e (x: f32[]) -> {", TG_ERR_PARSE, 22, "line 1, column 23: expects the result's shape behind '->', saw '{'"},
    {"%e (x: f32[]) - {", TG_ERR_PARSE, 15, "line 1, column 16: expects the result's shape behind '->', saw ' '"},
    {"e {\n  %a f32[] f() }", TG_ERR_PARSE, 9,
     "line 2, column 6: expects '=' behind the name of an instruction, saw 'f32'"},
    {"e { a = f32[] }", TG_ERR_PARSE, 14, "line 1, column 15: expects the opcode of an instruction, saw '}'"},
    {"e { a = f32[] \xc3\xa9\xc3\xa9 f( }", TG_ERR_PARSE, 14, "expects the opcode of an instruction, saw '\xc3\xa9'"},
    {"\xc3\xa9\n\xc3\xa9 {", TG_ERR_PARSE, 0, "line 1, column 1: "},
    {"// \xc3\xa9\xc3\xa9\n/*\xc3\xa9*/ ?", TG_ERR_PARSE, 15, "line 2, column 7: expects a computation"},
    {"e { a = f32[] f }", TG_ERR_PARSE, 16, "line 1, column 17: expects '(' behind the opcode, saw '}'"},
    {"e { a = f32[] f(x }", TG_ERR_PARSE, 18, "line 1, column 19: expects ')' behind the operands, saw '}'"},
    {"e { a = f32[] f(x, [y }", TG_ERR_PARSE, 23, "line 1, column 24: expects ')' behind the operands, saw the end"},
    {"e { a = f32[] f(x, [y ", TG_ERR_PARSE, 19, "line 1, column 20: a bracket that is not closed"},
    {"e { a = f32[] constant((1) ", TG_ERR_PARSE, 22, "line 1, column 23: a bracket that is not closed"},
    {"e { a = f32[] f(), k={1 ", TG_ERR_PARSE, 21, "line 1, column 22: a bracket that is not closed"},
    {"e { a = f32[] f(), k=\"1 }", TG_ERR_PARSE, 21, "line 1, column 22: a string that does not end"},
    {"e { a = f32[] f(), k=\"1\\\" }", TG_ERR_PARSE, 21, "line 1, column 22: a string that does not end"},
    {"e { a = f32[] f(), backend_config={\"}\" ", TG_ERR_PARSE, 34, "line 1, column 35: a brace that is not closed"},
    {"e { a = f32[] f(), backend_config={\"} }", TG_ERR_PARSE, 35, "line 1, column 36: a string that does not end"},
    {"e { a = f32[] f() /* }", TG_ERR_PARSE, 18, "line 1, column 19: a comment that does not end"},
    {"e { a /* = f32[] f() }", TG_ERR_PARSE, 6, "line 1, column 7: a comment that does not end"},
    {"e { a = f32[/* }", TG_ERR_PARSE, 12, "line 1, column 13: not an XLA shape: expects integer (saw '/* }')"},
    {"e { } /* }", TG_ERR_PARSE, 6, "line 1, column 7: a comment that does not end"},
    {"e { a = f32[] f(), to_apply={ b = f32[] g() ", TG_ERR_PARSE, 28,
     "line 1, column 29: this computation, or a bracket inside it, is not closed"},
    {"e { a = f32[] f(), calls={ { b = f32[] g() } c }", TG_ERR_PARSE, 45,
     "line 1, column 46: expects '}' behind the bodies, saw 'c'"},
    {"e { a = f32[] f(), 5=x }", TG_OK, 0, NULL},
    /* shapes */
    {"e {\n a = f32[2 f() }", TG_ERR_PARSE, 15, "line 2, column 12: not an XLA shape: expects a list to end with"},
    {"e {\n a = f32[2 f() ", TG_ERR_PARSE, 15, "line 2, column 12: not an XLA shape: expects a list to end with"},
    {"e { a = (f32[2], s8[] tuple(b) }", TG_ERR_PARSE, 22,
     "line 1, column 23: not an XLA shape: expects ')' at the end of tuple"},
    {"e {\n a = f32[2,x] f() }", TG_ERR_PARSE, 15,
     "line 2, column 12: not an XLA shape: expects integer (saw 'x')"},
    {"e {\n a = float[2] f() }", TG_ERR_PARSE, 9,
     "line 2, column 6: not an XLA shape: expected primitive type, saw 'float'"},
    {"e { a = f32[2]{1,0} f() }", TG_ERR_PARSE, 14, "Dimensions size is 1, but minor to major size is 2."},
    {"e { a = f32[2]{0:T(2} f() }", TG_ERR_PARSE, 20, "line 1, column 21: not an XLA shape: "},
    {"e { a = f32[] f((f32[2], s9[]) x) }", TG_ERR_PARSE, 25,
     "line 1, column 26: not an XLA shape: expected primitive type"},
    {"e { a = f32[99999999999999999999] f() }", TG_ERR_OVERFLOW, 12, "line 1, column 13: not an XLA shape: "},
    {"e { a = f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] f() }", TG_ERR_LIMIT, 44,
     "line 1, column 45: more than 16 dimensions"},
    {"e (p: f32[2], q: g32[]) -> f32[] {}", TG_ERR_PARSE, 17, "line 1, column 18: not an XLA shape: "},
    {"e (p: f32[2]) -> g32[] {}", TG_ERR_PARSE, 17, "line 1, column 18: not an XLA shape: "},
    {"HloModule m, entry_computation_layout={(f32[2])->f32[2]{1}}", TG_OK, 0, NULL},
    {"HloModule m, entry_computation_layout={(f32[2])->f32[2]{1,0}}", TG_ERR_PARSE, 55, "Dimensions size is 1"},
    {"e { a = f32[] f(), outfeed_shape=f32[x] }", TG_ERR_PARSE, 37,
     "line 1, column 38: not an XLA shape: expects integer"},
    {"e { a = f32[] f(), literal=f32[x] 1 }", TG_ERR_PARSE, 31, "line 1, column 32: not an XLA shape: expects integer"},
    {"e { a = f32[] f(), operand_layout_constraints={s8[], f32[x]} }", TG_ERR_PARSE, 57,
     "not an XLA shape: expects integer"},
    {"e { a = f32[]{}{0} f() }", TG_ERR_PARSE, 15, "expects the opcode of an instruction, saw '{'"},
    {"e { a = (f32[2]{0}{}, s8[]) f() }", TG_ERR_PARSE, 18, "not an XLA shape: expects ')' at the end of tuple"},
    {"e { a = ((f32[]{}), s8[]{x}) f() }", TG_ERR_PARSE, 24, "not an XLA shape: "},
};

static void test_refusals(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++) {
        tg_hlo_module  *m = NULL;
        tg_error        err = {TG_OK, 0, 0, ""};
        const char     *text = refused[i].text;
        const tg_status status = tg_hlo_parse(&m, text, strlen(text), &err);
        if (status != refused[i].status) fail_msg("'%s': status %d: %s", text, (int)status, err.message);
        tg_hlo_destroy(&m);
        if (status == TG_OK) continue;
        assert_null(m);
        assert_int_equal(err.status, status);
        if (err.pos != refused[i].pos || strstr(err.message, refused[i].says) == NULL)
            fail_msg("'%s': at %zu: %s\nwant at %zu: %s", text, err.pos, err.message, refused[i].pos, refused[i].says);
    }
}

/* `count` times the opening piece, then the middle, then the closing piece as often. */
static char *repeated(const char *open, const char *middle, const char *close, int count) {
    const size_t cap = (strlen(open) + strlen(close)) * (size_t)count + strlen(middle) + 16;
    char        *text = malloc(cap);
    assert_non_null(text);
    tg_writer w = tg_writer_make(text, cap);
    tg_put_text(&w, "e {");
    for (int i = 0; i < count; i++) tg_put_text(&w, open);
    tg_put_text(&w, middle);
    for (int i = 0; i < count; i++) tg_put_text(&w, close);
    tg_put_text(&w, "}");
    (void)tg_writer_end(&w);
    return text;
}

static void check_depth(const char *open, const char *middle, const char *close, int depth, tg_status want) {
    char           *text = repeated(open, middle, close, depth);
    tg_hlo_module  *m = NULL;
    tg_error        err;
    const tg_status status = tg_hlo_parse(&m, text, strlen(text), &err);
    if (status != want) fail_msg("%s to depth %d: status %d", open, depth, (int)status);
    if (status == TG_OK) {
        free(print(m));
    } else if (status == TG_ERR_LIMIT) {
        assert_non_null(strstr(err.message, "more than 200 bodies and operands inside each other"));
        assert_int_equal(err.pos,
                         3 + strlen(open) * TG_HLO_MAX_DEPTH + (strchr(open, '{') != NULL ? strlen(open) - 1 : 4));
    }
    tg_hlo_destroy(&m);
    free(text);
}

static void test_depth_is_limited(void **state) {
    (void)state;
    check_depth("s8[] f() , to_apply={", "s8[] g()", "}", TG_HLO_MAX_DEPTH, TG_OK);
    check_depth("s8[] f() , to_apply={", "s8[] g()", "}", TG_HLO_MAX_DEPTH + 1, TG_ERR_LIMIT);
    check_depth("s8[] f() , to_apply={", "s8[] g()", "}", 100000, TG_ERR_LIMIT);
    check_depth("neg(", "x", ")", TG_HLO_MAX_DEPTH + 1, TG_OK);
    check_depth("neg(", "x", ")", TG_HLO_MAX_DEPTH + 2, TG_ERR_LIMIT);
    check_depth("neg(", "x", ")", 100000, TG_ERR_LIMIT);
    check_depth("a = s8[] f(), x={", "", "}", 100000, TG_OK);
    check_depth("{", "", "}", 100000, TG_ERR_PARSE);
}

static void test_text_without_bytes(void **state) {
    (void)state;
    tg_hlo_module *m = NULL;
    assert_int_equal(tg_hlo_parse(&m, NULL, 0, NULL), TG_ERR_PARSE);
    assert_null(m);
    tg_hlo_destroy(&m);
}

#if SIZE_MAX > UINT32_MAX
static void test_text_beyond_positions(void **state) {
    (void)state;
    tg_hlo_module *m = NULL;
    tg_error       err;
    assert_int_equal(tg_hlo_parse(&m, "e {}", (size_t)UINT32_MAX, &err), TG_ERR_LIMIT);
    assert_non_null(strstr(err.message, "4294967295"));
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_depth_is_limited),
        cmocka_unit_test(test_text_without_bytes),
#if SIZE_MAX > UINT32_MAX
        cmocka_unit_test(test_text_beyond_positions),
#endif
    };
    return cmocka_run_group_tests_name("hlo_refused", tests, NULL, NULL);
}
