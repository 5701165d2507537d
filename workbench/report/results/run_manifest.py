"""The form of a run's manifest, which is checked before anything is read from it."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from workbench.measures.metrics.definition import Comparison, LabelsRead, Source

# Larger counts, cuts and seeds are no numbers of a run.
_Count = Annotated[int, Field(ge=0, le=10**12)]
_Settings = dict[str, Any]


class _ManifestPart(BaseModel):
    # Later versions may add keys.
    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)


class _RecordedSource(_ManifestPart):
    kind: str


class _Experiment(_ManifestPart):
    name: Annotated[str, Field(min_length=1, pattern=r"^[^\s/\\`]+$")]
    dataset: _RecordedSource
    metrics: list[str | _Settings] = []
    slices: list[Any] = []
    spans: str = "exact"
    gate: _Settings | None = None


class _MetricForm(BaseModel):
    """The record of a metric, see `Metric.record`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str
    family: str
    k: Annotated[int, Field(ge=1, le=10**9)] | None
    tokens: Annotated[int, Field(ge=1, le=10**9)] | None
    higher_is_better: bool
    proportion: bool
    bounded_by_k: bool
    definition: str
    source: str
    reads: list[Source] = []
    compares: Comparison = ""
    labels_read: LabelsRead = ""


class _Configuration(_ManifestPart):
    """The settings of each stage. Those that a configuration does not have are None."""

    chunking: _Settings | None = None
    embedding: _Settings | None = None
    retrieval: _Settings | None = None


class _Fingerprints(_ManifestPart):
    questions: str
    corpus: str
    configurations: dict[str, str]


class _PlugInTable(_ManifestPart):
    rows: str
    # The type and the phrase of each column.
    columns: dict[str, Annotated[list[str], Field(min_length=2, max_length=2)]]


class _Seeds(_ManifestPart):
    ties: int


class RunManifest(_ManifestPart):
    """The manifest of a run, as `workbench.runner.execution.collect` writes it. Keys with a default are not in those of earlier versions."""

    experiment: _Experiment
    primary: str
    baseline: str | None
    average: Literal["questions", "documents"]
    smallest_difference: Annotated[float, Field(gt=0, strict=False)]
    metrics: dict[str, _MetricForm]
    conditions: Annotated[list[str], Field(min_length=1)] = ["retrieved"]
    repeats: Annotated[int, Field(ge=1, le=10**6)] = 1
    judging: _Settings | None = None
    configurations: dict[str, _Configuration]
    dataset: dict[str, str | _Count]
    unread: list[dict[str, str]] = []
    fingerprints: _Fingerprints
    code: list[str] = []
    pickles: dict[str, list[str]] = {}
    failures: dict[str, str]
    screening: _Settings | None = None
    tables: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], _PlugInTable] = {}
    versions: dict[str, str]
    seeds: _Seeds
    commit: str | None

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        if self.primary not in self.metrics:
            raise ValueError(f"primary {self.primary!r:.80} is none of its metrics")
        if self.baseline is not None and self.baseline not in self.configurations:
            raise ValueError(f"baseline {self.baseline!r:.80} is none of its configurations")
        return self
