"""JSON Schemas of `pipeline` and `sweep`: in a sweep, a list in a field is a grid and a list of settings an axis."""

from collections.abc import Collection, Mapping

from workbench.experiment.expand import DEFAULTS, OPTIONAL
from workbench.experiment.json_schema.components import Family, choice, complete, kind_constant, summary
from workbench.experiment.json_schema.fields import JsonSchema, any_of, mapping_of, reference

# Where a stage's settings are: as its default, or as an alternative with lists in its fields.
PLACES = ("pipeline", "sweep")
# Stages that can be left out, and how that is written.
_ABSENT = (*OPTIONAL, "answering")
_ABSENCE: list[JsonSchema] = [{"enum": ["none", None]}]
_NONE = mapping_of({"kind": {"const": "none"}})
# Without a kind, answers are extractive, or of the chat model that the environment names.
_USUAL: Mapping[str, tuple[str, ...]] = {"answering": ("extractive", "chat"), **dict.fromkeys(OPTIONAL, ())}


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


def pipeline_schema(stages: Collection[str]) -> JsonSchema:
    """Return the schema of `pipeline`; `conditions_of` adds what a stage may be."""
    types = {stage: ["object", "string", "null"] if stage in _ABSENT else "object" for stage in stages}
    return mapping_of({stage: {"type": kind} for stage, kind in types.items()})


def configurations_schema(stages: Collection[str]) -> JsonSchema:
    """Return the schema of `configurations`, whose stages without a kind change those of `pipeline`."""
    item = mapping_of({"name": {"type": "string"}, **{stage: reference(f"sweep.{stage}") for stage in stages}})
    return {"type": "array", "minItems": 1, "items": item}


def sweep_schema(stages: Collection[str]) -> JsonSchema:
    """Return the schema of `sweep`, where a single alternative may be written without a list."""
    return mapping_of({stage: _one_or_more(reference(f"sweep.{stage}")) for stage in stages})


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
