"""The commands `judge sample` and `judge calibrate`."""

from pathlib import Path

import click

from workbench.core.terminal import say

# Copied from the analysis, which takes longer to import than the help takes to print.
TASKS = ("support", "correctness", "answer_relevance")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="OUTPUTS/NAME")
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
    from workbench.analysis.judging.labels import lines_to_label
    from workbench.core.formatting import plural
    from workbench.results.judge_labels import LABELS_FILE, labels_of, merged, read_labels, write_labels
    from workbench.results.run_tables import RunTables
    from workbench.statistics.judging.items import FEWEST_LABELS

    drawn = lines_to_label(RunTables.read(folder), task, condition, number, seed, each_class)
    place = labels or folder / LABELS_FILE
    existing = read_labels(place) if place.exists() else []
    whole = merged(existing, drawn)
    write_labels(place, whole)
    filled = sum(bool(line.label) for line in whole)
    by_name = {name: sum(line.configuration == name for line in drawn) for name in dict.fromkeys(line.configuration for line in drawn)}
    say(f"{place}: {plural(len(whole), 'item')}, {filled} labelled")
    for name, count in sorted(by_name.items()):
        say(f"{name}: {plural(count, 'item')}")
    if few := [name for name, count in by_name.items() if count < FEWEST_LABELS]:
        say(
            f"a correction needs {FEWEST_LABELS} items of a configuration, one of each question; {plural(len(few), 'configuration')} cannot have so many"
        )
    say(f"write {', '.join(labels_of(task))} into `label` and your name into `annotator`, then run workbench judge calibrate {folder}")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="OUTPUTS/NAME")
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
    from workbench.analysis.judging.calibration import labelled_tasks
    from workbench.core.formatting import listed, plural
    from workbench.report.render.html import write_report
    from workbench.results.calibration_files import write_calibration
    from workbench.results.judge_labels import LABELS_FILE, read_labels
    from workbench.results.run_tables import RunTables

    lines = [line for place in labels or (folder / LABELS_FILE,) for line in read_labels(place)]
    found = labelled_tasks(RunTables.read(folder), lines, condition)
    written = write_calibration(folder, found.labels, found.calibration, found.corrected)
    if (folder / "report.html").is_file():
        written.append(write_report(RunTables.read(folder), folder / "report.html").name)
    for line in found.report():
        say(line)
    if empty := sum(not line.label for line in lines):
        say(f"{plural(empty, 'line')} of {len(lines)} without a label: if these are the hard ones, the corrected values are too good")
    say(f"written in {folder}: {listed(written)}; earlier files of these names were replaced")
