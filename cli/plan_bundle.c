/* The files of a bundle: a SuperDSC for each kernel, DCI for what goes to the device and comes back, the report, and
 * bundle.json, which says how they belong together. Everything is written as it is made: there may be very many. */
#include "dma.h"
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include <tegula/sdsc.h>

enum { NAME = 128 };

typedef struct bundle_view {
    const plan_view *view;
    const tg_bundle *bundle;
    const char      *directory;
    plan_written    *out;
    char            *text; /* of a SuperDSC */
    size_t           cap;
} bundle_view;

/* ---- kernels ------------------------------------------------------------------------------------ */

static const char *kernel_name(char name[NAME], const bundle_view *b, int64_t i) {
    size_t need = 0;
    name[0] = '\0';
    (void)tg_bundle_format_name(name, NAME, &need, b->bundle, i, NULL);
    return name;
}

/* The text of kernel i with its line end, in b->text. */
static int format_kernel(size_t *len, bundle_view *b, int64_t i) {
    tg_error err;
    if (tg_bundle_format_sdsc(b->text, b->cap, len, b->bundle, i, &err) != TG_OK)
        return cli_fail_error("SuperDSC", &err);
    if (*len + 1 < b->cap) return CLI_OK;
    free(b->text);
    b->cap = 2 * *len + NAME;
    b->text = cli_allocate(b->cap);
    return format_kernel(len, b, i);
}

static int write_kernel(bundle_view *b, int64_t i) {
    char   name[NAME], file_name[2 * NAME];
    size_t len = 0;
    int    status = format_kernel(&len, b, i);
    if (status != CLI_OK) return status;
    (void)snprintf(file_name, sizeof file_name, "%s.json", kernel_name(name, b, i));
    FILE *file = plan_open_file(b->directory, file_name);
    if (file == NULL) return CLI_IO;
    b->text[len] = '\n';
    (void)fwrite(b->text, 1, len + 1, file);
    b->out->kernels++;
    return plan_close_file(file, file_name, CLI_OK);
}

/* ---- transfers ------------------------------------------------------------------------------------- */

/* The host tensor of a step as a DMA program sees it. */
static tg_status open_program(dma_program *p, const bundle_view *b, const tg_bundle_transfer *t, tg_error *err) {
    const tg_plan_step s = tg_graph_plan_step(b->view->plan, t->step);
    memset(p, 0, sizeof *p);
    p->desc.notation = TG_NOTATION_SPYRE;
    p->desc.host = tg_graph_get(b->view->graph, s.node).host;
    p->desc.spyre = s.layout;
    p->host_strides = p->desc.host.strides;
    p->params = (tg_dma_params){.direction = t->to_device ? TG_HOST_TO_DEVICE : TG_DEVICE_TO_HOST, .per_mode = true};
    const tg_host *h = &p->desc.host;
    tg_status      status = tg_layout_from_spyre(&p->desc.layout, &p->desc.spyre, h, err);
    if (status == TG_OK)
        status = tg_layout_strided(&p->host, h->dtype, h->ndim, h->shape, h->strides, h->offset, err);
    return status;
}

static int write_dci(bundle_view *b, int64_t i) {
    const tg_bundle_transfer t = tg_bundle_get_transfer(b->bundle, i);
    dma_program *const       p = cli_allocate(sizeof *p);
    char                     name[NAME];
    tg_error                 err;
    int                      status = CLI_OK;
    (void)snprintf(name, sizeof name, "dci_%lld_%s.json", (long long)t.step, t.to_device ? "h2d" : "d2h");
    FILE *file = plan_open_file(b->directory, name);
    if (file == NULL) status = CLI_IO;
    if (status == CLI_OK && open_program(p, b, &t, &err) != TG_OK) status = cli_fail_error(name, &err);
    if (status == CLI_OK) status = cli_next_descriptors(p);
    if (status == CLI_OK) status = cli_put_dci(file, p);
    if (file != NULL) status = plan_close_file(file, name, status);
    b->out->transfers++;
    free(p);
    return status;
}

/* ---- the manifest ------------------------------------------------------------------------------------ */

static int write_manifest(const bundle_view *b) {
    static const char name[] = "bundle.json";
    const size_t      len = tg_bundle_format_manifest(NULL, 0, b->bundle, b->view->module);
    char             *text = cli_allocate(len + 1);
    FILE             *file = plan_open_file(b->directory, name);
    (void)tg_bundle_format_manifest(text, len + 1, b->bundle, b->view->module);
    text[len] = '\n';
    if (file != NULL) (void)fwrite(text, 1, len + 1, file);
    free(text);
    return file != NULL ? plan_close_file(file, name, CLI_OK) : CLI_IO;
}

/* ---- the report ------------------------------------------------------------------------------------------ */

static int write_report(const bundle_view *b) {
    static const char name[] = "report.txt";
    FILE             *file = plan_open_file(b->directory, name);
    if (file == NULL) return CLI_IO;
    return plan_close_file(file, name, plan_put_report(file, b->view));
}

/* ---- the whole ---------------------------------------------------------------------------------------------- */

static int write_files(bundle_view *b) {
    int status = CLI_OK;
    for (int64_t i = 0; i < tg_bundle_kernel_count(b->bundle) && status == CLI_OK; i++) status = write_kernel(b, i);
    for (int64_t i = 0; i < tg_bundle_transfer_count(b->bundle) && status == CLI_OK; i++) status = write_dci(b, i);
    if (status == CLI_OK) status = write_report(b);
    return status == CLI_OK ? write_manifest(b) : status;
}

int plan_write_bundle(plan_written *out, const plan_view *view, const char *directory) {
    const tg_bundle_params params = {.division = plan_division_params(view), .memory = view->memory};
    tg_bundle             *bundle = NULL;
    tg_error               err;
    if (tg_bundle_create(&bundle, view->graph, view->plan, &params, &err) != TG_OK)
        return cli_fail_error("plan", &err);
    for (int64_t i = 0; i < tg_graph_plan_step_count(view->plan); i++)
        out->host += tg_bundle_get_step(bundle, i).duty == TG_DUTY_HOST;
    bundle_view b = {.view = view, .bundle = bundle, .directory = directory, .out = out, .cap = 1 << 14,
                     .text = cli_allocate(1 << 14)};
    const int status = write_files(&b);
    free(b.text);
    tg_bundle_destroy(&bundle);
    return status;
}
