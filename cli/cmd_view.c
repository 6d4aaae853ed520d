/* tegula view: whether a view of a tensor can be read where the tensor lies. */
#include "cli.h"

#include <tegula/view.h>

#include <stdlib.h>

static const char help[] =
    "tegula view - whether a view of a tensor can be read where the tensor lies\n"
    "\n"
    "usage: tegula view LAYOUT VIEW [--json]\n"
    "\n"
    "VIEW is what PyTorch would be told, on the tensor that LAYOUT describes: x.t()[:, 3:9], or .view(2, -1), or x "
    "for\n"
    "the tensor itself. Where PyTorch's reshape would copy, there is no view.\n"
    "\n"
    "Says `free`, with the coordinate of every device dimension (p0, p1, ... count along the dimensions of the view);\n"
    "`needs a relayout`, with the reason and a layout to copy it to; or `impossible`, with the first element that the\n"
    "tensor does not have. Then, for two readers who do not look so closely, the first element that each gets wrong, "
    "in\n"
    "device elements: torch-spyre's rule for coordinates, and a kernel that knows only the shape and takes the view "
    "for a\n"
    "tensor in the default layout. All elements are judged, and none is looked at. Exit status 0: free, 1: not.\n"
    "\n"
    "example:\n"
    "  $ tegula view 'f16[2,256,4096] spyre' 'x.view(2, 256, 32, 128).transpose(1, 2)'\n"
    "  free: it can be read where it is\n"
    "    view    [2,32,256,128], strides [1048576,128,4096,1], offset 0\n"
    "    access  [p2, 2*p1 + floor(p3/64), p0, Mod(p3, 64)]\n"
    "    stick   p3 runs inside the sticks\n"
    "    wrong   taken for a tensor of its own: element (0,0,1,0) is at 8192, and would be read at 256\n";

static const char *const verdicts[] = {"free", "relayout", "impossible"};
static const char *const reasons[] = {"fits", "carry", "ragged", "outside", "gap"};
static const char *const stick_kinds[] = {"none", "loop", "offset", "bad"};
static const char *const states[] = {"right", "wrong", "refused", "unknown"};

/* What the command found out. */
typedef struct finding {
    tg_desc        tensor, target;
    tg_view        view;
    bool           has_target;
    tg_view_answer answer;
} finding;

static char *access_text(const tg_view_answer *answer) {
    const size_t need = tg_view_format_access(NULL, 0, answer);
    char *const  text = cli_allocate(need + 1);
    tg_view_format_access(text, need + 1, answer);
    return text;
}

/* ---- text --------------------------------------------------------------------------------- */

static void print_list(const char *before, const int64_t *values, int32_t n) {
    printf("%s[", before);
    cli_print_ints(values, n, ",");
    putchar(']');
}

static void print_coord(const int64_t *coord, int32_t n) {
    putchar('(');
    cli_print_ints(coord, n, ",");
    putchar(')');
}

static void print_view(const tg_view *v) {
    print_list("  view    ", v->shape, v->ndim);
    print_list(", strides ", v->strides, v->ndim);
    printf(", offset %lld\n", (long long)v->offset);
}

/* "p0", "p0 and p1", "p0, p1 and p3" */
static void print_variables(uint32_t dims) {
    bool first = true;
    for (int d = 0; d < TG_MAX_NDIM; d++) {
        if (!(dims >> d & 1)) continue;
        printf("%sp%d", first ? "" : dims >> (d + 1) != 0 ? ", " : " and ", d);
        first = false;
    }
}

static void print_step(const tg_view_answer *a) {
    printf("%lld host element%s, one step of ", (long long)a->digit, a->digit == 1 ? "" : "s");
    if (a->mode >= 0) printf("device dimension %d\n", (int)a->mode);
    else puts("several device dimensions as one");
}

static void print_why(const tg_view_answer *a) {
    fputs("  why     ", stdout);
    switch (a->reason) {
    case TG_VIEW_CARRY:
        print_variables(a->dims);
        fputs(" carry: they add up past ", stdout);
        print_step(a);
        return;
    case TG_VIEW_RAGGED:
        print_variables(a->dims);
        printf(" runs on from one row of %lld into the next, and %lld is no multiple of ", (long long)a->edge,
               (long long)a->edge);
        print_step(a);
        return;
    case TG_VIEW_OUTSIDE:
    case TG_VIEW_GAP:
        fputs("element ", stdout);
        print_coord(a->coord, a->ndim);
        printf(" is at host offset %lld, ", (long long)a->host_offset);
        if (a->reason == TG_VIEW_GAP) puts("between two elements of the tensor");
        else printf("and the tensor is in [%lld,%lld)\n", (long long)a->low, (long long)a->high);
        return;
    case TG_VIEW_FITS: return;
    }
}

