#!/bin/sh
# The story of one tensor: to its tiled device layout and back, proved equal. Run by `make demo`.
set -eu

tegula=$(cd "$(dirname "${TEGULA:-build/tegula}")" && pwd)/tegula
python=${PYTHON:-python3}
case $python in */*) python=$(cd "$(dirname "$python")" && pwd)/$(basename "$python") ;; esac
make_npy=$(cd "$(dirname "$0")" && pwd)/make_npy.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work"

say() { printf '\n%s\n' "$*"; }
run() {
    printf '$ tegula'
    for word in "$@"; do
        case $word in *[!A-Za-z0-9_./,=-]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    "$tegula" "$@"
}

"$python" "$make_npy" weights.npy 4096 4050
say "weights.npy holds float16 [4096,4050]: $(($(wc -c < weights.npy) / 1000000)) MB, row-major, as NumPy saves it."
say "On an IBM Spyre it lives in sticks of 64 elements:"
run show 'f16[4096,4050] spyre'

say "Where did element (100,1000) go, who lives one stick further, and what lives behind the last column?"
run index 'f16[4096,4050] spyre' 100,1000
run coord 'f16[4096,4050] spyre' 3938664
run coord 'f16[4096,4050] spyre' 16515108 || true

say "Move it to the device layout (float16 becomes the device's DLFloat16) and back, each element checked:"
run relayout --verify --from 'f16[4096,4050]' --to 'f16[4096,4050] spyre' weights.npy device.bin
run relayout --verify --from 'f16[4096,4050] spyre' --to 'f16[4096,4050]' device.bin back.npy
cmp weights.npy back.npy && echo "back.npy is weights.npy, byte for byte"

say "The same for an XLA tiling:"
run relayout --verify --from 'f16[4096,4050]' --to 'f16[4096,4050]{1,0:T(8,128)(2,1)}' weights.npy tiles.bin
run relayout --verify --from 'f16[4096,4050]{1,0:T(8,128)(2,1)}' --to 'f16[4096,4050]' tiles.bin back.npy
cmp weights.npy back.npy && echo "back.npy is weights.npy, byte for byte"

say "Two notations, one map:"
run equal 'f16[5,100,150] spyre' 'f16[5,100,150]{0,2,1:T(64,1)}'
