"""The keys of an experiment file as one pydantic model, and the one translation of its errors."""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic_core import PydanticCustomError

from workbench.components.context.conditions import CONDITIONS, RETRIEVED, conditions_fault
from workbench.core.component import Component, is_mapping, read_keys
from workbench.core.errors import InputError
from workbench.core.text.formatting import meant, name_fault, name_pattern, nearest_word
from workbench.data.sources import SOURCES, Source
from workbench.gate.rules import GateSettings
from workbench.llm.session import CallLimits
from workbench.measures.metrics.names import Metric
from workbench.measures.statistics.pairs import SMALLEST_DIFFERENCE
from workbench.runner.experiment.components import component, unknown, usable
from workbench.runner.experiment.gate_keys import gate_in
from workbench.systems.base import Target
from workbench.systems.registry import TARGETS

MOST_REPEATS, MOST_CROSSED = 100, 4
_LONGEST_NAME = 64
# Files of an outputs folder, beside the folders of experiments.
_OF_ALL_RUNS = r"(history|history_scores|index)\..*"
_PLAIN_NAME = name_pattern(_LONGEST_NAME)
# The type of the error of a value that names its own faults.
_OWN = "experiment_key"
# What a value of another type is, and what to write.
_EXPECTED = {
    "repeats": f"not a whole number from 1 to {MOST_REPEATS}",
    "spans": "not 'exact' or 'chroma'",
    "average": "not 'questions' or 'documents'",
    "smallest_difference": "not a number above 0; write for example 0.02",
    "slices": f"not a list of lists of two to {MOST_CROSSED} fields; write for example slices: [[type, domain]]",
}


def _read_by(read: Callable[[Any, list[str]], Any]) -> BeforeValidator:
    """Validate a key by a function that adds the faults of its value to a list."""

    def validate(value: Any) -> Any:
        faults: list[str] = []
        made = read(value, faults)
        if faults:
            raise PydanticCustomError(_OWN, "faults", {"faults": faults})
        return made

    return BeforeValidator(validate)


def _name(value: Any, faults: list[str]) -> Any:
    if not (isinstance(value, str) and re.fullmatch(_PLAIN_NAME, value)):
        faults.append(
            "name is missing; write for example name: my-experiment"
            if value is None
            else f"name is {value!r:.100}, {name_fault(value, _LONGEST_NAME)}"
        )
    elif re.fullmatch(_OF_ALL_RUNS, value):
        faults.append(
            f"name is {value!r}, but the outputs have files of such names for all runs; write for example {value.replace('.', '-')!r}"
        )
    return value


def _targets(value: Any, faults: list[str]) -> list[Any]:
    if not (isinstance(value, list) and all(isinstance(each, Component) or is_mapping(each) for each in value)):
        faults.append(f"targets is {value!r}, not a list of targets; write for example targets: [{{kind: http, name: my-service, …}}]")
        return []
    made = [(f"targets.{number}", component(f"targets.{number}", each, TARGETS, faults)) for number, each in enumerate(value)]
    return [target for place, target in made if target and usable(place, target, faults)]


def _conditions(value: Any, faults: list[str]) -> tuple[str, ...]:
    conditions = [value] if isinstance(value, str) else value
    if not isinstance(conditions, list) or not all(isinstance(condition, str) for condition in conditions):
        faults.append(f"conditions is {conditions!r}, not a list of names; write for example conditions: [none, gold, retrieved]")
        return ()
    if fault := conditions_fault(conditions):
        faults.append(f"conditions: {fault}")
    elif RETRIEVED not in conditions:
        faults.append(f"conditions lacks {RETRIEVED}, in which configurations are compared; add it")
    return tuple(conditions)


def _metric(name: Any, faults: list[str]) -> Metric | None:
    try:
        return Metric.parse(str(name))
    except InputError as error:
        faults.append(str(error))
        return None


