import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import workbench
from workbench.api.results import Results
from workbench.core.errors import InputError
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.local import Outcome

# Opens a run where nothing that made it is installed, and says what it holds.
LOAD = """
import json, sys
ABSENT = {"torch", "chromadb", "sentence_transformers", "transformers", "tokenizers", "openvino", "pytrec_eval", "bm25s"}
# None in sys.modules would say the same to Python, but scipy looks there for torch's classes.
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
import workbench as wb
results = wb.load(sys.argv[1])
board = results.leaderboard()
first = board.index[0]
print(json.dumps({
    "names": list(board.index),
    "verdict": str(results.verdict.reason),
    "causes": results.causes(first)["cause"].tolist(),
    "compared": results.compare(board.index[0], board.index[1]).index.tolist(),
    "shown": first in results._repr_html_(),
    "report": results.to_html(sys.argv[2]).read_text("utf-8").count(first) > 5,
}))
"""


@pytest.mark.slow
def test_a_run_opens_elsewhere_without_models_store_or_dataset(few: Outcome, tmp_path: Path, run_python: Callable[..., str]) -> None:
    shutil.copytree(few.folder, tmp_path / "few")
    found = json.loads(run_python(LOAD, tmp_path / "few", tmp_path / "report.html"))
    assert sorted(found["names"]) == sorted(result.configuration.name for result in few.results)
    assert found["verdict"] == "fewer than 30 questions"
    assert found["causes"]
    assert found["compared"] == [str(metric) for metric in few.run.metrics]
    assert found["shown"]
    assert found["report"]


def test_the_leaderboard_is_in_the_order_of_the_verdict(few: Outcome) -> None:
    results = workbench.load(few.folder)
    board = results.leaderboard()
    assert tuple(board.index) == results.verdict.ranked
    assert board["place"].tolist() == list(range(1, len(board) + 1))
    assert board["span_recall@500t"].is_monotonic_decreasing
    assert {"low", "high", "recall@5"} <= set(board.columns)


def test_a_comparison_turned_round_has_the_other_sign(few: Outcome) -> None:
    results = workbench.load(few.folder)
    one, other = results.compare("fixed-64-0", "fixed-128-0"), results.compare("fixed-128-0", "fixed-64-0")
    assert one["difference"].tolist() == (-other["difference"]).tolist()
    assert np.allclose(one["low"], -other["high"], equal_nan=True)
    assert one.index[~one["exploratory"]].tolist() == one.index[one["p_adjusted"].notna()].tolist() == [str(results.primary)]
    assert one["equivalent"].notna().tolist() == (~one["exploratory"]).tolist()
    assert one["n"].tolist() == other["n"].tolist()


def test_causes_tell_what_is_missed_and_why(few: Outcome) -> None:
    causes = workbench.load(few.folder).causes("fixed-64-0")
    assert list(causes.columns) == ["query_id", "question", "cause", "evidence", "rank", "meaning"]
    assert causes["evidence"].str.contains(r":\d+-\d+$").all()
    assert causes["meaning"].str.len().gt(20).all()


def test_causes_of_answers_tell_which_failed_and_why(caused_run: RunTables) -> None:
    results = Results.view(caused_run, Path())
    causes = results.causes(caused_run.names[0], of="answers")
    assert list(causes.columns) == ["query_id", "question", "condition", "repeat", "cause", "evidence", "meaning"]
    assert {"rank", "refusal", "contradiction", "unused", "unsure", "unrefused"} <= set(causes["cause"])
    assert causes["meaning"].str.len().gt(20).all()
    assert "condition" not in results.causes(caused_run.names[0]).columns


def test_causes_of_something_else_are_refused(few: Outcome) -> None:
    with pytest.raises(InputError, match=r"'answer' has no causes \(did you mean 'answers'"):
        workbench.load(few.folder).causes("fixed-64-0", of="answer")  # type: ignore[arg-type]  # the mistake


def test_a_name_that_is_not_there_is_told_with_the_nearest(few: Outcome) -> None:
    results = workbench.load(few.folder)
    with pytest.raises(InputError, match="fixed-64-0"):
        results.causes("fixed-64-00")
    with pytest.raises(InputError, match="did you mean"):
        results.compare("fixed-64-0", "fixed-128-1")


def test_tables_are_there_by_name(few: Outcome) -> None:
    results = workbench.load(few.folder)
    assert len(results.questions) == len(few.run.dataset.queries)
    for table in (results.metrics, results.queries, results.hits, results.configurations, results.comparisons, results.timings):
        assert len(table)
    assert results.failures == {}
    assert repr(results) == "Results('few', 5 configurations by span_recall@500t)"


def test_a_run_that_was_replaced_after_it_was_opened_is_refused_instead_of_mixed(few: Outcome, outcome: Outcome, tmp_path: Path) -> None:
    shutil.copytree(few.folder, tmp_path / "run")
    results = workbench.load(tmp_path / "run")
    results.leaderboard()
    shutil.rmtree(tmp_path / "run")
    shutil.copytree(outcome.folder, tmp_path / "run")
    with pytest.raises(InputError, match="was replaced after it was opened"):
        results.hits  # noqa: B018  # reads the table


def test_a_change_of_a_table_stays_with_the_caller(few: Outcome) -> None:
    results = workbench.load(few.folder)
    before = results.leaderboard()
    metrics = results.metrics
    metrics["value"] *= 100
    queries = results.queries
    del queries["value"]
    assert results.leaderboard().equals(before)
    assert "value" in results.queries


def test_a_run_is_read_from_anywhere_once_it_is_opened(few: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(few.folder.parent)
    results = workbench.load(few.folder.name)
    monkeypatch.chdir(tmp_path)
    assert len(results.hits)


def test_a_misspelt_run_is_suggested_and_a_folder_of_runs_lists_them(few: Outcome) -> None:
    with pytest.raises(InputError, match=r"does not exist \(did you mean 'few'\?\)"):
        workbench.load(few.folder.parent / "fewer")
    with pytest.raises(InputError, match="give one of its runs: few"):
        workbench.load(few.folder.parent)
