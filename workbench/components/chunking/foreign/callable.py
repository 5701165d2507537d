"""Use a Python function as a chunker."""

import inspect
from collections.abc import Iterable
from typing import ClassVar, Literal

from pydantic import Field

from workbench.components.chunking.foreign.base import ForeignChunker
from workbench.components.chunking.text.headers import Headers
from workbench.core.errors import InputError
from workbench.core.imported_functions import FunctionName, imported, source_identity


class CallableChunker(ForeignChunker):
    """A function `package.module:function` that takes a text, and `arguments`, and returns its chunks.

    Chunks are texts in their order, pairs (start, end) in code points, or mappings or objects with `start_index` and `end_index`.
    `tokens` has no effect. The module may be in the working directory. Results are computed again if its source changes, but not if
    only a module that it imports changes. An experiment with a function is a program: it runs with `--allow-code` only.
    """

    examples: ClassVar = (
        {"callable": "builtins:str.splitlines"},
        {"callable": "builtins:str.split", "arguments": {"sep": "\n\n"}},
    )

    kind: Literal["callable"] = "callable"
    callable: FunctionName = Field(description="The function, as `package.module:function`.")

    @property
    def _short(self) -> str:
        return self.callable.replace(":", ".").lower()

    @property
    def named_code(self) -> tuple[str, ...]:
        return (self.callable,)

    def load_code(self) -> None:
        function = imported(self.callable)
        try:
            signature = inspect.signature(function)
        except ValueError:  # some functions written in C have no signature
            return
        try:
            signature.bind("", **self.arguments)
        except TypeError as error:
            raise InputError(f"{self.callable}{signature} cannot take a text and these arguments ({error})") from None

    def _code(self) -> list[str]:
        """Return the digest of the module that defines the function, or the module's version if it has no source file."""
        self.load_code()
        return source_identity(self.callable)

    def _foreign_chunks(self, text: str, headers: Headers) -> Iterable[object]:
        chunks: Iterable[object] = imported(self.callable)(text, **self.arguments)
        return chunks
