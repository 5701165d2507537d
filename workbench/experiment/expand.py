"""Expand `sweep:` into configurations: the product of its axes, where a list in a field is an axis too."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from workbench.answering.registry import GENERATORS
from workbench.chunking.registry import CHUNKERS
from workbench.context.context_packing import ContextPacking
from workbench.embedding.registry import EMBEDDERS
from workbench.experiment.naming import named
from workbench.experiment.validate import Settings, component, is_mapping, unknown, usable
from workbench.llm.defaults import provider_of
from workbench.pipeline.configuration import Configuration
from workbench.reranking.registry import RERANKERS
from workbench.retrieval.registry import RETRIEVERS
from workbench.rewriting.registry import REWRITERS

STAGES: dict[str, Mapping[str, type[BaseModel]]] = {
    "chunking": CHUNKERS,
    "embedding": EMBEDDERS,
    "retrieval": RETRIEVERS,
    "rewrite": REWRITERS,
    "rerank": RERANKERS,
    "context": {"packed": ContextPacking},
    "answering": GENERATORS,
}
# Stages that a configuration can leave out, by `none` or null, and how that is written. Each can also be a key of retrieval.
OPTIONAL = ("rewrite", "rerank")
# Keys of an experiment that ask for answers, also without the stage `answering`.
ANSWERS = ("conditions", "repeats", "limits")
NONE: Settings = {"kind": "none"}
# Each has a notebook and rows in every table. A few short lists multiply to millions.
MOST_CONFIGURATIONS = 10_000
DEFAULTS: dict[str, Settings] = {
    "chunking": {"kind": "fixed", "size": 256},
    "embedding": {"kind": "sentence-transformers"},
    "retrieval": {"kind": "dense"},
    "rewrite": NONE,
    "rerank": NONE,
    "context": {"kind": "packed"},
    "answering": {"kind": "extractive"},
}
_EXAMPLES = {"rewrite": {"kind": "rm3"}, "rerank": {"kind": "late-interaction"}}


def configurations_of(settings: Settings, faults: list[str]) -> tuple[Configuration, ...]:
    """Return every named configuration of an experiment in the order of the file. Faults are added to `faults`."""
    pipeline, sweep = settings.get("pipeline", {}), settings.get("sweep", {})
    for section, value in (("pipeline", pipeline), ("sweep", sweep)):
        if not is_mapping(value):
            faults.append(f"{section} is not a mapping of stages")
            return ()
        faults += [unknown(section, key, tuple(STAGES)) for key in value if key not in STAGES]
    choices = {stage: _axis(stage, pipeline, sweep, faults) for stage in STAGES}
    if not answers(settings):
        choices["answering"] = [NONE]
    chunkings, embeddings = (
        [made for choice in choices[stage] for made in _made(stage, choice, faults)] for stage in ("chunking", "embedding")
    )
    chains, ends = _chains(choices, faults), _ends(choices, faults)
    for stage in OPTIONAL:
        if stage in pipeline | sweep and any(stage in choice for choice in choices["retrieval"]):
            faults.append(f"{stage} is a key of retrieval and a stage of its own; keep one of them")
    number = len(chunkings) * len(embeddings) * len(chains) * len(ends)
    if number > MOST_CONFIGURATIONS:
        faults.append(f"the experiment has {number} configurations; at most {MOST_CONFIGURATIONS} can be compared")
        return ()
    configurations = []
    for chunking, (number, embedding), (retrieval, *optional) in itertools.product(chunkings, enumerate(embeddings), chains):
        configuration = Configuration.of(chunking, embedding, retrieval, **dict(zip(OPTIONAL, optional, strict=True)))
        # Without vectors there is one configuration, no matter how many embedders are swept.
        if configuration.embedding or number == 0:
            configurations += [configuration.answered(context, answering) for context, answering in ends]
    faults += dict.fromkeys(configuration.fault for configuration in configurations if configuration.fault)
    return named(configurations, faults)


def answers(settings: Settings) -> bool:
    """Return whether an experiment asks for answers."""
    stages = [part for section in ("pipeline", "sweep") if is_mapping(part := settings.get(section, {}))]
    return any(key in settings for key in ANSWERS) or any(stage in part for part in stages for stage in ("context", "answering"))


def _ends(choices: Mapping[str, Sequence[Settings]], faults: list[str]) -> list[tuple[Any, Any]]:
    """Return every context with every generator, or a single pair of None without a generator."""
    contexts, generators = (
        [made for choice in choices[stage] for made in _made(stage, choice, faults)] for stage in ("context", "answering")
    )
    pairs = [(context if answering else None, answering) for answering in generators for context in contexts]
    return [pair for place, pair in enumerate(pairs) if pair[1] or pair not in pairs[:place]]


def _chains(choices: Mapping[str, Sequence[Settings]], faults: list[str]) -> list[tuple[Any, ...]]:
    """Return every retriever with each choice of the optional stages, or None for one left out: a key of its settings, else the stage."""
    axes = {stage: [made for choice in choices[stage] for made in _made(stage, choice, faults)] for stage in OPTIONAL}
    chains = []
    for choice in choices["retrieval"]:
        retrievers = _made("retrieval", {key: value for key, value in choice.items() if key not in OPTIONAL}, faults)
        own = {stage: _made(stage, _optional(choice[stage]), faults) for stage in OPTIONAL if stage in choice}
        chains += list(itertools.product(retrievers, *(own.get(stage, axes[stage]) for stage in OPTIONAL)))
    return chains


def _made(stage: str, choice: Any, faults: list[str]) -> list[Any]:
    """Return the component of a choice in a list, [None] if the choice leaves out the stage, or add faults and return an empty list."""
    if choice == NONE and stage in (*OPTIONAL, "answering"):
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


def _usual(stage: str) -> Settings:
    """Return the settings of a stage that an experiment leaves out. The environment can name a provider of answers."""
    return {"kind": "chat"} if stage == "answering" and provider_of({}) else DEFAULTS[stage]


def _axis(stage: str, pipeline: Settings, sweep: Settings, faults: list[str]) -> list[Settings]:
    """Return the settings of each alternative of a stage."""
    usual = _usual(stage)
    default, swept = pipeline.get(stage, usual), sweep.get(stage, pipeline.get(stage, usual))
    if stage in (*OPTIONAL, "answering"):
        default, swept = _optional(default), [_optional(item) for item in as_list(swept)]
    if not is_mapping(default) or not as_list(swept) or not all(is_mapping(item) for item in as_list(swept)):
        faults.append(f"{stage} is not a mapping such as {_EXAMPLES.get(stage, usual)}, nor a list of them")
        return []
    if stage in sweep:
        # A wrong value is an error even if every item of the axis replaces it.
        for choice in _choices(f"pipeline.{stage}", default, {}, faults):
            if choice != NONE or stage not in (*OPTIONAL, "answering"):
                without = {key: value for key, value in choice.items() if stage != "retrieval" or key not in OPTIONAL}
                component(stage, {"kind": usual["kind"]} | without, STAGES[stage], faults, partial=True)
    else:
        lists = [key for key, value in default.items() if isinstance(value, list)]
        faults += [f"pipeline.{stage}.{key} is a list; what varies belongs under sweep" for key in lists]
    choices = _choices(f"sweep.{stage}" if stage in sweep else f"pipeline.{stage}", swept, default, faults)
    return [{"kind": usual["kind"]} | choice for choice in choices]
