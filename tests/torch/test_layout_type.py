"""SpyreTensorLayout against what torch-spyre has published (tests/spec/spyre_layouts.json), through Python."""
import copy
import json
import pickle
import re
from pathlib import Path

import pytest
import torch

from tegula.torch import DataFormats, ElementArrangement, SpyreTensorLayout
from torch_spyre._C import get_device_dtype, get_elem_in_stick

CASES = json.loads((Path(__file__).resolve().parent.parent / "spec/spyre_layouts.json").read_text())


def build(case, **options):
    """The layout of a published case, in today's form of the constructor."""
    if "device_size" in case and "size" not in case:
        return SpyreTensorLayout(case["device_size"], case["stride_map"], DataFormats[case["device_dtype"]])
    dtype, order, stride = getattr(torch, case["dtype"]), case.get("dim_order"), case.get("stride")
    if "element_arrangement" in case:
        options["element_arrangement"] = ElementArrangement[case["element_arrangement"]]
    if stride is None and order is None:
        return SpyreTensorLayout(case["size"], dtype, unit_dims="keep", **options)
    if stride is None:
        return SpyreTensorLayout(case["size"], dtype, order, unit_dims="keep", **options)
    order = list(range(len(case["size"]))) if order is None else order
    return SpyreTensorLayout(case["size"], stride, dtype, order, unit_dims="keep", **options)


@pytest.mark.parametrize("case", CASES["construct"] + CASES["construct_derived"]["cases"], ids=lambda c: str(c["size"]))
def test_constructor(case):
    layout = build(case)
    assert (layout.device_size, layout.stride_map) == (case["device_size"], case["stride_map"])
    assert layout.nbytes == case["bytes"]
    if "device_dtype" in case:
        assert layout.device_dtype is DataFormats[case["device_dtype"]]


@pytest.mark.parametrize("case", CASES["model_layouts"]["derived"], ids=str)
def test_layouts_of_models(case):
    size, stride, dtype, device_size, stride_map = case[:5]
    layout = build({"size": size, "stride": stride, "dtype": dtype})
    assert (layout.device_size, layout.stride_map) == (device_size, stride_map)


def test_unit_dims_do_not_contribute_by_default():
    """Decision of the design: [512, 1] and [512] share a default; torch-spyre's is unit_dims="keep"."""
    assert SpyreTensorLayout((512, 1), torch.float16) == SpyreTensorLayout((512,), torch.float16)
    kept = SpyreTensorLayout((512, 1), torch.float16, unit_dims="keep")
    assert (kept.device_size, kept.stride_map) == ([1, 512, 64], [-1, 1, -1])


def test_the_three_constructors_agree():
    by_order = SpyreTensorLayout((512, 256), torch.float16, [1, 0])
    by_strides = SpyreTensorLayout((512, 256), (256, 1), torch.float16, [1, 0])
    explicit = SpyreTensorLayout(device_size=[8, 256, 64], stride_map=[16384, 1, 256],
                                 device_dtype=DataFormats.SEN169_FP16)
    named = SpyreTensorLayout(host_size=(512, 256), host_strides=(256, 1), dtype=torch.float16, dim_order=[1, 0])
    assert by_order == by_strides == explicit == named
    assert len({by_order, by_strides, explicit, named}) == 1


@pytest.mark.parametrize("case", CASES["equality"], ids=str)
def test_equality(case):
    a, b = build(case["a"]), build(case["b"])
    assert (a == b) is case["equal"] and (a != b) is not case["equal"]
    assert not case["equal"] or hash(a) == hash(b)


@pytest.mark.parametrize("case", CASES["str"], ids=lambda c: c["text"])
def test_text(case):
    layout = build(case)
    if "element_arrangement" in case:
        layout = SpyreTensorLayout(case["size"], getattr(torch, case["dtype"])).with_element_arrangement(
            ElementArrangement[case["element_arrangement"]])
    assert str(layout) == repr(layout) == case["text"]
    assert eval(repr(layout)) == layout


