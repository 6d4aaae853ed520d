#include <stdio.h>
#include <string.h>
#include <tegula/tegula.h>

int main(void) {
    const char *text = "f16[5,100,150] spyre";
    tg_error    err;
    tg_desc     spyre;
    if (tg_desc_parse(&spyre, text, strlen(text), &err) != TG_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }

    /* the same tiling, built by hand: cut the last dimension into sticks of 64, put the digits in order */
    const int64_t shape[] = {5, 100, 150};
    const int32_t order[] = {1, 2, 0, 3};
    tg_layout     tiled;
    bool          equal = false;
    if (tg_layout_strided(&tiled, TG_F16, 3, shape, NULL, 0, &err) != TG_OK ||
        tg_layout_split(&tiled, &tiled, 2, 64, &err) != TG_OK ||
        tg_layout_reorder(&tiled, &tiled, order, &err) != TG_OK ||
        tg_layout_equal(&equal, NULL, &tiled, &spyre.layout, true, &err) != TG_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }

    const int64_t coord[] = {4, 99, 149};
    tg_slot       slot;
    int64_t       found[TG_MAX_NDIM];
    printf("element (4,99,149) is at offset %lld\n", (long long)tg_layout_offset(&tiled, coord));
    if (tg_layout_coord(&slot, found, &tiled, 95999, &err) == TG_OK)
        printf("offset 95999 is %s\n", slot == TG_SLOT_PADDING ? "padding" : "data");
    printf("the two layouts are %s\n", equal ? "equal" : "different");
    return 0;
}
