/* A directory that appears whole or not at all: it is filled under the name `.tegula-<process>-<name>` beside the place
 * where it will stand, and renamed. What is replaced with --force is moved aside first, and deleted last:
 *
 *     out                          an earlier bundle
 *     .tegula-4711-out             the new one, until it is whole
 *     .tegula-4711-out.old         the earlier one, until the new one stands in its place
 *
 * Only an empty directory, or one that holds nothing but the files of a bundle, is ever replaced. A process that is
 * killed leaves the new one under its temporary name, which tells whose it was. */
#include "plan.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char manifest[] = "bundle.json";

typedef struct folder {
    const char *said; /* the target as it was asked for */
    char       *target, *temporary, *old;
    bool        replaces; /* something is there that has to be moved aside */
} folder;

static char *join(const char *a, const char *b, const char *c) {
    const size_t len = strlen(a) + strlen(b) + strlen(c) + 1;
    char        *text = cli_allocate(len);
    (void)snprintf(text, len, "%s%s%s", a, b, c);
    return text;
}

/* ---- what is there already -------------------------------------------------------------------- */

/* Is that a name of a file that a bundle has? */
static bool is_ours(const char *name) {
    const size_t len = strlen(name);
    if (strcmp(name, manifest) == 0 || strcmp(name, "report.txt") == 0) return true;
    if (len < 6 || strcmp(name + len - 5, ".json") != 0) return false;
    return strncmp(name, "dci_", 4) == 0 || (name[0] >= '0' && name[0] <= '9');
}

/* The first entry that a bundle does not have, to be freed; NULL if there is none. *any: there are entries. */
static char *find_stranger(bool *any, bool *has_manifest, DIR *dir) {
    const struct dirent *entry;
    *any = *has_manifest = false;
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        *any = true;
        *has_manifest = *has_manifest || strcmp(entry->d_name, manifest) == 0;
        if (!is_ours(entry->d_name)) return join(entry->d_name, "", "");
    }
    return NULL;
}

static int check_contents(folder *f, bool force) {
    bool any, whole;
    DIR *dir = opendir(f->target);
    if (dir == NULL) return cli_fail(CLI_IO, f->said, "%s", strerror(errno));
    char *stranger = find_stranger(&any, &whole, dir);
    int   status = CLI_OK;
    (void)closedir(dir);
    if (any && !force) status = cli_fail(CLI_IO, f->said, "it is not empty; --force replaces an earlier bundle");
    else if (stranger != NULL)
        status = cli_fail(CLI_IO, f->said, "it has '%s', which is no file of a bundle; nothing was replaced",
                          stranger);
    else if (any && !whole)
        status = cli_fail(CLI_IO, f->said, "it has no %s, so it is no bundle; nothing was replaced", manifest);
    f->replaces = any;
    free(stranger);
    return status;
}

/* ---- names -------------------------------------------------------------------------------------- */

/* The directory beside which everything happens, with its slash, and the name in it. */
static int split_path(char **parent, const char **name, char *path) {
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') path[--len] = '\0';
    char *slash = strrchr(path, '/');
    *name = slash != NULL ? slash + 1 : path;
    if (**name == '\0' || strcmp(*name, ".") == 0 || strcmp(*name, "..") == 0)
        return cli_fail(CLI_USAGE, "--out", "'%s' cannot be made anew; give it a name", path);
    *parent = join("", "", "");
    if (slash == NULL) return CLI_OK;
    free(*parent);
    *parent = cli_allocate((size_t)(*name - path) + 1);
    memcpy(*parent, path, (size_t)(*name - path));
    (*parent)[*name - path] = '\0';
    return CLI_OK;
}

static int name_folder(folder *f) {
    char        process[32];
    char       *parent = NULL;
    const char *name;
    const int   status = split_path(&parent, &name, f->target);
    if (status != CLI_OK) return status;
    (void)snprintf(process, sizeof process, ".tegula-%ld-", (long)getpid());
    char *front = join(parent, process, "");
    f->temporary = join(front, name, "");
    f->old = join(front, name, ".old");
    free(front);
    free(parent);
    return CLI_OK;
}

