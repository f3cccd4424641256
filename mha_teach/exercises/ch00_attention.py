"""Exercises of chapter 00: attention in ten lines."""

from __future__ import annotations

from functools import partial

import torch

from mha_teach.exercises.compare import same
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point, expression, gradients, part_of, value

QKV = ("q", "k", "v")
PAIR = ("output", "weights")


def _qkv(draw: Draw, *lead: int, d_k: int = 1) -> tuple:
    """5 queries, 7 keys, values 2 wide. With d_k = 1 every usual scale is 1, so that only one point tests the scale."""
    return draw.normal(*lead, 5, d_k), draw.normal(*lead, 7, d_k), draw.normal(*lead, 7, 2)


def _equal_scores(draw: Draw) -> tuple:
    q, k, v = _qkv(draw, 2)
    return torch.zeros_like(q), k, v


def _two_widths(draw: Draw) -> tuple:
    return *_qkv(draw, 2, d_k=3), *_qkv(draw, 2, d_k=11)


def _two_ranks(draw: Draw) -> tuple:
    return *_qkv(draw), *_qkv(draw, 2, 3)


def _masked(draw: Draw) -> tuple:
    return *_qkv(draw, 2), draw.mask(2, 5, 7, share=0.5)


def _blind(draw: Draw) -> tuple:
    q, k, v, mask = _masked(draw)
    mask[1, 3] = False
    return q, k, v, mask


def _large(draw: Draw) -> tuple:
    q, k, v = _qkv(draw, 2)
    return q * 1000, k, v


def _output(answer, *arguments):
    return part_of(answer(*arguments), 0, PAIR)


def _weights(answer, *arguments):
    return part_of(answer(*arguments), 1, PAIR)


def _twice(answer, *six):
    return _output(answer, *six[:3]), _output(answer, *six[3:])


def _shared(draw: Draw) -> tuple:
    return *_qkv(draw, 2, 3), draw.mask(5, 7, share=0.5), draw.mask(2, 1, 1, 7, share=0.5)


def _both_masks(answer, q, k, v, first, second):
    return _output(answer, q, k, v, first), _output(answer, q, k, v, second)


def _far_down(draw: Draw) -> tuple:
    q, k, v, mask = _masked(draw)
    return q * 1e5, k, v, mask


def _gradient(answer, *qkv):
    leaves = [x.requires_grad_() for x in qkv]
    return gradients(_output(answer, *leaves), leaves)


BY_HAND = Exercise(
    id="00-by-hand",
    title="Three weights by hand",
    kind="recall",
    minutes=4,
    prompt="A query scores three keys with $0$, $0$ and $\\ln 2$; the scale is already in. The values are the "
    "plain numbers 8, 0 and 2. Give the three **weights** as a list, and the **output**. Paper is enough.",
    stub="weights = ...\noutput = ...\n",
    solution="weights = [0.25, 0.25, 0.5]\noutput = 3.0\n",
    why="$e^0 = 1$ and $e^{\\ln 2} = 2$, so the powers are 1, 1, 2 and their sum is 4. "
    "The output is $8/4 + 0/4 + 2 \\cdot 2/4 = 3$.",
    points=(
        value("weights", "Raise e to each score, then divide by the sum.", [0.25, 0.25, 0.5], part=0),
        value("output", "The output is the mean of the values, weighted.", 3.0, part=1),
    ),
    hints=(
        "What is e to the power 0, and e to the power ln 2?",
        "The three powers are 1, 1 and 2. They don't sum to one yet.",
        "Divide each power by 4. Then multiply each weight by its value, and add up.",
    ),
    mutants=(
        Mutant(
            "not divided by the sum",
            "weights",
            "Powers alone are no weights: a row must sum to one.",
            source="weights = [1, 1, 2]\noutput = 12\n",
        ),
        Mutant(
            "scores used as weights",
            "weights",
            "The exponential is missing: a score of 0 still gets a weight.",
            source="weights = [0, 0, 1]\noutput = 2\n",
        ),
        Mutant(
            "weights alike",
            "weights",
            "The third key has another score, so it has another weight.",
            source="weights = [1 / 3, 1 / 3, 1 / 3]\noutput = 3.0\n",
        ),
        Mutant(
            "plain mean of the values",
            "output",
            "The values count by their weights, not all alike.",
            (("output = 3.0", "output = 10 / 3"),),
        ),
        Mutant(
            "the value of the heaviest key",
            "output",
            "A soft look-up mixes all values; it does not pick one.",
            (("output = 3.0", "output = 2.0"),),
        ),
    ),
    variants=(
        "weights = [1 / 4, 1 / 4, 2 / 4]\noutput = 8 / 4 + 2 / 2\n",
        (
            "import math\nscores = torch.tensor([0.0, 0.0, math.log(2)])\nweights = scores.softmax(-1)\n"
            "output = weights @ torch.tensor([8.0, 0.0, 2.0])\n"
        ),
        "weights = (0.25, 0.25, 0.5)\noutput = 3\n",
    ),
)

