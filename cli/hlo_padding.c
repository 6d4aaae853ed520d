/* The padding report of `tegula hlo`: arrays by what they waste, why, and what would be cheaper. */
#include "hlo.h"

#include <tegula/padding.h>
#include <tegula/xla.h>

#include <stdlib.h>
#include <string.h>

enum { ROWS = 10, NAMES = 4 };

/* All that is said of one array. */
typedef struct finding {
    char             *text;
    tg_xla_shape      array;
    int64_t           path[TG_MAX_NDIM]; /* in the instruction's shape */
    size_t            npath;
    tg_padding        padding;
    bool              advised;
    tg_padding_advice advice;
} finding;

static int find(finding *out, const hlo_view *view, const tg_hlo_buffer *b) {
    const int64_t shape = tg_hlo_get_instruction(view->module, b->instruction).shape;
    size_t        count = 0;
    tg_error      err;
    const tg_xla_shape *nodes = hlo_nodes(&count, view, shape);
    if (nodes == NULL) return CLI_USAGE;
    out->array = nodes[b->node];
    tg_status status = tg_xla_shape_index(out->path, TG_MAX_NDIM, &out->npath, nodes, count, b->node, &err);
    if (status == TG_OK) status = tg_padding_measure(&out->padding, &out->array, &err);
    if (status != TG_OK) return cli_fail_error("padding", &err);
    if (out->npath > TG_MAX_NDIM) out->npath = TG_MAX_NDIM;
    out->advised = tg_padding_advise(&out->advice, &out->array, &err) == TG_OK;
    if (!out->advised && err.status == TG_ERR_NOMEM) return cli_fail_error("padding", &err);
    out->text = hlo_node_text(&out->array);
    return CLI_OK;
}

static bool is_padded(const tg_hlo_buffer *b) { return b->physical_bytes > b->logical_bytes; }

/* Arrays of the same layout stand together: how many from `at` on. */
static int64_t alike(const tg_hlo_buffers *list, int64_t at) {
    int64_t end = at + 1;
    while (end < list->nbuffers && list->buffer[end].layout == list->buffer[at].layout) end++;
    return end - at;
}

/* ---- text ------------------------------------------------------------------------------ */

static void print_dims(uint32_t dims) {
    const char *before = (dims & (dims - 1)) != 0 ? "dimensions " : "dimension ";
    if (dims == 0) fputs("no dimension", stdout);
    for (int d = 0; dims >> d != 0; d++)
        if ((dims >> d & 1) != 0) {
            printf("%s%d", before, d);
            before = "*";
        }
}

static void print_reasons(const tg_padding *p) {
    char bytes[32];
    if (p->widening_bytes > 0)
        printf("     elements of %d bits are stored in %d: +%s\n", p->logical_bits, p->stored_bits,
               cli_human_bytes(bytes, p->widening_bytes));
    for (int32_t i = 0; i < p->nparts; i++) {
        const tg_padding_part *part = &p->part[i];
        if (part->bytes == 0) continue;
        fputs("     ", stdout);
        print_dims(part->dims);
        printf(": tile level %d rounds %lld up to %lld: +%s\n", part->level + 1, (long long)part->size,
               (long long)part->padded, cli_human_bytes(bytes, part->bytes));
    }
    if (p->tail_bytes > 0) printf("     the end is rounded up by L(n): +%s\n", cli_human_bytes(bytes, p->tail_bytes));
}

static void print_choice(const char *what, const tg_padding_choice *c) {
    char text[512], bytes[32], saved[32];
    (void)tg_xla_layout_format(text, sizeof text, &c->layout);
    printf("     %s %s has %s, %s less\n", what, text, cli_human_bytes(bytes, c->physical_bytes),
           cli_human_bytes(saved, c->saved_bytes));
}

static void print_advice(const finding *f) {
    const tg_padding_advice *a = &f->advice;
    if (!f->advised) puts("     what would be cheaper is too hard to find out");
    if (!f->advised) return;
    if (a->order.saved_bytes > 0) print_choice("cheaper order:", &a->order);
    if (a->tiling.saved_bytes > a->order.saved_bytes) print_choice("cheaper tiling:", &a->tiling);
    if (a->tiling.saved_bytes == 0) puts("     no other order or standard tiling is smaller");
}

static void print_others(const hlo_view *view, const tg_hlo_buffers *list, int64_t at, int64_t n) {
    char bytes[32];
    const int64_t padding = list->buffer[at].physical_bytes - list->buffer[at].logical_bytes;
    if (n == 1) return;
    printf("     and %lld more of this layout, %s of padding together: ", (long long)(n - 1),
           cli_human_bytes(bytes, padding > INT64_MAX / n ? INT64_MAX : padding * n));
    for (int64_t i = 1; i < n && i <= NAMES; i++) {
        if (i > 1) fputs(", ", stdout);
        hlo_print(tg_hlo_get_instruction(view->module, list->buffer[at + i].instruction).name);
    }
    puts(n - 1 > NAMES ? ", ..." : "");
}

