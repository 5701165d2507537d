"""The four answers below the sentence: by how much, how sure, at what cost, what still fails, and those about what is not ranked."""

import math
from collections.abc import Sequence

from workbench.core.text.formatting import (
    amount,
    capitalised,
    count,
    listed,
    middle_cut,
    number,
    p_value,
    plural,
    rounded,
    share,
    signed,
    two_digits,
)
from workbench.measures.attribution.causes import CAUSES, EVIDENCE_CAUSES
from workbench.measures.statistics.clusters import FEWEST_FOR_WINNER
from workbench.measures.statistics.effects import EffectReading
from workbench.measures.statistics.intervals import ALPHA
from workbench.measures.statistics.verdict import FEWEST_QUERIES, Verdict
from workbench.report.analysis.answer_values import answering
from workbench.report.analysis.causes import explains_text, failures_of, unrefused_answers
from workbench.report.analysis.decision import (
    MOST_TIMES_QUESTIONS,
    Expense,
    ResultKind,
    RunDecision,
    differing_costs,
    leading_part,
)
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.judges import OVERLAP
from workbench.report.analysis.labels import judge_of
from workbench.report.analysis.parts import NONE, PartEffect
from workbench.report.analysis.setting_names import setting_columns, short_name
from workbench.report.analysis.standings import CostedConfiguration, shared_means
from workbench.report.analysis.values import FEWEST_QUERIES as FEWEST_IN_SLICE
from workbench.report.model import Fact
from workbench.report.sentences import time_text
from workbench.report.topics.decision.phrases import MOST_NAMED, bounds, changed, gains, in_words, part_text, scope, unranked_reason
from workbench.report.topics.retrieval.parts import effect_subject
from workbench.report.topics.retrieval.questions import slice_name

_BECAUSE = {cause.name: cause.because for cause in CAUSES}
_LONGEST_ERROR = 150
# A top score that is less flattered than this needs no warning.
_LUCK = 0.005


def facts(decision: RunDecision) -> Sequence[Fact | None]:
    """The four answers, which depend on the kind of the result."""
    if decision.kind in (ResultKind.INCOMPLETE, ResultKind.UNRANKED):
        services = _services(decision)
        facts = [_what_failed(decision), _what_is_not_ranked(decision), _among_others(decision), services, _fails(decision)]
        return [fact for fact in (*facts, _cost(decision)) if fact][:4]
    return [_how_much(decision), _how_sure(decision), _cost(decision), _fails(decision)]


def _bounds(decision: RunDecision) -> str:
    known = bounds(decision.margin) if decision.margin and decision.kind is not ResultKind.DRAFTS else ""
    return f" {known}" if known else ""


def _reference(decision: RunDecision) -> str:
    findings, other = decision.findings, decision.other
    assert other
    role = "the baseline " if other.name == findings.baseline else ""
    return f"{role}{short_name(findings, other.name)}"


def _how_much(decision: RunDecision) -> Fact:
    findings, margin, shown, other = decision.findings, decision.margin, decision.shown, decision.other
    if shown is None or margin is None or other is None:
        mean = shown.means[str(findings.primary)] if shown else None
        return Fact(
            "What does it score?",
            number(mean.value) if mean else "–",
            f"{mean.bounds()}, over {plural(mean.n, 'question')}" if mean else "",
        )
    own, beside = shared_means(findings, str(findings.primary), shown.name, other.name)
    values = f"{number(own)} against {number(beside)}"
    value = margin.difference.value
    if decision.part is not None:
        return _part_size(decision, decision.part, f"{_reference(decision)}: {signed(value)}{_bounds(decision)}{_unshown(decision)}")
    if margin.identical:
        return Fact("By how much?", "+0.000", f"{_reference(decision)} has the same value on every question: {number(own)}")
    text = (
        f"{changed(findings, value)} with {short_name(findings, shown.name)} than with {_reference(decision)}{_bounds(decision)}: {values}"
    )
    if decision.kind is ResultKind.EQUIVALENT:
        chosen = "The experiment says that" if "smallest_difference" in findings.manifest["experiment"] else "By default,"
        margin_text = f"{chosen} differences below {number(findings.smallest_difference)} do not matter"
        return Fact("By how much?", signed(value), f"{text}. {margin_text}")
    if decision.kind in (ResultKind.FEW, ResultKind.DRAFTS):
        return Fact("By how much?", signed(value), f"{text}. Chance alone can produce such a difference")
    small = abs(value) < findings.smallest_difference and decision.shown_better
    less = f", less than the {number(findings.smallest_difference)} that matters" if small else ""
    return Fact("By how much?", signed(value), f"{text}{less}{_unshown(decision)}")


