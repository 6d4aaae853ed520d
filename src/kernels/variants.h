/* Between move.c, which chooses, and the files with the loops: each returns the loops of its family for a
 * processor. `cpu` holds TG_CPU_* bits; without any it is the plain C twin. */
#ifndef TG_KERNELS_VARIANTS_H
#define TG_KERNELS_VARIANTS_H

#include "kernels/move.h"

tg_block_move *tg_rows_for(uint32_t cpu);
tg_turn_tiles *tg_tiles_for(uint32_t cpu, int32_t width);
tg_block_move *tg_transpose_for(uint32_t cpu, int32_t width);
tg_block_move *tg_uneven_for(uint32_t cpu); /* transposes of all other widths up to 31; NULL if there are none */
tg_block_move *tg_cells_for(uint32_t cpu);
tg_block_move *tg_packed_cells_for(uint32_t cpu); /* NULL if there are none */
tg_block_move *tg_strided_for(uint32_t cpu, int32_t width);
tg_block_move *tg_packed_for(uint32_t cpu, int32_t bits);
tg_block_move *tg_turns_for(uint32_t cpu, int32_t bits, int32_t rows, bool back);
tg_block_move *tg_eights_for(int32_t bits, tg_eights way); /* of TG_CPU_AVX512 */
tg_block_move *tg_spread_for(uint32_t cpu, int32_t bits);
tg_block_move *tg_join_for(uint32_t cpu, int32_t bits);
tg_block_move *tg_bands_for(uint32_t cpu, int32_t bits);

/* With AVX-512: those of tg_has_small_matrices. */
void tg_turn_small_matrices(const tg_mover *mover, uint8_t *dst, const uint8_t *src, const tg_block *block);
/* Few columns, or few rows, of elements of up to 15 bytes, where all rows, or all lines, are one run (few_lanes.c).
 * False if a block is not such. */
bool tg_turn_few_lanes(const tg_mover *mover, uint8_t *dst, const uint8_t *src, const tg_block *block);

/* Transposes of 1, 2, 4, 8 and 16 bytes with vectors of so many, and those of listed tiles; on x86-64. */
enum { TG_TRANSPOSES = 5 };
extern tg_block_move *const tg_transposes_avx512[TG_TRANSPOSES], *const tg_transposes_avx2[TG_TRANSPOSES];
extern tg_turn_tiles *const tg_tiles_avx512[TG_TRANSPOSES], *const tg_tiles_avx2[TG_TRANSPOSES];

#endif
