"""Small worlds: labels and results written down by position."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest

from workbench.metrics.evaluate import evaluate
from workbench.metrics.inputs import Labels, Retrieved
from workbench.metrics.names import Metric
from workbench.records import Dataset, Document, Need, Qrel, Query, Span


@pytest.fixture(scope="session")
def make_labels() -> Callable[..., Labels]:
    """Each query is a dict: `qrels` {doc: relevance}, `needs` [[(doc, start, end), ...], ...], `answerable`."""

    def make(texts: Sequence[str], *queries: dict) -> Labels:
        return Labels.of(
            Dataset(
                name="small",
                documents=tuple(Document(f"d{doc}", text) for doc, text in enumerate(texts)),
                queries=tuple(Query(f"q{q}", "?", answerable=query.get("answerable", True)) for q, query in enumerate(queries)),
                qrels=tuple(
                    Qrel(f"q{q}", f"d{doc}", grade) for q, query in enumerate(queries) for doc, grade in query.get("qrels", {}).items()
                ),
                needs=tuple(
                    Need(f"q{q}", tuple(Span(f"d{doc}", start, end) for doc, start, end in need))
                    for q, query in enumerate(queries)
                    for need in query.get("needs", [])
                ),
            )
        )

    return make


@pytest.fixture(scope="session")
def make_retrieved() -> Callable[..., Retrieved]:
    """Chunks are (doc, start, end) or (doc, start, end, delivered_start, delivered_end); hits are chunk rows by rank, a list a query."""

    def make(chunks: Sequence[tuple[int, ...]], *hits: Sequence[int], scores: Sequence[Sequence[float]] | None = None) -> Retrieved:
        table = pd.DataFrame(
            [chunk if len(chunk) == 5 else (*chunk, *chunk[1:]) for chunk in chunks],
            columns=["doc", "start", "end", "delivered_start", "delivered_end"],
            dtype="int64",
        )
        rows = [
            (q, rank, chunk, scores[q][rank - 1] if scores else 1 / rank) for q, row in enumerate(hits) for rank, chunk in enumerate(row, 1)
        ]
        found = pd.DataFrame(rows, columns=["query", "rank", "chunk", "score"]).astype({"query": int, "rank": int, "chunk": int})
        ranking = found.assign(doc=table["doc"].to_numpy()[found["chunk"].to_numpy()]).drop_duplicates(["query", "doc"])
        ranking = ranking.assign(rank=ranking.groupby("query").cumcount() + 1)[["query", "rank", "doc", "score"]]
        return Retrieved(table, found, ranking.reset_index(drop=True), np.full(len(hits), 0.5))

    return make


@pytest.fixture(scope="session")
def values() -> Callable[..., list[float]]:
    """A metric's values, a query each; NaN where it has none."""

    def of(labels: Labels, retrieved: Retrieved, metric: str, spans: str = "exact", column: str = "value") -> list:
        return evaluate(labels, retrieved, [Metric.parse(metric)], spans)[column].tolist()

    return of
