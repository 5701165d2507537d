import json
import shutil
from dataclasses import replace

import pandas as pd
import pytest

from workbench.api.results import load
from workbench.components.embedding.static import StaticEmbedder
from workbench.core.errors import InputError, StoreError
from workbench.report.render.html import write_report
from workbench.report.sentences import screened_lines
from workbench.report.topics.registry import summary_lines
from workbench.report.views import ComparisonView
from workbench.runner.execution.local import context_of, run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.execution.plan import plan_experiment
from workbench.runner.execution.screening import as_screened, proxies_of, proxy_of, screen
from workbench.runner.experiment.read import experiment_of

FIXED = [{"kind": "fixed", "size": [8, 128]}, {"kind": "hierarchical", "child": 64, "parent": 256}]


@pytest.fixture
def spec(handbook_part):
    """An experiment on the part of the handbook; what is given replaces its keys."""

    def make(chunking=FIXED, retrieval=None, **keys):
        sweep = {"chunking": chunking} | ({"retrieval": retrieval} if retrieval else {}) | keys.pop("sweep", {})
        dataset = {"kind": "golden", "path": str(handbook_part)}
        settings = {"name": "screened", "dataset": dataset, "sweep": sweep, "metrics": ["span_recall@500t"], **keys}
        return experiment_of(settings, "test")

    return make


@pytest.fixture(scope="module")
def outputs(outcome, tmp_path_factory):
    """Outputs in which all but the chunks of 8 tokens are embedded already, for all tests here."""
    folder = tmp_path_factory.mktemp("screening") / "outputs"
    shutil.copytree(outcome.run.workspace.outputs, folder)
    return folder


def silent(_):
    return None


def kept(experiment):
    return [one.name for one in experiment.configurations]


@pytest.mark.slow
def test_clearly_worse_configurations_are_screened_out_and_never_embedded(spec, outcome, tmp_path):
    outputs = shutil.copytree(outcome.run.workspace.outputs, tmp_path / "outputs")
    said: list[str] = []
    whole = spec()
    found = screen(whole, outputs, said.append)
    assert kept(found) == ["fixed-128-0", "hierarchical-64-256"]
    assert [line.partition(":")[0] for line in said] == [f"screening [{n}/3] {name}" for n, name in enumerate(kept(whole), 1)]
    (row,) = found.screening.dropped
    assert (row.configuration, row.proxy) == ("fixed-8-0", "static embeddings of all-MiniLM-L6-v2")
    assert row.low < row.difference < row.high < -found.screening.margin
    assert row.first in ("fixed-128-0", "hierarchical-64-256")
    lines = screened_lines(found.screening)
    assert lines[0].startswith("1 of 3 configurations screened out by static embeddings of all-MiniLM-L6-v2 on all ")
    assert "more than 0.020 behind in span_recall@500t" in lines[0]
    assert lines[1].startswith("  fixed-8-0: −0.")
    finished = run_experiment(found, outputs, silent)
    write_outputs(finished)
    planned = {one.name: one.reused for one in plan_experiment(whole, outputs).configurations}
    assert not planned["fixed-8-0"]["vectors"]
    assert all(planned["fixed-128-0"].values())


@pytest.mark.slow
def test_screened_out_configurations_are_in_the_outputs_and_in_every_summary(spec, outputs):
    finished = run_experiment(screen(spec(), outputs, silent), outputs, silent)
    run = write_outputs(finished)
    table = pd.read_parquet(finished.folder / "screening.parquet").set_index("configuration")
    assert table["kept"].to_dict() == {"fixed-8-0": False, "fixed-128-0": True, "hierarchical-64-256": True}
    assert {"proxy", "queries", "metric", "value", "first", "difference", "low", "high"} < set(table.columns)
    assert set(pd.read_parquet(finished.folder / "configurations.parquet")["configuration"]) == set(table.index[table["kept"]])
    about = json.loads((finished.folder / "manifest.json").read_text())["screening"]
    assert about["dropped"] == ["fixed-8-0"]
    assert about["queries"] == about["of"] == table["queries"].iloc[0]
    html = write_report(run, finished.folder / "report.html").read_text()
    assert "not run in full" in html
    assert "Not run in full: 1 of 3 configurations" in html
    view = ComparisonView(run)
    assert "1 of 3 configurations screened out" in str(view.overview().html)
    assert "Not run in full" in str(view.ranking().html)
    assert "fixed-8-0" in str(view.ranking().html)
    assert any(line.startswith("1 of 3 configurations screened out") for line in summary_lines(run))


def test_a_stored_screening_is_reused_and_a_killed_one_resumes(spec, outputs):
    first = screen(spec(), outputs, silent)
    said: list[str] = []
    second = screen(spec(), outputs, said.append)
    assert said == []
    assert kept(second) == kept(first)
    assert second.screening.as_json() == first.screening.as_json()
    shutil.rmtree(outputs / ".store" / "screenings")
    again = screen(spec(), outputs, said.append)
    assert [line.endswith("all from the store") for line in said] == [True] * 3
    assert again.screening.as_json() == first.screening.as_json()


