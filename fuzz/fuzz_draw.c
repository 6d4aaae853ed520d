/* Any layout and any wishes as a picture: no crash, the same text twice, ASCII where that was asked for, an SVG under
 * 300 kB; and what cannot be drawn is refused with a reason. The first bytes are the wishes, the rest is two layouts,
 * with a line end between. The story of the transfer from the one to the other is told as well, and that of a program
 * of any numbers. */
#include <tegula/draw.h>
#include <tegula/transfer.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WISHES = 8 + 2 * TG_MAX_NDIM, LARGEST = 300000 };

static void require(bool holds) {
    if (!holds) abort();
}

static void check_text(const tg_picture *p, uint32_t style) {
    const size_t n = tg_picture_text(NULL, 0, p, style);
    char        *text = malloc(n + 1);
    require(text != NULL && tg_picture_text(text, n + 1, p, style) == n && strlen(text) == n);
    for (size_t k = 0; k < n && (style & TG_TEXT_ASCII) != 0; k++) require((unsigned char)text[k] < 0x80);
    require(tg_picture_text(text, 5, p, style) == n);
    free(text);
}

static void check_svg(const tg_picture *p, tg_theme theme) {
    const size_t n = tg_picture_svg(NULL, 0, p, theme);
    char        *text = malloc(n + 1);
    require(n < LARGEST && text != NULL && tg_picture_svg(text, n + 1, p, theme) == n && strlen(text) == n);
    require(memcmp(text, "<svg ", 5) == 0 && memcmp(text + n - 7, "</svg>\n", 7) == 0);
    free(text);
}

static void draw(const tg_layout *layout, const tg_picture_params *params, uint8_t style) {
    tg_picture *picture = NULL;
    tg_error    err;
    err.message[0] = '\0';
    const tg_status s = tg_picture_create(&picture, layout, params, &err);
    if (s != TG_OK) {
        require(picture == NULL && err.status == s && err.message[0] != '\0');
        require(s == TG_ERR_ARGUMENT || s == TG_ERR_OVERFLOW);
        return;
    }
    check_text(picture, style & 3u);
    check_svg(picture, (tg_theme)(style >> 2 & 3) % 3);
    tg_picture_destroy(&picture);
    require(picture == NULL);
}

/* ---- transfers ---- */

enum { MOST = 8 };

/* The first place of the storage: 0, or the lowest offset if that is below. */
static int64_t first_place(const tg_layout *l) {
    int64_t low = l->offset;
    for (int32_t i = 0; i < l->nmodes; i++)
        if (l->mode[i].into == TG_TO_MEMORY && l->mode[i].stride < 0 && l->mode[i].count > 1)
            low += (l->mode[i].count - 1) * l->mode[i].stride;
    return low < 0 && tg_layout_numel(l) > 0 ? low : 0;
}

/* The parts of each memory follow each other, from its first place to its last. */
static void check_strip(const tg_story_strip *strip, const tg_layout *l) {
    int64_t next = first_place(l);
    for (int32_t k = 0; k < strip->nparts; k++) {
        require(strip->part[k].from <= next && strip->part[k].to >= strip->part[k].from);
        next = strip->part[k].to + 1 > next ? strip->part[k].to + 1 : next;
    }
    require(strip->nparts == 0 || next == first_place(l) + l->span);
}

static void check_story(const tg_story *s, const tg_story_params *params, uint8_t style) {
    const size_t n = tg_story_text(NULL, 0, s, style & 3u),
                 m = tg_story_svg(NULL, 0, s, (tg_theme)(style >> 2 & 3) % 3);
    char        *text = malloc((n > m ? n : m) + 1);
    require(text != NULL && m < LARGEST);
    require(tg_story_text(text, n + 1, s, style & 3u) == n && strlen(text) == n);
    for (size_t k = 0; k < n && (style & TG_TEXT_ASCII) != 0; k++) require((unsigned char)text[k] < 0x80);
    require(tg_story_svg(text, m + 1, s, (tg_theme)(style >> 2 & 3) % 3) == m && strlen(text) == m);
    require(memcmp(text, "<svg ", 5) == 0 && memcmp(text + m - 7, "</svg>\n", 7) == 0);
    free(text);
    check_strip(&s->host, params->host);
    check_strip(&s->device, params->device);
}

static void tell(const tg_story_params *params, uint8_t style) {
    tg_story *story = NULL;
    tg_error  err;
    err.message[0] = '\0';
    const tg_status s = tg_story_create(&story, params, &err);
    require((s == TG_OK) == (story != NULL));
    require(s == TG_OK || (err.status == s && err.message[0] != '\0'));
    require(s == TG_OK || s == TG_ERR_ARGUMENT || s == TG_ERR_OVERFLOW);
    if (s == TG_OK) check_story(story, params, style);
    tg_story_destroy(&story);
}

