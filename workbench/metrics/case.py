"""One configuration's results with the labels, and the intermediate tables that metrics share."""

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeVar

from workbench.metrics.coverage import Bools, Floats
from workbench.metrics.inputs import Labels, Retrieved

Result = TypeVar("Result")
SpanDefinition = Literal["exact", "chroma"]


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

    `unscored` pairs each reason with the queries (q) it leaves without a value. Values of queries outside the metric's scope are ignored.
    """

    value: Floats
    attainable: Floats | None = None
    unscored: tuple[tuple[str, Bools], ...] = ()


class Case:
    """Labels and results, with intermediate tables cached for each cut. `depths` are the k of all document metrics."""

    def __init__(self, labels: Labels, retrieved: Retrieved, spans: SpanDefinition, depths: frozenset[int] = frozenset()) -> None:
        self.labels = labels
        self.retrieved = retrieved
        self.spans = spans
        self.depths = depths
        self._shared: dict[tuple[object, Cut], object] = {}

    def shared(self, compute: "Callable[[Case, Cut], Result]", cut: Cut = NO_CUT) -> Result:
        """`compute(case, cut)`, cached."""
        key = (compute, cut)
        if key not in self._shared:
            self._shared[key] = compute(self, cut)
        return self._shared[key]  # type: ignore[return-value]  # the key determines the type
