/* A SuperDSC as text, field by field in torch-spyre's order. docs/plan.md tells what the fields say. */
#include "graph/json_text.h"
#include "graph/kernel.h"

#include "base/error.h"

typedef struct output {
    tg_json        j;
    const tg_sdsc *s;
    char           op[96]; /* with its ending */
} output;

/* ---- pieces ------------------------------------------------------------------------------------- */

/* "12", "[12, 0, 0]", "mb_", "Tensor12-idx12" */
static const char *write_name(char buf[96], const char *before, int64_t number, const char *after) {
    tg_writer w = tg_writer_make(buf, 96);
    tg_put_text(&w, before);
    if (number >= 0) tg_put_int(&w, number);
    tg_put_text(&w, after);
    (void)tg_writer_end(&w);
    return buf;
}

static const char *tensor_label(char buf[96], int32_t k) {
    char front[96];
    return write_name(buf, write_name(front, "Tensor", k, "-idx"), k, "");
}

static void put_affine(tg_json *j, int64_t alpha) {
    tg_json_open(j, NULL, '{');
    tg_json_open(j, "Affine", '{');
    tg_json_int(j, "alpha_", alpha);
    tg_json_int(j, "beta_", 0);
    tg_json_close(j, '}');
    tg_json_close(j, '}');
}

static void put_factor(tg_json *j, const char *key, int64_t factor, const char *label) {
    tg_json_open(j, key, '{');
    tg_json_int(j, "factor_", factor);
    tg_json_text(j, "label_", label);
    tg_json_close(j, '}');
}

/* A value for each core; corelets and time have one. */
static void put_core_factors(output *o, const char *functions) {
    tg_json_raw(&o->j, "dim_prop_func", functions);
    tg_json_open(&o->j, "dim_prop_attr", '[');
    put_factor(&o->j, NULL, o->s->ncores, "core");
    put_factor(&o->j, NULL, 1, "corelet");
    put_factor(&o->j, NULL, 1, "time");
    tg_json_close(&o->j, ']');
}

/* The dimensions of a label: those of the tensor that it was made for. */
static const tg_sdsc_tensor *label_of(const output *o, const tg_sdsc_tensor *t) {
    return &o->s->tensor[o->s->first[t->label]];
}

static void put_dims(output *o, const char *key, const tg_sdsc_tensor *t) {
    tg_json_open(&o->j, key, '[');
    for (int32_t i = 0; i < t->ndims; i++) tg_json_text(&o->j, NULL, o->s->name[t->order[i]]);
    tg_json_close(&o->j, ']');
}

/* ---- cores ------------------------------------------------------------------------------------------ */

static void put_folds(output *o) {
    tg_json *j = &o->j;
    tg_json_open(j, "sdscFoldProps_", '[');
    put_factor(j, NULL, 1, "time");
    tg_json_close(j, ']');
    tg_json_open(j, "sdscFolds_", '{');
    tg_json_open(j, "dim_prop_func", '[');
    put_affine(j, 1);
    tg_json_close(j, ']');
    tg_json_open(j, "dim_prop_attr", '[');
    put_factor(j, NULL, 1, "time");
    tg_json_close(j, ']');
    tg_json_raw(j, "data_", "{\"[0]\":\"0\"}");
    tg_json_close(j, '}');
    put_factor(j, "coreFoldProp_", o->s->ncores, "core");
    put_factor(j, "coreletFoldProp_", 1, "corelet");
}

/* The same for every core. */
static void put_each_core(output *o, const char *key, const char *json) {
    char number[96];
    tg_json_open(&o->j, key, '{');
    for (int64_t c = 0; c < o->s->ncores; c++) tg_json_raw(&o->j, write_name(number, "", c, ""), json);
    tg_json_close(&o->j, '}');
}

