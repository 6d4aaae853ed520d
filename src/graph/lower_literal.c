/* Whether a text is as many numbers as a constant has. Layouts do not depend on them, so they are not kept. */
#include "graph/lower.h"

#include <string.h>

typedef struct reader {
    const char *chars;
    size_t      at, len;
} reader;

static char peek(const reader *r) { return r->at < r->len ? r->chars[r->at] : '\0'; }

static bool take(reader *r, const char *word) {
    const size_t n = strlen(word);
    if (r->len - r->at < n || memcmp(r->chars + r->at, word, n) != 0) return false;
    r->at += n;
    return true;
}

/* Blanks, commas, braces, and comments. */
static void skip_between(reader *r) {
    while (r->at < r->len) {
        if (take(r, "/*")) {
            while (r->at < r->len && !take(r, "*/")) r->at++;
        } else if (r->chars[r->at] != '\0' && strchr(" ,{}\n\t\r", r->chars[r->at]) != NULL) {
            r->at++;
        } else {
            return;
        }
    }
}

static bool skip_digits(reader *r) {
    const size_t start = r->at;
    while (peek(r) >= '0' && peek(r) <= '9') r->at++;
    return r->at > start;
}

/* "-1.5e-3", "true", "inf", "nan(0x200)". */
static bool skip_real(reader *r) {
    (void)(take(r, "-") || take(r, "+"));
    if (take(r, "true") || take(r, "false") || take(r, "inf")) return true;
    if (take(r, "nan")) {
        if (peek(r) == '(')
            while (r->at < r->len && r->chars[r->at++] != ')') {}
        return true;
    }
    const bool whole = skip_digits(r), part = take(r, ".") && skip_digits(r);
    if (!whole && !part) return false;
    if (!take(r, "e") && !take(r, "E")) return true;
    (void)(take(r, "-") || take(r, "+"));
    return skip_digits(r);
}

static bool skip_number(reader *r) {
    if (!take(r, "(")) return skip_real(r);
    skip_between(r);
    if (!skip_real(r)) return false; /* a complex one */
    skip_between(r);
    return skip_real(r) && take(r, ")");
}

/* Behind a number there is something that parts it from the next one. */
static bool is_parted(const reader *r) {
    return r->at >= r->len || (r->chars[r->at] != '\0' && strchr(" ,{}\n\t\r/", r->chars[r->at]) != NULL);
}

const char *tg_literal_fault(tg_hlo_text text, const tg_node_view *shape) {
    reader  r = {text.chars, 0, text.len};
    int64_t count = 0, wanted = 1; /* fits: the shape has been judged */
    for (int32_t d = 0; d < shape->ndim; d++) wanted *= shape->shape[d];
    for (skip_between(&r); r.at < r.len; skip_between(&r), count++) {
        if (take(&r, "...")) return NULL;
        if (!skip_number(&r) || !is_parted(&r)) return "it has an element that is no number";
    }
    if (count < wanted) return "it has fewer elements than its shape";
    return count > wanted ? "it has more elements than its shape" : NULL;
}
