"""Every sentence that grading says, in one table, so that another language is one more table."""

from __future__ import annotations

WORDS = {
    # a file or a whole notebook
    "too large": "It has {size:,} MB; files over {most} MB are not opened.",
    "large": "It has {size:,} MB, most of it probably output. It was graded all the same.",
    "too many parts": "It has millions of parts, so it is not opened.",
    "too many cells": "It has {count:,} cells; with more than {most:,} it is not opened.",
    "not a notebook": "It is no notebook: {why}.",
    "empty": "The file is empty.",
    "merge conflict": "It holds the marks of an unresolved merge (<<<<<<< and >>>>>>>). Please resolve it and hand it in again.",
    "merge conflict in cells": "Some cells hold the marks of an unresolved merge (<<<<<<< and >>>>>>>).",
    "old format": "It is written in notebook format {version}. It was read all the same.",
    "byte order mark": "It begins with a byte order mark, which notebooks do not have. It was read all the same.",
    "encoding": "It is not written in UTF-8 but in {encoding}. It was read all the same.",
    "windows line ends": "Its cells have the line ends of Windows. They were read as ordinary ones.",
    "wrong kernel": "It says that it is written for {language}. It was read as Python.",
    "another assignment": "It holds none of the exercises of {chapters}{others}.",
    "no exercises": "It holds no exercise of this book: no cell begins with a line such as # exercise: 00-attend.",
    "link": "It is a link to somewhere else, and links are not followed.",
    "can't be opened": "It can't be opened: {why}.",
    # zip files
    "bad zip": "The zip file can't be read: {why}.",
    "unsafe name": "The zip file holds the name {name}, which leads out of its folder. That entry was not read.",
    "zip too large": "The zip file unpacks to more than {most} MB, so the rest of it was not read.",
    "zip too long": "The zip file holds too many files, so of its notebooks only the first {count:,} were read.",
    "nothing inside": "It holds no notebook.",
    # one exercise's cell
    "missing": "No cell begins with the line # exercise: {id}.",
    "no id line": "The line # exercise: {id} is gone; the cell was recognised by what it defines.",
    "shared cell": "No cell begins with the line # exercise: {id}; what it asks for was found in the cell of another one.",
    "odd id": "The id is written {given!r}; it was read as {id}.",
    "several cells": "{count} cells begin with the line # exercise: {id}. The last one that was changed counts.",
    "no code cell": "It is a {was} cell. It was read as code.",
    "unknown id": "There is no exercise {id!r}.",
    # a student's own numbers
    "not on roster": "The roster does not know {student}.",
    "no tags": "No cell carries a student's tag, so everything was judged with the book's numbers, not with those of {student}.",
    "unknown tags": "The tag {tag}, which its cells carry, belongs to nobody on the roster. They were judged with its numbers.",
    "owner by tag": "The roster does not know {student}. The cells carry the tag of {owner}, and were judged with those numbers.",
    "other's notebook": "Its cells carry the tag of {owner}, not that of {student}. They were judged with the numbers of {owner}.",
    "tag gone": "The id has lost its tag; it was read as {id}@{tag}.",
    "odd tag": "The tag is written {given!r}; it was read as {tag}.",
    "no tag": "{given!r} is no tag, and no other cell tells which is meant; it was read as {id}, with the book's numbers. "
    "Please look at it yourself.",
    "other's tag": "This cell carries the tag of {owner}. It was judged with the numbers of {owner}.",
    "unknown tag": "The tag {given} belongs to nobody on the roster; it was read as {tag}.",
    "two tags": "This cell carries the tag {given}, most others carry {tag}. It was judged with the numbers of {given}.",
    # mha repair: what was done, what is left
    "repair byte order mark": "byte order mark taken off",
    "repair encoding": "written in UTF-8",
    "repair windows line ends": "ordinary line ends",
    "repair format": "format {version} made 4.5",
    "repair line": "first line of {id}",
    "repair aside": "another cell of {id} put aside",
    "repair code": "{id} is a code cell again",
    "repair check": "check cell of {id}",
    "repair setup": "setup cell",
    "repair ids": "{count} cell ids",
    "repair tags": "{count} tags",
    "repair kernel": "kernel for Python (was {language})",
    "repair marks": "The marks of an unresolved merge stand in cell {cells}: please choose what counts there.",
    "repair gone": "No cell answers {ids}.",
    "repair shared": "One cell answers {id} and {other}: please make two of it.",
    # what happened on the way
    "top level": "The cell's own lines were still running after {seconds:g} s, so they were ended. What they had defined counts.",
    "cell error": "The cell stopped with {error}. What it had defined before counts.",
    "undefined": "The cell does not define {names}.",
    "time up": "The code was still running after {seconds:g} s, so it was ended.",
    "ended": "{how}.",
    "judge": "The judge could not judge this answer ({error}). Please look at it yourself.",
    "late": "Canvas says that {file} came late. It was graded like any other.",
    "several files": "{count} files of this student hold this exercise. The best one counts.",
}


def say(key: str, **values: object) -> str:
    """The sentence ``key`` with its gaps filled."""
    return WORDS[key].format(**values)
