"""The command `gate`."""

import os
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workbench.cli.options import RunFolder, run_argument
from workbench.core.errors import InputError, error_line
from workbench.core.files import store_errors
from workbench.core.operating_system import open_descriptor
from workbench.core.text.terminal import say, say_aside, say_command

if TYPE_CHECKING:
    from workbench.gate.check import GateReport
    from workbench.gate.comparisons import SecondRuns
    from workbench.gate.rules import GateSettings
    from workbench.report.results.run_tables import RunTables

_path = click.Path(path_type=Path)
_STALE = "stale data is not checked by this command, but by pytest --rag-experiment"


@dataclass(frozen=True)
class _Places:
    """Where the outcome is written, besides the terminal."""

    folder: Path
    summary: Path | None
    junit: Path | None
    annotations: bool
    warn_undecided: bool
    report: bool


@click.command()
@run_argument
@click.option("--configuration", help="The configuration to check.  [default: the experiment's baseline, or the only one]")
@click.option("--fail-below", multiple=True, metavar="METRIC=LIMIT", help="A floor, such as recall@5=0.70; can be repeated.")
@click.option("--fail-above", multiple=True, metavar="METRIC=LIMIT", help="A ceiling, such as irrelevant@3=0.05; can be repeated.")
@click.option("--rule", "rules", multiple=True, metavar="RULE", help='A limit with a slice, such as "recall@5[type=multi-hop] >= 0.6".')
@click.option(
    "--floors", type=click.Choice(["specification", "inference"]), help="What limits are about: these questions, or others like them."
)
@click.option("--baseline", type=_path, metavar="FILE", help="Compare with this baseline: a file, or the folder of a run.")
@click.option("--release", type=_path, metavar="FILE", help="Compare with this frozen baseline, too, against slow drift.")
@click.option("--tolerance", metavar="SHARE", help="The drop that is tolerated: 5% of the baseline's mean, or 0.05.  [default: 5%]")
@click.option("--compare", multiple=True, metavar="METRIC", help="A metric to compare with the baselines; can be repeated.")
@click.option(
    "--accept-change", is_flag=True, help="Compare also if the baseline was written to compare other metrics, or was measured otherwise."
)
@click.option("--max-unscored", metavar="SHARE", help="The share of questions that may lack a value.  [default: 2%]")
@click.option("--rules", "rules_file", type=_path, metavar="FILE", help="Read the key gate of this experiment instead of the run's.")
@click.option("--again", type=RunFolder(), metavar="OUTPUT", help="A second run of this commit, which decides an alarm.")
@click.option("--baseline-again", type=RunFolder(), metavar="OUTPUT", help="A second run of the baseline's commit.")
@click.option("--release-again", type=RunFolder(), metavar="OUTPUT", help="A second run of the release's commit.")
@click.option("--update-baseline", type=_path, metavar="FILE", help="Write the run as a baseline to FILE instead of checking it.")
@click.option("--run", "more", type=RunFolder(), multiple=True, metavar="OUTPUT", help="A further run for the baseline; can be repeated.")
@click.option("--warn-undecided", is_flag=True, help="Exit with 0 instead of 4 if the gate is undecided.")
@click.option(
    "--summary",
    type=_path,
    envvar="GITHUB_STEP_SUMMARY",
    metavar="FILE",
    help="Append a summary in Markdown to this file.  [default: $GITHUB_STEP_SUMMARY]",
)
@click.option("--report", is_flag=True, help="Write the outcome into report.html, too, which takes seconds.")
@click.option("--junit", type=_path, metavar="FILE", help="Write the rules as JUnit XML.")
@click.option("--annotations/--no-annotations", default=None, help="Print annotations of GitHub Actions.  [default: in GitHub Actions]")
def gate(folder: Path, rules_file: Path | None, update_baseline: Path | None, more: tuple[Path, ...], **options: Any) -> None:
    """Check a finished sweep against limits and baselines. It reads tables only, and writes the outcome into tables and gate.json.

    Exit codes: 0 pass, 1 fail, 2 wrong input, 4 undecided: too few questions to say, or drafts among them.
    """
    places = _places(folder, options)
    with _errors_shown(places if update_baseline is None else replace(places, summary=None, junit=None, annotations=False)):
        from workbench.report.results.run_tables import RunTables

        run = RunTables.read(folder)
        settings = _settings(run, rules_file, options)
        if update_baseline is not None:
            if len({path.resolve() for path in (folder, *more)}) <= len(more):
                raise InputError("a run is given twice", "sweep again with --outputs AGAIN, and give its folder with --run")
            _update(run, [RunTables.read(path) for path in more], settings, update_baseline)
            return
        if more:
            raise InputError("--run adds a run to a baseline", "add --update-baseline FILE, or give one run only")
        from workbench.gate.check import check_gate

        for option, path in (("--baseline", settings.baseline), ("--release", settings.release)):
            if path is not None and path.resolve() == folder.resolve():
                raise InputError(f"{option} {path} is the run itself", "give the file or the run that it is compared with")
        report = check_gate(run, settings, _second_runs(folder, run, settings, options))
        if settings.stale is not None:
            report = replace(report, notes=[*report.notes, _STALE])
        _write(report, places)
        sys.exit(0 if places.warn_undecided and report.exit_code == 4 else report.exit_code)


