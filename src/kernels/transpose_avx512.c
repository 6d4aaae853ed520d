/* Transposes with vectors of 64 bytes; see transpose.c. */
#include "kernels/transpose.h"

#if TG_HAVE_X86
TG_BEGIN_AVX512
#  define VEC 64
#  include "kernels/transpose.inc.h"
#  undef VEC
TG_END

tg_block_move *const tg_transposes_avx512[] = {transpose_1_64, transpose_2_64, transpose_4_64, transpose_8_64,
                                               transpose_16_64};
tg_turn_tiles *const tg_tiles_avx512[] = {tiles_1_64, tiles_2_64, tiles_4_64, tiles_8_64, tiles_16_64};
#endif

bool tg_transpose_together(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b, int64_t n,
                           int64_t dst_step, int64_t src_step) {
#if TG_HAVE_X86
    const bool power = (m->dst_width & (m->dst_width - 1)) == 0;
    if (power && m->move == tg_transposes_avx512[__builtin_ctz((unsigned)m->dst_width)])
        return m->to_dst && joined_turns_64(m, d, s, b, n, dst_step, src_step);
#endif
    (void)m, (void)d, (void)s, (void)b, (void)n, (void)dst_step, (void)src_step;
    return false;
}
