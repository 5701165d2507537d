"""Expand `sweep:` into configurations: the product of its axes, where a list in a field is an axis too."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from workbench.chunking.registry import CHUNKERS
from workbench.embedding.registry import EMBEDDERS
from workbench.experiment.naming import named
from workbench.experiment.validate import Settings, component, is_mapping, unknown, usable
from workbench.pipeline.configuration import Configuration
from workbench.reranking.registry import RERANKERS
from workbench.retrieval.registry import RETRIEVERS

STAGES: dict[str, Mapping[str, type[BaseModel]]] = {
    "chunking": CHUNKERS,
    "embedding": EMBEDDERS,
    "retrieval": RETRIEVERS,
    "rerank": RERANKERS,
}
# Stages that a configuration can leave out, by `none` or null, and how that is written.
OPTIONAL = ("rerank",)
NONE: Settings = {"kind": "none"}
# Each has a notebook and rows in every table. A few short lists multiply to millions.
MOST_CONFIGURATIONS = 10_000
DEFAULTS: dict[str, Settings] = {
    "chunking": {"kind": "fixed", "size": 256},
    "embedding": {"kind": "sentence-transformers"},
    "retrieval": {"kind": "dense"},
    "rerank": NONE,
}
_EXAMPLES = {"rerank": {"kind": "late-interaction"}}


def configurations_of(settings: Settings, faults: list[str]) -> tuple[Configuration, ...]:
    """Return every named configuration of an experiment in the order of the file. Faults are added to `faults`."""
    pipeline, sweep = settings.get("pipeline", {}), settings.get("sweep", {})
    for section, value in (("pipeline", pipeline), ("sweep", sweep)):
        if not is_mapping(value):
            faults.append(f"{section} is not a mapping of stages")
            return ()
        faults += [unknown(section, key, tuple(STAGES)) for key in value if key not in STAGES]
    choices = {stage: _axis(stage, pipeline, sweep, faults) for stage in STAGES}
    chunkings, embeddings = (
        [made for choice in choices[stage] for made in _made(stage, choice, faults)] for stage in ("chunking", "embedding")
    )
    chains = _chains(choices["retrieval"], choices["rerank"], faults)
    if "rerank" in pipeline | sweep and any("rerank" in choice for choice in choices["retrieval"]):
        faults.append("rerank is a key of retrieval and a stage of its own; keep one of them")
    number = len(chunkings) * len(embeddings) * len(chains)
    if number > MOST_CONFIGURATIONS:
        faults.append(f"the experiment has {number} configurations; at most {MOST_CONFIGURATIONS} can be compared")
        return ()
    configurations = []
    for chunking, (number, embedding), (retrieval, rerank) in itertools.product(chunkings, enumerate(embeddings), chains):
        configuration = Configuration.of(chunking, embedding, retrieval, rerank)
        # Without vectors there is one configuration, no matter how many embedders are swept.
        if configuration.embedding or number == 0:
            configurations.append(configuration)
    faults += dict.fromkeys(configuration.fault for configuration in configurations if configuration.fault)
    return named(configurations, faults)


def _chains(retrievals: Sequence[Settings], reranks: Sequence[Settings], faults: list[str]) -> list[tuple[Any, Any]]:
    """Return every retriever with each of its rerankers, or with None: the key `rerank` of its settings, else the stage `rerank`."""
    rerankers = [made for choice in reranks for made in _made("rerank", choice, faults)]
    chains = []
    for choice in retrievals:
        own = [_optional(choice["rerank"])] if "rerank" in choice else None
        retrievers = _made("retrieval", {key: value for key, value in choice.items() if key != "rerank"}, faults)
        following = rerankers if own is None else [made for settings in own for made in _made("rerank", settings, faults)]
        chains += list(itertools.product(retrievers, following))
    return chains


def _made(stage: str, choice: Any, faults: list[str]) -> list[Any]:
    """Return the component of a choice in a list, [None] if the choice leaves out the stage, or add faults and return an empty list."""
    if choice == NONE and stage in OPTIONAL:
        return [None]
    made = component(stage, choice, STAGES[stage], faults)
    return [made] if made is not None and usable(stage, made, faults) else []


def _optional(value: Any) -> Any:
    """Return the settings of an optional stage. It is left out by `none` or null."""
    return NONE if value in (None, "none") else value


def as_list(swept: Any) -> list[Any]:
    """Return the alternatives of an axis. A single one may be written without a list."""
    return swept if isinstance(swept, list) else [swept]


def alternatives(swept: Any, default: Settings) -> list[Settings]:
    """Return the settings of each alternative of a stage in order. Lists in fields expand; a mapping without `kind` updates the default."""
    choices = []
    for item in as_list(swept):
        settings = dict(item) if "kind" in item else default | item
        fields = [[(key, value) for value in as_list(values)] for key, values in settings.items()]
        choices += [dict(choice) for choice in itertools.product(*fields)]
    return choices


def _choices(place: str, swept: Any, default: Settings, faults: list[str]) -> list[Settings]:
    """Return the alternatives of a stage, or add a fault and return none if a list is empty or their number is too large."""
    number = 0
    for item in as_list(swept):
        settings = item if "kind" in item else default | item
        empty = [key for key, value in settings.items() if value == []]
        faults += [f"{place} has the empty list {key}; give it a value, or leave it out for the default" for key in empty]
        number += math.prod(len(as_list(value)) for value in settings.values())
    if number > MOST_CONFIGURATIONS:
        faults.append(f"{place} has {number} alternatives; at most {MOST_CONFIGURATIONS} can be compared")
    return alternatives(swept, default) if number <= MOST_CONFIGURATIONS else []


def _axis(stage: str, pipeline: Settings, sweep: Settings, faults: list[str]) -> list[Settings]:
    """Return the settings of each alternative of a stage."""
    usual = DEFAULTS[stage]
    default, swept = pipeline.get(stage, usual), sweep.get(stage, pipeline.get(stage, usual))
    if stage in OPTIONAL:
        default, swept = _optional(default), [_optional(item) for item in as_list(swept)]
    if not is_mapping(default) or not as_list(swept) or not all(is_mapping(item) for item in as_list(swept)):
        faults.append(f"{stage} is not a mapping such as {_EXAMPLES.get(stage, usual)}, nor a list of them")
        return []
    if stage in sweep:
        # A wrong value is an error even if every item of the axis replaces it.
        for choice in _choices(f"pipeline.{stage}", default, {}, faults):
            if choice != NONE:
                without = {key: value for key, value in choice.items() if (stage, key) != ("retrieval", "rerank")}
                component(stage, {"kind": usual["kind"]} | without, STAGES[stage], faults, partial=True)
    else:
        lists = [key for key, value in default.items() if isinstance(value, list)]
        faults += [f"pipeline.{stage}.{key} is a list; what varies belongs under sweep" for key in lists]
    choices = _choices(f"sweep.{stage}" if stage in sweep else f"pipeline.{stage}", swept, default, faults)
    return [{"kind": usual["kind"]} | choice for choice in choices]
