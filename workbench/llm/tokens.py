"""Tokens of chat models: estimates without their vocabulary, and what replies say about tokens."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.core.text.printable import printable_line
from workbench.llm.base import ChatCall

# The role and the separators of a message.
_A_MESSAGE = 8
# Hardly any text in any language has more bytes of UTF-8 in a token, on average.
_MOST_BYTES = 6.0
# The tenths of a token of a character by the first byte of its UTF-8, and none for the others. In the vocabularies cl100k and o200k of OpenAI, prose
# in 11 languages, tables, numbers, code, UUIDs and Base64 have fewer: small letters are in words, digits and symbols often alone.
_MOST_TENTHS = bytearray(256)
_MOST_TENTHS[:0x80] = [4 if byte in b"abcdefghijklmnopqrstuvwxyz \t\n\r" else 10 for byte in range(0x80)]
# Two bytes: Latin, Greek, Cyrillic, Hebrew, Arabic. Three: of India, South-East Asia, Ethiopia, symbols; Chinese, Japanese, Korean; others.
for _first, _after, _tenths in ((0xC0, 0xE0, 10), (0xE0, 0xE3, 30), (0xE3, 0xEE, 15), (0xEE, 0xF0, 30), (0xF0, 0x100, 40)):
    _MOST_TENTHS[_first:_after] = [_tenths] * (_after - _first)
# No model reads or writes as many tokens in a call: a larger count is an error of the server, and could not be stored.
_MOST_COUNTED = 100_000_000
_LONGEST_NAME = 200


def most_prompt_tokens(call: ChatCall) -> int:
    """Return a generous estimate of the tokens of a prompt and its schema, which providers count too, without the model's vocabulary."""
    schema = most_tokens(json.dumps(call.schema)) if call.schema else 0
    return sum(most_tokens(message.content) for message in call.messages) + _A_MESSAGE * (len(call.messages) + 1) + schema


def most_tokens(text: str) -> int:
    """Return a generous estimate of the tokens of a text."""
    return math.ceil(sum(text.encode("utf-8", "replace").translate(_MOST_TENTHS)) / 10)


def fewest_prompt_tokens(call: ChatCall) -> int:
    """Return the fewest tokens that the prompt can have in a usual vocabulary. Runs of spaces can be one token."""
    size = sum(len(" ".join(message.content.split()).encode("utf-8", "replace")) for message in call.messages)
    return math.floor(size / _MOST_BYTES)


def count_of(value: Any) -> int | None:
    """Return a server's count, or None if it is no count of a prompt or an answer."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_COUNTED else None


def name_of(value: Any) -> str:
    """Return the name of the model that a server says it has used, with visible control characters, cut if it is long."""
    return printable_line(str(value or ""))[:_LONGEST_NAME]


def first_alternatives(tokens: Sequence[Mapping[str, Any]]) -> dict[str, float] | None:
    """Return the log-probability of each alternative of the first token, or None if the reply has none."""
    if not tokens:
        return None
    first = tokens[0]
    alternatives = {str(alternative["token"]): float(alternative["logprob"]) for alternative in reversed(first.get("top_logprobs") or [])}
    return {token: value for token, value in alternatives.items() if math.isfinite(value)} or None
