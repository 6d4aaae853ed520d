#include "base/error.h"

#include "base/text.h"

#include <stdarg.h>

enum { SHOWN_TEXT = 40 }; /* longer pieces of foreign text are cut in messages */

const char *tg_status_name(tg_status status) {
    switch (status) {
    case TG_OK: return "TG_OK";
    case TG_ERR_ARGUMENT: return "TG_ERR_ARGUMENT";
    case TG_ERR_OVERFLOW: return "TG_ERR_OVERFLOW";
    case TG_ERR_PARSE: return "TG_ERR_PARSE";
    case TG_ERR_LIMIT: return "TG_ERR_LIMIT";
    case TG_ERR_UNREPRESENTABLE: return "TG_ERR_UNREPRESENTABLE";
    case TG_ERR_UNSUPPORTED: return "TG_ERR_UNSUPPORTED";
    case TG_ERR_NOMEM: return "TG_ERR_NOMEM";
    case TG_ERR_IO: return "TG_ERR_IO";
    }
    return "TG_ERR_UNKNOWN";
}

/* Foreign bytes: whole UTF-8 characters as they are; control characters and stray bytes as `?`, so
 * that a message stays one line of valid text. */
static void put_shown(tg_writer *w, const char *text, size_t len) {
    const unsigned char *bytes = (const unsigned char *)text;
    size_t               i = 0;
    while (i < len && i < SHOWN_TEXT) {
        const size_t n = tg_utf8_length(bytes + i, len - i);
        if (n == 0 || bytes[i] < 0x20 || bytes[i] == 0x7f) tg_put_char(w, '?');
        else tg_put_bytes(w, text + i, n);
        i += n == 0 ? 1 : n;
    }
    if (i < len) tg_put_text(w, "...");
}

static void put_format(tg_writer *w, const char *format, va_list args) {
    for (const char *p = format; *p != '\0'; p++) {
        if (*p != '%') {
            tg_put_char(w, *p);
            continue;
        }
        switch (*++p) {
        case 'd': tg_put_int(w, va_arg(args, int64_t)); break;
        case 's': tg_put_text(w, va_arg(args, const char *)); break;
        case 't': {
            const char *text = va_arg(args, const char *);
            put_shown(w, text, va_arg(args, size_t));
            break;
        }
        case 'v': {
            const int64_t *values = va_arg(args, const int64_t *);
            const int32_t  n = (int32_t)va_arg(args, int);
            tg_put_char(w, '[');
            tg_put_ints(w, values, n, ",");
            tg_put_char(w, ']');
            break;
        }
        default: tg_put_char(w, *p); break;
        }
    }
}

static tg_status fill(tg_error *err, tg_status status, int32_t dim, size_t pos, const char *format, va_list args) {
    if (err != NULL) {
        tg_error  e = {status, dim, pos, ""};
        tg_writer w = tg_writer_make(e.message, sizeof e.message);
        put_format(&w, format, args);
        (void)tg_writer_end(&w);
        *err = e;
    }
    return status;
}

tg_status tg_fail(tg_error *err, tg_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fill(err, status, -1, 0, format, args);
    va_end(args);
    return status;
}

tg_status tg_fail_dim(tg_error *err, tg_status status, int32_t dim, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fill(err, status, dim, 0, format, args);
    va_end(args);
    return status;
}

tg_status tg_fail_at(tg_error *err, size_t pos, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fill(err, TG_ERR_PARSE, -1, pos, format, args);
    va_end(args);
    return TG_ERR_PARSE;
}
