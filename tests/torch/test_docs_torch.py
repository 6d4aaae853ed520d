"""The examples of docs/torch.md do what they show."""
import doctest
import re
from pathlib import Path

TEXT = (Path(__file__).resolve().parent.parent.parent / "docs/torch.md").read_text()


def test_examples():
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.S)
    assert blocks
    for number, block in enumerate(blocks):
        test = doctest.DocTestParser().get_doctest(block, {}, f"docs/torch.md block {number}", None, 0)
        assert test.examples and doctest.DocTestRunner().run(test, clear_globs=False).failed == 0
