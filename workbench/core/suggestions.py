"""Suggestions for misspelt words."""

import difflib
from collections.abc import Iterable


def nearest_word(word: str, known: Iterable[str], likeness: float = 0.5) -> str | None:
    """Find the known word that is most like `word`; None if no similarity reaches `likeness` (0 to 1)."""
    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=likeness)), None)


def meant(word: str, known: Iterable[str]) -> str:
    """Ask in brackets whether the nearest known word was meant; empty if no word is near."""
    close = nearest_word(word, known)
    return f" (did you mean {close!r}?)" if close else ""
