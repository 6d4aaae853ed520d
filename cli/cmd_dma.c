/* tegula dma: the loops that carry a tensor between host memory and a layout.
 *
 * Long programs are made in parts of CHUNK descriptors, so that no tensor needs much memory; only what is wanted whole
 * (C, and for an engine) is. dma_dci.c writes DCI. */
#include "dma.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "tegula dma - the loops that carry a tensor between host memory and device memory\n"
    "\n"
    "usage: tegula dma LAYOUT [--direction h2d|d2h] [--host LAYOUT] [--engine NAME] [--dci] [--emit c] [--json]\n"
    "\n"
    "Prints descriptors, each three tuples (the ranges of a loop nest, outermost first, and the steps of each loop in\n"
    "device and in host memory) and the same as loops. Offsets that are not 0 stand behind: + (device, host). All\n"
    "descriptors together carry every element once (back to an expanded host tensor, each place of it once); padding "
    "is never touched, so a ragged dimension takes two. All\n"
    "numbers count elements.\n"
    "\n"
    "  --direction h2d|d2h  host to device (the default), or back; of replicated data the first copy is read\n"
    "  --host LAYOUT        where the tensor lies on the host: a slice of another one, say. Without it a Spyre "
    "layout's\n"
    "                       own host, else dense and row-major\n"
    "  --engine NAME        fit the program to a DMA engine: spyre, aie (AI Engine-ML buffer descriptors) or tma (a "
    "CUDA\n"
    "                       tensor map). Loops are fused, reordered, factored or split into more descriptors; what\n"
    "                       cannot be is refused with the nearest legal value\n"
    "  --dci                the DCI object of torch-spyre (Spyre layouts), as JSON\n"
    "  --emit c             a C function of the loops\n"
    "\n"
    "example:\n"
    "  $ tegula dma 'f16[1024,256] spyre'\n"
    "  ((4, 1024, 64), (65536, 64, 1), (64, 256, 1))\n"
    "  for i in range(4):       # dimension 1 by 64\n"
    "    for j in range(1024):  # dimension 0\n"
    "      for k in range(64):  # dimension 1\n"
    "        device[i*65536 + j*64 + k] = host[j*256 + i*64 + k]\n";

enum { DIRECTION, HOST, ENGINE, DCI, EMIT };
enum { MOST_DESCRIPTORS = 1 << 16 }; /* of a program that must be whole */

/* The next part of a program that an engine took: all of it is there. */
static int next_fitted(dma_program *p) {
    p->first += p->n;
    p->n = p->count - p->first < CLI_DMA_CHUNK ? p->count - p->first : CLI_DMA_CHUNK;
    if (p->n > 0) memcpy(p->chunk, p->fitted + p->first, p->n * sizeof *p->chunk);
    return CLI_OK;
}

/* The argument without which there would be a program: --host if the layout has one with its own host. */
static const char *at_fault(const dma_program *p) {
    tg_host       host;
    tg_layout     own;
    tg_dma_params params = p->params;
    size_t        count;
    if (!p->has_host || tg_desc_host(&host, &p->desc, NULL) != TG_OK) return "layout";
    if (tg_layout_strided(&own, host.dtype, host.ndim, host.shape, host.strides, host.offset, NULL) != TG_OK)
        return "layout";
    params.device = &p->desc.layout;
    params.host = &own;
    return tg_dma_build(NULL, 0, &count, &params, NULL) == TG_OK ? "--host" : "layout";
}

int cli_next_descriptors(dma_program *p) {
    tg_dma_params params = p->params;
    tg_error      err;
    if (p->fitted != NULL) return next_fitted(p);
    params.first = p->first + p->n;
    params.device = &p->desc.layout;
    params.host = &p->host;
    if (tg_dma_build(p->chunk, CLI_DMA_CHUNK, &p->count, &params, &err) != TG_OK)
        return cli_fail_error(at_fault(p), &err);
    p->first = params.first;
    p->n = p->count - p->first < CLI_DMA_CHUNK ? p->count - p->first : CLI_DMA_CHUNK;
    return CLI_OK;
}

static char *text_of(const dma_program *p, const tg_dma *dma, bool as_loops) {
    const tg_dma_direction d = p->params.direction;
    const size_t need = as_loops ? tg_dma_format_loops(NULL, 0, dma, d) : tg_dma_format(NULL, 0, dma);
    char *const  text = cli_allocate(need + 1);
    if (as_loops) tg_dma_format_loops(text, need + 1, dma, d);
    else tg_dma_format(text, need + 1, dma);
    return text;
}

static void print_descriptor(const dma_program *p, const tg_dma *dma, size_t number) {
    char *const tuples = text_of(p, dma, false), *const loops = text_of(p, dma, true);
    if (p->count > 1)
        printf("%sdescriptor %zu (of %zu), %lld element%s:\n", number > 0 ? "\n" : "", number, p->count,
               (long long)tg_dma_elements(dma), tg_dma_elements(dma) == 1 ? "" : "s");
    printf("%s\n%s\n", tuples, loops);
    free(tuples);
    free(loops);
}

