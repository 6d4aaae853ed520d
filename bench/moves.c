#include "moves.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LINE_TEXT = 1024 };

static const char ARROW[] = " -> ", BLANKS[] = " \t\r\n";

typedef struct reader {
    const char *program;
    each_move  *each;
    void       *context;
    int         number, moves; /* of lines, and how many are moves */
    bool        all;           /* went well */
} reader;

static void complain(reader *r, const char *what, const char *line) {
    fprintf(stderr, "%s: line %d %s: '", r->program, r->number, what);
    for (int i = 0; i < 60 && line[i] != '\0'; i++) fputc(line[i] >= ' ' && line[i] <= '~' ? line[i] : '?', stderr);
    fprintf(stderr, "'\n");
    r->all = false;
}

/* Without the blanks around it. */
static char *trimmed(char *text) {
    text += strspn(text, BLANKS);
    size_t n = strlen(text);
    while (n > 0 && strchr(BLANKS, text[n - 1]) != NULL) n--;
    text[n] = '\0';
    return text;
}

static void read_line(reader *r, char *line) {
    char        text[LINE_TEXT];
    char *const src = trimmed(line), *const arrow = strstr(src, ARROW);
    if (src[0] == '\0' || src[0] == '#') return;
    r->moves++;
    if (arrow == NULL) {
        complain(r, "has no ' -> '", src);
        return;
    }
    memcpy(text, src, strlen(src) + 1);
    *arrow = '\0';
    r->all &= r->each(r->context, r->number, text, trimmed(src), trimmed(arrow + strlen(ARROW)));
}

/* The rest of a line that was not read as a whole. */
static void skip_line(FILE *f) {
    for (int c = 0; c != EOF && c != '\n';) c = fgetc(f);
}

static void read_all(reader *r, FILE *f) {
    char line[LINE_TEXT];
    for (r->number = 1; fgets(line, sizeof line, f) != NULL; r->number++) {
        const size_t n = strlen(line);
        if (n + 1 < sizeof line && (n == 0 || line[n - 1] != '\n') && !feof(f)) {
            complain(r, "has a byte 0", line);
            r->moves++;
        } else if (n + 1 == sizeof line && line[n - 1] != '\n') {
            complain(r, "has more than 1022 characters", line);
            r->moves++;
            skip_line(f);
        } else {
            read_line(r, line);
        }
    }
}

static bool told(const char *program, const char *path) {
    fprintf(stderr, "%s: %s: %s\n", program, path, strerror(errno));
    return false;
}

static bool is_standard_input(const char *path) { return strcmp(path, "-") == 0; }

bool moves_can_read(const char *program, const char *path) {
    FILE *const f = is_standard_input(path) ? NULL : fopen(path, "r");
    if (f == NULL) return is_standard_input(path) || told(program, path);
    fclose(f);
    return true;
}

bool moves_read(const char *program, const char *path, each_move *each, void *context) {
    reader      r = {program, each, context, 0, 0, true};
    FILE *const f = is_standard_input(path) ? stdin : fopen(path, "r");
    if (f == NULL) return told(program, path);
    read_all(&r, f);
    if (ferror(f)) r.all = told(program, path);
    else if (r.moves == 0) {
        fprintf(stderr, "%s: %s: there is no move in it\n", program, path);
        r.all = false;
    }
    if (f != stdin) fclose(f);
    return r.all;
}
