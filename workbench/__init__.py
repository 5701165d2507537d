"""Workbench: which chunking, embedding and retrieval is better on your data, and how sure that is.

Importing it loads neither torch nor chromadb.
"""

import sys

from workbench.errors import WorkbenchError

__version__ = "0.1.0"
__all__ = ["WorkbenchError", "__version__"]

# jupyterlab's jsonschema extra brings a package that builds a grammar when it is imported, which costs papermill, nbconvert and
# chromadb most of their import time. Nothing in Jupyter's schemas needs it: jsonschema does without it when it is not there.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # None is how Python marks a module as absent
