/* HLO text: what of it is understood, where and why it is refused, and how it prints. What XLA makes of the same
 * texts is tests/python/test_hlo_text.py; values of attributes are test_hlo_value.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <string.h>
#include <tegula/hlo.h>

#include "base/text.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

enum { MAX_TEXT = 8192 };

static tg_hlo_module *parse(const char *text) {
    tg_hlo_module  *m = NULL;
    tg_error        err;
    const tg_status status = tg_hlo_parse(&m, text, strlen(text), &err);
    if (status != TG_OK) fail_msg("'%s': %s", text, err.message);
    return m;
}

static char *print(const tg_hlo_module *m) {
    const size_t len = tg_hlo_print(NULL, 0, m);
    char        *text = malloc(len + 1);
    assert_non_null(text);
    assert_int_equal(tg_hlo_print(text, len + 1, m), len);
    assert_int_equal(strlen(text), len);
    return text;
}

/* ---- outlines: a module in one line -------------------------------------------------
 *
 *     computation   [!]name[signature]{instructions}[attributes]    ! entry, + nested, ~ loose
 *     instruction   [*]name=shape opcode(operands)[attributes]      * root, ^ in an operand
 *     operand       [shape ]name[path]@instruction                  @? if none has the name */

static void put_piece(tg_writer *w, tg_hlo_text text) { tg_put_bytes(w, text.chars, text.len); }

static void outline_attributes(tg_writer *w, const tg_hlo_module *m, int64_t first, int64_t n) {
    if (n > 0) tg_put_char(w, '[');
    for (int64_t i = first; i < first + n; i++) {
        const tg_hlo_attribute a = tg_hlo_get_attribute(m, i);
        if (i > first) tg_put_char(w, ';');
        put_piece(w, a.key);
        tg_put_char(w, '=');
        put_piece(w, a.value);
    }
    if (n > 0) tg_put_char(w, ']');
}

static void outline_operand(tg_writer *w, const tg_hlo_module *m, int64_t id) {
    const tg_hlo_operand o = tg_hlo_get_operand(m, id);
    if (o.shape != TG_HLO_NONE) {
        put_piece(w, tg_hlo_get_shape(m, o.shape).text);
        tg_put_char(w, ' ');
    }
    put_piece(w, o.name);
    put_piece(w, o.path);
    tg_put_char(w, '@');
    if (o.instruction == TG_HLO_NONE) tg_put_char(w, '?');
    else tg_put_int(w, o.instruction);
}

static void outline_operands(tg_writer *w, const tg_hlo_module *m, const tg_hlo_instruction *in, int64_t id) {
    if (in->noperands == 0) put_piece(w, tg_hlo_get_arguments(m, id));
    for (int64_t i = 0; i < in->noperands; i++) {
        if (i > 0) tg_put_char(w, ' ');
        outline_operand(w, m, in->first_operand + i);
    }
    if (in->elided == 0) return;
    tg_put_text(w, " +");
    tg_put_int(w, in->elided);
}

static void outline_instruction(tg_writer *w, const tg_hlo_module *m, int64_t id) {
    const tg_hlo_instruction in = tg_hlo_get_instruction(m, id);
    if (in.root) tg_put_char(w, '*');
    if (in.in_operand) tg_put_char(w, '^');
    put_piece(w, in.name);
    tg_put_char(w, '=');
    if (in.shape != TG_HLO_NONE) put_piece(w, tg_hlo_get_shape(m, in.shape).text);
    tg_put_char(w, ' ');
    put_piece(w, in.opcode);
    tg_put_char(w, '(');
    outline_operands(w, m, &in, id);
    tg_put_char(w, ')');
    outline_attributes(w, m, in.first_attribute, in.nattributes);
}

static void outline_computation(tg_writer *w, const tg_hlo_module *m, int64_t id) {
    const tg_hlo_computation c = tg_hlo_get_computation(m, id);
    if (c.entry) tg_put_char(w, '!');
    if (c.nested) tg_put_char(w, '+');
    if (c.loose) tg_put_char(w, '~');
    put_piece(w, c.name);
    put_piece(w, c.signature);
    tg_put_char(w, '{');
    for (int64_t i = 0; i < c.ninstructions; i++) {
        if (i > 0) tg_put_text(w, "; ");
        outline_instruction(w, m, c.first_instruction + i);
    }
    tg_put_char(w, '}');
    outline_attributes(w, m, c.first_attribute, c.nattributes);
}

static void outline(char *buf, const tg_hlo_module *m) {
    tg_writer           w = tg_writer_make(buf, MAX_TEXT);
    const tg_hlo_header h = tg_hlo_get_header(m);
    if (h.present) {
        put_piece(&w, h.name);
        outline_attributes(&w, m, 0, h.nattributes);
        tg_put_char(&w, ':');
    }
    for (int64_t i = 0; i < h.ncomputations; i++) outline_computation(&w, m, i);
    (void)tg_writer_end(&w);
}

/* ---- what is understood --------------------------------------------------------------- */

