"""Sweeps with rewriters and neighbours: what is computed, stored, shown and refused."""

import base64
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from workbench.api.export.export import export_configuration
from workbench.components.retrieval.base import QueryBatch, SearchDepth
from workbench.core.errors import ExperimentError, InputError
from workbench.report.analysis.findings import findings
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.retrieval.questions import drill
from workbench.report.views import ConfigurationView
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import experiment_of
from workbench.runner.pipeline.search import corpus_of

TEXTS = {
    "tides": "The tide turns at noon. A pilot boards every ship before the tide. The pilot leaves at the berth.",
    "cranes": "A crane lifts cargo at the berth. The crane stops when the wind is strong. Cargo waits for customs.",
    "ferries": "The ferry leaves at six. Customs officers board the ferry. Nobody pays customs on a ferry ticket.",
}
QUESTIONS = [("q1", "when does the tide turn", "tides"), ("q2", "crane in strong wind", "cranes"), ("q3", "ferry ticket", "ferries")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("harbour")
    lines = [json.dumps({"doc_id": doc_id, "text": text}) for doc_id, text in TEXTS.items()]
    (folder / "documents.jsonl").write_text("\n".join(lines))
    questions = [{"query_id": each, "query": text, "relevant_doc_ids": [doc_id]} for each, text, doc_id in QUESTIONS]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)))
    replies = [
        {"query_id": "q1", "rewrites": ["tide noon", "pilot berth"], "keep_original": True},
        {"query_id": "q2", "document": "Cranes stop in strong wind."},
        {"query_id": "q3", "rewrites": ["zyzzyva"]},
    ]
    (folder / "replies.jsonl").write_text("\n".join(map(json.dumps, replies)))
    return folder


@pytest.fixture(scope="module")
def swept(folder: Path) -> Callable[..., Outcome]:
    """Run an experiment with these retrievers after each other. All share a store: who asks what was computed takes settings of its own."""

    def run(*retrievals: dict[str, Any], name: str = "rewritten", **pipeline: Any) -> Outcome:
        settings = {
            "name": name,
            "dataset": {"kind": "golden", "path": str(folder)},
            "pipeline": {"chunking": {"kind": "fixed", "size": 8}, "embedding": {"kind": "hashed", "dimensions": 32}, **pipeline},
            "sweep": {"retrieval": [{"k": 3, **each} for each in retrievals]},
            "metrics": ["recall@2", "ndcg@3"],
        }
        outcome = run_experiment(experiment_of(settings, "here"), folder / "outputs", lambda _: None)
        assert not outcome.failures
        return outcome

    return run


def recorded(folder: Path) -> dict[str, str]:
    return {"kind": "recorded", "path": str(folder / "replies.jsonl")}


@pytest.mark.slow
def test_nothing_is_embedded_or_split_again_when_only_the_rewriter_changes(swept, folder: Path) -> None:
    own = {"embedding": {"kind": "hashed", "dimensions": 24}}
    swept({"kind": "dense"}, name="plain", **own)
    outcome = swept({"kind": "dense", "rewrite": {"kind": "rocchio"}}, {"kind": "dense", "rewrite": recorded(folder)}, **own)
    timings = collect(outcome).timings.pivot(index="configuration", columns="name", values="value")
    for stage in ("chunks", "vectors", "queries", "index"):
        assert (timings[f"computed_{stage}"] == 0).all()
    assert timings["tokens_encoded"].tolist() == [0, 0]
    assert timings["computed_feedback"].dropna().tolist() == timings["computed_rewritten_vectors"].dropna().tolist() == [1]


def test_the_latency_of_a_question_includes_the_first_search(swept, folder: Path) -> None:
    outcome = swept({"kind": "bm25"}, {"kind": "bm25", "rewrite": {"kind": "rm3"}}, {"kind": "bm25", "rewrite": recorded(folder)})
    timings = collect(outcome).timings.pivot(index="configuration", columns="name", values="value")
    assert timings["latency_rewrite_p50"].notna().sum() == 1  # the time of recorded replies is not known
    row = timings.dropna(subset="latency_rewrite_p50").iloc[0]
    assert row["latency_question_p95"] > row["latency_rewrite_p50"] > 0
    assert (timings["latency_question_p50"] > 0).all()