/* Up to MOST descriptors: those of the transfer, or made of the wishes' bytes. */
static void tell_transfer(const tg_picture_params *p, const tg_layout *device, const tg_layout *host,
                          const uint8_t *data) {
    static tg_dma program[MOST];
    tg_draw_loop  loop[MOST][TG_DMA_MAX_LOOPS];
    tg_draw_nest  nest[MOST];
    const bool    to_host = data[7] >= 128;
    const tg_dma_params wanted = {.device = device, .host = host,
                                  .direction = to_host ? TG_DEVICE_TO_HOST : TG_HOST_TO_DEVICE};
    size_t count = 0;
    if (tg_dma_build(program, MOST, &count, &wanted, NULL) != TG_OK || count > MOST) count = 0;
    const bool made_up = data[6] % 2 == 1 || count == 0;
    if (made_up) count = 1 + data[1] % 3;
    for (size_t i = 0; i < count; i++) {
        nest[i] = (tg_draw_nest){program[i].nloops, program[i].device_offset, program[i].host_offset, loop[i], "x = y"};
        for (int32_t k = 0; k < program[i].nloops && !made_up; k++)
            loop[i][k] = (tg_draw_loop){program[i].loop[k].range, program[i].loop[k].device_stride,
                                        program[i].loop[k].host_stride};
        if (!made_up) continue;
        const uint8_t *b = data + 8 + 3 * i;
        nest[i] = (tg_draw_nest){3, b[0] % 64, b[1] % 64, loop[i], "x = y"};
        for (int32_t k = 0; k < 3; k++)
            loop[i][k] = (tg_draw_loop){b[k] % 7, (int8_t)(b[k + 1] % 23 - 5), (int8_t)(b[k + 2] % 17 - 3)};
    }
    const tg_story_params params = {p->title, device, host, nest, count, to_host, p->follow, p->width};
    tell(&params, data[5]);
}

/* Mostly inside the tensor, where most of the work is. */
static int64_t pick(uint8_t byte, int64_t size) { return byte < 240 && size > 0 ? byte % size : (int64_t)byte - 248; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tg_desc           desc, other;
    tg_picture_params params = {0};
    int64_t           follow[TG_MAX_NDIM], slice[TG_MAX_NDIM], splits[TG_MAX_NDIM];
    if (size < WISHES || size > 4096) return 0;
    const char  *text = (const char *)data + WISHES;
    const size_t len = size - WISHES;
    const char  *end = len > 0 ? memchr(text, '\n', len) : NULL;
    const size_t first = end != NULL ? (size_t)(end - text) : len;
    char         title[4096];
    if (tg_desc_parse(&desc, text, first, NULL) != TG_OK) return 0;
    memcpy(title, text, first);
    title[first] = '\0';
    for (int32_t d = 0; d < desc.layout.ndim; d++) {
        follow[d] = pick(data[8 + d], desc.layout.shape[d]);
        slice[d] = data[8 + TG_MAX_NDIM + d] % 2 == 0 ? -1 : pick(data[8 + TG_MAX_NDIM + d], desc.layout.shape[d]);
    }
    for (int32_t d = 0; d < desc.layout.ndim; d++) { /* nearly always a divisor */
        splits[d] = data[6] % 8 == 7 ? 3 : 1 + data[6] % 4 * (d == data[7] % 4);
        if (data[6] >= 128 && desc.layout.shape[d] > 0 && d % 2 == 0) splits[d] = desc.layout.shape[d];
    }
    params.title = data[0] & 1 ? title : NULL;
    params.host = data[0] & 2 ? &desc.layout : NULL;
    params.follow = data[0] & 4 ? follow : NULL;
    params.slice = data[0] & 8 ? slice : NULL;
    params.splits = data[0] & 32 ? splits : NULL;
    params.unit_name = data[0] & 16 ? "stick" : NULL;
    params.unit = data[1] < 200 ? data[1] : (int64_t)1 << (data[1] - 200);
    params.views = data[2] & 16 ? 0 : data[2] & 15u;
    params.label = (tg_draw_label)(data[3] % 6);
    params.width = data[4] == 0 ? 0 : data[4] + 30;
    if (end != NULL && tg_desc_parse(&other, end + 1, len - first - 1, NULL) == TG_OK) params.other = &other.layout;
    draw(&desc.layout, &params, data[5]);
    tell_transfer(&params, &desc.layout, params.other != NULL ? params.other : &desc.layout, data);
    return 0;
}
