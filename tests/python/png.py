"""The pixels of a PNG file as rsvg-convert writes it: 8 bits, RGB or RGBA, not interlaced. Source: RFC 2083."""
import struct
import zlib

import numpy as np


def chunks(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at = 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        yield kind, data[at + 8:at + 8 + length]
        at += 12 + length


def paeth(a, b, c):
    p = a + b - c
    pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
    return a if pa <= pb and pa <= pc else b if pb <= pc else c


def unfilter(kind, line, above, step):
    """One line, of bytes that were written as differences from the left and from above."""
    if kind == 0:
        return line
    if kind == 2:
        return line + above  # of uint8, so modulo 256
    out = bytearray(line.tobytes())
    up = above.tobytes()
    for i in range(len(out)):
        left = out[i - step] if i >= step else 0
        corner = up[i - step] if i >= step else 0
        guess = left if kind == 1 else (left + up[i]) // 2 if kind == 3 else paeth(left, up[i], corner)
        out[i] = (out[i] + guess) & 255
    return np.frombuffer(bytes(out), np.uint8)


def pixels(data):
    """An array [height, width, 3 or 4]."""
    header, packed = None, b""
    for kind, body in chunks(data):
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            packed += body
    width, height, depth, colour, _, _, interlaced = header
    assert depth == 8 and colour in (2, 6) and interlaced == 0
    step = 3 if colour == 2 else 4
    raw = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * step)
    lines, above = [], np.zeros(width * step, np.uint8)
    for row in raw:
        above = unfilter(row[0], row[1:], above, step)
        lines.append(above)
    return np.stack(lines).reshape(height, width, step)
