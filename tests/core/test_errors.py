import pickle

import workbench.core.errors
from workbench.core.errors import (
    DatasetError,
    ExperimentError,
    FaultsError,
    IndexBuildError,
    InputError,
    LawError,
    ModelError,
    NotebookError,
    RunError,
    StoreError,
    WorkbenchError,
    WorkerError,
)

TREE = [
    (WorkbenchError, Exception, 3),
    (InputError, WorkbenchError, 2),
    (FaultsError, InputError, 2),
    (ExperimentError, FaultsError, 2),
    (DatasetError, FaultsError, 2),
    (ModelError, InputError, 2),
    (LawError, WorkbenchError, 3),
    (RunError, WorkbenchError, 3),
    (StoreError, RunError, 3),
    (IndexBuildError, RunError, 3),
    (NotebookError, RunError, 3),
    (WorkerError, RunError, 3),
]


def test_every_error_is_in_the_tree_with_its_exit_code() -> None:
    assert [(error, error.__base__, error.exit_code) for error, _, _ in TREE] == TREE
    assert [error for error, _, _ in TREE if error.__name__ not in (workbench.core.errors.__doc__ or "")] == []


def test_the_tree_is_complete() -> None:
    ours = {value for value in vars(workbench.core.errors).values() if isinstance(value, type) and issubclass(value, WorkbenchError)}
    assert ours == {error for error, _, _ in TREE}


def test_an_error_is_one_line_of_what_happened_and_the_fix() -> None:
    error = StoreError("the disk\nis  full", "free space")
    assert error.lines == ["the disk is full; free space"]
    assert (error.what, error.fix) == ("the disk\nis  full", "free space")
    assert WorkbenchError("it broke").lines == ["it broke"]


def test_faults_are_one_line_each_with_their_place() -> None:
    error = DatasetError("dataset x", ["a.jsonl:1 is\nbad", "b.jsonl:2 is worse"])
    assert error.lines == ["dataset x: a.jsonl:1 is bad", "dataset x: b.jsonl:2 is worse"]
    assert error.faults == ("a.jsonl:1 is\nbad", "b.jsonl:2 is worse")
    assert "b.jsonl:2 is worse" in str(error)


def test_errors_cross_processes() -> None:
    for error, _, _ in TREE:
        made = error("x.jsonl", ["one", "two"]) if issubclass(error, FaultsError) else error("broken", "mend it")
        again = pickle.loads(pickle.dumps(made))
        assert type(again) is error
        assert (again.lines, again.what, again.fix) == (made.lines, made.what, made.fix)
