/* Memory of the device. Large pieces that come back are kept for the next tensor of that size: the operating system
 * clears fresh pages one by one, which takes longer than filling them. What is kept counts as free, and never is more
 * than KEPT_BYTES; torch.spyre.empty_cache() gives it up. */
#include "spyre.h"

#include <pthread.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#  define KEEPS 0 /* so that a sanitizer sees every use after the end */
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#    define KEEPS 0
#  endif
#endif
#if !defined(KEEPS)
#  define KEEPS 1
#endif

enum { ALIGNMENT = 256, LARGE = 1 << 20, KEPT_PIECES = 64 };

static const int64_t KEPT_BYTES = (int64_t)1 << 29;

typedef struct piece {
    void   *memory;
    int64_t bytes;
} piece;

/* What the operating system has given, in whole pieces. */
static struct {
    pthread_mutex_t lock;
    int64_t         bytes, peak;
} held = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void hold(int64_t bytes) {
    pthread_mutex_lock(&held.lock);
    held.bytes += bytes;
    if (held.bytes > held.peak) held.peak = held.bytes;
    pthread_mutex_unlock(&held.lock);
}

static void let_go(piece p) {
    if (p.memory == NULL) return;
    hold(-p.bytes);
    free(p.memory);
}

void spyre_held(int64_t *bytes, int64_t *peak) {
    pthread_mutex_lock(&held.lock);
    *bytes = held.bytes;
    *peak = held.peak;
    pthread_mutex_unlock(&held.lock);
}

void spyre_forget_peak(void) {
    pthread_mutex_lock(&held.lock);
    held.peak = held.bytes;
    pthread_mutex_unlock(&held.lock);
}

static struct {
    pthread_mutex_t lock;
    piece           at[KEPT_PIECES]; /* oldest first */
    int32_t         n;
    int64_t         bytes;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Large pieces are whole MiB, so that sizes that are nearly the same share them. */
static int64_t rounded(int64_t bytes) {
    return bytes < LARGE || bytes > INT64_MAX - LARGE ? bytes : (bytes + LARGE - 1) & ~(int64_t)(LARGE - 1);
}

/* With the lock held. */
static piece take_out(int32_t i) {
    const piece out = kept.at[i];
    kept.bytes -= out.bytes;
    for (kept.n--; i < kept.n; i++) kept.at[i] = kept.at[i + 1];
    return out;
}

static void *find_kept(int64_t bytes) {
    void *memory = NULL;
    pthread_mutex_lock(&kept.lock);
    for (int32_t i = kept.n; i-- > 0 && memory == NULL;)
        if (kept.at[i].bytes == bytes) memory = take_out(i).memory;
    pthread_mutex_unlock(&kept.lock);
    return memory;
}

void *spyre_take(int64_t bytes) {
    void         *memory = NULL;
    const int64_t size = rounded(bytes > 0 ? bytes : 1);
    if (KEEPS && size >= LARGE && (memory = find_kept(size)) != NULL) return memory;
    if (posix_memalign(&memory, ALIGNMENT, (size_t)size) != 0) return NULL;
    hold(size);
    return memory;
}

void spyre_give(void *memory, int64_t bytes) {
    const int64_t size = rounded(bytes > 0 ? bytes : 1);
    if (!KEEPS || size < LARGE || size > KEPT_BYTES || memory == NULL) {
        let_go((piece){memory, size});
        return;
    }
    piece   old[KEPT_PIECES];
    int32_t n = 0;
    pthread_mutex_lock(&kept.lock);
    while (kept.n == KEPT_PIECES || kept.bytes + size > KEPT_BYTES) old[n++] = take_out(0);
    kept.at[kept.n++] = (piece){memory, size};
    kept.bytes += size;
    pthread_mutex_unlock(&kept.lock);
    while (n > 0) let_go(old[--n]);
}

void spyre_give_up(void) {
    piece old;
    do {
        pthread_mutex_lock(&kept.lock);
        old = kept.n > 0 ? take_out(kept.n - 1) : (piece){NULL, 0};
        pthread_mutex_unlock(&kept.lock);
        let_go(old);
    } while (old.memory != NULL);
}
