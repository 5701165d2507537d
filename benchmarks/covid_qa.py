"""A part of covid-qa as a folder, and recall at 5 chunks by one simple definition for all sides."""

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from workbench.core.environment import data_folder
from workbench.core.records import Dataset
from workbench.data.sources import BeirSource

NAME = "covid-qa"
K = 5
# A delivered chunk: document, start and end in its text.
Place = tuple[str, int, int]


def part_of(folder: Path, documents: int) -> Dataset:
    """The first documents with their questions, written as a BEIR folder and read back."""
    return written(folder, doc_ids()[:documents])


def doc_ids() -> list[str]:
    """All documents, in the order of the corpus."""
    return [_id(line) for line in _lines(data_folder() / NAME / "corpus.jsonl")]


def written(folder: Path, documents: Collection[str]) -> Dataset:
    """These documents with their questions, written as a BEIR folder and read back."""
    source, kept = data_folder() / NAME, set(documents)
    header, *judged = _lines(source / "qrels" / "test.tsv")
    rows = [row for row in judged if row.split("\t")[1] in kept]
    queries = {row.split("\t")[0] for row in rows}
    (folder / "qrels").mkdir(parents=True)
    (folder / "qrels" / "test.tsv").write_text("".join([header, *rows]), "utf-8")
    for name, wanted in (("corpus.jsonl", kept), ("queries.jsonl", queries), ("evidence.jsonl", queries)):
        (folder / name).write_text("".join(line for line in _lines(source / name) if _id(line) in wanted), "utf-8")
    return BeirSource(path=str(folder)).load()


def recall(dataset: Dataset, delivered: Mapping[str, Sequence[Place]]) -> dict[str, float]:
    """Means over the questions: whether the first 5 chunks include the document with the answer, and the share of the
    evidence's characters that they contain. Every question of covid-qa has one document and one span.
    """
    spans = {need.query_id: need.alternatives[0] for need in dataset.needs}
    documents = characters = 0.0
    for query_id, span in spans.items():
        here = [(start, end) for doc_id, start, end in delivered[query_id][:K] if doc_id == span.doc_id]
        documents += bool(here)
        covered = {place for start, end in here for place in range(max(start, span.start), min(end, span.end))}
        characters += len(covered) / (span.end - span.start)
    return {"documents@5": documents / len(spans), "spans@5": characters / len(spans)}


def _lines(path: Path) -> list[str]:
    # Not splitlines: a text may contain other line ends, which JSON does not escape.
    return [f"{line}\n" for line in path.read_text("utf-8").split("\n") if line]


def _id(line: str) -> str:
    row = json.loads(line)
    return str(row.get("_id", row.get("query_id")))
