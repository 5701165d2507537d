"""Pool the documents to judge, as TREC does (Voorhees and Harman 2005): the union of the first k documents of every configuration.

The order of a pool is drawn from a seed and the ids, so that it hides which configuration found a document, and how high.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from workbench.components.chunking.plain import FixedChunker
from workbench.core.fingerprint import fingerprint
from workbench.core.records import Chunk, Dataset, Document
from workbench.core.text.progress import ProgressBar
from workbench.data.formats.trec import read_run
from workbench.people.rare_words import RareWords
from workbench.report.results.run_tables import RETRIEVED, RunTables

# The size of the passages of a pool without a run, in tokens.
_PASSAGE_TOKENS = 256
# The passages of a document that are open in such a pool, those with the rarest words.
_MOST_OPEN = 3
# Fewer questions, of all configurations together, are read in a moment, without a progress bar.
_FEW = 500
# The slices of a document that are shown first.
Slices = tuple[tuple[int, int], ...]
# The texts of answers, each with the configurations that gave it.
Answers = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class PooledDocument:
    """A document to judge for a question, with the passages that any configuration found in it, merged where they overlap."""

    doc_id: str
    passages: Slices


@dataclass(frozen=True)
class LabelPool:
    """The documents and answers to judge for each question, in the order in which a person sees them.

    Each answer is a text with the configurations that gave it.
    """

    documents: Mapping[str, tuple[PooledDocument, ...]]
    answers: Mapping[str, Answers]


def document_rankings(run: RunTables, folder: Path) -> dict[str, dict[str, list[str]]]:
    """Return the ranked documents of each question by configuration, from the TREC files of the run, or from its hits where one is missing."""
    rankings = {}
    with ProgressBar(
        total=len(run.names), desc="rankings", unit="configuration", disable=len(run.names) * len(run.questions) < _FEW
    ) as bar:
        for name in run.names:
            rankings[name] = _ranked(run, name, folder / "runs" / f"{name}.trec")
            bar.update()
    return rankings


def _ranked(run: RunTables, configuration: str, path: Path) -> dict[str, list[str]]:
    if path.is_file():
        hits = read_run(path).sort_values("rank", kind="stable")
    else:
        hits = run.of("hits", configuration).sort_values(["query_id", "rank"])
    ranked: dict[str, dict[str, None]] = defaultdict(dict)
    for query_id, doc_id in zip(hits["query_id"], hits["doc_id"], strict=True):
        ranked[query_id].setdefault(doc_id)
    return {query_id: list(doc_ids) for query_id, doc_ids in ranked.items()}


def pool_of_run(dataset: Dataset, run: RunTables, rankings: Mapping[str, Mapping[str, Sequence[str]]], k: int, seed: int = 0) -> LabelPool:
    """Pool the first k documents of every configuration, and the different answers of the run, for each question."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for ranked in rankings.values():
        for query_id, doc_ids in ranked.items():
            found[query_id] |= dict.fromkeys(doc_ids[:k])
    hits = run.hits[["query_id", "doc_id", "start", "end"]].drop_duplicates()
    slices: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for query_id, doc_id, start, end in hits.itertuples(index=False):
        slices[query_id, doc_id].append((int(start), int(end)))
    return LabelPool(_pooled(dataset, found, slices, seed), _answers(run, seed))


class CandidateSearch:
    """A search by rare words for the first k documents of questions without a run. It reads the documents with the first question.

    Experiments do not compare it, so the labels favour no retriever of a comparison.
    """

    def __init__(self, documents: Sequence[Document], k: int, seed: int = 0) -> None:
        self.documents = documents
        self.k = k
        self.seed = seed

    @cached_property
    def _chunks(self) -> list[Chunk]:
        chunker = FixedChunker(size=_PASSAGE_TOKENS)
        return [chunk for document in self.documents for chunk in chunker.split(document)]

    @cached_property
    def _words(self) -> RareWords:
        return RareWords([chunk.embedded_text for chunk in self._chunks])

    def pool(self, dataset: Dataset) -> LabelPool:
        """Pool the documents whose passages share rare words with each question of the dataset."""
        found: dict[str, dict[str, None]] = defaultdict(dict)
        slices: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        few = len(dataset.queries) < _FEW
        for query in ProgressBar(dataset.queries, total=len(dataset.queries), desc="search", unit="question", disable=few):
            for place in self._words.ranked(query.text)[: 4 * self.k]:
                chunk = self._chunks[place]
                shown = slices[query.query_id, chunk.doc_id]
                if shown or len(found[query.query_id]) < self.k:
                    found[query.query_id].setdefault(chunk.doc_id)
                    shown += [(chunk.start, chunk.end)] if len(shown) < _MOST_OPEN else []
        return LabelPool(_pooled(dataset, found, slices, self.seed), {})