static const struct { const char *name, *text, *want;
} forms[] = {
    {"names with and without percent", "HloModule m ENTRY e { p = f32[2] parameter(0) ROOT %n.1 = f32[2] negate(p) }",
     "m:!e{p=f32[2] parameter(0); *n.1=f32[2] negate(p@0)}"},
    {"several instructions on a line, and one on several",
     "ENTRY e { a = s8[] constant(1), k=v b = s8[]\n add\n (a\n, b)\n , x = 1\n c = s8[] negate(b)}",
     "!e{a=s8[] constant(1)[k=v]; b=s8[] add(a@0 b@1)[x=1]; *c=s8[] negate(b@1)}"},
    {"no ENTRY: the last one; no ROOT: the last one",
     "HloModule m a { p = f32[] parameter(0) } b { q = f32[] parameter(0) r = f32[] negate(q) }",
     "m:a{*p=f32[] parameter(0)}!b{q=f32[] parameter(0); *r=f32[] negate(q@1)}"},
    {"ENTRY not last", "HloModule m ENTRY a { p = f32[] parameter(0) } b { q = f32[] parameter(0) }",
     "m:!a{*p=f32[] parameter(0)}b{*q=f32[] parameter(0)}"},
    {"the last of two roots", "e { ROOT a = f32[] parameter(0) ROOT b = f32[] negate(a) c = f32[] negate(b) }",
     "!e{a=f32[] parameter(0); *b=f32[] negate(a@0); c=f32[] negate(b@1)}"},
    {"signature", "HloModule m %c (a.1: f32[2], %b: (s8[], token[])) -> (f32[2]{0}, s8[]) { x = f32[2] parameter(0) }",
     "m:!c(a.1: f32[2], %b: (s8[], token[])) -> (f32[2]{0}, s8[]){*x=f32[2] parameter(0)}"},
    {"a body follows a result with and without layout",
     "HloModule m a (x: f32[2]) -> f32[2]{0} {} b () -> f32[2] {} c (x: s8[]) {}",
     "m:a(x: f32[2]) -> f32[2]{0}{}b() -> f32[2]{}!c(x: s8[]){}"},
    {"header", "HloModule m.2:, a=1, b={ {0}: (0, {}) }, c={k=\"v,}\"} e {}",
     "m.2[a=1;b={ {0}: (0, {}) };c={k=\"v,}\"}]:!e{}"},
    {"header without a name, unnamed computations, as in fingerprints",
     "HloModule , a=1\n\n{\n f32[] parameter(0)\n}\n\nENTRY {\n f32[] parameter(0)\n ROOT f32[] negate(f32[])\n}",
     "[a=1]:{*=f32[] parameter(0)}!{=f32[] parameter(0); *=f32[] negate(f32[] @?)}"},
    {"header of a name that nobody would choose", "HloModule a<b>::c/d, k=1", "a<b>::c/d[k=1]:"},
    {"attributes behind a body", "HloModule m e { p = f32[] parameter(0) }, execution_thread=\"a b\", x=1 // e\nf {}",
     "m:e{*p=f32[] parameter(0)}[execution_thread=\"a b\";x=1]!f{}"},
    {"no shape", "e { a = f32[2] parameter(0) b = negate(a) negate(b) }",
     "!e{a=f32[2] parameter(0); b= negate(a@0); *= negate(b@1)}"},
    {"loose instructions", "a = f32[] parameter(0), k=v\n%b = f32[] negate(%a)",
     "!~{a=f32[] parameter(0)[k=v]; *b=f32[] negate(a@0)}"},
    {"loose instructions between computations", "HloModule m e {} f32[] add(x, y) ROOT (s8[]) tuple(z) f {}",
     "m:e{}~{=f32[] add(x@? y@?); *=(s8[]) tuple(z@?)}!f{}"},
    {"keywords as names",
     "HloModule m %ROOT { ENTRY = f32[] parameter(0) ROOT ROOT = f32[] negate(ENTRY) ROOT = f32[] negate(ROOT) }\n"
     "ENTRY %ENTRY { f32 = token[] after-all() token = token[] after-all(f32) }\nFileNames { true = s8[] negate(inf) }",
     "m:ROOT{ENTRY=f32[] parameter(0); *ROOT=f32[] negate(ENTRY@0); ROOT=f32[] negate(ROOT@1)}"
     "!ENTRY{f32=token[] after-all(); *token=token[] after-all(f32@3)}FileNames{*true=s8[] negate(inf@?)}"},
    {"operands with shapes", "e { a = f32[2]{0} parameter(0) b = f32[2] add(f32[2]{0} %a, (s8[], s8[]) a) }",
     "!e{a=f32[2]{0} parameter(0); *b=f32[2] add(f32[2]{0} a@0 (s8[], s8[]) a@0)}"},
    {"operands in canonical form", "e { f32[2] parameter(0) ROOT f32[2] add(f32[2], f32[2]{0}) }",
     "!e{=f32[2] parameter(0); *=f32[2] add(f32[2] @? f32[2]{0} @?)}"},
    {"elements of tuples", "e { t = (s8[], (s8[])) parameter(0) b = s8[] add(t#0, (s8[]) %t#1#0 ) }",
     "!e{t=(s8[], (s8[])) parameter(0); *b=s8[] add(t#0@0 (s8[]) t#1#0@0)}"},
    {"operands left out", "e { a = s8[] tuple(x, y, ...(+12)) b = s8[] tuple(...(+3)) c = s8[] t(z, ...) }",
     "!e{a=s8[] tuple(x@? y@? +12); b=s8[] tuple(...(+3) +3); *c=s8[] t(z@? +1)}"},
    {"an instruction as an operand",
     "e { x = s8[] parameter(0) y = s8[] add(s8[] x, s8[] neg(s8[] abs(x)), x), k=1 z = s8[] f(y) }",
     "!e{x=s8[] parameter(0); ^=s8[] abs(x@0); ^=s8[] neg(s8[] @1); y=s8[] add(s8[] x@0 s8[] @2 x@0)[k=1]; *z=s8[] "
     "f(y@3)}"},
    {"names used before they are defined, and defined twice",
     "e { a = s8[] f(c, b) b = s8[] f(b) b = s8[] f(b) c = s8[] f(b) }",
     "!e{a=s8[] f(c@3 b@2); b=s8[] f(b@2); b=s8[] f(b@1); *c=s8[] f(b@2)}"},
    {"names are those of their computation", "a { x = s8[] f(y) } b { y = s8[] f(x) }",
     "a{*x=s8[] f(y@?)}!b{*y=s8[] f(x@?)}"},
    {"a name that begins another", "e { add = s8[] f() add.1 = s8[] f(add) g = s8[] f(ad, add.1, add.) }",
     "!e{add=s8[] f(); add.1=s8[] f(add@0); *g=s8[] f(ad@? add.1@1 add.@?)}"},
    {"arguments of constant and parameter are values",
     "e { a = f32[2] constant( /**/ { (1, 2), /*i=1*/{x} } // )\n ) b = s8[] parameter(/*n*/ 3) c = s8[] "
     "constant({...}) }",
     "!e{a=f32[2] constant({ (1, 2), /*i=1*/{x} }); b=s8[] parameter(3); *c=s8[] constant({...})}"},
    {"operands that are nothing known", "e { a = s8[] infeed(7, {1, 2}, \"a,)\", %) }",
     "!e{*a=s8[] infeed(@? @? @? @?)}"},
    {"empty layouts of old dumps", "e { a = f32[]{} f(f32[]{ } b, (s8[] {}, s8[2]{0}) c) }",
     "!e{*a=f32[]{} f(f32[]{ } b@? (s8[] {}, s8[2]{0}) c@?)}"},
    {"a buffer, and an opcode b", "e { a = b(s8[2]{0}) b(b(s8[2]) x), k=1 b (s8[3]) parameter(0) }",
     "!e{a=b(s8[2]{0}) b(b(s8[2]) x@?)[k=1]; *=b (s8[3]) parameter(0)}"},
    {"comments",
     "// {\nHloModule /* n */ m /* , a=1 */ e /**/ ( /*(*/ p: s8[]) -> s8[] { // }\n a /*=*/ = s8[ /*]*/ ] f(/*)*/)"
     " // , k=v\n, x=1 /* y */ b = s8[] f(a /*,*/ ) }",
     "m:!e( /*(*/ p: s8[]) -> s8[]{a=s8[ /*]*/ ] f()[x=1]; *b=s8[] f(a@0)}"},
    {"stack frames",
     "HloModule m FileNames 1 \"a {\" 2 \"b\" FunctionNames FileLocations 1 {a=1 b=2} StackFrames\n1 {} e {}",
     "m:!e{}"},
    {"a block of stack frames without lines, and a computation of its name", "StackFrames\n{ s8[] f() } StackFrames {}",
     "{*=s8[] f()}!StackFrames{}"},
};

