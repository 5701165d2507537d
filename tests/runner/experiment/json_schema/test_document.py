"""The schema accepts what the reader of experiments accepts, and refuses unknown keys, wrong kinds and wrong types as it does."""

import copy
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import assume
from jsonschema import Draft7Validator

from tests.docs.conftest import every_block, name_of
from tests.fuzzing import check_examples, few_or_many
from tests.lab_server import WORKBENCH
from tests.wild_experiments import BASES, places, wild_settings
from workbench.cli.main import main
from workbench.components.registry import CHUNKERS
from workbench.core.errors import WorkbenchError
from workbench.runner.experiment.components import unusable
from workbench.runner.experiment.file import KEYS
from workbench.runner.experiment.json_schema import DRAFT, EDITOR_LINE, SCHEMA_FILE, experiment_schema, schema_text
from workbench.runner.experiment.read import experiment_of
from workbench.runner.experiment.yaml_file import plain_value

ROOT = Path(__file__).parents[4]
SHIPPED = sorted((ROOT / "experiments").glob("*.yaml"))
DOCUMENTED = [(name_of(page), text) for page, text in every_block("yaml") if "name" in yaml.safe_load(text)]
FULL = {
    "name": "full",
    "dataset": {"kind": "golden", "path": "experiments/handbook", "split": "dev", "recurrences": True, "max_file_mb": 8},
    "pipeline": {
        "chunking": {"size": 128},
        "embedding": {"kind": "static", "dimensions": 64},
        "retrieval": {
            "kind": "hybrid",
            "retrievers": {"dense": {}, "words": {"kind": "bm25", "k1": 0.9}, "bm25": None},
            "weights": {"dense": 0.7},
        },
        "rewrite": {"kind": "rm3"},
        "rerank": "none",
        "context": {"budget": 900, "order": "ends"},
        "answering": {"kind": "extractive", "sentences": 2},
    },
    "sweep": {
        "chunking": [{"size": [128, 256]}, {"kind": "semantic", "size": 256}, {"kind": ["sentence", "recursive"], "size": 128}],
        "retrieval": [{"k": 20}, {"kind": "bm25", "rewrite": ["none", {"kind": "rm3"}], "k": 20}],
        "context": {"order": ["rank", "reversed"]},
    },
    "conditions": ["none", "gold", "retrieved", "injection"],
    "repeats": 2,
    "limits": {"calls": 10, "tokens": 1000},
    "judging": {
        "claims": {"kind": "sentences"},
        "support": {"embedding": {"kind": "static"}},
        "conditions": ["retrieved"],
        "thresholds": {"faithfulness": 0.9},
    },
    "metrics": ["recall@5", "span_recall@2000t", "token_f1", "answer_relevance"],
    "primary": "recall@5",
    "smallest_difference": 0.05,
    "slices": [["type", "domain"]],
    "gate": {
        "rules": ["recall@5 >= 0.7", {"rule": "token_f1 >= 0.2", "kind": "inference"}],
        "tolerance": "5%",
        "retrieval_tests": [{"k": 5}, {"query": "q7", "k": 3, "document": "travel", "absent": True}],
    },
    "spans": "exact",
}
del FULL["pipeline"]["rewrite"], FULL["pipeline"]["rerank"]  # type: ignore[attr-defined]  # retrieval names them
WITH_JUDGES = {
    "name": "judged",
    "dataset": {"kind": "golden", "path": "experiments/handbook"},
    "pipeline": {
        "retrieval": {"kind": "dense", "k": 5, "deliver": {"tokens": 500}},
        "rerank": {"kind": "mmr"},
        "answering": {"kind": "extractive"},
    },
    "judging": {"support": {"kind": "overlap"}, "relevance": {"kind": "overlap", "embedding": {"kind": "static"}}},
}
TARGETS = {
    "name": "targets",
    "dataset": {"kind": "golden", "path": "experiments/handbook"},
    "targets": [
        {"kind": "http", "name": "service", "url": "http://localhost:9", "preset": "query", "timeout": 5},
        {"kind": "pipeline", "name": "ours", "chunker": {"kind": "fixed", "size": 64}, "embedder": {"kind": "static"}},
        {"kind": "callable", "name": "mine", "search": "app.rag:search", "hits": "ids"},
    ],
    "metrics": ["recall@5"],
}
LISTED = {
    "name": "listed",
    "dataset": {"kind": "golden", "path": "experiments/handbook"},
    "pipeline": {"chunking": {"kind": "sentence"}, "retrieval": {"k": 20}},
    "configurations": [
        {"chunking": {"size": 128}},
        {"name": "current", "chunking": {"kind": "fixed", "size": 256}, "retrieval": {"kind": "bm25"}, "rerank": {"kind": "mmr"}},
        {"name": "answers", "chunking": {"kind": "whole"}, "rerank": None, "context": {"budget": 500}, "answering": {"kind": "extractive"}},
    ],
    "exclude": ["ans*"],
    "baseline": "current",
}
OWN = [*BASES, FULL, WITH_JUDGES, TARGETS, LISTED]
VALID = [*OWN, *(plain_value(path.read_text("utf-8")) for path in SHIPPED)]