RANGES = {"s": (0.5, 6.0), "n": (3.0, 60.0)}

CROWD = Exercise(
    id="00-crowd",
    title="One among many",
    kind="derive",
    minutes=6,
    difficulty=2,
    marks=2,
    prompt="One key scores $s$ higher than the $n-1$ others, which all score the same. Give two formulas as text "
    "(`+ - * / **`, `exp`, `log`): its **weight** in terms of `s` and `n`, and the **lead** $s$ at which that "
    "weight is one half, in terms of `n`.",
    stub="weight = ...\nlead = ...\n",
    solution='weight = "exp(s) / (exp(s) + n - 1)"\nlead = "log(n - 1)"\n',
    why="A softmax ignores what is added to all scores, so let the others score 0. Their powers sum to $n-1$. "
    "One half means that $e^s$ equals that sum. The lead that is needed grows with the logarithm of the crowd.",
    points=(
        expression("weight", "The weight is one power divided by the sum of all n powers.", RANGES, part=0),
        expression(
            "lead", "At this lead the one power equals the sum of the others.", {"n": (3.0, 60.0)}, part=1
        ),
    ),
    hints=(
        "Adding one number to all scores changes no weight. Which score of the others is the most convenient?",
        "Let the others score 0. What do their powers sum to?",
        "The weight is exp(s) divided by exp(s) plus n - 1. Set that to 1/2 and solve for s.",
    ),
    mutants=(
        Mutant(
            "itself counted twice",
            "weight",
            "There are n - 1 others, not n.",
            source='weight = "exp(s) / (exp(s) + n)"\nlead = "log(n - 1)"\n',
        ),
        Mutant(
            "one rival only",
            "weight",
            "That is the weight against a single other key.",
            source='weight = "1 / (1 + exp(-s))"\nlead = "log(n - 1)"\n',
        ),
        Mutant(
            "no exponential",
            "weight",
            "A softmax raises e to the scores before it divides.",
            source='weight = "s / (s + n - 1)"\nlead = "n - 1"\n',
        ),
        Mutant(
            "lead grows like the crowd",
            "lead",
            "Take the logarithm: powers are compared, not scores.",
            source='weight = "exp(s) / (exp(s) + n - 1)"\nlead = "n - 1"\n',
        ),
        Mutant(
            "lead for a crowd of n others",
            "lead",
            "The key itself is one of the n.",
            source='weight = "exp(s) / (exp(s) + n - 1)"\nlead = "log(n)"\n',
        ),
    ),
    variants=(
        'weight = "1 / (1 + (n - 1) * exp(-s))"\nlead = "-log(1 / (n - 1))"\n',
        (
            "import math\n\ndef weight(s, n):\n    return math.exp(s) / (math.exp(s) + n - 1)\n\n"
            "def lead(n):\n    return math.log(n - 1)\n"
        ),
        'weight = "exp(s)/(n-1+exp(s))"\nlead = "2*log((n-1)^0.5)"\n',
    ),
)

