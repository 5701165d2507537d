"""The command `judge test`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli.options import outputs_option
from workbench.core.terminal import say
from workbench.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.judging.base import Judge, Task
    from workbench.judging.trust import Trust

_allow_code = click.option(
    "--allow-code", is_flag=True, help="Import and run the functions that the experiment names; trust it as you would a program."
)


@click.command("test")
@click.argument("experiment", type=click.Path(path_type=Path), required=False)
@click.option("--kind", help="Test a judge of this kind with its defaults, such as overlap, instead of those of an experiment.")
@click.option("--set", "overrides", multiple=True, metavar="PATH.TO.KEY=VALUE", help="Change a value of the experiment; can be repeated.")
@_allow_code
@outputs_option("The folder whose store keeps the results.")
def judge_test(experiment: Path | None, kind: str | None, overrides: tuple[str, ...], allow_code: bool, outputs: Path) -> None:
    """Test the judges of an experiment on cases with known answers: 96 claims and 64 passages. Exit 1 if one may not be called a judge.

    A test is made once for each judge, and kept in the store. A judge that calls a model is asked twice.
    """
    from workbench.answering.base import AnswerResources
    from workbench.judging.trust import trust
    from workbench.llm.session import CallResources
    from workbench.pipeline.context import Workspace

    judges = _judges(experiment, kind, overrides, allow_code)
    workspace = Workspace.at(outputs)
    resources = AnswerResources(workspace.vectors, CallResources(workspace.calls))
    found = [trust(judge, task, resources, workspace.store) for task, judge in judges.items()]
    for line in _table(found):
        say(line)
    sys.exit(1 if any(test.role == "score" for test in found) else 0)


def _judges(experiment: Path | None, kind: str | None, overrides: tuple[str, ...], allow_code: bool) -> "Mapping[Task, Judge]":
    from workbench.core.code import require_permission
    from workbench.experiment.read import read_experiment
    from workbench.judging.registry import JUDGES

    if (experiment is None) == (kind is None):
        raise InputError("judge test needs either an experiment or --kind", "write workbench judge test EXPERIMENT.yaml, or --kind overlap")
    if kind is not None:
        if kind not in JUDGES:
            raise InputError(f"there is no judge {kind!r}", f"kinds are {', '.join(JUDGES)}")
        try:
            judge = JUDGES[kind](kind=kind)
        except InputError as error:
            raise InputError(
                f"{error}", "write an experiment with the settings of the judge, and workbench judge test EXPERIMENT.yaml"
            ) from None
        judge.check()
        return dict.fromkeys(judge.tasks, judge)
    judging = read_experiment(Path(str(experiment)), overrides).judging
    if judging is None:
        raise InputError(f"{experiment} has no judges", "add answering, or remove judging: none")
    require_permission(judging.named_code, allow_code)
    return judging.judges


def _table(tests: "list[Trust]") -> list[str]:
    header = ("task", "judge", "may be called", "AUROC", "pairs", "most frequent", "repeated", "passed", "failed", "unscored")
    rows = [
        (
            test.task,
            test.judge,
            test.role,
            _number(test.auroc),
            _number(test.polarity),
            _number(test.always_yes),
            _number(test.repeatability),
            *(map(str, (test.passed, test.failed, test.unscored)) if test.tested else ("–",) * 3),
        )
        for test in tests
    ]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (header, *rows)]
    reasons = [f"{test.task}: {test.reason}" for test in tests if test.reason]
    weak = [f"{test.task}: weak in {', '.join(test.weak_kinds)}" for test in tests if test.weak_kinds]
    return [*lines, "", *reasons, *weak] if reasons or weak else lines


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
