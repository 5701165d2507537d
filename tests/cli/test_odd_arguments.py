"""Arguments and settings of the environment that no one gives on purpose end in one line, not in `unexpected …`."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from workbench.cli.main import main

HANDBOOK = Path(__file__).parents[2] / "experiments" / "handbook"
EXPERIMENT = f"name: x\ndataset: {{kind: golden, path: {HANDBOOK}}}\npipeline: {{retrieval: {{kind: bm25}}}}\n"
LONG = "x" * 300


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.yaml").write_text(EXPERIMENT)
    (tmp_path / "folder.yaml").mkdir()
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    with (tmp_path / "large.yaml").open("wb") as file:
        file.truncate(2**30)
    return tmp_path


def test_an_odd_argument_is_one_line(wording) -> None:
    def lines_of(words: str) -> str:
        arguments = [word.replace(":[", ": [").replace(":{", ": {").replace("model:", "model: ") for word in words.split(" ")]
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 2, done.output
        assert not any("unexpected" in line or not line.startswith("workbench: ") for line in done.output.splitlines())
        return done.output.strip().replace("\n", "\n    ").replace(LONG, "LONG").replace("[" * 9999, "[…")

    wording(
        lines_of,
        [
            "plan x.yaml --outputs /dev/null",
            "sweep x.yaml --outputs /dev/null",
            "sweep x.yaml --outputs /dev/null/x/y",
            "report x.yaml --outputs x.yaml",
            "lab x.yaml --outputs=",
            "sweep x.yaml --outputs=",
            f"sweep x.yaml --outputs {LONG}",
            f"export {LONG}",
            f"dataset check {LONG}",
            f"plan {LONG}",
            "plan folder.yaml",
            "plan pipe.yaml",
            "plan zero.yaml",
            "plan /dev/zero",
            "plan large.yaml",
            "dataset check ~nosuchuser/x",
            "plan x.yaml --set dataset.path=~nosuchuser/x",
            f"plan x.yaml --set pipeline={{embedding:{{model:{LONG}}}}}",
            "plan x.yaml --set dataset.kind=[a]",
            "plan x.yaml --set dataset.kind={}",
            "plan x.yaml --set sweep.chunking={kind:{}}",
            "plan x.yaml --set pipeline.retrieval.k1=.inf",
            "plan x.yaml --set pipeline.retrieval.k1=.nan",
            f"plan x.yaml --set pipeline.retrieval.k={'9' * 99}",
            f"plan x.yaml --set {'a.' * 99}b=1",
            "plan x.yaml --set a=&x[*x]",
            f"plan x.yaml --set a={'[' * 9999}",
            "plan x.yaml --set baseline=!!python/name:os.system",
            'plan x.yaml --set dataset.path="a\\0b"',
            "plan x.yaml --set sweep.retrieval={k:[]}",
        ],
        None,
    )


def test_a_store_that_is_no_url_is_one_line() -> None:
    done = CliRunner(env={"WORKBENCH_STORE": "ftp://me:secret@[x"}).invoke(main, ["plan", "x.yaml"])
    assert (done.exit_code, done.output) == (2, "workbench: the store ftp://[x is not a URL (Invalid IPv6 URL); correct WORKBENCH_STORE\n")


@pytest.mark.parametrize(("store", "reason"), [("/dev/null", ""), ("x.yaml/store", ", since x.yaml is a file")])
def test_a_store_that_is_no_folder_is_one_line(store: str, reason: str) -> None:
    for words in ("plan x.yaml", "sweep x.yaml", "doctor"):
        done = CliRunner(env={"WORKBENCH_STORE": store}).invoke(main, words.split())
        assert (done.exit_code, done.output) == (2, f"workbench: WORKBENCH_STORE {store} is not a folder{reason}; name another one\n")


def test_short_lists_that_multiply_to_millions_are_refused_at_once(place: Path) -> None:
    sizes = list(range(10, 500))
    (place / "x.yaml").write_text(f"{EXPERIMENT}sweep: {{chunking: {{kind: fixed, size: {sizes}, overlap: {sizes}}}}}\n")
    done = CliRunner().invoke(main, ["plan", "x.yaml"])
    assert (done.exit_code, "sweep.chunking has 240100 alternatives; at most 10000 can be compared" in done.output) == (2, True)
    ks = list(range(1, 99))
    (place / "x.yaml").write_text(f"{EXPERIMENT}sweep: {{chunking: {{kind: fixed, size: {sizes}}}, retrieval: {{kind: bm25, k: {ks}}}}}\n")
    assert "the experiment has 48020 configurations" in CliRunner().invoke(main, ["plan", "x.yaml"]).output
