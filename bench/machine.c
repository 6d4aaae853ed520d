#define _GNU_SOURCE
#include "machine.h"

#include "copies.h"
#include "onednn.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#if defined(__GLIBC__)
#  include <gnu/libc-version.h>
#endif

#ifndef BENCH_FLAGS
#  define BENCH_FLAGS "not recorded"
#endif

enum { VALUE = 200 };

/* What follows "key :" in a file of such lines. */
static void after_key(char *out, const char *path, const char *key) {
    char  line[512];
    FILE *f = fopen(path, "r");
    snprintf(out, VALUE, "unknown");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        char *value = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) != 0 || value == NULL) continue;
        value += 1 + strspn(value + 1, " \t");
        value[strcspn(value, "\n")] = '\0';
        snprintf(out, VALUE, "%.*s", VALUE - 1, value);
        break;
    }
    if (f != NULL) fclose(f);
}

static bool first_line(char *out, size_t cap, const char *path) {
    FILE *f = fopen(path, "r");
    if (f == NULL) return false;
    const bool good = fgets(out, (int)cap, f) != NULL;
    fclose(f);
    if (good) out[strcspn(out, "\n")] = '\0';
    return good;
}

/* "L1 Data 32K, L2 Unified 1024K, ..." of the first CPU. */
static void caches(char *out) {
    size_t used = 0;
    snprintf(out, VALUE, "unknown");
    for (int i = 0; i < 8; i++) {
        char path[96], level[32], type[32], size[32];
        bool good = true;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        good = good && first_line(level, sizeof level, path);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
        good = good && first_line(type, sizeof type, path);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        good = good && first_line(size, sizeof size, path);
        if (!good || strcmp(type, "Instruction") == 0 || used + 32 > VALUE) continue;
        used += (size_t)snprintf(out + used, VALUE - used, "%sL%s %s", used == 0 ? "" : ", ", level, size);
    }
}

static void huge_pages(char *out) {
    char   have[VALUE], all[VALUE], mode[64] = "unknown";
    double got, total;
    after_key(have, "/proc/self/smaps_rollup", "AnonHugePages");
    after_key(all, "/proc/self/smaps_rollup", "Anonymous");
    got = strtod(have, NULL) / 1024;
    total = strtod(all, NULL) / 1024;
    (void)first_line(mode, sizeof mode, "/sys/kernel/mm/transparent_hugepage/enabled");
    snprintf(out, VALUE, "%.0f of %.0f MiB of memory, by madvise (system: %s)", got, total, mode);
}

static void compiler(char *out) {
#if defined(__clang__)
    snprintf(out, VALUE, "%s, flags %s", __VERSION__, BENCH_FLAGS);
#else
    snprintf(out, VALUE, "gcc %s, flags %s", __VERSION__, BENCH_FLAGS);
#endif
}

static void system_name(char *out) {
    struct utsname u;
    const char    *libc = "unknown C library";
#if defined(__GLIBC__)
    libc = gnu_get_libc_version();
#endif
    if (uname(&u) != 0) snprintf(out, VALUE, "unknown, C library %s", libc);
    else snprintf(out, VALUE, "%s %.60s %.20s, C library %s", u.sysname, u.release, u.machine, libc);
}

static void load(char *out) {
    double l[3];
    if (getloadavg(l, 3) == 3) snprintf(out, VALUE, "%.2f %.2f %.2f", l[0], l[1], l[2]);
    else snprintf(out, VALUE, "unknown");
}

typedef struct fact {
    const char *key;
    char        value[VALUE];
} fact;

enum { FACTS = 10 };

/* Gathered by the first call, so that the header and the file agree and the load is that before the run. */
static const fact *facts(void) {
    static fact  f[FACTS];
    const time_t t = time(NULL);
    if (f[0].key != NULL) return f;
    f[0].key = "tegula";
    snprintf(f[0].value, VALUE, "%s", tg_version());
    f[1].key = "cpu";
    after_key(f[1].value, "/proc/cpuinfo", "model name");
    f[2].key = "cpus";
    snprintf(f[2].value, VALUE, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    f[3].key = "caches";
    caches(f[3].value);
    f[4].key = "system";
    system_name(f[4].value);
    f[5].key = "compiler";
    compiler(f[5].value);
    f[6].key = "huge pages";
    huge_pages(f[6].value);
    f[7].key = "load";
    load(f[7].value);
    f[8].key = "peers";
    snprintf(f[8].value, VALUE, "oneDNN %s; non-temporal copy: %s", onednn_version(), ntcopy_name());
    f[9].key = "date";
    strftime(f[9].value, VALUE, "%Y-%m-%d %H:%M UTC", gmtime(&t));
    return f;
}

void machine_print(FILE *f) {
    const fact *const all = facts();
    for (int i = 0; i < FACTS; i++) fprintf(f, "%s: %s\n", all[i].key, all[i].value);
}

/* Values are one line of text; quotes and backslashes are all that JSON minds in them. */
static void json_text(FILE *f, const char *text) {
    fputc('"', f);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', f);
        if ((unsigned char)*text >= ' ') fputc(*text, f);
    }
    fputc('"', f);
}

void machine_json(FILE *f) {
    const fact *const all = facts();
    for (int i = 0; i < FACTS; i++) {
        fprintf(f, "%s\n  \"%s\": ", i == 0 ? "{" : ",", all[i].key);
        json_text(f, all[i].value);
    }
    fprintf(f, "\n }");
}
