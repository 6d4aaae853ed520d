/* tegula equal: whether two layouts are the same map, and where not. */
#include "cli.h"

static const char help[] =
    "tegula equal - decide whether two layouts put every element in the same place\n"
    "\n"
    "usage: tegula equal A B [--storage] [--json]\n"
    "\n"
    "Prints `equal`, or `different:` and a coordinate that shows it (exit status 1). Compared are the shape, the\n"
    "width of an element and the place of every element, however the two layouts are written; this is decided\n"
    "without looking at every element, so that huge tensors take no longer.\n"
    "\n"
    "  --storage   compare also how much storage they need\n"
    "\n"
    "example:\n"
    "  $ tegula equal 'f16[64,64]' 'f16[64,64]{0,1}'\n"
    "  different: coordinate (0,1) is at 1 in A and at 64 in B\n";

/* ---- text --------------------------------------------------------------------------------- */

static void print_shape(const tg_layout *layout) {
    putchar('[');
    cli_print_ints(layout->shape, layout->ndim, ",");
    putchar(']');
}

static void print_copies(const tg_witness *w, const tg_layout *a) {
    const bool in_a = w->a != -1;
    fputs("different: coordinate (", stdout);
    cli_print_ints(w->coord, a->ndim, ",");
    printf(") has a copy at %lld in %c, and none there in %c\n", (long long)(in_a ? w->a : w->b), in_a ? 'A' : 'B',
           in_a ? 'B' : 'A');
}

static void print_difference(const tg_witness *w, const tg_layout *a, const tg_layout *b) {
    switch (w->what) {
    case TG_DIFFERENT_SHAPE:
        fputs("different: A has the shape ", stdout);
        print_shape(a);
        fputs(", B has ", stdout);
        print_shape(b);
        putchar('\n');
        return;
    case TG_DIFFERENT_WIDTH:
        printf("different: an element takes %d bits in A and %d in B\n", a->elem_bits, b->elem_bits);
        return;
    case TG_DIFFERENT_SPAN:
        printf("different: the storage has %lld elements in A and %lld in B\n", (long long)a->span, (long long)b->span);
        return;
    case TG_DIFFERENT_COPIES: print_copies(w, a); return;
    default:
        fputs("different: coordinate (", stdout);
        cli_print_ints(w->coord, a->ndim, ",");
        printf(") is at %lld in A and at %lld in B\n", (long long)w->a, (long long)w->b);
    }
}

/* ---- JSON --------------------------------------------------------------------------------- */

/* What differs, and both values of it. */
static void put_difference(json_t *o, const char *reason, json_t *a, json_t *b) {
    cli_json_put(o, "reason", cli_json_text(reason));
    cli_json_put(o, "a", a);
    cli_json_put(o, "b", b);
}

static json_t *copy_or_null(int64_t offset) { return offset != -1 ? cli_json_int(offset) : json_null(); }

static int print_json(bool equal, const tg_witness *w, const tg_layout *a, const tg_layout *b) {
    json_t    *o = cli_json_object();
    const bool at_coord = w->what == TG_DIFFERENT_MAP || w->what == TG_DIFFERENT_COPIES;
    cli_json_put(o, "equal", json_boolean(equal));
    if (!equal) cli_json_put(o, "witness", at_coord ? cli_json_ints(w->coord, a->ndim) : json_null());
    switch (equal ? TG_SAME : w->what) {
    case TG_SAME: break;
    case TG_DIFFERENT_SHAPE:
        put_difference(o, "shape", cli_json_ints(a->shape, a->ndim), cli_json_ints(b->shape, b->ndim));
        break;
    case TG_DIFFERENT_WIDTH: put_difference(o, "width", cli_json_int(a->elem_bits), cli_json_int(b->elem_bits)); break;
    case TG_DIFFERENT_MAP: put_difference(o, "map", cli_json_int(w->a), cli_json_int(w->b)); break;
    case TG_DIFFERENT_COPIES: put_difference(o, "copies", copy_or_null(w->a), copy_or_null(w->b)); break;
    case TG_DIFFERENT_SPAN: put_difference(o, "storage", cli_json_int(a->span), cli_json_int(b->span)); break;
    }
    return cli_print_json(o);
}

/* ---- the command ---------------------------------------------------------------------------- */

enum { STORAGE };

static int run(const cli_args *args) {
    tg_desc    a, b;
    tg_witness witness = {TG_SAME, {0}, 0, 0};
    tg_error   err;
    bool       equal = false;
    int        status = cli_read_layout(&a, "layout A", args->argument[0]);
    if (status == CLI_OK) status = cli_read_layout(&b, "layout B", args->argument[1]);
    if (status != CLI_OK) return status;
    if (tg_layout_equal(&equal, &witness, &a.layout, &b.layout, args->option[STORAGE] != NULL, &err) != TG_OK) {
        (void)cli_fail_error("not decided", &err);
        return CLI_IO; /* it would take too long: a question of resources */
    }
    if (args->json) (void)print_json(equal, &witness, &a.layout, &b.layout);
    else if (equal) puts("equal");
    else print_difference(&witness, &a.layout, &b.layout);
    return equal ? CLI_OK : CLI_NO;
}

const cli_command cli_equal = {
    .name = "equal",
    .summary = "whether two layouts are the same map, and where not",
    .help = help,
    .arguments = {"A", "B"},
    .options = {[STORAGE] = {"storage", NULL}},
    .run = run,
};
