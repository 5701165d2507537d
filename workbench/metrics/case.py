"""One configuration's results with the labels, and the intermediate tables that several metrics share."""

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeVar

from workbench.metrics.coverage import Bools, Floats
from workbench.metrics.inputs import Labels, Retrieved

Result = TypeVar("Result")
SpanDefinition = Literal["exact", "chroma"]


class Cut(NamedTuple):
    """The cut of results: after `k` documents or chunks, after `tokens` tokens of delivered text, or at the first of both."""

    k: int | None = None
    tokens: int | None = None

    @property
    def depth(self) -> int:
        """k; 0 for a cut without k."""
        return self.k or 0


NO_CUT = Cut()


class MetricValues(NamedTuple):
    """A metric of q queries: `value` (q), its `attainable` maximum (q; None if it has none).

    `unscored` pairs a reason with the queries (q) that have no value for it. Values of queries that the metric does not apply to are ignored.
    """

    value: Floats
    attainable: Floats | None = None
    unscored: tuple[tuple[str, Bools], ...] = ()


class Case:
    """Labels and results, with every intermediate table computed once for each cut; `depths` are the k of all document metrics."""

    def __init__(self, labels: Labels, retrieved: Retrieved, spans: SpanDefinition, depths: frozenset[int] = frozenset()) -> None:
        self.labels = labels
        self.retrieved = retrieved
        self.spans = spans
        self.depths = depths
        self._shared: dict[tuple[object, Cut], object] = {}

    def shared(self, compute: "Callable[[Case, Cut], Result]", cut: Cut = NO_CUT) -> Result:
        """`compute(case, cut)`, remembered."""
        key = (compute, cut)
        if key not in self._shared:
            self._shared[key] = compute(self, cut)
        return self._shared[key]  # type: ignore[return-value]  # the key decides the type
