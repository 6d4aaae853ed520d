/* The story of a transfer as lines of text: the loops, the runs in their order, and both memories side by side.
 *
 *     Host memory                      Device memory
 *            +---------------------+          +---------------------+
 *      0..63 | A #0 1: i=0 j=0 k=0 |    0..63 | A #0 1: i=0 j=0 k=0 |
 */
#include "draw/pen.h"
#include "draw/scene.h"
#include "draw/story.h"

#include <string.h>

enum { INDENT = 2, BETWEEN = 3 };

/* ---- the program --------------------------------------------------------------------------------- */

/* Bytes of a line of a program; without its remark if that does not fit. */
static size_t code_length(const tg_pen *pen, const char *line) {
    size_t len = strcspn(line, "\n"), code = strcspn(line, "\n#");
    if (INDENT + (int32_t)len <= pen->width || code == len) return len;
    while (code > 0 && line[code - 1] == ' ') code--;
    return code;
}

/* A line of a program; what does not fit goes on below, further in. */
static void put_code(const tg_pen *pen, const char *line, size_t len) {
    const int32_t inner = INDENT + (int32_t)strspn(line, " ") + 4;
    int32_t       column = INDENT;
    tg_pen_times(pen, " ", INDENT);
    for (size_t at = 0; at < len;) {
        size_t word = at + strspn(line + at, " ");
        word += strcspn(line + word, " \n");
        if (word > len) word = len;
        if (at > 0 && column + (int32_t)(word - at) > pen->width) {
            tg_put_char(pen->w, '\n');
            tg_pen_times(pen, " ", inner);
            column = inner;
            at += strspn(line + at, " ");
        }
        tg_put_bytes(pen->w, line + at, word - at);
        column += (int32_t)(word - at);
        at = word;
    }
    tg_put_char(pen->w, '\n');
}

static void put_program(const tg_pen *pen, const tg_story *s) {
    for (int32_t k = 0; k < s->nshown; k++) {
        const size_t before = k > 0 ? s->shown[k] - s->shown[k - 1] - 1 : s->shown[k];
        tg_put_char(pen->w, '\n');
        if (before > 0) {
            tg_pen_times(pen, " ", INDENT);
            tg_put_text(pen->w, pen->set->row_gap);
            tg_put_char(pen->w, ' ');
            tg_put_int(pen->w, (int64_t)before);
            tg_put_text(pen->w, before == 1 ? " more descriptor\n\n" : " more descriptors\n\n");
        }
        if (pen->colour) tg_put_text(pen->w, "\033[1m");
        tg_pen_sentence(pen, s->heading[k], 0);
        if (pen->colour) tg_put_text(pen->w, "\033[0m");
        for (const char *line = s->text[k]; *line != '\0';) {
            const size_t len = strcspn(line, "\n");
            put_code(pen, line, code_length(pen, line));
            line += len + (line[len] == '\n');
        }
    }
}

/* ---- runs in their order ------------------------------------------------------------------------------ */

enum { COLUMNS = 5, CELL = 96 };

/* name, steps, the place that is read, the place that is written, elements */
static void cell_text(char text[CELL], const tg_story *s, const tg_story_run *run, int32_t column) {
    tg_writer     w = tg_writer_make(text, CELL);
    const bool    is_host = (column == 2) != s->to_host;
    const int64_t from = is_host ? run->host : run->device;
    if (column == 0) tg_put_text(&w, run->name);
    if (column == 1) tg_put_text(&w, run->steps);
    if (column == 2 || column == 3) tg_put_range(&w, from, from + (run->length - 1));
    if (column == 4) tg_put_text(&w, run->elements);
    (void)tg_writer_end(&w);
}

static const char *title_of(const tg_story *s, int32_t column) {
    static const char *const titles[COLUMNS] = {"run", "loops", "host", "device", "elements"};
    return titles[s->to_host && (column == 2 || column == 3) ? 5 - column : column];
}

static int32_t table_widths(int32_t width[COLUMNS], const tg_story *s, uint32_t columns) {
    char    text[CELL];
    int32_t all = 1;
    for (int32_t c = 0; c < COLUMNS; c++) {
        width[c] = 0;
        if ((columns >> c & 1) == 0) continue;
        width[c] = tg_text_width(title_of(s, c));
        for (int32_t k = 0; k < s->nruns; k++) {
            cell_text(text, s, &s->run[k], c);
            if (tg_text_width(text) > width[c]) width[c] = tg_text_width(text);
        }
        all += width[c] + 2 + 2 * (c == 3);
    }
    return all;
}

/* Blanks are owed until there is something behind them. */
static void put_entry(const tg_pen *pen, const char *text, int32_t width, int32_t *owed) {
    if (text[0] != '\0') {
        tg_pen_times(pen, " ", *owed);
        tg_put_text(pen->w, text);
        *owed = 0;
    }
    *owed += width - tg_text_width(text) + 2;
}

