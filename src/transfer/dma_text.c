/* Programs as text: the three tuples of torch-spyre's documentation, their loop nest, and C. */
#include "transfer/dma.h"

#include "base/error.h"
#include "base/text.h"

#include <string.h>

enum { INDENT = 2 };

/* ---- tuples ---- */

typedef enum column { RANGES, DEVICE, HOST } column;

static int64_t cell(const tg_dma_loop *l, column c) {
    return c == RANGES ? l->range : c == DEVICE ? l->device_stride : l->host_stride;
}

/* As Python writes a tuple: "(64,)" has one number. */
static void put_tuple(tg_writer *w, const tg_dma *dma, column c) {
    tg_put_char(w, '(');
    for (int32_t i = 0; i < dma->nloops; i++) {
        if (i > 0) tg_put_text(w, ", ");
        tg_put_int(w, cell(&dma->loop[i], c));
    }
    tg_put_text(w, dma->nloops == 1 ? ",)" : ")");
}

size_t tg_dma_format(char *buf, size_t cap, const tg_dma *dma) {
    tg_writer w = tg_writer_make(buf, cap);
    tg_put_char(&w, '(');
    put_tuple(&w, dma, RANGES);
    tg_put_text(&w, ", ");
    put_tuple(&w, dma, DEVICE);
    tg_put_text(&w, ", ");
    put_tuple(&w, dma, HOST);
    tg_put_char(&w, ')');
    if (dma->device_offset != 0 || dma->host_offset != 0) {
        tg_put_text(&w, " + (");
        tg_put_int(&w, dma->device_offset);
        tg_put_text(&w, ", ");
        tg_put_int(&w, dma->host_offset);
        tg_put_char(&w, ')');
    }
    return tg_writer_end(&w);
}

/* ---- loops ---- */

/* i, j, ..., z, then i1, j1, ... */
static void put_variable(tg_writer *w, int32_t i) {
    enum { LETTERS = 'z' - 'i' + 1 };
    tg_put_char(w, (char)('i' + i % LETTERS));
    if (i >= LETTERS) tg_put_int(w, i / LETTERS);
}

static void put_blanks(tg_writer *w, size_t n) {
    while (n-- > 0) tg_put_char(w, ' ');
}

static void put_number(tg_writer *w, int64_t value, bool first) {
    if (!first) tg_put_text(w, value < 0 ? " - " : " + ");
    else if (value < 0) tg_put_char(w, '-');
    if (value == INT64_MIN) tg_put_text(w, "9223372036854775808");
    else tg_put_int(w, value < 0 ? -value : value);
}

/* "19200 + i*65536 + j*64 + k", the larger steps first. */
static void put_index(tg_writer *w, const tg_dma *dma, column c) {
    const int64_t offset = c == DEVICE ? dma->device_offset : dma->host_offset;
    bool          done[TG_DMA_MAX_LOOPS] = {false}, first = true;
    if (offset != 0) {
        put_number(w, offset, true);
        first = false;
    }
    for (;;) {
        int32_t next = -1;
        for (int32_t i = 0; i < dma->nloops; i++) {
            if (done[i] || cell(&dma->loop[i], c) == 0) continue;
            if (next < 0 || cell(&dma->loop[i], c) > cell(&dma->loop[next], c)) next = i;
        }
        if (next < 0) break;
        done[next] = true;
        const int64_t stride = cell(&dma->loop[next], c);
        if (!first) tg_put_text(w, stride < 0 ? " - " : " + ");
        else if (stride < 0) tg_put_char(w, '-');
        put_variable(w, next);
        if (stride != 1 && stride != -1) {
            tg_put_char(w, '*');
            put_number(w, stride < 0 && stride != INT64_MIN ? -stride : stride, true);
        }
        first = false;
    }
    if (first) tg_put_char(w, '0');
}

static size_t range_width(const tg_dma *dma) {
    size_t width = 0;
    for (int32_t i = 0; i < dma->nloops; i++) {
        tg_writer w = tg_writer_make(NULL, 0);
        put_blanks(&w, (size_t)i * INDENT);
        tg_put_text(&w, "for  in range():");
        put_variable(&w, i);
        tg_put_int(&w, dma->loop[i].range);
        width = w.len > width ? w.len : width;
    }
    return width;
}

