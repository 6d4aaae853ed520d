/* tegula draw: a layout as a picture, in the terminal or as an SVG file. */
#include "draw.h"

#include <tegula/io.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char help[] =
    "tegula draw - a picture of a layout: the tensor, host memory, device memory\n"
    "\n"
    "usage: tegula draw LAYOUT [-o FILE.svg] [--view WHICH] [--highlight COORDINATE] [--slice PLANE]\n"
    "                   [--label WHAT] [--order] [--diff OTHER] [--ascii] [--width N] [--theme WHICH]\n"
    "                   [--cores N] [--json]\n"
    "       tegula draw LAYOUT --transfer [--direction h2d|d2h] [-o FILE.svg] [--highlight COORDINATE]\n"
    "                   [--ascii] [--width N] [--theme WHICH] [--json]\n"
    "\n"
    "Draws the logical tensor, the memory of the host, that of the device, and one stick or tile from inside; "
    "letters,\n"
    "colours and numbers say what belongs together, and padding is hatched. One element is followed through all of\n"
    "them. Large tensors are shown in parts, and what is left out is counted.\n"
    "\n"
    "  -o, --output FILE    write an SVG file, or text if FILE ends in .txt; `-` is SVG on standard output\n"
    "  --view WHICH         logical, host, device, inside, or several with commas; all if not given\n"
    "  --highlight COORD    follow this element; the last one if not given\n"
    "  --slice PLANE        which plane, `4,:,:` for example; `:` are the rows and columns\n"
    "  --label WHAT         what every cell says: coord, offset or byte; offsets in the tensor and coordinates in\n"
    "                       memory if not given\n"
    "  --order              in which order the device reads sticks or tiles, walking through its memory; not with\n"
    "                       --cores, --label\n"
    "  --diff OTHER         what would move if the layout became OTHER; not with --order, --cores, --label coord\n"
    "  --cores N            which of N cores works on which stick, in an operation on single elements\n"
    "  --transfer           which run of elements goes from where to where, in which order, by the loops of\n"
    "                       `tegula dma`\n"
    "  --direction h2d|d2h  of the transfer: host to device (the default), or back\n"
    "  --ascii              nothing but ASCII, in text\n"
    "  --width N            characters of a line, 40 or more, and as many as a column needs; as wide as the terminal\n"
    "                       if not given\n"
    "  --theme WHICH        of SVG: light, dark, or auto, as the reader's system has it\n"
    "\n"
    "example:\n"
    "  $ tegula draw 'f16[5,100,150] spyre' --highlight 4,99,149\n";

enum {
    OPT_OUTPUT, OPT_VIEW, OPT_HIGHLIGHT, OPT_SLICE, OPT_LABEL, OPT_ORDER, OPT_DIFF, OPT_ASCII, OPT_WIDTH, OPT_THEME,
    OPT_CORES, OPT_TRANSFER, OPT_DIRECTION
};

enum { NARROWEST = 40, WIDEST = 400, SVG_WIDTH = 132, TEXT_WIDTH = 100 };

/* What the parameters of a picture point to. */
typedef struct wishes {
    tg_picture_params params;
    tg_desc           desc, other;
    tg_layout         host;
    int64_t           follow[TG_MAX_NDIM], slice[TG_MAX_NDIM], splits[TG_MAX_NDIM];
    char             *title;
    tg_theme          theme;
    bool              to_host;
} wishes;

/* ---- words ----------------------------------------------------------------------------------- */

static int read_views(uint32_t *views, const char *argument) {
    static const char *const names[] = {"logical", "host", "device", "inside", "all", NULL};
    *views = 0;
    while (argument != NULL) {
        char         word[16] = "";
        const char  *comma = strchr(argument, ',');
        argument += strspn(argument, " ");
        size_t       len = strcspn(argument, ",");
        int          which = 0;
        while (len > 0 && argument[len - 1] == ' ') len--;
        memcpy(word, argument, len < sizeof word ? len : sizeof word - 1);
        const int status = cli_choose(&which, "--view", word, names);
        if (status != CLI_OK) return status;
        *views |= 1u << which;
        argument = comma != NULL ? comma + 1 : NULL;
    }
    if (*views >> 4 != 0) *views = 0; /* all, whatever else is named */
    return CLI_OK;
}

