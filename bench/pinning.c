#define _GNU_SOURCE
#include "pinning.h"

#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* What the process was given at its start. */
static const cpu_set_t *allowed(void) {
    static cpu_set_t set;
    static bool      known;
    if (!known) known = sched_getaffinity(0, sizeof set, &set) == 0;
    return known ? &set : NULL;
}

/* The n-th allowed CPU alone; false if there are fewer. */
static bool nth(cpu_set_t *out, const cpu_set_t *set, int n) {
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, set) || n-- > 0) continue;
        CPU_ZERO(out);
        CPU_SET(cpu, out);
        return true;
    }
    return false;
}

int pin_cpus(void) { return allowed() == NULL ? 1 : CPU_COUNT(allowed()); }

void pin_threads(int threads) {
    const cpu_set_t *all = allowed();
    cpu_set_t        first, second;
    DIR             *dir = opendir("/proc/self/task");
    if (dir != NULL && all != NULL && nth(&first, all, 0) && nth(&second, all, 1)) {
        for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
            const pid_t thread = (pid_t)atoi(e->d_name);
            if (thread <= 0) continue;
            const cpu_set_t *set = threads == 1 ? all : thread == getpid() ? &first : &second;
            (void)sched_setaffinity(thread, sizeof *set, set);
        }
    }
    if (dir != NULL) closedir(dir);
}
