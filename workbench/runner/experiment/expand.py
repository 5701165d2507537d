"""Expand `sweep:` into configurations, the product of its axes, where a list in a field is an axis too. Add those of `configurations:`."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from workbench.components.context.context_packing import ContextPacking
from workbench.components.embedding.registry import EMBEDDERS
from workbench.components.registry import CHUNKERS, GENERATORS, RERANKERS, RETRIEVERS, REWRITERS
from workbench.core.component import Component, is_mapping
from workbench.core.fingerprint import fingerprint
from workbench.core.text.formatting import listed, meant, name_fault
from workbench.llm.registry import provider_of
from workbench.runner.experiment.components import component, unknown, usable
from workbench.runner.experiment.names import OMITTED, name_of
from workbench.runner.experiment.yaml_file import Settings
from workbench.runner.pipeline.configuration import PipelineConfiguration
from workbench.systems.base import LONGEST_NAME, TargetName

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
_ITEM = "{chunking: {kind: fixed, size: 512}}"
_EXAMPLES = {"rewrite": {"kind": "rm3"}, "rerank": {"kind": "late-interaction"}}


def configurations_of(settings: Settings, faults: list[str]) -> tuple[PipelineConfiguration, ...]:
    """Return every named configuration of an experiment in the order of the file. Faults are added to `faults`."""
    settings = settings | {key: _by_kind(settings[key]) for key in ("pipeline", "sweep", "configurations") if key in settings}
    pipeline, sweep = settings.get("pipeline", {}), settings.get("sweep", {})
    for section, value in (("pipeline", pipeline), ("sweep", sweep)):
        if not is_mapping(value):
            faults.append(f"{section} is not a mapping of stages")
            return ()
        faults += [unknown(section, key, tuple(STAGES)) for key in value if key not in STAGES]
    before = len(faults)
    answered = answers(settings)
    configurations, names = _listed(settings, answered, faults) if "configurations" in settings else ([], [])
    if "sweep" in settings or "configurations" not in settings:
        product = _product(pipeline, sweep, answered, "pipeline", faults)
        configurations, names = [*product, *configurations], [*([""] * len(product)), *names]
    faults += dict.fromkeys(configuration.fault for configuration in configurations if configuration.fault)
    made = named(configurations, faults, names, answered)
    return _without_excluded(settings, made, faults) if "exclude" in settings and len(faults) == before else made


def _by_kind(value: Any) -> Any:
    """Return settings in which a component that was made in Python is `{kind: component}`, so that it stands where a mapping can."""
    if isinstance(value, Component):
        return {"kind": value}
    if is_mapping(value):
        return {key: part if key == "kind" else _by_kind(part) for key, part in value.items()}
    return [_by_kind(part) for part in value] if isinstance(value, list) else value


def _product(pipeline: Settings, sweep: Settings, answered: bool, place: str, faults: list[str]) -> list[PipelineConfiguration]:
    """Return the product of the alternatives of all stages. `place` is the key of the settings that `sweep` does not give."""
    choices = {stage: _axis(stage, pipeline, sweep, place, faults) for stage in STAGES}
    if not answered:
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
        return []
    configurations = []
    for chunking, (number, embedding), (retrieval, *optional) in itertools.product(chunkings, enumerate(embeddings), chains):
        configuration = PipelineConfiguration.of(chunking, embedding, retrieval, **dict(zip(OPTIONAL, optional, strict=True)))
        # Without vectors there is one configuration, no matter how many embedders are swept.
        if configuration.embedding or number == 0:
            configurations += [configuration.answered(context, answering) for context, answering in ends]
    return configurations


def _listed(settings: Settings, answered: bool, faults: list[str]) -> tuple[list[PipelineConfiguration], list[str]]:
    """Return the configuration of each item of `configurations` with its own name, or an empty text."""
    pipeline, items = settings.get("pipeline", {}), settings["configurations"]
    if not isinstance(items, list) or not items or len(items) > MOST_CONFIGURATIONS:
        what = f"is a list of {len(items)} items" if isinstance(items, list) else f"is {items!r}"
        faults.append(
            f"configurations {what:.100}, not a list of 1 to {MOST_CONFIGURATIONS} items; write for example configurations: [{_ITEM}]"
        )
        return [], []
    # The pipeline's own faults are those of all items that leave a stage to it.
    general: list[str] = []
    _product(pipeline, {}, answered, "pipeline", general)
    for stage in STAGES:
        if stage in pipeline and all(is_mapping(item) and stage in item for item in items):
            _check_default(stage, pipeline[stage], faults)
    configurations, names = [], []
    for number, item in enumerate(items):
        own: list[str] = []
        place = f"configurations.{number}"
        if is_mapping(item):
            own += [unknown(place, key, ("name", *STAGES)) for key in item if key not in ("name", *STAGES)]
            own += [f"{place}.{stage} is a list; what varies belongs under sweep" for stage in STAGES if isinstance(item.get(stage), list)]
            name = _own_name(item, own)
            stages = {stage: _over_default(stage, item[stage], pipeline) for stage in STAGES if stage in item}
            # A consequence of a fault is not reported too.
            if made := [] if own else _product(pipeline | stages, {}, answered, place, own):
                configurations += [] if own else made
                names += [] if own else [name]
        else:
            own.append(f"{place} is {item!r:.100}, not a mapping of stages; write for example {_ITEM}")
        faults += [fault if fault in general or fault.startswith(place) else f"{place}: {fault}" for fault in own]
    return configurations, names


def _over_default(stage: str, value: Any, pipeline: Settings) -> Any:
    """Return the settings of a stage in an item of `configurations`. Without `kind`, they change those of the pipeline."""
    default = pipeline.get(stage, _usual(stage))
    return default | value if is_mapping(value) and is_mapping(default) and "kind" not in value else value


def _own_name(item: Settings, faults: list[str]) -> str:
    """Return the name that an item gives its configuration, or an empty text. It is valid as the name of a target."""
    if "name" not in item:
        return ""
    try:
        return TypeAdapter[str](TargetName).validate_python(item["name"])
    except ValidationError:
        faults.append(f"name is {item['name']!r:.100}, {name_fault(item['name'], LONGEST_NAME)}")
        return ""


def _without_excluded(
    settings: Settings, configurations: tuple[PipelineConfiguration, ...], faults: list[str]
) -> tuple[PipelineConfiguration, ...]:
    """Return the configurations whose names match no pattern of `exclude`. A pattern that matches none is a fault."""
    patterns, names = settings["exclude"], [configuration.name for configuration in configurations]
    if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
        faults.append(f"exclude is {patterns!r:.100}, not a list of names; write for example exclude: ['*-bm25']")
        return configurations
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            faults.append(f"exclude {pattern!r} is the name of no configuration{meant(pattern, names)}; they are {', '.join(names)}")
    left = tuple(each for each in configurations if not any(fnmatchcase(each.name, pattern) for pattern in patterns))
    if not left:
        faults.append(f"exclude leaves none of the {len(names)} configurations; remove a pattern")
    return left


def answers(settings: Settings) -> bool:
    """Return True if an experiment asks for answers."""
    listed = settings.get("configurations")
    parts = [settings.get("pipeline"), settings.get("sweep"), *(listed if isinstance(listed, list) else [])]
    stages = [part for part in parts if is_mapping(part)]
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


def _axis(stage: str, pipeline: Settings, sweep: Settings, place: str, faults: list[str]) -> list[Settings]:
    """Return the settings of each alternative of a stage. `place` is the key of those that `sweep` does not give."""
    usual = _usual(stage)
    default, swept = pipeline.get(stage, usual), sweep.get(stage, pipeline.get(stage, usual))
    if stage in (*OPTIONAL, "answering"):
        default, swept = _optional(default), [_optional(item) for item in as_list(swept)]
    if not is_mapping(default) or not as_list(swept) or not all(is_mapping(item) for item in as_list(swept)):
        faults.append(f"{stage} is not a mapping such as {_EXAMPLES.get(stage, usual)}, nor a list of them")
        return []
    if stage in sweep:
        _check_default(stage, default, faults)
    else:
        lists = [key for key, value in default.items() if isinstance(value, list)]
        faults += [f"{place}.{stage}.{key} is a list; what varies belongs under sweep" for key in lists]
    choices = _choices(f"sweep.{stage}" if stage in sweep else f"{place}.{stage}", swept, default, faults)
    return [{"kind": usual["kind"]} | choice for choice in choices]


def _check_default(stage: str, default: Any, faults: list[str]) -> None:
    """Add the faults of a stage's default. A wrong value is an error even if all alternatives replace it."""
    default = _optional(default) if stage in (*OPTIONAL, "answering") else default
    if not is_mapping(default):
        faults.append(f"pipeline.{stage} is not a mapping such as {_EXAMPLES.get(stage, _usual(stage))}")
        return
    for choice in _choices(f"pipeline.{stage}", default, {}, faults):
        if choice != NONE or stage not in (*OPTIONAL, "answering"):
            without = {key: value for key, value in choice.items() if stage != "retrieval" or key not in OPTIONAL}
            component(stage, {"kind": _usual(stage)["kind"]} | without, STAGES[stage], faults, partial=True)


