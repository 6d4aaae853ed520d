#include "work.h"

#include "copies.h"
#include "turned.h"

#include <string.h>

enum { SMALL = 8 << 10, SQUARE_PAIRS = 4 * LINE };

/* ---- which work ---- */

static void turn(work *w, size_t thread, int64_t count) {
    (void)thread;
    (void)turn_squares(w->width, count);
}

static void interleave(work *w, size_t thread, int64_t count) {
    (void)w;
    (void)thread;
    (void)interleave_pairs(count);
}

static void convert(work *w, size_t thread, int64_t count) {
    for (int64_t k = 0; k < count; k++) subject_run(&w->small[thread]);
}

/* Elements that stay side by side, and the run of dst after them. */
static void find_shuffles(work *w, const touched *t, const subject *s) {
    const piece *const to = &t->of_dst, *const from = &t->of_src;
    const int64_t      element = s->dst_layout.elem_bits / 8;
    if (to->nruns == 0 || from->nruns == 0) return;
    const bool    joint = to->dim[0] == from->dim[0];
    const int64_t unit = !joint ? 1 : to->n[0] < from->n[0] ? to->n[0] : from->n[0];
    w->width = unit * element;
    if (w->width > 8) return;
    const bool pairs = !joint && to->n[0] == 2 && to->nruns > 1 && to->dim[1] == from->dim[0];
    w->name = pairs ? "interleaved" : "turned";
    w->part = pairs ? interleave : turn;
    w->is_of_machine = true;
    w->is_turned = !pairs;
    w->count = s->dst_bytes / (pairs ? SQUARE_PAIRS : LINE * LINE / w->width);
    if (w->count == 0) w->count = 1;
}

/* ---- conversions ---- */

/* The workload with rows of 128 elements, as many as fit. */
static void small_subject(subject *small, const workload *of, const subject *s, int i) {
    static uint8_t src[2][SMALL] __attribute__((aligned(64))), dst[2][SMALL] __attribute__((aligned(64)));
    char           from[WORKLOAD_TEXT], to[WORKLOAD_TEXT];
    workload       w = *of;
    const int64_t  bytes = s->src_bytes < SMALL ? s->src_bytes : SMALL;
    w.shape[SIZE_T][0] = bytes / (128 * s->src_layout.elem_bits / 8);
    w.shape[SIZE_T][1] = 128;
    workload_text(from, sizeof from, w.src, &w, SIZE_T);
    workload_text(to, sizeof to, w.dst, &w, SIZE_T);
    subject_layouts(small, from, to, s->params.without);
    small->params.threads = 1;
    buffer_fill(src[i], SMALL, small->src_layout.dtype);
    small->src = src[i];
    small->dst = dst[i];
    small->executor = NULL;
    subject_plan(small);
}

static void find_conversion(work *w, const subject *s, const workload *of) {
    w->name = "work";
    w->part = convert;
    for (int i = 0; i < 2; i++) small_subject(&w->small[i], of, s, i);
    w->count = s->src_bytes / w->small[0].src_bytes;
}

/* The plan of a layout refers to it: *w must not move after this. */
bool work_find(work *w, const touched *t, const subject *s, const workload *of) {
    memset(w, 0, sizeof *w);
    w->executor = s->executor;
    const bool converts = tg_layout_stored_format(&s->src_layout) != tg_layout_stored_format(&s->dst_layout);
    if (!converts) find_shuffles(w, t, s);
    else if (of->ndim > 0) find_conversion(w, s, of);
    return w->name != NULL;
}

/* ---- doing it ---- */

static void run_part(void *arg, size_t i) {
    work *const   w = arg;
    const int64_t n = w->executor == NULL ? 1 : w->executor->threads, at = (int64_t)i;
    w->part(w, i, w->count * (at + 1) / n - w->count * at / n);
}

void work_run(void *context) {
    work *const w = context;
    if (w->executor == NULL) run_part(w, 0);
    else w->executor->run(w->executor->context, run_part, w, (size_t)w->executor->threads);
}
