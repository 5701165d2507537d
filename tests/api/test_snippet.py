"""The snippet of the design, run on a part of the handbook."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SNIPPET = Path(__file__).with_name("snippet.py").read_text("utf-8")
QUICKSTART = """
name: quickstart
dataset: {kind: golden, path: experiments/handbook, split: dev}
sweep: {chunking: {kind: fixed, size: [128, 256]}}
metrics: [span_recall@2000t, recall@5]
"""


def test_the_snippet_runs(tmp_path: Path, handbook_corner: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "handbook").symlink_to(handbook_corner)
    (tmp_path / "experiments" / "quickstart.yaml").write_text(QUICKSTART)
    monkeypatch.chdir(tmp_path)
    exec(SNIPPET, {})
    assert (tmp_path / "report.html").stat().st_size > 100_000
