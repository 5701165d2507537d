"""The outcome of the last gate of a run in a sentence."""

from collections.abc import Sequence

from workbench.core.formatting import plural
from workbench.results.run_tables import RunTables

# The worst first.
OUTCOMES = ("fail", "undecided", "pass")
_SENTENCES = {
    "fail": "The gate fails.",
    "undecided": "The gate is undecided: nothing is shown to be worse than is tolerated, and not everything to be good enough.",
    "pass": "The gate passes.",
}


def gate_sentence(outcomes: Sequence[str]) -> str:
    """State the worst outcome of the rules, and how many have which."""
    counts = {outcome: list(outcomes).count(outcome) for outcome in OUTCOMES}
    worst = next(outcome for outcome in OUTCOMES if counts[outcome])
    parts = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    return f"{_SENTENCES[worst]} {plural(len(outcomes), 'rule')}: {parts}."


def gate_opening(run: RunTables) -> list[str]:
    """The sentence of the run's last gate, or nothing for a run without one."""
    table = run.table("gate")
    rules = table[table["kind"] != "note"]
    if rules.empty:
        return []
    return [f"{gate_sentence(rules['outcome'].tolist())} It checked {rules['configuration'].iloc[0]}."]
