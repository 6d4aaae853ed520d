/* tegula/io.h - tensors in files: .npy headers, memory maps, files that appear whole or not at all.
 *
 * For tools; a runtime that moves tensors in memory needs only tegula.h, whose conventions hold.
 * Functions here touch the file system; TG_ERR_IO carries the path and the system's reason.
 */
#ifndef TEGULA_IO_H
#define TEGULA_IO_H

#include <tegula/tegula.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an .npy header says. Source: NumPy, numpy.lib.format (versions 1.0, 2.0, 3.0). */
typedef struct tg_npy {
    tg_dtype dtype;
    bool     big_endian;      /* elements of more than one byte are stored most significant first */
    bool     fortran_order;
    int32_t  ndim;
    int64_t  shape[TG_MAX_NDIM];
    int64_t  data_offset;     /* bytes from the start of the file to the first element */
    int64_t  data_bytes;      /* bytes of elements */
} tg_npy;

/* Read a header from the first len bytes of a file. post: never reads past len, and
 * data_offset <= len. TG_ERR_PARSE: error.pos is the byte at fault, the message names the rule.
 * A structured, object or string type, or one that tg_dtype has not, is TG_ERR_UNSUPPORTED. */
TG_API tg_status tg_npy_parse(tg_npy *out, const void *bytes, size_t len, tg_error *err);

/* Write a version 1.0 header for little-endian data, padded to a multiple of 64 bytes as NumPy does.
 * Writes at most cap bytes without a terminator; *need is the length. Types that NumPy lacks are written as NumPy with
 * ml_dtypes writes them ('<V2' for bf16, '<f1' for f8e5m2, '<V1' for the other fp8 and 4-bit types). TG_ERR_ARGUMENT if
 * npy->big_endian is set. */
TG_API tg_status tg_npy_format(void *buf, size_t cap, size_t *need, const tg_npy *npy, tg_error *err);

/* The strided layout of the data, offset 0 at its first byte. TG_ERR_UNSUPPORTED if npy->big_endian is set
 * and elements have more than one byte: the order of bytes is not a layout. */
TG_API tg_status tg_layout_from_npy(tg_layout *out, const tg_npy *npy, tg_error *err);

/* A file mapped into memory. bytes is NULL for an empty file. */
typedef struct tg_file tg_file;

/* Map an existing regular file for reading. If another program makes the file shorter meanwhile, touching
 * what is gone raises SIGBUS, as with every memory map. */
TG_API tg_status tg_file_open(tg_file **out, const char *path, tg_error *err);

/* Make a file of nbytes >= 0 zero bytes under a temporary name beside path (.tegula-*), mapped for writing.
 * Its blocks are reserved, so a full disk is an error here and not a signal later. Nothing appears at
 * path before tg_file_commit; destroying without it removes the temporary file, a killed program leaves
 * it. A symbolic link is followed; a file that is replaced must be writable, and keeps its mode. */
TG_API tg_status tg_file_create(tg_file **out, const char *path, int64_t nbytes, tg_error *err);

TG_API void   *tg_file_bytes(tg_file *file);
TG_API int64_t tg_file_nbytes(const tg_file *file);

/* Give back the physical memory of the pages touched so far; the contents stay. */
TG_API void tg_file_release(tg_file *file);

/* Put a created file at its path, replacing what is there, in one step (rename; no fsync). Bytes may still
 * be written afterwards. TG_ERR_ARGUMENT for a file that was opened, or committed before. */
TG_API tg_status tg_file_commit(tg_file *file, tg_error *err);

/* Unmap; remove a created file that was not committed. *file may be NULL. */
TG_API void tg_file_destroy(tg_file **file);

/* Write a whole small file the same way. */
TG_API tg_status tg_file_write(const char *path, const void *bytes, size_t nbytes, tg_error *err);

#ifdef __cplusplus
}
#endif

#endif /* TEGULA_IO_H */
