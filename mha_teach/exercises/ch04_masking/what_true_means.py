"""Recall: one mask, four calls, how many keys are seen."""

from __future__ import annotations

from itertools import product

from mha_teach.exercises.cases import listed, ordinal, varied, word
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import value


def _cases() -> list[tuple]:
    masks = [mask for count in (3, 4, 5) for mask in product((True, False), repeat=count)]
    # as many open as closed keys would make both meanings alike; two open keys of three give the book's answers
    return [(m,) for m in masks if sum(m) not in (0, len(m), len(m) / 2) and (sum(m), len(m)) != (2, 3)]


def _what_true_means(mask: tuple[bool, ...]) -> Exercise:
    number, seen = len(mask), sum(mask)
    blind = number - seen
    closed = [ordinal(key) for key, open_ in enumerate(mask, 1) if not open_]
    keys = f"{listed(closed)} {'key' if blind == 1 else 'keys'}"
    return Exercise(
        id="04-what-true-means",
        kind="recall",
        title="What True means",
        minutes=4,
        prompt=f"One query, {word(number)} keys, and `m = torch.tensor([[{', '.join(map(str, mask))}]])`. How **many** of the "
        f"{word(number)} keys get a "
        "weight above 0 in each call? No code. **(a)** `F.scaled_dot_product_attention(q, k, v, attn_mask=m)`. **(b)** "
        "`nn.MultiheadAttention`, called with `attn_mask=m`. **(c)** `F.scaled_dot_product_attention(q, k, v, "
        "attn_mask=m.float())`. **(d)** `nn.MultiheadAttention`, called with `key_padding_mask=~m` for a batch of one.",
        stub="a = ...\nb = ...\nc = ...\nd = ...\n",
        solution=f"a = {seen}\nb = {blind}\nc = {number}\nd = {seen}\n",
        points=(
            value(
                "SDPA, booleans",
                "Look the row sdpa.bool up in the atlas: what does True say there?",
                seen,
                part=0,
            ),
            value(
                "MultiheadAttention, booleans",
                "Look the row mha.attn_mask.bool up in the atlas.",
                blind,
                part=1,
            ),
            value(
                "SDPA, floats",
                "A float mask is added to the scores. What do e¹ and e⁰ do to a weight?",
                number,
                part=2,
            ),
            value(
                "key_padding_mask",
                f"~m says True for the {keys}. What does True say in this argument?",
                seen,
                part=3,
            ),
        ),
        hints=(
            "In one of the two functions True means 'may look', in the other 'may not look'; and (c) holds no True at all.",
            "For (c): adding 1.0 or 0.0 to a score never makes its weight 0.",
            "Both arguments of `nn.MultiheadAttention` block where they hold True.",
        ),
        mutants=(
            Mutant(
                "SDPA read as blocking",
                "SDPA, booleans",
                "That would be so if True meant 'may not look'; in scaled_dot_product_attention it means 'may look'.",
                ((f"a = {seen}", f"a = {blind}"),),
            ),
            Mutant(
                "one meaning for both",
                "MultiheadAttention, booleans",
                f"The two are one library with two meanings: here True blocks, so only the {keys} "
                f"{'is' if blind == 1 else 'are'} left.",
                ((f"b = {blind}", f"b = {seen}"),),
            ),
            Mutant(
                "floats taken for switches",
                "SDPA, floats",
                "A float mask is added. 1.0 and 0.0 shift scores a little, and no weight becomes 0.",
                ((f"c = {number}", f"c = {seen}"),),
            ),
            Mutant(
                "zero blocks",
                "SDPA, floats",
                f"Only −∞ blocks; the 0.0 at the {keys} adds nothing and hides nothing.",
                ((f"c = {number}", f"c = {blind}"),),
            ),
            Mutant(
                "padding the other way",
                "key_padding_mask",
                f"key_padding_mask marks filler: True is ignored. ~m marks the {keys} only.",
                ((f"d = {seen}", f"d = {blind}"),),
            ),
        ),
        variants=(
            f"a, b, c, d = {seen}, {blind}, {number}, {seen}\n",
            f"a = {seen}.0\nb = {blind}.0\nc = {number}.0\nd = {seen}.0\n",
            f"a = d = {seen}\nb = {number} - a\nc = a + b\n",
        ),
        why=f"(a) True = may look. (b) True = may not. (c) numbers are added: all {word(number)} keys keep a weight. (d) True = "
        f"filler, and ~m marks only the {keys}. `masking.to_convention` does this without having to remember it.",
    )


WHAT_TRUE_MEANS = varied(_what_true_means, ((True, True, False),), _cases)
