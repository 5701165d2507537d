"""Packages that bring components, as pip leaves them: a module and its dist-info on the path of a fresh process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CHUNKER = '''
from typing import ClassVar, Literal
from workbench.components.chunking.base import CuttingChunker

class PageChunker(CuttingChunker):
    """Pages."""
    examples: ClassVar = ({"size": 10},)
    kind: Literal["pages"] = "pages"
    size: int = 10

    def cuts(self, document, headers):
        return [(start, min(start + self.size, len(document.text)), None) for start in range(0, len(document.text), self.size)]
'''
OTHERS = """
def cut(text): return [text]

PAGES = PageChunker()

class Nothing(CuttingChunker):
    kind: Literal["pages"] = "pages"

class Sheets(PageChunker):
    kind: Literal["sheets"] = "sheets"
"""
STAGE = """
from workbench.runner.pipeline.stage import Stage

class StepStage(Stage):
    name = "stepp"
    def compute(self, inputs, draft): pass

STEP = StepStage()
"""
EXPERIMENT = """
from workbench.runner.experiment.read import experiment_of
settings = {"name": "x", "dataset": {"kind": "golden", "path": "."}, "pipeline": {"chunking": %s}}
try:
    found = experiment_of(settings, "x.yaml")
    print("named", *(one.name for one in found.configurations))
except Exception as error:
    print(type(error).__name__, *error.lines)
"""


def install(folder: Path, package: str, entry: str, source: str, group: str = "workbench.chunkers") -> None:
    module = package.replace("-", "_")
    (folder / f"{module}.py").write_text(source)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{entry}\n")


def told(folder: Path, code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def test_a_package_brings_a_chunker_that_an_experiment_names(tmp_path: Path) -> None:
    install(tmp_path, "paging", "pages = paging:PageChunker", CHUNKER)
    assert "named pages" in told(tmp_path, EXPERIMENT % {"kind": "pages", "size": 20})
    assert "did you mean 'pages'?" in told(tmp_path, EXPERIMENT % {"kind": "page"})
    assert "has no parameter 'sizes'" in told(tmp_path, EXPERIMENT % {"kind": "pages", "sizes": 20})


def test_a_package_is_imported_where_it_is_named_and_a_function_that_it_does_not_declare_runs_without_permission(tmp_path: Path) -> None:
    """Which is why a package is a trusted input."""
    undeclared = """
import importlib
print("imported")

class UndeclaredChunker(PageChunker):
    kind: Literal["undeclared"] = "undeclared"
    function: str

    def model_post_init(self, _):
        importlib.import_module(self.function)
