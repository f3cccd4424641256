"""From tokens to words by hand, and the recorded relations against sentences anyone can parse."""

from __future__ import annotations

import pytest
import torch

from mha_teach.data import by_word, relations, sentences, words

TOKENS = ["[CLS]", "the", "lamp", "##light", ".", "[SEP]"]


def test_words_by_hand():
    assert words(TOKENS) == [[1], [2, 3], [4]]
    assert words(["[CLS]", "[SEP]"]) == []


@pytest.mark.parametrize("tokens", [["##light"], ["[CLS]", "##light", "[SEP]"], ["the", "[SEP]", "##light"]])
def test_a_piece_without_its_word_is_an_error(tokens):
    with pytest.raises(ValueError, match="'##light', the rest of a word, and no word"):
        words(tokens)


def test_by_word_by_hand():
    attention = torch.tensor(
        [
            [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.1, 0.2, 0.3, 0.4, 0.0, 0.0, 0.0],  # "the": half-word by half-word .3 + .4 on the lamplight
            [0.0, 0.5, 0.0, 0.1, 0.3, 0.1, 0.0],
            [0.2, 0.1, 0.2, 0.1, 0.1, 0.3, 0.0],  # averaged with the row above
            [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
            [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # filler
        ]
    )
    wanted = torch.tensor([[0.2, 0.7, 0.0], [0.3, 0.2, 0.2], [0.0, 0.0, 1.0]])
    torch.testing.assert_close(by_word(attention, TOKENS), wanted)
    torch.testing.assert_close(by_word(attention.expand(2, 3, 7, 7), TOKENS), wanted.expand(2, 3, 3, 3))


def test_more_tokens_than_positions_is_an_error():
    with pytest.raises(ValueError, match=r"6 tokens and attention of shape \(5, 5\)"):
        by_word(torch.zeros(5, 5), TOKENS)


def named(sentence, minilm):
    """Relations of a sentence as words of text."""
    code = minilm.tokenizer.encode(sentence)
    spell = ["".join(code.tokens[i] for i in pieces).replace("##", "") for pieces in words(code.tokens)]
    return {
        name: [f"{spell[a]} {spell[b]}" for a, b in found[sentence]]
        for name, found in relations().items()
        if sentence in found
    }


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        (
            "A clever thief stole the famous diamond and left a glass copy.",
            {
                "determiner": ["a thief", "the diamond", "a copy"],
                "adjective": ["clever thief", "famous diamond"],
                "subject": ["thief stole"],
                "object": ["diamond stole", "copy left"],
            },
        ),
        (
            "The boy hid the broken plate under his bed.",
            {
                "determiner": ["the boy", "the plate"],
                "adjective": ["broken plate"],
                "subject": ["boy hid"],
                "object": ["plate hid"],
                "preposition": ["bed under"],
            },
        ),
    ],
)  # fmt: skip
def test_relations_of_sentences_parsed_by_hand(minilm, sentence, wanted):
    assert named(sentence, minilm) == wanted


def test_relations_are_those_of_the_shipped_sentences(minilm):
    every = set(sentences(400))
    found = relations()
    assert set(found) == {"determiner", "adjective", "subject", "object", "preposition"}
    lengths = {s: len(words(minilm.tokenizer.encode(s).tokens)) for s in every}
    for pairs_of in found.values():
        assert set(pairs_of) <= every
        for sentence, pairs in pairs_of.items():
            assert all(0 <= word < lengths[sentence] for pair in pairs for word in pair)
            assert all(a != b for a, b in pairs)
