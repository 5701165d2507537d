"""Frozen values that pass between stages. Positions are half-open [start, end), in Unicode code points of `Document.text`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field

from workbench.core.errors import InputError
from workbench.core.text.display import excerpt, table_html, text_html
from workbench.core.text.formatting import meant, plural
from workbench.core.text.guessed_names import AdvisedNames

# The largest cut in tokens.
MOST_TOKENS = 1_000_000
# The fields of a question that a model drafted or that a heading stands for: a mark, where it comes from, and the person who accepted it.
SYNTHETIC, PROVENANCE, ACCEPTED_BY = "synthetic", "provenance", "accepted_by"
# The part of a question that is a heading until a person writes the question, in its provenance.
PLACEHOLDER = "placeholder"
# The field that says where a question comes from, and its value for one of a user.
SOURCE, PRODUCTION = "source", "production"
_SHOWN_QUERIES = 5
_SHOWN_CHARACTERS = 800
# What other tools call the id and the text of a document or of a part of one.
_DOCUMENT_NAMES = {
    **dict.fromkeys(("id", "document_id", "docid", "name"), ".doc_id"),
    **dict.fromkeys(("content", "page_content", "body", "chunk"), ".text"),
    **dict.fromkeys(("similarity", "distance"), ".score of a hit"),
}


@dataclass(frozen=True, slots=True)
class Document(AdvisedNames):
    """A text to retrieve. Spans refer to exactly this `text`, and `title` may be empty. Filters read `metadata`.

    A `missing` document is named by labels but not in the corpus: it is never searched, and its text is a placeholder.
    """

    guesses: ClassVar[Mapping[str, str]] = _DOCUMENT_NAMES

    doc_id: str
    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    missing: bool = False

    def __repr__(self) -> str:
        return f"Document({self.doc_id!r}, {excerpt(self.text)!r})"

    def _repr_html_(self) -> str:
        title = ", ".join(filter(None, [self.doc_id, self.title, f"{len(self.text):,} characters"]))
        rest = len(self.text) - _SHOWN_CHARACTERS
        return text_html(title, self.text[:_SHOWN_CHARACTERS] + (f"…\n\nand {rest:,} more characters" if rest > 0 else ""))


@dataclass(frozen=True, slots=True)
class Span:
    """A slice [start, end) of a document, in code points."""

    doc_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Chunk(AdvisedNames):
    """A slice of a document that is embedded and searched.

    `header` precedes the slice, with one space, when it is embedded. `parent` is the larger slice (start, end) to deliver
    in place of the chunk, or None to deliver the chunk itself.
    """

    guesses: ClassVar[Mapping[str, str]] = _DOCUMENT_NAMES

    document: Document
    start: int
    end: int
    header: str = ""
    parent: tuple[int, int] | None = None

    @property
    def doc_id(self) -> str:
        """Return the id of the document."""
        return self.document.doc_id

    @property
    def text(self) -> str:
        """Return the slice of the document, without the header."""
        return self.document.text[self.start : self.end]

    @property
    def embedded_text(self) -> str:
        """Return the text that is embedded and searched: the header, one space, the slice."""
        return f"{self.header} {self.text}" if self.header else self.text

    @property
    def chunk_id(self) -> str:
        """Return `doc_id:start-end`. Equal slices have equal ids in every run."""
        return f"{self.doc_id}:{self.start}-{self.end}"

    @property
    def delivered(self) -> tuple[int, int]:
        """Return the slice that goes to the context: the parent if the chunk has one."""
        return self.parent or (self.start, self.end)

    def __repr__(self) -> str:
        return f"Chunk({self.chunk_id!r}, {excerpt(self.text)!r})"

    def _repr_html_(self) -> str:
        return text_html(self.chunk_id, self.text)


@dataclass(frozen=True, slots=True)
class Hit(AdvisedNames):
    """A delivered slice of a document for a query, with the retriever's score. `rank` starts at 1."""

    guesses: ClassVar[Mapping[str, str]] = _DOCUMENT_NAMES

    document: Document
    start: int
    end: int
    rank: int
    score: float

    @property
    def doc_id(self) -> str:
        """Return the id of the document."""
        return self.document.doc_id

    @property
    def text(self) -> str:
        """Return the delivered text."""
        return self.document.text[self.start : self.end]

    def __repr__(self) -> str:
        return f"Hit({self.rank}, {self.doc_id!r}, [{self.start}, {self.end}), {self.score:.3f}, {excerpt(self.text)!r})"


