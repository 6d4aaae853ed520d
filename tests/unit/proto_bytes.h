/* Messages as hexadecimal text, for the tests of protos. */
#ifndef TG_TESTS_PROTO_BYTES_H
#define TG_TESTS_PROTO_BYTES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_BYTES = 4096 };

/* Bytes of a message, made from hexadecimal text with blanks. */
typedef struct message {
    unsigned char bytes[MAX_BYTES];
    size_t        len;
} message;

static inline int hex_digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

static inline message message_of(const char *hex) {
    message m = {.len = 0};
    for (; *hex != '\0'; hex++) {
        if (*hex == ' ') continue;
        assert_true(m.len < MAX_BYTES && hex[1] != '\0');
        m.bytes[m.len++] = (unsigned char)(hex_digit(hex[0]) << 4 | hex_digit(hex[1]));
        hex++;
    }
    return m;
}

static inline void put(message *m, const void *bytes, size_t len) {
    assert_true(m->len + len <= MAX_BYTES);
    memcpy(m->bytes + m->len, bytes, len);
    m->len += len;
}

static inline void assert_bytes(const message *want, const unsigned char *got, size_t len, const char *what) {
    if (len != want->len || memcmp(got, want->bytes, len) != 0) fail_msg("%s is not written like this", what);
}

#endif
