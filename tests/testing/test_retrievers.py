"""Each law of retrievers is broken by a retriever made for it."""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
import pytest

from tests.testing.breaking import assert_all_are_broken, assert_broken
from workbench.components.retrieval.base import Ranking, Retriever, SearchDepth, rank_all
from workbench.components.retrieval.dense import DenseRetriever
from workbench.core.errors import LawError
from workbench.testing import RETRIEVER_LAWS, check_retriever


class Overlap(Retriever):
    """A good retriever: the number of words that query and chunk share."""

    kind: Literal["overlap"] = "overlap"
    weight: float = 1.0

    def retrieve(self, queries, corpus, depth):
        return rank_all(lambda first, last: self.scores(queries.texts[first:last], corpus), len(queries.texts), corpus, depth, self.k)

    def scores(self, texts, corpus):
        chunks = [set(text.lower().split()) for text in corpus.texts]
        scores = np.array([[len(set(text.lower().split()) & chunk) for chunk in chunks] for text in texts], dtype=np.float64)
        return np.where(scores > 0, self.weight * scores, -np.inf)


def after(change: Callable[..., Ranking]) -> Retriever:
    """A retriever that changes the ranking of a good one by a function of ranking, queries, corpus and depth."""

    class Changed(Overlap):
        def retrieve(self, queries, corpus, depth):
            return change(super().retrieve(queries, corpus, depth), queries, corpus, depth)

    return Changed()


