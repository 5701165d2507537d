"""The input of metrics for one configuration: labels, the ranking, and the contexts, answers and judgements of one variant."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.components.judging.base import Judgement, Task
from workbench.components.judging.settings import EndToEndThresholds
from workbench.core.errors import InputError
from workbench.core.records import Passage, Variant
from workbench.measures.metrics.coverage import Bools, Floats
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
