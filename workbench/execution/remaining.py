"""Tell the progress of a sweep which results remain to compute."""

import contextlib
from collections import Counter
from collections.abc import Sequence

from workbench.core.progress import current_sweep
from workbench.core.sweep_progress import SweepProgress
from workbench.execution.latency import LATENCIES, is_measured
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.graph import Graph
from workbench.pipeline.stage import Stage

FILES = "notebooks and report"
# Seconds of a configuration, between the fewest and the most that a plan expects (execution/plan.py).
_LATENCY_SECONDS, _FILES_SECONDS = 1.6, 2.5


class RemainingResults:
    """The results that each configuration is the first to compute, reported to the progress of the sweep, if any runs in this process."""

    def __init__(self, graph: Graph, configurations: Sequence[Configuration]) -> None:
        self._progress: SweepProgress | None = current_sweep()
        self._by_configuration: dict[str, list[str]] = {}
        if self._progress is None:
            return
        self._by_configuration = _missing(graph, configurations)
        measured = is_measured_safely(graph, configurations)
        self._ends = {FILES: 1} if measured else {LATENCIES: 1, FILES: 1}
        number = len(configurations)
        self._progress.usual = {LATENCIES: _LATENCY_SECONDS * number, FILES: _FILES_SECONDS * number}
        self._progress.configurations = number
        self._progress.spent = lambda: graph.run.calls.budget.spent.usd
        self._report(self._progress)

    def finish(self, configuration: Configuration) -> None:
        """Leave out what a configuration has computed, or has not because it failed."""
        if self._progress:
            self._by_configuration.pop(configuration.name, None)
            self._progress.finished += 1
            self._report(self._progress)

    def _report(self, progress: SweepProgress) -> None:
        progress.expect(Counter(stage for stages in self._by_configuration.values() for stage in stages) + Counter(self._ends))


def is_measured_safely(graph: Graph, configurations: Sequence[Configuration]) -> bool:
    """Return whether the latencies are in the outputs; False if a configuration has a fault, which the run reports."""
    with contextlib.suppress(Exception):
        return is_measured(graph, configurations)
    return False


def _missing(graph: Graph, configurations: Sequence[Configuration]) -> dict[str, list[str]]:
    """Return the stages of each configuration's missing results that no earlier configuration computes."""
    known, found = set[str](), dict[str, list[str]]()
    for configuration in configurations:
        stages = found.setdefault(configuration.name, [])
        # The run meets and reports the fault of a configuration.
        with contextlib.suppress(Exception):
            for node in graph.nodes(configuration):
                # Stages with an own way to obtain results compute nothing that lasts.
                plain = type(graph.stages[node.stage]).obtain is Stage.obtain
                if plain and (task := graph.task(node)) not in known and not graph.is_stored(node):
                    known.add(task)
                    stages.append(node.stage)
    return found
