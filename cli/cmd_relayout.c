/* tegula relayout: move a file's tensor from one layout to another.
 *
 * What the source is, is decided here: a raw file is what --from says; an .npy file says itself what it is, and
 * --from may only agree. tensor_file.c opens and makes the files, mover.c moves and checks. */
#include "mover.h"
#include "pad.h"
#include "tensor_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "tegula relayout - move a tensor in a file to another layout\n"
    "\n"
    "usage: tegula relayout [--from A] --to B IN OUT [--convert] [--pad VALUE] [--threads N] [--verify] [--explain]\n"
    "       [--json]\n"
    "\n"
    "Reads a tensor from IN and writes it to OUT, every element to its place in layout B. Files whose names end in\n"
    ".npy are NumPy's; all others are the raw bytes of the storage. `-` is standard input or output (raw, unless\n"
    "the input begins as an .npy file). OUT appears when it is complete, or not at all; it may be IN.\n"
    "\n"
    "  --from A      the layout of IN; not needed for .npy, where the file says it\n"
    "  --to B        the layout of OUT\n"
    "  --pad VALUE   what padding holds (default: zero); a number, also nan or -inf where the format has it\n"
    "  --threads N   work with N threads (default: 1), at most one for each processor; less than 4 MiB,\n"
    "                IN and OUT together, are moved by one\n"
    "  --convert     B may have another element type: f32, f16, bf16, f8e4m3fn and f8e5m2 become each other or pred, "
    "pred\n"
    "                becomes one of them, integers become integers\n"
    "  --verify      then compare OUT with IN, element by element, from the definition of the layouts\n"
    "  --explain     also tell how it is moved: the loops, their steps, and the code for this processor\n"
    "\n"
    "Where B stores floats in another format, a note tells how many were too large or too small for it.\n"
    "\n"
    "example:\n"
    "  $ tegula relayout --to 'f16[5,100,150] spyre' tensor.npy tensor.spyre --verify\n";

enum { FROM, TO, PAD, THREADS, CONVERT, VERIFY, EXPLAIN };

enum { MOST_THREADS = 1024, WORTH_TIMING = 1 << 20 /* bytes; with less the clock is most of it */ };

/* All that one run needs; the zero value has nothing to release. */
typedef struct job {
    bool          has_from;
    tg_desc       from, to;
    tg_layout     src_layout;
    unsigned char pad[PAD_BYTES];
    int32_t       threads;
    tensor_source source;
    tensor_sink   sink;
    tg_plan       plan;
    tg_plan_params params; /* of plan */
    char         *plan_text; /* with --explain, to be freed */
    char         *report;    /* room for the JSON, to be freed */
    mover         mover;
    mover_losses  losses;
    bool          checked; /* `finding` is known */
    mover_finding finding;
} job;

/* ---- what the source is -------------------------------------------------------------------------- */

static int check_raw_size(const job *j) {
    int64_t  nbytes = 0;
    tg_error err;
    if (tg_layout_nbytes(&nbytes, &j->from.layout, &err) != TG_OK) return cli_fail_error("--from", &err);
    if (nbytes == j->source.nbytes) return CLI_OK;
    const bool npy = j->source.nbytes >= 6 && memcmp(j->source.data, "\x93NUMPY", 6) == 0;
    char      *text = cli_canonical_text(&j->from);
    const int  status = cli_fail(CLI_USAGE, j->source.name, "has %s%lld bytes, but %s takes %lld%s",
                                 j->source.goes_on ? "at least " : "", (long long)j->source.nbytes, text,
                                 (long long)nbytes,
                                 npy ? "; it looks like an .npy file, whose name should end in .npy" : "");
    free(text);
    return status;
}

/* Of a file that is not .npy; 0 if nobody says. */
static int64_t raw_bytes(const job *j) {
    int64_t nbytes = 0;
    if (j->has_from) (void)tg_layout_nbytes(&nbytes, &j->from.layout, NULL);
    return nbytes;
}

static bool same_shape(const tg_layout *a, const tg_layout *b) {
    if (a->ndim != b->ndim) return false;
    for (int32_t d = 0; d < a->ndim; d++)
        if (a->shape[d] != b->shape[d]) return false;
    return true;
}

