/* HLO text: any bytes give a module or an error within the bytes. Of a module every answer is a piece of the text,
 * every value is read by every reader, every shape has its tree; and it prints to text that reads back to as much
 * and prints to the same text. The dictionary is fuzz_hlo.dict. */
#include <tegula/hlo.h>

#include <stdlib.h>
#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : abort())

enum { CAP = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct span {
    const char *text;
    size_t      len;
} span;

static void *allocate(size_t size) {
    void *p = malloc(size + 1);
    if (p == NULL) abort();
    return p;
}

static void check_message(const tg_error *err, tg_status status) {
    CHECK(err->status == status);
    CHECK(err->message[0] != '\0' && memchr(err->message, '\0', sizeof err->message) != NULL);
    CHECK(strchr(err->message, '\n') == NULL);
}

static tg_hlo_module *read_module(span text) {
    tg_hlo_module  *m = NULL;
    tg_error        err;
    const tg_status status = tg_hlo_parse(&m, text.text, text.len, &err);
    if (status == TG_OK) return m;
    CHECK(status == TG_ERR_PARSE || status == TG_ERR_LIMIT || status == TG_ERR_OVERFLOW ||
          status == TG_ERR_UNSUPPORTED);
    check_message(&err, status);
    CHECK(m == NULL && err.pos <= text.len);
    CHECK(strncmp(err.message, "line ", 5) == 0);
    return NULL;
}

static void check_piece(span text, tg_hlo_text piece) {
    if (piece.len == 0) return;
    CHECK(piece.chars >= text.text && piece.chars + piece.len <= text.text + text.len);
}

/* ---- values ------------------------------------------------------------------------- */

/* A failure is a place in the value; a list never has fewer items than it gives. */
static void check_read(tg_status status, const tg_error *err, tg_hlo_text value) {
    if (status == TG_OK) return;
    CHECK(status == TG_ERR_PARSE || status == TG_ERR_OVERFLOW);
    check_message(err, status);
    CHECK(err->pos <= value.len);
}

static void read_fields(tg_hlo_text value) {
    tg_hlo_attribute field;
    size_t           before = 0;
    for (size_t pos = 0; tg_hlo_next_field(&field, value, &pos); before = pos) {
        CHECK(pos > before && pos <= value.len && field.key.len > 0);
        check_piece((span){value.chars, value.len}, field.key);
        check_piece((span){value.chars, value.len}, field.value);
    }
}

static void read_value(const tg_hlo_module *m, tg_hlo_text value) {
    int64_t           numbers[CAP];
    tg_hlo_slice      slices[CAP];
    tg_hlo_padding    padding[CAP];
    tg_hlo_window_dim window[CAP];
    tg_hlo_dim_labels labels;
    char              string[CAP];
    size_t            count = 0;
    tg_error          err;
    check_read(tg_hlo_read_int(numbers, value, &err), &err, value);
    check_read(tg_hlo_read_ints(numbers, CAP, &count, value, &err), &err, value);
    check_read(tg_hlo_read_path(numbers, CAP, &count, value, &err), &err, value);
    check_read(tg_hlo_read_string(string, CAP, &count, value, &err), &err, value);
    check_read(tg_hlo_read_slices(slices, CAP, &count, value, &err), &err, value);
    check_read(tg_hlo_read_padding(padding, CAP, &count, value, &err), &err, value);
    check_read(tg_hlo_read_window(window, CAP, &count, value, &err), &err, value);
    check_read(tg_hlo_read_dim_labels(&labels, value, &err), &err, value);
    check_read(tg_hlo_read_computations(numbers, CAP, &count, m, value, &err), &err, value);
    check_read(tg_hlo_read_shapes(numbers, CAP, &count, m, value, &err), &err, value);
    (void)tg_hlo_is_json_dict(value.chars, value.len);
    read_fields(value);
}

/* ---- answers ------------------------------------------------------------------------- */

static void check_attributes(span text, const tg_hlo_module *m, int64_t first, int64_t n) {
    CHECK(first >= 0 && n >= 0);
    for (int64_t i = first; i < first + n; i++) {
        const tg_hlo_attribute a = tg_hlo_get_attribute(m, i);
        CHECK(a.key.len > 0 && a.pos < text.len);
        check_piece(text, a.key);
        check_piece(text, a.value);
        read_value(m, a.value);
    }
}

static void check_operands(span text, const tg_hlo_module *m, const tg_hlo_instruction *in, int64_t ninstructions) {
    CHECK(in->noperands >= 0 && in->elided >= 0);
    for (int64_t i = 0; i < in->noperands; i++) {
        const tg_hlo_operand o = tg_hlo_get_operand(m, in->first_operand + i);
        check_piece(text, o.text);
        check_piece(text, o.name);
        CHECK(o.pos <= text.len && o.instruction >= TG_HLO_NONE && o.instruction < ninstructions);
        if (o.name.len == 0) continue;
        read_value(m, o.path);
        if (o.instruction == TG_HLO_NONE) continue;
        const tg_hlo_text name = tg_hlo_get_instruction(m, o.instruction).name;
        CHECK(name.len == o.name.len && memcmp(name.chars, o.name.chars, name.len) == 0);
    }
}

static void check_instructions(span text, const tg_hlo_module *m, const tg_hlo_header *h) {
    for (int64_t i = 0; i < h->ninstructions; i++) {
        const tg_hlo_instruction in = tg_hlo_get_instruction(m, i);
        CHECK(in.opcode.len > 0 && in.pos < text.len && in.shape < h->nshapes);
        check_piece(text, in.name);
        check_piece(text, in.opcode);
        check_piece(text, tg_hlo_get_arguments(m, i));
        check_operands(text, m, &in, h->ninstructions);
        check_attributes(text, m, in.first_attribute, in.nattributes);
        CHECK(tg_hlo_print_instruction(NULL, 0, m, i) > 0);
    }
}

static void check_computations(span text, const tg_hlo_module *m, const tg_hlo_header *h) {
    int64_t instructions = 0, entries = 0;
    for (int64_t i = 0; i < h->ncomputations; i++) {
        const tg_hlo_computation c = tg_hlo_get_computation(m, i);
        check_piece(text, c.name);
        check_piece(text, c.signature);
        check_attributes(text, m, c.first_attribute, c.nattributes);
        CHECK(c.root == TG_HLO_NONE ? c.ninstructions == 0
                                    : c.root >= c.first_instruction && c.root < c.first_instruction + c.ninstructions);
        CHECK(c.root == TG_HLO_NONE || tg_hlo_get_instruction(m, c.root).root);
        if (c.name.len > 0) CHECK(tg_hlo_find_computation(m, c.name) != TG_HLO_NONE);
        instructions += c.ninstructions;
        entries += c.entry;
    }
    CHECK(instructions == h->ninstructions && entries == (h->entry == TG_HLO_NONE ? 0 : 1));
}

static void check_shapes(const tg_hlo_module *m, const tg_hlo_header *h) {
    static tg_xla_shape nodes[CAP];
    for (int64_t i = 0; i < h->nshapes; i++) {
        const tg_hlo_shape_info info = tg_hlo_get_shape(m, i);
        size_t                  count = 0;
        CHECK(tg_hlo_shape(nodes, CAP, &count, m, i, NULL) == TG_OK);
        CHECK((int64_t)count == info.nnodes && nodes[0].kind == info.kind);
    }
}

static span print(const tg_hlo_module *m) {
    const size_t len = tg_hlo_print(NULL, 0, m);
    char        *text = allocate(len);
    CHECK(tg_hlo_print(text, len + 1, m) == len && text[len] == '\0');
    return (span){text, len};
}

static void check_round_trip(const tg_hlo_module *m, const tg_hlo_header *h) {
    const span     once = print(m);
    tg_hlo_module *back = read_module(once);
    CHECK(back != NULL);
    const tg_hlo_header again = tg_hlo_get_header(back);
    CHECK(again.ncomputations == h->ncomputations && again.ninstructions == h->ninstructions);
    CHECK(again.nattributes == h->nattributes && again.entry == h->entry);
    const span twice = print(back);
    CHECK(once.len == twice.len && memcmp(once.text, twice.text, once.len) == 0);
    tg_hlo_destroy(&back);
    free((void *)once.text);
    free((void *)twice.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const span     text = {(const char *)data, size};
    tg_hlo_module *m = read_module(text);
    if (m == NULL) return 0;
    const tg_hlo_header h = tg_hlo_get_header(m);
    check_piece(text, h.name);
    check_piece(text, h.stack_frames);
    check_attributes(text, m, 0, h.nattributes);
    check_computations(text, m, &h);
    check_instructions(text, m, &h);
    check_shapes(m, &h);
    check_round_trip(m, &h);
    tg_hlo_destroy(&m);
    return 0;
}
