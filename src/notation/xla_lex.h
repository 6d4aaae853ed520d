/* The words of XLA text: shapes, layouts and the HLO around them are written in these tokens. */
#ifndef TG_NOTATION_XLA_LEX_H
#define TG_NOTATION_XLA_LEX_H

#include <tegula/tegula.h>

typedef enum tg_xla_token_kind {
    TG_XLA_TOK_EOF, TG_XLA_TOK_ERROR, TG_XLA_TOK_EQUAL, TG_XLA_TOK_COMMA, TG_XLA_TOK_COLON, TG_XLA_TOK_ASTERISK,
    TG_XLA_TOK_QUESTION, TG_XLA_TOK_OCTOTHORP, TG_XLA_TOK_PLUS, TG_XLA_TOK_TILDE, TG_XLA_TOK_LSQUARE,
    TG_XLA_TOK_RSQUARE, TG_XLA_TOK_LBRACE, TG_XLA_TOK_RBRACE, TG_XLA_TOK_LPAREN, TG_XLA_TOK_RPAREN, TG_XLA_TOK_DOTS,
    TG_XLA_TOK_ARROW, TG_XLA_TOK_LEQ, TG_XLA_TOK_NAME, TG_XLA_TOK_ATTRIBUTE, TG_XLA_TOK_IDENT, TG_XLA_TOK_STRING,
    TG_XLA_TOK_INT, TG_XLA_TOK_DECIMAL, TG_XLA_TOK_DXD, TG_XLA_TOK_PAD, TG_XLA_TOK_DIM_LABELS, TG_XLA_TOK_TYPE,
    TG_XLA_TOK_NEG_INF, TG_XLA_TOK_KEYWORD
} tg_xla_token_kind;

typedef struct tg_xla_token {
    tg_xla_token_kind kind;
    size_t            pos, len; /* bytes of the text; len 0 only at its end */
    int64_t           value;    /* INT, if it fits */
    bool              fits;     /* INT: the number fits int64_t */
    tg_dtype          dtype;    /* TYPE: TG_INVALID for the words `token` and `opaque` */
} tg_xla_token;

typedef struct tg_xla_lexer {
    const char  *text;
    size_t       len;
    tg_xla_token token; /* the one under the cursor */
} tg_xla_lexer;

/* The first token of the text is under the cursor. */
tg_xla_lexer tg_xla_lexer_make(const char *text, size_t len);

/* Go to the next token. Stays where it is at the end, and at an ERROR. */
void tg_xla_lexer_next(tg_xla_lexer *lexer);

/* The kind of the token after the one under the cursor. */
tg_xla_token_kind tg_xla_lexer_peek(const tg_xla_lexer *lexer);

/* The token under the cursor is this identifier. */
bool tg_xla_lexer_is(const tg_xla_lexer *lexer, const char *word);

#endif
