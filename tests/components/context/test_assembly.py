"""Contexts by hand: budgets, orders, near-duplicates, and a reason for every candidate that is not delivered."""

import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.components.context.context_packing import ContextPacking, PackedContext, PromptTokens, pack_context
from workbench.components.context.packing import NEAR_DUPLICATE, OVER_BUDGET, REPEATED, jaccard, ordered, shingles
from workbench.core.records import Passage


def words(texts: Sequence[str]) -> list[np.ndarray]:
    return [np.array([match.start() for match in re.finditer(r"\S+", text)], dtype=np.int64) for text in texts]


def passage(text: str, doc_id: str = "a", start: int = 0) -> Passage:
    return Passage(doc_id, start, start + len(text), text)


def packed(texts: Sequence[str], overhead: int = 0, around: int = 0, tokens: int | None = None, **settings) -> PackedContext:
    candidates = [passage(text, f"d{number}") for number, text in enumerate(texts)]
    prompt = PromptTokens(words, overhead, lambda _: around)
    return pack_context(candidates, ContextPacking(**settings), prompt, tokens)


def texts_of(context: PackedContext) -> list[str]:
    return [passage.text for passage in context.passages]


def cuts_of(context: PackedContext) -> list[tuple[int, str, str]]:
    return [(cut.rank, cut.passage.text, cut.reason) for cut in context.cuts]


THREE = ["one two three", "four five six", "seven eight nine"]


def test_the_prompt_and_what_is_around_each_passage_are_part_of_the_budget() -> None:
    context = packed(THREE, overhead=4, around=2, budget=4 + 5 + 4)
    assert texts_of(context) == ["one two three", "four five "]
    assert context.tokens == (5, 4)
    assert context.total == 13
    assert cuts_of(context) == [(2, "six", OVER_BUDGET), (3, "seven eight nine", OVER_BUDGET)]
    assert [(cut.passage.start, cut.passage.end) for cut in context.cuts] == [(10, 13), (0, 16)]


@pytest.mark.parametrize(("budget", "delivered"), [(9, 1), (10, 1), (11, 1), (12, 2)])
def test_a_passage_is_not_announced_if_no_token_of_it_fits(budget: int, delivered: int) -> None:
    context = packed(THREE, overhead=4, around=2, budget=budget)
    assert len(context.passages) == delivered
    assert context.total <= budget
    assert [cut.rank for cut in context.cuts] == [2, 3]


def test_a_prompt_that_fills_the_budget_alone_leaves_no_passage() -> None:
    context = packed(THREE, overhead=10, budget=10)
    assert (context.passages, context.total) == ((), 10)
    assert [cut.reason for cut in context.cuts] == [OVER_BUDGET] * 3


def test_tokens_limit_the_passages_in_addition_to_the_budget() -> None:
    assert texts_of(packed(THREE, overhead=50, tokens=4)) == ["one two three", "four "]


def test_a_slice_is_delivered_once() -> None:
    candidates = [passage("one two"), passage("one two"), passage("one two", start=5)]
    context = pack_context(candidates, ContextPacking(), PromptTokens(words))
    assert [(each.start, each.end) for each in context.passages] == [(0, 7), (5, 12)]
    assert cuts_of(context) == [(2, "one two", REPEATED)]


def test_a_near_duplicate_of_a_better_passage_is_dropped_and_leaves_its_room_to_others() -> None:
    better = "the quay closes at nine in winter"
    texts = [better, "The quay closes at nine, in winter!", "the quay closes at ten in winter", "boats wait"]
    assert cuts_of(packed(texts, drop_duplicates=1.0)) == [(2, texts[1], NEAR_DUPLICATE)]
    assert [cut.rank for cut in packed(texts, drop_duplicates=0.25).cuts] == [2, 3]
    assert texts_of(packed(texts, drop_duplicates=0.25, tokens=9)) == [better, "boats wait"]
    assert packed(texts).cuts == ()


def test_near_duplicates_are_found_in_scripts_without_blanks() -> None:
    texts = ["码头夏天晚上九点关闭", "码头夏天晚上九点关闭。", "码头冬天下午四点关闭", "ท่าเรือปิดเก้าโมง", "ท่าเรือปิดเก้าโมง!"]
    assert [cut.rank for cut in packed(texts, drop_duplicates=1.0).cuts] == [2, 5]


def test_the_similarity_is_the_share_of_common_shingles() -> None:
    assert shingles(["one", "two", "three", "four"]) == {("one", "two", "three"), ("two", "three", "four")}
    assert shingles(["one", "two"]) == {("one", "two")}
    assert jaccard(shingles(list("abcd")), shingles(list("bcde"))) == 1 / 3
    assert jaccard(shingles([]), shingles([])) == 0


@pytest.mark.parametrize(("order", "numbers"), [("rank", "12345"), ("reversed", "54321"), ("ends", "13542")])
def test_passages_are_placed_by_rank_reversed_or_with_the_best_at_both_ends(order: str, numbers: str) -> None:
    context = packed(list("12345"), order=order)
    assert "".join(texts_of(context)) == numbers
    assert context.ranks == tuple(int(number) for number in numbers)
    assert ordered(np.arange(4), "ends").tolist() == [0, 2, 3, 1]


texts = st.lists(st.text("ab ", min_size=1, max_size=12), max_size=8)


@given(
    texts,
    st.integers(1, 20),
    st.integers(0, 4),
    st.integers(0, 3),
    st.sampled_from(["rank", "reversed", "ends"]),
    st.sampled_from([None, 0.5, 1.0]),
)
def test_every_character_is_delivered_or_cut_with_a_reason_and_no_budget_is_exceeded(
    found: list[str], budget: int, overhead: int, around: int, order: str, dropped: float | None
) -> None:
    context = packed(found, overhead, around, budget=budget, order=order, drop_duplicates=dropped)
    delivered = {rank: each.text for rank, each in zip(context.ranks, context.passages, strict=True)}
    rest = {cut.rank: cut.passage.text for cut in context.cuts}
    assert [delivered.get(rank, "") + rest.get(rank, "") for rank in range(1, len(found) + 1)] == found
    assert all(cut.reason for cut in context.cuts)
    assert context.total <= max(budget, overhead)
    assert context.total == overhead + sum(len(words([text])[0]) + around for text in delivered.values())
    assert set(context.ranks) == set(packed(found, overhead, around, budget=budget, drop_duplicates=dropped).ranks)
