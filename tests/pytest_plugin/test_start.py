"""Every pytest of an environment with Workbench loads the plugin."""

import tomllib
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_loading_it_imports_nothing_heavy(run_python: Callable[..., str]) -> None:
    script = (
        "import sys, workbench.pytest_plugin\n"
        "heavy = {'numpy', 'pandas', 'torch', 'chromadb', 'pydantic', 'yaml', 'scipy', 'matplotlib'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    assert run_python(script) == ""


def test_the_package_declares_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"rag-workbench": "workbench.pytest_plugin"}
