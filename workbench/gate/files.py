"""Write the outcome of a gate: into the folder of its run, where the report shows it, to a summary and as JUnit XML."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.analysis.losses import lost_table
from workbench.core.files import write_text
from workbench.errors import RunError, WorkbenchError, error_line
from workbench.gate.render import unchecked_junit
from workbench.gate.report import GateReport
from workbench.printable import printable
from workbench.report.render.html import write_report
from workbench.report.render.plain import escaped
from workbench.results.run_tables import MANIFEST, RunTables, write_table
from workbench.schemas import SCHEMAS

_FILE, _TABLES = "gate.json", ("gate", "lost")


def append_summary(text: str, path: Path) -> None:
    """Append Markdown to the summary of a job."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def write_junit(text: str, path: Path) -> None:
    """Write JUnit XML atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)


def write_gate(report: GateReport, folder: Path) -> None:
    """Write the tables `gate` and `lost`, gate.json, each atomically, and the report again if the folder has one."""
    write_table(folder, SCHEMAS["gate"], gate_table(report))
    write_table(folder, SCHEMAS["lost"], lost_table(report.configuration, report.lost))
    _write(gate_json(report), folder, reported=True)


def gate_table(report: GateReport) -> pd.DataFrame:
    """Return a row for each rule, then one for each remark."""
    schema = SCHEMAS["gate"]
    rows = [asdict(rule) | {"outcome": str(rule.outcome)} for rule in report.rules]
    blank: dict[str, Any] = {name: "" if dtype == "str" else 0 if dtype == "int64" else None for name, dtype in schema.dtypes.items()}
    rows += [blank | {"kind": "note", "reason": note} for note in report.notes]
    table = pd.DataFrame(rows, columns=[name for name in schema.names if name != "configuration"])
    return schema.conform(table.assign(configuration=report.configuration))


def gate_json(report: GateReport) -> dict[str, Any]:
    """Return the outcome as JSON values, with null for numbers that do not apply."""
    head = {
        "run": report.name,
        "configuration": report.configuration,
        "outcome": str(report.outcome),
        "exit_code": report.exit_code,
        "commit": report.commit,
    }
    rules = json.loads(pd.DataFrame([asdict(rule) | {"outcome": str(rule.outcome)} for rule in report.rules]).to_json(orient="records"))
    lost = json.loads(pd.DataFrame([asdict(each) for each in report.lost]).to_json(orient="records")) if report.lost else []
    return head | {"alarms": list(report.alarms), "notes": list(report.notes), "rules": rules, "lost": lost}


def write_unchecked(error: Exception, folder: Path, summary: Path | None, junit: Path | None) -> None:
    """Write an error to the summary and as JUnit XML, and in place of the last outcome into the folder of the run."""
    reason, exit_code = error_line(error), error.exit_code if isinstance(error, WorkbenchError) else RunError.exit_code
    if summary is not None:
        append_summary(f"### ❌ The gate could not be checked\n\n{escaped(printable(reason))}\n", summary)
    if junit is not None:
        write_junit(unchecked_junit(reason, folder.name), junit)
    if (folder / MANIFEST).is_file():
        earlier = [folder / f"{SCHEMAS[name].name}.parquet" for name in _TABLES]
        shown = any(path.is_file() for path in earlier)
        for path in earlier:
            path.unlink(missing_ok=True)
        content = {"run": folder.name, "outcome": "error", "exit_code": exit_code, "reason": reason, "rules": [], "lost": []}
        _write(content, folder, reported=shown)


def _write(content: dict[str, Any], folder: Path, *, reported: bool) -> None:
    """Write gate.json, and the report again if it is there and `reported`."""
    write_text(folder / _FILE, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    if reported and (folder / "report.html").is_file():
        write_report(RunTables.read(folder), folder / "report.html")