static bool same_map(const tg_layout *a, const tg_layout *b) {
    bool equal = false;
    return tg_layout_equal(&equal, NULL, a, b, false, NULL) == TG_OK && equal;
}

/* An .npy file of bytes may hold any type of one byte that NumPy has no name for. */
static bool may_hold(const tg_npy *npy, tg_dtype dtype) {
    const bool is_named = dtype == TG_PRED || dtype == TG_S8 || dtype == TG_U8 || dtype == TG_F8E5M2;
    return npy->dtype == dtype || (npy->dtype == TG_U8 && tg_dtype_storage_bits(dtype) == 8 && !is_named);
}

/* A flat .npy file of unsigned numbers may be the storage of any layout, as a device left it; one of the layout's type
 * that of a native one. */
static bool is_storage_of(const tg_npy *npy, const tg_layout *layout) {
    const bool is_unsigned = tg_dtype_get_class(npy->dtype) == TG_CLASS_UINT;
    const bool is_native = layout->format == TG_FORMAT_NATIVE && npy->dtype == layout->dtype;
    int64_t    nbytes = 0;
    return npy->ndim == 1 && (is_unsigned || is_native) && tg_layout_nbytes(&nbytes, layout, NULL) == TG_OK &&
           nbytes == npy->data_bytes;
}

static bool is_row_major(const tg_desc *desc) {
    tg_layout dense;
    const tg_host *host = &desc->host;
    return desc->notation == TG_NOTATION_STRIDED &&
           tg_layout_strided(&dense, host->dtype, host->ndim, host->shape, NULL, 0, NULL) == TG_OK &&
           same_map(&dense, &desc->layout);
}

/* What an .npy file holds, as canonical text to be freed. */
static char *npy_text(const tg_layout *layout) {
    tg_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.notation = TG_NOTATION_STRIDED;
    desc.layout = *layout;
    desc.host.dtype = layout->dtype;
    desc.host.ndim = layout->ndim;
    for (int32_t d = 0; d < layout->ndim; d++) desc.host.shape[d] = layout->shape[d];
    for (int32_t m = 0; m < layout->nmodes; m++)
        if (layout->mode[m].axis >= 0) desc.host.strides[layout->mode[m].axis] = layout->mode[m].stride;
    return cli_canonical_text(&desc);
}

static int fail_disagreement(const job *j, const tg_layout *own) {
    char      *file = npy_text(own), *from = cli_canonical_text(&j->from);
    const bool alike = same_shape(own, &j->from.layout) && own->dtype == j->from.layout.dtype;
    const int  status =
        cli_fail(CLI_USAGE, j->source.name, "the file holds %s, and --from says %s%s", file, from,
                 alike ? "; leave --from out to read the file as it is" : "");
    free(file);
    free(from);
    return status;
}

static int resolve_npy(job *j) {
    tg_layout own;
    tg_error  err;
    if (tg_layout_from_npy(&own, &j->source.npy, &err) != TG_OK) return cli_fail_error(j->source.name, &err);
    if (!j->has_from) {
        j->src_layout = own;
        return CLI_OK;
    }
    const tg_layout *from = &j->from.layout;
    const bool       same_tensor = from->format == TG_FORMAT_NATIVE && same_shape(&own, from) &&
                             may_hold(&j->source.npy, from->dtype);
    if (same_tensor && (same_map(&own, from) || is_row_major(&j->from))) {
        j->src_layout = own;
        j->src_layout.dtype = from->dtype;
        return CLI_OK;
    }
    if (!is_storage_of(&j->source.npy, from)) return fail_disagreement(j, &own);
    j->src_layout = *from;
    return CLI_OK;
}

static int resolve_source(job *j) {
    if (j->source.is_npy) return resolve_npy(j);
    if (!j->has_from)
        return cli_fail(CLI_USAGE, j->source.name, "a raw file does not say its layout; --from A is needed");
    j->src_layout = j->from.layout;
    return check_raw_size(j);
}

