"""Planning from its definition, slowly: every way in which an operation may work is listed, and judged by torch-spyre's
two sets. `cheapest` tries all of them, `milp` gives them to HiGHS.

A tensor's layout is the host dimension in its sticks, or None (sparse; also of a scalar): nothing else matters here. An
operation has loops; an operand is (node, {host dimension: (loop, offset)}), a result the loop of each dimension. A way
to work is (stick of the result, ((candidate of the producer, copy or None) for each operand)).
"""
import dataclasses
import itertools
import math
import random

import graph_c as g

STICK = 64  # elements of f16


@dataclasses.dataclass
class Op:
    kind: str
    shape: tuple
    ranges: tuple = ()
    operands: tuple = ()
    result: tuple = ()  # the loop of each dimension
    stick: int = None   # of an input
    times: int = 1      # that copies of it are made
    looked: tuple = ()  # loops of a search that it looks along


def strides(shape):
    return [math.prod(shape[d + 1:]) for d in range(len(shape))]


def nbytes(shape, stick):
    if stick is None:
        return 2 * STICK * math.prod(shape)
    return 2 * math.prod(math.ceil(n / STICK) * STICK if d == stick else n for d, n in enumerate(shape))


# ---- the rules --------------------------------------------------------------------------------------------

def stick_of(access, stick):
    """(kind, loop) of what is read of a tensor with this stick."""
    if stick is None or stick not in access:
        return "none", None
    loop, offset = access[stick]
    return ("loop" if offset % STICK == 0 else "offset"), loop


def compatible(tensors):
    """tensors: (access, stick). S: loops in sticks; M: loops that some tensor has elsewhere."""
    inside, elsewhere = set(), set()
    for access, stick in tensors:
        kind, loop = stick_of(access, stick)
        if kind == "offset":
            return False
        own = {loop} if kind == "loop" else set()
        inside |= own
        elsewhere |= {l for l, _ in access.values()} - own
    return len(inside) <= 1 and not inside & elsewhere


def is_allowed(op, sticks, out):
    """May op work with these sticks of its operands, and out for its result?"""
    accesses = [access for _, access in op.operands]
    result = {d: (loop, 0) for d, loop in enumerate(op.result)}
    if op.kind == "matmul":
        x, y = accesses
        columns = {l for l, _ in y.values()} & set(op.result) - {l for l, _ in x.values()}
        summed = {l for l, _ in y.values()} - set(op.result)
        at = [stick_of(a, s) for a, s in zip([*accesses, result], [*sticks, out])]
        return all(kind == "loop" for kind, _ in at) and at[0][1] in summed and at[1][1] == at[2][1] and \
            at[1][1] in columns
    if op.kind in ("clone", "constant"):
        return True
    if op.kind == "carry" and out != sticks[0]:
        return False
    read = [stick_of(a, s)[1] for a, s in zip([*accesses, result], [*sticks, out])]
    if any(loop in op.looked for loop in read):
        return False
    return compatible([*zip(accesses, sticks), (result, out)])


def candidates(op, of, relay=False):
    """Sticks that the result may have, in no order; of: those of the producers."""
    if op.kind == "input":
        return {op.stick}
    dims = range(len(op.shape))
    if op.kind == "clone":
        return {len(op.shape) - 1 if op.shape else None}
    if op.kind == "constant":
        return {*dims, None}
    if op.kind == "matmul":
        columns = {l for l, _ in op.operands[1][1].values()} - {l for l, _ in op.operands[0][1].values()}
        return {d for d in dims if op.result[d] in columns}
    read = [stick_of(access, stick) for node, access in op.operands for stick in of[node] if access]
    found = {op.result.index(loop) if loop in op.result else None for kind, loop in read if kind == "loop"}
    if op.kind == "carry":
        return set(of[op.operands[0][0]])
    dims = [d for d in dims if op.result[d] not in op.looked]
    if op.looked:
        found &= {*dims}
    if op.kind in ("pointwise", "search") or (op.kind == "reduce" and relay):
        found |= set(dims)
    if op.kind == "reduce" and relay:
        found.add(None)
    if any(kind == "none" for kind, _ in read) or not op.shape:
        found.add(None)
    return found or set(dims) or {None}


def copies(op, k, node_op, access, relay=False):
    """Dimensions that a copy for this operand may have in its sticks."""
    as_it_is = op.kind in ("clone", "constant") or (op.kind == "reduce" and not relay)
    return [None] if as_it_is or (op.kind == "carry" and k == 0) else \
        [None, *(d for d in access if node_op.shape[d] > 1)]


def ways(ops, i, of, relay=False):
    op = ops[i]
    choices = []
    for k, (node, access) in enumerate(op.operands):
        choices.append([(stick, copy) for stick in of[node] for copy in copies(op, k, ops[node], access, relay)
                        if copy is None or (stick is not None and copy != stick)])
    for out in of[i]:
        for choice in itertools.product(*choices):
            sticks = [stick if copy is None else copy for stick, copy in choice]
            if is_allowed(op, sticks, out):
                yield out, choice


