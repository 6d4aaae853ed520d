#include "listing.h"

#include "subject.h"
#include "workloads.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

static void list_side(const char *name, const char *text, const tg_layout *l, int64_t bytes) {
    const char *format = tg_format_name(l->format);
    printf("\"%s\": {\"text\": \"%s\", \"bytes\": %lld, \"dtype\": \"%s\", \"format\": \"%s\", \"modes\": [", name,
           text, (long long)bytes, tg_dtype_name(l->dtype), format == NULL ? "" : format);
    for (int32_t i = 0; i < l->nmodes; i++)
        printf("%s[%d, %lld, %lld, %lld]", i == 0 ? "" : ", ", (int)l->mode[i].axis, (long long)l->mode[i].weight,
               (long long)l->mode[i].size, (long long)l->mode[i].stride);
    printf("]}");
}

static void list_case(const workload *w, int size) {
    subject s;
    char    shape[WORKLOAD_TEXT], src[WORKLOAD_TEXT], dst[WORKLOAD_TEXT];
    workload_shape(shape, sizeof shape, w, size);
    workload_text(src, sizeof src, w->src, w, size);
    workload_text(dst, sizeof dst, w->dst, w, size);
    subject_layouts(&s, src, dst, 0);
    printf("{\"workload\": \"%s\", \"size\": \"%c\", \"shape\": [%s], \"dst_offset\": %d,\n  ", w->name,
           size_letters[size], shape, (int)w->dst_offset);
    list_side("src", src, &s.src_layout, s.src_bytes);
    printf(",\n  ");
    list_side("dst", dst, &s.dst_layout, s.dst_bytes);
    printf("}");
}

/* The sizes of our structs let a caller without a C compiler reserve room for them. */
void list_cases(const char *sizes, const char *filter) {
    bool first = true;
    printf("{\"sizeof\": {\"tg_plan\": %zu, \"tg_desc\": %zu, \"tg_error\": %zu}, \"desc_layout\": %zu, \"cases\": [",
           sizeof(tg_plan), sizeof(tg_desc), sizeof(tg_error), offsetof(tg_desc, layout));
    for (int size = 0; size < SIZES; size++)
        for (int32_t i = 0; i < workload_count(); i++) {
            const workload w = workload_at(i);
            if (!workload_chosen(&w, size, sizes, filter)) continue;
            printf("%s\n ", first ? "" : ",");
            list_case(&w, size);
            first = false;
        }
    printf("\n]}\n");
}
