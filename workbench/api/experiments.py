"""Define, plan and sweep experiments."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal, TypedDict, Unpack

import yaml

from workbench.api.arguments import is_function, kind_settings, require, wrapped
from workbench.api.pipeline import Pipeline
from workbench.api.results import Results
from workbench.components.judging.settings import Judging
from workbench.core.component import Component
from workbench.core.errors import InputError
from workbench.core.files import write_text
from workbench.core.records import Dataset
from workbench.core.text.display import table_html
from workbench.core.text.formatting import listed, plural
from workbench.core.text.guessed_names import AdvisedNames, advised_names, checked_names
from workbench.core.text.progress import ProgressBar, reporting, say_above, sweep_progress
from workbench.data.sources import SOURCES, Source, recognise
from workbench.measures.metrics.expressions import computed_anew, of_function
from workbench.measures.metrics.names import Metric, metrics_given
from workbench.runner.execution.local import FILES, Precompute, on_workers, run_experiment
from workbench.runner.execution.outputs import publish
from workbench.runner.execution.plan import Plan, plan_experiment
from workbench.runner.execution.screening import screen as screen_experiment
from workbench.runner.experiment.expand import STAGES
from workbench.runner.experiment.read import ExperimentSpec, experiment_of, read_experiment

# A component, or its settings as in an experiment file.
Settings = Component | Mapping[str, Any]


class ExperimentSettings(TypedDict, total=False):
    """The optional keys of an experiment file."""

    pipeline: Pipeline | Mapping[str, Settings]
    targets: Sequence[Settings]
    sweep: Mapping[str, Sequence[Settings] | Settings]
    configurations: Sequence[Pipeline | Mapping[str, Settings | str]]
    exclude: Sequence[str]
    metrics: Sequence[str | Metric] | str | Metric
    primary: str | Metric
    baseline: str | None
    average: Literal["questions", "documents"]
    smallest_difference: float
    spans: Literal["exact", "chroma"]
    conditions: Sequence[str]
    repeats: int
    limits: Mapping[str, float]
    judging: Judging | Mapping[str, Any] | str
    slices: Sequence[Sequence[str]]
    gate: Mapping[str, Any]


class Experiment(AdvisedNames):
    """Configurations to compare on a dataset, as in an experiment file: the arguments are the keys of the file.

    Parameters
    ----------
    name: the name of the outputs, of lower-case letters, digits, `.`, `_` and `-`.
    dataset: a loaded dataset, its path, or its settings, such as `{"kind": "golden", "path": "mine"}`.
    pipeline: the default of every stage, a pipeline or components by stage.
    targets: systems that Workbench did not build, each a configuration, such as `wb.HttpTarget`.
    sweep: the alternatives of each stage that varies. Stages multiply.
    configurations: single configurations beside those of `sweep`: pipelines, or components by stage with an optional `name`.
    exclude: names of configurations that are left out, such as `*-bm25`.
    metrics: names or expressions. The first is the primary metric unless `primary` names one.
    primary: the one metric that ranks the configurations.
    baseline: the name of the configuration that the others are compared with.
    average: what counts equally in means, `questions`, or `documents` each with the mean of its questions.
    smallest_difference: the smallest difference of the primary metric that matters, 0.02 by default.
    spans: the definition of span metrics, `exact` or that of the Chroma report.
    conditions: the contexts in which questions are answered, `retrieved` by default.
    repeats: how often each question is asked.
    limits: the most `calls`, `tokens` and `usd` that a sweep spends on models.
    judging: the judges by task, components or their settings, such as `{"support": wb.OverlapJudge()}`; `"none"` for no judges.
    slices: crossed slices, each a list of fields of the questions.

    Raises
    ------
    ExperimentError: a setting is invalid. The error lists every fault.
    InputError: the dataset was made or changed in Python, so no file has it.

    Examples
    --------
    >>> import workbench as wb
    >>> experiment = wb.Experiment(
    ...     "sizes",
    ...     wb.load_dataset("experiments/handbook", split="dev"),
    ...     sweep={"chunking": [wb.FixedChunker(size=size) for size in (128, 256)], "retrieval": [wb.BM25Retriever()]},
    ...     metrics=[wb.span_recall @ wb.tokens(2000), wb.recall @ 5],
    ... )
    >>> experiment.names
    ['fixed-128-0-bm25', 'fixed-256-0-bm25']
    """

    guesses: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("run", "sweep", "start", "execute", "evaluate"), "wb.sweep(experiment)"),
        **dict.fromkeys(
            ("results", "leaderboard", "report"), "what wb.sweep(experiment) returns, or wb.load('outputs/<name>') of a finished sweep"
        ),
        **dict.fromkeys(("configurations", "configs", "pipelines"), "experiment.names"),
        **dict.fromkeys(("save", "write", "to_file"), "experiment.to_yaml(path)"),
        **dict.fromkeys(("load", "read", "open", "from_file", "from_path"), "wb.Experiment.from_yaml(path)"),
    }

    @advised_names(more="write wb.Experiment(name, dataset, ...), or wb.Experiment.from_yaml(path) for an experiment file")
    def __init__(self, name: str, dataset: Dataset | Settings | str | Path, **settings: Unpack[ExperimentSettings]) -> None:
        given = {key: _given(key, value) for key, value in settings.items() if value is not None}
        spec = experiment_of({"name": name, "dataset": _source(dataset)} | given, f"experiment {name!r}")
        self._spec = replace(spec, loaded=dataset if isinstance(dataset, Dataset) else None)

    @classmethod
    def from_yaml(cls, path: str | Path, overrides: Sequence[str] = ()) -> "Experiment":
        """Read an experiment file. `overrides` such as `pipeline.retrieval.k=5` change its settings.

        Raises
        ------
        InputError: the file does not exist or is not YAML.
        ExperimentError: a setting is invalid. The error lists every fault.

        Examples
        --------
        >>> import workbench as wb
        >>> len(wb.Experiment.from_yaml("experiments/quickstart.yaml").names)
        12
        """
        return cls._of(read_experiment(Path(path), overrides))

    @classmethod
    def _of(cls, spec: ExperimentSpec) -> "Experiment":
        experiment = cls.__new__(cls)
        experiment._spec = spec
        return experiment

    @property
    def name(self) -> str:
        """The name of the experiment and of its outputs."""
        return self._spec.name

    @property
    def names(self) -> list[str]:
        """The names of the configurations."""
        return [configuration.name for configuration in self._spec.configurations]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics, the primary one first."""
        return self._spec.metrics

    def to_yaml(self, path: str | Path) -> Path:
        """Write the experiment file and return its path. `workbench sweep` runs it.

        Examples
        --------
        >>> import workbench as wb
        >>> experiment = wb.Experiment("mine", wb.load_dataset("experiments/handbook", split="dev"))
        >>> print(experiment.to_yaml("mine.yaml").read_text())
        name: mine
        dataset:
          kind: golden
          split: dev
          path: experiments/handbook
        <BLANKLINE>
        """
        write_text(Path(path), yaml.safe_dump(self._spec.settings, sort_keys=False, allow_unicode=True))
        return Path(path)

    def plan(self, outputs: str | Path = "outputs", *, allow_code: bool = False) -> Plan:
        """Estimate the work of a sweep and the results that it can reuse. No model is loaded and nothing is embedded.

        Configurations that name functions are planned only with `allow_code`, because planning runs these functions to split documents.

        Examples
        --------
        >>> import workbench as wb
        >>> plan = wb.Experiment.from_yaml("experiments/quickstart.yaml").plan()
        >>> [planned.name for planned in plan.configurations][:2]
        ['fixed-128-0', 'fixed-128-0-bm25']
        """
        return plan_experiment(replace(self._spec, allow_code=allow_code), Path(outputs))

    def __repr__(self) -> str:
        return f"Experiment({self.name!r}, {listed(self.names)})"

    def _repr_html_(self) -> str:
        rows = []
        for configuration in self._spec.configurations:
            kinds = {stage: str(component.model_dump()["kind"]) for stage, component in configuration.components.items()}
            rows.append({"configuration": configuration.name} | kinds)
        about = f"{self.name}: {plural(len(rows), 'configuration')} on {self._spec.dataset.kind} {getattr(self._spec.dataset, 'path', '')}"
        return table_html(about, rows, f"Metrics: {', '.join(map(str, self.metrics))}.")


