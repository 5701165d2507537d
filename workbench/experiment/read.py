"""Read an experiment from YAML and validate every configuration before anything runs, with all faults in one report."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import yaml

from workbench.core.formatting import meant
from workbench.datasets.sources import SOURCES, Source
from workbench.errors import ExperimentError, InputError
from workbench.experiment.expand import configurations_of
from workbench.experiment.overrides import apply_overrides
from workbench.experiment.validate import Settings, beyond_k, component, is_mapping, metrics_of, unknown
from workbench.metrics.names import Metric
from workbench.pipeline.configuration import Configuration
from workbench.statistics.screening import Screening

DEFAULT_METRICS = ("span_recall@2000t", "span_precision@2000t", "recall@5", "precision@5", "mrr@10", "ndcg@10")
KEYS = {
    "name": "the name of the experiment and of its folder under the outputs: lower-case letters, digits, `.`, `_` and `-`; required",
    "dataset": "documents, questions and labels; required",
    "pipeline": "the settings of each stage unless `sweep` varies them: `chunking`, `embedding`, `retrieval`",
    "sweep": "the alternatives of each stage; the alternatives of several stages, and lists in fields, multiply",
    "metrics": "the metrics to compute",
    "primary": "the metric that decides; by default the first of `metrics`, or `ndcg@10` for a span metric without evidence",
    "baseline": "the configuration that the others are tested against; by default all pairs are tested",
    "spans": "the definition of span metrics: `exact`, or `chroma` for that of the Chroma report",
}
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_LARGEST = 200_000


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
    screening: Screening | None = None


def read_experiment(path: Path, overrides: Sequence[str] = ()) -> ExperimentSpec:
    """Read an experiment file with `path.to.key=value` overrides. Raises ExperimentError with every fault."""
    settings = _read_yaml(path)
    faults = apply_overrides(settings, overrides)
    return experiment_of(settings, str(path), faults)


def experiment_of(settings: Settings, where: str, known: Sequence[str] = ()) -> ExperimentSpec:
    """Make an experiment from its settings. The report of faults names `where` and begins with the `known` faults."""
    faults = [*known, *(unknown("the experiment", key, tuple(KEYS)) for key in settings if key not in KEYS)]
    name = settings.get("name")
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        faults.append(f"name is {name!r}, not lower-case letters, digits, '.', '_' or '-'")
    spans = settings.get("spans", "exact")
    if spans not in ("exact", "chroma"):
        faults.append(f"spans is {spans!r}, not 'exact' or 'chroma'")
    dataset = component("dataset", settings.get("dataset"), SOURCES, faults)
    metrics, primary = metrics_of(settings, DEFAULT_METRICS, faults)
    configurations = configurations_of(settings, faults)
    faults += beyond_k(metrics, configurations)
    baseline = settings.get("baseline")
    names = [configuration.name for configuration in configurations]
    if baseline is not None and names and baseline not in names:
        faults.append(f"baseline {baseline!r} is not a configuration{meant(str(baseline), names)}; they are {', '.join(names)}")
    if faults:
        raise ExperimentError(where, list(dict.fromkeys(faults)))
    return ExperimentSpec(str(name), cast(Source, dataset), configurations, metrics, primary, baseline, spans, settings)


class _UniqueKeyLoader(yaml.SafeLoader):
    """A safe loader that rejects repeated keys in a mapping, where YAML would keep only the last value."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in names:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} is repeated", problem_mark=key.start_mark)
            names.add(str(key.value))
        return super().construct_mapping(node, deep)


def _read_yaml(path: Path) -> Settings:
    if not path.is_file():
        raise InputError(f"the experiment file {path} does not exist", "give the path of a YAML file, such as experiments/quickstart.yaml")
    if path.stat().st_size > _LARGEST:
        raise InputError(f"{path} has {path.stat().st_size} bytes", f"an experiment file has at most {_LARGEST}")
    try:
        text = path.read_text("utf-8")
        # Aliases can expand a few lines into gigabytes, and no experiment needs them.
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
            raise InputError(f"{path} uses YAML aliases (*name)", "write the values out")
        settings = yaml.load(text, _UniqueKeyLoader)  # a SafeLoader
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 (byte {error.start})", "save the file as UTF-8") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise InputError(f"{path}{line} is not YAML ({getattr(error, 'problem', None) or error})") from None
    if not is_mapping(settings):
        raise InputError(f"{path} is not a mapping of keys to values", f"it starts with name: and has the keys {', '.join(KEYS)}")
    return dict(settings)
