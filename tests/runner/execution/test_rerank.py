"""A sweep with rerankers: what it computes again when a reranker changes, and what a kill loses."""

import shutil
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.components.reranking.conftest import RerankServer, save_model
from tests.forked import Forked
from tests.loopback import serving
from tests.small_sweep import finished, write_experiment
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.experiment.read import read_experiment

pytestmark = pytest.mark.slow

EXPERIMENT = """
name: reranked
dataset: {kind: golden, path: HANDBOOK, split: dev}
pipeline: {chunking: {kind: fixed, size: 64}, embedding: {kind: hashed, dimensions: 64}, retrieval: {kind: RETRIEVER, k: 5}}
sweep: {rerank: RERANKERS}
metrics: [span_recall@5, ndcg@10, recall@5]
"""
SWEEP = """
import sys
from pathlib import Path
from workbench.runner.execution.local import run_experiment
from workbench.runner.experiment.read import read_experiment
run_experiment(read_experiment(Path(sys.argv[1])), Path(sys.argv[2]), lambda _: None)
"""


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A reranker on a server in this process, which commits the scores of two texts at once."""
    for new_server in serving(monkeypatch, RerankServer):
        yield f"kind: endpoint, model: m, base_url: '{new_server().address}', batch_texts: 2"


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


def test_a_changed_reranker_embeds_nothing_and_a_larger_pool_scores_only_new_pairs(
    tmp_path: Path, handbook_few: Path, endpoint: str
) -> None:
    outputs, outcomes = tmp_path / "outputs", list[Outcome]()

    def sweep(rerankers: str) -> int:
        """Run the experiment with these rerankers and return the number of new rows of the cache."""
        before = len(cached(outputs))
        outcomes.append(swept(write(tmp_path / "reranked.yaml", handbook_few, "dense", rerankers)))
        return len(cached(outputs)) - before

    assert sweep("[none]") > 0
    questions = outcomes[0].results[0].ranked("hits")["query"].nunique()
    for rerankers, pairs in (
        (f"[none, {{{endpoint}, pool: 5}}]", questions * 5),
        (f"[none, {{{endpoint}, pool: 8}}]", questions * 3),
        ("[none, {kind: mmr, pool: 20, relevance: 0.5}]", 0),
        ("[none, {kind: mmr, pool: 20, relevance: 0.9}]", 0),
    ):
        assert sweep(rerankers) == pairs, rerankers
        without = outcomes[-1].results[0]
        assert not any(entry.computed for entries in without.entries.values() for entry in entries.values())
        # A larger pool can need a deeper ranking, but never another vector.
        embedding = [outcomes[-1].results[1].entry(stage) for stage in ("chunks", "vectors", "queries", "index")]
        assert not any(entry.computed for entry in embedding)


def test_both_arms_have_the_same_chunks_in_the_pool_and_the_tail(tmp_path: Path, handbook_few: Path, endpoint: str) -> None:
    outcome = finished(write(tmp_path / "reranked.yaml", handbook_few, "bm25", f"[none, {{{endpoint}, pool: 6}}]"))
    without, reranked = (result.ranked("hits") for result in outcome.results)
    for query, rows in without.groupby("query"):
        other = reranked[reranked["query"] == query].sort_values("rank")
        before, after = rows.sort_values("rank")["chunk"].tolist(), other["chunk"].tolist()
        assert set(before[:6]) == set(after[:6])
        assert before[6:] == after[6:]
    assert any(without["chunk"].to_numpy() != reranked["chunk"].to_numpy())
    seconds = timings(tmp_path / "outputs" / "reranked")
    assert ("fixed-64-0-bm25-k5-endpoint-m-pool6", "latency_rerank_p50") in seconds, seconds


def test_a_sweep_killed_while_it_reranks_loses_the_batch_in_hand_at_most(
    tmp_path: Path, handbook_few: Path, fork: Callable[..., Forked], endpoint: str
) -> None:
    experiment = write(tmp_path / "reranked.yaml", handbook_few, "bm25", f"[none, {{{endpoint}, pool: 20}}]")
    (tmp_path / "undisturbed").mkdir()
    undisturbed = swept(Path(shutil.copy(experiment, tmp_path / "undisturbed")))
    outputs, expected = tmp_path / "outputs", cached(tmp_path / "undisturbed" / "outputs")
    kept: list[tuple[int, bytes, bytes]] = []
    for share in (0.1, 0.5):
        process, deadline = fork(SWEEP, experiment, outputs), time.monotonic() + 120
        while len(cached(outputs)) < share * len(expected) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        process.kill()
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


def test_the_plan_of_a_reranked_configuration_loads_no_model_and_knows_what_is_stored(
    tmp_path: Path, handbook_few: Path, fork: Callable[..., Forked]
) -> None:
    reranker = f"{{kind: late-interaction, model: {save_model(tmp_path / 'model', 'BertModel')}, pool: 5}}"
    dense = write(tmp_path / "dense.yaml", handbook_few, "dense", f"[none, {reranker}]")
    dense.write_text(dense.read_text().replace("hashed, dimensions: 64", "sentence-transformers"))
    bm25 = write(tmp_path / "reranked.yaml", handbook_few, "bm25", f"[none, {reranker}]")
    script = """
import sys
from pathlib import Path
from workbench.runner.execution.plan import plan_experiment
from workbench.runner.experiment.read import read_experiment
plan = plan_experiment(read_experiment(Path(sys.argv[1])), Path(sys.argv[2]))
print(plan.complete, [each.error for each in plan.configurations], *(name for name in ("torch", "openvino") if name in sys.modules))
"""
    for experiment in (dense, bm25):
        assert fork(script, experiment, tmp_path / "outputs").output() == "False ['', '']"
    swept(bm25)
    assert fork(script, bm25, tmp_path / "outputs").output() == "True ['', '']"
