import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.components.chunking.alignment import align


def left_out(text: str, slices: list[tuple[int, int]]) -> str:
    held = {place for start, end in slices for place in range(start, end)}
    return "".join(character for place, character in enumerate(text) if place not in held and not character.isspace())


def test_parts_that_follow_each_other_have_one_place_each() -> None:
    assert align("a b a b a", ["a b", "a", "b a"]) == [(0, 3), (4, 5), (6, 9)]


def test_repeated_paragraphs_have_their_own_places() -> None:
    text = "Same paragraph.\n\n" * 50
    starts = [start for start, _ in align(text, ["Same paragraph."] * 50)]
    assert starts == [17 * number for number in range(50)]


def test_overlaps_of_repeated_text_are_spread_evenly() -> None:
    assert align("ab " * 9, ["ab ab ab"] * 4) == [(0, 8), (6, 14), (12, 20), (18, 26)]


def test_a_part_inside_the_one_before_it_is_not_taken_for_the_next_one() -> None:
    assert align("one two one three", ["one two", "one", "three"]) == [(0, 7), (8, 11), (12, 17)]


def test_left_out_text_is_skipped_and_as_little_of_it_as_there_is() -> None:
    assert align("x = 1\n---\nx = 2\n---\nx = 1", ["x = 1", "x = 2", "x = 1"]) == [(0, 5), (10, 15), (20, 25)]
    assert align("a # a b", ["a b"]) == [(4, 7)]


def test_a_part_without_a_place_is_named() -> None:
    with pytest.raises(ValueError, match=r"^c$"):
        align("a b", ["a", "c"])
    with pytest.raises(ValueError, match=r"^a$"):
        align("a b", ["b", "a"])


@given(st.text(alphabet="ab \n", min_size=1, max_size=60), st.lists(st.tuples(st.integers(1, 12), st.integers(0, 8)), min_size=1))
@settings(max_examples=300)
def test_any_ordered_cuts_are_found_again_without_leaving_out_more(text: str, cuts: list[tuple[int, int]]) -> None:
    true, start = [], 0
    for length, step in cuts:
        start = min(start + step, len(text))
        if text[start : start + length].strip():
            true.append((start, min(start + length, len(text))))
    found = align(text, [text[start:end] for start, end in true])
    assert [text[start:end] for start, end in found] == [text[start:end] for start, end in true]
    assert [start for start, _ in found] == sorted(start for start, _ in found)
    assert len(left_out(text, found)) <= len(left_out(text, true))


@given(st.lists(st.integers(1, 6), min_size=1, max_size=12))
@settings(max_examples=100)
def test_cuts_without_a_gap_are_found_where_every_letter_is_the_same(lengths: list[int]) -> None:
    text = "x" * sum(lengths)
    edges = [sum(lengths[:place]) for place in range(len(lengths) + 1)]
    assert align(text, ["x" * length for length in lengths]) == list(itertools.pairwise(edges))


def test_a_hundred_thousand_equal_letters_with_overlaps_are_placed() -> None:
    starts = range(0, 100_000 - 16, 48)
    assert [start for start, _ in align("x" * (starts[-1] + 64), ["x" * 64] * len(starts))] == list(starts)