static void put_slices(output *o) {
    const tg_sdsc *s = o->s;
    int64_t        slice[TG_SDSC_DIMS];
    int32_t        dim[TG_SDSC_DIMS];
    char           number[96];
    tg_json_open(&o->j, "numWkSlicesPerDim_", '{');
    for (int32_t d = 0; d < s->ndims; d++) tg_json_int(&o->j, s->name[d], s->split[d]);
    tg_json_close(&o->j, '}');
    tg_sdsc_numbering(dim, s);
    tg_json_open(&o->j, "coreIdToWkSlice_", '{');
    for (int64_t c = 0; c < s->ncores; c++) {
        tg_sdsc_slices(slice, s, c);
        tg_json_open(&o->j, write_name(number, "", c, ""), '{');
        for (int32_t i = 0; i < s->ndims; i++) tg_json_int(&o->j, s->name[dim[i]], slice[dim[i]]);
        tg_json_close(&o->j, '}');
    }
    tg_json_close(&o->j, '}');
}

/* ---- extents ------------------------------------------------------------------------------------------ */

static bool is_convolution(const output *o) { return o->s->kernel->kind == TG_KERNEL_CONVOLUTION; }

/* torch-spyre says a few things of the convolution of all channels alone. */
static bool is_of_all_channels(const output *o) { return is_convolution(o) && !tg_sdsc_is_depthwise(o->s); }

/* How padding of a dimension of tensor k is told; NULL if no window moves along it. */
static const char *padding_kind(const output *o, int32_t k, int32_t d) {
    tg_sdsc_padding p;
    if (k != 0 || !tg_sdsc_padding_of(&p, o->s, d, false)) return NULL;
    return p.front > 0 || p.back > 0 ? "padded_nozeropad" : "padded_fullspan_wunneeded";
}

static void put_padding_kinds(output *o, int32_t k) {
    if (!is_convolution(o) || k != 0) return;
    tg_json_open(&o->j, "padding_", '{');
    for (int32_t d = 0; d < o->s->ndims; d++)
        if (padding_kind(o, k, d) != NULL) tg_json_text(&o->j, o->s->name[d], padding_kind(o, k, d));
    tg_json_close(&o->j, '}');
}

/* All of them, or those of one core. */
static void put_extents(output *o, const char *key, const char *name, bool per_core) {
    const tg_sdsc *s = o->s;
    char           field[96];
    tg_json_open(&o->j, key, '{');
    tg_json_text(&o->j, "name_", name);
    for (int32_t d = 0; d < s->ndims; d++)
        tg_json_int(&o->j, write_name(field, s->name[d], -1, "_"), s->extent[d] / (per_core ? s->split[d] : 1));
    if (is_convolution(o)) tg_sdsc_put_padding(&o->j, s, per_core);
    tg_json_close(&o->j, '}');
}

static bool is_masked(const tg_sdsc *s, int32_t d) {
    const int32_t l = s->loop[d];
    return l >= 0 && (s->kernel->masked >> l & 1) != 0 && s->extent[d] > s->kernel->ranges[l];
}

static bool has_mask(const tg_sdsc *s) {
    for (int32_t d = 0; d < s->ndims; d++)
        if (is_masked(s, d)) return true;
    return false;
}

static void put_masks(output *o) {
    const tg_sdsc *s = o->s;
    tg_json_open(&o->j, "coordinateMasking_", '{');
    for (int32_t d = 0; d < s->ndims; d++) {
        if (!is_masked(s, d)) continue;
        const int64_t valid = s->kernel->ranges[s->loop[d]];
        tg_json_open(&o->j, s->name[d], '[');
        tg_json_open(&o->j, NULL, '[');
        tg_json_int(&o->j, NULL, valid);
        tg_json_int(&o->j, NULL, s->extent[d] - valid);
        tg_json_close(&o->j, ']');
        tg_json_close(&o->j, ']');
    }
    tg_json_close(&o->j, '}');
    tg_json_int(&o->j, "maskingConstId_", has_mask(s) ? 0 : -1);
}

/* ---- tensors -------------------------------------------------------------------------------------------- */

