"""Which tasks start when, without workers."""

from workbench.runner.execution.dask_workers import Task, TaskQueue, TaskResult


def started(run: TaskQueue, room: int = 2) -> list[str]:
    return [task.name for task in run.startable(room)]


def end(run: TaskQueue, name: str) -> list[str]:
    return [ended.name for ended in run.end(TaskResult(name, None, None))]


def test_a_suspect_is_retried_once_alone_after_the_other_tasks() -> None:
    run = TaskQueue([Task("a", print, tuple), Task("b", print, tuple), Task("c", print, tuple), Task("after a", print, tuple, ("a",))])
    assert started(run) == ["a", "b"]
    run.suspect("a")
    assert not run.alone("a")
    assert started(run) == ["c"]
    end(run, "b")
    assert started(run) == []
    end(run, "c")
    assert started(run) == ["a"]
    assert run.alone("a")
    assert started(run) == []
    assert end(run, "a") == ["a"]
    assert started(run) == ["after a"]
    end(run, "after a")
    assert run.unfinished == 0


def test_tasks_that_become_ready_wait_for_a_suspect() -> None:
    run = TaskQueue([Task("here", print, tuple, local=True), Task("a", print, tuple), Task("b", print, tuple, ("here",))])
    assert started(run) == ["here", "a"]
    run.suspect("a")
    assert started(run) == ["a"]
    end(run, "here")
    assert started(run) == []
    end(run, "a")
    assert started(run) == ["b"]
