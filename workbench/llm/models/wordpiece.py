"""Count tokens of all-MiniLM-L6-v2, the unit of `@2000t`, where the package `tokenizers` is not installed.

The algorithm is BERT's (Devlin et al. 2019): characters are removed, separated or lowered without accents, and a word is divided into the longest pieces
of the vocabulary. `wordpiece.json` has the vocabulary (BERT's, Apache-2.0) and the characters that `tokenizers` removes or separates, since versions
of Python know other characters; `tests/llm/models/test_wordpiece.py` compares both for every character.
"""

import functools
import json
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

_DATA = Path(__file__).with_name("wordpiece.json")
_SPECIAL = r"\[(?:PAD|UNK|CLS|SEP|MASK)\]"
# A longer word is one unknown token.
_LONGEST_WORD = 100


class _Rules(NamedTuple):
    """The tokens, the removed characters, and the pattern of a special token, a character that is a word, or a word."""

    vocabulary: frozenset[str]
    removed: re.Pattern[str]
    words: re.Pattern[str]


@functools.cache
def _data() -> Any:
    return json.loads(_DATA.read_text("utf-8"))


def tokenizer_digest() -> str:
    """Return the SHA-256 of the model's tokenizer.json."""
    return str(_data()["tokenizer"])


@functools.cache
def _rules() -> _Rules:
    removed, blank, alone = (_characters(_data()[name]) for name in ("removed", "blank", "alone"))
    words = re.compile(rf"({_SPECIAL})|[{alone}]|[^{alone}{blank}]+")
    return _Rules(frozenset(_data()["vocabulary"]), re.compile(f"[{removed}]"), words)


def _characters(ranges: Sequence[tuple[int, int]]) -> str:
    return "".join(f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in ranges)


def encode(text: str) -> list[tuple[int, int, int]]:
    """Return start, end and number of the word of each token, in code points."""
    tokens, word = [], 0
    for match in _rules().words.finditer(text):
        start = match.start()
        pieces = ((0, len(match[0])),) if match[1] else _pieces(match[0])
        tokens += [(start + first, start + last, word) for first, last in pieces]
        word += bool(pieces)
    return tokens


# Most words of a text recur.
@functools.lru_cache(maxsize=2**16)
def _pieces(word: str) -> tuple[tuple[int, int], ...]:
    """Return the slices of a word that are tokens: all of it if it cannot be divided, none if nothing of it is kept."""
    known = _rules().vocabulary
    letters = [(letter, place) for place, character in enumerate(word) for letter in _lowered(character)]
    text = "".join(letter for letter, _ in letters)
    pieces, start = [], 0
    while start < len(text) <= _LONGEST_WORD:
        prefix = "##" if start else ""
        end = next((end for end in range(len(text), start, -1) if prefix + text[start:end] in known), start)
        if end == start:
            break
        pieces.append((letters[start][1], letters[end - 1][1] + 1))
        start = end
    whole = (letters[0][1], letters[-1][1] + 1) if letters else None
    return tuple(pieces) if start == len(text) else ((whole,) if whole else ())


@functools.cache
def _lowered(character: str) -> str:
    removed = _rules().removed
    parts = unicodedata.normalize("NFD", "" if removed.match(character) else character)
    return "".join(part.lower() for part in parts if not removed.match(part))
