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
    """Names, as the stub has them, without self and cls."""
    a = function.args
    names = [p.arg for p in (*a.posonlyargs, *a.args, *([a.vararg] if a.vararg else []), *a.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


@pytest.mark.parametrize("name", ["Layout", "Plan", "Buffer", "Module", "Descriptor", "Program", "Picture",
                                  "Graph", "GraphNode", "GraphPlan", "Bundle", "Simulator"])
def test_methods_take_these_parameters(name):
    there = getattr(_core, name)
    for node in CLASSES[name].body:
        if not isinstance(node, ast.FunctionDef) or node.name in (*OURS, "__new__", "__buffer__"):
            continue
        member = getattr(there, node.name)
        assert member.__doc__, node.name
        if callable(member):
            told = list(inspect.signature(member).parameters)
            assert [p for p in told if p != "self"] == parameters(node), node.name


def test_functions_and_constructors_take_these_parameters():
    functions = {node.name: node for node in STUBS.body if isinstance(node, ast.FunctionDef)}
    for name in ("relayout", "dma", "dci", "draw", "plan"):
        assert list(inspect.signature(getattr(tegula, name)).parameters) == parameters(functions[name])
    for name in ("Layout", "Plan", "Buffer", "Graph", "Simulator"):
        new = next(node for node in CLASSES[name].body if isinstance(node, ast.FunctionDef) and node.name == "__new__")
        assert list(inspect.signature(getattr(_core, name)).parameters) == parameters(new)


def test_the_package_hands_on_everything():
    names = public(dir(_core)) - {"Module", "parse_hlo"}
    assert names | {"__version__"} == set(tegula.__all__)
    assert {"Module", "parse"} == set(tegula.hlo.__all__)
