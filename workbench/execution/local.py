"""Run an experiment: walk its configurations through the graph, keep what is finished, go on when one fails."""

import contextlib
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from workbench.analysis.frontier import CURVE
from workbench.errors import WorkbenchError
from workbench.execution.result import Result
from workbench.experiment.read import Experiment
from workbench.metrics.names import Metric
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext, Workspace
from workbench.pipeline.graph import Graph
from workbench.records import Dataset
from workbench.storage.result_store import Entry

_WITHOUT_SPANS = "ndcg@10"

Say = Callable[[str], None]


@dataclass(eq=False)
class Outcome:
    """An experiment after its run: results, and the one-line error of each configuration that failed."""

    experiment: Experiment
    graph: Graph
    primary: Metric
    results: list[Result] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def context(self) -> RunContext:
        """The dataset, the metrics and the workspace."""
        return self.graph.run

    @property
    def folder(self) -> Path:
        """outputs/<name>."""
        return self.context.workspace.outputs / self.experiment.name


@dataclass(frozen=True)
class Precomputed:
    """What workers did before the configurations are walked: errors by configuration, and the seconds of what they computed by task."""

    errors: Mapping[str, BaseException] = field(default_factory=dict)
    made: dict[str, float] = field(default_factory=dict)

    def walk(self, graph: Graph, configuration: Configuration) -> Result:
        """`run_configuration`, where workers have not met its error already; what they computed counts as computed, once."""
        if configuration.name in self.errors:
            raise self.errors[configuration.name]
        result = run_configuration(graph, configuration)
        entries: dict[str, dict[str, Entry]] = {stage: dict(parts) for stage, parts in result.entries.items()}
        for node in graph.nodes(configuration):
            seconds = self.made.pop(graph.task(node), None)
            if seconds is not None:
                entries[node.stage][node.part] = replace(entries[node.stage][node.part], seconds=seconds, computed=True)
        return replace(result, entries=entries)


Precompute = Callable[[Graph, Sequence[Configuration], Say], Precomputed]


def context_of(experiment: Experiment, outputs: Path) -> RunContext:
    """The experiment's dataset and all the metrics that are computed on it."""
    dataset = experiment.dataset.load()
    primary = primary_of(experiment, dataset)
    added = [primary, Metric.parse("judged@10")]
    if dataset.needs:
        added += [Metric.parse(f"span_recall@{tokens}t") for tokens in CURVE]
    metrics = tuple(dict.fromkeys([*experiment.metrics, *added]))
    return RunContext(Workspace.at(outputs), dataset, metrics, experiment.spans, experiment.configurations, primary=primary)


def primary_of(experiment: Experiment, dataset: Dataset) -> Metric:
    """The metric that decides: the one named, else the first; without evidence spans nDCG@10 takes a span metric's place."""
    chosen = experiment.primary or experiment.metrics[0]
    return chosen if dataset.needs or chosen.family != "spans" or experiment.primary else Metric.parse(_WITHOUT_SPANS)


def run_configuration(graph: Graph, configuration: Configuration) -> Result:
    """Every stage of one configuration, from the store where it is there."""
    return Result(configuration, graph.walk(configuration))


def run_experiment(experiment: Experiment, outputs: Path, say: Say, precompute: Precompute | None = None) -> Outcome:
    """Run all configurations in the order of the prefix tree; one that fails is recorded with its error and the others go on.

    `precompute` lets workers compute what is missing before.
    """
    graph = Graph(context_of(experiment, outputs))
    outcome = Outcome(experiment, graph, primary_of(experiment, graph.run.dataset))
    before = precompute(graph, experiment.configurations, say) if precompute else Precomputed()
    total = len(experiment.configurations)
    for number, configuration in enumerate(experiment.configurations, 1):
        try:
            result = before.walk(graph, configuration)
        except Exception as error:  # one configuration's failure, of whatever kind, must not take the others with it
            outcome.failures[configuration.name] = error_line(error)
            _write_trace(outcome.folder / "errors" / f"{configuration.name}.txt")
            say(f"[{number}/{total}] {configuration.name}: FAILED, {outcome.failures[configuration.name]}")
        else:
            outcome.results.append(result)
            say(f"[{number}/{total}] {configuration.name}: {result.told}")
    return outcome


def error_line(error: BaseException) -> str:
    """An error of any kind as one line."""
    line = "; ".join(error.lines) if isinstance(error, WorkbenchError) else f"{type(error).__name__}: {error}"
    return " ".join(line.split())


def _write_trace(path: Path) -> None:
    # The disk may be what failed: the one-line error is kept in any case.
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(traceback.format_exc(), "utf-8")
