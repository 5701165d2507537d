"""Load datasets, and look at documents and their chunks, marked in the text as HTML with inline styles."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import cast

import pandas as pd
from markupsafe import Markup

from workbench.api.arguments import documents_of, given_component, require
from workbench.components.chunking.base import Chunker
from workbench.core.errors import InputError
from workbench.core.records import Chunk, Dataset, Document
from workbench.core.text.display import text_html
from workbench.core.text.formatting import plural
from workbench.core.text.guessed_names import checked_names, unknown_argument
from workbench.data.formats.golden import save_golden
from workbench.data.sources import SOURCES, recognise
from workbench.runner.pipeline.chunk_table import Chunks, chunk_tables

_SHADES = ("rgba(74,143,208,.28)", "rgba(227,150,40,.26)")
_SHARED = "background-color:rgba(128,128,128,.35);border-bottom:2px dotted"
_MARK = "font-size:.8em;font-weight:700;margin:0 .4em"
# Lines under the text, so that evidence and chunks are seen together, in light and dark, and not by colour alone.
WHOLE_STYLE = "text-decoration:underline solid #2e9e5b 3px;text-underline-offset:3px"
CUT_STYLE = "text-decoration:underline wavy #d9443f 2px;text-underline-offset:3px"
SCISSORS = "✂"


@dataclass(frozen=True, slots=True)
class EvidenceMark:
    """A span of evidence in a text, and whether no chunk delivers it whole. `title` is shown on hovering, `query_id` is its question."""

    start: int
    end: int
    cut: bool
    title: str = ""
    query_id: str = ""


def marked_text(
    text: str, chunks: Sequence[Chunk], evidence: Sequence[EvidenceMark] = (), start: int = 0, end: int | None = None
) -> Markup:
    """Return the text from `start` to `end` with its chunks in alternating colours.

    A chunk begins with its number. Overlaps of chunks are grey and dotted. Evidence is underlined, with a wavy line and scissors if it is
    cut. `chunks` are those of the whole text, ordered by start.
    """
    end = len(text) if end is None else end
    numbered = [(chunk.start, chunk.end, place) for place, chunk in enumerate(chunks)]
    marks = sorted((mark.start, mark.end, place) for place, mark in enumerate(evidence))
    borders = {start, end, *(edge for first, last, _ in [*numbered, *marks] for edge in (first, last) if start < edge < end)}
    edges = sorted(borders)
    parts = zip(pairwise(edges), _inside(edges, numbered), _inside(edges, marks), strict=True)
    return Markup("").join(
        _segment(text, low, high, chunks, within, [evidence[mark] for mark in held]) for (low, high), within, held in parts
    )


def _inside(edges: Sequence[int], spans: Sequence[tuple[int, int, int]]) -> Iterator[list[int]]:
    """Yield the numbers of the spans (start, end, number), ordered by start, that contain each stretch between two edges."""
    active: list[tuple[int, int]] = []
    following = 0
    for low in edges[:-1]:
        while following < len(spans) and spans[following][0] <= low:
            active.append(spans[following][1:])
            following += 1
        active = [(last, number) for last, number in active if last > low]
        yield [number for _, number in active]


def _segment(text: str, low: int, high: int, chunks: Sequence[Chunk], within: Sequence[int], evidence: Sequence[EvidenceMark]) -> Markup:
    style = f"background-color:{_SHADES[within[0] % 2]}" if len(within) == 1 else _SHARED if within else ""
    starts = ",".join(str(place + 1) for place in within if chunks[place].start == low)
    number = Markup('<span style="{}">{}</span>').format(_MARK, starts) if starts else ""
    content: str | Markup = text[low:high]
    if evidence:
        cut = any(mark.cut for mark in evidence)
        scissors = SCISSORS if any(mark.cut and mark.start == low for mark in evidence) else ""
        title = "; ".join(dict.fromkeys(mark.title for mark in evidence if mark.title))
        content = Markup('<span style="{}" title="{}">{}{}</span>').format(CUT_STYLE if cut else WHOLE_STYLE, title, scissors, content)
    return Markup('<span style="{}">{}{}</span>').format(style, number, content)


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
    path: a folder or file, relative to the working directory: Workbench's own format, BEIR, TREC, a CSV or parquet table, or a dataset that
        Hugging Face's `datasets` saved.
    split: load the questions of this split only. By default all questions are loaded, and those of `test` for BEIR.
    kind: `golden`, `list`, `beir`, `nfcorpus`, `trec`, `table` or `huggingface`. By default it is recognised from the path.
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