static void test_forms(void **state) {
    (void)state;
    char got[MAX_TEXT];
    for (size_t i = 0; i < COUNT(forms); i++) {
        tg_hlo_module *m = parse(forms[i].text);
        outline(got, m);
        if (strcmp(got, forms[i].want) != 0) fail_msg("%s:\n got %s\nwant %s", forms[i].name, got, forms[i].want);
        tg_hlo_destroy(&m);
        assert_null(m);
    }
}

/* Behind `a = s8[] f(), `, the attributes and what is read after them. */
static const struct { const char *text, *want;
} values[] = {
    {"k=LT", "k=LT"},
    {"k=-1.5e-3, l=true", "k=-1.5e-3;l=true"},
    {"k={{0,1},{2}} , l=x", "k={{0,1},{2}};l=x"},
    {"k={[0:4:2], [1:3]}", "k={[0:4:2], [1:3]}"},
    {"replica_groups=[2,4]<=[8], k=[4,2]<=[2,4]T(1,0)", "replica_groups=[2,4]<=[8];k=[4,2]<=[2,4]T(1,0)"},
    {"replica_groups=mesh['a'=2,'b'=4] {'b'}, k=1", "replica_groups=mesh['a'=2,'b'=4] {'b'};k=1"},
    {"k=maximal_mesh[device_id=3]", "k=maximal_mesh[device_id=3]"},
    {"window={size=3x3 pad=1_1x0_0}, dim_labels=b01f_01io->b01f",
     "window={size=3x3 pad=1_1x0_0};dim_labels=b01f_01io->b01f"},
    {"padding=0_0x1_1_2", "padding=0_0x1_1_2"},
    {"k=\"a, \\\"} b\", l='c, d'", "k=\"a, \\\"} b\";l='c, d'"},
    {"metadata={op_name=\"it's {\" source_file=\"a//b\" l=3}",
     "metadata={op_name=\"it's {\" source_file=\"a//b\" l=3}"},
    {"calls=%a, %b, k=1", "calls=%a, %b;k=1"},
    {"calls=a, b, k=1", "calls=a, b;k=1"},
    {"control-predecessors={%a, %b}", "control-predecessors={%a, %b}"},
    {"literal=f32[] 0.1", "literal=f32[] 0.1"},
    {"literal=f32[2] {1, 2}, k=1", "literal=f32[2] {1, 2};k=1"},
    {"literal=c64[] (1, -2)", "literal=c64[] (1, -2)"},
    {"literal=f32[] nan(0x400001)", "literal=f32[] nan(0x400001)"},
    {"backend_config={\"a\":\"}{\",\"b\":{'}}", "backend_config={\"a\":\"}{\",\"b\":{'}}"},
    {"backend_config={alpha = 1.5 : f32, n = \"a\\\"}b\", l = [1, {k = 3}]}, k=1",
     "backend_config={alpha = 1.5 : f32, n = \"a\\\"}b\", l = [1, {k = 3}]};k=1"},
    {"backend_config=\"a, } b\"", "backend_config=\"a, } b\""},
    {"frontend_attributes={a=\"b\",c={\"k\":\"v,}\"}}", "frontend_attributes={a=\"b\",c={\"k\":\"v,}\"}}"},
    {"output_to_operand_aliasing={{}: (0, {})}", "output_to_operand_aliasing={{}: (0, {})}"},
    {"outfeed_shape=(u32[3]{0}, s8[]), k=1", "outfeed_shape=(u32[3]{0}, s8[]);k=1"},
    {"sharding={devices=[2,1,4]<=[8]T(1,0) last_tile_dim_replicate}",
     "sharding={devices=[2,1,4]<=[8]T(1,0) last_tile_dim_replicate}"},
    {"k = a b /* c */, l=\n\t2", "k=a b;l=2"},
    {"k=it's, l=1", "k=it's;l=1"},
    {"k=a/b, l=//c\n1", "k=a/b;l=1"},
    {"k=, l=1", "k=;l=1"},
};

