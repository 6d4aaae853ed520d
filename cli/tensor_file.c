/* Tensors in files. Files are mapped, so standard input and output go through temporary ones. */
#include "tensor_file.h"

#include "mover.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 1 << 20, RELEASE_CHUNKS = 64, PATH_ROOM = 4096 };

static bool ends_in_npy(const char *path) {
    const size_t len = strlen(path);
    return len >= 4 && strcasecmp(path + len - 4, ".npy") == 0;
}

static bool is_npy(const unsigned char *bytes, int64_t n) { return n >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0; }

/* Of what is no file, such as a pipe of the shell, `<(zcat x.gz)`, the way to use it is told. */
static int fail_open(const char *what, const char *path, const tg_error *err, const char *way) {
    struct stat info;
    const bool  is_stream = stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
    return is_stream ? cli_fail(CLI_IO, what, "%s; %s", err->message, way) : cli_fail_error(what, err);
}

/* ---- temporary files ----------------------------------------------------------------------------- */

static const char elsewhere[] = "; TMPDIR tells where temporary files go";

/* Make an empty file of a new name; -1 and a complaint if that fails. */
static int make_temporary(char path[PATH_ROOM]) {
    const char *dir = getenv("TMPDIR");
    const int   len = snprintf(path, PATH_ROOM, "%s/tegula-XXXXXX", dir != NULL && *dir != '\0' ? dir : "/tmp");
    if (len >= PATH_ROOM) {
        (void)cli_fail(CLI_IO, "TMPDIR", "the path is too long");
        return -1;
    }
    const int fd = mkstemp(path);
    if (fd < 0) (void)cli_fail(CLI_IO, "temporary file", "cannot create %s: %s%s", path, strerror(errno), elsewhere);
    return fd;
}

/* what is "standard output", or a temporary file, which `advice` is about. */
static int write_all(int fd, const unsigned char *bytes, size_t n, const char *what, const char *advice) {
    while (n > 0) {
        const ssize_t written = write(fd, bytes, n);
        if (mover_interrupted() != 0) return mover_interrupted();
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return cli_fail(CLI_IO, what, "%s%s", strerror(errno), advice);
        bytes += written;
        n -= (size_t)written;
    }
    return CLI_OK;
}

/* ---- reading --------------------------------------------------------------------------------------- */

/* How many bytes of standard input are wanted, from its first ones. A bad header is complained of later. */
static int64_t bytes_wanted(const unsigned char *first, size_t n, int64_t most) {
    tg_npy npy;
    if (!is_npy(first, (int64_t)n)) return most;
    if (tg_npy_parse(&npy, first, n, NULL) != TG_OK || npy.data_bytes > INT64_MAX - npy.data_offset) return 0;
    return npy.data_offset + npy.data_bytes;
}

/* The first chunk, which pipes give in pieces, tells how much is wanted. */
static int copy_standard_input(int to, const char *path, int64_t most, bool *goes_on) {
    static unsigned char chunk[CHUNK];
    int64_t              wanted = INT64_MAX, total = 0;
    size_t               n = 0;
    while (total <= wanted) {
        while (mover_interrupted() == 0 && !mover_wait(STDIN_FILENO)) continue;
        if (mover_interrupted() != 0) return mover_interrupted();
        const ssize_t got = read(STDIN_FILENO, chunk + n, CHUNK - n);
        if (got == 0) return CLI_OK;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return cli_fail(CLI_IO, "standard input", "%s", strerror(errno));
        const int status = write_all(to, chunk + n, (size_t)got, path, elsewhere);
        if (status != CLI_OK) return status;
        n += (size_t)got;
        total += got;
        if (n < CHUNK) continue;
        if (total == CHUNK) wanted = bytes_wanted(chunk, n, most);
        n = 0;
    }
    *goes_on = true;
    return CLI_OK;
}

