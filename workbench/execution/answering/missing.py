"""Say which answers are missing because calls failed, and which a server gave as several models."""

from collections import Counter
from collections.abc import Iterable

from workbench.core.formatting import count, listed
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


def mixed_models(run: RunTables) -> list[str]:
    """Return a line for each configuration whose answers, new or from the cache of calls, a server gave under several names of models."""
    lines = []
    for name, models in run.answers.loc[run.answers["model"] != "", ["configuration", "model"]].groupby("configuration", sort=False)[
        "model"
    ]:
        if len(counts := models.value_counts()) > 1:
            named = listed([f"{model} ({count(number)})" for model, number in counts.items()], _REASONS)
            lines.append(
                f"the answers of {name} are of {count(len(counts))} models: {named}; if its server has changed the model, "
                "set another --outputs to ask all questions again"
            )
    return lines


def counted_reasons(errors: Iterable[str]) -> str:
    """List the most frequent reasons of failures with their counts."""
    reasons = Counter(errors).most_common()
    shown = "; ".join(f"{count(times)} × {reason}" for reason, times in reasons[:_REASONS])
    more = f"; and {count(sum(times for _, times in reasons[_REASONS:]))} for other reasons" if reasons[_REASONS:] else ""
    return shown + more
