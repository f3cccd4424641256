"""The checks in a real Jupyter kernel, as a reader meets them: whatever a cell holds, a sentence, and a kernel that goes on."""

from __future__ import annotations

import pytest
from nbclient import NotebookClient
from nbformat import v4

RIGHT = """\
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1).nan_to_num()
"""
PAIR = "    return weights @ v, weights"

# What the function's body is, whether it is right, and what the verdict says.
BODIES = {
    "wrong type": ("    return 'hello'", False, ["It must return 2 things", "returned 'hello'"]),
    "no return": (RIGHT, False, ["Is there a `return`?"]),
    "generator": ("    yield q", False, ["Use `return` instead of `yield`"]),
    "wrong shape": (
        f"{RIGHT}    return (weights @ v)[..., :1], weights",
        False,
        ["has shape (2, 5, 1), but (2, 5, 2) was expected", "inputs: q tensor of shape"],
    ),
    "wrong dtype": (
        f"{RIGHT}    return (weights @ v).half(), weights",
        False,
        ["has dtype float16, too coarse"],
    ),
    "wrong device": (
        f"{RIGHT}    return (weights @ v).cuda(9), weights",
        False,
        ["stopped with an error", "line 6: return (weights @ v).cuda(9), weights"],
    ),
    "no number": (
        f"{RIGHT.replace('.nan_to_num()', '')}{PAIR}",
        False,
        ["holds NaN where a number was expected", "This looks like: blind query left alone", "Next hint: "],
    ),
    "endless loop": (
        "    while True:\n        print('flood')",
        False,
        ["still running after 1 s", "It printed"],
    ),
    "print flood": (
        f"    for _ in range(99): print('x' * 9999)\n{RIGHT}{PAIR}",
        True,
        ["It printed", "not shown"],
    ),
    "displays": (
        f"    from IPython.display import display, HTML\n    display(HTML('<b>'))\n{RIGHT}{PAIR}",
        True,
        ["It displayed 14 thing(s)"],
    ),
    "changes an argument": (
        f"    v.mul_(1) if v.requires_grad else v.add_(1)\n    v = v - 1\n{RIGHT}{PAIR}",
        False,
        ["It changes its argument v"],
    ),
    "changes settings": (
        f"    torch.set_default_dtype(torch.float64); torch.manual_seed(7)\n{RIGHT}{PAIR}",
        True,
        ["It changes a setting of torch", "default dtype", "has put it back"],
    ),
    "hands back views": (f"{RIGHT}    return (weights @ v)[:], weights[:]", True, []),
    "an error": (
        "    scores = q @ k.transposed()\n    return scores, scores",
        False,
        ["AttributeError", "line 2: scores = q @ k.transposed()"],
    ),
    "leaves": ("    exit()", False, ["SystemExit", "line 2: exit()"]),
    "asks": ("    input('?')", False, ["stopped with an error", "line 2: input('?')"]),
}
SET_UP = """\
from mha_teach.exercises import check, get, progress
import torch
object.__setattr__(get('00-attend'), 'seconds', 1.0)"""
STATE = "import sys; print(torch.get_default_dtype(), torch.rand(1).item(), 'sympy' in sys.modules)"
SCALAR = "attend_mine = torch.ones(3)"


@pytest.fixture(scope="module")
def shown() -> dict[str, list]:
    """The outputs of each check, and of a few cells around them."""
    cells = {"set-up": SET_UP, "before": f"torch.manual_seed(3); {STATE}"}
    for name, (body, *_) in BODIES.items():
        cells[f"cell {name}"] = f"def attend_mine(q, k, v, mask=None):\n{body}"
        cells[name] = "check('00-attend', attend_mine)"
    cells |= {"cell": SCALAR, "a value": "check('00-attend', attend_mine)", "progress": "progress('00')"}
    cells["after"] = f"torch.manual_seed(3); {STATE}"
    notebook = v4.new_notebook(cells=[v4.new_code_cell(source) for source in cells.values()])
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    return {name: cell.outputs for name, cell in zip(cells, notebook.cells, strict=True)}


@pytest.mark.parametrize("name", BODIES)
def test_a_cell_gets_a_verdict_that_says_what_is_the_matter(shown, name):
    _, right, words = BODIES[name]
    (output,) = shown[name]  # the verdict alone: nothing printed, displayed or raised
    text, html = output.data["text/plain"], output.data["text/html"]
    assert text.startswith("00-attend: Right.") == right, text
    for word in words:
        assert word in text, text
    assert "Traceback" not in text + html and "mha_teach" not in text + html
    assert "application/vnd.jupyter.widget-view+json" not in output.data
    assert text.splitlines()[-1].startswith("  Chapter 00: ")


def test_the_kernel_goes_on_as_before(shown):
    assert shown["after"][0].text == shown["before"][0].text
    assert "False" in shown["after"][0].text, "a wrong answer must not load sympy: it takes seconds"


def test_a_value_under_the_functions_name(shown):
    (output,) = shown["a value"]
    assert (
        "attend_mine is a tensor of shape (3,), float32, but a function was expected"
        in output.data["text/plain"]
    )


def test_progress_is_text_and_html(shown):
    (output,) = shown["progress"]
    assert output.data["text/plain"].startswith("Chapter 00: 0 of 5 right, 1 tried.")
    assert '<div class="mha-verdict mha-progress">' in output.data["text/html"]
