"""The same work on a Dask cluster: submissions go out as bytes, attempts come back as plain data, the gradebook stays here.

A submission whose worker dies is sent to another; each is recorded once, since only this process records. Imported only
for ``mha grade --scheduler``: Dask takes seconds to load.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from dataclasses import asdict

import distributed
from distributed.scheduler import KilledWorker

from mha_teach.grading import seat
from mha_teach.grading.batch import Plan, grade_data, told
from mha_teach.grading.collect import digest as digest_of
from mha_teach.grading.gradebook import Attempt, from_plain
from mha_teach.grading.members import known, plain
from mha_teach.grading.reading import Note
from mha_teach.grading.sandbox import LOST

ANSWERS = 10  # seconds in which a scheduler has to answer
ALONE = 30  # seconds without any worker
TRIES = 3
LINE = "pip install -c constraints.txt dask[distributed] and the same mha_teach"


class ClusterError(RuntimeError):
    """The cluster can't do it; the text is one line and names the cure."""


def spread(work: list, plan: Plan, seed: int) -> Iterator[tuple[Attempt, tuple[str, ...]]]:
    """Each attempt as it comes, with the protections that were missing where it was judged."""
    for name in ("distributed", "distributed.client"):  # how a run ends is said in one line below
        logging.getLogger(name).setLevel(logging.CRITICAL)
    fresh = "\r\x1b[K" if sys.stderr.isatty() else ""  # not behind the bar
    with connect(plan.scheduler) as client:
        lacking = inspect(client, plan)
        for worker in lacking:
            said = f"WARNING: on the worker {worker} bubblewrap is missing: {LOST['bubblewrap']}."
            print(fresh + said, file=sys.stderr)
        yield from Run(client, plan, seed).attempts(work)


def connect(address: str) -> distributed.Client:
    """A line to the scheduler, or one sentence that says why there is none."""
    if not re.fullmatch(r"(tcp|tls)://[^\s/]+:\d{1,5}", address):
        raise ClusterError(f"{address!r} is no address of a scheduler: write --scheduler tcp://HOST:PORT")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return distributed.Client(address, timeout=ANSWERS)
    except (OSError, ValueError, RuntimeError, MemoryError) as error:
        raise ClusterError(
            f"no scheduler answers at {address} ({_short(error)}): start one there with `dask scheduler --port "
            f"{address.rsplit(':', 1)[1]}`, or grade on this machine, without --scheduler"
        ) from None


def inspect(client: distributed.Client, plan: Plan) -> list[str]:
    """The workers without bubblewrap. Raises :class:`ClusterError` where a worker could not judge as this machine does."""
    if not client.nthreads():
        raise ClusterError(
            f"the scheduler has no worker: start some with `dask worker {client.scheduler.address}` on each machine"
        )
    versions = client.get_versions(check=False)
    everyone = {"the scheduler": versions["scheduler"], **_named(versions["workers"])}
    for place, found in everyone.items():  # before anything is sent that only the same Python can read
        theirs = found["packages"] if found else {}
        for package, ours in versions["client"]["packages"].items():
            if package in ("python", "distributed", "cloudpickle"):
                _same(place, package, _minor(package, ours), _minor(package, theirs.get(package)))
    ours, without = seat.about(), []
    for place, theirs in _named(client.run(_looking(), on_error="return")).items():
        if isinstance(theirs, BaseException) or "missing" in theirs:
            why = theirs["missing"] if isinstance(theirs, dict) else _short(theirs)
            raise ClusterError(f"{place} can't grade ({why}): {LINE} there, then start that worker again")
        for what in ("torch", "mha_teach"):
            _same(place, what, ours[what], theirs[what])
        if plan.wrap is not False and not theirs["bubblewrap"]:
            without.append(place.removeprefix("the worker "))
    return without


def _named(workers: dict) -> dict:
    return {f"the worker {address}": found for address, found in sorted(workers.items())}


def _minor(package: str, found: str | None) -> str:
    return ".".join(str(found).split(".")[:2]) if package == "python" else str(found)


def _same(place: str, what: str, ours: str, theirs: str) -> None:
    if ours != theirs:
        raise ClusterError(
            f"{place} has {'Python' if what == 'python' else what} {theirs}, this machine {ours}: {LINE} on both, then "
            "start that process again"
        )


def _looking() -> Callable[[], dict]:
    """A function that travels whole, so that it also runs where there is no mha_teach."""

    def look() -> dict:
        try:
            from mha_teach.grading import seat
        except ImportError as error:
            return {"missing": f"{type(error).__name__}: {error}"}
        return seat.about()

    return look


