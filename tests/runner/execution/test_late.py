"""`pooling: late` in an experiment: one pass serves every chunking, and plan, names and timings say so."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT
from workbench.components.embedding.late_pooling import reader_of
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.core.errors import ExperimentError
from workbench.core.records import Dataset
from workbench.data.formats.golden import write_golden
from workbench.data.sources import GoldenSource
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.execution.plan import plan_experiment
from workbench.runner.experiment.read import ExperimentSpec, experiment_of

pytestmark = pytest.mark.slow

LATE = {"kind": "sentence-transformers", "pooling": "late", "max_tokens": 64}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two real pages, with titles, and their questions."""
    whole = GoldenSource(path=str(ROOT / "experiments" / "handbook")).load()
    shortest = sorted(whole.documents, key=lambda one: len(one.text))[:2]
    documents = [replace(document, title=f"Harbour page {number}") for number, document in enumerate(shortest)]
    there = {document.doc_id for document in documents}
    needs = tuple(need for need in whole.needs if {span.doc_id for span in need.alternatives} <= there)
    asked = {need.query_id for need in needs}
    queries = tuple(query for query in whole.queries if query.query_id in asked)
    qrels = tuple(qrel for qrel in whole.qrels if qrel.query_id in asked and qrel.doc_id in there)
    folder = tmp_path_factory.mktemp("pages") / "pages"
    write_golden(Dataset("pages", tuple(documents), queries, qrels, needs), folder)
    return folder


@pytest.fixture
def experiment(pages: Path) -> Callable[..., ExperimentSpec]:
    def make(**sweep: Any) -> ExperimentSpec:
        settings = {"name": "late", "dataset": {"kind": "golden", "path": str(pages)}, "pipeline": {"embedding": LATE}, "sweep": sweep}
        return experiment_of(settings | {"metrics": ["span_recall@500t", "recall@1"]}, "test")

    return make


def run(experiment: ExperimentSpec, outputs: Path) -> Outcome:
    outcome = run_experiment(experiment, outputs, lambda _: None)
    assert not outcome.failures
    return outcome


def tokens_encoded(outcome: Outcome) -> dict[str, float]:
    table = collect(outcome).timings
    return table[table["name"] == "tokens_encoded"].set_index("configuration")["value"].to_dict()


def one_pass(outcome: Outcome) -> int:
    embedder = outcome.experiment.configurations[0].embedding
    assert isinstance(embedder, SentenceTransformerEmbedder)
    return sum(reader_of(embedder).tokens(document) for document in outcome.run.dataset.documents)


FIXED = {"kind": "fixed", "size": [32, 200], "overlap": 0}


def test_one_pass_serves_all_chunkings_and_one_added_later_costs_one(experiment: Callable[..., ExperimentSpec], tmp_path: Path) -> None:
    chunking = [FIXED, {"kind": "sentence", "size": 48}, {"kind": "whole"}]
    planned = plan_experiment(experiment(chunking=chunking), tmp_path)
    outcome = run(experiment(chunking=chunking), tmp_path)
    whole = one_pass(outcome)
    assert tokens_encoded(outcome) == {
        f"{name}-window64-late": tokens for name, tokens in {"fixed-32-0": whole, "fixed-200-0": 0, "sentence-48": 0, "whole": 0}.items()
    }
    assert [one.tokens for one in planned.configurations] == [whole, 0, 0, 0]
    assert [one.truncated for one in planned.configurations] == [0, 0, 0, 0]
    table = collect(outcome).configurations.set_index("configuration")
    assert (table["truncated_tokens"] == 0).all()
    assert table["window"].isna().all()
    # Chunks of fixed-32 tile the text with the title before it: nothing is counted twice, nor left out but what no chunk holds.
    assert table.drop(index="sentence-48-window64-late")["tokens"].nunique() == 1
    added = experiment(chunking=[*chunking, {"kind": "fixed", "size": 40, "overlap": 20}])
    assert [one.tokens for one in plan_experiment(added, tmp_path).configurations] == [0, 0, 0, 0, whole]
    later = run(added, tmp_path)
    assert tokens_encoded(later) == dict.fromkeys(table.index, 0) | {"fixed-40-20-window64-late": whole}
    assert plan_experiment(added, tmp_path).complete


def test_a_configuration_alone_gets_the_vectors_that_it_gets_beside_others(
    experiment: Callable[..., ExperimentSpec], tmp_path: Path
) -> None:
    beside = run(experiment(chunking=[FIXED, {"kind": "markdown", "size": 64}]), tmp_path / "beside")
    alone = run(experiment(chunking={"kind": "markdown", "size": 64}), tmp_path / "alone")
    found, expected = (outcome.results[-1].entry("vectors") for outcome in (beside, alone))
    np.testing.assert_array_equal(found.array("vectors"), expected.array("vectors"))
    np.testing.assert_array_equal(found.array("lengths"), expected.array("lengths"))


def test_both_poolings_stand_side_by_side_under_readable_names(experiment: Callable[..., ExperimentSpec], tmp_path: Path) -> None:
    swept = experiment(chunking=FIXED, embedding=[{"pooling": "standard", "max_tokens": 64}, {"pooling": "late", "max_tokens": 64}])
    assert [one.name for one in swept.configurations] == [
        f"fixed-{size}-0-window64{pooling}" for size in (32, 200) for pooling in ("", "-late")
    ]
    outcome = run(swept, tmp_path)
    write_outputs(outcome)
    table = collect(outcome).configurations.set_index("configuration")
    assert (table["truncated_tokens"] > 0).to_dict() == {one: one == "fixed-200-0-window64" for one in table.index}
    assert table["pooling"].to_dict() == {one: "late" if one.endswith("-late") else "standard" for one in table.index}
    results = {result.configuration.name: result for result in outcome.results}
    # Questions are embedded once for both.
    assert results["fixed-32-0-window64"].entry("queries").folder == results["fixed-32-0-window64-late"].entry("queries").folder
    assert results["fixed-32-0-window64"].entry("vectors").folder != results["fixed-32-0-window64-late"].entry("vectors").folder


def test_a_chunker_that_fails_leaves_the_others_their_pass(
    experiment: Callable[..., ExperimentSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "breaks.py").write_text("def split(text):\n    raise RuntimeError('no')\n")
    monkeypatch.syspath_prepend(tmp_path)
    swept = experiment(chunking=[FIXED, {"kind": "callable", "callable": "breaks:split"}])
    outcome = run_experiment(replace(swept, allow_code=True), tmp_path / "outputs", lambda _: None)
    assert len(outcome.failures) == 1
    assert tokens_encoded(outcome) == {"fixed-32-0-window64-late": one_pass(outcome), "fixed-200-0-window64-late": 0}


def test_settings_that_late_pooling_rules_out_are_refused_when_the_experiment_is_read(experiment: Callable[..., ExperimentSpec]) -> None:
    with pytest.raises(ExperimentError) as caught:
        experiment(chunking={"kind": "fixed", "size": 64, "enrich": True})
    assert "pooling: late does not go with enrich: true" in str(caught.value)
    with pytest.raises(ExperimentError, match="embedding 'sentence-transformers' pooling is 'later'"):
        experiment(embedding={"pooling": "later"})
    with pytest.raises(ExperimentError, match="embedding 'static' has no parameter 'pooling'"):
        experiment(embedding={"kind": "static", "pooling": "late"})
    with pytest.raises(ExperimentError, match="the prompt leaves no room in its 8 tokens; choose pooling: standard"):
        experiment(embedding={"pooling": "late", "max_tokens": 8, "document_prompt": "one two three four five six seven"})
