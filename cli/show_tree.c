/* `tegula show` of XLA shapes that are more than one array: tuples, tokens, opaque values, buffers.
 *
 * The leaves are listed with their index path, {1,0} being element 0 of element 1, as XLA writes it. */
#include "show.h"

#include <stdlib.h>
#include <string.h>

/* From a bracket on; inside of all that are open a CuTe layout has a number, and a tuple a type. */
static bool is_tuple(const cli_text *text, size_t at) {
    while (at < text->len && strchr("( \t\r\n_", text->bytes[at]) != NULL && text->bytes[at] != '\0') at++;
    return at == text->len || text->bytes[at] < '0' || text->bytes[at] > '9';
}

bool show_is_tree(const cli_text *text) {
    static const char *const words[] = {"token", "opaque", "b"};
    size_t at = 0, end = 0;
    while (at < text->len && strchr(" \t\r\n", text->bytes[at]) != NULL && text->bytes[at] != '\0') at++;
    if (at < text->len && text->bytes[at] == '(') return is_tuple(text, at);
    for (end = at; end < text->len && text->bytes[end] >= 'a' && text->bytes[end] <= 'z';) end++;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == end - at && memcmp(text->bytes + at, words[i], end - at) == 0) return true;
    return false;
}

/* ---- walking the leaves -------------------------------------------------------------------------- */

/* Indices of the tuple elements that lead to a node. */
typedef struct path {
    int64_t *index;
    int32_t *left; /* elements of each tuple that are still to come */
    int32_t  depth;
} path;

/* A leaf as the printers want it. */
typedef struct leaf {
    const path         *path;
    const tg_xla_shape *node;
    const tg_desc      *desc; /* NULL if it has no layout: no array, or one of unbounded size */
    char               *text;
} leaf;

typedef struct leaf_printer {
    int (*print)(struct leaf_printer *self, const leaf *l);
    json_t *leaves;
    int64_t nbytes, nleaves, narrays;
    int     path_width;
} leaf_printer;

static const char *kind_name(tg_xla_kind kind) {
    switch (kind) {
    case TG_XLA_ARRAY: return "array";
    case TG_XLA_TUPLE: return "tuple";
    case TG_XLA_TOKEN: return "token";
    case TG_XLA_OPAQUE: return "opaque";
    case TG_XLA_BUFFER: return "buffer";
    }
    return "unknown";
}

static char *shape_text(const tg_xla_shape *nodes, size_t count) {
    const size_t len = tg_xla_shape_format(NULL, 0, nodes, count, true);
    char        *text = cli_allocate(len + 1);
    (void)tg_xla_shape_format(text, len + 1, nodes, count, true);
    return text;
}

/* The layout of an array node, read from its own text so that every rule of an array is checked. */
static int read_leaf(bool *has_layout, tg_desc *out, const tg_xla_shape *array, const cli_text *text) {
    char           *own = shape_text(array, 1);
    tg_error        err;
    const tg_status status = tg_desc_parse(out, own, strlen(own), &err);
    free(own);
    *has_layout = status == TG_OK;
    return status == TG_OK || status == TG_ERR_UNREPRESENTABLE ? CLI_OK
                                                               : cli_fail_at(text, array->pos, "%s", err.message);
}

/* Step to the next node's path; called after a node that has `children` below it. */
static void advance(path *p, int32_t children) {
    if (children > 0) {
        p->index[p->depth] = 0;
        p->left[p->depth++] = children - 1;
        return;
    }
    while (p->depth > 0 && p->left[p->depth - 1] == 0) p->depth--;
    if (p->depth == 0) return;
    p->index[p->depth - 1]++;
    p->left[p->depth - 1]--;
}

