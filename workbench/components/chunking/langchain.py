"""Use the splitters of langchain-text-splitters."""

import importlib.metadata
import logging
import re
from collections.abc import Iterable
from typing import Any, ClassVar, Literal

from pydantic import Field

from workbench.components.chunking.foreign import LibraryChunker, token_counter
from workbench.components.chunking.headers import Headers

_PACKAGE = "langchain-text-splitters"


class LangChainChunker(LibraryChunker):
    """A splitter of langchain-text-splitters by its class name, with its own `arguments` besides `size` and `overlap`.

    Sizes count in the unit of `tokens` and leave room for special tokens and the document's longest header; TokenTextSplitter counts in
    its own encoding. Texts are placed by alignment, because LangChain's `start_index` may point to another place of a repeated text.
    """

    module: ClassVar = "langchain_text_splitters"
    suffix: ClassVar = "Splitter"
    # TextSplitter is abstract, and JSON is not split as a text.
    excluded: ClassVar = ("TextSplitter", "RecursiveJsonSplitter")
    reserved: ClassVar = ("chunk_size", "chunk_overlap", "length_function", "add_start_index")
    loads_model: ClassVar = ("SentenceTransformersTokenTextSplitter", "SpacyTextSplitter")
    examples: ClassVar = (
        {"splitter": "RecursiveCharacterTextSplitter", "size": 64, "overlap": 16},
        {"splitter": "MarkdownTextSplitter", "size": 32},
        {"splitter": "RecursiveCharacterTextSplitter", "size": 64, "arguments": {"separators": ["\n\n", "\n", " ", ""]}},
    )

    kind: Literal["langchain"] = "langchain"
    splitter: str = Field(description="The class name of the splitter, such as RecursiveCharacterTextSplitter.")

    @property
    def class_name(self) -> str:
        return self.splitter

    @property
    def _short(self) -> str:
        return short_name(self.splitter)

    def _code(self) -> list[str]:
        return [_PACKAGE, importlib.metadata.version(_PACKAGE)]

    def _make(self, arguments: dict[str, Any], size: int | None, overlap: int) -> Any:
        library = self._library()
        splitter = getattr(library, self.splitter)
        if not issubclass(splitter, library.TextSplitter):
            if size is not None:
                raise ValueError(f"{self.splitter} takes no size; leave size and overlap out")
            return splitter(**arguments)
        if size is None:
            raise ValueError(f"{self.splitter} needs 'size'")
        return splitter(**arguments, chunk_size=size, chunk_overlap=overlap, length_function=token_counter(self.vocabulary))

    def _foreign_chunks(self, text: str, headers: Headers) -> Iterable[object]:
        logger = logging.getLogger("langchain_text_splitters")
        level = logger.level
        # LangChain logs a line for every chunk above the size, which the tables report too.
        logger.setLevel(logging.ERROR)
        try:
            return list(self._fitting(headers).split_text(text))
        finally:
            logger.setLevel(level)


def short_name(splitter: str) -> str:
    """Return `recursive` for RecursiveCharacterTextSplitter, `markdownheader` for MarkdownHeaderTextSplitter."""
    return re.sub(r"(?<=.)Character$", "", re.sub(r"(Text)?Splitter$", "", splitter)).lower()
