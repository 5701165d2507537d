"""Run a sweep as a process that the server of the tools starts, unless it would exceed its limits.

It reads a request in one line of JSON, writes its progress to stderr, and its end as the last line of stdout. It ends when the server closes the pipe.
"""

import json
import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from workbench.core.errors import InputError, WorkbenchError, error_line
from workbench.core.text.terminal import say_command


class SweepLimits(BaseModel):
    """The most that a sweep may cost, in the units of a plan. None for no limit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    minutes: float = Field(default=30, gt=0)
    tokens: int | None = Field(default=None, ge=0)
    calls: int = Field(default=0, ge=0)
    usd: float | None = Field(default=None, ge=0)

    def lowered(self, given: Mapping[str, float | None]) -> "SweepLimits":
        """Return the limits that an agent gave in place of these. Raises InputError for one above, which only a person can raise."""
        for name, value in given.items():
            most = getattr(self, name)
            if value is not None and most is not None and value > most:
                raise InputError(
                    f"{name} {value:g} is above the limit of this server, {most:g}", f"a person can raise it: workbench mcp --{name}"
                )
        return SweepLimits.model_validate(self.model_dump() | {name: value for name, value in given.items() if value is not None})

    def exceeded(self, planned: Mapping[str, Any]) -> list[str]:
        """Return each cost of a plan that is above its limit."""
        costs = {"minutes": planned["minutes_high"], **{name: planned[name] for name in ("tokens", "calls", "usd")}}
        limits = {name: most for name, most in self.model_dump().items() if most is not None}
        unknown = ["usd unknown without prices"] if self.usd is not None and costs["usd"] is None else []
        return [
            f"{name} {costs[name]:g} above {most:g}" for name, most in limits.items() if costs[name] is not None and costs[name] > most
        ] + unknown


def run_limited(request: Mapping[str, Any]) -> dict[str, Any]:
    """Sweep the experiment of a request, and return `notes` and the `mark` of the run, or `refused` with the lines of the plan."""
    from workbench.agents.tools import plan_values
    from workbench.core.text.progress import notice_line, reporting, sweep_progress
    from workbench.report.results.run_tables import run_mark
    from workbench.runner.execution.local import FILES, run_experiment
    from workbench.runner.execution.outputs import publish
    from workbench.runner.execution.plan import plan_experiment, plan_lines
    from workbench.runner.experiment.read import experiment_of

    outputs, limits = Path(request["outputs"]), SweepLimits.model_validate(request["limits"])
    spec = replace(experiment_of(request["settings"], request["where"]), arguments=tuple(request["arguments"]))
    plan = plan_experiment(spec, outputs)
    if exceeded := limits.exceeded(plan_values(plan)):
        return {"refused": f"the sweep could cost more than its limits: {', '.join(exceeded)}", "plan": plan_lines(plan)}
    # A plan only estimates the calls of judges: the budget allows no further one.
    own = spec.limits
    calls = limits.calls if own.calls is None else min(own.calls, limits.calls)
    usd = min((each for each in (own.usd, limits.usd) if each is not None), default=None)
    spec = replace(spec, limits=replace(own, calls=calls, usd=usd))
    with sweep_progress(spec.name):
        outcome = run_experiment(spec, outputs, notice_line)
        with reporting(FILES):
            publish(outcome, notice_line)
    return {"notes": [*outcome.notes, *outcome.errors], "mark": run_mark(outcome.folder)}


def main() -> None:
    """Serve one request."""
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    try:
        end = run_limited(request)
    except WorkbenchError as error:
        end = {"failed": error_line(error)}
    except Exception as error:  # the agent reads one line, and results that are finished are kept
        end = {"failed": f"unexpected {error_line(error)}; finished results are kept"}
    say_command(json.dumps(end))


def _end_with_the_server() -> None:
    """Wait for the end of the pipe, which also a server that is killed closes."""
    sys.stdin.read()
    os._exit(130)


if __name__ == "__main__":
    main()
