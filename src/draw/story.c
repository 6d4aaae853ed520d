/* The story of a transfer: the wishes are checked, the followed element is found in the program, the parts are put
 * together. */
#include "draw/story.h"

#include "base/checked.h"
#include "base/error.h"
#include "draw/scene.h"

#include <stdlib.h>
#include <string.h>

enum { NARROWEST = 40, USUAL_WIDTH = 80, WORK = 1 << 22 };

/* ---- wishes --------------------------------------------------------------------------------------- */

static tg_status check_layouts(const tg_story_params *p, tg_error *err) {
    int64_t   nbytes = 0;
    tg_status status = tg_layout_validate(p->device, err);
    if (status == TG_OK) status = tg_layout_validate(p->host, err);
    if (status == TG_OK) status = tg_layout_nbytes(&nbytes, p->device, err);
    if (status == TG_OK) status = tg_layout_nbytes(&nbytes, p->host, err);
    if (status != TG_OK) return status;
    bool same = p->device->ndim == p->host->ndim;
    for (int32_t d = 0; same && d < p->device->ndim; d++) same = p->device->shape[d] == p->host->shape[d];
    if (same) return TG_OK;
    return tg_fail(err, TG_ERR_ARGUMENT, "the device layout has shape %v and the host layout %v", p->device->shape,
                   p->device->ndim, p->host->shape, p->host->ndim);
}

static tg_status check_reach(const tg_story_params *p, size_t number, tg_side side, tg_error *err) {
    const tg_layout *l = side == TG_SIDE_HOST ? p->host : p->device;
    const int64_t    base = tg_layout_base(l);
    int64_t          low = 0, high = 0;
    if (tg_nest_reach(&p->nest[number], side, &low, &high) && low >= base && high < base + l->span) return TG_OK;
    return tg_fail(err, TG_ERR_ARGUMENT, "descriptor %d leaves the memory of the %s, offsets [%d, %d)",
                   (int64_t)number + 1, side == TG_SIDE_HOST ? "host" : "device", base, base + l->span);
}

static tg_status check_nest(const tg_story_params *p, size_t number, int64_t *elements, tg_error *err) {
    const tg_draw_nest *nest = &p->nest[number];
    int64_t             volume = 1;
    if (nest->nloops < 0 || nest->nloops > TG_STORY_LOOPS)
        return tg_fail(err, TG_ERR_ARGUMENT, "descriptor %d has %d loops, not 0 to %d", (int64_t)number + 1,
                       (int64_t)nest->nloops, (int64_t)TG_STORY_LOOPS);
    for (int32_t i = 0; i < nest->nloops; i++) {
        const tg_draw_loop *l = &nest->loop[i];
        if (l->range < 1 || l->device_stride == INT64_MIN || l->host_stride == INT64_MIN)
            return tg_fail(err, TG_ERR_ARGUMENT, "loop %d of descriptor %d has range %d or a stride out of range",
                           (int64_t)i, (int64_t)number + 1, l->range);
        if (!tg_mul(&volume, volume, l->range)) volume = -1;
        if (volume < 0) break;
    }
    if (volume < 0 || !tg_add(elements, *elements, volume))
        return tg_fail(err, TG_ERR_OVERFLOW, "the elements of descriptor %d do not fit 63 bits", (int64_t)number + 1);
    const tg_status status = check_reach(p, number, TG_SIDE_HOST, err);
    return status == TG_OK ? check_reach(p, number, TG_SIDE_DEVICE, err) : status;
}

static tg_status check_params(const tg_story_params *p, int64_t *elements, tg_error *err) {
    tg_status status = check_layouts(p, err);
    for (size_t i = 0; i < p->nnests && status == TG_OK; i++) status = check_nest(p, i, elements, err);
    if (status != TG_OK) return status;
    if (p->width != 0 && p->width < NARROWEST)
        return tg_fail(err, TG_ERR_ARGUMENT, "width %d is less than %d", (int64_t)p->width, (int64_t)NARROWEST);
    if (p->follow != NULL && !tg_layout_in_bounds(p->device, p->follow, err)) return TG_ERR_ARGUMENT;
    return TG_OK;
}