static int read_label(tg_draw_label *label, const cli_args *args) {
    static const char *const names[] = {"coord", "offset", "byte", NULL};
    int                      which = 0;
    *label = args->option[OPT_ORDER] != NULL ? TG_LABEL_ORDER : TG_LABEL_USUAL;
    if (args->option[OPT_LABEL] == NULL) return CLI_OK;
    if (*label == TG_LABEL_ORDER)
        return cli_fail(CLI_USAGE, "--order", "its numbers would take the place of --label; give one of the two");
    const int status = cli_choose(&which, "--label", args->option[OPT_LABEL], names);
    *label = (tg_draw_label)(TG_LABEL_COORD + which);
    return status;
}

static int read_theme(tg_theme *theme, const char *argument) {
    static const char *const names[] = {"auto", "light", "dark", NULL};
    int                      which = 0;
    const int                status = argument != NULL ? cli_choose(&which, "--theme", argument, names) : CLI_OK;
    *theme = (tg_theme)which;
    return status;
}

static int read_width(int32_t *width, const char *argument) {
    int64_t value = 0;
    if (argument == NULL) return CLI_OK;
    cli_text text = cli_text_of("--width", argument);
    int      status = cli_read_int(&value, &text);
    if (status == CLI_OK && (value < NARROWEST || value > WIDEST))
        status = cli_fail_at(&text, 0, "a line has %d to %d characters", NARROWEST, WIDEST);
    free(text.bytes);
    *width = (int32_t)value;
    return status;
}

/* ---- numbers ------------------------------------------------------------------------------------ */

static int read_follow(wishes *w, const char *argument) {
    if (argument == NULL) return CLI_OK;
    cli_text  text = cli_text_of("--highlight", argument);
    const int status = cli_read_coordinate(w->follow, &w->desc.layout, &text);
    free(text.bytes);
    w->params.follow = w->follow;
    return status;
}

/* A part of a slice: a coordinate, or `:`, for which -1 stands. It lies in bytes [at, end) of the text. */
static int read_part(int64_t *out, int64_t size, int32_t d, const cli_text *text, size_t at, size_t end) {
    char *rest = NULL;
    while (at < end && text->bytes[at] == ' ') at++;
    while (end > at && text->bytes[end - 1] == ' ') end--;
    *out = -1;
    if (end == at + 1 && text->bytes[at] == ':') return CLI_OK;
    const size_t digits = strspn(text->bytes + at + (text->bytes[at] == '-'), "0123456789");
    errno = 0;
    *out = strtoll(text->bytes + at, &rest, 10);
    if (digits == 0 || rest != text->bytes + end)
        return cli_fail_at(text, at, "'%.*s' is neither a coordinate nor `:`", (int)(end - at < 40 ? end - at : 40),
                           text->bytes + at);
    if (errno == 0 && *out >= 0 && *out < size) return CLI_OK;
    return cli_fail_at(text, at, "%.*s of dimension %d is not in [0, %" PRId64 ")", (int)(end - at),
                       text->bytes + at, d, size);
}

static int fail_parts(const wishes *w, const cli_text *text, int32_t n) {
    const int32_t ndim = w->desc.layout.ndim;
    return cli_fail_at(text, text->len, "%d part%s for %d dimension%s: one for each, a coordinate or `:`", n,
                       n == 1 ? "" : "s", ndim, ndim == 1 ? "" : "s");
}

/* A text of blanks has no parts. */
static int32_t count_parts(const cli_text *text) {
    int32_t n = strspn(text->bytes, " ") < text->len;
    for (size_t i = 0; i < text->len; i++) n += text->bytes[i] == ',';
    return n;
}

static int read_parts(wishes *w, const cli_text *text) {
    const tg_layout *l = &w->desc.layout;
    size_t           at = 0;
    int32_t          nfree = 0;
    if (count_parts(text) != l->ndim) return fail_parts(w, text, count_parts(text));
    for (int32_t d = 0; d < l->ndim; d++) {
        const size_t end = at + strcspn(text->bytes + at, ",");
        const int    status = read_part(&w->slice[d], l->shape[d], d, text, at, end);
        if (status != CLI_OK) return status;
        nfree += w->slice[d] == -1;
        at = end + 1;
    }
    if (nfree <= 2 && (nfree > 0 || l->ndim == 0)) return CLI_OK;
    return cli_fail_at(text, 0, "a slice shows one dimension or two, not %d", nfree);
}

static int read_slice(wishes *w, const char *argument) {
    if (argument == NULL) return CLI_OK;
    cli_text  text = cli_text_of("--slice", argument);
    const int status = read_parts(w, &text);
    free(text.bytes);
    w->params.slice = w->slice;
    return status;
}

/* ---- the other layout ----------------------------------------------------------------------------- */

