/* Elements as loads and stores see them: at any byte address, of any type. */
#ifndef TG_KERNELS_UNALIGNED_H
#define TG_KERNELS_UNALIGNED_H

#include <stdint.h>

#define TG_UNALIGNED __attribute__((aligned(1), may_alias))
typedef uint8_t TG_UNALIGNED  unit8;
typedef uint16_t TG_UNALIGNED unit16;
typedef uint32_t TG_UNALIGNED unit32;
typedef uint64_t TG_UNALIGNED unit64;
typedef int64_t TG_UNALIGNED  sint64;
typedef struct __attribute__((packed, may_alias)) {
    uint64_t part[2];
} unit128;

#endif