@dataclass(frozen=True)
class TargetHit:
    """A hit as another system gives it, not matched with a document yet: None for what it does not give.

    `doc_id` is the system's own id, `start` and `end` are characters of the document's text. `metadata` can name the document in place of the id.
    """

    doc_id: str | None = None
    text: str | None = None
    score: float | None = None
    start: int | None = None
    end: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Query(AdvisedNames):
    """A question. `metadata` contains the fields that define slices, such as its type and domain.

    `where` filters the documents to search by their metadata, such as `{"year": 2024}`; empty for all documents. `answer` is the expected
    answer, `answer_variants` are other texts that are as good.
    """

    guesses: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("question", "query", "input", "content"), ".text"),
        **dict.fromkeys(("id", "qid", "question_id"), ".query_id"),
        **dict.fromkeys(("expected", "expected_answer", "reference", "ground_truth", "output"), ".answer"),
        **dict.fromkeys(
            ("relevant", "qrels", "labels", "documents", "evidence"), "dataset.subset([query.query_id]).qrels, or .needs for evidence"
        ),
    }

    query_id: str
    text: str
    answerable: bool = True
    answer: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    where: Mapping[str, Any] = field(default_factory=dict)
    answer_variants: tuple[str, ...] = ()

    @property
    def synthetic(self) -> bool:
        """True if a model drafted the question or its answer, or a heading stands for it, by the field `synthetic` of its metadata."""
        return is_synthetic(self.metadata)

    @property
    def accepted_by(self) -> str:
        """Return the person who accepted a synthetic question, or an empty text."""
        return _accepted_by(self.metadata)

    @property
    def is_draft(self) -> bool:
        """True if the question is synthetic and nobody has accepted it."""
        return is_draft(self.metadata)

    @property
    def is_placeholder(self) -> bool:
        """True if the question is the heading of a passage, in place of a question that nobody has written yet."""
        return is_placeholder(self.metadata)


def is_synthetic(metadata: Mapping[str, Any]) -> bool:
    """Return True if the metadata of a question say that a model drafted it, or that a heading stands for it until a person has written it."""
    return metadata.get(SYNTHETIC) is True and not (_accepted_by(metadata) and _of_heading(metadata))


def is_draft(metadata: Mapping[str, Any]) -> bool:
    """Return True if the metadata of a question say that it is synthetic and that nobody has accepted it."""
    return metadata.get(SYNTHETIC) is True and not _accepted_by(metadata)


def is_placeholder(metadata: Mapping[str, Any]) -> bool:
    """Return True if the metadata of a question say that it is a heading in place of a question that nobody has written yet."""
    return is_draft(metadata) and _of_heading(metadata)


def _of_heading(metadata: Mapping[str, Any]) -> bool:
    provenance = metadata.get(PROVENANCE)
    return isinstance(provenance, Mapping) and provenance.get("part") == PLACEHOLDER


def _accepted_by(metadata: Mapping[str, Any]) -> str:
    return str(metadata.get(ACCEPTED_BY) or "").strip()


@dataclass(frozen=True, slots=True)
class Qrel:
    """A judgement of a document for a query. `relevance` is above 0 if relevant, 0 if not, below 0 for a hard negative to be avoided."""

    query_id: str
    doc_id: str
    relevance: int