static int check_shape(const tg_layout *l, const tg_layout *other) {
    if (l->ndim != other->ndim)
        return cli_fail(CLI_USAGE, "--diff", "%d dimension%s and the first layout has %d", other->ndim,
                        other->ndim == 1 ? "" : "s", l->ndim);
    for (int32_t d = 0; d < l->ndim; d++)
        if (l->shape[d] != other->shape[d])
            return cli_fail(CLI_USAGE, "--diff",
                            "size %" PRId64 " in dimension %d and the first layout has %" PRId64, other->shape[d], d,
                            l->shape[d]);
    return CLI_OK;
}

static int read_other(wishes *w, const char *argument) {
    if (argument == NULL) return CLI_OK;
    const int status = cli_read_layout(&w->other, "--diff", argument);
    if (status != CLI_OK) return status;
    w->params.other = &w->other.layout;
    w->params.other_unit = tg_desc_unit(&w->other);
    w->params.other_unit_name = w->other.notation == TG_NOTATION_SPYRE ? "stick" : "tile";
    return check_shape(&w->desc.layout, &w->other.layout);
}

/* ---- cores --------------------------------------------------------------------------------------- */

static int read_cores(wishes *w, const char *argument) {
    enum { MOST = 1 << 16 };
    int64_t  cores = 0;
    tg_error err;
    if (argument == NULL) return CLI_OK;
    const int status = cli_read_count(&cores, "--cores", argument, MOST);
    if (status != CLI_OK) return status;
    if (tg_spyre_divide(w->splits, &w->desc, cores, &err) != TG_OK) return cli_fail_error("--cores", &err);
    w->params.splits = w->splits;
    w->params.cores = cores;
    return CLI_OK;
}

/* ---- output ---------------------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcasecmp(text + n - m, end) == 0;
}

static bool is_svg(const char *path) { return !ends_with(path, ".txt"); }

/* Characters of the longest line. */
static int longest_line(const char *utf8) {
    int longest = 0, n = 0;
    for (; *utf8 != '\0'; utf8++) {
        n = *utf8 == '\n' ? 0 : n + (((unsigned char)*utf8 & 0xC0) != 0x80);
        if (n > longest) longest = n;
    }
    return longest;
}

/* A picture of one of the two kinds. */
typedef struct drawn {
    tg_picture *picture; /* NULL: the story it is */
    tg_story   *story;
} drawn;

static size_t put(char *buf, size_t cap, const drawn *d, const wishes *w, bool svg, uint32_t style) {
    if (d->picture == NULL)
        return svg ? tg_story_svg(buf, cap, d->story, w->theme) : tg_story_text(buf, cap, d->story, style);
    return svg ? tg_picture_svg(buf, cap, d->picture, w->theme) : tg_picture_text(buf, cap, d->picture, style);
}

/* A column or a run may need more than the line that was asked for. */
static int check_width(const drawn *d, const wishes *w, uint32_t style) {
    const size_t len = put(NULL, 0, d, w, false, style);
    char        *text = cli_allocate(len + 1);
    (void)put(text, len + 1, d, w, false, style);
    const int longest = longest_line(text);
    free(text);
    if (longest <= w->params.width) return CLI_OK;
    return cli_fail(CLI_USAGE, "--width", "a line of this picture needs %d characters, and %d were asked for", longest,
                    (int)w->params.width);
}

static int write_out(const drawn *d, const wishes *w, const cli_args *args) {
    const char *path = args->option[OPT_OUTPUT];
    const bool  svg = path != NULL && is_svg(path);
    uint32_t    style = args->option[OPT_ASCII] != NULL ? TG_TEXT_ASCII : 0;
    int         status = CLI_OK;
    tg_error    err;
    if (path == NULL && args->json) return CLI_OK;
    if (path == NULL && cli_has_colour(stdout)) style |= TG_TEXT_COLOUR;
    if (!svg && args->option[OPT_WIDTH] != NULL) status = check_width(d, w, style & ~(uint32_t)TG_TEXT_COLOUR);
    if (status != CLI_OK) return status;
    const size_t len = put(NULL, 0, d, w, svg, style);
    char        *text = cli_allocate(len + 1);
    (void)put(text, len + 1, d, w, svg, style);
    errno = 0;
    if (path == NULL || strcmp(path, "-") == 0) {
        if (fwrite(text, 1, len, stdout) != len && errno != 0)
            status = cli_fail(CLI_IO, "standard output", "%s", strerror(errno));
    }
    else if (tg_file_write(path, text, len, &err) != TG_OK) status = cli_fail_error("output", &err);
    free(text);
    return status;
}

