import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import pytrec_eval

from tests.measures.metrics.reference import FORMULAS
from workbench.data.formats.trec import escaped, read_run
from workbench.measures.metrics.names import Metric
from workbench.report.analysis.standings import verdict_of
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.collect import configuration_row
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import strictly_descending, write_outputs
from workbench.runner.experiment.read import read_experiment

MEASURES = {"recall@5": "recall_5", "precision@5": "P_5", "success@3": "success_3", "ndcg@10": "ndcg_cut_10", "map@10": "map_cut_10"}


def table(outcome: Outcome, name: str) -> pd.DataFrame:
    return pd.read_parquet(outcome.folder / f"{name}.parquet")


def test_configurations_tell_their_fields_and_costs(outcome):
    found = table(outcome, "configurations").set_index("configuration")
    assert list(found.index) == ["fixed-128-0", "fixed-512-0", "hierarchical-64-256"]
    assert found.loc["fixed-128-0", ["size", "overlap", "truncated_tokens"]].tolist() == [128, 0, 0]
    assert found.loc["fixed-512-0", "truncated_tokens"] > 0
    assert (found["chunks"] > 16).all()
    assert (found["delivered_tokens"] > 500).all()


def trec_eval_means(outcome: Outcome, configuration: str) -> dict[str, float]:
    """The means of trec_eval on a run file, which are those of the formulas too."""
    run: dict[str, dict[str, float]] = {}
    for line in (outcome.folder / "runs" / f"{configuration}.trec").read_text().splitlines():
        query, _, document, _, score, tag = line.split()
        assert tag == configuration
        run.setdefault(query, {})[document] = float(np.float32(score))
    qrels: dict[str, dict[str, int]] = {}
    for qrel in outcome.run.dataset.qrels:
        qrels.setdefault(escaped(qrel.query_id), {})[escaped(qrel.doc_id)] = qrel.relevance
    answerable = {escaped(query.query_id) for query in outcome.run.dataset.queries if query.answerable}
    found = pytrec_eval.RelevanceEvaluator({query: qrels[query] for query in answerable}, set(MEASURES.values()) | {"recip_rank"}).evaluate(
        run
    )
    assert set(found) == answerable
    means = {metric: float(np.mean([values[measure] for values in found.values()])) for metric, measure in MEASURES.items()}
    means["mrr@10"] = float(np.mean([values["recip_rank"] if values["recip_rank"] >= 0.1 else 0 for values in found.values()]))
    rankings = {query: sorted(run[query], key=lambda document: -run[query][document]) for query in answerable}
    for metric, mean in means.items():
        name, k = metric.split("@")
        assert np.mean([FORMULAS[name](rankings[query], qrels[query], int(k)) for query in answerable]) == pytest.approx(mean, abs=1e-9)
    return means


def test_trec_eval_on_the_run_files_gives_the_metrics(outcome):
    metrics = table(outcome, "metrics").query("slice == 'all'").set_index(["configuration", "metric"])["value"]
    for result in outcome.results:
        for metric, value in trec_eval_means(outcome, result.configuration.name).items():
            assert metrics[result.configuration.name, metric] == pytest.approx(value, abs=1e-9)


def test_ids_that_differ_only_in_blanks_stay_different_in_run_files(tmp_path):
    texts = {"a b": "Dogs like cats.", "a  b": "Dogs bark at dogs.", "a_b": "Dogs chase birds.", "50%": "Dogs swim."}
    documents = "\n".join(json.dumps({"doc_id": doc_id, "text": text}) for doc_id, text in texts.items())
    (tmp_path / "documents.jsonl").write_text(documents)
    asked = [{"query_id": "q 1", "query": "do dogs bark", "relevant_doc_ids": ["a_b"]}, {"query": "cats", "relevant_doc_ids": ["a b"]}]
    (tmp_path / "questions.json").write_text(json.dumps(asked))
    (tmp_path / "blanks.yaml").write_text(
        f"name: blanks\ndataset: {{kind: golden, path: {tmp_path}}}\nmetrics: [{', '.join(MEASURES)}, mrr@10]\n"
        "pipeline: {chunking: {kind: whole}, retrieval: {kind: bm25, k: 4}}\n"
    )
    outcome = run_experiment(read_experiment(tmp_path / "blanks.yaml"), tmp_path / "outputs", lambda _: None)
    write_outputs(outcome)
    (path,) = (outcome.folder / "runs").glob("*.trec")
    rows = read_run(path)
    assert set(rows.loc[rows["query_id"] == "q 1", "doc_id"]) == set(texts)
    means = trec_eval_means(outcome, path.stem)
    metrics = table(outcome, "metrics").query("slice == 'all'").set_index("metric")["value"]
    assert {metric: metrics[metric] for metric in means} == pytest.approx(means, abs=1e-9)


