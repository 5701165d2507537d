"""The packing rule by hand, and against a loop that fills one prompt after another."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.components.context import packing
from workbench.components.context.packing import BEYOND_K, DELIVERED, OVER_BUDGET, REPEATED, pack, spent_before


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def rows(packed) -> list[tuple[int, int, str]]:
    return list(zip(packed.position.tolist(), packed.delivered_tokens.tolist(), packed.reason.tolist(), strict=True))


def test_slices_are_delivered_by_rank_until_the_budget_is_spent_and_the_last_is_cut() -> None:
    packed = pack(ints(0, 0, 0, 1), ints(5, 6, 7, 7), ints(10, 10, 10, 10), budget=15)
    assert rows(packed) == [(1, 10, DELIVERED), (2, 5, DELIVERED), (3, 0, OVER_BUDGET), (1, 10, DELIVERED)]


def test_a_budget_that_ends_with_a_slice_cuts_none() -> None:
    assert rows(pack(ints(0, 0), ints(1, 2), ints(10, 10), budget=10)) == [(1, 10, DELIVERED), (2, 0, OVER_BUDGET)]


def test_an_identical_slice_is_delivered_and_charged_once() -> None:
    packed = pack(ints(0, 0, 0), ints(3, 3, 4), ints(10, 10, 10), k=2, budget=20)
    assert rows(packed) == [(1, 10, DELIVERED), (1, 0, REPEATED), (2, 10, DELIVERED)]


def test_a_row_after_the_cut_has_the_reason_of_the_cut_also_where_it_repeats() -> None:
    packed = pack(ints(0, 0, 0, 0), ints(3, 4, 3, 5), ints(1, 1, 1, 1), k=1)
    assert rows(packed) == [(1, 1, DELIVERED), (2, 0, BEYOND_K), (2, 0, BEYOND_K), (3, 0, BEYOND_K)]
    assert pack(ints(0, 0, 0), ints(3, 3, 4), ints(5, 5, 5), budget=2).reason.tolist() == [DELIVERED, OVER_BUDGET, OVER_BUDGET]


def test_a_slice_in_which_no_token_starts_costs_nothing_and_is_delivered() -> None:
    assert rows(pack(ints(0, 0), ints(1, 2), ints(0, 3), budget=3)) == [(1, 0, DELIVERED), (2, 3, DELIVERED)]


def test_nothing_is_packed_of_nothing() -> None:
    assert rows(pack(ints(), ints(), ints(), k=3, budget=3)) == []


ranked = st.lists(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=7), max_size=4)
limits = st.one_of(st.none(), st.integers(0, 9))


@given(ranked, limits, limits)
def test_it_equals_a_loop_over_one_query_at_a_time(queries, k, budget) -> None:
    table = [(query, piece, piece + cost) for query, hits in enumerate(queries) for piece, cost in hits]
    tokens = {(query, piece): cost for query, piece, cost in reversed(table)}
    table = [(query, piece, tokens[query, piece]) for query, piece, _ in table]
    expected = []
    for query in range(len(queries)):
        distinct: list[int] = []
        left = budget
        for _, piece, cost in (row for row in table if row[0] == query):
            repeated = piece in distinct
            distinct += [] if repeated else [piece]
            if k is not None and len(distinct) > k:
                expected.append((len(distinct), 0, BEYOND_K))
            elif left is not None and left <= 0:
                expected.append((len(distinct), 0, OVER_BUDGET))
            elif repeated:
                expected.append((len(distinct), 0, REPEATED))
            else:
                kept = cost if left is None else min(cost, left)
                left = None if left is None else left - cost
                expected.append((len(distinct), kept, DELIVERED))
    columns = np.array(table, dtype=np.int64).reshape(-1, 3).T
    assert rows(pack(*columns, k=k, budget=budget)) == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9))))
def test_what_was_spent_before_a_row_counts_its_own_query_alone(pairs) -> None:
    pairs = sorted(pairs, key=lambda pair: pair[0])
    query, cost = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    expected = [sum(c for q, c in pairs[:place] if q == pairs[place][0]) for place in range(len(pairs))]
    assert spent_before(query, cost).tolist() == expected


def test_the_file_runs_alone_with_numpy(tmp_path: Path) -> None:
    text = Path(packing.__file__).read_text("utf-8")
    modules = {node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import) for alias in node.names}
    assert modules == {"typing", "collections.abc", "numpy", "numpy.typing"}
    (tmp_path / "packing.py").write_text(text, "utf-8")
    script = (
        "import numpy as np, packing; one = np.zeros(2, dtype=np.int64); print(packing.pack(one, one, one + 1).delivered_tokens.tolist())"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[1, 0]"


def test_a_million_rows_are_packed_at_once() -> None:
    query = np.repeat(np.arange(10_000, dtype=np.int64), 100)
    piece = np.tile(np.arange(100, dtype=np.int64), 10_000)
    packed = pack(query, piece, np.full(1_000_000, 30, dtype=np.int64), k=90, budget=2_000)
    assert packed.delivered_tokens.reshape(10_000, 100).sum(axis=1).tolist() == [2_000] * 10_000