static int check_output(const cli_args *args) {
    const char *path = args->option[OPT_OUTPUT];
    const bool  to_stdout = path != NULL && strcmp(path, "-") == 0;
    if (path != NULL && !to_stdout && !ends_with(path, ".svg") && !ends_with(path, ".txt"))
        return cli_fail(CLI_USAGE, "--output", "the name of a picture ends in .svg, or in .txt for text, not '%s'",
                        path);
    if (to_stdout && args->json) return cli_fail(CLI_USAGE, "--output", "standard output has the answer of --json");
    if (args->option[OPT_ASCII] != NULL && (path != NULL ? is_svg(path) : args->json))
        return cli_fail(CLI_USAGE, "--ascii", "is for text, and what is written is %s", path != NULL ? "SVG" : "JSON");
    if (args->option[OPT_THEME] != NULL && (path == NULL || !is_svg(path)))
        return cli_fail(CLI_USAGE, "--theme", "is for SVG; -o FILE.svg writes one");
    return CLI_OK;
}

/* ---- the command --------------------------------------------------------------------------------------------- */

static void set_width(wishes *w, const cli_args *args) {
    if (w->params.width != 0) return;
    const int   columns = cli_columns(stdout);
    const char *path = args->option[OPT_OUTPUT];
    if (path != NULL || args->json)
        w->params.width = path != NULL && ends_with(path, ".txt") ? TEXT_WIDTH : SVG_WIDTH;
    else w->params.width = columns < NARROWEST ? NARROWEST : columns > WIDEST ? WIDEST : columns;
}

/* The layout, and what its notation knows. */
static int read_layout(wishes *w, const char *text) {
    const tg_picture_params wished = w->params;
    tg_error                err;
    const int               status = cli_read_layout(&w->desc, "layout", text);
    if (status != CLI_OK) return status;
    if (tg_picture_params_init(&w->params, &w->host, &w->desc, &err) != TG_OK)
        return cli_fail_error("host tensor", &err);
    w->params.views = wished.views;
    w->params.label = wished.label;
    w->params.width = wished.width;
    return CLI_OK;
}

/* A transfer has a host whatever the notation. */
static int set_host(wishes *w) {
    tg_host  host;
    tg_error err;
    if (tg_desc_host(&host, &w->desc, &err) != TG_OK ||
        tg_layout_strided(&w->host, host.dtype, host.ndim, host.shape, host.strides, host.offset, &err) != TG_OK)
        return cli_fail_error("host tensor", &err);
    w->params.host = &w->host;
    return CLI_OK;
}

/* What a story of a transfer is not asked for, and what nothing else is. */
static int read_transfer(wishes *w, const cli_args *args) {
    static const struct {
        int         option;
        const char *name;
    } others[] = {{OPT_VIEW, "--view"},   {OPT_SLICE, "--slice"}, {OPT_LABEL, "--label"},
                  {OPT_ORDER, "--order"}, {OPT_DIFF, "--diff"},   {OPT_CORES, "--cores"}};
    static const char *const directions[] = {"h2d", "d2h", NULL};
    const char              *direction = args->option[OPT_DIRECTION];
    const bool               is_story = args->option[OPT_TRANSFER] != NULL;
    int                      which = 0;
    for (size_t i = 0; is_story && i < sizeof others / sizeof others[0]; i++)
        if (args->option[others[i].option] != NULL)
            return cli_fail(CLI_USAGE, others[i].name, "does not go with --transfer");
    if (!is_story && direction != NULL) return cli_fail(CLI_USAGE, "--direction", "is for --transfer");
    const int status = direction != NULL ? cli_choose(&which, "--direction", direction, directions) : CLI_OK;
    w->to_host = which == 1;
    return status;
}

