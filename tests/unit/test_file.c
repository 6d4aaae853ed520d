/* tg_file_*: each test runs in a fresh folder; after it no temporary file and no descriptor may be left.
 *
 * Two failures come from the system only by injection: link with
 *     -Wl,--wrap=malloc -Wl,--wrap=posix_fallocate -Wl,--wrap=posix_fallocate64
 * or those two tests are skipped. */
#define _DEFAULT_SOURCE 1 /* mkdtemp, symlink */

#include <tegula/io.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* ---- injection ------------------------------------------------------------------ */

static bool malloc_fails;
static bool fallocate_refuses;

extern void *__real_malloc(size_t size) __attribute__((weak));
extern int   __real_posix_fallocate(int fd, off_t offset, off_t len) __attribute__((weak));
extern int   __real_posix_fallocate64(int fd, off_t offset, off_t len) __attribute__((weak));
void        *__wrap_malloc(size_t size);
int          __wrap_posix_fallocate(int fd, off_t offset, off_t len);
int          __wrap_posix_fallocate64(int fd, off_t offset, off_t len);

void *__wrap_malloc(size_t size) { return malloc_fails ? NULL : __real_malloc(size); }

int __wrap_posix_fallocate(int fd, off_t offset, off_t len) {
    return fallocate_refuses ? EOPNOTSUPP : __real_posix_fallocate(fd, offset, len);
}

int __wrap_posix_fallocate64(int fd, off_t offset, off_t len) {
    return fallocate_refuses ? EOPNOTSUPP : __real_posix_fallocate64(fd, offset, len);
}

/* ---- the folder of a test ---------------------------------------------------------- */

typedef struct scene {
    char   home[PATH_MAX]; /* where the process was before */
    char   folder[64];
    int    free_fd; /* the lowest free descriptor */
    mode_t umask;
    uid_t  user;
} scene;

static int lowest_free_fd(void) {
    const int fd = dup(0);
    if (fd >= 0) (void)close(fd);
    return fd;
}

/* Directory entries other than . and .. whose names start so. */
static int count_entries(const char *prefix) {
    int  n = 0;
    DIR *dir = opendir(".");
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
    (void)closedir(dir);
    return n;
}

static int enter(void **state) {
    static scene s;
    strcpy(s.folder, "/tmp/tegula-test-XXXXXX");
    if (getcwd(s.home, sizeof s.home) == NULL || mkdtemp(s.folder) == NULL || chdir(s.folder) != 0) return -1;
    s.umask = umask(022);
    s.user = geteuid();
    s.free_fd = lowest_free_fd();
    *state = &s;
    return 0;
}

static void remove_all(const char *path) {
    DIR *dir = opendir(path);
    if (dir == NULL) return;
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        char child[PATH_MAX];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        (void)snprintf(child, sizeof child, "%.2000s/%s", path, e->d_name);
        if (unlink(child) != 0) remove_all(child);
    }
    (void)closedir(dir);
    (void)rmdir(path);
}

static int leave(void **state) {
    const scene *s = *state;
    const int    left = count_entries(".tegula-"), fd = lowest_free_fd();
    (void)umask(s->umask);
    if (geteuid() != s->user && seteuid(s->user) != 0) return -1;
    remove_all(s->folder);
    if (chdir(s->home) != 0) return -1;
    return left == 0 && fd == s->free_fd ? 0 : -1;
}

