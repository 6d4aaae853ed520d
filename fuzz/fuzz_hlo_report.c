/* Reports on HLO text: of any module they are lists in their order, whose sizes add up. */
#include <tegula/hlo_report.h>

#include <stdlib.h>
#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_status(tg_status status, const tg_error *err) {
    CHECK(status == TG_ERR_OVERFLOW && err->status == status && err->message[0] != '\0');
}

static void check_buffers(const tg_hlo_module *m, const tg_hlo_filter *filter) {
    tg_hlo_buffers list;
    tg_error       err;
    int64_t        counted = 0;
    const tg_status status = tg_hlo_buffers_list(&list, m, filter, &err);
    if (status != TG_OK) {
        check_status(status, &err);
        return;
    }
    for (int64_t i = 0; i < list.nbuffers; i++) {
        const tg_hlo_buffer *b = &list.buffer[i];
        CHECK(b->logical_bytes >= 0 && b->physical_bytes >= 0);
        CHECK(b->instruction >= 0 && b->instruction < tg_hlo_get_header(m).ninstructions);
        if (i == 0) continue;
        const tg_hlo_buffer *before = b - 1;
        CHECK(before->physical_bytes - before->logical_bytes >= b->physical_bytes - b->logical_bytes);
        if (before->layout == b->layout)
            CHECK(before->physical_bytes == b->physical_bytes && before->memory_space == b->memory_space);
    }
    for (int64_t i = 0; i < list.nspaces; i++) {
        counted += list.space[i].nbuffers;
        CHECK(list.space[i].logical_bytes >= 0 && list.space[i].physical_bytes >= 0);
    }
    CHECK(counted == list.nbuffers && list.unmeasured >= 0);
    tg_hlo_buffers_free(&list);
}

static void check_moves(const tg_hlo_module *m, const tg_hlo_filter *filter) {
    tg_hlo_moves list;
    tg_error     err;
    if (tg_hlo_moves_list(&list, m, filter, &err) != TG_OK) abort();
    for (int64_t i = 0; i < list.nmoves; i++) {
        const tg_hlo_move *move = &list.move[i];
        const bool         moves = move->kind != TG_HLO_MOVES_NOTHING && move->kind != TG_HLO_MOVES_UNKNOWN;
        CHECK(tg_hlo_move_kind_name(move->kind) != NULL);
        CHECK((move->kind == TG_HLO_MOVES_UNKNOWN) == (move->why != NULL));
        CHECK(move->read_bytes >= 0 && move->written_bytes >= 0);
        CHECK(moves || (move->read_bytes == 0 && move->written_bytes == 0));
    }
    tg_hlo_moves_free(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tg_hlo_module *m = NULL;
    tg_hlo_filter  one = {{0}, {0}};
    char          *text = malloc(size + 1); /* exactly sized, so that reading past the end is seen */
    if (text == NULL) abort();
    memcpy(text, data, size);
    if (tg_hlo_parse(&m, text, size, NULL) == TG_OK) {
        check_buffers(m, NULL);
        check_moves(m, NULL);
        one.computation = tg_hlo_get_computation(m, 0).name;
        if (one.computation.len > 0) {
            check_buffers(m, &one);
            check_moves(m, &one);
        }
    }
    tg_hlo_destroy(&m);
    free(text);
    return 0;
}
