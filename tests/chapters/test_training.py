"""The sweep against the plain loop, its independence of jobs and company, and its errors."""

from __future__ import annotations

import _thread
import contextlib
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass

import joblib
import psutil
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mha_teach.attention import attend
from mha_teach.tasks import FixedOffsets, KeyedLookups, NearestNeighbour, TwoNoisyLookups
from mha_teach.training import Config, forward, sweep
from mha_teach.training.lanes import attend_lanes
from mha_teach.training.loop import logged_steps, rate
from mha_teach.training.model import attend_matrices, initial, stacked
from mha_teach.training.plain import PlainModel, train_plain
from mha_teach.training.sweep import cost

CASES = [
    (TwoNoisyLookups(), {"num_heads": 1}),
    (TwoNoisyLookups(), {"num_heads": 16}),
    (TwoNoisyLookups(), {"num_heads": 3, "d_k": 7, "gain": 2.0, "scale": "1/d_k"}),
    (TwoNoisyLookups(), {"num_heads": 2, "mlp": True}),
    (KeyedLookups(), {"num_heads": 4, "layers": 2, "residual": True, "mlp": 37}),
    (NearestNeighbour(dim=23), {"num_heads": 8, "scale": "none"}),
    (FixedOffsets(offsets=(1, 4), values=7, length=11), {"num_heads": 2, "layers": 2, "residual": True}),
    (FixedOffsets(offsets=(1,), values=7, length=5, d_model=32), {"num_heads": 16, "d_model": 32}),
]


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([(1, 1), (2, 3), (3, 5)]), st.sampled_from([1, 2, 5, 13]), st.integers(0, 999))
def test_lanes_equal_attend_with_gradients(sizes, d_k, seed):
    (s, h), queries, keys, batch = sizes, 3, 7, 5
    source = torch.Generator().manual_seed(seed)
    q, k, v = (
        torch.randn(s, h, d_k, n, batch, generator=source, dtype=torch.float64).requires_grad_()
        for n in (queries, keys, keys)
    )
    slope = torch.randn(s, h, d_k, queries, batch, generator=source, dtype=torch.float64)
    got = []
    for core in (attend_lanes, attend_matrices):
        out, weights = core(q, k, v, 0.37)
        got.append((out, weights, *torch.autograd.grad(out, (q, k, v), slope)))
    for ours, theirs in zip(*got, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=1e-12)
    one, _ = attend(q[0, 0, :, :, 0].T, k[0, 0, :, :, 0].T, v[0, 0, :, :, 0].T, scale=0.37)
    torch.testing.assert_close(got[0][0][0, 0, :, :, 0], one.T)


@pytest.mark.parametrize(("task", "options"), CASES)
def test_forward_equals_an_ordinary_module(task, options):
    config, seeds = Config.of(options), [2, 5]
    data = next(task.batches(seeds, 1, 3))
    logits, seen = forward(
        stacked(config, task, seeds), config, data.items, data.queries, task.self_attention
    )
    for i, seed in enumerate(seeds):
        plain = PlainModel(config, task, seed)(data.items[i], data.queries[i])
        torch.testing.assert_close(logits[i], plain, atol=1e-5, rtol=1e-4)
    assert len(seen) == config.layers
    for weights in seen:
        assert weights.shape == (2, 3, config.num_heads, data.queries.shape[2], data.items.shape[2])
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))


@pytest.mark.parametrize(("task", "options"), CASES)
def test_sweep_equals_the_plain_loop(task, options):
    steps, seeds = 13, [2, 5]
    together = sweep(task, [options], seeds=seeds, steps=steps, batch=5)
    for i, seed in enumerate(seeds):
        model, score, losses = train_plain(task, Config.of(options), seed, steps=steps, batch=5)
        torch.testing.assert_close(
            together.losses[0, i], torch.tensor(losses)[together.logged], atol=1e-4, rtol=1e-4
        )
        torch.testing.assert_close(together.role_scores[0, i], score, atol=0.005, rtol=0)
        torch.testing.assert_close(
            together.parameters[0]["read"][i], model.read.weight.T.detach(), atol=1e-3, rtol=1e-3
        )


def test_a_wrong_seed_would_be_noticed():
    a, b = (sweep(TwoNoisyLookups(), [{}], seeds=[s], steps=13, batch=5).losses for s in (2, 5))
    assert (a - b).abs().max() > 1e-3


