/* What of a large panel is shown. Everything that a picture leaves out is left out here, and each gap says how much it
 * stands for.
 *
 * Items are wanted in this order: the first, the last, those that must be seen, then the second, the last but one, the
 * third, and so on. Each is taken if it fits; what is not taken becomes gaps, which need room themselves:
 *
 *     100 items, room for 7, item 40 must be seen:   0  1  (38)  40  (57)  98  99
 */
#include "draw/scene.h"

/* Chosen indices, increasing. */
typedef struct choice {
    int32_t n;
    int64_t index[TG_MAX_PICKS];
} choice;

static bool insert(choice *c, int64_t index) {
    int32_t at = 0;
    while (at < c->n && c->index[at] < index) at++;
    if ((at < c->n && c->index[at] == index) || c->n == TG_MAX_PICKS) return false;
    for (int32_t k = c->n++; k > at; k--) c->index[k] = c->index[k - 1];
    c->index[at] = index;
    return true;
}

/* Writes the picks, or counts them if picks is NULL. A gap of one item has about the width of the item: the item it is,
 * unless room is scarce. */
static int32_t spread(tg_pick *picks, const choice *c, int64_t n, int32_t room) {
    const int64_t least = room >= TG_FEW_COLS ? 2 : 1;
    int32_t npicks = 0;
    int64_t next = 0;
    for (int32_t k = 0; k <= c->n; k++) {
        const int64_t index = k < c->n ? c->index[k] : n;
        if (index > next) {
            if (picks != NULL) picks[npicks] = (tg_pick){next, index - next >= least ? index - next : 0};
            npicks++;
        }
        if (k == c->n) break;
        if (picks != NULL) picks[npicks] = (tg_pick){index, 0};
        npicks++;
        next = index + 1;
    }
    return npicks;
}

static void take(choice *c, int64_t index, int64_t n, int32_t room) {
    choice more = *c;
    if (index < 0 || index >= n || !insert(&more, index) || spread(NULL, &more, n, room) > room) return;
    *c = more;
}

int32_t tg_tracks_choose(tg_pick picks[TG_MAX_PICKS], int64_t n, int32_t room, const int64_t *must, int32_t nmust) {
    choice c = {0, {0}};
    if (n == 0) return 0;
    take(&c, 0, n, TG_MAX_PICKS);
    take(&c, n - 1, n, TG_MAX_PICKS);
    for (int32_t k = 0; k < nmust; k++) take(&c, must[k], n, TG_MAX_PICKS);
    for (int64_t k = 1; k <= room && k < n; k++) {
        take(&c, k, n, room);
        take(&c, n - 1 - k, n, room);
        for (int32_t i = 0; i < nmust; i++) {
            if (must[i] < n - k) take(&c, must[i] + k, n, room);
            take(&c, must[i] - k, n, room);
        }
    }
    return spread(picks, &c, n, room);
}