ATTEND = Exercise(
    id="00-attend",
    title="Attention from memory",
    kind="code",
    minutes=15,
    difficulty=2,
    marks=4,
    prompt="Close the page above and write attention yourself. `q` is `(*batch, query, d_k)`, `k` is "
    "`(*batch, key, d_k)`, `v` is `(*batch, key, d_v)`, with any number of leading axes. `mask` is `None` or boolean, "
    "broadcasts to `(*batch, query, key)`, and is True where a query may look. A query that may look at nothing gets "
    "zero weights and a zero output.",
    stub="def attend_mine(q, k, v, mask=None):\n    ...  # scores, mask, weights, output\n    return output, weights\n",
    solution="""\
def attend_mine(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1)
    if mask is not None:
        weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
    output = weights @ v
    return output, weights
""",
    why="The blind row is the only trap left when the formula is right: a softmax over nothing but $-\\infty$ is "
    "0/0. Zero weights make the output zero and keep NaN out of everything behind it.",
    points=(
        Point(
            "equal scores",
            "A query of zeros scores all keys alike, so its output is the mean of the values.",
            _equal_scores,
            _output,
            arguments=QKV,
            alone=False,  # what breaks the softmax breaks more than this
        ),
        Point(
            "any leading axes",
            "The same code must serve (query, d_k) and (batch, head, query, d_k): count axes from the end.",
            _two_ranks,
            _twice,
            compare=partial(same, parts=("the output for 2 axes", "the output for 4 axes")),
            arguments=QKV * 2,
            alone=False,
        ),
        Point(
            "scale",
            "Scores are divided by the square root of d_k, the width of one query.",
            _two_widths,
            _twice,
            compare=partial(same, parts=("the output for d_k = 3", "the output for d_k = 11")),
            arguments=QKV * 2,
        ),
        Point(
            "large scores",
            "Scores of a thousand must not overflow. A softmax first subtracts the largest score of the row.",
            _large,
            _output,
            arguments=QKV,
            alone=False,
        ),
        Point(
            "weights",
            "The second thing returned is the weights.",
            lambda d: _qkv(d, 2),
            _weights,
            arguments=QKV,
            alone=False,  # with a mask they are looked at again
        ),
        Point(
            "mask",
            "A closed key counts as if it were not there: its score is -inf before the softmax.",
            _masked,
            _output,
            arguments=(*QKV, "mask"),
            alone=False,  # what is wrong with the mask is seen in the weights too
        ),
        Point(
            "shared mask",
            "One mask may serve every sample and head, or every query: it broadcasts like any tensor.",
            _shared,
            _both_masks,
            compare=partial(
                same, parts=("the output under a mask (query, key)", "the output under a mask of keys")
            ),
            arguments=(*QKV, "one mask for all", "one row per sample"),
        ),
        Point(
            "very low scores",
            "Open keys may score -100,000 and still share all the weight: closed must be lower than any score.",
            _far_down,
            _output,
            arguments=(*QKV, "mask"),
        ),
        Point(
            "blind query",
            "A query that may look at nothing gets zeros, and no other query notices.",
            _blind,
            _output,
            arguments=(*QKV, "mask"),
            alone=False,
        ),
        Point(
            "masked weights",
            "The weights that are returned are those that were used: zero for closed keys, a row of zeros for a "
            "blind query.",
            _blind,
            _weights,
            arguments=(*QKV, "mask"),
        ),
        Point(
            "gradients",
            "Gradients reach q, k and v.",
            lambda d: _qkv(d, 2),
            _gradient,
            compare=partial(same, parts=("the gradient to q", "the gradient to k", "the gradient to v")),
            arguments=QKV,
        ),
    ),
    hints=(
        "Four lines: scores, mask, weights, output. Which axis of the scores belongs to the keys?",
        "`k.transpose(-2, -1)` turns rows into columns whatever stands in front; the softmax runs over `-1`.",
        "`scores.masked_fill(~mask, -torch.inf)` before the softmax. Afterwards, rows with `~mask.any(-1)` become 0.",
    ),
    mutants=(
        Mutant("no scale", "scale", "The scores aren't scaled.", ((" / q.shape[-1] ** 0.5", ""),)),
        Mutant(
            "scaled twice",
            "scale",
            "It divides by d_k, not by its square root.",
            ((" / q.shape[-1] ** 0.5", " / q.shape[-1]"),),
        ),
        Mutant(
            "scaled up",
            "scale",
            "It multiplies by the square root of d_k.",
            (("/ q.shape[-1] ** 0.5", "* q.shape[-1] ** 0.5"),),
        ),
        Mutant(
            "scaled by the number of keys",
            "scale",
            "The size of k that counts is its width, k.shape[-1].",
            (("/ q.shape[-1] ** 0.5", "/ k.shape[-2] ** 0.5"),),
        ),
        Mutant(
            "scaled by the value's width",
            "scale",
            "d_k counts, not d_v: the dot product runs over d_k.",
            (("/ q.shape[-1] ** 0.5", "/ v.shape[-1] ** 0.5"),),
        ),
        Mutant(
            "softmax over the queries",
            "equal scores",
            "The weights of each column sum to one; those of each row should.",
            (("softmax(-1)", "softmax(-2)"),),
        ),
        Mutant(
            "softmax over axis 1",
            "equal scores",
            "Axis 1 is the keys only when there is no batch. Count from the end: -1.",
            (("softmax(-1)", "softmax(1)"),),
        ),
        Mutant(
            "sigmoid instead of softmax",
            "equal scores",
            "Each weight is between 0 and 1, but a row does not sum to one.",
            (("scores.softmax(-1)", "scores.sigmoid()"),),
        ),
        Mutant(
            "transposed by counting from the front",
            "any leading axes",
            "transpose(1, 2) fits three axes and no other number of them.",
            (("k.transpose(-2, -1)", "k.transpose(1, 2)"),),
        ),
        Mutant(
            "exp without the largest score taken off",
            "large scores",
            "exp(1000) is infinite, and infinite over infinite is NaN.",
            (("scores.softmax(-1)", "scores.exp() / scores.exp().sum(-1, keepdim=True)"),),
        ),
        Mutant(
            "scores returned instead of weights",
            "weights",
            "It returns the scores; weights are what the softmax makes of them.",
            (("return output, weights", "return output, scores"),),
        ),
        Mutant(
            "mask upside down",
            "mask",
            "True means may look. Here it closes.",
            (("masked_fill(~mask, -torch.inf)", "masked_fill(mask, -torch.inf)"),),
        ),
        Mutant(
            "mask ignored",
            "mask",
            "Closed keys still get weight.",
            (("scores = scores.masked_fill(~mask, -torch.inf)", "pass"),),
        ),
        Mutant(
            "masking after softmax",
            "mask",
            "Closed weights are set to zero, but they stay in the sum, so the rest of the row no longer sums to one.",
            (
                ("    if mask is not None:\n        scores = scores.masked_fill(~mask, -torch.inf)\n", ""),
                ("weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)", "weights * mask"),
            ),
        ),
        Mutant(
            "mask added as zeros and ones",
            "mask",
            "Adding 1 where a query may look shifts scores a little and closes nothing.",
            (("scores.masked_fill(~mask, -torch.inf)", "scores + mask"),),
        ),
        Mutant(
            "score 0 for closed keys",
            "mask",
            "A score of 0 is a score like any other: e to the 0 is 1. Closed means -inf.",
            (("masked_fill(~mask, -torch.inf)", "masked_fill(~mask, 0.0)"),),
        ),
        Mutant(
            "blind query left alone",
            "blind query",
            "A row of -inf alone becomes 0/0, which is NaN.",
            (("weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)", "weights"),),
        ),
        Mutant(
            "a large negative number for minus infinity",
            "blind query",
            "With -1e9 everywhere a blind query looks at all keys alike, also at those it must not see.",
            (
                ("-torch.inf", "-1e9"),
                ("weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)", "weights"),
            ),
        ),
        Mutant(
            "mask of one shape only",
            "shared mask",
            "It needs a mask of the scores' full shape and ignores any that would have to broadcast.",
            (
                (
                    "    if mask is not None:\n        scores =",
                    "    if mask is not None and mask.shape != scores.shape:\n        mask = None\n    if mask is not None:\n        scores =",
                ),
            ),
        ),
        Mutant(
            "-10,000 for minus infinity",
            "very low scores",
            "An open key may score lower than that, and then the closed ones win.",
            (("-torch.inf", "-1e4"),),
        ),
        Mutant(
            "one blind query blinds all",
            "blind query",
            "It looks for NaN anywhere and then zeroes everything.",
            (
                (
                    "weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)",
                    "torch.zeros_like(weights) if weights.isnan().any() else weights",
                ),
            ),
        ),
        Mutant(
            "weights from before the mask",
            "masked weights",
            "The output is right, but the weights that it returns never saw the mask.",
            (
                (
                    "return output, weights",
                    "return output, (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1)",
                ),
            ),
        ),
        Mutant(
            "NaN left in the weights",
            "masked weights",
            "The output is mended at the end, but the weights of a blind query are still NaN.",
            (
                ("weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)", "weights"),
                ("weights @ v", "(weights @ v).nan_to_num()"),
            ),
        ),
        Mutant(
            "weights detached",
            "gradients",
            "No gradient flows through the weights, so queries and keys never learn.",
            (("weights @ v", "weights.detach() @ v + 0 * (q.sum() + k.sum())"),),
        ),
    ),
    variants=(
        """\
def attend_mine(q, k, v, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", q, k) * k.size(-1) ** -0.5
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    scores = torch.where(mask, scores, float("-inf"))
    top = scores.amax(-1, keepdim=True).detach().clamp(min=-1e30)
    powers = torch.exp(scores - top)
    weights = powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)
    return torch.einsum("...qk,...kd->...qd", weights, v), weights
""",
        """\
def attend_mine(q, k, v, mask=None):
    lead = q.shape[:-2]
    q, k, v = (x.reshape(-1, *x.shape[-2:]) for x in (q, k, v))
    if mask is not None:
        mask = mask.expand(*lead, q.shape[1], k.shape[1]).reshape(-1, q.shape[1], k.shape[1])
    outputs, rows = [], []
    for sample in range(q.shape[0]):
        for i in range(q.shape[1]):
            scores = (k[sample] * q[sample, i]).sum(-1) / q.shape[-1] ** 0.5
            seen = torch.arange(k.shape[1]) if mask is None else mask[sample, i].nonzero().flatten()
            row = torch.zeros(k.shape[1])
            if len(seen):
                row = row.index_put((seen,), scores[seen].softmax(0))
            rows.append(row)
            outputs.append(row @ v[sample])
    shape = (*lead, q.shape[1])
    return torch.stack(outputs).view(*shape, -1), torch.stack(rows).view(*shape, -1)
""",
        """\
import torch.nn.functional as F

def attend_mine(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None = None) -> tuple:
    one_hot = torch.eye(k.shape[-2]).expand(*k.shape[:-2], -1, -1)
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, k, one_hot)
    mask = mask.expand(*q.shape[:-1], k.shape[-2])
    return tuple(F.scaled_dot_product_attention(q, k, x, mask).nan_to_num() for x in (v, one_hot))
""",
        """\
import torch.nn.functional as F

def attend_mine(q, k, v, mask=None):
    q, k, v = q.double(), k.double(), v.double()
    print("shapes", q.shape, k.shape, v.shape)
    scores = (q / q.shape[-1] ** 0.5) @ k.mT
    if mask is not None:
        scores[~mask.expand_as(scores)] = -torch.inf
        weights = F.softmax(scores, dim=-1).nan_to_num()
    else:
        weights = F.softmax(scores, dim=-1)
    return weights @ v, weights
""",
    ),
)


