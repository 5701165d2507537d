"""Contrasts of outcomes written by hand: chunks and hits are given, everything after them is computed."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from workbench.components.chunking.plain import FixedChunker
from workbench.components.retrieval.bm25 import BM25Retriever
from workbench.core.records import Dataset, Document, Need, Qrel, Query, Span
from workbench.core.storage.result_store import ResultWriter
from workbench.data.sources import GoldenSource
from workbench.measures.metrics.evaluate import evaluate
from workbench.measures.metrics.inputs import Retrieved
from workbench.measures.metrics.names import Metric
from workbench.measures.statistics.clusters import Clusters
from workbench.report.analysis.causes import faults_of
from workbench.report.analysis.pairwise import OTHER, contrast
from workbench.report.analysis.values import small
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import Outcome
from workbench.runner.experiment.read import ExperimentSpec
from workbench.runner.pipeline.configuration import PipelineConfiguration
from workbench.runner.pipeline.context import RunContext, Workspace
from workbench.runner.pipeline.graph import Graph
from workbench.runner.pipeline.stage import Inputs, Node
from workbench.runner.pipeline.stage_results import Entries, StageResults
from workbench.runner.pipeline.stages.explanations import ChunkFaultsStage, ExplanationsStage

TEXT = "one two three. four five six. seven ate."
METRICS = tuple(map(Metric.parse, ("complete@1", "span_precision@1", "recall@1", "irrelevant@1")))
WHOLE, HALVES = [(0, 14), (15, 29), (30, 40)], [(0, 19), (20, 40)]


def context_of(folder: Path, queries: int, kinds: Sequence[str] = ("easy", "hard")) -> RunContext:
    """Every query asks for `four five six.` of a document of its own, with a second document that is irrelevant and a third unjudged."""
    documents = [Document(f"d{number}", TEXT) for number in range(queries)] + [Document("bad", "bad"), Document("new", "new")]
    dataset = Dataset(
        name="by hand",
        documents=tuple(documents),
        queries=tuple(Query(f"q{number}", "?", metadata={"kind": kinds[number % len(kinds)]}) for number in range(queries)),
        qrels=tuple(Qrel(f"q{n}", f"d{n}", 1) for n in range(queries)) + tuple(Qrel(f"q{n}", "bad", -1) for n in range(queries)),
        needs=tuple(Need(f"q{number}", (Span(f"d{number}", 15, 29),)) for number in range(queries)),
    )
    return RunContext(Workspace(folder, folder / "store"), dataset, METRICS, "exact")


@pytest.fixture
def made() -> Callable[..., StageResults]:
    """A finished configuration: `own` (start, end) are the chunks of every document, `hits` (document, chunk) of each query by rank."""

    def make(context: RunContext, name: str, own: Sequence[tuple[int, int]], hits: Sequence[Sequence[tuple[int, int]]]) -> StageResults:
        queries = len(context.dataset.queries)
        rows = [(doc, start, end) for doc in range(queries) for start, end in own] + [(queries, 0, 3), (queries + 1, 0, 3)]
        chunks = pd.DataFrame(rows, columns=["doc", "start", "end"]).assign(header="", tokens=4)
        chunks = chunks.assign(delivered_start=chunks["start"], delivered_end=chunks["end"])
        first = [doc * len(own) for doc in range(queries + 1)] + [queries * len(own) + 1]
        found = [(q, rank, first[doc] + chunk, doc, 1 / rank) for q, of in enumerate(hits) for rank, (doc, chunk) in enumerate(of, 1)]
        table = pd.DataFrame(found, columns=["query", "rank", "chunk", "doc", "score"])
        ranking = table.drop_duplicates(["query", "doc"])
        ranking = ranking.assign(rank=ranking.groupby("query").cumcount() + 1)[["query", "rank", "doc", "score"]].reset_index(drop=True)
        about = pd.DataFrame({"query": range(queries), "spread": 0.1, "top": 1.0, "tied": False})
        retrieved = Retrieved(chunks, table.drop(columns="doc"), ranking, np.full(queries, 0.1))
        store = context.workspace.store

        def write_hits(writer: ResultWriter) -> None:
            for key, value in {"exact_hits": retrieved.hits, "exact_ranking": ranking, "exact_about": about}.items():
                writer.table(key, value)
            writer.values("searches", {"names": ["exact"], "index_bytes": 0, "overlap": None})

        def write_scores(metric: Metric, writer: ResultWriter) -> None:
            scores = evaluate(context.labels, retrieved, [metric])
            writer.table("scores", scores.assign(condition="retrieved", variant="", repeat=0))
            writer.values("change", None)

        entries = {
            "chunks": {"": store.obtain("chunks", name, lambda writer: writer.table("chunks", chunks))},
            "hits": {"": store.obtain("hits", name, write_hits)},
            "scores": {str(one): store.obtain("scores", f"{name}-{one}", partial(write_scores, one)) for one in context.metrics},
        }
        return StageResults(context, PipelineConfiguration(name, FixedChunker(size=16), None, BM25Retriever(k=3)), entries)

    return make


def run_of(context: RunContext, metric: str, *results: StageResults) -> RunTables:
    """The tables of results of which a metric is the primary one."""
    explaining = replace(context, primary=Metric.parse(metric))
    explained = [replace(one, run=explaining, entries=explained_entries(explaining, one)) for one in results]
    configurations = tuple(one.configuration for one in results)
    nothing = GoldenSource(path="nowhere")
    experiment = ExperimentSpec("by-hand", nothing, configurations, context.metrics, None, None, "exact", {"name": "by-hand"})
    return collect(Outcome(experiment, Graph(explaining), Metric.parse(metric), explained))


def explained_entries(context: RunContext, result: StageResults) -> Entries:
    entries = dict(result.entries)
    for stage in (ExplanationsStage(), ChunkFaultsStage()):
        node, key = Node(stage.name, result.configuration), f"{result.configuration.name}-{context.primary}"
        entries[stage.name] = {"": stage.obtain(Inputs(context, result.configuration, result.entries, node, key, list))}
    return entries


@pytest.fixture
def two(made: Callable[..., StageResults], tmp_path: Path) -> tuple[RunContext, StageResults, StageResults]:
    """a has whole evidence for q0, q1 and q2 and the wrong chunk first for q3; b cuts q0's, has nothing whole for any."""
    context = context_of(tmp_path, 4)
    a = made(context, "a", WHOLE, [[(0, 1)], [(1, 1)], [(2, 1)], [(3, 0), (3, 1)]])
    b = made(context, "b", [(0, 29), (30, 40)], [[(0, 1), (0, 0)], [(1, 0)], [(4, 0), (2, 0)], [(3, 0)]])
    return context, a, b


