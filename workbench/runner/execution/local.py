"""Run the configurations of an experiment. One that fails does not stop the others."""

import contextlib
import math
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from workbench.components.context.conditions import RETRIEVED
from workbench.components.rewriting.base import TextRewriter
from workbench.core.errors import ExperimentError, InputError, RunError, error_line
from workbench.core.imported_functions import require_current, require_permission
from workbench.core.records import Dataset
from workbench.core.text.formatting import number as number_text
from workbench.core.text.formatting import plural
from workbench.core.text.printable import printable
from workbench.core.text.progress import SweepProgress, current_sweep, reporting
from workbench.measures.metrics.definition import EXPECTED
from workbench.measures.metrics.names import Metric
from workbench.measures.statistics.clusters import query_clusters, weighted
from workbench.measures.statistics.summary import pooled
from workbench.report.analysis.standings import CURVE
from workbench.report.results.run_tables import RunMark, RunTables, run_mark
from workbench.runner.execution.latency import LATENCIES, is_measured, latencies_of
from workbench.runner.experiment.read import ExperimentSpec
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext, Workspace
from workbench.runner.pipeline.graph import Graph
from workbench.runner.pipeline.stage import Stage
from workbench.runner.pipeline.stage_results import StageResults

FILES = "notebooks and report"
# Seconds of a configuration, between the fewest and the most that a plan expects (execution/plan.py).
_LATENCY_SECONDS, _FILES_SECONDS = 1.6, 2.5
_WITH_SPANS, _WITHOUT_SPANS = "span_recall@2000t", "ndcg@10"
Say = Callable[[str], None]
# Computes missing results before the sweep and returns each failed configuration's error.
Precompute = Callable[[Graph, Sequence[Configuration], Say], Mapping[str, BaseException]]


class RemainingResults:
    """The results that each configuration is the first to compute, reported to the progress of the sweep, if any runs in this process."""

    def __init__(self, graph: Graph, configurations: Sequence[Configuration]) -> None:
        self._progress: SweepProgress | None = current_sweep()
        self._by_configuration: dict[str, list[str]] = {}
        if self._progress is None:
            return
        # Stages with an own way to obtain results compute nothing that lasts.
        lasting = [name for name, stage in graph.stages.items() if type(stage).obtain is Stage.obtain]
        self._by_configuration, measured = {}, False
        # The run meets and reports the fault of a configuration.
        with contextlib.suppress(Exception):
            missing = graph.plan(configurations).missing(configurations, lasting)
            self._by_configuration = {name: [planned.node.stage for planned in nodes] for name, nodes in missing.items()}
            measured = is_measured(graph, configurations)
        self._ends = {FILES: 1} if measured else {LATENCIES: 1, FILES: 1}
        number = len(configurations)
        self._progress.usual = {LATENCIES: _LATENCY_SECONDS * number, FILES: _FILES_SECONDS * number}
        self._progress.configurations = number
        self._progress.spent = lambda: graph.run.calls.budget.spent.usd
        self._report(self._progress)

    def finish(self, configuration: Configuration) -> None:
        """Leave out what a configuration has computed, or has not because it failed."""
        if self._progress:
            self._by_configuration.pop(configuration.name, None)
            self._progress.finished += 1
            self._report(self._progress)

    def tell(self, best: str) -> None:
        """Show the best score so far."""
        if self._progress:
            self._progress.best = best

    @property
    def live(self) -> bool:
        """True if a terminal shows the progress in place of a line for each configuration."""
        return self._progress is not None and self._progress.live

    @property
    def verbose(self) -> bool:
        return self._progress is not None and self._progress.verbose

    def _report(self, progress: SweepProgress) -> None:
        progress.expect(Counter(stage for stages in self._by_configuration.values() for stage in stages) + Counter(self._ends))


