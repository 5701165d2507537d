import importlib
import json

import pytest

import benchmarks
from benchmarks import __main__ as runner

GOOD = (
    'def run():\n    return {"ratios": {"theirs / ours": 4.2}, "claims": [{"claim": "fast", "found": 4.2, "at least": 4, "holds": True}]}\n'
)
SLOW = 'def run():\n    return {"claims": [{"claim": "fast", "found": 1.5, "at least": 4.0, "holds": False}]}\n'
BROKEN = 'def run():\n    raise ValueError("no such thing")\n'
NEEDY = 'NEEDS = ("a-big-set",)\ndef run():\n    return {}\n'
SIZED = 'def run(documents=12):\n    return {"documents": documents}\n'
MODULES = {"tbroken": BROKEN, "tneedy": NEEDY, "tslow": SLOW, "tsized": SIZED, "tgood": GOOD}


@pytest.mark.parametrize("name", runner.BENCHMARKS)
def test_every_benchmark_can_be_run(name):
    assert callable(importlib.import_module(f"benchmarks.{name}").run)


@pytest.fixture
def bench(tmp_path, monkeypatch):
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setattr(benchmarks, "__path__", [*benchmarks.__path__, str(tmp_path)])
    monkeypatch.setattr(runner, "BENCHMARKS", dict.fromkeys(MODULES, "about it"))
    monkeypatch.setenv("WORKBENCH_DATA", str(tmp_path))
    return lambda *words: runner.main([*words, "--results", str(tmp_path / "results")])


def test_one_that_fails_stops_no_other_and_the_exit_says_so(bench, tmp_path, capsys):
    assert bench() == 1
    assert sorted(path.stem for path in (tmp_path / "results").iterdir()) == ["tgood", "tsized", "tslow"]
    told = capsys.readouterr()
    assert "tbroken: FAILED, tneedy: left out, tslow: 1 claims do not hold, tsized: done, tgood: done" in told.out
    assert "5 benchmarks, 1 left out" in told.out
    assert "ValueError: no such thing" in told.err


def test_without_its_data_a_benchmark_is_left_out_and_that_is_no_failure(bench, tmp_path, capsys):
    assert bench("tneedy") == 0
    assert f"left out: a-big-set is not in {tmp_path}; set WORKBENCH_DATA" in capsys.readouterr().out


def test_without_its_model_file_a_benchmark_is_left_out_and_that_is_no_failure(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("WORKBENCH_GGUF", str(tmp_path / "missing.gguf"))
    assert runner.main(["injections", "--results", str(tmp_path / "results")]) == 0
    assert "left out: WORKBENCH_GGUF names no file" in capsys.readouterr().out


def test_a_claim_that_does_not_hold_is_exit_1_and_printed(bench, capsys):
    assert bench("tslow") == 1
    assert "FAILS: fast: 1.5 (at least 4)" in capsys.readouterr().out


def test_figures_are_stored_with_what_they_were_measured_on(bench, tmp_path):
    assert bench("tgood") == 0
    stored = json.loads((tmp_path / "results" / "tgood.json").read_text())
    assert stored["ratios"] == {"theirs / ours": 4.2}
    assert {"machine", "versions", "commit", "date", "seconds_taken"} <= set(stored)
    assert {"cpu", "cores", "memory_gib", "load_before", "load_after"} <= set(stored["machine"])
    assert {"python", "torch", "chromadb"} <= set(stored["versions"])


@pytest.mark.parametrize(("words", "documents"), [((), 12), (("--documents", "3"), 3)])
def test_how_many_documents_is_handed_on(bench, tmp_path, words, documents):
    assert bench("tsized", *words) == 0
    assert json.loads((tmp_path / "results" / "tsized.json").read_text())["documents"] == documents


@pytest.mark.parametrize("words", [("tgod",), ("tgood", "--documents", "0"), ("tgood", "--documents", "many")])
def test_what_is_no_benchmark_and_no_number_is_refused(bench, words, capsys):
    with pytest.raises(SystemExit) as ended:
        bench(*words)
    assert ended.value.code == 2
    assert words[-1] in capsys.readouterr().err


def test_every_name_in_the_table_is_a_module():
    folder = runner.RESULTS.parent
    assert all((folder / f"{name}.py").is_file() for name in runner.BENCHMARKS)
