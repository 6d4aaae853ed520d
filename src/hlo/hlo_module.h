/* What a module keeps of its text.
 *
 * A row says where a thing begins, and no more than what would cost time to find again: the end of a name, the
 * opcode's length, the text of an operand are read from the text when they are asked for. Lists are ranges of
 * flat tables; where a list ends is where the next row's begins:
 *
 *     text           %a = f32[2]{0} add(%x, %y), p={1}, q=2     %b = f32[2]{0} negate(%a)
 *     instructions   pos 1, opcode 15, operand 0, attribute 0   pos 44, opcode 57, operand 2, attribute 2
 *     operands       0: pos 19, instruction -   1: pos 23, instruction -   2: pos 64, instruction 0
 *     attributes     0: pos 28, end 33   1: pos 35, end 38
 *
 * Positions are 32 bits, which is what limits a text to 4 GiB. */
#ifndef TG_HLO_HLO_MODULE_H
#define TG_HLO_HLO_MODULE_H

#include <tegula/hlo.h>

#include "hlo/hlo_array.h"
#include "hlo/hlo_scan.h"

#define TG_HLO_NO_ROW UINT32_MAX

/* An instruction's shape shares its word with what is known of the instruction. There are fewer distinct
 * shapes than this mask: each takes more than ten bytes of a text of 4 GiB. */
enum { TG_HLO_SHAPE_MASK = (1 << 29) - 1, TG_HLO_IN_OPERAND = 1 << 29, TG_HLO_NAMED = 1 << 30 };
#define TG_HLO_ROOT (UINT32_C(1) << 31)

typedef struct tg_hlo_instruction_row {
    uint32_t pos;             /* of the name behind `%`, else of what stands first */
    uint32_t opcode;          /* position */
    uint32_t shape;           /* number, TG_HLO_SHAPE_MASK if none; and the bits above */
    uint32_t first_operand;
    uint32_t first_attribute;
} tg_hlo_instruction_row;

typedef struct tg_hlo_operand_row {
    uint32_t pos;
    uint32_t instruction; /* or TG_HLO_NO_ROW */
} tg_hlo_operand_row;

typedef struct tg_hlo_attribute_row {
    uint32_t pos, end; /* of the key; of the value */
} tg_hlo_attribute_row;

typedef struct tg_hlo_computation_row {
    uint32_t pos;
    uint32_t name, name_len;
    uint32_t signature, signature_len;
    uint32_t first_instruction, ninstructions;
    uint32_t root; /* or TG_HLO_NO_ROW */
    uint32_t first_note, nnotes;
    bool     marked_entry, nested, loose;
} tg_hlo_computation_row;

typedef struct tg_hlo_shape_row {
    uint32_t pos, len;
    uint32_t masked; /* where in `masked` is the text without `{}`, TG_HLO_NO_ROW if it has none */
    uint32_t nnodes;
    uint8_t  kind, dtype, ndim;
    bool     may_pad;
    int8_t   memory_space;
} tg_hlo_shape_row;

TG_HLO_TABLE(tg_hlo_instructions, tg_hlo_instruction_row)
TG_HLO_TABLE(tg_hlo_operands, tg_hlo_operand_row)
TG_HLO_TABLE(tg_hlo_attributes, tg_hlo_attribute_row)
TG_HLO_TABLE(tg_hlo_computations, tg_hlo_computation_row)
TG_HLO_TABLE(tg_hlo_shapes, tg_hlo_shape_row)
TG_HLO_TABLE(tg_hlo_bytes, char)

/* Instructions with what belongs to them. */
typedef struct tg_hlo_store {
    tg_hlo_instructions instructions;
    tg_hlo_operands     operands;
    tg_hlo_attributes   attributes;
} tg_hlo_store;

struct tg_hlo_module {
    const char *text;
    size_t      len;
    bool        has_header;
    uint32_t    name, name_len;
    uint32_t    stack_frames, stack_frames_len;
    uint32_t    nheader_notes;
    uint32_t    entry; /* or TG_HLO_NO_ROW */

    tg_hlo_store        store;
    tg_hlo_attributes   notes; /* attributes of the header, then of the computations */
    tg_hlo_computations computations;

    tg_hlo_shapes shapes;
    uint32_t     *shape_slots; /* numbers + 1 by hash of the text; a power of two of them, or none */
    size_t        nshape_slots;
    tg_hlo_bytes  masked; /* texts of shapes in which `{}` became two blanks */

    uint32_t *name_slots; /* computations + 1 by hash of the name */
    size_t    nname_slots;
    uint64_t  seed; /* of the hashes: differs from run to run, so no text is slow in all of them */
};

/* ---- shapes: hlo_shapes.c ------------------------------------------------------- */

/* The number of the shape text [pos, pos + len), made if new; an error's place is in the module's text. */
tg_status tg_hlo_intern_shape(uint32_t *number, tg_hlo_module *m, size_t pos, size_t len, tg_error *err);

/* The number of a shape text that stands in the module, TG_HLO_NO_ROW if it never did. */
uint32_t tg_hlo_find_shape(const tg_hlo_module *m, size_t pos, size_t len);

/* Over the shapes of a value, a list of them, or a signature; calls back for each with its place. What is no
 * list of shapes is left. Returns false if the callback did. */
bool tg_hlo_each_shape(tg_hlo_scanner *s, bool (*shape)(void *context, size_t pos, size_t len), void *context);

/* ---- asking: hlo_ask.c, hlo_value.c ---------------------------------------------- */

/* Builds the table of names when all computations are known; false without memory. */
bool tg_hlo_index_computations(tg_hlo_module *m);

/* The nested body that begins at pos, or TG_HLO_NONE. */
int64_t tg_hlo_find_body(const tg_hlo_module *m, size_t pos);

#endif
