"""One test for each thing in Inductor that is not public and that the backend "spyre-inductor" takes hold of."""
import pytest
import torch

from tegula.torch import inductor_hooks as hooks


@pytest.mark.parametrize("name", hooks.HOOKS)
def test_hook(name):
    """Fails with what PyTorch has changed."""
    assert hooks.complaint(name) is None


@pytest.mark.parametrize("name", hooks.CONFIG)
def test_setting(name):
    assert hooks._has_setting(name)


def test_changes_are_told(monkeypatch):
    """A function that is gone, one with other arguments, and a setting without effect: the error names all of them."""
    from torch._inductor.graph import GraphLowering
    monkeypatch.delattr(GraphLowering, "_update_scheduler")
    monkeypatch.setattr(GraphLowering, "call_function", lambda self, target: None)
    monkeypatch.setitem(hooks.CONFIG, "no_such_setting", True)
    hooks.check.cache_clear()
    with pytest.raises(RuntimeError) as caught:
        hooks.check()
    hooks.check.cache_clear()
    text = str(caught.value)
    assert f"PyTorch {torch.__version__}" in text and "graph.GraphLowering._update_scheduler is gone" in text
    assert "call_function takes (self target), and took (self target args kwargs)" in text
    assert "config has no no_such_setting" in text


def test_what_is_overridden_is_a_hook():
    """Methods that replace one of Inductor's are in the list."""
    listed = {name.rsplit(".", 1)[-1] for name in hooks.HOOKS}
    for own in (hooks.Graph, hooks.Wrapper, hooks.Scheduling, hooks.DeviceKernel, hooks._Allocate, hooks._Free):
        base = own.__mro__[1]
        replaced = {name for name in vars(own) if callable(getattr(own, name)) and hasattr(base, name)}
        assert {name for name in replaced if not name.startswith("__")} <= listed, own
