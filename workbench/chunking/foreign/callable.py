"""Use a Python function as a chunker."""

import builtins
import functools
import importlib
import importlib.metadata
import inspect
import os
import platform
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from workbench.chunking.foreign.base import ForeignChunker, reason
from workbench.chunking.text.headers import Headers
from workbench.core.fingerprint import file_digest
from workbench.core.formatting import meant

# Reading the metadata of all packages takes a third of a second.
_packages = functools.cache(importlib.metadata.packages_distributions)


class CallableChunker(ForeignChunker):
    """A function `package.module:function` that takes a text, and `arguments`, and returns its chunks.

    Chunks are texts in their order, pairs (start, end) in code points, or mappings or objects with `start_index` and `end_index`.
    `tokens` has no effect. The module may be in the working directory. Results are computed again if its source changes, but not if
    only a module that it imports changes.
    """

    examples: ClassVar = (
        {"callable": "builtins:str.splitlines"},
        {"callable": "builtins:str.split", "arguments": {"sep": "\n\n"}},
    )

    kind: Literal["callable"] = "callable"
    callable: str = Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$", description="The function, as `package.module:function`.")

    @property
    def _short(self) -> str:
        return self.callable.replace(":", ".").lower()

    @model_validator(mode="after")
    def _can_be_called(self) -> "CallableChunker":
        function = imported(self.callable)
        try:
            signature = inspect.signature(function)
        except ValueError:  # some functions written in C have no signature
            return self
        try:
            signature.bind("", **self.arguments)
        except TypeError as error:
            raise ValueError(f"{self.callable}{signature} cannot take a text and these arguments ({error})") from None
        return self

    def _code(self) -> list[str]:
        """Return the digest of the module that defines the function, or the module's version if it has no source file."""
        function = inspect.unwrap(imported(self.callable))
        module = sys.modules[getattr(function, "__module__", None) or self.callable.partition(":")[0]]
        file = getattr(module, "__file__", None)
        if file and Path(file).suffix == ".py":
            return [file_digest(Path(file))]
        packages = _packages().get(module.__name__.partition(".")[0], [])
        return [f"Python {platform.python_version()}", *(f"{package} {importlib.metadata.version(package)}" for package in packages)]

    def _foreign_chunks(self, text: str, headers: Headers) -> Iterable[object]:
        chunks: Iterable[object] = imported(self.callable)(text, **self.arguments)
        return chunks


def imported(path: str) -> Callable[..., Any]:
    """Import the function at `package.module:function`. Raises ValueError with a readable reason if that fails."""
    name, _, attributes = path.partition(":")
    folder = os.getcwd()
    # Append it, so that a file there hides no package. The command's own path lacks the working directory.
    sys.path.append(folder)
    try:
        module = importlib.import_module(name)
    except Exception as error:  # importing a stranger's module may raise anything
        raise ValueError(f"the module {name!r} cannot be imported ({reason(error)}); it is looked for in {folder} too") from error
    finally:
        sys.path.remove(folder)
    try:
        function = functools.reduce(getattr, attributes.split("."), module)
    except AttributeError:
        known = [name for name, value in vars(module).items() if inspect.isroutine(value)]
        raise ValueError(f"the module {name!r} has no {attributes!r}{meant(attributes, known)}") from None
    if not builtins.callable(function):
        raise ValueError(f"{path} is a {type(function).__name__}, not a function")
    return function