static bool is_working_directory(const struct stat *st) {
    struct stat here;
    return stat(".", &here) == 0 && here.st_dev == st->st_dev && here.st_ino == st->st_ino;
}

/* A symbolic link stays, and what it points to is replaced. */
static int look_at(folder *f, const char *path, bool force) {
    struct stat st;
    f->target = join(path, "", "");
    if (*path == '\0') return cli_fail(CLI_USAGE, "--out", "the name is empty");
    if (stat(path, &st) != 0) return errno == ENOENT ? CLI_OK : cli_fail(CLI_IO, path, "%s", strerror(errno));
    if (!S_ISDIR(st.st_mode)) return cli_fail(CLI_IO, path, "it is no directory");
    if (is_working_directory(&st))
        return cli_fail(CLI_USAGE, "--out", "'%s' is the working directory, which cannot be made anew", path);
    char *real = realpath(path, NULL);
    if (real == NULL) return cli_fail(CLI_IO, path, "%s", strerror(errno));
    free(f->target);
    f->target = real;
    return check_contents(f, force);
}

/* ---- making and replacing ------------------------------------------------------------------------- */

static int make_folder(const folder *f) {
    if (mkdir(f->temporary, 0777) == 0) return CLI_OK;
    return cli_fail(CLI_IO, f->said, "cannot be made: %s", strerror(errno));
}

/* A directory of plain files; what cannot be deleted stays. */
static void delete_folder(const char *path) {
    const struct dirent *entry;
    DIR                 *dir = opendir(path);
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        char *file = join(path, "/", entry->d_name);
        (void)unlink(file);
        free(file);
    }
    if (dir != NULL) (void)closedir(dir);
    (void)rmdir(path);
}

/* An empty directory is replaced by the renaming itself. */
static int put_in_place(const folder *f) {
    if (f->replaces && rename(f->target, f->old) != 0)
        return cli_fail(CLI_IO, f->said, "cannot be moved aside: %s", strerror(errno));
    if (rename(f->temporary, f->target) != 0) {
        const int status = cli_fail(CLI_IO, f->said, "cannot be put in its place: %s", strerror(errno));
        if (f->replaces) (void)rename(f->old, f->target);
        return status;
    }
    if (f->replaces) delete_folder(f->old);
    return CLI_OK;
}

int plan_write(plan_written *out, const plan_view *view, const char *directory, bool force) {
    folder f = {directory, NULL, NULL, NULL, false};
    int    status = look_at(&f, directory, force);
    if (status == CLI_OK) status = name_folder(&f);
    if (status == CLI_OK) status = make_folder(&f);
    if (status == CLI_OK) {
        status = plan_write_bundle(out, view, f.temporary);
        if (status == CLI_OK) status = put_in_place(&f);
        if (status != CLI_OK) delete_folder(f.temporary);
    }
    free(f.target);
    free(f.temporary);
    free(f.old);
    return status;
}

/* ---- files -------------------------------------------------------------------------------------------- */

FILE *plan_open_file(const char *directory, const char *name) {
    char *path = join(directory, "/", name);
    FILE *file = fopen(path, "wb");
    if (file == NULL) (void)cli_fail(CLI_IO, name, "cannot be made: %s", strerror(errno));
    free(path);
    return file;
}

/* Why a stream has failed is found out by writing once more: the first time nobody looked. */
static int find_reason(FILE *file) {
    errno = 0;
    if (ferror(file) != 0) {
        clearerr(file);
        (void)fputc('\n', file);
    }
    return fflush(file) != 0 ? errno : 0;
}

int plan_close_file(FILE *file, const char *name, int status) {
    const bool failed = ferror(file) != 0;
    int        code = find_reason(file);
    errno = 0;
    if (fclose(file) != 0 && code == 0) code = errno;
    if ((!failed && code == 0) || status != CLI_OK) return status;
    return cli_fail(CLI_IO, name, "%s", code != 0 ? strerror(code) : "could not be written");
}
