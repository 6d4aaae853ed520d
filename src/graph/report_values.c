/* Values of JSON that need more than plain ASCII: names, layouts, numbers that are not there. */
#include "graph/report.h"

#include <string.h>

static bool is_utf8(const char *text, size_t len) {
    for (size_t i = 0; i < len;) {
        const size_t n = tg_utf8_length((const unsigned char *)text + i, len - i);
        if (n == 0) return false;
        i += n;
    }
    return true;
}

static void put_escaped(tg_writer *w, unsigned char c) {
    static const char hex[] = "0123456789ABCDEF", letters[] = "btnvfr"; /* from 8 on; v is none */
    tg_put_char(w, '\\');
    if (c == '"' || c == '\\') tg_put_char(w, (char)c);
    else if (c >= 8 && c <= 13 && c != 11) tg_put_char(w, letters[c - 8]);
    else {
        tg_put_text(w, "u00");
        tg_put_char(w, hex[c >> 4]);
        tg_put_char(w, hex[c & 15]);
    }
}

static void put_bytes(tg_json *j, const char *text, size_t len) {
    const bool exact = len == 0 || is_utf8(text, len);
    for (size_t i = 0; i < len; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (!exact && (c == 0 || c >= 0x80)) tg_put_char(&j->w, '?');
        else if (c < 0x20 || c == '"' || c == '\\') put_escaped(&j->w, c);
        else tg_put_char(&j->w, (char)c);
    }
}

void tg_json_bytes(tg_json *j, const char *key, const char *text, size_t len) {
    tg_json_key(j, key);
    tg_put_char(&j->w, '"');
    put_bytes(j, text, len);
    tg_put_char(&j->w, '"');
}

void tg_json_number(tg_json *j, const char *key, int64_t value, bool there) {
    if (there) tg_json_int(j, key, value);
    else tg_json_raw(j, key, "null");
}

void tg_json_name(tg_json *j, const char *key, const tg_graph *graph, int64_t node, const char *after) {
    const tg_hlo_text name = tg_graph_get(graph, node).name;
    tg_json_key(j, key);
    tg_put_char(&j->w, '"');
    if (name.len > 0) put_bytes(j, name.chars, name.len);
    else tg_put_node(&j->w, graph, node);
    tg_put_text(&j->w, after);
    tg_put_char(&j->w, '"');
}

void tg_json_layout(tg_json *j, const char *key, const tg_graph *graph, int64_t node, const tg_spyre *layout) {
    tg_json_key(j, key);
    tg_put_char(&j->w, '"');
    tg_put_layout(&j->w, graph, node, layout);
    tg_put_char(&j->w, '"');
}
