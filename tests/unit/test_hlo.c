/* HLO text: what of it is understood. Refusals are in test_hlo_refused.c, printing in test_hlo_print.c, values of
 * attributes in test_hlo_value.c; what XLA makes of the same is tests/python/test_hlo_text.py. */
#include "hlo_outline.h"

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
    {"colons that XLA takes for a part of names", "HloModule m last: { p:= s8[] f() %q: = s8[] f(p) }",
     "m:!last{p=s8[] f(); *q=s8[] f(p@0)}"},
    {"words that touch what is before them",
     "HloModule m, a={1}FileNames -1 \"a\" 2FunctionNames ENTRY e { x = s8[] f(), frontend_attributes={a={}}ROOT y = "
     "s8[] g(),"
     " backend_config={1}%z = s8[] f(), k=\"s\"b = s8[] f() }",
     "m[a={1}]:!e{x=s8[] f()[frontend_attributes={a={}}]; *y=s8[] g()[backend_config={1}]; z=s8[] f()[k=\"s\"]; "
     "b=s8[] f()}"},
    {"ENTRY behind the value of a loose instruction", "HloModule m s8[] f(), k=\"s\"l\nENTRY %e {}",
     "m:~{*=s8[] f()[k=\"s\"l]}!e{}"},
    {"percent signs that begin no name", "HloModule %=%% e {}", "%=%%:!e{}"},
    {"a module without a name or attributes", "HloModule : e {}", ":!e{}"},
    {"stack frames between loose instructions", "s8[] f() FileNames 1 \"a\" s8[] g()", "!~{=s8[] f(); *=s8[] g()}"},
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
    {"frontend_attributes={m={a=(},d={a]\"'}\"} }, k=1", "frontend_attributes={m={a=(},d={a]\"'}\"} };k=1"},
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

/* All of them print as test_hlo_print.c says. */
static void test_forms_print_as_the_same(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(forms); i++) check_print(forms[i].name, forms[i].text, NULL);
    check_print("nested", nested, NULL);
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
        cmocka_unit_test(test_every_prefix),
        cmocka_unit_test(test_values_end),
        cmocka_unit_test(test_nested_bodies),
        cmocka_unit_test(test_forms_print_as_the_same),
        cmocka_unit_test(test_stack_frames_are_kept),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_a_shape_is_known_by_its_text),
        cmocka_unit_test(test_the_tree_of_a_shape),
        cmocka_unit_test(test_shapes_in_values),
        cmocka_unit_test(test_shapes_elsewhere_are_refused),
        cmocka_unit_test(test_ids_out_of_range),
        cmocka_unit_test(test_tables_grow),
    };
    return cmocka_run_group_tests_name("hlo", tests, NULL, NULL);
}
