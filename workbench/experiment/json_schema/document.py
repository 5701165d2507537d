"""The JSON Schema of experiment files, for completion and checks in editors. It is made from the models that read them."""

import json
from collections.abc import Collection
from typing import Any

from workbench.context.conditions import CONDITIONS, RETRIEVED
from workbench.datasets.sources import SOURCES
from workbench.experiment.expand import STAGES
from workbench.experiment.file import ExperimentKeys, LimitKeys
from workbench.experiment.gate_keys import GateKeys
from workbench.experiment.json_schema.components import Family, builtin_only, choice, complete, definitions_of
from workbench.experiment.json_schema.fields import JsonSchema, any_of, mapping_of, model_schema, reference
from workbench.experiment.json_schema.stages import conditions_of, configurations_schema, pipeline_schema, stage_definitions, sweep_schema
from workbench.experiment.judging_keys import JUDGING_KINDS, USUAL_JUDGES
from workbench.judging.registry import JUDGES, SPLITTERS
from workbench.judging.settings import EndToEndThresholds
from workbench.metrics.registry import METRICS
from workbench.targets.registry import TARGETS

DRAFT = "http://json-schema.org/draft-07/schema#"
# Its usual name, beside the experiments, whose first line names it to editors.
SCHEMA_FILE = "experiment.schema.json"
EDITOR_LINE = f"# yaml-language-server: $schema={SCHEMA_FILE}"
_BASES = {"chunking": "Chunker", "embedding": "Embedder", "retrieval": "Retriever", "answering": "Generator"}
_CUTS = {"k": "@([1-9][0-9]{0,2}|1000)", "k or tokens": "@([1-9][0-9]{0,2}|1000|([1-9][0-9]{0,5}|1000000)t)", "none": ""}


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
    stages = list(STAGES)
    names = {"type": "array", "minItems": 1, "uniqueItems": True, "contains": {"const": RETRIEVED}, "items": {"enum": list(CONDITIONS)}}
    return {
        "pipeline": pipeline_schema(stages),
        "sweep": sweep_schema(stages),
        "configurations": configurations_schema(stages),
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