@pytest.mark.slow
def test_notebooks_and_report_know_the_screening_until_a_sweep_without_it(spec, outputs):
    whole = spec()
    write_outputs(run_experiment(screen(whole, outputs, silent), outputs, silent))
    assert kept(as_screened(whole, outputs)) == ["fixed-128-0", "hierarchical-64-256"]
    assert plan_experiment(as_screened(whole, outputs), outputs).complete
    # Of another experiment under the same name nothing is known.
    other = spec(baseline="fixed-128-0")
    assert as_screened(other, outputs) == other
    assert "Not run in full" in str(load(outputs / "screened").comparison().ranking().html)
    plain = replace(whole, configurations=whole.configurations[1:])
    write_outputs(run_experiment(plain, outputs, silent))
    assert not (outputs / "screened" / "screening.parquet").exists()
    assert "screening" not in json.loads((outputs / "screened" / "manifest.json").read_text())
    assert as_screened(whole, outputs) == whole


def test_the_baseline_stays(spec, outputs):
    found = screen(spec(baseline="fixed-8-0"), outputs, silent)
    assert kept(found) == kept(spec())
    assert found.screening.dropped == ()
    assert screened_lines(found.screening)[0].startswith("Nothing was screened out by static embeddings")


def test_all_stay_where_the_proxy_cannot_tell(spec, outputs):
    near = spec([{"kind": "fixed", "size": [124, 126, 128]}])
    assert kept(screen(near, outputs, silent)) == kept(near)


def test_bm25_is_its_own_proxy_and_is_not_compared_with_vectors(spec, outputs):
    both = spec(retrieval=[{"kind": "dense"}, {"kind": "bm25"}])
    found = screen(both, outputs, silent)
    rows = {row.configuration: row for row in found.screening.rows}
    assert rows["fixed-8-0-bm25"].proxy == "the configuration itself"
    assert not rows["fixed-8-0-bm25"].kept
    assert all(row.first.endswith("bm25") == name.endswith("bm25") for name, row in rows.items())
    exactly = context_of(both, outputs)
    assert len(exactly.dataset.queries) > found.screening.of


def test_configurations_with_equal_proxies_are_screened_together(spec, outputs):
    prompts = [{"kind": "sentence-transformers"}, {"kind": "sentence-transformers", "query_prompt": "question: "}]
    found = screen(spec(sweep={"embedding": prompts}, baseline="fixed-8-0"), outputs, silent)
    assert len(found.screening.alike) == 3
    assert ("fixed-8-0", "fixed-8-0-query_prompt_question") in found.screening.alike
    # The baseline's twin stays with it.
    assert found.screening.dropped == ()
    assert "screened together: fixed-8-0 and fixed-8-0-query_prompt_question" in screened_lines(found.screening)[1]


def test_the_proxy_reads_as_much_of_a_chunk_as_the_embedder(spec):
    (one, *_) = spec(sweep={"embedding": [{"kind": "sentence-transformers", "max_tokens": 100}]}).configurations
    assert proxy_of(one).embedding == StaticEmbedder(model="all-MiniLM-L6-v2", max_tokens=98)
    (cheap, *_) = spec(sweep={"embedding": [{"kind": "static"}]}, retrieval=[{"kind": "dense", "search": "ann"}]).configurations
    assert proxy_of(cheap).embedding == cheap.embedding
    assert proxy_of(cheap).retrieval.evaluated == "exact"


def test_a_proxy_beyond_the_window_screens_nothing_out(spec, outputs):
    narrow = spec([{"kind": "fixed", "size": [32, 128, 256]}], sweep={"embedding": {"max_tokens": 16}})
    found = screen(narrow, outputs, silent)
    assert {row.first for row in found.screening.rows} == {""}
    assert kept(found) == kept(narrow)


def test_the_sample_is_seeded_and_of_answerable_questions(spec, outputs):
    proxies = proxies_of(spec(), outputs, 40)
    queries = proxies.run.dataset.queries
    assert len(queries) == 40
    assert all(query.answerable for query in queries)
    assert proxies_of(spec(), outputs, 40).run.dataset == proxies.run.dataset
    ids = {query.query_id for query in queries}
    assert {need.query_id for need in proxies.run.dataset.needs} == ids
    assert proxies.key != proxies_of(spec(), outputs, 41).key


def test_two_configurations_or_too_few_questions_are_not_screened(spec, outputs):
    said: list[str] = []
    two = spec([{"kind": "fixed", "size": [8, 128]}])
    assert screen(two, outputs, said.append) == two
    assert said == ["nothing is screened out: screening needs 3 configurations, but the experiment has 2"]
    alone = spec([{"kind": "whole"}], sweep={"embedding": {"kind": "static", "dimensions": [8, 16, 32]}})
    assert screen(alone, outputs, said.append) == alone
    assert "no two configurations share embedder and retrieval" in said[-1]
    with pytest.raises(InputError, match="--screen-queries 29 is too small; give 30 or more"):
        screen(spec(), outputs, silent, 29)


def test_a_configuration_without_a_proxy_is_kept_and_a_broken_store_is_reported(spec, outputs, tmp_path):
    broken = replace(spec([*FIXED, {"kind": "callable", "callable": "builtins:str.upper"}]), allow_code=True)
    said: list[str] = []
    found = screen(broken, outputs, said.append)
    assert "callable" in kept(found)[-1]
    assert "is run in full" in said[-1]
    (tmp_path / ".store").mkdir()
    (tmp_path / ".store" / "vectors.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError):
        screen(spec(), tmp_path, silent)