def test_the_result_depends_on_neither_jobs_nor_company():
    configs = [{"num_heads": h} for h in (1, 8, 16)]
    options = {"steps": 11, "batch": 5}
    all_of_them = sweep(TwoNoisyLookups(), configs, seeds=3, jobs=1, **options)
    for jobs in (2, 5):
        again = sweep(TwoNoisyLookups(), configs, seeds=3, jobs=jobs, **options)
        assert torch.equal(again.losses, all_of_them.losses)
        assert torch.equal(again.scores, all_of_them.scores)
    alone = sweep(TwoNoisyLookups(), configs[1:2], seeds=[2], jobs=1, **options)
    torch.testing.assert_close(alone.losses[0, 0], all_of_them.losses[1, 2], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(alone.scores[0, 0], all_of_them.scores[1, 2], atol=0.005, rtol=0)


def test_one_seed_that_blows_up_leaves_the_others_alone(monkeypatch):
    from mha_teach.training import loop

    def spoilt(config, task, seeds):
        models = stacked(config, task, seeds)
        if len(seeds) > 1:
            models["0.q"][1] = torch.nan
        return models

    whole = sweep(TwoNoisyLookups(), [{}], seeds=[4], steps=7, batch=5)
    monkeypatch.setattr(loop, "stacked", spoilt)
    mixed = sweep(TwoNoisyLookups(), [{}], seeds=[4, 5], steps=7, batch=5)
    assert mixed.losses[0, 1].isnan().all()
    torch.testing.assert_close(mixed.losses[0, 0], whole.losses[0, 0], atol=1e-5, rtol=1e-5)


def test_it_learns_what_it_should():
    """One role at one head is learnt; chapter 01's full numbers stand in its notebook."""
    learnt = sweep(TwoNoisyLookups(roles=1), [{"num_heads": 1}], seeds=2, steps=250)
    assert learnt.mean().item() > 0.9
    assert learnt.losses[0, :, -1].max() < 0.5 < learnt.losses[0, :, 0].min()
    assert (learnt.peaks[0, :, -1] > learnt.peaks[0, :, 0]).all()
    assert learnt.slopes.shape == learnt.losses.shape and (learnt.slopes > 0).all()


def test_scales():
    assert Config(num_heads=8).factor == 8**-0.5
    assert Config(num_heads=8, scale="1/sqrt(d_model)").factor == 64**-0.5
    assert Config(num_heads=8, scale="1/d_k").factor == 1 / 8
    assert Config(scale="none").factor == 1.0
    assert Config(scale=0.3).factor == 0.3
    assert Config(num_heads=8, d_k=32).width == 32


def test_gain_enlarges_queries_and_keys_only():
    once, twice = (initial(Config(gain=g), TwoNoisyLookups(), 3) for g in (1.0, 2.0))
    for name in once:
        factor = 2.0 if name in ("0.q", "0.k") else 1.0
        torch.testing.assert_close(twice[name], factor * once[name])


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"num_heads": 5}, ValueError, r"num_heads=5 does not divide d_model=64.*d_k=13"),
        ({"num_heads": 0}, ValueError, r"num_heads=0.*at least 1"),
        ({"d_k": 0}, ValueError, r"d_k=0.*at least 1"),
        ({"scale": "sqrt"}, ValueError, r"scale='sqrt'.*1/sqrt\(d_k\)"),
        ({"mlp": -3}, ValueError, r"mlp=-3.*≥ 1"),
        ({"heads": 2}, TypeError, r"unknown option 'heads'.*num_heads"),
        ({"d_model": 32, "residual": True}, ValueError, r"width 64.*d_model=32"),
    ],
)
def test_bad_configs(options, kind, message):
    with pytest.raises(kind, match=message):
        sweep(TwoNoisyLookups(), [options], seeds=1, steps=1)


@pytest.mark.parametrize("bad", [{"seeds": 0}, {"steps": 0}, {"batch": 0}])
def test_nothing_to_train(bad):
    with pytest.raises(ValueError, match=r"nothing to train: 1 configs"):
        sweep(TwoNoisyLookups(), [{}], **bad)


@dataclass(frozen=True)
class Broken(TwoNoisyLookups):
    """Raises in the fourth step."""

    problem: type[BaseException] = ValueError

    def batches(self, *args, **options):
        for step, batch in enumerate(super().batches(*args, **options)):
            if step == 3:
                raise self.problem("broken on purpose")
            yield batch


@dataclass(frozen=True)
class Unready(TwoNoisyLookups):
    """Its first stream breaks; every later one goes on for ever. ``mark`` is a path that says which came first."""

    mark: str = ""

    def batches(self, *args, **options):
        try:
            open(self.mark, "x").close()
        except FileExistsError:
            yield from super().batches(*args, **options)
        raise ValueError("broken on purpose")


