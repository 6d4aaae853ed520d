/* Any bytes as one line of notation: no crash; an error's place is inside the text; what is accepted
 * prints to text that reads back to the same value, and evaluates both ways. */
#include <tegula/tegula.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

static void check_text(const tg_desc *desc) {
    char          text[8192], again[8192];
    tg_desc       back;
    bool          equal = false;
    const size_t  n = tg_desc_format(text, sizeof text, desc);
    require(n < sizeof text && text[n] == '\0');
    require(tg_desc_parse(&back, text, n, NULL) == TG_OK);
    require(tg_desc_format(again, sizeof again, &back) == n && memcmp(text, again, n) == 0);
    const tg_status s = tg_layout_equal(&equal, NULL, &desc->layout, &back.layout, true, NULL);
    require(s == TG_ERR_LIMIT || (s == TG_OK && equal));
    require(tg_desc_format(again, 3, desc) == n && again[2] == '\0');
}

/* A few coordinates there and back. */
static void check_map(const tg_layout *l, const uint8_t *data, size_t size) {
    int64_t coord[TG_MAX_NDIM] = {0}, first[TG_MAX_NDIM] = {0};
    tg_slot slot;
    if (tg_layout_numel(l) == 0) return;
    for (size_t k = 0; k < 8; k++) {
        uint64_t mix = k * 0x9e3779b97f4a7c15u;
        for (int32_t d = 0; d < l->ndim; d++) {
            mix = mix * 6364136223846793005u + (size > 0 ? data[((size_t)d + k) % size] : 1u);
            coord[d] = k == 1 ? l->shape[d] - 1 : k == 0 ? 0 : (int64_t)((mix >> 1) % (uint64_t)l->shape[d]);
        }
        const int64_t offset = tg_layout_offset(l, coord);
        if (tg_layout_coord(&slot, first, l, offset, NULL) != TG_OK) return;
        require(slot == TG_SLOT_DATA && tg_layout_offset(l, first) == offset);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tg_desc  desc, other;
    tg_error err;
    if (size > 4096) return 0;
    const tg_status s = tg_desc_parse(&desc, (const char *)data, size, &err);
    if (s != TG_OK) {
        require(err.status == s && err.message[0] != '\0' && err.pos <= size);
        return 0;
    }
    require(tg_layout_validate(&desc.layout, &err) == TG_OK);
    check_text(&desc);
    check_map(&desc.layout, data, size);
    for (tg_notation to = TG_NOTATION_STRIDED; to <= TG_NOTATION_SPYRE; to = (tg_notation)(to + 1)) {
        bool equal = false;
        if (tg_desc_convert(&other, &desc, to, &err) != TG_OK) continue;
        const tg_status e = tg_layout_equal(&equal, NULL, &desc.layout, &other.layout, false, NULL);
        require(e == TG_ERR_LIMIT || (e == TG_OK && equal));
    }
    return 0;
}