def test_queries_are_won_alone_and_grouped_by_the_losers_cause(two, made) -> None:
    context, a, b = two
    found = contrast(run_of(context, "complete@1", a, b), "a", "b")
    assert (found.a.winner, found.b.winner) == ("a", "b")
    assert found.a.causes == {"rank": ("q0", "q2")}
    assert found.b.causes == {"rank": ("q3",)}
    assert found.ties == 1
    assert found.a.queries + found.b.queries + found.ties == found.parts[0].difference.n
    cut = made(context, "cut", HALVES, [[(n, 0)] for n in range(4)])
    assert contrast(run_of(context, "complete@1", a, cut), "a", "cut").a.causes == {"boundary": ("q0", "q1", "q2")}


def test_turned_round_it_says_the_same(two) -> None:
    run = run_of(two[0], "complete@1", *two[1:])
    found, turned = contrast(run, "a", "b"), contrast(run, "b", "a")
    assert (found.a, found.b) == (turned.b, turned.a)
    assert found.parts[0].difference.value == -turned.parts[0].difference.value


def test_differences_without_a_miss_have_their_own_cause(two) -> None:
    found = contrast(run_of(two[0], "span_precision@1", *two[1:]), "a", "b")
    # q1: both deliver all of the evidence, b with more text around it.
    assert found.a.causes == {"rank": ("q0", "q2"), OTHER: ("q1",)}


