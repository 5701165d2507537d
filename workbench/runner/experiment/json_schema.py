"""Make the JSON Schema of experiment files from the models that read them, in draft-07, for completion and checks in editors."""

import inspect
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pydantic import BaseModel, Strict

from workbench.components.context.conditions import CONDITIONS, RETRIEVED
from workbench.components.judging.settings import EndToEndThresholds
from workbench.components.registry import JUDGES, SPLITTERS
from workbench.core.component import Component
from workbench.core.registry import Registry
from workbench.data.sources import SOURCES
from workbench.measures.metrics.registry import METRICS
from workbench.runner.experiment.expand import DEFAULTS, OPTIONAL, STAGES
from workbench.runner.experiment.file import ExperimentKeys, LimitKeys
from workbench.runner.experiment.gate_keys import GateKeys
from workbench.runner.experiment.judging_keys import JUDGING_KINDS, USUAL_JUDGES
from workbench.systems.registry import TARGETS

JsonSchema = dict[str, Any]
DEFINITIONS = "#/definitions/"
_LEFT_OUT = ("title", "discriminator", "$defs")
# Pydantic reads numbers and flags in quotes too: what the texts look like, and what an editor says of another.
_TEXTS = {
    "integer": (r"^\s*[+-]?[0-9][0-9_]*(\.0*)?\s*$", "not a whole number"),
    "number": (r"^\s*[+-]?([0-9._]+([eE][+-]?[0-9]+)?|[iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN])\s*$", "not a number"),
    "boolean": (
        "^([tT][rR][uU][eE]|[fF][aA][lL][sS][eE]|[yY][eE][sS]|[nN][oO]|[oO][nN]|[oO][fF][fF]|[tTfFyYnN01])$",
        "neither true nor false",
    ),
}
# Each is the settings of a component by name where it is empty.
_EMPTY: list[object] = [None, "", 0, False, []]
# Where a stage's settings are: as its default, or as an alternative with lists in its fields.
PLACES = ("pipeline", "sweep")
# Stages that can be left out, and how that is written.
_ABSENT = (*OPTIONAL, "answering")
_ABSENCE: list[JsonSchema] = [{"enum": ["none", None]}]
_NONE: JsonSchema = {"type": "object", "properties": {"kind": {"const": "none"}}, "additionalProperties": False}
# Without a kind, answers are extractive, or of the chat model that the environment names.
_USUAL: Mapping[str, tuple[str, ...]] = {"answering": ("extractive", "chat"), **dict.fromkeys(OPTIONAL, ())}
DRAFT = "http://json-schema.org/draft-07/schema#"
# Its usual name, beside the experiments, whose first line names it to editors.
SCHEMA_FILE = "experiment.schema.json"
EDITOR_LINE = f"# yaml-language-server: $schema={SCHEMA_FILE}"
_BASES = {"chunking": "Chunker", "embedding": "Embedder", "retrieval": "Retriever", "answering": "Generator"}
_CUTS = {"k": "@([1-9][0-9]{0,2}|1000)", "k or tokens": "@([1-9][0-9]{0,2}|1000|([1-9][0-9]{0,5}|1000000)t)", "none": ""}


def model_schema(model: type[BaseModel]) -> JsonSchema:
    """Return the schema of a model, with the models inside it under `definitions`."""
    schema = model.model_json_schema(ref_template=f"{DEFINITIONS}{{model}}")
    # A strict model takes no text as a number.
    strict = bool(model.model_config.get("strict"))
    # So does a strict field.
    exact = {name for name, field in model.model_fields.items() if any(isinstance(rule, Strict) and rule.strict for rule in field.metadata)}
    inside = {name: _converted(part, strict) for name, part in schema.get("$defs", {}).items()}
    converted = _converted(schema, strict)
    converted["properties"] |= {name: _converted(schema["properties"][name], True) for name in exact & schema["properties"].keys()}
    return {**converted, "definitions": inside}


def any_of(alternatives: list[JsonSchema], **also: Any) -> JsonSchema:
    """Return the schema of a value that fits one of the alternatives, each of them once."""
    distinct = [each for place, each in enumerate(alternatives) if each not in alternatives[:place]]
    return {**also, **distinct[0]} if len(distinct) == 1 else {**also, "anyOf": distinct}


