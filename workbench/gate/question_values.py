"""The values of single questions under a condition, pooled over repeats and variants."""

import pandas as pd

from workbench.results.run_tables import RunTables

COLUMNS = ["condition", "metric", "query_id", "value", "state"]
_KEYS = COLUMNS[:3]


def question_values(run: RunTables, configuration: str) -> pd.DataFrame:
    """Return COLUMNS for each question to which a metric applies. The value is the mean over scored repeats and variants.

    A question is `unscored`, with the value NaN, if a repeat or a variant of it has no value.
    """
    return pooled(run.of("queries", configuration))


def pooled(rows: pd.DataFrame) -> pd.DataFrame:
    """Pool rows with the columns COLUMNS, several for a question."""
    rows = rows[rows["state"] != "not_applicable"]
    groups = rows.assign(missing=rows["state"] == "unscored").groupby(_KEYS, sort=False)
    table = groups.agg(value=("value", "mean"), missing=("missing", "any")).reset_index()
    table["value"] = table["value"].where(~table["missing"])
    return table.assign(state=table["missing"].map({True: "unscored", False: "scored"}))[COLUMNS]
