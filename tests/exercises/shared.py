"""The points that no written wrong answer fails alone, and why: the only exceptions that tests/exercises allows.

A simple case comes first so that a wrong answer meets its smallest counter-example first; whatever fails there fails in the
general case as well. Those points help the reader, and a wrong answer would be rejected without them.
"""

from __future__ import annotations

SIMPLE = "a simple case comes before the general one, which catches the same with a larger counter-example"
GENERAL = "the general case: each of its faults also shows in a simpler one or in a further one"
CHANCE = "a wrong answer fails there alone on some numbers, and elsewhere too on others"
VIEW = "the same fault seen at another place, where its message says more plainly what is wrong"

SHARED: dict[str, dict[str, str]] = {}