def _places(folder: Path, options: Mapping[str, Any]) -> _Places:
    shown = options["annotations"]
    if shown is None:
        shown = os.environ.get("GITHUB_ACTIONS") == "true"
    return _Places(folder, options["summary"], options["junit"], shown, options["warn_undecided"], options["report"])


@contextmanager
def _errors_shown(places: _Places) -> Iterator[None]:
    """Write a gate that could not be checked to the places of its outcome, so that no earlier outcome is taken for this one."""
    try:
        yield
    except Exception as error:
        from workbench.gate.render import write_unchecked

        try:
            write_unchecked(error, places.folder, places.summary, places.junit)
        except Exception as second:  # a report reads more of the run than its rules do
            say_aside(f"workbench: the error is not in every place of the outcome: {error_line(second)}")
        if places.annotations:
            from workbench.gate.render import annotation

            say_command(annotation("error", "the gate could not be checked", error_line(error)))
        raise


def _settings(run: "RunTables", rules_file: Path | None, options: Mapping[str, Any]) -> "GateSettings":
    """Add the options to the key `gate` of the run, or of a file."""
    from workbench.runner.experiment.gate_keys import gate_of

    where = str(rules_file or run.name)
    experiment = run.manifest["experiment"]
    if rules_file is not None:
        from workbench.runner.experiment.yaml_file import read_yaml

        experiment = read_yaml(rules_file, ("gate",))
    known = {name: value for name, value in experiment.items() if name == "gate"}
    # Faults of the file are its own, whatever the options are.
    gate_of(known, where)
    settings = dict(known.get("gate", {}))
    limits = [_limit(text, ">=", "--fail-below") for text in options["fail_below"]]
    limits += [_limit(text, "<=", "--fail-above") for text in options["fail_above"]]
    settings["rules"] = [*settings.get("rules", []), *limits, *options["rules"]]
    if options["compare"]:
        settings["compare"] = list(options["compare"])
    chosen = {name: options[name] for name in ("configuration", "floors", "tolerance", "max_unscored", "baseline", "release")}
    settings |= {name: str(value) for name, value in chosen.items() if value is not None}
    return replace(gate_of({"gate": settings}, "the rules"), accept_change=options["accept_change"])


def _limit(text: str, bound: str, option: str) -> str:
    subject, equals, limit = text.rpartition("=")
    if not equals:
        raise InputError(f"{option} {text!r} is not METRIC=LIMIT", f"write for example {option} recall@5=0.7")
    return f"{subject} {bound} {limit}"


