"""Small labels, results and answers, written by position, and a world of them with the cases on which metrics go wrong."""

import functools
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from workbench.components.judging.base import TASKS, Judgement
from workbench.core.records import Dataset, Document, Need, Passage, Qrel, Query, Span, Variant
from workbench.measures.metrics.case import AnswerJudgements, Answers, Contexts, Judgements, VariantParts
from workbench.measures.metrics.inputs import Labels, Retrieved

# (doc, start, end), or with the delivered slice (doc, start, end, delivered_start, delivered_end)
SmallChunk = tuple[int, ...]

_WORDS = ("virus", "protein", "cell", "spread", "lung", "fever", "trial", "dose", "mask", "sleep", "smoke", "diet")
_DOCUMENTS, _WIDTH, _HITS = 5, 40, 10
# The query with a grade below 0. Grades of 0 mean something else in a dataset without one, so every part of the world keeps it.
NEGATIVE = 9


def labels_of(texts: Sequence[str], *queries: Mapping[str, Any]) -> Labels:
    """Build labels. Each query is a dict: `qrels` {doc: relevance}, `needs` [[(doc, start, end), ...], ...], `answerable`, `expected`."""
    return Labels.of(
        Dataset(
            name="small",
            documents=tuple(Document(f"d{doc}", text) for doc, text in enumerate(texts)),
            queries=tuple(Query(f"q{q}", "?", query.get("answerable", True), query.get("expected", "")) for q, query in enumerate(queries)),
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


def retrieved_of(chunks: Sequence[SmallChunk], *hits: Sequence[int], scores: Sequence[Sequence[float]] | None = None) -> Retrieved:
    """Build results. `hits` are each query's chunks by rank; a score is 1 / rank if `scores` does not give it."""
    table = pd.DataFrame(
        [chunk if len(chunk) == 5 else (*chunk, *chunk[1:]) for chunk in chunks],
        columns=["doc", "start", "end", "delivered_start", "delivered_end"],
        dtype="int64",
    )
    rows = [
        (q, rank, chunk, scores[q][rank - 1] if scores else 1 / rank) for q, row in enumerate(hits) for rank, chunk in enumerate(row, 1)
    ]
    results = pd.DataFrame(rows, columns=["query", "rank", "chunk", "score"]).astype({"query": int, "rank": int, "chunk": int})
    ranking = results.assign(doc=table["doc"].to_numpy()[results["chunk"].to_numpy()]).drop_duplicates(["query", "doc"])
    ranking = ranking.assign(rank=ranking.groupby("query").cumcount() + 1)[["query", "rank", "doc", "score"]]
    return Retrieved(table, results, ranking.reset_index(drop=True), np.full(len(hits), 0.5))


@dataclass(frozen=True)
class SmallWorld:
    """Texts, queries as in `labels_of`, chunks, and each query's hits by rank."""

    texts: tuple[str, ...]
    queries: tuple[Mapping[str, Any], ...]
    chunks: tuple[SmallChunk, ...]
    hits: tuple[tuple[int, ...], ...]

    @functools.cached_property
    def labels(self) -> Labels:
        """The labels of the queries."""
        return labels_of(self.texts, *self.queries)

    @functools.cached_property
    def retrieved(self) -> Retrieved:
        """The results of the queries."""
        return retrieved_of(self.chunks, *self.hits)

    def only(self, order: Sequence[int]) -> "SmallWorld":
        """The same world with these queries in this order."""
        return replace(self, queries=tuple(self.queries[q] for q in order), hits=tuple(self.hits[q] for q in order))

    def cut(self, depth: int) -> "SmallWorld":
        """The same world with only the first hits of each query."""
        return replace(self, hits=tuple(row[:depth] for row in self.hits))

    def found_twice(self) -> "SmallWorld":
        """The same world with a twin of every chunk and hit, which delivers the same slice."""
        twins = tuple((doc, start, end - 1, start, end) for doc, start, end in self.chunks)
        hits = tuple(tuple(c for row in q for c in (row, row + len(self.chunks))) for q in self.hits)
        return replace(self, chunks=self.chunks + twins, hits=hits)


def small_world() -> SmallWorld:
    """Build a world from a fixed seed: six usual queries with several grades, then one of each unusual kind."""
    random = np.random.default_rng(5)
    texts = (*(" ".join(random.choice(_WORDS, 60)) for _ in range(_DOCUMENTS - 1)), "é")
    chunks = [(doc, start, start + _WIDTH) for doc in range(len(texts)) for start in range(0, len(texts[doc]) - _WIDTH, _WIDTH)]
    queries: list[Mapping[str, Any]] = []
    hits = []
    for _ in range(6):
        docs = random.choice(_DOCUMENTS - 1, 3, replace=False).tolist()
        spans = [[(doc, start, start + 30) for start in random.integers(0, 200, 2).tolist()] for doc in docs[:2]]
        queries.append({"qrels": {docs[0]: 2, docs[1]: 1, docs[2]: 0}, "needs": spans})
        hits.append(tuple(random.choice(len(chunks), _HITS, replace=False).tolist()))
    unusual: list[tuple[Mapping[str, Any], tuple[int, ...]]] = [
        ({"answerable": False}, hits[0]),  # unanswerable
        ({"qrels": {0: 1}}, hits[1]),  # no evidence
        ({"qrels": {1: 0, 2: 0}}, hits[2]),  # nothing relevant
        ({"qrels": {0: 1, 1: -1}, "needs": [[(0, 0, 30)]]}, ()),  # nothing retrieved
        ({"qrels": {4: 3}, "needs": [[(4, 0, 1)]]}, (len(chunks), hits[3][0])),  # a document of one character, two hits
        ({}, hits[4]),  # no judgement
    ]
    chunks.append((4, 0, 1))
    every = [*queries, *(query for query, _ in unusual)]
    # The number chooses a question's answer, in whichever order the questions are.
    numbered = tuple({**query, "expected": "fever" if number % 4 < 3 else "", "number": number} for number, query in enumerate(every))
    return SmallWorld(texts, numbered, tuple(chunks), (*hits, *(places for _, places in unusual)))


_DOWN = "the server is down"
VARIANTS = (Variant(), Variant("none"), Variant("missing_gold"), Variant("injection", "override"), Variant("counterfactual", "after"))


@dataclass(frozen=True)
class SmallReply:
    """An answer to a question with the first `passages` of its hits as context, and its judgements.

    `outcomes` are those of a planted instruction and of an altered copy.
    """

    text: str = ""
    refused: bool = False
    error: str = ""
    reason: str = ""
    passages: int = 3
    citations: tuple[int, ...] = ()
    correct: float = np.nan
    outcomes: tuple[str, str] = ("", "")
    unknown: bool = False
    claims: tuple[Judgement, ...] = ()
    unsplit: str = ""
    judged: Judgement | None = None


_SUPPORTED, _ABSENT, _FAILED = Judgement(0.9, "supported"), Judgement(0.2, "absent"), Judgement(error=_DOWN)
_ANSWERS = (
    SmallReply("fever", citations=(0, 2), correct=1.0, outcomes=("resisted", "kept"), claims=(_SUPPORTED,), judged=Judgement(0.8)),
    SmallReply("sleep", citations=(9,), correct=0.0, outcomes=("complied", "adopted"), claims=(_ABSENT, _SUPPORTED), judged=Judgement(0.1)),
    SmallReply("I do not know", refused=True),
    SmallReply(error=_DOWN),
    SmallReply(" ", passages=0),
    SmallReply("a mask, 発熱", claims=(_FAILED,), judged=_FAILED),
    SmallReply("dose", unsplit=_DOWN, passages=1),
    SmallReply(error=_DOWN, passages=0, unknown=True),
    SmallReply("trial", passages=0, unknown=True, claims=(_ABSENT,), judged=Judgement(1.0)),
    SmallReply(reason="no altered copy is possible", passages=0),
)


def answered(world: SmallWorld, variant: Variant, *, verbatim: bool = False, only_score: str = "") -> VariantParts:
    """Answer each question by the answer with its `number`, modulo the number of answers."""
    given = [_ANSWERS[int(query["number"]) % len(_ANSWERS)] for query in world.queries]
    passages = [
        [_passage(world, chunk) for chunk in hits[: one.passages] if not one.reason] for one, hits in zip(given, world.hits, strict=True)
    ]
    gold = np.array(
        [bool(shown) and not one.unknown and one.correct == 1 for one, shown in zip(given, passages, strict=True)], dtype=np.bool_
    )
    contexts = Contexts(
        passages=passages,
        reasons=[one.reason for one in given],
        gold=gold,
        relevant=gold.astype(np.float64),
        packing_recall=np.where(gold, 1.0, np.nan),
        unknown=frozenset(query for query, one in enumerate(given) if one.unknown),
    )
    answers = Answers(
        texts=[one.text for one in given],
        refused=np.array([one.refused for one in given], dtype=np.bool_),
        errors=[one.error for one in given],
        citations=[one.citations for one in given],
        confidence=np.full(len(given), np.nan),
        correct=np.array([one.correct for one in given], dtype=np.float64),
        outcomes=[one.outcomes[variant.condition == "counterfactual"] for one in given],
        truncated=np.zeros(len(given), dtype=np.bool_),
        verbatim=verbatim,
        embed=_unit_vectors,
    )
    judgements = Judgements([_judgements(one, len(shown)) for one, shown in zip(given, passages, strict=True)], only_score)
    return VariantParts(variant, contexts, answers, judgements)


def _passage(world: SmallWorld, chunk: int) -> Passage:
    doc, start, end = world.chunks[chunk][:3]
    return Passage(f"d{doc}", start, end, world.texts[doc][start:end])


def _judgements(answer: SmallReply, passages: int) -> AnswerJudgements:
    tasks = dict.fromkeys(TASKS, answer.judged) if answer.judged else {}
    return AnswerJudgements(
        len(answer.claims), answer.unsplit, answer.claims, answer.claims, (answer.judged or Judgement(0.5),) * passages, tasks
    )


def _unit_vectors(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    rows = [np.frombuffer(hashlib.blake2b(text.encode(), digest_size=32).digest(), dtype=np.int8).astype(np.float32) for text in texts]
    return np.array([row / np.linalg.norm(row) for row in rows], dtype=np.float32)
