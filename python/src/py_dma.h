/* What the files about DMA programs have in common. */
#ifndef TEGULA_PYTHON_DMA_H
#define TEGULA_PYTHON_DMA_H

#include "core.h"

#include <tegula/transfer.h>

/* tegula.Program. Its descriptors are made when they are asked for, so a long program takes no memory. */
typedef struct core_program {
    PyObject_HEAD
    core_layout     *device, *host;
    tg_dma_direction direction;
    bool             per_mode;
    size_t           count;
} core_program;

enum { DMA_CHUNK = 16 }; /* descriptors that are made at once where all are wanted */

/* What dma and dci take; NULL, or None, where nothing is said. */
typedef struct dma_wish {
    PyObject *layout, *host, *direction;
    int       per_mode;
} dma_wish;

core_program *dma_program(core_state *state, const dma_wish *wish);
PyObject     *dma_dci_dict(core_state *state, const dma_wish *wish); /* py_dci.c: of a program per mode */

/* Descriptors [first, first + *n) of the program, *n <= cap of them; none behind the last. 0, or -1. */
int dma_get(tg_dma *out, size_t cap, size_t *n, const core_program *program, core_state *state, size_t first);

PyObject *dma_text(char *text, size_t len); /* a str; frees text, which PyMem_Malloc made */

/* py_dma_descriptor.c */
PyObject *dma_descriptor(core_state *state, const tg_dma *dma, tg_dma_direction direction);
PyObject *dma_descriptor_dict(const tg_dma *dma);
PyObject *dma_descriptor_text(const tg_dma *dma);
PyObject *dma_descriptor_loops(const tg_dma *dma, tg_dma_direction direction);
int       dma_add_descriptor(PyObject *module);

/* py_dma_run.c */
PyObject *dma_run(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *dma_emit_c(PyObject *self, PyObject *args, PyObject *kwargs);

/* py_dci.c */
PyObject *dma_dci(PyObject *module, PyObject *args, PyObject *kwargs);

#endif
