"""What only processes that are Workbench's own may do: the command, its kernels and its workers."""

import sys


def skip_schema_grammar() -> None:
    """Let jsonschema do without rfc3987_syntax, which takes most of the import time of papermill, nbconvert and chromadb.

    It comes with JupyterLab and builds a grammar when it is imported, which nothing in Jupyter's schemas needs. A process that
    imports Workbench for something else may need it, so only the main functions of Workbench's own processes call this.
    """
    # None is how Python marks a module as absent.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
