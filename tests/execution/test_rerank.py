"""A sweep with rerankers: what it computes again when a reranker changes, and what a kill loses."""

import shutil
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.small_sweep import finished, write_experiment
from workbench.execution.local import Outcome, run_experiment
from workbench.experiment.read import read_experiment

pytestmark = pytest.mark.slow

EXPERIMENT = """
name: reranked
dataset: {kind: golden, path: HANDBOOK, split: dev}
pipeline: {chunking: {kind: fixed, size: 64}, retrieval: {kind: RETRIEVER, k: 5}}
sweep: {rerank: RERANKERS}
metrics: [span_recall@5, ndcg@10, recall@5]
"""
SWEEP = """
import sys
from pathlib import Path
from workbench.execution.local import run_experiment
from workbench.experiment.read import read_experiment
import workbench.reranking.late_interaction as late
# Batches of two texts, so that there are many commits.
late._TEXTS = 2
run_experiment(read_experiment(Path(sys.argv[1])), Path(sys.argv[2]), lambda _: None)
"""


@pytest.fixture(autouse=True)
def _one_timed_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time one question instead of 50, since these tests are not about seconds."""
    monkeypatch.setattr("workbench.execution.latency.QUESTIONS", 1)


def write(path: Path, handbook: Path, retriever: str, rerankers: str) -> Path:
    settings = EXPERIMENT.replace("RETRIEVER", retriever).replace("RERANKERS", rerankers)
    return write_experiment(settings, handbook, path)


def cached(outputs: Path) -> list[tuple[int, bytes, bytes]]:
    path = outputs / ".store" / "vectors.sqlite"
    if not path.exists():
        return []
    connection = sqlite3.connect(path, timeout=30)
    try:
        return connection.execute("SELECT rowid, key, vector FROM checked_vectors ORDER BY rowid").fetchall()
    except sqlite3.OperationalError:  # the table is not made yet
        return []
    finally:
        connection.close()


def timings(folder: Path) -> dict[tuple[str, str], float]:
    table = pd.read_parquet(folder / "timings.parquet")
    return {(row.configuration, row.name): row.value for row in table.itertuples(index=False)}


def swept(experiment: Path) -> Outcome:
    """Run an experiment into `outputs` beside its file, without notebooks and report."""
    return run_experiment(read_experiment(experiment), experiment.parent / "outputs", lambda _: None)


def test_a_changed_reranker_embeds_nothing_and_a_larger_pool_scores_only_new_pairs(tmp_path: Path, handbook_few: Path) -> None:
    outputs, outcomes = tmp_path / "outputs", list[Outcome]()

    def sweep(rerankers: str) -> int:
        """Run the experiment with these rerankers and return the number of new rows of the cache."""
        before = len(cached(outputs))
        outcomes.append(swept(write(tmp_path / "reranked.yaml", handbook_few, "dense", rerankers)))
        return len(cached(outputs)) - before

    assert sweep("[none]") > 0
    questions = outcomes[0].results[0].ranked("hits")["query"].nunique()
    for rerankers, pairs in (
        ("[none, {kind: late-interaction, pool: 5}]", questions * 5),
        ("[none, {kind: late-interaction, pool: 8}]", questions * 3),
        ("[none, {kind: mmr, pool: 20, relevance: 0.5}]", 0),
        ("[none, {kind: mmr, pool: 20, relevance: 0.9}]", 0),
    ):
        assert sweep(rerankers) == pairs, rerankers
        without = outcomes[-1].results[0]
        assert not any(entry.computed for entries in without.entries.values() for entry in entries.values())
        # A larger pool can need a deeper ranking, but never another vector.
        embedding = [outcomes[-1].results[1].entry(stage) for stage in ("chunks", "vectors", "queries", "index")]
        assert not any(entry.computed for entry in embedding)


def test_both_arms_have_the_same_chunks_in_the_pool_and_the_tail(tmp_path: Path, handbook_few: Path) -> None:
    outcome = finished(write(tmp_path / "reranked.yaml", handbook_few, "bm25", "[none, {kind: late-interaction, pool: 6}]"))
    without, reranked = (result.ranked("hits") for result in outcome.results)
    for query, rows in without.groupby("query"):
        other = reranked[reranked["query"] == query].sort_values("rank")
        before, after = rows.sort_values("rank")["chunk"].tolist(), other["chunk"].tolist()
        assert set(before[:6]) == set(after[:6])
        assert before[6:] == after[6:]
    assert any(without["chunk"].to_numpy() != reranked["chunk"].to_numpy())
    seconds = timings(tmp_path / "outputs" / "reranked")
    assert ("fixed-64-0-late_interaction", "latency_rerank_p50") in seconds, seconds


def test_a_sweep_killed_while_it_reranks_loses_the_batch_in_hand_at_most(
    tmp_path: Path, handbook_few: Path, start: Callable[..., Any]
) -> None:
    experiment = write(tmp_path / "reranked.yaml", handbook_few, "bm25", "[none, {kind: late-interaction, pool: 30}]")
    (tmp_path / "undisturbed").mkdir()
    undisturbed = swept(Path(shutil.copy(experiment, tmp_path / "undisturbed")))
    outputs, expected = tmp_path / "outputs", cached(tmp_path / "undisturbed" / "outputs")
    kept: list[tuple[int, bytes, bytes]] = []
    for share in (0.1, 0.5):
        process, deadline = start(SWEEP, experiment, outputs), time.monotonic() + 120
        while len(cached(outputs)) < share * len(expected) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL
        assert cached(outputs)[: len(kept)] == kept, "a scored pair was scored again"
        kept = cached(outputs)
        assert share * len(expected) <= len(kept) < len(expected)
    resumed = swept(experiment)
    rows = cached(outputs)
    assert rows[: len(kept)] == kept, "a scored pair was scored again"
    scores, wanted = ({key: np.frombuffer(vector, "<f4")[1] for _, key, vector in table} for table in (rows, expected))
    assert scores == pytest.approx(wanted, abs=1e-5)
    for found, other in zip(resumed.results, undisturbed.results, strict=True):
        pd.testing.assert_frame_equal(found.ranked("hits"), other.ranked("hits"), atol=1e-5)
        pd.testing.assert_frame_equal(found.scores_table, other.scores_table, atol=1e-5)


def test_a_reranker_that_fails_is_one_line_for_its_configuration_alone(tmp_path: Path, handbook_few: Path) -> None:
    absent = "{kind: endpoint, model: m, base_url: 'http://127.0.0.1:9/v1', retries: 0, timeout: 2}"
    outcome = finished(write(tmp_path / "reranked.yaml", handbook_few, "bm25", f"[none, {absent}]"))
    table = pd.read_parquet(outcome.folder / "configurations.parquet").set_index("configuration")
    assert pd.isna(table["error"].iloc[0])
    assert "rerank 'endpoint': m at http://127.0.0.1:9/v1 failed 1 times, the last time with" in table["error"].iloc[1]


@pytest.mark.parametrize("retriever", ["bm25", "dense"])
def test_the_plan_of_a_reranked_configuration_loads_no_model_and_knows_what_is_stored(
    tmp_path: Path, handbook_few: Path, retriever: str, run_python: Callable[..., str]
) -> None:
    experiment = write(tmp_path / "reranked.yaml", handbook_few, retriever, "[none, {kind: late-interaction, pool: 5}]")
    script = """
import sys
from pathlib import Path
from workbench.execution.plan import plan_experiment
from workbench.experiment.read import read_experiment
plan = plan_experiment(read_experiment(Path(sys.argv[1])), Path(sys.argv[2]))
print(plan.complete, [each.error for each in plan.configurations], *(name for name in ("torch", "openvino") if name in sys.modules))
"""
    assert run_python(script, experiment, tmp_path / "outputs") == "False ['', '']"
    if retriever == "bm25":
        swept(experiment)
        assert run_python(script, experiment, tmp_path / "outputs") == "True ['', '']"