static int print_row(const hlo_view *view, const tg_hlo_buffers *list, int64_t at, int64_t n, int64_t rank) {
    const tg_hlo_buffer *b = &list->buffer[at];
    char                 lost[32], all[32], data[32], times[32];
    finding              f;
    const int            status = find(&f, view, b);
    if (status != CLI_OK) return status;
    printf("\n%3lld. ", (long long)rank);
    hlo_print_instruction(view->module, b->instruction, f.text);
    if (f.npath > 0) {
        fputs(", element ", stdout);
        cli_print_ints(f.path, (int32_t)f.npath, ",");
    }
    printf("\n     %s of padding: %s of data in %s, %s\n",
           cli_human_bytes(lost, b->physical_bytes - b->logical_bytes), cli_human_bytes(data, b->logical_bytes),
           cli_human_bytes(all, b->physical_bytes), hlo_times(times, tg_padding_expansion(&f.padding)));
    print_reasons(&f.padding);
    print_advice(&f);
    print_others(view, list, at, n);
    free(f.text);
    return CLI_OK;
}

static void print_sums(const tg_hlo_buffers *list) {
    char arrays[64], data[32], all[32], times[32];
    if (list->nbuffers == 0 && list->unmeasured == 0) puts("there are no arrays");
    for (int64_t i = 0; i < list->nspaces; i++) {
        const tg_hlo_space *s = &list->space[i];
        const double factor = s->logical_bytes > 0 ? (double)s->physical_bytes / (double)s->logical_bytes : 1;
        printf("memory space %lld: %s, %s of data in %s (%s)\n", (long long)s->memory_space,
               hlo_plural(arrays, s->nbuffers, "array"), cli_human_bytes(data, s->logical_bytes),
               cli_human_bytes(all, s->physical_bytes), hlo_times(times, factor));
    }
    if (list->unmeasured > 0)
        printf("without a size (unbounded, beyond 64 bits, or not valid): %s\n",
               hlo_plural(arrays, list->unmeasured, "array"));
}

static int print_report(const hlo_view *view, const tg_hlo_buffers *list) {
    const int64_t limit = view->limit >= 0 ? view->limit : ROWS;
    int64_t       at = 0, rank = 0;
    int           status = CLI_OK;
    char          count[64];
    print_sums(list);
    while (status == CLI_OK && at < list->nbuffers && is_padded(&list->buffer[at]) && rank < limit) {
        const int64_t n = alike(list, at);
        status = print_row(view, list, at, n, ++rank);
        at += n;
    }
    int64_t padded = at;
    while (padded < list->nbuffers && is_padded(&list->buffer[padded])) padded++;
    if (padded > at)
        printf("\nand %s with padding not shown (--limit N shows more)\n", hlo_plural(count, padded - at, "array"));
    if (padded == 0 && list->nbuffers > 0) puts("no array has padding");
    return status;
}

/* ---- JSON ------------------------------------------------------------------------------ */

static json_t *json_dims(uint32_t dims) {
    json_t *list = cli_json_array();
    for (int d = 0; dims >> d != 0; d++)
        if ((dims >> d & 1) != 0) cli_json_add(list, cli_json_int(d));
    return list;
}

static json_t *json_parts(const tg_padding *p) {
    json_t *list = cli_json_array();
    for (int32_t i = 0; i < p->nparts; i++) {
        const tg_padding_part *part = &p->part[i];
        json_t                *object = cli_json_object();
        if (part->bytes == 0) {
            json_decref(object);
            continue;
        }
        cli_json_put(object, "tile_index", cli_json_int(part->level));
        cli_json_put(object, "dimensions", json_dims(part->dims));
        cli_json_put(object, "size", cli_json_int(part->size));
        cli_json_put(object, "tile", cli_json_int(part->tile));
        cli_json_put(object, "padded", cli_json_int(part->padded));
        cli_json_put(object, "bytes", cli_json_int(part->bytes));
        cli_json_add(list, object);
    }
    return list;
}

static json_t *json_choice(const finding *f, const tg_padding_choice *c) {
    char    text[512];
    json_t *object = NULL;
    if (!f->advised) return json_null();
    object = cli_json_object();
    (void)tg_xla_layout_format(text, sizeof text, &c->layout);
    cli_json_put(object, "layout", cli_json_text(text));
    cli_json_put(object, "physical_bytes", cli_json_int(c->physical_bytes));
    cli_json_put(object, "saved_bytes", cli_json_int(c->saved_bytes));
    return object;
}

