"""Ask a model a few questions of a sweep, to estimate what all of them cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy

from workbench.answering.base import AnswerRequest, AnswerResources
from workbench.core.fingerprint import fingerprint
from workbench.core.formatting import count, interval, number, plural
from workbench.errors import InputError
from workbench.execution.costs import bounds_of
from workbench.execution.local import Say, check_code, context_of
from workbench.experiment.read import ExperimentSpec
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.graph import Graph
from workbench.pipeline.stages.answering.contexts import passages_of
from workbench.records import Answer

ITEMS = 20


@dataclass(frozen=True)
class PilotEstimate:
    """The estimated total of a quantity over all answers, with its 95 % interval, NaN for one answer of several."""

    total: float
    low: float
    high: float

    @classmethod
    def of(cls, sample: Sequence[float], items: int) -> "PilotEstimate":
        """Extrapolate the mean of a random sample to all items (Student's t with the correction for a finite population)."""
        values = np.array(sample, dtype=np.float64)
        if len(values) == items:
            return cls(*[float(values.sum())] * 3)
        if len(values) < 2:
            return cls(float(values.sum() * items), float("nan"), float("nan"))
        error = float(values.std(ddof=1)) / np.sqrt(len(values)) * np.sqrt(max(0.0, 1 - len(values) / items))
        half = float(scipy.special.stdtrit(len(values) - 1, 0.975)) * error
        return cls(*(float(items * (values.mean() + side * half)) for side in (0, -1, 1)))

    def text(self, digits: int = 0) -> str:
        """Format total and interval."""
        return f"{number(self.total, digits)} {interval(max(0.0, self.low), self.high, digits)}"


@dataclass(frozen=True)
class PilotResult:
    """The line about a configuration's estimate, and whether it has one: without any answer there is none."""

    line: str
    estimated: bool = True


def pilot(experiment: ExperimentSpec, outputs: Path, say: Say) -> list[PilotResult]:
    """Ask a random sample of 20 questions of each configuration whose answers by a model are missing, and estimate what all of them cost.

    The replies are in the cache of calls, so a sweep does not ask these questions again. Raises InputError if no such answer is missing.
    """
    check_code(experiment)
    graph = Graph(context_of(experiment, outputs))
    bounds = bounds_of(graph, experiment.configurations)
    asked = [each for each in experiment.configurations if each.name in bounds and bounds[each.name].calls]
    if not asked:
        raise InputError("no answer of a model is missing, so there is nothing to estimate", "leave out --pilot")
    results = []
    for configuration in asked:
        say(f"pilot: {configuration.name}")
        results.append(_estimated(graph, configuration))
    return results


def _estimated(graph: Graph, configuration: Configuration) -> PilotResult:
    requests, generator = _requests(graph, configuration), configuration.answering
    if generator is None or not requests:
        return PilotResult(f"{configuration.name}: no question has a context")
    random = np.random.default_rng(int(fingerprint([request.query.query_id for request in requests])[:8], 16))
    sample = [requests[place] for place in sorted(random.choice(len(requests), min(ITEMS, len(requests)), replace=False).tolist())]
    resources = AnswerResources(graph.run.workspace.vectors, graph.run.calls)
    answers = [answer for _, answer in generator.answer(sample, resources)]
    answered = [answer for answer in answers if not answer.error]
    return PilotResult(f"{configuration.name}: {_line(answered, answers, len(requests))}", bool(answered))


def _line(answered: Sequence[Answer], answers: Sequence[Answer], items: int) -> str:
    if not answered:
        return f"none of {plural(len(answers), 'call')} succeeded ({answers[0].error})"
    failed = f" ({count(len(answers) - len(answered))} more failed)" if len(answered) < len(answers) else ""
    prompts, outputs = ([float(getattr(each, name) or 0) for each in answered] for name in ("input_tokens", "output_tokens"))
    tokens = f"{PilotEstimate.of(prompts, items).text()} tokens of prompts, {PilotEstimate.of(outputs, items).text()} of answers"
    costs = [each.cost for each in answered if each.cost is not None]
    money = f", {PilotEstimate.of(costs, items).text(2)} USD" if len(costs) == len(answered) else ""
    seconds = f"{number(float(np.median([each.seconds for each in answered])), 1)} s an answer"
    return f"estimated from {plural(len(answered), 'answer')}{failed} for all {count(items)}: {tokens}{money}; {seconds}"


def _requests(graph: Graph, configuration: Configuration) -> list[AnswerRequest]:
    """Return the questions of the variants without stored answers, with their contexts, computing what these need."""
    requests, queries = [], graph.run.dataset.queries
    for variant in graph.run.variants:
        (node,) = graph.nodes(configuration, ["answers"], [variant])
        if graph.is_stored(node):
            continue
        (contexts,) = (graph.obtain(earlier) for earlier in graph.before(node))
        requests += [AnswerRequest(queries[number], passages, variant) for number, passages in passages_of(contexts).items()]
    return requests