static void put_labels(output *o) {
    const tg_sdsc *s = o->s;
    tg_json_open(&o->j, "primaryDsInfo_", '{');
    for (int32_t i = 0; i < s->nlabels; i++) {
        const tg_sdsc_tensor *t = &s->tensor[s->first[i]];
        tg_json_open(&o->j, s->label[i], '{');
        put_dims(o, "layoutDimOrder_", t);
        tg_json_open(&o->j, "stickDimOrder_", '[');
        tg_json_text(&o->j, NULL, s->name[t->stick]);
        tg_json_close(&o->j, ']');
        tg_json_open(&o->j, "stickSize_", '[');
        tg_json_int(&o->j, NULL, t->eps);
        tg_json_close(&o->j, ']');
        if (is_of_all_channels(o)) tg_json_raw(&o->j, "stickRepl_", "[1]");
        tg_json_close(&o->j, '}');
    }
    tg_json_close(&o->j, '}');
    if (is_of_all_channels(o)) tg_json_raw(&o->j, "pdsRelation_", "{\"isPdsReuse\":1}");
}

static tg_status put_addresses(output *o, int32_t k, tg_error *err) {
    char text[96], number[96];
    tg_json_open(&o->j, "startAddressCoreCorelet_", '{');
    put_core_factors(o, "[{\"Map\":{}},{\"Const\":{}},{\"Const\":{}}]");
    tg_json_open(&o->j, "data_", '{');
    for (int64_t c = 0; c < o->s->ncores; c++) {
        int64_t address = 0;
        if (!tg_sdsc_address(&address, o->s, k, c))
            return tg_fail(err, TG_ERR_OVERFLOW, "an address of %s does not fit 63 bits",
                           tg_sdsc_tensor_name(o->s, k));
        tg_json_text(&o->j, write_name(text, "[", c, ", 0, 0]"), write_name(number, "", address, ""));
    }
    tg_json_close(&o->j, '}');
    tg_json_close(&o->j, '}');
    return TG_OK;
}

/* In HBM once for all cores. */
static void put_gaps(output *o, const tg_sdsc_tensor *t, bool in_lx) {
    char core[96], gap[96];
    bool any = false;
    for (int32_t i = 0; i < t->ndims; i++) {
        const int32_t d = t->order[i];
        if (t->scale[d] != 1 || t->gap[d] == 0) continue;
        if (!any) tg_json_open(&o->j, "backGapCore_", '{');
        any = true;
        tg_json_open(&o->j, o->s->name[d], '{');
        (void)write_name(gap, "", t->gap[d], "");
        if (!in_lx) tg_json_text(&o->j, "-1", gap);
        for (int64_t c = 0; in_lx && c < o->s->ncores; c++) tg_json_text(&o->j, write_name(core, "", c, ""), gap);
        tg_json_close(&o->j, '}');
    }
    if (any) tg_json_close(&o->j, '}');
}

