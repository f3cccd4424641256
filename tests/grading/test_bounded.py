"""What a student's file or process sends costs the teacher's machine little time and memory, however it is made."""

import json
import time

import pytest
from submitting import notebook

from mha_teach.grading.child import wire
from mha_teach.grading.reading import CELLS, Cell, Notebook, parse
from mha_teach.grading.repair import _SETUP
from mha_teach.grading.submission import _LONGEST, match

BLANKS = {
    "an id with a long gap": "# exercise: a" + " " * _LONGEST + "b",
    "an id before a long gap": "# exercise: 00-mend" + " " * (_LONGEST - 40) + "@",
    "empty lines": "x = 1" + "\n" * _LONGEST,
    "blank lines": " \n" * (_LONGEST // 2),
}


@pytest.mark.parametrize("name", BLANKS)
def test_blanks_are_read_in_one_go(name):
    start = time.process_time()
    match(Notebook([Cell("code", BLANKS[name])] * 3), ("00",))
    _SETUP.search(BLANKS[name])
    assert time.process_time() - start < 2, "quadratic patterns take half an hour"


def test_a_gap_in_an_id_is_still_read():
    for line in (
        "# exercise: 00-mend  @ k7q2m9",
        "#exercise : 00-mend   and more",
        "# exercise: 00-mend ＠k7q2m9\t ",
    ):
        (answer,) = (a for a in match(parse(notebook([line + "\nx = 1"]))).answers if a.source)
        assert answer.exercise.base == "00-mend"
        assert answer.exercise.id.endswith("@k7q2m9") == ("k7q2m9" in line)


def test_cells_without_number():
    many = json.dumps({"cells": [{"source": "a"}] * (CELLS + 1)}).encode()
    assert parse(many).problem.kind == "too many cells"
    odd = match(parse(notebook([f"# exercise: 99-x{n}" for n in range(3000)])), ("00",))
    assert sum(note.kind == "unknown id" for note in odd.notes) < 20


@pytest.mark.parametrize(
    "tree",
    [
        ["t", "uint8", [2**31], 0, 1, {"stride": [0], "offset": 0}],
        ["t", "uint8", [2**20, 2**20, 0], 0, 0, {"stride": [2**39, 2**39, 1], "offset": 2**39}],
        ["l", [["t", "uint8", [2**20], 0, 2**20, {}]] * 5000],
        ["l", [["a", "|u1", [2**20], 0, 2**20]] * 5000],
        ["l", [["t", "uint8", [0], 0, 2**20, {"stride": [1], "offset": 0}]] * 5000],
        ["a", "i4," * 10**6, [1], 0, 4],
    ],
    ids=[
        "stride nought",
        "nothing of a great shape",
        "the same bytes",
        "the same bytes as arrays",
        "bytes unused",
        "a long dtype",
    ],
)
def test_a_short_message_makes_nothing_great(tree):
    import resource

    start, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        found = wire.unpack(tree, bytes(2**20), lambda other: other)
    except wire.Unfit:
        found = None
    assert found is None or found.numel() == 0
    assert time.process_time() - start < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 * 1024  # KB


def test_a_server_that_is_no_scheduler_is_told_in_a_line():
    import socket
    import threading

    from mha_teach.grading.cluster import ClusterError, connect

    def serve():
        line = server.accept()[0]
        line.sendall((2**60).to_bytes(8, "little") * 8)  # "an exabyte follows"
        line.recv(2**20)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        with pytest.raises(ClusterError, match="no scheduler answers"):
            connect(f"tcp://127.0.0.1:{server.getsockname()[1]}")
