/* Programs: deep copies of what callers say. */
#include "sim/program.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

tg_status tg_program_create(tg_program **out, tg_error *err) {
    tg_program *p = calloc(1, sizeof *p);
    if (p == NULL) return tg_fail(err, TG_ERR_NOMEM, "there is no memory for a program");
    *out = p;
    return TG_OK;
}

void tg_program_destroy(tg_program **program) {
    tg_program *p = *program;
    if (p == NULL) return;
    for (size_t i = 0; i < p->nodes.count; i++) free(p->nodes.rows[i].block);
    free(p->nodes.rows);
    free(p->inputs.rows);
    free(p);
    *program = NULL;
}

/* ---- copies ------------------------------------------------------------------------------- */

/* Copies things one behind the other; with base == NULL it measures. */
typedef struct packer {
    char  *base;
    size_t used;
} packer;

static void *put(packer *p, const void *from, size_t n) {
    const size_t at = (p->used + 15) / 16 * 16;
    p->used = at + n;
    if (p->base == NULL || n == 0) return NULL;
    return memcpy(p->base + at, from, n);
}

static const tg_term *put_terms(packer *p, const tg_access *a) {
    return put(p, a->terms, (size_t)a->nterms * sizeof *a->terms);
}

static void put_indices(packer *p, tg_compute *c) {
    const tg_index *from = c->indices;
    tg_index       *to = put(p, from, (size_t)c->nindices * sizeof *from);
    for (int32_t i = 0; i < c->nindices; i++) {
        const tg_term *terms = put_terms(p, &from[i].from);
        if (to != NULL) to[i].from.terms = terms;
    }
    c->indices = to;
}

static void put_pieces(packer *p, tg_compute *c) {
    const tg_piece *from = c->pieces;
    tg_piece       *to = put(p, from, (size_t)c->npieces * sizeof *from);
    for (int32_t i = 0; i < c->npieces; i++) {
        const tg_term *terms = put_terms(p, &from[i].from);
        if (to != NULL) to[i].from.terms = terms;
    }
    c->pieces = to;
}

static void put_all(packer *p, tg_compute *c) {
    c->data = put(p, c->data, c->nbytes);
    c->start.terms = put_terms(p, &c->start);
    c->steps = put(p, c->steps, (size_t)c->nsteps * sizeof *c->steps);
    put_indices(p, c);
    put_pieces(p, c);
}

static tg_status check(int64_t node, const tg_compute *c, tg_error *err) {
    bool ok = node >= 0 && tg_op_name(c->op) != NULL && c->nindices >= 0 && c->npieces >= 0;
    ok = ok && c->nsteps >= 0 && c->nsteps <= TG_MAX_STEPS;
    for (int32_t i = 0; ok && i < c->nsteps; i++) ok = tg_op_arity(c->steps[i].op) > 0;
    ok = ok && c->start.nterms >= 0 && (int)c->reduction >= 0 && c->reduction <= TG_REDUCE_XOR;
    for (int32_t i = 0; ok && i < c->nindices; i++) ok = c->indices[i].from.nterms >= 0;
    for (int32_t i = 0; ok && i < c->npieces; i++) ok = c->pieces[i].from.nterms >= 0;
    if (ok) return TG_OK;
    return tg_fail(err, TG_ERR_ARGUMENT, "node %d: operation %d is none, or something is counted below 0", node,
                   (int64_t)c->op);
}

static tg_status no_memory(tg_error *err) { return tg_fail(err, TG_ERR_NOMEM, "there is no memory for a program"); }

tg_status tg_program_set(tg_program *program, int64_t node, const tg_compute *compute, tg_error *err) {
    const tg_compute_row empty = {.block = NULL};
    tg_compute_row       row = {*compute, NULL};
    packer               p = {NULL, 0};
    const tg_status      s = check(node, compute, err);
    if (s != TG_OK) return s;
    put_all(&p, &row.compute);
    p.base = row.block = malloc(p.used + 1);
    if (p.base == NULL) return no_memory(err);
    row.compute = *compute;
    p.used = 0;
    put_all(&p, &row.compute);
    while ((int64_t)program->nodes.count <= node)
        if (!tg_compute_rows_push(&program->nodes, empty)) {
            free(row.block);
            return no_memory(err);
        }
    free(program->nodes.rows[node].block);
    program->nodes.rows[node] = row;
    return TG_OK;
}

tg_compute tg_program_get(const tg_program *program, int64_t node) {
    const tg_compute none = {.op = TG_OP_NONE};
    return node < (int64_t)program->nodes.count ? program->nodes.rows[node].compute : none;
}

/* ---- inputs ---------------------------------------------------------------------- */

tg_status tg_program_add_input(tg_program *program, int64_t node, tg_error *err) {
    if (node < 0) return tg_fail(err, TG_ERR_ARGUMENT, "node %d is none", node);
    return tg_input_rows_push(&program->inputs, node) ? TG_OK : no_memory(err);
}

int64_t tg_program_ninputs(const tg_program *program) { return (int64_t)program->inputs.count; }

int64_t tg_program_input(const tg_program *program, int64_t i) { return program->inputs.rows[i]; }
