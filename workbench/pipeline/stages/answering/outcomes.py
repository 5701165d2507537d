"""What the answers of a variant made of the planted texts in their contexts."""

import json

import pandas as pd

from workbench.perturb.outcomes import outcome_of
from workbench.storage.result_store import StoredResult


def outcomes_of(contexts: StoredResult, rows: pd.DataFrame) -> dict[int, str]:
    """Return the outcome of each of the `answer_rows` to a context with a planted text: the label of a recorded answer, or what its text shows, else empty."""
    about = contexts.table("contexts")
    planted = dict(zip(about["query"].tolist(), about["planted"].tolist(), strict=True))
    given = zip(rows["query"].tolist(), rows["text"].tolist(), rows["error"].tolist(), rows["outcome"].tolist(), strict=True)
    return {
        query: label or (outcome_of(text, json.loads(planted[query])) if text else "")
        for query, text, error, label in given
        if planted[query] and not error
    }
