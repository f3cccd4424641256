"""Tags: the few signs after the ``@`` of an id that give a student numbers of their own."""

from __future__ import annotations

import hashlib
import hmac
import re
import unicodedata

from mha_teach.exercises.wording import say

# No vowel, so that chance spells no word; no 0, 1 and l, which are taken for others.
SIGNS = "23456789bcdfghjkmnpqrstvwxyz"
LENGTH = 6
_TAG = re.compile(f"[{SIGNS}]{{{LENGTH}}}")


def tag(student_id: str, secret: str = "") -> str:
    """The tag of a student: six signs of a keyed hash (HMAC-SHA256) of the id, which is read without case and outer blanks.

    Who has the ``secret`` can tell the student from the tag by trying all ids; without it nobody can. In a class
    of 300 two students share a tag, and so their numbers, in one class of ten thousand.
    """
    name = unicodedata.normalize("NFKC", str(student_id)).strip().casefold()
    if not name:
        raise ValueError(say("no student"))
    digest = hmac.new(secret.encode(), name.encode(), hashlib.sha256).digest()
    number, found = int.from_bytes(digest, "big"), ""
    for _ in range(LENGTH):
        number, place = divmod(number, len(SIGNS))
        found += SIGNS[place]
    return found


def is_tag(text: str) -> bool:
    """Whether ``text`` is written as tags are."""
    return _TAG.fullmatch(text) is not None


def check_tag(text: str) -> str:
    """``text`` itself, if it is written as tags are; else a ``ValueError`` that says how they are written."""
    if not is_tag(text):
        raise ValueError(say("bad tag", tag=text[:40], count=LENGTH, signs=SIGNS))
    return text
