"""The command `doctor`."""

import sys
from pathlib import Path

import click


@click.command()
@click.option("--outputs", type=click.Path(path_type=Path), default="outputs", show_default=True, help="The folder for results.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done. Exit 1 if anything is damaged.")
def doctor(outputs: Path, dry_run: bool) -> None:
    """Verify the store, the vector cache and the indexes under OUTPUTS, and repair them.

    Damaged results are deleted, and the next sweep computes them again. What a running sweep uses is left alone.
    """
    from workbench.core.progress import ProgressBar
    from workbench.execution.doctor import examine, exit_code, summary
    from workbench.pipeline.context import Workspace
    from workbench.storage.remote_store import shown

    workspace, findings = Workspace.at(outputs), []
    if workspace.url:
        click.echo(f"of the store {shown(workspace.url)}, only this machine's copy is checked; every download is checked too", err=True)
    for finding in examine(workspace, repair=not dry_run):
        findings.append(finding)
        would = "would be " if dry_run and finding.state != "stuck" else ""
        ProgressBar.write(f"{finding.what}: {would}{finding.action}")
    click.echo(f"{outputs}: {summary(findings, not dry_run)}")
    sys.exit(exit_code(findings, not dry_run))
