/* hlo.h - HLO text, as XLA dumps it and jax prints it: read it, ask it, print it.
 *
 * The reader is strict about shapes (tg_xla_shape_parse decides, wherever a shape stands) and tolerant
 * about everything else: opcodes and attributes that nobody knows yet, dumps of 2019 and of today
 * (operands with and without shapes, `f32[]{}`, stack frames, raw backend_config, nested bodies), text
 * without a header, names that nothing defines. It never needs XLA's opcodes to make sense.
 *
 * Everything is a piece of the caller's text: a module keeps positions, not copies. The text must stay
 * where it is, unchanged, until the module is destroyed. A module is only read once it is made, so many
 * threads may ask it at once.
 *
 * Ids count from 0; TG_HLO_NONE stands where there is nothing. A function that is asked for an id out of
 * range gives an empty answer: texts without characters, ids TG_HLO_NONE, counts 0.
 *
 *     HloModule m                                  header: name "m"
 *     ENTRY %e (p: f32[2]) -> f32[2] {             computation 0: name "e", signature "(p: f32[2]) -> f32[2]"
 *       %p = f32[2]{0} parameter(0)                instruction 0: opcode "parameter", arguments "0"
 *       ROOT %n = f32[2]{0} negate(%p), x={1}      instruction 1: operand 0 is instruction 0; attribute x
 *     }
 *
 * Conventions of tegula.h hold. */
#ifndef TEGULA_HLO_H
#define TEGULA_HLO_H

#include <tegula/tegula.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TG_HLO_NONE (-1)

/* Bodies inside bodies and instructions inside operands, at most. */
#define TG_HLO_MAX_DEPTH 200

/* A piece of the text, not terminated; empty (len 0) if there is none. */
typedef struct tg_hlo_text {
    const char *chars;
    size_t      len;
} tg_hlo_text;

/* True if the piece is exactly this word. */
TG_API bool tg_hlo_text_is(tg_hlo_text text, const char *word);

/* ---- the module ---------------------------------------------------------------- */

typedef struct tg_hlo_module tg_hlo_module;

/* Read a whole text: a module with its header, or computations or loose instructions alone. Time is linear
 * in len. Memory is in proportion to what is kept: 20 bytes for an instruction, 8 for an operand or an
 * attribute, some 40 for a distinct shape (the same text again is the same shape), some 60 for a computation;
 * while reading, up to 40 more for an instruction of the largest computation.
 * TG_ERR_PARSE with the place (error.pos; the message starts with line and column, both from 1); what
 * tg_xla_shape_parse says of a shape, with the place in the whole text; TG_ERR_LIMIT for texts of 4 GiB and
 * more and for nesting beyond TG_HLO_MAX_DEPTH; TG_ERR_NOMEM. */
TG_API tg_status tg_hlo_parse(tg_hlo_module **out, const char *text, size_t len, tg_error *err);

/* *module may be NULL. */
TG_API void tg_hlo_destroy(tg_hlo_module **module);

typedef struct tg_hlo_header {
    bool        present;       /* the text begins with HloModule */
    tg_hlo_text name;
    tg_hlo_text stack_frames;  /* the blocks FileNames, FunctionNames, FileLocations, StackFrames, as written */
    int64_t     first_attribute, nattributes; /* `, key=value` of the header */
    int64_t     ncomputations, ninstructions, nshapes;
    int64_t     entry;         /* the computation marked ENTRY, else the last one that is no nested body */
    size_t      kept_bytes;    /* of memory, the text not counted */
} tg_hlo_header;

TG_API tg_hlo_header tg_hlo_get_header(const tg_hlo_module *module);

/* ---- computations ------------------------------------------------------------- */

typedef struct tg_hlo_computation {
    tg_hlo_text name;      /* without `%` */
    tg_hlo_text signature; /* "(p: f32[2]) -> f32[2]"; the instructions are what counts */
    bool        entry;
    bool        nested;    /* a body inside an attribute: `to_apply={ ... }` in canonical dumps; has no name */
    bool        loose;     /* instructions without braces around them */
    int64_t     first_instruction, ninstructions;
    int64_t     root;      /* the instruction marked ROOT, else the last one; none if there are no instructions */
    int64_t     first_attribute, nattributes; /* behind the body: `}, execution_thread="x"` */
    size_t      pos;       /* of its first byte */
} tg_hlo_computation;

/* In the order of the text; a nested body comes after the computation that it is in. */
TG_API tg_hlo_computation tg_hlo_get_computation(const tg_hlo_module *module, int64_t id);

/* By name, without `%`; TG_HLO_NONE if there is none. The last one of several. */
TG_API int64_t tg_hlo_find_computation(const tg_hlo_module *module, tg_hlo_text name);

/* ---- instructions ------------------------------------------------------------- */

