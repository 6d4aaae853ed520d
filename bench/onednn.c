/* oneDNN's reorder, as a peer. Built where meson finds dnnl.h of version 2 (Debian: libdnnl-dev).
 *
 * oneDNN says a layout by one stride per dimension, that of its outermost blocks, and a list of dense
 * blocks inside. Our digits give both: of the modes of a dimension the one with the largest weight is
 * the outermost, all others must be the dense blocks at the end of memory. bf16 in T(8,128)(2,1):
 *
 *     mode   size  stride  dim  weight
 *     0      2048   65536   0      8      strides[0] = 65536
 *     1        64    1024   1    128      strides[1] = 1024
 *     2         4     256   0      2      inner_blks[0] = 4,   inner_idxs[0] = 0
 *     3       128       2   1      1      inner_blks[1] = 128, inner_idxs[1] = 1
 *     4         2       1   0      1      inner_blks[2] = 2,   inner_idxs[2] = 0
 *
 * A mode that only pads (a sparse stick) becomes a dimension of size 1, padded. Types that oneDNN lacks travel as
 * others of the same width: it copies bits where nothing is converted. 8-byte elements it has not, nor broadcasts, and
 * it knows DNNL_MAX_NDIMS dimensions. */
#define _GNU_SOURCE
#include "onednn.h"

#include <stddef.h>

#ifdef BENCH_ONEDNN

#  include <dlfcn.h>
#  include <dnnl.h>
#  include <stdio.h>
#  include <stdlib.h>
#  include <string.h>

struct onednn {
    dnnl_engine_t         engine;
    dnnl_stream_t         stream;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t      primitive;
    dnnl_memory_t         src, dst;
};

static dnnl_data_type_t data_type(const tg_layout *l) {
    if (l->format == TG_SEN169_FP16) return dnnl_data_type_undef;
    switch (l->elem_bits) {
    case 8: return dnnl_u8;
    case 16: return dnnl_bf16;
    case 32: return dnnl_f32;
    default: return dnnl_data_type_undef;
    }
}

/* Digits of one position are left out. */
static bool is_digit(const tg_mode *m) { return m->size > 1; }

static bool has_padding_mode(const tg_layout *l) {
    for (int32_t i = 0; i < l->nmodes; i++)
        if (is_digit(&l->mode[i]) && l->mode[i].axis == TG_AXIS_PAD) return true;
    return false;
}

static int32_t dimension_of(const tg_layout *l, const tg_mode *m) {
    return m->axis == TG_AXIS_PAD ? l->ndim : m->axis;
}

/* The mode that gives dimension d its stride; -1 if it has none: a single digit with padding is a block, and
 * any single digit where it lies between blocks. */
static int32_t outermost_mode(const tg_layout *l, int32_t d, int64_t size, bool between) {
    int32_t best = -1, digits = 0;
    for (int32_t i = 0; i < l->nmodes; i++) {
        if (!is_digit(&l->mode[i]) || dimension_of(l, &l->mode[i]) != d) continue;
        digits++;
        if (best < 0 || l->mode[i].weight > l->mode[best].weight) best = i;
    }
    return digits == 1 && (between || l->mode[best].size != size) ? -1 : best;
}

/* The blocks, outermost first; false if they are not dense. */
static bool add_blocks(dnnl_memory_desc_t *md, const tg_layout *l, const bool *is_block) {
    dnnl_blocking_desc_t *b = &md->format_desc.blocking;
    int64_t               stride = 1;
    for (int32_t i = l->nmodes - 1; i >= 0; i--) {
        if (!is_block[i]) continue;
        if (l->mode[i].stride != stride) return false;
        stride *= l->mode[i].size;
        b->inner_nblks++;
    }
    for (int32_t i = 0, k = 0; i < l->nmodes; i++) {
        if (!is_block[i]) continue;
        b->inner_blks[k] = l->mode[i].size;
        b->inner_idxs[k++] = dimension_of(l, &l->mode[i]);
    }
    return true;
}

