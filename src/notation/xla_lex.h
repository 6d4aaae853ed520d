/* The words of XLA text: shapes, layouts and the HLO around them are written in these tokens. */
#ifndef TG_NOTATION_XLA_LEX_H
#define TG_NOTATION_XLA_LEX_H

#include <tegula/tegula.h>

/* The second word is XLA's own name of the token, which its messages print. */
#define TG_XLA_TOKENS(X)                                                                                     \
    X(EOF, "kEof") X(ERROR, "kError") X(EQUAL, "kEqual") X(COMMA, "kComma") X(COLON, "kColon")               \
    X(ASTERISK, "kAsterisk") X(QUESTION, "kQuestionMark") X(OCTOTHORP, "kOctothorp") X(PLUS, "kPlus")        \
    X(TILDE, "kTilde") X(LSQUARE, "kLsquare") X(RSQUARE, "kRsquare") X(LBRACE, "kLbrace")                    \
    X(RBRACE, "kRbrace") X(LPAREN, "kLparen") X(RPAREN, "kRparen") X(DOTS, "kDots") X(ARROW, "kArrow")       \
    X(LEQ, "kLeq") X(NAME, "kName") X(ATTRIBUTE, "kAttributeName") X(IDENT, "kIdent") X(STRING, "kString")   \
    X(INT, "kInt") X(DECIMAL, "kDecimal") X(DXD, "kDxD") X(PAD, "kPad") X(DIM_LABELS, "kDimLabels")          \
    X(TYPE, "kPrimitiveType") X(NEG_INF, "kNegInf") X(KEYWORD, "kw")

typedef enum tg_xla_token_kind {
#define TG_XLA_TOKEN_KIND(id, name) TG_XLA_TOK_##id,
    TG_XLA_TOKENS(TG_XLA_TOKEN_KIND)
#undef TG_XLA_TOKEN_KIND
} tg_xla_token_kind;

typedef struct tg_xla_token {
    tg_xla_token_kind kind;
    size_t            pos, len; /* bytes of the text; len 0 only at its end */
    const char       *name;     /* as XLA's messages name it: "kInt", "kw_true" */
    int64_t           value;    /* INT, if it fits */
    bool              fits;     /* INT: the number fits int64_t */
    tg_dtype          dtype;    /* TYPE: TG_INVALID for the words `token` and `opaque` */
} tg_xla_token;

typedef struct tg_xla_lexer {
    const char  *text;
    size_t       len;
    tg_xla_token token; /* the one under the cursor */
} tg_xla_lexer;

/* As XLA's messages name a kind: "kInt". */
const char *tg_xla_token_name(tg_xla_token_kind kind);

/* The first token of the text is under the cursor. */
tg_xla_lexer tg_xla_lexer_make(const char *text, size_t len);

/* Go to the next token. Stays where it is at the end, and at an ERROR. */
void tg_xla_lexer_next(tg_xla_lexer *lexer);

/* The kind of the token after the one under the cursor. */
tg_xla_token_kind tg_xla_lexer_peek(const tg_xla_lexer *lexer);

/* The token under the cursor is this identifier. */
bool tg_xla_lexer_is(const tg_xla_lexer *lexer, const char *word);

#endif
