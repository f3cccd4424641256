"""Recall: one mask, four calls, how many keys are seen."""

from __future__ import annotations

from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import value

WHAT_TRUE_MEANS = Exercise(
    id="04-what-true-means",
    kind="recall",
    title="What True means",
    minutes=4,
    prompt="One query, three keys, and `m = torch.tensor([[True, True, False]])`. How **many** of the three keys get a "
    "weight above 0 in each call? No code. **(a)** `F.scaled_dot_product_attention(q, k, v, attn_mask=m)`. **(b)** "
    "`nn.MultiheadAttention`, called with `attn_mask=m`. **(c)** `F.scaled_dot_product_attention(q, k, v, "
    "attn_mask=m.float())`. **(d)** `nn.MultiheadAttention`, called with `key_padding_mask=~m` for a batch of one.",
    stub="a = ...\nb = ...\nc = ...\nd = ...\n",
    solution="a = 2\nb = 1\nc = 3\nd = 2\n",
    points=(
        value(
            "SDPA, booleans", "Look the row sdpa.bool up in the atlas: what does True say there?", 2, part=0
        ),
        value("MultiheadAttention, booleans", "Look the row mha.attn_mask.bool up in the atlas.", 1, part=1),
        value(
            "SDPA, floats",
            "A float mask is added to the scores. What do e¹ and e⁰ do to a weight?",
            3,
            part=2,
        ),
        value(
            "key_padding_mask",
            "~m says True for the third key. What does True say in this argument?",
            2,
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
            (("a = 2", "a = 1"),),
        ),
        Mutant(
            "one meaning for both",
            "MultiheadAttention, booleans",
            "The two are one library with two meanings: here True blocks, so only the third key is left.",
            (("b = 1", "b = 2"),),
        ),
        Mutant(
            "floats taken for switches",
            "SDPA, floats",
            "A float mask is added. 1.0 and 0.0 shift scores a little, and no weight becomes 0.",
            (("c = 3", "c = 2"),),
        ),
        Mutant(
            "zero blocks",
            "SDPA, floats",
            "Only −∞ blocks; the 0.0 at the third key adds nothing and hides nothing.",
            (("c = 3", "c = 1"),),
        ),
        Mutant(
            "padding the other way",
            "key_padding_mask",
            "key_padding_mask marks filler: True is ignored. ~m marks the third key only.",
            (("d = 2", "d = 1"),),
        ),
    ),
    variants=(
        "a, b, c, d = 2, 1, 3, 2\n",
        "a = 2.0\nb = 1.0\nc = 3.0\nd = 2.0\n",
        "a = d = 2\nb = a - 1\nc = a + 1\n",
    ),
    why="(a) True = may look. (b) True = may not. (c) numbers are added: all three keys keep a weight. (d) True = filler, "
    "and ~m marks only the third key. `masking.to_convention` does this without having to remember it.",
)
