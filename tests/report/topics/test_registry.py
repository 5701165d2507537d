"""The topics of the report are listed once: the page, the notebook, the terminal and Markdown show them in that order."""

import ast
import importlib
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

from workbench.report.analysis.findings import Findings, findings
from workbench.report.model import Prose
from workbench.report.render.html import document_of
from workbench.report.results.run_tables import RunTables
from workbench.report.topics import registry
from workbench.report.topics.registry import TOPICS, summary_lines
from workbench.report.topics.topic import Topic
from workbench.report.views import ComparisonView

ROOT = Path(__file__).parents[3]
FOLDER = Path(registry.__file__).parent


def test_every_module_of_the_folder_with_a_topic_is_registered() -> None:
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in FOLDER.rglob("*.py") if path.stem not in ("__init__", "registry")
    ]
    defined = {
        module: [value for value in vars(importlib.import_module(module)).values() if isinstance(value, Topic)] for module in modules
    }
    forgotten = [module for module, topics in defined.items() if any(topic not in TOPICS for topic in topics)]
    assert not forgotten, f"add to registry.py: {forgotten}"
    without = [
        module for module in modules if not defined[module] and {"compute", "render"} <= vars(importlib.import_module(module)).keys()
    ]
    assert not without, f"no topic names compute and render of {without}"


def test_each_module_of_topics_is_imported_by_a_test() -> None:
    tests = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    # The topic of targets is read on the pages of tests/targets.
    untested = [name for name in registry.MODULES if f"report.topics.{name} import" not in tests and name != "run.targets"]
    assert not untested, f"no test imports {untested}: write one in tests/report/topics/"


def test_names_and_anchors_are_those_of_one_topic() -> None:
    on_page = [topic.anchor or topic.name for topic in TOPICS if topic.render and "page" in topic.views]
    assert len(on_page) == len(set(on_page))
    compared = [topic.name for topic in TOPICS if "comparison" in topic.views]
    assert len(compared) == len(set(compared))


def test_a_chapter_of_a_topic_has_a_title_and_only_a_part_of_one_is_folded() -> None:
    assert {topic.chapter for topic in TOPICS if topic.chapter} == set(registry.CHAPTERS)
    assert [topic.name for topic in TOPICS if topic.folded and not topic.chapter] == []


def test_the_page_is_read_from_the_ranking_to_the_appendix(answered_run: RunTables) -> None:
    sections = registry.sections(findings(answered_run))
    assert [section.anchor for section in sections] == ["ranking", "queries", "answers", "costs", "slices", "appendix"]


def test_the_comparison_notebook_has_the_topics_in_their_order() -> None:
    cells = nbformat.read(ROOT / "notebooks" / "comparison.ipynb", as_version=4).cells
    shown = [
        node.func.attr
        for cell in cells
        if cell.cell_type == "code"
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    topics = [topic.name for topic in TOPICS if "comparison" in topic.views]
    unknown = [name for name in shown if name not in topics and not hasattr(ComparisonView, name) and name not in ("load", "comparison")]
    assert not unknown, f"notebooks/comparison.ipynb calls {unknown}, and no topic of that name has the view comparison"
    assert [name for name in shown if name in topics] == topics


def test_a_new_topic_is_in_all_views_without_another_edit(unanswered: RunTables, monkeypatch: pytest.MonkeyPatch) -> None:
    def compute(findings: Findings) -> int:
        return len(findings.questions)

    toy = Topic(
        "toy",
        "A toy",
        "Toy",
        compute,
        lambda number: [Prose(f"toy of {number}")],
        lines=lambda number: [f"toy line {number}"],
        views=("page", "comparison"),
        missing="no toy",
    )
    absent = replace(toy, name="absent", compute=lambda _: None)
    for module in (registry, importlib.import_module("workbench.report.views")):
        monkeypatch.setattr(module, "TOPICS", (*TOPICS, toy, absent))
    assert document_of(unanswered).sections[-1].blocks == [Prose("toy of 120")]
    assert summary_lines(unanswered)[-1] == "toy line 120"
    view = ComparisonView(unanswered)
    assert "toy of 120" in view.toy().html
    assert "no toy" in view.absent().html
    assert "toy" in dir(view)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = view.nothing