static void print_stick(const tg_view_answer *a) {
    fputs("  stick   ", stdout);
    switch (a->stick) {
    case TG_STICK_NONE: puts("always its first place"); return;
    case TG_STICK_LOOP: printf("p%d runs inside the sticks\n", (int)a->stick_dim); return;
    case TG_STICK_OFFSET:
        printf("p%d runs inside the sticks, but not from their start: only copies take that\n", (int)a->stick_dim);
        return;
    case TG_STICK_BAD: puts("neither its first place, nor one dimension from its start to its end"); return;
    }
}

static void print_naive(const char *who, const tg_naive *n, int32_t ndim) {
    if (n->state == TG_NAIVE_RIGHT || n->state == TG_NAIVE_REFUSED) return;
    printf("  %s %s: ", n->state == TG_NAIVE_WRONG ? "wrong  " : "unknown", who);
    if (n->state == TG_NAIVE_UNKNOWN) {
        puts("not decided within a million elements");
        return;
    }
    fputs("element ", stdout);
    print_coord(n->coord, ndim);
    printf(" is at %lld, and would be read at %lld\n", (long long)n->right, (long long)n->read);
}

static void print_target(const finding *f, const char *why) {
    if (!f->has_target) return;
    char *const text = cli_canonical_text(&f->target);
    printf("  copy to %s%s\n", text, why);
    free(text);
}

static bool is_for_kernels(const tg_view_answer *a) {
    return !a->has_stick || a->stick == TG_STICK_NONE || a->stick == TG_STICK_LOOP;
}

static void print_free(const finding *f) {
    const tg_view_answer *a = &f->answer;
    char *const           access = access_text(a);
    printf("  access  %s%s\n", access, a->joined ? "   (some stand for several device dimensions as one)" : "");
    free(access);
    if (!a->has_stick) return;
    print_stick(a);
    if (!is_for_kernels(a)) print_target(f, "");
}

static void print_text(const finding *f) {
    const tg_view_answer *a = &f->answer;
    puts(a->verdict == TG_VIEW_RELAYOUT     ? "needs a relayout: it cannot be read where it is"
         : a->verdict == TG_VIEW_IMPOSSIBLE ? "impossible: the tensor does not have all these elements"
         : is_for_kernels(a)                ? "free: it can be read where it is"
                                            : "free: it can be read where it is, but no kernel computes with it there");
    print_view(&f->view);
    if (a->verdict == TG_VIEW_FREE) print_free(f);
    else print_why(a);
    if (a->verdict == TG_VIEW_RELAYOUT) print_target(f, "");
    if (a->verdict == TG_VIEW_IMPOSSIBLE) return;
    print_naive("by torch-spyre's rule", &a->rule, a->ndim);
    print_naive("taken for a tensor of its own", &a->own, a->ndim);
}

/* ---- JSON --------------------------------------------------------------------------------- */

static json_t *view_json(const tg_view *v) {
    json_t *o = cli_json_object();
    cli_json_put(o, "shape", cli_json_ints(v->shape, v->ndim));
    cli_json_put(o, "strides", cli_json_ints(v->strides, v->ndim));
    cli_json_put(o, "offset", cli_json_int(v->offset));
    return o;
}

static json_t *term_json(const tg_view_term *t) {
    json_t *o = cli_json_object();
    cli_json_put(o, "dim", cli_json_int(t->dim));
    cli_json_put(o, "step", cli_json_int(t->step));
    cli_json_put(o, "shift", cli_json_int(t->shift));
    cli_json_put(o, "wrap", t->wrap > 0 ? cli_json_int(t->wrap) : json_null());
    cli_json_put(o, "stride", cli_json_int(t->stride));
    return o;
}

static json_t *coordinate_json(const tg_view_coordinate *c) {
    json_t *o = cli_json_object(), *terms = cli_json_array();
    for (int32_t i = 0; i < c->nterms; i++) cli_json_add(terms, term_json(&c->term[i]));
    cli_json_put(o, "mode", c->mode >= 0 ? cli_json_int(c->mode) : json_null());
    cli_json_put(o, "stride", cli_json_int(c->stride));
    cli_json_put(o, "offset", cli_json_int(c->offset));
    cli_json_put(o, "terms", terms);
    return o;
}

static void put_free(json_t *o, const tg_view_answer *a) {
    json_t     *device = cli_json_array(), *stick = a->has_stick ? cli_json_object() : json_null();
    char *const access = access_text(a);
    for (int32_t i = 0; i < a->ndevice; i++) cli_json_add(device, coordinate_json(&a->device[i]));
    cli_json_put(o, "access", cli_json_text(access));
    free(access);
    cli_json_put(o, "offset", cli_json_int(a->offset));
    cli_json_put(o, "joined", json_boolean(a->joined));
    cli_json_put(o, "device", device);
    if (a->has_stick) {
        cli_json_put(stick, "kind", cli_json_text(stick_kinds[a->stick]));
        cli_json_put(stick, "dim", a->stick_dim >= 0 ? cli_json_int(a->stick_dim) : json_null());
    }
    cli_json_put(o, "stick", stick);
}

