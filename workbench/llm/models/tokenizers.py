"""Split texts into tokens with exact offsets. All configurations share the tokens of a text in a vocabulary."""

import functools
import itertools
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from workbench.core import batching
from workbench.core.environment import missing_package, require_installed
from workbench.core.errors import ModelError
from workbench.core.fingerprint import file_digest
from workbench.llm.models import wordpiece
from workbench.llm.models.files import MINILM, locate

if TYPE_CHECKING:
    import tokenizers

CHARACTERS = "characters"
CL100K = "cl100k"
# The vocabulary of `@2000t`, for every embedder.
BUDGET_VOCABULARY = MINILM

# 12 bytes each.
_CACHE_TOKENS = 16_000_000
# The tokeniser's memory for each character, at about 200 bytes a token.
_BYTES_A_CHARACTER = 40
# bpe-openai rejects texts of 200,000 tokens; a character is at most four tokens.
_CL100K_LONGEST = 50_000
# A model's tokeniser takes long texts in parts. Each part goes on for some characters into the next one, to compare their tokens there.
_LONGEST = 250_000
_SHARED = 400
# Where parts end: before a blank between words, or else before any blank or after a punctuation mark.
_BETWEEN_WORDS = re.compile(r"(?<=[a-z]) (?=[a-z])")
_BETWEEN_OTHERS = re.compile(r"(?<=\S)(?=\s\S)|(?<=[^\w\s])(?=\w)")

Ints = NDArray[np.int64]
# Half the memory of int64, for the arrays that are as long as a document.
Places = NDArray[np.int32]
T = TypeVar("T")


class Tokens(NamedTuple):
    """The n tokens of a text: `starts`, `ends` (int32, n) in code points, and `words` (int32, n), the number of each token's word.

    Cutting a text between two words leaves the tokens of both parts unchanged; cutting inside a word may change them.
    """

    starts: Places
    ends: Places
    words: Places

    def before(self, positions: Ints | Places) -> Ints:
        """Count the tokens that start before each position."""
        return _places(self.starts, positions, "left")

    def ended(self, positions: Ints | Places) -> Ints:
        """Count the tokens that end at or before each position."""
        return _places(self.ends, positions, "right")


def _places(values: Places, positions: Ints | Places, side: Literal["left", "right"]) -> Ints:
    # Positions of another type would make a copy of all values.
    return np.searchsorted(values, positions.astype(np.int32), side=side).astype(np.int64)


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
    for index, row in enumerate(rows):
        ids[index, : len(row)], mask[index, : len(row)] = row, 1
    return ids, mask


def special_ids(model: str) -> tuple[Ints, Ints]:
    """Return the ids of the special tokens that a model puts before and after its input: int64, often one each."""
    encoding = model_tokenizer(model).encode("a")
    content = [index for index, special in enumerate(encoding.special_tokens_mask) if not special]
    ids = np.array(encoding.ids, dtype=np.int64)
    return ids[: content[0]], ids[content[-1] + 1 :]


def vocabulary_digest(vocabulary: str) -> str:
    """Hash a vocabulary (the SHA-256 of tokenizer.json), so that models with the same vocabulary share token counts."""
    if vocabulary == BUDGET_VOCABULARY and missing_package("tokenizers"):
        return wordpiece.tokenizer_digest()
    return vocabulary if vocabulary in (CHARACTERS, CL100K) else file_digest(tokenizer_file(vocabulary))


def _tokenise(texts: list[str], vocabulary: str) -> list[Tokens]:
    if vocabulary == CHARACTERS:
        positions = [np.arange(len(text), dtype=np.int32) for text in texts]
        return [Tokens(places, places + 1, places) for places in positions]
    if vocabulary == CL100K:
        cuts = [(text, _parts(text, _CL100K_LONGEST, _BETWEEN_WORDS)) for text in texts]
        return [_joined((_cl100k_part(text[start:end]), start) for start, end in slices) for text, slices in cuts]
    if vocabulary == BUDGET_VOCABULARY and missing_package("tokenizers"):
        return [Tokens(*np.array(wordpiece.encode(text), dtype=np.int32).reshape(-1, 3).T.copy()) for text in texts]
    parts_of = [list(_parts(text, _LONGEST, _BETWEEN_WORDS, _BETWEEN_OTHERS)) for text in texts]
    shared = (text[start : end + _SHARED] for text, parts in zip(texts, parts_of, strict=True) for start, end in parts)
    encode = model_tokenizer(vocabulary).encode_batch
    encoded = (_Encoded.of(encoding) for group in groups(shared, len) for encoding in encode(group, add_special_tokens=False))
    found = []
    for text, parts in zip(texts, parts_of, strict=True):
        tokens = _together(itertools.islice(encoded, len(parts)), parts)
        # A vocabulary without words, or a word without an end: the tokens depend on the whole text.
        found.append(tokens or _Encoded.of(encode([text], add_special_tokens=False)[0]).tokens)
    return found