typedef struct tg_hlo_instruction {
    tg_hlo_text name;   /* without `%`; empty where the text has none, as in fingerprints */
    tg_hlo_text opcode; /* any word before the parenthesis */
    bool        root;
    bool        in_operand; /* written as an operand, as `negate(x)` in `add(x, negate(x))`: it stands before the
                             * instruction that uses it, and has neither a name nor attributes */
    int64_t     shape;  /* TG_HLO_NONE where the text leaves it to be inferred */
    int64_t     first_operand, noperands;
    int64_t     first_attribute, nattributes;
    int64_t     elided; /* operands left out by `, ...(+N)` */
    size_t      pos;    /* of its name, or of what stands first if it has none */
} tg_hlo_instruction;

TG_API tg_hlo_instruction tg_hlo_get_instruction(const tg_hlo_module *module, int64_t id);

/* What stands between the parentheses, less blanks and comments at both ends: the literal of a constant, the
 * number of a parameter, the text of the operands. */
TG_API tg_hlo_text tg_hlo_get_arguments(const tg_hlo_module *module, int64_t instruction);

/* constant and parameter have no operands, whatever their arguments. */
typedef struct tg_hlo_operand {
    tg_hlo_text text;        /* all of it */
    tg_hlo_text name;        /* without `%`; empty for an instruction in the operand's place, and in fingerprints */
    tg_hlo_text path;        /* "#1#0" of `%x#1#0`, which is element 0 of element 1 of %x; for tg_hlo_read_path */
    int64_t     shape;       /* its own, where the text repeats it (dumps up to 2025); else TG_HLO_NONE */
    int64_t     instruction; /* that stands in its place, or that it names in the same computation: the nearest one
                              * before, if several have the name, else one behind, or itself; else TG_HLO_NONE */
    size_t      pos;
} tg_hlo_operand;

/* id in [first_operand, first_operand + noperands) of an instruction. */
TG_API tg_hlo_operand tg_hlo_get_operand(const tg_hlo_module *module, int64_t id);

/* ---- attributes --------------------------------------------------------------- */

typedef struct tg_hlo_attribute {
    tg_hlo_text key;
    tg_hlo_text value; /* exactly as written, from the first to the last byte that is neither blank nor comment */
    size_t      pos;   /* of the key */
} tg_hlo_attribute;

/* id in [first_attribute, first_attribute + nattributes) of the header, a computation or an instruction. */
TG_API tg_hlo_attribute tg_hlo_get_attribute(const tg_hlo_module *module, int64_t id);

/* The first attribute of an instruction with this key; false, and *value is left alone, if there is none. */
TG_API bool tg_hlo_find_attribute(tg_hlo_text *value, const tg_hlo_module *module, int64_t instruction,
                                  const char *key);

/* ---- shapes ------------------------------------------------------------------- */

/* What is known of a shape without reading it again. */
typedef struct tg_hlo_shape_info {
    tg_hlo_text text;    /* where it stands first */
    tg_xla_kind kind;
    tg_dtype    dtype;   /* arrays */
    int32_t     ndim;    /* arrays */
    int64_t     memory_space; /* arrays */
    int64_t     nnodes;  /* of its tree: the count that tg_hlo_shape gives */
    bool        may_pad; /* false: no array in it has tiles or tail padding, so none has padding */
} tg_hlo_shape_info;

/* Every distinct text of a shape has one id in [0, nshapes), whether at an instruction, an operand, in a
 * signature or in an attribute that tg_hlo_read_shapes knows. So what is worked out for a shape can be kept in
 * an array. */
TG_API tg_hlo_shape_info tg_hlo_get_shape(const tg_hlo_module *module, int64_t id);

/* The tree of a shape, as tg_xla_shape_parse gives it; fails for an id out of range only. The empty layout
 * `{}` of old dumps reads as none. Positions of nodes are in the text of the shape. */
TG_API tg_status tg_hlo_shape(tg_xla_shape *nodes, size_t cap, size_t *count, const tg_hlo_module *module, int64_t id,
                              tg_error *err);

/* ---- values of attributes, one reader for each form -------------------------------- */

/* All: errors are TG_ERR_PARSE or TG_ERR_OVERFLOW, with the place in `value`. Lists write at most cap items
 * (the array may be NULL if cap is 0) and set *count to the number that the value has; *count > cap is not an
 * error. */

/* "3" */
TG_API tg_status tg_hlo_read_int(int64_t *out, tg_hlo_text value, tg_error *err);

/* "{0,1}", and "3" as a list of one: dimensions, *_contracting_dims, dynamic_slice_sizes, index, ... */
TG_API tg_status tg_hlo_read_ints(int64_t *out, size_t cap, size_t *count, tg_hlo_text value, tg_error *err);

/* The path of an operand, "#1#0". */
TG_API tg_status tg_hlo_read_path(int64_t *out, size_t cap, size_t *count, tg_hlo_text path, tg_error *err);

