"""The questions of users as a slice beside the others: whether both order the configurations alike."""

import json
import re
import shutil

import numpy as np
import pytest
from scipy import stats

from workbench.report.analysis.findings import findings
from workbench.report.model import Prose
from workbench.report.topics.retrieval.slices import slices

DOCUMENTS = 8


@pytest.fixture(scope="module")
def users(made, tmp_path_factory) -> str:
    """The made questions, of which those of odd facts are users'."""
    data, folder = made.data(DOCUMENTS), tmp_path_factory.mktemp("users")
    shutil.copytree(data / "documents", folder / "documents")
    rows = [json.loads(line) for line in (data / "questions.jsonl").read_text("utf-8").splitlines()]
    marked = [row | ({"source": "production"} if row["kind"] == "odd" else {}) for row in rows]
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in marked), "utf-8")
    return str(folder)


def sentences(run) -> list[str]:
    """The sentences below that on the weakest slice."""
    return [block.text for block in slices(findings(run)).blocks if isinstance(block, Prose)][1:]


def test_tau_of_a_sweep_is_that_of_its_slices(made, users) -> None:
    levels, odd = np.array([0.2, 0.4, 0.6, 0.8]), np.arange(10 * DOCUMENTS) % 2 == 1
    noise = np.random.default_rng(0).normal(0, 0.02, (4, 10 * DOCUMENTS))
    values = np.where(odd, levels[[0, 2, 1, 3]][:, None], levels[:, None]) + noise
    run = made.valued(values.tolist(), DOCUMENTS, name="users", dataset={"kind": "golden", "path": users})
    (text,) = sentences(run)
    table = run.metrics[(run.metrics["metric"] == str(run.primary)) & (run.metrics["slice"] == "source=production")]
    others = run.queries[run.queries["metric"] == str(run.primary)].merge(run.questions[["query_id", "metadata"]], on="query_id")
    others = others[~others["metadata"].str.contains("production")].groupby("configuration", sort=False)["value"].mean()
    tau = stats.kendalltau(table.set_index("configuration")["value"].reindex(others.index), others).statistic
    found = re.search(r"Order of the 4 configurations .*τ-b (\S+) \[(\S+), (\S+)\]\.", text)
    assert float(found[1]) == pytest.approx(tau, abs=0.005)
    assert tau == pytest.approx(2 / 3)
    assert float(found[2]) - 0.005 <= tau <= float(found[3]) + 0.005


def test_two_configurations_or_questions_of_one_kind_have_no_order_to_compare(made, users) -> None:
    values = [[0.1] * 10 * DOCUMENTS, [0.9] * 10 * DOCUMENTS]
    assert sentences(made.valued(values, DOCUMENTS, name="two", dataset={"kind": "golden", "path": users})) == []
    assert sentences(made.valued([*values, values[0]], DOCUMENTS)) == []
    (equal,) = sentences(made.valued([values[0]] * 3, DOCUMENTS, name="equal", dataset={"kind": "golden", "path": users}))
    assert "the same mean" in equal
