"""A working directory with modules that are named like those of Python, as in a folder from elsewhere."""

from pathlib import Path


def plant_modules(folder: Path) -> Path:
    """Write modules that every process of Python imports. Returns the file that one of them leaves where it is imported."""
    folder.mkdir(exist_ok=True)
    mark = folder / "imported"
    for name in ("threading", "runpy", "signal", "pickle"):
        (folder / f"{name}.py").write_text(
            f"open({str(mark)!r}, 'w')\nraise ImportError('the working directory is searched for modules')\n"
        )
    return mark
