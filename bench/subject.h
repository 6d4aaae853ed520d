/* What is measured: the calls of Tegula's mover, all in one place. */
#ifndef BENCH_SUBJECT_H
#define BENCH_SUBJECT_H

#include <tegula/tegula.h>

typedef struct subject {
    tg_layout          src_layout, dst_layout;
    int64_t            src_bytes, dst_bytes;
    tg_plan_params     params;
    tg_plan            plan;
    void              *dst;
    const void        *src;
    const tg_executor *executor; /* NULL: the calling thread */
} subject;

/* Print what went wrong and exit. */
void need(tg_status status, const tg_error *err);

/* The layouts and their sizes, from notation text; element types may differ. without: bits of tg_cpu that must not be
 * used. */
void subject_layouts(subject *s, const char *src, const char *dst, uint32_t without);

/* The same, where it is not known that they are right: false, with a sentence on standard error that names the side and
 * `place`, where they are from, if they are not, or there is no plan. */
bool subject_can(subject *s, const char *src, const char *dst, uint32_t without, const char *place);

/* These are what the clock sees; the argument is a subject *. */
void subject_plan(void *s);
void subject_run(void *s);
void subject_plan_and_run(void *s);

bool subject_verify(const subject *s);

#endif /* BENCH_SUBJECT_H */
