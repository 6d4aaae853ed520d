/* The listing of `tegula hlo`: one instruction a line, or all that was read as JSON. A dump may have a gigabyte, so
 * JSON is written as it is made. */
#include "hlo.h"

#include <stdlib.h>
#include <string.h>

/* ---- which instructions ---------------------------------------------------------------- */

static bool is_same(tg_hlo_text a, tg_hlo_text b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.chars, b.chars, a.len) == 0);
}

static bool is_shown(const hlo_view *view, const tg_hlo_instruction *i) {
    return view->filter.opcode.len == 0 || is_same(view->filter.opcode, i->opcode);
}

static bool has_any(const hlo_view *view, const tg_hlo_computation *c) {
    if (view->filter.opcode.len == 0) return true;
    for (int64_t i = 0; i < c->ninstructions; i++) {
        const tg_hlo_instruction at = tg_hlo_get_instruction(view->module, c->first_instruction + i);
        if (is_shown(view, &at)) return true;
    }
    return false;
}

/* Call `show` for each computation with something to show; false if there is none. */
static bool each_computation(const hlo_view *view, void (*show)(const hlo_view *, const tg_hlo_computation *, bool)) {
    const int64_t n = tg_hlo_get_header(view->module).ncomputations;
    const int64_t only = view->filter.computation.len > 0
                             ? tg_hlo_find_computation(view->module, view->filter.computation)
                             : TG_HLO_NONE;
    bool first = true;
    for (int64_t id = 0; id < n; id++) {
        const tg_hlo_computation c = tg_hlo_get_computation(view->module, id);
        if ((only != TG_HLO_NONE && id != only) || !has_any(view, &c)) continue;
        show(view, &c, first);
        first = false;
    }
    return !first;
}

/* ---- text ------------------------------------------------------------------------------ */

static void print_operand(const tg_hlo_operand *o) {
    if (o->name.len == 0) {
        hlo_print(o->text);
        return;
    }
    hlo_print(o->name);
    hlo_print(o->path);
}

static void print_instruction(const hlo_view *view, int64_t id) {
    const tg_hlo_instruction i = tg_hlo_get_instruction(view->module, id);
    if (!is_shown(view, &i)) return;
    fputs(i.root ? "  ROOT " : "  ", stdout);
    hlo_print(i.name);
    if (i.name.len > 0) fputs(" = ", stdout);
    if (i.shape != TG_HLO_NONE) {
        hlo_print(tg_hlo_get_shape(view->module, i.shape).text);
        putchar(' ');
    }
    hlo_print(i.opcode);
    putchar('(');
    if (i.noperands == 0) hlo_print(tg_hlo_get_arguments(view->module, id));
    for (int64_t k = 0; k < i.noperands; k++) {
        const tg_hlo_operand o = tg_hlo_get_operand(view->module, i.first_operand + k);
        if (k > 0) fputs(", ", stdout);
        print_operand(&o);
    }
    if (i.elided > 0) printf(", ...(+%lld)", (long long)i.elided);
    fputs(")\n", stdout);
}

static void print_computation(const hlo_view *view, const tg_hlo_computation *c, bool first) {
    if (!first) putchar('\n');
    if (c->entry) fputs(c->name.len > 0 ? "ENTRY " : "ENTRY", stdout);
    hlo_print(c->name);
    if (!c->entry && c->name.len == 0)
        fputs(c->nested ? "(a body inside an attribute)" : "(loose instructions)", stdout);
    putchar('\n');
    for (int64_t i = 0; i < c->ninstructions; i++) print_instruction(view, c->first_instruction + i);
}

/* ---- JSON ------------------------------------------------------------------------------ */

static void put_key(const char *key, tg_hlo_text text) {
    printf("\"%s\":", key);
    cli_put_json(stdout, hlo_json_text(text));
}

static void put_operands(const hlo_view *view, const tg_hlo_instruction *i) {
    fputs(",\"operands\":[", stdout);
    for (int64_t k = 0; k < i->noperands; k++) {
        const tg_hlo_operand o = tg_hlo_get_operand(view->module, i->first_operand + k);
        const tg_hlo_text    name = {o.name.chars, o.name.len + o.path.len}; /* the path follows the name */
        if (k > 0) putchar(',');
        cli_put_json(stdout, hlo_json_text(o.name.len == 0 ? o.text : name));
    }
    putchar(']');
}

static void put_attributes(const hlo_view *view, const tg_hlo_instruction *i) {
    json_t *object = cli_json_object();
    for (int64_t a = 0; a < i->nattributes; a++) {
        const tg_hlo_attribute attribute = tg_hlo_get_attribute(view->module, i->first_attribute + a);
        char                  *key = cli_allocate(attribute.key.len + 1);
        memcpy(key, attribute.key.chars, attribute.key.len);
        key[attribute.key.len] = '\0';
        cli_json_put(object, key, hlo_json_text(attribute.value));
        free(key);
    }
    fputs(",\"attributes\":", stdout);
    cli_put_json(stdout, object);
}

static void put_instruction(const hlo_view *view, int64_t id, const tg_hlo_instruction *i) {
    putchar('{');
    put_key("name", i->name);
    putchar(',');
    put_key("opcode", i->opcode);
    putchar(',');
    if (i->shape != TG_HLO_NONE) put_key("shape", tg_hlo_get_shape(view->module, i->shape).text);
    else fputs("\"shape\":null", stdout);
    if (i->noperands == 0) {
        putchar(',');
        put_key("arguments", tg_hlo_get_arguments(view->module, id));
    }
    put_operands(view, i);
    put_attributes(view, i);
    printf(",\"root\":%s}", i->root ? "true" : "false");
}

static void put_computation(const hlo_view *view, const tg_hlo_computation *c, bool first) {
    bool none = true;
    if (!first) putchar(',');
    putchar('{');
    put_key("name", c->name);
    printf(",\"entry\":%s,\"instructions\":[", c->entry ? "true" : "false");
    for (int64_t k = 0; k < c->ninstructions; k++) {
        const tg_hlo_instruction i = tg_hlo_get_instruction(view->module, c->first_instruction + k);
        if (!is_shown(view, &i)) continue;
        if (!none) putchar(',');
        none = false;
        put_instruction(view, c->first_instruction + k, &i);
    }
    fputs("]}", stdout);
}

int hlo_show_listing(const hlo_view *view) {
    if (!view->json) {
        if (!each_computation(view, print_computation)) puts("there are no such instructions");
        return CLI_OK;
    }
    fputs("{\"schema\":\"tegula.hlo/1\",", stdout);
    put_key("module", tg_hlo_get_header(view->module).name);
    fputs(",\"computations\":[", stdout);
    (void)each_computation(view, put_computation);
    fputs("]}\n", stdout);
    return CLI_OK;
}