@checked_names
def sweep(
    experiment: Experiment | str | Path,
    outputs: str | Path = "outputs",
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    screen: bool = False,
    allow_code: bool = False,
) -> Results:
    """Run all configurations and write `outputs/<name>/`: tables, executed notebooks and report.html.

    Results in the store are reused, so an interrupted sweep resumes where it stopped. A line shows the progress and about how long
    the rest takes, and each finished configuration is printed.

    Parameters
    ----------
    experiment: an experiment, or the path of an experiment file.
    outputs: the folder of the outputs and of the store.
    jobs: compute on this many processes.
    scheduler: compute on the workers of a Dask scheduler, such as `tcp://host:8786`.
    screen: first set aside configurations that are far behind by a cheap proxy.
    allow_code: import and run the functions that the experiment names, such as those of `wb.CallableChunker`.

    Raises
    ------
    InputError: the experiment names functions, and `allow_code` is not set; or a metric is a function, and `jobs` or `scheduler` is set.
    RunError: every configuration failed, and the outputs of an earlier run stay. If only some fail, `Results.failures` has their errors.

    Examples
    --------
    >>> import workbench as wb
    >>> experiment = wb.Experiment(
    ...     "sizes",
    ...     wb.load_dataset("experiments/handbook", split="dev"),
    ...     sweep={"chunking": [wb.FixedChunker(size=size) for size in (128, 256)], "retrieval": [wb.BM25Retriever()]},
    ... )
    >>> results = wb.sweep(experiment)  # doctest: +ELLIPSIS
    sizes: 2 configurations, 98 questions, 54 documents
    [1/2] fixed-128-0-bm25: ...
    [2/2] fixed-256-0-bm25: ...
    >>> len(results.leaderboard())
    2
    """
    if not isinstance(experiment, str | Path):
        require(experiment, Experiment, "experiment")
    spec = experiment._spec if isinstance(experiment, Experiment) else read_experiment(Path(experiment))
    spec = replace(spec, allow_code=allow_code)
    precompute = _workers(spec, jobs, scheduler)
    computed_anew(spec.metrics)
    if screen:
        spec = screen_experiment(spec, Path(outputs), say_above)
    with sweep_progress(spec.name):
        outcome = run_experiment(spec, Path(outputs), say_above, precompute)
        with reporting(FILES), ProgressBar(total=len(outcome.results) + 1, desc=FILES, unit="files") as bar:
            publish(outcome, lambda _: _advance(bar))
    for line in [*outcome.notes, *outcome.errors, f"report: {outcome.report}"]:
        say_above(line)
    return Results.view(outcome.tables, outcome.folder)