/* "s16[5,100,150]", to be freed: the tensor, wherever its elements are. */
static char *tensor_text(const tg_layout *layout) {
    const size_t room = 32 + TG_MAX_NDIM * 21;
    char        *text = cli_allocate(room);
    int          at = snprintf(text, room, "%s[", tg_dtype_name(layout->dtype));
    for (int32_t d = 0; d < layout->ndim; d++)
        at += snprintf(text + at, room - (size_t)at, "%s%lld", d > 0 ? "," : "", (long long)layout->shape[d]);
    (void)snprintf(text + at, room - (size_t)at, "]");
    return text;
}

static int fail_other_tensor(const job *j, const char *hint) {
    char     *in = tensor_text(&j->src_layout), *out = tensor_text(&j->to.layout);
    const int status = cli_fail(CLI_USAGE, "--to", "the input is %s, and this is %s%s", in, out, hint);
    free(in);
    free(out);
    return status;
}

/* Whether one element of src becomes one of dst. */
static bool can_convert(const tg_layout *src, const tg_layout *dst) {
    tg_layout from, to;
    tg_plan   plan;
    if (tg_layout_strided(&from, src->dtype, 0, NULL, NULL, 0, NULL) != TG_OK) return false;
    to = from;
    from.format = src->format;
    from.elem_bits = src->elem_bits;
    to.dtype = dst->dtype;
    to.format = dst->format;
    to.elem_bits = dst->elem_bits;
    const tg_plan_params params = {.dst = &to, .src = &from, .convert = true};
    return tg_plan_init(&plan, &params, NULL) == TG_OK;
}

static int check_destination(const job *j, bool convert) {
    const tg_layout *src = &j->src_layout, *dst = &j->to.layout;
    bool             unique = true;
    if (!same_shape(src, dst)) return fail_other_tensor(j, "; both must have the same shape");
    const bool other = src->dtype != dst->dtype, can = !other || can_convert(src, dst);
    const bool native = src->format == TG_FORMAT_NATIVE && dst->format == TG_FORMAT_NATIVE;
    if (other && can && !convert) return fail_other_tensor(j, "; --convert changes the type of elements");
    if (!can && native)
        return fail_other_tensor(j, "; neither becomes the other: f32, f16, bf16, f8e4m3fn, f8e5m2 and pred "
                                    "become each other, and integers become integers");
    if (!can && !convert) return fail_other_tensor(j, "; there is no conversion between these formats");
    if (tg_layout_coverage(&unique, NULL, NULL, dst, NULL) == TG_OK && !unique)
        return cli_fail(CLI_USAGE, "--to", "several elements would share a place, and only one of them can stay");
    return CLI_OK;
}

/* ---- options --------------------------------------------------------------------------------------- */

static int read_threads(int32_t *out, const char *value) {
    int64_t    n = 1;
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const int  status = value != NULL ? cli_read_count(&n, "--threads", value, MOST_THREADS) : CLI_OK;
    *out = (int32_t)(online > 0 && n > online ? online : n);
    return status;
}

/* A file begins at offset 0. */
static int check_start(const char *option, const tg_desc *desc) {
    const int64_t first = cli_first_offset(desc);
    if (first == 0 || tg_layout_numel(&desc->layout) == 0) return CLI_OK;
    return cli_fail(CLI_USAGE, option, "its storage begins at offset %lld, and a file at 0; offset=%lld would do",
                    (long long)first, (long long)(desc->layout.offset - first));
}

static int read_options(job *j, const cli_args *args) {
    if (args->option[TO] == NULL) return cli_fail(CLI_USAGE, "relayout", "--to B is missing: the layout of OUT");
    int status = read_threads(&j->threads, args->option[THREADS]);
    j->has_from = args->option[FROM] != NULL;
    if (status == CLI_OK && j->has_from) status = cli_read_layout(&j->from, "--from", args->option[FROM]);
    if (status == CLI_OK && j->has_from) status = check_start("--from", &j->from);
    if (status == CLI_OK) status = cli_read_layout(&j->to, "--to", args->option[TO]);
    if (status == CLI_OK) status = check_start("--to", &j->to);
    if (status == CLI_OK && args->option[PAD] != NULL) status = pad_encode(j->pad, &j->to.layout, args->option[PAD]);
    return status;
}

/* ---- the work --------------------------------------------------------------------------------------- */

