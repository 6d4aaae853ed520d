"""Write a float16 .npy file with the standard library alone: make_npy.py FILE ROWS COLUMNS.

Element k of the row-major order is k % 1000. These values are exact in float16 and in Spyre's
DLFloat16 (9 fraction bits), so that a tensor which goes there and back can be compared byte for byte.
"""
import struct
import sys


def main() -> None:
    path, rows, columns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    text = f"{{'descr': '<f2', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    period = struct.pack("<1000e", *range(1000))
    whole, rest = divmod(rows * columns, 1000)
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
        for _ in range(whole // 1000):
            file.write(period * 1000)
        file.write(period * (whole % 1000) + period[: 2 * rest])


if __name__ == "__main__":
    main()
