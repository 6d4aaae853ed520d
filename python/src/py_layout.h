/* What the files about tegula.Layout have in common. py_layout.c lists the methods; py_layout_*.c have them. */
#ifndef TEGULA_PYTHON_LAYOUT_H
#define TEGULA_PYTHON_LAYOUT_H

#include "core.h"

/* The sizes and strides of the modes, as plain tuples; plain: not as tegula.Mode. */
PyObject *layout_modes(const core_layout *self, bool plain);

/* py_layout_ask.c */
extern PyGetSetDef layout_getset[];
PyObject *layout_to_dict(PyObject *self, PyObject *none);
PyObject *layout_offset(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *layout_coord(PyObject *self, PyObject *offset);
PyObject *layout_equal(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *layout_difference(PyObject *self, PyObject *args, PyObject *kwargs);
int       layout_add_records(PyObject *module); /* tegula.Mode and tegula.Difference */

void     *layout_raise_outside(core_state *state, const tg_layout *layout, int64_t offset);

/* py_layout_many.c */
PyObject *layout_of_array(PyObject *type, PyObject *array);
PyObject *layout_offsets(PyObject *self, PyObject *coords);
PyObject *layout_coords(PyObject *self, PyObject *offsets);

/* py_layout_make.c */
PyObject *layout_strided(PyObject *type, PyObject *args, PyObject *kwargs);
PyObject *layout_spyre(PyObject *type, PyObject *args, PyObject *kwargs);
PyObject *layout_xla(PyObject *type, PyObject *args, PyObject *kwargs);
PyObject *layout_from_modes(PyObject *type, PyObject *args, PyObject *kwargs);

/* py_draw.c */
PyObject *layout_draw(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *layout_svg(PyObject *self, PyObject *none);
PyObject *layout_html(PyObject *self, PyObject *none);

/* py_layout_view.c */
PyObject *layout_permute(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *layout_transpose(PyObject *self, PyObject *args);
PyObject *layout_reshape(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *layout_flatten(PyObject *self, PyObject *none);
PyObject *layout_slice(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *layout_select(PyObject *self, PyObject *args);
PyObject *layout_expand(PyObject *self, PyObject *args);
PyObject *layout_squeeze(PyObject *self, PyObject *dim);
PyObject *layout_unsqueeze(PyObject *self, PyObject *dim);
PyObject *layout_split(PyObject *self, PyObject *args);
PyObject *layout_merge(PyObject *self, PyObject *mode);
PyObject *layout_reorder(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *layout_coalesce(PyObject *self, PyObject *none);
PyObject *layout_convert(PyObject *self, PyObject *to);
PyObject *layout_cute(PyObject *self, PyObject *none);

#endif
