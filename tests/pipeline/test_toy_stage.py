"""A stage that another package registers is planned, run, stored, resumed, run on workers, timed and in the history without another edit."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXPERIMENT = """
name: toy
dataset: {kind: golden, path: HANDBOOK}
pipeline: {retrieval: {kind: bm25}}
sweep: {chunking: [{kind: fixed, size: 64}, {kind: whole}]}
metrics: [recall@5, mrr@10]
"""
Command = Callable[..., str]


@pytest.fixture
def command(tmp_path: Path, handbook_few: Path) -> Command:
    (tmp_path / "toy.yaml").write_text(EXPERIMENT.replace("HANDBOOK", str(handbook_few)))

    def run(*words: str, version: int = 1) -> str:
        path = os.pathsep.join([str(ROOT / "tests" / "plugins" / "toy"), str(ROOT)])
        environment = os.environ | {"PYTHONPATH": path, "TOY_VERSION": str(version)}
        script = "import os; from workbench.cli.main import main; print('driver', os.getpid(), flush=True); main()"
        arguments = [words[0], str(tmp_path / "toy.yaml"), "--outputs", str(tmp_path / "outputs"), *words[1:]]
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

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
    assert set(timings(outputs, "seconds_words")) == {"fixed-64-0"}
    assert set(timings(outputs, "computed_words").values()) == {1.0}
    again = command("sweep")
    assert again.count("all from the store") == 2
    assert words_of(outputs) == made
    assert set(timings(outputs, "computed_words").values()) == {0.0}
    # A change of its code is a change of its version: that stage alone is computed again, and the history says so.
    planned = command("plan", version=2).splitlines()
    assert [line.split()[:2] for line in planned if " words" in line] == [["fixed-64-0", "words"]]
    changed = command("sweep", version=2)
    assert changed.count(": words ") == 1
    history = pd.read_parquet(outputs / "history.parquet").query("configuration == 'fixed-64-0' and metric == 'mrr@10'")
    prints = [json.loads(text)["words"] for text in history["stages"]]
    assert len(prints) == 3
    assert prints[0] == prints[1] != prints[2]
    assert history["chunking"].nunique() == 1
