"""A class on a Dask cluster: a real scheduler and workers over TCP, one of them killed; and what is said when it can't be."""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import cloudpickle
import pytest
from submitting import LIMITS, RIGHT, notebook
from test_gradebook import made, rows

from mha_teach.cli import main
from mha_teach.grading import batch, cluster, seat
from mha_teach.grading.batch import Plan, grade_all, waiting
from mha_teach.grading.cluster import ClusterError
from mha_teach.grading.gradebook import Gradebook, from_plain, to_plain
from mha_teach.grading.sandbox import Limits, bubblewrap


class Cluster:
    """A scheduler and two workers, each a process of its own on this machine."""

    def __init__(self, folder: Path) -> None:
        self.place = folder / "scheduler.json"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
        quiet["env"] = {**os.environ, "OMP_NUM_THREADS": "1"}
        begin = [sys.executable, "-m", "dask"]
        options = ["--no-dashboard", "--scheduler-file", str(self.place)]
        here = ["--host", "127.0.0.1", "--port", "0"]
        self.scheduler = subprocess.Popen([*begin, "scheduler", *here, *options], **quiet)
        one = ["worker", "--no-nanny", "--nthreads", "1", "--host", "127.0.0.1", *options]
        self.workers = [
            subprocess.Popen([*begin, *one, "--local-directory", str(folder / name)], **quiet)
            for name in "ab"
        ]

    @property
    def address(self) -> str:
        last = time.monotonic() + 60
        while time.monotonic() < last:
            if self.place.exists() and (text := self.place.read_text()).endswith("}"):
                return json.loads(text)["address"]
            time.sleep(0.05)
        raise TimeoutError("no scheduler")

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def two_workers(tmp_path) -> Iterator[Cluster]:
    (folder := tmp_path / "cluster").mkdir()
    made = Cluster(folder)
    try:
        with cluster.connect(made.address) as client:
            client.wait_for_workers(2, timeout=60)
        yield made
    finally:
        made.close()


def test_a_worker_killed_in_the_middle_loses_nothing_and_doubles_nothing(tmp_path, two_workers):
    folder = tmp_path / "class"
    folder.mkdir()
    wrong = RIGHT["00-mend"].replace("softmax(1)", "softmax(0)")
    for number in range(6):
        mend = wrong if number % 2 else RIGHT["00-mend"]
        (folder / f"s{number}.ipynb").write_bytes(
            notebook({"00-by-hand": RIGHT["00-by-hand"], "00-mend": mend})
        )
    (folder / "broken.ipynb").write_bytes(b"{")
    (folder / "linked.ipynb").symlink_to(folder / "s0.ipynb")
    plan = Plan(limits=LIMITS)
    for name in ("whole.db", "killed.db"):
        with Gradebook(tmp_path / name) as book:
            book.setting("seed", "31")
    with Gradebook(tmp_path / "whole.db") as book:
        expected = grade_all(waiting(folder, book)[0], book, plan, lambda attempt: None)
    told = []

    def step(attempt):
        told.append(attempt.file)
        if len(told) == 3:
            two_workers.workers[0].send_signal(signal.SIGKILL)

    with Gradebook(tmp_path / "killed.db") as book:
        there = replace(plan, scheduler=two_workers.address)
        assert grade_all(waiting(folder, book)[0], book, there, step) == expected
    assert two_workers.workers[0].wait(5) == -signal.SIGKILL
    assert sorted(told) == ["broken.ipynb", "linked.ipynb", *(f"s{n}.ipynb" for n in range(6))]
    assert rows(tmp_path / "killed.db") == rows(tmp_path / "whole.db")


class Client:
    """A cluster as its client sees it: one scheduler, one worker, and what they say of themselves."""

    def __init__(self, scheduler: dict = {}, worker: dict = {}, about: object = None, workers: int = 1):  # noqa: B006
        ours = {"python": "3.11.7.final.0", "distributed": "2026.8.0", "cloudpickle": "3.1.3", "numpy": "2"}
        self._versions = {
            "client": {"packages": ours},
            "scheduler": {"packages": {**ours, **scheduler}},
            "workers": {"tcp://w:1": {"packages": {**ours, **worker}}},
        }
        self._about = seat.about() | about if isinstance(about, dict) else about or seat.about()
        self._workers = workers
        self.scheduler = type("Scheduler", (), {"address": "tcp://s:8786"})

    def nthreads(self) -> dict:
        return {"tcp://w:1": 1} if self._workers else {}

    def get_versions(self, check: bool) -> dict:
        return self._versions

    def run(self, function: object, on_error: str) -> dict:
        return {"tcp://w:1": self._about}


