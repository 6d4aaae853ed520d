/* Transposes with vectors of 32 bytes; see transpose.c. */
#include "kernels/transpose.h"

#if TG_HAVE_X86
TG_BEGIN_AVX2
#  define VEC 32
#  include "kernels/transpose.inc.h"
#  undef VEC
TG_END

tg_block_move *const tg_transposes_avx2[] = {transpose_1_32, transpose_2_32, transpose_4_32, transpose_8_32,
                                             transpose_16_32};
tg_turn_tiles *const tg_tiles_avx2[] = {tiles_1_32, tiles_2_32, tiles_4_32, tiles_8_32, tiles_16_32};
#endif
