"""The command `schema`."""

from pathlib import Path

import click

from workbench.core.terminal import say


@click.command()
@click.option("--to", "file", type=click.Path(path_type=Path), help="Write it to this file, such as experiments/experiment.schema.json.")
def schema(file: Path | None) -> None:
    """Print the JSON Schema of experiment files, for completion and checks in editors.

    It has the kinds of installed packages too. The experiments of `workbench init` name the file experiment.schema.json beside them.
    """
    from workbench.core.files import write_text
    from workbench.experiment.json_schema.document import schema_text

    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, schema_text())
        say(f"wrote {file}")
        return
    for line in schema_text().splitlines():
        say(line)