def test_what_is_searched_is_stored_and_shown_beside_the_question(swept, folder: Path) -> None:
    retrievals = [{"kind": "bm25"}, *({"kind": "bm25", "rewrite": each} for each in ({"kind": "rm3"}, recorded(folder)))]
    outcome = swept(*retrievals, name="shown")
    write_outputs(outcome)
    run = RunTables.read(outcome.folder)
    plain, rm3, replies = run.names
    assert run.configurations["rewrite"].fillna("").tolist() == ["", "rm3", "recorded"]
    texts = run.of("rewrites", replies)[["query_id", "number", "text", "role"]].to_numpy().tolist()
    assert texts == [
        ["q1", 0, "when does the tide turn", "query"],
        ["q1", 1, "tide noon", "query"],
        ["q1", 2, "pilot berth", "query"],
        ["q2", 0, "Cranes stop in strong wind.", "document"],
        ["q3", 0, "zyzzyva", "query"],
    ]
    assert run.of("rewrites", rm3)["text"].str.fullmatch(r"(\S+\^[\d.]+ ?)+").all()
    assert run.of("rewrites", plain).empty
    packed = json.loads(zlib.decompress(base64.b64decode(drill(findings(run), run.names).packed)))
    (query,) = [query for query in packed["queries"] if query["i"] == "q1"]
    assert query["w"] == [[], run.of("rewrites", rm3)["text"].tolist()[:1], ["when does the tide turn", "tide noon", "pilot berth"]]
    assert "searched instead" in str(ConfigurationView(run, replies).queries()._repr_html_())


def test_a_run_without_a_rewriter_has_no_such_table_and_loads(swept) -> None:
    outcome = swept({"kind": "bm25"}, name="without")
    write_outputs(outcome)
    assert not (outcome.folder / "rewrites.parquet").exists()
    assert RunTables.read(outcome.folder).rewrites.empty


def test_several_texts_of_a_question_are_fused_by_reciprocal_ranks(swept, folder: Path) -> None:
    outcome = swept({"kind": "bm25", "rewrite": recorded(folder)}, name="fused")
    (result,) = outcome.results
    of_texts = {text: rank(swept, text) for text in ("when does the tide turn", "tide noon", "pilot berth")}
    scores: dict[int, float] = {}
    for chunks in of_texts.values():
        for place, chunk in enumerate(chunks, 1):
            scores[chunk] = scores.get(chunk, 0) + 61 / (60 + place)
    hits = result.ranked("hits").query("query == 0")
    assert dict(zip(hits["chunk"], hits["score"], strict=True)) == pytest.approx(scores, abs=1e-6)
    assert result.ranked("hits").query("query == 2").empty  # its only text finds nothing


def rank(swept, text: str) -> list[int]:
    """Return the chunks that BM25 finds for a text."""
    outcome = swept({"kind": "bm25"}, name="alone")
    (result,) = outcome.results
    found = result.configuration.retrieval.retrieve(QueryBatch([text]), corpus_of(result), SearchDepth(100, 0, 1))
    return found.hits["chunk"].tolist()


def test_a_reranker_reads_the_question_as_it_was_asked(swept, folder: Path) -> None:
    outcome = swept({"kind": "dense", "rewrite": recorded(folder), "rerank": {"kind": "mmr", "pool": 3, "relevance": 1}}, name="original")
    (result,) = outcome.results
    queries = np.asarray(result.entry("queries").array("vectors"))
    vectors = np.asarray(result.entry("vectors").array("vectors"))
    pool = result.entry("hits").table("exact_hits").query("query == 1 and rank <= 3")["chunk"].to_numpy()
    by_question = pool[np.argsort(-(vectors[pool] @ queries[1]), kind="stable")]
    assert result.ranked("hits").query("query == 1")["chunk"].tolist()[:3] == by_question.tolist()


