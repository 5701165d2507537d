"""An experiment: a YAML file read, every configuration validated, all faults in one report, before anything runs."""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import yaml
from pydantic import BaseModel

from workbench.chunking.base import Chunker
from workbench.chunking.registry import CHUNKERS
from workbench.datasets.sources import SOURCES, Source
from workbench.embedding.base import Embedder
from workbench.embedding.registry import EMBEDDERS, chunk_encoder
from workbench.errors import ExperimentError, InputError
from workbench.experiment.expand import Settings, alternatives, is_mapping, set_value
from workbench.experiment.validate import component, meant, unknown, usable
from workbench.metrics.names import Metric
from workbench.pipeline.configuration import Configuration
from workbench.retrieval.base import Retriever
from workbench.retrieval.registry import RETRIEVERS
from workbench.statistics.screening import Screening

STAGES: dict[str, Mapping[str, type[BaseModel]]] = {"chunking": CHUNKERS, "embedding": EMBEDDERS, "retrieval": RETRIEVERS}
DEFAULTS: dict[str, Settings] = {
    "chunking": {"kind": "fixed", "size": 256},
    "embedding": {"kind": "sentence-transformers"},
    "retrieval": {"kind": "dense"},
}
DEFAULT_METRICS = ("span_recall@2000t", "span_precision@2000t", "recall@5", "precision@5", "mrr@10", "ndcg@10")
_KEYS = ("name", "dataset", "pipeline", "sweep", "metrics", "primary", "baseline", "spans")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_LARGEST = 200_000
# What a name says only where it is otherwise.
_USUAL = (("kind", "dense"), ("kind", "sentence-transformers"), ("search", "exact"), ("backend", "auto"), ("pooling", "standard"))


@dataclass(frozen=True)
class Experiment:
    """What is compared, on which data, by which metrics; `primary` None leaves the choice to the data.

    `screening`: by what other configurations, which the file has too, were put aside.
    """

    name: str
    dataset: Source
    configurations: tuple[Configuration, ...]
    metrics: tuple[Metric, ...]
    primary: Metric | None
    baseline: str | None
    spans: Literal["exact", "chroma"]
    settings: Settings
    screening: Screening | None = None


def read_experiment(path: Path, overrides: Sequence[str] = ()) -> Experiment:
    """An experiment file with `path.to.key=value` overrides; ExperimentError with every fault it has."""
    settings = _read_yaml(path)
    for override in overrides:
        _override(settings, override)
    return experiment_of(settings, str(path))


def experiment_of(settings: Settings, where: str) -> Experiment:
    """An experiment from its settings; `where` names them in the report of faults."""
    faults = [unknown("the experiment", key, _KEYS) for key in settings if key not in _KEYS]
    name = settings.get("name")
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        faults.append(f"name is {name!r}, not lower-case letters, digits, '.', '_' or '-'")
    spans = settings.get("spans", "exact")
    if spans not in ("exact", "chroma"):
        faults.append(f"spans is {spans!r}, not 'exact' or 'chroma'")
    dataset = component("dataset", settings.get("dataset"), SOURCES, faults)
    metrics, primary = _metrics(settings, faults)
    configurations = _configurations(settings, faults)
    faults += _beyond_k(metrics, configurations)
    baseline = settings.get("baseline")
    names = [configuration.name for configuration in configurations]
    if baseline is not None and names and baseline not in names:
        faults.append(f"baseline {baseline!r} is no configuration{meant(str(baseline), names)}; they are {', '.join(names)}")
    if faults:
        raise ExperimentError(where, list(dict.fromkeys(faults)))
    return Experiment(str(name), cast(Source, dataset), configurations, metrics, primary, baseline, spans, settings)


def _read_yaml(path: Path) -> Settings:
    if not path.is_file():
        raise InputError(f"the experiment file {path} does not exist", "give the path of a YAML file, such as experiments/quickstart.yaml")
    if path.stat().st_size > _LARGEST:
        raise InputError(f"{path} has {path.stat().st_size} bytes", f"an experiment file has at most {_LARGEST}")
    try:
        text = path.read_text("utf-8")
        # Aliases can unfold a few lines into gigabytes, and no experiment needs them.
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
            raise InputError(f"{path} uses YAML aliases (*name)", "write the values out")
        settings = yaml.safe_load(text)
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 (byte {error.start})", "save the file as UTF-8") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise InputError(f"{path}{line} is not YAML ({getattr(error, 'problem', None) or error})") from None
    if not is_mapping(settings):
        raise InputError(f"{path} is not a mapping of keys to values", f"it starts with name: and has the keys {', '.join(_KEYS)}")
    return dict(settings)


def _override(settings: Settings, override: str) -> None:
    dotted, equals, value = override.partition("=")
    try:
        if not equals:
            raise ValueError(override)
        set_value(settings, dotted.strip(), yaml.safe_load(value))
    except (ValueError, yaml.YAMLError):
        raise InputError(f"--set {override!r} is not path.to.key=value", "write for example --set dataset.path=data/mine") from None


