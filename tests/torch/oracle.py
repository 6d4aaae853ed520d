"""What the memory of the device must hold, from the definitions alone: slow, and without Tegula.

    host_offset = sum of device coordinate * stride_map, over entries above 0     (docs/sources.md, torch-spyre)
    DLFloat16: 1 sign, 6 exponent (bias 31), 9 fraction bits, no subnormals, halves away from zero
"""
import itertools
import math

import numpy as np


def encode_dlfloat16(values):
    """float32 values as DLFloat16 bits."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.int64)
    sign, rest = (bits >> 16) & 0x8000, bits & 0x7FFFFFFF
    rounded = rest + (1 << 13)
    exponent = (rounded >> 23) - 127 + 31
    code = (exponent << 9) | ((rounded >> 14) & 0x1FF)
    code = np.where(exponent < 0, 0, code)
    code = np.where((exponent > 63) | (rest >= 0x7F800000), 0x7FFF, code)
    return (sign | code).astype(np.uint16)


def decode_dlfloat16(codes):
    codes = np.asarray(codes, np.uint16).astype(np.int64)
    exponent, fraction = (codes >> 9) & 0x3F, codes & 0x1FF
    values = np.ldexp(1 + fraction / 512.0, (exponent - 31).astype(np.int32))
    values = np.where((codes & 0x7FFF) == 0, 0.0, values)
    values = np.where((codes & 0x7FFF) == 0x7FFF, np.nan, values)
    return np.where(codes & 0x8000, -values, values)


def rounded(values, dtype):
    """What a value becomes on its way to the device and back, for a NumPy or PyTorch name of its type."""
    return decode_dlfloat16(encode_dlfloat16(values)) if dtype in ("float16", "bfloat16") else np.asarray(values)


def places(size, stride, device_size, stride_map):
    """{device offset: host offset} of the elements of a host tensor of that size and those strides.

    A device coordinate holds the element whose host offset is the dot product, if every loop stays in bounds of the
    host dimensions: the coordinate is looked for by enumeration of the host tensor, so padding is what is left.
    """
    digits = [(k, m) for k, m in enumerate(stride_map) if m > 0 and device_size[k] > 1]
    digits.sort(key=lambda d: -d[1])
    by_offset = {}
    for coordinate in itertools.product(*map(range, size)):
        by_offset.setdefault(sum(c * s for c, s in zip(coordinate, stride)), coordinate)
    copies = [k for k, m in enumerate(stride_map) if m == 0]
    result = {}
    for offset in by_offset:
        rest, position = offset, [0] * len(device_size)
        for k, m in digits:
            position[k], rest = divmod(rest, m)
            if position[k] >= device_size[k]:
                raise ValueError("not a place of the layout")
        assert rest == 0
        for values in itertools.product(*(range(device_size[k]) for k in copies)):
            for k, v in zip(copies, values):
                position[k] = v
            result[sum(p * math.prod(device_size[k + 1:]) for k, p in enumerate(position))] = offset
    return result