def busy_seconds(wait: float = 1.0) -> float:
    """CPU seconds that this process's children use while we wait."""

    def used() -> dict[int, float]:
        found = {}
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                found[child.pid] = sum(child.cpu_times()[:2])
        return found

    before = used()
    time.sleep(wait)
    return sum(now - before.get(pid, now) for pid, now in used().items())


def test_a_child_that_works_on_would_be_noticed():
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        seen, until = 0.0, time.monotonic() + 20  # a crowded machine gives it little
        while seen <= 0.5 and time.monotonic() < until:
            seen += busy_seconds(1.0)
        assert seen > 0.5
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt])
def test_an_error_or_ctrl_c_ends_it_and_restores_the_threads(problem):
    before = torch.get_num_threads()
    with pytest.raises(problem, match="on purpose"):
        sweep(Broken(problem=problem), [{}, {"num_heads": 2}], seeds=1, steps=100_000, batch=2, jobs=1)
    assert torch.get_num_threads() == before


def test_an_error_in_one_process_stops_the_others(tmp_path):
    task = Unready(mark=str(tmp_path / "first"))
    with pytest.raises(ValueError, match="on purpose"):
        sweep(task, [{}, {"num_heads": 2}], seeds=1, steps=20_000, batch=2, jobs=2)
    assert busy_seconds() < 0.5


@pytest.fixture
def keyboard():
    """Ctrl-C raises KeyboardInterrupt, also in a worker of pytest-xdist, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("keyboard")
def test_ctrl_c_at_the_keyboard_stops_the_processes():
    sweep(TwoNoisyLookups(), [{}, {"num_heads": 2}], seeds=1, steps=1, batch=2, jobs=2)  # they are there now
    timer = threading.Timer(1.0, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        sweep(TwoNoisyLookups(), [{}, {"num_heads": 2}], seeds=1, steps=20_000, batch=2, jobs=2)
    timer.join()
    assert busy_seconds() < 0.5


def test_where_no_process_starts_it_runs_here_and_says_so(monkeypatch):
    def refuse(*args, **options):
        raise OSError("no more processes")

    configs, options = [{}, {"num_heads": 2}], {"seeds": 1, "steps": 5, "batch": 3}
    expected = sweep(TwoNoisyLookups(), configs, jobs=1, **options)
    monkeypatch.setattr(joblib, "Parallel", refuse)
    with pytest.warns(UserWarning, match="no more processes.*here instead"):
        again = sweep(TwoNoisyLookups(), configs, jobs=2, **options)
    assert torch.equal(again.losses, expected.losses)


def test_the_longest_config_starts_first():
    costs = [cost(Config.of(c)) for c in ({"num_heads": 1}, {"num_heads": 64}, {"layers": 3}, {"mlp": True})]
    assert costs[0] < costs[1] < costs[2] and costs[0] < costs[3]


def test_schedule_and_log():
    assert [rate(s, 10, 1.0) for s in (0, 7)] == [1.0, 1.0]
    assert rate(8, 10, 1.0) == pytest.approx(2 / 3)
    assert rate(10, 10, 1.0) == 0.0
    assert logged_steps(7) == list(range(7))
    logged = logged_steps(800)
    assert logged[0] == 0 and logged[-1] == 799 and 40 <= len(logged) <= 42


def test_table_and_access():
    done = sweep(TwoNoisyLookups(), [{"num_heads": 1}, {"num_heads": 16}], seeds=3, steps=2, batch=2)
    assert done.scores.shape == (2, 3) and done.losses.shape == (2, 3, 2)
    torch.testing.assert_close(done.std(), done.scores.std(1))
    text = repr(done).splitlines()
    assert text[0].split() == ["num_heads", "d_k", "score", "lowest…highest"]
    assert text[2].split()[:2] == ["16", "4"] and "±" in text[2]
    assert text[-1] == "3 seeds, 2 steps each"
    assert done._repr_html_().count("<tr>") == 3 and "<caption>3 seeds" in done._repr_html_()
    config, parameters = done.model(1, seed=2)
    data = next(done.task.batches([2], 1, 3, "test"))
    logits, _ = forward(parameters, config, data.items, data.queries)
    assert logits.shape == (1, 3, 4, 32)
    assert torch.equal(done.model(1, 0)[1]["read"][0], done.parameters[1]["read"][0])
    one = sweep(TwoNoisyLookups(), [{}], seeds=[7], steps=1, batch=2)
    assert one.std().tolist() == [0.0]