static json_t *json_row(const hlo_view *view, const tg_hlo_buffer *b, const finding *f, json_t *path) {
    const tg_hlo_instruction i = tg_hlo_get_instruction(view->module, b->instruction);
    json_t                  *object = cli_json_object();
    cli_json_put(object, "computation", hlo_json_text(hlo_computation_of(view->module, b->instruction).name));
    cli_json_put(object, "instruction", hlo_json_text(i.name));
    cli_json_put(object, "opcode", hlo_json_text(i.opcode));
    cli_json_put(object, "path", path);
    cli_json_put(object, "shape", cli_json_text(f->text));
    cli_json_put(object, "memory_space", cli_json_int(b->memory_space));
    cli_json_put(object, "logical_bytes", cli_json_int(b->logical_bytes));
    cli_json_put(object, "physical_bytes", cli_json_int(b->physical_bytes));
    cli_json_put(object, "padding_bytes", cli_json_int(b->physical_bytes - b->logical_bytes));
    cli_json_put(object, "expansion", json_real(tg_padding_expansion(&f->padding)));
    cli_json_put(object, "widening_bytes", cli_json_int(f->padding.widening_bytes));
    cli_json_put(object, "tail_bytes", cli_json_int(f->padding.tail_bytes));
    cli_json_put(object, "parts", json_parts(&f->padding));
    cli_json_put(object, "cheapest_order", json_choice(f, &f->advice.order));
    cli_json_put(object, "cheapest_tiling", json_choice(f, &f->advice.tiling));
    return object;
}

static json_t *json_spaces(const tg_hlo_buffers *list) {
    json_t *spaces = cli_json_array();
    for (int64_t i = 0; i < list->nspaces; i++) {
        const tg_hlo_space *s = &list->space[i];
        json_t             *object = cli_json_object();
        cli_json_put(object, "memory_space", cli_json_int(s->memory_space));
        cli_json_put(object, "arrays", cli_json_int(s->nbuffers));
        cli_json_put(object, "logical_bytes", cli_json_int(s->logical_bytes));
        cli_json_put(object, "physical_bytes", cli_json_int(s->physical_bytes));
        cli_json_add(spaces, object);
    }
    return spaces;
}

static json_t *path_of(const hlo_view *view, const tg_hlo_buffer *b) {
    const int64_t shape = tg_hlo_get_instruction(view->module, b->instruction).shape;
    size_t        count = 0, npath = 0;
    int64_t       path[TG_MAX_NDIM];
    if (tg_hlo_get_shape(view->module, shape).nnodes == 1) return cli_json_array();
    const tg_xla_shape *nodes = hlo_nodes(&count, view, shape);
    if (nodes != NULL) (void)tg_xla_shape_index(path, TG_MAX_NDIM, &npath, nodes, count, b->node, NULL);
    return cli_json_ints(path, (int32_t)(npath < TG_MAX_NDIM ? npath : TG_MAX_NDIM));
}

/* Rows are written one by one: there may be millions. What is known of a layout serves all rows that have it. */
static int put_report(const hlo_view *view, const tg_hlo_buffers *list) {
    const int64_t limit = view->limit >= 0 ? view->limit : list->nbuffers;
    int           status = CLI_OK;
    fputs("{\"schema\":\"tegula.hlo.padding/1\",\"module\":", stdout);
    cli_put_json(stdout, hlo_json_text(tg_hlo_get_header(view->module).name));
    fputs(",\"memory_spaces\":", stdout);
    cli_put_json(stdout, json_spaces(list));
    printf(",\"unmeasured\":%lld,\"arrays\":[", (long long)list->unmeasured);
    for (int64_t at = 0; status == CLI_OK && at < list->nbuffers && at < limit;) {
        finding       f;
        const int64_t n = alike(list, at);
        status = find(&f, view, &list->buffer[at]);
        if (status != CLI_OK) break;
        for (int64_t i = 0; i < n && at < limit; i++, at++) {
            if (at > 0) putchar(',');
            cli_put_json(stdout, json_row(view, &list->buffer[at], &f, path_of(view, &list->buffer[at])));
        }
        free(f.text);
    }
    fputs("]}\n", stdout);
    return status;
}

int hlo_show_padding(const hlo_view *view) {
    tg_hlo_buffers list;
    tg_error       err;
    if (tg_hlo_buffers_list(&list, view->module, &view->filter, &err) != TG_OK) return cli_fail_error("padding", &err);
    const int status = view->json ? put_report(view, &list) : print_report(view, &list);
    tg_hlo_buffers_free(&list);
    return status;
}
