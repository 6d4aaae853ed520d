/* The state of reading a module, and who reads what. */
#ifndef TG_HLO_HLO_PARSER_H
#define TG_HLO_HLO_PARSER_H

#include "hlo/hlo_module.h"
#include "hlo/hlo_names.h"

/* Where instructions go. Those of a computation must lie together, and the text has nested bodies in the middle
 * of others. So bodies at depth 0 go directly where they stay, and nested ones are put on a stack until they
 * end, then behind each other into `closed`, which is appended when the whole text is read:
 *
 *     text      A { a1  a2 to_apply={ b1  b2 to_apply={ c1 }  b3 }  a3 }
 *     store     a1 a2                                            a3 | c1 b1 b2 b3
 *     open               b1 b2 c1 | b1 b2 b3 |
 *     closed                      c1           c1 b1 b2 b3                          */
typedef struct tg_hlo_parser {
    tg_hlo_scanner  s;
    tg_hlo_module  *m;
    tg_hlo_store    open, closed;
    tg_hlo_operands pending; /* of instructions whose arguments are not yet at their end */
    int32_t         nbodies; /* open bodies inside attributes: 0 in a computation of the module */
    int32_t         depth;   /* these and open instructions inside operands */
    tg_hlo_names    names[TG_HLO_MAX_DEPTH + 1]; /* of the computation with so many bodies around it */
    tg_status       status;
    tg_error        err; /* of the failure, if status is not TG_OK */
} tg_hlo_parser;

static inline tg_hlo_store *tg_hlo_parser_store(tg_hlo_parser *p) { return p->nbodies > 0 ? &p->open : &p->m->store; }

/* ---- failures, stack frames: hlo_parse.c; all failures return false ----------------------------------------- */

/* What stands at the cursor is not what the rule wants; or what does not end, if the scanner came across that. */
bool tg_hlo_fail_seen(tg_hlo_parser *p, const char *rule);
/* The rule is broken at pos. */
bool tg_hlo_fail_at(tg_hlo_parser *p, tg_status status, size_t pos, const char *rule);
/* p->err says it already; its place is in the module's text. */
bool tg_hlo_fail_placed(tg_hlo_parser *p, tg_status status);
bool tg_hlo_fail_memory(tg_hlo_parser *p);
/* One level deeper; false if that is too deep. */
bool tg_hlo_enter(tg_hlo_parser *p, size_t pos);

/* At a block of stack frames: it and those that follow. */
void tg_hlo_read_stack_frames(tg_hlo_parser *p);

/* ---- computations: hlo_computation.c -------------------------------------------------- */

/* At a computation outside of all others. */
bool tg_hlo_read_computation(tg_hlo_parser *p);
/* At an instruction outside of all computations: it and those that follow. */
bool tg_hlo_read_loose(tg_hlo_parser *p);
/* At the `{` of a body inside an attribute. */
bool tg_hlo_read_nested_body(tg_hlo_parser *p);
/* Nested bodies find their place behind the others. */
bool tg_hlo_append_closed(tg_hlo_parser *p);

/* What a statement outside of computations is, by what stands at its beginning. */
typedef enum tg_hlo_statement {
    TG_HLO_IS_NOTHING, TG_HLO_IS_COMPUTATION, TG_HLO_IS_INSTRUCTION, TG_HLO_IS_STACK_FRAMES
} tg_hlo_statement;

tg_hlo_statement tg_hlo_classify(const tg_hlo_scanner *s);

/* ---- instructions: hlo_instruction.c --------------------------------------------------- */

/* At an instruction: it becomes the last one of the computation that is being read. */
bool tg_hlo_read_instruction(tg_hlo_parser *p);

/* The name of an operand; its length, 0 if it has none. */
size_t tg_hlo_operand_name(size_t *pos, const tg_hlo_scanner *text, size_t operand);

/* A new shape text is judged; the failure is the parser's. */
bool tg_hlo_parser_shape(tg_hlo_parser *p, uint32_t *number, size_t pos, size_t len);

/* ---- attributes: hlo_attribute.c ------------------------------------------------------- */

/* Does an attribute with this key name or hold computations? */
bool tg_hlo_names_computations(tg_hlo_text key);

/* `, key=value` as often as it stands here. Those of an instruction may hold bodies, and end where the next
 * instruction begins; others end at a blank. */
bool tg_hlo_read_attributes(tg_hlo_parser *p, tg_hlo_attributes *out, bool of_instruction);

/* Shapes in the text [pos, end) are judged. */
bool tg_hlo_judge_shapes(tg_hlo_parser *p, size_t pos, size_t end);

#endif