/* How a core's elements of a dimension follow one another: the core's first, then sticks, then places in the stick. */
static void put_coordinate(output *o, int32_t k, int32_t d) {
    const tg_sdsc        *s = o->s;
    const tg_sdsc_tensor *t = &s->tensor[k];
    tg_json       *j = &o->j;
    const bool     sticks = d == t->stick, reduced = t->scale[d] == -2;
    const int64_t  cores = t->scale[d] == 1 ? s->split[d] : 1;
    int64_t        size = reduced ? t->eps : t->scale[d] == 1 ? s->extent[d] / cores : 1, next = size;
    tg_sdsc_padding p;
    if (k == 0 && tg_sdsc_padding_of(&p, s, d, true)) {
        next = s->extent[d] / cores * p.stride;
        size = p.total - p.unneeded;
    }
    tg_json_open(j, s->name[d], '{');
    tg_json_int(j, "spatial", 3);
    tg_json_int(j, "temporal", 0);
    tg_json_int(j, "elemArr", sticks ? 2 : 1);
    tg_json_text(j, "padding", padding_kind(o, k, d) != NULL ? padding_kind(o, k, d) : "nopad");
    tg_json_open(j, "folds", '{');
    tg_json_open(j, "dim_prop_func", '[');
    put_affine(j, next);
    put_affine(j, 0);
    put_affine(j, 0);
    if (sticks) put_affine(j, t->eps);
    put_affine(j, reduced ? 0 : 1);
    tg_json_close(j, ']');
    tg_json_open(j, "dim_prop_attr", '[');
    put_factor(j, NULL, cores, "core_fold");
    put_factor(j, NULL, 1, "corelet_fold");
    put_factor(j, NULL, 1, "row_fold");
    if (sticks) put_factor(j, NULL, size / t->eps, "elem_arr_1");
    put_factor(j, NULL, sticks ? t->eps : size, "elem_arr_0");
    tg_json_close(j, ']');
    tg_json_close(j, '}');
    tg_json_close(j, '}');
}

static tg_status put_allocation(output *o, int32_t k, tg_error *err) {
    const tg_sdsc_tensor *t = &o->s->tensor[k], *label = label_of(o, t);
    const bool            in_lx = o->s->kernel->tensors[k].in_lx;
    tg_json              *j = &o->j;
    char                  name[96];
    tg_json_open(j, NULL, '{');
    tg_json_text(j, "nodeType_", "allocate");
    tg_json_text(j, "name_", write_name(name, "allocate-Tensor", k, in_lx ? "_lx" : "_hbm"));
    tg_json_text(j, "prev_", "");
    tg_json_int(j, "ldsIdx_", k);
    tg_json_text(j, "component_", in_lx ? "lx" : "hbm");
    put_dims(o, "layoutDimOrder_", t);
    tg_json_open(j, "maxDimSizes_", '[');
    for (int32_t i = 0; i < t->ndims; i++) tg_json_int(j, NULL, -1);
    tg_json_close(j, ']');
    tg_json_text(j, "indirectAllocType_", "no_indirection");
    const tg_status s = put_addresses(o, k, err);
    put_padding_kinds(o, k);
    put_gaps(o, t, in_lx);
    tg_json_open(j, "coordinates_", '{');
    tg_json_open(j, "coordInfo", '{');
    for (int32_t i = 0; i < label->ndims; i++) put_coordinate(o, k, label->order[i]);
    tg_json_close(j, '}');
    tg_json_raw(j, "coreIdToWkSlice_", "{}");
    tg_json_close(j, '}');
    tg_json_close(j, '}');
    return s;
}

/* Of a convolution what is padded is said here, too. */
static void put_memory(output *o, int32_t k) {
    static const char *const places[] = {"hbm", "lx"};
    tg_json                 *j = &o->j;
    char                     name[96];
    tg_json_open(j, "memOrg_", '{');
    for (int i = o->s->kernel->tensors[k].in_lx; i < 2; i++) {
        tg_json_open(j, places[i], '{');
        tg_json_int(j, "isPresent", 1);
        if (is_of_all_channels(o) || (is_convolution(o) && k == 0)) {
            tg_json_int(j, "isPadded", k < o->s->kernel->ntensors - 1);
            tg_json_int(j, "isZeroPadded", 0);
        }
        if (is_of_all_channels(o)) {
            tg_json_int(j, "dsOffset", 0);
            tg_json_text(j, "allocateNode_", i == 0 ? write_name(name, "allocate-Tensor", k, "_hbm") : "");
        }
        tg_json_close(j, '}');
    }
    tg_json_close(j, '}');
}

