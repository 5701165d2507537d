"""The command `monitor`."""

import sys
from pathlib import Path

import click

from workbench.cli.options import outputs_option
from workbench.core.errors import InputError
from workbench.core.text.terminal import say


@click.command()
@click.argument("log", type=click.Path(path_type=Path))
@click.option("--settings", type=click.Path(path_type=Path), help="The file with limits, judges and the budget; without it the defaults.")
@click.option("--name", default="monitoring", show_default=True, help="The folder of the results in the outputs.")
@click.option("--acknowledge", metavar="ALERT", help="Mark an open alert as seen, by its id, and make no pass.")
@outputs_option("The folder in which the folder of the results is.")
def monitor(log: Path, settings: Path | None, name: str, acknowledge: str | None, outputs: Path) -> None:
    """Read the LOG of a service, or its traces: judge a sample, and raise alerts.

    Run it again and again, for example every ten minutes: it goes on where it ended, and no alert is raised twice. Exit 1 if an alert is open, and
    0 if none is.
    """
    from workbench.monitor.passes import acknowledge_alert
    from workbench.monitor.passes import monitor as make_pass
    from workbench.monitor.settings import MonitorSettings

    if not name or Path(name).name != name or name.startswith("."):
        raise InputError(f"--name is {name!r}, which is no name of a folder", "give a name without / that does not begin with a dot")
    if acknowledge is not None:
        acknowledge_alert(outputs / name, acknowledge)
        say(f"{acknowledge} is acknowledged")
        return
    done = make_pass(log, outputs / name, MonitorSettings.read(settings) if settings else None)
    for line in done.lines():
        say(line)
    say(f"wrote {done.folder}")
    sys.exit(1 if done.open else 0)
