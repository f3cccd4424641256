"""Every sentence that a check can say, in one table, so that another language is one more table."""

from __future__ import annotations

WORDING = {
    "not attempted": "Not attempted yet. Change the cell above, run it, then run this cell again.",
    "right": "Right.",
    "wrong": "Not yet.",
    "error": "Your code stopped with an error.",
    "timeout": "Time is up: your code was still running after {seconds:g} s, so the check ended it. "
    "Is there a loop that never ends?",
    "open": "An open question: there is no score. Compare your notes with the hints.",
    "passed": "passed",
    "failed": "failed",
    "not run": "not run",
    "expected": "expected",
    "got": "got",
    "inputs": "inputs",
    "where": "where",
    "diagnosis": "This looks like: {name}. {words}",
    "hint": "Next hint: {hint}",
    "line": "line {number}: {source}",
    "printed": "It printed {count:,} characters, which are not shown here.",
    "changed": "It changes its argument {names}. Whoever calls it still needs that value: work on a copy.",
    "global": "It changes a setting of torch for everything that follows: {names}. The check has put it back.",
    "no limit": "No time limit holds here: this is not the main thread, or the system has no alarm clock.",
    "nothing": "returned nothing. Is there a `return`?",
    "generator": "returned a generator. Use `return` instead of `yield`.",
    "type": "is {got}, but {expected} was expected",
    "length": "has {got} parts, but {expected} were expected",
    "shape": "has shape {got}, but {expected} was expected",
    "dtype": "has dtype {got}, but {expected} was expected",
    "nan": "holds NaN where a number was expected",
    "value": "differs most at {index}",
    "number": "is another number",
    "choice": "is not the right choice",
    "answer": "the answer",
    "count": "This check takes {wanted} value(s) from the cell above: {names}. It got {got}.",
    "unknown": "There is no exercise {id!r}. Known here: {known}.",
    "bad tag": "{tag!r} is no student's tag: a tag has {count} signs out of {signs}, as in 05-count@k7q2m9. "
    "Copy the first line of the cell from the notebook that you were given.",
    "tagged": "{id} has a tag already, so it can't take {tag} too. Begin with {base}.",
    "no student": "A tag is made from a student's id, and this id is empty.",
    "expression": "{text!r} can't be read as a formula: {why}.",
    "name": "the name {name!r} has no meaning here, the names are {known}",
    "no names": "none",
    "part": "{part!r} is not allowed in a formula",
    "product": "{part!r} calls something that is no function; every product needs its *",
    "long": "it is longer than 500 characters",
    "complex": "its value is not a real number",
    "syntax": "a sign, a bracket or a name is out of place, and every product needs its *",
    "names": "The arguments of your function must be called {names}.",
    "pair": "It must return {count} things, {names}",
    "no pair": ", and it returned {got}.",
    "no gradient": "No gradient reaches the inputs: something on the way is detached, or made anew by "
    "torch.tensor, numpy or no_grad.",
    "at": "at",
    "meta": "without data",
    "sparse": "sparse",
    "odd tensor": "an unusual kind of tensor",
    "huge": "a number of more than 60 digits",
    "strange": "is {got}, which can't be compared",
}


def say(key: str, **values: object) -> str:
    """The sentence ``key`` with its gaps filled."""
    return WORDING[key].format(**values)
