"""The questions that lost their document, evidence or answer since a baseline."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Literal

import pandas as pd

from workbench.analysis.passages import passage_of
from workbench.attribution.causes import EVIDENCE_CAUSES
from workbench.errors import InputError
from workbench.gate.baseline import Baseline, differences
from workbench.gate.inputs import Differences
from workbench.gate.losses.hit_lists import HitList, HitSlice, first_documents
from workbench.gate.losses.loss_causes import LossCauses
from workbench.gate.losses.lost_pieces import Label, LostPiece, Sides, document_labels, evidence_labels, lost_pieces, measure_for, sides_of
from workbench.gate.losses.worse_answers import worse_answers
from workbench.gate.rules import Subject
from workbench.results.run_tables import RunTables

# The hits shown of each side, and the characters of a hit's text.
_SHOWN, _CHARACTERS = 10, 160
_OF_EVIDENCE = tuple(cause.name for cause in EVIDENCE_CAUSES)


@dataclass(frozen=True)
class RankedHit:
    """A hit as people read it: `document` is its id, `text` the beginning of its text, empty if the run does not have it."""

    rank: int
    doc_id: str
    start: int
    end: int
    text: str
    relevant: bool


@dataclass(frozen=True)
class LostQuestion:
    """A question that found a document or a piece of evidence in the baseline and does not in the run, or whose answer got worse.

    `subject` is `document`, `evidence` or `answer`, `missing` names it (`doc_id`, `doc_id:start-end`, or the metric of the answer). Ranks are
    those of the metric: of documents if it counts documents, else of slices. They are 0 if it is not among the hits.
    `cause` is one of the causes of a miss, or what happened to the document in the corpus: `removed`, `changed` or `displaced` by
    `displaced_by`, new or changed documents that rank ahead of it. `explanation` says it in one sentence.
    `metric` is the metric that shows the loss, with its values of this question (NaN if unknown). `answer` is the answer of the run.
    """

    query_id: str
    question: str
    subject: Literal["document", "evidence", "answer"]
    missing: str
    rank_before: int
    rank_after: int
    cause: str
    before: Sequence[RankedHit]
    after: Sequence[RankedHit]
    explanation: str = ""
    displaced_by: Sequence[str] = ()
    metric: str = ""
    value_before: float = nan
    value_after: float = nan
    answer: str = ""

    @property
    def drop(self) -> float:
        """The drop of the metric, 0 if it is unknown."""
        drop = abs(self.value_before - self.value_after)
        return 0.0 if isnan(drop) else drop


def lost_questions(
    run: RunTables,
    configuration: str,
    baseline: Baseline,
    subjects: Sequence[Subject] = (),
    changes: Differences | None = None,
) -> list[LostQuestion]:
    """List the questions that lost something, worst first. Empty for a plain baseline.

    `changes` are the differences between the inputs of both; without them they are computed. `subjects` are the metrics by which something
    is lost, such as those of failed rules. By default these are the first metrics of documents, of evidence and of answers, the primary one first.
    """
    if baseline.plain:
        return []
    losses = _Losses(run, configuration, baseline, differences(run, configuration, baseline) if changes is None else changes)
    names = [subject.metric for subject in subjects]
    evidence = losses.of(names, ("spans", "chunks"), evidence_labels)
    documents = losses.of(names, ("documents", "hits"), document_labels)
    answers = [
        LostQuestion(
            worse.query_id, losses.questions[worse.query_id], "answer", str(worse.subject), 0, 0, worse.cause, (), (), worse.explanation, (),
            worse.subject.metric, worse.before, worse.after, worse.answer,
        )
        for worse in worse_answers(run, configuration, baseline.values, subjects)
    ]  # fmt: skip
    pieces = sorted(_once(evidence, documents), key=_severity)
    return pieces + sorted(_with_lost_evidence(answers, pieces), key=_severity)


def document_rank(hits: pd.DataFrame | None, doc_id: str) -> int:
    """Return the rank of a document among the distinct documents, 0 if it is not among the hits."""
    names = list(dict.fromkeys(hits["doc_id"])) if hits is not None else []
    return names.index(doc_id) + 1 if doc_id in names else 0


class _Losses:
    """What a run lost since a baseline, ready to be shown."""

    def __init__(self, run: RunTables, configuration: str, baseline: Baseline, changes: Differences) -> None:
        self._run, self._configuration, self._baseline, self._changes = run, configuration, baseline, changes
        self.questions: Mapping[str, str] = dict(zip(run.questions["query_id"], run.questions["text"], strict=True))
        relevant = run.judgements[run.judgements["relevance"] >= 1]
        self._relevant = set(zip(relevant["query_id"], relevant["doc_id"], strict=True))

    def of(self, names: Sequence[str], families: Iterable[str], labels: Callable[[RunTables], Iterable[Label]]) -> list[LostQuestion]:
        """The losses by the first metric of these families."""
        measure = measure_for(self._run, families, names)
        if measure is None or self._baseline.hits.empty:
            return []
        sides = sides_of(self._run, self._configuration, self._baseline.hits, self._baseline.values, measure)
        causes = LossCauses(self._run, self._configuration, self._changes)
        return [self._question(sides, causes, piece) for piece in lost_pieces(sides, labels(self._run))]

    def _question(self, sides: Sides, causes: LossCauses, piece: LostPiece) -> LostQuestion:
        query_id = piece.label.query_id
        before, after = (hits.get(query_id, HitList()) for hits in (sides.before, sides.after))
        cause = causes.of(piece, before, after, distinct=sides.measure.family == "documents")
        doc_id, start, end = piece.place
        documents = piece.label.need < 0
        return LostQuestion(
            query_id,
            self.questions[query_id],
            "document" if documents else "evidence",
            doc_id if documents else f"{doc_id}:{start}-{end}",
            piece.rank_before,
            piece.rank_after,
            cause.name,
            self._shown(query_id, before, sides.measure.family == "documents"),
            self._shown(query_id, after, sides.measure.family == "documents"),
            cause.explanation,
            cause.displaced_by,
            piece.metric,
            piece.value_before,
            piece.value_after,
        )

    def _shown(self, query_id: str, hits: HitList, distinct: bool) -> tuple[RankedHit, ...]:
        slices = first_documents(hits.listed) if distinct else hits.listed
        return tuple(self._hit(query_id, piece) for piece in slices[:_SHOWN])

    def _hit(self, query_id: str, piece: HitSlice) -> RankedHit:
        return RankedHit(*piece, self._text(piece), (query_id, piece.doc_id) in self._relevant)

    def _text(self, piece: HitSlice) -> str:
        try:
            passage = passage_of(self._run, piece.doc_id, piece.start, min(piece.end, piece.start + _CHARACTERS))
        except InputError:
            return ""
        words = " ".join(passage[piece.start : min(piece.end, piece.start + _CHARACTERS)].split())
        return f"{words} …" if piece.end > piece.start + _CHARACTERS else words


def _once(evidence: Sequence[LostQuestion], documents: Sequence[LostQuestion]) -> list[LostQuestion]:
    """Name a lost document by its evidence, unless it was removed: then all of its evidence is lost with it."""
    removed = {(lost.query_id, lost.missing) for lost in documents if lost.cause == "removed"}
    kept = [lost for lost in evidence if (lost.query_id, _document(lost)) not in removed]
    named = {(lost.query_id, _document(lost)) for lost in kept}
    return [lost for lost in documents if (lost.query_id, lost.missing) not in named] + kept


def _with_lost_evidence(answers: Sequence[LostQuestion], pieces: Sequence[LostQuestion]) -> list[LostQuestion]:
    """Explain an answer that failed for want of evidence by what happened to that evidence."""
    reasons = {piece.query_id: piece for piece in reversed(pieces)}
    return [
        replace(answer, cause=reason.cause, explanation=reason.explanation, displaced_by=reason.displaced_by)
        if answer.cause in _OF_EVIDENCE and (reason := reasons.get(answer.query_id))
        else answer
        for answer in answers
    ]


def _document(lost: LostQuestion) -> str:
    return lost.missing.rpartition(":")[0]


def _severity(lost: LostQuestion) -> tuple[float, bool, int, str, str]:
    """The largest drop first, then what is gone, then what ranked best."""
    return -lost.drop, lost.rank_after > 0, lost.rank_before or _SHOWN + 1, lost.query_id, lost.missing
