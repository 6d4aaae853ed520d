/* Pieces of the report of a plan: names, amounts, layouts, loops. */
#include "graph/report.h"

#include "graph/model.h"
#include "graph/plan.h"

#include <string.h>

enum { LAYOUT = 4096 };

static bool is_blank(char c) { return c == '\n' || c == '\r' || c == '\t' || c == ' '; }

void tg_put_plain(tg_writer *w, tg_hlo_text text) {
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char c = (unsigned char)text.chars[i];
        if (is_blank(text.chars[i])) {
            if (i == 0 || !is_blank(text.chars[i - 1])) tg_put_char(w, ' ');
        } else {
            tg_put_char(w, c < 0x20 || c == 0x7f ? '?' : text.chars[i]);
        }
    }
}

void tg_put_node(tg_writer *w, const tg_graph *graph, int64_t node) {
    const tg_hlo_text name = tg_graph_get(graph, node).name;
    tg_put_plain(w, name);
    if (name.len > 0) return;
    tg_put_text(w, "node ");
    tg_put_int(w, node);
}

void tg_put_count(tg_writer *w, int64_t n, const char *one, const char *several) {
    tg_put_int(w, n);
    tg_put_char(w, ' ');
    tg_put_text(w, n == 1 ? one : several);
}

void tg_put_column(tg_writer *w, int64_t value, int32_t width) {
    char      digits[32];
    tg_writer number = tg_writer_make(digits, sizeof digits);
    tg_put_int(&number, value);
    for (size_t len = tg_writer_end(&number); len < (size_t)width; len++) tg_put_char(w, ' ');
    tg_put_text(w, digits);
}

/* value / 2^shift, rounded to so many decimals, halves to the even one. pre: shift <= 50, or value < 2^63 has been cut
 * to that: what is behind 50 binary places is not looked at. */
static void put_fraction(tg_writer *w, int64_t value, int32_t shift, int32_t decimals) {
    const int64_t scale = decimals == 2 ? 100 : 10, unit = INT64_C(1) << shift;
    const int64_t rest = (value & (unit - 1)) * scale, half = unit / 2;
    int64_t       hundredths = (value >> shift) * scale + (rest >> shift);
    const int64_t left = rest & (unit - 1);
    if (left > half || (left == half && hundredths % 2 != 0)) hundredths++;
    tg_put_int(w, hundredths / scale);
    tg_put_char(w, '.');
    if (decimals == 2) tg_put_int(w, hundredths % 100 / 10);
    tg_put_int(w, hundredths % 10);
}

void tg_put_amount(tg_writer *w, int64_t nbytes) {
    static const char *const units[] = {" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
    int32_t                  unit = 0;
    if (nbytes < 1024) {
        tg_put_count(w, nbytes, "byte", "bytes");
        return;
    }
    while (unit < 5 && nbytes >> (10 * (unit + 2)) > 0) unit++;
    const int32_t shift = 10 * (unit + 1), cut = shift > 50 ? shift - 50 : 0;
    put_fraction(w, nbytes >> cut, shift - cut, nbytes >> shift < 10 ? 2 : 1);
    tg_put_text(w, units[unit]);
}

void tg_put_layout(tg_writer *w, const tg_graph *graph, int64_t node, const tg_spyre *layout) {
    char    text[LAYOUT];
    tg_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.notation = TG_NOTATION_SPYRE;
    desc.host = tg_graph_get(graph, node).host;
    desc.spyre = *layout;
    if (tg_layout_from_spyre(&desc.layout, layout, &desc.host, NULL) == TG_OK)
        (void)tg_desc_format(text, sizeof text, &desc);
    else (void)tg_spyre_str(text, sizeof text, layout);
    tg_put_text(w, text);
}

/* The dimension of the result that a loop walks; -1 if none does. */
static int32_t result_dim(const tg_graph *graph, int64_t node, int32_t loop) {
    const tg_host  *host = &tg_node_at(graph, node)->host;
    const tg_access access = tg_graph_access(graph, node, -1);
    for (int32_t i = 0; i < access.nterms; i++)
        for (int32_t d = 0; access.terms[i].loop == loop && d < host->ndim; d++)
            if (host->strides[d] == access.terms[i].step && host->shape[d] > 1) return d;
    return -1;
}

void tg_put_loop(tg_writer *w, const tg_graph *graph, int64_t node, int32_t loop) {
    const int32_t d = loop >= 0 ? result_dim(graph, node, loop) : -1;
    if (loop < 0) {
        tg_put_text(w, "nothing");
    } else if (d >= 0) {
        tg_put_text(w, "dimension ");
        tg_put_int(w, d);
        tg_put_text(w, " of its result");
    } else {
        tg_put_char(w, 'p');
        tg_put_int(w, loop);
        tg_put_text(w, ", which the result does not have,");
    }
}

int64_t tg_find_copy(const tg_graph_plan *plan, int64_t node, int32_t k) {
    for (size_t i = 0; i < plan->restickifies.count; i++) {
        const tg_restickify *r = &plan->restickifies.rows[i];
        for (int64_t j = r->first_reader; j < r->first_reader + r->nreaders; j++)
            if (plan->readers.rows[j].node == node && plan->readers.rows[j].operand == k) return (int64_t)i;
    }
    return -1;
}

tg_division tg_report_divide(const tg_plan_report *r, int64_t node) {
    tg_division d = {.cores = 1, .in_span = true};
    (void)tg_graph_plan_divide(&d, r->graph, r->plan, node, &r->division, NULL);
    return d;
}