static void put_run(const tg_pen *pen, const tg_story *s, const tg_story_run *run, const int32_t width[COLUMNS]) {
    char    text[CELL];
    int32_t owed = 0;
    tg_put_text(pen->w, run->followed ? " *" : "  ");
    for (int32_t c = 0; c < COLUMNS; c++) {
        if (width[c] == 0) continue;
        if (c == 3) {
            tg_pen_times(pen, " ", owed);
            tg_put_text(pen->w, pen->set->arrow);
            owed = 1;
        }
        cell_text(text, s, run, c);
        put_entry(pen, text, width[c], &owed);
    }
    tg_put_char(pen->w, '\n');
}

static void put_more(const tg_pen *pen, int64_t runs) {
    if (runs <= 0) return;
    tg_pen_times(pen, " ", INDENT);
    tg_put_text(pen->w, pen->set->row_gap);
    tg_put_char(pen->w, ' ');
    tg_put_int(pen->w, runs);
    tg_put_text(pen->w, " more\n");
}

static void put_runs(const tg_pen *pen, const tg_story *s) {
    int32_t width[COLUMNS], owed = INDENT;
    int64_t next = 0;
    tg_put_char(pen->w, '\n');
    tg_pen_styled(pen, "\033[1m", "Runs, in the order of execution");
    tg_put_char(pen->w, '\n');
    if (table_widths(width, s, 0x1f) > pen->width && table_widths(width, s, 0x0f) > pen->width)
        (void)table_widths(width, s, 0x0d);
    for (int32_t c = 0; c < COLUMNS; c++) {
        if (width[c] == 0) continue;
        owed += 2 * (c == 3);
        put_entry(pen, title_of(s, c), width[c], &owed);
    }
    tg_put_char(pen->w, '\n');
    for (int32_t k = 0; k < s->nruns; k++) {
        put_more(pen, s->run[k].number - next);
        put_run(pen, s, &s->run[k], width);
        next = s->run[k].number + 1;
    }
    put_more(pen, s->nruns_in_all - next);
}

/* ---- memory ----------------------------------------------------------------------------------------------- */

/* A memory as a box of rows. */
typedef struct box {
    const tg_story       *story;
    const tg_story_strip *strip;
    const char           *title;
    int32_t               margin, inner; /* characters before the box, and in it */
} box;

/* "A #0  1: i=0 j=4" */
static void part_inside(char text[2 * CELL], const tg_story *s, const tg_story_part *part, bool with_steps) {
    tg_writer w = tg_writer_make(text, 2 * CELL);
    tg_put_text(&w, part->label);
    if (part->nruns == 1 && with_steps && s->run[part->run].steps[0] != '\0') {
        tg_put_text(&w, "  ");
        tg_put_text(&w, s->run[part->run].steps);
    }
    (void)tg_writer_end(&w);
}

static box make_box(const tg_story *s, const tg_story_strip *strip, const char *title, bool with_steps) {
    char text[2 * CELL];
    box  b = {s, strip, title, 0, 14};
    for (int32_t k = 0; k < strip->nparts; k++) {
        tg_story_margin(text, sizeof text, &strip->part[k]);
        if (tg_text_width(text) > b.margin) b.margin = tg_text_width(text);
        if (strip->part[k].kind != TG_PART_RUN) continue;
        part_inside(text, s, &strip->part[k], with_steps);
        if (tg_text_width(text) + 2 > b.inner) b.inner = tg_text_width(text) + 2;
    }
    return b;
}

static int32_t box_width(const box *b) { return INDENT + b->margin + 1 + b->inner + 2; }

static bool holds_follow(const tg_story *s, const tg_story_strip *strip, const tg_story_part *part) {
    for (int32_t k = 0; k < s->nruns; k++)
        if (s->run[k].followed && &strip->part[strip == &s->host ? s->run[k].host_part : s->run[k].device_part] == part)
            return true;
    return false;
}

static void put_inside(const tg_pen *pen, const box *b, const tg_story_part *part, bool with_steps) {
    char       text[2 * CELL];
    const bool coloured = pen->colour && part->kind == TG_PART_RUN;
    if (part->kind == TG_PART_UNTOUCHED) {
        tg_pen_times(pen, pen->set->hatch, 2);
        tg_put_text(pen->w, " untouched ");
        tg_pen_times(pen, pen->set->hatch, b->inner - 13);
        return;
    }
    if (part->kind == TG_PART_HIDDEN) {
        tg_put_text(pen->w, pen->set->row_gap);
        tg_pen_times(pen, " ", b->inner - 1);
        return;
    }
    if (coloured) {
        tg_put_text(pen->w, "\033[30;48;5;");
        tg_put_text(pen->w, tg_pen_background[part->run % TG_DRAW_COLOURS]);
        tg_put_char(pen->w, 'm');
    }
    part_inside(text, b->story, part, with_steps);
    tg_put_char(pen->w, holds_follow(b->story, b->strip, part) ? '*' : ' ');
    tg_put_text(pen->w, text);
    tg_pen_times(pen, " ", b->inner - 1 - tg_text_width(text));
    if (coloured) tg_put_text(pen->w, "\033[0m");
}

