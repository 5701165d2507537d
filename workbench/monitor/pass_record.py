"""What a pass over a log leaves for its page: names of files, and whatever is not a table."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from workbench.monitor.alerts.detect import WatchedAlert

ALERTS, PASS, COMPARISON, SUMMARY = "alerts.json", "pass.json", "comparison.parquet", "summary.parquet"


class WorthLabelling(BaseModel):
    """How many logged questions a dataset lacks, and how many distinct ones are proposed for it."""

    model_config = ConfigDict(frozen=True)
    dataset: str
    lacking: int
    compared: int
    take: int


class PassRecord(BaseModel):
    """What a pass has besides tables: the log, the present, tests, changes of versions, counts of what is left out, and texts of questions."""

    model_config = ConfigDict(frozen=True)
    log: str
    until: int
    tested: tuple[WatchedAlert, ...]
    changes: tuple[tuple[int, str], ...]
    support: str
    skipped: Mapping[str, int]
    left_out: tuple[str, ...]
    queries: Mapping[str, str]
    labelling: WorthLabelling | None = None
