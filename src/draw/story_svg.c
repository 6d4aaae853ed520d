/* The story of a transfer as SVG: above the loops; below from left to right the memory that is read, the runs in their
 * order, the memory that is written, and an arrow from each place to its run and from the run to its place.
 *
 *          +-----+     +---------------------------+     +-----+
 *     0..63| A #0|---->|A #0  i=0 j=0   (0,0,0..63)|---->| A #0|0..63
 *          +-----+     +---------------------------+     +-----+
 */
#include "draw/scene.h"
#include "draw/story.h"
#include "draw/svg.h"

#include <string.h>

enum {
    HEADING = 22,
    CODE_LINE = 17,
    CODE_WIDTH = 96, /* characters */
    BETWEEN = 28,
    WIDEST = 1080,
    NARROWEST = 520,
    ROW = 26,
    GAP_ROW = 22,
    PAD = 8,
    ARROW = 96,
    LABEL = 8, /* between a cell and what stands beside it */
    LEAST_MIDDLE = 200 /* its heading has room */
};

/* ---- the program ------------------------------------------------------------------------------------ */

/* The stretch from *at on, up to two blanks, the line's end or CODE_WIDTH, and the column it begins at. */
static size_t next_stretch(const char *line, size_t len, size_t *at) {
    while (*at < len && line[*at] == ' ') ++*at;
    size_t end = *at;
    while (end < len && !(line[end] == ' ' && end + 1 < len && line[end + 1] == ' ')) end++;
    if (end - *at <= CODE_WIDTH) return end;
    end = *at + CODE_WIDTH;
    while (end > *at + 1 && line[end - 1] != ' ') end--;
    return end > *at + 1 ? end : *at + CODE_WIDTH;
}

/* Blanks are steps to the right: viewers differ in what they make of them. Returns the width in characters. */
static int32_t put_code_line(const tg_svg *s, int32_t x, int32_t *y, const char *line, size_t len) {
    char    text[CODE_WIDTH + 1];
    int32_t widest = 0, column = 0;
    size_t  end = 0;
    for (size_t at = 0; at < len; at = end) {
        const size_t before = at;
        const bool   goes_on = at > 0 && line[at - 1] == ' ' && line[at] != ' ';
        end = next_stretch(line, len, &at);
        if (end == at) break;
        column = goes_on ? 8 : column + (int32_t)(at - before);
        if (goes_on) *y += CODE_LINE;
        memcpy(text, line + at, end - at);
        text[end - at] = '\0';
        if (s != NULL) tg_svg_text(s, x + tg_svg_pixels(column), *y - 4, text[0] == '#' ? "m" : "p", text);
        column += (int32_t)(end - at);
        if (column > widest) widest = column;
    }
    return widest;
}

/* A descriptor with its corner at x, y; s may be NULL, to measure. Returns its height, and its width in *width. */
static int32_t put_nest(const tg_svg *s, const tg_story *story, int32_t k, int32_t x, int32_t y, int32_t *width) {
    const int32_t top = y;
    int32_t       columns = 0;
    *width = 9 * tg_text_width(story->heading[k]);
    y += HEADING;
    if (s != NULL) tg_svg_text(s, x, y - 6, "h", story->heading[k]);
    for (const char *line = story->text[k]; *line != '\0';) {
        const size_t len = strcspn(line, "\n");
        y += CODE_LINE;
        const int32_t n = put_code_line(s, x, &y, line, len);
        if (n > columns) columns = n;
        line += len + (line[len] == '\n');
    }
    if (tg_svg_pixels(columns) > *width) *width = tg_svg_pixels(columns);
    return y - top;
}

