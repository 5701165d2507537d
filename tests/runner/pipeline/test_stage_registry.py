"""Every stage of the package is registered, and a test imports it."""

import importlib
import inspect
import pkgutil
from pathlib import Path

from workbench.runner.pipeline import stages
from workbench.runner.pipeline.registry import STAGES
from workbench.runner.pipeline.stage import Stage

MODULES = [importlib.import_module(module.name) for module in pkgutil.walk_packages(stages.__path__, f"{stages.__name__}.")]


def test_every_stage_of_the_folder_is_registered() -> None:
    defined = {
        value
        for module in MODULES
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, Stage) and not inspect.isabstract(value) and value.__module__ == module.__name__
    }
    forgotten = {stage.__name__ for stage in defined - {type(stage) for stage in STAGES.builtin.values()} if hasattr(stage, "name")}
    assert not forgotten, f"add to workbench/runner/pipeline/registry.py: {', '.join(sorted(forgotten))}"


def test_every_registered_stage_is_named_in_a_test() -> None:
    tests = "".join(path.read_text("utf-8") for path in Path(__file__).parents[2].rglob("test_*.py"))
    untested = [name for name in STAGES.builtin if name not in tests]
    assert not untested, f"no test names the stages {', '.join(untested)}: write one in tests/runner/pipeline/stages/"
