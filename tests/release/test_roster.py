"""Rosters as spreadsheets and Canvas save them, and as they go wrong; file names that are safe."""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePosixPath, PureWindowsPath

import pytest
from classes import ROSTER
from hypothesis import given
from hypothesis import strategies as st

from mha_teach import exercises
from mha_teach.release import ReleaseError
from mha_teach.release.roster import LARGEST, parse_roster, read_roster, safe

CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section\r\n"
    "    Points Possible,,,,\r\n"
    '"Lovelace, Ada",1234,,ada,1\r\n'
    '"Student, Test",1235,,,1\r\n'
)


def people(text: str | bytes) -> list[tuple[str, str, int]]:
    data = text if isinstance(text, bytes) else text.encode()
    return [(one.id, one.name, one.line) for one in parse_roster(data)]


def test_semicolons_windows_line_ends_empty_lines():
    assert people(ROSTER) == [("ada", "Lovelace, Ada", 2), ("../../bø", "Bø", 4)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_as_many_programs_save_it(encoding, end, mark):
    table = end.join([f"ID{mark}Name", f"s1{mark}Žofie", "", f"s2{mark}", ""])
    assert people(table.encode(encoding)) == [("s1", "Žofie", 2), ("s2", "", 4)]


def test_the_line_that_tells_a_spreadsheet_the_separator():
    assert people("sep=;\nid;name\na;b,c\n") == [("a", "b,c", 3)]


def test_canvas_exports():
    assert people(CANVAS) == [("1234", "Lovelace, Ada", 3), ("1235", "Student, Test", 4)]
    assert [one.login for one in parse_roster(CANVAS.encode())] == ["ada", ""]
    assert people("Student;SIS Login ID\nAda;ada1\n") == [("ada1", "Ada", 2)]


def test_canvas_line_of_posting_policies_is_no_student():
    export = (
        "Student,ID,SIS User ID,SIS Login ID,Section,Week 3 (8812),Final Score\n"
        ",,,,,Manual Posting,\n    Points Possible,,,,,13.00,(read only)\n"
        '"Yu, Berta",4712,9002,byu,"Attention, Sec 1",,\n'
    )
    assert [(one.id, one.name, one.login, one.canvas) for one in parse_roster(export.encode())] == [
        ("4712", "Yu, Berta", "byu", "4712")
    ]
    assert parse_roster(b"id,name\n4712,Berta\n")[0].canvas == ""  # another table's numbers are its own
    with pytest.raises(ReleaseError, match="line 2: nothing in the column id"):
        parse_roster(export.replace(",,,,,Manual", "No One,,,,,Manual").encode())


def test_names_alone_will_do():
    assert people(" Student \nAda  Lovelace\n") == [("Ada Lovelace", "", 2)]


def test_a_field_over_two_lines_leaves_the_next_line_its_number():
    assert people('id,name\na,"x\ny"\nb,z\n') == [("a", "x y", 2), ("b", "z", 4)]


def test_the_same_student_in_two_spellings_of_one_letter_is_one():
    assert people(unicodedata.normalize("NFD", "id\nZoë\n")) == people("id\nZoë\n")


def test_the_tag_comes_from_the_id_alone():
    first, second = parse_roster(b"id,name\nada,Ada\nbo,Bo\n"), parse_roster(b"name;id\nA. L.;ada\n")
    assert first[0].tag == second[0].tag == exercises.tag("ada")
    assert first[0].tag != first[1].tag


WRONG = {
    "": "is empty: its first line names the columns",
    "\n \n": "is empty: its first line names the columns",
    "id,name\n\n": "holds no student: put one on each line below the first",
    "\nnom,prénom\na,b\n": r"line 2: no column id, SIS Login ID or student \(found: nom, prénom\): name the column",
    "id,name\na,b\n,c\n": "line 3: nothing in the column id: give each student one",
    "id,name\na,b\n\nc,d\nA,e\n": "line 5: A is on line 2 already: each student stands on one line",
    "id\na\n\uff41\n": "line 3: \uff41 is on line 2 already",
    "id,name\na,Lovelace, Ada\n": "line 2: 3 fields under 2 titles: put quotes round a name",
    "id,name\na\x07b,c\n": "line 2: the id holds a sign that can't be seen: type it again",
    "id,name\na\u202eb,c\n": "line 2: the id holds a sign that can't be seen",
    "id;name\n1,23E+11;c\n": r"line 2: 1,23E\+11 is a number that the spreadsheet has shortened: make the column text",
    "id\n" + 101 * "a": "line 2: the id has 101 signs",
    "id,name\n,a\n,b\n,c\n": r"line 2: nothing .* \(and 2 more such lines\)",
    'id\n"a' + "b" * 140_000: "line 2: field larger than field limit .*: mend the line",
    b"PK\x03\x04....": "is a spreadsheet's own file: save it as CSV UTF-8",
    b"id,name\na,b\nc,J\xf6rg\n": "line 3: not UTF-8, names would be garbled: save it as CSV UTF-8",
    b" " * (LARGEST + 1): "is larger than 8 MB: is it the roster",
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: repr(text)[:30])
def test_what_is_wrong_is_told_with_its_line_and_the_cure(text, tmp_path):
    path = tmp_path / "roster.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ReleaseError, match=f"^roster.csv,? {WRONG[text]}") as caught:
        read_roster(path)
    assert "\n" not in str(caught.value)


def test_a_roster_that_is_not_there(tmp_path):
    with pytest.raises(ReleaseError, match="no such file or directory: give a table"):
        read_roster(tmp_path / "roster.csv")
    with pytest.raises(ReleaseError, match="is a directory: give a table"):
        read_roster(tmp_path)


@pytest.mark.parametrize("id", ["ada", "s123456", "Žofie", "a.b", "a-b_c", "李雷"])
def test_an_ordinary_id_is_its_own_file_name(id):
    assert safe(id) == id


SLY = [
    "../../etc/passwd",
    "..",
    ".",
    "",
    "/",
    "a/b",
    "a\\b",
    "C:\\x",
    ".hidden",
    "CON",
    "nul.txt",
    "com1",
    "a b",
    "a:b",
    "x\0y",
]
SLY += ["a" * 300, "𐐷" * 90, "-rf", "<b>", "a.", "a ", "\u202etxt", "e\u0301", "~", "$(x)", "a\nb", "com¹"]


@pytest.mark.parametrize("id", SLY)
def test_any_other_is_made_one_that_is_safe(id):
    check(safe(id))
    assert safe(id) != id


def check(name: str) -> None:
    assert re.fullmatch(r"\w[\w.-]*\w|\w", name)
    assert len(f"{name}-SOLUTIONS.zip".encode()) < 256
    assert ".." not in name
    assert PurePosixPath(name).name == PureWindowsPath(name).name == name
    assert not PureWindowsPath(name).is_reserved()


@given(st.text(max_size=90), st.text(max_size=90))
def test_names_are_safe_and_two_ids_never_share_one(one, other):
    check(safe(one))
    assert (safe(one) == safe(other)) == (one == other)


def test_ids_that_look_alike_once_made_safe_stay_apart():
    assert len({safe(id) for id in ("a/b", "a_b", "a:b", "a b", "a\\b")}) == 5
