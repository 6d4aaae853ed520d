/* Options and arguments. getopt_long would do, were it not for `tegula index LAYOUT -1,0`: here a dash and a
 * digit begin an argument, so that the complaint is about the coordinate and not about an option `-1`. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static const cli_option common_options[] = {{"json", NULL}, {"help", NULL}};

enum { NCOMMON = 2, AT_JSON = CLI_MAX_OPTIONS, AT_HELP = CLI_MAX_OPTIONS + 1, NALL = CLI_MAX_OPTIONS + NCOMMON };

/* A reading in progress. */
typedef struct reader {
    const cli_command *command;
    cli_args          *out;
    char             **argv;
    int                argc, at;
    int                nargs;
} reader;

/* Option i of a command, the common ones last; no name where a command has fewer. */
static cli_option option_at(const cli_command *command, int i) {
    return i < CLI_MAX_OPTIONS ? command->options[i] : common_options[i - CLI_MAX_OPTIONS];
}

/* ---- suggestions ----------------------------------------------------------------- */

enum { LONGEST_WORD = 32, FAR = LONGEST_WORD };

/* Insertions, deletions, changes and swaps of neighbours that turn a into b. */
static size_t distance(const char *a, const char *b) {
    const size_t na = strlen(a), nb = strlen(b);
    size_t       d[LONGEST_WORD + 1][LONGEST_WORD + 1];
    if (na > LONGEST_WORD || nb > LONGEST_WORD) return FAR;
    for (size_t i = 0; i <= na; i++) d[i][0] = i;
    for (size_t j = 0; j <= nb; j++) d[0][j] = j;
    for (size_t i = 1; i <= na; i++)
        for (size_t j = 1; j <= nb; j++) {
            size_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best) best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best) best = d[i][j - 1] + 1;
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && d[i - 2][j - 2] + 1 < best) best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[na][nb];
}

const char *cli_nearest(const char *word, const char *const *candidates) {
    const size_t len = strlen(word);
    const char  *nearest = NULL;
    size_t       best = len < 6 ? 2 : 3; /* farther ones are other words, not slips */
    for (; *candidates != NULL; candidates++) {
        const bool   begins = len >= 2 && strncmp(word, *candidates, len) == 0;
        const size_t d = begins ? 0 : distance(word, *candidates);
        if (d < best && d < strlen(*candidates)) {
            best = d;
            nearest = *candidates;
        }
    }
    return nearest;
}

/* "a, b and c", each after `mark`, to be freed. */
static char *list_of(const char *const *words, const char *mark) {
    size_t room = 1, at = 0;
    for (int i = 0; words[i] != NULL; i++) room += strlen(words[i]) + strlen(mark) + sizeof " and ";
    char *const text = cli_allocate(room);
    *text = '\0';
    for (int i = 0; words[i] != NULL; i++) {
        const char *before = i == 0 ? "" : words[i + 1] == NULL ? " and " : ", ";
        at += (size_t)snprintf(text + at, room - at, "%s%s%s", before, mark, words[i]);
    }
    return text;
}

int cli_choose(int *out, const char *option, const char *word, const char *const *words) {
    for (*out = 0; words[*out] != NULL; ++*out)
        if (strcmp(word, words[*out]) == 0) return CLI_OK;
    const char *nearest = cli_nearest(word, words);
    if (nearest != NULL) return cli_fail(CLI_USAGE, option, "there is no '%s'; did you mean %s?", word, nearest);
    char *const list = list_of(words, "");
    (void)cli_fail(CLI_USAGE, option, "there is no '%s'; there are %s", word, list);
    free(list);
    return CLI_USAGE;
}

/* ---- options ---------------------------------------------------------------------- */

/* The names of options that begin with the first len characters of `name`, at most NALL, and NULL. */
static void find_names(const char *names[NALL + 1], const cli_command *command, const char *name, size_t len) {
    int n = 0;
    for (int i = 0; i < NALL; i++) {
        const char *candidate = option_at(command, i).name;
        if (candidate != NULL && strncmp(candidate, name, len) == 0) names[n++] = candidate;
    }
    names[n] = NULL;
}

static int fail_option(const reader *r, const char *name, size_t len) {
    const char *names[NALL + 1];
    char        word[LONGEST_WORD + 1] = "";
    if (len <= LONGEST_WORD) memcpy(word, name, len);
    find_names(names, r->command, word, strlen(word));
    if (*word != '\0' && names[0] != NULL) { /* one alone would have been taken */
        char *const list = list_of(names, "--");
        (void)cli_fail(CLI_USAGE, r->command->name, "--%s is the beginning of %s; write more of it", word, list);
        free(list);
        return CLI_USAGE;
    }
    find_names(names, r->command, "", 0);
    const char *nearest = cli_nearest(word, names);
    if (nearest != NULL)
        return cli_fail(CLI_USAGE, r->command->name, "there is no option --%s; did you mean --%s?", word, nearest);
    return cli_fail(CLI_USAGE, r->command->name, "there is no option %s; tegula %s --help lists them",
                    r->argv[r->at], r->command->name);
}