/* "..." or '...' with its C escapes undone. As snprintf; *need is the length, which may count bytes 0. */
TG_API tg_status tg_hlo_read_string(char *buf, size_t cap, size_t *need, tg_hlo_text value, tg_error *err);

typedef struct tg_hlo_slice {
    int64_t start, limit, stride; /* start + k * stride below limit */
} tg_hlo_slice;

/* slice={[0:4:2], [1:3]}, one for each dimension. */
TG_API tg_status tg_hlo_read_slices(tg_hlo_slice *out, size_t cap, size_t *count, tg_hlo_text value, tg_error *err);

typedef struct tg_hlo_padding {
    int64_t low, high, interior; /* low and high may be negative */
} tg_hlo_padding;

/* padding=0_0x1_1_2, one for each dimension. */
TG_API tg_status tg_hlo_read_padding(tg_hlo_padding *out, size_t cap, size_t *count, tg_hlo_text value, tg_error *err);

typedef struct tg_hlo_window_dim {
    int64_t size, stride, low, high; /* low, high: padding, may be negative */
    int64_t lhs_dilate, rhs_dilate;  /* of the input, of the window */
    bool    reversal;
} tg_hlo_window_dim;

/* window={size=3x3 stride=2x2 pad=1_1x0_0 rhs_dilate=2x2}, one for each dimension; what is left out is 1, 0
 * and false. */
TG_API tg_status tg_hlo_read_window(tg_hlo_window_dim *out, size_t cap, size_t *count, tg_hlo_text value,
                                    tg_error *err);

/* Which dimension of a convolution's operands and result is what; spatial dimensions in the order of their
 * digits. Names are those of XLA's ConvolutionDimensionNumbers. Dimensions that `?` labels have no role. */
typedef struct tg_hlo_dim_labels {
    int32_t nspatial;
    int32_t input_batch, input_feature, input_spatial[TG_MAX_NDIM];                        /* b, f, 0 1 2 ... */
    int32_t kernel_input_feature, kernel_output_feature, kernel_spatial[TG_MAX_NDIM];      /* i, o */
    int32_t output_batch, output_feature, output_spatial[TG_MAX_NDIM];                     /* b, f */
} tg_hlo_dim_labels;

/* dim_labels=b01f_01io->b01f, input_kernel->output. */
TG_API tg_status tg_hlo_read_dim_labels(tg_hlo_dim_labels *out, tg_hlo_text value, tg_error *err);

/* The next `key=value` between the braces of metadata={op_name="a/b" source_line=3}, window, frontend_attributes,
 * statistics, ...: separated by blanks or commas. *pos starts at 0 and is moved on. False at the end, or where
 * something else stands. `pos` of *out is in value. */
TG_API bool tg_hlo_next_field(tg_hlo_attribute *out, tg_hlo_text value, size_t *pos);

/* The first such field with this key; false, and *out is left alone, if there is none. */
TG_API bool tg_hlo_find_field(tg_hlo_text *out, tg_hlo_text value, const char *key);

/* The computations that calls, to_apply, body, condition, branch_computations, called_computations, ... name or
 * hold: "%a", "%a, %b", "{%a, b}", a body, "{{...}, {...}}". value must be a piece of the module's text.
 * TG_ERR_PARSE at a name that no computation has. */
TG_API tg_status tg_hlo_read_computations(int64_t *out, size_t cap, size_t *count, const tg_hlo_module *module,
                                          tg_hlo_text value, tg_error *err);

/* The ids of the shapes in outfeed_shape, literal, operand_layout_constraints ("{f32[2]{0}, s8[]}"),
 * entry_computation_layout, and in the signature of a computation: parameters in order, then the result. */
TG_API tg_status tg_hlo_read_shapes(int64_t *out, size_t cap, size_t *count, const tg_hlo_module *module,
                                    tg_hlo_text value, tg_error *err);

/* XLA's LexesAsJsonDict, by which backend_config is written as it is or as a quoted string: the text is one
 * `{...}` whose braces outside of "..." are balanced. */
TG_API bool tg_hlo_is_json_dict(const char *text, size_t len);

/* ---- printing ----------------------------------------------------------------- */

/* The whole module: comments dropped, one instruction on a line, `%` before names that are defined, shapes and
 * values as they are written (less the `{}` of old dumps). post: where XLA's parser reads the text that the
 * module came from, it reads this one as the same module; reading and printing it again gives the same text. */
TG_API size_t tg_hlo_print(char *buf, size_t cap, const tg_hlo_module *module);

/* One instruction in the same way, without ROOT and line end; nested bodies are in it, with line ends. */
TG_API size_t tg_hlo_print_instruction(char *buf, size_t cap, const tg_hlo_module *module, int64_t instruction);

#ifdef __cplusplus
}
#endif

#endif /* TEGULA_HLO_H */
