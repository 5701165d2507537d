"""Compare systems that Workbench did not build on a dataset, from Python."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import PrivateAttr

from workbench.api.arguments import require
from workbench.api.given_systems import TWO_RUNS, target_for
from workbench.api.results import Results
from workbench.api.scoring.score import Scores
from workbench.api.scoring.systems import EnoughHits
from workbench.components.judging.settings import Judging
from workbench.core.errors import InputError, RunError
from workbench.core.files import store_errors, temporary_folder
from workbench.core.records import Dataset
from workbench.core.text.guessed_names import checked_names
from workbench.core.text.progress import say_above
from workbench.data.checks import checked
from workbench.data.draft import DatasetDraft
from workbench.data.sources import Source
from workbench.measures.metrics.expressions import computed_anew
from workbench.measures.metrics.names import Metric, metrics_given
from workbench.report.answer_sentences import cut_sentences
from workbench.report.results.run_tables import RETRIEVED, RunTables
from workbench.runner.execution.local import run_experiment
from workbench.runner.execution.missing import incomplete_replies, missing_answers, missing_replies
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import DEFAULT_METRICS, experiment_of
from workbench.systems.base import Target
from workbench.systems.callable.threads import left_running

_NAME = "comparison"


class LoadedSource(Source):
    """A dataset that was loaded or made in Python."""

    kind: Literal["python"] = "python"
    name: str
    _dataset: Dataset | None = PrivateAttr(default=None)

    @classmethod
    def of(cls, dataset: Dataset) -> "LoadedSource":
        """Return the source of a dataset."""
        source = cls(name=dataset.name)
        source._dataset = dataset
        return source

    def load(self, unlabelled: bool = False) -> Dataset:
        if self._dataset is None:
            raise InputError(f"the dataset {self.name} was only in memory", "load it again")
        return checked(self._dataset)

    def _draft(self) -> DatasetDraft:
        raise InputError(f"the dataset {self.name} was only in memory", "load it again")


@dataclass(frozen=True, eq=False, repr=False)
class SystemScores(Scores):
    """The scores of a system, with the `results` that they come from: tables, causes and report, as those of a sweep."""

    results: Results | None = None


@checked_names
def compare(
    systems: Mapping[str, Any],
    dataset: Dataset,
    metrics: Sequence[str | Metric] | str | Metric | None = None,
    *,
    k: int | None = None,
    outputs: str | Path | None = None,
    judging: Judging | Mapping[str, Any] | str | None = None,
) -> Results:
    """Put the questions of a dataset to several systems, and compare them as a sweep compares configurations.

    Parameters
    ----------
    systems: the systems by name, such as two versions of a function. A system is an index or a pipeline; a function, sync or async; an object with
        `search` or `answer`; a retriever or a chain of LangChain; a retriever or a query engine of LlamaIndex; a component or a
        pipeline of Haystack; a target such as `wb.HttpTarget`; the path of recorded results, such as a TREC run; or a function as `package.module:name`.
    metrics: names or expressions, by default those of an experiment. The first is the primary metric.
    k: how many hits to ask for. By default a search that takes their number is asked for more, up to 1,000, until the hits have as many distinct
        documents, slices and tokens as the metrics read, and its latency is that of all these calls. A target has its own `k`.
    outputs: the folder in which to write `comparison/`; by default a temporary folder, which is deleted when Python ends.
    judging: the judges of answers by task, as in an experiment.

    Returns
    -------
    `Results` with tables, leaderboard, verdict, plots and `to_html`, as of a sweep. A question on which a system fails is unscored for it. A system that
    fails on all questions is named in `failures`.

    Raises
    ------
    InputError: a metric does not exist, or a system is of an unknown form.
    RunError: every system failed.

    Examples
    --------
    >>> import workbench as wb
    >>> dataset = wb.load_dataset("experiments/handbook", split="dev")
    >>> old = wb.Pipeline(chunking=wb.FixedChunker(size=128), retrieval=wb.BM25Retriever()).index(dataset)
    >>> new = wb.Pipeline(chunking=wb.FixedChunker(size=256), retrieval=wb.BM25Retriever()).index(dataset)
    >>> results = wb.compare({"old": old.search, "new": new.search}, dataset, ["recall@5", "mrr@10"])
    >>> sorted(results.leaderboard().index)
    ['new', 'old']
    """
    if isinstance(systems, Results):
        raise InputError(f"systems is the results of the run {systems.name}", TWO_RUNS)
    require(systems, Mapping, "systems")
    require(dataset, Dataset, "dataset")
    if not systems:
        raise InputError("there is no system to compare", 'write wb.compare({"old": search, "new": other_search}, dataset, metrics)')
    chosen = [] if metrics is None else metrics_given(metrics)
    computed_anew(chosen)
    depth = EnoughHits.for_metrics(chosen or usual_metrics(dataset), dataset)
    answered = any(metric.of_answers for metric in chosen)
    targets = [target_for(name, system, dataset, k=k, depth=depth, answered=answered) for name, system in systems.items()]
    settings: dict[str, Any] = {"name": _NAME, "dataset": {"kind": "python", "name": dataset.name}}
    settings |= {"metrics": list(map(str, chosen))} if chosen else {}
    settings |= {"targets": [{"kind": target.kind, "name": target.name} for target in targets]}
    settings |= {} if judging is None else {"judging": judging}
    return _run(settings, {"dataset": LoadedSource.of(dataset), "targets": targets}, outputs)


def usual_metrics(dataset: Dataset) -> list[Metric]:
    """Return the default metrics of rankings: those of an experiment, without those of spans if the dataset has no evidence."""
    metrics = map(Metric.parse, DEFAULT_METRICS)
    return [metric for metric in metrics if dataset.needs or metric.family == "documents"]


def scores_of_target(target: Target, dataset: Dataset, metrics: Sequence[Metric]) -> SystemScores:
    """Return the scores of one target, by the metrics of its run if none are given."""
    results = compare({target.name: target}, dataset, metrics or None)
    wanted = [str(metric) for metric in metrics] or list(results.measures)
    table = results.metrics.query("slice == 'all' and condition == @RETRIEVED", local_dict={"RETRIEVED": RETRIEVED})
    # A metric of answers that applies to none has no row.
    table = table.set_index("metric").reindex(wanted).fillna({"n": 0, "clusters": 0, "unscored": 0, "conditional": ""}).reset_index()
    table = table.astype({"n": int, "clusters": int, "unscored": int})
    queries = results.queries.query("condition == @RETRIEVED", local_dict={"RETRIEVED": RETRIEVED})
    queries = queries[queries["metric"].isin(wanted)].reset_index(drop=True)
    columns = ["metric", "value", "low", "high", "n", "clusters", "unscored", "attainable", "conditional"]
    return SystemScores(table[columns], queries[["query_id", "metric", "value", "state", "reason"]], _notes(results), results)


def _run(settings: dict[str, Any], made: dict[str, Any], outputs: str | Path | None) -> Results:
    spec = experiment_of(settings, "the comparison", made=made)
    # Always in a new folder: a function that has changed since must not get the results of an earlier one.
    folder = temporary_folder()
    # A comparison of few systems needs no line for each.
    outcome = run_experiment(spec, folder, lambda _: None)
    if not outcome.results:
        name, line = next(iter(outcome.failures.items()))
        raise RunError(f"every system failed; {name}: {line}", "try the system on one question")
    for name, line in outcome.failures.items():
        say_above(f"{name} failed and is not compared: {line}")
    tables = write_outputs(outcome)
    for line in (*_notes(tables), *missing_answers(tables)):
        say_above(line)
    if outputs is None:
        return Results.read(outcome.folder)
    target = Path(outputs) / _NAME
    with store_errors(target.parent):
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(outcome.folder, target)
    return Results.read(target)


def _notes(tables: RunTables) -> tuple[str, ...]:
    return (*missing_replies(tables), *incomplete_replies(tables), *cut_sentences(tables), *left_running())
