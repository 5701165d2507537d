"""A stage of another package is planned, run, stored, resumed, run on workers, timed, in the history and a table without another edit."""

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tests.conftest import ROOT
from tests.forked import Forked
from workbench.report.results.run_tables import RunTables

pytestmark = pytest.mark.slow

EXPERIMENT = """
name: toy
dataset: {kind: golden, path: HANDBOOK}
pipeline: {retrieval: {kind: bm25}}
sweep: {chunking: [{kind: fixed, size: 64}, {kind: whole}]}
metrics: [recall@5, mrr@10]
"""
SCRIPT = """
import os, sys
sys.path.insert(0, os.environ["PYTHONPATH"])
from workbench.cli.main import main
print("driver", os.getpid(), flush=True)
main()
"""
Command = Callable[..., str]


@pytest.fixture
def command(tmp_path: Path, handbook_few: Path, fork: Callable[..., Forked]) -> Command:
    (tmp_path / "toy.yaml").write_text(EXPERIMENT.replace("HANDBOOK", str(handbook_few)))

    def run(*words: str, version: int = 1) -> str:
        environment = {"PYTHONPATH": str(ROOT / "tests" / "plugins" / "toy"), "TOY_VERSION": str(version)}
        arguments = [words[0], tmp_path / "toy.yaml", "--outputs", tmp_path / "outputs", *words[1:]]
        process = fork(SCRIPT, *arguments, env=environment)
        out, err = process.communicate(300)
        assert process.returncode == 0, err
        return out + err

    return run


def words_of(outputs: Path) -> dict[str, str]:
    """The process id that computed each stored result of the stage."""
    made = outputs.glob(".store/words/*/made.json")
    return {path.parent.name: str(json.loads(path.read_text())["pid"]) for path in made}


def timings(outputs: Path, name: str) -> dict[str, float]:
    table = pd.read_parquet(outputs / "toy" / "timings.parquet")
    return table[table["name"] == name].set_index("configuration")["value"].to_dict()


def test_a_registered_stage_is_planned_run_on_workers_stored_resumed_timed_and_remembered(command: Command, tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    assert command("plan").count("all") == 2
    assert not words_of(outputs)
    swept = command("sweep", "--jobs", "2")
    made = words_of(outputs)
    assert len(made) == 1
    assert "workers: 2" in swept
    assert swept.split()[1] not in made.values(), "the driver computed it"
    assert set(timings(outputs, "seconds_words")) == {"fixed-64-0-bm25"}
    assert set(timings(outputs, "computed_words").values()) == {1.0}
    tables = RunTables.read(outputs / "toy")
    words, chunks = tables.of("chunk_words", "fixed-64-0-bm25"), tables.configurations.set_index("configuration")["chunks"]
    assert words["chunks"].sum() == chunks["fixed-64-0-bm25"]
    assert words["words"].between(1, 64).all()
    assert set(tables.table("chunk_words")["configuration"]) == {"fixed-64-0-bm25"}
    again = command("sweep")
    assert again.count("all from the store") == 2
    assert words_of(outputs) == made
    assert set(timings(outputs, "computed_words").values()) == {0.0}
    # A change of its code is a change of its version: that stage alone is computed again, and the history says so.
    planned = command("plan", version=2).splitlines()
    assert [line.split()[:2] for line in planned if " words" in line] == [["fixed-64-0-bm25", "words"]]
    changed = command("sweep", "--verbose", version=2)
    assert changed.count(": words ") == 1
    history = pd.read_parquet(outputs / "history.parquet").query("configuration == 'fixed-64-0-bm25' and metric == 'mrr@10'")
    prints = [json.loads(text)["words"] for text in history["stages"]]
    assert len(prints) == 3
    assert prints[0] == prints[1] != prints[2]
    assert history["chunking"].nunique() == 1