@dataclass(frozen=True, slots=True)
class Need:
    """One piece of evidence that a question needs. Any of the alternatives satisfies it."""

    query_id: str
    alternatives: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Dataset(AdvisedNames):
    """Documents, queries and labels that were checked when they were loaded.

    As a sequence it is that of its questions: `len(dataset)`, `dataset[0]`, and `dataset["q1"]` by the id. `source` contains the settings with which an
    experiment reads the same dataset, or is None if the dataset was made in Python.
    """

    guesses: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("questions", "query", "question", "topics", "rows", "samples"), "dataset.queries"),
        **dict.fromkeys(("docs", "texts", "text", "document"), "dataset.documents"),
        **dict.fromkeys(("labels", "relevant", "judgements", "judgments", "ground_truth"), "dataset.qrels, or dataset.needs for evidence"),
        **dict.fromkeys(
            ("evidence", "spans", "answers"), "dataset.needs, the evidence of each question; an expected answer is in query.answer"
        ),
        **dict.fromkeys(
            ("to_df", "to_pandas", "df", "shape", "head", "columns", "describe", "table"),
            "pandas.DataFrame(dataset.queries), or of dataset.documents, dataset.qrels",
        ),
        **dict.fromkeys(("save", "to_json", "to_jsonl", "to_csv", "write", "export"), "wb.save_dataset(dataset, folder)"),
        **dict.fromkeys(("sample", "filter", "select", "take", "where"), "dataset.subset(query_ids)"),
        **dict.fromkeys(("split", "splits", "load", "from_path", "read"), 'wb.load_dataset(path, split="dev")'),
        **dict.fromkeys(
            ("from_df", "from_pandas", "from_list"), "wb.Dataset(name, documents, queries, qrels), or wb.load_dataset of a CSV table"
        ),
        **dict.fromkeys(("index", "search", "embed"), "wb.Pipeline(...).index(dataset)"),
    }

    name: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    qrels: tuple[Qrel, ...]
    needs: tuple[Need, ...] = ()
    source: Mapping[str, Any] | None = field(default=None, compare=False)
    # As it was loaded, by which a dataset that was changed in Python is recognised.
    _loaded: "Dataset | None" = field(default=None, compare=False, repr=False)

    @property
    def corpus(self) -> tuple[Document, ...]:
        """Return the documents without the missing ones."""
        return tuple(document for document in self.documents if not document.missing)

    @property
    def searched(self) -> tuple[Document, ...]:
        """Return all documents, in the same places, the missing ones without text."""
        return tuple(replace(document, text="") if document.missing else document for document in self.documents)

    def __len__(self) -> int:
        """Return the number of questions."""
        return len(self.queries)

    def __bool__(self) -> bool:
        """Return True, also without questions."""
        return True

    def __iter__(self) -> Iterator[Query]:
        """Iterate over the questions."""
        return iter(self.queries)

    def __getitem__(self, place: int | slice | str) -> Query | tuple[Query, ...]:
        """Return the question at a place or with an id, or those of a slice. Raises InputError for an id that no question has."""
        if not isinstance(place, str):
            return self.queries[place]
        found = next((query for query in self.queries if query.query_id == place), None)
        if found is None:
            near = meant(place, [query.query_id for query in self.queries])
            raise InputError(f"the dataset {self.name} has no question {place!r}{near}", "see dataset.queries, and dataset.documents")
        return found

    def subset(self, query_ids: Iterable[str]) -> "Dataset":
        """Return a dataset with these questions, their labels, and all documents. Raises InputError for an id that no question has."""
        if isinstance(query_ids, str) or not isinstance(query_ids, Iterable):
            raise InputError(
                f"query_ids is {query_ids!r}", "give a list of ids, such as [query.query_id for query in dataset.queries[:10]]"
            )
        wanted = set(query_ids)
        if unknown := wanted - {query.query_id for query in self.queries}:
            raise InputError(f"the dataset {self.name} has no question {min(unknown)!r}", "see dataset.queries")
        queries = tuple(query for query in self.queries if query.query_id in wanted)
        qrels = tuple(qrel for qrel in self.qrels if qrel.query_id in wanted)
        return replace(self, queries=queries, qrels=qrels, needs=tuple(need for need in self.needs if need.query_id in wanted), source=None)

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, {self._sizes()})"

    def _repr_html_(self) -> str:
        relevant: dict[str, list[str]] = {}
        for qrel in self.qrels:
            if qrel.relevance > 0:
                relevant.setdefault(qrel.query_id, []).append(qrel.doc_id)
        shown = self.queries[:_SHOWN_QUERIES]
        rows = [
            {"query_id": query.query_id, "question": query.text, "relevant": ", ".join(relevant.get(query.query_id, ("no document",)))}
            for query in shown
        ]
        note = f"The first {len(rows)} questions." if len(rows) < len(self.queries) else ""
        return table_html(f"{self.name}: {self._sizes()}", rows, note)

    def _sizes(self) -> str:
        sizes = [plural(len(self.corpus), "document"), plural(len(self.queries), "question"), plural(len(self.qrels), "judgement")]
        return ", ".join([*sizes, plural(len(self.needs), "piece of evidence", "pieces of evidence")])


