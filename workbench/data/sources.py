"""Sources of datasets, one frozen value for each kind, as in the `dataset:` of an experiment."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from workbench.core.component import Component, field_fault
from workbench.core.environment import expand
from workbench.core.errors import DatasetError, InputError
from workbench.core.records import Dataset
from workbench.core.text.formatting import meant
from workbench.data.checks import checked, dataset_of
from workbench.data.draft import DatasetDraft
from workbench.data.files import MAX_FILE_MB, FileAccess, first_file, readable, require
from workbench.data.formats.beir import read_beir, read_nfcorpus
from workbench.data.formats.documents import read_documents
from workbench.data.formats.golden import QUESTION_FILES, read_golden
from workbench.data.formats.huggingface import SAVED, SPLITS, is_huggingface, read_huggingface
from workbench.data.formats.table import QUESTIONS, read_table
from workbench.data.formats.table_rows import is_table
from workbench.data.formats.trec import QRELS, TOPICS, read_trec
from workbench.data.labels import anchor, keep_missing, match_unicode, with_recurrences

_DOCUMENTS = ("documents.jsonl", "documents")
_DATASETS = (*QUESTION_FILES, *QUESTIONS, *TOPICS, "corpus.jsonl", "qrels", SAVED, SPLITS)


class Source(Component, ABC):
    """The place of a dataset and the split to read, or None to read every question."""

    split: str | None = Field(default=None, description="The split to read, with the questions that have none; by default all.")

    max_file_mb: int = Field(default=MAX_FILE_MB, ge=1, description="The largest file that is read, in megabytes.")

    missing_documents: Literal["error", "keep"] = Field(
        default="error",
        description="What labels of a document mean that the corpus does not have: an `error`, or `keep` the labels of a document that was deleted, which "
        "can then never be found.",
    )

    @abstractmethod
    def _draft(self) -> DatasetDraft: ...

    def load(self, unlabelled: bool = False) -> Dataset:
        """Read the dataset. Raises DatasetError with every fault. With `unlabelled`, questions may lack a relevant document."""
        return self.dataset(self.read(), unlabelled)

    def read(self) -> DatasetDraft:
        """Read all rows and their faults, and find relevant chunks given as text. Raises InputError if a file cannot be read."""
        with readable():
            draft = self._draft()
        match_unicode(draft)
        if self.missing_documents == "keep":
            keep_missing(draft)
        anchor(draft)
        return draft

    def dataset(self, draft: DatasetDraft, unlabelled: bool = False) -> Dataset:
        """Make the dataset of a draft. Raises DatasetError with every fault. With `unlabelled`, questions may lack a relevant document."""
        return dataset_of(draft, unlabelled)

    def _files(self) -> FileAccess:
        """Return the paths that may be read: the given ones, and for a file those beside it."""
        given = (getattr(self, name, None) for name in ("path", "documents", "qrels"))
        named = [expand(path) for path in given if path]
        return FileAccess((*named, *(path.parent for path in named if path.is_file())), self.max_file_mb)


class EvidenceSource(Source):
    """A source of evidence spans. `recurrences` makes other verbatim occurrences of a span alternatives."""

    recurrences: bool = Field(default=False, description="Whether other verbatim occurrences of evidence become alternatives.")

    def dataset(self, draft: DatasetDraft, unlabelled: bool = False) -> Dataset:
        dataset = super().dataset(draft, unlabelled)
        return with_recurrences(dataset) if self.recurrences else dataset


class GoldenSource(EvidenceSource):
    """Workbench's own format: a folder or a JSON file. `documents` gives the path of documents outside it."""

    kind: Literal["golden"] = "golden"
    path: str = Field(description="The folder or JSON file.")
    documents: str | None = Field(default=None, description="The documents, if they are in another place: a folder or a JSON Lines file.")

    def _draft(self) -> DatasetDraft:
        return read_golden(expand(self.path), _place(self.documents), self.split, self._files())


class ListSource(EvidenceSource):
    """A plain JSON list of {query, relevant_doc_ids, irrelevant_doc_ids}, and its documents."""

    kind: Literal["list"] = "list"
    path: str = Field(description="The JSON file with the list.")
    documents: str = Field(description="The documents: a folder or a JSON Lines file.")

    def _draft(self) -> DatasetDraft:
        return read_golden(expand(self.path), expand(self.documents), self.split, self._files())


class BeirSource(EvidenceSource):
    """A BEIR folder."""

    kind: Literal["beir"] = "beir"
    path: str = Field(description="The folder with corpus.jsonl, queries.jsonl and qrels/.")
    split: str | None = Field(default="test", description="The split to read: qrels/SPLIT.tsv.")

    def _draft(self) -> DatasetDraft:
        return read_beir(expand(self.path), self.split, self._files())


class NfcorpusSource(Source):
    """NFCorpus, by default from WORKBENCH_DATA, the cache or the network. `subset: five` keeps the five named questions."""

    kind: Literal["nfcorpus"] = "nfcorpus"
    path: str | None = Field(default=None, description="The folder; by default WORKBENCH_DATA, then the cache, then a download.")
    split: str | None = Field(default="test", description="The split to read.")
    subset: Literal["five"] | None = Field(default=None, description="`five` keeps five named questions.")

    def _draft(self) -> DatasetDraft:
        return read_nfcorpus(_place(self.path), self.split, self.subset == "five", self._files())


