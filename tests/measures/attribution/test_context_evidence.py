"""Evidence that is missing from a context: hand-made rankings of a document with two facts, and of one that is only labelled as relevant."""

import numpy as np
import pandas as pd
import pytest

from workbench.components.context.question_labels import question_labels
from workbench.core.records import Dataset, Document, Need, Passage, Qrel, Query, Span
from workbench.measures.attribution.answer_causes import AnswerCause, ContextEvidence
from workbench.measures.attribution.evidence_state import EmbeddedExtent
from workbench.measures.metrics.case import Case, Cut
from workbench.measures.metrics.inputs import Labels, Retrieved

#          0123456789012345678901234567890123456789
TEXT = "Lamps are lit at 9. Boats leave at noon."
DATASET = Dataset(
    "harbour",
    (Document("a", TEXT), Document("b", "Nothing is known about dogs or cats.")),
    # Questions 0 and 1 are about both facts and the second; 2 has a relevant document, 3 nothing, 4 no answer.
    (Query("both", "?"), Query("noon", "?"), Query("dogs", "?"), Query("blank", "?"), Query("no", "?", answerable=False)),
    (Qrel("dogs", "b", 1),),
    (Need("both", (Span("a", 0, 19),)), Need("noon", (Span("a", 20, 40),)), Need("both", (Span("a", 20, 40),))),
)
# A chunk for each fact, and one of b. The chunk of the second fact ranks last, b is not listed.
CHUNKS = pd.DataFrame(
    {"doc": [0, 0, 1], "start": [0, 20, 0], "end": [19, 40, 36], "delivered_start": [0, 20, 0], "delivered_end": [19, 40, 36]}
)
HITS = pd.DataFrame({"query": [0, 0, 1, 1, 2], "rank": [1, 2, 1, 2, 1], "chunk": [0, 1, 0, 1, 0], "score": [2.0, 1.0, 2.0, 1.0, 1.0]})
RANKING = pd.DataFrame({"query": [0, 1, 2], "rank": [1, 1, 1], "doc": [0, 0, 0], "score": [2.0, 2.0, 1.0]})
FIRST, SECOND = Passage("a", 0, 19, TEXT[:19]), Passage("a", 20, 40, TEXT[20:])
DOGS = Passage("b", 0, 36, DATASET.documents[1].text)


def evidence(k: int, chunks: pd.DataFrame = CHUNKS) -> ContextEvidence:
    hits = HITS[HITS["chunk"].isin(chunks.index)]
    case = Case(Labels.of(DATASET), Retrieved(chunks, hits, RANKING, np.zeros(5)), "exact")
    extent = EmbeddedExtent(chunks["end"].to_numpy(np.int64), np.zeros(len(chunks), dtype=np.bool_))
    labels = question_labels(DATASET, [() for _ in DATASET.queries])
    return ContextEvidence.of(case, Cut(k=k), extent, labels, DATASET.documents)


def test_a_complete_context_misses_nothing() -> None:
    assert evidence(2).missed(0, [FIRST, SECOND], "retrieved") == ()


def test_evidence_that_retrieval_does_not_deliver_has_its_cause() -> None:
    assert evidence(1).missed(0, [FIRST], "retrieved") == (AnswerCause("rank", "a:20-40"),)
    assert evidence(1).missed(1, [FIRST], "retrieved") == (AnswerCause("rank", "a:20-40"),)


def test_evidence_that_retrieval_delivers_and_the_context_lacks_was_cut_by_its_budget() -> None:
    assert evidence(2).missed(0, [FIRST], "retrieved") == (AnswerCause("budget", "a:20-40"),)
    # A passage that was cut within the evidence.
    assert evidence(2).missed(1, [Passage("a", 20, 33, TEXT[20:33])], "retrieved") == (AnswerCause("budget", "a:20-40"),)


@pytest.mark.parametrize("k", [1, 2])
def test_a_context_made_from_labels_lacks_evidence_only_for_its_budget_or_if_it_was_never_chunked(k: int) -> None:
    assert evidence(k).missed(0, [FIRST], "gold") == (AnswerCause("budget", "a:20-40"),)
    assert evidence(k, CHUNKS[:1]).missed(0, [FIRST], "gold_distractors") == (AnswerCause("not_indexed", "a:20-40"),)


def test_without_evidence_any_relevant_document_is_enough() -> None:
    found = evidence(2)
    assert found.missed(2, [DOGS], "retrieved") == ()
    assert found.missed(2, [FIRST], "retrieved") == (AnswerCause("rank", "b"),)
    assert found.missed(2, [FIRST], "gold") == (AnswerCause("budget", "b"),)


def test_without_labels_nobody_knows() -> None:
    assert evidence(2).missed(3, [FIRST], "retrieved") is None