static int print_text(dma_program *p) {
    if (p->count == 0) puts("nothing to carry: the tensor has no elements");
    for (int status; p->n > 0;) {
        for (size_t i = 0; i < p->n; i++) print_descriptor(p, &p->chunk[i], p->first + i);
        if ((status = cli_next_descriptors(p)) != CLI_OK) return status;
    }
    return CLI_OK;
}

static json_t *json_of(const tg_dma *dma) {
    json_t *const ranges = cli_json_array(), *const device = cli_json_array(), *const host = cli_json_array();
    for (int32_t i = 0; i < dma->nloops; i++) {
        cli_json_add(ranges, cli_json_int(dma->loop[i].range));
        cli_json_add(device, cli_json_int(dma->loop[i].device_stride));
        cli_json_add(host, cli_json_int(dma->loop[i].host_stride));
    }
    json_t *const object = cli_json_object();
    cli_json_put(object, "ranges", ranges);
    cli_json_put(object, "device_strides", device);
    cli_json_put(object, "host_strides", host);
    cli_json_put(object, "device_offset", cli_json_int(dma->device_offset));
    cli_json_put(object, "host_offset", cli_json_int(dma->host_offset));
    return object;
}

static int print_json(dma_program *p) {
    fputs("{\"descriptors\":[", stdout);
    for (int status; p->n > 0;) {
        for (size_t i = 0; i < p->n; i++) {
            if (p->first + i > 0) putchar(',');
            cli_put_json(stdout, json_of(&p->chunk[i]));
        }
        if ((status = cli_next_descriptors(p)) != CLI_OK) return status;
    }
    puts("]}");
    return CLI_OK;
}

/* The whole program, to be freed: C is printed as one function. */
static tg_dma *whole_program(dma_program *p) {
    tg_dma *const all = cli_allocate((p->count + 1) * sizeof *all);
    while (p->n > 0) {
        memcpy(all + p->first, p->chunk, p->n * sizeof *all);
        if (cli_next_descriptors(p) != CLI_OK) return NULL;
    }
    return all;
}

static const char *format_text(const tg_layout *l) {
    return l->format != TG_FORMAT_NATIVE ? tg_format_name(l->format) : tg_dtype_name(l->dtype);
}

static bool converts(const dma_program *p) {
    return tg_layout_stored_format(&p->desc.layout) != tg_layout_stored_format(&p->host);
}

static int check_whole(const dma_program *p, const char *option, const char *what) {
    if (p->count <= MOST_DESCRIPTORS) return CLI_OK;
    return cli_fail(CLI_USAGE, option, "%zu descriptors are too many for %s; %d are the limit", p->count, what,
                    MOST_DESCRIPTORS);
}

static int print_c(dma_program *p) {
    tg_error     err;
    size_t       need;
    const bool   to_device = p->params.direction == TG_HOST_TO_DEVICE;
    const char  *name = to_device ? "host_to_device" : "device_to_host";
    const int    status = check_whole(p, "--emit", "a C function");
    if (status != CLI_OK) return status;
    tg_dma *const all = whole_program(p);
    if (all == NULL) return CLI_USAGE;
    tg_status s = tg_dma_format_c(NULL, 0, &need, all, p->count, p->params.direction, name,
                                      p->desc.layout.elem_bits, p->host.elem_bits, converts(p), &err);
    if (s == TG_OK) {
        char *const text = cli_allocate(need + 1);
        s = tg_dma_format_c(text, need + 1, &need, all, p->count, p->params.direction, name,
                            p->desc.layout.elem_bits, p->host.elem_bits, converts(p), &err);
        fputs(text, stdout);
        free(text);
    }
    free(all);
    return s == TG_OK ? CLI_OK : cli_fail_error("--emit", &err);
}

/* ---- engines ------------------------------------------------------------------------------------------ */

static int find_engine(const tg_engine **out, const char *name) {
    *out = name == NULL ? NULL : tg_engine_find(name, strlen(name));
    if (name == NULL || *out != NULL) return CLI_OK;
    return cli_fail(CLI_USAGE, "--engine", "'%s' is not known; spyre, aie and tma are", name);
}

/* An answer of `no`, which is JSON too if that was asked for. */
static int fail_fit(const tg_error *err, bool json) {
    const int status = cli_fail_error("--engine", err);
    if (!json || status != CLI_NO) return status;
    json_t *o = cli_json_object();
    cli_json_put(o, "descriptors", json_null());
    cli_json_put(o, "reason", cli_json_text(err->message));
    (void)cli_print_json(o);
    return status;
}