def _judging() -> Callable[[str, dict, bytes], dict]:
    """As above: the scheduler reads it too, and need not have mha_teach."""

    def judge(options: str, told: dict, data: bytes) -> dict:
        from mha_teach.grading import seat

        return seat.judge(options, told, data)

    return judge


def _leaving() -> Callable[[], None]:
    def leave() -> None:
        from mha_teach.grading import seat

        seat.leave()

    return leave


class Run:
    """One class on one cluster."""

    def __init__(self, client: distributed.Client, plan: Plan, seed: int) -> None:
        self._client, self._plan, self._seed = client, plan, seed
        self._judge = _judging()
        self._flying: dict[distributed.Future, tuple] = {}
        self._tries: dict[tuple, int] = {}
        self._lost: list[str] = []
        self._alone = 0.0  # since when there has been no worker
        options = {"chapters": plan.chapters, "limits": asdict(plan.limits), "wrap": plan.wrap, "seed": seed}
        self._options = json.dumps(options | {"roster": plain(known(plan.roster))})

    def attempts(self, work: list) -> Iterator[tuple[Attempt, tuple[str, ...]]]:
        """Keep every worker busy, with little more on its way than they can take: files may be large."""
        left = list(reversed(work))
        try:
            while left or self._flying:
                threads = sum(self._client.nthreads().values())
                while left and len(self._flying) < 2 * max(threads, 1):
                    entry, digest = left.pop()
                    data = entry.data()
                    if isinstance(data, Note):  # nothing to send
                        yield grade_data(told(entry, digest_of(data)), data, self._plan, self._seed, None), ()
                    else:
                        self._send(entry, digest, data)
                for future in self._finished():
                    entry, digest = self._flying.pop(future)
                    reply = self._reply(future)
                    if "attempt" in reply:
                        yield from_plain(reply["attempt"]), tuple(n for n in reply["missing"] if n in LOST)
                    else:
                        self._again(entry, digest, reply["problem"])
        except (CancelledError, distributed.comm.CommClosedError, OSError):
            raise self._gone() from None
        finally:
            self._stop()
        if self._lost:
            raise ClusterError(
                f"{len(self._lost)} of {len(work)} files could not be graded, all others are: {self._lost[0]} "
                "Run the same command again."
            )

    def _send(self, entry: object, digest: str, data: bytes) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a submission is large
            future = self._client.submit(
                self._judge, self._options, told(entry, digest_of(data)), data, pure=False
            )
        self._flying[future] = entry, digest

    def _finished(self) -> list[distributed.Future]:
        try:
            return list(distributed.wait(list(self._flying), timeout=2, return_when="FIRST_COMPLETED").done)
        except TimeoutError:
            if self._client.status != "running":
                raise self._gone() from None
            self._alone = 0.0 if self._client.nthreads() else self._alone or time.monotonic()
            if self._alone and time.monotonic() - self._alone > ALONE:
                raise ClusterError(
                    f"no worker is left at {self._plan.scheduler}. What is graded is kept: start workers, then run "
                    "the same command again"
                ) from None
            return []

    def _reply(self, future: distributed.Future) -> dict:
        try:
            return future.result()
        except KilledWorker:
            return {"problem": "The workers that judged it ended, one after another."}
        except (CancelledError, distributed.comm.CommClosedError):
            raise
        except Exception as error:  # noqa: BLE001  whatever a broken worker raises
            return {"problem": f"A worker failed ({_short(error)})."}

    def _again(self, entry: object, digest: str, problem: str) -> None:
        tries = self._tries[entry.name, digest] = self._tries.get((entry.name, digest), 0) + 1
        data = entry.data()
        if tries < TRIES and isinstance(data, bytes):
            self._send(entry, digest, data)
        else:
            self._lost.append(f"{entry.name}: {problem}")

    def _gone(self) -> ClusterError:
        return ClusterError(
            f"the scheduler at {self._plan.scheduler} is gone. What is graded is kept: start it again with its workers, "
            "then run the same command again"
        )

    def _stop(self) -> None:
        """Leave nothing on the cluster that nobody waits for."""
        try:
            if self._flying:
                self._client.cancel(list(self._flying))
            self._client.run(_leaving(), on_error="ignore")
        except Exception:  # noqa: BLE001, S110  the cluster may be gone; its seats end by themselves
            pass


def _short(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:160].rstrip(".:")
