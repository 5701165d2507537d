"""A metric as the manifest of a run records it."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from workbench.metrics.definition import Comparison, LabelsRead, Source
from workbench.metrics.names import Metric
from workbench.metrics.registry import METRICS

# Larger cuts are no numbers of a run.
_Cut = Annotated[int, Field(ge=1, le=10**9)]


class Measure(BaseModel):
    """A metric in a run's manifest, from which it is read without the package that defines it. `str` returns its name with its cut, such as `recall@5`.

    `family` is the unit it counts: documents, hits, chunks, spans, answers or other. `k` and `tokens` are its cut. `bounded_by_k`: whether it reads
    k delivered chunks. A metric that is not `higher_is_better` counts faults. The values of a `proportion` are in [0, 1]. `reads`, `compares`
    and `labels_read` are those of its definition, also if an earlier version made the run.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str
    family: str
    k: _Cut | None
    tokens: _Cut | None
    higher_is_better: bool
    proportion: bool
    bounded_by_k: bool
    definition: str
    source: str
    reads: Annotated[tuple[Source, ...], Field(strict=False)]
    compares: Comparison
    labels_read: LabelsRead

    @model_validator(mode="before")
    @classmethod
    def _of_earlier_versions(cls, given: Any) -> Any:
        """Add what earlier versions did not record."""
        if not isinstance(given, dict) or "reads" in given:
            return given
        known = METRICS.builtin.get(given["name"]) if isinstance(given.get("name"), str) else None
        reads = known.reads if known else ("answer",) if given.get("family") == "answers" else ("ranking",)
        return {
            "reads": reads,
            "compares": known.compares if known else "",
            "labels_read": known.labels_read if known else "",
            **given,
        }

    @classmethod
    def of(cls, metric: Metric) -> Self:
        """Return the record of a metric."""
        definition = metric.definition
        return cls(
            name=metric.name,
            family=metric.family,
            k=metric.k,
            tokens=metric.tokens,
            higher_is_better=metric.higher_is_better,
            proportion=metric.proportion,
            bounded_by_k=metric.bounded_by_k,
            definition=definition.definition,
            source=definition.source,
            reads=definition.reads,
            compares=definition.compares,
            labels_read=definition.labels_read,
        )

    def __str__(self) -> str:
        cut = f"@{self.k}" if self.k is not None else f"@{self.tokens}t" if self.tokens is not None else ""
        return f"{self.name}{cut}"

    @property
    def of_text(self) -> bool:
        """True if it counts pieces of text rather than documents."""
        return self.family in ("spans", "chunks")

    @property
    def of_answers(self) -> bool:
        """True if it reads contexts, answers or judgements of them, not only rankings."""
        return self.reads != ("ranking",)

    @property
    def judged(self) -> bool:
        """True if it reads judgements."""
        return "judgement" in self.reads
