"""The record that a notebook leaves for whoever runs it: its conclusions, and the sign that it ran to its end."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.core.files import write_text

# Set by what runs a notebook: the file that its record is written to.
VARIABLE = "WORKBENCH_RECORD"


def keep_record(run_id: str, values: Mapping[str, Any], told: str) -> None:
    """Write the conclusions of run `run_id` where the runner wants them, and print a line; opened by hand, a notebook records nothing."""
    path = os.environ.get(VARIABLE, "")
    kept = bool(run_id and path)
    if kept:
        write_text(Path(path), json.dumps({"run_id": run_id, "values": dict(values)}, ensure_ascii=False, allow_nan=False))
    print(f"{'recorded' if kept else 'not recorded (opened by hand)'}: {told}")
