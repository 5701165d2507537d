import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from workbench.core.errors import WorkbenchError
from workbench.report.analysis.standings import Mean, Standing, standings
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.retrieval.sizes import size_grids

EMBEDDER = {"kind": "sentence-transformers", "model": "all-MiniLM-L6-v2", "pooling": "standard", "max_tokens": None}


def run_of(tables, embeddings: Sequence[Mapping[str, Any] | None], sizes: Sequence[int] = (128, 256)) -> tuple[RunTables, list[Standing]]:
    """A configuration for each embedder, size and overlap; its value tells which one it is."""
    settings, found = {}, []
    for place, (embedding, size, overlap) in enumerate(itertools.product(embeddings, sizes, (0, 32))):
        name = f"c{place}"
        chunking = {"kind": "fixed", "size": size, "overlap": overlap, "enrich": False, "tokens": "model", "model": "any"}
        settings[name] = {"chunking": chunking, "embedding": embedding, "retrieval": {"kind": "dense" if embedding else "bm25", "k": 10}}
        facts = {"chunking": "fixed", "size": size, "overlap": overlap}
        found.append(Standing(name, {"ndcg@10": Mean(place / 100, 0, 1, 9, 9, metric="ndcg@10", unscored=0, attainable=1)}, facts))
    return tables({"configurations": settings}), found


@pytest.mark.parametrize(
    "change",
    [{"model": "another"}, {"dimensions": 64}, {"pooling": "late"}, {"max_tokens": 64}, {"kind": "static"}],
    ids=lambda change: next(iter(change)),
)
def test_each_choice_of_the_other_settings_has_its_own_grid(tables, change) -> None:
    run, found = run_of(tables, [EMBEDDER, EMBEDDER | change])
    grids = size_grids(run, found, run.primary)
    assert [list(grid.cells.values()) for grid in grids] == [[0.0, 0.01, 0.02, 0.03], [0.04, 0.05, 0.06, 0.07]]
    assert len({grid.title for grid in grids}) == 2


def test_the_title_names_what_all_cells_have_in_common(tables) -> None:
    run, found = run_of(tables, [EMBEDDER])
    (grid,) = size_grids(run, found, run.primary)
    assert grid.title == "fixed, all-MiniLM-L6-v2, k 10"
    assert set(grid.cells) == {(size, overlap) for size in (128, 256) for overlap in (0, 32)}
    run, found = run_of(tables, [None])
    assert [grid.title for grid in size_grids(run, found, run.primary)] == ["fixed, bm25, k 10"]


def test_a_static_embedder_is_not_named_like_the_model_that_it_was_made_from(tables) -> None:
    static = {"kind": "static", "model": "all-MiniLM-L6-v2", "dimensions": 256}
    run, found = run_of(tables, [EMBEDDER | {"max_tokens": 64}, static, {"kind": "toy"}])
    assert [grid.title for grid in size_grids(run, found, run.primary)] == [
        "fixed, all-MiniLM-L6-v2, k 10, window 64",
        "fixed, static all-MiniLM-L6-v2, k 10",
        "fixed, toy, k 10",
    ]


def test_two_configurations_in_one_cell_are_an_error(tables) -> None:
    run, found = run_of(tables, [EMBEDDER, EMBEDDER])
    with pytest.raises(WorkbenchError, match="size 128, overlap 0"):
        size_grids(run, found, run.primary)


def test_one_size_makes_no_grid(tables) -> None:
    run, found = run_of(tables, [EMBEDDER], sizes=[128])
    assert size_grids(run, found, run.primary) == []


@pytest.mark.slow
def test_a_real_sweep_with_two_retrievers_draws_the_values_of_each(made) -> None:
    sweep = {
        "chunking": [{"kind": "fixed", "size": [16, 24], "overlap": [0, 8]}],
        "retrieval": [{"kind": "bm25", "k": 3}, {"kind": "bm25", "k": 5}],
    }
    noise = [[(place + query) % 7 / 10 for query in range(120)] for place in range(8)]
    run = made.valued(noise, sweep=sweep, pipeline={}, name="grids")
    ranked = standings(run).ranked
    grids = size_grids(run, ranked, run.primary)
    assert len(grids) == 2
    shown = {round(value, 9) for grid in grids for value in grid.cells.values()}
    assert shown == {round(one.means[str(run.primary)].value, 9) for one in ranked}
    assert len([value for grid in grids for value in grid.cells]) == 8