static int open_path(tg_file **out, const char *path) {
    tg_error err;
    if (tg_file_open(out, path, &err) == TG_OK) return CLI_OK;
    return fail_open("input", path, &err, "- reads standard input, from a pipe too");
}

static int open_standard_input(tensor_source *source, int64_t most) {
    char path[PATH_ROOM];
    int  status = cli_claim_standard_input();
    if (status != CLI_OK) return status;
    const int fd = make_temporary(path);
    if (fd < 0) return CLI_IO;
    status = copy_standard_input(fd, path, most, &source->goes_on);
    (void)close(fd);
    if (status == CLI_OK) status = open_path(&source->file, path);
    (void)unlink(path); /* the map keeps the contents */
    return status;
}

static int read_header(tensor_source *source) {
    const int64_t length = tg_file_nbytes(source->file);
    tg_error      err;
    const tg_status status = tg_npy_parse(&source->npy, tg_file_bytes(source->file), (size_t)length, &err);
    if (status == TG_ERR_PARSE) return cli_fail(CLI_USAGE, source->name, "%s (byte %zu)", err.message, err.pos);
    if (status != TG_OK) return cli_fail_error(source->name, &err);
    const int64_t rest = length - source->npy.data_offset, need = source->npy.data_bytes;
    if (rest < need)
        return cli_fail(CLI_USAGE, source->name, "cut short: %lld bytes of elements, and the header promises %lld",
                        (long long)rest, (long long)need);
    if (rest > need)
        return cli_fail(CLI_USAGE, source->name, "%s%lld bytes are left over after the last element",
                        source->goes_on ? "at least " : "", (long long)(rest - need));
    if (source->npy.big_endian)
        return cli_fail(CLI_USAGE, source->name, "its elements are big-endian, and swapping bytes is no layout; save "
                        "it with a.astype(a.dtype.newbyteorder('<'))");
    source->data += source->npy.data_offset;
    source->nbytes = need;
    return CLI_OK;
}

int tensor_open(tensor_source *out, const char *path, int64_t most) {
    const bool    from_stdin = strcmp(path, "-") == 0;
    tensor_source source;
    if (cli_check_name("input", path) != CLI_OK) return CLI_USAGE;
    memset(&source, 0, sizeof source);
    source.name = from_stdin ? "standard input" : path;
    int status = from_stdin ? open_standard_input(&source, most) : open_path(&source.file, path);
    if (status != CLI_OK) return status;
    source.data = tg_file_bytes(source.file);
    source.nbytes = tg_file_nbytes(source.file);
    source.is_npy = from_stdin ? is_npy(source.data, source.nbytes) : ends_in_npy(path);
    if (source.is_npy) status = read_header(&source);
    if (status == CLI_OK) *out = source;
    else tg_file_destroy(&source.file);
    return status;
}

void tensor_close(tensor_source *source) { tg_file_destroy(&source->file); }

/* ---- writing ---------------------------------------------------------------------------------------- */

/* An .npy header for the layout, in C order or else in Fortran order; false if there is none. */
static bool find_header(tg_npy *out, const tg_layout *layout) {
    for (int order = 0; order < 2; order++) {
        tg_npy    npy;
        tg_layout dense;
        bool      equal = false;
        memset(&npy, 0, sizeof npy);
        npy.dtype = layout->dtype;
        npy.fortran_order = order == 1;
        npy.ndim = layout->ndim;
        memcpy(npy.shape, layout->shape, sizeof npy.shape);
        if (layout->format != TG_FORMAT_NATIVE || tg_layout_from_npy(&dense, &npy, NULL) != TG_OK) return false;
        if (tg_layout_equal(&equal, NULL, layout, &dense, true, NULL) != TG_OK || !equal) continue;
        *out = npy;
        return true;
    }
    return false;
}