def reference(name: str, **also: Any) -> JsonSchema:
    """Return a reference to a definition. In draft-07 a reference has no other keys beside it."""
    target = {"$ref": f"{DEFINITIONS}{name}"}
    return {**also, "allOf": [target]} if also else target


def mapping_of(properties: Mapping[str, JsonSchema], **also: Any) -> JsonSchema:
    """Return the schema of a mapping that has no other keys."""
    return {"type": "object", **also, "properties": dict(properties), "additionalProperties": False}


def _converted(schema: Any, strict: bool) -> Any:
    """Return a schema of pydantic in draft-07, without titles."""
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in _LEFT_OUT and not (key == "default" and not _is_plain(value))}
    for key in ("$ref", "$definition"):
        if key in kept:
            return reference(kept.pop(key).removeprefix(DEFINITIONS), **kept)
    if "properties" in kept:
        kept["properties"] = {name: _converted(part, strict) for name, part in kept["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in kept:
            kept[key] = _converted(kept[key], strict)
    for key in ("anyOf", "oneOf"):
        if key in kept:
            return _alternatives([_converted(part, strict) for part in kept.pop(key)], kept)
    if "prefixItems" in kept:
        kept["items"] = [_converted(part, strict) for part in kept.pop("prefixItems")]
    if not strict and kept.get("type") in _TEXTS:
        return _with_texts(kept)
    return _with_mapping(kept)


def _is_plain(default: Any) -> bool:
    return isinstance(default, str | int | float | bool)


def _alternatives(parts: list[JsonSchema], also: JsonSchema) -> JsonSchema:
    """Return one schema with a list of types for an optional value, else the alternatives."""
    parts = [inner for part in parts for inner in (part["anyOf"] if set(part) == {"anyOf"} else [part])]
    others = [part for part in parts if part != {"type": "null"}]
    if len(others) == 1 and len(parts) == 2 and "type" in others[0] and not {"enum", "const"} & others[0].keys():
        types = others[0]["type"]
        return {**others[0], **also, "type": [*(types if isinstance(types, list) else [types]), "null"]}
    return any_of(parts, **also)


def _with_texts(schema: JsonSchema) -> JsonSchema:
    """Let a number or a flag be written in quotes, and a flag as 0 or 1, as pydantic does."""
    kind = schema["type"]
    pattern, message = _TEXTS[kind]
    bounds = {"minimum": 0, "maximum": 1, "multipleOf": 1} if kind == "boolean" else {}
    types = ["boolean", "number", "string"] if kind == "boolean" else [kind, "string"]
    return {**schema, **bounds, "type": types, "pattern": pattern, "patternErrorMessage": message}


def _with_mapping(schema: JsonSchema) -> JsonSchema:
    """Let pairs be written as a mapping: pydantic has pairs where a value is by name, since a mapping cannot be the key of a cache."""
    pair = schema.get("items", {}).get("items") if isinstance(schema.get("items"), dict) else None
    if not (isinstance(pair, list) and len(pair) == 2):
        return schema
    also: JsonSchema = {key: schema.pop(key) for key in ("description", "default") if key in schema}
    return {**also, "anyOf": [{"type": "object", "additionalProperties": pair[1]}, schema]}


@dataclass(frozen=True)
class Family:
    """The components that one table has, and that a key of an experiment chooses from by `kind`.

    `base` is the name of the class that fields with such components have. `hidden` are fields that an experiment sets itself.
    """

    name: str
    table: Mapping[str, type[BaseModel]]
    base: str = ""
    hidden: Collection[str] = field(default=())

    @cached_property
    def schemas(self) -> dict[str, JsonSchema]:
        """Return the schema of each kind with the models inside it."""
        return {kind: model_schema(component) for kind, component in self.table.items()}

    def fields(self, kind: str) -> list[str]:
        """Return the fields of a kind, without `kind` and those that an experiment sets itself."""
        model = self.table[kind].model_fields
        return [name for name in self.schemas[kind]["properties"] if name not in ("kind", *self.hidden) and not model[name].exclude]

    def required(self, kind: str) -> list[str]:
        return [name for name in self.schemas[kind].get("required", ()) if name != "kind" and name in self.fields(kind)]


def builtin_only(families: Collection[Family]) -> list[Family]:
    """Return the families without the kinds of other packages."""
    return [
        Family(each.name, each.table.builtin if isinstance(each.table, Registry) else each.table, each.base, each.hidden)
        for each in families
    ]


def definitions_of(families: Collection[Family]) -> dict[str, JsonSchema]:
    """Return the definitions of all kinds, `chunking.fixed`, and of the choice between them, `chunking`."""
    bases = {family.base: family for family in families if family.base}
    found: dict[str, JsonSchema] = {}
    for family in families:
        for kind, schema in family.schemas.items():
            found |= {name: inside for name, inside in schema["definitions"].items() if name not in bases}
            found[f"{family.name}.{kind}"] = _kind(family, kind, bases)
        found[family.name] = _inside(family, None)
    # What fields of this type refer to is the choice between the kinds. An embedder needs no kind there.
    usual = {base: next(iter(family.table)) for base, family in bases.items() if family.name == "embedding"}
    return found | {base: _inside(family, usual.get(base)) for base, family in bases.items()}


def choice(
    family: Family, kinds: Mapping[str, JsonSchema], otherwise: JsonSchema | None = None, also: Collection[JsonSchema] = ()
) -> JsonSchema:
    """Return the schema of settings that their `kind` selects from `kinds`. Editors list the kinds with their descriptions.

    `otherwise` is the schema of settings without a kind, which are refused without it. `also` are further values of `kind`.
    """
    named = [kind_constant(family, kind) if kind in family.table else {"const": kind} for kind in kinds]
    selected = [{"if": _has_kind({"const": kind}), "then": schema} for kind, schema in kinds.items()]
    missing = {"required": ["kind"]} if otherwise is None else {"if": _has_kind({"type": "string"}), "else": otherwise}
    return {"type": "object", "properties": {"kind": any_of([*named, *also])}, "allOf": [*selected, missing]}


def complete(family: Family, kind: str, schema: JsonSchema) -> JsonSchema:
    """Return the schema of a kind that needs the fields without a default."""
    missing = family.required(kind)
    return {"allOf": [schema], "required": missing} if missing else schema


def _has_kind(value: JsonSchema) -> JsonSchema:
    return {"required": ["kind"], "properties": {"kind": value}}


def summary(item: type[BaseModel]) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join((inspect.getdoc(item) or "").split("\n\n")[0].split())


def kind_constant(family: Family, kind: str) -> JsonSchema:
    """Return the schema of the key `kind`, described by the kind."""
    return {"const": kind, "description": summary(family.table[kind])}


def _kind(family: Family, kind: str, bases: Mapping[str, Family]) -> JsonSchema:
    properties = family.schemas[kind]["properties"]
    component = family.table[kind]
    nested = {name: bases[base.__name__] for name, base in component.nested.items()} if issubclass(component, Component) else {}
    fields = {name: properties[name] for name in family.fields(kind)}
    for name, inner in nested.items():
        text = fields[name].get("description", "")
        fields[name] = _by_name(inner, text) if "anyOf" in fields[name] else reference(inner.name, description=text)
    return mapping_of({"kind": kind_constant(family, kind), **fields}, description=summary(family.table[kind]))


def _inside(family: Family, usual: str | None) -> JsonSchema:
    kinds = {kind: complete(family, kind, reference(f"{family.name}.{kind}")) for kind in family.table}
    return choice(family, kinds, kinds[usual] if usual else None)


def _by_name(family: Family, description: str) -> JsonSchema:
    """Return the schema of components by name, where a name is a kind unless the settings have another."""
    named = {
        kind: any_of([complete(family, kind, reference(f"{family.name}.{kind}")), reference(family.name), {"enum": _EMPTY}])
        for kind in family.table
    }
    return {
        "type": "object",
        "description": description,
        "properties": {"kind": {"not": {}}, **named},
        "additionalProperties": reference(family.name),
    }


def stage_definitions(families: Collection[Family]) -> dict[str, JsonSchema]:
    """Return the definitions of each stage: `pipeline.STAGE`, `swept.STAGE` for the default of a stage that the sweep varies, and `sweep.STAGE`."""
    found: dict[str, JsonSchema] = {}
    for family in families:
        name = family.name
        found |= {f"{place}.{name}.{kind}": part for place in PLACES for kind, part in _kinds(family, place == "sweep").items()}
        single, lists = ({kind: reference(f"{place}.{name}.{kind}") for kind in family.table} for place in PLACES)
        usual = _USUAL.get(name, (DEFAULTS[name]["kind"],))
        found[f"pipeline.{name}"] = _stage(family, _complete(family, single), usual)
        several = {"type": "array", "minItems": 1, "items": {"enum": list(_with_none(family, lists))}}
        mixed = _any_kind(family, several)
        # What the sweep gives may be missing.
        found[f"swept.{name}"] = _stage(family, lists, usual, [{**mixed, "required": ["kind"]}], [several])
        # Alternatives without a kind change the default.
        found[f"sweep.{name}"] = _stage(family, _complete(family, lists), (), [mixed], [several])
    return found


def _stage(
    family: Family,
    kinds: Mapping[str, JsonSchema],
    usual: Collection[str],
    mixed: Collection[JsonSchema] = (),
    several: Collection[JsonSchema] = (),
) -> JsonSchema:
    """Return the schema of a stage's settings. The usual kind need not be named, and `mixed` are settings of `several` kinds."""
    otherwise = [*(kinds[kind] for kind in usual), *mixed]
    return _or_absent(family, choice(family, _with_none(family, kinds), any_of(otherwise) if otherwise else None, several))


def _complete(family: Family, kinds: Mapping[str, JsonSchema]) -> dict[str, JsonSchema]:
    return {kind: complete(family, kind, schema) for kind, schema in kinds.items()}


def _with_none(family: Family, kinds: Mapping[str, JsonSchema]) -> dict[str, JsonSchema]:
    return {**kinds, **({"none": _NONE} if family.name in _ABSENT else {})}


def _or_absent(family: Family, schema: JsonSchema) -> JsonSchema:
    # Settings of an optional stage without any key leave it out too.
    empty: list[JsonSchema] = [{"type": "object", "maxProperties": 0}] if family.name in OPTIONAL else []
    return any_of([schema, *(_ABSENCE if family.name in _ABSENT else []), *empty])


def conditions_of(stages: Collection[str]) -> list[JsonSchema]:
    """Return the conditions that choose the schema of each stage of `pipeline`, since only a default may be incomplete."""
    return [
        {
            "if": any_of([{"required": ["sweep"], "properties": {"sweep": {"required": [stage]}}}, {"required": ["configurations"]}]),
            "then": {"properties": {"pipeline": {"properties": {stage: reference(f"swept.{stage}")}}}},
            "else": {"properties": {"pipeline": {"properties": {stage: reference(f"pipeline.{stage}")}}}},
        }
        for stage in stages
    ]


def _kinds(family: Family, grid: bool) -> dict[str, JsonSchema]:
    """Return the schema of each kind as a stage has it, with lists in its fields for a grid."""
    kinds = {}
    for kind in family.table:
        texts = {name: part.get("description", "") for name, part in family.schemas[kind]["properties"].items()}
        fields = {name: reference(f"{family.name}.{kind}/properties/{name}") for name in family.fields(kind)}
        if family.name == "retrieval":
            fields |= {stage: any_of([reference(stage), *_ABSENCE, {**_NONE, "required": ["kind"]}]) for stage in OPTIONAL}
        shown = {name: _one_or_more(field, description=texts.get(name, "")) if grid else field for name, field in fields.items()}
        kinds[kind] = mapping_of({"kind": kind_constant(family, kind), **shown}, description=summary(family.table[kind]))
    return kinds


def _any_kind(family: Family, several: JsonSchema) -> JsonSchema:
    """Return the schema of settings that have the fields of any kind."""
    fields: dict[str, dict[str, JsonSchema]] = {}
    for kind, schema in _kinds(family, grid=True).items():
        for name in schema["properties"]:
            # Kinds share fields, whose schemas are compared without their places.
            shared = str(family.schemas[kind]["properties"].get(name))
            fields.setdefault(name, {}).setdefault(shared, reference(f"sweep.{family.name}.{kind}/properties/{name}"))
    alternatives = {name: any_of(list(parts.values())) for name, parts in fields.items() if name != "kind"}
    return mapping_of({"kind": several, **alternatives})


def _one_or_more(schema: JsonSchema, **also: str) -> JsonSchema:
    return {**also, "anyOf": [schema, {"type": "array", "minItems": 1, "items": schema}]}


def experiment_schema(plugins: bool = True) -> JsonSchema:
    """Return the JSON Schema (draft-07) of experiment files, with the kinds of installed packages, or only Workbench's own.

    It refers to nothing outside itself, so that editors use it offline. What it refuses, the reader of experiments refuses too.
    """
    families = _families() if plugins else builtin_only(_families())
    stages = [family for family in families if family.name in STAGES]
    inside = {name: part for model in (GateKeys, LimitKeys) for name, part in model_schema(model)["definitions"].items()}
    return {
        "$schema": DRAFT,
        "description": "An experiment of Workbench: configurations to compare, their dataset and metrics.",
        **mapping_of(model_schema(ExperimentKeys)["properties"], required=["name", "dataset"]),
        "allOf": conditions_of(list(STAGES)),
        "definitions": {
            **definitions_of(families),
            **stage_definitions(stages),
            **inside,
            **_keys(families),
            **_metric_definitions(plugins),
        },
    }


def schema_text(schema: JsonSchema | None = None) -> str:
    """Return a schema, by default that with the kinds of installed packages, as the text of a file."""
    return json.dumps(experiment_schema() if schema is None else schema, indent=1) + "\n"


def _families() -> list[Family]:
    """Return every table of components with the key that chooses from it."""
    stages = [Family(name, table, _BASES.get(name, ""), ("model",) if name == "chunking" else ()) for name, table in STAGES.items()]
    others = [Family("dataset", SOURCES), Family("target", TARGETS), Family("claims", SPLITTERS), Family("judge", JUDGES, "Judge")]
    return [*stages, *others]


def _keys(families: Collection[Family]) -> dict[str, JsonSchema]:
    """Return the definitions of the keys that are read as a whole."""
    # `conditions_of` adds what a stage of `pipeline` may be. Settings without a kind in an item of `configurations` change those of `pipeline`.
    pipeline: dict[str, JsonSchema] = {stage: {"type": ["object", "string", "null"] if stage in _ABSENT else "object"} for stage in STAGES}
    item = mapping_of({"name": {"type": "string"}, **{stage: reference(f"sweep.{stage}") for stage in STAGES}})
    names = {"type": "array", "minItems": 1, "uniqueItems": True, "contains": {"const": RETRIEVED}, "items": {"enum": list(CONDITIONS)}}
    return {
        "pipeline": mapping_of(pipeline),
        # A single alternative may be written without a list.
        "sweep": mapping_of({stage: _one_or_more(reference(f"sweep.{stage}")) for stage in STAGES}),
        "configurations": {"type": "array", "minItems": 1, "items": item},
        "conditions": any_of([{"const": RETRIEVED}, names]),
        "limits": _mapping(LimitKeys),
        "judging": any_of([{"enum": ["none", None]}, _judging(families)]),
        "gate": _mapping(GateKeys),
    }


def _mapping(model: Any) -> JsonSchema:
    """Return the schema of a key that a model reads, described by the table of keys."""
    schema = model_schema(model)
    return mapping_of(schema["properties"], **({"required": schema["required"]} if "required" in schema else {}))


def _judging(known: Collection[Family]) -> JsonSchema:
    names = {id(SPLITTERS): "claims", id(JUDGES): "judge"}
    parts = {}
    for key, table in JUDGING_KINDS.items():
        name = names[id(table)]
        family = next(each for each in known if each.name == name)
        kinds = {kind: complete(family, kind, reference(f"{name}.{kind}")) for kind in family.table}
        # Settings without a kind change the usual judge.
        parts[key] = choice(family, kinds, kinds[USUAL_JUDGES[key]["kind"]] if key in USUAL_JUDGES else None)
    condition = {"enum": list(CONDITIONS)}
    own = {"conditions": any_of([condition, {"type": "array", "items": condition}]), "thresholds": _mapping(EndToEndThresholds)}
    return mapping_of({**parts, **own})


def _metric_definitions(plugins: bool) -> dict[str, JsonSchema]:
    """Return the names of metrics as a pattern, with an example of each for completion."""
    metrics = METRICS if plugins else METRICS.builtin
    pattern = "|".join(f"{name}{_CUTS[metric.cut]}" for name, metric in metrics.items())
    examples = [(f"{name}{'' if metric.cut == 'none' else '@5'}", metric.definition) for name, metric in metrics.items()]
    return {
        "metric": {
            "type": "string",
            "pattern": f"^({pattern})$",
            "patternErrorMessage": "not a metric; write for example recall@5 or span_recall@2000t",
            "defaultSnippets": [{"label": label, "description": text, "body": label} for label, text in examples],
        }
    }