static int make_plan(job *j) {
    tg_error             err;
    const tg_plan_params params = {
        .dst = &j->to.layout, .src = &j->src_layout, .pad = j->pad, .threads = j->threads, .convert = true};
    j->params = params;
    if (tg_plan_init(&j->plan, &params, &err) == TG_OK) return CLI_OK;
    return cli_fail_library(mover_what(&params), &err, j->has_from ? "--from" : "the input");
}

static void explain(job *j) {
    const size_t room = tg_plan_describe(NULL, 0, &j->plan) + 1;
    j->plan_text = cli_allocate(room);
    (void)tg_plan_describe(j->plan_text, room, &j->plan);
}

enum { REPORT_BYTES = 256 }; /* six keys and six numbers; the text of a plan comes on top */

static size_t report_room(const job *j) {
    return REPORT_BYTES + (j->plan_text != NULL ? 2 * strlen(j->plan_text) + 16 : 0); /* line ends are escaped */
}

/* Before there is an output that running out of memory could leave behind. */
static void make_report_room(job *j) {
    j->report = cli_allocate(report_room(j));
    *j->report = '\0';
}

static int move(job *j) {
    int64_t written = 0;
    (void)tg_layout_nbytes(&written, &j->to.layout, NULL);
    const mover m = {.plan = &j->plan,
                     .params = &j->params,
                     .in = j->source.file,
                     .out = j->sink.file,
                     .src = j->source.data,
                     .dst = j->sink.data,
                     .bytes = j->source.nbytes + written,
                     .threads = j->threads};
    j->mover = m;
    return mover_run(&j->mover);
}

static int fail_verification(const job *j) {
    char   coord[TG_MAX_NDIM * 21 + 1] = "";
    size_t at = 0;
    const mover_finding *f = &j->finding;
    if (j->to.layout.ndim > 0 && f->coord[0] == -1)
        return cli_fail(CLI_NO, "verify", "the padding at offset %lld is not what it should be; nothing was written",
                        (long long)f->offset);
    for (int32_t d = 0; d < j->to.layout.ndim && at < sizeof coord; d++)
        at += (size_t)snprintf(coord + at, sizeof coord - at, "%s%lld", d > 0 ? "," : "", (long long)f->coord[d]);
    return cli_fail(CLI_NO, "verify", "element (%s), at offset %lld of the output, is not that of the input; nothing "
                    "was written", coord, (long long)f->offset);
}

static int move_and_check(job *j, bool verify) {
    int status = move(j);
    if (status == CLI_OK && (j->src_layout.format != j->to.layout.format || j->src_layout.dtype != j->to.layout.dtype))
        status = mover_count_losses(&j->losses, &j->mover);
    if (status != CLI_OK || !verify) return status;
    status = mover_verify(&j->finding, &j->mover);
    if (status != CLI_OK) return status;
    j->checked = true;
    return j->finding.equal ? CLI_OK : fail_verification(j);
}

static int run_job(job *j, const cli_args *args) {
    int status = read_options(j, args);
    if (status != CLI_OK) return status;
    mover_watch_signals();
    status = tensor_open(&j->source, args->argument[0], raw_bytes(j));
    if (status == CLI_OK) status = resolve_source(j);
    if (status == CLI_OK) status = check_destination(j, args->option[CONVERT] != NULL);
    if (status == CLI_OK) status = make_plan(j);
    if (status == CLI_OK && args->option[EXPLAIN] != NULL) explain(j);
    if (status == CLI_OK) make_report_room(j);
    if (status == CLI_OK) status = tensor_create(&j->sink, args->argument[1], &j->to);
    if (status == CLI_OK) status = move_and_check(j, args->option[VERIFY] != NULL);
    return status == CLI_OK ? mover_interrupted() : status;
}

/* ---- the report --------------------------------------------------------------------------------------- */