def _all_keys_ask(draw: Draw) -> tuple:
    """Five far-apart keys, and the same five as queries: each finds itself, whatever axis the softmax takes."""
    k = 12 * torch.eye(5)[torch.randperm(5, generator=draw.generator)]
    return k, k.clone(), draw.normal(5, 2)


def _flat_query(draw: Draw) -> tuple:
    q, k, v = (x[0] for x in _qkv(draw, 1, d_k=3))
    return torch.zeros_like(q), k, v


MEND = Exercise(
    id="00-mend",
    title="Two silent faults",
    kind="break",
    minutes=10,
    difficulty=2,
    marks=3,
    prompt="This function raises nothing, returns the right shape, and is wrong twice. Find both faults and mend them. "
    "One sample, no mask: `q` is `(query, d_k)`, `k` is `(key, d_k)`, `v` is `(key, d_v)`.",
    stub="""\
def soft_look_up(q, k, v):
    columns = k.reshape(k.shape[1], k.shape[0])  # (d_k, key)
    scores = q @ columns / q.shape[1] ** 0.5  # (query, key)
    weights = scores.softmax(0)
    return weights @ v
""",
    solution="""\
def soft_look_up(q, k, v):
    columns = k.transpose(0, 1)  # (d_k, key)
    scores = q @ columns / q.shape[1] ** 0.5  # (query, key)
    weights = scores.softmax(1)
    return weights @ v
""",
    why="`reshape` reads the numbers in the order in which they lie in memory and cuts new rows, so that each column mixes "
    "several keys; `transpose` swaps the axes. And the softmax must run over the keys, axis 1.",
    points=(
        Point(
            "which axis sums to one",
            "A query of zeros must get the plain mean of the values: its weights are alike and sum to one.",
            _flat_query,
            arguments=QKV,
            alone=False,  # a wrong axis is seen on ordinary numbers too, but not said so plainly
        ),
        Point(
            "whose key it is",
            "Each query here equals one key and is far from the others, so it must get that key's value.",
            _all_keys_ask,
            arguments=QKV,
            alone=False,  # every unit vector is symmetric enough to hide some faults; the next point is not
        ),
        Point(
            "ordinary numbers",
            "On ordinary numbers the output differs.",
            lambda d: _qkv(d, d_k=3),
            arguments=QKV,
            alone=False,
        ),
        Point(
            "another width",
            "The scale follows d_k, the width of a query.",
            lambda d: _qkv(d, d_k=11),
            arguments=QKV,
        ),
    ),
    hints=(
        "Print `weights.sum(0)` and `weights.sum(1)`. Which of the two should be ones?",
        "Print `k` and `columns` for a small `k`. Is the first column the first key?",
        "`k.transpose(0, 1)` swaps the axes, `reshape` only cuts the same list of numbers elsewhere.",
    ),
    mutants=(
        Mutant(
            "only the axis mended",
            "ordinary numbers",
            "The columns still mix numbers of several keys: reshape does not transpose.",
            (("k.transpose(0, 1)", "k.reshape(k.shape[1], k.shape[0])"),),
        ),
        Mutant(
            "only the columns mended",
            "which axis sums to one",
            "The softmax still runs over the queries.",
            (("softmax(1)", "softmax(0)"),),
        ),
        Mutant(
            "softmax over everything",
            "which axis sums to one",
            "All weights together sum to one; each row should.",
            (("scores.softmax(1)", "scores.flatten().softmax(0).view_as(scores)"),),
        ),
        Mutant(
            "rows divided afterwards",
            "ordinary numbers",
            "Rows sum to one again, but a softmax over the queries came first and has mixed them.",
            (
                (
                    "scores.softmax(1)",
                    "scores.softmax(0)\n    weights = weights / weights.sum(1, keepdim=True)",
                ),
            ),
        ),
        Mutant(
            "scale lost while mending",
            "ordinary numbers",
            "Both faults are mended, but the scale is gone.",
            ((" / q.shape[1] ** 0.5", ""),),
        ),
        Mutant(
            "scaled by the number of keys",
            "ordinary numbers",
            "Both faults are mended, but the scale counts keys instead of d_k.",
            (("q.shape[1] ** 0.5", "k.shape[0] ** 0.5"),),
        ),
        Mutant(
            "the root of 3",
            "another width",
            "It divides by a number that is right for one width only.",
            (("q.shape[1] ** 0.5", "3 ** 0.5"),),
        ),
        Mutant(
            "values in place of keys",
            "ordinary numbers",
            "The scores compare queries with something else than the keys.",
            (("k.transpose(0, 1)", "k.flip(0).transpose(0, 1)"),),
        ),
    ),
    variants=(
        "def soft_look_up(q, k, v):\n    return (q @ k.T / q.shape[1] ** 0.5).softmax(-1) @ v\n",
        "def soft_look_up(q, k, v):\n    return torch.stack([((k @ row) / len(row) ** 0.5).softmax(0) @ v for row in q])\n",
        "from mha_teach.attention import attend\n\ndef soft_look_up(q, k, v):\n    return attend(q, k, v)[0]\n",
    ),
)


