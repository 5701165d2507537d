"""Check limits: floors of means, and retrieval unit tests, which limit the rank of a document."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import scipy

from workbench.core.errors import InputError
from workbench.core.text.formatting import interval, listed, meant, number, plural
from workbench.gate.gated import GatedConfiguration
from workbench.gate.rules import Floor, GateSettings, RetrievalTest, RuleResult, Subject
from workbench.measures.statistics.decisions import Decision, FloorTest, floor_test
from workbench.report.analysis.labels import METRICS_OF

_ROUNDING = 1e-9
_DIGITS = 3
# Standard errors in half a 95 % interval.
_TWO_SIDED = 1.959964


@dataclass(frozen=True, slots=True)
class _Corrected:
    """A mean of judgements that labels correct, with its 95 % interval for other questions and documents like these."""

    value: float
    low: float
    high: float
    labels: int


def floor_result(own: GatedConfiguration, floor: Floor, settings: GateSettings) -> RuleResult:
    """Check a limit. Raises InputError if it cannot be met, or if the run does not have the values."""
    subject, measure = floor.subject, own.measure(floor.subject)
    kind = floor.kind or settings.floor_kind or ("inference" if measure.of_answers else "specification")
    values = own.values(subject)
    own.require_scored(subject, values, settings.max_unscored, own.name)
    most = own.attainable(subject)
    if measure.higher_is_better and floor.limit > (most if not math.isnan(most) else 1.0 if measure.proportion else math.inf) + _ROUNDING:
        highest = number(1.0 if math.isnan(most) else most)
        raise InputError(f"{floor} cannot be met: at most {highest} is attainable on these questions", f"write a limit up to {highest}")
    if measure.proportion and not 0 <= floor.limit <= 1:
        raise InputError(f"{floor} cannot be met: {subject.metric} is between 0 and 1", "write a limit in this range")
    test = floor_test(
        values, own.clusters, floor.limit, inference=kind == "inference", proportion=measure.proportion, scale=own.scale(subject, values)
    )
    corrected = corrected_mean(own, subject) if kind == "inference" else None
    if corrected is not None:
        test = _with_correction(test, corrected, measure.higher_is_better)
    return RuleResult(
        rule=str(floor),
        kind=kind,
        metric=subject.metric,
        slice=subject.slice,
        condition=subject.condition,
        outcome=test.outcome,
        reason=_reason(test, kind, corrected),
        value=test.value,
        low=test.low,
        high=test.high,
        limit=floor.limit,
        p=test.p,
        n=test.n,
        clusters=test.clusters,
        unscored=test.unscored,
    )


def _reason(test: FloorTest, kind: str, corrected: _Corrected | None) -> str:
    if kind == "specification":
        return f"{number(test.value, _digits(test, test.value))} on these {plural(test.n, 'question')}{_unscored(test)}"
    digits = _digits(test, test.low, test.high)
    bounds = f"{number(test.value, digits)} {interval(test.low, test.high, digits)}"
    if corrected is not None:
        return f"{bounds}, corrected by {plural(corrected.labels, 'label')}, on {plural(test.n, 'question')}{_undecided(test)}"
    return f"{bounds} on {plural(test.n, 'question')}{_undecided(test)}{_unscored(test)}"


def _digits(test: FloorTest, *shown: float) -> int:
    """Return how many digits tell numbers from the limit, 3 if they are equal to it."""
    apart = [abs(value - test.limit) for value in shown if math.isfinite(value) and abs(value - test.limit) > _ROUNDING]
    return max(_DIGITS, *(math.ceil(-math.log10(distance)) for distance in apart)) if apart else _DIGITS


def _undecided(test: FloorTest) -> str:
    if test.outcome is not Decision.UNDECIDED:
        return ""
    if math.isnan(test.low):
        return f"; the questions are about {plural(test.clusters, 'document')}, too few for an interval"
    return "; the interval contains the limit"


def _unscored(test: FloorTest) -> str:
    return f"; {plural(test.unscored, 'question')} without a value counted at worst and at best" if test.unscored else ""


def corrected_mean(own: GatedConfiguration, subject: Subject) -> _Corrected | None:
    """Return the corrected mean of a judged metric, None without one. Only all questions of the condition that was labelled have one."""
    rows = own.run.of("corrected", own.name)
    rows = rows[(rows["scope"] == "mean") & (rows["metric"] == subject.metric) & (rows["target"] == "population")]
    task = next((task for task, metrics in METRICS_OF.items() if subject.metric in metrics), "")
    conditions = set(own.run.labels[own.run.labels["task"] == task]["condition"])
    if rows.empty or subject.slice != "all" or conditions != {subject.condition}:
        return None
    row = rows.iloc[0]
    return _Corrected(float(row["value"]), float(row["low"]), float(row["high"]), int(row["labels"]))


def _with_correction(test: FloorTest, corrected: _Corrected, higher_is_better: bool) -> FloorTest:
    """Decide by a corrected mean. Its p is that of a normal distribution with the error of the interval."""
    sign = 1 if higher_is_better else -1
    ends = sorted((sign * corrected.low, sign * corrected.high))
    passes, fails = ends[0] >= sign * test.limit, ends[1] < sign * test.limit
    error = (corrected.high - corrected.low) / (2 * _TWO_SIDED)
    p = float(scipy.special.ndtr(sign * (corrected.value - test.limit) / error)) if error > 0 else math.nan
    return replace(
        test,
        value=corrected.value,
        low=corrected.low,
        high=corrected.high,
        p=p,
        outcome=Decision.PASS if passes else Decision.FAIL if fails else Decision.UNDECIDED,
    )


_NAMED = 3


def retrieval_results(own: GatedConfiguration, test: RetrievalTest) -> Iterator[RuleResult]:
    """Check a retrieval unit test, for one question or for all of a slice.

    Raises InputError for an unknown question, for a question without a relevant document, and if `k` exceeds the hits of the configuration.
    """
    _require_depth(own, test)
    judged = own.run.table("judgements")[own.run.table("judgements")["relevance"] > 0]
    relevant = {str(name): sorted(set(map(str, rows))) for name, rows in judged.groupby("query_id", sort=False)["doc_id"]}
    hits = own.run.of("hits", own.name).sort_values("rank").drop_duplicates(["query_id", "doc_id"])
    ranked = {str(name): list(documents) for name, documents in hits.groupby("query_id", sort=False)["doc_id"]}
    corpus = set(own.run.documents["doc_id"])
    for name in _questions(own, test, relevant):
        wanted = [test.doc_id] if test.doc_id else relevant[name]
        documents = ranked.get(name, [])
        ranks = {doc: documents.index(doc) + 1 for doc in wanted if doc in documents}
        best = min(ranks, key=lambda doc: ranks[doc], default="")
        inside = bool(best) and ranks[best] <= test.k
        yield RuleResult(
            rule=str(replace(test, query_id=name)),
            kind="retrieval test",
            metric="",
            slice=test.slice,
            condition="retrieved",
            outcome=Decision.PASS if inside is not test.absent else Decision.FAIL,
            reason=f"{best} has rank {ranks[best]}" if best else _missing(wanted, corpus),
            limit=test.k,
            value=ranks[best] if best else math.nan,
            n=1,
            query_id=name,
        )


def _missing(wanted: Sequence[str], corpus: set[str]) -> str:
    absent = [name for name in wanted if corpus and name not in corpus]
    if absent:
        near = meant(absent[0], sorted(corpus)) if len(absent) == 1 else ""
        return f"{listed(absent, _NAMED)} {'are' if len(absent) > 1 else 'is'} not in the corpus{near}"
    return f"{listed(wanted, _NAMED)} {'are' if len(wanted) > 1 else 'is'} not among the hits"


def _questions(own: GatedConfiguration, test: RetrievalTest, relevant: Mapping[str, list[str]]) -> list[str]:
    """Return the questions of a test. Without a document, those that have a relevant one."""
    known = list(map(str, own.run.questions["query_id"]))
    if test.query_id:
        if test.query_id not in known:
            raise InputError(
                f"retrieval test: the run has no question {test.query_id!r}{meant(test.query_id, known)}", "look at questions.parquet"
            )
        if not test.doc_id and test.query_id not in relevant:
            raise InputError(f"retrieval test: {test.query_id} has no relevant document", "name a document")
        return [test.query_id]
    members = own.members(Subject("recall@5", test.slice))
    names = [name for name, inside in zip(known, members, strict=True) if inside and (test.doc_id or name in relevant)]
    if not names:
        raise InputError(f"retrieval test {test}: no question has a relevant document", "choose another slice")
    return names


def _require_depth(own: GatedConfiguration, test: RetrievalTest) -> None:
    """Raise InputError without hits, and if a document could be absent only because the hits end before rank k."""
    ranks = own.run.of("hits", own.name)["rank"]
    if ranks.empty:
        raise InputError(f"retrieval test {test}: {own.name} returned no hits", "check its answers with rules instead")
    if test.absent and test.k > ranks.max():
        raise InputError(f"retrieval test {test}: the run has {ranks.max()} hits of a question", f"write k up to {ranks.max()}")
