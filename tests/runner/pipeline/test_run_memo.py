"""What several results of a run are made from is made once, belongs to the run, and stays in its process."""

import pickle
from pathlib import Path

from workbench.core.memo import memoised
from workbench.core.records import Dataset, Document
from workbench.runner.pipeline.context import RunContext, Workspace

calls: list[int] = []


@memoised(2)
def squared(run: RunContext, number: int) -> int:
    calls.append(number)
    return number**2 * len(run.dataset.documents)


def run_in(folder: Path) -> RunContext:
    return RunContext(Workspace.at(folder), Dataset("one", (Document("d", "text"),), (), ()), (), "exact")


def test_the_latest_values_are_made_once_for_each_run(tmp_path: Path) -> None:
    first, second = run_in(tmp_path), run_in(tmp_path)
    calls.clear()
    assert [squared(first, 2), squared(first, 2), squared(second, 2)] == [4, 4, 4]
    assert calls == [2, 2]
    squared(first, 3), squared(first, 2), squared(first, 4)
    assert calls == [2, 2, 3, 4]
    # The values of 2 and 4 are the latest two.
    squared(first, 2), squared(first, 3)
    assert calls == [2, 2, 3, 4, 3]


def test_another_process_gets_the_run_without_its_values(tmp_path: Path) -> None:
    run = run_in(tmp_path)
    calls.clear()
    squared(run, 5)
    assert len(run.labels.texts) == 1
    copy = pickle.loads(pickle.dumps(run))
    assert copy.dataset == run.dataset
    assert "labels" not in vars(copy)
    squared(copy, 5)
    assert calls == [5, 5]