static int print_leaf(leaf_printer *printer, const path *p, const tg_xla_shape *node, const cli_text *text) {
    const bool          is_buffer = node->kind == TG_XLA_BUFFER;
    const tg_xla_shape *array = is_buffer ? node + 1 : node;
    tg_desc             desc;
    bool                has_layout = false;
    int                 status = CLI_OK;
    if (array->kind == TG_XLA_ARRAY) status = read_leaf(&has_layout, &desc, array, text);
    if (status != CLI_OK) return status;
    const leaf l = {p, node, has_layout ? &desc : NULL, shape_text(node, is_buffer ? 2 : 1)};
    status = printer->print(printer, &l);
    free(l.text);
    return status;
}

static int walk(leaf_printer *printer, path *p, const tg_xla_shape *nodes, size_t count, const cli_text *text) {
    p->depth = 0;
    for (size_t i = 0; i < count; i++) {
        const tg_xla_shape *node = &nodes[i];
        const bool          is_tuple = node->kind == TG_XLA_TUPLE;
        const int           status = is_tuple ? CLI_OK : print_leaf(printer, p, node, text);
        if (status != CLI_OK) return status;
        if (node->kind == TG_XLA_BUFFER) i++; /* its array is part of the leaf */
        advance(p, is_tuple ? node->nchildren : 0);
    }
    return CLI_OK;
}

/* ---- text ------------------------------------------------------------------------------------------ */

enum { PATH_ROOM = 256 };

/* "{1,0}"; its length. */
static int path_text(char word[PATH_ROOM], const path *p) {
    int at = snprintf(word, PATH_ROOM, "{");
    for (int32_t i = 0; i < p->depth && at < PATH_ROOM - 24; i++)
        at += snprintf(word + at, (size_t)(PATH_ROOM - at), "%s%lld", i > 0 ? "," : "", (long long)p->index[i]);
    return at + snprintf(word + at, (size_t)(PATH_ROOM - at), "}");
}

/* Sums and the width of the first column, and whether all leaves can be shown at all. */
static int measure(leaf_printer *self, const leaf *l) {
    char      word[PATH_ROOM];
    const int width = path_text(word, l->path);
    int64_t   nbytes = 0;
    if (width > self->path_width) self->path_width = width;
    self->nleaves++;
    if (l->desc == NULL) return CLI_OK;
    self->narrays++;
    if (tg_layout_nbytes(&nbytes, &l->desc->layout, NULL) == TG_OK &&
        !__builtin_add_overflow(self->nbytes, nbytes, &self->nbytes))
        return CLI_OK;
    return cli_fail(CLI_USAGE, "layout", "the bytes of the whole shape do not fit 64 bits");
}

static int print_row(leaf_printer *self, const leaf *l) {
    char         word[PATH_ROOM];
    int64_t      nbytes = 0;
    cli_coverage c;
    (void)path_text(word, l->path);
    printf("  %-*s ", self->path_width, word);
    if (l->desc == NULL) {
        printf("%13s %14s %10s  %s\n", "-", "-", "-", l->text);
        return CLI_OK;
    }
    (void)tg_layout_nbytes(&nbytes, &l->desc->layout, NULL);
    cli_get_coverage(&c, &l->desc->layout);
    printf("%13lld %14lld ", (long long)tg_layout_numel(&l->desc->layout), (long long)nbytes);
    if (c.known) printf("%10lld  %s\n", (long long)c.padding, l->text);
    else printf("%10s  %s\n", "?", l->text);
    return CLI_OK;
}

