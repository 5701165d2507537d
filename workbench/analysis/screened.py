"""What was put aside by proxy before a run, from its tables."""

from typing import Any

from workbench.results.run_tables import RunTables
from workbench.statistics.screening import Screened, Screening


def screening_of(run: RunTables) -> Screening | None:
    """The screening of a run; None where nothing was screened."""
    about: dict[str, Any] | None = run.manifest.get("screening")
    if about is None:
        return None
    columns = ["configuration", "proxy", "value", "first", "difference", "low", "high", "kept"]
    rows = tuple(Screened(**{str(name): value for name, value in row.items()}) for row in run.screening[columns].to_dict("records"))
    alike = tuple(tuple(names) for names in about["alike"])
    return Screening(about["metric"], about["queries"], about["of"], about["margin"], about["seed"], rows, alike)
