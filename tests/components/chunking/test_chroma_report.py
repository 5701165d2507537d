"""The precision omega of Chroma's chunking report (Smith & Troynikov 2024, table 2), on its own corpora and questions."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.components.chunking.base import Chunker
from workbench.components.chunking.plain import FixedChunker
from workbench.components.chunking.recursive import RecursiveChunker

Spans = list[tuple[int, int]]

PUBLISHED = [
    (RecursiveChunker(size=200, tokens="cl100k"), 29.9, 0.1),
    (RecursiveChunker(size=400, tokens="cl100k"), 17.7, 0.1),
    (RecursiveChunker(size=800, overlap=400, tokens="cl100k"), 6.7, 0.1),
    (FixedChunker(size=800, overlap=400, tokens="cl100k"), 4.7, 0.1),
    (FixedChunker(size=200, tokens="cl100k"), 21.4, 0.15),
    (FixedChunker(size=400, tokens="cl100k"), 12.7, 0.15),
]


def length_of_union(spans: Spans) -> int:
    total = reached = 0
    for start, end in sorted(spans):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def omega_of_question(evidence: Spans, chunks: Spans) -> float:
    """Evidence inside the chunks that touch it, over those chunks and all evidence; a shared boundary touches."""
    touching = [(start, end) for start, end in chunks if any(start <= b and a <= end for a, b in evidence)]
    inside = [(max(start, a), min(end, b)) for start, end in touching for a, b in evidence if start < b and a < end]
    return length_of_union(inside) / length_of_union(touching + evidence)


@pytest.fixture(scope="module")
def questions(big_data: Callable[[str], Path]) -> list[tuple[str, Spans]]:
    found: dict[tuple[str, str], Spans] = {}
    for line in (big_data("chroma-chunking") / "evidence.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        found.setdefault((row["query_id"], row["doc_id"]), []).append((row["start"], row["end"]))
    return [(doc_id, spans) for (_, doc_id), spans in found.items()]


@pytest.mark.parametrize(("chunker", "published", "tolerance"), PUBLISHED, ids=lambda value: getattr(value, "name", None))
def test_precision_omega_is_the_published_one(chunker: Chunker, published: float, tolerance: float, corpus, questions) -> None:
    chunks = {document.doc_id: [(chunk.start, chunk.end) for chunk in chunker.split(document)] for document in corpus("chroma-chunking")}
    values = [omega_of_question(evidence, chunks[doc_id]) for doc_id, evidence in questions]
    assert len(values) == 472
    assert 100 * sum(values) / len(values) == pytest.approx(published, abs=tolerance)