def test_scores_of_run_files_are_strictly_decreasing_as_32_bit_floats(outcome):
    for path in (outcome.folder / "runs").glob("*.trec"):
        rows = pd.read_csv(path, sep=" ", header=None, names=["query", "q0", "doc", "rank", "score", "tag"], dtype={"score": "float32"})
        for _, part in rows.groupby("query"):
            assert (np.diff(part["rank"]) == 1).all()
            assert (np.diff(part["score"]) < 0).all()


def test_tied_scores_fall_by_the_least_a_32_bit_float_can():
    scores = strictly_descending(np.array([0.25, 0.25, 0.25, 0.1, 0.7, 0.7]), np.array([1, 2, 3, 4, 1, 2]))
    assert scores.dtype == np.float32
    assert scores[0] > scores[1] > scores[2] > scores[3]
    assert scores[4] > scores[5]
    assert scores == pytest.approx([0.25, 0.25, 0.25, 0.1, 0.7, 0.7], abs=1e-6)


def test_unanswerable_questions_are_not_applicable_and_stay_out_of_the_means(outcome):
    queries = table(outcome, "queries")
    unanswerable = {query.query_id for query in outcome.run.dataset.queries if not query.answerable}
    assert len(unanswerable) == 5
    rows = queries[queries["query_id"].isin(unanswerable)]
    assert set(rows.loc[rows["metric"] == "recall@5", "state"]) == {"not_applicable"}
    assert set(rows.loc[rows["metric"] == "irrelevant@3", "state"]) == {"scored"}
    metrics = table(outcome, "metrics").query("slice == 'all' and metric == 'recall@5'")
    assert set(metrics["n"]) == {30}
    assert (table(outcome, "metrics").query("metric == 'answerable_auroc'")["value"].between(0, 1)).all()


def test_slices_are_listed_with_their_counts(outcome):
    metrics = table(outcome, "metrics").query("configuration == 'fixed-128-0' and metric == 'recall@5'").set_index("slice")
    assert metrics.loc["type=multi-hop", "n"] == 6
    assert metrics.loc["all", "n"] == 30


def test_hits_record_delivery_and_the_reason_for_a_cut(outcome):
    hits = table(outcome, "hits")
    assert set(hits.loc[hits["delivered"], "cut_reason"]) == {""}
    hierarchical = hits[hits["configuration"] == "hierarchical-64-256"]
    assert set(hierarchical["cut_reason"]) == {"", "same slice delivered", "beyond the token budget"}
    delivered = hierarchical[hierarchical["delivered"]]
    assert not delivered.duplicated(["query_id", "doc_id", "start", "end"]).any()
    child = delivered["chunk_id"].str.extract(r":(\d+)-(\d+)$").astype(int)
    assert ((delivered["start"] <= child[0]) & (child[1] <= delivered["end"])).all()


def test_the_tokens_that_the_primary_metric_reads_are_delivered_and_the_last_slice_is_cut(outcome):
    assert str(outcome.primary) == "span_recall@2000t"
    hits, labels = table(outcome, "hits"), outcome.run.labels
    offset = hits["doc_id"].map({document.doc_id: labels.offsets[place] for place, document in enumerate(outcome.run.dataset.documents)})
    tokens = labels.tokens_in((offset + hits["start"]).to_numpy(), (offset + hits["kept"]).to_numpy())
    groups = ["configuration", "query_id"]
    assert (hits.assign(tokens=tokens).groupby(groups)["tokens"].sum() == 2000).all()
    assert (hits["kept"] == hits["start"])[~hits["delivered"]].all()
    cut = hits[hits["delivered"] & (hits["kept"] < hits["end"])]
    last = hits[hits["delivered"]].groupby(groups)["rank"].max()
    assert (cut.set_index(groups)["rank"] == last.reindex(pd.MultiIndex.from_frame(cut[groups]))).all()
    found = table(outcome, "configurations").set_index("configuration")
    assert set(found["delivered_tokens"]) == set(found["token_budget"]) == {2000}
    assert set(found["k"]) == {10}
    assert found["delivered_chunks"].to_dict() == pytest.approx(hits[hits["delivered"]].groupby("configuration").size().div(35).to_dict())
    assert (found["unfilled_queries"] == 0).all()
    assert found.loc["fixed-128-0", "k_tokens"] < 10 * 128 < found.loc["fixed-512-0", "k_tokens"]


