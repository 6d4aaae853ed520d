/* A picture as one SVG file: vector text, light and dark, words for those who do not see it. svg_panel.c has the
 * panels, svg_legend.c what is explained below them.
 *
 * Everything is placed in whole pixels. Cells hold monospaced text of 12 px, whose characters are at most 7.25 px wide
 * in the fonts that are named; a column is as wide as its widest text in characters, so text never leaves its cell.
 * Sentences are set in a proportional font and broken early enough for wide ones.
 *
 * The colours are six that stay apart, and apart from white, also for readers with any of the three colour blindnesses
 * (CIELAB distance 21 at least, in the simulation of Machado et al. 2009; tests/python/test_draw.py computes it); black
 * text on them has a contrast above 8:1. Padding is hatched, the followed element has a thick frame, and letters repeat
 * what colours say. */
#include "draw/svg.h"

#include <string.h>

enum { MARGIN = 20, WIDEST = 1080, NARROWEST = 520, BETWEEN = 28, SENTENCE = 17 };

/* ---- text --------------------------------------------------------------------------------- */

void tg_svg_escaped(tg_writer *w, const char *text) {
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<': tg_put_text(w, "&lt;"); break;
        case '>': tg_put_text(w, "&gt;"); break;
        case '&': tg_put_text(w, "&amp;"); break;
        case '"': tg_put_text(w, "&quot;"); break;
        default: tg_put_char(w, *text);
        }
    }
}

void tg_put_pattern(tg_writer *w, const char *pattern, const int64_t *values) {
    for (; *pattern != '\0'; pattern++) {
        if (*pattern == '%') tg_put_int(w, *values++);
        else tg_put_char(w, *pattern);
    }
}

void tg_svg_text(const tg_svg *s, int32_t x, int32_t y, const char *class, const char *text) {
    TG_PUT(s->w, "<text x=\"%\" y=\"%\" class=\"", x, y);
    tg_put_text(s->w, class);
    tg_put_text(s->w, "\">");
    tg_svg_escaped(s->w, text);
    tg_put_text(s->w, "</text>\n");
}

void tg_svg_rect(const tg_svg *s, const tg_area *a, const char *attributes) {
    TG_PUT(s->w, "<rect x=\"%\" y=\"%\" width=\"%\" height=\"%\" ", a->x, a->y, a->w, a->h);
    tg_put_text(s->w, attributes);
    tg_put_text(s->w, "/>\n");
}

/* Bytes of the first line of a text that has room for `room` characters. */
static size_t line_length(const char *text, int32_t room) {
    size_t  blank = 0, at = 0;
    int32_t n = 0;
    for (; text[at] != '\0'; at++) {
        if (((unsigned char)text[at] & 0xC0) != 0x80 && n++ >= room) return blank > 0 ? blank : at;
        if (text[at] == ' ') blank = at;
    }
    return at;
}

void tg_svg_words(tg_svg *s, const char *text, const char *class, int32_t room, int32_t height) {
    char line[512];
    while (*text != '\0') {
        const size_t n = line_length(text, room);
        memcpy(line, text, n); /* no text of a picture is longer */
        line[n] = '\0';
        tg_svg_text(s, 0, s->y + height - 5, class, line);
        s->y += height;
        text += n;
        while (*text == ' ') text++;
    }
}

void tg_svg_sentence(tg_svg *s, const char *text, const char *class) {
    tg_svg_words(s, text, class, s->width * 2 / 13, SENTENCE);
}

int32_t tg_svg_pixels(int32_t characters) { return (characters * 29 + 3) / 4; }

/* ---- style ----------------------------------------------------------------------------------- */

