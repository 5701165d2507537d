"""The name under which the package is installed, and the advice that uses it."""

# On PyPI the name `workbench` belongs to another package; the import name is workbench.
NAME = "rag-workbench"


def advice(*extras: str) -> str:
    """The command that installs the package with some of its extras."""
    return f"pip install '{NAME}[{','.join(extras)}]'"
