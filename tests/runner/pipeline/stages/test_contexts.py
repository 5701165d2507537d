"""The contexts of a real sweep: every condition, what it depends on, and the tables that later stages read."""

import json
from collections.abc import Callable
from dataclasses import replace

import pandas as pd
import pytest

from workbench.components.answering.extractive import ExtractiveGenerator
from workbench.components.context.conditions import CONDITIONS, RANKED, variants_of
from workbench.components.context.context_packing import ContextPacking
from workbench.components.context.packing import OVER_BUDGET
from workbench.core.records import Dataset, TokenCut, Variant
from workbench.core.storage.result_store import StoredResult
from workbench.measures.metrics.names import Metric
from workbench.runner.execution.local import Outcome
from workbench.runner.pipeline.answered_cases import passages_of
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.graph import Graph

VARIANTS = variants_of(CONDITIONS, repeats=2)


class WordyGenerator(ExtractiveGenerator):
    """Prompts with a word for each of the question's and five around each passage."""

    def overhead(self, question: str) -> int:
        return 10 + len(question.split())

    def passage_overhead(self, number: int) -> int:
        return 5


@pytest.fixture(scope="module")
def graph(few: Outcome, tmp_path_factory: pytest.TempPathFactory) -> Graph:
    workspace = replace(few.run.workspace, store_root=tmp_path_factory.mktemp("contexts") / "store")
    return Graph(replace(few.run, workspace=workspace, variants=VARIANTS))


@pytest.fixture(scope="module")
def configuration(few: Outcome) -> Configuration:
    return few.experiment.configurations[0].answered(None, ExtractiveGenerator())


@pytest.fixture(scope="module")
def made(graph: Graph, configuration: Configuration) -> Callable[..., StoredResult]:
    """The contexts of a variant, by default those of the plain configuration."""

    def of(condition: str, perturbation: str = "", chosen: Configuration = configuration) -> StoredResult:
        (node,) = graph.nodes(chosen, ["contexts"], [Variant(condition, perturbation)])
        return graph.obtain(node)

    return of


def keys(graph: Graph, configuration: Configuration) -> dict[str, str]:
    return {node.result_id: graph.key(node) for node in graph.nodes(configuration, ["contexts"], VARIANTS)}


def valid(entry: StoredResult) -> pd.DataFrame:
    return entry.table("contexts").query("reason == ''")


@pytest.mark.parametrize("variant", variants_of(CONDITIONS), ids=str)
def test_every_question_has_passages_or_a_reason(graph: Graph, made: Callable[..., StoredResult], variant: Variant) -> None:
    entry = made(variant.condition, variant.perturbation)
    about, passages = entry.table("contexts"), passages_of(entry)
    assert about["query"].tolist() == list(range(len(graph.run.dataset.queries)))
    assert set(passages) == set(about.loc[about["reason"] == "", "query"])
    assert set(entry.table("passages")["query"]) <= set(passages)
    for query, tokens, planted in valid(entry)[["query", "tokens", "planted"]].itertuples(index=False, name=None):
        assert tokens == entry.table("passages").query("query == @query")["tokens"].sum() <= 2_000
        altered = [number for number, passage in enumerate(passages[query]) if passage.planted]
        assert [json.loads(planted)["number"]] == altered if planted else not altered
        for passage in passages[query]:
            text = graph.run.dataset.documents[graph.run.doc_ids.tolist().index(passage.doc_id)].text[passage.start : passage.end]
            assert passage.planted or passage.text == text


def test_the_conditions_contain_the_evidence_that_they_say(made: Callable[..., StoredResult]) -> None:
    gold = valid(made("gold"))
    assert gold["gold"].all()
    assert (gold["relevant"] > 0).all()
    for condition in ("none", "missing_gold", "irrelevant_only"):
        assert not made(condition).table("contexts")[["gold", "relevant"]].any(axis=None)
    distracted = valid(made("gold_distractors")).set_index("query")
    assert distracted["gold"].all()
    budget = made("retrieved").table("contexts").set_index("query")["tokens"]
    assert (distracted["tokens"] <= budget[distracted.index]).all()
    assert made("retrieved").table("contexts")["packing_recall"].dropna().eq(1).all()
    assert gold["packing_recall"].isna().all()
    for perturbed in (made("counterfactual", "before"), made("injection", "markup")):
        assert valid(perturbed)["gold"].all()


@pytest.fixture(scope="module")
def of_k(graph: Graph) -> Graph:
    """The graph of a run whose primary metric has no cut in tokens, so that k chunks are delivered."""
    return Graph(replace(graph.run, primary=Metric.parse("recall@5")))


