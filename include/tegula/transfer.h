/* transfer.h - DMA programs: how a tensor gets from host memory into a layout and back.
 *
 * A program is a list of descriptors, each a nest of loops without a test, a division or a remainder inside:
 *
 *     for (i0 = 0; i0 < range[0]; i0++) ... for (ik = 0; ik < range[k]; ik++)
 *         device[device_offset + sum of i * device_stride] = host[host_offset + sum of i * host_stride];
 *
 * (the other way round for device to host). All descriptors of a program together carry every element once: padding
 * is never read and never written. A ragged dimension gives a second descriptor for what remains. Conventions are
 * those of tegula.h; offsets and strides count elements, also of packed ones. docs/dma.md tells more.
 * Source: torch-spyre documentation, "DMA Encoding"; the DCI dump of its issue 1303. */
#ifndef TEGULA_TRANSFER_H
#define TEGULA_TRANSFER_H

#include <tegula/tegula.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TG_DMA_MAX_LOOPS 48

/* One loop of a descriptor. */
typedef struct tg_dma_loop {
    int64_t range;         /* steps, >= 1 */
    int64_t device_stride; /* elements in device memory per step */
    int64_t host_stride;   /* elements in host memory per step; 0 where data is replicated */
    int32_t mode;          /* the memory mode of the device layout that it walks, or -1: a part of one, or several */
    int32_t dim;           /* the logical dimension that it walks, or -1: none (copies), or several */
    int64_t step;          /* coordinates of `dim` per step, if dim >= 0; 0: not the same each time */
} tg_dma_loop;

/* One descriptor. A plain value; loops stand outermost first, by decreasing |device_stride|. */
typedef struct tg_dma {
    int32_t     nloops; /* [0, TG_DMA_MAX_LOOPS]; 0 is one element */
    int64_t     device_offset, host_offset;
    tg_dma_loop loop[TG_DMA_MAX_LOOPS];
} tg_dma;

typedef enum tg_dma_direction { TG_HOST_TO_DEVICE = 0, TG_DEVICE_TO_HOST } tg_dma_direction;

typedef struct tg_dma_params { /* device and host must be set; zero is the default of the rest */
    const tg_layout *device;   /* any layout */
    const tg_layout *host;     /* of the same shape; the side that is written must have one place for each element, but
                                * that dimensions of stride 0 (expanded tensors) are written once */
    tg_dma_direction direction;
    bool per_mode; /* do not fuse: each loop walks one memory mode of the device layout (the form of DCI), unless host
                    * and device cut a coordinate at places that do not nest. Of data that the device replicates, every
                    * copy is then read in turn, as torch-spyre does: the last one stays */
    size_t first;  /* leave out so many descriptors: long programs can be made in parts */
} tg_dma_params;

/* The program, with as few descriptors as this library can find and as few loops in each; docs/dma.md says where that
 * is the fewest there can be. Writes at most cap descriptors (out may be NULL if cap is 0) and sets *count to how many
 * the whole program has; *count > cap is no error. A tensor without elements has none. Takes no memory but out and some
 * 100 KiB of stack. Device to host, replicated data is read from its first copy. TG_ERR_ARGUMENT: shapes or element
 * types differ, or the side that is written is not unique. TG_ERR_UNSUPPORTED: a device data format that the type has
 * no conversion to. TG_ERR_LIMIT: the tiles of the two sides overlap in so many ways that one dimension needs over 512
 * pieces, or folds of both conflict and join dimensions of over 2^16 elements, or a descriptor needs over
 * TG_DMA_MAX_LOOPS loops (only the descriptors asked for are looked at; out is unspecified then). TG_ERR_OVERFLOW: the
 * number of descriptors does not fit size_t. */
TG_API tg_status tg_dma_build(tg_dma *out, size_t cap, size_t *count, const tg_dma_params *params, tg_error *err);

/* One entry of `dcsi_` in a DCI object ("data conversion information", how torch-spyre writes programs): an entry for
 * each memory mode of the device layout, INNERMOST FIRST, those of one step included, then loops that walk no single
 * mode. Source: the DCI dump of torch-spyre's issue 1303. */
