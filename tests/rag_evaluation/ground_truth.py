"""The five questions of NFCorpus with their expected documents and reference answers, and the recall that they allow."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.core.errors import InputError
from workbench.core.records import Query

FILE = Path(__file__).parent / "fixtures" / "ground_truth.json"


@dataclass(frozen=True)
class GroundTruth:
    """A question with its expected documents and its reference answer."""

    query: Query
    expected: tuple[str, ...]
    answer: str

    def recall(self, found: Sequence[str], k: int) -> float:
        """The share of the expected documents among the first k that were found."""
        return len(set(found[:k]) & set(self.expected)) / len(self.expected)

    def attainable(self, k: int) -> float:
        """The largest recall at k: k documents cannot contain more than k of the expected ones."""
        return min(k, len(self.expected)) / len(self.expected)


def rows() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads(FILE.read_text("utf-8"))
    return loaded


def ground_truth() -> list[GroundTruth]:
    return [
        GroundTruth(Query(row["query_id"], row["query_text"]), tuple(row["expected_document_ids"]), row["ground_truth_answer"])
        for row in rows()
    ]


def recall_threshold(value: float, cases: Sequence[GroundTruth], k: int) -> float:
    """A threshold for the mean recall at k. Raises InputError above the attainable maximum, where no search can pass."""
    most = sum(case.attainable(k) for case in cases) / len(cases)
    if value > most:
        raise InputError(f"recall@{k} >= {value:g} is out of reach: at most {most:.3f} is attainable", "lower the threshold")
    return value
