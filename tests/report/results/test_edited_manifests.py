"""A manifest of a run that somebody edited is one line with its place and the fix, or is read as it is."""

import copy
import json
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.gated_runs import PRIMARY
from workbench.cli.main import main
from workbench.core.errors import InputError
from workbench.gate.check import check_gate
from workbench.gate.rules import Floor, GateSettings
from workbench.report.render.html import document_of, rendered
from workbench.report.results.run_tables import RunTables
from workbench.report.runs.comparison_page import RunComparison

MISSING = object()
VALUES = (MISSING, None, True, -1, 10**40, 1e308, "", "x\n```", [], [None], {}, {"x": {}})


def places(value: Any, depth: int = 3) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value, of the first two of a list or of a mapping with many."""
    for key in (
        list(value)[: 30 if depth == 3 else 2] if isinstance(value, dict) else range(min(2, len(value))) if isinstance(value, list) else ()
    ):
        yield (key,)
        if depth > 1:
            yield from ((key, *rest) for rest in places(value[key], depth - 1))


def edited(manifest: dict[str, Any], path: tuple[Any, ...], value: object) -> dict[str, Any]:
    changed = copy.deepcopy(manifest)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    if value is MISSING:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return changed


@pytest.fixture
def folder(gated_run: RunTables, tmp_path: Path) -> Path:
    place = tmp_path / "gated"
    place.mkdir()
    gated_run.write(place)
    return place


def test_every_edit_of_a_manifest_is_one_line_or_is_read(folder: Path, names: dict[str, str]) -> None:
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    settings = GateSettings(configuration=names["base"], floors=(Floor.parse(f"{PRIMARY} >= 0.5"),))
    refused = list[InputError]()
    for path in places(manifest):
        for value in VALUES:
            (folder / "manifest.json").write_text(json.dumps(edited(manifest, path, value)), "utf-8")
            try:
                check_gate(RunTables.read(folder), settings)
            except InputError as error:
                refused.append(error)
    assert len(refused) > 300
    assert all(error.fix and len(error.lines) == 1 for error in refused)


@pytest.mark.slow
def test_the_pages_of_a_run_whose_manifest_was_edited_are_one_line_or_are_made(folder: Path, gated_run: RunTables) -> None:
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    edits = [edited(manifest, path, value) for path in places(manifest) for value in VALUES]
    read = 0
    for changed in random.Random(39).sample(edits, 150):
        (folder / "manifest.json").write_text(json.dumps(changed), "utf-8")
        with suppress(InputError):
            run = RunTables.read(folder)
            rendered(document_of(run))
            rendered(RunComparison(gated_run, run).document())
            read += 1
    assert read > 20


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "3",
        "null",
        '"x"',
        "{",
        '{"a": 1, "a": 1}',
        '{"a": NaN}',
        '{"a": "\\ud800"}',
        "[" * 100_000,
        "\ufeff{}",
        '{"metrics": {}, "fingerprints": 3}',
    ],
    ids=range(12),
)
def test_what_is_no_manifest_is_one_line_of_every_command(folder: Path, content: str) -> None:
    (folder / "manifest.json").write_text(content, "utf-8")
    for command in ("gate", "checklist", "export"):
        done = CliRunner().invoke(main, [command, str(folder)], env={"GITHUB_STEP_SUMMARY": None, "GITHUB_ACTIONS": None})
        assert done.exit_code == 2, done.output
        assert done.output.count("\n") == 1
        assert "manifest.json" in done.output or "older version" in done.output


def test_the_line_names_the_value_that_was_edited(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    (folder / "manifest.json").write_text(json.dumps(edited(manifest, ("metrics", PRIMARY, "k"), "five")), "utf-8")
    with pytest.raises(InputError) as error:
        RunTables.read(folder)
    assert str(error.value) == (
        f"{folder / 'manifest.json'} is damaged: 'metrics.{PRIMARY}.k': Input should be a valid integer; "
        "run workbench sweep again: results that are in the store are reused"
    )
