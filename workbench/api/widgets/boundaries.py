"""Move the sizes of a chunking and watch its boundaries move on a document."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Any, Literal

import ipywidgets
import numpy as np
import pandas as pd
import yaml
from markupsafe import Markup

from workbench.api.arguments import require
from workbench.api.datasets import CUT_STYLE, SCISSORS, WHOLE_STYLE, EvidenceMark, marked_text
from workbench.api.widgets.notebook_panel import WITHIN, CopyButton, NotebookPanel
from workbench.components.chunking.base import Chunker
from workbench.components.embedding.base import NO_WINDOW, Embedder
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.registry import CHUNKERS
from workbench.core.errors import InputError
from workbench.core.records import Chunk, Dataset, Document, Need
from workbench.core.text.display import text_html
from workbench.core.text.formatting import count, listed, meant, plural
from workbench.llm.models.files import MINILM
from workbench.llm.models.tokenizers import Tokens, special_tokens, tokenise
from workbench.measures.attribution.evidence_state import whole_alternatives, whole_needs
from workbench.measures.metrics.coverage import Bools, Ints
from workbench.measures.metrics.inputs import Labels

# Where a word is cut, or a header or prompt comes first, an input can have other tokens than its text has within the document.
_TOKENS_APART, _SHARE_APART = 16, 0.15
# One token in every vocabulary.
_WORD = "a"
_TITLE = 200
_MOST_CHUNKS = 6


@dataclass(frozen=True, eq=False)
class Boundaries:
    """The chunks of a document with its evidence.

    `cut_needs` of `needs` pieces of evidence are in no chunk whole, as delivered. `beyond` has the numbers of the chunks with more tokens
    than the embedder's `window`, None without a window.
    """

    document: Document
    chunker: Chunker
    chunks: Sequence[Chunk]
    evidence: Sequence[EvidenceMark]
    needs: int
    cut_needs: int
    beyond: Sequence[int]
    window: int | None

    @property
    def counts(self) -> str:
        """The counts in one line."""
        longest = max((chunk.end - chunk.start for chunk in self.chunks), default=0)
        evidence = f"{count(self.cut_needs)} of {plural(self.needs, 'piece')} of evidence cut" if self.needs else "no evidence here"
        window = f"{count(len(self.beyond))} beyond the window of {plural(self.window, 'token')}" if self.window else "no window"
        return f"{self.chunker.name}: {plural(len(self.chunks), 'chunk')}, the longest of {plural(longest, 'character')} · {evidence} · {window}"

    def places(self, query_id: str) -> str:
        """Name the chunks that contain the evidence of a question. Empty if it has none in the document."""
        places = []
        for mark in self.evidence:
            if mark.query_id == query_id:
                inside = [str(number) for number, chunk in enumerate(self.chunks, 1) if chunk.start < mark.end and chunk.end > mark.start]
                chunks = f"chunk{'s' * (len(inside) != 1)} {listed(inside, _MOST_CHUNKS)}" if inside else "no chunk"
                places.append(f"{chunks}, cut" if mark.cut else chunks)
        return f"Evidence of {query_id}: {'; '.join(dict.fromkeys(places))}." if places else ""


@dataclass(frozen=True, eq=False)
class LabelledDocument:
    """A document with the evidence that a dataset has in it."""

    document: Document
    dataset: Dataset

    @cached_property
    def needs(self) -> tuple[Need, ...]:
        """The pieces of evidence with an alternative in the document, without their alternatives elsewhere."""
        inside = (
            Need(need.query_id, tuple(span for span in need.alternatives if span.doc_id == self.document.doc_id))
            for need in self.dataset.needs
        )
        return tuple(need for need in inside if need.alternatives)

    def marks(self, chunks: Sequence[Chunk]) -> tuple[list[EvidenceMark], int]:
        """Return the evidence with whether these chunks cut it, and the number of pieces that are cut.

        Whole is what the diagnosis of a sweep calls so: a delivered slice contains it, apart from blanks at its borders.
        """
        edges = np.array([chunk.delivered for chunk in chunks], dtype=np.int64).reshape(-1, 2)
        table = pd.DataFrame({"doc": np.zeros(len(edges), dtype=np.int64), "delivered_start": edges[:, 0], "delivered_end": edges[:, 1]})
        spans = [(span, need.query_id) for need in self.needs for span in need.alternatives]
        whole = whole_alternatives(self._labels, table).tolist() if spans else []
        marks = [
            EvidenceMark(span.start, span.end, not kept, f"{query_id}: {self._questions[query_id]}"[:_TITLE], query_id)
            for (span, query_id), kept in zip(spans, whole, strict=True)
        ]
        return marks, int((~whole_needs(self._labels, table)).sum()) if spans else 0

    @cached_property
    def _questions(self) -> dict[str, str]:
        return {query.query_id: query.text for query in self.dataset.queries}

    @cached_property
    def _labels(self) -> Labels:
        asked = {need.query_id for need in self.needs}
        queries = tuple(query for query in self.dataset.queries if query.query_id in asked)
        return Labels.of(Dataset(self.dataset.name, (self.document,), queries, (), self.needs))


@dataclass(frozen=True, eq=False)
class BoundaryModel:
    """The documents of a dataset, cut by any chunker. `embedding` has the window, None for none."""

    dataset: Dataset
    embedding: Embedder | None = None

    @cached_property
    def documents(self) -> dict[str, Document]:
        """The documents by id, without those that are missing or blank."""
        return {document.doc_id: document for document in self.dataset.corpus if document.text.strip()}

    @cached_property
    def evidence_counts(self) -> dict[str, int]:
        """The number of pieces of evidence in each document that has any."""
        counts: dict[str, int] = {}
        for need in self.dataset.needs:
            for doc_id in {span.doc_id for span in need.alternatives}:
                counts[doc_id] = counts.get(doc_id, 0) + 1
        return counts

    @cached_property
    def first(self) -> str:
        """The id of the first document with evidence, or of the first. Raises InputError if no document has text."""
        if not self.documents:
            raise InputError(f"no document of {self.dataset.name} has text", "add a document")
        return next((doc_id for doc_id in self.documents if doc_id in self.evidence_counts), next(iter(self.documents)))

    @cached_property
    def window(self) -> int | None:
        """The window of the embedder."""
        window = self.embedding.chunk_window() if self.embedding else NO_WINDOW
        return window if window < NO_WINDOW else None

    def found(self, words: str, most: int) -> tuple[list[str], int]:
        """Return the ids of the first documents whose id or title contains the words, and how many there are in all."""
        wanted = words.casefold().split()
        names = [
            doc_id for doc_id, document in self.documents.items() if all(word in f"{doc_id} {document.title}".casefold() for word in wanted)
        ]
        return names[:most], len(names)

    def cut(self, doc_id: str, chunker: Chunker) -> Boundaries:
        """Cut a document as a sweep does. Its tokens are counted once for each vocabulary."""
        labelled = self._labelled(doc_id)
        chunks = chunker.split(labelled.document)
        marks, cut_needs = labelled.marks(chunks)
        beyond = self._beyond(labelled.document, chunks)
        return Boundaries(labelled.document, chunker, chunks, marks, len(labelled.needs), cut_needs, beyond, self.window)

    @cached_property
    def _labelled(self) -> Callable[[str], LabelledDocument]:
        return lru_cache(maxsize=8)(lambda doc_id: LabelledDocument(self.documents[doc_id], self.dataset))

    def _beyond(self, document: Document, chunks: Sequence[Chunk]) -> list[int]:
        """Return the numbers of the chunks whose input is longer than the window.

        The tokens of the document decide wherever they can. Other inputs near the window are tokenised, which takes most of the time.
        """
        if self.embedding is None or self.window is None or not chunks:
            return []
        least, most = _bounds(document, chunks, self.embedding, self._added)
        beyond = least > self.window
        unsure = np.flatnonzero(~beyond & (most > self.window))
        if len(unsure):
            inputs = [chunks[place].embedded_text for place in unsure.tolist()]
            beyond[unsure] = self.embedding.lengths(inputs, "document") > self.window
        return [int(place) for place in np.flatnonzero(beyond)]

    @cached_property
    def _added(self) -> int:
        """The tokens that the embedder adds to a text: special tokens and a prompt."""
        return int(self.embedding.lengths([_WORD], "document")[0]) - 1 if self.embedding else 0


def _bounds(document: Document, chunks: Sequence[Chunk], embedding: Embedder, added: int) -> tuple[Ints, Ints]:
    """Bound the number of tokens of each input. Both bounds are equal where a chunk without header is cut between words, without a prompt."""
    tokens = tokenise([document.text], embedding.vocabulary)[0]
    starts, ends = (np.array([getattr(chunk, side) for chunk in chunks], dtype=np.int64) for side in ("start", "end"))
    inside = tokens.before(ends) - tokens.before(starts) + added
    headers = np.array([len(chunk.header) for chunk in chunks], dtype=np.int64)
    exact = _between_words(tokens, starts) & _between_words(tokens, ends) & (headers == 0) & (added == special_tokens(embedding.vocabulary))
    apart = np.where(exact, 0, (_SHARE_APART * inside).astype(np.int64) + _TOKENS_APART)
    return inside - apart, inside + apart + headers


def _between_words(tokens: Tokens, positions: Ints) -> Bools:
    """Mark the positions where a cut leaves all tokens as they are (`Tokens`)."""
    place = tokens.before(positions)
    before, after = np.maximum(place - 1, 0), np.minimum(place, len(tokens.starts) - 1)
    apart = (tokens.words[before] != tokens.words[after]) | (place == len(tokens.starts))
    return np.asarray((place == 0) | (apart & (tokens.ends[before] <= positions)), dtype=np.bool_)


# Those that cut a document without vectors and without code of other packages, so that they follow a slider.
KINDS = ("fixed", "recursive", "sentence", "markdown", "hierarchical", "whole")
UNITS = ("model", "cl100k", "characters")
Unit = Literal["model", "cl100k", "characters"]
SMALLEST = 8
# The characters of a document that are shown at once, few enough for a browser to lay out while a slider moves.
PAGE = 12_000
# The documents that a list offers at once.
_MOST_NAMES = 200
_WIDE = "32em"
_ROW = {"flex_flow": "row wrap"}
_MEANT: Mapping[type, str] = {int: "a whole number", bool: "True or False", str: "a name"}
_SIZES = {"size": (32, 1024), "overlap": (0, 512), "parent": (32, 4096)}
_SEMANTIC = "Semantic chunking compares vectors of sentences, which is too slow for a slider: see wb.show_chunks."


@dataclass(frozen=True)
class ChunkingSettings:
    """A kind with its sizes. `size` is that of the children of a hierarchical chunking, whose parents have the size `parent`.

    Sizes that contradict each other are moved to the nearest that do not: the overlap below the size, the parent above it.
    """

    kind: str = "fixed"
    size: int = 256
    overlap: int = 0
    parent: int = 1024
    enrich: bool = False
    tokens: Unit = "model"
    model: str = MINILM

    def __post_init__(self) -> None:
        size = max(self.size, SMALLEST)
        fitting = {"size": size, "overlap": min(max(self.overlap, 0), size - 1), "parent": max(self.parent, size + 1)}
        for name, value in fitting.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, chunker: Chunker) -> "ChunkingSettings | None":
        """Return the settings of a chunker, or None if it has others."""
        if chunker.kind not in KINDS or type(chunker) is not CHUNKERS[chunker.kind]:
            return None
        fields = chunker.model_dump()
        sizes = {"size": fields.get("size", fields.get("child")), "overlap": fields.get("overlap"), "parent": fields.get("parent")}
        given = {name: value for name, value in sizes.items() if value is not None}
        return cls(chunker.kind, enrich=chunker.enrich, tokens=chunker.tokens, model=chunker.model, **given)

    def uses(self, name: str) -> bool:
        """Check that the kind has the setting `size`, `overlap` or `parent`."""
        fields = CHUNKERS[self.kind].model_fields
        return name in fields or (name == "size" and "child" in fields)

    @property
    def chunker(self) -> Chunker:
        """The chunker with these settings."""
        made = CHUNKERS[self.kind]
        values = {"size": self.size, "child": self.size, "overlap": self.overlap, "parent": self.parent}
        fields = {name: value for name, value in values.items() if name in made.model_fields}
        return made(**fields, enrich=self.enrich, tokens=self.tokens, model=self.model)

    @property
    def as_yaml(self) -> str:
        """The key `chunking` of an experiment file. The experiment sets the model whose tokens are counted."""
        settings = {name: value for name, value in self.chunker.settings().items() if name != "model"}
        return str(yaml.safe_dump({"chunking": settings}, default_flow_style=None, sort_keys=False, width=1_000))


class ChunkingPanel(NotebookPanel):
    """A document with the chunks that the controls choose. `chunker` and `yaml` are the choice, `boundaries` what is shown."""

    def __init__(self, model: BoundaryModel, settings: ChunkingSettings, doc_id: str) -> None:
        self.model = model
        self.settings = settings
        self.doc_id = doc_id
        self.page = 0
        self.boundaries = model.cut(doc_id, settings.chunker)
        # The question whose evidence is named above the text.
        self.query_id = ""
        self._view: _ChunkingView | None = None

    def __repr__(self) -> str:
        return f"ChunkingPanel({self.doc_id!r}, {self.boundaries.counts})"

    @property
    def chunker(self) -> Chunker:
        """The chosen chunker."""
        return self.boundaries.chunker

    @property
    def yaml(self) -> str:
        """The choice as the key `chunking` of an experiment file."""
        return self.settings.as_yaml

    def choose(self, **changes: Any) -> Boundaries:
        """Change settings of the chunking, such as `size=128`, and return the new boundaries. The panel stays as it was if there is an error.

        Raises
        ------
        InputError: there is no such kind, setting or value.
        """
        kind = changes.get("kind", self.settings.kind)
        if kind not in KINDS:
            raise InputError(
                f"{kind!r} does not follow a slider{meant(str(kind), KINDS)}", f"choose one of {', '.join(KINDS)}, or use wb.show_chunks"
            )
        for name, value in changes.items():
            _check_setting(name, value)
        settings = replace(self.settings, **changes)
        self.boundaries = self.model.cut(self.doc_id, settings.chunker)
        self.settings = settings
        return self.boundaries

    def show(self, doc_id: str, position: int = 0) -> Boundaries:
        """Change to another document, to the page that contains a position of its text, and return its boundaries.

        Raises
        ------
        InputError: the dataset has no such document with text.
        """
        if doc_id not in self.model.documents:
            raise InputError(f"{self.model.dataset.name} has no document {doc_id!r} with text{meant(doc_id, self.model.documents)}")
        self.doc_id = doc_id
        self.choose()
        self.turn(position // PAGE)
        if self._view:
            self._view.paint()
        return self.boundaries

    @property
    def pages(self) -> int:
        """The number of pages of the document."""
        return -(-len(self.boundaries.document.text) // PAGE)

    def turn(self, page: int) -> None:
        """Change to a page, numbered from 0."""
        self.page = min(max(page, 0), self.pages - 1)

    def next_cut(self) -> None:
        """Change to the next page with evidence that is cut, after the last from the first again."""
        pages = sorted({mark.start // PAGE for mark in self.boundaries.evidence if mark.cut})
        self.turn(next((page for page in pages if page > self.page), pages[0] if pages else self.page))

    @property
    def static_html(self) -> str:
        """The counts, the legend, and the page with its chunks and evidence."""
        return boundaries_html(self.boundaries, self.page, self.query_id)

    def _built(self) -> ipywidgets.DOMWidget:
        self._view = _ChunkingView(self)
        return self._view.box


def boundaries_html(shown: Boundaries, page: int, query_id: str = "") -> str:
    """Render the counts, the chunks with the evidence of a question, the legend, and a page of a document with its chunks and evidence."""
    document = shown.document
    start, end = page * PAGE, min((page + 1) * PAGE, len(document.text))
    part = f", characters {count(start)} to {count(end)} of {count(len(document.text))}" if len(document.text) > PAGE else ""
    legend = Markup('{}{} · <span style="{}">evidence in a chunk</span> · <span style="{}">{}evidence that is cut</span>').format(
        document.doc_id, part, WHOLE_STYLE, CUT_STYLE, SCISSORS
    )
    text = marked_text(document.text, shown.chunks, shown.evidence, start, end)
    counts = f"{shown.counts}. {shown.places(query_id)}".rstrip() if query_id else shown.counts
    return text_html(counts, Markup('<div style="white-space:normal;opacity:.85;margin-bottom:.6em">{}</div>{}').format(legend, text))


def _check_setting(name: str, value: object) -> None:
    """Raise InputError for a setting that no chunking has, or a value of another type."""
    known = {setting.name: type(setting.default) for setting in fields(ChunkingSettings)}
    if name not in known:
        raise InputError(f"there is no setting {name!r}{meant(name, known)}", f"choose {listed(list(known))}")
    if type(value) is not known[name]:
        raise InputError(f"{name} is {value!r}", f"give {_MEANT[known[name]]}")


class _ChunkingView:
    """The controls of a panel and its text."""

    def __init__(self, panel: ChunkingPanel) -> None:
        self.panel = panel
        settings = panel.settings
        self.kind = ipywidgets.Dropdown(description="Chunking", options=KINDS, value=settings.kind)
        self.sizes = {
            name: ipywidgets.IntSlider(
                description=name.capitalize(), min=min(low, size), max=max(high, size), value=size, layout={"width": _WIDE}
            )
            for name, (low, high) in _SIZES.items()
            for size in [getattr(settings, name)]
        }
        self.tokens = ipywidgets.Dropdown(description="Unit", options=UNITS, value=settings.tokens)
        self.enrich = ipywidgets.Checkbox(description="Embed title and headings", value=settings.enrich, indent=False)
        self.filter = ipywidgets.Text(description="Filter", placeholder="words of an id or title", continuous_update=False)
        wide = {"flex": f"1 1 {_WIDE}", "width": "auto", "min_width": "0", "max_width": f"min(72em, {WITHIN})"}
        self.document = ipywidgets.Dropdown(description="Document", options=self._names(), value=panel.doc_id, layout=wide)
        self.text = ipywidgets.HTML(layout={"width": WITHIN})
        self.place = ipywidgets.Label()
        self.error = ipywidgets.HTML(layout={"width": WITHIN})
        self.yaml = ipywidgets.Textarea(description="YAML", rows=2, layout={"width": "42em", "height": "auto"})
        self.copy = CopyButton(label="Copy as YAML")
        self.turns = {
            "Previous page": lambda: panel.turn(panel.page - 1),
            "Next page": lambda: panel.turn(panel.page + 1),
            "Next cut evidence": panel.next_cut,
        }
        self._follow()
        self.box = ipywidgets.VBox([*self._controls(), self.error, self.text])
        self.paint()

    def paint(self) -> None:
        """Show the panel as it is."""
        panel = self.panel
        for name, slider in self.sizes.items():
            slider.layout.display = None if panel.settings.uses(name) else "none"
        if self.document.options and self.document.value != panel.doc_id:
            if panel.doc_id not in dict(self.document.options).values():
                self.document.options = [(self._name(panel.doc_id), panel.doc_id), *self.document.options]
            self.document.value = panel.doc_id
        self.text.value = panel.static_html
        self.place.value = f"page {panel.page + 1} of {panel.pages}"
        self.yaml.value = self.copy.text = panel.yaml
        panel.changed()

    def _controls(self) -> list[ipywidgets.Widget]:
        buttons = [self._button(name, turn) for name, turn in self.turns.items()]
        note = ipywidgets.HTML(f'<span style="opacity:.8;font-size:.9em">{_SEMANTIC}</span>')
        return [
            ipywidgets.HBox([self.document, self.filter], layout=_ROW),
            ipywidgets.HBox([self.kind, self.tokens, self.enrich], layout=_ROW),
            *self.sizes.values(),
            note,
            ipywidgets.HBox([self.yaml, self.copy], layout=_ROW),
            ipywidgets.HBox([*buttons, self.place], layout=_ROW),
        ]

    def _button(self, name: str, turn: Callable[[], None]) -> ipywidgets.Button:
        button = ipywidgets.Button(description=name)
        button.on_click(lambda _: self._try(turn))
        return button

    def _follow(self) -> None:
        """Recompute when a control moves."""
        for name, control in {"kind": self.kind, "tokens": self.tokens, "enrich": self.enrich, **self.sizes}.items():
            control.observe(lambda change, name=name: self._try(lambda: self._choose(name, change["new"])), "value")
        self.document.observe(self._chosen, "value")
        self.filter.observe(lambda _: self._narrow(), "value")

    def _chosen(self, change: Mapping[str, str]) -> None:
        # A list without any document has no value.
        if change["new"] and change["new"] != self.panel.doc_id:
            self._try(lambda: self.panel.show(change["new"]))

    def _choose(self, name: str, value: object) -> None:
        self.panel.choose(**{name: value})
        for size, slider in self.sizes.items():
            # The sizes that the settings moved, so that they agree.
            if slider.value != getattr(self.panel.settings, size):
                slider.max = max(slider.max, getattr(self.panel.settings, size))
                slider.value = getattr(self.panel.settings, size)

    def _try(self, act: Callable[[], object]) -> None:
        try:
            act()
            self.error.value = ""
        except InputError as error:
            self.error.value = str(Markup("<p>{}</p>").format(error))
        self.paint()

    def _narrow(self) -> None:
        names = self._names()
        self.document.options = names
        unmatched = Markup("<p>No document has these words in its id or title: {}. The one below stays.</p>").format(self.filter.value)
        self.error.value = "" if names else str(unmatched)
        if names:
            self.document.value = next((doc_id for _, doc_id in names if doc_id == self.panel.doc_id), names[0][1])

    def _names(self) -> list[tuple[str, str]]:
        """Return the documents that the filter allows, each with its length and evidence."""
        model, widget = self.panel.model, getattr(self, "filter", None)
        names, matching = model.found(widget.value if widget else "", _MOST_NAMES)
        if widget is not None:
            widget.placeholder = (
                "words of an id or title" if matching == len(names) else f"{count(matching)} documents: type words to narrow them"
            )
        if not (widget and widget.value) and self.panel.doc_id not in names:
            names = [self.panel.doc_id, *names[: _MOST_NAMES - 1]]
        return [(self._name(doc_id), doc_id) for doc_id in names]

    def _name(self, doc_id: str) -> str:
        model = self.panel.model
        evidence = plural(model.evidence_counts.get(doc_id, 0), "piece")
        return f"{doc_id} ({plural(len(model.documents[doc_id].text), 'character')}, {evidence} of evidence)"


def try_chunking(dataset: Dataset, chunker: Chunker | None = None, *, doc_id: str = "", embedding: Embedder | None = None) -> ChunkingPanel:
    """Move the sizes of a chunking with sliders and watch its boundaries move on a document.

    Chunks alternate between two colours, and overlaps are grey. Evidence is underlined, with a wavy line and scissors where no chunk delivers
    it whole. Long documents are shown in pages of 12,000 characters; the counts are of the whole document. The offsets are those of a sweep
    with the same setting, which `panel.yaml` has for an experiment file.

    Parameters
    ----------
    dataset: its documents, and the evidence in them.
    chunker: the first chunking; by default `FixedChunker(size=256)`.
    doc_id: the first document; by default the first with evidence.
    embedding: the embedder whose vocabulary counts sizes and whose window long chunks exceed; by default all-MiniLM-L6-v2.

    Raises
    ------
    InputError: the dataset has no such document, or the chunker does not follow a slider.

    Examples
    --------
    >>> import workbench as wb
    >>> dataset = wb.load_dataset("experiments/handbook", split="dev")
    >>> panel = wb.try_chunking(dataset, wb.SentenceChunker(size=128))
    >>> panel.choose(size=64, overlap=16).chunker.name
    'sentence-64-16'
    >>> print(panel.yaml, end="")
    chunking: {kind: sentence, size: 64, overlap: 16}
    """
    require(dataset, Dataset, "dataset")
    embedder = embedding or SentenceTransformerEmbedder()
    settings = ChunkingSettings()
    if chunker is not None:
        require(chunker, Chunker, "chunker")
        own = ChunkingSettings.of(chunker)
        if own is None:
            raise InputError(f"{chunker.kind} chunks do not follow a slider", f"use wb.show_chunks, or one of {', '.join(KINDS)}")
        settings = own
    model = BoundaryModel(dataset, embedder)
    panel = ChunkingPanel(model, replace(settings, model=embedder.vocabulary), model.first)
    if doc_id:
        panel.show(doc_id)
    return panel