static const char shapes[] =
    ".tegula text{font:12px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;white-space:pre}\n"
    ".tegula .s,.tegula .h{font:12.5px system-ui,'DejaVu Sans',Arial,sans-serif}\n"
    ".tegula .h{font-size:14px;font-weight:bold}\n"
    ".tegula .T{font-size:15px;font-weight:bold}\n"
    ".tegula .b{font-weight:bold}\n"
    ".tegula .k{fill:#0b0d11}.tegula .w{fill:none;stroke:#fff;stroke-opacity:.55;stroke-width:4}\n"
    ".tegula .c0{fill:#78b0ff}.tegula .c1{fill:#f3dd83}.tegula .c2{fill:#e696a9}\n"
    ".tegula .c3{fill:#a3ffbe}.tegula .c4{fill:#c0d8fe}.tegula .c5{fill:#a6b278}\n";

static const char light[] =
    ".tegula .bg,.tegula .c{fill:#fff}.tegula text{fill:#1b1f26}.tegula .m{fill:#566070}\n"
    ".tegula .pb{fill:#f6f7f9}.tegula .pl{stroke:#c2c8d1}\n"
    ".tegula .e{fill:none;stroke:#4a5261}.tegula .u{stroke:#1b1f26;stroke-width:3}\n"
    ".tegula .f{fill:none;stroke:#b3001b;stroke-width:3.5}\n";

static const char dark[] =
    ".tegula .bg,.tegula .c{fill:#15181e}.tegula text{fill:#e8eaee}.tegula .m{fill:#a3acba}\n"
    ".tegula .pb{fill:#b4bac4}.tegula .pl{stroke:#8a93a0}\n"
    ".tegula .e{fill:none;stroke:#3a414d}.tegula .u{stroke:#e8eaee;stroke-width:3}\n"
    ".tegula .f{fill:none;stroke:#ff4d3d;stroke-width:3.5}\n";

/* The shapes last: black text on colours, whatever the theme. */
static void put_style(tg_writer *w, tg_theme theme) {
    tg_put_text(w, "<style>\n");
    tg_put_text(w, theme == TG_THEME_DARK ? dark : light);
    if (theme == TG_THEME_AUTO) {
        tg_put_text(w, "@media (prefers-color-scheme:dark){\n");
        tg_put_text(w, dark);
        tg_put_text(w, "}\n");
    }
    tg_put_text(w, shapes);
    tg_put_text(w, "</style>\n");
}

static const char definitions[] =
    "<defs><pattern id=\"tegula-padding\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><rect class=\"pb\" width=\"7\" height=\"7\"/>"
    "<path class=\"pl\" d=\"M0 0V7\" stroke-width=\"2\"/></pattern>\n"
    "<marker id=\"tegula-arrow\" viewBox=\"0 0 6 6\" refX=\"5\" refY=\"3\" markerWidth=\"6\" markerHeight=\"6\" "
    "orient=\"auto\"><path d=\"M0 0L6 3L0 6z\"/></marker></defs>\n";

void tg_svg_open(tg_svg *s, const char *title, const char *about, int32_t height, tg_theme theme) {
    tg_writer *const w = s->w;
    const int32_t    across = s->width + 2 * MARGIN, down = height + 2 * MARGIN - 10;
    TG_PUT(w,
           "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tegula\" width=\"%\" height=\"%\" viewBox=\"0 0 % %\" "
           "role=\"img\" aria-labelledby=\"tegula-title tegula-about\">\n",
           across, down, across, down);
    tg_put_text(w, "<title id=\"tegula-title\">");
    tg_svg_escaped(w, title);
    tg_put_text(w, "</title>\n<desc id=\"tegula-about\">");
    tg_svg_escaped(w, about);
    tg_put_text(w, "</desc>\n");
    put_style(w, theme);
    tg_put_text(w, definitions);
    TG_PUT(w, "<rect class=\"bg\" width=\"%\" height=\"%\"/>\n<g transform=\"translate(% %)\">\n", across, down,
           MARGIN, MARGIN - 4);
}

void tg_svg_close(const tg_svg *s) { tg_put_text(s->w, "</g>\n</svg>\n"); }

/* ---- panels side by side ------------------------------------------------------------------------ */

