"""The commands of `judge`."""

import click

from workbench.cli.judge.fetch import fetch
from workbench.cli.judge.labels import calibrate, sample
from workbench.cli.judge.self_test import judge_test


@click.group()
def judge() -> None:
    """Test judges, label a sample of a run by hand, and correct its scores by the labels."""


judge.add_command(judge_test)
for _command in (sample, calibrate, fetch):
    judge.add_command(_command)
