"""Slices of the queries by the fields of their metadata."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from workbench.metrics.coverage import Bools

FEWEST_VALUES, MOST_VALUES = 2, 20


def query_slices(metadata: Sequence[Mapping[str, Any]], queries: int) -> dict[str, Bools]:
    """The members (queries) of `all` and of every `field=value`, fields in alphabetical order, values as text."""
    slices: dict[str, Bools] = {"all": np.ones(queries, dtype=np.bool_)}
    for field in sorted({field for record in metadata for field in record}):
        values = [record.get(field) for record in metadata]
        if not all(isinstance(value, Hashable) for value in values):
            continue
        texts = np.array(["" if value is None else str(value) for value in values])
        distinct = [text for text in np.unique(texts).tolist() if text]
        if FEWEST_VALUES <= len(distinct) <= MOST_VALUES:
            slices.update({f"{field}={text}": texts == text for text in distinct})
    return slices
