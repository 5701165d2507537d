"""Small worlds: labels and results that a test writes down by position, and a strategy that draws them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from workbench.metrics.inputs import Labels, Retrieved
from workbench.records import Dataset, Document, Need, Qrel, Query, Span

Place = tuple[int, int, int]
World = tuple[list[str], list[list[list[Place]]], list[tuple[int, int, int, int, int]], list[list[int]]]


def labels_of(texts: Sequence[str], *queries: dict[str, Any]) -> Labels:
    """Build labels. Each query is a dict: `qrels` {doc: relevance}, `needs` [[(doc, start, end), ...], ...], `answerable`."""
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


def retrieved_of(chunks: Sequence[tuple[int, ...]], *hits: Sequence[int], scores: Sequence[Sequence[float]] | None = None) -> Retrieved:
    """Build results. Chunks are (doc, start, end) or (doc, start, end, delivered_start, delivered_end); hits are each query's chunks by rank."""
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


@pytest.fixture(scope="session")
def make_labels() -> Callable[..., Labels]:
    return labels_of


@pytest.fixture(scope="session")
def make_retrieved() -> Callable[..., Retrieved]:
    return retrieved_of


@st.composite
def places(draw: st.DrawFn, texts: list[str]) -> Place:
    """A document's number with the start and the end of a part of its text."""
    doc = draw(st.integers(0, len(texts) - 1))
    start = draw(st.integers(0, len(texts[doc]) - 1))
    return doc, start, draw(st.integers(start + 1, len(texts[doc])))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Texts, each query's needs with their alternatives, chunks with or without parents, each query's hits."""
    texts = draw(st.lists(st.text("ab \n.é", min_size=1, max_size=24), min_size=1, max_size=3))
    visible = places(texts).filter(lambda span: texts[span[0]][span[1] : span[2]].strip())
    needs = draw(st.lists(st.lists(st.lists(visible, min_size=1, max_size=3), max_size=3), min_size=1, max_size=3))
    own = draw(st.lists(places(texts), min_size=1, max_size=7, unique=True))
    chunks = [(doc, s, e, *draw(st.sampled_from([(s, e), (0, e), (0, len(texts[doc]))]))) for doc, s, e in own]
    order = st.permutations(range(len(chunks))).flatmap(lambda rows: st.integers(0, len(rows)).map(lambda depth: rows[:depth]))
    return texts, needs, chunks, [draw(order) for _ in needs]