/* The option of that name, or the only one that begins so; -1 if none or several. */
static int find_option(const cli_command *command, const char *name, size_t len) {
    int found = -1, matches = 0;
    for (int i = 0; i < NALL; i++) {
        const char *candidate = option_at(command, i).name;
        if (candidate == NULL || strncmp(candidate, name, len) != 0) continue;
        if (strlen(candidate) == len) return i;
        found = i;
        matches++;
    }
    return matches == 1 && len > 0 ? found : -1;
}

/* The option of a short form such as `-o`; -1 if there is none. */
static int find_letter(const cli_command *command, const char *word) {
    if (strcmp(word, "-h") == 0) return AT_HELP;
    const char *letter = command->letters != NULL ? strchr(command->letters, word[1]) : NULL;
    return letter != NULL && word[2] == '\0' ? (int)(letter - command->letters) : -1;
}

static int take_option(reader *r) {
    const char  *word = r->argv[r->at];
    const bool   is_short = word[1] != '-';
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) { /* beginnings of --verify stay its alone */
        r->out->version = true;
        return CLI_OK;
    }
    const char  *name = is_short ? "" : word + 2;
    const size_t len = strcspn(name, "=");
    const int    i = is_short ? find_letter(r->command, word) : find_option(r->command, name, len);
    if (i < 0 && is_short)
        return cli_fail(CLI_USAGE, r->command->name, "there is no option %s; tegula %s --help lists them", word,
                        r->command->name);
    if (i < 0) return fail_option(r, name, len);
    const cli_option option = option_at(r->command, i);
    const char      *value = name[len] == '=' ? name + len + 1 : NULL;
    if (option.value == NULL && value != NULL)
        return cli_fail(CLI_USAGE, r->command->name, "--%s takes no value, not '%s'", option.name, value);
    if (option.value != NULL && value == NULL) {
        if (r->at + 1 >= r->argc)
            return cli_fail(CLI_USAGE, r->command->name, "--%s needs %s after it", option.name, option.value);
        value = r->argv[++r->at];
        if (strncmp(value, "--", 2) == 0 && find_option(r->command, value + 2, strcspn(value + 2, "=")) >= 0)
            return cli_fail(CLI_USAGE, r->command->name, "--%s needs %s after it, not %s", option.name, option.value,
                            value);
    }
    if (value != NULL && r->out->option[i] != NULL) /* a switch that is there twice says nothing else */
        return cli_fail(CLI_USAGE, r->command->name, "--%s is given twice: '%s' and '%s'", option.name,
                        r->out->option[i], value);
    if (i == AT_JSON) r->out->json = true;
    else if (i == AT_HELP) r->out->help = true;
    else r->out->option[i] = value != NULL ? value : "";
    return CLI_OK;
}

/* ---- arguments ---------------------------------------------------------------------- */

static int argument_count(const cli_command *command) {
    int n = 0;
    while (n < CLI_MAX_ARGUMENTS && command->arguments[n] != NULL) n++;
    return n;
}

static int take_argument(reader *r) {
    const char *word = r->argv[r->at];
    if (r->nargs == argument_count(r->command))
        return cli_fail(CLI_USAGE, r->command->name, "one argument too many: '%s'%s", word,
                        strcmp(r->command->arguments[0], "FILE") != 0 ? " (put quotes around a layout)" : "");
    r->out->argument[r->nargs++] = word;
    return CLI_OK;
}

static bool looks_like_option(const char *word) {
    return word[0] == '-' && word[1] != '\0' && !(word[1] >= '0' && word[1] <= '9');
}

int cli_parse_arguments(cli_args *out, const cli_command *command, int argc, char **argv) {
    const cli_args none = {0};
    bool           ended = false;
    reader         r = {command, out, argv, argc, 0, 0};
    *out = none;
    for (; r.at < argc; r.at++) {
        int status = CLI_OK;
        if (ended || !looks_like_option(argv[r.at])) status = take_argument(&r);
        else if (strcmp(argv[r.at], "--") == 0) ended = true;
        else status = take_option(&r);
        if (status != CLI_OK) return status;
    }
    if (out->help || out->version || r.nargs == argument_count(command)) return CLI_OK;
    return cli_fail(CLI_USAGE, command->name, "%s is missing; tegula %s --help shows an example",
                    command->arguments[r.nargs], command->name);
}
