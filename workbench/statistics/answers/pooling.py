"""Pool the values of repeats and perturbations into one value for each question."""

import numpy as np
import pandas as pd

# The best state counts: a question with a value in any variant has one.
_STATES = ("scored", "unscored", "not_applicable")


def pooled(scores: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each metric and question of one condition: `metric, query, value, state, reason, attainable`.

    `scores` has `metric, query, variant, repeat, value, state, reason`. The repeats of a variant are averaged first, then the variants, so that
    missing repeats do not shift the weights of the variants. A question without any value is `unscored` if it is in some variant, else
    `not_applicable`, with the first reason of that state. Metrics keep their order.
    """
    keys = ["metric", "query"]
    repeats = scores.groupby([*keys, "variant"], sort=False)["value"].mean()
    values = repeats.groupby(keys, sort=False).mean().rename("value")
    ranks = scores.assign(rank=scores["state"].map({state: rank for rank, state in enumerate(_STATES)}))
    first = ranks.sort_values("rank", kind="stable").drop_duplicates(keys)[[*keys, "state", "reason"]]
    table = values.reset_index().merge(first, on=keys, validate="one_to_one")
    return table.assign(attainable=np.nan)
