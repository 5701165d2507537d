"""Compare the outputs of a case with those of the undisturbed command. Each function names the first difference, or returns an empty text."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pandas as pd

from workbench.core.schemas import SCHEMAS
from workbench.monitor.log.reading import LoggedQuestions
from workbench.people.labelling.label_file import LabelFile

Compare = Callable[[Path, Path], str]


def same_run(folder: Path, expected: Path) -> str:
    """Compare the tables, runs, notebooks and report of a sweep."""
    found, expected = folder / "outputs" / "small", expected / "outputs" / "small"
    names = (f"{name}.parquet" for name in sorted(SCHEMAS.keys() - {"timings"}))
    if wrong := _same_tables(found, expected, names) or _same_files(found, expected, ["runs/*.trec"]):
        return wrong
    for path in sorted(expected.glob("notebooks/*.ipynb")):
        if not (found / "notebooks" / path.name).exists():
            return path.name
    return _whole_page(found / "report.html")


def same_gate(folder: Path, expected: Path) -> str:
    """Compare the baseline and the outcome of a gate."""
    return _same_files(folder / "outputs", expected / "outputs", ["base.json", "gate.xml", "small/gate.json"]) or same_run(folder, expected)


def same_labels(folder: Path, expected: Path) -> str:
    """Compare the actions of a label file without their times, and the labelled dataset."""
    found, right = ([(action.kind, action.key, action.value, action.number) for action in _labels(place)] for place in (folder, expected))
    return "labels.jsonl" if found != right else _same_files(folder / "outputs", expected / "outputs", ["applied/*"])


def same_log(folder: Path, expected: Path) -> str:
    """Compare the questions of a log. A record whose loss was reported can be there twice."""
    found, right = (
        {row["id"]: json.dumps(row, default=str) for row in LoggedQuestions(place / "outputs" / "log").rows()}
        for place in (folder, expected)
    )
    return "" if found == right else f"log: {sorted(found)}"


def same_pass(folder: Path, expected: Path) -> str:
    """Compare what a pass over a log leaves."""
    found, right = folder / "outputs" / "monitoring", expected / "outputs" / "monitoring"
    tables = sorted(path.name for path in right.glob("*.parquet"))
    texts = ["alerts.json", "pass.json", "metrics.prom", "evaluations.otlp.jsonl"]
    return (
        _same_tables(found, right, tables)
        or _same_files(found, right, texts)
        or _news(found, right)
        or _whole_page(found / "monitoring.html")
    )


def _labels(folder: Path) -> list:  # type: ignore[type-arg]
    return LabelFile(folder / "outputs" / "labels.jsonl").actions


def _news(found: Path, right: Path) -> str:
    """Compare the alerts that were sent: each at least once, besides lines that a kill has cut."""
    first, second = (set((place / "alerts.jsonl").read_text("utf-8").splitlines()) for place in (found, right))
    return "" if {line for line in first if line.endswith("}")} == second else "alerts.jsonl"


def _same_tables(found: Path, expected: Path, names: Iterable[str]) -> str:
    for name in names:
        if not (expected / name).exists():
            if (found / name).exists():
                return f"{name} too many"
            continue
        try:
            pd.testing.assert_frame_equal(pd.read_parquet(found / name), pd.read_parquet(expected / name))
        except (AssertionError, OSError, ValueError) as error:
            return f"{name}: {str(error).splitlines()[0]}"
    return ""


def _same_files(found: Path, expected: Path, patterns: Iterable[str]) -> str:
    for path in sorted(path for pattern in patterns for path in expected.glob(pattern)):
        other = found / path.relative_to(expected)
        if not other.exists() or other.read_bytes() != path.read_bytes():
            return path.name
    return ""


def _whole_page(page: Path) -> str:
    return "" if page.exists() and page.stat().st_size > 10_000 and "</html>" in page.read_text()[-100:] else page.name
