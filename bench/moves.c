#include "moves.h"

#include <stdio.h>
#include <string.h>

enum { LINE_TEXT = 1024 };

static const char ARROW[] = " -> ";

static bool complain(const char *program, int number, const char *what, const char *line) {
    fprintf(stderr, "%s: line %d %s: '%.60s'\n", program, number, what, line);
    return false;
}

static bool read_from(FILE *f, const char *program, each_move *each, void *context) {
    char line[LINE_TEXT], text[LINE_TEXT];
    bool all = true;
    for (int number = 1; fgets(line, sizeof line, f) != NULL; number++) {
        if (strchr(line, '\n') == NULL && !feof(f))
            return complain(program, number, "has more than 1022 characters", line);
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '\0' || line[0] == '#') continue;
        memcpy(text, line, sizeof text);
        char *const arrow = strstr(line, ARROW);
        if (arrow == NULL) return complain(program, number, "has no ' -> '", line);
        *arrow = '\0';
        all &= each(context, number, text, line, arrow + strlen(ARROW));
    }
    return all;
}

bool moves_read(const char *program, const char *path, each_move *each, void *context) {
    FILE *const f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    if (f == NULL) return perror(path), false;
    bool all = read_from(f, program, each, context);
    if (ferror(f)) perror(path), all = false;
    if (f != stdin) fclose(f);
    return all;
}
