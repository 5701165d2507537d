"""Write docs/reference/ from the code; with --check, name the files that are stale."""

import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import click
import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import BaseModel

import workbench
from workbench.api.results import PublicTable
from workbench.cli.main import main as command
from workbench.components.context.context_packing import ContextPacking
from workbench.components.embedding.registry import EMBEDDERS
from workbench.components.judging.settings import EndToEndThresholds
from workbench.components.registry import CHUNKERS, GENERATORS, JUDGES, RERANKERS, RETRIEVERS, REWRITERS, SPLITTERS
from workbench.core.schemas import SCHEMAS
from workbench.data.sources import SOURCES
from workbench.measures.attribution.causes import CAUSES
from workbench.measures.metrics.documents import answerable_auroc
from workbench.measures.metrics.registry import METRICS
from workbench.monitor.alerts.detect import RaisedAlert
from workbench.monitor.alerts.settings import AlertLimit, AlertSettings
from workbench.monitor.alerts.state import Alert, Webhook, content
from workbench.monitor.log.asgi import LoggedRoute, QueryLogMiddleware
from workbench.monitor.log.capture import LoggedQuestion
from workbench.monitor.log.fields import FEEDBACK, FIELDS, REQUIRED
from workbench.monitor.page import MonitoringView
from workbench.monitor.settings import MonitorSettings
from workbench.report.results.history import SCHEMA
from workbench.runner.experiment.components import component
from workbench.runner.experiment.expand import DEFAULTS, NONE
from workbench.runner.experiment.file import KEYS
from workbench.runner.experiment.gate_keys import GateKeys, RetrievalTestKeys
from workbench.runner.experiment.judging_keys import USUAL_JUDGES
from workbench.runner.experiment.names import LONGEST, OMITTED, UNANSWERED, name_of
from workbench.runner.experiment.read import DEFAULT_METRICS
from workbench.runner.pipeline.configuration import PipelineConfiguration
from workbench.systems.registry import TARGETS

FOLDER = Path(__file__).with_name("reference")
# Kinds of installed packages are left out.
STAGES: dict[str, Mapping[str, type[BaseModel]]] = {
    "dataset": SOURCES,
    "targets": TARGETS.builtin,
    "chunking": CHUNKERS.builtin,
    "embedding": EMBEDDERS.builtin,
    "retrieval": RETRIEVERS.builtin,
    "rewrite": REWRITERS.builtin,
    "rerank": RERANKERS.builtin,
    "context": {"packed": ContextPacking},
    "answering": GENERATORS.builtin,
    "judging.claims": SPLITTERS.builtin,
    "judging.support": JUDGES.builtin,
}
JUDGING = {f"judging.{key}": settings for key, settings in USUAL_JUDGES.items()}
# Filled in by the experiment, not by a person.
INTERNAL = {("chunking", "model"), ("rerank", "embedder")}
# Classes that are not in `wb`.
FURTHER = (LoggedQuestion, MonitoringView, QueryLogMiddleware)
# Their methods that Workbench calls itself or that the docstring of the class explains.
UNLISTED = {"LoggedQuestion": "active add_part finish finish_stream finish_with embedding retrieval reranking generation"}
TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "object": "mapping"}
# Components and numbers by name are pairs, since a component can be the key of a cache.
TYPES |= {"array": "mapping"}

NAMED = (
    "chunking: {kind: fixed, size: 256, overlap: 0}",
    "chunking: {kind: markdown, size: 256, enrich: true}, retrieval: {kind: bm25}",
    "chunking: {kind: sentence, size: 256, overlap: 32, tokens: cl100k}",
    "chunking: {kind: langchain, splitter: RecursiveCharacterTextSplitter, size: 200, overlap: 20, arguments: {keep_separator: false}}",
    "embedding: {kind: static, max_tokens: 200, dimensions: 128}, retrieval: {kind: hybrid}",
    "embedding: {model: BAAI/bge-small-en-v1.5, pooling: late, backend: torch}",
    "embedding: {query_prompt: 'Represent this sentence for searching relevant passages: '}",
    "retrieval: {kind: dense, k: 20, search: ann, neighbours: 1}",
    "retrieval: {kind: bm25, k1: 1.2, deliver: {tokens: 500}}",
    "retrieval: {kind: hybrid, retrievers: {dense: {}, bm25: {k1: 1.2}}, fusion: weighted, weights: {dense: 0.7, bm25: 0.3}}",
    "retrieval: {kind: bm25}, rewrite: {kind: rm3, terms: 5}, rerank: {kind: mmr, relevance: 0.7}",
    "context: {budget: 1000, order: ends}, answering: {kind: extractive, sentences: 1}",
    "answering: {kind: chat, provider: openai, model: gpt-5-mini, prompt: prompts/strict.md}",
)


def rows(stage: str, component: type[BaseModel]) -> dict[str, tuple[str, ...]]:
    """By field its type with the allowed range, its default and its meaning."""
    schema = component.model_json_schema()
    fields = {name: field for name, field in schema["properties"].items() if name != "kind" and (stage, name) not in INTERNAL}
    return {
        name: (
            type_of(field),
            "required" if name in schema.get("required", ()) else value_of(field.get("default")),
            field["description"],
        )
        for name, field in sorted(fields.items(), key=lambda item: item[0] not in schema.get("required", ()))
    }


