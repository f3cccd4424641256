"""The tasks' answers and bounds, against enumeration and against the raw numbers that the batches were made of."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
import torch

from mha_teach.tasks import (
    CHUNK,
    LOUD,
    FixedOffsets,
    KeyedLookups,
    NearestNeighbour,
    TwoNoisyLookups,
    UnlikeRelations,
    bag_score,
    draw_score,
)
from mha_teach.tasks.base import generator_of

ALL = [
    TwoNoisyLookups(),
    TwoNoisyLookups(roles=1),
    KeyedLookups(),
    NearestNeighbour(),
    FixedOffsets(),
    UnlikeRelations(),
]


def count_all(values: int, sizes: tuple[int, ...]) -> tuple[float, float]:
    """Best guess and random draw from bags of the given sizes, by counting every case."""
    roles = sum(sizes)
    best = drawn = 0.0
    for answers in product(range(values), repeat=roles):
        start = 0
        for size in sizes:
            counts = Counter(answers[start : start + size]).values()
            best += max(counts)
            drawn += sum(c * c for c in counts) / size
            start += size
    return best / roles / values**roles, drawn / roles / values**roles


@pytest.mark.parametrize(
    ("values", "roles", "bags", "sizes"),
    [
        (5, 2, 1, [(2,)]),
        (7, 3, 1, [(3,)]),
        (5, 4, 1, [(4,)]),
        (3, 5, 2, [(4, 1), (3, 2)]),
        (5, 3, 3, [(1, 1, 1)]),
    ],
)
def test_bounds_equal_a_count_of_all_cases(values, roles, bags, sizes):
    counted = [count_all(values, s) for s in sizes]
    assert bag_score(values, roles, bags) == pytest.approx(max(best for best, _ in counted), abs=1e-12)
    for _, drawn in counted:
        assert draw_score(values, roles, bags) == pytest.approx(drawn, abs=1e-12)


def test_bounds_by_hand():
    assert TwoNoisyLookups().bag == pytest.approx(1 / 16 + 15 / 16 / 2)  # equal by chance, or a coin
    assert TwoNoisyLookups(roles=1).bag == 1.0
    assert draw_score(32, 4) == pytest.approx(1 / 4 + 3 / 4 / 32)
    assert draw_score(32, 4, 2) == pytest.approx(1 / 2 + 1 / 2 / 32)
    assert bag_score(32, 4, 2) > draw_score(32, 4, 2)  # a bag of three and a bag of one beat two pairs
    assert TwoNoisyLookups().chance == 1 / 16


@pytest.mark.parametrize("bags", [0, 5])
def test_a_bag_belongs_to_some_role(bags):
    with pytest.raises(ValueError, match=rf"bags={bags}.*roles=4"):
        bag_score(32, 4, bags)


def test_a_player_with_only_the_bag_scores_the_bound():
    task = TwoNoisyLookups()
    pairs = torch.cat([b.targets.flatten(0, 2) for b in task.batches([11], 20, 128)])
    swapped = torch.rand(len(pairs), generator=torch.Generator().manual_seed(0)) < 0.5
    guess = torch.where(swapped[:, None], pairs.flip(1), pairs)
    score = (guess == pairs).float().mean(1)
    assert abs(score.mean() - task.bag) < 4 * score.std() / len(pairs) ** 0.5


@pytest.mark.parametrize("task", ALL, ids=repr)
def test_a_seed_has_its_own_stream(task):
    steps = CHUNK + 3
    together = list(task.batches([3, 7], steps, 5))
    alone = list(task.batches([7], CHUNK + 1, 5))
    for pair, one in zip(together, alone, strict=False):
        for a, b in zip(pair, one, strict=True):
            torch.testing.assert_close(a[1:], b)
    assert len(together) == steps
    assert not torch.equal(together[0].items, together[1].items)
    assert not torch.equal(together[0].items[0], together[0].items[1])
    assert not torch.equal(next(task.batches([7], 1, 5, "test")).items, alone[0].items)


@pytest.mark.parametrize("task", ALL, ids=repr)
def test_shapes(task):
    b = next(task.batches([3, 7], 1, 5))
    keys, queries = b.items.shape[2], b.queries.shape[2]
    assert b.items.shape == (2, 5, keys, task.item_dim)
    assert b.queries.shape == (2, 5, queries, task.query_dim)
    assert b.targets.shape == b.where.shape == (2, 5, queries, task.roles)
    assert b.targets.max() < task.values and b.where.max() < keys


def unmixed(task, seed=5):
    """A batch and its seed's maps, each undone by its transpose, since rows are orthonormal."""
    b = next(task.batches([seed], 1, 7))
    maps = task.world(generator_of(seed, 0))
    back = [part[0] @ m.T for part, m in zip(b[:2], maps, strict=False)]
    return b, back


