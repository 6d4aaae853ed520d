/* tegula draw --transfer: the program that carries the tensor, as a story. */
#include "draw.h"

#include <tegula/transfer.h>

#include <stdlib.h>

enum { MOST = 4096, DESCRIPTORS = 64 };

/* A program in the form of the draw room; all of it in three pieces of memory. */
typedef struct program {
    tg_draw_nest *nest;
    tg_draw_loop *loop;
    char         *text;
    size_t        count;
} program;

static tg_dma *build(size_t *count, const draw_transfer *what, int *status) {
    tg_dma_params params = {.device = what->device, .host = what->host,
                            .direction = what->to_host ? TG_DEVICE_TO_HOST : TG_HOST_TO_DEVICE};
    tg_error      err;
    size_t        cap = DESCRIPTORS;
    for (;;) {
        tg_dma *const dma = cli_allocate(cap * sizeof *dma);
        *status = CLI_OK;
        if (tg_dma_build(dma, cap, count, &params, &err) != TG_OK) *status = cli_fail_error("--transfer", &err);
        else if (*count > MOST)
            *status = cli_fail(CLI_USAGE, "--transfer", "%zu descriptors are too many for a picture; %d are the limit",
                               *count, MOST);
        else if (*count <= cap) return dma;
        free(dma);
        if (*status != CLI_OK) return NULL;
        cap = *count;
    }
}

static program translate(const tg_dma *dma, size_t count, tg_dma_direction direction) {
    program p = {.count = count};
    size_t  nloops = 0, text = 0;
    for (size_t i = 0; i < count; i++) {
        nloops += (size_t)dma[i].nloops;
        text += tg_dma_format_loops(NULL, 0, &dma[i], direction) + 1;
    }
    p.nest = cli_allocate((count + 1) * sizeof *p.nest);
    p.loop = cli_allocate((nloops + 1) * sizeof *p.loop);
    p.text = cli_allocate(text + 1);
    tg_draw_loop *loop = p.loop;
    char         *to = p.text, *const end = p.text + text;
    for (size_t i = 0; i < count; i++) {
        const tg_draw_nest nest = {dma[i].nloops, dma[i].device_offset, dma[i].host_offset, loop, to};
        for (int32_t k = 0; k < dma[i].nloops; k++) {
            const tg_dma_loop *l = &dma[i].loop[k];
            *loop++ = (tg_draw_loop){l->range, l->device_stride, l->host_stride};
        }
        to += tg_dma_format_loops(to, (size_t)(end - to), &dma[i], direction) + 1;
        p.nest[i] = nest;
    }
    return p;
}

int draw_transfer_story(tg_story **story, const draw_transfer *what) {
    tg_error err;
    size_t   count = 0;
    int      status = CLI_OK;
    tg_dma  *dma = build(&count, what, &status);
    if (dma == NULL) return status;
    program p = translate(dma, count, what->to_host ? TG_DEVICE_TO_HOST : TG_HOST_TO_DEVICE);
    free(dma);
    const tg_story_params params = {
        .title = what->title, .device = what->device, .host = what->host, .nest = p.nest, .nnests = p.count,
        .to_host = what->to_host, .follow = what->follow, .width = what->width,
    };
    if (tg_story_create(story, &params, &err) != TG_OK) status = cli_fail_error("draw", &err);
    free(p.nest);
    free(p.loop);
    free(p.text);
    return status;
}

/* ---- as data ---------------------------------------------------------------------------------------- */

static json_t *place_json(int64_t from, int64_t length) {
    const int64_t ends[] = {from, from + (length - 1)};
    return cli_json_ints(ends, 2);
}

static json_t *run_json(const tg_story *s, const tg_story_run *run) {
    json_t *o = cli_json_object();
    cli_json_put(o, "run", cli_json_int(run->number));
    cli_json_put(o, "descriptor", cli_json_int((int64_t)run->nest));
    cli_json_put(o, "loops", cli_json_ints(run->step, run->nsteps));
    cli_json_put(o, "host", place_json(run->host, run->length));
    cli_json_put(o, "device", place_json(run->device, run->length));
    cli_json_put(o, "first", run->knows_elements ? cli_json_ints(run->first, s->ndim) : json_null());
    cli_json_put(o, "last", run->knows_elements ? cli_json_ints(run->last, s->ndim) : json_null());
    if (run->followed) cli_json_put(o, "followed", json_true());
    return o;
}

static json_t *strip_json(const tg_story *s, const tg_story_strip *strip) {
    static const char *const kinds[] = {"run", "untouched", "hidden"};
    json_t                  *parts = cli_json_array();
    for (int32_t k = 0; k < strip->nparts; k++) {
        const tg_story_part *part = &strip->part[k];
        json_t              *o = cli_json_object(), *runs = cli_json_array();
        cli_json_put(o, "kind", cli_json_text(kinds[part->kind]));
        cli_json_put(o, "from", cli_json_int(part->from));
        cli_json_put(o, "to", cli_json_int(part->to));
        for (int32_t r = 0; r < s->nruns; r++)
            if ((strip == &s->host ? s->run[r].host_part : s->run[r].device_part) == k)
                cli_json_add(runs, cli_json_int(s->run[r].number));
        cli_json_put(o, "runs", runs);
        cli_json_add(parts, o);
    }
    return parts;
}

json_t *draw_transfer_json(const tg_story *s) {
    json_t *o = cli_json_object(), *runs = cli_json_array(), *notes = cli_json_array();
    cli_json_put(o, "schema", cli_json_text("tegula.transfer/1"));
    cli_json_put(o, "text", cli_json_text(s->title));
    cli_json_put(o, "direction", cli_json_text(s->to_host ? "d2h" : "h2d"));
    cli_json_put(o, "descriptors", cli_json_int((int64_t)s->nnests));
    cli_json_put(o, "run_count", cli_json_int(s->nruns_in_all));
    cli_json_put(o, "elements", cli_json_int(s->nelements));
    for (int32_t k = 0; k < s->nruns; k++) cli_json_add(runs, run_json(s, &s->run[k]));
    for (int32_t k = 0; k < s->nnotes; k++) cli_json_add(notes, cli_json_text(s->note[k]));
    cli_json_put(o, "runs", runs);
    cli_json_put(o, "host", strip_json(s, &s->host));
    cli_json_put(o, "device", strip_json(s, &s->device));
    cli_json_put(o, "notes", notes);
    return o;
}