/* Side by side as long as they fit. */
static void put_program(tg_svg *s, const tg_story *story, int32_t *width) {
    int32_t x = 0, height = 0, across = 0;
    for (int32_t k = 0; k < story->nshown; k++) {
        (void)put_nest(NULL, story, k, 0, 0, &across);
        if (x > 0 && x + BETWEEN + across > WIDEST) {
            s->y += height + BETWEEN / 2;
            x = height = 0;
        }
        if (x > 0) x += BETWEEN;
        const int32_t h = put_nest(s, story, k, x, s->y, &across);
        if (h > height) height = h;
        x += across;
        if (x > *width) *width = x;
    }
    s->y += height;
    if (story->nnests > (size_t)story->nshown) {
        char      text[64];
        tg_writer w = tg_writer_make(text, sizeof text);
        const int64_t left = (int64_t)story->nnests - story->nshown;
        tg_put_int(&w, left);
        tg_put_text(&w, left == 1 ? " more descriptor, before the last one, is not shown"
                                  : " more descriptors, before the last one, are not shown");
        (void)tg_writer_end(&w);
        s->y += BETWEEN;
        tg_svg_text(s, 0, s->y - 6, "s m", text);
    }
}

/* ---- geometry ------------------------------------------------------------------------------------------ */

/* Three columns of cells. */
typedef struct plan {
    const tg_story       *story;
    const tg_story_strip *from, *to; /* the memory that is read, and that which is written */
    int32_t               labels[2], cells[2], steps_at, elements_at, middle;
    int32_t               x_from, x_middle, x_to, width, height;
} plan;

static int32_t widest(int32_t a, int32_t b) { return a > b ? a : b; }

static int32_t row_height(tg_part_kind kind) { return kind == TG_PART_HIDDEN ? GAP_ROW : ROW; }

static int32_t strip_height(const tg_story_strip *strip) {
    int32_t height = 0;
    for (int32_t k = 0; k < strip->nparts; k++) height += row_height(strip->part[k].kind);
    return height;
}

/* Runs that are left out before the k-th one that is shown; k = nruns: behind the last. */
static int64_t hidden_before(const tg_story *s, int32_t k) {
    const int64_t next = k == s->nruns ? s->nruns_in_all : s->run[k].number;
    return next - (k > 0 ? s->run[k - 1].number + 1 : 0);
}

static int32_t middle_height(const tg_story *s) {
    int32_t height = 0;
    for (int32_t k = 0; k <= s->nruns; k++)
        height += (hidden_before(s, k) > 0 ? GAP_ROW : 0) + (k < s->nruns ? ROW : 0);
    return height;
}

static void measure_strip(plan *p, const tg_story_strip *strip, int32_t side) {
    char    text[96];
    int32_t labels = 0, cells = 9;
    for (int32_t k = 0; k < strip->nparts; k++) {
        tg_story_margin(text, sizeof text, &strip->part[k]);
        labels = widest(labels, tg_text_width(text));
        if (strip->part[k].kind != TG_PART_HIDDEN) cells = widest(cells, tg_text_width(strip->part[k].label));
    }
    p->labels[side] = tg_svg_pixels(labels) + LABEL;
    p->cells[side] = tg_svg_pixels(cells) + 2 * PAD;
}

static void measure_middle(plan *p) {
    int32_t name = 0, steps = 0, elements = 0;
    for (int32_t k = 0; k < p->story->nruns; k++) {
        name = widest(name, tg_text_width(p->story->run[k].name));
        steps = widest(steps, tg_text_width(p->story->run[k].steps));
        elements = widest(elements, tg_text_width(p->story->run[k].elements));
    }
    p->steps_at = PAD + tg_svg_pixels(name + 2);
    p->elements_at = p->steps_at + (steps > 0 ? tg_svg_pixels(steps + 2) : 0);
    p->middle = widest(p->elements_at + tg_svg_pixels(elements) + PAD, LEAST_MIDDLE);
}

