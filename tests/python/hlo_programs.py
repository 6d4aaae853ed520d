"""HLO that jax emits for real functions: `hlo_programs.py NAME FOLDER` writes modules.json, for each
module its text in every form.

A process of its own, because the number of CPU devices is fixed when jax starts.
"""
import json
import os
import pathlib
import sys

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"


def transformer_block(x, w):
    import jax
    import jax.numpy as jnp
    qkv = (x @ w["qkv"]).reshape(*x.shape[:-1], 3, 4, -1)
    q, k, v = (jnp.moveaxis(qkv[..., i, :, :], -2, -3) for i in range(3))
    scores = jnp.where(jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool)), q @ jnp.swapaxes(k, -1, -2), -1e9)
    heads = jax.nn.softmax(scores / q.shape[-1] ** 0.5) @ v
    y = x + jnp.moveaxis(heads, -3, -2).reshape(x.shape) @ w["out"]
    z = (y - y.mean(-1, keepdims=True)) * jax.lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)
    return y + jax.nn.gelu(z @ w["up"]) @ w["down"]


def transformer_arguments():
    import jax.numpy as jnp
    shapes = {"qkv": (32, 96), "out": (32, 32), "up": (32, 128), "down": (128, 32)}
    return jnp.ones((2, 8, 32), jnp.bfloat16), {name: jnp.ones(shape, jnp.bfloat16) for name, shape in shapes.items()}


def forward():
    yield transformer_block, transformer_arguments()


def backward():
    import jax
    x, w = transformer_arguments()
    yield jax.grad(lambda w, x: transformer_block(x, w).astype("float32").sum()), (w, x)


def convolution():
    import jax
    import jax.numpy as jnp

    def net(k, x):
        y = jax.nn.relu(jax.lax.conv_general_dilated(x, k, (2, 1), [(1, 1), (0, 2)], rhs_dilation=(1, 2),
                                                     dimension_numbers=("NHWC", "HWIO", "NHWC")))
        y = jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return jnp.log(jnp.abs(y).sum())

    arguments = jnp.ones((3, 3, 4, 8)), jnp.ones((2, 16, 12, 4))
    yield net, arguments
    yield jax.grad(net), arguments


def loops():
    import jax
    import jax.numpy as jnp

    def f(x, n):
        c, ys = jax.lax.scan(lambda c, y: (jnp.sin(c @ c) + y, c.sum(0)), x, x)
        c = jax.lax.while_loop(lambda t: t[1] < n, lambda t: (t[0] * 2, t[1] + 1), (c, 0))[0]
        c = jax.lax.cond(c.sum() > 0, lambda: c, lambda: -c)
        return jax.lax.switch(n, [lambda: c, lambda: c + 1, lambda: jnp.flip(c)]), ys

    yield f, (jnp.ones((8, 8)), 5)


def operations():
    """Attributes of many forms."""
    import jax
    import jax.numpy as jnp

    def f(x, i, key):
        yield jax.lax.sort((x, i), dimension=1, num_keys=2)
        yield x.at[i[0]].add(1.0)
        yield x[i[0], i[1]]
        yield jax.lax.pad(x, 0.0, ((1, -1, 0), (0, 2, 3)))
        yield x[1:7:2, ::-1]
        yield jnp.fft.rfft(x)
        yield jnp.concatenate([x, x], 1).T
        yield jax.lax.dynamic_update_slice(x, x[:2, :2], (i[0, 0], i[0, 1]))
        yield jax.random.normal(key, (3, 4))
        yield jnp.linalg.qr(x)
        yield jnp.array([1 + 2j, 3.5]), jnp.array([True, False]), jnp.array([jnp.inf, jnp.nan, -0.0])
        yield jnp.arange(24.0).reshape(2, 3, 2, 2) + jnp.array(range(24)).reshape(2, 3, 2, 2)
        yield jax.lax.top_k(x, 2), jnp.cumsum(x, 0), jnp.argmax(x, 1)
        yield x.astype("float8_e4m3fn"), x.astype("int4"), jax.lax.bitcast_convert_type(x, "uint32")
        yield jax.lax.reduce_precision(x, 5, 7), jax.lax.population_count(i), jax.lax.clamp(0.0, x, 1.0)

    yield lambda *args: list(f(*args)), (jnp.ones((8, 8)), jnp.ones((8, 8), int), jax.random.key(0))


def sharded():
    import jax
    import jax.numpy as jnp
    from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
    mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=(AxisType.Auto, AxisType.Auto))
    a = jax.device_put(jnp.ones((16, 32)), NamedSharding(mesh, P("x", "y")))
    b = jax.device_put(jnp.ones((32, 8)), NamedSharding(mesh, P("y", None)))
    yield lambda a, b: jax.lax.with_sharding_constraint(jnp.tanh(a @ b), NamedSharding(mesh, P(None, "x"))), (a, b)

    def collectives(a):
        s = jax.lax.psum(a, "x") + jax.lax.ppermute(a, "y", [(0, 1), (1, 0)])
        scattered = jax.lax.psum_scatter(s, "x", tiled=True)
        return jax.lax.all_gather(s, "y"), scattered, jax.lax.all_to_all(s, "y", 0, 1, tiled=True)

    sharded_map = jax.shard_map(collectives, mesh=mesh, in_specs=P("x", "y"), out_specs=P("x", "y"), check_vma=False)
    yield sharded_map, (jnp.ones((8, 4)),)


PROGRAMS = {p.__name__: p for p in (forward, backward, convolution, loops, operations, sharded)}


def options():
    """The forms in which XLA prints a module, by name."""
    from jaxlib import _hlo
    yield "default", _hlo.HloPrintOptions()
    for name in ("short_parsable", "canonical", "fingerprint"):
        yield name, getattr(_hlo.HloPrintOptions, name)()
    for name, settings in {
        "old": {"print_operand_shape": True},
        "no percent": {"print_percent": False},
        "compact": {"compact_operands": True},
        "large constants": {"print_large_constants": True},
        "no layouts": {"include_layout_in_shapes": False},
        "indented": {"indent_amount": 3},
    }.items():
        o = _hlo.HloPrintOptions()
        for key, value in settings.items():
            setattr(o, key, value)
        yield name, o


def modules(name):
    """As jax hands it to XLA, and as XLA compiles it."""
    import jax
    for function, arguments in PROGRAMS[name]():
        lowered = jax.jit(function).lower(*arguments)
        yield lowered.compiler_ir("hlo").as_hlo_module()
        yield lowered.compile().runtime_executable().hlo_modules()[0]


def main():
    texts = [{form: module.to_string(o) for form, o in options()} for module in modules(sys.argv[1])]
    (pathlib.Path(sys.argv[2]) / "modules.json").write_text(json.dumps(texts))


if __name__ == "__main__":
    main()
