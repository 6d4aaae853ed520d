/* The modes of a layout in words: which digit of which coordinate each loop over memory counts.
 *
 * The modes of one axis cut its coordinate greedily by weights w0 > w1 > ... > 1, so that mode i counts
 * x % w0 % w1 ... % w(i-1) / wi. A weight that a later one divides changes nothing and is left out:
 *     weights 128, 2, 1   mode 0: x / 128   mode 1: x % 128 / 2   mode 2: x % 2
 * Axes are called d0, d1, ... if they are dimensions, and t0, t1, ... if they are combined from others. */
#include "show.h"

#include <stdio.h>
#include <string.h>

static void axis_name(char name[16], const tg_layout *layout, int32_t axis) {
    if (axis < layout->ndim) (void)snprintf(name, 16, "d%d", axis);
    else (void)snprintf(name, 16, "t%d", axis - layout->ndim);
}

/* Entries of layout->chain. */
static int chain_length(const tg_layout *layout) {
    int n = 0;
    for (int32_t m = 0; m < layout->nmodes; m++) n += layout->mode[m].axis >= 0;
    return n;
}

/* The weights of m's axis above m's own, largest first; returns their number. */
static int weights_above(int64_t weights[TG_MAX_MODES], const tg_layout *layout, int32_t m) {
    int n = 0;
    for (int32_t i = 0; i < chain_length(layout); i++) {
        const int32_t other = layout->chain[i];
        if (other == m) break;
        if (layout->mode[other].axis == layout->mode[m].axis) weights[n++] = layout->mode[other].weight;
    }
    return n;
}

/* Keep only the weights that change the rest; returns their number. */
static int needed_weights(int64_t *weights, int n) {
    int first = n - 1;
    for (int i = n - 2; i >= 0; i--)
        if (weights[i] % weights[first] != 0) weights[--first] = weights[i];
    if (n == 0) return 0;
    memmove(weights, weights + first, (size_t)(n - first) * sizeof *weights);
    return n - first;
}

void show_digit(char text[SHOW_WORD], const tg_layout *layout, int32_t m) {
    const tg_mode *mode = &layout->mode[m];
    int64_t        weights[TG_MAX_MODES];
    char           name[16];
    int            at = 0;
    if (mode->axis < 0) {
        const bool copies = mode->axis == TG_AXIS_COPY;
        const char *meaning = copies ? "any; each holds a copy" : mode->size > 1 ? "0; the rest is padding" : "0";
        (void)snprintf(text, SHOW_WORD, "%s", meaning);
        return;
    }
    axis_name(name, layout, mode->axis);
    const int n = needed_weights(weights, weights_above(weights, layout, m));
    at += snprintf(text, SHOW_WORD, "%s", name);
    for (int i = 0; i < n && at < SHOW_WORD; i++)
        at += snprintf(text + at, (size_t)(SHOW_WORD - at), " %% %lld", (long long)weights[i]);
    if (mode->weight != 1 && at < SHOW_WORD)
        (void)snprintf(text + at, (size_t)(SHOW_WORD - at), " / %lld", (long long)mode->weight);
}

/* ---- the table -------------------------------------------------------------------------------- */

static int int_width(int64_t value) { return snprintf(NULL, 0, "%lld", (long long)value); }

static int wider(int width, int64_t value) { return int_width(value) > width ? int_width(value) : width; }

void show_axis(char text[SHOW_SUM], const tg_layout *layout, int32_t axis) {
    char        name[16], digit[SHOW_WORD];
    const char *before = "";
    axis_name(name, layout, axis);
    int at = snprintf(text, SHOW_SUM, "%s = ", name);
    for (int32_t m = 0; m < layout->nmodes && at < SHOW_SUM; m++) {
        const int64_t stride = layout->mode[m].stride;
        if (layout->mode[m].into != axis) continue;
        show_digit(digit, layout, m);
        const bool simple = strchr(digit, ' ') == NULL || stride == 1;
        at += snprintf(text + at, (size_t)(SHOW_SUM - at), "%s%s%s%s", before, simple ? "" : "(", digit,
                       simple ? "" : ")");
        if (stride != 1 && at < SHOW_SUM)
            at += snprintf(text + at, (size_t)(SHOW_SUM - at), " * %lld", (long long)stride);
        before = " + ";
    }
    if (*before == '\0') (void)snprintf(text + at, (size_t)(SHOW_SUM - at), "0");
}

