"""_core.pyi says what the extension has: every name, and the parameters of every function that tells them."""
import ast
import inspect

import pytest

import console
import tegula
import tegula.hlo
from tegula import _core

STUBS = ast.parse((console.ROOT / "python/tegula/_core.pyi").read_text())
CLASSES = {node.name: node for node in STUBS.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")}
OURS = ("__array__", "__dlpack__", "__dlpack_device__", "__copy__", "__deepcopy__")  # of the special names


def public(names):
    return {name for name in names if not name.startswith("_") or name in OURS}


def test_the_module_has_these_names():
    functions = {node.name for node in STUBS.body if isinstance(node, ast.FunctionDef)}
    values = {node.target.id for node in STUBS.body if isinstance(node, ast.AnnAssign)}
    assert public(dir(_core)) | {"__version__"} == public(functions | set(CLASSES)) | values


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_class_has_these_members(name):
    there = getattr(_core, name)
    base = set(dir(tuple)) if issubclass(there, tuple) else set(dir(there.__base__)) - {"text"}
    fields = {"n_fields", "n_sequence_fields", "n_unnamed_fields"}
    said = {node.name if isinstance(node, ast.FunctionDef) else node.target.id for node in CLASSES[name].body
            if not isinstance(node, ast.Expr)}
    if issubclass(there, Exception):
        assert name in ("Error", "PlanInfeasible") or not said - {"Ellipsis"}
        return
    assert public(dir(there)) - base - fields | ({"count"} & said) == public(said)


def parameters(function):
    """Names, kinds and defaults, as the stub has them, without self and cls."""
    a = function.args
    places = [*a.posonlyargs, *a.args]
    defaults = [None] * (len(places) - len(a.defaults)) + a.defaults
    rows = [(p.arg, "POSITIONAL_ONLY" if p in a.posonlyargs else "POSITIONAL_OR_KEYWORD", default)
            for p, default in zip(places, defaults)]
    rows += [(a.vararg.arg, "VAR_POSITIONAL", None)] if a.vararg else []
    rows += [(p.arg, "KEYWORD_ONLY", default) for p, default in zip(a.kwonlyargs, a.kw_defaults)]
    return [(name, kind, inspect.Parameter.empty if default is None else ast.literal_eval(default))
            for name, kind, default in rows if name not in ("self", "cls")]


def told(function):
    """The same, as help() shows them."""
    return [(p.name, p.kind.name, p.default) for p in inspect.signature(function).parameters.values()
            if p.name != "self"]


@pytest.mark.parametrize("name", ["Layout", "Plan", "Buffer", "Module", "Descriptor", "Program", "Picture",
                                  "Graph", "GraphNode", "GraphPlan", "Bundle", "Simulator", "SpyreTensorLayout"])
def test_methods_take_these_parameters(name):
    there = getattr(_core, name)
    for node in CLASSES[name].body:
        if not isinstance(node, ast.FunctionDef) or node.name in (*OURS, "__new__", "__buffer__"):
            continue
        member = getattr(there, node.name)
        assert member.__doc__, node.name
        if callable(member):
            assert told(member) == parameters(node), node.name


def test_functions_and_constructors_take_these_parameters():
    functions = {node.name: node for node in STUBS.body if isinstance(node, ast.FunctionDef)}
    for name in ("relayout", "dma", "dci", "draw", "plan", "parse_hlo"):
        assert told(getattr(_core, name)) == parameters(functions[name])
    for name in ("Layout", "Plan", "Buffer", "Graph", "Simulator"):
        new = next(node for node in CLASSES[name].body if isinstance(node, ast.FunctionDef) and node.name == "__new__")
        assert told(getattr(_core, name)) == parameters(new)


def test_the_package_hands_on_everything():
    names = public(dir(_core)) - {"Module", "parse_hlo"}
    assert names | {"__version__"} == set(tegula.__all__)
    assert {"Module", "parse"} == set(tegula.hlo.__all__)
