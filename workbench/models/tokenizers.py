"""Split texts into tokens with exact offsets. All configurations share the tokens of a text in a vocabulary."""

import functools
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from workbench.core import batching
from workbench.core.environment import advice
from workbench.core.fingerprint import file_digest
from workbench.errors import ModelError
from workbench.models.files import MINILM, locate

if TYPE_CHECKING:
    import tokenizers

CHARACTERS = "characters"
CL100K = "cl100k"
# The vocabulary of `@2000t`, for every embedder.
BUDGET_VOCABULARY = MINILM

# 24 bytes each.
_CACHE_TOKENS = 8_000_000
# The tokeniser's memory for each character, at about 200 bytes a token.
_BYTES_A_CHARACTER = 40
# bpe-openai rejects texts of 200,000 tokens; a character is at most four tokens.
_CL100K_LONGEST = 50_000
_CL100K_START = re.compile(r"(?<=[a-z]) (?=[a-z])")

Ints = NDArray[np.int64]
T = TypeVar("T")


class Tokens(NamedTuple):
    """The n tokens of a text: `starts`, `ends` (int64, n) in code points, and `words` (int64, n), the number of each token's word.

    Cutting a text between two words leaves the tokens of both parts unchanged; cutting inside a word may change them.
    """

    starts: Ints
    ends: Ints
    words: Ints

    def before(self, positions: Ints) -> Ints:
        """Count the tokens that start before each position."""
        return np.searchsorted(self.starts, positions, side="left").astype(np.int64)


_cache: dict[tuple[str, str], Tokens] = {}
_cached_tokens = 0


def tokenise(texts: Sequence[str], vocabulary: str) -> list[Tokens]:
    """Tokenise texts without special tokens. `vocabulary`: `characters`, `cl100k` (OpenAI's, from `bpe-openai`), a model or its folder."""
    global _cached_tokens
    missing = list(dict.fromkeys(text for text in texts if (vocabulary, text) not in _cache))
    if missing and _cached_tokens > _CACHE_TOKENS:
        _cache.clear()
        _cached_tokens = 0
        missing = list(dict.fromkeys(texts))
    for text, tokens in zip(missing, _tokenise(missing, vocabulary), strict=True):
        _cache[vocabulary, text] = tokens
        _cached_tokens += len(tokens.starts)
    return [_cache[vocabulary, text] for text in texts]


def tokenised(texts: Iterable[str], vocabulary: str) -> Iterator[Tokens]:
    """Tokenise a corpus in order, a few texts at a time."""
    for group in groups(texts, len):
        yield from tokenise(group, vocabulary)


def groups(items: Iterable[T], characters: Callable[[T], int]) -> Iterator[list[T]]:
    """Group items into lists that are tokenised together. `characters` gives the length of an item."""
    return batching.groups(items, characters, batching.rows(_BYTES_A_CHARACTER))


def count(text: str, vocabulary: str) -> int:
    """Count the tokens of a short text, such as a header."""
    return len(_tokenise([text], vocabulary)[0].starts) if text else 0


def input_lengths(texts: Sequence[str], model: str) -> Ints:
    """Count the tokens of each text as a model does, with its special tokens: int64 (n)."""
    encode = model_tokenizer(model).encode_batch_fast
    return np.fromiter((len(encoding) for group in groups(texts, len) for encoding in encode(group)), dtype=np.int64, count=len(texts))


def special_tokens(vocabulary: str) -> int:
    """Count the tokens that a model adds to its input: 2 for BERT's [CLS] and [SEP], 0 for a vocabulary without a model."""
    return 0 if vocabulary in (CHARACTERS, CL100K) else int(model_tokenizer(vocabulary).num_special_tokens_to_add(False))


def padded(rows: Sequence[Sequence[int]], length: int, padding: int) -> tuple[Ints, Ints]:
    """Pad rows of ids to a length and return them with the mask of real ids: int64 (rows, length) each."""
    ids = np.full((len(rows), length), padding, dtype=np.int64)
    mask = np.zeros_like(ids)
    for place, row in enumerate(rows):
        ids[place, : len(row)], mask[place, : len(row)] = row, 1
    return ids, mask


