"""Each law of rewriters is broken by a rewriter made for it."""

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import pytest

from tests.testing.breaking import assert_all_are_broken, assert_broken
from workbench.components.rewriting.base import Rewriter, RewrittenText, TextRewriter
from workbench.components.rewriting.feedback import RM3Rewriter, RocchioRewriter
from workbench.testing import REWRITER_LAWS, check_rewriter


class Polite(TextRewriter):
    """A good rewriter: the question with a prefix."""

    kind: Literal["polite"] = "polite"
    prefix: str = "please: "

    def rewrite(self, questions):
        return [[RewrittenText(self.prefix + question.text), RewrittenText(question.text)] for question in questions]


class Silent(Polite):
    def rewrite(self, questions):
        return [[] for _ in questions]


class Blank(Polite):
    def rewrite(self, questions):
        return [[RewrittenText(" ")] for _ in questions]


class Few(Polite):
    def rewrite(self, questions):
        return super().rewrite(questions)[:1]


class Misfit(RM3Rewriter):
    role: ClassVar[str] = "vector"


class Long(RocchioRewriter):
    def expand(self, queries, hits, retriever, corpus):
        return replace(queries, vectors=2 * queries.vectors)


class Wide(RocchioRewriter):
    def expand(self, queries, hits, retriever, corpus):
        expanded = super().expand(queries, hits, retriever, corpus)
        return replace(expanded, vectors=expanded.vectors.astype(np.float64))


class Weightless(RM3Rewriter):
    def expand(self, queries, hits, retriever, corpus):
        return replace(queries, words=[{"tide": 0.0} for _ in queries.texts])


class Renaming(RM3Rewriter):
    def expand(self, queries, hits, retriever, corpus):
        return replace(super().expand(queries, hits, retriever, corpus), texts=["?"] * len(queries.texts))


class Inventive(RM3Rewriter):
    def expand(self, queries, hits, retriever, corpus):
        expanded = super().expand(queries, hits, retriever, corpus)
        return replace(expanded, words=[{**words, "tide": 0.1} for words in expanded.words])


class Drifting(RocchioRewriter):
    def expand(self, queries, hits, retriever, corpus):
        return replace(queries, vectors=-queries.vectors)


class Wordless(RM3Rewriter):
    def describe(self, expanded, hits, corpus):
        return [""] * len(expanded.texts)


class Numbering(Polite):
    def rewrite(self, questions):
        return [[RewrittenText(f"{number} {question.text}")] for number, question in enumerate(questions)]


class Batching(RocchioRewriter):
    """The mean of all hits of the batch."""

    def expand(self, queries, hits, retriever, corpus):
        every = hits.assign(query=0)
        pooled = [every.assign(query=query) for query in range(len(queries.texts))]
        expanded = [super(Batching, self).expand(queries, rows, retriever, corpus).vectors[query] for query, rows in enumerate(pooled)]
        return replace(queries, vectors=np.stack(expanded))


class Forgetful(Polite):
    def identity(self):
        return {name: value for name, value in super().identity().items() if name != "prefix"}


class Unversioned(Polite):
    def identity(self):
        return super().identity() | {"version": 1}


class Changing(Polite):
    calls: ClassVar[list] = []

    def identity(self):
        self.calls.append(1)
        return super().identity() | {"calls": len(self.calls)}


class Unreadable(Polite):
    def model_dump_json(self, **_):
        return '{"prefix": "x"}'


class Lenient(Polite):
    model_config: ClassVar = {"extra": "ignore", "frozen": True}


BREAKERS = {
    "every_question_has_texts_to_search": (Silent(), Blank(), Few()),
    "a_retriever_searches_what_it_makes": (Misfit(),),
    "expanded_queries_can_be_searched": (Long(), Wide(), Weightless(), Renaming()),
    "a_question_that_finds_nothing_is_searched_as_it_is": (Inventive(), Drifting()),
    "every_expanded_query_is_described": (Wordless(),),
    "the_same_question_is_rewritten_equally": (Numbering(), Batching()),
    "settings_survive_json": (Unreadable(),),
    "unknown_settings_are_refused": (Lenient(),),
    "equal_settings_have_equal_identities": (Changing(),),
    "the_version_is_part_of_the_identity": (Unversioned(),),
    "every_setting_is_part_of_the_identity": (Forgetful(),),
}


def test_every_law_has_a_rewriter_that_breaks_it() -> None:
    assert_all_are_broken(REWRITER_LAWS, BREAKERS)


@pytest.mark.parametrize(("name", "rewriter"), [(name, one) for name, every in BREAKERS.items() for one in every])
def test_a_broken_law_is_found_and_named(name: str, rewriter: Rewriter) -> None:
    assert_broken(REWRITER_LAWS, name, rewriter, check_rewriter)


@pytest.mark.parametrize("rewriter", [Polite(), RM3Rewriter(terms=2), RocchioRewriter(beta=2)])
def test_a_good_rewriter_passes(rewriter: Rewriter) -> None:
    assert check_rewriter(rewriter) is None
