"""Read an experiment from YAML and validate every configuration before anything runs, with all faults in one report."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

import yaml

from workbench.components.context.conditions import variants_of
from workbench.components.judging.settings import Judging, prompted
from workbench.core.component import is_mapping
from workbench.core.environment import of_extra, require_installed
from workbench.core.errors import ExperimentError, InputError
from workbench.core.records import Dataset, Variant
from workbench.core.text.formatting import listed, meant, plural
from workbench.data.sources import Source
from workbench.gate.rules import GateSettings
from workbench.llm.session import CallLimits
from workbench.measures.metrics.names import Metric
from workbench.measures.statistics.pairs import SMALLEST_DIFFERENCE
from workbench.measures.statistics.screening import Screening
from workbench.report.results.run_tables import MANIFEST, RunTables
from workbench.runner.experiment.components import unusable, written
from workbench.runner.experiment.expand import as_list, configurations_of
from workbench.runner.experiment.file import KEYS, ExperimentKeys
from workbench.runner.experiment.judging_keys import judging_in, unjudged, usual_answer_metrics
from workbench.runner.experiment.yaml_file import Settings, plain_value, read_yaml
from workbench.runner.pipeline.configuration import Configuration, PipelineConfiguration, TargetConfiguration, recorded_settings

DEFAULT_METRICS = ("span_recall@2000t", "span_precision@2000t", "recall@5", "precision@5", "mrr@10", "ndcg@10")


@dataclass(frozen=True)
class ExperimentSpec:
    """Configurations to compare, their dataset and metrics. `primary` defaults by the data; `screening` has configurations set aside.

    `arguments` are the file and the changes that a command named, by which a report can say how to sweep again. Empty for one made in Python.
    """

    name: str
    dataset: Source
    configurations: tuple[Configuration, ...]
    metrics: tuple[Metric, ...]
    primary: Metric | None
    baseline: str | None
    spans: Literal["exact", "chroma"]
    settings: Settings
    average: Literal["questions", "documents"] = "questions"
    smallest_difference: float = SMALLEST_DIFFERENCE
    screening: Screening | None = None
    variants: tuple[Variant, ...] = (Variant(),)
    limits: CallLimits = field(default_factory=CallLimits)
    slices: tuple[tuple[str, ...], ...] = ()
    judging: Judging | None = None
    gate: GateSettings | None = None
    # Set by a person, on the command line or in Python, and never by a key of the file.
    allow_code: bool = False
    arguments: tuple[str, ...] = ()
    # The dataset, if it is loaded already.
    loaded: Dataset | None = None

    def load(self) -> Dataset:
        """Return the dataset, reading it unless it is loaded. Raises DatasetError with every fault."""
        return self.loaded or self.dataset.load()

    @property
    def comparisons(self) -> int:
        """Return how many comparisons the verdict corrects for: all with the baseline, or all pairs."""
        count = len(self.configurations)
        return count - 1 if self.baseline is not None else count * (count - 1) // 2

    @property
    def named_code(self) -> tuple[str, ...]:
        """Return the functions that the configurations and the judges name, and that a sweep executes."""
        judges = self.judging.named_code if self.judging else ()
        return tuple(dict.fromkeys([*(name for configuration in self.configurations for name in configuration.named_code), *judges]))


def read_experiment(path: Path, overrides: Sequence[str] = (), allow_code: bool = False) -> ExperimentSpec:
    """Read an experiment file with `path.to.key=value` overrides. Raises ExperimentError with every fault.

    Reading runs no code. `allow_code` lets a sweep import and run the functions that the file names.
    """
    settings = read_yaml(path, tuple(KEYS))
    faults = apply_overrides(settings, overrides)
    arguments = (str(path), *(part for each in overrides for part in ("--set", each)))
    return replace(experiment_of(settings, str(path), faults), allow_code=allow_code, arguments=arguments)


def experiment_of(settings: Settings, where: str, known: Sequence[str] = (), made: Mapping[str, Any] | None = None) -> ExperimentSpec:
    """Make an experiment from its settings. The report of faults names `where` and begins with the `known` faults.

    Settings can have components that were made in Python. The values of keys in `made`, such as a dataset that is in no file, are taken as they
    are: the settings only describe them, for the record of the run.
    """
    if unusable_values := list(unusable(settings)):
        raise ExperimentError(where, unusable_values)
    file, faulty = ExperimentKeys.read(settings, made or {})
    faults = [*known, *(line for lines in faulty.values() for line in lines)]
    before = len(faults)
    own = any(key in settings for key in ("pipeline", "sweep", "configurations"))
    piped = own or not settings.get("targets")
    if piped:
        # Every pipeline counts tokens and ranks chunks. One line, where each component would have one.
        require_installed("a pipeline", *of_extra("sweep"))
    pipelines = configurations_of(settings, faults) if piped else ()
    configurations: tuple[Configuration, ...] = (*pipelines, *map(TargetConfiguration.of, file.targets))
    faults += _repeated_names(configurations)
    whole = len(faults) == before and "targets" not in faulty
    answered = any(configuration.answering for configuration in configurations)
    variants = variants_of(file.conditions, file.repeats)
    unanswered = whole and not answered and is_mapping(file.judging)
    judging = None if unanswered else judging_in(file.judging, variants, faults)
    faults += ["judging judges answers, and nothing is answered; add answering"] if unanswered and "judging" in settings else []
    usual = [*DEFAULT_METRICS, *(usual_answer_metrics(judging) if answered else ())]
    named = file.metrics if "metrics" in settings else tuple(map(Metric.parse, usual))
    metrics = tuple(dict.fromkeys([*([file.primary] if file.primary else []), *named]))
    _require_embedder(metrics)
    # A faulty generator is no missing one.
    if whole and not answered:
        faults += [f"metric {metric} is of answers, and nothing is answered; add answering" for metric in metrics if metric.of_answers]
    faults += unjudged(file.judging, metrics, file.primary, judging) if answered else []
    faults += _unpriced(file.limits, configurations, judging)
    faults += _beyond_k(metrics, pipelines) + _beyond_target(metrics, configurations)
    names = [configuration.name for configuration in configurations]
    # A misspelt key can leave out the configuration that the baseline names.
    if file.baseline is not None and names and file.baseline not in names and KEYS.keys() >= settings.keys():
        left_out = ", or exclude leaves it out" if file.exclude else ""
        suggestion = meant(str(file.baseline), names)
        faults.append(f"baseline {file.baseline!r} is not a configuration{left_out}{suggestion}; they are {', '.join(names)}")
    if faults:
        raise ExperimentError(where, list(dict.fromkeys(faults)))
    return ExperimentSpec(
        file.name,
        cast(Source, file.dataset),
        configurations,
        metrics,
        file.primary,
        file.baseline,
        file.spans,
        written(settings),
        file.average,
        file.smallest_difference,
        variants=variants,
        limits=file.limits,
        slices=tuple(dict.fromkeys(map(tuple, file.slices))),
        judging=judging,
        gate=file.gate,
    )


def experiment_of_run(run: RunTables) -> ExperimentSpec:
    """Return the experiment of a finished run, whose configurations have the names that the run gave them.

    Raises InputError if it compared systems that are known only in Python, and ExperimentError if this version cannot read it.
    """
    settings = dict(run.manifest["experiment"])
    if settings["dataset"]["kind"] == "python":
        raise InputError(f"{run.folder} compares systems that are known only in Python", "sweep an experiment file")
    # They name configurations, perhaps as an older version did.
    selecting = {key: settings.pop(key) for key in ("baseline", "exclude") if key in settings}
    experiment = experiment_of(settings, str(run.folder / MANIFEST))
    named = [
        replace(each, name=run.name_of(recorded_settings(each), each.name)) if isinstance(each, PipelineConfiguration) else each
        for each in experiment.configurations
    ]
    kept = tuple(each for each in named if each.targets or each.name in run.configurations_settings)
    arguments = tuple(map(str, run.manifest.get("arguments", ())))
    return replace(experiment, configurations=kept, baseline=run.baseline, settings=settings | selecting, arguments=arguments)


def _repeated_names(configurations: Sequence[Configuration]) -> list[str]:
    """Return the faults of targets with the name of another configuration. Some file systems do not distinguish capitals."""
    seen, faults = set[str](), []
    for configuration in configurations:
        if configuration.targets and configuration.name.casefold() in seen:
            faults.append(f"the name {configuration.name!r} is that of two configurations; give the target another name")
        seen.add(configuration.name.casefold())
    return faults


def _beyond_k(metrics: Iterable[Metric], configurations: Iterable[PipelineConfiguration]) -> list[str]:
    """Return the faults of metrics that read more chunks than the k of a configuration."""
    smallest = min((configuration.retrieval.k for configuration in configurations), default=None)
    return [
        f"metric {metric} looks at more chunks than retrieval.k, which is {smallest}; raise retrieval.k or lower the metric's k"
        for metric in metrics
        if smallest is not None and metric.bounded_by_k and metric.k is not None and metric.k > smallest
    ]


def _beyond_target(metrics: Sequence[Metric], configurations: Sequence[Configuration]) -> list[str]:
    """Return the faults of metrics that read more hits than a target is asked for."""
    return [
        f"metric {metric} reads {metric.k} hits, and the target {target.name} is asked for {target.k}; raise its k"
        for configuration in configurations
        for target in configuration.targets
        for metric in metrics
        if metric.k is not None and not metric.of_answers and metric.k > target.k
    ]


def _require_embedder(metrics: Sequence[Metric]) -> None:
    """Raise ModelError if a metric embeds texts and the packages for that are missing."""
    for metric in metrics:
        if metric.definition.compares == "meaning":
            require_installed(f"metric {metric}", "torch", "sentence_transformers")


def _unpriced(limits: CallLimits, configurations: Sequence[Configuration], judging: Judging | None) -> list[str]:
    """Return the faults of a limit on money for models without prices, which would end the run after others were paid."""
    if limits.usd is None:
        return []
    judges = judging.components if judging else {}
    unpriced = {name: [asker.client() for asker in prompted(judge)] for name, judge in judges.items()}
    missing = list(dict.fromkeys(name for configuration in configurations for name in configuration.unpriced))
    missing += [f"judging.{name}" for name, clients in unpriced.items() if any(each.billed and each.cost(0, 0) is None for each in clients)]
    fix = "add price_input and price_output to {}, for a million tokens each"
    return [f"limits.usd needs the prices of the model; {fix.format(name)}" for name in missing]


# More steps than any setting has.
_DEEPEST = 16


def apply_overrides(settings: Settings, overrides: Sequence[str]) -> list[str]:
    """Change settings in place and return a fault for each override without effect. Raises InputError if one cannot be applied."""
    paths = [_apply(settings, override) for override in overrides]
    return [fault for override, path in zip(overrides, paths, strict=True) if (fault := _shadowed(settings, path, override))]


def _apply(settings: Settings, override: str) -> list[str]:
    dotted, equals, text = override.partition("=")
    path = dotted.strip().split(".")
    if not equals or not all(path) or len(path) > _DEEPEST:
        raise InputError(f"--set {override!r} is not path.to.key=value", "write for example --set dataset.path=data/mine")
    try:
        value = plain_value(text)
    except yaml.YAMLError:
        raise InputError(f"--set {override!r} has a value that is not YAML", "put it in quotes, and close its brackets") from None
    _set(settings, path, value, f"--set {override!r}")
    return path


def _set(settings: Settings, path: Sequence[str], value: Any, owner: str) -> None:
    """Set the value at a path, creating missing mappings. Raises InputError if another value blocks the path."""
    place: Any = settings
    for depth, step in enumerate(path):
        above = ".".join(path[:depth])
        key: Any = step
        if isinstance(place, list):
            if not step.isdecimal() or len(step) > 6 or int(step) >= len(place):
                example = ".".join([*path[:depth], "0", *([] if step.isdecimal() else [step]), *path[depth + 1 :]])
                fix = f"address an item by its number from 0, as in --set {example}=…"
                raise InputError(f"{owner} has {step!r}, but {above} is a list of {plural(len(place), 'item')}", fix)
            key = int(step)
        elif not isinstance(place, dict):
            raise InputError(f"{owner} sets a key of {above}, which is {place!r}", f"set {above} to a mapping, or leave out the last keys")
        if depth == len(path) - 1:
            place[key] = value
        else:
            place = place[key] if isinstance(place, list) else place.setdefault(key, {})


def _shadowed(settings: Settings, path: Sequence[str], override: str) -> str:
    """Return the fault of an override of `pipeline` that no configuration uses, or an empty text if it has an effect."""
    if path[0] != "pipeline":
        return ""
    pipeline = settings["pipeline"]
    stages = path[1:2] or (list(pipeline) if is_mapping(pipeline) else [])
    reasons = [_winner(settings, stage, path[2:]) for stage in stages]
    return f"--set {override} changes nothing: {reasons[0]}" if reasons and all(reasons) else ""


def _winner(settings: Settings, stage: str, below: Sequence[str]) -> str:
    """Return the part that sets a stage's field, or all its fields, in every configuration, or an empty text."""
    swept: Any = settings.get("sweep")
    single: Any = settings.get("configurations")
    parts: list[tuple[str, list[Any], list[str]]] = []
    if swept is not None or single is None:
        axis = swept.get(stage, []) if is_mapping(swept) else []
        items = as_list(axis)
        places = [f"sweep.{stage}.{number}" if below and isinstance(axis, list) else f"sweep.{stage}" for number in range(len(items))]
        parts.append((f"sweep.{stage}", items, places))
    if isinstance(single, list):
        items = [item.get(stage) if is_mapping(item) else None for item in single]
        parts.append(("configurations", items, [f"configurations.{number}.{stage}" for number in range(len(items))]))
    value = settings["pipeline"][stage]
    fields = [*below[:1]] or (list(value) if is_mapping(value) else [])
    reasons = [_replaced(stage, owner, items, places, fields, below) for owner, items, places in parts]
    return reasons[0] if all(reasons) else ""


def _replaced(stage: str, owner: str, items: Sequence[Any], places: Sequence[str], fields: Sequence[str], below: Sequence[str]) -> str:
    """Return why no item of a part of the experiment takes the fields from `pipeline`, or an empty text if one does."""
    if not items or not fields or not all(is_mapping(item) for item in items):
        return ""
    if not all("kind" in item or field in item for item in items for field in fields):
        return ""
    giving = [number for number, item in enumerate(items) if set(fields) & item.keys()]
    why = f"{owner} gives {listed(fields)} for every configuration"
    if not giving:
        why = f"every item of {owner} names its kind and takes nothing from pipeline.{stage}"
    targets = dict.fromkeys(".".join([places[number], *below]) for number in giving or range(len(items)))
    return f"{why}; set {listed([*targets])}"
