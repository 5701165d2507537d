"""The command `mcp`."""

import os
from pathlib import Path

import click

from workbench.core.environment import require_installed


@click.command()
@click.argument("folder", default=".", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--outputs", default="outputs", show_default=True, type=click.Path(path_type=Path), help="The outputs, inside FOLDER.")
@click.option("--allow-runs", is_flag=True, help="Let the agent sweep, up to the limits. Without it, the tools only read.")
@click.option("--minutes", type=click.FloatRange(0, 10_000, min_open=True), default=30, show_default=True, help="The longest sweep.")
@click.option("--calls", type=click.IntRange(min=0), default=0, show_default=True, help="The most calls of models in a sweep.")
@click.option("--usd", type=click.FloatRange(min=0), help="The most that these calls may cost; needs prices in the experiment.")
def mcp(folder: Path, outputs: Path, allow_runs: bool, minutes: float, calls: int, usd: float | None) -> None:
    """Serve tools for a coding agent over MCP on stdin and stdout: check a dataset, plan, sweep, read a verdict, explain questions, gate.

    An agent starts this command itself. It reads nothing outside FOLDER, runs no code or program that an experiment names, and asks servers on this
    machine only.
    """
    require_installed("workbench mcp", "mcp")
    from workbench.agents.folder import WorkingFolder
    from workbench.agents.limited_sweep import SweepLimits
    from workbench.agents.server import AgentServer

    place = WorkingFolder.of(folder, outputs)
    os.chdir(folder)
    # Tables are as wide as in a wide terminal.
    os.environ.setdefault("COLUMNS", "160")
    if not allow_runs:
        # A model that a plan names is not fetched.
        os.environ["HF_HUB_OFFLINE"] = "1"
    limits = SweepLimits(minutes=minutes, calls=calls, usd=usd) if allow_runs else None
    AgentServer(place, limits).run()
