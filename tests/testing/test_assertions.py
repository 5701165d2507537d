"""Assertions on questions that are drafts which nobody has accepted are undecided, as gates are, and so do not pass."""

import pytest

from workbench.core.records import Dataset, Document, Qrel, Query
from workbench.testing import assert_absent, assert_recall, assert_refuses

LAMPS = [f"The lamp of room {room} is switched at {room} past noon." for room in range(6)]
FIX = "accept or delete them, in the labeller or with workbench dataset accept"


def lamps(drafts: int, accepted_by: str = "") -> Dataset:
    """Six questions with an answer and two without; the first and the last `drafts` of them are synthetic."""
    texts = [*(f"When is the lamp of room {room} switched?" for room in range(6)), "Who paints the doors?", "Who sweeps the yard?"]
    metadata = {"synthetic": True} | ({"accepted_by": accepted_by} if accepted_by else {})
    queries = [
        Query(f"q{place}", text, answerable=place < 6, metadata=metadata if place < drafts or place >= len(texts) - drafts else {})
        for place, text in enumerate(texts)
    ]
    documents = tuple(Document(f"d{room}", text) for room, text in enumerate(LAMPS))
    return Dataset("lamps", documents, tuple(queries), tuple(Qrel(f"q{room}", f"d{room}", 1) for room in range(6)))


def search(query: str, k: int) -> list[str]:
    words = set(query.lower().split())
    return sorted((f"d{room}" for room in range(6)), key=lambda name: -len(words & set(LAMPS[int(name[1])].lower().split())))[:k]


def refuse(query: str) -> str:
    return f"I cannot answer this: {query}"


@pytest.mark.parametrize(
    ("drafts", "counted"), [(1, "2 of 8 questions are drafts that nobody has accepted"), (8, "every question is a draft")]
)
def test_a_limit_that_is_met_on_drafts_is_undecided(drafts, counted):
    with pytest.raises(AssertionError, match=rf"^undecided, recall@5 >= 0\.1 .*{counted}.*; {FIX}$"):
        assert_recall(search, 0.1, dataset=lamps(drafts))


def test_a_limit_on_accepted_questions_or_on_those_of_a_person_is_decided():
    assert_recall(search, 0.1, dataset=lamps(0))
    assert_recall(search, 0.1, dataset=lamps(8, accepted_by="Ada"))


def test_refusals_of_drafted_questions_are_undecided_and_those_of_named_questions_are_not():
    with pytest.raises(
        AssertionError, match=r"^undecided, 2 of 2 questions are refused: 1 of 2 questions is a draft that nobody has accepted; "
    ):
        assert_refuses(refuse, dataset=lamps(1))
    assert_refuses(refuse, ["Who sweeps the yard?"], dataset=lamps(8))
    assert_refuses(refuse, dataset=lamps(0))


def test_a_document_that_must_be_absent_is_named_by_the_caller_and_not_by_a_draft():
    assert_absent(search, "When is the lamp of room 1 switched?", "d5", k=1, dataset=lamps(8))
