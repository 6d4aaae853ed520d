/* Which computations have results in memory, and which only calculate for one instruction.
 *
 * A computation is run by the entry, or by what the entry runs, through call, while, conditional and async-start. What
 * is only named by other instructions (a fusion's body, the addition of a reduce) is inside of them. Computations that
 * nothing names are taken for run: texts without an entry, and dead ones. */
#include "hlo/report.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

static const char *const runners[] = {"call", "while", "conditional", "async-start", NULL};
static const char *const keys[] = {"calls", "to_apply", "called_computations", "body", "condition",
                                   "branch_computations", "true_computation", "false_computation", "select", "scatter",
                                   NULL};

TG_HLO_TABLE(id_table, int64_t)

typedef struct search {
    const tg_hlo_module *module;
    bool                *named; /* by some instruction */
    bool                *run;
    id_table             todo;
    id_table             callees; /* of the attribute at hand */
} search;

bool tg_report_is_one_of(tg_hlo_text word, const char *const *words) {
    for (; *words != NULL; words++)
        if (tg_hlo_text_is(word, *words)) return true;
    return false;
}

tg_status tg_report_no_memory(tg_error *err) { return tg_fail(err, TG_ERR_NOMEM, "there is no memory for the report"); }

/* The computations of an attribute; none if it names what does not exist. */
static bool find_callees(search *s, tg_hlo_text value) {
    size_t n = 0;
    s->callees.count = 0;
    if (tg_hlo_read_computations(NULL, 0, &n, s->module, value, NULL) != TG_OK) return true;
    if (!id_table_reserve(&s->callees, n)) return false;
    if (tg_hlo_read_computations(s->callees.rows, n, &n, s->module, value, NULL) == TG_OK) s->callees.count = n;
    return true;
}

/* Do something with every computation that an instruction names. */
typedef bool on_callee(search *s, int64_t callee, bool is_run);

static bool each_callee(search *s, int64_t instruction, on_callee *act) {
    const tg_hlo_instruction i = tg_hlo_get_instruction(s->module, instruction);
    const bool               is_run = tg_report_is_one_of(i.opcode, runners);
    for (int64_t a = i.first_attribute; a < i.first_attribute + i.nattributes; a++) {
        const tg_hlo_attribute attribute = tg_hlo_get_attribute(s->module, a);
        if (!tg_report_is_one_of(attribute.key, keys)) continue;
        if (!find_callees(s, attribute.value)) return false;
        for (size_t c = 0; c < s->callees.count; c++)
            if (!act(s, s->callees.rows[c], is_run)) return false;
    }
    return true;
}

static bool note_name(search *s, int64_t callee, bool is_run) {
    (void)is_run;
    s->named[callee] = true;
    return true;
}

static bool note_run(search *s, int64_t callee, bool is_run) {
    if (!is_run || s->run[callee]) return true;
    s->run[callee] = true;
    return id_table_push(&s->todo, callee);
}

static bool find_run(search *s) {
    const tg_hlo_header header = tg_hlo_get_header(s->module);
    for (int64_t i = 0; i < header.ninstructions; i++)
        if (!each_callee(s, i, note_name)) return false;
    for (int64_t c = 0; c < header.ncomputations; c++)
        if ((c == header.entry || !s->named[c]) && !note_run(s, c, true)) return false;
    while (s->todo.count > 0) {
        const tg_hlo_computation c = tg_hlo_get_computation(s->module, s->todo.rows[--s->todo.count]);
        for (int64_t i = c.first_instruction; i < c.first_instruction + c.ninstructions; i++)
            if (!each_callee(s, i, note_run)) return false;
    }
    return true;
}

tg_status tg_hlo_find_inside(bool *inside, const tg_hlo_module *module, tg_error *err) {
    const size_t n = (size_t)tg_hlo_get_header(module).ncomputations;
    search       s = {module, calloc(n + 1, sizeof(bool)), calloc(n + 1, sizeof(bool)), {0}, {0}};
    const bool   done = s.named != NULL && s.run != NULL && find_run(&s);
    for (size_t c = 0; done && c < n; c++) inside[c] = !s.run[c];
    free(s.named);
    free(s.run);
    free(s.todo.rows);
    free(s.callees.rows);
    return done ? TG_OK : tg_report_no_memory(err);
}

/* ---- filters ----------------------------------------------------------------------- */

tg_status tg_report_scope_make(tg_report_scope *out, const tg_hlo_module *module, const tg_hlo_filter *filter,
                               tg_error *err) {
    static const tg_hlo_filter everything;
    const tg_hlo_filter *const f = filter != NULL ? filter : &everything;
    *out = (tg_report_scope){module, f->opcode, 0, tg_hlo_get_header(module).ncomputations, NULL};
    if (f->computation.len > 0) {
        out->first = tg_hlo_find_computation(module, f->computation);
        out->end = out->first + 1;
        if (out->first != TG_HLO_NONE) return TG_OK;
        return tg_fail(err, TG_ERR_ARGUMENT, "there is no computation %t", f->computation.chars, f->computation.len);
    }
    out->inside = calloc((size_t)out->end + 1, sizeof(bool));
    if (out->inside == NULL) return tg_report_no_memory(err);
    const tg_status status = tg_hlo_find_inside(out->inside, module, err);
    if (status != TG_OK) tg_report_scope_free(out);
    return status;
}

void tg_report_scope_free(tg_report_scope *scope) {
    free(scope->inside);
    scope->inside = NULL;
}

bool tg_report_counts_computation(const tg_report_scope *scope, int64_t computation) {
    return scope->inside == NULL || !scope->inside[computation];
}

bool tg_report_counts_opcode(const tg_report_scope *scope, tg_hlo_text opcode) {
    return scope->opcode.len == 0 ||
           (opcode.len == scope->opcode.len && memcmp(opcode.chars, scope->opcode.chars, opcode.len) == 0);
}