def special_ids(model: str) -> tuple[Ints, Ints]:
    """Return the ids of the special tokens that a model puts before and after its input: int64, often one each."""
    encoding = model_tokenizer(model).encode("a")
    content = [place for place, special in enumerate(encoding.special_tokens_mask) if not special]
    ids = np.array(encoding.ids, dtype=np.int64)
    return ids[: content[0]], ids[content[-1] + 1 :]


def vocabulary_digest(vocabulary: str) -> str:
    """Hash a vocabulary (the SHA-256 of tokenizer.json), so that models with the same vocabulary share token counts."""
    return vocabulary if vocabulary in (CHARACTERS, CL100K) else file_digest(tokenizer_file(vocabulary))


def _tokenise(texts: list[str], vocabulary: str) -> list[Tokens]:
    if vocabulary == CHARACTERS:
        positions = [np.arange(len(text), dtype=np.int64) for text in texts]
        return [Tokens(places, places + 1, places) for places in positions]
    if vocabulary == CL100K:
        return [_cl100k(text) for text in texts]
    return [_from_encoding(encoding) for encoding in model_tokenizer(vocabulary).encode_batch(texts, add_special_tokens=False)]


def _from_encoding(encoding: "tokenizers.Encoding") -> Tokens:
    offsets = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
    words = np.array([-1 if word is None else word for word in encoding.word_ids], dtype=np.int64)
    return Tokens(offsets[:, 0], offsets[:, 1], words)


def _cl100k(text: str) -> Tokens:
    encoding, widths = _cl100k_tables()
    ids = np.concatenate([encoding.encode_to_numpy(part, disallowed_special=()) for part in _parts(text)]).astype(np.int64)
    # Tokens are byte strings. A character belongs to the token with its first byte.
    raw = np.frombuffer(text.encode("utf-8", "replace"), dtype=np.uint8)
    characters_before = np.concatenate([[0], np.cumsum((raw & 0xC0) != 0x80)]).astype(np.int64)
    byte_ends = np.cumsum(widths[ids])
    starts = np.concatenate([[0], byte_ends[:-1]]) if len(ids) else byte_ends
    first, last = characters_before[starts], characters_before[byte_ends]
    return Tokens(first, last, np.arange(len(ids), dtype=np.int64))


def _parts(text: str) -> list[str]:
    """Cut a text into parts that the encoder accepts, if possible at places where cl100k always starts a token."""
    parts, start = [], 0
    while len(text) - start > _CL100K_LONGEST:
        end = start + _CL100K_LONGEST
        end = max((match.start() for match in _CL100K_START.finditer(text, end - 2000, end)), default=end)
        parts.append(text[start:end])
        start = end
    return [*parts, text[start:]]


@functools.cache
def _cl100k_tables() -> tuple[Any, Ints]:
    try:
        with warnings.catch_warnings():
            # The package reads its data in a deprecated way, which matters to its authors but not to its users.
            warnings.simplefilter("ignore", DeprecationWarning)
            import bpe_openai
    except ImportError:
        raise ModelError("tokens: cl100k needs its vocabulary", advice("cl100k")) from None
    encoding = bpe_openai.get_encoding("cl100k_base")
    widths = np.array([len(encoding.decode_single_token_bytes(token)) for token in range(100_256)], dtype=np.int64)
    return encoding, widths


@functools.cache
def model_tokenizer(model: str) -> "tokenizers.Tokenizer":
    """Return a model's own tokeniser, without truncation and padding."""
    import tokenizers

    path = tokenizer_file(model)
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare exceptions for files that it cannot parse
        raise ModelError(f"{path} is not a tokenizer ({error})", "fetch or save the model again") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def tokenizer_file(model: str) -> Path:
    """Return the file of a model's tokeniser. Raises ModelError if it is missing."""
    path = locate(model) / "tokenizer.json"
    if not path.is_file():
        raise ModelError(f"the model {model} has no tokenizer.json", "save it again with its fast tokenizer")
    return path
