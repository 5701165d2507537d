"""The commands of `judge`."""

import click


@click.group()
def judge() -> None:
    """Test judges, label a sample of a run by hand, and correct its scores by the labels."""
