/* A program that runs: by the library's interpreter, or as C. */
#include "py_array.h"
#include "py_dma.h"

#include <string.h>

static const core_program *program_of(PyObject *object) { return (const core_program *)object; }

/* ---- by the interpreter ------------------------------------------------------------------------- */

/* One element from how one side stores it to how the other does, as a relayout would. */
typedef struct converter {
    tg_plan plan;
} converter;

static void convert(void *context, void *to, const void *from) {
    (void)tg_plan_run(&((const converter *)context)->plan, to, from, NULL, NULL); /* nothing in it can fail */
}

static tg_status one_element(tg_layout *out, const tg_layout *like, tg_error *err) {
    const tg_status s = tg_layout_strided(out, like->dtype, 0, NULL, NULL, 0, err);
    out->format = like->format;
    out->elem_bits = like->elem_bits;
    return s;
}

static tg_status make_converter(converter *out, const core_program *p, tg_error *err) {
    const bool to_device = p->direction == TG_HOST_TO_DEVICE;
    tg_layout  device, host;
    tg_status  s = one_element(&device, &p->device->desc.layout, err);
    if (s == TG_OK) s = one_element(&host, &p->host->desc.layout, err);
    const tg_plan_params params = {.dst = to_device ? &device : &host, .src = to_device ? &host : &device};
    return s == TG_OK ? tg_plan_init(&out->plan, &params, err) : s;
}

static bool is_converted(const core_program *p) {
    const tg_layout *device = &p->device->desc.layout, *host = &p->host->desc.layout;
    return device->format != host->format || device->elem_bits != host->elem_bits;
}

static tg_status run_all(const core_program *p, const tg_dma_memory *memory, void *device, void *host, tg_error *err) {
    tg_dma_params params = {&p->device->desc.layout, &p->host->desc.layout, p->direction, p->per_mode, 0};
    tg_dma        chunk[DMA_CHUNK];
    size_t        count = 0;
    tg_status     s = TG_OK;
    for (; s == TG_OK && params.first < p->count; params.first += DMA_CHUNK) {
        const size_t left = p->count - params.first;
        s = tg_dma_build(chunk, DMA_CHUNK, &count, &params, err);
        if (s == TG_OK)
            s = tg_dma_run(chunk, left < DMA_CHUNK ? left : DMA_CHUNK, p->direction, device, host, memory, err);
    }
    return s;
}

static int run_open(core_state *state, const core_program *p, const core_memory *device, const core_memory *host) {
    const tg_layout *d = &p->device->desc.layout, *h = &p->host->desc.layout;
    converter        c;
    tg_dma_memory    memory = {h->elem_bits, d->elem_bits, h->span, d->span, NULL, NULL};
    tg_error         err;
    tg_status        s = TG_OK;
    if (is_converted(p)) {
        s = make_converter(&c, p, &err);
        memory.convert = convert;
        memory.context = &c;
    }
    if (s == TG_OK) {
        Py_BEGIN_ALLOW_THREADS
        s = run_all(p, &memory, device->bytes, host->bytes, &err);
        Py_END_ALLOW_THREADS
    }
    if (s != TG_OK) (void)core_raise(state, &err, NULL);
    return s == TG_OK ? 0 : -1;
}

PyObject *dma_run(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char        *names[] = {"device", "host", NULL};
    const core_program *p = program_of(self);
    core_state         *state = core_get_state(self);
    const bool          to_device = p->direction == TG_HOST_TO_DEVICE;
    PyObject           *device_array = NULL, *host_array = NULL;
    core_memory         memory[2];
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:run", names, &device_array, &host_array)) return NULL;
    const core_side     device = {device_array, p->device, to_device, "device"};
    const core_side     host = {host_array, p->host, !to_device, "host"};
    if (core_memory_open_pair(memory, state, &device, &host) != 0) return NULL;
    const int failed = run_open(state, p, &memory[0], &memory[1]);
    core_memory_close(&memory[0]);
    core_memory_close(&memory[1]);
    if (failed != 0) return NULL;
    Py_RETURN_NONE;
}

/* ---- as C ------------------------------------------------------------------------------------------ */

enum { MOST_IN_C = 1 << 16 }; /* as of `tegula dma --emit c` */

static PyObject *format_c(core_state *state, const core_program *p, const tg_dma *all, const char *name) {
    const tg_layout *device = &p->device->desc.layout, *host = &p->host->desc.layout;
    const bool       converts = tg_layout_stored_format(device) != tg_layout_stored_format(host);
    size_t           need = 0;
    tg_error         err;
    if (tg_dma_format_c(NULL, 0, &need, all, p->count, p->direction, name, device->elem_bits, host->elem_bits, converts,
                        &err) != TG_OK)
        return core_raise(state, &err, NULL);
    char *text = PyMem_Malloc(need + 1);
    if (text != NULL)
        (void)tg_dma_format_c(text, need + 1, &need, all, p->count, p->direction, name, device->elem_bits,
                              host->elem_bits, converts, NULL);
    return dma_text(text, need);
}

PyObject *dma_emit_c(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char        *names[] = {"name", NULL};
    const core_program *p = program_of(self);
    core_state         *state = core_get_state(self);
    const char         *name = NULL;
    size_t              n = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|z:emit_c", names, &name)) return NULL;
    if (name == NULL) name = p->direction == TG_HOST_TO_DEVICE ? "host_to_device" : "device_to_host";
    if (p->count > MOST_IN_C)
        return core_raise_argument(state, "%zu descriptors are too many for a C function; %d are the limit", p->count,
                                   (int)MOST_IN_C);
    tg_dma *all = PyMem_Malloc((p->count + 1) * sizeof *all);
    if (all == NULL) return PyErr_NoMemory();
    PyObject *text = dma_get(all, p->count, &n, p, state, 0) == 0 ? format_c(state, p, all, name) : NULL;
    PyMem_Free(all);
    return text;
}