def _good(draw: Draw, blind: bool = False) -> tuple:
    mask = draw.mask(3, 5, share=0.6)
    mask[1] = torch.tensor([True, False, True, True, False])  # a row that is sure to have closed keys
    weights = draw.normal(3, 5).masked_fill(~mask, -torch.inf).softmax(-1)
    if blind:
        mask[2], weights[2] = False, 0.0
    return weights, mask


def _spoiled(change) -> object:
    def inputs(draw: Draw) -> tuple:
        weights, mask = _good(draw, blind=True)
        change(weights)
        return weights, mask

    return inputs


def _wrong_sums(draw: Draw) -> tuple:
    weights, mask = _good(draw, blind=True)
    stretch = torch.tensor([[1.5, 1.0, 1.0], [1.0, 0.5, 1.0], [1.5, 0.5, 1.0]])
    columns = draw.normal(3, 5).softmax(0)
    return (
        *(weights * factor[:, None] for factor in stretch),
        mask,
        columns,
        torch.ones(3, 5, dtype=torch.bool),
    )


def _on_sums(answer, long, short, both, mask, columns, all_open):
    return *(answer(weights, mask) for weights in (long, short, both)), answer(columns, all_open)


def _rounded(draw: Draw) -> tuple:
    weights, mask = _good(draw)
    leak, sign = weights.clone(), weights.clone()
    leak[1] = torch.tensor([0.25, 5e-5, 0.25, 0.5, 0.0])
    sign[1] = torch.tensor([0.5, 0.0, -5e-5, 0.5, 0.0])
    return weights * 1.00005, leak, sign, mask