/* What may follow the last value; the value ends before it. */
static const char *const followers[] = {
    "", "\n", " // comment\n", " %z = f32[] f()", "\n  z = f32[] f()", "\n  z= f32[] f()", " ROOT z = f32[] f()",
    "\n  f32[2] f()", "\n  (f32[2], s8[]) f()", " ROOT (s8[]) f()", "\n negate(x)", "\n b(s8[]) f()",
};

static void check_value(const char *text, const char *follower, const char *want) {
    char      whole[MAX_TEXT], got[MAX_TEXT];
    tg_writer w = tg_writer_make(whole, sizeof whole);
    tg_put_text(&w, "e { a = s8[] f(), ");
    tg_put_text(&w, text);
    tg_put_text(&w, follower);
    tg_put_text(&w, "}");
    (void)tg_writer_end(&w);
    tg_hlo_module           *m = parse(whole);
    const tg_hlo_instruction in = tg_hlo_get_instruction(m, 0);
    w = tg_writer_make(got, sizeof got);
    outline_attributes(&w, m, in.first_attribute, in.nattributes);
    (void)tg_writer_end(&w);
    got[strlen(got) - 1] = '\0';
    if (strcmp(got + 1, want) != 0) fail_msg("%s\n got %s\nwant %s", whole, got + 1, want);
    const int64_t expected = strspn(follower, " \n") == strlen(follower) || strstr(follower, "//") != NULL ? 1 : 2;
    if (tg_hlo_get_header(m).ninstructions != expected) fail_msg("%s: not %d instructions", whole, (int)expected);
    tg_hlo_destroy(&m);
}

/* `(` behind a literal may go on with it, so no tuple follows there without a name. */
static bool is_ambiguous(const char *text, const char *follower) {
    return strncmp(text, "literal", 7) == 0 && strchr(follower, '=') == NULL && strchr(follower, '(') != NULL &&
           strstr(follower, "f32[2] f") == NULL && strstr(follower, "ROOT") == NULL;
}

static void test_values_end(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(values); i++)
        for (size_t k = 0; k < COUNT(followers); k++)
            if (!is_ambiguous(values[i].text, followers[k])) check_value(values[i].text, followers[k], values[i].want);
}

static const char nested[] = "HloModule m\n"
                             "c { ROOT r = s8[] parameter(0) }\n"
                             "ENTRY e {\n"
                             "  a = s8[] f(), k=1, to_apply=\n  {\n    x = s8[] g(a), calls={ y = s8[] h(x) }, l=2\n"
                             "    z = s8[] g(x)\n  }, n=3\n"
                             "  b = s8[] f(a), branch_computations={ { s8[] i() }, { (s8[]) j() } }\n"
                             "  d = s8[] f(b), to_apply=c, called_computations={%c, c}\n"
                             "}\n";