typedef struct tg_dci {
    int32_t n;
    int64_t size[TG_DMA_MAX_LOOPS], device_stride[TG_DMA_MAX_LOOPS], host_stride[TG_DMA_MAX_LOOPS];
    int64_t device_offset, host_offset;
} tg_dci;

/* The same descriptor in that form; dma was built with per_mode (which is not checked), for the layout of this Spyre
 * tensor and for a host tensor of these strides (NULL: those of desc->host). Entries of one step show the step that the
 * stride_map has there, 1 for -1. TG_ERR_LIMIT if there are over TG_DMA_MAX_LOOPS entries, TG_ERR_ARGUMENT if desc is
 * no Spyre layout. */
TG_API tg_status tg_dci_from_dma(tg_dci *out, const tg_dma *dma, const tg_desc *desc, const int64_t *host_strides,
                                 tg_error *err);

typedef enum tg_dci_kind {
    TG_DCI_INT = 0,
    TG_DCI_TEXT,
    TG_DCI_INTS,   /* a list of numbers, often an empty one */
    TG_DCI_OBJECT, /* the next `n` fields are in it, and not beside it */
    TG_DCI_ENTRIES /* a list of objects: an entry for each descriptor */
} tg_dci_kind;

/* A field of a DCI object. */
typedef struct tg_dci_field {
    const char *name;
    tg_dci_kind kind;
    const char *text;
    int64_t     value;
    int32_t     n; /* of values, or of fields */
    int64_t     values[TG_DMA_MAX_LOOPS];
} tg_dci_field;

/* Field `index` of the DCI object of a transfer between this Spyre layout and a host tensor, in the order of
 * torch-spyre's dump; false behind the last one. Fields that no known program uses have the values of the dump (0,
 * empty lists), because readers look for them. */
TG_API bool tg_dci_get_field(tg_dci_field *out, int32_t index, const tg_desc *desc, const tg_layout *host,
                             tg_dma_direction direction);

/* The same of an entry. */
TG_API bool tg_dci_get_entry_field(tg_dci_field *out, int32_t index, const tg_dci *entry, tg_dma_direction direction);

/* Product of the ranges; -1 if it does not fit int64_t. */
TG_API int64_t tg_dma_elements(const tg_dma *dma);

/* How an executor reads and writes. Zero-initialise: then bits and spans must be given still. */
typedef struct tg_dma_memory {
    int32_t host_bits, device_bits; /* of one element, [1, 4096]; below 8 packed, low bits first, else whole bytes */
    int64_t host_span, device_span; /* elements that may be touched: offsets [0, span) */
    /* Convert one element; both point to a whole number of bytes that hold it in their low bits. NULL: bits are copied,
     * and the widths must be the same. */
    void (*convert)(void *context, void *to, const void *from);
    void *context;
} tg_dma_memory;

/* Execute a program as its definition says, one element after the other: slow, and the judge of all that is fast.
 * Nothing is written unless every descriptor stays inside both memories: TG_ERR_ARGUMENT names the one that does
 * not. */
TG_API tg_status tg_dma_run(const tg_dma *program, size_t count, tg_dma_direction direction, void *device, void *host,
                            const tg_dma_memory *memory, tg_error *err);

/* "((4, 1024, 64), (65536, 64, 1), (64, 256, 1))": ranges, device strides, host strides, as torch-spyre's documentation
 * prints them, and " + (device_offset, host_offset)" where one is not 0. */
TG_API size_t tg_dma_format(char *buf, size_t cap, const tg_dma *dma);

/* The loops as a person reads them, a line each, with what they walk:
 *     for i in range(4):       # dimension 1 by 64
 *       ...
 *         device[i*65536 + j*64 + k] = host[j*256 + i*64 + k]  */
TG_API size_t tg_dma_format_loops(char *buf, size_t cap, const tg_dma *dma, tg_dma_direction direction);

/* A program as a C function `void NAME(device, host)` of C99 without dependencies, for elements of these widths.
 * Where the widths or formats differ it calls CONVERT(x), which the includer defines. TG_ERR_UNSUPPORTED for widths
 * that are no power of two up to 64. *need is the length of the text (snprintf rule); name is a C identifier. */
TG_API tg_status tg_dma_format_c(char *buf, size_t cap, size_t *need, const tg_dma *program, size_t count,
                                 tg_dma_direction direction, const char *name, int32_t device_bits, int32_t host_bits,
                                 bool converts, tg_error *err);

