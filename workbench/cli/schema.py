"""The command `schema`."""

import click

from workbench.core.terminal import say


@click.command()
def schema() -> None:
    """Print the JSON Schema of experiment files, for completion and checks in editors.

    It has the kinds of installed packages too. `workbench schema > experiment.schema.json` writes it to a file.
    """
    from workbench.experiment.json_schema.document import experiment_schema, schema_text

    for line in schema_text(experiment_schema()).splitlines():
        say(line)
