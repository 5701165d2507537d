"""Say which answers are missing because calls failed."""

from collections import Counter
from collections.abc import Iterable

from workbench.core.formatting import count
from workbench.results.run_tables import RunTables

_REASONS = 3


def missing_answers(run: RunTables) -> list[str]:
    """Return a line that counts the missing answers by reason and says the fix, or no line if none is missing."""
    answers = run.answers
    failed = answers[answers["error"] != ""]
    if failed.empty:
        return []
    asked = int((answers["reason"] == "").sum())
    kinds = run.configurations.loc[run.configurations["configuration"].isin(failed["configuration"]), "answering"]
    # Another run asks a model again, but finds no other answers in the same file.
    fix = "add these to the recorded answers" if set(kinds) == {"recorded"} else "run again to ask only for these"
    return [f"{count(len(failed))} of {count(asked)} answers are missing and not scored ({counted_reasons(failed['error'])}); {fix}"]


def counted_reasons(errors: Iterable[str]) -> str:
    """List the most frequent reasons of failures with their counts."""
    reasons = Counter(errors).most_common()
    shown = "; ".join(f"{count(times)} × {reason}" for reason, times in reasons[:_REASONS])
    more = f"; and {count(sum(times for _, times in reasons[_REASONS:]))} for other reasons" if reasons[_REASONS:] else ""
    return shown + more
