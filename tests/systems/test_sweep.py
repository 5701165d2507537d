"""Targets in a sweep: what they return is ranked, scored, judged and shown beside Workbench's own configurations."""

from collections.abc import Iterator
from pathlib import Path

import ir_measures
import pandas as pd
import pytest

import workbench as wb
from tests.systems.index_target import IndexTarget
from workbench.core.text.formatting import plural
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import publish
from workbench.runner.execution.plan import plan_experiment
from workbench.runner.experiment.read import ExperimentSpec, read_experiment
from workbench.systems import registry

pytestmark = pytest.mark.slow

FAILING = "hotel"
EXPERIMENT = """
name: targets
dataset: {{kind: golden, path: {handbook}, split: dev}}
pipeline:
  chunking: {{kind: fixed, size: 128}}
  retrieval: {{kind: bm25}}
  answering: {{kind: extractive}}
targets:
  - {{kind: index, name: by-text, index: main, k: 100, answering: true}}
  - {{kind: index, name: by-positions, index: main, k: 100, form: positions}}
  - {{kind: index, name: ids-only, index: main, k: 100, form: ids, answering: true, names_sources: false}}
  - {{kind: index, name: foreign, index: main, k: 100, form: foreign, answering: true}}
  - {{kind: index, name: failing, index: main, k: 100, fails: {failing}}}
  - {{kind: index, name: given, index: main, k: 100, answering: true, given: true}}
conditions: [gold, retrieved]
metrics: [recall@5, precision@5, mrr@10, ndcg@10, hit_recall@5, span_recall@2000t, span_precision@2000t, answer_recall, support_overlap, refusal_rate]
"""


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory, handbook_part: Path) -> Iterator[ExperimentSpec]:
    folder = tmp_path_factory.mktemp("targets")
    dataset = wb.load_dataset(handbook_part, split="dev")
    pipeline = wb.Pipeline(chunking=wb.FixedChunker(size=128), retrieval=wb.BM25Retriever())
    IndexTarget.indexes["main"] = pipeline.index(dataset, folder / "index")
    file = folder / "targets.yaml"
    file.write_text(EXPERIMENT.format(handbook=handbook_part, failing=FAILING))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry._BUILTIN, "index", IndexTarget)
        yield read_experiment(file)