static void put_remark(tg_writer *w, const tg_dma_loop *l) {
    if (l->host_stride == 0 || l->device_stride == 0) {
        tg_put_text(w, "the same element again");
    } else if (l->dim < 0) {
        tg_put_text(w, "several dimensions together");
    } else {
        tg_put_text(w, "dimension ");
        tg_put_int(w, l->dim);
        if (l->step == 0) tg_put_text(w, ", from part to part");
        else if (l->step != 1) tg_put_text(w, " by ");
        if (l->step > 1 || l->step < 0) tg_put_int(w, l->step);
    }
}

static void put_loop(tg_writer *w, const tg_dma *dma, int32_t i, size_t width) {
    const size_t begin = w->len;
    put_blanks(w, (size_t)i * INDENT);
    tg_put_text(w, "for ");
    put_variable(w, i);
    tg_put_text(w, " in range(");
    tg_put_int(w, dma->loop[i].range);
    tg_put_text(w, "):");
    put_blanks(w, width + 2 - (w->len - begin));
    tg_put_text(w, "# ");
    put_remark(w, &dma->loop[i]);
    tg_put_char(w, '\n');
}

static void put_access(tg_writer *w, const tg_dma *dma, column c) {
    tg_put_text(w, c == DEVICE ? "device[" : "host[");
    put_index(w, dma, c);
    tg_put_char(w, ']');
}

size_t tg_dma_format_loops(char *buf, size_t cap, const tg_dma *dma, tg_dma_direction direction) {
    const bool   to_device = direction == TG_HOST_TO_DEVICE;
    const size_t width = range_width(dma);
    tg_writer    w = tg_writer_make(buf, cap);
    for (int32_t i = 0; i < dma->nloops; i++) put_loop(&w, dma, i, width);
    put_blanks(&w, (size_t)dma->nloops * INDENT);
    put_access(&w, dma, to_device ? DEVICE : HOST);
    tg_put_text(&w, " = ");
    put_access(&w, dma, to_device ? HOST : DEVICE);
    return tg_writer_end(&w);
}

/* ---- C ---- */

static const char *type_of(int32_t bits) {
    return bits == 64 ? "uint64_t" : bits == 32 ? "uint32_t" : bits == 16 ? "uint16_t" : "uint8_t";
}

static bool is_known_width(int32_t bits) { return bits >= 1 && bits <= 64 && (bits & (bits - 1)) == 0; }

/* Elements below a byte are read and written by functions, the low bits first. */
static void put_packed(tg_writer *w, const char *name, const char *side, int32_t bits, bool is_written) {
    const int32_t per_byte = 8 / bits, mask = (1 << bits) - 1;
    tg_put_text(w, is_written ? "static void " : "static uint8_t ");
    tg_put_text(w, name);
    tg_put_char(w, '_');
    tg_put_text(w, side);
    tg_put_text(w, is_written ? "(uint8_t *p, int64_t i, uint8_t x) {\n    const int s = (int)(i % "
                              : "(const uint8_t *p, int64_t i) {\n    return p[i / ");
    tg_put_int(w, per_byte);
    if (!is_written) {
        tg_put_text(w, "] >> (i % ");
        tg_put_int(w, per_byte);
    }
    tg_put_text(w, is_written ? ") * " : " * ");
    tg_put_int(w, bits);
    if (is_written) {
        tg_put_text(w, ";\n    p[i / ");
        tg_put_int(w, per_byte);
        tg_put_text(w, "] = (uint8_t)((p[i / ");
        tg_put_int(w, per_byte);
        tg_put_text(w, "] & ~(");
        tg_put_int(w, mask);
        tg_put_text(w, " << s)) | ((x & ");
        tg_put_int(w, mask);
        tg_put_text(w, ") << s));\n}\n\n");
    } else {
        tg_put_text(w, ") & ");
        tg_put_int(w, mask);
        tg_put_text(w, ";\n}\n\n");
    }
}

/* What one program is printed with. */
typedef struct c_style {
    const char      *name;
    tg_dma_direction direction;
    int32_t          device_bits, host_bits;
    bool             converts;
} c_style;

static int32_t bits_of(const c_style *s, column c) { return c == DEVICE ? s->device_bits : s->host_bits; }