static plan make_plan(const tg_story *s) {
    plan p = {.story = s, .from = s->to_host ? &s->device : &s->host, .to = s->to_host ? &s->host : &s->device};
    measure_strip(&p, p.from, 0);
    measure_strip(&p, p.to, 1);
    measure_middle(&p);
    p.x_from = p.labels[0];
    p.x_middle = p.x_from + p.cells[0] + ARROW;
    p.x_to = p.x_middle + p.middle + ARROW;
    p.width = p.x_to + p.cells[1] + p.labels[1];
    p.height = widest(widest(strip_height(p.from), strip_height(p.to)), middle_height(s));
    return p;
}

/* ---- cells ------------------------------------------------------------------------------------------------- */

static void put_fill(const tg_svg *s, const tg_area *a, int32_t colour) {
    char class[] = "class=\"c0\"";
    class[8] = (char)('0' + colour % TG_DRAW_COLOURS);
    tg_svg_rect(s, a, class);
}

/* What a pointer that rests on a part is told. */
static void put_tip(const tg_svg *s, const tg_story *story, const tg_story_part *part) {
    tg_put_text(s->w, "<title>");
    tg_put_text(s->w, part->from == part->to ? "offset " : "offsets ");
    tg_put_range(s->w, part->from, part->to);
    tg_put_text(s->w, part->kind == TG_PART_UNTOUCHED ? ", untouched" : ", run ");
    if (part->kind == TG_PART_RUN) {
        tg_put_text(s->w, story->run[part->run].name);
        if (story->run[part->run].steps[0] != '\0') tg_put_text(s->w, ", ");
        tg_put_text(s->w, story->run[part->run].steps);
        if (part->nruns > 1) {
            tg_put_text(s->w, ", and ");
            tg_put_int(s->w, part->nruns - 1);
            tg_put_text(s->w, " more that are shown");
        }
    }
    tg_put_text(s->w, "</title>\n");
}

static void put_part(const tg_svg *s, const plan *p, const tg_story_part *part, const tg_area *a) {
    if (part->kind == TG_PART_HIDDEN) {
        tg_svg_text(s, a->x + a->w / 2 - 4, a->y + a->h / 2 + 4, "m", "\u22ee");
        return;
    }
    tg_put_text(s->w, "<g>");
    put_tip(s, p->story, part);
    if (part->kind == TG_PART_RUN) put_fill(s, a, part->run);
    else tg_svg_rect(s, a, "fill=\"url(#tegula-padding)\"");
    tg_svg_rect(s, a, "class=\"e\"");
    tg_svg_text(s, a->x + PAD, a->y + a->h / 2 + 4, "k", part->label);
    tg_put_text(s->w, "</g>\n");
}

/* Labels stand away from the arrows: left of the first memory, right of the other one. */
static void put_strip(const tg_svg *s, const plan *p, int32_t side) {
    const tg_story_strip *strip = side == 0 ? p->from : p->to;
    char                  text[96];
    tg_area               a = {side == 0 ? p->x_from : p->x_to, s->y + (p->height - strip_height(strip)) / 2,
                               p->cells[side], 0};
    for (int32_t k = 0; k < strip->nparts; k++) {
        const tg_story_part *part = &strip->part[k];
        a.h = row_height(part->kind);
        put_part(s, p, part, &a);
        tg_story_margin(text, sizeof text, part);
        const int32_t left = a.x - LABEL - tg_svg_pixels(tg_text_width(text));
        tg_svg_text(s, side == 0 ? left : a.x + a.w + LABEL, a.y + a.h / 2 + 4, "m", text);
        a.y += a.h;
    }
}

static void put_run(const tg_svg *s, const plan *p, const tg_story_run *run, const tg_area *a) {
    tg_put_text(s->w, "<g><title>");
    tg_put_int(s->w, run->length);
    tg_put_text(s->w, run->length == 1 ? " element" : " elements");
    tg_put_text(s->w, "</title>\n");
    put_fill(s, a, (int32_t)(run - p->story->run));
    tg_svg_rect(s, a, "class=\"e\"");
    tg_svg_text(s, a->x + PAD, a->y + a->h / 2 + 4, "k b", run->name);
    if (run->steps[0] != '\0') tg_svg_text(s, a->x + p->steps_at, a->y + a->h / 2 + 4, "k", run->steps);
    if (run->elements[0] != '\0') tg_svg_text(s, a->x + p->elements_at, a->y + a->h / 2 + 4, "k", run->elements);
    tg_put_text(s->w, "</g>\n");
}