def test_neighbours_are_delivered_and_nothing_is_searched_again(swept) -> None:
    own = {"chunking": {"kind": "fixed", "size": 9}}
    swept({"kind": "bm25"}, name="nearby", **own)
    outcome = swept({"kind": "bm25"}, {"kind": "bm25", "neighbours": 1}, name="nearby", **own)
    plain, near = outcome.results
    assert [result.configuration.name for result in outcome.results] == ["fixed-9-0-bm25-k3", "fixed-9-0-bm25-k3-neighbours1"]
    assert not near.computed["hits"]
    assert near.computed["neighbours"]
    assert collect(outcome).configurations["neighbours"].tolist() == [0, 1]
    doc = near.chunks_table["doc"].to_numpy()
    before = plain.ranked("hits").groupby("query")["chunk"].first()
    for query, rows in near.ranked("hits").groupby("query"):
        first, second = rows["chunk"].tolist()[:2]
        assert first == before[query]
        assert abs(first - second) == 1
        assert doc[first] == doc[second]
    pd.testing.assert_frame_equal(near.ranked("ranking"), plain.ranked("ranking"))
    assert (near.delivered.groupby("query").size() == 3).all()


def test_settings_that_do_not_fit_are_one_line(wording) -> None:
    pipelines: list[dict[str, Any]] = [
        {"retrieval": {"kind": "dense"}, "rewrite": {"kind": "rm3"}},
        {"retrieval": {"kind": "bm25"}, "rewrite": {"kind": "rocchio"}},
        {"retrieval": {"kind": "bm25", "rewrite": {"kind": "rm3"}}, "rewrite": "none"},
        {"retrieval": {"kind": "bm25"}, "rewrite": {"kind": "rm4"}},
        {"retrieval": {"kind": "bm25"}, "rewrite": {"kind": "rm3", "original": 2}},
        {"retrieval": {"kind": "bm25", "neighbours": 11}},
    ]
    dataset = {"kind": "golden", "path": "nowhere"}
    wording(lambda pipeline: experiment_of({"name": "wrong", "dataset": dataset, "pipeline": pipeline}, "here"), pipelines, ExperimentError)


def test_a_sweep_of_the_stage_names_each_rewriter(folder: Path) -> None:
    sweep = {"rewrite": ["none", {"kind": "rm3", "terms": [5, 10]}], "rerank": [None, {"kind": "mmr"}]}
    settings = {
        "name": "axes",
        "dataset": {"kind": "golden", "path": str(folder)},
        "pipeline": {"retrieval": {"kind": "hybrid"}},
        "sweep": sweep,
    }
    names = [configuration.name for configuration in experiment_of(settings, "here").configurations]
    assert names == [f"fixed-256-0-hybrid{words}" for words in ("", "-mmr", "-rm3-terms5", "-rm3-terms5-mmr", "-rm3", "-rm3-mmr")]


def test_replies_to_other_questions_are_refused_before_anything_is_computed(swept, tmp_path: Path) -> None:
    (tmp_path / "few.jsonl").write_text(json.dumps({"query_id": "q1", "document": "Noon."}))
    with pytest.raises(InputError, match=r"few.jsonl has no reply for the question 'q2'.* and 1 other; add a line for each question"):
        swept({"kind": "bm25", "rewrite": {"kind": "recorded", "path": str(tmp_path / "few.jsonl")}}, name="few")


@pytest.mark.parametrize("settings", [{"rewrite": {"kind": "rm3"}}, {"neighbours": 1}])
def test_what_an_export_cannot_do_is_refused(swept, settings: dict[str, Any]) -> None:
    outcome = swept({"kind": "bm25", **settings}, name="exported")
    write_outputs(outcome)
    with pytest.raises(InputError, match=r"fixed-8-0-bm25-k3-\w+ .* and cannot be exported; choose another configuration"):
        export_configuration(outcome.folder, None, None)