def all_ways(ops, relay=False):
    of, found = {}, []
    for i, op in enumerate(ops):
        of[i] = sorted(candidates(op, of, relay), key=str)
        found.append(list(ways(ops, i, of, relay)))
    return of, found


# ---- two judges ----------------------------------------------------------------------------------------------

def cheapest(ops, relay=False):
    """The least cost in bytes, every way tried; None if there is none. relay: operands of reductions may be copied."""
    of, found = all_ways(ops, relay)
    best = math.inf

    def go(i, sticks, copied, cost):
        nonlocal best
        if cost >= best:
            return
        if i == len(ops):
            best = cost
            return
        for out, choice in found[i]:
            new = set()
            for (node, _), (stick, copy) in zip(ops[i].operands, choice):
                if sticks[node] != stick:
                    break
                if copy is not None and (node, copy) not in copied:
                    new.add((node, copy))
            else:
                more = sum(ops[node].times * nbytes(ops[node].shape, sticks[node]) for node, _ in new)
                go(i + 1, [*sticks, out], copied | new, cost + more)

    go(0, [], frozenset(), 0)
    return None if best == math.inf else best


def milp(ops):
    """The same by HiGHS."""
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp as solve
    from scipy.sparse import coo_array
    of, found = all_ways(ops)
    number, cost = {}, []

    def variable(key, price=0):
        if key not in number:
            number[key] = len(number)
            cost.append(price)
        return number[key]

    rows, low, high = [], [], []

    def constraint(terms, at_least, at_most):
        rows.append(terms)
        low.append(at_least)
        high.append(at_most)

    for i, op in enumerate(ops):
        constraint([(variable(("stick", i, s)), 1) for s in of[i]], 1, 1)
        by_out, by_operand = {}, {}
        for w, (out, choice) in enumerate(found[i]):
            way = variable(("way", i, w))
            by_out.setdefault(out, []).append(way)
            for k, ((node, _), (stick, copy)) in enumerate(zip(op.operands, choice)):
                by_operand.setdefault((k, node, stick), []).append(way)
                if copy is not None:
                    made = variable(("copy", node, stick, copy), ops[node].times * nbytes(ops[node].shape, stick))
                    constraint([(made, 1), (way, -1)], 0, math.inf)
        for s in of[i]:
            constraint([(variable(("stick", i, s)), -1), *((w, 1) for w in by_out.get(s, []))], 0, 0)
        for k, (node, _) in enumerate(op.operands):
            for s in of[node]:
                terms = [(variable(("stick", node, s)), -1), *((w, 1) for w in by_operand.get((k, node, s), []))]
                constraint(terms, 0, 0)
    flat = [(r, c, v) for r, terms in enumerate(rows) for c, v in terms]
    matrix = coo_array(([v for _, _, v in flat], ([r for r, _, _ in flat], [c for _, c, _ in flat])),
                       shape=(len(rows), len(number)))
    done = solve(np.array(cost, float), integrality=np.ones(len(number)), bounds=Bounds(0, 1),
                 constraints=LinearConstraint(matrix, low, high), options={"mip_rel_gap": 0})
    assert done.status in (0, 2), done.message
    return None if done.status == 2 else round(done.fun)


# ---- random graphs ----------------------------------------------------------------------------------------------

SIZES = (64, 128, 100, 3)


def random_read(rng, shape, node_shape, loops):
    """Dimensions of a tensor walked by loops of their size; some stay at 0, some begin in the middle."""
    access, free = {}, list(loops)
    for d, n in rng.sample(list(enumerate(node_shape)), len(node_shape)):
        fits = [l for l in free if shape[l] <= n]
        if not fits:
            continue
        loop = rng.choice(fits)
        free.remove(loop)
        room = n - shape[loop]
        access[d] = (loop, rng.choice([0, min(room, 64), room]) if room else 0)
    return access


def readable(rng, ops, ranges):
    """An operand for loops with these ranges."""
    node = rng.randrange(len(ops))
    return node, random_read(rng, ranges, ops[node].shape, range(len(ranges)))