def joined_pools(first: LabelPool, second: LabelPool, seed: int = 0) -> LabelPool:
    """Join two pools. A document of both keeps the passages of the first, and the order hides which pool it is from."""
    documents = {}
    for query_id in dict.fromkeys([*first.documents, *second.documents]):
        pools = [*second.documents.get(query_id, ()), *first.documents.get(query_id, ())]
        by_id = {document.doc_id: document for document in pools}
        documents[query_id] = tuple(by_id[doc_id] for doc_id in _ordered(query_id, by_id, seed))
    return LabelPool(documents, {**second.answers, **first.answers})


def _pooled(
    dataset: Dataset, found: Mapping[str, Iterable[str]], slices: Mapping[tuple[str, str], Iterable[tuple[int, int]]], seed: int
) -> dict[str, tuple[PooledDocument, ...]]:
    """Add the documents that the dataset judges to those found, and put them in the seeded order."""
    documents = {document.doc_id: document for document in dataset.corpus}
    judged: dict[str, list[str]] = defaultdict(list)
    marked: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for qrel in dataset.qrels:
        if qrel.relevance > 0:
            judged[qrel.query_id].append(qrel.doc_id)
    for need in dataset.needs:
        for span in need.alternatives:
            marked[need.query_id, span.doc_id].append((span.start, span.end))
    pools = {}
    for query in dataset.queries:
        query_id = query.query_id
        known = (doc_id for doc_id in dict.fromkeys([*found.get(query_id, ()), *judged[query_id]]) if doc_id in documents)
        doc_ids = _ordered(query_id, known, seed)
        places = {doc_id: [*slices.get((query_id, doc_id), ()), *marked[query_id, doc_id]] for doc_id in doc_ids}
        pools[query_id] = tuple(PooledDocument(doc_id, merged(places[doc_id], documents[doc_id])) for doc_id in doc_ids)
    return pools


def _ordered(query_id: str, doc_ids: Iterable[str], seed: int) -> list[str]:
    return sorted(doc_ids, key=lambda doc_id: fingerprint(seed, query_id, doc_id))


def merged(slices: Iterable[tuple[int, int]], document: Document) -> Slices:
    """Merge slices that overlap or touch, clipped to the document. Without any, the slice is the whole document."""
    found: list[tuple[int, int]] = []
    for start, end in sorted((max(0, start), min(end, len(document.text))) for start, end in slices):
        if start < end:
            if found and start <= found[-1][1]:
                found[-1] = (found[-1][0], max(found[-1][1], end))
            else:
                found.append((start, end))
    return tuple(found) or ((0, len(document.text)),)


def _answers(run: RunTables, seed: int) -> dict[str, Answers]:
    """Return the different answers to each question, in a seeded order that hides who gave them."""
    table = run.answers
    rows = table[(table["condition"] == RETRIEVED) & (table["variant"] == "") & (table["answer"].str.strip() != "")]
    found: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for query_id, text, configuration in zip(rows["query_id"], rows["answer"], rows["configuration"], strict=True):
        found[query_id, text.strip()].setdefault(configuration)
    pools: dict[str, list[tuple[str, tuple[str, ...]]]] = defaultdict(list)
    for query_id, text in sorted(found, key=lambda key: fingerprint(seed, *key)):
        pools[query_id].append((text, tuple(found[query_id, text])))
    return {query_id: tuple(answers) for query_id, answers in pools.items()}
