"""Metrics as a run records them, so that it can be read without the code that computed them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """A metric as a run's manifest records it; `str` is its name with its cut, such as `recall@5`.

    `family` is what it counts: documents, hits, chunks, spans or other. `k` and `tokens` are its cut. `bounded_by_k` says whether it looks
    at k delivered chunks. A metric that is not `higher_is_better` counts faults; the values of a `proportion` are in [0, 1].
    """

    label: str
    name: str
    family: str
    k: int | None
    tokens: int | None
    higher_is_better: bool
    proportion: bool
    bounded_by_k: bool
    definition: str
    source: str

    def __str__(self) -> str:
        return self.label

    @property
    def of_text(self) -> bool:
        """Whether it looks for pieces of text rather than for documents."""
        return self.family in ("spans", "chunks")