def _small_faults(draw: Draw) -> tuple:
    weights, mask = _good(draw)
    leak, sign = weights.clone(), weights.clone()
    leak[1] = torch.tensor([0.3, 0.01, 0.3, 0.39, 0.0])
    sign[1] = torch.tensor([0.5, 0.0, -0.01, 0.51, 0.0])
    return weights * 1.01, leak, sign, mask


def _on_three(answer, long, leak, sign, mask):
    return tuple(answer(weights, mask) for weights in (long, leak, sign))


def _idle(weights):
    weights[0] = 0.0


def _closed_gets_weight(weights):
    weights[1] = torch.tensor([0.25, 0.25, 0.25, 0.25, 0.0])


def _negative(weights):
    weights[1] = torch.tensor([1.5, 0.0, -1.0, 0.5, 0.0])


def _blind_looks(weights):
    weights[2] = 0.2


PROBE = Exercise(
    id="00-probe",
    title="A probe for weights",
    kind="code",
    minutes=10,
    difficulty=2,
    marks=3,
    prompt="Write the probe that finds the faults of this chapter in anyone's weights. `sound(weights, mask)` takes weights "
    "`(query, key)` and a boolean mask of that shape, and returns True exactly if no weight is negative, closed keys "
    "get 0, and each row sums to one, or to zero where the query may look at nothing. Allow rounding of `1e-4`.",
    stub="def sound(weights, mask):\n    ...\n",
    solution="""\
def sound(weights, mask):
    wanted = mask.any(-1).to(weights.dtype)
    rows = torch.allclose(weights.sum(-1), wanted, atol=1e-4)
    closed = (weights[~mask].abs() < 1e-4).all()
    return bool(rows and closed and (weights > -1e-4).all())
""",
    why="Three questions, and each catches what the others let through: row sums find the wrong axis and the blind row, "
    "closed cells find the mask, and signs find weights that never saw a softmax.",
    points=(
        Point("sound weights", "These weights are sound, with one blind row.", lambda d: _good(d, True)),
        Point(
            "row sum",
            "Each row has to sum to one by itself: not 1.5, not 0.5, and not the columns instead.",
            _wrong_sums,
            _on_sums,
            compare=partial(
                same,
                parts=(
                    "the verdict on a row of 1.5",
                    "the verdict on a row of 0.5",
                    "the verdict on one row of each",
                    "the verdict on columns of 1",
                ),
            ),
            alone=False,
        ),
        Point("idle query", "A query that may look somewhere has no weights at all here.", _spoiled(_idle)),
        Point("closed keys", "A closed key has a weight here.", _spoiled(_closed_gets_weight), alone=False),
        Point(
            "signs",
            "A weight is negative here, though the row sums to one.",
            _spoiled(_negative),
            alone=False,
        ),
        Point(
            "blind row",
            "A query that may look at nothing has weights here.",
            _spoiled(_blind_looks),
            alone=False,
        ),
        Point(
            "rounding",
            "These weights are off by less than 1e-4 everywhere, so they are still sound.",
            _rounded,
            _on_three,
            compare=partial(
                same,
                parts=(
                    "the verdict on rows of 1.00005",
                    "the verdict on a closed key with 0.00005",
                    "the verdict on a weight of -0.00005",
                ),
            ),
        ),
        Point(
            "small faults",
            "A fault of 0.01 is more than rounding.",
            _small_faults,
            _on_three,
            compare=partial(
                same,
                parts=(
                    "the verdict on rows of 1.01",
                    "the verdict on a closed key with 0.01",
                    "the verdict on a weight of -0.01",
                ),
            ),
        ),
    ),
    hints=(
        "Three questions, one line each. Which of them can you answer with `weights.sum(-1)`?",
        "`mask.any(-1)` tells which rows should sum to one. `weights[~mask]` are the weights of closed keys.",
        "`torch.allclose(weights.sum(-1), mask.any(-1).float(), atol=1e-4)`, and two more conditions.",
    ),
    mutants=(
        Mutant(
            "columns summed",
            "sound weights",
            "It sums over the queries.",
            (("weights.sum(-1)", "weights.sum(0)"), ("mask.any(-1)", "mask.any(0)")),
        ),
        Mutant(
            "every row must sum to one",
            "sound weights",
            "A blind row sums to zero, and rightly so.",
            (("mask.any(-1).to(weights.dtype)", "torch.ones(len(mask))"),),
        ),
        Mutant(
            "row sums not looked at",
            "row sum",
            "It never sums a row.",
            (("bool(rows and closed", "bool(closed"),),
        ),
        Mutant(
            "closed keys not looked at",
            "closed keys",
            "It never looks at the mask cell by cell.",
            (("rows and closed", "rows"),),
        ),
        Mutant(
            "signs not looked at",
            "signs",
            "It never looks for negative weights.",
            ((" and (weights > -1e-4).all()", ""),),
        ),
        Mutant(
            "always True",
            "row sum",
            "It finds every matrix sound.",
            source="def sound(weights, mask):\n    return True\n",
        ),
        Mutant(
            "always False",
            "sound weights",
            "It finds no matrix sound.",
            source="def sound(weights, mask):\n    return False\n",
        ),
        Mutant(
            "only long rows noticed",
            "row sum",
            "A row may also sum to too little: take the absolute difference.",
            (
                (
                    "torch.allclose(weights.sum(-1), wanted, atol=1e-4)",
                    "(weights.sum(-1) - wanted).max() < 1e-4",
                ),
            ),
        ),
        Mutant(
            "only the first row summed",
            "row sum",
            "The first row may be right while another is not.",
            (
                (
                    "torch.allclose(weights.sum(-1), wanted, atol=1e-4)",
                    "(weights[0].sum() - wanted[0]).abs() < 1e-4",
                ),
            ),
        ),
        Mutant(
            "rows added together",
            "row sum",
            "It compares the sum over everything, where one row can make up for another.",
            (
                (
                    "torch.allclose(weights.sum(-1), wanted, atol=1e-4)",
                    "(weights.sum() - wanted.sum()).abs() < 1e-4",
                ),
            ),
        ),
        Mutant(
            "zero always allowed",
            "idle query",
            "A row of zeros is right only where the query may look at nothing.",
            (
                (
                    "torch.allclose(weights.sum(-1), wanted, atol=1e-4)",
                    "(((weights.sum(-1) - wanted).abs() < 1e-4) | (weights.sum(-1).abs() < 1e-4)).all()",
                ),
            ),
        ),
        Mutant(
            "closed keys exactly zero",
            "rounding",
            "Closed keys, too, are allowed to be off by rounding.",
            (("(weights[~mask].abs() < 1e-4).all()", "(weights[~mask] == 0).all()"),),
        ),
        Mutant(
            "signs without rounding",
            "rounding",
            "A weight of -1e-5 is rounding, not a fault.",
            (("weights > -1e-4", "weights >= 0"),),
        ),
        Mutant(
            "too much allowed",
            "small faults",
            "It allows a tenth, and the prompt allows 1e-4.",
            (
                ("wanted, atol=1e-4", "wanted, atol=0.1"),
                ("abs() < 1e-4", "abs() < 0.1"),
                ("weights > -1e-4", "weights > -0.1"),
            ),
        ),
        Mutant(
            "no rounding allowed",
            "rounding",
            "It compares for exact equality.",
            (
                (
                    "torch.allclose(weights.sum(-1), wanted, atol=1e-4)",
                    "torch.equal(weights.sum(-1).round(decimals=6), wanted)",
                ),
            ),
        ),
    ),
    variants=(
        """\
def sound(weights, mask):
    for row, open_ in zip(weights.tolist(), mask.tolist()):
        total = 1.0 if any(open_) else 0.0
        if abs(sum(row) - total) > 1e-4 or min(row) < -1e-4:
            return False
        if any(abs(w) > 1e-4 for w, may in zip(row, open_) if not may):
            return False
    return True
""",
        """\
def sound(weights, mask):
    off = (weights.sum(-1) - mask.any(-1).double()).abs().max()
    leak = weights.masked_fill(mask, 0.0).abs().max()
    return off < 1e-4 and leak < 1e-4 and weights.min() > -1e-4
""",
        """\
def sound(weights, mask):
    bad = (weights.sum(-1) - mask.any(-1).float()).abs() > 1e-4
    bad |= ((~mask) & (weights.abs() > 1e-4)).any(-1)
    bad |= (weights < -1e-4).any(-1)
    return not bad.any()
""",
    ),
)

OPEN = Exercise(
    id="00-looked-or-used",
    title="Looked at, or used?",
    kind="explore",
    minutes=10,
    difficulty=2,
    marks=0,
    prompt="In the cell that draws what is looked at beside what is used, change the values so that the key with the "
    "**smallest** weight matters **most** for the output. Then write down in a sentence or two what a heat map of weights alone "
    "would have told you, and what you would ask of anyone who shows you one.",
    stub='notes = ...  # "..." in your own words\n',
    solution='notes = "The effect of a key is its weight times the length of its value."\n',
    hints=(
        "What does the output lose when one value becomes zero?",
        "The loss is weight times value. You may choose the value.",
        "Make one value a hundred times longer. Which of the two pictures changes?",
    ),
)

EXERCISES = [BY_HAND, CROWD, ATTEND, MEND, PROBE, OPEN]
