/* .npy headers: any bytes give a header that keeps the promises of io.h, or an error within the bytes;
 * what was read is written and read again to the same value, and is a valid layout. */
#include <tegula/io.h>

#include <stdlib.h>
#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(const tg_error *err, tg_status status, size_t size) {
    CHECK(status == TG_ERR_PARSE || status == TG_ERR_LIMIT || status == TG_ERR_OVERFLOW ||
          status == TG_ERR_UNSUPPORTED);
    CHECK(err->status == status);
    CHECK(status == TG_ERR_PARSE ? err->pos <= size : err->pos == 0);
    CHECK(err->message[0] != '\0' && memchr(err->message, '\0', sizeof err->message) != NULL);
    CHECK(strchr(err->message, '\n') == NULL);
}

static int64_t elements(const tg_npy *npy) {
    int64_t n = 1;
    for (int32_t d = 0; d < npy->ndim; d++)
        if (npy->shape[d] == 0) return 0;
    for (int32_t d = 0; d < npy->ndim; d++) CHECK(!__builtin_mul_overflow(n, npy->shape[d], &n));
    return n;
}

static void check_header(const tg_npy *npy, size_t size) {
    const int64_t item = tg_dtype_storage_bits(npy->dtype) / 8;
    int64_t       bytes;
    CHECK(item > 0 && !(npy->big_endian && item == 1));
    CHECK(npy->ndim >= 0 && npy->ndim <= TG_MAX_NDIM);
    for (int32_t d = 0; d < TG_MAX_NDIM; d++) CHECK(d < npy->ndim ? npy->shape[d] >= 0 : npy->shape[d] == 0);
    CHECK(npy->data_offset >= 12 && (uint64_t)npy->data_offset <= size);
    CHECK(!__builtin_mul_overflow(elements(npy), item, &bytes) && bytes == npy->data_bytes);
}

static bool same_header(const tg_npy *a, const tg_npy *b) {
    return a->dtype == b->dtype && a->big_endian == b->big_endian && a->fortran_order == b->fortran_order &&
           a->ndim == b->ndim && memcmp(a->shape, b->shape, sizeof a->shape) == 0 && a->data_bytes == b->data_bytes;
}

/* The header alone is enough, and one byte less is not. */
static void check_extent(const tg_npy *npy, const uint8_t *data) {
    tg_npy       again;
    const size_t end = (size_t)npy->data_offset;
    CHECK(tg_npy_parse(&again, data, end, NULL) == TG_OK && same_header(&again, npy));
    CHECK(tg_npy_parse(&again, data, end - 1, NULL) == TG_ERR_PARSE);
}

static void check_round_trip(tg_npy npy) {
    uint8_t buf[1024];
    size_t  need = 0;
    tg_npy  again;
    if (npy.big_endian) CHECK(tg_npy_format(buf, sizeof buf, &need, &npy, NULL) == TG_ERR_ARGUMENT);
    npy.big_endian = false;
    CHECK(tg_npy_format(buf, sizeof buf, &need, &npy, NULL) == TG_OK);
    CHECK(need <= sizeof buf && need % 64 == 0);
    CHECK(tg_npy_parse(&again, buf, need, NULL) == TG_OK);
    CHECK(same_header(&again, &npy) && (uint64_t)again.data_offset == need);
}

static void check_layout(const tg_npy *npy) {
    tg_layout       layout;
    const tg_status status = tg_layout_from_npy(&layout, npy, NULL);
    if (npy->big_endian && tg_dtype_bits(npy->dtype) > 8) {
        CHECK(status == TG_ERR_UNSUPPORTED);
        return;
    }
    if (status != TG_OK) {
        /* Strides of a tensor without elements may not fit where its bytes do. */
        CHECK(status == TG_ERR_OVERFLOW && (elements(npy) == 0 || npy->data_bytes > INT64_MAX / 8));
        return;
    }
    CHECK(tg_layout_validate(&layout, NULL) == TG_OK);
    CHECK(tg_layout_numel(&layout) == elements(npy) && layout.span == elements(npy));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tg_npy          npy, before;
    tg_error        err;
    memset(&npy, 0x5a, sizeof npy);
    before = npy;
    const tg_status status = tg_npy_parse(&npy, data, size, &err);
    if (status != TG_OK) {
        check_error(&err, status, size);
        CHECK(memcmp(&npy, &before, sizeof npy) == 0);
        return 0;
    }
    check_header(&npy, size);
    check_extent(&npy, data);
    check_round_trip(npy);
    check_layout(&npy);
    return 0;
}