/* ---- the followed element -------------------------------------------------------------------------------- */

/* The run that carries it, which is found on the side that is written. */
static void find_follow(tg_teller *t) {
    const tg_story_params *p = t->params;
    const tg_side          side = p->to_host ? TG_SIDE_HOST : TG_SIDE_DEVICE;
    int64_t                index[TG_STORY_LOOPS];
    if (tg_layout_numel(p->device) == 0) return;
    for (int32_t d = 0; d < p->device->ndim; d++)
        t->follow[d] = p->follow != NULL ? p->follow[d] : p->device->shape[d] - 1;
    const int64_t host = tg_layout_offset(p->host, t->follow), device = tg_layout_offset(p->device, t->follow);
    if (tg_find_touch(t, side, p->to_host ? host : device, &t->follow_nest, index) != TG_FOUND) return;
    const tg_draw_nest *nest = &p->nest[t->follow_nest];
    const int32_t       outer = tg_nest_outer(nest);
    int64_t             there = p->to_host ? nest->device_offset : nest->host_offset;
    for (int32_t i = 0; i < nest->nloops; i++)
        there += index[i] * tg_step_of(&nest->loop[i], p->to_host ? TG_SIDE_DEVICE : TG_SIDE_HOST);
    if (there != (p->to_host ? device : host)) return;
    for (int32_t i = 0; i < outer; i++) t->follow_run = t->follow_run * nest->loop[i].range + index[i];
    t->follow_at = outer < nest->nloops ? index[outer] : 0;
    t->has_follow = true;
}

/* ---- putting it together ------------------------------------------------------------------------------------ */

/* The texts of the descriptors that are shown move behind the story. */
static tg_status keep_texts(tg_story **story, const tg_story_params *p, tg_error *err) {
    tg_story *s = *story;
    size_t    need = sizeof *s;
    for (int32_t k = 0; k < s->nshown; k++) need += strlen(p->nest[s->shown[k]].text) + 1;
    s = realloc(s, need);
    if (s == NULL) return tg_fail(err, TG_ERR_NOMEM, "no memory for a picture");
    *story = s;
    char *to = (char *)(s + 1);
    for (int32_t k = 0; k < s->nshown; k++) {
        const size_t size = strlen(p->nest[s->shown[k]].text) + 1;
        memcpy(to, p->nest[s->shown[k]].text, size);
        s->text[k] = to;
        to += size;
    }
    return TG_OK;
}

static void tell(tg_teller *t) {
    tg_story *s = t->story;
    if (t->params->title != NULL) tg_words_title(s->title, sizeof s->title, t->params->title);
    s->ndim = t->params->device->ndim;
    s->width = t->params->width != 0 ? t->params->width : USUAL_WIDTH;
    s->to_host = t->params->to_host;
    s->nnests = t->params->nnests;
    for (size_t i = 0; i < s->nnests; i++) s->nruns_in_all += tg_nest_runs(&t->params->nest[i]);
    find_follow(t);
    tg_story_choose(t);
    if (s->nruns > 0) {
        tg_story_fill_strip(t, TG_SIDE_HOST);
        tg_story_fill_strip(t, TG_SIDE_DEVICE);
    }
    tg_story_words(t);
}

tg_status tg_story_create(tg_story **out, const tg_story_params *params, tg_error *err) {
    tg_teller t = {.params = params, .work = WORK};
    int64_t   elements = 0;
    tg_status status = check_params(params, &elements, err);
    if (status != TG_OK) return status;
    t.story = calloc(1, sizeof *t.story);
    if (t.story == NULL) return tg_fail(err, TG_ERR_NOMEM, "no memory for a picture");
    t.story->nelements = elements;
    tell(&t);
    status = keep_texts(&t.story, params, err);
    if (status != TG_OK) free(t.story);
    else *out = t.story;
    return status;
}

void tg_story_destroy(tg_story **story) {
    free(*story);
    *story = NULL;
}
