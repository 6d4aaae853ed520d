/* The parts of `tegula explain`.
 *
 * An explanation is made once, as the JSON object that --json prints, and the text is printed from that object: so the
 * two say the same. It is a list of steps, one for each piece of the notation from left to right; a step has the piece
 * (`code`), its name, what is said about it in plain words (`says`), and the facts behind the words under names of
 * their own. Lines of `says` that begin with two blanks are rows of a table and keep their blanks. */
#ifndef TEGULA_CLI_EXPLAIN_H
#define TEGULA_CLI_EXPLAIN_H

#include "cli.h"

/* ---- text that grows (explain_words.c) ------------------------------------------- */

typedef struct words {
    char  *bytes; /* terminated; NULL before anything is added */
    size_t len, cap;
} words;

void words_add(words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void words_add_ints(words *w, const int64_t *values, int32_t n, const char *separator);

/* "d0 and d2", "d0, d1 and d2"; nothing for n = 0. */
void words_add_dims(words *w, const int32_t *dims, int32_t n);

/* "128 bytes", "524288 bytes (512 KiB)". */
void words_add_bytes(words *w, int64_t nbytes);

/* The text as a JSON string; *w is empty afterwards. */
json_t *words_take(words *w);
void    words_free(words *w);

const char *plural_s(int64_t n); /* "" for 1, else "s" */

/* ---- an explanation being made (explain_words.c) ---------------------------------- */

typedef struct explanation {
    const tg_desc *desc;
    json_t        *object; /* the whole */
    json_t        *step;   /* the one that is being told */
} explanation;

/* Begin a step. `code` is a piece of the notation, such as "T(8,128)"; NULL for a step about no single piece. */
void explain_step(explanation *e, const char *code, const char *name);

/* Begin a step that stands by itself in the answer, under `key`. */
void explain_last_step(explanation *e, const char *key, const char *name);

/* Say a sentence, or several, about the step. */
void explain_say(explanation *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
void explain_say_words(explanation *e, words *w); /* *w is empty afterwards */

/* A fact about the step. */
void explain_fact(explanation *e, const char *name, json_t *value);

/* Sizes, slowest first, and what each counts: two rows, and facts `sizes` and `counts`. */
void explain_sizes(explanation *e, const tg_layout *layout);

/* ---- the steps --------------------------------------------------------------------- */

void explain_element_type(explanation *e, const char *remark); /* explain_tensor.c */
void explain_shape(explanation *e);
void explain_total(explanation *e);

void explain_strided(explanation *e); /* explain_strided.c */
void explain_host(explanation *e);    /* of a Spyre layout */
void explain_spyre(explanation *e);   /* explain_spyre.c */
void explain_xla(explanation *e);     /* explain_xla.c */
void explain_tiles(explanation *e);   /* explain_tiles.c */

/* The layout that an XLA array has with only its first tile levels, and without L(n). */
bool explain_lay_out(tg_layout *out, const tg_xla_shape *array, int32_t levels);

/* Where some elements land, and what the first slots hold (explain_places.c). */
void explain_places(explanation *e);

/* ---- the text ------------------------------------------------------------------------ */

/* Print an explanation in lines of at most `width` columns where words allow it (explain_print.c). */
void explain_print(const json_t *object, int width);

#endif
