"""The name under which the package is installed, and the advice that uses it."""

# The name `workbench` on PyPI is a stranger's; what is imported is called workbench all the same.
NAME = "rag-workbench"


def advice(*extras: str) -> str:
    """The command that installs the package with some of its extras."""
    return f"pip install '{NAME}[{','.join(extras)}]'"
