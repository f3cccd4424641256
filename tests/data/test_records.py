"""The recorded tables: measured again on a few sentences, their scores checked by hand, and what they must admit."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
import torch

from mha_teach.data import Encoded, by_word, measured, relations, sentences
from mha_teach.specialisation import role_score, role_targets

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def script(name: str):
    """A benchmark's functions, without running it."""
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rows():
    return measured("heads")["rows"]


def test_role_scores_by_hand():
    """Two heads on "a , a" between [CLS] and [SEP]: one looks at the token before, one spreads evenly."""
    tokens = ["[CLS]", "a", ",", "a", "[SEP]"]
    back = torch.eye(5).roll(-1, 1)  # row i looks at i − 1
    back[0] = torch.tensor([1.0, 0, 0, 0, 0])
    maps = torch.stack([back, torch.full((5, 5), 0.2)])[None, None]  # (sentence, layer, head, query, key)
    ids, mask = torch.tensor([[101, 7, 9, 7, 102]]), torch.ones(1, 5, dtype=torch.bool)
    found = script("measure_heads").role_scores(Encoded([tokens], ids, mask, torch.zeros(1, 2, 5, 3), maps))
    wanted = {  # back, even, and the even control that role_scores adds
        "previous token": [1.0, 0.2, 0.2],
        "next token": [0.0, 0.2, 0.2],
        "[CLS] sink": [0.25, 0.2, 0.2],  # one of the four others
        "[SEP] sink": [0.0, 0.2, 0.2],
        "punctuation": [0.25, 0.2, 0.2],  # of four queries that aren't the comma, the one behind it
        "same token": [0.0, 0.2, 0.2],
        "broad": [0.0, 1.0, 1.0],
    }
    assert set(found) == set(wanted)
    for name, scores in wanted.items():
        torch.testing.assert_close(found[name][0], torch.tensor(scores), atol=1e-6, rtol=0.0, msg=name)


def test_the_record_is_what_a_few_sentences_give_again(rows, minilm):
    encoded = minilm(sentences(40, seed=5))
    targets = role_targets(encoded.ids, encoded.mask)
    for role, name in (("previous token", "previous"), ("next token", "next"), ("[CLS] sink", "first")):
        again = role_score(encoded.attention.flatten(1, 2), targets[name]).nanmean(0).view(6, 12)
        torch.testing.assert_close(again, torch.tensor(rows["roles"][role]["all means"]), atol=0.06, rtol=0.0)


def test_the_best_head_is_the_best(rows):
    for row in rows["roles"].values():
        layer, head = row["head"]
        means = torch.tensor(row["all means"])
        assert row["mean"] == pytest.approx(means.max().item(), abs=1e-4)
        assert row["mean"] == pytest.approx(means[layer, head].item(), abs=1e-4)
        assert row["mean of 72"] == pytest.approx(means.mean().item(), abs=1e-3)
        assert all(len(row[f"{control}: best of 72"]) >= 5 for control in ("shuffled", "random", "permuted"))


def test_a_dependency_head_measured_again_by_hand(rows, minilm):
    """The chosen head for objects on the first 60 sentences, without the script."""
    row = rows["dependencies"]["object, dependent → governor"]
    layer, head = row["head"]
    right = []
    for sentence in sentences(60):
        encoded = minilm([sentence])
        maps = by_word(encoded.attention[0, layer, head], encoded.tokens[0])
        for noun, verb in relations()["object"].get(sentence, ()):
            others = maps[noun].clone()
            others[noun] = -1.0
            right.append(int(others.argmax()) == verb)
    assert sum(right) / len(right) == pytest.approx(row["held out"], abs=0.12)
    assert row["gain interval"][0] > 0


def test_claims_that_fail_their_control_stay_in_the_record(rows):
    subject = rows["dependencies"]["subject, dependent → governor"]
    assert subject["held out"] > 0.7, "it looks like a subject head"
    assert subject["gain interval"][0] <= 0 <= subject["gain interval"][1], (
        "and is no better than the next word"
    )
    assert subject["where the offset misses"][1] < 0.25, "where the verb is elsewhere it is lost"
    found = rows["dependencies"]["object, dependent → governor"]
    assert found["where the offset misses"][1] > 0.7, "unlike the head that finds an object's verb"
    together, others = rows["ablation"]["role heads together"][0], rows["ablation"]["as many others"]
    assert together < sorted(others)[len(others) // 2], "clear maps are not what the embedding rests on"
    broad = rows["roles"]["broad"]
    assert broad["mean"] > 0.85, "it looks like a head with a broad view"
    assert min(broad["random: mean of 72"]) > broad["mean"], "and every untrained head is broader"
    assert min(rows["cosine"]["random"]) > rows["cosine"]["minilm"], (
        "untrained heads are more alike than trained ones"
    )


def test_knowing_the_period_is_no_induction():
    """A model that always saw one period looks like induction there, and fails on other periods."""
    row = measured("induction")["rows"]["small model"]
    for same, other in zip(row["one period, same period"], row["one period, other periods"], strict=True):
        assert max(max(scores) for scores in same["induction"]) > 0.5
        assert max(max(scores) for scores in other["induction"]) < 0.5
        assert same["loss"] < 0.5
        assert other["loss"] > 4
    for trained in row["trained"]:
        assert trained["loss"] < 0.1
        assert max(trained["loss without a layer"]) > 4


def test_the_best_induction_heads_of_a_real_model_weigh_more_than_others():
    row = measured("induction")["rows"]["SmolLM2-135M"]
    for size, (second, _) in row["without the best"].items():
        draws = [again for again, _ in row["without others"][size]]
        assert len(draws) >= 10
        assert second > sorted(draws)[len(draws) // 2]


def test_the_first_half_of_the_circuit_has_no_induction_score_and_matters_more():
    row = measured("induction")["rows"]["SmolLM2-135M"]
    layer, head = row["without the best previous-token head"]["head"]
    assert row["induction"][layer][head] < 0.1
    assert row["without the best previous-token head"]["loss"][0] > row["without the best"]["4"][0]


@pytest.mark.parametrize("name", ["heads", "induction", "relations"])
def test_every_record_says_where_it_comes_from(name):
    record = measured(name)
    assert {"script", "versions", "date", "rows"} <= set(record)
    assert (BENCHMARKS.parent / record["script"]).is_file()
