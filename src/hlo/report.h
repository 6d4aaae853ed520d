/* What the reports of hlo_report.h share. */
#ifndef TG_HLO_REPORT_H
#define TG_HLO_REPORT_H

#include "hlo/hlo_array.h"

#include <tegula/hlo_report.h>

/* The computations that a report looks at. */
typedef struct tg_report_scope {
    const tg_hlo_module *module;
    tg_hlo_text          opcode; /* empty: any */
    int64_t              first, end; /* computations */
    bool                *inside;     /* NULL: all of them count; else of each computation */
} tg_report_scope;

tg_status tg_report_scope_make(tg_report_scope *out, const tg_hlo_module *module, const tg_hlo_filter *filter,
                               tg_error *err);
void      tg_report_scope_free(tg_report_scope *scope);

/* False for instructions of computations inside others, and of other opcodes than the one asked for. */
bool tg_report_counts_computation(const tg_report_scope *scope, int64_t computation);
bool tg_report_counts_opcode(const tg_report_scope *scope, tg_hlo_text opcode);

bool tg_report_is_one_of(tg_hlo_text word, const char *const *words); /* words end with NULL */

/* Numbers for texts, all of them freed together. Zero-initialise. */
TG_HLO_TABLE(tg_report_chars, char)
TG_HLO_TABLE(tg_report_ends, size_t)
typedef struct tg_report_texts {
    tg_report_chars chars;
    tg_report_ends  ends;
    int64_t        *slots;
    size_t          nslots; /* a power of two */
} tg_report_texts;

bool tg_report_number(int64_t *out, tg_report_texts *texts, const char *text, size_t len); /* false: no memory */
void tg_report_texts_free(tg_report_texts *texts);

tg_status tg_report_no_memory(tg_error *err);

#endif