/* Written before the output appears, so that running out of memory here leaves nothing behind. */
static int write_report(char *text, const job *j) {
    const bool   failed = j->checked && !j->finding.equal;
    json_t      *verified = j->checked ? json_boolean(j->finding.equal) : json_null();
    json_t *o =
        json_pack("{s:I, s:I, s:f, s:o, s:I, s:I}", "bytes_read", (json_int_t)j->source.nbytes, "bytes_written",
                  (json_int_t)(failed ? 0 : j->mover.bytes - j->source.nbytes), "seconds", j->mover.seconds, "verified",
                  verified, "overflowed", (json_int_t)j->losses.overflowed, "vanished", (json_int_t)j->losses.vanished);
    if (o != NULL && j->plan_text != NULL && json_object_set_new(o, "plan", json_string(j->plan_text)) != 0) {
        json_decref(o);
        o = NULL;
    }
    const size_t room = report_room(j);
    const size_t n = o != NULL ? json_dumpb(o, text, room - 1, JSON_COMPACT | JSON_REAL_PRECISION(9)) : 0;
    json_decref(o);
    if (n == 0 || n >= room) return cli_fail(CLI_IO, "memory", "there is not enough");
    text[n] = '\0';
    return CLI_OK;
}

static const char *plural(int64_t n) { return n == 1 ? "" : "s"; }

static void report_losses(const job *j) {
    const tg_layout *to = &j->to.layout;
    const char      *name = to->format == TG_FORMAT_NATIVE ? tg_dtype_name(to->dtype) : tg_format_name(to->format);
    const bool       has_infinity = to->format != TG_SEN169_FP16 && to->dtype != TG_F8E4M3FN;
    const char      *large = has_infinity ? "infinity" : "NaN";
    const long long  over = j->losses.overflowed, under = j->losses.vanished;
    if (over > 0 && under > 0)
        cli_note("%lld finite value%s %s out of the range of %s and became %s; %lld became 0", over, plural(over),
                 over == 1 ? "is" : "are", name, large, under);
    else if (over > 0)
        cli_note("%lld finite value%s %s out of the range of %s and became %s", over, plural(over),
                 over == 1 ? "is" : "are", name, large);
    else if (under > 0)
        cli_note("%lld value%s %s too small for %s and became 0", under, plural(under), under == 1 ? "is" : "are",
                 name);
}

static void print_seconds(FILE *stream, double s) {
    if (s < 0.1) fprintf(stream, "%.2f ms", s * 1000);
    else fprintf(stream, s < 1 ? "%.2f s" : "%.1f s", s);
}

static void report_text(const job *j, FILE *stream) {
    char         read[32], written[32], speed[32];
    const double s = j->mover.seconds;
    (void)cli_human_bytes(read, j->source.nbytes);
    (void)cli_human_bytes(written, j->mover.bytes - j->source.nbytes);
    fprintf(stream, "moved %s -> %s in ", read, written);
    print_seconds(stream, s);
    if (j->mover.bytes >= WORTH_TIMING) fprintf(stream, " (%s)", mover_speed(speed, j->mover.bytes, s));
    if (j->checked) {
        fputs(", verified in ", stream);
        print_seconds(stream, j->mover.verify_seconds);
    }
    fputc('\n', stream);
}

static int run(const cli_args *args) {
    job *const  j = cli_allocate(sizeof *j);
    FILE *const stream = strcmp(args->argument[1], "-") == 0 ? stderr : stdout; /* beside the bytes, not among them */
    memset(j, 0, sizeof *j);
    int status = run_job(j, args);
    if (args->json && (status == CLI_OK || j->checked)) {
        const int written = write_report(j->report, j);
        if (status == CLI_OK) status = written;
    }
    if (status == CLI_OK) status = tensor_commit(&j->sink);
    if (j->report != NULL && *j->report != '\0' && (status == CLI_OK || status == CLI_NO))
        fprintf(stream, "%s\n", j->report);
    if (status == CLI_OK && !args->json) {
        report_losses(j);
        report_text(j, stream);
        if (j->plan_text != NULL) fputs(j->plan_text, stream);
    }
    free(j->report);
    free(j->plan_text);
    tensor_discard(&j->sink);
    tensor_close(&j->source);
    free(j);
    return status;
}

const cli_command cli_relayout = {
    .name = "relayout",
    .summary = "move a file's tensor to another layout",
    .help = help,
    .arguments = {"IN", "OUT"},
    .options = {[FROM] = {"from", "a layout"},
                [TO] = {"to", "a layout"},
                [PAD] = {"pad", "a number"},
                [THREADS] = {"threads", "a number"},
                [CONVERT] = {"convert", NULL},
                [VERIFY] = {"verify", NULL},
                [EXPLAIN] = {"explain", NULL}},
    .run = run,
};
