/* torch-spyre's allocator of the HBM pool. The free list is in the order in which blocks were released. */
#include <tegula/memory.h>

#include "base/checked.h"
#include "base/error.h"
#include "graph/model.h"

#include <stdlib.h>

typedef struct block {
    int64_t address, bytes;
} block;

TG_HLO_TABLE(block_rows, block)

struct tg_pool {
    int64_t    limit, end;
    block_rows list; /* free ones */
};

tg_status tg_pool_create(tg_pool **out, int64_t limit, tg_error *err) {
    if (limit < 0) return tg_fail(err, TG_ERR_ARGUMENT, "the limit of a pool is %d bytes, below 0", limit);
    tg_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL) return tg_graph_no_memory(err);
    pool->limit = limit;
    *out = pool;
    return TG_OK;
}

void tg_pool_destroy(tg_pool **pool) {
    if (*pool == NULL) return;
    free((*pool)->list.rows);
    free(*pool);
    *pool = NULL;
}

/* Takes the front of a free block; one that is used up leaves the list, whose order stays. */
static int64_t take(tg_pool *pool, size_t i, int64_t bytes) {
    block        *b = &pool->list.rows[i];
    const int64_t address = b->address;
    b->address += bytes;
    b->bytes -= bytes;
    if (b->bytes > 0) return address;
    pool->list.count--;
    for (; i < pool->list.count; i++) pool->list.rows[i] = pool->list.rows[i + 1];
    return address;
}

tg_status tg_pool_allocate(int64_t *address, tg_pool *pool, int64_t bytes, tg_error *err) {
    if (bytes < 1) return tg_fail(err, TG_ERR_ARGUMENT, "a pool is asked for %d bytes", bytes);
    for (size_t i = 0; i < pool->list.count; i++) {
        if (pool->list.rows[i].bytes < bytes) continue;
        *address = take(pool, i, bytes);
        return TG_OK;
    }
    *address = -1;
    if (bytes > pool->limit - pool->end) return TG_OK;
    *address = pool->end;
    pool->end += bytes;
    return TG_OK;
}

tg_status tg_pool_release(tg_pool *pool, int64_t address, int64_t bytes, tg_error *err) {
    if (bytes < 1 || address < 0 || address > pool->end || bytes > pool->end - address)
        return tg_fail(err, TG_ERR_ARGUMENT, "%d bytes at %d were never taken from the pool", bytes, address);
    for (size_t i = 0; i < pool->list.count; i++) {
        const block *b = &pool->list.rows[i];
        if (b->address < address + bytes && address < b->address + b->bytes)
            return tg_fail(err, TG_ERR_ARGUMENT, "%d bytes at %d are free already", bytes, address);
    }
    return block_rows_push(&pool->list, (block){address, bytes}) ? TG_OK : tg_graph_no_memory(err);
}

int64_t tg_pool_end(const tg_pool *pool) { return pool->end; }