def test_retrieved_is_what_the_configuration_delivers(
    graph: Graph, of_k: Graph, made: Callable[..., StoredResult], configuration: Configuration
) -> None:
    results, k = graph.walk(configuration, ["chunks", "hits"]), configuration.retrieval.k
    hits, chunks = results.entry("hits").table("exact_hits"), results.chunks_table
    (node,) = of_k.nodes(configuration, ["contexts"], [Variant("retrieved")])
    first, longer = passages_of(of_k.obtain(node)), passages_of(made("retrieved"))
    assert graph.run.primary == Metric.parse("span_recall@500t")
    for query, passages in first.items():
        rows = chunks.loc[hits.loc[hits["query"] == query, "chunk"].tolist()[:k]]
        slices = rows[["doc", "delivered_start", "delivered_end"]].itertuples(index=False, name=None)
        assert [(passage.doc_id, passage.start, passage.end) for passage in passages] == [
            (graph.run.doc_ids[doc], start, end) for doc, start, end in slices
        ]
        assert longer[query][: k - 1] == passages[: k - 1]
        assert sum(len(passage.text) for passage in longer[query]) > sum(len(passage.text) for passage in passages)


def test_a_small_budget_cuts_passages_with_a_reason_and_lowers_the_recall_of_packing(
    made: Callable[..., StoredResult], configuration: Configuration
) -> None:
    entry = made("retrieved", chosen=replace(configuration, context=ContextPacking(budget=100)))
    about, cuts = entry.table("contexts"), entry.table("cuts")
    assert about["tokens"].max() == 100
    assert set(cuts["reason"]) == {OVER_BUDGET}
    assert about["packing_recall"].mean() < 1
    slices = pd.concat([cuts, entry.table("passages").assign(rank=0)])[["query", "doc_id", "start", "end"]]
    whole = made("retrieved").table("passages")
    lengths = [table.assign(n=table["end"] - table["start"]).groupby("query")["n"].sum().tolist() for table in (slices, whole)]
    assert lengths[0] == lengths[1]


def test_the_prompt_of_the_generator_is_part_of_the_budget(
    graph: Graph, made: Callable[..., StoredResult], configuration: Configuration
) -> None:
    wordy = replace(configuration, answering=WordyGenerator(), context=ContextPacking(budget=150))
    plain, prompted = made("retrieved").table("contexts"), made("retrieved", chosen=wordy).table("contexts")
    assert prompted["tokens"].max() <= 150
    questions = [10 + len(query.text.split()) for query in graph.run.dataset.queries]
    assert made("none", chosen=wordy).table("contexts")["tokens"].tolist() == questions
    assert (plain["tokens"] > 150).any()


def test_delivered_tokens_limit_the_candidates(made: Callable[..., StoredResult], configuration: Configuration) -> None:
    few_tokens = replace(configuration, retrieval=configuration.retrieval.model_copy(update={"deliver": TokenCut(90)}))
    assert valid(made("irrelevant_only", chosen=few_tokens))["tokens"].max() == 90
    # The start of a slice may be split in another way than in its document.
    assert 80 <= made("retrieved", chosen=few_tokens).table("contexts")["tokens"].max() <= 95


def test_repeats_share_their_context_and_conditions_without_a_ranking_ignore_the_retriever(
    graph: Graph, of_k: Graph, configuration: Configuration
) -> None:
    own = keys(graph, configuration)
    assert len(set(own.values())) == len(own) == 14
    fewer = replace(configuration, retrieval=configuration.retrieval.model_copy(update={"k": 4}))
    for one, changed in ((graph, RANKED), (of_k, RANKED | {"irrelevant_only"})):
        before, after = keys(one, configuration), keys(one, fewer)
        assert {slot or "retrieved" for slot in before if before[slot] != after[slot]} == changed
    packed = keys(graph, replace(configuration, context=ContextPacking(order="ends")))
    assert not set(packed.values()) & set(own.values())
    assert keys(graph, replace(configuration, answering=ExtractiveGenerator(sentences=1))) == own
    assert not set(keys(graph, replace(configuration, answering=WordyGenerator())).values()) & set(own.values())


def test_expected_answers_change_only_the_contexts_that_read_them(few: Outcome, graph: Graph, configuration: Configuration) -> None:
    dataset: Dataset = few.run.dataset
    changed = replace(dataset, queries=tuple(replace(query, answer=f"{query.answer} indeed") for query in dataset.queries))
    other = keys(Graph(replace(graph.run, dataset=changed)), configuration)
    own = keys(graph, configuration)
    assert {slot for slot in own if own[slot] == other[slot]} == {"none", ""}


def test_a_context_is_computed_once(made: Callable[..., StoredResult]) -> None:
    made("gold")
    assert not made("gold").computed
