"""HLO text of tensor expressions as published cases write them: `(a.t()+b)@c.amin(-1)`, and what the command plans."""
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEGULA = os.environ.get("TEGULA", str(ROOT / "build" / "tegula"))

MINIMUM = "min {\n p = f16[] parameter(0)\n q = f16[] parameter(1)\n ROOT r = f16[] minimum(p, q)\n}\n"


class Program:
    def __init__(self):
        self.lines, self.count = [], 0

    def put(self, shape, text, name=None):
        if name is None:
            self.count += 1
            name = f"v{self.count}"
        self.lines.append(f"  {name} = f16[{','.join(map(str, shape))}] {text}")
        return Tensor(self, name, list(shape))

    def parameter(self, name, shape, order=None):
        number = sum("parameter(" in line for line in self.lines)
        says = f', frontend_attributes={{spyre_layout="spyre dim_order={order}"}}' if order else ""
        return self.put(shape, f"parameter({number}){says}", name)

    def text(self):
        body = self.lines[:-1] + ["  ROOT " + self.lines[-1].strip()]
        return MINIMUM + "ENTRY main {\n" + "\n".join(body) + "\n}\n"


class Tensor:
    def __init__(self, program, name, shape):
        self.program, self.name, self.shape = program, name, shape

    def put(self, shape, text):
        return self.program.put(shape, text)

    def permute(self, order):
        shape = [self.shape[d] for d in order]
        return self.put(shape, f"transpose({self.name}), dimensions={{{','.join(map(str, order))}}}")

    def transpose(self, a, b):
        order = list(range(len(self.shape)))
        order[a], order[b] = order[b], order[a]
        return self.permute(order)

    def t(self):
        return self.transpose(0, 1)

    def unsqueeze(self, d):
        d = d % (len(self.shape) + 1)
        shape = self.shape[:d] + [1] + self.shape[d:]
        return self.put(shape, f"reshape({self.name})")

    def expand(self, *shape):
        if isinstance(shape[0], (list, tuple)):
            shape = shape[0]
        lead = len(shape) - len(self.shape)
        wanted = [self.shape[i - lead] if n == -1 else n for i, n in enumerate(shape)]
        kept = [d for d, n in enumerate(self.shape) if n == wanted[d + lead]]
        squeezed = self.put([self.shape[d] for d in kept], f"reshape({self.name})")
        return self.put(wanted, f"broadcast({squeezed.name}), dimensions={{{','.join(str(d + lead) for d in kept)}}}")

    def broadcast_to(self, other):
        n = max(len(self.shape), len(other.shape))
        a, b = ([1] * (n - len(x.shape)) + x.shape for x in (self, other))
        shape = [max(x, y) for x, y in zip(a, b)]
        return self if self.shape == shape else self.expand(*shape)

    def pointwise(self, opcode, *others):
        operands = [self, *others]
        for other in others:
            operands = [x.broadcast_to(y) for x, y in zip(operands, [other, self])]
        return self.put(operands[0].shape, f"{opcode}({', '.join(x.name for x in operands)})")

    def __add__(self, other):
        return self.pointwise("add", other)

    def __sub__(self, other):
        return self.pointwise("subtract", other)

    def __matmul__(self, other):
        return self.put([self.shape[0], other.shape[1]],
                        f"dot({self.name}, {other.name}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}")

    def amin(self, d):
        d = d % len(self.shape)
        zero = self.put([], "constant(0)")
        return self.put(self.shape[:d] + self.shape[d + 1:],
                        f"reduce({self.name}, {zero.name}), dimensions={{{d}}}, to_apply=min")


def evaluate(expression, program, tensors):
    """The value of "buf=a+b.t(); (buf+c)"."""
    scope = dict(tensors)
    scope["exp"] = lambda x: x.pointwise("exponential")
    scope["cpu_sin"] = lambda x: x.put(x.shape, f'custom-call({x.name}), custom_call_target="sin"')
    scope["ones_like"] = lambda x: x.put(x.shape, f"broadcast({x.put([], 'constant(1)').name}), dimensions={{}}")
    *statements, last = expression.split(";")
    for statement in statements:
        name, value = statement.split("=", 1)
        scope[name.strip()] = eval(value.strip(), scope)
    return eval(last.strip(), scope)


def text_of(case):
    program = Program()
    tensors = {name: program.parameter(name, shape, case["layouts"].get(name, {}).get("dim_order"))
               for name, shape in case["shapes"].items()}
    evaluate(case["expr"], program, tensors)
    return program.text()


def run(text, *options):
    return subprocess.run([TEGULA, "plan", "-", *options], input=text, capture_output=True, text=True, timeout=120)


def plan(text, *options, status=0):
    done = run(text, "--json", *options)
    assert done.returncode == status, (done.returncode, done.stderr, text)
    return json.loads(done.stdout)
