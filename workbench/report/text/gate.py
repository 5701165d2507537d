"""The outcome of the last gate of a run in a sentence."""

from collections.abc import Sequence

from workbench.core.formatting import plural
from workbench.results.run_tables import RunTables

# The worst first.
OUTCOMES = ("fail", "undecided", "pass")
_SENTENCES = {
    "fail": "fails.",
    "undecided": "is undecided: no rule fails, but this run does not decide every rule.",
    "pass": "passes.",
}


def gate_sentence(outcomes: Sequence[str], configuration: str) -> str:
    """State the worst outcome of the rules for a configuration, and how many have which."""
    counts = {outcome: list(outcomes).count(outcome) for outcome in OUTCOMES}
    worst = next(outcome for outcome in OUTCOMES if counts[outcome])
    parts = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    return f"The gate of {configuration} {_SENTENCES[worst]} {plural(len(outcomes), 'rule')}: {parts}."


def gate_opening(run: RunTables) -> list[str]:
    """The sentence of the run's last gate, or nothing for a run without one."""
    table = run.table("gate")
    rules = table[table["kind"] != "note"]
    if rules.empty:
        return []
    return [gate_sentence(rules["outcome"].tolist(), str(rules["configuration"].iloc[0]))]
