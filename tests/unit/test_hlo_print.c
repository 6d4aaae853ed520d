/* HLO text that is printed: its form, and that it reads as the same and prints as the same again. */
#include "hlo_outline.h"

static const struct { const char *name, *text, *want;
} printed[] = {
    {"the form of today",
     "HloModule m:,a=1 FileNames 1 \"x\" c{} ENTRY e (p: s8[]) -> s8[] {p=s8[] parameter(0) "
     "ROOT n = s8[ 2 ] negate(p),k={1},  l=2 },t=\"x\"",
     "HloModule m, a=1\n\nFileNames 1 \"x\"\n\n%c {\n}\n\nENTRY %e (p: s8[]) -> s8[] {\n  %p = s8[] parameter(0)\n"
     "  ROOT %n = s8[ 2 ] negate(%p), k={1}, l=2\n}, t=\"x\"\n\n"},
    {"operands", "e { a = s8[] f(s8[] x, %y#1, t#0#2 , neg( s8[] z ), s8[], 7 , ...(+2) ) }",
     "%e {\n  ROOT %a = s8[] f(s8[] x, %y#1, t#0#2, neg(s8[] z), s8[], 7, ...(+2))\n}\n\n"},
    {"no ENTRY and no ROOT", "HloModule m a { x = s8[] f() } b { y = s8[] f() z = s8[] f() }",
     "HloModule m\n\n%a {\n  ROOT %x = s8[] f()\n}\n\nENTRY %b {\n  %y = s8[] f()\n  ROOT %z = s8[] f()\n}\n\n"},
    {"empty layouts", "e { a = f32[] {} f((f32[]{}, s8[]{ }) b), k=1 }",
     "%e {\n  ROOT %a = f32[] f((f32[], s8[]) b), k=1\n}\n\n"},
    {"a comment before an empty layout", "e { a = s8[]/*]*/{} f() }", "%e {\n  ROOT %a = s8[] f()\n}\n\n"},
    {"no empty layout in a comment", "e { a = (s8[]/*{{}}*/ { }) f() }",
     "%e {\n  ROOT %a = (s8[]/*{{}}*/ ) f()\n}\n\n"},
    {"nested bodies",
     "e{a=s8[] f(),calls={x=s8[] g(),to_apply={y=s8[] h()}},k=1 b=s8[] f(),branch_computations={{s8[] i()},{s8[] "
     "j()}}}",
     "%e {\n  %a = s8[] f(), calls=\n  {\n    ROOT %x = s8[] g(), to_apply=\n    {\n      ROOT %y = s8[] h()\n    }\n  "
     "}, k=1\n"
     "  ROOT %b = s8[] f(), branch_computations={\n  {\n    ROOT s8[] i()\n  },\n  {\n    ROOT s8[] j()\n  }\n  "
     "}\n}\n\n"},
    {"one loose instruction", "%z = s8[] add(s8[] x, s8[] y)", "%z = s8[] add(s8[] x, s8[] y)\n\n"},
    {"loose instructions", "x=s8[] f() y=s8[] g(x)", "%x = s8[] f()\nROOT %y = s8[] g(%x)\n\n"},
    {"fingerprints", "HloModule , a=1 { f32[] parameter(0) }",
     "HloModule , a=1\n\nENTRY {\n  ROOT f32[] parameter(0)\n}\n\n"},
    {"a lone quote stays alone", "e { a = s8[] f(it's\n), k=o'\n, l='b, c', m=1 b = s8[] f(), k=it's }",
     "%e {\n  %a = s8[] f(it's),\nk=o',\nl='b, c', m=1\n  ROOT %b = s8[] f(), k=it's\n}\n\n"},
    {"values stay", "e { a = s8[] f(), k=\"a  \\\"b\" , l={ 1,/*c*/2 }, calls=%x,  %y, m=z w }",
     "%e {\n  ROOT %a = s8[] f(), k=\"a  \\\"b\", l={ 1,/*c*/2 }, calls=%x,  %y, m=z w\n}\n\n"},
};

static void test_printing(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(printed); i++) check_print(printed[i].name, printed[i].text, printed[i].want);
}

static void test_printing_into_little_room(void **state) {
    (void)state;
    tg_hlo_module *m = parse(printed[0].text);
    const size_t   len = strlen(printed[0].want);
    for (size_t cap = 0; cap <= len + 1; cap++) {
        char *buf = malloc(cap + 1);
        assert_non_null(buf);
        buf[cap] = 'x';
        assert_int_equal(tg_hlo_print(buf, cap, m), len);
        assert_int_equal(buf[cap], 'x');
        if (cap > 0) {
            assert_memory_equal(buf, printed[0].want, cap - 1);
            assert_int_equal(buf[cap - 1], '\0');
        }
        free(buf);
    }
    tg_hlo_destroy(&m);
}

static void test_printing_one_instruction(void **state) {
    (void)state;
    char           got[256];
    tg_hlo_module *m = parse("e { a = s8[] f() ROOT b=s8[] g(a, s8[] neg(a)),k=1 }");
    (void)tg_hlo_print_instruction(got, sizeof got, m, 2);
    assert_string_equal(got, "%b = s8[] g(%a, s8[] neg(%a)), k=1");
    (void)tg_hlo_print_instruction(got, sizeof got, m, 1);
    assert_string_equal(got, "s8[] neg(%a)");
    tg_hlo_destroy(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_printing),
        cmocka_unit_test(test_printing_into_little_room),
        cmocka_unit_test(test_printing_one_instruction),
    };
    return cmocka_run_group_tests_name("hlo_print", tests, NULL, NULL);
}