static int32_t picture_width(const tg_picture *p) {
    int32_t width = NARROWEST, row = 0;
    for (int32_t k = 0; k < p->npanels; k++) {
        const int32_t panel = tg_svg_panel_width(&p->panel[k]);
        row = row > 0 && row + BETWEEN + panel <= WIDEST ? row + BETWEEN + panel : panel;
        if (row > width) width = row;
    }
    return width;
}

/* One panel with its corner at x, y; its height. */
static int32_t put_panel(const tg_svg *s, const tg_panel *panel, int32_t x, int32_t y) {
    tg_svg inner = {s->w, s->picture, tg_svg_panel_width(panel), 0};
    TG_PUT(s->w, "<g transform=\"translate(% %)\">\n", x, y);
    tg_svg_panel(&inner, panel);
    tg_put_text(s->w, "</g>\n");
    return inner.y;
}

/* From left to right as long as they fit. */
static void put_panels(tg_svg *s) {
    int32_t x = 0, height = 0;
    for (int32_t k = 0; k < s->picture->npanels; k++) {
        const tg_panel *panel = &s->picture->panel[k];
        const int32_t   width = tg_svg_panel_width(panel);
        if (x > 0 && x + BETWEEN + width > WIDEST) {
            s->y += height + BETWEEN;
            x = height = 0;
        }
        if (x > 0) x += BETWEEN;
        const int32_t h = put_panel(s, panel, x, s->y);
        if (h > height) height = h;
        x += width;
    }
    s->y += height + BETWEEN;
}

/* ---- legend ------------------------------------------------------------------------------------------ */

tg_area tg_svg_meaning(tg_svg *s, int32_t *x, const char *text) {
    enum { SIGN = 32, AFTER = 22 };
    const int32_t width = SIGN + tg_text_width(text) * 13 / 2;
    if (*x > TG_LEGEND_LEFT && *x + width > s->width) {
        *x = TG_LEGEND_LEFT;
        s->y += TG_LEGEND_LINE;
    }
    const tg_area area = {*x, s->y, 22, 15};
    tg_svg_text(s, *x + SIGN, s->y + 12, "s", text);
    *x += width + AFTER;
    return area;
}

void tg_svg_legend(tg_svg *s, int32_t *x, const char *attributes, const char *text) {
    const tg_area box = tg_svg_meaning(s, x, text);
    tg_svg_rect(s, &box, attributes);
}

void tg_svg_legend_word(tg_svg *s, int32_t *x, const char *word, const char *text) {
    const tg_area box = tg_svg_meaning(s, x, text);
    tg_svg_text(s, box.x, box.y + 12, "m", word);
}

void tg_svg_legend_padding(tg_svg *s, int32_t *x, const char *text) {
    const tg_area box = tg_svg_meaning(s, x, text);
    tg_svg_rect(s, &box, "fill=\"url(#tegula-padding)\"");
    tg_svg_rect(s, &box, "class=\"e\"");
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static void put_content(tg_svg *s) {
    tg_svg_words(s, s->picture->title, "T", s->width * 10 / 92, 24);
    s->y += 10;
    put_panels(s);
    for (int32_t k = 0; k < s->picture->nnotes; k++) tg_svg_sentence(s, s->picture->note[k], "s");
    tg_svg_picture_legend(s);
}

/* How high it gets is known when all is placed, so it is placed twice. */
static int32_t content_height(const tg_picture *picture, int32_t width) {
    tg_writer nowhere = tg_writer_make(NULL, 0);
    tg_svg    s = {&nowhere, picture, width, 0};
    put_content(&s);
    return s.y;
}

size_t tg_picture_svg(char *buf, size_t cap, const tg_picture *picture, tg_theme theme) {
    tg_writer     w = tg_writer_make(buf, cap);
    const int32_t width = picture_width(picture);
    tg_svg        s = {&w, picture, width, 0};
    tg_svg_open(&s, picture->title[0] != '\0' ? picture->title : "a memory layout", picture->about,
                content_height(picture, width), theme);
    put_content(&s);
    tg_svg_close(&s);
    return tg_writer_end(&w);
}
