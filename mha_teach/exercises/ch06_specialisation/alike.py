"""Exercise 06-alike (explore)."""

from __future__ import annotations

from mha_teach.exercises.model import Exercise

EXPLORE = Exercise(
    id="06-alike",
    kind="explore",
    title="Alike, or replaceable?",
    minutes=15,
    difficulty=3,
    prompt="An open question. Take the pair of heads in one layer of MiniLM whose maps are most alike by `map_cosine`, and a "
    "pair in the same layer whose maps are least alike. For each pair measure three drifts of the embedding (`drift(...).mean()`, as in "
    "the chapter): without the first head, without the second, without both. Does likeness of maps tell you which pair can "
    "spare a head? What would you have to compare instead? Write your findings down.",
    stub='notes = ""\n',
    solution='notes = "Alike maps with unlike values write different things, so closing one of them can cost as much as '
    'closing any other head; one would have to compare what they write: the map times V times W_O."\n',
    hints=(
        "`sp.map_cosine(out.attention[:, layer] * out.mask[:, None, :, None]).mean(0)` is (head, head); its diagonal is 1.",
        "If two heads cover for each other, closing both costs much more than the two single costs added up.",
        "A head's contribution is `weights @ v @ w_o` of that head; two heads are redundant where these are alike.",
    ),
    why="Maps say where a head looks. What it brings from there is decided by W_V and W_O, which a map doesn't show.",
)