def _workers(spec: ExperimentSpec, jobs: int | None, scheduler: str | None) -> Precompute | None:
    """Return how results are computed on workers, or None. They do not have the functions of this process."""
    precompute = on_workers(jobs, scheduler)
    if precompute and (local := [str(metric) for metric in spec.metrics if of_function(metric)]):
        raise InputError(
            f"{local[0]} is a function of this process, which workers do not have", "leave out jobs and scheduler, or the metric"
        )
    return precompute


def _advance(bar: ProgressBar) -> None:
    bar.update()


def _given(key: str, value: Any) -> Any:
    """Return an argument in the form of an experiment file, with components as they are."""
    match key:
        case "pipeline":
            return _stages(value)
        case "configurations":
            return [_stages(item) for item in _required(key, value, Sequence, "a list of pipelines, or of components by stage")]
        case "sweep":
            _required(key, value, Mapping, "the alternatives of each stage by its name")
            several = {
                stage: given if isinstance(given, Sequence) and not isinstance(given, str) else [given] for stage, given in value.items()
            }
            return {stage: [_component(each, stage) for each in components] for stage, components in several.items()}
        case "targets":
            return [_component(target, key) for target in value]
        case "metrics":
            names = value if isinstance(value, Iterable) and not isinstance(value, str | Mapping) else [value]
            # A name that does not exist is reported with the other faults of the experiment.
            return [each if isinstance(each, str) else str(*metrics_given(each)) for each in names]
        case "conditions" | "exclude":
            return list(value)
        case "slices":
            return [list(fields) for fields in value]
        case "limits":
            return dict(value)
        case "judging":
            return _judges(value)
        case "primary":
            return str(value)
    return value


def _required(key: str, value: Any, kind: type, what: str) -> Any:
    """Return an argument of this kind. Raises InputError for another."""
    if isinstance(value, str) or not isinstance(value, kind):
        raise InputError(f"{key} is of type {type(value).__name__}", f"give {what}")
    return value


def _stages(pipeline: Pipeline | Mapping[str, Settings | str]) -> dict[str, Any]:
    """Return the component or the settings of each stage."""
    given = getattr(pipeline, "components", pipeline)
    stages = _required("a configuration", given, Mapping, "a pipeline, or components by stage")
    # An item of `configurations` has a name too. Unknown keys are reported with the other faults of the experiment.
    return {stage: _component(component, stage) if stage in STAGES else component for stage, component in stages.items()}


def _judges(value: Judging | Mapping[str, Any] | str) -> Any:
    """Return the key `judging` with its components."""
    if isinstance(value, Judging):
        more = {"conditions": value.conditions, "thresholds": value.thresholds.model_dump(exclude_defaults=True)}
        value = {**value.components, **{key: given for key, given in more.items() if given}}
    if not isinstance(value, Mapping):
        return value
    for part in value.values():
        if is_function(part):
            wrapped("judging", part)
    return {key: list(part) if isinstance(part, tuple) else part for key, part in value.items()}


def _component(component: Settings, owner: str) -> Settings:
    """Return a component, or its settings with their kind. Raises InputError for anything else."""
    if isinstance(component, str) and owner in STAGES:
        return kind_settings(owner, component)
    if is_function(component):
        component = wrapped(owner, component)
    if isinstance(component, Mapping):
        return dict(component)
    if not isinstance(component, Component):
        raise InputError(f"{owner} is {component!r}", "give a component, or its settings with their kind")
    return component


def _source(dataset: Dataset | Settings | str | Path) -> Settings:
    """Return the place of a dataset. Raises InputError for one that is in no file as it is."""
    if isinstance(dataset, str | Path):
        return recognise(str(dataset), None)
    if not isinstance(dataset, Dataset):
        return _component(dataset, "dataset")
    settings = dict(dataset.source or {})
    if not settings:
        raise InputError(f"the dataset {dataset.name} is only in memory", "pass workbench.save_dataset(dataset, folder)")
    source: Source = SOURCES[settings["kind"]].model_validate(settings)
    if (dataset._loaded or source.load()) != dataset:
        raise InputError(f"the dataset {dataset.name} differs from its files", "pass workbench.save_dataset(dataset, folder)")
    return source