static int32_t box_lines(const box *b) { return b->strip->nparts + 3; }

/* Line `line` of a box, as wide as the box but for the title. Returns what it lacks. */
static int32_t put_line(const tg_pen *pen, const box *b, int32_t line, bool with_steps) {
    char margin[CELL] = "";
    const int32_t rule = line == 1 ? 0 : 2;
    if (line >= box_lines(b)) return box_width(b);
    if (line == 0) {
        tg_pen_styled(pen, "\033[1m", b->title);
        return box_width(b) - tg_text_width(b->title);
    }
    const bool is_part = line >= 2 && line < b->strip->nparts + 2;
    if (is_part) tg_story_margin(margin, sizeof margin, &b->strip->part[line - 2]);
    tg_pen_times(pen, " ", INDENT + b->margin - tg_text_width(margin));
    tg_put_text(pen->w, margin);
    tg_put_char(pen->w, ' ');
    tg_put_text(pen->w, is_part ? pen->set->down : pen->set->corner[rule][0]);
    if (is_part) put_inside(pen, b, &b->strip->part[line - 2], with_steps);
    else tg_pen_times(pen, pen->set->across, b->inner);
    tg_put_text(pen->w, is_part ? pen->set->down : pen->set->corner[rule][2]);
    return 0;
}

static void put_one(const tg_pen *pen, const box *b, bool with_steps) {
    tg_put_char(pen->w, '\n');
    for (int32_t line = 0; line < box_lines(b); line++) {
        (void)put_line(pen, b, line, with_steps);
        tg_put_char(pen->w, '\n');
    }
}

static void put_both(const tg_pen *pen, const box *a, const box *b, bool with_steps) {
    tg_put_char(pen->w, '\n');
    for (int32_t line = 0; line < box_lines(a) || line < box_lines(b); line++) {
        const int32_t lacks = put_line(pen, a, line, with_steps);
        if (line < box_lines(b)) {
            tg_pen_times(pen, " ", lacks + BETWEEN);
            (void)put_line(pen, b, line, with_steps);
        }
        tg_put_char(pen->w, '\n');
    }
}

/* Side by side, without the steps if need be, or one below the other. */
static void put_memory(const tg_pen *pen, const tg_story *s) {
    for (int32_t with_steps = 1; with_steps >= 0; with_steps--) {
        const box  host = make_box(s, &s->host, "Host memory", with_steps);
        const box  device = make_box(s, &s->device, "Device memory", with_steps);
        const bool beside = box_width(&host) + BETWEEN + box_width(&device) <= pen->width;
        if (beside) put_both(pen, s->to_host ? &device : &host, s->to_host ? &host : &device, with_steps);
        if (!beside && with_steps) continue;
        if (!beside) {
            put_one(pen, s->to_host ? &device : &host, false);
            put_one(pen, s->to_host ? &host : &device, false);
        }
        return;
    }
}

/* ---- the whole ------------------------------------------------------------------------------------------- */

static bool has_part(const tg_story *s, tg_part_kind kind) {
    for (int32_t k = 0; k < s->host.nparts; k++)
        if (s->host.part[k].kind == kind) return true;
    for (int32_t k = 0; k < s->device.nparts; k++)
        if (s->device.part[k].kind == kind) return true;
    return false;
}

static void put_legend(const tg_pen *pen, const tg_story *s) {
    static const char *const mark[] = {"*", "", ""};
    const char *const hatch[] = {pen->set->hatch, pen->set->hatch, ""}, *const gap[] = {pen->set->row_gap, "", ""};
    int32_t                  column = 0;
    for (int32_t k = 0; k < s->nruns; k++)
        if (s->run[k].followed) tg_pen_legend(pen, &column, mark, "holds the followed element");
    if (has_part(s, TG_PART_UNTOUCHED)) tg_pen_legend(pen, &column, hatch, "untouched");
    if (has_part(s, TG_PART_HIDDEN)) tg_pen_legend(pen, &column, gap, "not drawn");
    if (column > 0) tg_put_char(pen->w, '\n');
}

size_t tg_story_text(char *buf, size_t cap, const tg_story *story, uint32_t style) {
    tg_writer    w = tg_writer_make(buf, cap);
    const tg_pen pen = tg_pen_make(&w, style, story->width);
    if (story->title[0] != '\0') {
        if (pen.colour) tg_put_text(&w, "\033[1;36m");
        tg_pen_sentence(&pen, story->title, 0);
        if (pen.colour) tg_put_text(&w, "\033[0m");
    }
    if (story->nruns == 0) {
        tg_pen_sentence(&pen, "Nothing to carry: the tensor has no elements.", INDENT);
        return tg_writer_end(&w);
    }
    put_program(&pen, story);
    put_runs(&pen, story);
    put_memory(&pen, story);
    tg_put_char(&w, '\n');
    for (int32_t k = 0; k < story->nnotes; k++) tg_pen_sentence(&pen, story->note[k], INDENT);
    put_legend(&pen, story);
    return tg_writer_end(&w);
}
