import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from workbench.core.errors import InputError
from workbench.core.schemas import SCHEMAS
from workbench.report.analysis.findings import findings
from workbench.report.results.run_tables import RunTables, read_table
from workbench.runner.execution.local import Outcome


@pytest.fixture
def copied(few: Outcome, tmp_path: Path) -> Path:
    shutil.copytree(few.folder, tmp_path / "few")
    return tmp_path / "few"


def test_a_run_names_its_metrics_and_its_configurations(few: Outcome) -> None:
    run = RunTables.read(few.folder)
    assert run.name == "few"
    assert str(run.primary) == "span_recall@500t"
    assert (run.primary.family, run.primary.tokens, run.primary.k) == ("spans", 500, None)
    assert list(run.measures) == [str(metric) for metric in few.run.metrics]
    assert not run.measures["irrelevant@3"].higher_is_better
    assert run.measures["recall@5"].meaning == "share of the relevant documents among the first k documents"
    assert run.names == tuple(result.configuration.name for result in few.results)
    assert run.facts["fixed-64-16"]["overlap"] == 16
    assert run.facts["hierarchical-64-256"]["embedding"] is None
    assert run.configurations_settings["fixed-64-16"]["chunking"]["size"] == 64
    assert run.baseline is None


def test_a_run_of_another_packages_metric_opens_without_it(copied: Path) -> None:
    path = copied / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["metrics"]["ours@500t"] = manifest["metrics"].pop("span_recall@500t") | {"name": "ours"}
    path.write_text(json.dumps(manifest | {"primary": "ours@500t"}))
    assert RunTables.read(copied).primary.name == "ours"


def test_a_folder_without_a_run_is_an_error_with_a_fix(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains no run"):
        RunTables.read(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(InputError, match="contains no run"):
        RunTables.read(tmp_path)


def test_a_table_that_is_gone_is_named(copied: Path) -> None:
    (copied / "causes.parquet").unlink()
    with pytest.raises(InputError, match=r"lacks causes\.parquet"):
        RunTables.read(copied)


def test_an_older_run_is_distinguished_from_a_broken_one(copied: Path) -> None:
    path = copied / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({key: value for key, value in manifest.items() if key != "metrics"}))
    with pytest.raises(InputError, match="older version"):
        RunTables.read(copied)


def test_a_table_of_other_columns_or_types_is_refused_when_it_is_read(copied: Path) -> None:
    table = pd.read_parquet(copied / "hits.parquet")
    table.assign(rank=table["rank"].astype("float64")).to_parquet(copied / "hits.parquet", index=False)
    with pytest.raises(InputError, match="rank"):
        _ = RunTables.read(copied).hits
    table.drop(columns="score").to_parquet(copied / "hits.parquet", index=False)
    with pytest.raises(InputError, match="score"):
        _ = RunTables.read(copied).hits
    (copied / "hits.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="not a readable table"):
        _ = RunTables.read(copied).hits


def test_a_column_that_only_an_older_run_has_is_left_out(tmp_path: Path) -> None:
    schema = SCHEMAS["comparisons"]
    assert schema.added == ("equivalent",)
    row = {name: {"str": "a", "boolean": True}.get(dtype, 0) for name, dtype in schema.dtypes.items()}
    older = schema.conform(pd.DataFrame([row])).drop(columns="equivalent").assign(p_all_pairs=0.5)
    older.to_parquet(tmp_path / "comparisons.parquet", index=False)
    read = read_table(tmp_path, schema)
    assert (list(read), read["equivalent"].isna().all()) == (schema.names, True)


def test_a_column_that_an_older_run_does_not_have_is_without_values(tmp_path: Path) -> None:
    schema = SCHEMAS["answers"]
    assert "truncated" in schema.added
    row = {name: {"str": "a", "bool": False, "boolean": True}.get(dtype, 0) for name, dtype in schema.dtypes.items()}
    table = schema.conform(pd.DataFrame([row]))
    for kept in (table, table.drop(columns="truncated")):
        kept.to_parquet(tmp_path / "answers.parquet", index=False)
        for configuration in (None, "a", "b"):
            read = read_table(tmp_path, schema, configuration)
            assert read.dtypes.astype(str).to_dict() == schema.dtypes
            assert list(read) == schema.names
            assert read["truncated"].isna().all() == (kept is not table or configuration == "b")
    table.drop(columns="correct").to_parquet(tmp_path / "answers.parquet", index=False)
    with pytest.raises(InputError, match="correct"):
        read_table(tmp_path, schema)


def test_what_is_no_table_is_no_attribute(few: Outcome) -> None:
    run = RunTables.read(few.folder)
    assert not hasattr(run, "traces")
    assert run.screening.empty


def test_what_a_run_found_is_the_same_in_another_commit_and_another_with_other_seeds(copied: Path) -> None:
    path, run = copied / "manifest.json", RunTables.read(copied)
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | {"commit": "f" * 40}))
    assert RunTables.read(copied).digest() == run.digest()
    path.write_text(json.dumps(manifest | {"seeds": {"ties": 1}}))
    assert RunTables.read(copied).digest() != run.digest()


def test_values_derived_from_a_run_belong_to_it_and_its_views(few: Outcome) -> None:
    first, second = RunTables.read(few.folder), RunTables.read(few.folder)
    assert findings(first) is findings(first)
    assert findings(RunTables.view(first, few.folder)) is findings(first)
    assert findings(second) is not findings(first)
