import re

import pytest

from workbench.core.text.formatting import (
    aligned,
    count,
    fitting_digits,
    interval,
    listed,
    meant,
    name_fault,
    name_pattern,
    number,
    p_value,
    plural,
    share,
    shortened,
    signed,
    spread,
)


def test_numbers_have_fixed_digits_and_never_a_negative_zero():
    assert [number(0.12345), number(-0.5, 1), number(-0.0001), number(None), number(float("nan"))] == ["0.123", "−0.5", "0.000", "–", "–"]


def test_differences_carry_their_sign():
    assert [signed(0.25, 2), signed(-0.25, 2), signed(0.0001)] == ["+0.25", "−0.25", "0.000"]


def test_an_interval_without_bounds_says_so():
    assert interval(0.1, 0.2, 1) == "[0.1, 0.2]"
    assert interval(float("nan"), 0.2) == "[no interval]"


@pytest.mark.parametrize(
    ("part", "whole", "text"), [(0, 5, "0.0 %"), (5, 5, "100.0 %"), (1, 9999, "<0.1 %"), (9998, 9999, ">99.9 %"), (1, 0, "–")]
)
def test_all_and_none_are_said_only_of_all_and_none(part, whole, text):
    assert share(part, whole) == text


def test_the_range_of_a_measurement_has_two_significant_digits_and_one_number_if_both_ends_look_equal():
    assert [spread(15.3, 30.6), spread(6.56, 6.64), spread(0.1412, 0.2), spread(96, 1234), spread(0, 0.5)] == [
        "15 to 31",
        "6.6",
        "0.14 to 0.20",
        "96 to 1,200",
        "0 to 0.50",
    ]


def test_names_are_listed_as_a_sentence_does():
    assert [listed([]), listed(["a"]), listed(["a", "b"]), listed(list("abcd"), 2)] == ["none", "a", "a and b", "a, b and 2 more"]
    assert [plural(1, "chunk"), plural(2, "chunk"), count(1234)] == ["1 chunk", "2 chunks", "1,234"]


def test_two_digits_become_three_where_different_values_would_look_equal():
    assert fitting_digits([0.21, 0.25, float("nan")]) == 2
    assert fitting_digits([0.251, 0.254]) == 3
    assert fitting_digits([0.25, 0.25]) == 2
    assert fitting_digits([0.0, 0.004]) == 3


def test_a_long_name_loses_its_middle_and_stays_itself():
    short = shortened(["short", "a" * 30 + "b" * 30], 11)
    assert list(short.values()) == ["short", "aaaaa…bbbbb"]
    alike = shortened(["a" * 20 + "1" + "b" * 20, "a" * 20 + "2" + "b" * 20], 11)
    assert list(alike.values()) == ["1: aaaa…bbb", "2: aaaa…bbb"]
    mixed = shortened(["short", "a" * 20 + "1" + "b" * 20, "a" * 20 + "2" + "b" * 20, "c" * 20], 11)
    assert list(mixed.values()) == ["short", "2: aaaa…bbb", "3: aaaa…bbb", "4: cccc…ccc"]


def test_names_that_differ_in_their_middle_keep_it():
    names = [f"fixed, size {size} over fixed, size 24" for size in (32, 40, 120)]
    assert list(shortened([*names, "bm25"], 24).values()) == [*(f"{name[:23]}…" for name in names), "bm25"]


@pytest.mark.parametrize(
    ("word", "known", "suggested"),
    [
        ("sentense", ["fixed", "sentence"], "sentence"),
        ("dve", ["train", "dev"], "dev"),
        ("top_k", ["kind", "k"], "k"),
        ("bm52", ["dense", "bm25"], "bm25"),
        ("MiniLM", ["gte-small", "all-MiniLM-L6-v2"], "all-MiniLM-L6-v2"),
        # The nearest names, though not near.
        ("production", ["precision", "recall"], None),
        ("expenses", ["dense", "repeats"], None),
        ("splade", ["spans", "slices"], None),
        ("onboarding", ["openai", "static"], None),
        ("hr", ["chroma", "three"], None),
    ],
)
def test_a_name_is_suggested_only_if_it_is_near(word, known, suggested):
    assert meant(word, known) == (f" (did you mean {suggested!r}?)" if suggested else "")


def test_a_p_value_ends_at_both_sides_and_is_never_shown_as_certain():
    texts = [p_value(value) for value in (0.0, 0.0004, 0.001, 0.04996, 0.99, 0.9901, 1.0, float("nan"))]
    assert texts == ["p < 0.001", "p < 0.001", "p = 0.001", "p = 0.050", "p = 0.990", "p > 0.99", "p > 0.99", "no p"]


def test_a_table_fits_its_width_with_wrapped_words_and_a_key_of_shortened_names() -> None:
    rows = [
        ("configuration", "compute", "new tokens"),
        ("short-name", "all", "12"),
        (f"first-{'long-' * 12}name", "chunks, vectors", "1,234"),
    ]
    assert aligned(rows, 100) == [
        "configuration                                                           compute          new tokens",
        "short-name                                                              all                      12",
        "first-long-long-long-long-long-long-long-long-long-long-long-long-name  chunks, vectors       1,234",
    ]
    assert aligned(rows, 48) == [
        "configuration             compute            new",
        "                                          tokens",
        "short-name                all                 12",
        "first-long-l…g-long-name  chunks,          1,234",
        "                          vectors",
        "first-long-l…g-long-name:",
        "  first-long-long-long-long-long-long-long-long-",
        "  long-long-long-long-name",
    ]


def test_numbers_are_never_cut_to_fit() -> None:
    assert aligned([("a", "b"), ("123,456,789", "0.123456789")], 10) == ["          a            b", "123,456,789  0.123456789"]


def test_names_are_names_of_files_on_every_system():
    valid = ["a", "a.b", "v1.2-x_", "console", "com", "com10", "nulls.txt", "a" * 12]
    faulty = ["con", "nul.txt", "com1", "lpt9.a.b", "end.", "A", ".a", "-a", "a:b", "a" * 13, "", "aux"]
    assert [name for name in valid + faulty if re.fullmatch(name_pattern(12), name)] == valid
    assert name_fault("con", 12) == "a name that no file has on Windows; write for example 'my-con'"
    assert name_fault("end.", 12) == "a name that no file has on Windows; write for example 'end'"
    assert name_fault("Con", 12).endswith("write for example 'my-con'")