static void test_nested_bodies(void **state) {
    (void)state;
    char           got[MAX_TEXT];
    tg_hlo_module *m = parse(nested);
    outline(got, m);
    assert_string_equal(
        got,
        "m:c{*r=s8[] parameter(0)}"
        "!e{a=s8[] f()[k=1;to_apply={\n    x = s8[] g(a), calls={ y = s8[] h(x) }, l=2\n    z = s8[] g(x)\n  };n=3]; "
        "b=s8[] f(a@1)[branch_computations={ { s8[] i() }, { (s8[]) j() } }]; "
        "*d=s8[] f(b@2)[to_apply=c;called_computations={%c, c}]}"
        "+{x=s8[] g(a@?)[calls={ y = s8[] h(x) };l=2]; *z=s8[] g(x@5)}"
        "+{*y=s8[] h(x@?)}+{*=s8[] i()}+{*=(s8[]) j()}");
    int64_t     ids[4] = {0};
    size_t      count = 0;
    tg_hlo_text value;
    static const struct { int64_t instruction; const char *key; size_t count; int64_t ids[2]; } want[] = {
        {1, "to_apply", 1, {2}},
        {5, "calls", 1, {3}},
        {2, "branch_computations", 2, {4, 5}},
        {3, "to_apply", 1, {0}},
        {3, "called_computations", 2, {0, 0}},
    };
    for (size_t i = 0; i < COUNT(want); i++) {
        assert_true(tg_hlo_find_attribute(&value, m, want[i].instruction, want[i].key));
        assert_int_equal(tg_hlo_read_computations(ids, COUNT(ids), &count, m, value, NULL), TG_OK);
        assert_int_equal(count, want[i].count);
        assert_memory_equal(ids, want[i].ids, count * sizeof *ids);
    }
    tg_hlo_destroy(&m);
}

static void test_stack_frames_are_kept(void **state) {
    (void)state;
    tg_hlo_module *m = parse("HloModule m\n\nFileNames\n1 \"a\"\n\nStackFrames\n1 {x=1}\n\n\ne {}\nFileNames 1 \"b\"");
    assert_true(tg_hlo_text_is(tg_hlo_get_header(m).stack_frames, "FileNames\n1 \"a\"\n\nStackFrames\n1 {x=1}"));
    tg_hlo_destroy(&m);
}

static void test_positions(void **state) {
    (void)state;
    static const char text[] = "HloModule m, a=1\n%c { ROOT %x = f32[] f(%y), b=2 f32[] g() }, d=3";
    tg_hlo_module    *m = parse(text);
    assert_int_equal(tg_hlo_get_attribute(m, 0).pos, strstr(text, "a=1") - text);
    assert_int_equal(tg_hlo_get_computation(m, 0).pos, strstr(text, "%c") - text);
    assert_int_equal(tg_hlo_get_instruction(m, 0).pos, strstr(text, "x =") - text);
    assert_int_equal(tg_hlo_get_instruction(m, 1).pos, strstr(text, "f32[] g") - text);
    assert_int_equal(tg_hlo_get_operand(m, 0).pos, strstr(text, "%y") - text);
    assert_int_equal(tg_hlo_get_attribute(m, tg_hlo_get_instruction(m, 0).first_attribute).pos,
                     strstr(text, "b=2") - text);
    assert_int_equal(tg_hlo_get_attribute(m, tg_hlo_get_computation(m, 0).first_attribute).pos,
                     strstr(text, "d=3") - text);
    tg_hlo_destroy(&m);
}

/* ---- shapes ------------------------------------------------------------------------------ */

static void test_a_shape_is_known_by_its_text(void **state) {
    (void)state;
    tg_hlo_module *m = parse("e (p: f32[2]) -> f32[8,9]{1,0:T(8,128)S(1)} { a = f32[2] f() "
                             "b = f32[8,9]{1,0:T(8,128)S(1)} f(f32[2] a) c = (f32[2], token[]) f() d = f32[ 2] f() "
                             "e = f32[]{} f(), outfeed_shape=u8[7] }");
    static const struct { int64_t instruction, shape; const char *text; tg_xla_kind kind; tg_dtype dtype; int32_t ndim;
                          int64_t space, nnodes; bool may_pad; } want[] = {
        {0, 0, "f32[2]", TG_XLA_ARRAY, TG_F32, 1, 0, 1, false},
        {1, 1, "f32[8,9]{1,0:T(8,128)S(1)}", TG_XLA_ARRAY, TG_F32, 2, 1, 1, true},
        {2, 2, "(f32[2], token[])", TG_XLA_TUPLE, TG_INVALID, 0, 0, 3, false},
        {3, 3, "f32[ 2]", TG_XLA_ARRAY, TG_F32, 1, 0, 1, false},
        {4, 4, "f32[]{}", TG_XLA_ARRAY, TG_F32, 0, 0, 1, false},
    };
    assert_int_equal(tg_hlo_get_header(m).nshapes, 6);
    for (size_t i = 0; i < COUNT(want); i++) {
        assert_int_equal(tg_hlo_get_instruction(m, want[i].instruction).shape, want[i].shape);
        const tg_hlo_shape_info info = tg_hlo_get_shape(m, want[i].shape);
        assert_true(tg_hlo_text_is(info.text, want[i].text));
        assert_int_equal(info.kind, want[i].kind);
        assert_int_equal(info.dtype, want[i].dtype);
        assert_int_equal(info.ndim, want[i].ndim);
        assert_int_equal(info.memory_space, want[i].space);
        assert_int_equal(info.nnodes, want[i].nnodes);
        assert_int_equal(info.may_pad, want[i].may_pad);
    }
    assert_int_equal(tg_hlo_get_operand(m, 0).shape, 0);
    tg_hlo_destroy(&m);
}

