"""The confusion matrix of an attribution on planted cases, and the attributions that reports use, applied to a case."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd

from benchmarks.faultbench.cases import NONE, Observation, PlantedCase
from workbench.core.errors import WorkbenchError
from workbench.core.records import Dataset, Document, Passage, Span
from workbench.measures.attribution.answer_causes import AnswerCause, AnswerFacts, answer_cause
from workbench.measures.attribution.answer_text import answer_text, delivers, delivers_part, expected_answers, states
from workbench.measures.attribution.causes import OWN_CAUSES, earliest
from workbench.measures.attribution.evidence_causes import missed_needs
from workbench.measures.attribution.evidence_state import EmbeddedExtent
from workbench.measures.metrics.case import Case, Cut
from workbench.measures.metrics.inputs import Labels, Retrieved

FAILED = "failed"
_NAMES = (*OWN_CAUSES, NONE)

Attribution = Callable[[Observation], str]


def confusion(cases: Sequence[PlantedCase], attribute: Attribution) -> pd.DataFrame:
    """Count cases by true cause (rows) and attributed cause (columns), both in order of layer and including `none`.

    The column `failed` counts cases where the attribution raised a WorkbenchError or returned an unknown cause. Rows sum to the cases.
    Other exceptions are bugs in the attribution and propagate.
    """
    counts = Counter((case.cause, _attributed(attribute, case.observation)) for case in cases)
    attributed = [*_NAMES, FAILED]
    rows = [[counts[cause, name] for name in attributed] for cause in _NAMES]
    return pd.DataFrame(rows, index=pd.Index(_NAMES, name="cause"), columns=pd.Index(attributed, name="attributed"))


def _attributed(attribute: Attribution, observation: Observation) -> str:
    try:
        cause = attribute(observation)
    except WorkbenchError:
        return FAILED
    return cause if cause in _NAMES else FAILED


def evidence_cause(observation: Observation) -> str:
    """The cause that a report would name for missed evidence, or `none` if all evidence is in the context."""
    return earliest(missed.cause for missed in missed_evidence(observation)) or NONE


def labelled_cause(observation: Observation) -> str:
    """The cause that a report would name for the answer if its judges made no mistake: the labels of the observation judge."""
    cause = answer_cause(labelled(observation))
    return cause.cause if cause else NONE


def labelled(observation: Observation) -> AnswerFacts:
    """Everything that decides about the cause, with the labels of the observation in place of judges."""
    query, refused, expected = observation.query, observation.refused, expected_answers(observation.query)
    return AnswerFacts(
        answerable=query.answerable,
        refused=refused,
        missed=missed_evidence(observation),
        correct=observation.correct,
        claims=tuple((claim.text, claim.verdict) for claim in observation.claims),
        expected_claims=frozenset(claim.text for claim in observation.claims if states(claim.text, expected)),
        relevant=observation.relevant,
        text=answer_text(query, observation.passages, observation.answer, refused=refused, truncated=observation.truncated),
    )


def missed_evidence(observation: Observation) -> tuple[AnswerCause, ...]:
    """The evidence that is not in the context, each piece with its cause. None is missing if the context contains the expected answer."""
    passages, expected = observation.passages, expected_answers(observation.query)
    if delivers(passages, expected):
        return ()
    dataset = _dataset(observation)
    places = {document.doc_id: place for place, document in enumerate(dataset.documents)}
    entries = [entry for entry in observation.entries if entry.chunk.doc_id in places]
    rows = [(places[entry.chunk.doc_id], entry.chunk.start, entry.chunk.end, *entry.chunk.delivered) for entry in entries]
    chunks = pd.DataFrame(rows, columns=["doc", "start", "end", "delivered_start", "delivered_end"], dtype=np.int64)
    of_chunk = {entry.chunk: place for place, entry in enumerate(entries)}
    hits = [(0, hit.rank, of_chunk[hit.chunk], hit.score) for hit in observation.hits]
    table = pd.DataFrame(hits, columns=["query", "rank", "chunk", "score"])
    unranked = pd.DataFrame({"query": [], "rank": [], "doc": [], "score": []})
    ends = np.array([entry.searched_end for entry in entries], dtype=np.int64)
    extent = EmbeddedExtent(ends, ends < chunks["end"].to_numpy())
    case = Case(Labels.of(dataset), Retrieved(chunks, table, unranked, np.zeros(1)), "exact")
    misses = missed_needs(case, Cut(observation.k, observation.budget), extent)
    causes = zip(misses["cause"].tolist(), (observation.needs[need].alternatives for need in misses["need"].tolist()), strict=True)
    return tuple(
        AnswerCause(cause, f"{spans[0].doc_id}:{spans[0].start}-{spans[0].end}")
        for cause, spans in causes
        if not any(delivers_part(passages, evidence, expected) for evidence in _evidence(observation, spans))
    )


def _evidence(observation: Observation, spans: Sequence[Span]) -> Iterator[Passage]:
    """Yield the alternatives of a piece of evidence that are indexed, with their texts."""
    for span in spans:
        if text := observation.documents.get(span.doc_id):
            yield Passage(span.doc_id, span.start, span.end, text[span.start : span.end])


def _dataset(observation: Observation) -> Dataset:
    """The query with its documents. For a document that is not indexed, only the ends of its evidence are known."""
    spans = sorted((span.doc_id, span.end) for need in observation.needs for span in need.alternatives)
    texts = {doc_id: observation.documents.get(doc_id, "?" * end) for doc_id, end in spans}
    texts |= {hit.chunk.doc_id: observation.documents[hit.chunk.doc_id] for hit in observation.hits}
    documents = tuple(Document(doc_id, text) for doc_id, text in texts.items())
    return Dataset("observed", documents, (observation.query,), (), observation.needs)