def _metrics(names: Any, faults: list[str]) -> tuple[Metric | None, ...]:
    if not isinstance(names, list) or not names:
        fix = f"; write metrics: [{names}]" if isinstance(names, str) else ""
        faults.append(f"metrics is not a list of names such as recall@5{fix}")
        return ()
    return tuple(_metric(name, faults) for name in names)


class LimitKeys(BaseModel):
    """The limits as an experiment file gives them."""

    model_config = ConfigDict(extra="forbid", strict=True)

    calls: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    usd: float | None = Field(default=None, gt=0)


def _limits(value: Any, faults: list[str]) -> CallLimits:
    keys = read_keys(LimitKeys, "limits", value, "limits: {calls: 1000, usd: 5}", faults)
    return CallLimits(**keys.model_dump()) if keys else CallLimits()


def _distinct(fields: list[str]) -> list[str]:
    if len(set(fields)) < len(fields):
        raise ValueError("a field occurs twice")
    return fields


_Field = Annotated[str, Field(min_length=1)]
_Crossed = Annotated[
    list[_Field], Field(min_length=2, max_length=MOST_CROSSED, json_schema_extra={"uniqueItems": True}), AfterValidator(_distinct)
]


def _defined(name: str) -> WithJsonSchema:
    """Refer to a definition that is made from the registries of components and metrics."""
    return WithJsonSchema({"$definition": name})