static void test_the_tree_of_a_shape(void **state) {
    (void)state;
    static tg_xla_shape nodes[3];
    char                got[128];
    size_t              count = 0;
    tg_error            err;
    tg_hlo_module      *m = parse("e { a = (f32[]{}, s8[3]{ 0 }) f() }");
    assert_int_equal(tg_hlo_shape(nodes, 3, &count, m, 0, &err), TG_OK);
    assert_int_equal(count, 3);
    (void)tg_xla_shape_format(got, sizeof got, nodes, count, true);
    assert_string_equal(got, "(f32[], s8[3]{0})");
    assert_int_equal(nodes[2].pos, 10);
    assert_int_equal(tg_hlo_shape(nodes, 3, &count, m, 1, &err), TG_ERR_ARGUMENT);
    assert_string_equal(err.message, "shape 1 of a module that has 1");
    assert_int_equal(tg_hlo_shape(nodes, 3, &count, m, TG_HLO_NONE, NULL), TG_ERR_ARGUMENT);
    tg_hlo_destroy(&m);
}

static void test_shapes_in_values(void **state) {
    (void)state;
    tg_hlo_module *m = parse("HloModule m, entry_computation_layout={(f32[2]{0}, /*index=1*/(s8[], s8[]))->f32[3]{0}}\n"
                             "e (p: f32[2], q: (s8[], s8[])) -> f32[3] { a = f32[3] f(), literal=f32[2] {1, 2}, "
                             "outfeed_shape=(s8[], s8[]), operand_layout_constraints={f32[2]{0}, s8[] }, x={} }");
    static const struct { const char *key; size_t count; const char *texts[3]; } want[] = {
        {"literal", 1, {"f32[2]"}},
        {"outfeed_shape", 1, {"(s8[], s8[])"}},
        {"operand_layout_constraints", 2, {"f32[2]{0}", "s8[]"}},
        {"entry_computation_layout", 3, {"f32[2]{0}", "(s8[], s8[])", "f32[3]{0}"}},
        {"signature", 3, {"f32[2]", "(s8[], s8[])", "f32[3]"}},
        {"x", 0, {NULL}},
    };
    for (size_t i = 0; i < COUNT(want); i++) {
        tg_hlo_text value = i == 3 ? tg_hlo_get_attribute(m, 0).value : tg_hlo_get_computation(m, 0).signature;
        int64_t     ids[4];
        size_t      count = 99;
        if (!tg_hlo_find_attribute(&value, m, 0, want[i].key)) assert_true(i == 3 || i == 4);
        assert_int_equal(tg_hlo_read_shapes(ids, COUNT(ids), &count, m, value, NULL), TG_OK);
        assert_int_equal(count, want[i].count);
        for (size_t k = 0; k < count; k++)
            assert_true(tg_hlo_text_is(tg_hlo_get_shape(m, ids[k]).text, want[i].texts[k]));
    }
    tg_hlo_destroy(&m);
}

static void test_shapes_elsewhere_are_refused(void **state) {
    (void)state;
    static const char elsewhere[] = "f32[2]";
    tg_hlo_module    *m = parse("e { a = f32[3] f(), x=s8[2] }");
    tg_error          err;
    size_t            count;
    tg_hlo_text       value = {elsewhere, strlen(elsewhere)};
    assert_int_equal(tg_hlo_read_shapes(NULL, 0, &count, m, value, &err), TG_ERR_ARGUMENT);
    assert_true(tg_hlo_find_attribute(&value, m, 0, "x"));
    assert_int_equal(tg_hlo_read_shapes(NULL, 0, &count, m, value, &err), TG_ERR_PARSE);
    assert_string_equal(err.message, "not a list of shapes of this module: 's8[2]'");
    tg_hlo_destroy(&m);
}

/* ---- refusals ------------------------------------------------------------------------------ */

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
    {"e {", TG_ERR_PARSE, 2, "line 1, column 3: a computation that is not closed"},
    {"e {\n a = f32[] f()\n", TG_ERR_PARSE, 2, "line 1, column 3: a computation that is not closed"},
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
    {"e { a = f32[/* }", TG_ERR_PARSE, 12, "line 1, column 13: not an XLA shape: expects integer (saw kError '/* }')"},
    {"e { } /* }", TG_ERR_PARSE, 6, "line 1, column 7: a comment that does not end"},
    {"e { a = f32[] f(), to_apply={ b = f32[] g() ", TG_ERR_PARSE, 28,
     "line 1, column 29: a computation that is not closed"},
    {"e { a = f32[] f(), calls={ { b = f32[] g() } c }", TG_ERR_PARSE, 45,
     "line 1, column 46: expects '}' behind the bodies, saw 'c'"},
    {"e { a = f32[] f(), 5=x }", TG_OK, 0, NULL},
    {"FileNames 1 2 e {}", TG_ERR_PARSE, 12, "expects a string or braces in a line of stack frames, saw '2'"},
    /* shapes */
    {"e {\n a = f32[2 f() }", TG_ERR_PARSE, 15, "line 2, column 12: not an XLA shape: expects a list to end with"},
    {"e {\n a = f32[2 f() ", TG_ERR_PARSE, 15, "line 2, column 12: not an XLA shape: expects a list to end with"},
    {"e { a = (f32[2], s8[] tuple(b) }", TG_ERR_PARSE, 22,
     "line 1, column 23: not an XLA shape: expects ')' at the end of tuple"},
    {"e {\n a = f32[2,x] f() }", TG_ERR_PARSE, 15,
     "line 2, column 12: not an XLA shape: expects integer (saw kIdent 'x')"},
    {"e {\n a = float[2] f() }", TG_ERR_PARSE, 9,
     "line 2, column 6: not an XLA shape: expected primitive type, saw kIdent 'float'"},
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

