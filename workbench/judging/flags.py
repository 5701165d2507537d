"""Differences between a claim and the sentence that is closest to it. They explain a score and are no part of it."""


def flags(claim: str, sentence: str) -> tuple[str, ...]:
    """Return the kinds of differences."""
    return ()
