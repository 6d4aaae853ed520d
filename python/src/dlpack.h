/* The structs of DLPack 1.1, which arrays are handed over in. Source: dmlc/dlpack, the protocol that the Python array
 * API standard names; written down here from its specification, so that nothing need be installed. */
#ifndef TEGULA_PYTHON_DLPACK_H
#define TEGULA_PYTHON_DLPACK_H

#include <stdint.h>

enum { DL_MAJOR = 1, DL_MINOR = 1 };

/* Kinds of devices whose memory the processor reads. */
enum { DL_CPU = 1, DL_CUDA_HOST = 3, DL_ROCM_HOST = 11 };

enum dl_code {
    DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_COMPLEX = 5, DL_BOOL = 6, DL_F8E3M4 = 7, DL_F8E4M3 = 8,
    DL_F8E4M3B11FNUZ = 9, DL_F8E4M3FN = 10, DL_F8E4M3FNUZ = 11, DL_F8E5M2 = 12, DL_F8E5M2FNUZ = 13, DL_F8E8M0FNU = 14,
    DL_F6E2M3FN = 15, DL_F6E3M2FN = 16, DL_F4E2M1FN = 17
};

enum dl_flags {
    DL_READ_ONLY = 1 << 0,
    DL_IS_COPIED = 1 << 1,
    DL_IS_PADDED = 1 << 2 /* elements of less than 8 bits have a byte each */
};

typedef struct dl_device {
    int32_t type, id;
} dl_device;

typedef struct dl_type {
    uint8_t  code, bits;
    uint16_t lanes;
} dl_type;

typedef struct dl_tensor {
    void     *data;
    dl_device device;
    int32_t   ndim;
    dl_type   dtype;
    int64_t  *shape, *strides; /* strides may be NULL: row-major and dense */
    uint64_t  byte_offset;
} dl_tensor;

/* In a capsule "dltensor". */
typedef struct dl_managed {
    dl_tensor tensor;
    void     *context;
    void (*deleter)(struct dl_managed *self); /* may be NULL */
} dl_managed;

/* In a capsule "dltensor_versioned". Of another major version only the deleter may be touched. */
typedef struct dl_versioned {
    uint32_t major, minor;
    void    *context;
    void (*deleter)(struct dl_versioned *self); /* may be NULL */
    uint64_t  flags;
    dl_tensor tensor;
} dl_versioned;

#endif