def _unshown(decision: RunDecision) -> str:
    return "" if decision.shown_better else ", not shown to differ"


def _part_size(decision: RunDecision, part: PartEffect, beside: str) -> Fact:
    findings, effect = decision.findings, part.effect.comparison
    mine = part_text(findings, part)
    reference = "without it" if part.reference == NONE else f"with {part_text(findings, part, reference=True)}"
    over = f", averaged over {plural(len(part.pairs), 'pair')} of configurations" if len(part.pairs) > 1 else ""
    text = f"{changed(findings, effect.difference.value)} with {mine} than {reference} {bounds(effect)}{over}"
    return Fact("By how much?", signed(effect.difference.value), f"{text}. Against {beside}")


def _how_sure(decision: RunDecision) -> Fact:
    findings, verdict, margin = decision.findings, decision.findings.verdict, decision.margin
    assert verdict
    question, kind = "How sure?", decision.kind
    if kind is ResultKind.DRAFTS:
        return Fact(question, "not at all", "no claim rests on drafts, so nothing is tested")
    if kind is ResultKind.ALONE:
        return Fact(question, "no test", f"a test needs two configurations. {_interval_words(decision)}".strip())
    if kind is ResultKind.FEW:
        return Fact(question, "not at all", _too_few(decision))
    if kind is ResultKind.IDENTICAL:
        return Fact(question, "no test", "there is no difference to test, and more questions of this kind would show none")
    if kind is ResultKind.EQUIVALENT:
        within = f"that the difference is below {number(findings.smallest_difference)} in either direction{scope(findings)}"
        return Fact(question, "95 %", f"{within}. It is not shown to be zero")
    if kind is ResultKind.MISSING:
        return Fact(question, "open", "the missing values could change the order: the best and the worst possible ones were tried")
    parts = []
    if decision.part is not None:
        answer = p_value(decision.part.effect.comparison.p_adjusted)
        others = [
            f"{p_value(other.effect.comparison.p_adjusted)} {'for' if other.effect.reading is EffectReading.GAIN else 'against'} {effect_subject(findings, other)}"
            for other in decision.deciding
        ]
        parts.append(f"for {listed([part_text(findings, decision.part), *others])}, corrected for all effects of parts")
        column = next((column for column in setting_columns(findings) if column.stage == decision.part.stage), None)
        compared = {part_text(findings, decision.part), part_text(findings, decision.part, reference=True)}
        open_sides = dict.fromkeys(column.texts[name] for name in verdict.best) if column else ()
        if unlike := [text for text in open_sides if text and text not in compared]:
            parts.append(f"{listed(unlike, MOST_NAMED)} may be as good")
        parts.append("the other settings are open")
    elif kind is ResultKind.WINNER:
        answer = "95 %" if margin is None or margin.p_adjusted > ALPHA else p_value(margin.p_adjusted)
        parts.append(_winner_certainty(decision))
    else:
        answer = "open"
        every = len(verdict.best) == len(verdict.ranked)
        pairs = (
            f"{_all(len(verdict.ranked)) if every else f'{len(verdict.best)} of {len(verdict.ranked)}'} may be best{_corrected(verdict)}"
        )
        parts += [pairs, *([_needed(decision)] if _needed(decision) else [])]
    return Fact(
        question,
        answer,
        f"{'. '.join(capitalised(part) if place else part for place, part in enumerate([*parts, *_luck(decision)]))}{scope(findings)}",
    )


def _all(number: int) -> str:
    return "both" if number == 2 else f"all {number}"


def _interval_words(decision: RunDecision) -> str:
    mean = decision.shown.means[str(decision.findings.primary)] if decision.shown else None
    covers = mean is not None and not math.isnan(mean.low)
    return f"The interval covers other questions like these with 95 % confidence{scope(decision.findings)}" if covers else ""


