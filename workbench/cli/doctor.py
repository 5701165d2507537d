"""The command `doctor`."""

import sys
from pathlib import Path

import click

from workbench.cli.options import outputs_option
from workbench.core.text.terminal import say, say_aside


@click.command()
@outputs_option("The folder for results.")
@click.option("--dry-run", is_flag=True, help="Report the repairs without making them. Exit 1 if anything is damaged.")
def doctor(outputs: Path, dry_run: bool) -> None:
    """Verify the store, the vector cache and the indexes under OUTPUTS, and repair them.

    Damaged results are deleted, and the next sweep computes them again. Results that a running sweep uses are skipped.
    """
    from workbench.core.files import store_errors
    from workbench.core.text.progress import say_above
    from workbench.runner.execution.doctor import examine, exit_code, summary
    from workbench.runner.pipeline.context import Workspace

    workspace, findings = Workspace.at(outputs), []
    if workspace.url:
        say_aside(f"of the store {workspace.url}, only this machine's copy is checked; every download is checked too")
    with store_errors(outputs):
        for finding in examine(workspace, repair=not dry_run):
            findings.append(finding)
            would = "would be " if dry_run and finding.state != "stuck" else ""
            say_above(f"{finding.what}: {would}{finding.action}")
    say(f"{outputs}: {summary(findings, not dry_run)}")
    sys.exit(exit_code(findings, not dry_run))
