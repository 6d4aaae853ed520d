#include "subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void need(tg_status status, const tg_error *err) {
    if (status == TG_OK) return;
    fprintf(stderr, "bench_relayout: %s: %s\n", tg_status_name(status), err->message);
    exit(1);
}

static tg_status layout_of(tg_layout *out, int64_t *bytes, const char *text, tg_error *err) {
    tg_desc         desc;
    const tg_status s = tg_desc_parse(&desc, text, strlen(text), err);
    if (s != TG_OK) return s;
    *out = desc.layout;
    return tg_layout_nbytes(bytes, out, err);
}

/* side: out, of which text is what is wrong; "" if it is both. */
static tg_status set_layouts(subject *s, const char *src, const char *dst, uint32_t without, const char **side,
                             tg_error *err) {
    static const uint64_t zero[2];
    tg_status             status = layout_of(&s->src_layout, &s->src_bytes, src, err);
    *side = "src: ";
    if (status != TG_OK) return status;
    status = layout_of(&s->dst_layout, &s->dst_bytes, dst, err);
    *side = "dst: ";
    if (status != TG_OK) return status;
    *side = "";
    memset(&s->params, 0, sizeof s->params);
    s->params.dst = &s->dst_layout;
    s->params.src = &s->src_layout;
    s->params.pad = zero;
    s->params.without = without;
    s->params.convert = true;
    return TG_OK;
}

void subject_layouts(subject *s, const char *src, const char *dst, uint32_t without) {
    const char *side;
    tg_error    err;
    need(set_layouts(s, src, dst, without, &side, &err), &err);
}

bool subject_can(subject *s, const char *src, const char *dst, uint32_t without, const char *place) {
    const char *side;
    tg_error    err;
    tg_status   status = set_layouts(s, src, dst, without, &side, &err);
    if (status == TG_OK) status = tg_plan_init(&s->plan, &s->params, &err);
    if (status != TG_OK) fprintf(stderr, "bench_relayout: %s: %s%s\n", place, side, err.message);
    return status == TG_OK;
}

void subject_plan(void *context) {
    subject *const s = context;
    tg_error       err;
    need(tg_plan_init(&s->plan, &s->params, &err), &err);
}

void subject_run(void *context) {
    const subject *const s = context;
    tg_error             err;
    need(tg_plan_run(&s->plan, s->dst, s->src, s->executor, &err), &err);
}

void subject_plan_and_run(void *context) {
    subject_plan(context);
    subject_run(context);
}

bool subject_verify(const subject *s) {
    tg_error err;
    bool     equal = false;
    need(tg_plan_verify(&equal, NULL, NULL, &s->params, s->dst, s->src, &err), &err);
    return equal;
}