static void put(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

static void assert_holds(const char *path, const char *text) {
    char  buf[256] = "";
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    const size_t n = fread(buf, 1, sizeof buf - 1, f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(n, strlen(text));
    assert_string_equal(buf, text);
}

static mode_t mode_of(const char *path) {
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static bool exists(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0;
}

static bool is_link(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static void assert_error(const tg_error *err, tg_status status, const char *message) {
    if (err->status != status || strstr(err->message, message) == NULL)
        fail_msg("wanted %s '%s', got %s: %s", tg_status_name(status), message, tg_status_name(err->status),
                 err->message);
    assert_int_equal(err->dim, -1);
    assert_int_equal(err->pos, 0);
}

static tg_file *created(const char *path, int64_t nbytes) {
    tg_file *file = NULL;
    tg_error err = {.message = ""};
    if (tg_file_create(&file, path, nbytes, &err) != TG_OK) fail_msg("%s", err.message);
    assert_non_null(file);
    assert_int_equal(tg_file_nbytes(file), nbytes);
    return file;
}

static tg_file *opened(const char *path) {
    tg_file *file = NULL;
    tg_error err = {.message = ""};
    if (tg_file_open(&file, path, &err) != TG_OK) fail_msg("%s", err.message);
    return file;
}

static void assert_open_fails(const char *path, const char *message) {
    tg_file *const before = (tg_file *)&malloc_fails;
    tg_file       *file = before;
    tg_error       err = {.message = ""};
    assert_int_equal(tg_file_open(&file, path, &err), TG_ERR_IO);
    assert_error(&err, TG_ERR_IO, message);
    assert_ptr_equal(file, before);
    assert_int_equal(tg_file_open(&file, path, NULL), TG_ERR_IO);
}

static void assert_create_fails(const char *path, int64_t nbytes, tg_status status, const char *message) {
    tg_file *const before = (tg_file *)&malloc_fails;
    tg_file       *file = before;
    tg_error       err = {.message = ""};
    assert_int_equal(tg_file_create(&file, path, nbytes, &err), status);
    assert_error(&err, status, message);
    assert_ptr_equal(file, before);
}

/* ---- reading ------------------------------------------------------------------------ */

static void opens_files(void **state) {
    (void)state;
    put("a", "hello");
    tg_file *file = opened("a");
    assert_int_equal(tg_file_nbytes(file), 5);
    assert_memory_equal(tg_file_bytes(file), "hello", 5);
    tg_file_release(file);
    assert_memory_equal(tg_file_bytes(file), "hello", 5);
    tg_file_destroy(&file);
    assert_null(file);
    tg_file_destroy(&file);
}

static void opens_empty_files(void **state) {
    (void)state;
    put("a", "");
    tg_file *file = opened("a");
    assert_int_equal(tg_file_nbytes(file), 0);
    assert_null(tg_file_bytes(file));
    tg_file_release(file);
    tg_file_destroy(&file);
}

static void refuses_to_open(void **state) {
    (void)state;
    put("file", "");
    assert_int_equal(mkdir("folder", 0777), 0);
    assert_int_equal(mkfifo("fifo", 0666), 0);
    assert_open_fails("none", "cannot open none: No such file or directory");
    assert_open_fails("", "cannot open : No such file or directory");
    assert_open_fails("file/x", "cannot open file/x: Not a directory");
    assert_open_fails("folder", "cannot open folder: it is a directory");
    assert_open_fails("fifo", "cannot open fifo: it is not a regular file");
    assert_open_fails("/dev/null", "cannot open /dev/null: it is not a regular file");
}

/* Nothing is forbidden to root, which CI often is: become somebody else, until `leave`. */
static void respects_permissions(void **state) {
    const uid_t nobody = 65534;
    (void)state;
    if (geteuid() == 0 && (chown(".", nobody, (gid_t)-1) != 0 || seteuid(nobody) != 0)) skip();
    put("secret", "x");
    assert_int_equal(chmod("secret", 0), 0);
    assert_open_fails("secret", "cannot open secret: Permission denied");
    assert_create_fails("secret", 1, TG_ERR_IO, "cannot replace secret: Permission denied");
    assert_int_equal(chmod("secret", 0444), 0);
    assert_create_fails("secret", 1, TG_ERR_IO, "cannot replace secret: Permission denied");
    assert_int_equal(mkdir("closed", 0555), 0);
    assert_create_fails("closed/x", 1, TG_ERR_IO, "cannot create closed/x: Permission denied");
}

/* ---- writing ------------------------------------------------------------------------ */

static void creates_files(void **state) {
    (void)state;
    tg_file *file = created("a", 5);
    assert_memory_equal(tg_file_bytes(file), "\0\0\0\0\0", 5);
    assert_false(exists("a"));
    assert_int_equal(count_entries(".tegula-"), 1);
    memcpy(tg_file_bytes(file), "hel", 3);
    tg_file_release(file);
    assert_memory_equal(tg_file_bytes(file), "hel\0\0", 5);
    memcpy(tg_file_bytes(file), "hello", 5);
    assert_int_equal(tg_file_commit(file, NULL), TG_OK);
    assert_int_equal(count_entries(""), 1);
    assert_holds("a", "hello");
    assert_memory_equal(tg_file_bytes(file), "hello", 5);
    tg_file_destroy(&file);
    assert_null(file);
    assert_holds("a", "hello");
}

static void creates_empty_files(void **state) {
    (void)state;
    tg_file *file = created("a", 0);
    assert_null(tg_file_bytes(file));
    tg_file_release(file);
    assert_int_equal(tg_file_commit(file, NULL), TG_OK);
    tg_file_destroy(&file);
    assert_holds("a", "");
}

static void destroys_what_was_not_committed(void **state) {
    (void)state;
    put("a", "old");
    tg_file *file = created("a", 1000000);
    assert_holds("a", "old");
    tg_file_destroy(&file);
    assert_holds("a", "old");
    assert_int_equal(count_entries(""), 1);
}

static void commits_once(void **state) {
    (void)state;
    tg_error err = {.message = ""};
    tg_file *file = created("a", 1);
    assert_int_equal(tg_file_commit(file, NULL), TG_OK);
    assert_int_equal(tg_file_commit(file, &err), TG_ERR_ARGUMENT);
    assert_error(&err, TG_ERR_ARGUMENT, "only a created file can be committed, and only once");
    tg_file_destroy(&file);
    file = opened("a");
    assert_int_equal(tg_file_commit(file, NULL), TG_ERR_ARGUMENT);
    tg_file_destroy(&file);
}

static void fails_to_commit(void **state) {
    (void)state;
    tg_error err = {.message = ""};
    tg_file *file = created("a", 1);
    assert_int_equal(mkdir("a", 0777), 0);
    assert_int_equal(tg_file_commit(file, &err), TG_ERR_IO);
    assert_error(&err, TG_ERR_IO, "cannot replace a: Is a directory");
    assert_int_equal(rmdir("a"), 0);
    assert_int_equal(tg_file_commit(file, NULL), TG_OK);
    tg_file_destroy(&file);
}

/* Blocks are there from the start: no store into the map can find the disk full. */
static void reserves_blocks(void **state) {
    (void)state;
    struct stat st;
    tg_file    *file = created("a", 3000000);
    assert_int_equal(tg_file_commit(file, NULL), TG_OK);
    assert_int_equal(stat("a", &st), 0);
    assert_int_equal(st.st_size, 3000000);
    assert_true((int64_t)st.st_blocks * 512 >= 3000000);
    tg_file_destroy(&file);
}

static void takes_modes_from_where_they_should(void **state) {
    (void)state;
    static const struct { mode_t mask, old, want; } rows[] = {
        {022, 0, 0644}, {077, 0, 0600}, {0, 0, 0666}, {0222, 0, 0444}, /* a new file: as the mask has it */
        {022, 0600, 0600}, {022, 0666, 0666}, {077, 0755, 0755}, {022, 0640, 0640}, {022, 04755, 0755},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        (void)umask(rows[i].mask);
        if (rows[i].old != 0) {
            put("a", "old");
            assert_int_equal(chmod("a", rows[i].old), 0);
        }
        assert_int_equal(tg_file_write("a", "new", 3, NULL), TG_OK);
        assert_int_equal(mode_of("a"), rows[i].want);
        assert_holds("a", "new");
        assert_int_equal(unlink("a"), 0);
    }
}

static void keeps_two_writers_apart(void **state) {
    (void)state;
    tg_file *one = created("a", 1), *two = created("a", 1);
    assert_int_equal(count_entries(".tegula-"), 2);
    memcpy(tg_file_bytes(one), "1", 1);
    memcpy(tg_file_bytes(two), "2", 1);
    assert_int_equal(tg_file_commit(one, NULL), TG_OK);
    assert_holds("a", "1");
    assert_int_equal(tg_file_commit(two, NULL), TG_OK);
    assert_holds("a", "2");
    tg_file_destroy(&one);
    tg_file_destroy(&two);
    assert_holds("a", "2");
}

/* What a killed process with our number left behind is neither used nor removed. */
static void steps_around_leftovers(void **state) {
    (void)state;
    char left[64];
    (void)snprintf(left, sizeof left, ".tegula-%ld-0", (long)getpid());
    put(left, "left");
    assert_int_equal(tg_file_write("a", "new", 3, NULL), TG_OK);
    assert_holds(left, "left");
    assert_holds("a", "new");
    assert_int_equal(unlink(left), 0);
}

static void follows_links(void **state) {
    (void)state;
    assert_int_equal(mkdir("data", 0777), 0);
    put("data/file", "old");
    assert_int_equal(symlink("data/file", "near"), 0);
    assert_int_equal(symlink("../near", "data/chain"), 0);
    assert_int_equal(symlink("data/later", "dangling"), 0);
    assert_int_equal(tg_file_write("data/chain", "new", 3, NULL), TG_OK);
    assert_true(is_link("data/chain") && is_link("near") && !is_link("data/file"));
    assert_holds("data/file", "new");
    assert_int_equal(tg_file_write("dangling", "new", 3, NULL), TG_OK);
    assert_true(is_link("dangling") && !is_link("data/later"));
    assert_holds("data/later", "new");
    assert_int_equal(chdir("data"), 0);
    assert_int_equal(count_entries(".tegula-"), 0);
    assert_int_equal(chdir(".."), 0);
}

static void follows_absolute_links(void **state) {
    const scene *s = *state;
    char         path[128];
    assert_int_equal(mkdir("data", 0777), 0);
    (void)snprintf(path, sizeof path, "%s/data/file", s->folder);
    assert_int_equal(symlink(path, "far"), 0);
    assert_int_equal(tg_file_write("far", "new", 3, NULL), TG_OK);
    assert_holds("data/file", "new");
    assert_true(is_link("far"));
}

static void refuses_to_create(void **state) {
    (void)state;
    char long_path[PATH_MAX + 8];
    memset(long_path, 'x', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    put("file", "");
    assert_int_equal(mkdir("folder", 0777), 0);
    assert_int_equal(mkfifo("fifo", 0666), 0);
    assert_int_equal(symlink("circle", "circle"), 0);
    assert_int_equal(symlink("none/x", "astray"), 0);
    assert_create_fails("folder", 1, TG_ERR_IO, "cannot replace folder: it is a directory");
    assert_create_fails("folder/", 1, TG_ERR_IO, "cannot replace folder/: it is a directory");
    assert_create_fails("fifo", 1, TG_ERR_IO, "cannot replace fifo: it is not a regular file");
    assert_create_fails("/dev/null", 1, TG_ERR_IO, "cannot replace /dev/null: it is not a regular file");
    assert_create_fails("", 1, TG_ERR_IO, "cannot create : No such file or directory");
    assert_create_fails("none/x", 1, TG_ERR_IO, "cannot create none/x: No such file or directory");
    assert_create_fails("none/", 1, TG_ERR_IO, "cannot create none/: No such file or directory");
    assert_create_fails("file/x", 1, TG_ERR_IO, "cannot create file/x: Not a directory");
    assert_create_fails("circle", 1, TG_ERR_IO, "cannot create circle: Too many levels of symbolic links");
    assert_create_fails("astray", 1, TG_ERR_IO, "cannot create astray: No such file or directory");
    assert_create_fails(long_path, 1, TG_ERR_IO, "File name too long");
    assert_create_fails("a", -1, TG_ERR_ARGUMENT, "a file of -1 bytes: the size must not be negative");
    assert_create_fails("a", INT64_MAX, TG_ERR_IO, "cannot create a with its 9223372036854775807 bytes: ");
    assert_false(exists("a"));
    assert_int_equal(count_entries(""), 5);
}

static void writes_whole_files(void **state) {
    (void)state;
    tg_error err = {.message = ""};
    assert_int_equal(tg_file_write("a", "hello", 5, NULL), TG_OK);
    assert_holds("a", "hello");
    assert_int_equal(tg_file_write("a", NULL, 0, NULL), TG_OK);
    assert_holds("a", "");
    assert_int_equal(tg_file_write("none/a", "hello", 5, &err), TG_ERR_IO);
    assert_error(&err, TG_ERR_IO, "cannot create none/a: No such file or directory");
    assert_int_equal(tg_file_write("b", "", SIZE_MAX, &err), TG_ERR_IO);
    assert_error(&err, TG_ERR_IO, "cannot create b: File too large");
}

/* ---- injected failures ----------------------------------------------------------------- */

static void reports_lack_of_memory(void **state) {
    (void)state;
    if (__real_malloc == NULL) skip();
    tg_file *file = NULL;
    tg_error err = {.message = ""};
    put("a", "old");
    malloc_fails = true;
    const tg_status open_status = tg_file_open(&file, "a", &err);
    const tg_status create_status = tg_file_create(&file, "a", 1, &err);
    const tg_status write_status = tg_file_write("a", "new", 3, &err);
    malloc_fails = false;
    assert_int_equal(open_status, TG_ERR_NOMEM);
    assert_int_equal(create_status, TG_ERR_NOMEM);
    assert_int_equal(write_status, TG_ERR_NOMEM);
    assert_error(&err, TG_ERR_NOMEM, "no memory for the handle of file a");
    assert_null(file);
    assert_holds("a", "old");
    assert_int_equal(count_entries(""), 1);
}

/* A size that is no multiple of the zeros that are written at a time. */
static void writes_zeros_where_blocks_cannot_be_reserved(void **state) {
    if (__real_posix_fallocate == NULL && __real_posix_fallocate64 == NULL) skip();
    fallocate_refuses = true;
    reserves_blocks(state);
    tg_file *file = created("b", 200001);
    fallocate_refuses = false;
    const char *bytes = tg_file_bytes(file);
    for (size_t i = 0; i < 200001; i++) assert_int_equal(bytes[i], 0);
    tg_file_destroy(&file);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(opens_files),
        TEST(opens_empty_files),
        TEST(refuses_to_open),
        TEST(respects_permissions),
        TEST(creates_files),
        TEST(creates_empty_files),
        TEST(destroys_what_was_not_committed),
        TEST(commits_once),
        TEST(fails_to_commit),
        TEST(reserves_blocks),
        TEST(takes_modes_from_where_they_should),
        TEST(keeps_two_writers_apart),
        TEST(steps_around_leftovers),
        TEST(follows_links),
        TEST(follows_absolute_links),
        TEST(refuses_to_create),
        TEST(writes_whole_files),
        TEST(reports_lack_of_memory),
        TEST(writes_zeros_where_blocks_cannot_be_reserved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
