"""Errors that a reply declares."""

from workbench.llm.replies.rejections import reported_error


def test_the_words_of_a_long_error_are_read_at_its_beginning() -> None:
    long = "e " * 450_000
    assert [(reported_error({"error": text}) or (0,))[0] for text in ("rate limit " + long, long + "rate limit")] == [429, 400]