def hits(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Retriever:
    return after(lambda ranking, *_: replace(ranking, hits=change(ranking.hits)))


def ranking(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Retriever:
    return after(lambda ranking, *_: replace(ranking, ranking=change(ranking.ranking)))


class ByPosition(Overlap):
    """Ties in the order of the corpus, as a stable sort leaves them."""

    def retrieve(self, queries, corpus, depth):
        n, documents = len(corpus.ids), len(corpus.document_breakers)
        return super().retrieve(queries, replace(corpus, chunk_breakers=np.arange(n), document_breakers=np.arange(documents)), depth)


class Elsewhere(Overlap):
    @property
    def evaluated(self):
        return "ann"

    def searches(self, queries, corpus, depth):
        return {"exact": self.retrieve(queries, corpus, depth)}


class Shallow(Overlap):
    def retrieve(self, queries, corpus, depth):
        return super().retrieve(queries, corpus, SearchDepth(1, 0, 1) if depth.slices < 100 else depth)


class Wavering(Overlap):
    """The deeper, the more the first chunk counts."""

    def retrieve(self, queries, corpus, depth):
        favourite = np.arange(len(corpus.ids)) == depth.slices % len(corpus.ids)

        def score(first, last):
            scores = self.scores(queries.texts[first:last], corpus)
            return np.where(favourite, 100, scores)

        return rank_all(score, len(queries.texts), corpus, depth, self.k)


class Relative(Overlap):
    """Scores relative to the batch's last query."""

    def retrieve(self, queries, corpus, depth):
        base = self.scores(queries.texts[-1:], corpus)
        shift = np.where(np.isfinite(base), 10, 0)
        score = lambda first, last: self.scores(queries.texts[first:last], corpus) + shift  # noqa: E731
        return rank_all(score, len(queries.texts), corpus, depth, self.k)


class FirstDocument(Overlap):
    """The corpus' first document counts more."""

    def scores(self, texts, corpus):
        return super().scores(texts, corpus) + (corpus.doc == 0)


class NoSmallCorpus(Overlap):
    def retrieve(self, queries, corpus, depth):
        assert len(corpus.ids) >= 2 * self.k, "too few chunks"
        return super().retrieve(queries, corpus, depth)


class Repeating(Overlap):
    def retrieve(self, queries, corpus, depth):
        found = super().retrieve(queries, corpus, depth)
        return found if len(corpus.ids) > 5 else replace(found, hits=pd.concat([found.hits, found.hits]))


class Forgetful(Overlap):
    def identity(self):
        return {name: value for name, value in super().identity().items() if name != "weight"}


class Unversioned(Overlap):
    def identity(self):
        return super().identity() | {"version": 1}


class Changing(Overlap):
    calls: ClassVar[list] = []

    def identity(self):
        self.calls.append(1)
        return super().identity() | {"calls": len(self.calls)}


class Unreadable(Overlap):
    def model_dump_json(self, **_):
        return '{"weight": 2}'


class Lenient(Overlap):
    model_config: ClassVar = {"extra": "ignore", "frozen": True}


BREAKERS = {
    "rankings_have_these_tables": (
        Elsewhere(),
        hits(lambda rows: rows.rename(columns={"chunk": "position"})),
        hits(lambda rows: rows.assign(chunk=rows["chunk"] + 30)),
        hits(lambda rows: rows.assign(chunk=7)),
        ranking(lambda rows: rows.assign(query=rows["query"] + 5)),
        after(lambda found, *_: replace(found, queries=found.queries[:-1])),
    ),
    "ranks_count_from_1_and_scores_never_rise": (
        hits(lambda rows: rows.assign(rank=rows["rank"] - 1)),
        ranking(lambda rows: rows.assign(score=-rows["score"])),
        hits(lambda rows: rows.assign(score=np.nan)),
    ),
    "ties_are_ordered_by_the_tie_breakers": (ByPosition(),),
    "a_document_is_ranked_by_its_best_chunk": (ranking(lambda rows: rows.assign(score=rows["score"] / 2)),),
    "a_search_is_as_deep_as_required": (Shallow(),),
    "a_deeper_search_begins_like_a_shallow_one": (Wavering(),),
    "the_same_query_has_the_same_ranking": (Relative(),),
    "the_order_of_documents_does_not_matter": (FirstDocument(), ByPosition()),
    "a_corpus_of_one_document_can_be_searched": (NoSmallCorpus(), Repeating()),
    "settings_survive_json": (Unreadable(),),
    "unknown_settings_are_refused": (Lenient(),),
    "equal_settings_have_equal_identities": (Changing(),),
    "the_version_is_part_of_the_identity": (Unversioned(),),
    "every_setting_is_part_of_the_identity": (Forgetful(),),
}


def test_every_law_has_a_retriever_that_breaks_it() -> None:
    assert_all_are_broken(RETRIEVER_LAWS, BREAKERS)


@pytest.mark.parametrize(("name", "retriever"), [(name, one) for name, every in BREAKERS.items() for one in every])
def test_a_broken_law_is_found_and_named(name: str, retriever: Retriever) -> None:
    assert_broken(RETRIEVER_LAWS, name, retriever, check_retriever)


@pytest.mark.parametrize("retriever", [Overlap(), Overlap(k=1), DenseRetriever(k=3)])
def test_a_good_retriever_passes(retriever: Retriever) -> None:
    assert check_retriever(retriever) is None


def test_a_retriever_gets_vectors_only_if_it_uses_them() -> None:
    seen = []

    class Looking(Overlap):
        def retrieve(self, queries, corpus, depth):
            seen.append((queries.vectors.shape[1], corpus.vectors.shape[1], corpus.index is None))
            return super().retrieve(queries, corpus, depth)

    class LookingAtVectors(Looking):
        uses_vectors: ClassVar[bool] = True

    check_retriever(Looking())
    assert set(seen) == {(0, 0, True)}
    seen.clear()
    check_retriever(LookingAtVectors())
    assert set(seen) == {(64, 64, False)}


def test_the_message_says_the_query_and_the_rankings() -> None:
    with pytest.raises(LawError, match=r"for the query 'pilot tide', `hits` has the ranks \[0, 1, 2"):
        check_retriever(BREAKERS["ranks_count_from_1_and_scores_never_rise"][0])