def _winner_certainty(decision: RunDecision) -> str:
    verdict, margin = decision.findings.verdict, decision.margin
    assert verdict
    best = f"with 95 % confidence it is the best of {in_words(len(verdict.ranked))}"
    if margin is None:
        return best
    if margin.p_adjusted > ALPHA:
        return f"that it is the best of {in_words(len(verdict.ranked))}; against {_reference(decision)} alone, two-sided, {p_value(margin.p_adjusted)}"
    tests = len(verdict.comparisons)
    corrected = f", corrected for {plural(tests, 'comparison')}" if tests > 1 else ""
    return f"against {_reference(decision)}{corrected}. {capitalised(best)}"


def _corrected(verdict: Verdict) -> str:
    pairs = len(verdict.pairs)
    return f", by tests corrected for all {count(pairs)} pairs" if pairs > 1 else ""


def _luck(decision: RunDecision) -> list[str]:
    """How often the leader came first in splits of the documents, and its score without the luck of the highest of several."""
    findings, verdict, shown = decision.findings, decision.findings.verdict, decision.shown
    if verdict is None or verdict.selected is None or shown is None or not decision.best_is_shown or len(verdict.ranked) < 2:
        return []
    selected, halves = verdict.selected, verdict.selected.chosen.get(shown.name, 0.0)
    often = "in every one of 200 splits" if halves > 0.9999 else f"in {share(halves, 1)} of 200 splits"
    end = "top" if findings.primary.higher_is_better else "lowest"
    luck = [f"expect about {number(selected.value, 2)}: the {end} score is partly luck"] if abs(selected.optimism) >= _LUCK else []
    return [f"it came first {often} of the documents", *luck]


def _needed(decision: RunDecision) -> str:
    """The difference that the questions show, or how many would show the smallest that matters, if that is not far more than there are."""
    verdict = decision.findings.verdict
    power = verdict.power if verdict else None
    if verdict is None or power is None or not math.isfinite(power.difference):
        return ""
    shows = f"these questions show differences from about {number(power.difference, 2)}"
    if verdict.n < power.needed <= MOST_TIMES_QUESTIONS * verdict.n:
        return f"{shows}; about {count(rounded(power.needed))} in all would show {number(power.smallest)}"
    return shows


def _too_few(decision: RunDecision) -> str:
    verdict = decision.findings.verdict
    assert verdict
    power = verdict.power
    shown = f". These show only differences from about {number(power.difference, 2)}" if power and 0 < power.difference < math.inf else ""
    return f"a winner needs {FEWEST_QUERIES} questions about {FEWEST_FOR_WINNER} documents{shown}"


def _cost(decision: RunDecision) -> Fact | None:
    expense, findings = decision.expense, decision.findings
    question = "At what cost?"
    if expense is None:
        own = findings.price(decision.shown.name) if decision.shown else None
        if own is None:
            return None
        once, amounts = own.costs["p50"], _amounts(findings, own)
        if math.isnan(once):
            return Fact(question, "not timed", ", ".join(amounts)) if amounts else None
        return Fact(question, time_text(once, own.ranges["p50"], " ms"), ", ".join(["a question", *amounts]))
    shown, other = (short_name(findings, each.name) for each in (expense.own, expense.other))
    differ = "; ".join(_cost_words(expense, cost) for cost in differing_costs(expense))
    if not expense.timed:
        return Fact(question, "not timed", differ or "no time of both is known")
    mine, theirs = (time_text(each.costs["p50"], each.ranges["p50"]) for each in (expense.own, expense.other))
    text = f"{mine} ms a question with {shown}, {theirs} with {other}{f'; {differ}' if differ else ''}"
    if expense.times:
        return Fact(question, f"{_times(expense.times)} {'faster' if expense.times > 0 else 'slower'}", text)
    return Fact(question, "about as fast", f"{text}. The times are not shown to differ")


def _cost_words(expense: Expense, cost: str) -> str:
    own, other = expense.own.costs[cost], expense.other.costs[cost]  # type: ignore[index]  # one of the costs
    unit = {"encoded": "tokens to encode", "index": "MB of index", "delivered": "tokens delivered"}[cost]
    text = amount if cost == "index" else count
    return (
        f"nothing to encode against {text(other)} tokens" if cost == "encoded" and own == 0 else f"{text(own)} {unit} against {text(other)}"
    )