class ExperimentKeys(BaseModel):
    """The values of an experiment file. `pipeline`, `sweep`, `configurations`, `exclude` and `judging` are read as a whole, later."""

    model_config = ConfigDict(strict=True, validate_assignment=True, extra="forbid", arbitrary_types_allowed=True)

    name: Annotated[str, _read_by(_name)] = Field(
        default="",
        description="the name of the experiment and of its folder under the outputs: lower-case letters, digits, `.`, `_` and `-`; required",
        json_schema_extra={
            "pattern": f"^(?!{_OF_ALL_RUNS}){_PLAIN_NAME}$",
            "patternErrorMessage": "not lower-case letters, digits, '.', '_' or '-'",
        },
    )
    dataset: Annotated[Source | None, _read_by(lambda value, faults: component("dataset", value, SOURCES, faults)), _defined("dataset")] = (
        Field(default=None, description="documents, questions and labels; required")
    )
    pipeline: Annotated[Any, _defined("pipeline")] = Field(
        default={},
        description="the settings of each stage unless `sweep` varies them: `chunking`, `embedding`, `retrieval`, `rewrite`, `rerank`, `context`, "
        "`answering`",
    )
    targets: Annotated[list[Target], _read_by(_targets), WithJsonSchema({"type": "array", "items": {"$definition": "target"}})] = Field(
        default=[],
        description="systems under test: functions, HTTP services, MCP servers and recorded results, each a configuration; without `pipeline`, "
        "`sweep` and `configurations` there is no other",
    )
    sweep: Annotated[Any, _defined("sweep")] = Field(
        default={}, description="the alternatives of each stage; the alternatives of several stages, and lists in fields, multiply"
    )
    configurations: Annotated[Any, _defined("configurations")] = Field(
        default=None,
        description="single configurations beside those of `sweep`: a list of mappings of stages, each with an optional `name`; a stage that is "
        "left out is that of `pipeline`",
    )
    exclude: Annotated[Any, WithJsonSchema({"type": "array", "items": {"type": "string"}})] = Field(
        default=None,
        description="names of configurations of `sweep` and `configurations` that are left out; `*`, `?` and `[…]` in a name match as in a shell",
    )
    conditions: Annotated[tuple[str, ...], _read_by(_conditions), _defined("conditions")] = Field(
        default=(RETRIEVED,),
        description=f"the contexts in which questions are answered: {', '.join(f'`{name}`' for name in CONDITIONS)}; `[{RETRIEVED}]` by default",
    )
    repeats: int = Field(default=1, ge=1, le=MOST_REPEATS, description="how often each question is asked in each condition; 1 by default")
    limits: Annotated[CallLimits, _read_by(_limits), _defined("limits")] = Field(
        default=CallLimits(),
        description="the most `calls`, `tokens` and `usd` that a sweep spends on models; answers beyond them are missing until the next sweep",
    )
    judging: Annotated[Any, _defined("judging")] = Field(
        default={},
        description="the judges of answers and contexts, the same for all configurations: `claims` splits answers into claims, `support` verifies "
        "claims, `relevance` judges passages and answers, `correctness` compares with the expected answer, `rubric` judges answers as a whole; "
        "`conditions` restricts them to some of the run; `thresholds` are those of `end_to_end`; `none` for no judges. By default `sentences` splits "
        "and `overlap` judges, without a model",
    )
    metrics: Annotated[
        tuple[Metric, ...], _read_by(_metrics), WithJsonSchema({"type": "array", "minItems": 1, "items": {"$definition": "metric"}})
    ] = Field(default=(), description="the metrics to compute")
    primary: Annotated[Metric | None, _read_by(_metric), _defined("metric")] = Field(
        default=None,
        description="the metric that decides; by default the first of `metrics`, or `ndcg@10` for a span metric without evidence",
    )
    baseline: Annotated[Any, WithJsonSchema({"type": ["string", "null"]})] = Field(
        default=None, description="the configuration that the others are tested against; by default all pairs are tested"
    )
    average: Literal["questions", "documents"] = Field(
        default="questions",
        description="what counts equally in every mean: `questions`, or `documents`, each with the mean of its questions",
    )
    smallest_difference: float = Field(
        default=SMALLEST_DIFFERENCE,
        gt=0,
        description="the smallest difference of the primary metric that matters, above 0; the report says how many questions would show it; "
        "0.02 by default",
    )
    slices: list[_Crossed] = Field(
        default=[], description="crossed slices, each a list of fields of the questions, such as `[type, domain]`"
    )
    gate: Annotated[GateSettings | None, _read_by(gate_in), _defined("gate")] = Field(
        default=None, description="the rules that `workbench gate` and the pytest plugin check: limits, baselines, retrieval tests"
    )
    spans: Literal["exact", "chroma"] = Field(
        default="exact", description="the definition of span metrics: `exact`, or `chroma` for that of the Chroma report"
    )

    @classmethod
    def read(cls, settings: Mapping[str, Any], made: Mapping[str, Any]) -> tuple["ExperimentKeys", dict[str, list[str]]]:
        """Read every key that is not in `made`, and return the values with the faults by key. A key with a fault has its default."""
        strange = [key for key in settings if key not in KEYS]
        faults = {key: [unknown("the experiment", key, tuple(KEYS))] for key in strange}
        misspelt = {nearest_word(key, KEYS) for key in strange}
        file = cls.model_construct(**made)
        for key in (key for key in KEYS if key not in made):
            # A key that is required is read as null where it is missing, but a misspelt key is not reported twice.
            if key in settings or (key in ("name", "dataset") and key not in misspelt):
                try:
                    setattr(file, key, settings.get(key))
                except ValidationError as error:
                    lines = [line for detail in error.errors() for line in _lines(key, settings.get(key), detail)]
                    faults[key] = list(dict.fromkeys(lines))
        return file, faults


def _lines(key: str, value: Any, detail: Any) -> list[str]:
    if detail["type"] == _OWN:
        return list(detail["ctx"]["faults"])
    suggestion = meant(str(value), detail["ctx"]["expected"].replace("'", "").split(" or ")) if detail["type"] == "literal_error" else ""
    return [f"{key} is {value!r}, {_EXPECTED[key]}{suggestion}"]


KEYS: Mapping[str, str] = {name: str(field.description) for name, field in ExperimentKeys.model_fields.items()}
