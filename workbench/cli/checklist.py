"""The command `checklist`."""

import sys
from pathlib import Path

import click

from workbench.core.terminal import say


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="OUTPUTS/NAME")
@click.option("--configuration", metavar="NAME", help="The configuration; by default the experiment's baseline, or its only one.")
@click.option("--repository", type=click.Path(path_type=Path), default=".", help="The folder whose CI files are read.  [default: .]")
@click.option("--log", type=click.Path(path_type=Path), help="JSON lines that your application logs, one for each query.")
@click.option("--alerts", type=click.Path(path_type=Path), help="JSON lines of alerts that were sent, also as a test.")
def checklist(folder: Path, configuration: str | None, repository: Path, log: Path | None, alerts: Path | None) -> None:
    """Audit a run by the points that a RAG system is expected to meet before production.

    Each point is met, not met, or cannot be seen, with the numbers behind it, or with the command or the lines of YAML that would earn it. Exit 0 if
    all are met, 1 if one is not, 4 if some cannot be seen and the others are met.
    """
    from workbench.gate.checklist.audit import OutsideEvidence, audited
    from workbench.gate.checklist.lines import checklist_lines
    from workbench.results.run_tables import RunTables

    found = audited(RunTables.read(folder), folder, configuration, OutsideEvidence(repository, log, alerts))
    for line in checklist_lines(found):
        say(line)
    sys.exit(found.exit_code)
