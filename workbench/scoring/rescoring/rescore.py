"""Score the stored rankings of a finished run by any metric of rankings, without embedding anything."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from workbench.metrics.case import Case, Cut, MetricValues
from workbench.metrics.definition import MetricDefinition
from workbench.metrics.documents import MARGIN_METRICS
from workbench.metrics.evaluate import values_of
from workbench.metrics.names import Metric
from workbench.metrics.registry import METRICS
from workbench.results.run_tables import RunTables
from workbench.scoring.rescoring.depth import StoredDepth
from workbench.scoring.rescoring.run_dataset import RunDataset
from workbench.scoring.rescoring.stored_run import StoredLabels, stored_rankings

# Metrics whose values a run stores.
_STORED = {definition.name for definition in MARGIN_METRICS}
NO_MARGIN = "the question has no margin in the run"
NO_INTERVAL = "no interval: it needs all chunks of the configuration"


@dataclass(frozen=True, eq=False)
class Rescored:
    """The rows of `metrics.evaluate` of one configuration and metric, or the reason why there are none.

    `remark` says what the rows lack.
    """

    rows: pd.DataFrame | None
    reason: str = ""
    remark: str = ""


@dataclass(frozen=True, eq=False)
class Rescorer:
    """The stored rankings of a run in a folder, each read on first use and kept."""

    run: RunTables
    folder: Path
    dataset: RunDataset
    _cases: dict[tuple[str, bool, bool], Case | None] = field(default_factory=dict, init=False, repr=False)

    def score(self, configuration: str, metric: Metric) -> Rescored:
        """Score a configuration. Values equal those of a sweep, or there is a reason why they would not."""
        if reason := self._unsupported(configuration, metric):
            return Rescored(None, reason)
        case = self._case(configuration, texts=metric.tokens is not None)
        if case is None:
            return Rescored(None, "its stored hits cannot be read")
        if reason := self._depths[configuration].shortfall(case, metric):
            return Rescored(None, reason)
        definition = metric.definition
        if metric.name in _STORED:
            return Rescored(values_of(case, self._stored_details(configuration, definition), metric.cut))
        if not definition.reads_index:
            return Rescored(values_of(case, definition, metric.cut))
        if (whole := self._case(configuration, texts=True, whole=True)) is not None:
            return Rescored(values_of(whole, definition, metric.cut))
        if definition.reads_index == "attainable":
            return Rescored(values_of(case, definition, metric.cut), remark=f"{NO_INTERVAL}, and {self._no_chunks}")
        return Rescored(None, f"{metric} needs all chunks of the configuration, and {self._no_chunks}")

    @cached_property
    def stored(self) -> StoredLabels:
        """The labels, with the texts that the tables contain."""
        return StoredLabels(self.run)

    @cached_property
    def _with_texts(self) -> StoredLabels:
        return StoredLabels(self.run, self.dataset.documents)

    @cached_property
    def _depths(self) -> Mapping[str, StoredDepth]:
        return {name: StoredDepth.of(self.run, name) for name in self.run.names}

    @property
    def _no_chunks(self) -> str:
        return self.dataset.fault or "these cannot be cut again without embedding"

    def _unsupported(self, configuration: str, metric: Metric) -> str:
        """Return why the metric cannot be computed from what a run stores, or an empty text."""
        if metric.of_answers or metric.name not in METRICS.builtin:
            what = "reads answers" if metric.of_answers else "is of another package, or a function"
            return f"{metric} {what}: only a sweep computes it"
        if self.run.facts[configuration]["retrieval"] == "target":
            return "what a target returned is scored by a sweep only"
        if metric.tokens is not None and self.dataset.documents is None:
            return f"a budget in tokens needs the documents, and {self.dataset.fault}"
        return ""

    def _case(self, configuration: str, texts: bool, whole: bool = False) -> Case | None:
        """Return a configuration's results: with documents if `texts`, and with all of its chunks if `whole`."""
        key = configuration, texts, whole
        if key not in self._cases:
            self._cases[key] = self._made_case(*key)
        return self._cases[key]

    def _made_case(self, configuration: str, texts: bool, whole: bool) -> Case | None:
        stored, chunks = self._with_texts if texts else self.stored, None
        if whole and (chunks := self.dataset.chunks(configuration)) is None:
            return None
        rankings = stored_rankings(stored, self.folder, configuration, chunks)
        spans: Literal["exact", "chroma"] = self.run.manifest["experiment"].get("spans", "exact")
        return None if rankings is None else Case(stored.labels, rankings, spans)

    def _stored_details(self, configuration: str, definition: MetricDefinition) -> MetricDefinition:
        """Return the definition of a metric whose values are those of `query_details`."""
        details = self.run.of("query_details", configuration).set_index("query_id")[definition.name]
        values = details.reindex(list(self.stored.queries)).to_numpy(np.float64)

        def read(_: Case, __: Cut) -> MetricValues:
            return MetricValues(values, unscored=((NO_MARGIN, np.isnan(values)),))

        return replace(definition, compute=read)
