"""The commands `judge`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli.options import allow_code_option, outputs_option, run_argument, set_option
from workbench.core.errors import InputError
from workbench.core.text.terminal import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.components.judging.base import Judge, Task
    from workbench.components.judging.self_test import Trust

# Copied from the downloads, which take longer to import than the help takes to print.
MODELS = ("qwen2.5-1.5b", "qwen2.5-0.5b", "smollm2-135m")
# Copied from the analysis, which takes longer to import than the help takes to print.
TASKS = ("support", "correctness", "answer_relevance")


@click.group()
def judge() -> None:
    """Test judges, label a sample of a run by hand, and correct its scores by the labels."""


@judge.command()
@click.argument("model", type=click.Choice(MODELS))
@click.option("--from", "source", help="A file, or the address of a mirror, instead of the official address.")
@click.option("--to", "folder", type=click.Path(path_type=Path), help="The folder to write; by default `models` in the cache.")
def fetch(model: str, source: str | None, folder: Path | None) -> None:
    """Download the file of a local model, resume a download that was interrupted, and verify its checksum.

    qwen2.5-1.5b (1.1 GB) is the smallest model that was found usable as a judge. qwen2.5-0.5b (0.5 GB) and smollm2-135m (0.1 GB) are to try
    the command out.
    """
    from workbench.core.environment import cache_folder
    from workbench.core.text.progress import ProgressBar
    from workbench.llm.models.downloads import PUBLISHED, download

    file = PUBLISHED[model]
    with ProgressBar(total=file.size, desc=file.name, unit="B", unit_scale=True) as bar:
        path = download(file, source or file.address, folder or cache_folder() / "models", bar.update)
    say(f"{path}: {file.size:,} bytes, sha256 {file.sha256[:12]}…, {file.licence}")
    say(f"judge with it: judging: {{support: {{kind: local, path: {path}}}}}")


@judge.command("test")
@click.argument("experiment", type=click.Path(path_type=Path), required=False)
@click.option("--kind", help="Test a judge of this kind with its defaults, such as overlap, instead of those of an experiment.")
@set_option
@allow_code_option
@outputs_option("The folder whose store keeps the results.")
def judge_test(experiment: Path | None, kind: str | None, overrides: tuple[str, ...], allow_code: bool, outputs: Path) -> None:
    """Test the judges of an experiment on cases with known answers: 96 claims and 64 passages. Exit 1 if one may not be called a judge.

    A test is made once for each judge, and kept in the store. A judge that calls a model is asked twice.
    """
    from workbench.components.answering.base import AnswerResources
    from workbench.components.judging.self_test import trust
    from workbench.llm.session import CallResources
    from workbench.runner.pipeline.context import Workspace

    judges = _judges(experiment, kind, overrides, allow_code)
    workspace = Workspace.at(outputs)
    resources = AnswerResources(workspace.vectors, CallResources(workspace.calls))
    tests = [trust(judge, task, resources, workspace.store) for task, judge in judges.items()]
    for line in _table(tests):
        say(line)
    sys.exit(1 if any(test.role == "score" for test in tests) else 0)


def _judges(experiment: Path | None, kind: str | None, overrides: tuple[str, ...], allow_code: bool) -> "Mapping[Task, Judge]":
    from workbench.components.registry import JUDGES
    from workbench.core.imported_functions import require_permission
    from workbench.runner.experiment.read import read_experiment

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
    from workbench.core.text.formatting import aligned

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
    lines = aligned([header, *rows])
    reasons = [f"{test.task}: {test.reason}" for test in tests if test.reason]
    weak = [f"{test.task}: weak in {', '.join(test.weak_kinds)}" for test in tests if test.weak_kinds]
    return [*lines, "", *reasons, *weak] if reasons or weak else lines


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


@judge.command()
@run_argument
@click.option("--labels", type=click.Path(path_type=Path), help="The file to write; by default judge_labels.jsonl in the folder.")
@click.option("--task", type=click.Choice(TASKS), default="support", show_default=True, help="What is labelled: claims, or answers.")
@click.option("--number", type=click.IntRange(min=1), default=60, show_default=True, help="The random questions of each configuration.")
@click.option("--each-class", type=click.IntRange(min=0), default=25, show_default=True, help="At least so many items of each verdict.")
@click.option("--condition", default="retrieved", show_default=True, help="The condition of the contexts.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Draws another sample.")
def sample(folder: Path, labels: Path | None, task: str, number: int, each_class: int, condition: str, seed: int) -> None:
    """Draw claims or answers of a run for labelling by a person.

    The file does not show what the judge says. Labels that are filled in are never overwritten.
    """
    from workbench.core.text.formatting import plural
    from workbench.measures.statistics.judge_corrections import FEWEST_LABELS
    from workbench.report.analysis.labels import lines_of_run, lines_to_label
    from workbench.report.results.judge_labels import LABELS_FILE, labels_of, merged, read_labels, write_labels
    from workbench.report.results.run_tables import RunTables

    run = RunTables.read(folder)
    drawn = lines_to_label(run, task, condition, number, seed, each_class)
    path = labels or folder / LABELS_FILE
    existing = read_labels(path) if path.exists() else []
    existing = [*lines_of_run(run, task, condition, existing), *(line for line in existing if line.task != task)]
    whole = merged(existing, drawn)
    write_labels(path, whole)
    filled = sum(bool(line.label) for line in whole)
    by_name = {name: sum(line.configuration == name for line in drawn) for name in dict.fromkeys(line.configuration for line in drawn)}
    say(f"{path}: {plural(len(whole), 'item')}, {filled} labelled")
    for name, count in sorted(by_name.items()):
        say(f"{name}: {plural(count, 'item')}")
    if few := [name for name, count in by_name.items() if count < FEWEST_LABELS]:
        say(
            f"a correction needs {FEWEST_LABELS} items of a configuration, one of each question; {plural(len(few), 'configuration')} cannot have so many"
        )
    say(f"write {', '.join(labels_of(task))} into `label` and your name into `annotator`, then run workbench judge calibrate {folder}")


@judge.command()
@run_argument
@click.option(
    "--labels",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A file of labels; by default judge_labels.jsonl in the folder. Give the option twice for two people.",
)
@click.option("--condition", default="retrieved", show_default=True, help="The condition of the contexts.")
def calibrate(folder: Path, labels: tuple[Path, ...], condition: str) -> None:
    """Measure the judges of a run by labels and correct the means of its configurations.

    Writes calibration.json, calibration.parquet, labels.parquet and corrected.parquet into the folder, and report.html again with them. A correction
    needs 50 labels of each configuration. Labels of other runs measure the judge but correct nothing.
    """
    from workbench.core.text.formatting import listed, plural
    from workbench.report.analysis.judges import labelled_tasks
    from workbench.report.render.html import write_report
    from workbench.report.results.judge_labels import LABELS_FILE, read_labels, write_calibration
    from workbench.report.results.run_tables import RunTables

    run = RunTables.read(folder)
    lines = [line for path in labels or (folder / LABELS_FILE,) for line in read_labels(path)]
    measured = labelled_tasks(run, lines, condition)
    written = write_calibration(folder, measured.labels, measured.calibration, measured.corrected)
    if (folder / "report.html").is_file():
        written.append(write_report(RunTables.read(folder), folder / "report.html").name)
    for line in measured.report():
        say(line)
    if empty := sum(not line.label for line in lines):
        say(f"{plural(empty, 'line')} of {len(lines)} without a label: if these are the hard ones, the corrected values are too good")
    say(f"written in {folder}: {listed(written)}; earlier files of these names were replaced")