"""
    install(tmp_path, "hiding", "undeclared = hiding:UndeclaredChunker", CHUNKER + undeclared)
    (tmp_path / "marking.py").write_text("print('ran')\n")
    assert "imported\nran\nnamed undeclared" in told(tmp_path, EXPERIMENT % {"kind": "undeclared", "size": 20, "function": "marking"})
    assert "imported" not in told(tmp_path, EXPERIMENT % {"kind": "whole"})


def test_a_broken_package_is_one_line_where_it_is_named_and_nothing_elsewhere(tmp_path: Path) -> None:
    install(tmp_path, "breaking-apart", "pages = breaking_apart:PageChunker", "import absent_package_of_plugins")
    line = told(tmp_path, EXPERIMENT % {"kind": "pages"})
    assert line.startswith("InputError the package 'breaking-apart' offers 'pages' in workbench.chunkers, which cannot be loaded (Module")
    assert "correct the entry point or what it imports, or uninstall breaking-apart" in line
    assert told(tmp_path, EXPERIMENT % {"kind": "fixed", "size": 64}) == "named fixed-64-0\n"
    listed = "from workbench.components.registry import CHUNKERS as c; print('pages' in c, 'fixed' in c, len(list(c)) == len(c))"
    assert told(tmp_path, listed) == "True True True\n"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("cut", "othering:cut is not a workbench.components.chunking.base.Chunker; let the entry point name a subclass of it"),
        ("PAGES", "othering:PAGES is an instance of workbench.components.chunking.base.Chunker; let the entry point name a class"),
        ("Nothing", "othering:Nothing does not define cuts; define it in the class"),
        ("Sheets", "othering:Sheets calls itself 'sheets'; use one name in the entry point and in kind"),
    ],
)
def test_a_package_that_offers_something_else_is_told_what_to_offer(tmp_path: Path, value: str, message: str) -> None:
    install(tmp_path, "othering", f"pages = othering:{value}", CHUNKER + OTHERS)
    assert f"InputError the package 'othering' offers 'pages' in workbench.chunkers, but {message}" in told(
        tmp_path, EXPERIMENT % {"kind": "pages"}
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("StepStage", "stepping:StepStage is a class of workbench.runner.pipeline.stage.Stage; let the entry point name an instance"),
        ("STEP", "stepping:STEP calls itself 'stepp'; use one name in the entry point and in name"),
    ],
)
def test_a_package_that_offers_a_class_or_another_name_as_a_stage_is_told(tmp_path: Path, value: str, message: str) -> None:
    install(tmp_path, "stepping", f"step = stepping:{value}", STAGE, "workbench.stages")
    listed = "from workbench.runner.pipeline.registry import STAGES\ntry: STAGES['step']\nexcept Exception as error: print(*error.lines)"
    assert message in told(tmp_path, listed)


def test_a_kind_that_is_there_already_is_refused(tmp_path: Path) -> None:
    install(tmp_path, "fixing", "fixed = fixing:PageChunker", CHUNKER)
    said = told(tmp_path, "from workbench.components.registry import CHUNKERS as c; print(list(c).count('fixed'), c['fixed'].__module__)")
    assert "1 workbench.components.chunking.plain" in said
    assert "the package 'fixing' offers 'fixed' in workbench.chunkers, a kind that Workbench already has; it is ignored" in said


def test_two_packages_with_one_kind_are_both_named(tmp_path: Path) -> None:
    install(tmp_path, "paging", "pages = paging:PageChunker", CHUNKER)
    install(tmp_path, "tearing", "pages = tearing:PageChunker", CHUNKER)
    assert "the package 'paging' offers 'pages' in workbench.chunkers, and so does tearing" in told(
        tmp_path, EXPERIMENT % {"kind": "pages"}
    )


METRIC = """
import numpy as np
from workbench.measures.metrics.case import MetricValues
from workbench.measures.metrics.definition import MetricDefinition

SHORT = MetricDefinition("short", lambda case, cut: MetricValues(np.zeros(len(case))), reads=("answer",))
"""


@pytest.mark.parametrize("group", ["workbench.metrics", "workbench.answer_metrics", "workbench.judged_metrics"])
def test_a_metric_is_read_from_the_groups_of_earlier_versions_too(tmp_path: Path, group: str) -> None:
    install(tmp_path, "shortening", "short = shortening:SHORT", METRIC, group)
    assert (
        told(tmp_path, "from workbench.measures.metrics.names import Metric; print(Metric.parse('short').definition.reads)")
        == "('answer',)\n"
    )


@pytest.mark.parametrize(
    ("group", "imported", "line"),
    [
        ("workbench.metrics", "metrics.definition import MetricDefinition", "correct the entry point or"),
        (
            "workbench.answer_metrics",
            "metrics.answers.registry import AnswerKind",
            "correct it, declare it in workbench.metrics (docs/extending.md) or",
        ),
    ],
)
def test_a_package_for_an_earlier_version_is_one_line_that_says_what_to_do(tmp_path: Path, group: str, imported: str, line: str) -> None:
    install(tmp_path, "shortening", "short = shortening:SHORT", f"from workbench.{imported}", group)
    code = "from workbench.measures.metrics.registry import METRICS\ntry: METRICS['short']\nexcept Exception as error: print(*error.lines)"
    printed = told(tmp_path, code)
    assert "No module named 'workbench.metrics', which another version had: docs/extending.md has the modules of this one" in printed
    assert line in printed