def _amounts(findings: Findings, own: CostedConfiguration) -> list[str]:
    encoded = own.costs["encoded"]
    parts = list[str]()
    if not math.isnan(encoded):
        parts.append(f"{count(encoded)} tokens to encode" if encoded else "nothing to encode")
    chunks = findings.facts[own.name]["chunks"]
    return [*parts, *([plural(chunks, "chunk")] if chunks is not None and not math.isnan(chunks) else [])]


def _fails(decision: RunDecision) -> Fact | None:
    findings, shown, missed = decision.findings, decision.shown, decision.misses
    question = "What still fails?"
    if shown is None or missed is None:
        return None
    named = f" with {short_name(findings, shown.name)}" if len(findings.names) > 1 else ""
    if findings.primary.of_answers and (failing := _failing_answers(decision, named)):
        return failing
    if not findings.primary.higher_is_better:
        return Fact(
            question, number(shown.means[str(findings.primary)].value), f"{findings.primary}{named} counts faults itself; lower is better"
        )
    if not missed.known:
        return Fact(question, "not known", f"{short_name(findings, shown.name)} does not say what it retrieved")
    target = "evidence" if explains_text(findings) else "a relevant document"
    answers = _failing_answers(decision, "")
    also = f". {answers.answer} {answers.text}" if answers else ""
    if not missed.causes:
        return Fact(
            question, f"0 of {count(missed.of)}", f"{'question misses' if missed.of == 1 else 'questions miss'} {target}{named}{also}"
        )
    (cause, (most, _)), *_ = missed.causes.items()
    missing = sum(many for many, _ in missed.causes.values())
    often = "" if missing == 1 else "each time " if most == missing else f"most often ({most}) "
    # Nobody sees how low a system ranks what it does not return.
    unseen = cause == "rank" and shown.name in decision.targets
    because = f"{often}because {'it is not among the hits that count' if unseen else _BECAUSE[cause]}"
    if missed.beyond_k:
        because += f"; {missed.beyond_k} have more than {findings.primary.k} relevant documents, and miss some in every ranking"
    verb = f"question{'' if missed.of == 1 else 's'} miss{'es' if missing == 1 else ''}"
    return Fact(question, f"{count(missing)} of {count(missed.of)}", f"{verb} {target}{named}, {because}{_weakest(decision)}{also}")


def _weakest(decision: RunDecision) -> str:
    findings, shown, missed = decision.findings, decision.shown, decision.misses
    if shown is None or missed is None or missed.weakest is None:
        return ""
    name, mean = missed.weakest
    sign = 1 if findings.primary.higher_is_better else -1
    worse = sign * (shown.means[str(findings.primary)].value - mean.value) > 0
    return (
        f"; of slices with {FEWEST_IN_SLICE} questions or more, the weakest is {slice_name(name)}, {number(mean.value)} {mean.bounds()}"
        if worse
        else ""
    )


def _failing_answers(decision: RunDecision, named: str) -> Fact | None:
    if decision.shown is None or decision.shown.name not in answering(decision.findings):
        return None
    failures = failures_of(decision.findings, decision.shown.name)
    if failures is None:
        # Without judges, only answers to unanswerable questions are known to fail.
        unrefused, of = unrefused_answers(decision.findings, decision.shown.name)
        verb = "question is" if of == 1 else "questions are"
        return (
            Fact("What still fails?", f"{count(unrefused)} of {count(of)}", f"unanswerable {verb} answered{named}") if unrefused else None
        )
    if not failures.failed:
        return None
    cause, most = failures.by_frequency[0]
    because = f"evidence is missing: {cause.because}" if cause in EVIDENCE_CAUSES else cause.because
    words = ", with correctness judged by shared words" if judge_of(decision.findings, "correctness") == OVERLAP else ""
    failed = f"{count(failures.failed)} of {count(failures.given)}"
    often = "" if failures.failed == 1 else "each time " if most == failures.failed else f"most often ({count(most)}) "
    verb = f"answer{'' if failures.given == 1 else 's'} fail{'s' if failures.failed == 1 else ''}"
    return Fact("What still fails?", failed, f"{verb}{named}{words}; {often}because {because}")


