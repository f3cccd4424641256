"""The sentences: fixed, different, of all lengths promised."""

from __future__ import annotations

import pytest

from mha_teach.data import sentences


def test_the_first_draw_is_the_same_everywhere():
    assert sentences(2) == [
        "The museum bought a painting that nobody could explain.",
        "Where did you put the keys to the garden shed?",
    ]


def test_a_longer_draw_begins_with_the_shorter_one():
    assert sentences(300, seed=3)[:17] == sentences(17, seed=3)


def test_another_seed_is_another_order():
    assert sentences(13, seed=1) != sentences(13)
    assert sorted(sentences(400, seed=1)) == sorted(sentences(400))


def test_all_are_different_and_from_8_to_25_tokens_long(minilm):
    every = sentences(400)
    assert len(set(every)) == 400
    lengths = [len(row.ids) for row in minilm.tokenizer.encode_batch(every)]
    assert (min(lengths), max(lengths)) == (8, 25)


@pytest.mark.parametrize("count", [0, 401])
def test_a_count_beyond_the_list_names_its_length(count):
    with pytest.raises(ValueError, match=f"count is {count}; the list holds 400"):
        sentences(count)
