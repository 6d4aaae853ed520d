/* Files as memory: maps for reading, and new files that appear whole or not at all.
 *
 * A new file is written under a temporary name `.tegula-<process>-<number>` in the directory where it
 * will stand, and renamed onto its path by tg_file_commit:
 *
 *     create    dir/.tegula-4711-0    blocks reserved, zeros, mapped
 *     commit    dir/out.npy           the same file; a reader sees the old one or the new one, no mixture
 *     destroy   (nothing)             if commit was not reached. A process that is killed leaves the
 *                                     temporary file; its name tells whose it was
 *
 * What this costs and does not do:
 *  - The blocks are reserved when the file is made. So a full disk is an error there, and not a SIGBUS at
 *    some store into the map. File systems that cannot reserve get the zeros written instead.
 *  - A file that someone else shortens while it is mapped raises SIGBUS on access: that is how maps are.
 *    Files in use by others should be copied first.
 *  - Commit does not wait for the disk (no fsync): a process that fails leaves the old file or the new one,
 *    but after a power failure the file may be lost or empty, as with any program that just writes.
 *  - A path that is a symbolic link is followed, also one that points to nothing yet: the file that it
 *    names is replaced and the link stays. Permission bits of the replaced file are kept, and a file
 *    that may not be written is not replaced; owner, further names (hard links) and attributes are those
 *    of a new file.
 *  - A file over the process's size limit (ulimit -f) raises SIGXFSZ, and is an error if that is ignored.
 *  - Nothing but regular files is replaced or opened: no devices, FIFOs, sockets, directories. */
#define _DEFAULT_SOURCE 1 /* madvise, and strerror_r as POSIX has it */
#define _FILE_OFFSET_BITS 64

#include <tegula/io.h>

#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* As ISO C allows (7.1.4): this room has no other use for <stdio.h>. */
int rename(const char *from, const char *to);

enum {
    PERMISSIONS = 0777,
    NEW_FILE_MODE = 0666,    /* less what the process masks */
    MAX_LINKS = 40,          /* as many as Linux follows */
    MAX_NAMES = 10000,       /* temporary names to try */
    TEMP_NAME_SIZE = 64,     /* of ".tegula-", two int64 and the rest */
    ZEROS_SIZE = 1 << 16
};

struct tg_file {
    void   *bytes;
    int64_t nbytes;
    char   *target;    /* where commit puts it; NULL in a file opened for reading */
    char   *temporary; /* its name until then; NULL before the file is made and after commit */
    char    text[];    /* room for both */
};

static tg_status fail_path(tg_error *err, const char *verb, const char *path, const char *reason) {
    return tg_fail(err, TG_ERR_IO, "cannot %s %t: %s", verb, path, strlen(path), reason);
}

static tg_status fail_system(tg_error *err, const char *verb, const char *path, int code) {
    char reason[128];
    if (strerror_r(code, reason, sizeof reason) != 0) return fail_path(err, verb, path, "unknown system error");
    return fail_path(err, verb, path, reason);
}

static tg_status fail_room(tg_error *err, const char *path, int64_t nbytes, int code) {
    char reason[128];
    if (code != ENOSPC && code != EDQUOT && code != EFBIG) return fail_system(err, "create", path, code);
    if (strerror_r(code, reason, sizeof reason) != 0) return fail_path(err, "create", path, "unknown system error");
    return tg_fail(err, TG_ERR_IO, "cannot create %t with its %d bytes: %s", path, strlen(path), nbytes, reason);
}

static tg_status check_regular(const struct stat *st, const char *verb, const char *path, tg_error *err) {
    if (S_ISREG(st->st_mode)) return TG_OK;
    return fail_path(err, verb, path, S_ISDIR(st->st_mode) ? "it is a directory" : "it is not a regular file");
}

/* The only allocation of this file. */
static tg_file *new_file(size_t text_size) {
    tg_file *file = malloc(sizeof *file + text_size);
    if (file != NULL) *file = (tg_file){.bytes = NULL, .nbytes = 0, .target = NULL, .temporary = NULL};
    return file;
}

static tg_status fail_memory(tg_error *err, const char *path) {
    return tg_fail(err, TG_ERR_NOMEM, "no memory for the handle of file %t", path, strlen(path));
}

/* Maps nbytes of fd, if there are any. Returns 0 or an error number. */
static int map_file(tg_file *file, int fd, int64_t nbytes, int protection, int sharing) {
    file->nbytes = nbytes;
    if (nbytes == 0) return 0;
    if ((uint64_t)nbytes > PTRDIFF_MAX) return EFBIG;
    void *bytes = mmap(NULL, (size_t)nbytes, protection, sharing, fd, 0);
    if (bytes == MAP_FAILED) return errno;
    file->bytes = bytes;
    return 0;
}

