"""Runs of versions that named configurations otherwise: what follows from their settings is found under the present names."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest

from workbench.gate.baseline import read_baseline
from workbench.gate.check import check_gate
from workbench.gate.rules import GateSettings
from workbench.report.analysis.judges import labelled_tasks
from workbench.report.analysis.labels import labelled_run, lines_to_label
from workbench.report.results.history import append, changes, history_path, read_history
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import Outcome
from workbench.runner.experiment.read import experiment_of_run

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
# As if the sweep had varied another setting, with a present name for another configuration.
FORMER = {"fixed-16-0": "fixed-32-0", "fixed-32-0": "fixed-64-0", "fixed-64-0": "mine"}


def under_other_names(run: RunTables, names: Mapping[str, str]) -> RunTables:
    """The run as if its configurations had other names."""

    def renamed(table: pd.DataFrame) -> pd.DataFrame:
        return table.assign(**{column: table[column].replace(names) for column in ("configuration", "a", "b") if column in table})

    manifest = json.loads(json.dumps(run.manifest))
    for place in (manifest, manifest["fingerprints"]):
        for key in ("configurations", "settings"):
            if key in place:
                place[key] = {names.get(name, name): value for name, value in place[key].items()}
    manifest["encoders"] = {names.get(name, name): value for name, value in manifest["encoders"].items()}
    return RunTables(manifest, {name: lambda _, name=name: renamed(run.table(name)) for name in run.sources})


@pytest.fixture(scope="module")
def run(outcome_of_sizes: Callable[..., Outcome]) -> RunTables:
    return collect(outcome_of_sizes())


@pytest.fixture(scope="module")
def former(run: RunTables, tmp_path_factory: pytest.TempPathFactory) -> RunTables:
    folder = tmp_path_factory.mktemp("former")
    under_other_names(run, FORMER).write(folder)
    return RunTables.read(folder)


def test_a_configuration_is_found_by_its_settings(run: RunTables, former: RunTables) -> None:
    for name, settings in run.configurations_settings.items():
        assert former.name_of(settings) == FORMER[name]
    unknown = dict(run.configurations_settings["fixed-16-0"]) | {"rerank": {"kind": "mmr"}}
    assert former.name_of(unknown, "itself") == "itself"
    # A setting that an older version did not have is no difference.
    older = {stage: part and {key: value for key, value in part.items() if key != "neighbours"} for stage, part in settings.items()}
    assert former.name_of(older) == FORMER[name]


def test_the_experiment_of_a_run_has_its_names(run: RunTables, former: RunTables) -> None:
    made = experiment_of_run(former).configurations
    assert [(each.name, each.chunking.name) for each in made] == [(FORMER[name], name) for name in run.names]


def test_the_history_has_the_names_of_the_last_run(run: RunTables, former: RunTables, tmp_path: Path) -> None:
    for number, each in enumerate((former, former, run)):
        append(each, tmp_path, NOON + timedelta(days=number))
    history = read_history(history_path(tmp_path))
    assert set(history["configuration"]) == set(run.names)
    for name in run.names:
        rows = changes(history, run.name, name, str(run.primary))
        assert len(rows) == 3
        assert rows["changed"].tolist() == [""] * 3
        assert rows["value"].nunique() == 1


def test_the_run_of_a_baseline_is_compared_under_its_former_name(run: RunTables, former: RunTables) -> None:
    name = "fixed-32-0"
    assert read_baseline(former.folder, name, run.configurations_settings[name]).configuration == FORMER[name]
    report = check_gate(run, GateSettings(configuration=name, baseline=former.folder))
    assert report.exit_code in (0, 4)
    assert report.differences is not None
    assert report.differences.settings == ()


def test_labels_drawn_under_a_former_name_are_of_the_items_that_they_were(judged_run: RunTables) -> None:
    first, *_ = judged_run.names
    lines = lines_to_label(under_other_names(judged_run, {first: "former"}), "support", "retrieved", 20, seed=1)
    labelled = [replace(line, label="supported", annotator="Ada") for line in lines]
    assert {line.configuration for line in labelled} == {"former", *judged_run.names[1:]}
    found = labelled_run(judged_run, "support", "retrieved", labelled)
    assert found.elsewhere == ()
    assert len(found.labelled) == len(labelled)
    table = labelled_tasks(judged_run, labelled, "retrieved").labels
    assert set(table["configuration"]) == set(judged_run.names)
    edited = [replace(line, item_id="another text") for line in labelled]
    assert len(labelled_run(judged_run, "support", "retrieved", edited).elsewhere) == len(labelled)
