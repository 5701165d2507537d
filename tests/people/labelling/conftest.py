"""A small dataset with questions of every kind, and labels written for it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.core.records import Dataset, Document, Need, Qrel, Query, Span
from workbench.people.labelling.checking import LabelChecker
from workbench.people.labelling.label_file import AnnotatorLabels, LabelFile, labels_by_annotator
from workbench.people.labelling.pooling import CandidateSearch, LabelPool, PooledDocument
from workbench.people.labelling.priority import queue_without_run
from workbench.people.labelling.session import LabellingSession, LabellingTask

TEXTS = {
    "ferry": "🚢 The ferry costs nine euros. It leaves at seven.",
    "old": "The old ferry cost five euros.",
    "bread": "Let the dough rest for fourteen hours.",
    "bees": "Bees must not get foreign honey.",
}


@pytest.fixture
def dataset() -> Dataset:
    """Three questions: one with a judgement and evidence, one without labels, one that a model wrote."""
    queries = (
        Query("q1", "What does the ferry cost?"),
        Query("q2", "How long does dough rest?"),
        Query("q3", "Which honey is bad?", metadata={"synthetic": True, "accepted_by": ""}, answer="Foreign honey."),
    )
    documents = tuple(Document(doc_id, text) for doc_id, text in TEXTS.items())
    needs = (Need("q1", (Span("ferry", 2, 29),)),)
    return Dataset("sea", documents, queries, (Qrel("q1", "ferry", 1), Qrel("q3", "bees", 1)), needs)


@pytest.fixture
def checker(dataset: Dataset) -> LabelChecker:
    return LabelChecker(dataset)


@pytest.fixture
def session(dataset: Dataset, checker: LabelChecker, tmp_path: Path) -> Callable[..., LabellingSession]:
    """Open a session of a person, whose pool has every document for every question."""

    def opened(annotator: str = "ann", file: str = "labels.jsonl", again: bool = False) -> LabellingSession:
        pool = tuple(PooledDocument(doc_id, ((0, len(text)),)) for doc_id, text in TEXTS.items())
        documents = {query.query_id: pool for query in dataset.queries}
        search = CandidateSearch(dataset.corpus, 10)
        task = LabellingTask(dataset, LabelPool(documents, {}), queue_without_run(dataset), search, again)
        return LabellingSession(task, checker, LabelFile.begin(tmp_path / file, checker.header), annotator)

    return opened


@pytest.fixture
def labels(checker: LabelChecker, tmp_path: Path) -> Callable[..., dict[str, AnnotatorLabels]]:
    """Read the labels of a file by person."""

    def read(file: str = "labels.jsonl") -> dict[str, AnnotatorLabels]:
        return labels_by_annotator(checker.checked(LabelFile(tmp_path / file))[0])

    return read