/* ---- reading ------------------------------------------------------------------ */

static tg_status map_for_reading(tg_file **out, int fd, const char *path, tg_error *err) {
    struct stat st;
    if (fstat(fd, &st) != 0) return fail_system(err, "open", path, errno);
    if (check_regular(&st, "open", path, err) != TG_OK) return TG_ERR_IO;
    tg_file *file = new_file(0);
    if (file == NULL) return fail_memory(err, path);
    const int code = map_file(file, fd, st.st_size, PROT_READ, MAP_PRIVATE);
    if (code != 0) {
        tg_file_destroy(&file);
        return fail_system(err, "map", path, code);
    }
    if (file->bytes != NULL) (void)madvise(file->bytes, (size_t)file->nbytes, MADV_SEQUENTIAL);
    *out = file;
    return TG_OK;
}

tg_status tg_file_open(tg_file **out, const char *path, tg_error *err) {
    /* Not blocking, because a FIFO would wait here for a writer before it can be refused. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return fail_system(err, "open", path, errno);
    const tg_status status = map_for_reading(out, fd, path, err);
    (void)close(fd);
    return status;
}

/* ---- writing: where ------------------------------------------------------------- */

typedef struct destination {
    char   path[PATH_MAX]; /* no symbolic link */
    mode_t mode;           /* of the file to make */
    bool   exists;
} destination;

/* Length of the directory part of a path, slash included. */
static size_t directory_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

/* path = what the link at path points to. Returns 0 or an error number. */
static int follow_link(char path[PATH_MAX], const char *link, size_t len) {
    const size_t dir = link[0] == '/' ? 0 : directory_length(path);
    if (dir + len >= PATH_MAX) return ENAMETOOLONG;
    memcpy(path + dir, link, len);
    path[dir + len] = '\0';
    return 0;
}

/* Returns 0 or an error number. The caller's stat has found all errors but these, bar races. */
static int follow_links(char path[PATH_MAX]) {
    char link[PATH_MAX];
    for (int i = 0; i < MAX_LINKS; i++) {
        const ssize_t len = readlink(path, link, sizeof link);
        if (len < 0) return errno == EINVAL || errno == ENOENT ? 0 : errno;
        const int code = follow_link(path, link, (size_t)len);
        if (code != 0) return code;
    }
    return ELOOP;
}

static tg_status check_replaceable(destination *to, const char *path, tg_error *err) {
    struct stat st;
    to->mode = NEW_FILE_MODE;
    to->exists = stat(path, &st) == 0;
    if (!to->exists) return errno == ENOENT && path[0] != '\0' ? TG_OK : fail_system(err, "create", path, errno);
    if (check_regular(&st, "replace", path, err) != TG_OK) return TG_ERR_IO;
    if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0) return fail_system(err, "replace", path, errno);
    to->mode = st.st_mode & PERMISSIONS;
    return TG_OK;
}

static tg_status find_destination(destination *to, const char *path, tg_error *err) {
    const size_t len = strlen(path);
    if (len >= PATH_MAX) return fail_system(err, "create", path, ENAMETOOLONG);
    const tg_status status = check_replaceable(to, path, err);
    if (status != TG_OK) return status;
    memcpy(to->path, path, len + 1);
    const int code = follow_links(to->path);
    return code == 0 ? TG_OK : fail_system(err, "create", path, code);
}

/* ---- writing: the temporary file -------------------------------------------------- */

/* ".tegula-<process>-<attempt>" in the directory of the target, which stands in front of it. */
static char *name_temporary(tg_file *file, int attempt) {
    const size_t dir = directory_length(file->target);
    char        *name = file->target + strlen(file->target) + 1;
    tg_writer    w = tg_writer_make(name, dir + TEMP_NAME_SIZE);
    tg_put_bytes(&w, file->target, dir);
    tg_put_text(&w, ".tegula-");
    tg_put_int(&w, getpid());
    tg_put_char(&w, '-');
    tg_put_int(&w, attempt);
    (void)tg_writer_end(&w);
    return name;
}

