/* tegula explain: a layout read out loud, for a person who has never seen the notation. */
#include "explain.h"

#include "show.h"

#include <stdlib.h>

static const char help[] =
    "tegula explain - read a layout out loud, step by step\n"
    "\n"
    "usage: tegula explain LAYOUT [--json]\n"
    "\n"
    "Takes the notation piece by piece, from left to right, and says in plain words what each piece means, with the\n"
    "numbers of this layout: what every tile or stick does to the sizes, and what it pads. Then it says where some\n"
    "elements land, from coordinate to slot to byte, and how much memory all takes together. An XLA shape may also be\n"
    "a tuple: its arrays are explained one by one. tegula show has the same facts in short.\n"
    "\n"
    "example:\n"
    "  $ tegula explain 'f32[1000,3]{1,0:T(8,128)}'\n";

enum { NARROWEST = 40, WIDEST = 120 };

/* ---- one layout -------------------------------------------------------------------------- */

static void explain_notation(explanation *e) {
    switch (e->desc->notation) {
    case TG_NOTATION_XLA: explain_xla(e); return;
    case TG_NOTATION_SPYRE: explain_spyre(e); return;
    case TG_NOTATION_STRIDED:
    case TG_NOTATION_CUTE: explain_strided(e); return; /* CuTe is not read */
    }
}

/* The explanation, added to `object`. */
static int put_explanation(json_t *object, const tg_desc *desc) {
    explanation e = {desc, object, NULL};
    int64_t     nbytes = 0;
    tg_error    err;
    char       *text = cli_canonical_text(desc);
    cli_json_put(object, "text", cli_json_text(text));
    cli_json_put(object, "notation", cli_json_text(tg_notation_name(desc->notation)));
    free(text);
    if (tg_layout_nbytes(&nbytes, &desc->layout, &err) != TG_OK) return cli_fail_error("layout", &err);
    cli_json_put(object, "steps", cli_json_array());
    explain_notation(&e);
    explain_places(&e);
    explain_total(&e);
    return CLI_OK;
}

static int explain_array(json_t *object, const cli_text *text) {
    tg_desc  desc;
    tg_error err;
    if (tg_desc_parse(&desc, text->bytes, text->len, &err) != TG_OK) return cli_fail_reading(text, &err);
    return put_explanation(object, &desc);
}

/* ---- the leaves of a tuple ------------------------------------------------------------------ */

/* What is said of a shape that has no steps. */
static void put_says(json_t *object, words *w) {
    json_t *says = cli_json_array();
    cli_json_add(says, words_take(w));
    cli_json_put(object, "says", says);
}

static const char *leaf_words(const char *kind) {
    if (kind[0] == 't') return "A token holds no data. It only puts operations in order.";
    if (kind[0] == 'o') return "An opaque value: what it holds is known to those who made it.";
    return "The array has a dimension of unbounded size (?), so it has no layout to explain.";
}

static int explain_leaf(void *context, const show_leaf *leaf) {
    json_t *object = cli_json_object();
    words   w = {NULL, 0, 0};
    cli_json_add(context, object);
    cli_json_put(object, "index", cli_json_ints(leaf->index, leaf->depth));
    cli_json_put(object, "kind", cli_json_text(leaf->kind));
    if (leaf->desc != NULL) return put_explanation(object, leaf->desc);
    cli_json_put(object, "text", cli_json_text(leaf->text));
    words_add(&w, "%s", leaf_words(leaf->kind));
    put_says(object, &w);
    return CLI_OK;
}

static void say_tuple(json_t *object, size_t nleaves) {
    words w = {NULL, 0, 0};
    words_add(&w, "These are %zu value%s in one. ", nleaves, plural_s((int64_t)nleaves));
    words_add(
        &w,
        "Parentheses make a tuple, and a path says where in it a value is: {1,0} is element 0 of element 1, counted "
        "from 0. Each value is laid out by itself.");
    put_says(object, &w);
}

static int explain_tree(json_t *object, const cli_text *text) {
    json_t   *leaves = cli_json_array();
    char     *whole = NULL;
    const int status = show_each_leaf(&whole, text, explain_leaf, leaves);
    cli_json_put(object, "text", cli_json_text(whole != NULL ? whole : ""));
    say_tuple(object, json_array_size(leaves));
    cli_json_put(object, "leaves", leaves);
    free(whole);
    return status;
}

/* ---- the command ------------------------------------------------------------------------------ */

static int print_answer(json_t *object, bool json) {
    if (json) return cli_print_json(object);
    const int columns = cli_columns(stdout);
    explain_print(object, columns < NARROWEST ? NARROWEST : columns > WIDEST ? WIDEST : columns);
    json_decref(object);
    return CLI_OK;
}

static int run(const cli_args *args) {
    cli_text text;
    int      status = cli_read_text(&text, "layout", args->argument[0]);
    if (status != CLI_OK) return status;
    json_t *object = cli_json_object();
    cli_json_put(object, "schema", cli_json_text("tegula.explain/1"));
    status = show_is_tree(&text) ? explain_tree(object, &text) : explain_array(object, &text);
    free(text.bytes);
    if (status == CLI_OK) return print_answer(object, args->json);
    json_decref(object);
    return status;
}

const cli_command cli_explain = {
    .name = "explain",
    .summary = "read a layout out loud, step by step, in plain words",
    .help = help,
    .arguments = {"LAYOUT"},
    .run = run,
};
