"""Each law of rerankers is broken by a reranker made for it."""

from typing import ClassVar, Literal

import numpy as np
import pytest

from tests.testing.breaking import assert_all_are_broken, assert_broken
from workbench.components.embedding.embed import MemoryVectorCache
from workbench.components.reranking.base import PairReranker, Reranker
from workbench.components.reranking.mmr import MMRReranker
from workbench.testing import RERANKER_LAWS, check_reranker


class Shared(PairReranker):
    """A good reranker: the share of the query's words that a text has, and a little for its length."""

    kind: Literal["shared"] = "shared"
    weight: float = 1.0

    def score_pairs(self, pairs):
        return np.array([self.weight * share(query, text) for query, text in pairs])


def share(query, text):
    words = query.split()
    return sum(word in text.split() for word in words) / len(words) + len(text) / 10_000


class Whole(Reranker):
    """A good reranker that scores pools instead of pairs."""

    kind: Literal["whole"] = "whole"

    def scores(self, pools, cache):
        return [np.array([share(pool.query, text) for text in pool.texts]) for pool in pools]


class Fewer(Whole):
    def scores(self, pools, cache):
        return super().scores(pools[1:], cache)


class Short(Whole):
    def scores(self, pools, cache):
        return [scores[1:] for scores in super().scores(pools, cache)]


class Single(Whole):
    def scores(self, pools, cache):
        return [scores.astype(np.float32) for scores in super().scores(pools, cache)]


class NotNumbers(Whole):
    def scores(self, pools, cache):
        return [np.where(scores > scores.min(), scores, np.nan) for scores in super().scores(pools, cache)]


class Large(Whole):
    def scores(self, pools, cache):
        return [5_000 * (scores + 1) for scores in super().scores(pools, cache)]


class NeverNothing(Whole):
    def scores(self, pools, cache):
        return super().scores(pools, cache) or [np.zeros(0)]


class Constant(Shared):
    def score_pairs(self, pairs):
        return np.ones(len(pairs))


class Relative(Whole):
    """Scores relative to the best of all pools."""

    def scores(self, pools, cache):
        scores = super().scores(pools, cache)
        best = max((float(each.max()) for each in scores), default=1.0)
        return [each / best for each in scores]


class Positional(Shared):
    """The first of a batch counts more."""

    def score_pairs(self, pairs):
        return super().score_pairs(pairs) + (np.arange(len(pairs)) == 0)


class Uncached(Shared):
    def scores(self, pools, cache):
        cache.put([bytes(16)], np.ones((1, 2), dtype=np.float32))
        return super().scores(pools, MemoryVectorCache())


class KeyedByPool(Shared):
    def identity(self):
        return super().identity() | {"depth": self.pool}


class Counted(Shared):
    """A copy of this one differs from it."""

    def __getstate__(self):
        state = super().__getstate__()
        return state | {"__dict__": state["__dict__"] | {"weight": 2.0}}


class NoPool(Shared):
    def identity(self):
        return {name: value for name, value in super().identity().items() if name != "pool"}


class Forgetful(Shared):
    def identity(self):
        return {name: value for name, value in super().identity().items() if name != "weight"}


class Unversioned(Shared):
    def identity(self):
        return super().identity() | {"version": 1}


class Changing(Shared):
    calls: ClassVar[list] = []

    def identity(self):
        self.calls.append(1)
        return super().identity() | {"calls": len(self.calls)}


class Unreadable(Shared):
    def model_dump_json(self, **_):
        return '{"weight": 2}'


class Lenient(Shared):
    model_config: ClassVar = {"extra": "ignore", "frozen": True}


BREAKERS = {
    "there_is_one_finite_score_for_each_candidate": (Fewer(), Short(), Single(), NotNumbers(), Large(), NeverNothing()),
    "scores_tell_texts_apart": (Constant(),),
    "a_pool_has_the_same_scores_among_others": (Relative(),),
    "a_pairs_score_depends_only_on_the_pair": (Positional(),),
    "a_scored_pair_is_not_scored_again": (Uncached(), KeyedByPool()),
    "copies_give_the_same_scores": (Counted(),),
    "the_size_of_the_pool_is_part_of_the_identity": (NoPool(),),
    "a_setting_that_changes_scores_changes_the_identity": (Forgetful(),),
    "settings_survive_json": (Unreadable(),),
    "unknown_settings_are_refused": (Lenient(),),
    "equal_settings_have_equal_identities": (Changing(),),
    "the_version_is_part_of_the_identity": (Unversioned(),),
}


def test_every_law_has_a_reranker_that_breaks_it() -> None:
    assert_all_are_broken(RERANKER_LAWS, BREAKERS)


@pytest.mark.parametrize(("name", "reranker"), [(name, one) for name, every in BREAKERS.items() for one in every])
def test_a_broken_law_is_found_and_named(name: str, reranker: Reranker) -> None:
    assert_broken(RERANKER_LAWS, name, reranker, check_reranker)


@pytest.mark.parametrize("reranker", [Shared(), Shared(pool=3, weight=2.5), Whole(), MMRReranker(relevance=0.7)])
def test_a_good_reranker_passes(reranker: Reranker) -> None:
    assert check_reranker(reranker) is None


def test_the_message_says_the_pair_and_both_scores() -> None:
    name = "a_pairs_score_depends_only_on_the_pair"
    message = assert_broken(RERANKER_LAWS, name, Positional(), check_reranker)
    assert "for the query 'pilot tide', the text '" in message
    assert "and when each text is scored alone 1." in message
