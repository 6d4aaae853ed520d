/* JSON as it is written: commas are put where they belong, the rest is the caller's. Texts are plain ASCII that needs
 * no escapes. */
#ifndef TG_GRAPH_JSON_TEXT_H
#define TG_GRAPH_JSON_TEXT_H

#include "base/text.h"

typedef struct tg_json {
    tg_writer w;
    bool      comma; /* before the next value */
} tg_json;

/* What a value starts with: a comma where one is due, and its key in an object (NULL in a list). */
static inline void tg_json_key(tg_json *j, const char *key) {
    if (j->comma) tg_put_char(&j->w, ',');
    j->comma = true;
    if (key == NULL) return;
    tg_put_char(&j->w, '"');
    tg_put_text(&j->w, key);
    tg_put_text(&j->w, "\":");
}

/* bracket: '{' or '[' */
static inline void tg_json_open(tg_json *j, const char *key, char bracket) {
    tg_json_key(j, key);
    tg_put_char(&j->w, bracket);
    j->comma = false;
}

static inline void tg_json_close(tg_json *j, char bracket) {
    tg_put_char(&j->w, bracket);
    j->comma = true;
}

static inline void tg_json_int(tg_json *j, const char *key, int64_t value) {
    tg_json_key(j, key);
    tg_put_int(&j->w, value);
}

static inline void tg_json_text(tg_json *j, const char *key, const char *text) {
    tg_json_key(j, key);
    tg_put_char(&j->w, '"');
    tg_put_text(&j->w, text);
    tg_put_char(&j->w, '"');
}

/* A value that is JSON already. */
static inline void tg_json_raw(tg_json *j, const char *key, const char *json) {
    tg_json_key(j, key);
    tg_put_text(&j->w, json);
}

#endif
