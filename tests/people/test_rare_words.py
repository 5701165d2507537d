"""Passages are found by rare words, with weights that a hand can compute."""

from math import log

import pytest

from workbench.people.rare_words import RareWords

PASSAGES = ["the ferry leaves at seven", "the ferry costs nine euros", "the dough rests for the night"]


def test_the_weight_of_a_word_is_the_logarithm_of_all_passages_per_passage_that_contains_it():
    weights = RareWords(PASSAGES).weights("The dough of the ferry")
    assert list(weights) == ["the", "dough", "ferry"]
    assert weights == pytest.approx({"the": log(4 / 3), "dough": log(4), "ferry": log(2)})


def test_passages_are_ranked_by_the_rare_words_that_they_share_with_a_question():
    found = RareWords(PASSAGES)
    assert found.ranked("What does the ferry cost, nine euros?") == [1, 0, 2]
    assert found.ranked("Wann geht die Fähre?") == []
    assert RareWords([]).ranked("anything") == []
