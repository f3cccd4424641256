"""The solution of 05-attend-heads, and the wrong answers that people give."""

from __future__ import annotations

from mha_teach.exercises.model import Mutant

SOLUTION = """\
def attend_heads(query, key, value, w_q, w_k, w_v, w_o, num_heads, mask=None):
    q, k, v = query @ w_q.T, key @ w_k.T, value @ w_v.T
    q, k, v = (x.unflatten(-1, (num_heads, -1)).transpose(1, 2) for x in (q, k, v))  # (batch, head, n, d)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5  # (batch, head, query, key)
    if mask is not None:
        mask = mask if mask.dim() == 2 else mask[:, None]
        scores = scores.masked_fill(~mask, -torch.inf)
    heads = scores.softmax(-1) @ v  # (batch, head, query, d_v)
    merged = heads.transpose(1, 2).flatten(2)  # (batch, query, head · d_v)
    return merged @ w_o.T
"""
_SPLIT = "(x.unflatten(-1, (num_heads, -1)).transpose(1, 2) for x in (q, k, v))"
_MASKED = "        scores = scores.masked_fill(~mask, -torch.inf)\n"

MUTANTS = (
    Mutant("no scale", "self-attention", "The scores aren't scaled.", ((" / q.shape[-1] ** 0.5", ""),)),
    Mutant(
        "scaled by the inner width",
        "self-attention",
        "It divides by the root of num_heads · d_k. A score sums over d_k numbers only.",
        (("q.shape[-1] ** 0.5", "w_q.shape[0] ** 0.5"),),
    ),
    Mutant(
        "scaled by 2",
        "another width",
        "2 is the root of 4, and right for that width alone.",
        (("q.shape[-1] ** 0.5", "2"),),
    ),
    Mutant(
        "split by view alone",
        "self-attention",
        "reshape to (batch, head, n, d) without a transpose: a head holds pieces of neighbouring positions.",
        ((_SPLIT, "(x.reshape(x.shape[0], num_heads, x.shape[1], -1) for x in (q, k, v))"),),
    ),
    Mutant(
        "heads interleaved",
        "self-attention",
        "It gives head i every num_heads-th row. Each head's rows stand together.",
        ((_SPLIT, "(x.unflatten(-1, (-1, num_heads)).movedim(-1, 1) for x in (q, k, v))"),),
    ),
    Mutant(
        "merged without transposing back",
        "self-attention",
        "A row of the output holds one head's answers for several positions.",
        (("heads.transpose(1, 2).flatten(2)", "heads.reshape(*query.shape[:2], -1)"),),
    ),
    Mutant(
        "heads attend to heads",
        "self-attention",
        "The transpose is missing: at each position, heads are compared with heads.",
        (
            (_SPLIT, "(x.unflatten(-1, (num_heads, -1)) for x in (q, k, v))"),
            ("        scores = scores.masked_fill(~mask, -torch.inf)\n", "        pass\n"),
            ("heads.transpose(1, 2).flatten(2)", "heads.flatten(2)"),
        ),
    ),
    Mutant(
        "softmax over queries",
        "self-attention",
        "The weights of a column sum to one; those of a row should.",
        (("softmax(-1)", "softmax(-2)"),),
    ),
    Mutant(
        "softmax over heads",
        "one position",
        "Heads compete for each key. A head's own row should sum to one.",
        (("softmax(-1)", "softmax(1)"),),
    ),
    Mutant(
        "W_O forgotten", "one position", "The heads are concatenated and never mixed.", (("merged @ w_o.T", "merged"),)
    ),
    Mutant(
        "W_O the wrong way round",
        "one position",
        "w_o is stored as (d_model, inner width): multiply by its transpose.",
        (("merged @ w_o.T", "merged @ w_o"),),
    ),
    Mutant(
        "key and value ignored",
        "three inputs",
        "Everything is projected from query.",
        (("key @ w_k.T, value @ w_v.T", "query @ w_k.T, query @ w_v.T"),),
    ),
    Mutant(
        "value taken from key",
        "three inputs",
        "It makes the values from key; with one memory for both that is the same.",
        (("value @ w_v.T", "(value * 0 + key) @ w_v.T"),),
    ),
    Mutant(
        "fused wherever query is key",
        "value alone differs",
        "Where query and key are one tensor it takes the values from that tensor too.",
        (("    q, k, v = query @ w_q.T", "    value = query if query is key else value\n    q, k, v = query @ w_q.T"),),
    ),
    Mutant(
        "length of the query",
        "another length",
        "It splits keys and values into as many positions as the query has.",
        ((_SPLIT, "(x.view(*query.shape[:2], num_heads, -1).transpose(1, 2) for x in (q, k, v))"),),
    ),
    Mutant(
        "d_k computed from d_model",
        "inner width",
        "d_model // num_heads is a convention. Here the heads have another width.",
        (
            (
                "scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5",
                "d = query.shape[-1] // num_heads\n    scores = q[..., :d] @ k[..., :d].transpose(-2, -1) / d ** 0.5",
            ),
        ),
    ),
    Mutant(
        "d_v taken for d_k",
        "wide values",
        "It cuts each head's values at the width of its keys.",
        (("heads.transpose(1, 2).flatten(2)", "(heads * (torch.arange(v.shape[-1]) < q.shape[-1])).transpose(1, 2).flatten(2)"),),
    ),
    Mutant("mask upside down", "mask", "True means may look. Here it closes.", (("~mask, -", "mask, -"),)),
    Mutant("mask ignored", "mask", "Closed keys still get weight.", ((_MASKED, "        pass\n"),)),
    Mutant(
        "masking after softmax",
        "mask",
        "Closed weights become zero, but they stay in the sum: rows no longer sum to one.",
        ((_MASKED, ""), ("scores.softmax(-1) @ v", "(scores.softmax(-1) * (1 if mask is None else mask)) @ v")),
    ),
    Mutant(
        "one sample's mask for all",
        "a mask for each sample",
        "It uses the first sample's mask for the whole batch.",
        (("mask[:, None]", "mask[0]"),),
    ),
    Mutant(
        "a mask without an axis for heads",
        "a mask for each sample",
        "A mask (batch, query, key) meets scores of four axes, and its batch lands on the heads. Give it an axis of size 1 there.",
        (("mask if mask.dim() == 2 else mask[:, None]", "mask"),),
    ),
    Mutant(
        "a square mask",
        "a mask for another length",
        "It takes the mask for square, with as many keys as queries.",
        (("mask if mask.dim() == 2 else mask[:, None]", "mask.reshape(-1, 1, query.shape[1], query.shape[1])"),),
    ),
    Mutant(
        "weights detached",
        "gradients",
        "No gradient flows through the weights, so queries and keys never learn.",
        (("scores.softmax(-1) @ v", "scores.softmax(-1).detach() @ v + 0 * (q.sum() + k.sum())"),),
    ),
    Mutant(
        "a short cut for one position",
        "one position",
        "With one position it hands back the projected values, and w_o never mixes the heads.",
        (("    q, k, v = query @ w_q.T", "    if query.shape[1] == key.shape[1] == 1:\n        return value @ w_v.T\n    q, k, v = query @ w_q.T"),),
    ),
    Mutant(
        "three heads, always",
        "self-attention",
        "It cuts into three heads, whatever num_heads says.",
        ((_SPLIT, _SPLIT.replace("num_heads", "3")),),
    ),
    Mutant(
        "a whole root",
        "another width",
        "It takes the root of d_k down to a whole number, which is right for 4, 9 and other squares only.",
        (("q.shape[-1] ** 0.5", "int(q.shape[-1] ** 0.5)"),),
    ),
    Mutant(
        "one memory for both",
        "three inputs",
        "Where key is not query it takes the values from key too, as from one memory. value may be a third tensor.",
        (("    q, k, v = query @ w_q.T", "    value = value if key is query else key\n    q, k, v = query @ w_q.T"),),
    ),
    Mutant(
        "as many keys as queries",
        "another length",
        "Without a mask it opens as many keys as there are queries, and never reads those beyond.",
        (("    if mask is not None", "    if mask is None:\n        mask = (torch.arange(key.shape[1]) < query.shape[1]).expand(query.shape[1], -1)\n    if mask is not None"),),
    ),
    Mutant(
        "a mask told by its length",
        "mask",
        "It takes any mask as long as the batch for one mask a sample. Count its axes: a (query, key) mask may be as long.",
        (("mask if mask.dim() == 2 else mask[:, None]", "mask[:, None] if len(mask) == len(query) else mask"),),
    ),
)  # fmt: skip
