"""Expand `sweep:` into configurations: the product of its axes, where a list in a field is an axis too."""

import itertools
import math
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from workbench.chunking.registry import CHUNKERS
from workbench.embedding.registry import EMBEDDERS
from workbench.experiment.naming import named
from workbench.experiment.validate import Settings, component, is_mapping, unknown, usable
from workbench.pipeline.configuration import Configuration
from workbench.retrieval.registry import RETRIEVERS

STAGES: dict[str, Mapping[str, type[BaseModel]]] = {"chunking": CHUNKERS, "embedding": EMBEDDERS, "retrieval": RETRIEVERS}
# Each has a notebook and rows in every table. A few short lists multiply to millions.
MOST_CONFIGURATIONS = 10_000
DEFAULTS: dict[str, Settings] = {
    "chunking": {"kind": "fixed", "size": 256},
    "embedding": {"kind": "sentence-transformers"},
    "retrieval": {"kind": "dense"},
}


def configurations_of(settings: Settings, faults: list[str]) -> tuple[Configuration, ...]:
    """Return every named configuration of an experiment in the order of the file. Faults are added to `faults`."""
    pipeline, sweep = settings.get("pipeline", {}), settings.get("sweep", {})
    for section, value in (("pipeline", pipeline), ("sweep", sweep)):
        if not is_mapping(value):
            faults.append(f"{section} is not a mapping of stages")
            return ()
        faults += [unknown(section, key, tuple(STAGES)) for key in value if key not in STAGES]
    chunkings, embeddings, retrievals = (_axis(stage, pipeline, sweep, faults) for stage in STAGES)
    number = len(chunkings) * len(embeddings) * len(retrievals)
    if number > MOST_CONFIGURATIONS:
        faults.append(f"the experiment has {number} configurations; at most {MOST_CONFIGURATIONS} can be compared")
        return ()
    configurations = []
    for chunking, (number, embedding), retrieval in itertools.product(chunkings, enumerate(embeddings), retrievals):
        # A retriever without vectors makes one configuration, no matter how many embedders are swept.
        if retrieval.uses_vectors or number == 0:
            configurations.append(Configuration.of(chunking, embedding, retrieval))
            if configurations[-1].fault:
                faults.append(configurations[-1].fault)
    return named(configurations, faults)


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


def _axis(stage: str, pipeline: Settings, sweep: Settings, faults: list[str]) -> list[Any]:
    default = pipeline.get(stage, DEFAULTS[stage])
    swept = sweep.get(stage, default)
    if not is_mapping(default) or not as_list(swept) or not all(is_mapping(item) for item in as_list(swept)):
        faults.append(f"{stage} is not a mapping such as {DEFAULTS[stage]}, nor a list of them")
        return []
    usual, table = {"kind": DEFAULTS[stage]["kind"]}, STAGES[stage]
    if stage in sweep:
        # A wrong value is an error even if every item of the axis replaces it.
        for choice in _choices(f"pipeline.{stage}", default, {}, faults):
            component(stage, usual | choice, table, faults, partial=True)
    else:
        lists = [key for key, value in default.items() if isinstance(value, list)]
        faults += [f"pipeline.{stage}.{key} is a list; what varies belongs under sweep" for key in lists]
    choices = _choices(f"sweep.{stage}" if stage in sweep else f"pipeline.{stage}", swept, default, faults)
    made = [component(stage, usual | choice, table, faults) for choice in choices]
    return [component for component in made if component is not None and usable(component, faults)]
