"""The snippet of the design: it runs, and a type checker without plugins accepts it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
SNIPPET = """
import workbench as wb

dataset = wb.load_dataset("experiments/handbook", split="dev")
chunks = wb.SentenceChunker(size=256).split(dataset.documents[0])
assert chunks[0].text == dataset.documents[0].text[: chunks[0].end]
wb.chunk_table(dataset, wb.FixedChunker(size=256))

pipeline = wb.Pipeline(
    chunking=wb.FixedChunker(size=256), embedding=wb.SentenceTransformerEmbedder(), retrieval=wb.DenseRetriever(k=10)
)
index = pipeline.index(dataset)
index.search("who pays for the taxi", k=5)
wb.evaluate(index, dataset, ["recall@5", wb.recall @ 5])

experiment = wb.Experiment.from_yaml("experiments/quickstart.yaml")
experiment.plan()
results = wb.sweep(experiment, outputs="outputs")
results = wb.load("outputs/quickstart")
results.metrics, results.queries, results.hits
a, b = experiment.names
results.leaderboard(), results.verdict, results.compare(a, b), results.causes(a)
results.plot.leaderboard(), results.plot.frontier(), results.to_html("report.html")
"""
QUICKSTART = """
name: quickstart
dataset: {kind: golden, path: experiments/handbook, split: dev}
sweep: {chunking: {kind: fixed, size: [128, 256]}}
metrics: [span_recall@2000t, recall@5]
"""


def test_the_snippet_runs(tmp_path: Path, run_python: Callable[..., str]) -> None:
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "handbook").symlink_to(ROOT / "experiments" / "handbook")
    (tmp_path / "experiments" / "quickstart.yaml").write_text(QUICKSTART)
    run_python(f"import os; os.chdir({str(tmp_path)!r})\n{SNIPPET}")
    assert (tmp_path / "report.html").stat().st_size > 100_000


def test_a_type_checker_without_plugins_accepts_it_and_refuses_misspelt_names(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(SNIPPET)
    (tmp_path / "bad.py").write_text("import workbench as wb\nwb.load_datset('x')\nwb.FixedChunker(sise=3)\n")
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\n")
    files = [str(tmp_path / name) for name in ("good.py", "bad.py")]
    command = [sys.executable, "-m", "mypy", "--config-file", str(tmp_path / "mypy.ini"), *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert "good.py" not in done.stdout
    assert 'has no attribute "load_datset"' in done.stdout
    assert '"sise"' in done.stdout
