/* Names of element types in two protocols: format strings of the struct module, codes of DLPack. */
#include "py_array.h"

#include <string.h>

typedef struct row {
    tg_dtype    dtype;
    const char *format; /* as we write it; NULL if there is none */
    uint8_t     code, bits;
} row;

static const row rows[] = {
    {TG_PRED, "?", DL_BOOL, 8},
    {TG_S8, "b", DL_INT, 8},
    {TG_S16, "h", DL_INT, 16},
    {TG_S32, "i", DL_INT, 32},
    {TG_S64, "q", DL_INT, 64},
    {TG_U8, "B", DL_UINT, 8},
    {TG_U16, "H", DL_UINT, 16},
    {TG_U32, "I", DL_UINT, 32},
    {TG_U64, "Q", DL_UINT, 64},
    {TG_F16, "e", DL_FLOAT, 16},
    {TG_F32, "f", DL_FLOAT, 32},
    {TG_F64, "d", DL_FLOAT, 64},
    {TG_C64, "Zf", DL_COMPLEX, 64},
    {TG_C128, "Zd", DL_COMPLEX, 128},
    {TG_BF16, NULL, DL_BFLOAT, 16},
    {TG_S1, NULL, DL_INT, 1},
    {TG_S2, NULL, DL_INT, 2},
    {TG_S4, NULL, DL_INT, 4},
    {TG_U1, NULL, DL_UINT, 1},
    {TG_U2, NULL, DL_UINT, 2},
    {TG_U4, NULL, DL_UINT, 4},
    {TG_F8E3M4, NULL, DL_F8E3M4, 8},
    {TG_F8E4M3, NULL, DL_F8E4M3, 8},
    {TG_F8E4M3B11FNUZ, NULL, DL_F8E4M3B11FNUZ, 8},
    {TG_F8E4M3FN, NULL, DL_F8E4M3FN, 8},
    {TG_F8E4M3FNUZ, NULL, DL_F8E4M3FNUZ, 8},
    {TG_F8E5M2, NULL, DL_F8E5M2, 8},
    {TG_F8E5M2FNUZ, NULL, DL_F8E5M2FNUZ, 8},
    {TG_F8E8M0FNU, NULL, DL_F8E8M0FNU, 8},
    {TG_F6E2M3FN, NULL, DL_F6E2M3FN, 6},
    {TG_F6E3M2FN, NULL, DL_F6E3M2FN, 6},
    {TG_F4E2M1FN, NULL, DL_F4E2M1FN, 4},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static tg_dtype integer(bool is_signed, Py_ssize_t nbytes) {
    switch (nbytes) {
    case 1: return is_signed ? TG_S8 : TG_U8;
    case 2: return is_signed ? TG_S16 : TG_U16;
    case 4: return is_signed ? TG_S32 : TG_U32;
    case 8: return is_signed ? TG_S64 : TG_U64;
    default: return TG_INVALID;
    }
}

static tg_dtype of_letters(const char *letters, Py_ssize_t nbytes) {
    if (strlen(letters) == 1 && strchr("bhilqn", letters[0]) != NULL) return integer(true, nbytes);
    if (strlen(letters) == 1 && strchr("BHILQNc", letters[0]) != NULL) return integer(false, nbytes);
    for (int i = 0; i < ROWS; i++)
        if (rows[i].format != NULL && strcmp(rows[i].format, letters) == 0 && rows[i].bits == nbytes * 8)
            return rows[i].dtype;
    return TG_INVALID;
}

bool core_is_big_endian(const char *format, Py_ssize_t itemsize) {
    return format != NULL && (*format == '>' || *format == '!') && itemsize > 1;
}

tg_dtype core_dtype_of_format(const char *format, Py_ssize_t itemsize) {
    if (format == NULL) return itemsize == 1 ? TG_U8 : TG_INVALID;
    if (core_is_big_endian(format, itemsize) || *format == '\0') return TG_INVALID;
    return of_letters(strchr("@=<>!", *format) != NULL ? format + 1 : format, itemsize);
}

const char *core_format_of_dtype(tg_dtype dtype) {
    for (int i = 0; i < ROWS; i++)
        if (rows[i].dtype == dtype) return rows[i].format;
    return NULL;
}

tg_dtype core_dtype_of_dl(dl_type type, uint64_t flags) {
    if (type.lanes != 1 || (type.bits < 8 && (flags & DL_IS_PADDED) == 0)) return TG_INVALID;
    for (int i = 0; i < ROWS; i++)
        if (rows[i].code == type.code && rows[i].bits == type.bits) return rows[i].dtype;
    return TG_INVALID;
}

bool core_dl_of_dtype(dl_type *out, uint64_t *flags, tg_dtype dtype) {
    for (int i = 0; i < ROWS; i++)
        if (rows[i].dtype == dtype) {
            *out = (dl_type){rows[i].code, rows[i].bits, 1};
            *flags = rows[i].bits < 8 ? DL_IS_PADDED : 0;
            return true;
        }
    return false;
}
