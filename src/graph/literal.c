/* Literals of HLO: "{ { 1, 2.5e-3 }, { -inf, nan } }", "true". Braces and commas only part the numbers: the shape says
 * how many there are. */
#include "graph/literal.h"

#include "base/error.h"

#include <math.h>
#include <string.h>

typedef struct reader {
    const char *chars;
    size_t      at, len;
} reader;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool parts(char c) {
    return c == ' ' || c == ',' || c == '{' || c == '}' || c == '\n' || c == '\t' || c == '\r';
}

/* Blanks, braces, and comments. */
static void skip_between(reader *r) {
    while (r->at < r->len) {
        if (parts(r->chars[r->at])) {
            r->at++;
            continue;
        }
        if (r->at + 1 >= r->len || r->chars[r->at] != '/' || r->chars[r->at + 1] != '*') return;
        for (r->at += 2; r->at < r->len && !(r->chars[r->at - 1] == '*' && r->chars[r->at] == '/');) r->at++;
        r->at += r->at < r->len;
    }
}

static bool take(reader *r, const char *word) {
    const size_t n = strlen(word);
    if (r->len - r->at < n || memcmp(r->chars + r->at, word, n) != 0) return false;
    r->at += n;
    return true;
}

static bool take_word(double *out, reader *r) {
    if (take(r, "true")) *out = 1;
    else if (take(r, "false")) *out = 0;
    else if (take(r, "inf")) *out = INFINITY;
    else if (take(r, "nan")) *out = NAN;
    else return false;
    if (r->at < r->len && r->chars[r->at] == '(') /* the payload of a NaN */
        while (r->at < r->len && r->chars[r->at - 1] != ')') r->at++;
    return true;
}

static int32_t take_exponent(reader *r) {
    int32_t e = 0;
    if (r->at >= r->len || (r->chars[r->at] != 'e' && r->chars[r->at] != 'E')) return 0;
    r->at++;
    const bool negative = r->at < r->len && r->chars[r->at] == '-';
    r->at += r->at < r->len && (r->chars[r->at] == '-' || r->chars[r->at] == '+');
    for (; r->at < r->len && is_digit(r->chars[r->at]); r->at++)
        if (e < 100000) e = 10 * e + (r->chars[r->at] - '0');
    return negative ? -e : e;
}

/* Digits that a uint64_t has no room for only move the exponent. */
static bool take_digits(uint64_t *digits, int32_t *exponent, reader *r) {
    bool any = false, point = false;
    for (; r->at < r->len; r->at++) {
        const char c = r->chars[r->at];
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (!is_digit(c)) break;
        any = true;
        if (*digits < UINT64_MAX / 10) *digits = 10 * *digits + (uint64_t)(c - '0');
        else *exponent += 1;
        *exponent -= point;
    }
    return any;
}

/* Correctly rounded up to 2^53 with powers up to 22, and off by less than an ulp beyond. */
static double scaled(uint64_t digits, int32_t exponent) {
    const long double power = powl(10, exponent < 0 ? -(long double)exponent : (long double)exponent);
    if (digits == 0) return 0;
    return (double)(exponent < 0 ? (long double)digits / power : (long double)digits * power);
}

static bool take_number(double *real, int64_t *whole, reader *r) {
    uint64_t   digits = 0;
    int32_t    exponent = 0;
    const bool negative = take(r, "-");
    double     x = 0;
    if (take_word(&x, r)) {
        *whole = x == 1;
    } else {
        if (!take_digits(&digits, &exponent, r)) return false;
        exponent += take_exponent(r);
        x = scaled(digits, exponent);
        *whole = (int64_t)(negative ? 0 - digits : digits);
    }
    *real = negative ? -x : x;
    return true;
}

tg_status tg_read_literal(double *real, int64_t *whole, int64_t n, tg_hlo_text text, tg_error *err) {
    reader r = {text.chars, 0, text.len};
    for (int64_t i = 0; i < n; i++) {
        skip_between(&r);
        if (!take_number(&real[i], &whole[i], &r))
            return tg_fail(err, TG_ERR_UNSUPPORTED, "element %d of %d of a constant is not told: '%t'", i, n,
                           text.chars, text.len);
    }
    skip_between(&r);
    if (r.at != r.len) return tg_fail(err, TG_ERR_UNSUPPORTED, "a constant has more than %d elements", n);
    return TG_OK;
}
