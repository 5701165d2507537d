"""Read an experiment from YAML and validate every configuration before anything runs, with all faults in one report."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, cast

from workbench.core.formatting import meant, name_fault, nearest_word
from workbench.datasets.sources import SOURCES, Source
from workbench.errors import ExperimentError
from workbench.experiment.answer_keys import crossed_in, limits_in, variants_in
from workbench.experiment.expand import configurations_of
from workbench.experiment.gate_keys import gate_in
from workbench.experiment.judging_keys import judging_in, unjudged, usual_answer_metrics
from workbench.experiment.overrides import apply_overrides
from workbench.experiment.target_keys import beyond_target, name_faults, only_targets, targets_in
from workbench.experiment.validate import Settings, beyond_k, component, metrics_of, unknown, unusable
from workbench.experiment.yaml_file import read_yaml
from workbench.gate.rules import GateSettings
from workbench.judging.settings import Judging, prompted
from workbench.llm.session import CallLimits
from workbench.metrics.names import Metric
from workbench.pipeline.configuration import Configuration
from workbench.records import Variant
from workbench.statistics.power import SMALLEST_DIFFERENCE
from workbench.statistics.screening import Screening

DEFAULT_METRICS = ("span_recall@2000t", "span_precision@2000t", "recall@5", "precision@5", "mrr@10", "ndcg@10")
KEYS = {
    "name": "the name of the experiment and of its folder under the outputs: lower-case letters, digits, `.`, `_` and `-`; required",
    "dataset": "documents, questions and labels; required",
    "pipeline": "the settings of each stage unless `sweep` varies them: `chunking`, `embedding`, `retrieval`, `rewrite`, `rerank`, `context`, "
    "`answering`",
    "targets": "systems under test: functions, HTTP services, MCP servers and recorded results, each a configuration; without `pipeline`, `sweep` and "
    "`configurations` there is no other",
    "sweep": "the alternatives of each stage; the alternatives of several stages, and lists in fields, multiply",
    "configurations": "single configurations beside those of `sweep`: a list of mappings of stages, each with an optional `name`; a stage that is "
    "left out is that of `pipeline`",
    "exclude": "names of configurations of `sweep` and `configurations` that are left out; `*`, `?` and `[…]` in a name match as in a shell",
    "conditions": "the contexts in which questions are answered: `none`, `gold`, `gold_distractors`, `retrieved`, `missing_gold`, `irrelevant_only`, "
    "`counterfactual`, `injection`; `[retrieved]` by default",
    "repeats": "how often each question is asked in each condition; 1 by default",
    "limits": "the most `calls`, `tokens` and `usd` that a sweep spends on models; answers beyond them are missing until the next sweep",
    "judging": "the judges of answers and contexts, the same for all configurations: `claims` splits answers into claims, `support` verifies claims, "
    "`relevance` judges passages and answers, `correctness` compares with the expected answer, `rubric` judges answers as a whole; "
    "`conditions` restricts them to some of the run; `thresholds` are those of `end_to_end`; `none` for no judges. By default `sentences` splits "
    "and `overlap` judges, without a model",
    "metrics": "the metrics to compute",
    "primary": "the metric that decides; by default the first of `metrics`, or `ndcg@10` for a span metric without evidence",
    "baseline": "the configuration that the others are tested against; by default all pairs are tested",
    "average": "what counts equally in every mean: `questions`, or `documents`, each with the mean of its questions",
    "smallest_difference": "the smallest difference of the primary metric that matters, above 0; the report says how many questions would show it; "
    "0.02 by default",
    "slices": "crossed slices, each a list of fields of the questions, such as `[type, domain]`",
    "gate": "the rules that `workbench gate` and the pytest plugin check: limits, baselines, retrieval tests",
    "spans": "the definition of span metrics: `exact`, or `chroma` for that of the Chroma report",
}
_LONGEST_NAME = 64
# Files of an outputs folder, beside the folders of experiments.
_HISTORY = r"history(_scores)?\..*"
_PLAIN_NAME = rf"[a-z0-9][a-z0-9._-]{{0,{_LONGEST_NAME - 1}}}"
NAME_PATTERN = f"^(?!{_HISTORY}){_PLAIN_NAME}$"
SPANS, AVERAGES = ("exact", "chroma"), ("questions", "documents")


@dataclass(frozen=True)
class ExperimentSpec:
    """Configurations to compare, their dataset and metrics. `primary` defaults by the data; `screening` has configurations set aside."""

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
    return replace(experiment_of(settings, str(path), faults), allow_code=allow_code)


def experiment_of(
    settings: Settings, where: str, known: Sequence[str] = (), source: Source | None = None, systems: Sequence[Configuration] = ()
) -> ExperimentSpec:
    """Make an experiment from its settings. The report of faults names `where` and begins with the `known` faults.

    A `source` and the configurations of `systems` that exist only in Python take the place of those that the settings describe.
    """
    if unusable_values := list(unusable(settings)):
        raise ExperimentError(where, unusable_values)
    strange = [key for key in settings if key not in KEYS]
    faults = [*known, *(unknown("the experiment", key, tuple(KEYS)) for key in strange)]
    misspelt = {nearest_word(key, KEYS) for key in strange}
    name = settings.get("name")
    if name is not None or "name" not in misspelt:
        faults += filter(None, [_name_fault(name)])
    spans, average, smallest = _choices(settings, faults)
    dataset = source or (None if "dataset" in misspelt - set(settings) else component("dataset", settings.get("dataset"), SOURCES, faults))
    before = len(faults)
    own = () if systems or only_targets(settings) else configurations_of(settings, faults)
    configurations = (*own, *(systems or targets_in(settings, faults)))
    faults += name_faults(configurations)
    whole = len(faults) == before
    answered = any(configuration.answering for configuration in configurations)
    variants = variants_in(settings, faults)
    judging = judging_in(settings, variants, answered or not whole, faults)
    usual = [*DEFAULT_METRICS, *(usual_answer_metrics(judging) if answered else ())]
    metrics, primary = metrics_of(settings, usual, faults)
    # A faulty generator is no missing one.
    if whole and not answered:
        faults += [f"metric {metric} is of answers, and nothing is answered; add answering" for metric in metrics if metric.of_answers]
    faults += unjudged(settings, metrics, primary, judging) if answered else []
    faults += _unpriced(settings, configurations, judging)
    limits, crossed = limits_in(settings, faults), crossed_in(settings, faults)
    faults += beyond_k(metrics, own) + beyond_target(metrics, configurations)
    gate = gate_in(settings, faults)
    baseline = settings.get("baseline")
    names = [configuration.name for configuration in configurations]
    # A misspelt key can leave out the configuration that the baseline names.
    if baseline is not None and names and baseline not in names and not strange:
        left_out = ", or exclude leaves it out" if settings.get("exclude") else ""
        faults.append(f"baseline {baseline!r} is not a configuration{left_out}{meant(str(baseline), names)}; they are {', '.join(names)}")
    if faults:
        raise ExperimentError(where, list(dict.fromkeys(faults)))
    return ExperimentSpec(
        str(name),
        cast(Source, dataset),
        configurations,
        metrics,
        primary,
        baseline,
        spans,
        settings,
        average,
        smallest,
        variants=variants,
        limits=limits,
        slices=crossed,
        judging=judging,
        gate=gate,
    )


def _choices(settings: Settings, faults: list[str]) -> tuple[Literal["exact", "chroma"], Literal["questions", "documents"], float]:
    """Return the values of `spans`, `average` and `smallest_difference`, and add their faults."""
    spans = settings.get("spans", "exact")
    if spans not in SPANS:
        faults.append(f"spans is {spans!r}, not 'exact' or 'chroma'{meant(str(spans), SPANS)}")
    average = settings.get("average", "questions")
    if average not in AVERAGES:
        faults.append(f"average is {average!r}, not 'questions' or 'documents'{meant(str(average), AVERAGES)}")
    smallest = settings.get("smallest_difference", SMALLEST_DIFFERENCE)
    if isinstance(smallest, bool) or not isinstance(smallest, int | float) or smallest <= 0:
        faults.append(f"smallest_difference is {smallest!r}, not a number above 0; write for example 0.02")
        smallest = SMALLEST_DIFFERENCE
    return spans, average, float(smallest)


def _unpriced(settings: Settings, configurations: Sequence[Configuration], judging: Judging | None) -> list[str]:
    """Return the faults of a limit on money for models without prices, which would end the run after others were paid."""
    limits = settings.get("limits")
    if not (isinstance(limits, dict) and limits.get("usd")):
        return []
    judges = judging.components if judging else {}
    unpriced = {name: [asker.client() for asker in prompted(judge)] for name, judge in judges.items()}
    missing = list(dict.fromkeys(name for configuration in configurations for name in configuration.unpriced))
    missing += [f"judging.{name}" for name, clients in unpriced.items() if any(each.billed and each.cost(0, 0) is None for each in clients)]
    fix = "add price_input and price_output to {}, for a million tokens each"
    return [f"limits.usd needs the prices of the model; {fix.format(name)}" for name in missing]


def _name_fault(name: object) -> str:
    """Return the fault of an experiment's name, with a valid name as a suggestion, or an empty text."""
    if name is None:
        return "name is missing; write for example name: my-experiment"
    if not (isinstance(name, str) and re.fullmatch(_PLAIN_NAME, name)):
        return f"name is {name!r:.100}, {name_fault(name, _LONGEST_NAME)}"
    if re.fullmatch(_HISTORY, name):
        return f"name is {name!r}, but the outputs have files of such names for the history; write for example {name.replace('.', '-')!r}"
    return ""
