"""The results of a pass over a log for its page: the names of files, and the record beside the tables."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, Field

from workbench.core.files import read_regular
from workbench.monitor.alerts.detect import AlertTest, Nanoseconds

STATE, PASS, COMPARISON, SUMMARY = "alerts.json", "pass.json", "comparison.parquet", "summary.parquet"
_TEXTS, _NUMBERS = ("by", "group", "measure", "period", "verdict"), ("value", "low", "high", "total")
_Count = Annotated[int, Field(ge=0, lt=2**63)]


class WorthLabelling(BaseModel):
    """Counts of logged questions: those that a dataset lacks, those compared, distinct ones among the lacking, and those proposed for it."""

    model_config = ConfigDict(frozen=True)
    dataset: str
    lacking: _Count
    compared: _Count
    distinct: _Count
    take: _Count


class PassRecord(BaseModel):
    """The results of a pass besides tables: the log, the present, tests, changes of versions, counts of what is left out, and texts of questions."""

    model_config = ConfigDict(frozen=True)
    # A path without a NUL, which no system takes.
    log: Annotated[str, Field(pattern=r"^[^\x00]*$")]
    until: Nanoseconds
    tested: tuple[AlertTest, ...]
    changes: tuple[tuple[Nanoseconds, str], ...]
    support: str
    skipped: Mapping[str, _Count]
    left_out: tuple[str, ...]
    queries: Mapping[str, str]
    labelling: WorthLabelling | None = None


def read_pass_table(path: Path, columns: tuple[str, ...], key: tuple[str, ...]) -> pd.DataFrame:
    """Read a table that a pass wrote. Raises ValueError or OSError if it is not one with these columns and distinct keys."""
    try:
        table: pd.DataFrame = pq.read_table(io.BytesIO(read_regular(path))).to_pandas(ignore_metadata=True)
    except (pa.ArrowException, TypeError) as error:
        raise ValueError("not a table of a pass") from error
    if tuple(table.columns) != columns:
        raise ValueError("other columns")
    for name in columns if len(table) else ():
        values = table[name]
        right = pd.api.types.is_float_dtype(values) if name in _NUMBERS else pd.api.types.is_integer_dtype(values)
        if not (all(isinstance(value, str) for value in values) if name in _TEXTS else right and (name in _NUMBERS or values.ge(0).all())):
            raise ValueError(f"other values in {name}")
    if table.duplicated(list(key)).any():
        raise ValueError("a row that appears again")
    return table
