"""The points that no written wrong answer fails alone, and why: the only exceptions that tests/exercises allows.

A simple case comes first so that a wrong answer meets its smallest counter-example first; whatever fails there fails in the
general case as well. Those points help the reader, and a wrong answer would be rejected without them.
"""

from __future__ import annotations

SIMPLE = "a simple case comes before the general one, which catches the same with a larger counter-example"
GENERAL = "the general case: each of its faults also shows in a simpler one or in a further one"
CHANCE = "a wrong answer fails there alone on some numbers, and elsewhere too on others"
VIEW = "the same fault seen at another place, where its message says more plainly what is wrong"

SHARED: dict[str, dict[str, str]] = {
    "00-attend": {
        "equal scores": SIMPLE,
        "any leading axes": GENERAL,
        "large scores": VIEW,
        "weights": VIEW,
        "mask": SIMPLE,
        "blind query": VIEW,
    },
    "00-mend": {"which axis sums to one": SIMPLE, "whose key it is": SIMPLE, "ordinary numbers": GENERAL},
    "00-probe": {"closed keys": SIMPLE, "signs": SIMPLE, "blind row": SIMPLE},
    "01-bag": {"two symbols": SIMPLE, "very many symbols": SIMPLE},
    "01-confusion": {
        "one head, two roles": SIMPLE,
        "three heads, two roles": GENERAL,
        "a head that looks elsewhere": CHANCE,
    },
    "01-unmix": {"role 1": SIMPLE, "role 2": SIMPLE, "both hold the same value": SIMPLE},
    "01-slices": {
        "a single key": SIMPLE,
        "weights": GENERAL,
        "outputs": GENERAL,
        "every number is read": VIEW,
    },
}
