"""Models for the simulator: HLO text as jax lowers it, inputs, and what jax's CPU makes of them in float32.

    python sim_models.py FOLDER      writes NAME.hlo and NAME.npz (in0, ..., out0, ...) of every model
"""
import pathlib
import sys

import numpy as np


def norm(x, gain, shift):
    mean = x.mean(-1, keepdims=True)
    var = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / (var + 1e-5) ** 0.5 * gain + shift


def rms_norm(x, gain):
    import jax
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * gain


def softmax(x):
    import jax
    return jax.nn.softmax(x, -1)


def heads(x, n):
    b, s, e = x.shape
    return x.reshape(b, s, n, e // n).transpose(0, 2, 1, 3)


def attention(x, wq, wk, wv, wo, n=2, causal=True):
    import jax.numpy as jnp
    b, s, e = x.shape
    q, k, v = (heads(x @ w, n) for w in (wq, wk, wv))
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * (e // n) ** -0.5
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones((s, s), bool)), scores, jnp.asarray(-1e4, scores.dtype))
    y = jnp.einsum("bhqk,bhkd->bhqd", softmax(scores), v)
    return y.transpose(0, 2, 1, 3).reshape(b, s, e) @ wo


def block(x, wq, wk, wv, wo, up, down, gain, shift, n=2):
    import jax
    x = x + attention(norm(x, gain, shift), wq, wk, wv, wo, n)
    return x + jax.nn.gelu(norm(x, gain, shift) @ up) @ down


def rotary(x, cos, sin):
    import jax.numpy as jnp
    a, b = jnp.split(x, 2, -1)
    return x * cos + jnp.concatenate([-b, a], -1) * sin


def convolution(x, w, **how):
    import jax
    how = dict(window_strides=(1, 1), padding="SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")) | how
    return jax.lax.conv_general_dilated(x, w, **how)


def conv_block(x, w1, w2, scale):
    import jax
    import jax.numpy as jnp
    y = jax.nn.relu(convolution(x, w1) * scale)
    y = convolution(y, w2, window_strides=(2, 2), padding=((1, 1), (0, 1)))
    pooled = jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return pooled.mean((1, 2))


def mixture(x, gate, up, down):
    import jax
    import jax.numpy as jnp
    chances = softmax(x @ gate)
    best = chances.max(-1, keepdims=True)
    share = jnp.where(chances >= best, chances, 0)
    return jnp.einsum("xtf,xfe,tx->te", jax.nn.silu(jnp.einsum("te,xef->xtf", x, up)), down, share)


def training(x, w1, w2, y):
    import jax

    def loss(w1, w2):
        return ((jax.nn.tanh(x @ w1) @ w2 - y) ** 2).mean()
    value, (g1, g2) = jax.value_and_grad(loss, (0, 1))(w1, w2)
    return value, w1 - 0.1 * g1, w2 - 0.1 * g2


def language_model(tokens, table, gain, wq, wk, wv, wo):
    x = table[tokens]
    return rms_norm(x + attention(x, wq, wk, wv, wo), gain) @ table.T


def cache(x, past, position):
    import jax
    past = jax.lax.dynamic_update_slice(past, x[:, None, :], (0, position, 0))
    recent = jax.lax.dynamic_slice(past, (0, position, 0), (past.shape[0], 1, past.shape[2]))
    return softmax((past * recent).sum(-1)), past


def rounds(x, w):
    """A loop with a product and a transposed copy of what it carries."""
    import jax
    return jax.lax.fori_loop(0, 3, lambda i, h: (h @ w + h.T) * 0.5, x)


def swapped(x, y):
    """What a round reads is what the one before has left, not what this one writes."""
    import jax
    return jax.lax.fori_loop(0, 5, lambda i, s: (s[1], s[0] * 0.5 + s[1]), (x, y))


def until(x):
    """As many rounds as the data wants; none for what is small from the beginning."""
    import jax
    import jax.numpy as jnp
    halved = jax.lax.while_loop(lambda s: jnp.abs(s[1]).max() > 0.1, lambda s: (s[0] + 1, s[1] * 0.5), (0, x))
    return halved, jax.lax.while_loop(lambda h: h.max() > 1e4, lambda h: h * 0.5, x)


