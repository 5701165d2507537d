"""Answers changed so that they say otherwise."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.faultbench.readers import alter, names, numbers


@pytest.mark.parametrize(
    ("answer", "form"),
    [
        ("30 days", r"[2-9]0 days"),
        ("€1,090", r"€[2-9],090"),
        ("by 17 September", r"by \d{1,2} September"),
        ("at 15:30", r"at 15:\d\d"),
        ("in 2026", r"in 20[23]\d"),
        ("Two of the key holders", r"[A-Z][a-z]+ of the key holders"),
        ("in May", r"in [A-Z][a-z]+"),
        ("€0.30", r"€0.[2-9]0"),
    ],
)
def test_a_value_keeps_its_form_and_changes(answer, form):
    for lot in range(20):
        changed = alter(answer, answer, random.Random(lot))
        assert changed != answer
        assert re.fullmatch(form, changed)


@pytest.mark.parametrize(("answer", "turned"), [("No", "Yes."), ("Yes, up to 14 weeks", "No."), ("no; by post", "Yes.")])
def test_a_yes_or_no_is_turned_round_without_its_reasons(answer, turned):
    assert alter(answer, answer, random.Random(0)) == turned


@pytest.mark.parametrize("answer", ["Department head", "No difference at all", "the 4th day", "sha256sum", "you may keep it"])
def test_an_answer_without_a_value_is_left(answer):
    assert alter(answer, answer, random.Random(0)) is None


@given(st.integers(1, 10**6), st.integers(0, 2**32), st.lists(st.integers(0, 99)))
def test_the_new_value_is_named_nowhere(value, lot, known):
    named = f"{value} " + " ".join(map(str, known))
    changed = alter(f"{value} days", named, random.Random(lot))
    if changed is not None:
        (number,) = numbers(changed)
        assert not names(named, number)
        assert changed.endswith(" days")
