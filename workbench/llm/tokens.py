"""Tokens of chat models: estimates without their vocabulary, and what replies say about tokens."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.llm.base import ChatCall
from workbench.printable import printable_line

# The role and the separators of a message.
_A_MESSAGE = 8
# Hardly any text in any language has more bytes of UTF-8 in a token, on average.
_MOST_BYTES = 6.0
# The tokens of a character by the first byte of its UTF-8, and none for the others. In the vocabularies cl100k and o200k of OpenAI, prose in
# 11 languages, tables, numbers, code, UUIDs and Base64 have fewer: small letters are in words, digits and symbols often alone.
_MOST_TOKENS = np.zeros(256)
_MOST_TOKENS[:0x80] = 1.0
_MOST_TOKENS[list(b"abcdefghijklmnopqrstuvwxyz \t\n\r")] = 0.4
# Two bytes: Latin, Greek, Cyrillic, Hebrew, Arabic. Three: of India, South-East Asia, Ethiopia, symbols; Chinese, Japanese, Korean; others.
_MOST_TOKENS[0xC0:0xE0] = 1.0
_MOST_TOKENS[0xE0:0xE3] = 3.0
_MOST_TOKENS[0xE3:0xEE] = 1.5
_MOST_TOKENS[0xEE:0xF0] = 3.0
_MOST_TOKENS[0xF0:] = 4.0
# No model reads or writes as many tokens in a call: a larger count is an error of the server, and could not be stored.
_MOST_COUNTED = 100_000_000
_LONGEST_NAME = 200


def most_prompt_tokens(call: ChatCall) -> int:
    """Return a generous estimate of the tokens of a prompt and its schema, which providers count too, without the model's vocabulary."""
    schema = most_tokens(json.dumps(call.schema)) if call.schema else 0
    return sum(most_tokens(message.content) for message in call.messages) + _A_MESSAGE * (len(call.messages) + 1) + schema


def most_tokens(text: str) -> int:
    """Return a generous estimate of the tokens of a text."""
    return math.ceil(float(_MOST_TOKENS[np.frombuffer(text.encode("utf-8", "replace"), np.uint8)].sum()))


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
    alternatives = {str(each["token"]): float(each["logprob"]) for each in reversed(first.get("top_logprobs") or [])}
    return {token: value for token, value in alternatives.items() if math.isfinite(value)} or None