/* The header's bytes, to be freed; an empty one for raw files. */
static int make_header(unsigned char **bytes, size_t *nbytes, const char *path, const tg_desc *to) {
    tg_npy   npy;
    tg_error err;
    *bytes = NULL;
    *nbytes = 0;
    if (!ends_in_npy(path)) return CLI_OK;
    if (!find_header(&npy, &to->layout)) {
        char *text = cli_canonical_text(to);
        const int status = cli_fail(CLI_USAGE, path, "an .npy file holds dense rows or columns, which %s is not; name "
                                    "the file otherwise for raw bytes", text);
        free(text);
        return status;
    }
    if (tg_npy_format(NULL, 0, nbytes, &npy, &err) != TG_OK) return cli_fail_error(path, &err);
    *bytes = cli_allocate(*nbytes);
    (void)tg_npy_format(*bytes, *nbytes, nbytes, &npy, NULL);
    return CLI_OK;
}

static int create_file(tg_file **out, const char *path, int64_t nbytes) {
    tg_error err;
    if (tg_file_create(out, path, nbytes, &err) == TG_OK) return CLI_OK;
    return fail_open("output", path, &err, "- writes to standard output, to a pipe too");
}

/* A file that will never be committed, in the directory for temporary files. */
static int create_for_standard_output(tg_file **out, int64_t nbytes) {
    char path[PATH_ROOM];
    if (cli_is_terminal(stdout))
        return cli_fail(CLI_USAGE, "standard output", "it is a terminal, which raw bytes would confuse; send it to a "
                        "file or a program");
    const int fd = make_temporary(path);
    if (fd < 0) return CLI_IO;
    (void)close(fd);
    tg_error   err;
    const bool made = tg_file_create(out, path, nbytes, &err) == TG_OK;
    (void)unlink(path);
    return made ? CLI_OK : cli_fail(CLI_IO, "temporary file", "%s%s", err.message, elsewhere);
}

int tensor_create(tensor_sink *out, const char *path, const tg_desc *to) {
    tensor_sink    sink = {path, NULL, strcmp(path, "-") == 0, NULL};
    unsigned char *header = NULL;
    size_t         header_bytes = 0;
    int64_t        nbytes = 0;
    tg_error       err;
    int            status = cli_check_name("output", path);
    if (status == CLI_OK) status = make_header(&header, &header_bytes, path, to);
    if (status != CLI_OK) return status;
    if (tg_layout_nbytes(&nbytes, &to->layout, &err) != TG_OK) status = cli_fail_error("--to", &err);
    else if (__builtin_add_overflow(nbytes, (int64_t)header_bytes, &nbytes))
        status = cli_fail(CLI_USAGE, path, "the size of the file does not fit 64 bits");
    else if (sink.to_stdout) status = create_for_standard_output(&sink.file, nbytes);
    else status = create_file(&sink.file, path, nbytes);
    if (status == CLI_OK && nbytes > 0) {
        sink.data = tg_file_bytes(sink.file);
        if (header_bytes > 0) memcpy(sink.data, header, header_bytes);
        sink.data += header_bytes;
    }
    free(header);
    if (status == CLI_OK) *out = sink;
    return status;
}

static int write_to_standard_output(tensor_sink *sink) {
    const int64_t        nbytes = tg_file_nbytes(sink->file);
    const unsigned char *bytes = tg_file_bytes(sink->file);
    int64_t              chunk = 0;
    for (int64_t at = 0; at < nbytes; at += CHUNK) {
        const int64_t n = nbytes - at < CHUNK ? nbytes - at : CHUNK;
        const int     status = write_all(STDOUT_FILENO, bytes + at, (size_t)n, "standard output", "");
        if (status != CLI_OK) return status;
        if (++chunk % RELEASE_CHUNKS == 0) tg_file_release(sink->file);
    }
    return CLI_OK;
}

int tensor_commit(tensor_sink *sink) {
    tg_error err;
    if (sink->to_stdout) return write_to_standard_output(sink);
    return tg_file_commit(sink->file, &err) == TG_OK ? CLI_OK : cli_fail_error("output", &err);
}

void tensor_discard(tensor_sink *sink) { tg_file_destroy(&sink->file); }
