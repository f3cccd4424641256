"""Code: turn a fused weight of one library's layout into another's."""

from __future__ import annotations

from mha_teach.exercises.cases import varied
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point

_SOLUTION = """\
def to_stacked(weight, num_heads):
    parts = weight.unflatten(0, (num_heads, 3, -1))  # (head, role, d_k, …)
    return parts.transpose(0, 1){pick}.flatten(0, 2)  # (role, head, d_k, …) in one axis
"""
_LINE = "    parts = weight.unflatten(0, (num_heads, 3, -1))  # (head, role, d_k, …)\n"


def _weight(heads: int, d_k: int, *rest: int):
    def inputs(draw: Draw) -> tuple:
        return draw.normal(3 * heads * d_k, *rest), heads

    return inputs


def _kept(answer, weight, num_heads):
    """What the reader's own weight looks like afterwards."""
    weight = weight.clone()
    answer(weight, num_heads)
    return weight


def _cases() -> list[tuple]:
    # not kvq: to leave that as it is would be the same slip as to put the keys first
    return [(order,) for order in ("qvk", "kqv", "vqk", "vkq")]


def _fused(order: str) -> Exercise:
    """``order`` is that of the three roles within a head, as the other library has it."""
    plain, listed = order == "qkv", ", ".join(order)
    places = [order.index(role) for role in "qkv"]
    pick = "" if plain else f"[{places}]"
    back = f"parts.transpose(0, 1){pick}.flatten(0, 2)"
    extra = (
        ()
        if plain
        else (Mutant("the library's order", "five heads", f"They still come as {listed}.", ((pick, ""),)),)
    )
    return Exercise(
        id="03-fused-layouts",
        title="Weights from elsewhere",
        minutes=10,
        difficulty=2,
        marks=3,
        prompt="A library keeps queries, keys and values in one `weight` of shape (3 · h · d_k, d_model), as `nn.Linear` does, "
        f"one row for each output. Its rows are **interleaved**: head 0's {listed}, then head 1's {listed}, and so on, each d_k rows. "
        "Torch wants them **stacked**: all heads' q, then all k, then all v. Write `to_stacked(weight, num_heads)`, which "
        "returns the rows in torch's order and leaves `weight` as it is. It must take a bias, shape (3 · h · d_k,), as well.",
        stub="def to_stacked(weight, num_heads):\n    ...\n",
        solution=_SOLUTION.format(pick=pick),
        points=(
            Point(
                "five heads",
                "All heads' queries first, in the order of the heads; then all keys; then all values.",
                _weight(5, 2, 7),
                arguments=("weight", "num_heads"),
            ),
            Point(
                "wide heads",
                "The d_k rows of one head's q stay together, in their order.",
                _weight(2, 7, 14),
                arguments=("weight", "num_heads"),
            ),
            Point(
                "a bias",
                "A bias has one axis only: work along axis 0, and let the rest be whatever it is.",
                _weight(5, 2),
                arguments=("bias", "num_heads"),
            ),
            Point(
                "one head",
                "With one head both orders are the same."
                if plain
                else "With one head the roles still have to come as q, k, v.",
                _weight(1, 2, 2),
                arguments=("weight", "num_heads"),
                after="five heads",
            ),
            Point(
                "yours stays yours",
                "The weight that was given must stay as it was.",
                _weight(5, 2, 10),
                measure=_kept,
                arguments=("weight", "num_heads"),
                after="five heads",
            ),
        ),
        hints=(
            "Give axis 0 three names: `weight.unflatten(0, (…, …, …))`. In which order do they stand in memory?",
            "Now (head, role, d_k). You want (role, head, d_k)"
            + ("." if plain else ", with the roles in torch's order."),
            "`.transpose(0, 1)`, then `.flatten(0, 2)`."
            if plain
            else f"`.transpose(0, 1)`, then the roles in torch's order, `{pick}`, then `.flatten(0, 2)`.",
        ),
        mutants=(
            Mutant(
                "the way back",
                "five heads",
                "That takes stacked rows to interleaved ones: the opposite direction.",
                (("(num_heads, 3, -1)", "(3, num_heads, -1)"),),
            ),
            Mutant(
                "nothing moved",
                "five heads",
                "The rows come out in the order in which they went in: cut and joined, without a transpose.",
                ((f".transpose(0, 1){pick}", ""),),
            ),
            Mutant(
                "rows dealt one by one",
                "five heads",
                "It takes every third row for a query. q, k and v alternate in blocks of d_k rows.",
                (
                    (
                        _LINE,
                        "    parts = weight.unflatten(0, (-1, 3)).transpose(0, 1)[:, None].transpose(0, 1)\n",
                    ),
                ),
            ),
            Mutant(
                "d_k before heads",
                "five heads",
                "Within q, it sets the first row of every head side by side. A head's rows stay together.",
                ((back, f"parts.movedim(0, 2){pick}.flatten(0, 2)"),),
            ),
            Mutant(
                "keys first",
                "five heads",
                "Roles must come as q, k, v.",
                ((back, f"parts.transpose(0, 1){pick}.roll(-1, 0).flatten(0, 2)"),),
            ),
            Mutant(
                "columns moved",
                "wide heads",
                "It moves columns. A Linear's weight has a row for each output.",
                (
                    (
                        _LINE,
                        "    parts = weight.swapaxes(0, -1).unflatten(0, (num_heads, -1)).transpose(0, 1)[:, None]\n",
                    ),
                    (back, "parts.flatten(0, 2).swapaxes(0, -1)"),
                ),
            ),
            Mutant(
                "weights only",
                "a bias",
                "It asks for a second axis, which a bias doesn't have.",
                ((_LINE, "    parts = weight.reshape(num_heads, 3, -1, weight.shape[1])\n"),),
            ),
            Mutant(
                "in place",
                "yours stays yours",
                "It writes over the weight that it was given.",
                ((f"return {back}", f"return weight.copy_({back})"),),
            ),
            Mutant(
                "two rows a head",
                "wide heads",
                "It takes two rows for a head, whatever d_k is. d_k follows from the rows and the number of heads.",
                (("(num_heads, 3, -1)", "(-1, 3, 2)"),),
            ),
            Mutant(
                "d_model divided by heads",
                "five heads",
                "It takes d_model / h for d_k. The rows say how wide a head is, the columns don't.",
                (
                    (
                        _LINE,
                        "    d_model = weight.shape[-1] if weight.dim() > 1 else len(weight) // 3\n"
                        + _LINE.replace("(num_heads, 3, -1)", "(-1, 3, d_model // num_heads)"),
                    ),
                ),
            ),
            Mutant(
                "one head left out",
                "one head",
                "For one head it ends early and returns nothing.",
                ((_LINE, f"    if num_heads == 1:\n        return None\n{_LINE}"),),
            ),
            *extra,
        ),
        variants=(
            f"""\
def to_stacked(weight, num_heads):
    blocks = weight.chunk(3 * num_heads)
    return torch.cat([blocks[3 * g + role] for role in {places} for g in range(num_heads)])
""",
            f"""\
def to_stacked(weight, num_heads):
    d_k = len(weight) // (3 * num_heads)
    order = torch.arange(len(weight)).view(num_heads, 3, d_k).permute(1, 0, 2){pick}.reshape(-1)
    return weight[order]
""",
            f"""\
def to_stacked(weight, num_heads):
    {listed} = weight.reshape(num_heads, 3, -1, *weight.shape[1:]).unbind(1)
    return torch.cat([part.flatten(0, 1) for part in (q, k, v)], dim=0).clone()
""",
        ),
        why="The check that matters is at the end: load the rows into a layer that you trust, and compare outputs. Shapes, losses "
        "from scratch and both leak probes are blind to this fault.",
    )


FUSED = varied(_fused, ("qkv",), _cases)
