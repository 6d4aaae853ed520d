/* XLA's lexer, which was made for whole HLO modules. Four of its habits show in shapes:
 *
 *     text     tokens                why
 *     S:       NAME                  a word and a colon behind it are one token (as in `%x: f32[2]`);
 *                                    so `S:` is not the word S
 *     2x3      DXD                   one token for window sizes; `1_2` is one PAD, `2.0` one DECIMAL,
 *                                    and none of them is an INT
 *     <        ERROR                 only `<=` is a token
 *     //, NUL  blank, ERROR          comments stand wherever blanks may; a NUL never does
 *
 * Names, strings, keywords and dimension labels stand nowhere in a shape. They are told apart because a
 * message quotes the whole token that was seen. Longest and first match are XLA's: a token ends where its
 * pattern ends, so `2x` is INT and IDENT. */
#include "notation/xla_lex.h"

#include "base/checked.h"
#include "base/text.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Reserved words: none of them is an IDENT. */
static const char *const keywords[] = {
    "true",       "false",  "HloModule", "ENTRY",   "ROOT",     "maximal",
    "replicated", "manual", "unreduced", "unknown", "shard_as", "shard_like",
    "inf",        "FileNames", "last_tile_dim_replicate", "StackFrames", "FunctionNames", "FileLocations",
};

