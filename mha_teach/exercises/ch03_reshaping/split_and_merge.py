"""Code: a split and a merge for any number of leading axes."""

from __future__ import annotations

from mha_teach.exercises.compare import Misfit, describe
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point

_SOLUTION = """\
def split(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)


def merge(out):
    return out.transpose(-3, -2).flatten(-2)
"""


def _split(answer, x, num_heads):
    return answer[0](x, num_heads)


def _merge(answer, out):
    return answer[1](out)


def _copied(answer, x, num_heads) -> bool:
    """Whether the split owns other memory than x."""
    found = answer[0](x, num_heads)
    if not hasattr(found, "data_ptr"):
        raise Misfit(f"split must return a tensor, but it returned {describe(found)}.")
    return found.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()


def _x(*shape: int, heads: int):
    return lambda draw: (draw.normal(*shape), heads)


def _out(*shape: int):
    def inputs(draw: Draw) -> tuple:
        return (draw.normal(*shape),)

    return inputs


SPLIT = Exercise(
    id="03-split-and-merge",
    title="There and back",
    minutes=10,
    difficulty=2,
    marks=3,
    prompt="Write both ways. `split(x, num_heads)` takes (…, position, width) to (…, head, position, d_k), for any number of "
    "leading axes, none included, and copies nothing. `merge(out)` takes (…, head, position, d_k) back to "
    "(…, position, width). Head 0 owns the first d_k columns. Use torch only, not `mha_teach`.",
    stub="def split(x, num_heads):\n    ...\n\n\ndef merge(out):\n    ...\n",
    solution=_SOLUTION,
    points=(
        Point(
            "split",
            "Row i of head g must hold columns g · d_k and following of position i.",
            _x(2, 5, 21, heads=7),
            measure=_split,
            arguments=("x", "num_heads"),
        ),
        Point(
            "merge",
            "Row i must hold head 0's numbers of position i, then head 1's of the same position, and so on.",
            _out(2, 5, 3, 7),
            measure=_merge,
            arguments=("out",),
        ),
        Point(
            "split, other axes in front",
            "Count axes from the end: there may be none in front, or two.",
            _x(5, 21, heads=3),
            measure=lambda answer, x, h: (_split(answer, x, h), _split(answer, x.expand(2, 3, 5, 21), h)),
            arguments=("x", "num_heads"),
        ),
        Point(
            "merge, other axes in front",
            "Count axes from the end: there may be none in front, or two.",
            _out(3, 5, 7),
            measure=lambda answer, out: (_merge(answer, out), _merge(answer, out.expand(2, 2, 3, 5, 7))),
            arguments=("out",),
        ),
        Point(
            "nothing copied",
            "The split is free: view and transpose change strides, no number moves.",
            _x(2, 5, 21, heads=3),
            measure=_copied,
            expected=False,
            arguments=("x", "num_heads"),
            after="split",
        ),
    ),
    hints=(
        "Cut the last axis into (num_heads, d_k) first: `x.unflatten(-1, …)`. Which two axes are then in the wrong order?",
        "`transpose(-3, -2)` swaps head and position, whatever stands in front.",
        "`merge`: the same transpose, then `flatten(-2)`, which copies where it must.",
    ),
    mutants=(
        Mutant(
            "view without transpose",
            "split",
            "It cuts memory into the wanted shape without a transpose: rows of a head hold pieces of the wrong positions.",
            (
                (
                    "x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)",
                    "x.reshape(*x.shape[:-2], num_heads, x.shape[-2], -1)",
                ),
            ),
        ),
        Mutant(
            "transpose forgotten",
            "split",
            "Heads stand behind positions: attention would let heads look at heads.",
            (("(num_heads, -1)).transpose(-3, -2)", "(num_heads, -1))"),),
        ),
        Mutant(
            "every h-th column",
            "split",
            "It deals columns out in turn. A head owns d_k columns that lie side by side.",
            (
                (
                    "unflatten(-1, (num_heads, -1)).transpose(-3, -2)",
                    "unflatten(-1, (-1, num_heads)).movedim(-1, -3)",
                ),
            ),
        ),
        Mutant(
            "samples and positions swapped",
            "split",
            "It reads positions before samples, so samples mix.",
            (
                (
                    "x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)",
                    "x.reshape(x.shape[-2], *x.shape[:-2], num_heads, -1).movedim(0, -2)",
                ),
            ),
        ),
        Mutant(
            "heads from the right",
            "split",
            "The heads come out in reverse: head 0 owns the first columns.",
            (("(num_heads, -1)).transpose(-3, -2)", "(num_heads, -1)).transpose(-3, -2).flip(-3)"),),
        ),
        Mutant(
            "three axes only",
            "split, other axes in front",
            "It counts axes from the front, so it works for one batch axis only.",
            (
                (
                    "x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)",
                    "x.unflatten(-1, (num_heads, -1)).transpose(1, 2)",
                ),
            ),
        ),
        Mutant(
            "a copy",
            "nothing copied",
            "It copies. Leave contiguous() out: a matmul takes any strides.",
            (("(num_heads, -1)).transpose(-3, -2)", "(num_heads, -1)).transpose(-3, -2).contiguous()"),),
        ),
        Mutant(
            "flat merge",
            "merge",
            "It reshapes without transposing back: a row holds one head's answers for several positions.",
            (("out.transpose(-3, -2).flatten(-2)", "out.reshape(*out.shape[:-3], out.shape[-2], -1)"),),
        ),
        Mutant(
            "columns dealt in turn",
            "merge",
            "It sets the heads' first numbers side by side, then their second ones. Each head's d_k numbers stay together.",
            (("out.transpose(-3, -2).flatten(-2)", "out.movedim(-3, -1).flatten(-2)"),),
        ),
        Mutant(
            "heads averaged",
            "merge",
            "It averages over heads. Merging sets them side by side and loses nothing.",
            (("out.transpose(-3, -2).flatten(-2)", "out.mean(-3).repeat_interleave(out.shape[-3], -1)"),),
        ),
        Mutant(
            "merge for four axes only",
            "merge, other axes in front",
            "It counts axes from the front, so it works for one batch axis only.",
            (("out.transpose(-3, -2).flatten(-2)", "out.transpose(1, 2).flatten(2)"),),
        ),
        Mutant(
            "seven columns a head",
            "split",
            "It cuts heads of seven columns, whatever num_heads is.",
            (("(num_heads, -1)", "(-1, 7)"),),
        ),
        Mutant(
            "three heads merged",
            "merge",
            "It joins the first three heads, however many there are.",
            (("out.transpose(-3, -2).flatten(-2)", "torch.cat([out[..., g, :, :] for g in (0, 1, 2)], -1)"),),
        ),
    ),
    variants=(
        """\
def split(x, num_heads):
    d_k = x.shape[-1] // num_heads
    return x.view(*x.shape[:-1], num_heads, d_k).transpose(-2, -3)

def merge(out):
    back = out.transpose(-2, -3).contiguous()
    return back.view(*back.shape[:-2], -1)
""",
        """\
def split(x, num_heads):
    d_k = x.shape[-1] // num_heads
    print(d_k)
    s = x.stride()
    return x.as_strided((*x.shape[:-2], num_heads, x.shape[-2], d_k), (*s[:-2], d_k * s[-1], s[-2], s[-1]))

def merge(out):
    return torch.cat([out[..., g, :, :] for g in range(out.shape[-3])], dim=-1)
""",
        """\
def split(x, num_heads):
    return x.unflatten(-1, (num_heads, x.shape[-1] // num_heads)).movedim(-2, -3)

def merge(out):
    h, n, d_k = out.shape[-3:]
    return torch.einsum("...hic->...ihc", out).reshape(*out.shape[:-3], n, h * d_k)
""",
    ),
    why="Counting axes from the end makes one line serve a sample, a batch, and a batch of batches. The split copies "
    "nothing; the merge has to, unless there is one head or one position.",
)
