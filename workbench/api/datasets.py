"""Load datasets, and look at documents and their chunks."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import pandas as pd

from workbench.api.arguments import documents_of, given_component, require
from workbench.api.chunk_marks import marked_text
from workbench.components.chunking.base import Chunker
from workbench.core.errors import InputError
from workbench.core.records import Dataset, Document
from workbench.core.text.display import text_html
from workbench.core.text.formatting import plural
from workbench.core.text.guessed_names import checked_names, unknown_argument
from workbench.data.formats.golden import save_golden
from workbench.data.sources import SOURCES, recognise
from workbench.runner.pipeline.chunk_table import Chunks, chunk_tables

_ARGUMENTS = ("path", "split", "kind", "documents", "qrels", "unlabelled", "recurrences", "max_file_mb")


@checked_names
def load_dataset(
    path: str | Path,
    *,
    split: str | None = None,
    kind: str | None = None,
    documents: str | Path | None = None,
    qrels: str | Path | None = None,
    unlabelled: bool = False,
    **settings: int,
) -> Dataset:
    """Load documents, questions and labels, and check them.

    Parameters
    ----------
    path: a folder or file, relative to the working directory: Workbench's own format, BEIR, TREC, or a CSV or parquet table.
    split: load the questions of this split only. By default all questions are loaded, and those of `test` for BEIR.
    kind: `golden`, `list`, `beir`, `nfcorpus`, `trec` or `table`. By default it is recognised from the path.
    documents: the documents, if they are not in `path`.
    qrels: the judgements of TREC topics, if they are not in `path`.
    unlabelled: accept questions without a relevant document, and a file of questions without any, so that `label` can label and add them.
    settings: other settings of the dataset: `recurrences=True` makes other verbatim occurrences of evidence alternatives, and
        `max_file_mb` is the largest file that is read.

    Raises
    ------
    InputError: the path does not exist or cannot be read.
    DatasetError: the content is inconsistent. The error lists every fault with its file and line.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.load_dataset("experiments/handbook", split="dev")
    Dataset('handbook', 54 documents, 98 questions, 2,733 judgements, 117 pieces of evidence)
    """
    known = {name for source in SOURCES.values() for name in source.model_fields}
    if strange := [name for name in settings if name not in known]:
        raise unknown_argument("load_dataset", strange[0], _ARGUMENTS)
    if not isinstance(path, str | Path):
        fix = "give the path of a folder or file; wb.Dataset(name, documents, queries, qrels) makes a dataset of values in Python"
        raise InputError(f"the path is of type {type(path).__name__}", fix)
    places = {"documents": documents, "qrels": qrels}
    given = {name: str(place) for name, place in places.items() if place}
    source = recognise(str(path), split, kind=kind, **given, **settings)
    dataset = source.load(unlabelled)
    return replace(dataset, source=source.settings(), _loaded=None if unlabelled else dataset)


@checked_names
def save_dataset(dataset: Dataset, folder: str | Path, *, replace: bool = False) -> Dataset:
    """Write a dataset to a new folder in Workbench's own format, and return it as loaded from there.

    Parameters
    ----------
    dataset: the dataset.
    folder: the folder, which is new or empty.
    replace: replace the folder if `save_dataset` wrote it, from a dataset of the same name, and nothing in it was changed or added since.

    Raises
    ------
    InputError: the folder exists, is not empty and may not be replaced, or cannot be written.

    Examples
    --------
    >>> import dataclasses
    >>> import workbench as wb
    >>> dataset = wb.load_dataset("experiments/handbook", split="dev")
    >>> first = dataclasses.replace(dataset, queries=dataset.queries[:1], qrels=dataset.qrels[:1], needs=dataset.needs[:1])
    >>> len(wb.save_dataset(first, "first_question").queries)
    1
    """
    require(dataset, Dataset, "dataset")
    save_golden(dataset, Path(folder), replace)
    return load_dataset(folder, kind="golden")


@checked_names
def chunk_table(documents: Dataset | Iterable[Document], chunker: Chunker) -> pd.DataFrame:
    """Split documents and tabulate their chunks.

    Returns
    -------
    A DataFrame with a row for each chunk: `chunk_id`, `doc_id`, `start` and `end` in characters of the document, `delivered_start` and
    `delivered_end` (those of its parent if it has one), `tokens` of the delivered text in the vocabulary of all-MiniLM-L6-v2, without
    special tokens, `header` (embedded before the text) and `text`.

    Examples
    --------
    >>> import workbench as wb
    >>> dataset = wb.load_dataset("experiments/handbook", split="dev")
    >>> wb.chunk_table(dataset, wb.FixedChunker(size=256))["tokens"].max().item()
    254
    """
    made = _chunker(chunker)
    texts = documents.documents if isinstance(documents, Dataset) else documents_of(documents)
    table = pd.concat(chunk_tables(texts, made), ignore_index=True)
    chunks = Chunks(texts, table)
    ids = pd.DataFrame({"chunk_id": chunks.ids, "doc_id": [chunk.doc_id for chunk in chunks]})
    columns = ["start", "end", "delivered_start", "delivered_end", "tokens", "header"]
    return pd.concat([ids, table[columns]], axis=1).assign(text=[chunk.text for chunk in chunks])


@dataclass(frozen=True)
class ChunkedDocument:
    """A document with its chunks in alternating colours. Text in two chunks, their overlap, is dotted."""

    document: Document
    chunker: Chunker

    def _repr_html_(self) -> str:
        chunks = self.chunker.split(self.document)
        title = f"{self.document.doc_id}, {self.chunker.name}: {plural(len(chunks), 'chunk')}"
        return text_html(title, marked_text(self.document.text, chunks))


@checked_names
def show_chunks(document: Document, chunker: Chunker) -> ChunkedDocument:
    """Show where a chunker cuts a document, as a notebook display.

    Chunks alternate between two colours and begin with their number. Overlaps are grey and dotted.

    Examples
    --------
    >>> import workbench as wb
    >>> dataset = wb.load_dataset("experiments/handbook", split="dev")
    >>> wb.show_chunks(dataset.documents[0], wb.SentenceChunker(size=128))  # doctest: +ELLIPSIS
    ChunkedDocument(document=Document(...
    """
    require(document, Document, "document")
    return ChunkedDocument(document, _chunker(chunker))


def _chunker(given: object) -> Chunker:
    made = given_component("chunking", given)
    require(made, Chunker, "chunker")
    return cast(Chunker, made)