def parts(field: dict[str, Any]) -> list[dict[str, Any]]:
    """The alternatives of a field's type, null left out."""
    return [part for one in field["anyOf"] for part in parts(one)] if "anyOf" in field else [field] * (field.get("type") != "null")


def type_of(field: dict[str, Any]) -> str:
    """The type in words with the allowed range, or the values of an enumeration."""
    values = [value for part in parts(field) for value in part.get("enum", [part["const"]] if "const" in part else [])]
    if values:
        return " ".join(f"`{value}`" for value in values)
    signs = {
        "minimum": "≥ {}",
        "exclusiveMinimum": "> {}",
        "maximum": "≤ {}",
        "exclusiveMaximum": "< {}",
        "pattern": "`{}`",
        "minLength": "not empty",
    }
    bounds = [sign.format(part[key]) for part in parts(field) for key, sign in signs.items() if key in part]
    # A reference to a part of the schema is a mapping, and the field's description shows its keys.
    return ", ".join([" or ".join(map(type_name, parts(field))), *bounds])


def type_name(part: dict[str, Any]) -> str:
    """The type in words."""
    if part.get("format") == "date-time":
        return "time"
    texts = part.get("type") == "array" and part.get("items", {}).get("type") == "string"
    return "list of texts" if texts else TYPES[part.get("type", "object")]


def value_of(default: Any) -> str:
    """A default as YAML; a dash for none."""
    if isinstance(default, dict) and default and "kind" not in default:  # its keys have a table of their own
        return "–"
    if isinstance(default, list) and default and isinstance(default[0], str):
        return f"`[{', '.join(default)}]`"
    if isinstance(default, list):
        return f"`{{{', '.join(f'{name}: {{}}' for name, _ in default)}}}`" if default else "–"
    return "–" if default in (None, "") else f"`{str(default).lower() if isinstance(default, bool) else default}`"


def stages() -> Iterator[dict[str, Any]]:
    """Each stage with its default, the fields that all its kinds share, and its kinds."""
    for stage, kinds in STAGES.items():
        tables = {kind: rows(stage, component) for kind, component in kinds.items()}
        shared = [name for name in next(iter(tables.values())) if len({table.get(name) for table in tables.values()}) == 1]
        yield {
            "name": stage,
            "default": ", ".join(f"{name}: {value}" for name, value in (DEFAULTS | JUDGING).get(stage, {}).items()),
            "shared": {name: next(iter(tables.values()))[name] for name in shared},
            "kinds": [
                (kind, markdown(component), {name: row for name, row in tables[kind].items() if name not in shared})
                for kind, component in kinds.items()
            ],
        }


def named_examples() -> Iterator[tuple[str, str]]:
    """Settings, as an experiment file has them under `pipeline`, with the name of their configuration."""
    for text in NAMED:
        settings = {stage: DEFAULTS[stage] | value for stage, value in yaml.safe_load(f"{{{text}}}").items()}
        made = {stage: component(stage, value, STAGES[stage], []) for stage, value in (DEFAULTS | settings).items() if value != NONE}
        context, answering = made.pop("context"), made.pop("answering")
        yield text, name_of(PipelineConfiguration.of(**made).answered(context, answering))


def commands(group: click.Group, path: str) -> Iterator[tuple[str, str]]:
    """Every command with its help."""
    for name, item in sorted(group.commands.items()):
        yield f"{path} {name}", item.get_help(click.Context(item, info_name=f"{path} {name}", terminal_width=100))
        if isinstance(item, click.Group):
            yield from commands(item, f"{path} {name}")


def markdown(item: Any) -> str:
    """A numpydoc docstring as Markdown: sections in bold, their entries as list items, examples as a block."""
    text = re.sub(r"^(\w[\w ]*)\n-{3,}\n((?:.+\n?)*)", section, inspect.getdoc(item) or "", flags=re.MULTILINE)
    text = re.sub(r"^>>> (?:.+\n?)+", lambda match: f"```pycon\n{match[0].rstrip()}\n```\n", text, flags=re.MULTILINE)
    return re.sub(r" +# doctest: \+\w+", "", text).strip()


def section(match: re.Match[str]) -> str:
    """A section of a docstring, each parameter or error as a list item."""
    if match[1] in ("Examples", "Returns"):
        return f"**{match[1]}**\n\n{match[2]}"
    entries = re.sub(r"^(\w[\w, ]*): ", r"- `\1`: ", re.sub(r"\n +", "\n  ", match[2]), flags=re.MULTILINE)
    return f"**{match[1]}**\n\n{entries}"


def signature(item: Any) -> str:
    """The call of a function without the modules of its types."""
    plain = inspect.signature(item)
    plain = plain.replace(parameters=[one for one in plain.parameters.values() if one.name not in ("self", "cls")])
    text = re.sub(r"((?:: |-> ))'([^']*)'", r"\1\2", str(plain)).replace("<factory>", "…")
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=\w)", "", text)


