"""JSON Schemas of components: each kind as a mapping, one of the kinds, and components by name."""

import inspect
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import BaseModel

from workbench.core.component import Component
from workbench.core.registry import Registry
from workbench.experiment.json_schema.fields import JsonSchema, any_of, mapping_of, model_schema, reference

# Each is the settings of a component by name where it is empty.
_EMPTY: list[object] = [None, "", 0, False, []]


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
        """Return the fields of a kind that have no default."""
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
    nested = {name: bases[base.__name__] for name, base in _nested(family.table[kind])}
    fields = {name: properties[name] for name in family.fields(kind)}
    for name, inner in nested.items():
        text = fields[name].get("description", "")
        fields[name] = _by_name(inner, text) if "anyOf" in fields[name] else reference(inner.name, description=text)
    return mapping_of({"kind": kind_constant(family, kind), **fields}, description=summary(family.table[kind]))


def _inside(family: Family, usual: str | None) -> JsonSchema:
    kinds = {kind: complete(family, kind, reference(f"{family.name}.{kind}")) for kind in family.table}
    return choice(family, kinds, kinds[usual] if usual else None)


def _nested(component: type[BaseModel]) -> Iterator[tuple[str, type[Component]]]:
    if issubclass(component, Component):
        yield from component.nested.items()


def _by_name(family: Family, description: str) -> JsonSchema:
    """Return the schema of components by name, where a name is a kind unless the settings have another."""
    named = {
        kind: any_of(
            [
                complete(family, kind, reference(f"{family.name}.{kind}")),
                reference(family.name),
                {"enum": _EMPTY},
            ]
        )
        for kind in family.table
    }
    return {
        "type": "object",
        "description": description,
        "properties": {"kind": {"not": {}}, **named},
        "additionalProperties": reference(family.name),
    }