@pytest.fixture(scope="module", autouse=True)
def _data() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_DATA", "data")
        yield


@pytest.fixture(scope="module")
def schema() -> Draft7Validator:
    return Draft7Validator(experiment_schema())


# Their keys are free, and what they name is checked after everything else.
FREE = ("weights", "arguments")


def is_read(settings: dict[str, Any]) -> bool:
    try:
        experiment_of(settings, "x.yaml")
    except WorkbenchError:
        return False
    return True


def faults(schema: Draft7Validator, settings: Any) -> list[str]:
    return [f"{list(error.absolute_path)}: {error.message[:200]}" for error in schema.iter_errors(settings)]


def test_it_is_valid_and_refers_to_nothing_outside_itself() -> None:
    written = experiment_schema(plugins=False)
    Draft7Validator.check_schema(written)
    text = schema_text(written)
    references = {line.split('"')[3] for line in text.splitlines() if '"$ref"' in line}
    assert references
    assert all(target.startswith("#/definitions/") for target in references)
    assert written["$schema"] == DRAFT
    assert '"$id"' not in text
    # Every reference leads somewhere.
    for target in references:
        place: Any = written
        for step in target.removeprefix("#/").split("/"):
            place = place[step]


def test_it_has_every_key_with_its_meaning() -> None:
    published = experiment_schema(plugins=False)
    assert {key: part["description"] for key, part in published["properties"].items()} == KEYS
    assert {part["const"] for part in published["definitions"]["chunking"]["properties"]["kind"]["anyOf"]} == set(CHUNKERS.builtin)


def test_no_key_of_an_experiment_is_for_a_secret_or_permits_code() -> None:
    keys = re.findall(r'"(\w+)": ', schema_text(experiment_schema(plugins=False)))
    assert {key for key in keys if re.search("api_?key|secret|password|credential|allow", key)} == {"api_key_env", "allow_pickle"}


def test_valid_experiments_are_accepted(schema: Draft7Validator) -> None:
    assert [(settings["name"], is_read(settings), faults(schema, settings)) for settings in VALID] == [
        (each["name"], True, []) for each in VALID
    ]


def test_experiments_of_the_docs_are_accepted(schema: Draft7Validator) -> None:
    assert {f"{page}: {text}": found for page, text in DOCUMENTED if (found := faults(schema, plain_value(text)))} == {}


def test_shipped_experiments_name_the_schema_that_the_command_writes_beside_them() -> None:
    assert {path.read_text("utf-8").splitlines()[0] for path in SHIPPED} == {EDITOR_LINE}


CHUNKING = {"pipeline": {"chunking": {"kind": "fixed", "size": 256}}}
WRONG: dict[str, dict[str, Any]] = {
    "an unknown key": {"swep": {}},
    "an unknown stage": {"pipeline": {"chunkin": {"kind": "whole"}}},
    "an unknown field": {"pipeline": {"chunking": {"kind": "fixed", "size": 256, "overlapp": 8}}},
    "an unknown field of a swept stage's default": CHUNKING
    | {"sweep": {"chunking": [{"kind": "whole"}]}, "pipeline": {"chunking": {"zzz": 1}}},
    "an unknown field in a sweep": {"sweep": {"chunking": [{"kind": "sentence", "size": 256, "overlap": 0, "zzz": 1}]}},
    "an unknown kind": {"pipeline": {"chunking": {"kind": "fixd", "size": 256}}},
    "a missing field": {"pipeline": {"chunking": {"kind": "fixed"}}},
    "a text for a number": {"pipeline": {"chunking": {"kind": "fixed", "size": "big"}}},
    "an empty model": {"pipeline": {"embedding": {"model": ""}}},
    "a quoted number for a strict field": {"pipeline": {"context": {"budget": "500"}}},
    "a number for a text": {"dataset": {"kind": "golden", "path": 5}},
    "true for a number": {"pipeline": {"retrieval": {"kind": "dense", "k": True}}},
    "true for a number inside": {"pipeline": {"retrieval": {"kind": "dense", "deliver": {"tokens": True}}}},
    "a negative size": {"pipeline": {"chunking": {"kind": "fixed", "size": -5}}},
    "a negative size in a grid": {"sweep": {"chunking": {"kind": "fixed", "size": [128, -5]}}},
    "a list without a sweep": {"pipeline": {"chunking": {"kind": "fixed", "size": [128, 256]}}},
    "an unknown stage of a listed configuration": {"configurations": [{"chunkin": {"kind": "whole"}}]},
    "an unknown field of a listed configuration": {"configurations": [{"chunking": {"kind": "whole", "zzz": 1}}]},
    "no listed configuration": {"configurations": []},
    "a text for a list": {"exclude": "fixed-*"},
    "an unknown condition": {"conditions": ["retrieved", "golden"]},
    "no retrieved condition": {"conditions": ["none", "gold"]},
    "an unknown metric": {"metrics": ["recal@5"]},
    "a metric without its cut": {"primary": "recall"},
    "no metrics": {"metrics": []},
    "a name with capitals": {"name": "My experiment"},
    "the name of the history": {"name": "history.x"},
    "no dataset": {"dataset": None},
    "an unknown judge": {"pipeline": {"answering": {"kind": "extractive"}}, "judging": {"support": {"kind": "overlp"}}},
    "an unknown threshold": {"pipeline": {"answering": {"kind": "extractive"}}, "judging": {"thresholds": {"faith": 0.5}}},
    "an unknown key of the gate": {"gate": {"rule": []}},
    "no calls": {"limits": {"calls": 0}},
    "no repeats": {"repeats": 0},
    "an unknown definition of spans": {"spans": "exactly"},
    "a target without a name": {"targets": [{"kind": "callable", "search": "a:b"}]},
    "an unknown field of a retriever inside another": {"pipeline": {"retrieval": {"kind": "hybrid", "retrievers": {"dense": {"zzz": 1}}}}},
    "a reranker inside a retriever of another": {"pipeline": {"retrieval": {"kind": "hybrid", "retrievers": {"dense": {"rerank": None}}}}},
}


