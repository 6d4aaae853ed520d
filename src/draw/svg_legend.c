/* What the signs of a picture mean: everything that is drawn in this one, and nothing else. */
#include "draw/svg.h"

enum { BEFORE = 10, AFTER = 30 };

/* A cell of elements and padding: beside each other, or one above the other. */
static void put_mixed(tg_svg *s, int32_t *x, bool above, const char *text) {
    const tg_area box = tg_svg_meaning(s, x, text);
    const tg_area data = {box.x, box.y, above ? box.w : box.w / 2, above ? box.h / 2 : box.h};
    tg_svg_rect(s, &box, "fill=\"url(#tegula-padding)\"");
    tg_svg_rect(s, &data, "class=\"c0\"");
    tg_svg_rect(s, &box, "class=\"e\"");
}

static void put_stays(tg_svg *s, int32_t *x) {
    const tg_area box = tg_svg_meaning(s, x, "nothing in it moves");
    tg_svg_rect(s, &box, "class=\"c\"");
    tg_svg_rect(s, &box, "class=\"e\"");
}

static void put_beginning(tg_svg *s, int32_t *x) {
    char      text[64];
    tg_writer w = tg_writer_make(text, sizeof text);
    tg_put_text(&w, s->picture->unit_name);
    tg_put_text(&w, " begins");
    (void)tg_writer_end(&w);
    const tg_area box = tg_svg_meaning(s, x, text);
    TG_PUT(s->w, "<path class=\"u\" d=\"M% %v%\"/>\n", box.x + box.w / 2, box.y, box.h);
}

static void put_dot(tg_svg *s, int32_t *x) {
    const tg_area box = tg_svg_meaning(s, x, "what the device reads first of these");
    tg_svg_rect(s, &box, "class=\"c0\"");
    TG_PUT(s->w, "<circle class=\"k\" cx=\"%\" cy=\"%\" r=\"3\"/>\n", box.x + box.w / 2, box.y + box.h / 2);
}

static void put_way(tg_svg *s, int32_t *x, const char *line, const char *text) {
    const tg_area box = tg_svg_meaning(s, x, text);
    tg_svg_rect(s, &box, "class=\"c0\"");
    tg_put_text(s->w, "<path ");
    tg_put_text(s->w, line);
    TG_PUT(s->w, "marker-end=\"url(#tegula-arrow)\" d=\"M% %h%\"/>\n", box.x + 2, box.y + box.h / 2, box.w - 5);
}

static tg_ways ways_of(const tg_picture *p) {
    tg_ways all = {false, false};
    for (int32_t k = 0; k < p->npanels; k++) {
        const tg_ways ways = tg_svg_ways(&p->panel[k]);
        all.next |= ways.next;
        all.later |= ways.later;
    }
    return all;
}

void tg_svg_picture_legend(tg_svg *s) {
    const tg_signs signs = tg_picture_signs(s->picture);
    const tg_ways  ways = ways_of(s->picture);
    int32_t        x = TG_LEGEND_LEFT;
    s->y += BEFORE;
    if (signs.followed) tg_svg_legend(s, &x, "class=\"f\"", "holds the followed element");
    if (signs.padding) tg_svg_legend_padding(s, &x, "padding");
    if (signs.after) put_mixed(s, &x, false, "elements, then padding, to scale");
    if (signs.among) put_mixed(s, &x, true, "padding among the elements, its share to scale");
    if (signs.stays) put_stays(s, &x);
    if (signs.begins) put_beginning(s, &x);
    if (ways.next || ways.later) put_dot(s, &x);
    if (ways.next) put_way(s, &x, TG_SVG_SOLID, "what the device reads next");
    if (ways.later) put_way(s, &x, TG_SVG_DASHED, "later: it reads others between");
    if (signs.numbered) tg_svg_legend_word(s, &x, "#n", s->picture->numbers);
    if (signs.loose) tg_svg_legend_word(s, &x, "a~b", "from a to b, with others between");
    if (signs.unknown) tg_svg_legend_word(s, &x, "?", "takes too long to find");
    if (signs.gap) tg_svg_legend_word(s, &x, "\u22ef \u22ee", "not drawn");
    s->y += AFTER;
}
