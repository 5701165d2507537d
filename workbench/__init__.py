"""Compare chunking, embedding and retrieval on your own data, with the uncertainty of every result.

Importing this package loads neither torch nor chromadb. pandas is loaded with the first name that needs it.
"""

import importlib
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from workbench.api.results import Results, load
    from workbench.scoring.score import Scores, score

__version__ = "0.1.0"
__all__ = ["Results", "Scores", "WorkbenchError", "__version__", "load", "score"]
_MODULES = {
    "Results": "workbench.api.results",
    "load": "workbench.api.results",
    "Scores": "workbench.scoring.score",
    "score": "workbench.scoring.score",
}

# Hidden from type checkers: __getattr__ would make them accept every name.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            return getattr(importlib.import_module(_MODULES[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
