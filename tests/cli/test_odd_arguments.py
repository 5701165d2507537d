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
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "x.yaml").write_text(EXPERIMENT)
    (tmp_path / "folder.yaml").mkdir()
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    with (tmp_path / "large.yaml").open("wb") as file:
        file.truncate(2**30)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "part"),
    [
        *(
            (command, "--outputs /dev/null is not a folder")
            for command in ("plan x.yaml --outputs /dev/null", "sweep x.yaml --outputs /dev/null")
        ),
        ("sweep x.yaml --outputs /dev/null/x/y", "is not a folder, since /dev/null is a file; name another one"),
        ("report x.yaml --outputs x.yaml", "--outputs x.yaml is not a folder"),
        ("lab x.yaml --outputs=", "--outputs is empty; name a folder"),
        ("sweep x.yaml --outputs=", "--outputs is empty; name a folder"),
        (f"sweep x.yaml --outputs {LONG}", "is too long for a file"),
        (f"export {LONG}", "is too long for a file"),
        (f"dataset check {LONG}", "cannot be read (File name too long)"),
        (f"plan {LONG}", "cannot be read (File name too long)"),
        ("plan folder.yaml", "is a folder"),
        ("plan pipe.yaml", "is not a regular file"),
        ("plan zero.yaml", "is not a regular file"),
        ("plan /dev/zero", "is not a regular file"),
        ("plan large.yaml", "has 1073741824 bytes; an experiment file has at most 200000"),
        ("dataset check ~nosuchuser/x", "the dataset ~nosuchuser/x does not exist"),
        ("plan x.yaml --set dataset.path=~nosuchuser/x", "the dataset ~nosuchuser/x does not exist"),
        (f"plan x.yaml --set pipeline={{embedding:{{model:{LONG}}}}}", "embedding"),
        ("plan x.yaml --set dataset.kind=[a]", "dataset has no kind ['a']"),
        ("plan x.yaml --set dataset.kind={}", "dataset has no kind {}"),
        ("plan x.yaml --set sweep.chunking={kind:{}}", "chunking has no"),
        ("plan x.yaml --set pipeline.retrieval.k1=.inf", "pipeline.retrieval.k1 is not finite"),
        ("plan x.yaml --set pipeline.retrieval.k1=.nan", "pipeline.retrieval.k1 is not finite"),
        (f"plan x.yaml --set pipeline.retrieval.k={'9' * 99}", "pipeline.retrieval.k is a number of too many digits"),
        (f"plan x.yaml --set {'a.' * 99}b=1", "is not path.to.key=value"),
        ("plan x.yaml --set a=&x[*x]", "is not YAML"),
        (f"plan x.yaml --set a={'[' * 9999}", "is not YAML"),
        ("plan x.yaml --set baseline=!!python/name:os.system", "is not YAML"),
        ('plan x.yaml --set dataset.path="a\\0b"', "with the character NUL"),
        ("plan x.yaml --set sweep.retrieval={k:[]}", "sweep.retrieval has the empty list k"),
    ],
    ids=lambda value: value[:60],
)
def test_an_odd_argument_is_one_line(words: str, part: str) -> None:
    done = CliRunner().invoke(
        main, [word.replace(":[", ": [").replace(":{", ": {").replace("model:", "model: ") for word in words.split(" ")]
    )
    assert done.exit_code == 2, done.output
    assert part in done.output
    assert not any("unexpected" in line or not line.startswith("workbench: ") for line in done.output.splitlines())


def test_a_store_that_is_no_url_is_one_line() -> None:
    done = CliRunner(env={"WORKBENCH_STORE": "ftp://me:secret@[x"}).invoke(main, ["plan", "x.yaml"])
    assert (done.exit_code, done.output) == (2, "workbench: the store ftp://[x is not a URL (Invalid IPv6 URL); correct WORKBENCH_STORE\n")


@pytest.mark.parametrize(("store", "reason"), [("/dev/null", ""), ("x.yaml/store", ", since x.yaml is a file")])
@pytest.mark.parametrize("words", ["plan x.yaml", "sweep x.yaml", "doctor"])
def test_a_store_that_is_no_folder_is_one_line(store: str, reason: str, words: str) -> None:
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
