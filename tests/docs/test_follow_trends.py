"""The script of docs/how-to/follow_trends.md on a history that a test has made."""

import pytest

from tests.docs.conftest import DOCS, blocks


def test_the_snippet_prints_what_changed_and_since_when(past, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    common = {"experiment": "quickstart", "configuration": "fixed-256-0", "metric": "span_recall@2000t"}
    rows = [common | {"run": run, "value": 0.5 + 0.1 * (run >= 6) + 0.001 * (run % 2), "embedding": str(run)} for run in range(12)]
    place = past(rows)
    place.joinpath("outputs").mkdir()
    place.joinpath("history.parquet").rename(place / "outputs" / "history.parquet")
    monkeypatch.chdir(place)
    *_, snippet = blocks(DOCS / "how-to" / "follow_trends.md", "python")
    exec(snippet, {})
    said = capsys.readouterr().out
    assert "embedding" in said
    assert "ChangePoint(run='000000000006'" in said