static void put_more(const tg_svg *s, const tg_area *a, int64_t runs) {
    char      text[64];
    tg_writer w = tg_writer_make(text, sizeof text);
    tg_put_text(&w, "\u22ee ");
    tg_put_int(&w, runs);
    tg_put_text(&w, " more");
    (void)tg_writer_end(&w);
    tg_svg_text(s, a->x + PAD, a->y + GAP_ROW / 2 + 4, "m", text);
}

static tg_area middle_area(const tg_svg *s, const plan *p, int32_t run) {
    tg_area a = {p->x_middle, s->y + (p->height - middle_height(p->story)) / 2, p->middle, ROW};
    for (int32_t k = 0; k <= run; k++)
        a.y += (hidden_before(p->story, k) > 0 ? GAP_ROW : 0) + (k < run ? ROW : 0);
    return a;
}

static void put_middle(const tg_svg *s, const plan *p) {
    for (int32_t k = 0; k <= p->story->nruns; k++) {
        tg_area       a = middle_area(s, p, k);
        const int64_t hidden = hidden_before(p->story, k);
        if (k < p->story->nruns) put_run(s, p, &p->story->run[k], &a);
        a.y -= GAP_ROW;
        if (hidden > 0) put_more(s, &a, hidden);
    }
}

/* ---- arrows --------------------------------------------------------------------------------------------------- */

static tg_area part_area(const tg_svg *s, const plan *p, int32_t side, int32_t part) {
    const tg_story_strip *strip = side == 0 ? p->from : p->to;
    tg_area               a = {side == 0 ? p->x_from : p->x_to, s->y + (p->height - strip_height(strip)) / 2,
                               p->cells[side], row_height(strip->part[part].kind)};
    for (int32_t k = 0; k < part; k++) a.y += row_height(strip->part[k].kind);
    return a;
}

static void put_arrow(const tg_svg *s, const tg_area *from, const tg_area *to, bool followed) {
    const int32_t x = from->x + from->w + 1, y = from->y + from->h / 2;
    const int32_t end = to->x - (followed ? 5 : 3), down = to->y + to->h / 2;
    TG_PUT(s->w, "<path d=\"M% %C% % % % % %\" ", x, y, x + ARROW / 2, y, end - ARROW / 2, down, end, down);
    tg_put_text(s->w, followed ? "class=\"f\" marker-end=\"url(#tegula-followed)\"/>\n"
                               : "fill=\"none\" stroke=\"#7b8594\" stroke-width=\"1.5\" "
                                 "marker-end=\"url(#tegula-way)\"/>\n");
}