/* Replace the program, of which the first part is there, by one that the engine takes. */
static int fit(dma_program *p, const tg_engine *engine, bool json) {
    int status = engine != NULL ? check_whole(p, "--engine", "an engine") : CLI_OK;
    if (engine == NULL || status != CLI_OK) return status;
    if (engine->same_width && converts(p))
        return cli_fail(CLI_NO, "--engine", "%s copies bits, and %s has to become %s; convert on the host before",
                        engine->name, format_text(&p->host), format_text(&p->desc.layout));
    const int32_t device_bits = p->desc.layout.elem_bits, host_bits = p->host.elem_bits;
    const size_t  n = p->count;
    tg_error      err;
    tg_dma *const all = whole_program(p);
    if (all == NULL) return CLI_USAGE;
    tg_status s = tg_engine_fit(NULL, 0, &p->count, all, n, engine, device_bits, host_bits, &err);
    if (s == TG_OK) status = check_whole(p, "--engine", "one program");
    if (s == TG_OK && status == CLI_OK) {
        p->fitted = cli_allocate((p->count + 1) * sizeof *p->fitted);
        s = tg_engine_fit(p->fitted, p->count, &p->count, all, n, engine, device_bits, host_bits, &err);
    }
    free(all);
    p->first = p->n = 0;
    if (s != TG_OK) return fail_fit(&err, json);
    return status == CLI_OK ? next_fitted(p) : status;
}

/* ---- arguments ------------------------------------------------------------------------------------- */

static int read_direction(tg_dma_direction *out, const char *text) {
    *out = text != NULL && strcmp(text, "d2h") == 0 ? TG_DEVICE_TO_HOST : TG_HOST_TO_DEVICE;
    if (text == NULL || strcmp(text, "d2h") == 0 || strcmp(text, "h2d") == 0) return CLI_OK;
    return cli_fail(CLI_USAGE, "--direction", "'%s' is not h2d (host to device) or d2h (device to host)", text);
}

static int read_emit(const char *text) {
    if (text == NULL || strcmp(text, "c") == 0) return CLI_OK;
    return cli_fail(CLI_USAGE, "--emit", "'%s' is not known; c is", text);
}

/* The host tensor that the layout names. */
static int make_host(dma_program *p) {
    tg_host  host;
    tg_error err;
    if (tg_desc_host(&host, &p->desc, &err) != TG_OK ||
        tg_layout_strided(&p->host, host.dtype, host.ndim, host.shape, host.strides, host.offset, &err) != TG_OK)
        return cli_fail_error("layout", &err);
    return CLI_OK;
}

static int read_host(dma_program *p, const char *text) {
    if (text == NULL) return make_host(p);
    const int status = cli_read_layout(&p->host_desc, "--host", text);
    p->has_host = true;
    p->host = p->host_desc.layout;
    p->host_strides = p->host_desc.notation == TG_NOTATION_STRIDED ? p->host_desc.host.strides : NULL;
    return status;
}

static int check_forms(const cli_args *args) {
    const bool both = args->option[DCI] != NULL && args->option[ENGINE] != NULL;
    const int  forms = args->json + (args->option[DCI] != NULL) + (args->option[EMIT] != NULL);
    if (both)
        return cli_fail(CLI_USAGE, "dma", "--dci has an entry for each device dimension, which --engine may factor; "
                                          "ask for one");
    if (args->json && args->option[DCI] != NULL && args->option[EMIT] == NULL) return CLI_OK; /* DCI is JSON */
    if (forms <= 1) return CLI_OK;
    return cli_fail(CLI_USAGE, "dma", "--json, --dci and --emit are different answers; ask for one");
}

static int run(const cli_args *args) {
    dma_program *const p = cli_allocate(sizeof *p);
    memset(p, 0, sizeof *p);
    const tg_engine *engine = NULL;
    int              status = check_forms(args);
    if (status == CLI_OK) status = read_direction(&p->params.direction, args->option[DIRECTION]);
    if (status == CLI_OK) status = read_emit(args->option[EMIT]);
    if (status == CLI_OK) status = find_engine(&engine, args->option[ENGINE]);
    if (status == CLI_OK) status = cli_read_layout(&p->desc, "layout", args->argument[0]);
    if (status == CLI_OK) status = read_host(p, args->option[HOST]);
    p->params.per_mode = args->option[DCI] != NULL;
    if (status == CLI_OK) status = cli_next_descriptors(p);
    if (status == CLI_OK) status = fit(p, engine, args->json);
    if (status == CLI_OK) {
        status = args->option[DCI] != NULL    ? cli_put_dci(stdout, p)
                 : args->option[EMIT] != NULL ? print_c(p)
                 : args->json                 ? print_json(p)
                                              : print_text(p);
    }
    free(p->fitted);
    free(p);
    return status;
}

const cli_command cli_dma = {
    .name = "dma",
    .summary = "the loops that carry a tensor to a device and back",
    .help = help,
    .arguments = {"LAYOUT"},
    .options = {{"direction", "h2d|d2h"}, {"host", "layout"}, {"engine", "name"}, {"dci", NULL}, {"emit", "c"}},
    .run = run,
};