def random_op(rng, ops):
    kind = rng.choice(["pointwise"] * 5 + ["reduce", "reduce", "matmul", "matmul", "clone", "constant"])
    source = rng.choice(ops).shape
    if kind == "matmul":
        pairs = [(a, b) for a, x in enumerate(ops) for b, y in enumerate(ops)
                 if len(x.shape) == len(y.shape) == 2 and x.shape[1] == y.shape[0]]
        flipped = [(a, b) for a, x in enumerate(ops) for b, y in enumerate(ops)
                   if len(x.shape) == len(y.shape) == 2 and x.shape[1] == y.shape[1]]
        if pairs or flipped:
            turn = bool(flipped) and (not pairs or rng.random() < 0.5)
            a, b = rng.choice(flipped if turn else pairs)
            (m, k), n = ops[a].shape, ops[b].shape[0 if turn else 1]
            right = {0: (1, 0), 1: (2, 0)} if turn else {0: (2, 0), 1: (1, 0)}
            return Op("matmul", (m, n), (m, n, k), ((a, {0: (0, 0), 1: (2, 0)}), (b, right)), (0, 1))
        kind = "pointwise"
    if kind == "reduce" and source:
        node = rng.choice([i for i, op in enumerate(ops) if op.shape == source])
        gone = set(rng.sample(range(len(source)), rng.randint(1, len(source))))
        loops = [d for d in range(len(source)) if d not in gone]
        return Op("reduce", tuple(source[d] for d in loops), source,
                  ((node, {d: (d, 0) for d in range(len(source))}),), tuple(loops))
    if kind == "clone":
        node = rng.randrange(len(ops))
        shape = ops[node].shape
        return Op("clone", shape, shape, ((node, {d: (d, 0) for d in range(len(shape))}),), tuple(range(len(shape))))
    ranges = tuple(rng.sample(source, len(source))) if source else ()
    if len(ranges) < 3 and rng.random() < 0.3:
        ranges += (rng.choice(SIZES),)
    if kind == "constant":
        return Op("constant", ranges, ranges, (), tuple(range(len(ranges))))
    operands = tuple(readable(rng, ops, ranges) for _ in range(rng.choice([1, 2, 2, 3])))
    return Op("pointwise", ranges, ranges, operands, tuple(range(len(ranges))))


def random_carry(rng, ops):
    """A value in place of another one of the same shape."""
    old = rng.randrange(len(ops))
    shape = ops[old].shape
    new = rng.choice([i for i, op in enumerate(ops) if op.shape == shape])
    loops = {d: (d, 0) for d in range(len(shape))}
    return Op("carry", shape, shape, ((old, loops), (new, loops)), tuple(range(len(shape))))


def random_search(rng, ops):
    """The best of a dimension, or its order."""
    node = rng.choice([i for i, op in enumerate(ops) if op.shape] or [None])
    if node is None:
        return random_carry(rng, ops)
    source = ops[node].shape
    along, extra = rng.randrange(len(source)), len(source)
    shape = tuple(rng.choice([n, 3]) if d == along else n for d, n in enumerate(source))
    access = {d: (extra if d == along else d, 0) for d in range(len(source))}
    return Op("search", shape, (*shape, source[along]), ((node, access),), tuple(range(len(shape))),
              looked=(along, extra))


def random_loop_op(rng, ops):
    """An operation in a loop, which copies are made of in every round."""
    op = rng.choice([random_op, random_op, random_carry, random_search])(rng, ops)
    op.times = rng.choice([1, 1, 2, 5])
    return op


def random_graph(seed, nodes, make=random_op):
    rng = random.Random(seed)
    ops = []
    for _ in range(rng.randint(1, 3)):
        shape = tuple(rng.choice(SIZES) for _ in range(rng.randint(1, 3)))
        ops.append(Op("input", shape, stick=rng.randrange(len(shape))))
    while len(ops) < nodes:
        ops.append(make(rng, ops))
    return ops


# ---- for the library --------------------------------------------------------------------------------------------

def input_layout(shape, stick):
    """The layout of dimensions in order, the stick last: torch-spyre's rule of docs/notation.md."""
    order = [d for d in range(len(shape)) if d != stick] + [stick]
    at, host = order[1:] + order[:1], strides(shape)
    sizes = [math.ceil(shape[d] / STICK) if d == stick else shape[d] for d in at] + [STICK]
    maps = [host[d] * STICK if d == stick else host[d] for d in at] + [host[stick]]
    return sizes, maps


OPCODES = {1: "negate", 2: "add", 3: "select"}


def graph_nodes(ops):
    nodes = []
    for op in ops:
        if op.kind == "input":
            nodes.append(g.Node("input", op.shape, layout=input_layout(op.shape, op.stick)))
            continue
        operands = []
        for node, access in op.operands:
            steps = strides(ops[node].shape)
            terms = [(loop, steps[d]) for d, (loop, _) in access.items()]
            operands.append((node, sum(steps[d] * offset for d, (_, offset) in access.items()), terms))
        result = [(loop, step) for loop, step in zip(op.result, strides(op.shape))]
        opcode = OPCODES[len(operands)] if op.kind == "pointwise" else ""
        nodes.append(g.Node(op.kind, op.shape, op.ranges, operands, result, times=op.times, opcode=opcode,
                            no_stick=sum(1 << loop for loop in op.looked)))
    return nodes
