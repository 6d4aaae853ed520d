/* An explanation as text: steps as paragraphs of the terminal's width, then the tables of places. */
#include "explain.h"

#include <string.h>

static void print_styled(const char *style, const char *text) {
    const bool colour = cli_has_colour(stdout);
    printf("%s%s%s", colour ? style : "", text, colour ? "\033[0m" : "");
}

static void print_blanks(int n) { printf("%*s", n, ""); }

/* ---- paragraphs -------------------------------------------------------------------------- */

/* Words from column `indent` on; further lines begin `hang` columns later. A word that is too long for a line has one
 * of its own. */
static void print_wrapped(const char *text, int indent, int hang, int width) {
    int column = indent;
    print_blanks(indent);
    for (bool first = true; *text != '\0'; first = false) {
        const int blanks = (int)strspn(text, " "), word = (int)strcspn(text + blanks, " ");
        if (!first && column + blanks + word > width) {
            putchar('\n');
            print_blanks(indent + hang);
            column = indent + hang;
        } else {
            print_blanks(blanks);
            column += blanks;
        }
        printf("%.*s", word, text + blanks);
        column += word;
        text += blanks + word;
    }
    putchar('\n');
}

static const char *text_of(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

static void print_says(const json_t *object, int indent, int width) {
    size_t  i;
    json_t *line;
    json_array_foreach(json_object_get(object, "says"), i, line) {
        const char *text = json_string_value(line);
        print_wrapped(text, indent, text[0] == ' ' ? 6 : 0, width);
    }
}

static void print_step(const json_t *step, int width) {
    const char *code = text_of(step, "code");
    fputs("\n  ", stdout);
    if (code != NULL) print_styled("\033[1;36m", code);
    if (code != NULL) fputs("  ", stdout);
    print_styled("\033[1m", text_of(step, "name"));
    putchar('\n');
    print_says(step, 4, width);
}

/* ---- places --------------------------------------------------------------------------------- */

static json_int_t int_of(const json_t *object, const char *key) {
    return json_integer_value(json_object_get(object, key));
}

static void add_coord(words *w, const json_t *coord) {
    size_t  i;
    json_t *x;
    words_add(w, "(");
    json_array_foreach(coord, i, x) words_add(w, "%s%lld", i > 0 ? "," : "", (long long)json_integer_value(x));
    words_add(w, ")");
}

static int wider(int width, int other) { return other > width ? other : width; }

static int int_width(json_int_t value) { return snprintf(NULL, 0, "%lld", (long long)value); }

typedef struct columns {
    int  coord, slot, byte;
    bool bits; /* some element does not begin at a byte */
} columns;

static void print_place(const json_t *place, const columns *c) {
    words w = {NULL, 0, 0};
    add_coord(&w, json_object_get(place, "coord"));
    printf("    %-*s  %*lld  %*lld", c->coord, w.bytes, c->slot, (long long)int_of(place, "slot"), c->byte,
           (long long)int_of(place, "byte_offset"));
    if (c->bits) printf("  %3lld", (long long)int_of(place, "bit"));
    printf("  %s\n", text_of(place, "why"));
    words_free(&w);
}

static void print_places(const json_t *places) {
    columns c = {10, 4, 4, false};
    size_t  i;
    json_t *place;
    json_array_foreach(places, i, place) {
        words w = {NULL, 0, 0};
        add_coord(&w, json_object_get(place, "coord"));
        c.coord = wider(c.coord, (int)w.len);
        words_free(&w);
        c.slot = wider(c.slot, int_width(int_of(place, "slot")));
        c.byte = wider(c.byte, int_width(int_of(place, "byte_offset")));
        c.bits = c.bits || int_of(place, "bit") != 0;
    }
    printf("    %-*s  %*s  %*s%s\n", c.coord, "coordinate", c.slot, "slot", c.byte, "byte", c.bits ? "  bit" : "");
    json_array_foreach(places, i, place) print_place(place, &c);
}

static void print_slots(const json_t *slots, int width) {
    words   w = {NULL, 0, 0};
    size_t  i;
    json_t *slot;
    if (json_array_size(slots) == 0) return;
    const json_int_t first = int_of(json_array_get(slots, 0), "slot");
    if (json_array_size(slots) == 1) words_add(&w, "And the other way round, slot %lld holds", (long long)first);
    else
        words_add(&w, "And the other way round, slots %lld to %lld hold", (long long)first,
                  (long long)(first + (json_int_t)json_array_size(slots) - 1));
    json_array_foreach(slots, i, slot) {
        const json_t *coord = json_object_get(slot, "coord");
        words_add(&w, "%s", i > 0 ? ", " : " ");
        if (json_is_null(coord)) words_add(&w, "padding");
        else add_coord(&w, coord);
    }
    words_add(&w, ".");
    print_wrapped(w.bytes, 4, 0, width);
    words_free(&w);
}

/* ---- the whole --------------------------------------------------------------------------------- */

static void print_one(const json_t *object, int width) {
    const json_t *places = json_object_get(object, "places");
    size_t        i;
    json_t       *step;
    print_styled("\033[1;36m", text_of(object, "text"));
    putchar('\n');
    json_array_foreach(json_object_get(object, "steps"), i, step) print_step(step, width);
    if (json_array_size(places) > 0) {
        const bool is_spyre = strcmp(text_of(object, "notation"), "spyre") == 0;
        fputs("\n  ", stdout);
        print_styled("\033[1m", is_spyre ? "where elements land on the device" : "where elements land");
        putchar('\n');
        print_places(places);
        print_slots(json_object_get(object, "first_slots"), width);
    }
    print_step(json_object_get(object, "total"), width);
}

static void print_leaf(const json_t *leaf, int width) {
    const json_t *path = json_object_get(leaf, "index");
    size_t        i;
    json_t       *x;
    fputs("\n{", stdout);
    json_array_foreach(path, i, x) printf("%s%lld", i > 0 ? "," : "", (long long)json_integer_value(x));
    printf("}  %s", strcmp(text_of(leaf, "kind"), "buffer") == 0 ? "in a buffer: " : "");
    if (json_object_get(leaf, "steps") != NULL) {
        print_one(leaf, width);
        return;
    }
    printf("%s\n\n", text_of(leaf, "text"));
    print_says(leaf, 2, width);
}

void explain_print(const json_t *object, int width) {
    const json_t *leaves = json_object_get(object, "leaves");
    size_t        i;
    json_t       *leaf;
    if (leaves == NULL) {
        print_one(object, width);
        return;
    }
    puts(text_of(object, "text"));
    putchar('\n');
    print_says(object, 2, width);
    json_array_foreach(leaves, i, leaf) print_leaf(leaf, width);
}