@pytest.mark.parametrize(
    ("client", "said"),
    [
        (Client(workers=0), "the scheduler has no worker: start some with `dask worker tcp://s:8786`"),
        (Client(scheduler={"python": "3.12.1.final.0"}), "the scheduler has Python 3.12, this machine 3.11"),
        (
            Client(worker={"distributed": "2025.1.0"}),
            "the worker tcp://w:1 has distributed 2025.1.0, this machine",
        ),
        (Client(about={"torch": "2.4.0"}), "the worker tcp://w:1 has torch 2.4.0, this machine"),
        (Client(about={"mha_teach": "0.1.0+00000000"}), "has mha_teach 0.1.0+00000000, this machine 0.1.0+"),
        (
            Client(about={"missing": "ModuleNotFoundError: No module named 'mha_teach'"}),
            "can't grade (ModuleNotFoundError: No module named 'mha_teach'): pip install",
        ),
        (Client(about=OSError("gone")), "the worker tcp://w:1 can't grade (OSError: gone): pip install"),
    ],
)
def test_what_does_not_fit_is_one_line_that_says_the_cure(client, said):
    with pytest.raises(ClusterError) as caught:
        cluster.inspect(client, Plan())
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert any(cure in str(caught.value) for cure in ("start some", "start that"))


def test_workers_without_bubblewrap_are_named_unless_that_was_asked_for():
    assert (
        cluster.inspect(Client(worker={"python": "3.11.9.final.0"}, about={"bubblewrap": True}), Plan()) == []
    )
    without = Client(about={"bubblewrap": False})
    assert cluster.inspect(without, Plan()) == ["tcp://w:1"]
    assert cluster.inspect(without, Plan(wrap=False)) == []


@pytest.mark.parametrize("function", [cluster._looking, cluster._judging, cluster._leaving])
def test_what_is_sent_can_be_read_without_this_package(function):
    code = (
        "import sys, pickle\nsys.modules['mha_teach'] = None\nf = pickle.loads(sys.stdin.buffer.read())\n"
        "try: print(f())\nexcept (ImportError, TypeError) as error: print(type(error).__name__)"
    )
    sent = cloudpickle.dumps(function())
    done = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.split()[0] in (b"{'missing':", b"TypeError", b"ModuleNotFoundError")
    with pytest.raises((pickle.PicklingError, AttributeError)):  # so it must travel by value
        pickle.dumps(function())


def test_a_scheduler_that_does_not_answer_is_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cluster, "ANSWERS", 0.3)
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "a.ipynb").write_bytes(notebook(RIGHT))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        for given, said in (
            (address, f"no scheduler answers at {address}"),
            (
                "localhost:8786",
                "'localhost:8786' is no address of a scheduler: write --scheduler tcp://HOST:PORT",
            ),
        ):
            assert main(["grade", str(tmp_path / "class"), "--scheduler", given]) == 2
            lines = capsys.readouterr().err.splitlines()
            assert [line for line in lines if line.startswith("mha:") and said in line], lines
            assert not any("Traceback" in line for line in lines)


def test_an_attempt_survives_as_plain_data():
    attempt = made("anna")
    assert from_plain(json.loads(json.dumps(to_plain(attempt)))) == attempt
    with pytest.raises((TypeError, KeyError)):
        from_plain({"student": "anna"})


def test_dask_is_loaded_only_when_it_is_asked_for():
    code = "import sys, mha_teach.cli, mha_teach.grading.command; assert not {'dask', 'distributed'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("sandbox", ["wrapped" if bubblewrap() else "limited"], indirect=True)
def test_a_seat_gives_the_same_attempt_and_ends_with_who_asks(sandbox):
    wrap = sandbox.wrapped
    data, told = (
        notebook({"00-mend": RIGHT["00-mend"]}),
        {"student": "anna", "file": "a", "digest": "d", "canvas": ""},
    )
    options = {"chapters": [], "limits": vars(Limits(seconds=3.0)), "wrap": wrap, "seed": 31, "roster": []}
    one = seat.Seat(json.dumps(options))
    reply = one.ask(told, data)
    assert from_plain(reply["attempt"]) == batch.grade_data(told, data, Plan(), 31, sandbox)
    assert reply["missing"] == list(sandbox.missing)
    one._process.stdin.close()
    assert one._process.wait(10) == 0