@pytest.fixture(scope="module")
def outcome(spec: ExperimentSpec, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    found = run_experiment(spec, tmp_path_factory.mktemp("outputs"), lambda _: None)
    assert found.failures == {}
    assert publish(found, lambda _: None, notebooks=False).errors == [
        f"the target failing did not serve {_failing(found)} of {len(found.run.query_ids)}, which are not scored (first: the index is away); "
        "run again to ask only for these"
    ]
    return found


def _failing(outcome: Outcome) -> str:
    return plural(sum(FAILING in query.text for query in outcome.run.dataset.queries), "question")


@pytest.fixture(scope="module")
def results(outcome: Outcome) -> wb.Results:
    return wb.load(outcome.folder)


def scores(results: wb.Results, configuration: str, metric: str) -> pd.DataFrame:
    table = results.queries
    rows = table[(table["configuration"] == configuration) & (table["metric"] == metric) & (table["condition"] == "retrieved")]
    return rows.set_index("query_id")[["value", "state", "reason"]]


@pytest.mark.parametrize("target", ["by-text", "by-positions"])
@pytest.mark.parametrize(
    "metric", ["recall@5", "precision@5", "mrr@10", "ndcg@10", "hit_recall@5", "span_recall@2000t", "span_precision@2000t"]
)
def test_the_same_hits_have_the_same_scores_from_a_pipeline_and_from_a_target(results, target, metric):
    own, theirs = scores(results, "fixed-128-0-bm25", metric), scores(results, target, metric)
    assert own["state"].eq("scored").any()
    pd.testing.assert_frame_equal(own, theirs, check_exact=True)


@pytest.mark.parametrize("name", ["by-text", "ids-only", "foreign", "failing"])
def test_trec_eval_on_the_run_file_of_a_target_gives_its_scores(results, outcome, name):
    run = pd.DataFrame(ir_measures.read_trec_run(str(outcome.folder / "runs" / f"{name}.trec")))
    qrels = [ir_measures.Qrel(qrel.query_id, qrel.doc_id, qrel.relevance) for qrel in outcome.run.dataset.qrels]
    for metric, measure in (("ndcg@10", ir_measures.nDCG @ 10), ("recall@5", ir_measures.R @ 5), ("mrr@10", ir_measures.RR @ 10)):
        theirs = {found.query_id: found.value for found in ir_measures.iter_calc([measure], qrels, run)}
        rows = scores(results, name, metric)
        ours = rows.loc[rows["state"] == "scored", "value"].to_dict()
        assert ours
        assert ours == pytest.approx({query: theirs.get(query, 0.0) for query in ours}, abs=1e-9)


def test_metrics_of_text_do_not_apply_to_a_target_that_returns_ids(results):
    assert scores(results, "ids-only", "recall@5")["state"].isin(["scored", "not_applicable"]).all()
    rows = scores(results, "ids-only", "span_recall@2000t")
    assert set(rows["state"]) == {"not_applicable"}
    assert "the target returns neither text nor positions" in set(rows["reason"])


def test_a_document_that_the_dataset_does_not_have_takes_its_rank(results):
    own, foreign = scores(results, "fixed-128-0-bm25", "mrr@10"), scores(results, "foreign", "mrr@10")
    first = own.index[own["value"] == 1]
    assert len(first)
    assert foreign.loc[first, "value"].tolist() == [0.5] * len(first)
    rows = scores(results, "foreign", "span_recall@2000t")
    assert set(rows["state"]) <= {"unscored", "not_applicable"}
    assert (
        rows.loc[rows["state"] == "unscored", "reason"].str.startswith("a hit cannot be matched with the documents: no document has").all()
    )


def test_a_question_that_a_target_fails_on_is_unscored_and_the_others_count(results):
    texts = results.questions.set_index("query_id")["text"]
    failed = set(texts.index[texts.str.contains(FAILING)])
    assert failed
    rows = scores(results, "failing", "recall@5")
    assert set(rows.index[rows["state"] == "unscored"]) == failed & set(rows.index[rows["state"] != "not_applicable"])
    assert rows.loc[rows["state"] == "unscored", "reason"].eq("the index is away").all()
    misses = results.tables.causes.query("configuration == 'failing'")
    assert not failed & set(misses["query_id"])


def test_the_table_of_targets_counts_what_was_served(results):
    table = results.targets.set_index("configuration")
    assert list(table.index) == ["by-text", "by-positions", "ids-only", "foreign", "failing", "given"]
    questions = len(results.questions)
    assert table["asked"].eq(questions).all()
    assert table.loc["foreign", "unmatched"] == questions
    assert table.loc["ids-only", "without_text"] == table.loc["ids-only", "hits"]
    assert table.loc["failing", "failed"] > 0
    assert table.loc["failing", "error"] == "the index is away"
    assert table.loc[["by-text", "ids-only"], "sourced"].tolist() == [questions, 0]


def test_an_answer_is_judged_on_the_sources_that_the_target_names(results):
    rows = scores(results, "by-text", "support_overlap")
    assert rows.loc[rows["state"] == "scored", "value"].min() > 0.8
    answers = results.answers.query("configuration == 'by-text' and condition == 'retrieved'")
    assert answers["passages"].str.count("doc_id").le(3).all()
    # Without sources, the hits of its search are the context.
    assert scores(results, "ids-only", "support_overlap")["state"].eq("scored").any()


def test_a_target_without_a_given_context_answers_under_retrieved_only(results):
    rows = results.queries.query("configuration == 'by-text' and metric == 'answer_recall' and condition == 'gold'")
    assert set(rows["state"]) == {"not_applicable"}
    assert "the target cannot be given a context" in set(rows["reason"])
    given = results.queries.query("configuration == 'given' and metric == 'answer_recall' and condition == 'gold'")
    assert given["state"].eq("scored").any()


def test_a_source_outside_the_dataset_is_read_by_the_judge_and_shown(results):
    rows = results.answers.query("configuration == 'foreign' and condition == 'retrieved'")
    assert rows["passages"].str.contains("another-document [not in the dataset, ", regex=False).all()
    assert "A text that no document contains." in set(results.tables.passages["text"])
    assert scores(results, "foreign", "support_overlap")["state"].eq("scored").any()


def test_the_report_says_what_was_not_measured(outcome):
    page = (outcome.folder / "report.html").read_text("utf-8")
    assert "What did the targets serve?" in page
    assert "returns neither text nor positions: metrics of chunks and spans do not apply to it" in page
    assert "only searches: metrics of answers do not apply to it" in page


def test_latency_of_a_target_is_that_of_its_replies(results):
    timings = results.timings.query("configuration == 'by-text'").set_index("name")["value"]
    assert timings["latency_questions"] == len(results.questions)
    assert 0 < timings["latency_question_p50"] <= timings["latency_question_p95"]


def test_a_second_sweep_asks_only_for_what_failed(spec, outcome, monkeypatch):
    asked: list[str] = []
    search = IndexTarget.indexes["main"].search
    monkeypatch.setattr(type(IndexTarget.indexes["main"]), "search", lambda _, text, k=None: asked.append(text) or search(text, k))
    again = run_experiment(spec, outcome.run.workspace.outputs, lambda _: None)
    assert again.failures == {}
    assert asked == []
    plan = {each.name: each for each in plan_experiment(spec, outcome.run.workspace.outputs).configurations}
    assert plan["by-text"].requests == 0
    assert plan["failing"].requests == len(outcome.run.query_ids)
