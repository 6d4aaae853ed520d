"""HLO that jax emits for models: `plan_models.py FOLDER` writes models.json, {name: {"lowered": text, ...}}.

A process of its own, because jax takes its settings when it starts.
"""
import json
import os
import pathlib
import sys

os.environ["JAX_PLATFORMS"] = "cpu"


def norm(x, gain, shift):
    import jax
    y = x.astype("float32")
    mean = y.mean(-1, keepdims=True)
    y = (y - mean) * jax.lax.rsqrt(((y - mean) ** 2).mean(-1, keepdims=True) + 1e-5)
    return y.astype(x.dtype) * gain + shift


def attention(x, w, heads):
    import jax
    import jax.numpy as jnp
    b, s, e = x.shape
    q, k, v = ((x @ w[name]).reshape(b, s, heads, e // heads).transpose(0, 2, 1, 3) for name in "qkv")
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / (e // heads) ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones((s, s), bool)), scores, jnp.asarray(-1e9, x.dtype))
    weights = jax.nn.softmax(scores.astype("float32"), -1).astype(x.dtype)
    return jnp.einsum("bhqk,bhkd->bhqd", weights, v).transpose(0, 2, 1, 3).reshape(b, s, e) @ w["o"]


def block(x, w, heads):
    import jax
    x = x + attention(norm(x, w["g1"], w["b1"]), w, heads)
    return x + jax.nn.gelu(norm(x, w["g2"], w["b2"]) @ w["up"]) @ w["down"]


def weights(e):
    import jax.numpy as jnp
    shapes = dict(q=(e, e), k=(e, e), v=(e, e), o=(e, e), up=(e, 4 * e), down=(4 * e, e), g1=(e,), b1=(e,), g2=(e,),
                  b2=(e,))
    return {name: jnp.ones(shape, jnp.bfloat16) for name, shape in shapes.items()}


def decoder(tokens, table, layers):
    """Embedding, two blocks, logits."""
    x = table[tokens]
    for w in layers:
        x = block(x, w, 4)
    return x @ table.T


def mlp(x, w1, w2):
    import jax
    return jax.nn.silu(x @ w1) @ w2


def resnet_block(x, k1, k2, scale):
    import jax
    import jax.numpy as jnp

    def conv(y, k):
        return jax.lax.conv_general_dilated(y, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    y = jax.nn.relu(conv(x, k1) * scale)
    y = jax.lax.reduce_window(conv(y, k2), -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jax.nn.relu(y + x[:, ::2, ::2, :]).mean((1, 2))


def mixture(x, gate, up, down):
    """Of experts, each on every token."""
    import jax
    import jax.numpy as jnp
    chances = jax.nn.softmax((x @ gate).astype("float32"), -1)
    best = jnp.max(chances, -1, keepdims=True)
    share = jnp.where(chances >= best, chances, 0).astype(x.dtype)
    hidden = jax.nn.gelu(jnp.einsum("te,xef->xtf", x, up))
    return jnp.einsum("xtf,xfe,tx->te", hidden, down, share)


def cache_step(x, cache, position, w):
    """One token of a decoder with a cache of keys."""
    import jax
    key = (x @ w)[:, None, :]
    cache = jax.lax.dynamic_update_slice(cache, key, (0, position, 0))
    return jax.nn.softmax((cache * x[:, None, :]).sum(-1), -1), cache


def jax_gradient(x, w):
    """Of a block whose dimensions all are shorter than a stick."""
    import jax
    return jax.grad(lambda w: block(x, w, 4).astype("float32").sum())(w)


def norm_gradient(x, gain):
    import jax
    import jax.numpy as jnp

    def rms(x, gain):
        y = x.astype("float32")
        return (y * jax.lax.rsqrt((y ** 2).mean(-1, keepdims=True) + 1e-5)).astype(x.dtype) * gain
    return jax.grad(lambda x, gain: jnp.sum(rms(x, gain).astype("float32")), (0, 1))(x, gain)


def rotary(x):
    """Both ways to pair the features: halves, and neighbours."""
    import jax.numpy as jnp
    _, s, _, d = x.shape
    angle = jnp.arange(s)[:, None] / 10000 ** (jnp.arange(0, d, 2) / d)
    c, n = jnp.cos(angle)[None, :, None], jnp.sin(angle)[None, :, None]
    y = x.astype("float32")
    a, b = jnp.split(y, 2, -1)
    halves = jnp.concatenate([a * c - b * n, b * c + a * n], -1)
    a, b = y[..., ::2], y[..., 1::2]
    return (halves + jnp.stack([a * c - b * n, b * c + a * n], -1).reshape(x.shape)).astype(x.dtype)


def layers_in_a_loop(x, w):
    import jax
    import jax.numpy as jnp
    return jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, w)[0]


def loop_gradient(x, w):
    import jax
    return jax.grad(lambda w: layers_in_a_loop(x, w).astype("float32").sum())(w)


def recurrent(x, w, u):
    import jax
    import jax.numpy as jnp
    start = jnp.zeros((x.shape[1], w.shape[1]), x.dtype)
    return jax.lax.scan(lambda h, t: (jnp.tanh(t @ w + h @ u),) * 2, start, x)


def until(x, w):
    import jax
    import jax.numpy as jnp
    return jax.lax.while_loop(lambda c: c[1] < 5, lambda c: (jnp.tanh(c[0] @ w), c[1] + 1), (x, 0))[0]


def branches(x, w, p):
    import jax
    return jax.lax.switch(p, [lambda x: x @ w, jax.nn.relu, lambda x: x * 2], x)


def routed(x, gate, up, down):
    """Of experts, the best two of each token."""
    import jax
    import jax.numpy as jnp
    chances = jax.nn.softmax((x @ gate).astype("float32"), -1)
    best, which = jax.lax.top_k(chances, 2)
    hidden = jax.nn.silu(jnp.einsum("te,tkef->tkf", x, up[which]))
    return jnp.einsum("tkf,tkfe,tk->te", hidden, down[which], best.astype(x.dtype))


def best_expert(x, gate):
    import jax
    import jax.numpy as jnp
    return jax.nn.one_hot(jnp.argmax(x @ gate, -1), gate.shape[1], dtype=x.dtype)


def language_loss(table, tokens, head):
    import jax
    import jax.numpy as jnp
    chances = jax.nn.log_softmax((table[tokens] @ head).astype("float32"), -1)
    return -(chances * jax.nn.one_hot(tokens, head.shape[1])).mean() + 0 * jnp.sum(table.astype("float32"))


def grouped(x, k):
    import jax
    return jax.lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                        feature_group_count=x.shape[-1] // k.shape[2])


def gradient(f, which):
    """Of the sum of what f gives."""
    import jax
    import jax.numpy as jnp
    return lambda *a: jax.grad(lambda *b: jnp.sum(jnp.asarray(f(*b)).astype("float32")), which)(*a)


def order(x):
    import jax.numpy as jnp
    return jnp.sort(x, 0) + x[::-1], jnp.cumsum(x, 1)


def more_models():
    """Loops, branches, indices, searches and groups, and gradients of them."""
    import jax.numpy as jnp
    one = lambda *shape, dtype=jnp.bfloat16: jnp.ones(shape, dtype)
    zero = lambda *shape: jnp.zeros(shape, jnp.int32)
    yield "norm gradient", norm_gradient, (one(4, 128, 256), one(256))
    yield "rotary", rotary, (one(2, 128, 4, 128),)
    yield "loop", layers_in_a_loop, (one(64, 256), one(6, 256, 256))
    yield "loop gradient", loop_gradient, (one(64, 256), one(6, 256, 256))
    yield "recurrent", recurrent, (one(10, 64, 128), one(128, 256), one(256, 256))
    yield "until", until, (one(64, 256), one(256, 256))
    yield "branches", branches, (one(64, 256), one(256, 256), jnp.int32(1))
    yield "routed", routed, (one(32, 256), one(256, 64), one(64, 256, 128), one(64, 128, 256))
    yield "best expert", best_expert, (one(128, 256), one(256, 64))
    yield "embedding gradient", gradient(language_loss, (0, 2)), (one(512, 256), zero(2, 128), one(256, 512))
    yield "resnet gradient", gradient(resnet_block, (0, 1, 2, 3)), (
        one(2, 16, 16, 64), one(3, 3, 64, 64), one(3, 3, 64, 64), one(64))
    yield "mixture gradient", gradient(mixture, (0, 1, 2, 3)), (
        one(128, 256), one(256, 64), one(64, 256, 128), one(64, 128, 256))
    yield "groups", grouped, (one(2, 16, 16, 256), one(3, 3, 64, 256))
    yield "groups gradient", gradient(grouped, (0, 1)), (one(2, 16, 16, 256), one(3, 3, 64, 256))
    yield "depthwise gradient", gradient(grouped, (0, 1)), (one(2, 16, 16, 128), one(3, 3, 1, 128))
    yield "order", order, (one(64, 256),)


def models():
    import jax.numpy as jnp
    one = lambda *shape, dtype=jnp.bfloat16: jnp.ones(shape, dtype)
    yield "block", lambda x, w: block(x, w, 4), (one(2, 128, 256), weights(256))
    yield "small heads", lambda x, w: block(x, w, 8), (one(2, 128, 256), weights(256))
    yield "gradient", jax_gradient, (one(2, 8, 32), weights(32))
    yield "ragged", lambda x, w: block(x, w, 4), (one(3, 100, 256), weights(256))
    yield "decoder", decoder, (jnp.ones((2, 128), jnp.int32), one(512, 256), [weights(256), weights(256)])
    yield "mlp", mlp, (one(64, 256), one(256, 512), one(512, 128))
    yield "resnet block", resnet_block, (one(2, 16, 16, 64), one(3, 3, 64, 64), one(3, 3, 64, 64), one(64))
    yield "mixture", mixture, (one(128, 256), one(256, 64), one(64, 256, 128), one(64, 128, 256))
    yield "cache", cache_step, (one(2, 64), one(2, 128, 64), jnp.int32(3), one(64, 64))
    yield from more_models()


def main():
    import jax
    out = {}
    for name, function, arguments in models():
        lowered = jax.jit(function).lower(*arguments)
        out[name] = {"lowered": lowered.compiler_ir("hlo").as_hlo_text(), "compiled": lowered.compile().as_text()}
    (pathlib.Path(sys.argv[1]) / "models.json").write_text(json.dumps(out))


if __name__ == "__main__":
    main()
