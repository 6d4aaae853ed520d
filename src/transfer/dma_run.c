/* The interpreter of programs: the definition in code, and the judge of what is faster.
 *
 * Elements of whole bytes are copied as bytes; those below 8 bits are cut out of theirs, low bits first. */
#include "transfer/dma.h"

#include "base/error.h"

#include <string.h>

enum { MAX_BITS = 4096, MAX_BYTES = MAX_BITS / 8 };

static tg_status check_bits(const char *side, int32_t bits, tg_error *err) {
    if (bits >= 1 && bits <= MAX_BITS && (bits < 8 ? 8 % bits == 0 : bits % 8 == 0)) return TG_OK;
    return tg_fail(err, TG_ERR_ARGUMENT, "%s elements of %d bits: 1, 2, 4 or whole bytes up to %d bits are known", side,
                   (int64_t)bits, (int64_t)MAX_BITS);
}

/* All offsets of one side of descriptor i lie in [0, span). */
static tg_status check_side(const tg_dma *dma, size_t i, bool is_device, int64_t span, tg_error *err) {
    int64_t low = is_device ? dma->device_offset : dma->host_offset, high = low, reach;
    bool    fits = true;
    for (int32_t k = 0; k < dma->nloops && fits; k++) {
        const tg_dma_loop *l = &dma->loop[k];
        if (l->range < 1)
            return tg_fail(err, TG_ERR_ARGUMENT, "descriptor %d: loop %d has range %d, which must be at least 1",
                           (int64_t)i, (int64_t)k, l->range);
        fits = tg_mul(&reach, l->range - 1, is_device ? l->device_stride : l->host_stride) &&
               tg_add(reach < 0 ? &low : &high, reach < 0 ? low : high, reach);
    }
    if (fits && low >= 0 && high < span) return TG_OK;
    return tg_fail(err, TG_ERR_ARGUMENT, "descriptor %d reaches outside the %d elements of %s memory", (int64_t)i,
                   span, is_device ? "device" : "host");
}

static tg_status check(const tg_dma *program, size_t count, const tg_dma_memory *m, tg_error *err) {
    int64_t   bytes;
    tg_status s = check_bits("host", m->host_bits, err);
    if (s == TG_OK) s = check_bits("device", m->device_bits, err);
    if (s == TG_OK && m->convert == NULL && m->host_bits != m->device_bits)
        s = tg_fail(err, TG_ERR_ARGUMENT, "host elements of %d bits and device elements of %d need a conversion",
                    (int64_t)m->host_bits, (int64_t)m->device_bits);
    if (s == TG_OK && (m->host_span < 0 || m->device_span < 0 || !tg_bytes_of(&bytes, m->host_span, m->host_bits) ||
                       !tg_bytes_of(&bytes, m->device_span, m->device_bits)))
        s = tg_fail(err, TG_ERR_ARGUMENT, "memories of %d and %d elements are not possible", m->host_span,
                    m->device_span);
    for (size_t i = 0; i < count && s == TG_OK; i++) {
        if (program[i].nloops < 0 || program[i].nloops > TG_DMA_MAX_LOOPS)
            return tg_fail(err, TG_ERR_ARGUMENT, "descriptor %d has %d loops; [0, %d] are possible", (int64_t)i,
                           (int64_t)program[i].nloops, (int64_t)TG_DMA_MAX_LOOPS);
        s = check_side(&program[i], i, true, m->device_span, err);
        if (s == TG_OK) s = check_side(&program[i], i, false, m->host_span, err);
    }
    return s;
}

static void load(unsigned char *element, const unsigned char *memory, int64_t at, int32_t bits) {
    if (bits >= 8) {
        memcpy(element, memory + at * (bits / 8), (size_t)bits / 8);
        return;
    }
    const int64_t per_byte = 8 / bits;
    element[0] = (unsigned char)(memory[at / per_byte] >> (at % per_byte * bits) & ((1 << bits) - 1));
}

static void store(unsigned char *memory, int64_t at, const unsigned char *element, int32_t bits) {
    if (bits >= 8) {
        memcpy(memory + at * (bits / 8), element, (size_t)bits / 8);
        return;
    }
    const int64_t  per_byte = 8 / bits;
    const int      shift = (int)(at % per_byte * bits), mask = ((1 << bits) - 1) << shift;
    unsigned char *byte = &memory[at / per_byte];
    *byte = (unsigned char)((*byte & ~mask) | (element[0] << shift & mask));
}

typedef struct runner {
    const tg_dma_memory *memory;
    bool                 is_to_device;
    unsigned char       *device, *host;
} runner;

static void move(const runner *r, int64_t device, int64_t host) {
    const tg_dma_memory *m = r->memory;
    unsigned char        from[MAX_BYTES], to[MAX_BYTES];
    if (r->is_to_device) load(from, r->host, host, m->host_bits);
    else load(from, r->device, device, m->device_bits);
    if (m->convert != NULL) m->convert(m->context, to, from);
    const unsigned char *result = m->convert != NULL ? to : from;
    if (r->is_to_device) store(r->device, device, result, m->device_bits);
    else store(r->host, host, result, m->host_bits);
}

static void run_loops(const runner *r, const tg_dma *dma, int32_t level, int64_t device, int64_t host) {
    if (level == dma->nloops) {
        move(r, device, host);
        return;
    }
    const tg_dma_loop *l = &dma->loop[level];
    for (int64_t i = 0; i < l->range; i++)
        run_loops(r, dma, level + 1, device + i * l->device_stride, host + i * l->host_stride);
}

tg_status tg_dma_run(const tg_dma *program, size_t count, tg_dma_direction direction, void *device, void *host,
                     const tg_dma_memory *memory, tg_error *err) {
    if (direction != TG_HOST_TO_DEVICE && direction != TG_DEVICE_TO_HOST)
        return tg_fail(err, TG_ERR_ARGUMENT, "%d is no direction", (int64_t)direction);
    const tg_status s = check(program, count, memory, err);
    const runner    r = {memory, direction == TG_HOST_TO_DEVICE, device, host};
    for (size_t i = 0; i < count && s == TG_OK; i++)
        run_loops(&r, &program[i], 0, program[i].device_offset, program[i].host_offset);
    return s;
}
