"""Write the outcome of a gate into the folder of its run, where the report shows it."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.core.files import write_text
from workbench.gate.losses.lost_table import lost_table
from workbench.gate.report import GateReport
from workbench.results.run_tables import conform, write_table
from workbench.schemas import SCHEMAS

GATE_FILE = "gate.json"


def write_gate(report: GateReport, folder: Path) -> None:
    """Write the tables `gate` and `lost`, and gate.json, each atomically."""
    write_table(folder, SCHEMAS["gate"], gate_table(report))
    write_table(folder, SCHEMAS["lost"], lost_table(report.configuration, report.lost))
    content = gate_json(report)
    write_text(folder / GATE_FILE, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def gate_table(report: GateReport) -> pd.DataFrame:
    """Return a row for each rule, then one for each remark."""
    schema = SCHEMAS["gate"]
    rows = [asdict(rule) | {"outcome": str(rule.outcome)} for rule in report.rules]
    blank: dict[str, Any] = {name: "" if dtype == "str" else 0 if dtype == "int64" else None for name, dtype in schema.dtypes.items()}
    rows += [blank | {"kind": "note", "reason": note} for note in report.notes]
    table = pd.DataFrame(rows, columns=[name for name in schema.names if name != "configuration"])
    return conform(schema, table.assign(configuration=report.configuration))


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