static void put_relayout(json_t *o, const tg_view_answer *a) {
    json_t *dims = cli_json_array();
    for (int d = 0; d < a->ndim; d++)
        if (a->dims >> d & 1) cli_json_add(dims, cli_json_int(d));
    cli_json_put(o, "dims", dims);
    cli_json_put(o, "mode", a->mode >= 0 ? cli_json_int(a->mode) : json_null());
    cli_json_put(o, "digit", cli_json_int(a->digit));
    if (a->reason == TG_VIEW_RAGGED) cli_json_put(o, "edge", cli_json_int(a->edge));
}

static void put_impossible(json_t *o, const tg_view_answer *a) {
    const int64_t bounds[] = {a->low, a->high};
    cli_json_put(o, "coord", cli_json_ints(a->coord, a->ndim));
    cli_json_put(o, "host_offset", cli_json_int(a->host_offset));
    cli_json_put(o, "bounds", cli_json_ints(bounds, 2));
}

static json_t *naive_json(const tg_naive *n, int32_t ndim) {
    json_t *o = cli_json_object();
    cli_json_put(o, "state", cli_json_text(states[n->state]));
    if (n->state != TG_NAIVE_WRONG) return o;
    cli_json_put(o, "coord", cli_json_ints(n->coord, ndim));
    cli_json_put(o, "right", cli_json_int(n->right));
    cli_json_put(o, "read", cli_json_int(n->read));
    return o;
}

static int print_json(const finding *f) {
    const tg_view_answer *a = &f->answer;
    json_t               *o = cli_json_object(), *naive = cli_json_object();
    cli_json_put(o, "verdict", cli_json_text(verdicts[a->verdict]));
    if (a->verdict != TG_VIEW_FREE) cli_json_put(o, "reason", cli_json_text(reasons[a->reason]));
    cli_json_put(o, "view", view_json(&f->view));
    if (a->verdict == TG_VIEW_FREE) put_free(o, a);
    if (a->verdict == TG_VIEW_RELAYOUT) put_relayout(o, a);
    if (a->verdict == TG_VIEW_IMPOSSIBLE) put_impossible(o, a);
    if (f->has_target) {
        char *const text = cli_canonical_text(&f->target);
        cli_json_put(o, "copy_to", cli_json_text(text));
        free(text);
    } else {
        cli_json_put(o, "copy_to", json_null());
    }
    if (a->verdict != TG_VIEW_IMPOSSIBLE) {
        cli_json_put(naive, "rule", naive_json(&a->rule, a->ndim));
        cli_json_put(naive, "own", naive_json(&a->own, a->ndim));
    }
    cli_json_put(o, "naive", naive);
    return cli_print_json(o);
}

/* ---- the command ---------------------------------------------------------------------------- */

/* What PyTorch would copy is no view: an answer, and JSON too if that was asked for. */
static int answer_no_view(const tg_error *err) {
    json_t *o = cli_json_object();
    cli_json_put(o, "verdict", json_null());
    cli_json_put(o, "reason", cli_json_text(err->message));
    (void)cli_print_json(o);
    return CLI_NO;
}

static int read_view(finding *f, const char *argument, bool json) {
    cli_text  text;
    tg_error  err;
    tg_view   base;
    tg_status s = tg_view_of(&base, &f->tensor, &err);
    int       status = CLI_OK;
    if (s != TG_OK) return cli_fail_error("layout", &err);
    status = cli_read_text(&text, "view", argument);
    if (status != CLI_OK) return status;
    text.is_argument = false; /* never a file name */
    if ((s = tg_view_parse(&f->view, &base, text.bytes, text.len, &err)) != TG_OK)
        status = cli_fail_reading(&text, &err);
    free(text.bytes);
    if (s == TG_ERR_UNREPRESENTABLE) return json ? answer_no_view(&err) : CLI_NO;
    return status;
}

static int run(const cli_args *args) {
    finding  f;
    tg_error err;
    int      status = cli_read_layout(&f.tensor, "layout", args->argument[0]);
    if (status == CLI_OK) status = read_view(&f, args->argument[1], args->json);
    if (status != CLI_OK) return status;
    if (tg_view_judge(&f.answer, &f.tensor, &f.view, &err) != TG_OK) return cli_fail_error("view", &err);
    f.has_target = f.answer.verdict != TG_VIEW_IMPOSSIBLE &&
                   tg_view_target(&f.target, &f.tensor, &f.view, NULL) == TG_OK;
    if (args->json) (void)print_json(&f);
    else print_text(&f);
    return f.answer.verdict == TG_VIEW_FREE ? CLI_OK : CLI_NO;
}

const cli_command cli_view = {
    .name = "view",
    .summary = "whether a view of a tensor can be read where the tensor lies",
    .help = help,
    .arguments = {"LAYOUT", "VIEW"},
    .run = run,
};
