"""Matched pairs of configurations, and the effect of each alternative of a stage over them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from tests.report.analysis.conftest import MEASURE
from workbench.report.analysis.parts import PartEffect, alternatives, contrasts_of, parts, parts_table
from workbench.report.results.run_tables import RunTables

Settings = Mapping[str, Any]
QUESTIONS = 60
NOISE = np.random.default_rng(8).normal(0, 0.05, (40, QUESTIONS))
FIXED, SENTENCE = ({"kind": kind, "size": 128, "model": "minilm"} for kind in ("fixed", "sentence"))
MINILM, MPNET = ({"kind": "sentence-transformers", "model": name} for name in ("minilm", "mpnet"))
DENSE, BM25 = ({"kind": kind, "k": 10} for kind in ("dense", "bm25"))
HYBRID = {"kind": "hybrid", "k": 10, "retrievers": {"dense": DENSE | {"k": 5}, "bm25": BM25}, "weights": {"dense": 0.7}}
RERANKER = {"kind": "late-interaction", "pool": 50}


def settings(chunking: Settings, retrieval: Settings, embedding: Settings | None = MINILM, **stages: Settings) -> dict[str, Any]:
    needed = None if retrieval["kind"] == "bm25" else embedding
    return {"chunking": chunking, "embedding": needed, "retrieval": retrieval, **stages}


GRID = {
    f"{chunking['kind']}-{retrieval['kind']}{'-reranked' if stages else ''}": settings(chunking, retrieval, **stages)
    for chunking in (FIXED, SENTENCE)
    for retrieval in (DENSE, BM25, HYBRID)
    for stages in ({}, {"rerank": RERANKER})
}


@pytest.fixture
def grid(tables: Callable[..., RunTables]) -> Callable[..., RunTables]:
    """Makes a run of configurations by name, whose values are 0.5 plus what `gain` gives a configuration, plus noise."""

    def make(
        configurations: Mapping[str, Settings] = GRID,
        gain: Callable[[str], float] = lambda _: 0.0,
        failed: Sequence[str] = (),
        windowed: Sequence[str] = (),
        timings: Mapping[str, Mapping[str, float]] | None = None,
        **manifest: Any,
    ) -> RunTables:
        finished = [name for name in configurations if name not in failed]
        values = {name: 0.5 + gain(name) + NOISE[place] for place, name in enumerate(finished)}
        measures = {"ndcg@10": MEASURE | {"name": "ndcg", "family": "documents", "k": 10, **manifest.pop("measure", {})}}
        measures["chunk_precision@5"] = MEASURE | {"name": "chunk_precision", "family": "chunks", "k": 5}
        named = {"name": "grid", "metrics": ["ndcg@10", "chunk_precision@5"]}
        timed = (timings or {}).items()
        return tables(
            {
                "configurations": configurations,
                "metrics": measures,
                "failures": dict.fromkeys(failed, "broken"),
                "experiment": named,
                **manifest,
            },
            configurations=[{"configuration": name, "truncated_chunks": int(name in windowed), "error": np.nan} for name in finished]
            + [{"configuration": name, "error": "broken"} for name in failed],
            questions=[{"query_id": f"q{place}", "cluster": place // 3, "documents": "[]", "metadata": "{}"} for place in range(QUESTIONS)],
            queries=[
                {
                    "configuration": name,
                    "metric": metric,
                    "query_id": f"q{place}",
                    "value": value / part,
                    "condition": "retrieved",
                    "variant": "",
                }
                for name, row in values.items()
                for metric, part in (("ndcg@10", 1), ("chunk_precision@5", 2))
                for place, value in enumerate(row.tolist())
            ],
            metrics=[{"configuration": name, "metric": "ndcg@10", "slice": "all"} for name in finished],
            timings=[{"configuration": name, "name": each, "value": value} for name, row in timed for each, value in row.items()],
        )

    return make


def by_name(run: RunTables) -> dict[str, PartEffect]:
    return {f"{part.alternative} - {part.reference}": part for part in parts(run)}


def test_every_alternative_is_compared_with_none_or_the_first_and_hybrid_with_its_retrievers(grid: Callable[..., RunTables]) -> None:
    found = by_name(grid())
    assert {name: (part.added, len(part.pairs), part.possible) for name, part in found.items()} == {
        "sentence - fixed": (False, 6, 6),
        "bm25 - dense": (False, 4, 4),
        "hybrid - dense": (True, 4, 4),
        "hybrid - bm25": (True, 4, 4),
        "late-interaction - none": (True, 6, 6),
    }


def test_the_reference_is_none_and_a_single_retriever_wherever_they_are_in_the_list(grid: Callable[..., RunTables]) -> None:
    assert set(by_name(grid(dict(reversed(GRID.items()))))) == {
        "fixed - sentence",
        "dense - bm25",
        "hybrid - dense",
        "hybrid - bm25",
        "late-interaction - none",
    }


def test_an_effect_is_the_mean_of_its_pairs_and_found_where_it_was_put(grid: Callable[..., RunTables]) -> None:
    run = grid(gain=lambda name: 0.1 * name.endswith("-reranked") - 0.2 * name.startswith("sentence"))
    found = by_name(run)
    reranked = found["late-interaction - none"]
    assert reranked.effect.comparison.difference.value == pytest.approx(np.mean([pair.difference.value for pair in reranked.pairs]))
    assert reranked.lowest.difference.value < reranked.effect.comparison.difference.value < reranked.highest.difference.value
    assert {name: part.verdict for name, part in found.items()} == {
        "sentence - fixed": "worse",
        "bm25 - dense": "no difference shown",
        "hybrid - dense": "no benefit shown",
        "hybrid - bm25": "no benefit shown",
        "late-interaction - none": "worth it",
    }
    assert by_name(grid(gain=lambda name: -0.1 * name.endswith("-reranked")))["late-interaction - none"].verdict == "harmful"


def test_of_a_metric_whose_lower_values_are_better_a_fall_is_worth_it(grid: Callable[..., RunTables]) -> None:
    run = grid(gain=lambda name: -0.1 * name.endswith("-reranked"), measure={"higher_is_better": False})
    assert by_name(run)["late-interaction - none"].verdict == "worth it"


def test_only_pairs_of_ranked_configurations_count(grid: Callable[..., RunTables]) -> None:
    run = grid(failed=["fixed-dense-reranked"], windowed=["sentence-bm25"])
    found = by_name(run)["late-interaction - none"]
    assert (len(found.pairs), found.possible) == (4, 6)
    assert ("sentence-dense-reranked", "sentence-dense") in {(pair.configuration, pair.reference) for pair in found.pairs}
    assert not {"fixed-dense", "sentence-bm25-reranked"} & {name for pair in found.pairs for name in (pair.configuration, pair.reference)}


def test_an_alternative_that_failed_everywhere_has_no_effect_and_is_still_known(grid: Callable[..., RunTables]) -> None:
    run = grid(failed=[name for name in GRID if name.endswith("-reranked")])
    assert "late-interaction - none" not in by_name(run)
    (missing,) = [each for each in contrasts_of(run) if not each.pairs]
    assert (missing.alternative.label, missing.possible) == ("late-interaction", 6)


def test_bm25_is_matched_with_every_embedder_and_is_no_alternative_to_one(grid: Callable[..., RunTables]) -> None:
    configurations = {
        "dense-minilm": settings(FIXED, DENSE),
        "dense-mpnet": settings(FIXED, DENSE, MPNET),
        "bm25": settings(FIXED, BM25),
    }
    found = by_name(grid(configurations))
    assert [len(part.pairs) for part in found.values()] == [1, 2]
    assert list(found) == ["sentence-transformers, model mpnet - sentence-transformers, model minilm", "bm25 - dense"]


def test_a_chunker_that_counts_in_the_vocabulary_of_its_embedder_is_the_same_chunker(grid: Callable[..., RunTables]) -> None:
    other = FIXED | {"model": "mpnet"}
    run = grid({"minilm": settings(FIXED, DENSE), "mpnet": settings(other, DENSE, MPNET)})
    assert list(alternatives(run)) == ["embedding"]
    assert [len(part.pairs) for part in parts(run)] == [1]


def test_a_reranker_of_one_retriever_alone_does_not_pair_the_retrievers(grid: Callable[..., RunTables]) -> None:
    run = grid({"bm25": settings(FIXED, BM25), "dense": settings(FIXED, DENSE, rerank=RERANKER)})
    assert parts(run) == ()
    assert {each.possible for each in contrasts_of(run)} == {0}


def test_a_retriever_with_other_settings_is_not_one_that_hybrid_fuses(grid: Callable[..., RunTables]) -> None:
    other = BM25 | {"k1": 2.0}
    run = grid({"dense": settings(FIXED, DENSE), "bm25": settings(FIXED, other), "hybrid": settings(FIXED, HYBRID)})
    assert [name for name, part in by_name(run).items() if part.added] == ["hybrid - dense"]


def test_alternatives_are_named_by_what_differs_among_those_of_their_kind(grid: Callable[..., RunTables]) -> None:
    sizes = {f"fixed-{size}": settings(FIXED | {"size": size}, BM25) for size in (128, 256)}
    run = grid(sizes | {"sentence": settings(SENTENCE, BM25)})
    assert [each.label for each in alternatives(run)["chunking"]] == ["fixed, size 128", "fixed, size 256", "sentence"]


def test_hybrids_of_different_settings_have_different_names(grid: Callable[..., RunTables]) -> None:
    other = HYBRID | {"retrievers": {"dense": DENSE, "bm25": BM25 | {"k1": 2.0}}}
    run = grid({"dense": settings(FIXED, DENSE), "one": settings(FIXED, HYBRID), "other": settings(FIXED, other)})
    assert len({each.label for each in alternatives(run)["retrieval"]}) == 3


def test_the_time_added_is_the_median_over_the_pairs_with_the_range_of_all(grid: Callable[..., RunTables]) -> None:
    times = {"fixed-dense": 2.0, "fixed-dense-reranked": 10.0, "sentence-dense": 3.0, "sentence-dense-reranked": 17.0}
    timings = {
        name: {"latency_question_p50": time, "latency_question_p50_low": time - 1, "latency_question_p50_high": time + 1}
        for name, time in times.items()
    }
    chosen = {name: GRID[name] for name in times}
    added = by_name(grid(chosen, timings=timings))["late-interaction - none"].latency
    assert (added["p50"].value, *added["p50"].span) == (11, 6, 16)
    assert "p95" not in added
    slow = {name: row | {"latency_question_p50_high": 500.0} for name, row in timings.items() if name.startswith("sentence")}
    precise = by_name(grid(chosen, timings=timings | slow))["late-interaction - none"].latency["p50"]
    assert (precise.value, *precise.span) == (8, 6, 10)
    assert by_name(grid())["late-interaction - none"].latency == {}


def test_the_table_has_a_row_for_each_metric_and_tests_in_those_of_the_primary_one(grid: Callable[..., RunTables]) -> None:
    table = parts_table(grid(gain=lambda name: 0.1 * name.endswith("-reranked")))
    assert table["metric"].tolist() == ["ndcg@10", "chunk_precision@5"] * 5
    tested = table[table["metric"] == "ndcg@10"]
    assert tested[["p", "p_adjusted", "low_adjusted", "detectable", "verdict"]].notna().all(axis=None)
    assert table.loc[table["metric"] != "ndcg@10", ["p", "p_adjusted", "low_adjusted", "verdict"]].isna().all(axis=None)
    reranked = table[table["alternative"] == "late-interaction"]["difference"].tolist()
    assert reranked[0] == pytest.approx(2 * reranked[1])


@pytest.mark.parametrize("names", [["fixed-dense"], []])
def test_nothing_varies_in_a_run_of_one_or_no_configuration(grid: Callable[..., RunTables], names: Sequence[str]) -> None:
    table = parts_table(grid({name: GRID[name] for name in names}))
    assert len(table) == 0
    assert "verdict" in table


def test_neighbours_are_a_part_of_their_own_and_no_other_retriever(grid: Callable[..., RunTables]) -> None:
    found = by_name(
        grid(
            {
                f"{retriever['kind']}-{number}": settings(FIXED, retriever | ({"neighbours": number} if number else {}))
                for retriever in (DENSE, BM25)
                for number in (0, 1, 2)
            }
        )
    )
    assert {name: (part.stage, part.added, len(part.pairs)) for name, part in found.items()} == {
        "bm25 - dense": ("retrieval", False, 3),
        "1 neighbour on each side - none": ("neighbours", True, 2),
        "2 neighbours on each side - none": ("neighbours", True, 2),
    }
