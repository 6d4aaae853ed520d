/* XLA's ProgramShapeProto: parameters, names and result come and go, and what is no program is refused.
 * Agreement with XLA itself is tests/python/test_xla_proto.py. */
#include <tegula/xla_proto.h>

#include "proto_bytes.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

enum { MAX_NODES = 16 };

static tg_xla_shape nodes[MAX_NODES];

/* (x: f32[], : (token[])) -> pred[] */
static const char program_hex[] = "0a 02 10 0b 0a 06 10 0d 22 02 10 11 12 02 10 01 1a 01 78 1a 00";

static void programs_go_and_come_back(void **state) {
    (void)state;
    const message        m = message_of(program_hex);
    tg_xla_name          names[2];
    tg_xla_program_shape p = {.nodes = nodes, .node_cap = MAX_NODES, .names = names, .name_cap = 2};
    unsigned char        buf[MAX_BYTES];
    size_t               need = 0;
    assert_int_equal(tg_xla_program_shape_from_proto(&p, m.bytes, m.len, NULL), TG_OK);
    assert_int_equal(p.node_count, 4);
    assert_int_equal(p.nparameters, 2);
    assert_int_equal(nodes[1].kind, TG_XLA_TUPLE);
    assert_int_equal(nodes[2].pos, 10);
    assert_int_equal(nodes[3].dtype, TG_PRED);
    assert_int_equal(nodes[3].pos, 14);
    assert_ptr_equal(names[0].text, m.bytes + 18);
    assert_int_equal(names[0].len, 1);
    assert_int_equal(names[1].len, 0);
    memset(buf, 0xa5, sizeof buf);
    assert_int_equal(tg_xla_program_shape_to_proto(buf, m.len - 1, &need, &p, NULL), TG_OK);
    assert_int_equal(need, m.len);
    assert_int_equal(buf[0], 0xa5);
    assert_int_equal(tg_xla_program_shape_to_proto(buf, sizeof buf, &need, &p, NULL), TG_OK);
    assert_bytes(&m, buf, need, "the program shape");
    p.names = NULL;
    const message unnamed = message_of("0a 02 10 0b 0a 06 10 0d 22 02 10 11 12 02 10 01 1a 00 1a 00");
    assert_int_equal(tg_xla_program_shape_to_proto(buf, sizeof buf, &need, &p, NULL), TG_OK);
    assert_bytes(&unnamed, buf, need, "the unnamed program shape");
}

static void programs_are_counted_without_room(void **state) {
    (void)state;
    const message        m = message_of(program_hex);
    tg_xla_name          names[2] = {{NULL, 7}, {NULL, 7}};
    tg_xla_program_shape p = {.nodes = NULL};
    assert_int_equal(tg_xla_program_shape_from_proto(&p, m.bytes, m.len, NULL), TG_OK);
    assert_int_equal(p.node_count, 4);
    assert_int_equal(p.nparameters, 2);
    p = (tg_xla_program_shape){.names = names, .name_cap = 1};
    assert_int_equal(tg_xla_program_shape_from_proto(&p, m.bytes, m.len, NULL), TG_OK);
    assert_int_equal(names[0].len, 1);
    assert_int_equal(names[1].len, 7);
}

static void programs_are_refused(void **state) {
    (void)state;
    static const struct { const char *hex; tg_status status; size_t pos; const char *message; } rows[] = {
        {"", TG_ERR_PARSE, 0, "not an XLA ProgramShapeProto: it has no result"},
        {"0a 02 10 0b 12 02 10 0b", TG_ERR_PARSE, 0,
         "ProgramShapeProto has different numbers of parameters and parameter names: 1 vs 0"},
        {"12 02 10 0b 12 02 10 0b", TG_ERR_PARSE, 4, "field result (2) of a ProgramShapeProto stands twice"},
        {"0a 00 12 02 10 0b 1a 00", TG_ERR_PARSE, 2, "0 is no element type"},
        {"12 04 10 11 2a 00", TG_ERR_PARSE, 2, "should not have a layout."},
        {"0a 02 10 0b 12 02 10 0b 1a 01 ff", TG_ERR_PARSE, 10, "the name of parameter 0 is not UTF-8"},
        {"0a 02 10 0b 12 02 10 0b 1a 02 c3 28", TG_ERR_PARSE, 10, "the name of parameter 0 is not UTF-8"},
        {"12 02 10 0b 18 00", TG_ERR_PARSE, 4,
         "field parameter_names (3) of a ProgramShapeProto has another wire type"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const message        m = message_of(rows[i].hex);
        tg_xla_program_shape p = {.node_count = 12345, .nparameters = 12345};
        tg_error             err = {.message = ""};
        const tg_status      got = tg_xla_program_shape_from_proto(&p, m.bytes, m.len, &err);
        if (got != rows[i].status || err.pos != rows[i].pos || strstr(err.message, rows[i].message) == NULL)
            fail_msg("%s: got %s at %zu: %s", rows[i].hex, tg_status_name(got), err.pos, err.message);
        assert_int_equal(p.node_count, 12345);
        assert_int_equal(p.nparameters, 12345);
    }
}

static void programs_are_not_written(void **state) {
    (void)state;
    const tg_xla_name    bad[] = {{"\xff", 1}}, good[] = {{"x", 1}};
    size_t               need;
    tg_error             err = {.message = ""};
    tg_xla_program_shape p = {.nodes = nodes, .node_count = 1, .nparameters = 1};
    nodes[0] = nodes[1] = (tg_xla_shape){.kind = TG_XLA_TOKEN};
    assert_int_equal(tg_xla_program_shape_to_proto(NULL, 0, &need, &p, &err), TG_ERR_ARGUMENT);
    assert_string_equal(err.message, "1 parameters and a result, but 1 nodes");
    p = (tg_xla_program_shape){.nodes = nodes, .node_count = 2, .names = (tg_xla_name *)bad, .nparameters = 1};
    assert_int_equal(tg_xla_program_shape_to_proto(NULL, 0, &need, &p, &err), TG_ERR_ARGUMENT);
    assert_string_equal(err.message, "the name of parameter 0 is not UTF-8");
    p.names = (tg_xla_name *)good;
    nodes[0] = (tg_xla_shape){.kind = TG_XLA_TUPLE, .nchildren = 1}; /* takes the result's node */
    assert_int_equal(tg_xla_program_shape_to_proto(NULL, 0, &need, &p, &err), TG_ERR_ARGUMENT);
    assert_string_equal(err.message, "0 nodes, but the shape needs more");
    nodes[0].nchildren = -1;
    assert_int_equal(tg_xla_program_shape_to_proto(NULL, 0, &need, &p, &err), TG_ERR_ARGUMENT);
    p.node_count = SIZE_MAX;
    nodes[0].nchildren = 0;
    assert_int_equal(tg_xla_program_shape_to_proto(NULL, 0, &need, &p, &err), TG_ERR_NOMEM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_go_and_come_back),
        cmocka_unit_test(programs_are_counted_without_room),
        cmocka_unit_test(programs_are_refused),
        cmocka_unit_test(programs_are_not_written),
    };
    return cmocka_run_group_tests_name("xla_program", tests, NULL, NULL);
}