static void put_call(tg_writer *w, const c_style *s, const tg_dma *dma, column c) {
    tg_put_text(w, s->name);
    tg_put_text(w, c == DEVICE ? "_device(device, " : "_host(host, ");
    put_index(w, dma, c);
}

static void put_read(tg_writer *w, const c_style *s, const tg_dma *dma, column c) {
    if (s->converts) tg_put_text(w, "CONVERT(");
    if (bits_of(s, c) < 8) {
        put_call(w, s, dma, c);
        tg_put_char(w, ')');
    } else {
        put_access(w, dma, c);
    }
    if (s->converts) tg_put_char(w, ')');
}

static void put_assignment(tg_writer *w, const c_style *s, const tg_dma *dma) {
    const column to = s->direction == TG_HOST_TO_DEVICE ? DEVICE : HOST, from = to == DEVICE ? HOST : DEVICE;
    if (bits_of(s, to) < 8) {
        put_call(w, s, dma, to);
        tg_put_text(w, ", ");
    } else {
        put_access(w, dma, to);
        tg_put_text(w, " = ");
    }
    put_read(w, s, dma, from);
    tg_put_text(w, bits_of(s, to) < 8 ? ");\n" : ";\n");
}

static void put_nest(tg_writer *w, const c_style *s, const tg_dma *dma) {
    for (int32_t i = 0; i < dma->nloops; i++) {
        put_blanks(w, (size_t)(i + 1) * 4);
        tg_put_text(w, "for (int64_t ");
        put_variable(w, i);
        tg_put_text(w, " = 0; ");
        put_variable(w, i);
        tg_put_text(w, " < ");
        tg_put_int(w, dma->loop[i].range);
        tg_put_text(w, "; ");
        put_variable(w, i);
        tg_put_text(w, "++)\n");
    }
    put_blanks(w, (size_t)(dma->nloops + 1) * 4);
    put_assignment(w, s, dma);
}

static void put_head(tg_writer *w, const c_style *s, bool is_empty) {
    const bool to_device = s->direction == TG_HOST_TO_DEVICE;
    tg_put_text(w, "#include <stdint.h>\n\n");
    if (s->converts && !is_empty)
        tg_put_text(w, "#ifndef CONVERT\n#error \"define the macro CONVERT(x) before this line: the element x of the "
                       "one side, as the other side has it\"\n#endif\n\n");
    if (s->device_bits < 8 && !is_empty) put_packed(w, s->name, "device", s->device_bits, to_device);
    if (s->host_bits < 8 && !is_empty) put_packed(w, s->name, "host", s->host_bits, !to_device);
    tg_put_text(w, "void ");
    tg_put_text(w, s->name);
    tg_put_text(w, to_device ? "(" : "(const ");
    tg_put_text(w, type_of(s->device_bits));
    tg_put_text(w, to_device ? " *restrict device, const " : " *restrict device, ");
    tg_put_text(w, type_of(s->host_bits));
    tg_put_text(w, " *restrict host) {\n");
}

static bool is_identifier(const char *name) {
    for (size_t i = 0; name[i] != '\0'; i++) {
        const char c = name[i];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9')) return false;
    }
    return name[0] != '\0';
}

tg_status tg_dma_format_c(char *buf, size_t cap, size_t *need, const tg_dma *program, size_t count,
                          tg_dma_direction direction, const char *name, int32_t device_bits, int32_t host_bits,
                          bool converts, tg_error *err) {
    const c_style s = {name, direction, device_bits, host_bits, converts || device_bits != host_bits};
    if (!is_identifier(name)) return tg_fail(err, TG_ERR_ARGUMENT, "'%s' is no name of a C function", name);
    if (!is_known_width(device_bits) || !is_known_width(host_bits))
        return tg_fail(err, TG_ERR_UNSUPPORTED, "C has no type for elements of %d bits",
                       (int64_t)(is_known_width(device_bits) ? host_bits : device_bits));
    tg_writer w = tg_writer_make(buf, cap);
    put_head(&w, &s, count == 0);
    if (count == 0) tg_put_text(&w, "    (void)device;\n    (void)host;\n");
    for (size_t i = 0; i < count; i++) put_nest(&w, &s, &program[i]);
    tg_put_text(&w, "}\n");
    *need = tg_writer_end(&w);
    return TG_OK;
}