@pytest.mark.parametrize(
    "task", [KeyedLookups(), TwoNoisyLookups(noise=0.0), NearestNeighbour(noise=0.0)], ids=repr
)
def test_a_query_names_the_items_whose_values_are_asked_for(task):
    b, (items, cues) = unmixed(task)
    keys, names = items.split([task.key_dim, task.values], -1)
    held = names.argmax(-1)
    torch.testing.assert_close(
        names, torch.nn.functional.one_hot(held, task.values) * LOUD, atol=1e-4, rtol=0
    )
    where = b.where[0]
    assert torch.equal(held[:, None].expand(-1, task.queries, -1).gather(2, where), b.targets[0])
    found = keys[torch.arange(7)[:, None, None], where]
    torch.testing.assert_close(found.flatten(2), cues, atol=1e-4, rtol=1e-4)
    assert all(len(set(row)) == task.roles for row in where.flatten(0, 1).tolist())


def test_noise_has_the_promised_size():
    clean, loud = (next(TwoNoisyLookups(noise=s).batches([5], 1, 128)).queries for s in (0.0, 0.7))
    assert (loud - clean).std() == pytest.approx(0.7, rel=0.03)


def test_offsets_name_the_tokens_at_those_distances():
    task = FixedOffsets(offsets=(-1, 3), values=7, length=11)
    b, (x,) = unmixed(task)
    tokens = x[..., :7].argmax(-1)
    for place in range(11):
        assert torch.equal(b.targets[0, :, place, 0], tokens[:, (place - 1) % 11])
        assert torch.equal(b.targets[0, :, place, 1], tokens[:, (place + 3) % 11])
    assert torch.equal(tokens[:, None].expand(-1, 11, -1).gather(2, b.where[0]), b.targets[0])


def test_unlike_relations_name_the_tokens_that_they_promise():
    task = UnlikeRelations(values=7, length=10)
    b, (x,) = unmixed(task)
    tokens, _, mark, symbols = x.split([7, 10, 1, 5], -1)
    tokens, symbols, marked = tokens.argmax(-1), symbols.argmax(-1), mark[..., 0].argmax(-1)
    assert mark.sum(1).allclose(torch.ones(1))
    for sample in range(7):
        for place in range(10):
            held = symbols[sample] == symbols[sample, place]
            held[place] = False
            assert held.sum() == 1
            twin = int(held.int().argmax())
            wanted = [(place - 1) % 10, 0, int(marked[sample]), twin]
            assert b.where[0, sample, place].tolist() == wanted
            assert b.targets[0, sample, place].tolist() == tokens[sample, wanted].tolist()
    some = UnlikeRelations(relations=("twin", "first"), values=7, length=10)
    assert torch.equal(next(some.batches([5], 1, 7)).where, b.where[..., [3, 1]])


def test_sizes_that_do_not_fit():
    with pytest.raises(ValueError, match=r"'next'.*previous, first, marked, twin"):
        UnlikeRelations(relations=("first", "next"))
    with pytest.raises(ValueError, match=r"length=11 is odd"):
        UnlikeRelations(length=11)
    with pytest.raises(ValueError, match=r"roles=5.*items=3.*roles ≤ items"):
        TwoNoisyLookups(roles=5, items=3)
    with pytest.raises(ValueError, match=r"\(1, 12\).*length=11.*modulo"):
        FixedOffsets(offsets=(1, 12), length=11)
