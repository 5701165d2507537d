"""What is believed of a server's usage and of the model that it names."""

import pytest

from workbench.llm.tokens import count_of, name_of


@pytest.mark.parametrize("value", [-5, 10**30, 2**62, 1.5, True, "7", None])
def test_what_is_no_count_of_tokens_is_none(value: object) -> None:
    assert count_of(value) is None


def test_a_count_is_kept() -> None:
    assert count_of(0) == 0
    assert count_of(2_000_000) == 2_000_000


def test_the_name_of_a_model_can_be_stored_and_printed() -> None:
    assert name_of("gpt-5-mini") == "gpt-5-mini"
    assert name_of(None) == ""
    assert name_of("x\ud800\x1b[2J").encode("utf-8") == b"x\\ud800\\x1b[2J"
    assert len(name_of("m" * 10_000)) == 200
