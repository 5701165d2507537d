"""The sentence that recommends, for each kind of result. A claim in it follows from a test that is corrected for all comparisons."""

from collections.abc import Callable, Mapping

from workbench.core.text.formatting import capitalised, listed, plural
from workbench.measures.statistics.verdict import Reason
from workbench.report.analysis.decision import Basis, ResultKind, RunDecision, differing_costs, members_with
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.parts import PartEffect
from workbench.report.analysis.setting_names import setting_columns, short_name
from workbench.report.analysis.standings import Standing
from workbench.report.sentences import unaccepted_drafts
from workbench.report.topics.decision.phrases import (
    MOST_NAMED,
    called,
    gains,
    in_words,
    part_text,
    questions_of,
    scope,
    things,
    unranked_reason,
)
from workbench.report.topics.retrieval.parts import effect_subject

# The recommendation of a setting by stage and kind. Other settings are recommended by their short name.
_ADVICE = {
    ("chunking", "fixed"): "Split into pieces of {size} tokens",
    ("chunking", "markdown"): "Split at headings",
    ("chunking", "sentence"): "Split between sentences",
    ("chunking", "whole"): "Keep documents whole",
    ("retrieval", "dense"): "Search with vectors",
    ("retrieval", "bm25"): "Search with BM25",
    ("retrieval", "hybrid"): "Search with vectors and BM25 fused",
}


def _winner(decision: RunDecision) -> str:
    findings, use = decision.findings, decision.use
    assert findings.verdict
    assert use
    others = len(findings.verdict.ranked) - 1
    than = "the other one" if others == 1 else f"each of the other {in_words(others)}"
    return f"Use {called(findings, use)}. It {gains(findings)} than {than}{scope(findings)}."


def _tied(decision: RunDecision) -> str:
    findings, verdict, use = decision.findings, decision.findings.verdict, decision.use
    assert verdict
    assert use
    named, questions = called(findings, use), questions_of(findings)
    if decision.part is not None:
        return f"{_advised(findings, decision.part, use)} {_among_alike(decision, decision.part)}"
    others = len(verdict.best) - 1
    if decision.basis is Basis.BASELINE:
        return f"Keep {named}, the baseline. {questions} do not show that any other configuration is better."
    rest = f"{in_words(others)} other{'s' if others > 1 else ''}"
    if decision.shown_better and decision.other is findings.standings.baseline:
        return f"Use {named}. It {gains(findings)} than the baseline{scope(findings)}; {rest} may be as good."
    return f"Start with {named}, which has the best score. {questions} show no difference between it and {_others(findings, use)}."


def _others(findings: Findings, use: Standing) -> str:
    """The other members of the tie set: by name if they are few."""
    names = [short_name(findings, name) for name in findings.verdict.best if name != use.name] if findings.verdict else []
    return listed(names) if len(names) < MOST_NAMED else f"{in_words(len(names))} others"


def _advised(findings: Findings, part: PartEffect, use: Standing) -> str:
    """Recommend the alternative of a part, with the name of the configuration in brackets."""
    settings = findings.configurations_settings[use.name].get(part.stage) or {}
    text = _ADVICE.get((part.stage, str(settings.get("kind"))))
    advice = text.format(**{"size": "", **settings}) if text else f"Use {part_text(findings, part)}"
    titled = " with titles added" if settings.get("enrich") else ""
    return f"{advice}{titled} ({use.name})."


def _among_alike(decision: RunDecision, part: PartEffect) -> str:
    """Say that the members of the tie set with the part are not shown to differ."""
    findings, use = decision.findings, decision.use
    assert use
    members, questions = decision.members, questions_of(findings)
    if len(members) == 1 and len(members_with(findings, part)) == 1:
        return f"It is the only configuration with it that may be best, by {questions}."
    shown = "".join(f" {capitalised(f'{effect_subject(findings, other)} is {other.verdict}')}." for other in decision.deciding)
    if len(members) == 1:
        return shown.strip()
    varying = [column for column in setting_columns(findings) if len({column.texts.get(name) for name in members}) > 1]
    if len(varying) != 1 or not all(sides := list(dict.fromkeys(varying[0].texts.get(name, "") for name in members))):
        return f"{questions} show no difference between it and {in_words(len(members) - 1)} more that have it.{shown}"
    mine = varying[0].texts[use.name]
    less = f", and {mine} {_costs_less(decision)}" if decision.expense and decision.expense.times > 0 else ""
    return f"{questions} show no difference between {listed([mine, *(side for side in sides if side != mine)], MOST_NAMED)}{less}.{shown}"


def _equivalent(decision: RunDecision) -> str:
    findings, use = decision.findings, decision.use
    assert findings.verdict
    assert use
    others = [name for name in findings.verdict.best if name != use.name]
    named = short_name(findings, others[0]) if len(others) == 1 else f"the other {in_words(len(others))} that may be best"
    return f"Use {called(findings, use)}. It is equivalent to {named} here and {_costs_less(decision)}."