def test_slices_have_n_a_difference_and_say_that_they_are_small(two) -> None:
    parts = {part.name: part for part in contrast(run_of(two[0], "complete@1", *two[1:]), "a", "b").parts}
    assert list(parts) == ["all", "kind=easy", "kind=hard"]
    easy, hard = parts["kind=easy"], parts["kind=hard"]
    assert (easy.difference.n, easy.difference.value, easy.won_by_a, easy.won_by_b, easy.ties) == (2, 1.0, {"rank": 2}, {}, 0)
    assert (hard.difference.n, hard.difference.value, hard.won_by_a, hard.won_by_b, hard.ties) == (2, -0.5, {}, {"rank": 1}, 1)
    assert easy.small == "fewer than 20 questions, from fewer than 5 documents"


def test_a_slice_is_small_by_questions_or_by_documents() -> None:
    assert small(Clusters.of(range(20))) == ""
    assert small(Clusters.of(range(19))) == "fewer than 20 questions"
    assert small(Clusters.of(np.repeat(np.arange(4), 6))) == "from fewer than 5 documents"


def test_fewer_faults_win_and_miss_nothing(two) -> None:
    found = contrast(run_of(two[0], "irrelevant@1", *two[1:]), "a", "b")
    assert (found.a.causes, found.b.causes) == ({OTHER: ("q2",)}, {})


def test_the_share_judged_stands_beside_metrics_over_documents(two, made) -> None:
    context, a, b = two
    unjudged = made(context, "unjudged", WHOLE, [[(0, 1)], [(5, 0)], [(2, 1)], [(3, 1)]])
    found = contrast(run_of(context, "recall@1", a, unjudged), "a", "unjudged")
    assert found.judged == (1.0, 0.75)
    assert found.a.causes == {"rank": ("q1",)}
    assert contrast(run_of(context, "complete@1", a, b), "a", "b").judged is None


def test_faults_are_counted_by_query_and_a_small_slice_is_not_the_weakest(two, made) -> None:
    context, a, _ = two
    cut = made(context, "cut", HALVES, [[(0, 0)], [(1, 0)], [(2, 0)], [(5, 0), (3, 0)]])
    run = run_of(context, "complete@1", a, cut)
    found = faults_of(run, "cut")
    assert (found.of, found.causes, found.weakest) == (4, {"boundary": (3, 0.75), "rank": (1, 0.25)}, None)
    assert faults_of(run, "a").causes == {"rank": (1, 0.25)}


def test_the_weakest_slice_is_the_worst_of_the_large_ones(made, tmp_path: Path) -> None:
    kinds = ["easy", "hard"] * 20 + ["rare"] * 10
    context = context_of(tmp_path, 50, kinds)
    hits = [[(n, 1)] if kind == "easy" and n else [(n, 0), (n, 1)] for n, kind in enumerate(kinds)]
    name, mean = faults_of(run_of(context, "complete@1", made(context, "a", WHOLE, hits)), "a").weakest
    assert (name, mean.value, mean.n) == ("kind=hard", 0.0, 20)


def test_real_configurations_contrast_as_their_scores_do(outcome_of_sizes: Callable) -> None:
    outcome = outcome_of_sizes(primary="span_recall@2")
    names = [one.configuration.name for one in outcome.results[:2]]
    found = contrast(collect(outcome), *names)
    values = [
        scores[scores["metric"] == "span_recall@2"].set_index("query")["value"]
        for scores in (one.scores_table for one in outcome.results[:2])
    ]
    gap = (values[0] - values[1]).to_numpy()
    assert (found.a.queries, found.b.queries, found.ties) == ((gap > 1e-9).sum(), (gap < -1e-9).sum(), (abs(gap) <= 1e-9).sum())
    assert found.parts[0].difference.value == pytest.approx(gap.mean())
