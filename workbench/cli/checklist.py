"""The command `checklist`."""

import sys
from pathlib import Path

import click

from workbench.cli.options import run_argument
from workbench.core.text.terminal import say


@click.command()
@run_argument
@click.option("--configuration", metavar="NAME", help="The configuration; by default the experiment's baseline, or its only one.")
@click.option("--repository", type=click.Path(path_type=Path), default=".", help="The folder whose CI files are read.  [default: .]")
@click.option("--log", type=click.Path(path_type=Path), help="The log of your service, which wb.QueryLog wrote.")
@click.option("--alerts", type=click.Path(path_type=Path), help="A folder of results of workbench monitor.")
def checklist(folder: Path, configuration: str | None, repository: Path, log: Path | None, alerts: Path | None) -> None:
    """Audit a run by the points that a RAG system is expected to meet before production.

    Each point is met, not met, or cannot be seen, with the numbers behind it, or with the command or the lines of YAML that would earn it. Exit 0 if
    all are met, 1 if one is not, 4 if some cannot be seen and the others are met.
    """
    from workbench.gate.checklist import audited
    from workbench.gate.checklist_points import checklist_lines
    from workbench.monitor.passes import alert_evidence, log_evidence
    from workbench.report.results.run_tables import RunTables

    checked = audited(
        RunTables.read(folder),
        folder,
        configuration,
        repository=repository,
        log=log_evidence(log) if log else None,
        alerts=alert_evidence(alerts) if alerts else None,
    )
    for line in checklist_lines(checked):
        say(line)
    sys.exit(checked.exit_code)
