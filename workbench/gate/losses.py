"""Documents, evidence and answers that a run lost since a baseline, each with the cause."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

import pandas as pd

from workbench.core.errors import InputError
from workbench.core.records import Span
from workbench.core.text.formatting import listed
from workbench.gate.baseline import Baseline, Differences, differences
from workbench.gate.gated import question_values
from workbench.gate.rules import Subject
from workbench.measures.attribution.causes import CAUSES, EVIDENCE_CAUSES
from workbench.measures.metrics.names import Metric
from workbench.report.analysis.answer_values import answer_score
from workbench.report.analysis.causes import HitRow, QuestionLoss
from workbench.report.analysis.passages import passage_of, text_of
from workbench.report.results.run_tables import RETRIEVED, RunTables

# A slice with its rank. Equal slices count once, at their best rank.
RankedSpan = tuple[int, Span]
Blank = Callable[[Span], bool]


class RankedSpans(NamedTuple):
    """The slices of a question by rank: all that are known (`listed`), and those that a metric reads (`reached`), to where they are delivered."""

    listed: Sequence[RankedSpan] = ()
    reached: Sequence[RankedSpan] = ()

    def document_ranks(self, doc_id: str, *, distinct: bool) -> tuple[int, int]:
        """Return the rank of a document among the documents (`distinct`) or slices that are reached, and among all that are listed. 0 if absent."""
        sides = [distinct_documents(slices) if distinct else slices for slices in (self.reached, self.listed)]
        reached, listed = (min((rank for rank, span in slices if span.doc_id == doc_id), default=0) for slices in sides)
        return reached, listed

    def evidence_ranks(self, evidence: Span, blank: Blank) -> tuple[int, int]:
        """Return the rank at which the reached slices contain all of a span, and the best rank of a listed slice with all, else a part, of it."""
        parts = [(rank, span) for rank, span in self.listed if _overlap(span, evidence)]
        whole = [(rank, span) for rank, span in parts if covering_rank([(rank, span)], evidence, blank)]
        return covering_rank(self.reached, evidence, blank), min((rank for rank, _ in whole or parts), default=0)


def ranked_spans(hits: pd.DataFrame, *, documents: int | None, slices: int | None) -> Mapping[str, RankedSpans]:
    """Rank the slices of every question from `query_id`, `rank`, `doc_id`, `start`, `end` and `kept`.

    A metric reads the first `documents`, the first `slices`, or without both the delivered slices.
    """
    ordered = hits.sort_values("rank", kind="stable").drop_duplicates(["query_id", "doc_id", "start", "end"])
    rows: dict[str, list[tuple[Span, int]]] = {}
    for query_id, doc_id, start, end, kept in ordered[["query_id", "doc_id", "start", "end", "kept"]].itertuples(index=False):
        rows.setdefault(query_id, []).append((Span(doc_id, int(start), int(end)), int(kept)))
    return {query_id: _ranked(own, documents, slices) for query_id, own in rows.items()}


def _ranked(rows: Sequence[tuple[Span, int]], documents: int | None, slices: int | None) -> RankedSpans:
    listed = [(rank, span) for rank, (span, _) in enumerate(rows, 1)]
    if documents is not None:
        first = {span.doc_id for _, span in distinct_documents(listed)[:documents]}
        return RankedSpans(listed, [(rank, span) for rank, span in listed if span.doc_id in first])
    if slices is not None:
        return RankedSpans(listed, listed[:slices])
    return RankedSpans(
        listed, [(rank, Span(span.doc_id, span.start, kept)) for rank, (span, kept) in enumerate(rows, 1) if kept > span.start]
    )


def distinct_documents(slices: Iterable[RankedSpan]) -> list[RankedSpan]:
    """Return the best slice of each document, ranked among the documents."""
    best: dict[str, Span] = {}
    for _, span in slices:
        best.setdefault(span.doc_id, span)
    return list(enumerate(best.values(), 1))


def covered(slices: Iterable[RankedSpan], wanted: Span) -> int:
    """Return the number of characters of a span that the slices contain together."""
    cuts = sorted((max(wanted.start, span.start), min(wanted.end, span.end)) for _, span in slices if span.doc_id == wanted.doc_id)
    reached, total = wanted.start, 0
    for low, high in cuts:
        total += max(0, high - max(low, reached))
        reached = max(reached, high)
    return total


def covering_rank(slices: Sequence[RankedSpan], wanted: Span, blank: Blank) -> int:
    """Return the rank down to which the slices together contain a span, apart from blanks. 0 if they do not."""
    gaps = [(wanted.start, wanted.end)]
    for rank, span in slices:
        if not _overlap(span, wanted):
            continue
        gaps = [part for low, high in gaps for part in ((low, min(high, span.start)), (max(low, span.end), high))]
        gaps = [(low, high) for low, high in gaps if low < high and not blank(Span(wanted.doc_id, low, high))]
        if not gaps:
            return rank
    return 0


def _overlap(first: Span, second: Span) -> bool:
    return first.doc_id == second.doc_id and first.start < second.end and first.end > second.start


# The hits shown of each side, and the characters of a hit's text.
_SHOWN, _CHARACTERS = 10, 160
_SMALLEST_DROP = 1e-9
_OF_EVIDENCE = tuple(cause.name for cause in EVIDENCE_CAUSES)
_BECAUSE = {cause.name: cause.because for cause in CAUSES}
# A miss for which other documents that rank ahead of it are the reason.
_BY_RANK = ("rank", "duplicate", "budget")


_order = attrgetter("doc_id", "start", "end")


class LabelledPlaces(NamedTuple):
    """A relevant document of a question (`need` -1, one empty span), or a need with the spans of its alternatives."""

    query_id: str
    need: int
    places: Sequence[Span]


class LostLabel(NamedTuple):
    """A label that is lost, with the alternative that the baseline found and its ranks on both sides."""

    label: LabelledPlaces
    place: Span
    rank_before: int
    rank_after: int


def lost_questions(
    run: RunTables, configuration: str, baseline: Baseline, subjects: Sequence[Subject] = (), changes: Differences | None = None
) -> list[QuestionLoss]:
    """List the losses of questions, worst first. Empty for a plain baseline.

    `changes` are the differences between the inputs of both; without them they are computed. `subjects` are the metrics by which something
    is lost, such as those of failed rules. By default these are the first metrics of documents, of evidence and of answers, the primary one first.
    """
    if baseline.plain:
        return []
    changes = differences(run, configuration, baseline) if changes is None else changes
    names = [subject.metric for subject in subjects]
    kinds: list[tuple[tuple[str, ...], Callable[[RunTables], Iterator[LabelledPlaces]]]] = [
        (("spans", "chunks"), _evidence_labels),
        (("documents", "hits"), _document_labels),
    ]
    losses: list[list[QuestionLoss]] = []
    for families, labels in kinds:
        measure = _measure_of(run, configuration, families, names)
        usable = measure is not None and not baseline.hits.empty
        losses.append(_RankedSides.of(run, configuration, baseline, measure, changes).losses(labels(run)) if measure and usable else [])
    pieces = sorted(_once(*losses), key=_severity)
    answers = _worse_answers(run, configuration, baseline.values, subjects)
    return pieces + sorted(_with_lost_evidence(answers, pieces), key=_severity)


def _measure_of(run: RunTables, configuration: str, families: Sequence[str], preferred: Sequence[str]) -> Metric | None:
    """Return the metric by which labels are lost: the first with a value of `preferred`, the primary one and the others that is of these families.

    Hits that are ids alone have no metric of evidence: their documents are lost.
    """
    queries = run.of("queries", configuration)
    valued = set(queries.loc[queries["state"] == "scored", "metric"])
    known = [run.measures[name] for name in dict.fromkeys([*preferred, str(run.primary), *run.measures]) if name in valued]
    return next(
        (measure for measure in known if measure.family in families and measure.higher_is_better and measure.name != "judged"), None
    )


def _answerable(run: RunTables) -> set[str]:
    return set(run.questions.loc[run.questions["answerable"], "query_id"])


def _document_labels(run: RunTables) -> Iterator[LabelledPlaces]:
    relevant = run.table("judgements")[
        (run.table("judgements")["relevance"] >= 1) & run.table("judgements")["query_id"].isin(_answerable(run))
    ]
    for query_id, doc_id in zip(relevant["query_id"], relevant["doc_id"], strict=True):
        yield LabelledPlaces(query_id, -1, [Span(doc_id, 0, 0)])


def _evidence_labels(run: RunTables) -> Iterator[LabelledPlaces]:
    evidence = run.evidence[run.evidence["query_id"].isin(_answerable(run))]
    for need, rows in evidence.groupby("need", sort=False):
        spans = zip(rows["doc_id"], rows["start"].tolist(), rows["end"].tolist(), strict=True)
        yield LabelledPlaces(str(rows["query_id"].iloc[0]), int(str(need)), [Span(*span) for span in spans])


@dataclass(frozen=True, eq=False)
class _RankedSides:
    """The hits of a baseline and of a run by question, cut where a metric reads them, its values on both sides, and the `unscored` questions of the run.

    The labels are those of the run. Where its text of a document is another, they say nothing about the slices of the baseline, so that any slice of
    the document counts as having them.
    """

    run: RunTables
    configuration: str
    measure: Metric
    before: Mapping[str, RankedSpans]
    after: Mapping[str, RankedSpans]
    values: Mapping[str, tuple[float, float]] = field(repr=False)
    unscored: frozenset[str]
    changes: Differences

    @classmethod
    def of(cls, run: RunTables, configuration: str, baseline: Baseline, measure: Metric, changes: Differences) -> "_RankedSides":
        documents, slices = (measure.k, None) if measure.family == "documents" else (None, measure.k)
        tables = (baseline.hits, run.of("hits", configuration))
        before, after = (ranked_spans(table, documents=documents, slices=slices) for table in tables)
        pairs = _paired_values(run, configuration, baseline.values, str(measure))
        queries = run.of("queries", configuration)
        failed = queries.loc[(queries["metric"] == str(measure)) & (queries["state"] == "unscored"), "query_id"]
        known = dict(zip(pairs.index, zip(pairs["before"].tolist(), pairs["after"].tolist(), strict=True), strict=True))
        return cls(run, configuration, measure, before, after, known, frozenset(failed), changes)

    @property
    def distinct(self) -> bool:
        """Rank documents rather than slices."""
        return self.measure.family == "documents"

    def of_question(self, query_id: str) -> tuple[RankedSpans, RankedSpans]:
        return self.before.get(query_id, RankedSpans()), self.after.get(query_id, RankedSpans())

    def losses(self, labels: Iterator[LabelledPlaces]) -> list[QuestionLoss]:
        questions = dict(zip(self.run.questions["query_id"], self.run.questions["text"], strict=True))
        causes = self._attributed()
        losses = []
        for lost in self.lost_labels(labels):
            (query_id, need, _), span = lost.label, lost.place
            before, after = self.of_question(query_id)
            miss = causes.get((query_id, need, span.doc_id if need < 0 else ""), "")
            cause, explanation, displaced_by = cause_of_loss(lost, before, after, self.changes, miss, distinct=self.distinct)
            values = self.values.get(query_id, (math.nan, math.nan))
            losses.append(
                QuestionLoss(
                    query_id=query_id,
                    question=questions[query_id],
                    subject="document" if need < 0 else "evidence",
                    missing=span.doc_id if need < 0 else f"{span.doc_id}:{span.start}-{span.end}",
                    rank_before=lost.rank_before,
                    rank_after=lost.rank_after,
                    cause=cause,
                    before=self._shown(query_id, before.listed, old=True),
                    after=self._shown(query_id, after.listed),
                    explanation=explanation,
                    displaced_by=displaced_by,
                    metric=str(self.measure),
                    value_before=values[0],
                    value_after=values[1],
                )
            )
        return losses

    def _attributed(self) -> Mapping[tuple[str, int, str], str]:
        """The causes of the misses of the configuration, by question, need and (of a document) its id."""
        rows = self.run.of("causes", self.configuration)
        rows = rows[(rows["subject"] == "evidence") & (rows["condition"] == RETRIEVED)]
        columns = zip(rows["query_id"], rows["need"], rows["doc_id"], rows["cause"], strict=True)
        return {(query_id, int(need), doc_id if need < 0 else ""): cause for query_id, need, doc_id, cause in columns}

    def lost_labels(self, labels: Iterator[LabelledPlaces]) -> list[LostLabel]:
        """List the labels that only the baseline found.

        A question whose value did not drop lost nothing, and of one that the run could not ask nothing is known. If it dropped and no label is lost
        as a whole, those are listed of which a part is lost, and
        those that the run misses, with the rank 0 before, if the metric reads more than the baseline keeps.
        """
        by_query: dict[str, list[LabelledPlaces]] = {}
        for label in labels:
            by_query.setdefault(label.query_id, []).append(label)
        lost = list[LostLabel]()
        for query_id, own in by_query.items():
            before, after = self.values.get(query_id, (math.nan, math.nan))
            known = not math.isnan(before - after)
            if query_id in self.unscored or (known and before - after <= _SMALLEST_DROP):
                continue
            missing = [loss for label in own if (loss := self._missing(label)) is not None]
            whole = [loss for loss in missing if loss.rank_before]
            lost += whole or self._in_part(missing) or (missing if known and self._unknown(query_id) else [])
        return lost

    def _missing(self, label: LabelledPlaces) -> LostLabel | None:
        before, after = self.of_question(label.query_id)
        if any(self._ranks(after, span)[0] for span in label.places):
            return None
        ranked = [(rank, span) for span in label.places if (rank := self._rank_before(before, span))]
        rank_before, span = min(ranked, key=lambda pair: (pair[0], _order(pair[1])), default=(0, label.places[0]))
        return LostLabel(label, span, rank_before, self._ranks(after, span)[1])

    def _rank_before(self, before: RankedSpans, span: Span) -> int:
        return (
            before.document_ranks(span.doc_id, distinct=False)[0] if span.doc_id in self.changes.changed else self._ranks(before, span)[0]
        )

    def _in_part(self, missing: Sequence[LostLabel]) -> list[LostLabel]:
        """Return the pieces of text of which the baseline has more characters than the run, at the best rank of a slice with any of them."""
        parts = []
        for lost in missing if self.measure.of_text else ():
            before, after = self.of_question(lost.label.query_id)
            had, place = max(
                ((covered(before.reached, each), each) for each in lost.label.places), key=lambda pair: (pair[0], _order(pair[1]))
            )
            if had > max(covered(after.reached, each) for each in lost.label.places):
                parts.append(LostLabel(lost.label, place, *(self._ranks(side, place)[1] for side in (before, after))))
        return parts

    def _unknown(self, query_id: str) -> bool:
        """Detect a metric that reads more documents or slices of a question than the baseline keeps."""
        listed = self.of_question(query_id)[0].listed
        return len(distinct_documents(listed) if self.distinct else listed) < (self.measure.k or 1)

    def _ranks(self, hits: RankedSpans, span: Span) -> tuple[int, int]:
        """Return the rank of a place among the reached hits, and its best rank among the listed ones."""
        if self.measure.of_text:
            return hits.evidence_ranks(span, self._blank)
        return hits.document_ranks(span.doc_id, distinct=self.distinct)

    def _blank(self, span: Span) -> bool:
        try:
            return not text_of(self.run, span.doc_id, span.start, span.end).strip()
        except InputError:
            return False

    def _shown(self, query_id: str, slices: Sequence[RankedSpan], *, old: bool = False) -> list[HitRow]:
        """Return the first slices with their text. The `old` text of a document that changed is not known."""
        unlike = {*self.changes.changed, *self.changes.removed}
        shown = (distinct_documents(slices) if self.distinct else slices)[:_SHOWN]
        places = [(rank, {"doc_id": span.doc_id, "start": span.start, "end": span.end}, span) for rank, span in shown]
        return [
            {
                "rank": rank,
                **place,
                "text": "its text then is not known" if old and span.doc_id in unlike else self._text(span),
                "relevant": (query_id, span.doc_id) in self._relevant,
            }
            for rank, place, span in places
        ]

    @cached_property
    def _relevant(self) -> set[tuple[str, str]]:
        judged = self.run.table("judgements")[self.run.table("judgements")["relevance"] >= 1]
        return set(zip(judged["query_id"], judged["doc_id"], strict=True))

    def _text(self, span: Span) -> str:
        end = min(span.end, span.start + _CHARACTERS)
        try:
            words = " ".join(passage_of(self.run, span.doc_id, span.start, end)[span.start : end].split())
        except InputError:
            return ""
        return f"{words} …" if span.end > end else words


def cause_of_loss(
    lost: LostLabel, before: RankedSpans, after: RankedSpans, changes: Differences, miss: str = "", *, distinct: bool
) -> tuple[str, str, tuple[str, ...]]:
    """Return the cause of a loss, a sentence about it, and the new or changed documents that rank ahead.

    `miss` is the attributed cause of the miss, empty without one. `distinct`: ranks are those of documents.
    """
    doc_id, moved = lost.place.doc_id, _moved(lost)
    if doc_id in changes.removed:
        return "removed", f"{doc_id} was removed from the corpus", ()
    if doc_id in changes.changed:
        return "changed", f"the text of {doc_id} changed, and {moved}", ()
    miss = miss or _seen_cause(lost, after)
    ahead = _ahead(after, doc_id, lost.rank_after, distinct)
    # Those that were ahead before displaced nothing.
    earlier = _ahead(before, doc_id, lost.rank_before, distinct)
    new = tuple(name for name in ahead if name in {*changes.added, *changes.changed} and name not in earlier)
    if new and miss in _BY_RANK:
        return "displaced", f"{_displaced(ahead, new, changes)}; {moved}", new
    return miss, moved if miss == "rank" else f"{_BECAUSE[miss]}; {moved}", new


def _displaced(ahead: Sequence[str], new: Sequence[str], changes: Differences) -> str:
    kinds = {"new": changes.added, "changed": changes.changed}
    kind = next((kind for kind, names in kinds.items() if {*new} <= {*names}), "new or changed")
    how_many, of = len(new), len(ahead)
    which = "the document" if of == 1 else f"all {of} documents" if how_many == of else f"{how_many} of the {of} documents"
    return f"{which} ahead of it {'is' if how_many == 1 else 'are'} {kind}: {listed(new)}"


def _seen_cause(lost: LostLabel, after: RankedSpans) -> str:
    """Return the cause that the hits show of evidence that the run does not attribute, because its primary metric does not read it."""
    place, own = lost.place, [span for _, span in after.listed if span.doc_id == lost.place.doc_id]
    if lost.label.need < 0 or any(span.start <= place.start and span.end >= place.end for span in own):
        return "rank"
    return "boundary" if covered(after.reached, place) else "rank"


def _ahead(hits: RankedSpans, doc_id: str, rank: int, distinct: bool) -> list[str]:
    """Return the documents ahead of what is missing, by rank: all that are reached if it is not listed."""
    if distinct:
        documents = [span.doc_id for _, span in distinct_documents(hits.listed)]
        return documents[: documents.index(doc_id)] if doc_id in documents else documents
    slices = [(place, span) for place, span in hits.listed if place < rank] if rank else hits.reached
    return [span.doc_id for _, span in distinct_documents(slices) if span.doc_id != doc_id]


def _moved(lost: LostLabel) -> str:
    """Say how the rank changed. A baseline keeps only its first hits."""
    if not lost.rank_before:
        now = f"it is at rank {lost.rank_after}" if lost.rank_after else "it is not among the hits"
        return f"{now}, and the hits that the baseline keeps do not show where it was"
    if not lost.rank_after:
        return f"it fell from rank {lost.rank_before} out of the hits"
    if lost.rank_after > lost.rank_before:
        return f"it fell from rank {lost.rank_before} to {lost.rank_after}"
    return f"it was at rank {lost.rank_before}"


def _once(evidence: Sequence[QuestionLoss], documents: Sequence[QuestionLoss]) -> list[QuestionLoss]:
    """Name a lost document by its evidence, unless it was removed: then all of its evidence is lost with it."""
    removed = {(lost.query_id, lost.document) for lost in documents if lost.cause == "removed"}
    kept = [lost for lost in evidence if (lost.query_id, lost.document) not in removed]
    named = {(lost.query_id, lost.document) for lost in kept}
    return [lost for lost in documents if (lost.query_id, lost.document) not in named] + kept


def _worse_answers(run: RunTables, configuration: str, values: pd.DataFrame, subjects: Sequence[Subject]) -> list[QuestionLoss]:
    """List the answers with a lower value, or for a metric of faults a higher one, for the metrics of answers among `subjects`."""
    questions = dict(zip(run.questions["query_id"], run.questions["text"], strict=True))
    worse: dict[tuple[str, str], QuestionLoss] = {}
    for subject in _answer_subjects(run, configuration, subjects):
        pairs = _paired_values(run, configuration, values, subject.metric, subject.condition)
        sign = 1 if run.measures[subject.metric].higher_is_better else -1
        dropped = pairs[sign * (pairs["before"] - pairs["after"]) > _SMALLEST_DROP]
        answers, causes = (_first_repeats(run.of(name, configuration), subject.condition) for name in ("answers", "causes"))
        for query_id, before, after in zip(dropped.index, dropped["before"], dropped["after"], strict=True):
            row = answers.get(query_id, {})
            cause, why = _answer_cause(causes.get(query_id), row)
            loss = QuestionLoss(
                query_id=query_id,
                question=questions[query_id],
                subject="answer",
                missing=str(subject),
                rank_before=0,
                rank_after=0,
                cause=cause,
                before=(),
                after=(),
                explanation=why,
                metric=subject.metric,
                value_before=before,
                value_after=after,
                answer=str(row.get("answer", "")),
            )
            worse.setdefault((query_id, subject.condition), loss)
    return list(worse.values())


def _answer_subjects(run: RunTables, configuration: str, subjects: Sequence[Subject]) -> list[Subject]:
    """Return the metrics of answers to compare, each with its condition.

    Without one: the run's first metric of the content of answers, under the condition retrieved if it was asked.
    """
    given = [subject for subject in subjects if subject.metric in run.measures and run.measures[subject.metric].of_answers]
    if given:
        return list(dict.fromkeys(Subject(subject.metric, condition=subject.condition) for subject in given))
    measure = answer_score(run)
    if measure is None:
        return []
    queries = run.of("queries", configuration)
    scored = set(queries.loc[(queries["metric"] == str(measure)) & (queries["state"] == "scored"), "condition"])
    conditions = dict.fromkeys([RETRIEVED, *run.of("answers", configuration)["condition"]])
    return [Subject(str(measure), condition=condition) for condition in conditions if condition in scored][:1]


def _first_repeats(table: pd.DataFrame, condition: str) -> Mapping[str, Mapping[Any, Any]]:
    """Return the row of the first repeat of each answer without perturbation, by question."""
    rows = table[(table["condition"] == condition) & (table["variant"] == "")]
    rows = rows[rows["subject"] == "answer"] if "subject" in rows else rows
    rows = rows.sort_values("repeat", kind="stable").drop_duplicates("query_id")
    return {row["query_id"]: row for row in rows.to_dict("records")}


def _answer_cause(attributed: Mapping[Any, Any] | None, answer: Mapping[Any, Any]) -> tuple[str, str]:
    """Return the attributed cause of a failed answer, else what the answer shows by itself, with the reason."""
    if attributed is not None:
        return attributed["cause"], _BECAUSE[attributed["cause"]]
    if answer.get("error"):
        return "error", f"the call failed: {answer['error']}"
    if answer.get("refused"):
        return "refusal", _BECAUSE["refusal"]
    return "unsure", "no cause was attributed: the answer was not judged, or it counts as correct"


def _with_lost_evidence(answers: Sequence[QuestionLoss], pieces: Sequence[QuestionLoss]) -> list[QuestionLoss]:
    """Explain an answer that failed for want of evidence by what happened to that evidence."""
    reasons = {piece.query_id: piece for piece in reversed(pieces)}
    return [
        replace(answer, cause=reason.cause, explanation=reason.explanation, displaced_by=reason.displaced_by)
        if answer.cause in _OF_EVIDENCE and (reason := reasons.get(answer.query_id))
        else answer
        for answer in answers
    ]


def _paired_values(run: RunTables, configuration: str, values: pd.DataFrame, metric: str, condition: str = RETRIEVED) -> pd.DataFrame:
    """Return the values of a metric by question: `before` from a baseline's `values`, `after` from a run. NaN where one is missing."""
    sides = {"before": values, "after": question_values(run, configuration)}
    columns = {
        name: table[(table["metric"] == metric) & (table["condition"] == condition)].set_index("query_id")["value"].astype("float64")
        for name, table in sides.items()
    }
    return pd.DataFrame(columns).reindex(run.questions["query_id"])


def _severity(lost: QuestionLoss) -> tuple[float, bool, int, str, str]:
    """Order by the largest drop, then what is not among the hits, then what ranked best."""
    return -lost.drop, lost.rank_after > 0, lost.rank_before or _SHOWN + 1, lost.query_id, lost.missing