def _second_runs(folder: Path, run: "RunTables", settings: "GateSettings", options: Mapping[str, Any]) -> "SecondRuns | None":
    """Read the second runs that decide alarms. Raises InputError if a side is missing, or is the first run again."""
    from workbench.gate.baseline import read_baseline
    from workbench.gate.check import gated_configuration
    from workbench.gate.comparisons import SecondRuns
    from workbench.report.results.run_tables import RunTables

    again, sides = options["again"], (options["baseline_again"], options["release_again"])
    if again is None and sides == (None, None):
        return None
    if again is None or sides == (None, None):
        raise InputError("an alarm is decided by a second run of both sides", "give --again with --baseline-again or --release-again")
    for option, second, first in zip(
        ("--again", "--baseline-again", "--release-again"), (again, *sides), (folder, settings.baseline, settings.release), strict=True
    ):
        if second is not None and first is not None and second.resolve() == first.resolve():
            raise InputError(f"{option} {second} is the first run", "sweep again with --outputs AGAIN, which has a store of its own")
    name = gated_configuration(run, settings)
    own = run.configurations_settings[name]
    return SecondRuns(RunTables.read(again), *(read_baseline(path, name, own) if path else None for path in sides))


def _update(run: "RunTables", more: "list[RunTables]", settings: "GateSettings", path: Path) -> None:
    from workbench.core.text.formatting import plural
    from workbench.gate.baseline import baseline_of, write_baseline
    from workbench.gate.check import compared_subjects, gated_configuration
    from workbench.report.sentences import unaccepted_drafts

    if path.exists() and not path.is_file():
        raise InputError(f"--update-baseline {path} is not a file", "name a file, such as baselines/NAME.json")
    name = gated_configuration(run, settings)
    compared = [str(subject) for subject in compared_subjects(run, name, settings)]
    baseline = replace(baseline_of([run, *more], name, path), compared=compared)
    with store_errors(path.parent):
        write_baseline(baseline, path)
    kinds = f"{plural(len(baseline.questions), 'question')}, {plural(len(baseline.means), 'metric')}, {plural(baseline.runs, 'run')}"
    say(f"{path}: {baseline.configuration} of {run.name} ({kinds}); no rule was checked; commit it, so that its changes are reviewed")
    if drafts := unaccepted_drafts(run):
        say_aside(f"workbench: {drafts}; review them, or the baseline says little about real questions")


def _write(report: "GateReport", places: _Places) -> None:
    """Write the outcome to files, then print it, so that no later error contradicts it.

    A file that cannot be written, and a reader that stops, change no exit code.
    """
    from workbench.gate.render import annotation_lines, append_summary, gate_junit, gate_lines, gate_markdown, write_gate, write_junit

    lines, annotations = list(gate_lines(report)), list(annotation_lines(report, places.warn_undecided))
    writers: list[tuple[Path | None, Callable[[Path], None]]] = [
        (places.summary, lambda path: append_summary(gate_markdown(report), path)),
        (places.junit, lambda path: write_junit(gate_junit(report, places.warn_undecided), path)),
        (places.folder, lambda path: write_gate(report, path, places.report)),
    ]
    for target, write in writers:
        if target is None:
            continue
        try:
            write(target)
        except Exception as error:  # a report reads more of the run than its rules do
            say_aside(f"workbench: the outcome is not in {target}: {error_line(error)}")
    token = secrets.token_hex(16)
    # The lines have ids and texts of the data.
    with _read_to_any_end():
        for line in [f"::stop-commands::{token}"] if places.annotations else ():
            say_command(line)
        for line in lines:
            say(line)
        for line in (f"::{token}::", *annotations) if places.annotations else ():
            say_command(line)
        if sys.stdout is not None:
            sys.stdout.flush()


@contextmanager
def _read_to_any_end() -> Iterator[None]:
    """Print to a reader that may stop early, such as `head`. The exit code remains that of the outcome."""
    try:
        yield
    except BrokenPipeError:
        # Python flushes the rest when it ends.
        os.dup2(open_descriptor(Path(os.devnull), os.O_WRONLY), sys.stdout.fileno())
