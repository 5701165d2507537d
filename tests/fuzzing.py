"""Property tests that try some examples in every run and thousands in `make soak`."""

from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Value = TypeVar("Value")


def few_or_many(few: int, many: int) -> pytest.MarkDecorator:
    """Parametrize a test by its number of `examples`; only `make soak` runs it with many."""
    return pytest.mark.parametrize("examples", [few, pytest.param(many, marks=pytest.mark.soak)])


def check_examples(examples: int, strategy: st.SearchStrategy[Value], check: Callable[[Value], None]) -> None:
    """Draw examples and check each; a failure is reduced to the simplest example that fails."""
    settings(max_examples=examples, suppress_health_check=list(HealthCheck))(given(strategy)(check))()