def test_k_chunks_are_delivered_where_no_tokens_are(outcome):
    for result in outcome.results:
        by_k = replace(result, run=replace(result.run, primary=Metric.parse("recall@5")))
        assert (by_k.delivered.groupby("query").size() == 10).all()
        assert set(by_k.all_hits["cut_reason"]) - {"same slice delivered"} == {"", "beyond k"}
        row = configuration_row(by_k)
        assert row["token_budget"] is None
        assert (row["delivered_chunks"], row["unfilled_queries"]) == (10, 0)
        assert row["delivered_tokens"] == row["k_tokens"] == configuration_row(result)["k_tokens"]


def test_differences_are_paired_over_the_same_queries(outcome):
    wide = (
        table(outcome, "queries")
        .query("metric == 'recall@5' and state == 'scored'")
        .pivot(index="query_id", columns="configuration", values="value")
    )
    row = table(outcome, "comparisons").query("metric == 'recall@5' and a == 'fixed-128-0' and b == 'fixed-512-0'").iloc[0]
    assert row["difference"] == pytest.approx((wide["fixed-128-0"] - wide["fixed-512-0"]).mean())
    assert row["n"] == 30
    assert np.isnan(row["p"])  # exploratory: the primary metric decides


def test_p_values_are_those_of_the_verdict_on_the_primary_metric(outcome):
    rows, found = table(outcome, "comparisons").set_index(["metric", "a", "b"]), verdict_of(RunTables.read(outcome.folder))
    # fixed-512-0 has chunks beyond the window: no claim is made about it.
    assert found.ranked == ("hierarchical-64-256", "fixed-128-0") or found.ranked == ("fixed-128-0", "hierarchical-64-256")
    assert found.family == "against fixed-128-0"
    (tested,) = rows.index[rows["p"].notna()]
    assert tested == ("span_recall@2000t", "fixed-128-0", "hierarchical-64-256")
    (row,) = found.comparisons
    assert rows.loc[tested, ["p", "p_adjusted", "difference", "low"]].tolist() == pytest.approx(
        [row.p, row.p_adjusted, row.difference.value, row.difference.low], nan_ok=True
    )
    assert found.winner is None or row.p_adjusted <= 0.05


def test_the_manifest_names_data_settings_and_versions_but_no_time(outcome):
    manifest = json.loads((outcome.folder / "manifest.json").read_text())
    assert manifest["dataset"]["documents"] == len(outcome.run.dataset.documents)
    assert set(manifest["fingerprints"]["configurations"]) == {"fixed-128-0", "fixed-512-0", "hierarchical-64-256"}
    assert {"chromadb", "torch", "python"} <= set(manifest["versions"])
    assert manifest["failures"] == {}
    assert set(manifest["encoders"]) == set(manifest["fingerprints"]["configurations"])
    assert all(encoder["backend"] == "openvino" and encoder["precision"] for encoder in manifest["encoders"].values())


def test_timings_hold_the_gap_of_chromas_index(outcome):
    timings = table(outcome, "timings").query("configuration == 'fixed-128-0'").set_index("name")["value"]
    assert 0.9 <= timings["chroma_overlap@10"] <= 1
    assert abs(timings["chroma_change_recall@5"]) < 0.1
    assert timings["latency_embed_p95"] >= timings["latency_embed_p50"] > 0


def test_timings_hold_the_range_of_a_time_over_its_passes(outcome):
    timings = table(outcome, "timings").query("configuration == 'fixed-128-0'").set_index("name")["value"]
    for step in ("question", "embed", "exact", "chroma"):
        for name in (f"latency_{step}_p50", f"latency_{step}_p95"):
            assert timings[f"{name}_low"] <= timings[name] <= timings[f"{name}_high"]