def _what_failed(decision: RunDecision) -> Fact | None:
    if not decision.failed:
        return None
    group, causes = decision.failed[0], len(decision.failed)
    error = middle_cut(group[0].error, _LONGEST_ERROR)
    first = f"{group[0].short}: " if causes > 1 or len(group) == 1 else ""
    return Fact(
        "What failed?", f"{count(len(decision.findings.failures))}, {in_words(causes)} cause{'s' if causes > 1 else ''}", f"{first}{error}"
    )


def _what_is_not_ranked(decision: RunDecision) -> Fact | None:
    findings, groups = decision.findings, decision.findings.standings
    without = [each for each in groups.ranked if not each.means[str(findings.primary)].n]
    kinds = [group for group in (groups.windowed, groups.uncovered, without) if group]
    if not kinds:
        return None
    best = ""
    if decision.hidden is not None:
        value = decision.hidden.means[str(findings.primary)].value
        best = f". {short_name(findings, decision.hidden.name)} has the best score of all, {number(value)}"
    causes = f"{in_words(len(kinds))} cause{'s' if len(kinds) > 1 else ''}"
    return Fact("What is not ranked?", f"{count(sum(map(len, kinds)))}, {causes}", f"{unranked_reason(findings)}{best}")


def _among_others(decision: RunDecision) -> Fact | None:
    findings, verdict = decision.findings, decision.findings.verdict
    if verdict is None:
        return None
    others = len(verdict.ranked)
    question = f"Among the other {count(others)}?" if others > 1 else "The other one?"
    best, metric = len(verdict.best), str(findings.primary)
    values = [standing.means[metric].value for standing in findings.standings.ranked if standing.name in verdict.best]
    outcome = decision.outcome
    if outcome is ResultKind.WINNER:
        return Fact(
            question,
            "a winner",
            f"{short_name(findings, verdict.ranked[0])} {gains(findings)} than each of the others{scope(findings)}: {number(values[0])}",
        )
    if outcome is ResultKind.ALONE:
        return Fact(question, number(values[0]), f"{short_name(findings, verdict.ranked[0])} has nothing to be compared with")
    if outcome is ResultKind.FEW:
        return Fact(question, "too few", _too_few(decision))
    if outcome is ResultKind.EQUIVALENT:
        return Fact(question, "equivalent", f"their differences are below {number(findings.smallest_difference)}")
    span = f"{number(values[0])} to {number(values[-1])}" if best > 1 else number(values[0])
    return Fact(question, "no winner", f"{best} may be best, {span}{_corrected(verdict)}{_leading_effect(findings)}")


def _leading_effect(findings: Findings) -> str:
    part = leading_part(findings)
    if part is None:
        return ""
    effect = part.effect.comparison
    than = "" if part.reference == NONE else f" over {part_text(findings, part, reference=True)}"
    gain = f"{signed(effect.difference.value)} {bounds(effect)}"
    return f"; {part_text(findings, part)} adds {gain}{than}, {p_value(effect.p_adjusted)}"


def _services(decision: RunDecision) -> Fact | None:
    findings, verdict, targets = decision.findings, decision.findings.verdict, decision.targets
    if not targets or verdict is None or len(targets) == len(findings.names):
        return None
    metric = str(findings.primary)
    means = {each.name: each.means[metric].value for each in findings.standings.finished}
    states = {
        "behind"
        if name in verdict.behind
        else "may be best"
        if name in verdict.best
        else "not ranked"
        if name not in verdict.ranked
        else "open"
        for name in targets
    }
    question = f"Your {in_words(len(targets))} services?" if len(targets) > 1 else "Your service?"
    values = listed([number(means[name]) for name in targets], 4)
    corrected = _corrected(verdict) if "behind" in states else ""
    best = f"{number(means[verdict.ranked[0]])} of {short_name(findings, verdict.ranked[0])}"
    return Fact(question, states.pop() if len(states) == 1 else "mixed", f"{values} against {best}{corrected}")


def _times(factor: float) -> str:
    return f"{count(two_digits(abs(factor)))} ×"