static void put_labeled(output *o, int32_t k) {
    const tg_sdsc_tensor *t = &o->s->tensor[k], *label = label_of(o, t);
    const tg_format       format = o->s->kernel->tensors[k].layout.device_dtype;
    char                  name[96];
    tg_json_open(&o->j, NULL, '{');
    tg_json_int(&o->j, "ldsIdx_", k);
    tg_json_text(&o->j, "dsName_", write_name(name, "Tensor", k, ""));
    tg_json_text(&o->j, "dsType_", o->s->label[t->label]);
    tg_json_open(&o->j, "scale_", '[');
    for (int32_t i = 0; i < label->ndims; i++) tg_json_int(&o->j, NULL, t->scale[label->order[i]]);
    tg_json_close(&o->j, ']');
    tg_json_int(&o->j, "wordLength", tg_format_bits(format) / 8);
    tg_json_text(&o->j, "dataFormat_", tg_format_name(format));
    put_memory(o, k);
    tg_json_close(&o->j, '}');
}

/* ---- what is calculated -------------------------------------------------------------------------------------- */

/* Bits of a value: those of FP32, else of DLFloat16, whose infinities are its NaN. */
static int64_t constant_bits(tg_pad_value value, tg_format format) {
    static const int64_t single[] = {0, 0x3f800000, 0xff800000, 0x7f800000}, dlfloat[] = {0, 0x3e00, 0xffff, 0x7fff};
    return format == TG_IEEE_FP32 ? single[value] : dlfloat[value];
}

static void put_constants(output *o) {
    const tg_format format = o->s->kernel->tensors[0].layout.device_dtype;
    tg_json        *j = &o->j;
    if (!has_mask(o->s)) {
        tg_json_text(j, "constantInfo_", "{}");
        return;
    }
    tg_json_open(j, "constantInfo_", '{');
    tg_json_open(j, "0", '{');
    tg_json_text(j, "dataFormat_", tg_format_name(format));
    tg_json_text(j, "name_", "samv-maskvalue");
    tg_json_open(j, "data_", '{');
    put_core_factors(o, "[{\"Const\":{}},{\"Const\":{}},{\"Map\":{}}]");
    tg_json_open(j, "data_", '{');
    tg_json_open(j, "[0, 0, 0]", '[');
    tg_json_int(j, NULL, constant_bits(o->s->kernel->mask_value, format));
    tg_json_close(j, ']');
    tg_json_close(j, '}');
    tg_json_close(j, '}');
    tg_json_close(j, '}');
    tg_json_close(j, '}');
}