/* Two wishes that would need the same place in a cell. */
static int check_together(const cli_args *args) {
    static const struct {
        int         one, other;
        const char *name, *why;
    } pairs[] = {
        {OPT_ORDER, OPT_CORES, "--order", "does not go with --cores: a cell has room for one number"},
        {OPT_ORDER, OPT_DIFF, "--order", "does not go with --diff: a cell has room for one number"},
        {OPT_CORES, OPT_DIFF, "--cores", "does not go with --diff: they divide one layout"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (args->option[pairs[i].one] != NULL && args->option[pairs[i].other] != NULL)
            return cli_fail(CLI_USAGE, pairs[i].name, "%s", pairs[i].why);
    const char *label = args->option[OPT_LABEL];
    if (args->option[OPT_DIFF] != NULL && label != NULL && strcmp(label, "coord") == 0)
        return cli_fail(CLI_USAGE, "--label", "coord does not go with --diff: cells say what moves");
    return CLI_OK;
}

static int read_wishes(wishes *w, const cli_args *args) {
    int status = check_output(args);
    if (status == CLI_OK) status = read_transfer(w, args);
    if (status == CLI_OK) status = check_together(args);
    if (status == CLI_OK) status = read_views(&w->params.views, args->option[OPT_VIEW]);
    if (status == CLI_OK) status = read_label(&w->params.label, args);
    if (status == CLI_OK) status = read_theme(&w->theme, args->option[OPT_THEME]);
    if (status == CLI_OK) status = read_width(&w->params.width, args->option[OPT_WIDTH]);
    if (status == CLI_OK) status = read_layout(w, args->argument[0]);
    if (status == CLI_OK && args->option[OPT_TRANSFER] != NULL) status = set_host(w);
    if (status == CLI_OK) status = read_cores(w, args->option[OPT_CORES]);
    if (status == CLI_OK) status = read_follow(w, args->option[OPT_HIGHLIGHT]);
    if (status == CLI_OK) status = read_slice(w, args->option[OPT_SLICE]);
    if (status == CLI_OK) status = read_other(w, args->option[OPT_DIFF]);
    if (status == CLI_OK && (w->params.views & TG_VIEW_HOST) && w->params.host == NULL)
        status = cli_fail(CLI_USAGE, "--view", "this layout has no host tensor to show");
    set_width(w, args);
    return status;
}

/* The layout, or both of a comparison. */
static char *title_of(const wishes *w) {
    char *title = cli_canonical_text(&w->desc);
    if (w->params.other == NULL) return title;
    char        *after = cli_canonical_text(&w->other);
    const size_t room = strlen(title) + strlen(after) + 8;
    char        *both = cli_allocate(room);
    (void)snprintf(both, room, "%s  ->  %s", title, after);
    free(title);
    free(after);
    return both;
}

static int make_story(drawn *d, wishes *w) {
    const draw_transfer what = {w->title, &w->desc.layout, &w->host, w->to_host, w->params.follow, w->params.width};
    return draw_transfer_story(&d->story, &what);
}

static int make_picture(drawn *d, wishes *w) {
    tg_error err;
    w->params.title = w->title;
    if (tg_picture_create(&d->picture, &w->desc.layout, &w->params, &err) == TG_OK) return CLI_OK;
    return cli_fail_error(w->params.views != 0 && err.status == TG_ERR_ARGUMENT ? "--view" : "draw", &err);
}

static int draw(wishes *w, const cli_args *args) {
    const bool is_story = args->option[OPT_TRANSFER] != NULL;
    drawn      d = {NULL, NULL};
    w->title = title_of(w);
    int status = is_story ? make_story(&d, w) : make_picture(&d, w);
    if (status == CLI_OK) status = write_out(&d, w, args);
    if (status == CLI_OK && args->json)
        status = cli_print_json(is_story ? draw_transfer_json(d.story) : draw_json(d.picture));
    tg_picture_destroy(&d.picture);
    tg_story_destroy(&d.story);
    free(w->title);
    return status;
}

static int run(const cli_args *args) {
    wishes    w = {.title = NULL};
    const int status = read_wishes(&w, args);
    return status == CLI_OK ? draw(&w, args) : status;
}

const cli_command cli_draw = {
    .name = "draw",
    .summary = "a picture of a layout, in the terminal or as SVG",
    .help = help,
    .arguments = {"LAYOUT"},
    .options = {[OPT_OUTPUT] = {"output", "a file name"},
                [OPT_VIEW] = {"view", "logical, host, device, inside or all"},
                [OPT_HIGHLIGHT] = {"highlight", "a coordinate"},
                [OPT_SLICE] = {"slice", "a plane"},
                [OPT_LABEL] = {"label", "coord, offset or byte"},
                [OPT_ORDER] = {"order", NULL},
                [OPT_DIFF] = {"diff", "a layout"},
                [OPT_ASCII] = {"ascii", NULL},
                [OPT_WIDTH] = {"width", "a number"},
                [OPT_THEME] = {"theme", "light, dark or auto"},
                [OPT_CORES] = {"cores", "a number"},
                [OPT_TRANSFER] = {"transfer", NULL},
                [OPT_DIRECTION] = {"direction", "h2d or d2h"}},
    .letters = "o",
    .run = run,
};