@dataclass(frozen=True, slots=True)
class Variant:
    """The condition of the context, its perturbation, and the repeat of a run. `str` returns `condition/perturbation#repeat`.

    The perturbation of `counterfactual` is `before` or `after`, the place of the altered copy; that of `injection` is the family of the attack.
    """

    condition: str = "retrieved"
    perturbation: str = ""
    repeat: int = 0

    def __str__(self) -> str:
        return "/".join(filter(None, [self.condition, self.perturbation])) + (f"#{self.repeat}" if self.repeat else "")


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a context: a slice of a document, and the text that the generator reads.

    The text differs from the slice only if something is `planted` in it: `counterfactual` or `injection`. A passage
    of a target that is in no document of the dataset has an id that no document has.
    """

    doc_id: str
    start: int
    end: int
    text: str
    title: str = ""
    planted: str = ""


@dataclass(frozen=True, slots=True)
class LostTries:
    """Tries of a call that were sent and have no usable reply, with the most that they can have taken: tokens, and `cost`, None without prices."""

    tries: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None

    def __add__(self, other: "LostTries") -> "LostTries":
        costs = [lost.cost for lost in (self, other) if lost.cost is not None]
        tokens = self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens
        return LostTries(self.tries + other.tries, *tokens, sum(costs) if costs else None)


@dataclass(frozen=True, kw_only=True)
class ModelUse:
    """The cost of a call for a result, if a call was made. Tokens and cost also count if the reply came from the cache.

    `lost` are the tries without a usable reply, which are not in the tokens and the cost.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    model: str = ""
    seconds: float = 0.0
    cached: bool = False
    lost: LostTries = LostTries()

    @property
    def replied(self) -> bool:
        """True if a model replied, also if its reply could not be used. Asked again, it would reply the same."""
        return bool(self.model or self.seconds or self.cached)


@dataclass(frozen=True)
class SampledCall:
    """A request for text that a target sent back to its client (MCP sampling), and the reply of the configured model."""

    prompt: str
    reply: str


@dataclass(frozen=True)
class Answer(ModelUse):
    """An answer of a generator or of a target, or the `error` that prevented it.

    `citations` are the numbers of the cited passages, from 0, and `sources` the hits that a target names, best first, None if it names none.
    `refused`, `confidence` (between 0 and 1) and `truncated` (cut off at a token limit) are None if the system does not report them. `reasoned` and
    `unopened` are those of the model's `Reply`, for a generator that removes the reasoning itself. `correct` and `outcome` (what the answer made of
    a planted text) are the labels of a recorded answer. `samples` are the texts that a target asked its client for, and `unread` names the parts
    of its reply that are no text, such as `image`.
    """

    text: str = ""
    citations: tuple[int, ...] = ()
    confidence: float | None = None
    refused: bool | None = None
    error: str = ""
    correct: bool | None = None
    outcome: str = ""
    truncated: bool | None = None
    reasoned: bool = False
    unopened: bool = False
    sources: tuple[TargetHit, ...] | None = None
    samples: tuple[SampledCall, ...] = ()
    unread: tuple[str, ...] = ()


def same_evidence(first: Span | Passage, second: Span | Passage) -> bool:
    """Compare two slices: they are the same evidence if they share at least half of the shorter one."""
    shared = min(first.end, second.end) - max(first.start, second.start)
    return first.doc_id == second.doc_id and shared > 0 and 2 * shared >= min(first.end - first.start, second.end - second.start)


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of an answer that can be verified alone: its `text`, and the words [`start`, `end`) of the answer that state it."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TokenCut:
    """A cut after this many tokens of delivered text."""

    # Checked where it is the field of a component, also if it was made in Python.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", revalidate_instances="always")

    tokens: Annotated[int, Field(ge=1, le=MOST_TOKENS, strict=True)]