def nested(x):
    import jax

    def outer(i, h):
        return jax.lax.fori_loop(0, i + 1, lambda j, g: g * 0.5 + 1, h) - h * 0.25
    return jax.lax.fori_loop(0, 3, outer, x)


def scanned(x, w):
    """Rows come in and go out one by one."""
    import jax

    def step(h, row):
        h = (h @ w) * 0.25 + row
        return h, h * 2
    return jax.lax.scan(step, x[0], x)


def branched(x, which, last, yes):
    import jax
    branches = [lambda h: -h, lambda h: h * h, lambda h: h + 1]
    return (jax.lax.switch(which, branches, x), jax.lax.switch(last, branches, x),
            jax.lax.cond(yes, lambda h: h * 2, lambda h: h * 0.5, x),
            jax.lax.cond(yes, lambda h: (h > 0).astype(np.int32), lambda h: (h < 0).astype(np.int32), x))


def pieces(a, b):
    import jax.numpy as jnp
    joined = jnp.concatenate([a, b, a[:, :64]], 1)
    return jnp.pad(joined, ((1, 2), (0, 0)), constant_values=3), joined[:, 64:128] * 2


def models():
    """(name, function, shapes of float inputs or arrays)"""
    import jax
    import jax.numpy as jnp
    square = lambda e: [(e, e)] * 4
    yield "mlp", lambda x, a, b: jax.nn.gelu(x @ a) @ b, [(32, 128), (128, 256), (256, 64)]
    yield "mlp ragged", lambda x, a, b: jax.nn.relu(x @ a) @ b, [(33, 100), (100, 150), (150, 70)]
    yield "matmul transposed", lambda x, a: x @ a.T, [(50, 70), (130, 70)]
    yield "batched matmul", lambda x, a: jnp.einsum("bij,bjk->bik", x, a), [(3, 40, 50), (3, 50, 66)]
    yield "matrix times vector", lambda x, a: x @ a, [(100, 150), (150,)]
    yield "vector times matrix", lambda x, a: x @ a, [(150,), (150, 100)]
    yield "dot", lambda x, a: x @ a, [(150,), (150,)]
    yield "softmax", softmax, [(20, 128)]
    yield "softmax ragged", softmax, [(20, 100)]
    yield "softmax of columns", lambda x: jax.nn.softmax(x, 0), [(100, 70)]
    yield "layernorm", norm, [(4, 10, 128), (128,), (128,)]
    yield "layernorm ragged", norm, [(10, 100), (100,), (100,)]
    yield "rms norm", rms_norm, [(10, 192), (192,)]
    yield "attention", lambda *a: attention(*a), [(2, 64, 128)] + square(128)
    yield "attention ragged", lambda *a: attention(*a), [(2, 50, 128)] + square(128)
    yield "attention without mask", lambda *a: attention(*a, causal=False), [(1, 33, 64)] + square(64)
    yield "narrow heads", lambda *a: attention(*a, n=4), [(1, 40, 128)] + square(128)
    yield "block", lambda *a: block(*a), [(1, 64, 128)] + square(128) + [(128, 512), (512, 128), (128,), (128,)]
    yield "rotary", rotary, [(2, 30, 128), (30, 128), (30, 128)]
    yield "conv block", conv_block, [(2, 9, 9, 64), (3, 3, 64, 64), (2, 2, 64, 128), (64,)]
    yield "dilated conv", lambda x, w: convolution(x, w, rhs_dilation=(2, 1)), [(1, 8, 8, 64), (3, 3, 64, 70)]
    yield "transposed conv", lambda x, w: convolution(x, w, lhs_dilation=(2, 2), padding=((1, 1), (1, 1))), [
        (1, 5, 5, 64), (2, 2, 64, 64)]
    yield "depthwise conv", lambda x, w: convolution(x, w, feature_group_count=64), [(1, 8, 8, 64), (3, 3, 1, 64)]
    line = dict(window_strides=(2,), dimension_numbers=("NCH", "OIH", "NCH"))
    yield "conv of a line", lambda x, w: convolution(x, w, padding=((3, -1),), **line), [(2, 64, 20), (70, 64, 3)]
    solid = dict(window_strides=(1, 2, 1), dimension_numbers=("NDHWC", "DHWIO", "NDHWC"),
                 padding=((1, 0), (2, 1), (0, 1)))
    yield "conv of a solid", lambda x, w: convolution(x, w, lhs_dilation=(1, 1, 2), rhs_dilation=(2, 1, 1), **solid), [
        (1, 5, 6, 4, 64), (2, 3, 2, 64, 10)]
    yield "grouped conv", lambda x, w: convolution(x, w, feature_group_count=2), [(1, 5, 5, 128), (3, 3, 64, 128)]
    yield "conv of parts", lambda x, w: convolution(x, w, batch_group_count=2), [(4, 5, 5, 3), (3, 3, 3, 128)]
    yield "conv of one channel", convolution, [(1, 6, 6, 1), (3, 3, 1, 64)]
    yield "narrow conv", convolution, [(1, 6, 6, 3), (3, 3, 3, 64)]
    yield "average pool", lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"), [
        (1, 9, 9, 64)]
    yield "mixture", mixture, [(20, 64), (64, 4), (4, 64, 128), (4, 128, 64)]
    yield "training", training, [(16, 64), (64, 128), (128, 64), (16, 64)]
    yield "language model", language_model, [np.arange(40, dtype=np.int32).reshape(2, 20) * 3 % 128, (128, 64),
                                             (64,)] + square(64)
    yield "cache", cache, [(2, 64), (2, 20, 64), np.int32(7)]
    yield "rounds", rounds, [(64, 64), (64, 64)]
    yield "ragged rounds", rounds, [(70, 70), (70, 70)]
    yield "swapped", swapped, [(20, 70), (20, 70)]
    yield "until", until, [(20, 100)]
    yield "nested", nested, [(20, 100)]
    yield "scanned", scanned, [(7, 4, 64), (64, 64)]
    yield "branched", branched, [(20, 70), np.int32(1), np.int32(7), np.bool_(True)]
    yield "branched otherwise", branched, [(20, 70), np.int32(-3), np.int32(2), np.bool_(False)]
    yield "reversed", lambda x: (x[::-1], x[:, ::-1] * 2, x[::-1, :, ::-1] + x), [(4, 5, 70)]
    yield "pieces", pieces, [(5, 128), (5, 64)]
    yield "ragged pieces", lambda a, b: jnp.concatenate([a, b], 0), [(5, 70), (3, 70)]
    yield "reshapes", lambda x: (x.reshape(20, 192) + 1).reshape(2, 10, 3, 64).transpose(2, 0, 1, 3), [(2, 10, 192)]
    yield "column sums", lambda x: (x.sum(0), x.max(0), x.min(1), x.prod(0)), [(20, 100)]
    yield "sum of everything", lambda x: (x * x).sum(), [(20, 100)]
    yield "where", lambda x, y: jnp.where((x > y) & (x < 1), x, -y), [(30, 100), (30, 100)]
    yield "integers", lambda i: (i * 3 + i // 2 - i % 5, (i > 10).astype(jnp.int32).sum()), [
        np.arange(200, dtype=np.int32).reshape(4, 50) - 50]
    yield "argument", lambda x: (x == x.max(-1, keepdims=True)).astype(x.dtype), [(10, 100)]


