"""Select the logged questions that add most to a golden set, and make a dataset of them for the labeller."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from workbench.components.embedding.base import Embedder
from workbench.components.embedding.embed import embed
from workbench.core.fingerprint import fingerprint
from workbench.core.records import PRODUCTION, SOURCE, Dataset, Query
from workbench.core.storage.vector_cache import VectorCache, Vectors
from workbench.core.text.display import excerpt
from workbench.core.text.formatting import plural
from workbench.monitor.question_texts import leaders, normalised, signature

# Distinct texts that are embedded and compared, first those with most signals, then the most frequent.
_MOST_CANDIDATES = 5_000
# The part of questions whose first hit scores lowest.
_LOW = 0.1
# Evaluations below this are bad, and judges that differ by this disagree.
_BAD, _APART = 0.5, 0.5
_SIGNALS = {
    "no_result": "no result",
    "bad_feedback": "bad feedback",
    "bad_score": "judged bad",
    "disagreement": "judges disagree",
    "low_score": "a low score of the first hit",
}


@dataclass(frozen=True, slots=True, eq=False)
class SelectedQuestions:
    """Selected questions, and how many of the log are in the dataset already (`covered`) and were not compared (`left_out`).

    `lacking` are the groups of near-duplicates that the dataset does not have. `rows` has, in order of the picks, id, query, session, stands_for, reason and gain.
    """

    rows: pd.DataFrame
    covered: int
    left_out: int
    lacking: int


def select(
    outlined: pd.DataFrame,
    dataset: Dataset,
    take: int,
    embedder: Embedder,
    cache: VectorCache,
    evaluations: pd.DataFrame | None = None,
) -> SelectedQuestions:
    """Select up to `take` questions of a log, one of each group of near-duplicates, none of which the dataset has already.

    A pick adds its distance to the nearest golden question or earlier pick (1 - cosine), times 1 + its signals, times log(1 + questions that it stands for).
    The next pick is the question that adds most. Rows are those of `sampling.outline`, evaluations those of `judging.judge`, of several judges if there are any.
    """
    groups = _distinct(outlined, *_judged_ids(evaluations)).sort_values(["count", "text"], ascending=[False, True], kind="stable")
    signals = (groups[list(_SIGNALS)] > 0).sum(axis=1).sort_values(ascending=False, kind="stable")
    candidates = groups.loc[groups.index.isin(signals.index[:_MOST_CANDIDATES])].reset_index(drop=True)
    golden = [normalised(query.text) for query in dataset.queries]
    texts = [*golden, *candidates["text"]]
    vectors = embed(texts, embedder, "query", cache, "questions").vectors if texts else np.zeros((0, 1), dtype=np.float32)
    leader = leaders(vectors, [signature(text) for text in texts])[len(golden) :] - len(golden)
    covered, numbers = leader < 0, ["count", *_SIGNALS]
    merged = candidates[~covered].groupby(leader[~covered])[numbers].sum()
    heads = candidates.drop(columns=numbers).loc[merged.index].join(merged)
    own = vectors[len(golden) :][heads.index.to_numpy(np.int64)]
    picks = list(_picked(heads, take, own, vectors[: len(golden)], dataset))
    rows = pd.DataFrame(picks, columns=["id", "query", "session", "stands_for", "reason", "gain"])
    compared = int(candidates["count"].sum())
    return SelectedQuestions(rows, int(candidates.loc[covered, "count"].sum()), int(groups["count"].sum()) - compared, len(heads))


def production_dataset(selected: SelectedQuestions, dataset: Dataset) -> Dataset:
    """Make a dataset of selected questions without labels, with the documents of a dataset. Each has `source: production`, and no user."""
    queries = []
    for row in selected.rows.to_dict("records"):
        fields = {"session_hash": fingerprint(row["session"])[:16], "stands_for": int(row["stands_for"]), "selected_for": row["reason"]}
        queries.append(Query(f"log-{fingerprint(row['query'])[:12]}", row["query"], metadata={SOURCE: PRODUCTION, **fields}))
    return replace(dataset, name=f"{dataset.name}-production", queries=tuple(queries), qrels=(), needs=(), source=None)


def _distinct(outlined: pd.DataFrame, bad: set[str], apart: set[str]) -> pd.DataFrame:
    """Return a row for each distinct text: its first question, how often it was asked, and how many times with each signal."""
    rows = outlined[outlined["text"] != ""]
    scores = rows["score"].where(np.isfinite(rows["score"]))
    marks = {
        "no_result": rows["score"] == -np.inf,
        "bad_feedback": rows["bad"].notna(),
        "bad_score": rows["id"].isin(bad),
        "disagreement": rows["id"].isin(apart),
        "low_score": scores.groupby(rows["configuration"]).rank(pct=True, method="min") <= _LOW,
    }
    ordered = rows.assign(**marks, count=1).sort_values(["time", "id"], kind="stable")
    first = dict.fromkeys(("id", "query", "cluster"), "first")
    return ordered.groupby("text", as_index=False).agg(first | dict.fromkeys(("count", *marks), "sum"))


def _judged_ids(evaluations: pd.DataFrame | None) -> tuple[set[str], set[str]]:
    """Return the questions with a bad evaluation, and those on which judges disagree."""
    if evaluations is None:
        return set(), set()
    rows = evaluations[(evaluations["state"] == "scored") & ~evaluations["metric"].isin(["feedback", "refusal_rate"])]
    # Shared words say nothing of the relevance of a short answer to its question.
    rows = rows[~(rows["metric"].eq("answer_relevance") & rows["judge"].eq("overlap"))]
    values = rows.assign(task=rows["metric"].replace("support_overlap", "faithfulness")).groupby(["id", "task"])["value"]
    apart = values.max() - values.min()
    return set(rows.loc[rows["value"] < _BAD, "id"]), set(apart[apart >= _APART].index.get_level_values("id"))


def _picked(heads: pd.DataFrame, take: int, own: Vectors, golden: Vectors, dataset: Dataset) -> Iterator[dict[str, Any]]:
    """Yield the question that adds most, again and again. Of equal ones the more frequent is first, then the first in the alphabet."""
    cosines = own @ golden.T if len(golden) else np.zeros((len(own), 1), dtype=np.float32)
    near, nearest = np.maximum(0, cosines.max(axis=1)), cosines.argmax(axis=1)
    weight = (1 + (heads[list(_SIGNALS)] > 0).sum(axis=1)).to_numpy() * np.log1p(heads["count"].to_numpy(np.float64))
    rows, known = heads.to_dict("records"), near.copy()
    for _ in range(min(take, len(rows))):
        # Batches of other shapes change the seventh decimal of a cosine.
        gain = np.round((1 - known) * weight, 5)
        best = int(gain.argmax())
        row = rows[best]
        signals = [f"{words} ({row[name]:,} of {row['count']:,})" for name, words in _SIGNALS.items() if row[name]]
        closest = f"“{excerpt(dataset.queries[nearest[best]].text)}” with a cosine of {near[best]:.2f}" if len(golden) else "none"
        reason = "; ".join([*signals, f"nearest golden question: {closest}", f"stands for {plural(row['count'], 'question')}"])
        yield {
            "id": row["id"],
            "query": row["query"],
            "session": row["cluster"],
            "stands_for": row["count"],
            "reason": reason,
            "gain": gain[best],
        }
        known = np.maximum(known, own @ own[best])
        known[best] = np.inf