def members(item: type[Any]) -> Iterator[tuple[str, str, str]]:
    """The public methods and properties of a class that Workbench defines: name, call (empty for a property) and docstring."""
    unlisted = {*UNLISTED.get(item.__name__, "").split(), *getattr(item, "unlisted", ())}
    for attribute in sorted(inspect.classify_class_attrs(item), key=lambda one: one.name):
        own = attribute.name[0] != "_" and attribute.name not in unlisted
        inside = attribute.defining_class.__module__.startswith("workbench") and own
        if inside and (attribute.kind == "property" or isinstance(attribute.object, cached_property | PublicTable)):
            yield attribute.name, "", markdown(attribute.object)
        elif inside and attribute.kind != "data":
            yield attribute.name, signature(getattr(item, attribute.name)), markdown(attribute.object)


def fields(item: type[Any]) -> str:
    """The fields of a dataclass or a named tuple."""
    return signature(item) if is_dataclass(item) or hasattr(item, "_fields") else ""


def public() -> Iterator[dict[str, Any]]:
    """Everything in `workbench.__all__`. A component is described by the experiment file's page, a metric by that of the metrics."""
    places = {component: f"{stage.replace('.', '')}-kind-{kind}" for stage, kinds in STAGES.items() for kind, component in kinds.items()}
    # `map` is a metric that `from workbench import *` leaves out.
    # Two names can differ in a capital only.
    for name in sorted({*workbench.__all__, "map"}, key=lambda name: (name.lower(), name)):
        item = getattr(workbench, name)
        if name in METRICS:
            yield {"name": name, "kind": "metric", "text": METRICS[name].definition, "place": "metrics.md"}
        elif inspect.isroutine(item):
            yield {"name": name, "kind": "function", "text": markdown(item), "signature": signature(item)}
        elif inspect.ismodule(item):
            yield {"name": name, "kind": "module", "text": markdown(item)}
        elif item in places:
            yield {"name": name, "kind": "component", "text": markdown(item), "place": f"experiment.md#{places[item]}"}
        elif issubclass(item, Exception):
            yield {"name": name, "kind": "error", "text": markdown(item)}
        else:
            calls = list(members(item))
            yield {"name": name, "kind": "class", "text": markdown(item), "members": calls, "fields": "" if calls else fields(item)}
    for item in FURTHER:
        calls = list(members(item))
        yield {"name": item.__name__, "module": item.__module__, "kind": "further", "text": markdown(item), "members": calls, "fields": ""}


def monitoring() -> dict[str, Any]:
    """The settings of a monitor, the fields of a message of its webhook, and those of a line of a log."""
    settings = {"settings": MonitorSettings, "alerts": AlertSettings, "limit": AlertLimit, "webhook": Webhook, "route": LoggedRoute}
    sent = content(Alert(id="", status="open", first=RaisedAlert("", "", raised=0, since=0, count=0), shown=0))
    row_parts = {field.of: [one.name for one in FIELDS if one.of == field.of] for field in FIELDS if field.of}
    log = {"fields": FIELDS, "parts": row_parts, "required": REQUIRED, "feedback": FEEDBACK}
    return {**{name: rows(name, item) for name, item in settings.items()}, "sent": list(json.loads(sent)), "log": log}


def pages() -> dict[Path, str]:
    """Every page of the reference by path."""
    options = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True, "undefined": StrictUndefined}
    environment = Environment(loader=FileSystemLoader(FOLDER / "templates"), autoescape=False, **options)
    environment.filters["cell"] = lambda text: str(text).replace("|", r"\|")
    given = {
        "commands": commands(command, "workbench"),
        "keys": KEYS,
        "thresholds": rows("judging.thresholds", EndToEndThresholds),
        "gate": rows("gate", GateKeys),
        "retrieval_tests": rows("gate", RetrievalTestKeys),
        "stages": list(stages()),
        "default_metrics": DEFAULT_METRICS,
        "names": [*named_examples()],
        "longest": LONGEST,
        "omitted": sorted(OMITTED),
        "unanswered": UNANSWERED,
        "metrics": list(METRICS.builtin.values()),
        "auroc": markdown(answerable_auroc).split("\n\n")[0],
        "schemas": SCHEMAS,
        "history": SCHEMA,
        "causes": CAUSES,
        "public": list(public()),
        "monitoring": monitoring(),
    }
    names = sorted(environment.list_templates(filter_func=lambda name: name.endswith(".md.j2")))
    return {FOLDER / name.removesuffix(".j2"): environment.get_template(name).render(given) for name in names}


if __name__ == "__main__":
    stale = [path for path, text in pages().items() if not path.is_file() or path.read_text("utf-8") != text]
    if sys.argv[1:] == ["--check"] and stale:
        sys.exit(f"{', '.join(f'docs/reference/{path.name}' for path in stale)}: stale; run make docs and commit")
    if sys.argv[1:] != ["--check"]:
        for path, text in pages().items():
            path.write_text(text, "utf-8")