/* The followed run last, over the others. */
static void put_arrows(const tg_svg *s, const plan *p) {
    for (int32_t pass = 0; pass < 2; pass++)
        for (int32_t k = 0; k < p->story->nruns; k++) {
            const tg_story_run *run = &p->story->run[k];
            const tg_area       middle = middle_area(s, p, k);
            const tg_area       from = part_area(s, p, 0, p->story->to_host ? run->device_part : run->host_part);
            const tg_area       to = part_area(s, p, 1, p->story->to_host ? run->host_part : run->device_part);
            if (run->followed != (pass == 1)) continue;
            put_arrow(s, &from, &middle, run->followed);
            put_arrow(s, &middle, &to, run->followed);
            if (!run->followed) continue;
            tg_svg_rect(s, &from, "class=\"f\"");
            tg_svg_rect(s, &middle, "class=\"f\"");
            tg_svg_rect(s, &to, "class=\"f\"");
        }
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static const char way_marker[] =
    "<defs><marker id=\"tegula-way\" viewBox=\"0 0 6 6\" refX=\"5\" refY=\"3\" markerWidth=\"6\" markerHeight=\"6\" "
    "orient=\"auto\"><path fill=\"#7b8594\" d=\"M0 0L6 3L0 6z\"/></marker>\n"
    "<marker id=\"tegula-followed\" viewBox=\"0 0 14 14\" refX=\"9\" refY=\"7\" markerWidth=\"14\" "
    "markerHeight=\"14\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
    "<path class=\"f\" stroke-linejoin=\"round\" d=\"M3 3L10 7L3 11z\"/></marker></defs>\n";

static void put_columns(tg_svg *s, const plan *p) {
    s->y += HEADING;
    tg_svg_text(s, 0, s->y - 6, "h", p->story->to_host ? "Device memory" : "Host memory");
    tg_svg_text(s, p->x_middle, s->y - 6, "h", "Runs, in the order of execution");
    tg_svg_text(s, p->x_to, s->y - 6, "h", p->story->to_host ? "Host memory" : "Device memory");
    put_strip(s, p, 0);
    put_middle(s, p);
    put_strip(s, p, 1);
    put_arrows(s, p);
    s->y += p->height + BETWEEN;
}

static bool has_part(const tg_story *s, tg_part_kind kind) {
    bool has = false;
    for (int32_t k = 0; k < s->host.nparts; k++) has = has || s->host.part[k].kind == kind;
    for (int32_t k = 0; k < s->device.nparts; k++) has = has || s->device.part[k].kind == kind;
    return has;
}

static void put_legend(tg_svg *s, const tg_story *story) {
    bool    follows = false;
    int32_t x = TG_LEGEND_LEFT;
    for (int32_t k = 0; k < story->nruns; k++) follows = follows || story->run[k].followed;
    s->y += 10;
    if (follows) tg_svg_legend(s, &x, "class=\"f\"", "the run of the followed element");
    if (has_part(story, TG_PART_UNTOUCHED)) tg_svg_legend_padding(s, &x, "untouched: no descriptor comes here");
    if (has_part(story, TG_PART_HIDDEN)) tg_svg_legend_word(s, &x, "\u22ee", "not drawn");
    s->y += 30;
}

static void put_content(tg_svg *s, const tg_story *story, const plan *p) {
    int32_t width = 0;
    tg_svg_words(s, story->title, "T", s->width * 10 / 92, 24);
    if (story->nruns == 0) {
        tg_svg_sentence(s, "Nothing to carry: the tensor has no elements.", "s m");
        return;
    }
    s->y += 4;
    put_program(s, story, &width);
    s->y += BETWEEN / 2;
    put_columns(s, p);
    for (int32_t k = 0; k < story->nnotes; k++) tg_svg_sentence(s, story->note[k], "s");
    put_legend(s, story);
}

size_t tg_story_svg(char *buf, size_t cap, const tg_story *story, tg_theme theme) {
    tg_writer  w = tg_writer_make(buf, cap), nowhere = tg_writer_make(NULL, 0);
    const plan p = make_plan(story);
    tg_svg     measured = {&nowhere, NULL, widest(p.width, NARROWEST), 0};
    int32_t    program = 0;
    if (story->nruns > 0) put_program(&measured, story, &program);
    const int32_t width = widest(widest(p.width, program), NARROWEST);
    tg_svg        trial = {&nowhere, NULL, width, 0}, s = {&w, NULL, width, 0};
    put_content(&trial, story, &p);
    tg_svg_open(&s, story->title[0] != '\0' ? story->title : "a transfer", story->about, trial.y, theme);
    tg_put_text(&w, way_marker);
    put_content(&s, story, &p);
    tg_svg_close(&s);
    return tg_writer_end(&w);
}
