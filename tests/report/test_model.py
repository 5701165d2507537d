"""One presentation model: no second table, figure or section anywhere in the package."""

import ast
import functools
from pathlib import Path

from workbench.report import model

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "workbench").rglob("*.py"))


@functools.cache
def classes(path: Path) -> list[ast.ClassDef]:
    return [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ClassDef)]


def fields(node: ast.ClassDef) -> set[str]:
    return {one.target.id for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)}


def imported(path: Path) -> list[str]:
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    modules = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return modules + [one.name for node in nodes if isinstance(node, ast.Import) for one in node.names]


def test_there_is_one_table_model() -> None:
    # The form of a manifest describes the tables of plug-ins.
    described = {"run_manifest._PlugInTable"}
    tables = {f"{path.stem}.{node.name}" for path in MODULES for node in classes(path) if {"columns", "rows"} <= fields(node)}
    assert tables - described == {"model.Table"}


def test_every_displayed_name_is_defined_once() -> None:
    own = {node.name for node in classes(Path(model.__file__))}
    elsewhere = {node.name for path in MODULES if path != Path(model.__file__) for node in classes(path)}
    assert {"Table", "Column", "Row", "Cell", "Figure", "Section", "Report"} <= own
    assert not own & elsewhere


def test_a_report_reads_tables_and_needs_no_model_store_or_run() -> None:
    barred = tuple(
        f"workbench.{room}"
        for room in ("embedding", "retrieval", "storage", "pipeline", "execution", "notebook_runner", "datasets", "experiment", "models")
    )
    paths = sorted((ROOT / "workbench" / "report").rglob("*.py"))
    assert {path: names for path in paths if (names := [name for name in imported(path) if name.startswith(barred)])} == {}


def test_only_renderers_make_markup() -> None:
    for path in (ROOT / "workbench" / "report").rglob("*.py"):
        if "render" not in path.parts:
            assert "markupsafe" not in path.read_text("utf-8"), path