class TrecSource(Source):
    """TREC topics with qrels and documents. `path` is the topics file, or a folder with all three under their usual names."""

    kind: Literal["trec"] = "trec"
    path: str = Field(description="The topics file, or a folder with topics, qrels and documents.")
    qrels: str | None = Field(default=None, description="The judgements, if `path` is a file.")
    documents: str | None = Field(default=None, description="The documents, if `path` is a file.")

    def _draft(self) -> DatasetDraft:
        return read_trec(expand(self.path), _place(self.qrels), _place(self.documents), self.split, self._files())


class TableSource(EvidenceSource):
    """A CSV or parquet table of questions and its documents, or a folder with both."""

    kind: Literal["table"] = "table"
    path: str = Field(description="The CSV or parquet file, or a folder with questions and documents.")
    documents: str | None = Field(default=None, description="The documents, if `path` is a file: a table, a JSON Lines file or a folder.")

    def _draft(self) -> DatasetDraft:
        return read_table(expand(self.path), _place(self.documents), self.split, self._files())


class HuggingFaceSource(EvidenceSource):
    """A dataset that Hugging Face's `datasets` saved: a folder of `save_to_disk`, or parquet files. Contexts are documents if none are given."""

    kind: Literal["huggingface"] = "huggingface"
    path: str = Field(description="The folder of `save_to_disk` or of parquet files, or a parquet file.")
    documents: str | None = Field(
        default=None, description="The documents that contain the contexts; by default the contexts are the documents."
    )

    def _draft(self) -> DatasetDraft:
        return read_huggingface(expand(self.path), _place(self.documents), self.split, self._files())


SOURCES: dict[str, type[Source]] = {
    str(source.model_fields["kind"].default): source
    for source in (GoldenSource, ListSource, BeirSource, NfcorpusSource, TrecSource, TableSource, HuggingFaceSource)
}


def _place(path: str | None) -> Path | None:
    return expand(path) if path else None


def recognise(path: str, split: str | None, *, kind: str | None = None, **given: str | int | None) -> Source:
    """Return the source at a path, of the given `kind` or of the kind that the path looks like.

    A folder with corpus.jsonl or a folder `qrels` is BEIR, one with topics and qrels TREC, one with a table of questions a table. A file
    of topics (.tsv) is TREC, and a .csv or .parquet file is a table, unless Hugging Face's `datasets` wrote it. Everything else is golden. The other options go to the source,
    which may refuse them.
    """
    place = require(expand(path), "the dataset")
    with readable():
        kind = kind or _looks_like(place, bool(given.get("qrels")))
    if kind not in SOURCES:
        raise InputError(f"there is no kind of dataset {kind!r}{meant(kind, SOURCES)}", f"the kinds are {', '.join(SOURCES)}")
    options = {name: value for name, value in given.items() if value is not None}
    try:
        return SOURCES[kind].model_validate({"path": path, "split": split} | options)
    except ValidationError as error:
        wrong = " and ".join(_option(dict(detail)) for detail in error.errors())
        raise InputError(f"a dataset of the kind {kind!r} {wrong}", f"kinds are {', '.join(SOURCES)}") from None


def _option(detail: dict[str, Any]) -> str:
    """Describe an invalid option, from an error of pydantic."""
    option = f"--{str(detail['loc'][0]).replace('_', '-')}"
    whys = {"missing": f"needs {option}", "extra_forbidden": f"has no use for {option}"}
    return whys.get(detail["type"]) or f"needs another {field_fault(option, detail | {'loc': ()})}"


def _looks_like(place: Path, judged: bool) -> str:
    golden = first_file(place, ("questions.jsonl", "questions.json")) is not None
    if (place / "qrels").is_dir() or (not golden and (place / "corpus.jsonl").exists()):
        return "beir"
    topics = first_file(place, TOPICS)
    if place.suffix.lower() == ".tsv" or (topics and (judged or topics.stem == "topics" or first_file(place, QRELS))):
        return "trec"
    if not golden and not first_file(place, QUESTIONS) and is_huggingface(place):
        return "huggingface"
    return "table" if first_file(place, QUESTIONS) or (is_table(place) and place.is_file()) else "golden"


def read_sources(path: str, split: str | None = None, *, max_file_mb: int | None = None, **given: str | None) -> Dataset:
    """Return the documents at a path, with the questions that a dataset there has already.

    A folder without questions, and a JSON Lines file, are documents. Everything else is a dataset, which `datasets.sources.recognise` reads with
    the other options. Raises DatasetError with every fault.
    """
    place = require(expand(path), "the documents")
    with readable():
        documents = None if split or any(given.values()) else _documents(place)
        if documents is None:
            return recognise(path, split, kind=given.pop("kind", None), max_file_mb=max_file_mb, **given).load()
        draft = DatasetDraft(place.resolve().name, files=FileAccess((place, documents), max_file_mb or MAX_FILE_MB))
        read_documents(documents, draft)
    if draft.faults:
        raise DatasetError(f"documents {path}", draft.faults)
    return checked(Dataset(draft.name, tuple(document for document, _ in draft.documents), (), ()))


def _documents(place: Path) -> Path | None:
    """Return the documents if there are no questions beside them, otherwise None."""
    if place.is_file():
        return place if place.suffix.lower() in (".jsonl", ".ndjson") else None
    if any((place / name).exists() for name in _DATASETS):
        return None
    return next((place / name for name in _DOCUMENTS if (place / name).exists()), place)