static bool is_digit(int c) { return c >= '0' && c <= '9'; }
static bool is_letter(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_word_start(int c) { return is_letter(c) || c == '_'; }
static bool is_word_char(int c) { return is_word_start(c) || is_digit(c) || c == '.' || c == '-'; }
static bool is_hex(int c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
static bool is_activation_label(int c) { return is_digit(c) || c == 'b' || c == 'f' || c == '?'; }
static bool is_kernel_label(int c) { return is_digit(c) || c == 'i' || c == 'o' || c == '?'; }

/* ---- patterns: each takes what it matches at the cursor, or nothing ------------- */

static bool take(tg_cursor *c, char ch) {
    if (tg_peek(c) != (unsigned char)ch) return false;
    c->pos++;
    return true;
}

static size_t take_all(tg_cursor *c, bool (*class_)(int)) {
    const size_t start = c->pos;
    while (class_(tg_peek(c))) c->pos++;
    return c->pos - start;
}

static bool take_text(tg_cursor *c, const char *text) {
    tg_cursor ahead = *c;
    for (; *text != '\0'; text++)
        if (!take(&ahead, *text)) return false;
    *c = ahead;
    return true;
}

/* -?[0-9]+ */
static bool take_integer(tg_cursor *c) {
    tg_cursor ahead = *c;
    (void)take(&ahead, '-');
    if (take_all(&ahead, is_digit) == 0) return false;
    *c = ahead;
    return true;
}

static bool take_exponent(tg_cursor *c) {
    tg_cursor ahead = *c;
    if (!take(&ahead, 'e') && !take(&ahead, 'E')) return false;
    if (!take(&ahead, '+')) (void)take(&ahead, '-');
    if (take_all(&ahead, is_digit) == 0) return false;
    *c = ahead;
    return true;
}

/* Digits with a point, an exponent, or both. */
static bool take_decimal(tg_cursor *c) {
    tg_cursor ahead = *c;
    (void)take(&ahead, '-');
    size_t     digits = take_all(&ahead, is_digit);
    const bool point = take(&ahead, '.');
    if (point) digits += take_all(&ahead, is_digit);
    if (digits == 0) return false;
    const bool exponent = take_exponent(&ahead);
    if (!point && !exponent) return false;
    *c = ahead;
    return true;
}

/* Such as b01f_01io->b01f. */
static bool take_dim_labels(tg_cursor *c) {
    tg_cursor ahead = *c;
    if (take_all(&ahead, is_activation_label) < 2 || !take(&ahead, '_')) return false;
    if (take_all(&ahead, is_kernel_label) < 2 || !take_text(&ahead, "->")) return false;
    if (take_all(&ahead, is_activation_label) < 2) return false;
    *c = ahead;
    return true;
}

/* Such as 2x3x4. */
static bool take_dxd(tg_cursor *c) {
    tg_cursor ahead = *c;
    if (take_all(&ahead, is_digit) == 0) return false;
    bool more = false;
    for (tg_cursor next = ahead; take(&next, 'x') && take_all(&next, is_digit) > 0; ahead = next) more = true;
    if (more) *c = ahead;
    return more;
}

/* low_high or low_high_interior */
static bool take_pad_group(tg_cursor *c) {
    tg_cursor ahead = *c;
    if (!take_integer(&ahead) || !take(&ahead, '_') || !take_integer(&ahead)) return false;
    tg_cursor interior = ahead;
    if (take(&interior, '_') && take_all(&interior, is_digit) > 0) ahead = interior;
    *c = ahead;
    return true;
}

/* Such as 1_2x0_0. */
static bool take_pad(tg_cursor *c) {
    if (!take_pad_group(c)) return false;
    for (tg_cursor next = *c; take(&next, 'x') && take_pad_group(&next);) *c = next;
    return true;
}

/* ---- tokens ----------------------------------------------------------------- */

/* The digits of an INT token; those that only fit uint64_t, which XLA would read as negative, do not fit. */
static void read_integer(tg_xla_token *token, const char *text, size_t len) {
    tg_cursor c = tg_cursor_make(text, len);
    bool      found = false;
    token->fits = tg_take_int(&c, &token->value, &found) && found;
}

/* After the word nan: nothing, or a payload such as (0x400001). */
static tg_xla_token_kind lex_nan(tg_cursor *c) {
    if (tg_peek(c) != '(') return TG_XLA_TOK_DECIMAL;
    tg_cursor ahead = *c;
    if (!take_text(&ahead, "(0x") || take_all(&ahead, is_hex) == 0 || !take(&ahead, ')')) return TG_XLA_TOK_ERROR;
    *c = ahead;
    return TG_XLA_TOK_DECIMAL;
}

static tg_xla_token_kind lex_number(tg_cursor *c, tg_xla_token *token) {
    const char *start = c->text + c->pos;
    if (take_text(c, "->")) return TG_XLA_TOK_ARROW;
    if (take_decimal(c)) return TG_XLA_TOK_DECIMAL;
    if (take_dim_labels(c)) return TG_XLA_TOK_DIM_LABELS;
    if (take_dxd(c)) return TG_XLA_TOK_DXD;
    if (take_pad(c)) return TG_XLA_TOK_PAD;
    if (take_integer(c)) {
        read_integer(token, start, (size_t)(c->text + c->pos - start));
        return TG_XLA_TOK_INT;
    }
    if (take_text(c, "-inf")) return TG_XLA_TOK_NEG_INF;
    if (take_text(c, "-nan")) return lex_nan(c);
    return TG_XLA_TOK_ERROR;
}

/* XLA's own spelling only: `float32` is a plain identifier here. */
static bool is_type(tg_dtype *dtype, const char *word, size_t len) {
    *dtype = TG_INVALID;
    if (tg_text_equal(word, len, "token") || tg_text_equal(word, len, "opaque")) return true;
    const tg_dtype found = tg_dtype_from_name(word, len);
    if (found == TG_INVALID || !tg_text_equal(word, len, tg_dtype_name(found))) return false;
    *dtype = found;
    return true;
}

static bool is_keyword(const char *word, size_t len) {
    for (size_t i = 0; i < COUNT(keywords); i++)
        if (tg_text_equal(word, len, keywords[i])) return true;
    return false;
}

static tg_xla_token_kind lex_word(tg_cursor *c, tg_xla_token *token) {
    const tg_cursor start = *c;
    const char     *word = c->text + c->pos;
    const size_t    len = take_all(c, is_word_char);
    if (take(c, ':')) return TG_XLA_TOK_NAME;
    if (take(c, '=')) return TG_XLA_TOK_ATTRIBUTE;
    if (is_type(&token->dtype, word, len)) return TG_XLA_TOK_TYPE;
    if (tg_text_equal(word, len, "nan")) return lex_nan(c);
    if (is_keyword(word, len)) return TG_XLA_TOK_KEYWORD;
    tg_cursor labels = start;
    if (!take_dim_labels(&labels)) return TG_XLA_TOK_IDENT;
    *c = labels;
    return TG_XLA_TOK_DIM_LABELS;
}

/* %name */
static tg_xla_token_kind lex_percent(tg_cursor *c) {
    c->pos++;
    if (!is_word_start(tg_peek(c))) return TG_XLA_TOK_ERROR;
    (void)take_all(c, is_word_char);
    return TG_XLA_TOK_NAME;
}

/* From a quote to the same quote; a backslash takes the byte after it along. */
static tg_xla_token_kind lex_string(tg_cursor *c) {
    const int quote = tg_peek(c);
    tg_cursor ahead = *c;
    for (ahead.pos++; !tg_at_end(&ahead); ahead.pos++) {
        if (tg_peek(&ahead) == quote) {
            c->pos = ahead.pos + 1;
            return TG_XLA_TOK_STRING;
        }
        if (tg_peek(&ahead) == '\\') ahead.pos++;
    }
    return TG_XLA_TOK_ERROR;
}

static tg_xla_token_kind lex_sign(tg_cursor *c) {
    if (take_text(c, "<=")) return TG_XLA_TOK_LEQ;
    if (take_text(c, "...")) return TG_XLA_TOK_DOTS;
    if (take_dim_labels(c)) return TG_XLA_TOK_DIM_LABELS;
    const int ch = tg_peek(c);
    c->pos++;
    switch (ch) {
    case '=': return TG_XLA_TOK_EQUAL;
    case ',': return TG_XLA_TOK_COMMA;
    case ':': return TG_XLA_TOK_COLON;
    case '*': return TG_XLA_TOK_ASTERISK;
    case '?': return TG_XLA_TOK_QUESTION;
    case '#': return TG_XLA_TOK_OCTOTHORP;
    case '+': return TG_XLA_TOK_PLUS;
    case '~': return TG_XLA_TOK_TILDE;
    case '[': return TG_XLA_TOK_LSQUARE;
    case ']': return TG_XLA_TOK_RSQUARE;
    case '{': return TG_XLA_TOK_LBRACE;
    case '}': return TG_XLA_TOK_RBRACE;
    case '(': return TG_XLA_TOK_LPAREN;
    case ')': return TG_XLA_TOK_RPAREN;
    default: return TG_XLA_TOK_ERROR;
    }
}

/* Take a comment; false if there is none, or one that does not end or holds a NUL. */
static bool take_comment(tg_cursor *c) {
    tg_cursor  ahead = *c;
    const bool line = take_text(&ahead, "//");
    if (!line && !take_text(&ahead, "/*")) return false;
    for (; !tg_at_end(&ahead); ahead.pos++) {
        const int ch = tg_peek(&ahead);
        if (ch == '\0') return false;
        if (line && (ch == '\n' || ch == '\r')) break;
        if (!line && take_text(&ahead, "*/")) {
            *c = ahead;
            return true;
        }
    }
    if (line) *c = ahead;
    return line;
}

static void skip_blanks_and_comments(tg_cursor *c) {
    do tg_skip_blanks(c);
    while (take_comment(c));
}

static tg_xla_token_kind lex_token(tg_cursor *c, tg_xla_token *token) {
    const int ch = tg_peek(c);
    if (ch < 0) return TG_XLA_TOK_EOF;
    if (is_digit(ch) || ch == '-') return lex_number(c, token);
    if (is_word_start(ch)) return lex_word(c, token);
    if (ch == '%') return lex_percent(c);
    if (ch == '"' || ch == '\'') return lex_string(c);
    return lex_sign(c);
}

static void lex(tg_xla_lexer *lexer, size_t from) {
    tg_cursor c = {lexer->text, lexer->len, from};
    skip_blanks_and_comments(&c);
    tg_xla_token token = {.pos = c.pos};
    token.kind = lex_token(&c, &token);
    token.len = c.pos - token.pos;
    if (token.kind == TG_XLA_TOK_ERROR) token.len = lexer->len - token.pos;
    lexer->token = token;
}

tg_xla_lexer tg_xla_lexer_make(const char *text, size_t len) {
    tg_xla_lexer lexer = {.text = text, .len = len};
    lex(&lexer, 0);
    return lexer;
}

void tg_xla_lexer_next(tg_xla_lexer *lexer) {
    if (lexer->token.kind != TG_XLA_TOK_ERROR) lex(lexer, lexer->token.pos + lexer->token.len);
}

tg_xla_token_kind tg_xla_lexer_peek(const tg_xla_lexer *lexer) {
    tg_xla_lexer ahead = *lexer;
    tg_xla_lexer_next(&ahead);
    return ahead.token.kind;
}

bool tg_xla_lexer_is(const tg_xla_lexer *lexer, const char *word) {
    const tg_xla_token *token = &lexer->token;
    return token->kind == TG_XLA_TOK_IDENT && tg_text_equal(lexer->text + token->pos, token->len, word);
}
