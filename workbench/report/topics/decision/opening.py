"""The decision as the first screen of the page, the overview of the notebook, lines of the terminal and Markdown."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from workbench.core.text.formatting import NONE, capitalised, count, listed, middle_cut, number, plural, share, signed
from workbench.measures.statistics.verdict import Reason
from workbench.report.analysis.causes import explains_text
from workbench.report.analysis.decision import ResultKind, RunDecision, decide
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.ranking import RankingRow, RankStatus, ScoreAxis, best_unranked, ranking_rows, score_axis
from workbench.report.analysis.setting_names import short_name
from workbench.report.analysis.standings import Mean
from workbench.report.analysis.values import holding_half
from workbench.report.model import Badge, Bar, Block, ExcerptRow, Opening, RankingExcerpt
from workbench.report.sentences import (
    about_dataset,
    about_primary,
    about_trust,
    beside_verdict,
    delivery_notes,
    screened_sentence,
    time_text,
    uncovered_sentence,
    window_note,
)
from workbench.report.topics.decision.facts import facts
from workbench.report.topics.decision.headline import HEADLINES
from workbench.report.topics.decision.next_step import next_step
from workbench.report.topics.decision.phrases import bounds
from workbench.report.topics.retrieval.ranking import SYMBOLS, legend, reference_words, status_text
from workbench.report.topics.run.gate import gate_opening
from workbench.report.topics.topic import Topic

_CHIPS: Mapping[ResultKind, tuple[str, str]] = {
    ResultKind.UNRANKED: ("Nothing is ranked", "alert"),
    ResultKind.DRAFTS: ("A preview", "watch"),
    ResultKind.INCOMPLETE: ("{missing} of {all} configurations are missing from the ranking", "alert"),
    ResultKind.ALONE: ("One configuration", "steady"),
    ResultKind.FEW: ("Too few {few}", "watch"),
    ResultKind.IDENTICAL: ("The same values", "better"),
    ResultKind.EQUIVALENT: ("Equivalent within ±{smallest}", "better"),
    ResultKind.MISSING: ("Unscored questions could change it", "watch"),
    ResultKind.TIED: ("No single winner · {best} may be best", "level"),
    ResultKind.WINNER: ("Winner", "better"),
}

_MOST, _MOST_FAILED, _LONGEST_ERROR = 10, 2, 105
# Statuses that look like another one.
_ALIKE = {RankStatus.EQUIVALENT: "best", RankStatus.OUTSIDE: "behind", RankStatus.SCREENED: "unranked"}


def render(decision: RunDecision) -> list[Block]:
    """Show the whole decision."""
    return [opening(decision)]


def opening(decision: RunDecision, *blocks: Block | None) -> Opening:
    """Put the decision into words, followed by blocks."""
    findings = decision.findings
    chips, gate = [chip(decision)], gate_opening(findings)
    sentence = HEADLINES[decision.kind](decision)
    if gate:
        outcome = findings.table("gate")["outcome"].tolist()
        tone = "alert" if "fail" in outcome else "watch" if "undecided" in outcome else "better"
        chips = [Badge(f"Gate: {'fail' if tone == 'alert' else 'undecided' if tone == 'watch' else 'pass'}", tone), *chips]
        sentence = f"{gate[0]} {sentence}"
    return Opening(
        sentence,
        chips,
        metric=str(findings.primary),
        lines=[f"is {findings.primary.words}."],
        facts=[fact for fact in facts(decision) if fact],
        step=next_step(decision),
        blocks=[block for block in blocks if block],
        notes=_notes(decision),
    )


def about(findings: Findings) -> str:
    """Describe the data beside the name of the run."""
    data, decision = findings.dataset, decide(findings)
    asked = data["queries"] - data["unanswerable"]
    if decision.shown is not None:
        mean = decision.shown.means[str(findings.primary)]
        asked = mean.n + mean.unscored
    evidence = " with evidence" if explains_text(findings) else ""
    documents = f", about {plural(findings.verdict.clusters, 'document')}" if findings.verdict and decision.kind is ResultKind.FEW else ""
    parts = [str(data["name"]), plural(data["documents"], "document"), f"{plural(asked, 'question')}{evidence}{documents}"]
    return " · ".join([*parts, plural(decision.configurations, "configuration")])


def chip(decision: RunDecision) -> Badge:
    """The kind of the decision in a few words."""
    findings, verdict = decision.findings, decision.findings.verdict
    text, tone = _CHIPS[decision.kind]
    ranked = len(verdict.ranked) if verdict else 0
    few = "documents" if verdict and verdict.reason is Reason.FEW_DOCUMENTS else "questions"
    best = len(verdict.best) if verdict else 0
    values = {
        "best": f"all {ranked}" if best == ranked else f"{best} of {ranked}",
        "smallest": number(findings.smallest_difference),
        "few": few,
    }
    missing = len(findings.failures) + len(findings.standings.windowed) + len(findings.standings.uncovered)
    return Badge(text.format(**values, missing=missing, all=decision.configurations), tone)


def _notes(decision: RunDecision) -> list[str]:
    """Warn of what a reader must know beside the numbers."""
    findings, data = decision.findings, decision.findings.dataset
    notes = [*beside_verdict(findings, findings.verdict), *delivery_notes(findings), *about_trust(findings)]
    if not (findings.primary.tokens or findings.primary.of_answers):
        notes.append(about_primary(findings))
    if data["missing"] or data["repeated"] or findings.unread:
        notes.append(about_dataset(findings))
    if findings.standings.uncovered:
        notes.append(f"{capitalised(uncovered_sentence(findings))}.")
    if findings.standings.windowed:
        cut = listed([f"{short_name(findings, each.name)} ({window_note(each)})" for each in findings.standings.windowed], 2)
        notes.append(f"Not ranked: {cut}.")
    notes += _judged(decision)
    if findings.unbased:
        notes.append(f"The baseline {findings.unbased} cannot be compared, so all pairs are.")
    if findings.screened and findings.screened.dropped:
        notes.append(f"{screened_sentence(findings.screened)}")
    half = holding_half(findings, str(findings.primary))
    if half is not None:
        held = f"{plural(half, 'document')} {'holds' if half == 1 else 'hold'} half of the questions and so {'decides' if half == 1 else 'decide'} most"
        notes.append(f"{capitalised(held)}; average: documents in the experiment gives all documents equal weight.")
    return notes


def _judged(decision: RunDecision) -> list[str]:
    """Bound the difference of the two compared under complete judgements, if they have different shares of judged documents."""
    pair, bounds = decision.contrast, decision.bounds
    if pair is None or pair.judged is None or len(set(pair.judged)) == 1:
        return []
    a, b = (short_name(decision.findings, side.winner) for side in (pair.a, pair.b))
    judged = f"Of the documents that {a} and {b} retrieved, {' and '.join(share(part, 1) for part in pair.judged)} are judged"
    if bounds is None or math.isnan(bounds.low):
        return [f"{judged}: judgements of the rest can change their difference."]
    rest = "if the rest were judged, each either relevant with grade 1 or not, their difference would be between"
    return [f"{judged}; {rest} {signed(bounds.low)} and {signed(bounds.high)}."]


def excerpt(decision: RunDecision) -> RankingExcerpt | None:
    """Return the first rows: a better configuration that is not ranked, the ranked ones, and the failed ones by cause. None without a row."""
    findings, rows = decision.findings, ranking_rows(decision.findings)
    failed = decision.failed[:_MOST_FAILED]
    chosen = _chosen(decision, rows, _MOST - len(failed))
    if not chosen and not failed:
        return None
    axis = score_axis(findings, chosen)
    reference = next((row for row in rows if row.reference and row.mean), None)
    phrases = legend(findings, chosen)
    phrases += ["for other questions about these documents"] if findings.verdict and findings.verdict.conditional else []
    named = {row.name for group in (chosen, *failed) for row in group}
    left = Counter(row.status for row in rows if row.name not in named)
    ticks = [(axis.at(tick), number(tick, axis.digits)) for tick in axis.ticks]
    return RankingExcerpt(
        axis=f"{findings.primary.quantity}, 95 % interval",
        compared="" if not reference else "against the baseline" if reference_words(findings) == "baseline" else "against the best ranked",
        ticks=ticks if chosen else [],
        rows=[*(_row(decision, row, axis) for row in chosen), *(_failed(group) for group in failed)],
        legend=" · ".join(phrases),
        reference=axis.at(reference.mean.value) if reference and reference.mean else None,
        more=listed([f"{count(many)} more {status.value}" for status, many in left.items()]) if left else "",
    )


def _chosen(decision: RunDecision, rows: Sequence[RankingRow], most: int) -> list[RankingRow]:
    """A better configuration that is not ranked, then the ranked ones, with the recommended one, or else the first of those not ranked."""
    hidden = best_unranked(decision.findings)
    ranked = [row for row in rows if row.place is not None]
    first = ([hidden] if hidden else []) + ranked
    used = [row for row in first[most:] if decision.use and row.name == decision.use.name]
    chosen = [*first[: most - len(used)], *used]
    others = [row for row in rows if row.status is RankStatus.UNRANKED and row is not hidden]
    return chosen if ranked else [*chosen, *others[: most - len(chosen)]]


def _row(decision: RunDecision, row: RankingRow, axis: ScoreAxis) -> ExcerptRow:
    findings, mean, costed, pair = decision.findings, row.mean, row.costed, row.pair
    status = status_text(findings, row)
    time = NONE if costed is None else time_text(costed.costs["p50"], costed.ranges["p50"], " ms").replace(" to ", "–")
    return ExcerptRow(
        kind=_ALIKE.get(row.status, row.status.name.lower()),
        symbol=SYMBOLS[row.status],
        name=row.short,
        full=row.name,
        # There is no heading here that says what is not ranked.
        status=f"not ranked: {status}" if row.status is RankStatus.UNRANKED else status,
        place=NONE if row.place is None else count(row.place),
        score=number(mean.value) if mean else NONE,
        difference=reference_words(findings) if row.reference else signed(pair.difference.value) if pair else "",
        bounds=bounds(pair) if pair and decision.kind is not ResultKind.DRAFTS else "",
        time=time.replace(" (one measurement)", ""),
        marks=_marks(mean, axis) if mean is not None and math.isfinite(mean.value) else None,
        used=decision.use is not None and row.name == decision.use.name,
    )


def _marks(mean: Mean, axis: ScoreAxis) -> Bar:
    low, high = (mean.low, mean.high) if math.isfinite(mean.low) else (mean.value, mean.value)
    return Bar(axis.at(low), axis.at(mean.value), axis.at(high))


def _failed(group: Sequence[RankingRow]) -> ExcerptRow:
    short = middle_cut(group[0].error, _LONGEST_ERROR)
    names = f"{group[0].short}{f' and {count(len(group) - 1)} more' if len(group) > 1 else ''}"
    return ExcerptRow("failed", SYMBOLS[RankStatus.FAILED], names, ", ".join(row.name for row in group), f"failed: {short}", NONE)


def lines(decision: RunDecision) -> list[str]:
    """Give the decision in the terminal."""
    return ["", *opening(decision).text.split("\n")]


decision = Topic("decision", "Decision", "Decision", decide, render, views=(), lines=lines)