/* Every prefix of a text is read or refused at a place in it. */
static void test_every_prefix(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(forms); i++)
        for (size_t len = 0; len <= strlen(forms[i].text); len++) {
            tg_hlo_module *m = NULL;
            tg_error       err;
            char          *exact = malloc(len + 1);
            assert_non_null(exact);
            memcpy(exact, forms[i].text, len);
            if (tg_hlo_parse(&m, exact, len, &err) != TG_OK) assert_true(err.pos <= len);
            tg_hlo_destroy(&m);
            free(exact);
        }
}

static void test_ids_out_of_range(void **state) {
    (void)state;
    static const int64_t ids[] = {TG_HLO_NONE, -5, 1, 9, INT64_MAX, INT64_MIN};
    tg_hlo_module       *m = parse("e { a = s8[] f(b), k=1 }");
    tg_hlo_text          value = {NULL, 7};
    for (size_t i = 0; i < COUNT(ids); i++) {
        assert_int_equal(tg_hlo_get_computation(m, ids[i]).root, TG_HLO_NONE);
        assert_int_equal(tg_hlo_get_computation(m, ids[i]).ninstructions, 0);
        assert_int_equal(tg_hlo_get_instruction(m, ids[i]).shape, TG_HLO_NONE);
        assert_int_equal(tg_hlo_get_instruction(m, ids[i]).opcode.len, 0);
        assert_int_equal(tg_hlo_get_arguments(m, ids[i]).len, 0);
        assert_int_equal(tg_hlo_get_operand(m, ids[i]).instruction, TG_HLO_NONE);
        assert_int_equal(tg_hlo_get_attribute(m, ids[i]).key.len, 0);
        assert_int_equal(tg_hlo_get_shape(m, ids[i]).text.len, 0);
        assert_false(tg_hlo_find_attribute(&value, m, ids[i], "k"));
        assert_int_equal(tg_hlo_print_instruction(NULL, 0, m, ids[i]), 0);
    }
    assert_false(tg_hlo_find_attribute(&value, m, 0, "l"));
    assert_int_equal(value.len, 7);
    assert_int_equal(tg_hlo_find_computation(m, (tg_hlo_text){"f", 1}), TG_HLO_NONE);
    assert_int_equal(tg_hlo_find_computation(m, (tg_hlo_text){NULL, 0}), TG_HLO_NONE);
    assert_int_equal(tg_hlo_find_computation(m, (tg_hlo_text){"e", 1}), 0);
    tg_hlo_destroy(&m);
}

/* ---- printing ------------------------------------------------------------------------------- */

static const struct { const char *name, *text, *want;
} printed[] = {
    {"the form of today",
     "HloModule m:,a=1 FileNames 1 \"x\" c{} ENTRY e (p: s8[]) -> s8[] {p=s8[] parameter(0) "
     "ROOT n = s8[ 2 ] negate(p),k={1},  l=2 },t=\"x\"",
     "HloModule m, a=1\n\nFileNames 1 \"x\"\n\n%c {\n}\n\nENTRY %e (p: s8[]) -> s8[] {\n  %p = s8[] parameter(0)\n"
     "  ROOT %n = s8[ 2 ] negate(%p), k={1}, l=2\n}, t=\"x\"\n\n"},
    {"operands", "e { a = s8[] f(s8[] x, %y#1, t#0#2 , neg( s8[] z ), s8[], 7 , ...(+2) ) }",
     "%e {\n  ROOT %a = s8[] f(s8[] %x, %y#1, %t#0#2, neg(s8[] %z), s8[], 7, ...(+2))\n}\n\n"},
    {"no ENTRY and no ROOT", "HloModule m a { x = s8[] f() } b { y = s8[] f() z = s8[] f() }",
     "HloModule m\n\n%a {\n  ROOT %x = s8[] f()\n}\n\nENTRY %b {\n  %y = s8[] f()\n  ROOT %z = s8[] f()\n}\n\n"},
    {"empty layouts", "e { a = f32[] {} f((f32[]{}, s8[]{ }) b), k=1 }",
     "%e {\n  ROOT %a = f32[] f((f32[], s8[]) %b), k=1\n}\n\n"},
    {"nested bodies",
     "e{a=s8[] f(),calls={x=s8[] g(),to_apply={y=s8[] h()}},k=1 b=s8[] f(),branch_computations={{s8[] i()},{s8[] "
     "j()}}}",
     "%e {\n  %a = s8[] f(), calls=\n  {\n    ROOT %x = s8[] g(), to_apply=\n    {\n      ROOT %y = s8[] h()\n    }\n  "
     "}, k=1\n"
     "  ROOT %b = s8[] f(), branch_computations={\n  {\n    ROOT s8[] i()\n  },\n  {\n    ROOT s8[] j()\n  }\n  "
     "}\n}\n\n"},
    {"one loose instruction", "%z = s8[] add(s8[] x, s8[] y)", "%z = s8[] add(s8[] %x, s8[] %y)\n\n"},
    {"loose instructions", "x=s8[] f() y=s8[] g(x)", "%x = s8[] f()\nROOT %y = s8[] g(%x)\n\n"},
    {"fingerprints", "HloModule , a=1 { f32[] parameter(0) }",
     "HloModule , a=1\n\nENTRY {\n  ROOT f32[] parameter(0)\n}\n\n"},
    {"a lone quote stays alone", "e { a = s8[] f(it's\n), k=o'\n, l='b, c', m=1 b = s8[] f(), k=it's }",
     "%e {\n  %a = s8[] f(it's),\nk=o',\nl='b, c',\nm=1\n  ROOT %b = s8[] f(), k=it's\n}\n\n"},
    {"values stay", "e { a = s8[] f(), k=\"a  \\\"b\" , l={ 1,/*c*/2 }, calls=%x,  %y, m=z w }",
     "%e {\n  ROOT %a = s8[] f(), k=\"a  \\\"b\", l={ 1,/*c*/2 }, calls=%x,  %y, m=z w\n}\n\n"},
};

