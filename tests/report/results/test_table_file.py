"""A table of a run is read for one configuration without the others."""

import shutil
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from workbench.core.errors import InputError
from workbench.core.schemas import SCHEMAS
from workbench.report.results.run_tables import RunTables, TableFile
from workbench.runner.execution.local import Outcome


@pytest.fixture
def copied(few: Outcome, tmp_path: Path) -> Path:
    shutil.copytree(few.folder, tmp_path / "few")
    return tmp_path / "few"


@pytest.mark.parametrize("rows", [7, 2**20])
def test_the_rows_of_a_configuration_are_those_of_the_whole_table(copied: Path, rows: int) -> None:
    for name in ("hits", "queries", "context", "causes"):
        pq.write_table(pq.read_table(copied / f"{name}.parquet"), copied / f"{name}.parquet", row_group_size=rows)
        whole = RunTables.read(copied).table(name)
        run = RunTables.read(copied)
        for configuration in (*run.names, "none of this name"):
            expected = whole[whole["configuration"] == configuration].reset_index(drop=True)
            pd.testing.assert_frame_equal(run.of(name, configuration), expected)


def test_groups_of_other_configurations_are_not_read(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pq.read_table(copied / "hits.parquet")
    pq.write_table(table, copied / "hits.parquet", row_group_size=50)
    read: list[int] = []
    monkeypatch.setattr(
        pq.ParquetFile,
        "read_row_groups",
        lambda file, groups, before=pq.ParquetFile.read_row_groups: read.extend(groups) or before(file, groups),
    )
    run = RunTables.read(copied)
    rows = run.of("hits", run.names[0])
    assert 0 < len(rows) < table.num_rows / 2
    assert len(read) < pq.ParquetFile(copied / "hits.parquet").num_row_groups / 2


def test_a_change_of_the_returned_rows_stays_outside_and_a_table_without_configurations_is_whole(copied: Path) -> None:
    run = RunTables.read(copied)
    rows = run.of("hits", run.names[0])
    rows["rank"] = 0
    assert run.of("hits", run.names[0])["rank"].min() == 1
    file = TableFile(copied, SCHEMAS["questions"], run.manifest)
    pd.testing.assert_frame_equal(file.rows("anything"), file())


def test_rows_of_a_run_that_was_replaced_are_not_read(copied: Path) -> None:
    run = RunTables.read(copied)
    manifest = copied / "manifest.json"
    manifest.write_text(manifest.read_text("utf-8").replace('"average": "questions"', '"average": "documents"'), "utf-8")
    with pytest.raises(InputError, match="was replaced after it was opened"):
        run.of("hits", run.names[0])
    # Another program is copying a manifest there.
    manifest.write_bytes(manifest.read_bytes()[:1_000])
    with pytest.raises(InputError, match="was replaced after it was opened"):
        run.of("hits", run.names[0])


def test_tables_are_written_in_groups_of_rows(few: Outcome) -> None:
    with pq.ParquetFile(few.folder / "hits.parquet") as file:
        assert file.metadata.row_group(0).num_rows <= 2**15
