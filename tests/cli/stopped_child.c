/* Preloaded into the command: a child process stops as soon as it is there, until it is sent SIGCONT. So a test finds
 * it however short its work is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

pid_t fork(void) {
    static pid_t (*real)(void);
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "fork");
    const pid_t child = real();
    if (child == 0) (void)raise(SIGSTOP);
    return child;
}
