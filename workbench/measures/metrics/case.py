"""The input of metrics for one configuration: labels, the ranking, and the contexts, answers and judgements of one variant."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.components.context.packing import pack
from workbench.components.judging.base import Judgement, Task
from workbench.components.judging.settings import EndToEndThresholds
from workbench.core.errors import InputError
from workbench.core.records import Passage, Variant
from workbench.measures.metrics.coverage import Bools, Floats, Ints
from workbench.measures.metrics.inputs import Labels, Retrieved

Result = TypeVar("Result")
Part = TypeVar("Part")
SpanDefinition = Literal["exact", "chroma"]
# Unit vectors of texts, one row each.
Embed = Callable[[Sequence[str]], npt.NDArray[np.float32]]
# Each reason with the queries (q) that have no value for it.
Reasons = tuple[tuple[str, Bools], ...]


class Cut(NamedTuple):
    """The cut of results: after `k` documents or chunks, after `tokens` tokens of delivered text, or whichever comes first."""

    k: int | None = None
    tokens: int | None = None

    @property
    def depth(self) -> int:
        """k, or 0 for a cut without k."""
        return self.k or 0


NO_CUT = Cut()


class MetricValues(NamedTuple):
    """A metric's `value` (q) for q queries, and its `attainable` maximum (q), or None without a maximum.

    `unscored` and `not_applicable` pair each reason with the queries (q) it leaves without a value. Values of queries that do not meet the
    metric's requirements are ignored.
    """

    value: Floats
    attainable: Floats | None = None
    unscored: Reasons = ()
    not_applicable: Reasons = ()


@dataclass(frozen=True)
class Contexts:
    """The contexts of a variant, one for each query (q).

    `reasons` says why the condition does not apply to a query, empty if it does. `gold`: whether the passages contain all evidence of the
    query. `relevant` is the number of passages with evidence. `packing_recall` is the share of the delivered passages with evidence that
    are among them, NaN if none was delivered. The context of the `unknown` queries is not known: a target named no sources.
    """

    passages: Sequence[Sequence[Passage]]
    reasons: Sequence[str]
    gold: Bools
    relevant: Floats
    packing_recall: Floats
    unknown: frozenset[int] = frozenset()

    @property
    def known(self) -> Bools:
        """Mask of the queries whose context is known. Shape (q,)."""
        return np.array([query not in self.unknown for query in range(len(self.reasons))], dtype=np.bool_)


@dataclass(frozen=True)
class Answers:
    """The answers of a variant, one for each query (q).

    `errors` says why a query has no answer, empty if it has one. `citations` are numbers of passages, from 0. `confidence` and `correct`
    (the label of a recorded answer) are NaN if unknown. `outcomes` says how the answer treats a planted text: `kept`, `conflict` or
    `adopted` of a counterfactual, `complied` or `resisted` of an injection, else empty. `truncated` is False if that is not known.
    `verbatim` answers are copied from the context. `embed` returns unit vectors of texts.
    """

    texts: Sequence[str]
    refused: Bools
    errors: Sequence[str]
    citations: Sequence[Sequence[int]]
    confidence: Floats
    correct: Floats
    outcomes: Sequence[str]
    truncated: Bools
    verbatim: bool
    embed: Embed = field(repr=False)


@dataclass(frozen=True)
class AnswerJudgements:
    """The judgements of the answer to one query and of the passages of its context.

    `claims` is the number of claims, and `claims_error` the reason why the answer could not be split. `support` and `overlap` have a judgement
    for each claim, `passages` one for each passage of the context, `tasks` one for each task about the whole answer; all are empty where
    nothing was judged.
    """

    claims: int = 0
    claims_error: str = ""
    support: Sequence[Judgement] = ()
    overlap: Sequence[Judgement] = ()
    passages: Sequence[Judgement] = ()
    tasks: Mapping[Task, Judgement] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Judgements:
    """The judgements of a variant, `of_answers` for each query (q).

    `only_score` says why the judge of claims is a score and no judge, empty if it is one. `no_contradictions` says why contradicted claims
    are not told from absent ones, empty if they are. `untested` says why it is not known yet whether it is a judge, empty if it is.
    `thresholds` are those of the end-to-end test.
    """

    of_answers: Sequence[AnswerJudgements]
    only_score: str = ""
    no_contradictions: str = ""
    untested: str = ""
    thresholds: EndToEndThresholds = field(default_factory=EndToEndThresholds)

    @property
    def no_verdicts_on_contradictions(self) -> str:
        """Return why contradictions are not counted. While the judge of claims is untested, nothing is known against it."""
        return "" if self.untested else self.only_score or self.no_contradictions


@dataclass(frozen=True, eq=False)
class VariantParts:
    """The contexts of a variant, and its answers and judgements where a metric reads them."""

    variant: Variant
    contexts: Contexts
    answers: Answers | None = None
    judgements: Judgements | None = None


class Case:
    """Labels and results, with intermediate tables cached for each cut. `depths` are the k of all document metrics.

    A case has the parts that the metric's `reads` names: `retrieved` of `ranking`, and `contexts`, `answers` and `judgements` of a variant.
    Reading another one raises InputError.
    """

    def __init__(
        self,
        labels: Labels,
        retrieved: Retrieved | None = None,
        spans: SpanDefinition = "exact",
        depths: frozenset[int] = frozenset(),
        answered: VariantParts | None = None,
    ) -> None:
        self.labels = labels
        self.spans = spans
        self.depths = depths
        self._retrieved, self._answered = retrieved, answered
        self._shared: dict[tuple[object, Cut], object] = {}

    def __len__(self) -> int:
        return self.labels.queries

    @property
    def retrieved(self) -> Retrieved:
        """The ranking."""
        return _known(self._retrieved, "ranking")

    @property
    def variant(self) -> Variant:
        """The condition, perturbation and repeat of the answers."""
        return _known(self._answered, "context").variant

    @property
    def contexts(self) -> Contexts:
        """The contexts of the variant."""
        return _known(self._answered, "context").contexts

    @property
    def answers(self) -> Answers:
        """The answers of the variant."""
        return _known(self._answered.answers if self._answered else None, "answer")

    @property
    def judgements(self) -> Judgements:
        """The judgements of the variant."""
        return _known(self._answered.judgements if self._answered else None, "judgement")

    def each(self, value: bool) -> Bools:
        """The value for every query. Shape (q,)."""
        return np.full(len(self), value, dtype=np.bool_)

    def shared(self, compute: "Callable[[Case, Cut], Result]", cut: Cut = NO_CUT) -> Result:
        """`compute(case, cut)`, cached."""
        key = (compute, cut)
        if key not in self._shared:
            self._shared[key] = compute(self, cut)
        return self._shared[key]  # type: ignore[return-value]  # the key determines the type


def _known(part: Part | None, name: str) -> Part:
    if part is None:
        raise InputError(f"the metric reads {name}, and its definition does not name that", f'write reads=("{name}",), besides the others')
    return part


class Slices(NamedTuple):
    """The s distinct delivered slices of a chunk table: `starts`, `ends` (s; global characters, sorted), `doc` (s).

    `of_chunk` (chunks) is the slice delivered for each chunk.
    """

    starts: Ints
    ends: Ints
    doc: Ints
    of_chunk: Ints


class Ordered(NamedTuple):
    """The distinct slices of all queries by rank: `query`, `position` (1 is the query's best), `piece` (a row of Slices)."""

    query: Ints
    position: Ints
    piece: Ints


class Delivered(NamedTuple):
    """The text up to a cut: `row` of Ordered, `query`, `piece` (a row of Slices), and global characters `starts`, `ends`."""

    row: Ints
    query: Ints
    piece: Ints
    starts: Ints
    ends: Ints


def slices(case: Case, _: Cut) -> Slices:
    """Find the distinct delivered slices of the chunk table."""
    chunks = case.retrieved.chunks
    starts, ends = case.labels.positions(chunks, "delivered_start", "delivered_end")
    longest = int((ends - starts).max(initial=0)) + 1
    first, of_chunk = np.unique(starts * longest + ends - starts, return_index=True, return_inverse=True)[1:]
    return Slices(starts[first], ends[first], chunks["doc"].to_numpy(np.int64)[first], of_chunk)


def ordered(case: Case, _: Cut) -> Ordered:
    """Convert each query's hits to distinct slices, each at its best rank."""
    hits = case.retrieved.hits
    query = hits["query"].to_numpy(dtype=np.int64)
    piece = case.shared(slices).of_chunk[hits["chunk"].to_numpy(dtype=np.int64)]
    packed = pack(query, piece, np.zeros_like(query))
    rows = packed.delivered
    return Ordered(query[rows], packed.position[rows], piece[rows])


def delivered(case: Case, cut: Cut) -> Delivered:
    """Compute the text that `packing.pack` delivers under the cut.

    A slice costs every token that starts in it, even if it overlaps another: a prompt contains both.
    """
    return packed_text(case, case.shared(ordered), cut)


def delivered_documents(case: Case, cut: Cut) -> Ints:
    """The document of each delivered slice as a key, query * documents + document."""
    text = case.shared(delivered, cut)
    return text.query * case.labels.documents + case.shared(slices).doc[text.piece]


def packed_text(case: Case, hits: Ordered, cut: Cut) -> Delivered:
    """Compute the text delivered under the cut for these hits."""
    table, tokens = case.shared(slices), np.zeros_like(hits.piece)
    if cut.tokens is not None:
        tokens = case.labels.tokens_in(table.starts, table.ends)[hits.piece]
    packed = pack(hits.query, hits.piece, tokens, cut.depth if cut.tokens is None else cut.k, cut.tokens)
    row = np.flatnonzero(packed.delivered)
    piece, delivered_tokens = hits.piece[row], packed.delivered_tokens[row]
    starts = table.starts[piece]
    ends = delivered_ends(case.labels, starts, table.ends[piece], delivered_tokens, tokens[row])
    return Delivered(row, hits.query[row], piece, starts, ends)


def delivered_ends(labels: Labels, starts: Ints, ends: Ints, delivered_tokens: Ints, tokens: Ints) -> Ints:
    """End of the delivered part of each slice, of whose `tokens` the first `delivered_tokens` are delivered. Shape (n,)."""
    short, kept = delivered_tokens < tokens, ends.copy()
    if short.any():
        kept[short] = labels.token_starts[np.searchsorted(labels.token_starts, starts[short]) + delivered_tokens[short]]
    return kept
