"""Failed answers as sentences: how many fail, and why."""

import math

from workbench.analysis.answers.causes import FailureCauses, answer_cause_meanings
from workbench.analysis.judging.failures import by_frequency, failed_share, failures_of, unrefused_answers
from workbench.analysis.judging.items import judge_of
from workbench.analysis.judging.judge_trust import OVERLAP
from workbench.attribution.causes import EVIDENCE_CAUSES, Cause
from workbench.context.conditions import GOLD, RETRIEVED
from workbench.core.formatting import capitalised, count, plural, share
from workbench.report.text.judges import CORRECTNESS_BY_OVERLAP
from workbench.results.run_tables import RunTables

# Causes that need no judge of correctness.
_WITHOUT_JUDGE = {"refusal", "unrefused"}
WHY = "Why do answers fail?"
# What the generator reads, after "from".
_CONTEXTS = {RETRIEVED: "what it retrieves", GOLD: "the evidence alone"}


def because(cause: Cause) -> str:
    """Complete "the answer fails …"."""
    if cause.layer == "judging":
        return "for no reason that shows"
    return f"because {'evidence is missing: ' if cause in EVIDENCE_CAUSES else ''}{cause.because}"


def failure_sentence(run: RunTables, failures: FailureCauses) -> str:
    """State how many answers of a configuration fail, and the most frequent cause."""
    name, context = failures.configuration, _CONTEXTS.get(failures.condition, f"contexts of the condition {failures.condition}")
    verb = "is" if failures.missing == 1 else "are"
    missing = f" {plural(failures.missing, 'answer')} {verb} missing and not counted." if failures.missing else ""
    if not failures.given:
        return f"{name} has no answer from {context}, so no failure is counted.{missing}"
    if not failures.failed:
        return f"No answer of {name} from {context} is known to fail, of {plural(failures.given, 'answer')}.{missing}"
    interval = failed_share(run, failures)
    bounds = f", 95 % interval {interval.bounds()}" if interval and math.isfinite(interval.low) else ""
    fraction = _fraction(failures)
    rate = f"{capitalised(fraction)} of {name} from {context} {_fails(failures)}"
    return f"{rate} ({share(failures.failed, failures.given)}{bounds}), {mostly(failures)}{_measured(run, failures)}.{missing}"


def mostly(failures: FailureCauses) -> str:
    """Name the most frequent cause and its number."""
    first, *others = by_frequency(failures)
    tied = [each for each in others if each.answers == first.answers]
    times = f"{'as often as any other cause' if tied else 'most often'} ({count(first.answers)}) " if others else "each time "
    return f"{times if failures.failed > 1 else ''}{because(first.cause)}"


def cause_sentences(run: RunTables, failures: FailureCauses) -> list[str]:
    """Describe each cause of a configuration's failed answers, the most frequent first."""
    meanings = answer_cause_meanings(run)
    return [
        f"{each.cause.name}, {count(each.answers)} of {count(failures.failed)} ({share(each.answers, failures.failed)}): {meanings[each.cause.name]}."
        for each in by_frequency(failures)
    ]


def decided_by(run: RunTables) -> str:
    """Say which judge decides that an answer is wrong, with its threshold. Empty if none does."""
    judge = judge_of(run, "correctness") if not run.answer_judgements.empty else ""
    least = (run.manifest.get("judging") or {}).get("thresholds", {}).get("correctness")
    if not judge or least is None:
        return ""
    return (
        f" An answer is wrong if {judge} gives it less than {least:g} for agreement with the expected answer: the number of failures "
        "depends on that judge, whose error is not part of the intervals."
    )


def failing_answers(run: RunTables, configuration: str) -> str:
    """Say how many answers of a configuration fail and why, as a part of a sentence. Empty if none is known to fail.

    Without judges, only answers to unanswerable questions are known to fail.
    """
    failures = failures_of(run, configuration)
    if failures is None:
        unrefused, of = unrefused_answers(run, configuration)
        verb = "is" if unrefused == 1 else "are"
        return f"{count(unrefused)} of {plural(of, 'unanswerable question')} {verb} answered" if unrefused else ""
    if not failures.failed:
        return ""
    return (
        f"{_fraction(failures)} {_fails(failures)} ({share(failures.failed, failures.given)}), {mostly(failures)}{_measured(run, failures)}"
    )


def _measured(run: RunTables, failures: FailureCauses) -> str:
    """Qualify a number of failures that rests on the correctness scored by `overlap`. Empty if none does."""
    by_overlap = not run.answer_judgements.empty and judge_of(run, "correctness") == OVERLAP
    by_overlap &= any(each.cause.name not in _WITHOUT_JUDGE for each in failures.causes)
    return f"; {CORRECTNESS_BY_OVERLAP}" if by_overlap else ""


def _fraction(failures: FailureCauses) -> str:
    if failures.given == 1:
        return "the only answer"
    return f"{count(failures.failed)} of {plural(failures.given, 'answer')}"


def _fails(failures: FailureCauses) -> str:
    return "fails" if failures.failed == 1 else "fail"
