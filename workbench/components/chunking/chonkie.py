"""Use the chunkers of chonkie."""

import importlib.metadata
import inspect
import itertools
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from workbench.components.chunking.foreign import LibraryChunker, token_counter
from workbench.components.chunking.headers import Headers
from workbench.core.text.formatting import meant
from workbench.llm.models.tokenizers import tokenise


class ChonkieChunker(LibraryChunker):
    """A chunker of chonkie by its class name, with its own `arguments` besides `size` and `overlap`.

    A chunker that accepts a tokenizer gets ours, so that sizes count in the unit of `tokens` and leave room for special tokens and the
    document's longest header; `arguments: {tokenizer: …}` names another. Others count in their own units (FastChunker
    in bytes, TableChunker in rows). Chonkie's offsets are checked against its texts.
    """

    module: ClassVar = "chonkie"
    suffix: ClassVar = "Chunker"
    excluded: ClassVar = ("BaseChunker",)
    reserved: ClassVar = ("chunk_size", "chunk_overlap")
    loads_model: ClassVar = ("LateChunker", "NeuralChunker", "SemanticChunker")
    examples: ClassVar = (
        {"chunker": "RecursiveChunker", "size": 64},
        {"chunker": "SentenceChunker", "size": 64, "overlap": 16},
        {"chunker": "TokenChunker", "size": 32},
    )

    kind: Literal["chonkie"] = "chonkie"
    chunker: str = Field(description="The class name of the chunker, such as SentenceChunker.")

    @property
    def class_name(self) -> str:
        return self.chunker

    @property
    def _short(self) -> str:
        return self.chunker.removesuffix("Chunker").lower()

    def _code(self) -> list[str]:
        return [f"{package} {importlib.metadata.version(package)}" for package in ("chonkie", "chonkie-core")]

    def _make(self, arguments: dict[str, Any], size: int | None, overlap: int) -> Any:
        library, name = self._library(), self.chunker
        known = inspect.signature(getattr(library, name)).parameters
        for key in arguments:
            if key not in known:
                raise ValueError(f"{name} has no argument {key!r}{meant(key, known)}; it has {', '.join(known)}")
        ours = {key: value for key, value in {"chunk_size": size, "chunk_overlap": overlap or None}.items() if value is not None}
        for key in ours:
            if key not in known:
                raise ValueError(f"{name} takes no {key.removeprefix('chunk_')}; leave it out")
        if "chunk_size" in known and size is None:
            raise ValueError(f"{name} needs 'size'")
        if "tokenizer" in known and name != "TableChunker":
            library.Tokenizer.register(SliceTokenizer)
            arguments.setdefault("tokenizer", SliceTokenizer(self.vocabulary))
        return getattr(library, name)(**arguments, **ours)

    def _foreign_chunks(self, text: str, headers: Headers) -> Iterable[object]:
        return list(self._fitting(headers).chunk(text))


class SliceTokenizer:
    """A vocabulary of Workbench as chonkie's tokenizer. Tokens are slices up to the next token, numbered by first occurrence."""

    def __init__(self, vocabulary: str) -> None:
        self._vocabulary = vocabulary
        self._numbers: dict[str, int] = {}
        self._slices: list[str] = []
        self.count_tokens = token_counter(vocabulary)

    def tokenize(self, text: str) -> list[str]:
        """Split a text into slices that begin at its tokens and together are the text."""
        starts = tokenise([text], self._vocabulary)[0].starts.tolist()
        edges = [0, *starts[1:], len(text)]
        return [text[start:end] for start, end in itertools.pairwise(edges)] if text else []

    def encode(self, text: str) -> list[int]:
        """Return the numbers of a text's slices."""
        return [self._number(part) for part in self.tokenize(text)]

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of numbers that `encode` returned."""
        return "".join(self._slices[token] for token in tokens)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def decode_batch(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        return [self.decode(tokens) for tokens in sequences]

    def count_tokens_batch(self, texts: Sequence[str]) -> list[int]:
        return [self.count_tokens(text) for text in texts]

    def _number(self, part: str) -> int:
        if part not in self._numbers:
            self._numbers[part] = len(self._slices)
            self._slices.append(part)
        return self._numbers[part]