static int print_tree(leaf_printer *printer, path *p, const tg_xla_shape *nodes, size_t count, const cli_text *text) {
    char human[32];
    printer->print = measure;
    printer->path_width = 8;
    int status = walk(printer, p, nodes, count, text);
    if (status != CLI_OK) return status;
    printf("  %-*s %13s %14s %10s  %s\n", printer->path_width, "index", "elements", "bytes", "padding", "shape");
    printer->print = print_row;
    status = walk(printer, p, nodes, count, text);
    printf("\n  %lld %s, %s together", (long long)printer->nleaves, printer->nleaves == 1 ? "leaf" : "leaves",
           cli_human_bytes(human, printer->nbytes));
    puts(printer->narrays > 0 ? "; tegula show SHAPE explains one of them" : "");
    return status;
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

static int put_leaf(leaf_printer *self, const leaf *l) {
    json_t *o = cli_json_object();
    cli_json_put(o, "index", cli_json_ints(l->path->index, l->path->depth));
    cli_json_put(o, "kind", cli_json_text(kind_name(l->node->kind)));
    if (l->desc == NULL) cli_json_put(o, "text", cli_json_text(l->text));
    cli_json_add(self->leaves, o);
    return l->desc != NULL ? cli_put_layout(o, l->desc) : CLI_OK;
}

static int print_tree_json(leaf_printer *printer, path *p, const tg_xla_shape *nodes, size_t count,
                           const cli_text *text) {
    json_t *object = cli_json_object();
    char   *whole = shape_text(nodes, count);
    printer->print = put_leaf;
    printer->leaves = cli_json_array();
    cli_json_put(object, "schema", cli_json_text("tegula.shape/1"));
    cli_json_put(object, "text", cli_json_text(whole));
    cli_json_put(object, "leaves", printer->leaves);
    free(whole);
    const int status = walk(printer, p, nodes, count, text);
    if (status == CLI_OK) return cli_print_json(object);
    json_decref(object);
    return status;
}

/* ---- both ------------------------------------------------------------------------------------------- */

static int read_tree(tg_xla_shape **nodes, size_t *count, const cli_text *text) {
    tg_error err;
    *nodes = NULL;
    if (tg_xla_shape_parse(NULL, 0, count, text->bytes, text->len, &err) != TG_OK) return cli_fail_reading(text, &err);
    *nodes = cli_allocate(*count * sizeof **nodes);
    if (tg_xla_shape_parse(*nodes, *count, count, text->bytes, text->len, &err) == TG_OK) return CLI_OK;
    return cli_fail_reading(text, &err);
}

/* A printer that hands leaves on. */
typedef struct leaf_visitor {
    leaf_printer printer; /* first, so that a pointer to one is a pointer to the other */
    int (*visit)(void *context, const show_leaf *leaf);
    void *context;
} leaf_visitor;

static int hand_on(leaf_printer *self, const leaf *l) {
    const leaf_visitor *visitor = (const leaf_visitor *)self;
    const show_leaf     shown = {l->path->index, l->path->depth, kind_name(l->node->kind), l->text, l->desc};
    return visitor->visit(visitor->context, &shown);
}

int show_each_leaf(char **whole, const cli_text *text, int (*visit)(void *context, const show_leaf *leaf),
                   void *context) {
    tg_xla_shape *nodes = NULL;
    size_t        count = 0;
    leaf_visitor  visitor = {{hand_on, NULL, 0, 0, 0, 0}, visit, context};
    *whole = NULL;
    int status = read_tree(&nodes, &count, text);
    if (status == CLI_OK) {
        path p = {cli_allocate(count * sizeof *p.index), cli_allocate(count * sizeof *p.left), 0};
        *whole = shape_text(nodes, count);
        status = walk(&visitor.printer, &p, nodes, count, text);
        free(p.index);
        free(p.left);
    }
    free(nodes);
    return status;
}

int show_tree(const cli_text *text, bool json) {
    tg_xla_shape *nodes = NULL;
    size_t        count = 0;
    leaf_printer  printer = {NULL, NULL, 0, 0, 0, 0};
    int           status = read_tree(&nodes, &count, text);
    if (status == CLI_OK) {
        path p = {cli_allocate(count * sizeof *p.index), cli_allocate(count * sizeof *p.left), 0};
        if (json) status = print_tree_json(&printer, &p, nodes, count, text);
        else status = print_tree(&printer, &p, nodes, count, text);
        free(p.index);
        free(p.left);
    }
    free(nodes);
    return status;
}