def test_typical_mistakes_are_refused(schema: Draft7Validator) -> None:
    made = {name: {"name": "x", "dataset": {"kind": "golden", "path": "experiments/handbook"}} | change for name, change in WRONG.items()}
    assert [name for name, settings in made.items() if is_read(settings)] == []
    assert [name for name, settings in made.items() if not faults(schema, settings)] == []


@few_or_many(150, 5_000)
def test_it_is_never_stricter_than_the_reader(schema: Draft7Validator, examples: int) -> None:
    def check(settings: dict[str, Any]) -> None:
        assume(not list(unusable(settings)))
        if is_read(settings):
            assert not faults(schema, settings)

    check_examples(examples, wild_settings(VALID), check)


@pytest.mark.slow
@pytest.mark.parametrize("settings", OWN, ids=lambda settings: settings["name"])
def test_no_value_in_another_form_is_refused_by_the_schema_alone(schema: Draft7Validator, settings: dict[str, Any]) -> None:
    for path in places(settings):
        for value in (None, "none", "8", "yes", 1, 0, 8.0, [], ["x"], {}, {"kind": "none"}, True):
            changed = replaced(settings, path, value)
            if is_read(changed):
                assert not faults(schema, changed), (path, value)


@pytest.mark.parametrize("settings", OWN, ids=lambda settings: settings["name"])
def test_unknown_keys_and_wrong_types_are_refused_at_every_place(schema: Draft7Validator, settings: dict[str, Any]) -> None:
    tried = 0
    for path in places(settings):
        for changed in (replaced(settings, path, {"zzz": 1}), with_key(settings, path)):
            if path[-1] not in FREE and changed and not is_read(changed):
                tried += 1
                assert faults(schema, changed), path
    assert tried > 5


@pytest.mark.slow
def test_the_command_prints_it_with_the_kinds_of_plugins() -> None:
    plugins = str(ROOT / "tests" / "plugins" / "parts")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([plugins, str(ROOT)])}
    command = [str(WORKBENCH), "schema"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    Draft7Validator.check_schema(printed)
    ours = experiment_schema(plugins=False)["definitions"]
    assert set(ours) < set(printed["definitions"])
    assert any(name.startswith("judge.") for name in set(printed["definitions"]) - set(ours))


def test_the_command_writes_it_beside_experiments(tmp_path: Path) -> None:
    target = tmp_path / "experiments" / SCHEMA_FILE
    done = CliRunner().invoke(main, ["schema", "--to", str(target)])
    assert (done.exit_code, done.output) == (0, f"wrote {target}\n")
    assert target.read_text("utf-8") == schema_text()


def replaced(settings: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """The settings with another value at a path."""
    changed = copy.deepcopy(settings)
    place: Any = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return changed


def with_key(settings: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any] | None:
    """The settings with an unknown key in the mapping at a path, or None if there is none."""
    place: Any = settings
    for step in path:
        place = place[step]
    return replaced(settings, path, place | {"zzz": 1}) if isinstance(place, dict) else None
