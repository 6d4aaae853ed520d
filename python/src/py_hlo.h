/* What the files about HLO text have in common. */
#ifndef TEGULA_PYTHON_HLO_H
#define TEGULA_PYTHON_HLO_H

#include "core.h"

#include <tegula/hlo_report.h>

/* tegula.hlo.Module. The module keeps positions in the bytes of `text`, which are never written again. */
typedef struct core_hlo {
    PyObject_HEAD
    PyObject      *text; /* bytes */
    tg_hlo_module *module;
} core_hlo;

/* What the methods take: names that filter, and a number of rows. */
typedef struct hlo_wish {
    tg_hlo_filter filter; /* its texts belong to the arguments */
    int64_t       limit;  /* -1: all */
} hlo_wish;

/* (computation=None, opcode=None, limit=None). 0, or -1. */
int hlo_get_wish(hlo_wish *out, PyObject *self, PyObject *args, PyObject *kwargs);

PyObject *hlo_piece(tg_hlo_text text);

/* str or bytes, read: a tegula.hlo.Module. */
PyObject *hlo_parse(core_state *state, PyObject *text);

/* "x#1#0": the path stands behind the name. Without a name, all of it. */
PyObject *hlo_operand_name(const tg_hlo_operand *operand);

/* The computation that an instruction is in. */
tg_hlo_computation hlo_computation_of(const tg_hlo_module *module, int64_t instruction);

/* py_hlo_report.c */
PyObject *hlo_padding(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *hlo_copies(PyObject *self, PyObject *args, PyObject *kwargs);

#endif