def lower(function, arguments, dtype):
    import jax
    import jax.numpy as jnp
    typed = [a if isinstance(a, (np.ndarray, np.generic)) else jnp.ones(a, dtype) for a in arguments]
    return jax.jit(function).lower(*typed).compiler_ir("hlo").as_hlo_text()


def draw(rng, shape, divisor):
    """Numbers that every format of 16 bits has."""
    return (np.round(rng.standard_normal(shape) / divisor * 128).clip(-400, 400) / 128).astype(np.float16)


def main(folder):
    import jax
    for name, function, arguments in models():
        rng = np.random.default_rng(len(name))
        values = [a if isinstance(a, (np.ndarray, np.generic)) else draw(rng, a, 5 if i else 1)
                  for i, a in enumerate(arguments)]
        wide = [a.astype(np.float32) if a.dtype.kind == "f" else a for a in values]
        expected = jax.tree_util.tree_leaves(jax.jit(function)(*wide))
        for dtype in ("float16", "float32"):
            (folder / f"{name}.{dtype}.hlo").write_text(lower(function, arguments, dtype))
        np.savez(folder / f"{name}.npz", **{f"in{i}": a for i, a in enumerate(values)},
                 **{f"out{i}": np.asarray(a) for i, a in enumerate(expected)})


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
