/* tegula convert: the same map in another notation. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "tegula convert - say the same layout in another notation\n"
    "\n"
    "usage: tegula convert LAYOUT --to NOTATION [--json]\n"
    "\n"
    "Prints a layout that puts every element in the same place, or says why that notation has none (exit\n"
    "status 1).\n"
    "\n"
    "  --to NOTATION   strided, xla, spyre or cute; cute is printed only, not read\n"
    "\n"
    "example:\n"
    "  $ tegula convert 'f16[64,64]{0,1}' --to strided\n"
    "  f16[64,64] strides=[1,64]\n";

/* TG_NOTATION_STRIDED and so on, by number. */
static const char *const notations[] = {"strided", "xla", "spyre", "cute", NULL};

static int read_notation(tg_notation *out, const char *word) {
    int       which = 0;
    const int status = cli_choose(&which, "--to", word, notations);
    *out = (tg_notation)which;
    return status;
}

/* A layout's text in a notation. */
typedef struct answer {
    char   *text; /* NULL if there is none */
    bool    has_desc;
    tg_desc desc;
} answer;

static tg_status to_cute(answer *out, const tg_layout *layout, tg_error *err) {
    size_t    need = 0;
    tg_status status = tg_cute_format(NULL, 0, &need, layout, err);
    if (status != TG_OK) return status;
    out->text = cli_allocate(need + 1);
    return tg_cute_format(out->text, need + 1, &need, layout, err);
}

static tg_status to_notation(answer *out, const tg_desc *in, tg_notation to, tg_error *err) {
    if (to == TG_NOTATION_CUTE) return to_cute(out, &in->layout, err);
    const tg_status status = tg_desc_convert(&out->desc, in, to, err);
    if (status != TG_OK) return status;
    out->has_desc = true;
    out->text = cli_canonical_text(&out->desc);
    return TG_OK;
}

static int fail_answer(const tg_error *err, tg_notation to, bool json) {
    const int status = cli_fail_error(notations[to], err);
    if (json && status == CLI_NO) {
        json_t *o = cli_json_object();
        cli_json_put(o, "text", json_null());
        cli_json_put(o, "reason", cli_json_text(err->message));
        (void)cli_print_json(o);
    }
    return status;
}

static int print_json(const answer *a) {
    json_t *o = cli_json_object();
    cli_json_put(o, "text", cli_json_text(a->text));
    if (a->has_desc) {
        json_t *layout = cli_json_object();
        cli_json_put(o, "layout", layout);
        const int status = cli_put_layout(layout, &a->desc);
        if (status != CLI_OK) {
            json_decref(o);
            return status;
        }
    }
    return cli_print_json(o);
}

enum { TO };

static int run(const cli_args *args) {
    tg_desc     in;
    tg_error    err;
    answer      a = {.text = NULL, .has_desc = false};
    tg_notation to = TG_NOTATION_STRIDED;
    if (args->option[TO] == NULL)
        return cli_fail(CLI_USAGE, "convert", "--to NOTATION is missing; there are strided, xla, spyre and cute");
    int status = read_notation(&to, args->option[TO]);
    if (status == CLI_OK) status = cli_read_layout(&in, "layout", args->argument[0]);
    if (status != CLI_OK) return status;
    if (to_notation(&a, &in, to, &err) != TG_OK) status = fail_answer(&err, to, args->json);
    else if (args->json) status = print_json(&a);
    else puts(a.text);
    free(a.text);
    return status;
}

const cli_command cli_convert = {
    .name = "convert",
    .summary = "the same layout in another notation",
    .help = help,
    .arguments = {"LAYOUT"},
    .options = {[TO] = {"to", "a notation"}},
    .run = run,
};
