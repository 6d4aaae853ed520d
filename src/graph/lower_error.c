/* Where an error is: "reshape b: a reshape changes the number of elements (f16[4,64] -> f16[64,5])". */
#include "graph/lower.h"

#include "base/error.h"
#include "base/text.h"

#include <string.h>

enum { MOST_SHAPES = 4 }; /* of operands, in one line */

/* What follows the word in the message; NULL if it does not begin with that. */
static const char *behind(const char *message, tg_hlo_text word) {
    return word.len == 0 || strncmp(message, word.chars, word.len) == 0 ? message + word.len : NULL;
}

/* "add r: " or "r: " */
static bool says_who(const char *message, const tg_hlo_instruction *at) {
    const char *rest = behind(message, at->opcode);
    rest = behind(rest != NULL && *rest == ' ' ? rest + 1 : message, at->name);
    return rest != NULL && *rest == ':';
}

/* Who it is; most rules have said so. */
static void put_who(tg_writer *w, const char *message, const tg_hlo_instruction *at) {
    if (says_who(message, at)) return;
    tg_put_bytes(w, at->opcode.chars, at->opcode.len);
    tg_put_char(w, ' ');
    tg_put_bytes(w, at->name.chars, at->name.len);
    tg_put_text(w, ": ");
}

/* The text of a shape, in one line; false if it has none. */
static bool put_shape(tg_writer *w, const tg_hlo_module *module, int64_t shape) {
    if (shape == TG_HLO_NONE) return false;
    const tg_hlo_text text = tg_hlo_get_shape(module, shape).text;
    for (size_t i = 0; i < text.len; i++)
        if (text.chars[i] < 0x20 || text.chars[i] > 0x7e) return false;
    tg_put_bytes(w, text.chars, text.len);
    return true;
}

static bool put_operand(tg_writer *w, const tg_hlo_module *module, int64_t id) {
    const tg_hlo_operand operand = tg_hlo_get_operand(module, id);
    if (operand.shape != TG_HLO_NONE) return put_shape(w, module, operand.shape);
    if (operand.instruction == TG_HLO_NONE || operand.path.len > 0) return false;
    return put_shape(w, module, tg_hlo_get_instruction(module, operand.instruction).shape);
}

/* " (f16[4,64], f16[] -> f16[4,64])"; false if not all are known, or they are too many. */
static bool put_shapes(tg_writer *w, const tg_hlo_module *module, const tg_hlo_instruction *at) {
    if (at->noperands > MOST_SHAPES) return false;
    tg_put_text(w, " (");
    for (int64_t k = 0; k < at->noperands; k++) {
        if (k > 0) tg_put_text(w, ", ");
        if (!put_operand(w, module, at->first_operand + k)) return false;
    }
    if (at->noperands > 0) tg_put_text(w, " -> ");
    if (!put_shape(w, module, at->shape)) return false;
    tg_put_char(w, ')');
    return true;
}

void tg_lower_tell(tg_error *err, const tg_hlo_module *module, int64_t id) {
    const tg_hlo_instruction at = tg_hlo_get_instruction(module, id);
    if (err == NULL || err->status == TG_ERR_NOMEM) return;
    tg_error  told = *err;
    char      shapes[sizeof told.message];
    tg_writer w = tg_writer_make(told.message, sizeof told.message), s = tg_writer_make(shapes, sizeof shapes);
    put_who(&w, err->message, &at);
    tg_put_text(&w, err->message);
    const bool has_shapes = put_shapes(&s, module, &at);
    (void)tg_writer_end(&s);
    if (has_shapes && w.len + s.len < sizeof told.message) tg_put_text(&w, shapes);
    (void)tg_writer_end(&w);
    told.pos = at.pos;
    *err = told;
}