def test_dtypes():
    table = CASES["dtype_table"]
    for name, expected in table["torch_to_device"].items():
        dtype = getattr(torch, name)
        assert get_device_dtype(dtype) is DataFormats[expected]
        assert get_elem_in_stick(dtype) == table["elements_per_stick"][expected]
    for name, count in table["elements_per_stick"].items():
        assert DataFormats[name].elems_per_stick() == count
    assert {f.name: f.value for f in DataFormats} == table["dataformats_enum"]
    assert {e.name: e.value for e in ElementArrangement} == table["element_arrangement_enum"]
    assert int(DataFormats.SEN143_FP8) == 3 and str(DataFormats.BOOL) == "DataFormats.BOOL"


@pytest.mark.parametrize("case", CASES["storage_bytes"], ids=str)
def test_bytes(case):
    layout = SpyreTensorLayout(case["device_size"], [1] * len(case["device_size"]), DataFormats[case["device_dtype"]])
    assert layout.nbytes == case["bytes"]


def test_published_errors():
    seen = 0
    for case in CASES["construct_errors"]:
        if "error" not in case or case["error"].startswith("Unsupported tensor rank"):
            continue
        with pytest.raises((ValueError, RuntimeError)) as error:
            if "device_size" in case:
                SpyreTensorLayout(case["device_size"], case["stride_map"], DataFormats.SEN169_FP16)
            elif case["call"].startswith("empty("):
                torch.empty(2, 3, 4, 5, device="spyre", memory_format=torch.channels_last)
            elif "size" in case:
                stride = case["stride"] or torch.empty(case["size"], device="meta").stride()
                SpyreTensorLayout(case["size"], stride, getattr(torch, case["dtype"]), case["dim_order"])
            else:
                torch.zeros(3, dtype=getattr(torch, case["dtype"])).to("spyre")
        assert case["error"].split(" (")[0] in str(error.value)
        seen += 1
    assert seen == 8


@pytest.mark.parametrize("arguments, message", [
    (((2, 3), torch.float16, [0, 0]), "dim_order lists dimension 0 twice"),
    (((2, 3), torch.float16, [0, 2]), "not in [0, 2)"),
    (((2, 3), torch.float16, [0, 1 << 40]), "out of range"),
    (((2, -3), torch.float16), "-3"),
    (((2, 3), (3, 1), torch.float16), "dim_order"),
    (((2, 3), (3,), torch.float16, [0, 1]), "host_strides has 1 entries for 2"),
    (((1 << 62, 1 << 62), torch.float16), "63 bits"),
    (((2,) * 17, torch.float16), "17"),
    ((3, torch.float16), "sequence"),
    (([], [], DataFormats.IEEE_FP32), "no entries"),
    (([1, 64], [64, 1], DataFormats.INVALID), "no stick geometry"),
    (((2, 3), torch.float16, None, 77), "77 is not an element arrangement"),
    ((), "host_size"),
], ids=str)
def test_bad_arguments(arguments, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        SpyreTensorLayout(*arguments)


def test_copies_are_equal():
    layout = SpyreTensorLayout([2, 64], [64, 1], DataFormats.SEN169_FP16, ElementArrangement.FP32_TO_DL16)
    assert pickle.loads(pickle.dumps(layout)) == copy.deepcopy(layout) == copy.copy(layout) == layout
    assert layout.with_element_arrangement(ElementArrangement.STANDARD) != layout
    restore, (state,) = layout.__reduce__()
    assert state == (3, [2, 64], [64, 1], 0, 4)
    assert restore((2, [2, 64], [64, 1], 0)) == SpyreTensorLayout([2, 64], [64, 1], DataFormats.SEN169_FP16)
    with pytest.raises(ValueError, match="version 1"):
        restore((1, [2, 64], [64, 1], 0))


def test_dim_map():
    layout = SpyreTensorLayout((5, 100, 150), torch.float16)
    assert layout.dim_map((5, 100, 150)) == [1, 2, 0, 2]
    assert SpyreTensorLayout((5, 100, 150), torch.float16, [1, 0, 2]).dim_map((5, 100, 150)) == [0, 2, 1, 2]
    with pytest.raises(ValueError, match="host"):
        SpyreTensorLayout([38, 64], [64, 1], DataFormats.SEN169_FP16).dim_map((40, 60))