def _costs_less(decision: RunDecision) -> str:
    expense = decision.expense
    if expense is None:
        return "has the best score"
    if expense.times > 0:
        return "costs far less" if expense.times >= 10 else "costs less"
    lower = [cost for cost in differing_costs(expense) if expense.own.costs[cost] < expense.other.costs[cost]]
    return "costs less" if lower and expense.times == 0 else "is not shown to cost more" if expense.times == 0 else "takes longer"


def _identical(decision: RunDecision) -> str:
    findings, verdict, use = decision.findings, decision.findings.verdict, decision.use
    assert verdict
    assert use
    others = listed([short_name(findings, name) for name in verdict.best if name != use.name], MOST_NAMED)
    unread = _unread(findings)
    less = "" if unread else f" and {_costs_less(decision)}"
    first = f"{called(findings, use)} has the same {findings.primary} as {others} on every question{less}."
    return f"{first}{unread}" if unread else f"Use any: {first}"


def _unread(findings: Findings) -> str:
    return " They differ only in how they answer: choose a metric of answers as primary." if differ_in_answers(findings) else ""


def differ_in_answers(findings: Findings) -> bool:
    """Check that the tie set differs only in how it answers, which a metric of retrieval does not see."""
    settings = [dict(findings.configurations_settings[name]) for name in (findings.verdict.best if findings.verdict else ())]
    retrieved = [{stage: value for stage, value in each.items() if stage not in ("context", "answering")} for each in settings]
    alike = all(each == retrieved[0] for each in retrieved) and any(each != settings[0] for each in settings)
    return alike and not findings.primary.of_answers


def _few(decision: RunDecision) -> str:
    findings, verdict = decision.findings, decision.findings.verdict
    assert verdict
    several = f"these {in_words(len(verdict.ranked))} configurations"
    keep = f" Keep {called(findings, findings.baseline)} meanwhile." if findings.baseline else ""
    asked = f"{questions_of(findings)} about {plural(verdict.clusters, 'document')}"
    if verdict.reason is not Reason.IDENTICAL:
        return f"Do not decide yet. {asked} cannot tell {several} apart.{keep}"
    alike = several if len(verdict.best) == len(verdict.ranked) else f"the {in_words(len(verdict.best))} configurations that may be best"
    each = " on each" if verdict.n > 1 else ""
    return f"Do not decide yet. {asked} cannot tell {alike} apart: their {findings.primary} is the same{each}.{_unread(findings)}{keep}"


def _preview(decision: RunDecision) -> str:
    return f"Do not decide yet: {unaccepted_drafts(decision.findings)}."


def _missing(decision: RunDecision) -> str:
    findings, verdict = decision.findings, decision.findings.verdict
    assert verdict
    unscored = {each.name: each.means[str(findings.primary)].unscored for each in findings.standings.ranked}
    lost = [f"{plural(unscored[name], 'unscored question')} of {short_name(findings, name)}" for name in verdict.ranked if unscored[name]]
    could = listed([short_name(findings, name) for name in verdict.best if name != verdict.ranked[0]], MOST_NAMED)
    leads = called(findings, verdict.ranked[0])
    return f"Do not decide yet. {leads} has the best score, but {listed(lost, MOST_NAMED)} could put {could} level with it."


def _alone(decision: RunDecision) -> str:
    findings, verdict = decision.findings, decision.findings.verdict
    assert verdict
    return f"{called(findings, verdict.ranked[0])} is the only configuration that is ranked, so there is nothing to choose from."


def _unranked(decision: RunDecision) -> str:
    findings = decision.findings
    if decision.failed and not findings.names:
        return f"Fix {things(len(decision.failed))} first: {_failing(decision)}, so nothing can be ranked."
    return f"Nothing can be ranked: {unranked_reason(findings)}."


def _failing(decision: RunDecision) -> str:
    many, reasons = len(decision.findings.failures), len(decision.failed)
    names = [group[0].short for group in decision.failed if len(group) == 1]
    if reasons == len(names) == 1:
        return f"{names[0]} fails"
    return f"{in_words(many)} configurations fail for {in_words(reasons)} reason{'s' if reasons > 1 else ''}"


def _incomplete(decision: RunDecision) -> str:
    hidden, causes = decision.hidden, len(decision.failed)
    parts = [_failing(decision)] if causes else []
    if hidden:
        why = "reads only part of its text" if hidden.beyond_window else "has a value for too few questions"
        parts.append(f"the best score belongs to {short_name(decision.findings, hidden.name)}, which {why}")
    return f"Fix {things(causes + bool(hidden))} first: {', and '.join(parts)}."


HEADLINES: Mapping[ResultKind, Callable[[RunDecision], str]] = {
    ResultKind.UNRANKED: _unranked,
    ResultKind.DRAFTS: _preview,
    ResultKind.INCOMPLETE: _incomplete,
    ResultKind.ALONE: _alone,
    ResultKind.FEW: _few,
    ResultKind.IDENTICAL: _identical,
    ResultKind.EQUIVALENT: _equivalent,
    ResultKind.MISSING: _missing,
    ResultKind.TIED: _tied,
    ResultKind.WINNER: _winner,
}
