"""The command `export`."""

from pathlib import Path

import click


@click.command()
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--configuration", help="The configuration; needed if OUTPUT has several.")
@click.option("--to", "folder", type=click.Path(path_type=Path), help="The folder to make.  [default: OUTPUT/export/CONFIGURATION]")
def export(output: Path, configuration: str | None, folder: Path | None) -> None:
    """Write a configuration of OUTPUT (outputs/<name>) as a folder that answers questions without Workbench."""
    from workbench.export.export import export_configuration

    made = export_configuration(output, configuration, folder)
    click.echo(f"{made}: pip install -r requirements.txt, then python retrieve.py 'a question'")