/* What is printed reads as the same, and prints as the same again. */
static void check_print(const char *name, const char *text, const char *want) {
    char           before[MAX_TEXT], after[MAX_TEXT];
    tg_hlo_module *m = parse(text);
    char          *once = print(m);
    if (want != NULL && strcmp(once, want) != 0) fail_msg("%s:\n got %s\nwant %s", name, once, want);
    tg_hlo_module *again = parse(once);
    char          *twice = print(again);
    if (strcmp(once, twice) != 0) fail_msg("%s:\n once %s\ntwice %s", name, once, twice);
    outline(before, again);
    tg_hlo_module *third = parse(twice);
    outline(after, third);
    assert_string_equal(before, after);
    tg_hlo_destroy(&third);
    tg_hlo_destroy(&again);
    tg_hlo_destroy(&m);
    free(once);
    free(twice);
}

static void test_printing(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(printed); i++) check_print(printed[i].name, printed[i].text, printed[i].want);
    for (size_t i = 0; i < COUNT(forms); i++) check_print(forms[i].name, forms[i].text, NULL);
    check_print("nested", nested, NULL);
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

/* ---- many of everything ---------------------------------------------------------------------- */

/* Enough names, shapes and computations to make every table grow several times. */
static void test_tables_grow(void **state) {
    (void)state;
    enum { N = 3000, LINE = 80 };
    char     *text = malloc(2 * N * LINE);
    tg_writer w = tg_writer_make(text, 2 * N * LINE);
    assert_non_null(text);
    for (int i = 0; i < N; i++) {
        tg_put_text(&w, "c.");
        tg_put_int(&w, i);
        tg_put_text(&w, "{}\n");
    }
    tg_put_text(&w, "ENTRY e {\n");
    for (int i = 0; i < N; i++) {
        tg_put_text(&w, "v.");
        tg_put_int(&w, i);
        tg_put_text(&w, " = f32[");
        tg_put_int(&w, i);
        tg_put_text(&w, "] f(v.");
        tg_put_int(&w, N - 1 - i);
        tg_put_text(&w, "), calls=c.");
        tg_put_int(&w, i);
        tg_put_text(&w, "\n");
    }
    tg_put_text(&w, "}\n");
    (void)tg_writer_end(&w);
    tg_hlo_module *m = parse(text);
    assert_int_equal(tg_hlo_get_header(m).nshapes, N);
    assert_int_equal(tg_hlo_get_header(m).ninstructions, N);
    for (int i = 0; i < N; i++) {
        const tg_hlo_instruction in = tg_hlo_get_instruction(m, i);
        tg_hlo_text              value;
        int64_t                  id = -7;
        size_t                   count = 0;
        assert_int_equal(in.shape, i);
        assert_int_equal(tg_hlo_get_operand(m, in.first_operand).instruction, N - 1 - i);
        assert_true(tg_hlo_find_attribute(&value, m, i, "calls"));
        assert_int_equal(tg_hlo_read_computations(&id, 1, &count, m, value, NULL), TG_OK);
        assert_int_equal(id, i);
    }
    tg_hlo_destroy(&m);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_values_end),
        cmocka_unit_test(test_nested_bodies),
        cmocka_unit_test(test_stack_frames_are_kept),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_a_shape_is_known_by_its_text),
        cmocka_unit_test(test_the_tree_of_a_shape),
        cmocka_unit_test(test_shapes_in_values),
        cmocka_unit_test(test_shapes_elsewhere_are_refused),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_depth_is_limited),
        cmocka_unit_test(test_text_without_bytes),
#if SIZE_MAX > UINT32_MAX
        cmocka_unit_test(test_text_beyond_positions),
#endif
        cmocka_unit_test(test_every_prefix),
        cmocka_unit_test(test_ids_out_of_range),
        cmocka_unit_test(test_printing),
        cmocka_unit_test(test_printing_into_little_room),
        cmocka_unit_test(test_printing_one_instruction),
        cmocka_unit_test(test_tables_grow),
    };
    return cmocka_run_group_tests_name("hlo", tests, NULL, NULL);
}
