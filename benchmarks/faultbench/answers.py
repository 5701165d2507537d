"""Answers with a known cause of failure, as an attribution with judges reads them: those of planted cases, and recorded ones."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.faultbench.attribution import labelled
from benchmarks.faultbench.cases import NONE, PlantedCase
from workbench.core.records import Dataset, Passage, Query
from workbench.measures.attribution.answer_causes import AnswerCause, AnswerFacts
from workbench.measures.attribution.answer_text import answer_text, delivers, expected_answers, states

# The causes of the faults of recorded answers. The last is a correct answer without a required part.
_FAULTS = {
    "unsupported": "unsupported",
    "contradicted_number": "contradiction",
    "negation": "contradiction",
    "entity_swap": "contradiction",
    "stale": "contradiction",
    "over_refused": "refusal",
    "off_topic": "off_topic",
    "partial": "unused",
}
# Attacked answers have other faults than those of retrieval and answering.
_CONDITIONS = ("gold", "retrieved", "missing_gold")
_WITHHELD = "missing_gold"
# Recorded rows say only that evidence is missing, not where it was lost.
_LOST = "rank"


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """An answer to a query from `passages`, with its true `cause`. `observed` is everything that its labels say.

    `judged` is False if no judge can verify its claims, whatever it tries.
    """

    case_id: str
    query: Query
    passages: tuple[Passage, ...]
    answer: str
    cause: str
    observed: AnswerFacts
    judged: bool = True


def planted_answers(cases: Sequence[PlantedCase]) -> tuple[LabelledAnswer, ...]:
    """The answers of planted cases."""
    return tuple(map(_planted, cases))


def _planted(case: PlantedCase) -> LabelledAnswer:
    seen = case.observation
    judged = all(claim.verdict for claim in seen.claims)
    return LabelledAnswer(case.case_id, seen.query, seen.passages, seen.answer, case.cause, labelled(seen), judged)


def recorded_answers(dataset: Dataset, path: Path) -> tuple[LabelledAnswer, ...]:
    """The recorded answers of a dataset in JSON Lines, without those to attacked contexts.

    If evidence is missing from the context of a failed answer, its cause is `rank`, which represents all causes of missed evidence here.
    """
    queries = {query.query_id: query for query in dataset.queries}
    texts = {document.doc_id: document.text for document in dataset.documents}
    return tuple(_recorded(row, queries[row["query_id"]], texts) for row in _rows(path) if row["condition"] in _CONDITIONS)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in path.read_text("utf-8").split("\n") if line)


def _recorded(row: Mapping[str, Any], query: Query, texts: Mapping[str, str]) -> LabelledAnswer:
    slices = [(each["doc_id"], each["start"], each["end"]) for each in row["passages"]]
    passages = tuple(Passage(doc_id, start, end, texts[doc_id][start:end]) for doc_id, start, end in slices)
    answerable, refused, expected = row["condition"] != _WITHHELD, row["behaviour"] == "refused", expected_answers(query)
    complete = row["evidence_complete"] or not answerable or delivers(passages, expected)
    observed = AnswerFacts(
        answerable=answerable,
        refused=refused,
        missed=() if complete else (AnswerCause(_LOST),),
        correct=row["correct"],
        claims=tuple((claim["claim"], claim["verdict"]) for claim in row["claims"]),
        expected_claims=frozenset(claim["claim"] for claim in row["claims"] if states(claim["claim"], expected)),
        relevant=row["fault"] != "off_topic",
        text=answer_text(query, passages, row["answer"], refused=refused),
    )
    return LabelledAnswer(row["answer_id"], query, passages, row["answer"], _cause(row, answerable, refused), observed)


def _cause(row: Mapping[str, Any], answerable: bool, refused: bool) -> str:
    """The true cause, from the fault that was planted in the answer."""
    if not answerable:
        return NONE if refused else "unrefused"
    if row["fault"] is None and row["correct"]:
        return NONE
    return _FAULTS[row["fault"]] if row["evidence_complete"] else _LOST
