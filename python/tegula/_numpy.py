"""NumPy arrays of a tegula.Buffer. Imported when one is asked for: NumPy is no dependency of the package."""
import numpy

FLOATS = {"f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16", "c64": "complex64",
          "c128": "complex128", "pred": "bool"}
BARE = {"f4": "float4_", "f6": "float6_", "f8": "float8_", "s": "int", "u": "uint"}


def dtype_of(name):
    """NumPy's or ml_dtypes' dtype for XLA's name of it."""
    if name in FLOATS and name != "bf16":
        return numpy.dtype(FLOATS[name])
    if name in FLOATS:
        spelled = FLOATS[name]
    else:
        start = next(start for start in BARE if name.startswith(start))
        spelled = BARE[start] + name[len(start):]
    if hasattr(numpy, spelled):
        return numpy.dtype(spelled)
    import ml_dtypes
    return numpy.dtype(getattr(ml_dtypes, spelled))


def stored_dtype(layout):
    """Of one stored element, which is not of the layout's dtype in a device format, and packed below 8 bits."""
    if layout.format is None and layout.element_bits % 8 == 0:
        return dtype_of(layout.dtype)
    return numpy.dtype(f"uint{layout.element_bits}" if layout.element_bits >= 8 else "uint8")


def as_array(buffer):
    layout = buffer.layout
    dtype = stored_dtype(layout)
    if layout.notation != "strided":
        return numpy.frombuffer(buffer.storage, dtype)
    if layout.elements == 0:
        return numpy.empty(layout.shape, dtype)
    return numpy.ndarray(layout.shape, dtype, buffer.storage, layout.storage_offset * dtype.itemsize,
                         [stride * dtype.itemsize for stride in layout.strides])


def as_wished(buffer, wish):
    """What __array__(dtype, copy) gives."""
    dtype, copy = wish
    array = as_array(buffer)
    if dtype is not None and numpy.dtype(dtype) != array.dtype:
        if copy is False:
            raise ValueError(f"{array.dtype} becomes {numpy.dtype(dtype)} by a copy only")
        return array.astype(dtype)
    return array.copy() if copy else array
