"""Items on which the judge and a person disagree, the ones that the judge is surest of first."""

import pandas as pd

from workbench.analysis.judging.items import judged_items
from workbench.errors import InputError
from workbench.results.run_tables import RunTables

COLUMNS = ("configuration", "query_id", "claim", "answer", "verdict", "label", "confidence", "score", "passage", "item_id")


def disagreements(run: RunTables, task: str) -> pd.DataFrame:
    """Return the labelled items of the run's table `labels` whose verdict differs from the label, in the order in which to read them.

    They are ordered by the judge's confidence, or, if it reports none, by how far its score is from 0.5. `verdict` is `yes` or `no` for a judge that
    only scores, and where the label is right about another class the row is left out: `absent` and `contradicted` both mean no.
    """
    rows = [_joined(run, task, str(condition), labels) for condition, labels in run.labels.groupby("condition", sort=False)]
    table = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=list(COLUMNS))
    return table[list(COLUMNS)].reset_index(drop=True)


def _joined(run: RunTables, task: str, condition: str, labels: pd.DataFrame) -> pd.DataFrame:
    labels = labels[labels["task"] == task].drop_duplicates("item_id")
    try:
        items = judged_items(run, task, condition)
    except InputError:
        return pd.DataFrame(columns=list(COLUMNS))
    rows = items.merge(labels[["item_id", "label"]], on="item_id")
    approved = rows["label"].isin(["supported", "yes"]).astype(float)
    rows = rows[rows["yes"].notna() & (rows["yes"] != approved)]
    said = rows["yes"].map({1.0: "yes", 0.0: "no"})
    surest = rows["confidence"].fillna((rows["score"] - 0.5).abs() * 2).fillna(0.0)
    order = surest.sort_values(ascending=False, kind="stable").index
    return rows.assign(verdict=rows["verdict"].where(rows["verdict"] != "", said)).loc[order]