void show_modes(const tg_layout *layout) {
    int  size_width = 4, stride_width = 6, weight_width = 6;
    bool any = false;
    for (int32_t m = 0; m < layout->nmodes; m++) {
        if (layout->mode[m].into != TG_TO_MEMORY) continue;
        size_width = wider(size_width, layout->mode[m].size);
        stride_width = wider(stride_width, layout->mode[m].stride);
        weight_width = wider(weight_width, layout->mode[m].weight);
        any = true;
    }
    if (!any) {
        puts("    no loop: one element");
        return;
    }
    printf("    %*s  %*s  %-4s  %*s  %s\n", size_width, "size", stride_width, "stride", "dim", weight_width, "weight",
           "digit");
    for (int32_t m = 0; m < layout->nmodes; m++) {
        const tg_mode *mode = &layout->mode[m];
        char           name[16] = "-", weight[24] = "-", digit[SHOW_WORD];
        if (mode->into != TG_TO_MEMORY) continue;
        if (mode->axis >= 0) axis_name(name, layout, mode->axis);
        show_digit(digit, layout, m);
        if (mode->axis >= 0) (void)snprintf(weight, sizeof weight, "%lld", (long long)mode->weight);
        printf("    %*lld  %*lld  %-4s  %*s  %s\n", size_width, (long long)mode->size, stride_width,
               (long long)mode->stride, name, weight_width, weight, digit);
    }
    for (int32_t axis = layout->ndim; axis < layout->naxes; axis++) {
        char sum[SHOW_SUM];
        show_axis(sum, layout, axis);
        printf("    %s\n", sum);
    }
}

/* ---- the worked example ------------------------------------------------------------------------- */

/* The digit of every mode for a coordinate, from the definition in tegula.h. */
static void digits_of(int64_t digit[TG_MAX_MODES], const tg_layout *layout, const int64_t *coord) {
    int64_t rest[TG_MAX_AXES] = {0};
    memset(digit, 0, TG_MAX_MODES * sizeof *digit);
    for (int32_t d = 0; d < layout->ndim; d++) rest[d] = coord[d];
    for (int32_t i = 0; i < chain_length(layout); i++) {
        const int32_t  m = layout->chain[i];
        const tg_mode *mode = &layout->mode[m];
        digit[m] = rest[mode->axis] / mode->weight;
        rest[mode->axis] %= mode->weight;
        if (mode->into != TG_TO_MEMORY) rest[mode->into] += digit[m] * mode->stride;
    }
}

static void print_terms(const tg_layout *layout, const int64_t *digit) {
    const char *before = "";
    if (layout->offset != 0) {
        printf("%lld", (long long)layout->offset);
        before = " + ";
    }
    for (int32_t m = 0; m < layout->nmodes; m++) {
        const tg_mode *mode = &layout->mode[m];
        if (mode->into != TG_TO_MEMORY || mode->axis < 0 || mode->size == 1) continue;
        printf("%s%lld*%lld", before, (long long)digit[m], (long long)mode->stride);
        before = " + ";
    }
    if (*before != '\0') fputs(" = ", stdout);
}

static void print_place(const tg_layout *layout, int64_t offset) {
    int64_t byte = 0, bit = 0;
    cli_locate(&byte, &bit, offset, layout->elem_bits);
    printf("%lld, byte %lld", (long long)offset, (long long)byte);
    if (bit != 0) printf(" bit %lld", (long long)bit);
    putchar('\n');
}

void show_last_element(const tg_layout *layout) {
    int64_t coord[TG_MAX_NDIM] = {0}, digit[TG_MAX_MODES];
    for (int32_t d = 0; d < layout->ndim; d++) {
        if (layout->shape[d] == 0) {
            printf("    nowhere: there is none, as d%d has size 0\n", d);
            return;
        }
        coord[d] = layout->shape[d] - 1;
    }
    digits_of(digit, layout, coord);
    fputs("    (", stdout);
    cli_print_ints(coord, layout->ndim, ",");
    fputs(") is at ", stdout);
    print_terms(layout, digit);
    print_place(layout, tg_layout_offset(layout, coord));
}