static bool describe(dnnl_memory_desc_t *md, const tg_layout *l, int32_t ndims, bool between) {
    bool is_block[TG_MAX_MODES] = {false};
    memset(md, 0, sizeof *md);
    md->ndims = ndims;
    md->data_type = data_type(l);
    md->format_kind = dnnl_blocked;
    for (int32_t i = 0; i < l->nmodes; i++) {
        if (!is_digit(&l->mode[i])) continue;
        if (l->mode[i].axis == TG_AXIS_COPY || l->mode[i].into != TG_TO_MEMORY || l->mode[i].stride <= 0) return false;
        is_block[i] = true;
    }
    for (int32_t d = 0; d < ndims; d++) {
        md->dims[d] = d < l->ndim ? l->shape[d] : 1;
        const int32_t outer = outermost_mode(l, d, md->dims[d], between);
        md->format_desc.blocking.strides[d] = outer >= 0 ? l->mode[outer].stride : l->span;
        if (outer >= 0) is_block[outer] = false;
        md->padded_dims[d] = 1;
        for (int32_t i = 0; i < l->nmodes; i++)
            if (is_digit(&l->mode[i]) && dimension_of(l, &l->mode[i]) == d) md->padded_dims[d] *= l->mode[i].size;
    }
    return md->data_type != dnnl_data_type_undef && l->offset == 0 && add_blocks(md, l, is_block);
}

/* oneDNN of Debian uses OpenMP; asking the loader works with whatever OpenMP library it brought. */
static void set_threads(int32_t threads) {
    void (*set)(int);
    *(void **)&set = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    if (set != NULL) set(threads);
}

static bool make(onednn *o, const dnnl_memory_desc_t *dst, const dnnl_memory_desc_t *src, void *dst_bytes,
                 void *src_bytes) {
    return dnnl_engine_create(&o->engine, dnnl_cpu, 0) == dnnl_success
        && dnnl_stream_create(&o->stream, o->engine, dnnl_stream_default_flags) == dnnl_success
        && dnnl_reorder_primitive_desc_create(&o->desc, src, o->engine, dst, o->engine, NULL) == dnnl_success
        && dnnl_primitive_create(&o->primitive, o->desc) == dnnl_success
        && dnnl_memory_create(&o->src, src, o->engine, src_bytes) == dnnl_success
        && dnnl_memory_create(&o->dst, dst, o->engine, dst_bytes) == dnnl_success;
}

onednn *onednn_create(const tg_layout *dst, const tg_layout *src, void *dst_bytes, void *src_bytes, int32_t threads) {
    const int32_t      ndims = dst->ndim + (has_padding_mode(dst) || has_padding_mode(src) ? 1 : 0);
    dnnl_memory_desc_t dst_md, src_md;
    if (ndims > DNNL_MAX_NDIMS) return NULL;
    if (!describe(&dst_md, dst, ndims, false) && !describe(&dst_md, dst, ndims, true)) return NULL;
    if (!describe(&src_md, src, ndims, false) && !describe(&src_md, src, ndims, true)) return NULL;
    onednn *const o = calloc(1, sizeof *o);
    if (o == NULL) return NULL;
    set_threads(threads);
    if (make(o, &dst_md, &src_md, dst_bytes, src_bytes)) return o;
    onednn_destroy(o);
    return NULL;
}

void onednn_destroy(onednn *o) {
    if (o == NULL) return;
    if (o->dst != NULL) dnnl_memory_destroy(o->dst);
    if (o->src != NULL) dnnl_memory_destroy(o->src);
    if (o->primitive != NULL) dnnl_primitive_destroy(o->primitive);
    if (o->desc != NULL) dnnl_primitive_desc_destroy(o->desc);
    if (o->stream != NULL) dnnl_stream_destroy(o->stream);
    if (o->engine != NULL) dnnl_engine_destroy(o->engine);
    free(o);
}

void onednn_run(void *context) {
    const onednn *const   o = context;
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, o->src}, {DNNL_ARG_TO, o->dst}};
    if (dnnl_primitive_execute(o->primitive, o->stream, 2, args) == dnnl_success
        && dnnl_stream_wait(o->stream) == dnnl_success)
        return;
    fprintf(stderr, "bench_relayout: oneDNN refused to run\n");
    exit(1);
}

const char *onednn_version(void) {
    static char           text[32];
    const dnnl_version_t *v = dnnl_version();
    snprintf(text, sizeof text, "%d.%d.%d", v->major, v->minor, v->patch);
    return text;
}

#else

onednn *onednn_create(const tg_layout *dst, const tg_layout *src, void *dst_bytes, void *src_bytes, int32_t threads) {
    (void)dst, (void)src, (void)dst_bytes, (void)src_bytes, (void)threads;
    return NULL;
}

void        onednn_destroy(onednn *o) { (void)o; }
void        onednn_run(void *o) { (void)o; }
const char *onednn_version(void) { return "not installed"; }

#endif
