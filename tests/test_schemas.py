from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import workbench
from workbench.execution.collect import collect
from workbench.execution.local import Outcome
from workbench.results.run_tables import RunTables, empty
from workbench.schemas import SCHEMAS
from workbench.statistics.screening import ScreenedConfiguration, Screening

# Other scripts rely on these columns (design.md, "What a sweep leaves"); new ones come last.
CONTRACT = {
    "metrics": "configuration condition metric slice value low high n clusters unscored attainable conditional",
    "queries": "configuration condition variant repeat query_id metric value state reason",
    "hits": "configuration query_id rank chunk_id doc_id start end score delivered cut_reason",
    "comparisons": "metric a b difference low high p p_adjusted n clusters low_adjusted high_adjusted conditional p_all_pairs",
    "timings": "configuration name value",
}
REQUIRED = [name for name, schema in SCHEMAS.items() if schema.required]
# Every sweep writes it, and runs of older versions lack it.
WRITTEN = [*REQUIRED, "documents"]


def columns_of(table: pd.DataFrame) -> list[tuple[str, str]]:
    """The names and types of a table's columns, in their order."""
    return [(str(column), str(dtype)) for column, dtype in table.dtypes.items()]


@pytest.mark.parametrize("name", CONTRACT)
def test_the_tables_of_the_contract_keep_their_columns(name: str) -> None:
    assert " ".join(SCHEMAS[name].names).startswith(CONTRACT[name])


def test_configurations_keep_the_columns_of_the_contract_among_their_settings() -> None:
    assert {"configuration", "chunks", "tokens", "truncated_tokens", "delivered_tokens"} <= set(SCHEMAS["configurations"].names)


@pytest.mark.parametrize("name", WRITTEN)
def test_a_table_of_a_sweep_is_of_its_schema_and_comes_back_as_it_was(few: Outcome, name: str) -> None:
    written = pd.read_parquet(few.folder / f"{name}.parquet")
    assert columns_of(written) == list(SCHEMAS[name].dtypes.items())
    assert len(written)
    made, loaded = collect(few).table(name), workbench.load(few.folder).tables.table(name)
    pd.testing.assert_frame_equal(loaded, made)
    pd.testing.assert_frame_equal(loaded, written)


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


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_table_without_rows_has_its_columns(name: str) -> None:
    assert columns_of(empty(SCHEMAS[name])) == list(SCHEMAS[name].dtypes.items())
