"""Why a metric of a run has no value."""

from workbench.analysis.answers.answered import VERBATIM
from workbench.core.formatting import listed
from workbench.results.run_tables import RETRIEVED, RunTables

_MOST_REASONS = 2


def reasons_without(run: RunTables, metric: str, configuration: str = "") -> str:
    """Say why a configuration has no value of a metric for retrieved text, or why no configuration has one in any condition.

    It has values under other conditions only, its answers are copied, or else the most frequent reasons. Empty if there are values.
    """
    means, scores = (run.of(name, configuration) if configuration else run.table(name) for name in ("metrics", "queries"))
    scored = means[(means["metric"] == metric) & (means["slice"] == "all") & (means["n"] > 0)]
    conditions = scored["condition"].unique().tolist()
    if RETRIEVED in conditions or (conditions and not configuration):
        return ""
    if conditions:
        return f"only under {listed(conditions)}"
    reasons = scores.loc[(scores["metric"] == metric) & (scores["reason"] != ""), "reason"].value_counts().index.tolist()
    # Other reasons are about questions and conditions that the metric is not for.
    return VERBATIM if VERBATIM in reasons else "; ".join(reasons[:_MOST_REASONS]) or "no question has a value"
