"""Settings of Workbench's own processes: the command, its kernels and its workers."""

import sys


def skip_schema_grammar() -> None:
    """Make jsonschema skip rfc3987_syntax, which takes most of the import time of papermill, nbconvert and chromadb.

    It comes with JupyterLab and builds a grammar when it is imported, which nothing in Jupyter's schemas needs. A process that
    imports Workbench for something else may need it, so only the main functions of Workbench's own processes call this.
    """
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # None marks a module as absent, which typeshed does not know