def named(
    configurations: Sequence[PipelineConfiguration], faults: list[str], own: Sequence[str] = (), answered: bool = False
) -> tuple[PipelineConfiguration, ...]:
    """Give configurations their names. Two that have one name are a fault, as are two with the same settings.

    `own` are names that a person gave, empty for those that are named by their settings. `answered`: whether the experiment asks for answers.
    """
    own = own or [""] * len(configurations)
    names = [name or name_of(configuration, answered) for configuration, name in zip(configurations, own, strict=True)]
    alike: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        # Some file systems do not distinguish capitals.
        alike.setdefault(name.casefold(), []).append(place)
    for first, *others in (places for places in alike.values() if len(places) > 1):
        if any(own[place] for place in (first, *others)):
            faults.append(f"{len(others) + 1} configurations have the name {names[first]!r}; give another one")
        else:
            faults.append(_repeated(names[first], [configurations[place] for place in (first, *others)]))
    if any(own):
        seen: dict[str, str] = {}
        for name, configuration in zip(names, configurations, strict=True):
            settings = {stage: component.model_dump(mode="json") for stage, component in configuration.components.items()}
            if (first_name := seen.setdefault(fingerprint(settings), name)) != name:
                faults.append(f"configurations {first_name!r} and {name!r} have the same settings; remove one of them")
    return tuple(replace(configuration, name=name) for configuration, name in zip(configurations, names, strict=True))


