"""The conditions of a context: which passages a generator reads for a question, and what is planted in them."""

from collections.abc import Mapping, Sequence

from workbench.core.records import Variant
from workbench.core.text.formatting import meant

NONE, GOLD, GOLD_DISTRACTORS, RETRIEVED, MISSING_GOLD, IRRELEVANT_ONLY, COUNTERFACTUAL, INJECTION = CONDITIONS = (
    "none",
    "gold",
    "gold_distractors",
    "retrieved",
    "missing_gold",
    "irrelevant_only",
    "counterfactual",
    "injection",
)
# The place of the altered copy beside the unaltered passage, and the families of attacks.
PERTURBATIONS: Mapping[str, tuple[str, ...]] = {
    COUNTERFACTUAL: ("before", "after"),
    INJECTION: ("override", "authority", "completion", "urgency", "markup", "exfiltration"),
}
# A perturbed context differs from that of its clean twin only by what is planted.
CLEAN_TWINS: Mapping[str, str] = {COUNTERFACTUAL: GOLD, INJECTION: GOLD}
# Their passages depend on the ranking.
RANKED = frozenset({GOLD_DISTRACTORS, RETRIEVED, MISSING_GOLD})
# Only a refusal is right in them, since their contexts withhold the evidence.
WITHHELD = (MISSING_GOLD, IRRELEVANT_ONLY)
# Failures under other conditions have no cause: an attack is no fault of retrieval or answering, and without a context there is nothing to blame.
ATTRIBUTED = (GOLD, GOLD_DISTRACTORS, RETRIEVED, *WITHHELD)


def variants_of(conditions: Sequence[str], repeats: int = 1) -> tuple[Variant, ...]:
    """Return the variants of these conditions in the order of `CONDITIONS`, each perturbation and each repeat on its own."""
    return tuple(
        Variant(condition, perturbation, repeat)
        for condition in CONDITIONS
        if condition in conditions
        for perturbation in PERTURBATIONS.get(condition, ("",))
        for repeat in range(repeats)
    )


def conditions_fault(conditions: Sequence[str]) -> str:
    """Return why these are no conditions of a run, with the fix, or an empty text."""
    for condition in conditions:
        if condition not in CONDITIONS:
            return f"no condition {condition!r}{meant(condition, CONDITIONS)}; conditions are {', '.join(CONDITIONS)}"
    if len(set(conditions)) < len(conditions):
        return "a condition occurs twice; name each once"
    for condition, twin in CLEAN_TWINS.items():
        if condition in conditions and twin not in conditions:
            return f"{condition} is compared with {twin}, which is missing; add {twin}"
    return "" if conditions else "no condition; name at least one, such as retrieved"
