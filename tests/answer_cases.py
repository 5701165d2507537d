"""Small cases of answers for the tests of answer metrics."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from workbench.core.records import Dataset, Document, Need, Passage, Qrel, Query, Span, Variant
from workbench.measures.metrics.case import NO_CUT, Answers, Case, Contexts, Cut, Judgements, VariantParts
from workbench.measures.metrics.evaluate import values_of
from workbench.measures.metrics.inputs import Labels
from workbench.measures.metrics.registry import METRICS


@dataclass(frozen=True)
class Asked:
    """A question with its context and its answer. `needs` and `passages` are (doc_id, start, end)."""

    text: str = ""
    expected: tuple[str, ...] = ("Paris",)
    answerable: bool = True
    refused: bool = False
    error: str = ""
    reason: str = ""
    citations: tuple[int, ...] = ()
    correct: float = np.nan
    outcome: str = ""
    needs: tuple[tuple[tuple[str, int, int], ...], ...] = ()
    passages: tuple[tuple[str, int, int], ...] = ()
    planted: dict[int, str] = field(default_factory=dict)
    gold: bool = True
    relevant: int = 1
    packing_recall: float = 1.0


def unit_vectors(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """Unit vectors that depend on the text alone."""
    rows = [np.frombuffer(hashlib.blake2b(text.encode(), digest_size=32).digest(), dtype=np.int8).astype(np.float64) for text in texts]
    return np.array([row / np.linalg.norm(row) for row in rows], dtype=np.float32).reshape(len(texts), -1)


def case_of(
    *asked: Asked,
    variant: Variant = Variant(),  # noqa: B008  # frozen
    verbatim: bool = False,
    relevant: Sequence[Collection[str]] = (),
    judgements: Judgements | None = None,
) -> Case:
    """The case of these questions, each with the documents that are relevant to it."""
    contexts = Contexts(
        [[Passage(*span, text="", planted=one.planted.get(n, "")) for n, span in enumerate(one.passages)] for one in asked],
        [one.reason for one in asked],
        np.array([one.gold for one in asked], dtype=np.bool_),
        np.array([one.relevant for one in asked], dtype=np.float64),
        np.array([one.packing_recall for one in asked], dtype=np.float64),
    )
    answers = Answers(
        [one.text for one in asked],
        np.array([one.refused for one in asked], dtype=np.bool_),
        [one.error for one in asked],
        [one.citations for one in asked],
        np.full(len(asked), np.nan),
        np.array([one.correct for one in asked], dtype=np.float64),
        [one.outcome for one in asked],
        np.zeros(len(asked), dtype=np.bool_),
        verbatim,
        unit_vectors,
    )
    return Case(_labels(asked, relevant), answered=VariantParts(variant, contexts, answers, judgements))


def table_of(case: Case, name: str, cut: Cut = NO_CUT) -> pd.DataFrame:
    """The values of a metric for each question."""
    return values_of(case, METRICS[name], cut)


def _labels(asked: Sequence[Asked], relevant: Sequence[Collection[str]]) -> Labels:
    queries = tuple(Query(f"q{n}", "?", one.answerable, one.expected[0], answer_variants=one.expected[1:]) for n, one in enumerate(asked))
    needs = tuple(Need(f"q{n}", tuple(Span(*span) for span in need)) for n, one in enumerate(asked) for need in one.needs)
    qrels = tuple(Qrel(f"q{n}", doc_id, 1) for n, ids in enumerate(relevant) for doc_id in ids)
    ids = {span.doc_id for need in needs for span in need.alternatives} | {qrel.doc_id for qrel in qrels}
    return Labels.of(Dataset("cases", tuple(Document(doc_id, "x" * 99) for doc_id in sorted(ids)), queries, qrels, needs))
