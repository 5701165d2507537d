"""Judgements as sentences: why answers fail, and what a judge may be called."""

from workbench.analysis.judging.failure_causes import AnswerFailures, failure_meanings, failures_of
from workbench.attribution.causes import ANSWER_CAUSES, CAUSES
from workbench.context.conditions import RETRIEVED
from workbench.core.formatting import count, plural, share
from workbench.results.run_tables import RunTables

WHY = "Why do answers fail?"
_OF_ANSWERS = {cause.name for cause in ANSWER_CAUSES}
_BECAUSE = {cause.name: cause.because for cause in CAUSES}
# What the context was, after "from".
_CONTEXTS = {RETRIEVED: "what it retrieves", "gold": "the evidence alone"}


def because(cause: str) -> str:
    """Complete "the answer fails because …"."""
    return _BECAUSE[cause] if cause in _OF_ANSWERS else f"evidence is missing: {_BECAUSE[cause]}"


def failure_sentence(failures: AnswerFailures) -> str:
    """State how many answers of a configuration fail, and the most frequent cause."""
    name, context = failures.configuration, _CONTEXTS.get(failures.condition, f"contexts of the condition {failures.condition}")
    if not failures.of:
        return f"{name} has no answer from {context}, so no failure is counted."
    missing = (
        f" {plural(failures.missing, 'answer')} {'is' if failures.missing == 1 else 'are'} missing and not counted."
        if failures.missing
        else ""
    )
    if not failures.failed:
        return f"No answer of {name} from {context} is known to fail: {plural(failures.of, 'answer')}.{missing}"
    bounds = f" {failures.share.bounds()}" if failures.share else ""
    rate = f"{count(failures.failed)} of {plural(failures.of, 'answer')} of {name} from {context} {'fails' if failures.failed == 1 else 'fail'}"
    return f"{rate} ({share(failures.failed, failures.of)}{bounds and f', 95 % interval{bounds}'}), {mostly(failures)}.{missing}"


def mostly(failures: AnswerFailures) -> str:
    """Name the most frequent cause and its number."""
    (cause, most), *others = failures.causes.items()
    tied = [name for name, many in others if many == most]
    times = "each time" if not others else f"{'as often as any other' if tied else 'most often'} ({count(most)})"
    return f"{times} because {because(cause)}"


def cause_sentences(run: RunTables, failures: AnswerFailures) -> list[str]:
    """Describe each cause of a configuration's failed answers, the most frequent first."""
    meanings = failure_meanings(run)
    return [
        f"{cause}, {count(many)} of {count(failures.failed)} ({share(many, failures.failed)}): {meanings[cause]}."
        for cause, many in failures.causes.items()
    ]


def failing_answers(run: RunTables, configuration: str) -> str:
    """Say how often the answers of a configuration fail and why, as the end of a summary. Empty if none is known to fail."""
    failures = failures_of(run, configuration)
    if failures is None or not failures.failed:
        return ""
    answers = f"{count(failures.failed)} of {plural(failures.of, 'answer')} {'fails' if failures.failed == 1 else 'fail'}"
    return f"{answers} ({share(failures.failed, failures.of)}), {mostly(failures)}"
