/* Judging placements by the rules of the header, which are told in full again here. */
#include "graph/scratchpad.h"

#include "base/error.h"
#include "base/text.h"
#include "graph/model.h"

#include <stdlib.h>

typedef struct judge {
    const tg_placement *at;
    const tg_buffer    *buffers;
    int64_t             n, capacity, alignment;
    const char         *fault;
    int64_t             buffer, other; /* at fault; -1: none */
} judge;

static bool accuse(judge *j, int64_t buffer, int64_t other, const char *fault) {
    j->fault = fault;
    j->buffer = buffer;
    j->other = other;
    return false;
}

static bool judge_address(judge *j, int64_t i) {
    const tg_buffer *b = &j->buffers[i];
    const int64_t    address = j->at[i].address;
    if (address < 0) return j->at[i].in_place_of == -1 || accuse(j, i, -1, "takes a place without having one");
    if (b->barred) return accuse(j, i, -1, "has to live elsewhere");
    if (address % j->alignment != 0) return accuse(j, i, -1, "is not aligned");
    return b->size <= j->capacity - address || accuse(j, i, -1, "reaches beyond the end");
}

static bool judge_heir(judge *j, int64_t i, bool *handed) {
    const int64_t parent = j->at[i].in_place_of;
    bool          candidate = false;
    if (parent == -1) return true;
    for (int64_t k = 0; k < j->buffers[i].nparents; k++)
        candidate = candidate || j->buffers[i].parents[k] == parent;
    if (!candidate) return accuse(j, i, parent, "takes the place of one that is no parent of it");
    if (j->at[parent].address != j->at[i].address) return accuse(j, i, parent, "is not where its parent is");
    if (handed[parent]) return accuse(j, i, parent, "takes a place that was handed over before");
    handed[parent] = true;
    return true;
}

static bool overlap(const judge *j, int64_t a, int64_t b) {
    return tg_alive_together(&j->buffers[a], &j->buffers[b]) &&
           j->at[a].address < j->at[b].address + j->buffers[b].size &&
           j->at[b].address < j->at[a].address + j->buffers[a].size;
}

/* Each against those that began before and are still there. */
static bool judge_overlaps(judge *j, const int64_t *order, int64_t *alive) {
    int64_t nalive = 0;
    for (int64_t i = 0; i < j->n; i++) {
        const int64_t b = order[i];
        int64_t       kept = 0;
        if (j->at[b].address < 0) continue;
        for (int64_t k = 0; k < nalive; k++) {
            const int64_t a = alive[k];
            if (tg_buffer_end(&j->buffers[a]) <= tg_buffer_start(&j->buffers[b])) continue;
            alive[kept++] = a;
            if (overlap(j, a, b) && j->at[b].in_place_of != a && j->at[a].in_place_of != b)
                return accuse(j, b, a, "overlaps");
        }
        alive[kept++] = b;
        nalive = kept;
    }
    return true;
}

static bool judge_all(judge *j, const int64_t *order, int64_t *alive, bool *handed) {
    for (int64_t i = 0; i < j->n; i++)
        if (!judge_address(j, i) || !judge_heir(j, i, handed)) return false;
    return judge_overlaps(j, order, alive);
}

static void put_fault(char *why, size_t cap, const judge *j) {
    tg_writer w = tg_writer_make(why, cap);
    tg_put_text(&w, "buffer ");
    tg_put_int(&w, j->buffer);
    tg_put_char(&w, ' ');
    tg_put_text(&w, j->fault);
    if (j->other >= 0) tg_put_text(&w, ": buffer ");
    if (j->other >= 0) tg_put_int(&w, j->other);
    (void)tg_writer_end(&w);
}

tg_status tg_scratchpad_verify(bool *ok, char *why, size_t cap, const tg_placement *placements,
                               const tg_buffer *buffers, int64_t n, const tg_scratchpad_params *params,
                               tg_error *err) {
    const tg_scratchpad s = {.buffers = buffers, .n = n};
    const int64_t       alignment = params->alignment > 0 ? params->alignment : TG_LX_ALIGNMENT;
    judge               j = {placements, buffers, n, params->capacity, alignment, "", -1, -1};
    int64_t            *order = malloc(2 * ((size_t)n + 1) * sizeof *order);
    bool               *handed = calloc((size_t)n + 1, sizeof *handed);
    const bool          memory = order != NULL && handed != NULL && tg_order_by_start(order, &s);
    if (memory) *ok = judge_all(&j, order, order + n, handed);
    if (memory && cap > 0 && *ok) why[0] = '\0';
    if (memory && cap > 0 && !*ok) put_fault(why, cap, &j);
    free(order);
    free(handed);
    return memory ? TG_OK : tg_graph_no_memory(err);
}
