"""How often the threshold of extractive answers separates answerable from unanswerable questions, as docs/how-to/answer_with_a_model.md says."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import ROOT
from workbench.components.answering.base import AnswerRequest, AnswerResources
from workbench.components.answering.extractive import ExtractiveGenerator
from workbench.components.chunking.plain import FixedChunker
from workbench.components.embedding.embed import MemoryVectorCache, embed
from workbench.core.records import Passage, Query, Variant
from workbench.data.sources import GoldenSource
from workbench.llm.session import CallResources

pytestmark = pytest.mark.soak
THRESHOLDS = (0.45, 0.5, 0.55, 0.6, 0.65)


def confidences(queries: Sequence[Query], passages: Sequence[Passage], k: int) -> np.ndarray:
    """The confidence of the answer to each question from the k passages closest to it."""
    generator, cache = ExtractiveGenerator(), MemoryVectorCache()
    texts = embed([passage.text for passage in passages], generator.compared_by, "document", cache).vectors
    questions = embed([query.text for query in queries], generator.compared_by, "query", cache).vectors
    best = np.argsort(-(questions @ texts.T), axis=1, kind="stable")[:, :k]
    requests = [AnswerRequest(query, [passages[place] for place in row], Variant()) for query, row in zip(queries, best, strict=True)]
    answers = generator.answer(requests, AnswerResources(cache, CallResources()))
    return np.array([answer.confidence for _, answer in sorted(answers, key=lambda yielded: yielded[0])])


def rates(queries: Sequence[Query], found: np.ndarray, threshold: float) -> tuple[float, float]:
    """The shares of answerable questions that are answered and of unanswerable ones that are refused."""
    answerable = np.array([query.answerable for query in queries])
    return float((found[answerable] >= threshold).mean()), float((found[~answerable] < threshold).mean())


def half(query: Query) -> int:
    return int(hashlib.sha256(query.query_id.encode()).hexdigest(), 16) % 2


def test_on_clapnq_the_best_threshold_of_one_half_holds_on_the_other(big_data: Callable[[str], Path]) -> None:
    rows = [json.loads(line) for line in (big_data("clapnq") / "queries.jsonl").read_text("utf-8").splitlines()]
    queries = [Query(row["_id"], row["text"], row["metadata"]["answerable"]) for row in rows]
    documents = [json.loads(line) for line in (big_data("clapnq") / "corpus.jsonl").read_text("utf-8").splitlines()]
    found = confidences(queries, [Passage(row["_id"], 0, len(row["text"]), row["text"]) for row in documents], 5)
    halves = [[place for place, query in enumerate(queries) if half(query) == side] for side in (0, 1)]
    shares = [{t: rates([queries[place] for place in part], found[part], t) for t in THRESHOLDS} for part in halves]
    for threshold in THRESHOLDS:
        print("clapnq", threshold, *(f"{answered:.2f} {refused:.2f}" for answered, refused in (side[threshold] for side in shares)))
    assert max(THRESHOLDS, key=lambda threshold: sum(shares[0][threshold])) == 0.6
    assert sum(shares[1][0.6]) / 2 == pytest.approx(0.755, abs=0.02)
    assert shares[1][0.5] == pytest.approx((0.92, 0.53), abs=0.03)


def test_on_the_handbook_half_of_the_unanswerable_questions_are_refused() -> None:
    dataset = GoldenSource(path=str(ROOT / "experiments" / "handbook")).load()
    chunks = [chunk for document in dataset.documents for chunk in FixedChunker(size=256).split(document)]
    found = confidences(dataset.queries, [Passage(chunk.doc_id, chunk.start, chunk.end, chunk.text) for chunk in chunks], 8)
    for threshold in THRESHOLDS:
        print("handbook", threshold, "{:.2f} {:.2f}".format(*rates(dataset.queries, found, threshold)))
    assert rates(dataset.queries, found, 0.5) == pytest.approx((0.78, 0.55), abs=0.03)
