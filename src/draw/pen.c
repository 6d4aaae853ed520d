/* What lines of text are drawn with. */
#include "draw/pen.h"

#include "draw/scene.h"

#include <string.h>

static const tg_pen_set unicode_set = {
    "─", "│", "┃", "⋮", "⋯", "░", "→", {{"┌", "┬", "┐"}, {"├", "┼", "┤"}, {"└", "┴", "┘"}},
};
static const tg_pen_set ascii_set = {
    "-", "|", "I", ":", "...", "/", ">", {{"+", "+", "+"}, {"+", "+", "+"}, {"+", "+", "+"}},
};

const char *const tg_pen_background[TG_DRAW_COLOURS] = {"111", "222", "175", "157", "153", "143"};

tg_pen tg_pen_make(tg_writer *w, uint32_t style, int32_t width) {
    const tg_pen pen = {w, style & TG_TEXT_ASCII ? &ascii_set : &unicode_set, (style & TG_TEXT_COLOUR) != 0, width};
    return pen;
}

void tg_pen_times(const tg_pen *pen, const char *text, int32_t times) {
    for (int32_t k = 0; k < times; k++) tg_put_text(pen->w, text);
}

void tg_pen_styled(const tg_pen *pen, const char *style, const char *text) {
    if (pen->colour) tg_put_text(pen->w, style);
    tg_put_text(pen->w, text);
    if (pen->colour) tg_put_text(pen->w, "\033[0m");
}

/* Bytes up to the next blank; of a word that is longer than a line up to the last comma that fits. */
static size_t word_length(const char *text, int32_t room) {
    const size_t word = strcspn(text, " ");
    size_t       n = room > 0 && word > (size_t)room ? (size_t)room : word;
    if (n == word) return word;
    while (n > 0 && text[n - 1] != ',') n--;
    return n > 0 ? n : word;
}

void tg_pen_sentence(const tg_pen *pen, const char *text, int32_t indent) {
    int32_t column = indent;
    tg_pen_times(pen, " ", indent);
    for (bool blank = false, first = true; *text != '\0'; first = false) {
        while (blank && *text == ' ') text++;
        const size_t word = word_length(text, pen->width - indent);
        if (!first && column + blank + (int32_t)word > pen->width) {
            tg_put_char(pen->w, '\n');
            tg_pen_times(pen, " ", indent);
            column = indent;
        } else if (blank) {
            tg_put_char(pen->w, ' ');
            column++;
        }
        tg_put_bytes(pen->w, text, word);
        column += (int32_t)word;
        text += word;
        blank = *text == ' ';
        if (blank) text++;
    }
    tg_put_char(pen->w, '\n');
}

void tg_pen_legend(const tg_pen *pen, int32_t *column, const char *const mark[3], const char *meaning) {
    int32_t width = 1 + tg_text_width(meaning);
    for (int32_t k = 0; k < 3; k++) width += tg_text_width(mark[k]);
    if (*column > 0 && *column + 3 + width > pen->width) {
        tg_put_char(pen->w, '\n');
        *column = 0;
    }
    tg_pen_times(pen, " ", *column > 0 ? 3 : 2);
    *column += (*column > 0 ? 3 : 2) + width;
    for (int32_t k = 0; k < 3; k++) tg_put_text(pen->w, mark[k]);
    tg_put_char(pen->w, ' ');
    tg_put_text(pen->w, meaning);
}
