"""The speed of encoders in tokens per second, measured in a store or assumed, as a range."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from workbench.embedding.base import Embedder
from workbench.embedding.openvino_conversion import UnpreparedModelError
from workbench.storage.result_store import Store

# Tokens per second of two quiet cores with all-MiniLM-L6-v2, for encoders that this store has not measured (docs/performance.md).
_QUIET = {"openvino bfloat16": 22_000, "openvino float32": 14_000, "static": 800_000}
_QUIET_OTHERS = 5_000
# A busy machine is up to this many times slower.
_BUSY = 5
# A measured speed is expected to change by this factor until the next sweep.
_CHANGE = 1.25
# Loading a model takes .1 to 5 s, which is most of the time of smaller results (docs/performance.md).
_LEAST_TOKENS, _LEAST_SECONDS = 20_000, 2.0


class EncodingModel(NamedTuple):
    """A model with the backend that computes its vectors here."""

    model: str
    encoder: str

    @classmethod
    def of(cls, embedder: Embedder) -> "EncodingModel":
        """Name an embedder's model and encoder without loading it."""
        try:
            return cls(embedder.model, embedder.encoder().name)
        except UnpreparedModelError:
            return cls(embedder.model, "openvino float32")

    def __str__(self) -> str:
        return f"{self.model} ({self.encoder})"


class Speed(NamedTuple):
    """The lowest and highest expected tokens per second, and whether they were measured in this store."""

    low: float
    high: float
    measured: bool


def speeds_of(store: Store, models: Iterable[EncodingModel]) -> dict[EncodingModel, Speed]:
    """Map each model to the range of its speeds measured in the store, or to an assumed range without any."""
    measured = defaultdict[tuple[str | None, str | None], list[float]](list)
    for folder in sorted((store.root / "vectors").glob("*")):
        entry = store.get("vectors", folder.name) if folder.is_dir() else None
        counts = entry.values("encoded") if entry else {}
        if entry and (speed := _measured(entry.seconds, counts)):
            # Earlier versions did not store the model.
            measured[counts.get("model"), counts.get("encoder")].append(speed)
    return {model: _range(model, measured[model]) for model in models}


def _measured(seconds: float, counts: Mapping[str, Any]) -> float | None:
    """Return the tokens per second of a result, or None if it is too small to measure a speed."""
    tokens, seconds = counts["tokens"], seconds + counts.get("workers_seconds", 0.0)
    return tokens / seconds if tokens >= _LEAST_TOKENS and seconds >= _LEAST_SECONDS else None


def _range(model: EncodingModel, speeds: Sequence[float]) -> Speed:
    if speeds:
        return Speed(min(speeds) / _CHANGE, max(speeds) * _CHANGE, True)
    quiet = _QUIET.get(model.encoder, _QUIET_OTHERS)
    return Speed(quiet / _BUSY, quiet, False)
