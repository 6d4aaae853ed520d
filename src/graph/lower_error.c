/* Where an error is: "reshape b: a reshape changes the number of elements (f16[4,64] -> f16[64,5])". */
#include "graph/lower.h"

#include "base/error.h"
#include "base/text.h"

#include <string.h>

enum { MOST_SHAPES = 4 }; /* of operands, in one line */

/* Whether the message begins as errors about the instruction do: "add r: ", or "r: ". */
static bool says_who(const char *message, const tg_hlo_instruction *at) {
    const tg_hlo_text opcode = at->opcode, name = at->name;
    tg_error          begins;
    (void)tg_fail(&begins, TG_ERR_UNSUPPORTED, "%t %t: ", opcode.chars, opcode.len, name.chars, name.len);
    if (strncmp(message, begins.message, strlen(begins.message)) == 0) return true;
    (void)tg_fail(&begins, TG_ERR_UNSUPPORTED, "%t: ", name.chars, name.len);
    return strncmp(message, begins.message, strlen(begins.message)) == 0;
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
    tg_error told = *err;
    char     shapes[sizeof told.message];
    if (!says_who(err->message, &at)) /* most rules have said so */
        (void)tg_fail(&told, err->status, "%t %t: %s", at.opcode.chars, at.opcode.len, at.name.chars, at.name.len,
                      err->message);
    tg_writer  s = tg_writer_make(shapes, sizeof shapes);
    const bool has_shapes = put_shapes(&s, module, &at);
    (void)tg_writer_end(&s);
    const size_t len = strlen(told.message);
    if (has_shapes && len + s.len < sizeof told.message) memcpy(told.message + len, shapes, s.len + 1);
    told.pos = at.pos;
    *err = told;
}