def _metrics(settings: Settings, faults: list[str]) -> tuple[tuple[Metric, ...], Metric | None]:
    listed = settings.get("metrics", list(DEFAULT_METRICS))
    if not isinstance(listed, list) or not listed:
        faults.append("metrics is not a list of names such as recall@5")
        listed = []
    parsed = [_metric(name, faults) for name in listed]
    primary = _metric(settings["primary"], faults) if "primary" in settings else None
    metrics = dict.fromkeys(metric for metric in (primary, *parsed) if metric is not None)
    return tuple(metrics), primary


def _metric(name: Any, faults: list[str]) -> Metric | None:
    try:
        return Metric.parse(str(name))
    except InputError as error:
        faults.append(str(error))
        return None


def _beyond_k(metrics: Iterable[Metric], configurations: Iterable[Configuration]) -> list[str]:
    smallest = min((configuration.retrieval.k for configuration in configurations), default=None)
    return [
        f"metric {metric} looks at more chunks than the {smallest} that retrieval.k delivers; raise retrieval.k or lower the metric's k"
        for metric in metrics
        if smallest is not None and metric.bounded_by_k and metric.k is not None and metric.k > smallest
    ]


def _configurations(settings: Settings, faults: list[str]) -> tuple[Configuration, ...]:
    pipeline, sweep = settings.get("pipeline", {}), settings.get("sweep", {})
    for section, value in (("pipeline", pipeline), ("sweep", sweep)):
        if not is_mapping(value):
            faults.append(f"{section} is not a mapping of stages")
            return ()
        faults += [unknown(section, key, tuple(STAGES)) for key in value if key not in STAGES]
    chunkings, embeddings, retrievals = (_axis(stage, pipeline, sweep, faults) for stage in STAGES)
    choices = itertools.product(chunkings, enumerate(embeddings), retrievals)
    # What uses no vectors is there once, whatever embedders are swept.
    found = [_joined(chunking, embedding, retrieval) for chunking, (n, embedding), retrieval in choices if retrieval.uses_vectors or n == 0]
    faults += [why for one in found if one.embedding and one.chunking.enrich and (why := chunk_encoder(one.embedding).refuses_headers())]
    return _named(found, faults)


def _axis(stage: str, pipeline: Settings, sweep: Settings, faults: list[str]) -> list[Any]:
    default = pipeline.get(stage, DEFAULTS[stage])
    swept = sweep.get(stage, default)
    items = swept if isinstance(swept, list) else [swept]
    if not is_mapping(default) or not items or not all(is_mapping(item) for item in items):
        faults.append(f"{stage} is not a mapping such as {DEFAULTS[stage]}, nor a list of them")
        return []
    if stage not in sweep:
        faults += [
            f"pipeline.{stage}.{key} is a list; what varies belongs under sweep"
            for key, value in default.items()
            if isinstance(value, list)
        ]
    usual = {"kind": DEFAULTS[stage]["kind"]}
    made = [component(stage, usual | choice, STAGES[stage], faults) for choice in alternatives(swept, default)]
    return [one for one in made if one is not None and usable(one, faults)]


def _joined(chunking: Chunker, embedding: Embedder, retrieval: Retriever) -> Configuration:
    # `tokens: model` counts in the vocabulary of the model that embeds.
    counted = chunking.model_copy(update={"model": embedding.vocabulary})
    return Configuration(chunking.name, counted, embedding if retrieval.uses_vectors else None, retrieval)


def _named(found: Sequence[Configuration], faults: list[str]) -> tuple[Configuration, ...]:
    """Names: kind and sizes, then whatever else differs between the configurations."""
    fields = [_naming_fields(configuration) for configuration in found]
    varying = [key for key in dict.fromkeys(itertools.chain(*fields)) if len({other[key] for other in fields if key in other}) > 1]
    named = []
    for configuration, values in zip(found, fields, strict=True):
        parts = [configuration.name, *(values[key] for key in varying if values.get(key))]
        named.append(Configuration("-".join(parts), configuration.chunking, configuration.embedding, configuration.retrieval))
    for name, times in Counter(configuration.name for configuration in named).items():
        if times > 1:
            faults.append(f"configuration {name!r} is there {times} times; leave the repetitions out")
    return tuple(named)


def _naming_fields(configuration: Configuration) -> dict[str, str]:
    """What may be added to a name, as text; empty text adds nothing."""
    chunking = configuration.chunking
    found = {"enrich": "enriched" if chunking.enrich else "", "tokens": "" if chunking.tokens == "model" else chunking.tokens}
    for stage, part in (("embedding", configuration.embedding), ("retrieval", configuration.retrieval)):
        for field, value in part.model_dump().items() if part else ():
            found[f"{stage}.{field}"] = _naming_text(field, value)
    return found


def _naming_text(field: str, value: Any) -> str:
    if value is None or (field, value) in _USUAL:
        return ""
    text = re.sub(r"[^a-z0-9.]+", "_", str(value).rsplit("/", 1)[-1].lower()).strip("_")
    return text if field in ("kind", "model", "search", "backend", "pooling") else f"{field}{text}"