@dataclass(eq=False)
class Outcome:
    """The results of an experiment, and the one-line error and the traceback of each configuration that failed.

    `latencies` are in milliseconds by configuration and name. `before` marks the run that was in the folder when this one started. The other fields
    are those of `publish`: the report, the terminal's lines, remarks, the errors that stopped nothing, and the tables as they were written.
    """

    experiment: ExperimentSpec
    graph: Graph
    primary: Metric
    results: list[StageResults] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    tracebacks: dict[str, str] = field(default_factory=dict)
    latencies: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    before: RunMark = None
    report: Path | None = None
    lines: Sequence[str] = ()
    notes: Sequence[str] = ()
    errors: Sequence[str] = ()
    written: RunTables | None = None

    @property
    def run(self) -> RunContext:
        """Return the run context: dataset, metrics and workspace."""
        return self.graph.run

    @property
    def folder(self) -> Path:
        return self.run.workspace.outputs / self.experiment.name

    @property
    def tables(self) -> RunTables:
        """Return the tables as they were written. Raises RunError before."""
        if self.written is None:
            raise RunError(f"the run {self.experiment.name} is not written", "publish it")
        return self.written


def context_of(experiment: ExperimentSpec, outputs: Path) -> RunContext:
    """Return the run context with the experiment's dataset and all metrics to compute."""
    dataset = experiment.load()
    for configuration in experiment.configurations:
        if isinstance(configuration.rewrite, TextRewriter):
            configuration.rewrite.check_questions(dataset.queries)
    _check_expected(primary_of(experiment, dataset), dataset)
    primary = retrieval_primary(experiment, dataset)
    added = [primary, Metric.parse("judged@10")]
    if dataset.needs:
        added += [Metric.parse(f"span_recall@{tokens}t") for tokens in CURVE]
    # Metrics of rankings come first, and those of judgements last.
    metrics = sorted(dict.fromkeys([*experiment.metrics, *added]), key=lambda metric: metric.of_answers + metric.judged)
    workspace, configurations = Workspace.at(outputs), experiment.configurations
    return RunContext(
        workspace,
        dataset,
        tuple(metrics),
        experiment.spans,
        configurations,
        primary=primary,
        average=experiment.average,
        allow_code=experiment.allow_code,
        variants=experiment.variants,
        limits=experiment.limits,
        slices=experiment.slices,
        judging=experiment.judging,
    )


def primary_of(experiment: ExperimentSpec, dataset: Dataset) -> Metric:
    """Return the primary metric: the named one or the first. Without evidence spans, nDCG@10 replaces a span metric."""
    chosen = experiment.primary or experiment.metrics[0]
    return chosen if dataset.needs or chosen.family != "spans" or experiment.primary else Metric.parse(_WITHOUT_SPANS)


def _check_expected(primary: Metric, dataset: Dataset) -> None:
    """Raise InputError if answers are compared with expected answers and the dataset has none, so that no configuration had a score."""
    compared = EXPECTED in primary.definition.requires
    if compared and not any(query.answer or any(query.answer_variants) for query in dataset.queries if query.answerable):
        fix = "add the field answer to its questions, or choose another primary metric"
        raise InputError(f"the primary metric {primary} needs expected answers, and the dataset {dataset.name} has none", fix)


def retrieval_primary(experiment: ExperimentSpec, dataset: Dataset) -> Metric:
    """Return the metric by which retrieval is explained: the primary one, or the first of retrieval if the primary one is of answers."""
    primary = primary_of(experiment, dataset)
    if not primary.of_answers:
        return primary
    others = [metric for metric in experiment.metrics if not metric.of_answers and (dataset.needs or metric.family != "spans")]
    return next(iter(others), Metric.parse(_WITH_SPANS if dataset.needs else _WITHOUT_SPANS))


def check_code(experiment: ExperimentSpec) -> None:
    """Import the functions that an experiment names. Raises InputError without permission, or with every function that does not fit."""
    require_permission(experiment.named_code, experiment.allow_code)
    for name in experiment.named_code:
        require_current(name)
    faults = []
    judges = experiment.judging.components.values() if experiment.judging else ()
    for component in (
        *(component for configuration in experiment.configurations for component in configuration.components.values()),
        *judges,
    ):
        try:
            component.load_code()
        except InputError as error:
            faults.append(str(error))
    if faults:
        raise ExperimentError(experiment.name, list(dict.fromkeys(faults)))