/* ---- engines ----
 *
 * What one descriptor of a real DMA engine can say. A program fits an engine if each of its descriptors does: its loops
 * are the engine's dimensions, the last loop the innermost. The two sides have rules of their own. Base addresses of
 * tensors count as aligned. docs/dma.md tells how programs are cut, docs/sources.md where the shipped numbers are from.
 */
#define TG_ENGINE_MAX_LOOPS 8

/* Which strides a loop of range above 1 may have. */
typedef enum tg_engine_strides {
    TG_STRIDES_ANY = 0,
    TG_STRIDES_POSITIVE,
    TG_STRIDES_POSITIVE_OR_REPEAT /* 0 in the outermost dimension that the engine has, positive elsewhere */
} tg_engine_strides;

/* The rules of one side. Zero is "no limit" in every field. */
typedef struct tg_engine_side {
    int32_t max_loops;                      /* dimensions, [0, TG_ENGINE_MAX_LOOPS] */
    int64_t max_range[TG_ENGINE_MAX_LOOPS]; /* steps, INNERMOST FIRST; the last entry is for all further loops. A field
                                             * of n bits has 2^n - 1, or 2^n where it holds the range less 1 */
    int32_t run_unit;                       /* bytes that one step of max_range[0] counts; 0 is one element */
    int64_t max_stride;                     /* bytes, of any sign */
    int64_t max_bytes;                      /* that the `length_loops` innermost loops (0: all) move */
    int32_t length_loops;
    int32_t granule;           /* bytes: the innermost run and all strides but its own are multiples of it */
    int32_t alignment;         /* bytes: descriptors start at multiples of it */
    tg_engine_strides strides;
    bool unit_run; /* the linear-inner rule: the innermost loop steps by one element, or has one step */
    bool dense;    /* this side is one block without gaps, filled in the order of the loops: it has no strides */
    bool linear;   /* where this side is such a block, it is one transfer, and only its length is limited */
} tg_engine_side;

typedef struct tg_engine {
    const char    *name; /* for messages; NULL is "the engine" */
    tg_engine_side device, host;
    int64_t        max_descriptors; /* of a program */
    int32_t        max_bits;        /* of one element */
    bool           same_width;      /* elements are not converted: both sides have the same width. An engine does not
                                     * see formats: a program that converts between formats of one width is the
                                     * caller's to refuse */
} tg_engine;

/* The engines that are shipped: "spyre", "aie", "tma"; NULL where there is none. They are constants. */
TG_API const tg_engine *tg_engine_at(int32_t i); /* i >= 0, until NULL */
TG_API const tg_engine *tg_engine_find(const char *name, size_t len);

/* TG_OK if the program, with elements of these widths, is one that the engine can run as it stands.
 * TG_ERR_UNREPRESENTABLE names the first descriptor, the field, the value, the limit and, where there is one, the
 * nearest value that would do; err->dim is the loop. TG_ERR_ARGUMENT: a program or an engine that is not sound
 * (negative limits, too many loops). */
TG_API tg_status tg_engine_check(const tg_dma *program, size_t count, const tg_engine *engine, int32_t device_bits,
                                 int32_t host_bits, tg_error *err);

/* A program that moves the same elements and that tg_engine_check passes. Descriptors that fit stay as they are. In
 * others loops are fused, put in another order, factored (loops of one step fill dimensions that stay unused), or cut
 * into several descriptors, as few as a bounded search finds. Writes at most cap descriptors (out may be NULL if cap is
 * 0) and sets *count to how many there are; *count > cap is no error. A program of more descriptors than the engine
 * has can be run in parts: fit it to a copy of the engine without max_descriptors. out is not program. Takes some 70
 * KiB of stack. TG_ERR_UNREPRESENTABLE as above, also if more descriptors are needed than the engine has; TG_ERR_LIMIT
 * if the search ended before it found a way. */
TG_API tg_status tg_engine_fit(tg_dma *out, size_t cap, size_t *count, const tg_dma *program, size_t n,
                               const tg_engine *engine, int32_t device_bits, int32_t host_bits, tg_error *err);

#ifdef __cplusplus
}
#endif

#endif /* TEGULA_TRANSFER_H */
