"""The splitters of langchain-text-splitters."""

import functools
import importlib
import importlib.metadata
import json
import logging
import re
from collections.abc import Iterable
from typing import Any, ClassVar, Literal

from pydantic import field_validator

from workbench.chunking.foreign.base import SizedChunker, token_counter
from workbench.chunking.text.headers import Headers
from workbench.core.distribution import advice
from workbench.core.suggestions import meant

_PACKAGE = "langchain-text-splitters"
_OURS = ("chunk_size", "chunk_overlap", "length_function", "add_start_index")


class LangChainChunker(SizedChunker):
    """Any splitter of langchain-text-splitters by its class name, with its own `arguments` beside `size` and `overlap`.

    Sizes count what `tokens` says, by LangChain's `length_function`, and leave room for special tokens and the document's longest
    header; a splitter with an encoding of its own (TokenTextSplitter) counts in that. Its texts are placed by alignment,
    where LangChain's `start_index` may name another place of a repeated text.
    """

    examples: ClassVar = (
        {"splitter": "RecursiveCharacterTextSplitter", "size": 64, "overlap": 16},
        {"splitter": "MarkdownTextSplitter", "size": 32},
        {"splitter": "RecursiveCharacterTextSplitter", "size": 64, "arguments": {"separators": ["\n\n", "\n", " ", ""]}},
    )

    kind: Literal["langchain"] = "langchain"
    splitter: str

    @property
    def _short(self) -> str:
        return short_name(self.splitter)

    @field_validator("splitter")
    @classmethod
    def _exists(cls, name: str) -> str:
        known = splitters()
        if name not in known:
            raise ValueError(f"langchain_text_splitters has no such splitter{meant(name, known)}; it has {', '.join(known)}")
        return name

    def _code(self) -> list[str]:
        return [_PACKAGE, importlib.metadata.version(_PACKAGE)]

    def _made(self, size: int | None, overlap: int) -> Any:
        return _splitter(self.splitter, json.dumps(self.arguments, sort_keys=True), size, overlap, self.vocabulary)

    def _found(self, text: str, headers: Headers) -> Iterable[object]:
        logger = logging.getLogger("langchain_text_splitters")
        level = logger.level
        # A line for every chunk above the size, which the tables tell anyway.
        logger.setLevel(logging.ERROR)
        try:
            return list(self._fitting(headers).split_text(text))
        finally:
            logger.setLevel(level)


def splitters() -> list[str]:
    """The names of LangChain's splitters of texts; ValueError with the pip command where the package is not there."""
    # TextSplitter is abstract, and JSON is not split as a text.
    others = ("TextSplitter", "RecursiveJsonSplitter")
    return sorted(name for name in _library().__all__ if name.endswith("Splitter") and name not in others)


def short_name(splitter: str) -> str:
    """`recursive` for RecursiveCharacterTextSplitter, `markdownheader` for MarkdownHeaderTextSplitter."""
    return re.sub(r"(?<=.)Character$", "", re.sub(r"(Text)?Splitter$", "", splitter)).lower()


def _library() -> Any:
    try:
        return importlib.import_module("langchain_text_splitters")
    except ImportError:
        raise ValueError(f"langchain-text-splitters is not installed; {advice('chunkers')}") from None


@functools.lru_cache(maxsize=128)
def _splitter(name: str, arguments: str, size: int | None, overlap: int, vocabulary: str) -> Any:
    library = _library()
    given = json.loads(arguments)
    taken = [key for key in given if key in _OURS]
    if taken:
        raise ValueError(f"arguments.{taken[0]} is Workbench's to give; use size, overlap and tokens")
    splitter = getattr(library, name)
    if not issubclass(splitter, library.TextSplitter):
        if size is not None:
            raise ValueError(f"{name} takes no size; leave size and overlap out")
        return splitter(**given)
    if size is None:
        raise ValueError(f"{name} needs 'size'")
    return splitter(**given, chunk_size=size, chunk_overlap=overlap, length_function=token_counter(vocabulary))
