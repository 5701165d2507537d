"""Size against overlap, where an experiment varied both and nothing else."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.analysis.standings import Standing
from workbench.metrics.names import Metric

_KINDS = ("fixed", "recursive")


@dataclass(frozen=True)
class Grid:
    """Values by (size, overlap); `title` says what all its configurations have in common."""

    title: str
    cells: Mapping[tuple[int, int], float]

    @property
    def sizes(self) -> list[int]:
        """The sizes, rising."""
        return sorted({size for size, _ in self.cells})

    @property
    def overlaps(self) -> list[int]:
        """The overlaps, rising."""
        return sorted({overlap for _, overlap in self.cells})


def size_grid(standings: Sequence[Standing], metric: Metric) -> Grid | None:
    """The largest of the grids; None where there is none."""
    return max(size_grids(standings, metric), key=lambda grid: len(grid.cells), default=None)


def size_grids(standings: Sequence[Standing], metric: Metric) -> list[Grid]:
    """The grids of fixed or recursive chunkings with at least two sizes and two overlaps and all else in common."""
    grids: dict[str, dict[tuple[int, int], float]] = defaultdict(dict)
    for standing in standings:
        chunking = standing.result.configuration.chunking
        size, overlap = chunking.sizes
        if chunking.kind in _KINDS and size is not None and overlap is not None:
            grids[_in_common(standing)][size, overlap] = standing.means[str(metric)].value
    found = [Grid(title, cells) for title, cells in grids.items()]
    return [grid for grid in found if len(grid.sizes) > 1 and len(grid.overlaps) > 1]


def _in_common(standing: Standing) -> str:
    """What a configuration is besides its size and overlap."""
    chosen = standing.result.configuration
    chunking, embedding, retrieval = chosen.chunking, chosen.embedding, chosen.retrieval
    parts = [chunking.kind, "enriched" if chunking.enrich else "", "" if chunking.tokens == "model" else f"in {chunking.tokens}"]
    parts += [embedding.model if embedding else retrieval.kind]
    parts += [f"{key} {value}" for key, value in retrieval.model_dump().items() if key != "kind"]
    window = embedding.max_tokens if embedding else None
    return ", ".join(part for part in [*parts, f"window {window}" if window else ""] if part)
