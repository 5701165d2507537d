"""Workbench: which chunking, embedding and retrieval is better on your data, and how sure that is.

Importing it loads neither torch nor chromadb, nor pandas until `score` is asked for.
"""

import importlib
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from workbench.scoring.score import Scores, score

__version__ = "0.1.0"
__all__ = ["Scores", "WorkbenchError", "__version__", "score"]

# Hidden from type checkers, which would take every name for one that exists.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name in ("Scores", "score"):
            return getattr(importlib.import_module("workbench.scoring.score"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
