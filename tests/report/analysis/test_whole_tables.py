"""Tables of a run that do not belong together are one clear line for every reader, not a page of wrong numbers."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.made_runs import Made
from workbench.core.errors import InputError
from workbench.report.analysis.findings import findings
from workbench.report.results.run_tables import RunTables
from workbench.report.runs.comparison import RunPair

VALUES = np.random.default_rng(3).random(120) * 0.5
Edit = Callable[[pd.DataFrame], pd.DataFrame]
EDITS: dict[str, tuple[str, Edit, str]] = {
    "half": (
        "queries",
        lambda rows: rows.iloc[: len(rows) // 2],
        "queries.parquet has 0 values, metrics.parquet 120, so the tables of mine do not",
    ),
    "none": (
        "queries",
        lambda rows: rows.iloc[:0],
        "queries.parquet has 0 values, metrics.parquet 120, so the tables of mine do not belong together",
    ),
    "metrics twice": (
        "metrics",
        lambda rows: pd.concat([rows, rows]),
        "has 120 values, metrics.parquet 240, so the tables of mine do not belong",
    ),
    "questions twice": ("questions", lambda rows: pd.concat([rows, rows], ignore_index=True), "questions.parquet of mine has 'q0-0' twice"),
    "infinite": (
        "queries",
        lambda rows: rows.assign(value=rows["value"].where(rows.index > 3, np.inf)),
        "has the value inf of span_recall@60t",
    ),
    "beyond": ("queries", lambda rows: rows.assign(value=rows["value"].where(rows.index > 3, 7.0)), "has the value 7 of span_recall@60t"),
}


@pytest.fixture
def run(made: Made) -> RunTables:
    return made.valued([VALUES, VALUES + 0.1], name="mine")


@pytest.mark.parametrize("kind", EDITS)
def test_every_reader_refuses_tables_that_do_not_belong_together(made: Made, run: RunTables, kind: str) -> None:
    name, edit, words = EDITS[kind]
    rows = edit(run.table(name).copy())
    edited = replace(run, sources={**run.sources, name: lambda _: rows})
    with pytest.raises(InputError, match=words.replace(".", r"\.")) as refused:
        findings(edited).verdict  # noqa: B018  # a property
    assert str(refused.value).endswith("; sweep again")
    with pytest.raises(InputError, match=r"sweep again"):
        RunPair.of(made.valued([VALUES, VALUES], name="then"), edited).differences  # noqa: B018  # a property


def test_a_whole_run_is_read(run: RunTables) -> None:
    assert findings(run).verdict is not None