def _repeated(name: str, configurations: Sequence[PipelineConfiguration]) -> str:
    """Return the fault of configurations that have one name: they are the same, or names omit or shorten what differs."""
    number = len(configurations)
    differing = list(dict.fromkeys(itertools.chain.from_iterable(_differing(configurations[0], each) for each in configurations[1:])))
    if not differing:
        return f"configuration {name!r} occurs {number} times; remove the repetitions"
    omitted = all(setting.rpartition(".")[2] in OMITTED for setting in differing)
    why = f"names do not say {listed(differing)}" if omitted else f"their values of {listed(differing)} look alike in it"
    fix = f"give them names under configurations, such as {{name: mine, {differing[0].partition('.')[0]}: {{…}}}}"
    return f"{number} configurations have the name {name!r}, since {why}; {fix}"


def _differing(a: PipelineConfiguration, b: PipelineConfiguration) -> list[str]:
    """Return the settings that differ, such as `answering.prompt`."""
    ours, theirs = a.components, b.components
    return [
        f"{stage}.{field}"
        for stage in dict.fromkeys((*ours, *theirs))
        for field in dict.fromkeys(field for each in (ours, theirs) if stage in each for field in type(each[stage]).model_fields)
        if getattr(ours.get(stage), field, None) != getattr(theirs.get(stage), field, None)
    ]
