from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import workbench
from workbench.core.schemas import SCHEMAS
from workbench.measures.statistics.screening import ScreenedConfiguration, Screening
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import Outcome

# Other scripts rely on these columns (design.md, "What a sweep leaves"); new ones come last.
CONTRACT = {
    "metrics": "configuration condition metric slice value low high n clusters unscored attainable conditional",
    "queries": "configuration condition variant repeat query_id metric value state reason",
    "hits": "configuration query_id rank chunk_id doc_id start end score delivered cut_reason",
    "comparisons": "metric a b difference low high p p_adjusted n clusters low_adjusted high_adjusted conditional equivalent",
    "timings": "configuration name value",
}
REQUIRED = [name for name, schema in SCHEMAS.items() if schema.required]
# Every sweep writes it, and runs of older versions lack it.
WRITTEN = [*REQUIRED, "documents"]


def columns_of(table: pd.DataFrame) -> list[tuple[str, str]]:
    """The names and types of a table's columns, in their order."""
    return [(str(column), str(dtype)) for column, dtype in table.dtypes.items()]


def test_the_tables_of_the_contract_keep_their_columns() -> None:
    assert {name: " ".join(SCHEMAS[name].names)[: len(columns)] for name, columns in CONTRACT.items()} == CONTRACT


def test_configurations_keep_the_columns_of_the_contract_among_their_settings() -> None:
    assert {"configuration", "chunks", "tokens", "truncated_tokens", "delivered_tokens"} <= set(SCHEMAS["configurations"].names)


def test_the_tables_of_a_sweep_are_of_their_schemas_and_come_back_as_they_were(few: Outcome) -> None:
    made, loaded = collect(few), workbench.load(few.folder).tables
    written = {name: pd.read_parquet(few.folder / f"{name}.parquet") for name in WRITTEN}
    assert {name: columns_of(rows) for name, rows in written.items()} == {name: list(SCHEMAS[name].dtypes.items()) for name in WRITTEN}
    assert [name for name, rows in written.items() if not len(rows)] == []
    for name, rows in written.items():
        pd.testing.assert_frame_equal(loaded.table(name), made.table(name), obj=name)
        pd.testing.assert_frame_equal(loaded.table(name), rows, obj=name)


def test_a_sweep_leaves_these_tables_and_no_others(few: Outcome) -> None:
    assert {path.stem for path in few.folder.glob("*.parquet")} == set(WRITTEN)


@pytest.mark.slow
def test_a_failure_and_a_screening_come_back_as_they_were(few: Outcome, tmp_path: Path) -> None:
    nan = float("nan")
    rows = (
        ScreenedConfiguration("a", "bm25", 0.5, "a", nan, nan, nan, kept=True),
        ScreenedConfiguration("b", "bm25", 0.1, "a", -0.4, -0.5, -0.3, kept=False),
    )
    screening = Screening("recall@5", 9, 9, 0.02, 6, rows, (("a", "b"),))
    outcome = replace(few, experiment=replace(few.experiment, screening=screening), failures={"broken": "it broke"})
    run = collect(outcome)
    run.write(tmp_path)
    back = RunTables.read(tmp_path)
    for name in SCHEMAS:
        pd.testing.assert_frame_equal(back.table(name), run.table(name))
    assert back.failures == {"broken": "it broke"}
    assert back.configurations["error"].dropna().tolist() == ["it broke"]
    assert "broken" not in back.names
    collect(few).write(tmp_path)
    assert not (tmp_path / "screening.parquet").exists()


def test_a_run_in_which_all_failed_comes_back(few: Outcome, tmp_path: Path) -> None:
    run = collect(replace(few, results=[], failures={"broken": "it broke"}))
    run.write(tmp_path)
    back = RunTables.read(tmp_path)
    for name in SCHEMAS:
        pd.testing.assert_frame_equal(back.table(name), run.table(name))
    assert back.names == ()


def test_tables_without_rows_have_their_columns() -> None:
    assert {name: columns_of(schema.empty()) for name, schema in SCHEMAS.items()} == {
        name: list(schema.dtypes.items()) for name, schema in SCHEMAS.items()
    }
