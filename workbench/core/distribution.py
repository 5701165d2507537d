"""The name under which the package is installed, the advice that uses it, and the versions of installed packages."""

from importlib.metadata import PackageNotFoundError, version

# On PyPI the name `workbench` belongs to another package; the import name is workbench.
NAME = "rag-workbench"


def advice(*extras: str) -> str:
    """The command that installs the package with some of its extras."""
    return f"pip install '{NAME}[{','.join(extras)}]'"


def installed_version(package: str) -> str | None:
    """The version of an installed package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