/* A reduction goes on from what is in its result, so that is one of its inputs. */
static void put_operation(output *o) {
    const tg_kernel *k = o->s->kernel;
    const bool       goes_on = k->kind == TG_KERNEL_REDUCTION || tg_sdsc_is_depthwise(o->s);
    const int32_t    ninputs = k->ntensors - !goes_on;
    tg_json         *j = &o->j;
    char             name[96];
    tg_json_open(j, "computeOp_", '[');
    tg_json_open(j, NULL, '{');
    tg_json_text(j, "exUnit", k->kind == TG_KERNEL_MATMUL || is_of_all_channels(o) ? "pt" : "sfp");
    tg_json_text(j, "opFuncName", o->op);
    tg_json_open(j, "attributes_", '{');
    tg_json_text(j, "dataFormat_", tg_format_name(k->tensors[0].layout.device_dtype));
    tg_json_text(j, "fidelity_", "regular");
    tg_json_close(j, '}');
    tg_json_text(j, "location", "Inner");
    tg_json_open(j, "inputLabeledDs", '[');
    for (int32_t i = 0; i < ninputs; i++) tg_json_text(j, NULL, tensor_label(name, i));
    tg_json_close(j, ']');
    tg_json_open(j, "outputLabeledDs", '[');
    tg_json_text(j, NULL, tensor_label(name, k->ntensors - 1));
    tg_json_close(j, ']');
    tg_json_close(j, '}');
    tg_json_close(j, ']');
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void put_core_list(output *o) {
    tg_json_int(&o->j, "numCoresUsed_", o->s->ncores);
    tg_json_int(&o->j, "numCoreletsUsed_", 1);
    tg_json_open(&o->j, "coreIdsUsed_", '[');
    for (int64_t c = 0; c < o->s->ncores; c++) tg_json_int(&o->j, NULL, c);
    tg_json_close(&o->j, ']');
}

static void put_stage(output *o) {
    tg_json_open(&o->j, "dataStageParam_", '{');
    tg_json_open(&o->j, "0", '{');
    put_extents(o, "ss_", "core", true);
    put_extents(o, "el_", "core", true);
    tg_json_close(&o->j, '}');
    tg_json_close(&o->j, '}');
}

static tg_status put_description(output *o, tg_error *err) {
    tg_status s = TG_OK;
    tg_json_open(&o->j, o->op, '{');
    put_core_list(o);
    put_extents(o, "N_", "n", false);
    put_masks(o);
    put_stage(o);
    put_labels(o);
    tg_json_open(&o->j, "scheduleTree_", '[');
    for (int32_t k = 0; k < o->s->kernel->ntensors && s == TG_OK; k++) s = put_allocation(o, k, err);
    tg_json_close(&o->j, ']');
    tg_json_open(&o->j, "labeledDs_", '[');
    for (int32_t k = 0; k < o->s->kernel->ntensors; k++) put_labeled(o, k);
    tg_json_close(&o->j, ']');
    put_constants(o);
    put_operation(o);
    tg_json_close(&o->j, '}');
    return s;
}

static tg_status put_kernel(output *o, int64_t number, tg_error *err) {
    char name[96], front[96];
    tg_json_open(&o->j, NULL, '{');
    tg_json_open(&o->j, write_name(name, write_name(front, "", number, "_"), -1, o->op), '{');
    put_folds(o);
    tg_json_int(&o->j, "numCoresUsed_", o->s->ncores);
    put_each_core(o, "coreIdToDsc_", "0");
    put_slices(o);
    put_each_core(o, "coreIdToDscSchedule", "[[-1,0,0,0]]");
    tg_json_open(&o->j, "dscs_", '[');
    tg_json_open(&o->j, NULL, '{');
    const tg_status s = put_description(o, err);
    tg_json_close(&o->j, '}');
    tg_json_close(&o->j, ']');
    tg_json_close(&o->j, '}');
    tg_json_close(&o->j, '}');
    return s;
}

/* The kernel worked out, and the name of its function. */
static tg_status start(output *o, tg_sdsc *s, const tg_kernel *kernel, int64_t number, tg_error *err) {
    if (number < 0) return tg_fail(err, TG_ERR_ARGUMENT, "kernel %d: numbers are 0 or more", number);
    const tg_status status = tg_sdsc_make(s, kernel, err);
    o->s = s;
    if (status == TG_OK) (void)write_name(o->op, kernel->op, -1, tg_sdsc_is_nonstick(s) ? "nonstick" : "");
    return status;
}

tg_status tg_kernel_format_sdsc(char *buf, size_t cap, size_t *need, const tg_kernel *kernel, int64_t number,
                                tg_error *err) {
    output    o = {.j = {.w = tg_writer_make(buf, cap)}};
    tg_sdsc   sdsc;
    tg_status s = start(&o, &sdsc, kernel, number, err);
    if (s == TG_OK) s = put_kernel(&o, number, err);
    if (s == TG_OK) *need = tg_writer_end(&o.j.w);
    return s;
}

tg_status tg_kernel_format_name(char *buf, size_t cap, size_t *need, const tg_kernel *kernel, int64_t number,
                                tg_error *err) {
    output          o = {.j = {.w = tg_writer_make(buf, cap)}};
    tg_sdsc         sdsc;
    const tg_status s = start(&o, &sdsc, kernel, number, err);
    if (s != TG_OK) return s;
    tg_put_int(&o.j.w, number);
    tg_put_char(&o.j.w, '_');
    tg_put_text(&o.j.w, o.op);
    *need = tg_writer_end(&o.j.w);
    return TG_OK;
}
