"""Write what labels say about the judges of a run into its folder."""

import json
from pathlib import Path

import pandas as pd

from workbench.core.files import write_text
from workbench.core.schemas import SCHEMAS
from workbench.report.results.run_tables import write_table

CALIBRATION_FILE = "calibration.json"


def write_calibration(folder: Path, labels: pd.DataFrame, calibration: pd.DataFrame, corrected: pd.DataFrame) -> list[str]:
    """Write `labels`, `calibration` and `corrected` as tables, and the last two also as calibration.json, each atomically. Return the files' names."""
    tables = {"labels": labels, "calibration": calibration, "corrected": corrected}
    for name, table in tables.items():
        write_table(folder, SCHEMAS[name], SCHEMAS[name].conform(table))
    # NaN becomes null.
    parts = {name: json.loads(table.to_json(orient="records")) for name, table in (("calibration", calibration), ("corrected", corrected))}
    write_text(folder / CALIBRATION_FILE, json.dumps(parts, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    return [CALIBRATION_FILE, *(f"{name}.parquet" for name in tables)]