def _cl100k_part(text: str) -> Tokens:
    encoding, widths = _cl100k_tables()
    ids = encoding.encode_to_numpy(text, disallowed_special=()).astype(np.int64)
    # Tokens are byte strings. A character belongs to the token with its first byte.
    raw = np.frombuffer(text.encode("utf-8", "replace"), dtype=np.uint8)
    characters_before = np.concatenate([[0], np.cumsum((raw & 0xC0) != 0x80)]).astype(np.int32)
    byte_ends = np.cumsum(widths[ids])
    byte_starts = np.concatenate([[0], byte_ends[:-1]]) if len(ids) else byte_ends
    return Tokens(characters_before[byte_starts], characters_before[byte_ends], np.arange(len(ids), dtype=np.int32))


def _parts(text: str, longest: int, *patterns: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Cut a text into slices of at most `longest` characters, each ending at the last match of the first pattern that is near."""
    start = 0
    while len(text) - start > longest:
        end = start + longest
        places = ([match.start() for match in pattern.finditer(text, end - 2000, end)] for pattern in patterns)
        yield start, (end := next((found[-1] for found in places if found), end))
        start = end
    yield start, len(text)


class _Encoded(NamedTuple):
    tokens: Tokens
    ids: Places

    @classmethod
    def of(cls, encoding: "tokenizers.Encoding") -> "_Encoded":
        offsets = np.array(encoding.offsets, dtype=np.int32).reshape(-1, 2)
        words = np.array([-1 if word is None else word for word in encoding.word_ids], dtype=np.int32)
        return cls(Tokens(offsets[:, 0].copy(), offsets[:, 1].copy(), words), np.array(encoding.ids, dtype=np.int32))


def _together(encoded: Iterable[_Encoded], parts: Sequence[tuple[int, int]]) -> Tokens | None:
    """Join the tokens of a text's parts [start, end), each encoded with the beginning of the next one, where their tokens must agree."""
    own: list[tuple[Tokens, int]] = []
    agree = True
    following: _Encoded | None
    for (part, following), (start, end) in zip(itertools.pairwise(itertools.chain(encoded, [None])), parts, strict=True):
        assert part
        number = int(part.tokens.before(np.array([end - start]))[0]) if following else len(part.ids)
        agree = agree and (following is None or _agree(part, number, end - start, following))
        own.append((Tokens(*(column[:number] for column in part.tokens)), start))
    return _joined(own) if agree else None


def _agree(part: _Encoded, number: int, length: int, following: _Encoded) -> bool:
    """Return True if no word crosses the end of a part, and the tokens after its end begin those of the next part."""
    tokens, words = part.tokens, part.tokens.words
    if number and (tokens.ends[number - 1] > length or words[number - 1] in words[number : number + 1]):
        return False
    # The last tokens of the shared text depend on what comes after it.
    known = length + _SHARED // 2
    own = slice(number, int(tokens.ended(np.array([known]))[0]))
    theirs = slice(0, int(following.tokens.ended(np.array([known - length]))[0]))
    return (
        np.array_equal(tokens.starts[own] - length, following.tokens.starts[theirs])
        and np.array_equal(tokens.ends[own] - length, following.tokens.ends[theirs])
        and np.array_equal(part.ids[own], following.ids[theirs])
    )


def _joined(parts: Iterable[tuple[Tokens, int]]) -> Tokens:
    """Join the tokens of a text's parts, each with the start of the part."""
    joined, word = list[Tokens](), 0
    for part, start in parts:
        words = len(part.words) and int(part.words[-1]) + 1
        # In place: copies would double the memory.
        for column, first in zip(part, (start, start, word), strict=True):
            column += np.int32(first)
        joined.append(part)
        word += words
    return Tokens(*map(np.concatenate, zip(*joined, strict=True))) if len(joined) > 1 else joined[0]


@functools.cache
def _cl100k_tables() -> tuple[Any, Ints]:
    require_installed("tokens: cl100k", "bpe_openai")
    with warnings.catch_warnings():
        # The package reads its data in a deprecated way, which matters to its authors but not to its users.
        warnings.simplefilter("ignore", DeprecationWarning)
        import bpe_openai
    encoding = bpe_openai.get_encoding("cl100k_base")
    widths = np.array([len(encoding.decode_single_token_bytes(token)) for token in range(100_256)], dtype=np.int64)
    return encoding, widths


@functools.cache
def model_tokenizer(model: str) -> "tokenizers.Tokenizer":
    """Return a model's own tokeniser, without truncation and padding."""
    require_installed(f"counting tokens of {model}", "tokenizers")
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
