/* A Python number as one element of a layout, in the format that the layout stores.
 *
 * The number becomes an element of a plain type (f64 and complex as they are, f32 for all smaller floats, s64 or u64
 * for integers), and the library moves that element into the layout's: padding and data are converted by the same code.
 * A double goes to f32 by rounding to odd, so that the second rounding gives what one alone would have given. */
#include "py_plan.h"

#include <string.h>

static int fail(core_state *state, const tg_layout *layout, PyObject *value) {
    const bool  native = layout->format == TG_FORMAT_NATIVE;
    const char *name = native ? tg_dtype_name(layout->dtype) : tg_format_name(layout->format);
    const char *range = native ? tg_dtype_range(layout->dtype) : tg_format_range(layout->format);
    (void)core_raise_argument(state, "pad: the numbers of %s are %s; it has no %R", name, range, value);
    return -1;
}

static bool is_finite(double value) { return value - value == 0; }

/* The neighbour of value in f32, inexact ones with an odd last bit. */
static float round_to_odd(double value) {
    float    near = (float)value;
    uint32_t bits;
    if ((double)near == value || value != value) return near;
    memcpy(&bits, &near, sizeof bits);
    const bool away = (near > 0 ? (double)near > value : (double)near < value);
    if (away) bits--; /* towards 0, from infinity too */
    bits |= 1;
    memcpy(&near, &bits, sizeof near);
    return near;
}

/* Move one element from a plain type to how `layout` stores its own. */
static int store(unsigned char *out, core_state *state, const tg_layout *layout, tg_dtype plain, const void *bytes,
                 PyObject *value) {
    tg_layout one, stored;
    tg_plan   plan;
    tg_error  err;
    int64_t   overflowed = 0, vanished = 0;
    tg_status s = tg_layout_strided(&one, plain, 0, NULL, NULL, 0, &err);
    if (s == TG_OK) s = tg_layout_strided(&stored, layout->dtype, 0, NULL, NULL, 0, &err);
    if (s == TG_OK) {
        stored.format = layout->format;
        stored.elem_bits = layout->elem_bits;
        const tg_plan_params params = {.dst = &stored, .src = &one, .convert = plain != layout->dtype};
        s = tg_plan_init(&plan, &params, &err);
        if (s == TG_OK) s = tg_plan_run(&plan, out, bytes, NULL, &err);
        if (s == TG_OK) s = tg_plan_losses(&overflowed, &vanished, &params, bytes, &err);
    }
    if (s == TG_ERR_OVERFLOW || overflowed != 0) return fail(state, layout, value);
    if (s == TG_ERR_UNSUPPORTED) {
        (void)core_raise_argument(state, "pad: numbers do not become %s here; give the bytes of the element",
                                  tg_dtype_name(layout->dtype));
        return -1;
    }
    if (s != TG_OK) (void)core_raise(state, &err, NULL);
    return s == TG_OK ? 0 : -1;
}

static int store_integer(unsigned char *out, core_state *state, const tg_layout *layout, PyObject *value) {
    int             overflow = 0;
    const long long wide = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (wide == -1 && overflow == 0 && PyErr_Occurred()) return -1;
    if (overflow == 0) return store(out, state, layout, TG_S64, &wide, value);
    const unsigned long long top = overflow > 0 ? PyLong_AsUnsignedLongLong(value) : 0;
    if (overflow < 0 || PyErr_Occurred()) {
        PyErr_Clear();
        return fail(state, layout, value);
    }
    return store(out, state, layout, TG_U64, &top, value);
}

/* A number beyond f32 is beyond all smaller floats, or f64's own. */
static int store_float(unsigned char *out, core_state *state, const tg_layout *layout, PyObject *value) {
    const double wide = PyFloat_AsDouble(value);
    if (wide == -1 && PyErr_ExceptionMatches(PyExc_OverflowError)) return PyErr_Clear(), fail(state, layout, value);
    if (wide == -1 && PyErr_Occurred()) return -1;
    if (layout->dtype == TG_F64) return store(out, state, layout, TG_F64, &wide, value);
    const float narrow = layout->dtype == TG_F32 ? (float)wide : round_to_odd(wide);
    if (is_finite(wide) && !is_finite(narrow)) return fail(state, layout, value);
    return store(out, state, layout, TG_F32, &narrow, value);
}

static int store_complex(unsigned char *out, core_state *state, const tg_layout *layout, PyObject *value) {
    const double wide[2] = {PyComplex_RealAsDouble(value), PyComplex_ImagAsDouble(value)};
    if (PyErr_Occurred()) return -1;
    if (layout->dtype == TG_C128) return store(out, state, layout, TG_C128, wide, value);
    const float narrow[2] = {(float)wide[0], (float)wide[1]};
    for (int i = 0; i < 2; i++)
        if (is_finite(wide[i]) && !is_finite(narrow[i])) return fail(state, layout, value);
    return store(out, state, layout, TG_C64, narrow, value);
}

static int store_bool(unsigned char *out, core_state *state, const tg_layout *layout, PyObject *value) {
    int64_t number = 0;
    if (core_get_int(&number, state, value) != 0) return -1;
    const uint8_t one = number == 1;
    return number == 0 || number == 1 ? store(out, state, layout, TG_PRED, &one, value) : fail(state, layout, value);
}

static int copy_element(unsigned char *out, core_state *state, const tg_layout *layout, PyObject *value) {
    char      *bytes = NULL;
    Py_ssize_t n = 0;
    const int  wanted = (layout->elem_bits + 7) / 8;
    if (PyBytes_AsStringAndSize(value, &bytes, &n) != 0) return -1;
    if (n != wanted) {
        (void)core_raise_argument(state, "pad: one element has %d byte%s, not %zd", wanted, wanted == 1 ? "" : "s", n);
        return -1;
    }
    memcpy(out, bytes, (size_t)n);
    return 0;
}

static int store_number(unsigned char *out, core_state *state, const tg_layout *layout, PyObject *value) {
    switch (tg_dtype_get_class(layout->dtype)) {
    case TG_CLASS_PRED: return store_bool(out, state, layout, value);
    case TG_CLASS_INT:
    case TG_CLASS_UINT: return store_integer(out, state, layout, value);
    case TG_CLASS_FLOAT: return store_float(out, state, layout, value);
    case TG_CLASS_COMPLEX: return store_complex(out, state, layout, value);
    case TG_CLASS_NONE: break;
    }
    (void)core_raise_argument(state, "pad: the layout has no element type");
    return -1;
}

int core_get_pad(unsigned char out[PAD_BYTES], core_state *state, const tg_layout *layout, PyObject *value) {
    const tg_dtype_class class = tg_dtype_get_class(layout->dtype);
    memset(out, 0, PAD_BYTES);
    if (PyBytes_Check(value)) return copy_element(out, state, layout, value);
    if (store_number(out, state, layout, value) == 0) return 0;
    if (PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "pad must be %s for %s, the bytes of an element, or None, not %R",
                     class == TG_CLASS_FLOAT || class == TG_CLASS_COMPLEX ? "a number" : "a whole number",
                     tg_dtype_name(layout->dtype), Py_TYPE(value));
    return -1;
}