def run_experiment(experiment: ExperimentSpec, outputs: Path, say: Say, precompute: Precompute | None = None) -> Outcome:
    """Run all configurations in order, after `precompute`, then measure their latencies. Record the error of one that fails and continue.

    Raises InputError if the experiment names code and nobody allowed it to run.
    """
    check_code(experiment)
    graph = Graph(context_of(experiment, outputs))
    # A log shows nothing else before the first configuration is finished.
    counts = {"configuration": experiment.configurations, "question": graph.run.dataset.queries, "document": graph.run.dataset.documents}
    say(f"{experiment.name}: {', '.join(plural(len(rows), name) for name, rows in counts.items())}")
    outcome = Outcome(experiment, graph, primary_of(experiment, graph.run.dataset), before=run_mark(outputs / experiment.name))
    errors = precompute(graph, experiment.configurations, say) if precompute else {}
    remaining = RemainingResults(graph, experiment.configurations)
    scores: dict[str, float] = {}
    for number, configuration in enumerate(experiment.configurations, 1):
        name, began = configuration.name, time.monotonic()
        try:
            if name in errors:
                raise errors[name]
            results = graph.walk(configuration)
            outcome.results.append(results)
            scores[name] = score_of(results, outcome.primary)
            message = finished_text(results, outcome.primary, scores[name], time.monotonic() - began)
            if remaining.verbose:
                message += f": {results.computed_stages}"
            elif remaining.live:
                message = ""
            remaining.tell(_best(scores, outcome.primary))
        except Exception as error:  # a configuration's failure of any kind must not stop the others
            outcome.failures[name] = error_line(error)
            outcome.tracebacks[name] = printable(traceback.format_exc())
            message = f"FAILED, {outcome.failures[name]}"
        remaining.finish(configuration)
        if message:
            say(f"[{number}/{len(experiment.configurations)}] {name}: {message}")
    with reporting(LATENCIES):
        outcome.latencies = latencies_of(graph, outcome.results, say)
    return outcome


def score_of(results: StageResults, metric: Metric) -> float:
    """Return the mean of a metric over all questions as they are asked by default, NaN without a value."""
    scores = results.entries["scores"][str(metric)].table("scores").assign(metric=str(metric))
    asked = scores[scores["condition"] == RETRIEVED] if metric.of_answers else scores
    rows, clusters = pooled(asked), weighted(query_clusters(results.run.labels), results.run.average)
    values = np.full(len(clusters), np.nan)
    values[rows["query"]] = rows["value"].where(rows["state"] == "scored")
    scored = ~np.isnan(values)
    return float(clusters[scored].averaged(values[None, scored])[0].mean()) if scored.any() else math.nan


def finished_text(results: StageResults, metric: Metric, score: float, seconds: float) -> str:
    """Describe a finished configuration: its score, and its seconds or that nothing was computed."""
    took = f"{seconds:.1f} s" if any(results.computed.values()) else "all from the store"
    return f"{metric} {number_text(score)}, {took}"


def _best(scores: Mapping[str, float], metric: Metric) -> str:
    known = [score for score in scores.values() if not math.isnan(score)]
    return f"{metric} {number_text(max(known) if metric.higher_is_better else min(known))}" if known else ""


def on_workers(jobs: int | None, scheduler: str | None) -> Precompute | None:
    """Return a function that precomputes missing results on Dask workers, or None if neither is given. Raises InputError for both."""
    if scheduler is not None and not scheduler.strip():
        raise InputError("the scheduler's address is empty", "give one such as tcp://host:8786, or leave it out")
    if jobs and scheduler:
        raise InputError("jobs and scheduler cannot be combined", "leave one of them out")
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs is {jobs}", "give 1 or more")
    if not (jobs or scheduler):
        return None
    # Deferred: Dask is an optional dependency.
    from workbench.runner.execution.dask_sweep import precompute

    return partial(precompute, jobs=jobs, scheduler=scheduler)