/* Returns a file descriptor, or the negative of an error number. */
static int make_temporary(tg_file *file, const destination *to) {
    for (int attempt = 0; attempt < MAX_NAMES; attempt++) {
        char     *name = name_temporary(file, attempt);
        const int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, to->mode);
        if (fd < 0 && errno == EEXIST) continue;
        if (fd < 0) return -errno;
        file->temporary = name;
        /* The mask has been applied, and the replaced file's bits may be more. Where a file system
         * has no such bits this fails, and the fewer bits stay. */
        if (to->exists) (void)fchmod(fd, to->mode);
        return fd;
    }
    return -EEXIST;
}

static int write_zeros(int fd, int64_t nbytes) {
    static const char zeros[ZEROS_SIZE];
    for (int64_t done = 0; done < nbytes;) {
        const size_t  want = nbytes - done < ZEROS_SIZE ? (size_t)(nbytes - done) : ZEROS_SIZE;
        const ssize_t got = pwrite(fd, zeros, want, done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got < 0 ? errno : EIO;
        done += got;
    }
    return 0;
}

static int resize(int fd, int64_t nbytes) {
    int result;
    do result = ftruncate(fd, nbytes);
    while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

/* Gives the file its size and its blocks. Returns 0 or an error number. */
static int reserve(int fd, int64_t nbytes) {
    if (nbytes == 0) return 0;
    int code = resize(fd, nbytes);
    if (code != 0) return code;
    do code = posix_fallocate(fd, 0, nbytes);
    while (code == EINTR);
    return code == EOPNOTSUPP || code == EINVAL || code == ENOSYS ? write_zeros(fd, nbytes) : code;
}

/* Returns 0 or an error number; what it made is removed with the handle. */
static int fill_created(tg_file *file, const destination *to, int64_t nbytes) {
    const int fd = make_temporary(file, to);
    if (fd < 0) return -fd;
    int code = reserve(fd, nbytes);
    if (code == 0) code = map_file(file, fd, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED);
    /* a move writes a few lines here and there; without this the kernel maps whole large folios around each,
     * and the process holds the whole file (measured: 1025 MiB of 1 GiB, with this 67) */
    if (code == 0 && file->bytes != NULL) (void)madvise(file->bytes, (size_t)file->nbytes, MADV_RANDOM);
    (void)close(fd);
    return code;
}

tg_status tg_file_create(tg_file **out, const char *path, int64_t nbytes, tg_error *err) {
    destination to;
    if (nbytes < 0) return tg_fail(err, TG_ERR_ARGUMENT, "a file of %d bytes: the size must not be negative", nbytes);
    const tg_status status = find_destination(&to, path, err);
    if (status != TG_OK) return status;
    const size_t len = strlen(to.path);
    tg_file     *file = new_file(len + 1 + directory_length(to.path) + TEMP_NAME_SIZE);
    if (file == NULL) return fail_memory(err, path);
    file->target = memcpy(file->text, to.path, len + 1);
    const int code = fill_created(file, &to, nbytes);
    if (code != 0) {
        tg_file_destroy(&file);
        return fail_room(err, path, nbytes, code);
    }
    *out = file;
    return TG_OK;
}

tg_status tg_file_commit(tg_file *file, tg_error *err) {
    if (file->temporary == NULL)
        return tg_fail(err, TG_ERR_ARGUMENT, "commit: only a created file can be committed, and only once");
    if (rename(file->temporary, file->target) != 0) return fail_system(err, "replace", file->target, errno);
    file->temporary = NULL;
    return TG_OK;
}

tg_status tg_file_write(const char *path, const void *bytes, size_t nbytes, tg_error *err) {
    if (nbytes > PTRDIFF_MAX) return fail_system(err, "create", path, EFBIG);
    tg_file  *file = NULL;
    tg_status status = tg_file_create(&file, path, (int64_t)nbytes, err);
    if (status != TG_OK) return status;
    if (nbytes > 0) memcpy(file->bytes, bytes, nbytes);
    status = tg_file_commit(file, err);
    tg_file_destroy(&file);
    return status;
}

/* ---- both ----------------------------------------------------------------------- */

void *tg_file_bytes(tg_file *file) { return file->bytes; }

int64_t tg_file_nbytes(const tg_file *file) { return file->nbytes; }

/* Both kinds of map find their contents again in the file: one is shared with it, the other was never written. */
void tg_file_release(tg_file *file) {
    if (file->bytes != NULL) (void)madvise(file->bytes, (size_t)file->nbytes, MADV_DONTNEED);
}

void tg_file_destroy(tg_file **file) {
    if (*file == NULL) return;
    if ((*file)->bytes != NULL) (void)munmap((*file)->bytes, (size_t)(*file)->nbytes);
    if ((*file)->temporary != NULL) (void)unlink((*file)->temporary);
    free(*file);
    *file = NULL;
}
