"""Bound the calls, tokens and money that answers and judging can cost, or estimate them from a few answers of a model."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import scipy

from workbench.components.answering.base import AnswerRequest, AnswerResources
from workbench.components.judging.base import JudgeRequest, SplitRequest, Task
from workbench.components.judging.self_test import known_answer_request, known_answers
from workbench.components.judging.settings import AsksModel, Judging, prompted
from workbench.core.errors import InputError
from workbench.core.fingerprint import fingerprint
from workbench.core.records import Answer, Passage
from workbench.core.text.formatting import count, interval, number, plural
from workbench.llm.base import ChatCall
from workbench.llm.tokens import most_prompt_tokens
from workbench.runner.execution.local import Say, check_code, context_of
from workbench.runner.experiment.read import ExperimentSpec
from workbench.runner.pipeline.answered_cases import SUPPORT, given_answers, passages_of, stored_claims
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.graph import Graph, NodePlan
from workbench.runner.pipeline.stage import Node
from workbench.runner.pipeline.stages.judging import judgement_requests, support_requests

_JUDGING = ("judge_tests", "claims", "verdicts", "judgements")
# The claims of an answer that is not split yet, and the bytes of a token of a text that is not known yet.
CLAIMS_ASSUMED = 4
_BYTES = 4
# Tokens of an answer that no model writes, such as a recorded one, and of a chunk without a size.
_ANSWER, _CHUNK = 300, 256


@dataclass(frozen=True)
class CallBound:
    """The most calls of models, the most tokens of their prompts and answers, and their cost, None if a model has no prices.

    `usd` is the cost if each call succeeds at once, `usd_retried` if each succeeds at its last try and every try before is billed.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0
    usd_retried: float = 0.0

    def __add__(self, other: "CallBound") -> "CallBound":
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        tokens = self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens
        return CallBound(self.calls + other.calls, *tokens, usd, self.usd_retried + other.usd_retried)

    def __str__(self) -> str:
        money = "cost unknown without prices" if self.usd is None else f"{number(self.usd, 2)} USD"
        if self.usd is not None and self.usd_retried > self.usd:
            money += f" ({number(self.usd_retried, 2)} if every call needs all of its tries)"
        return (
            f"{plural(self.calls, 'call')}, {count(self.input_tokens)} tokens of prompts, {count(self.output_tokens)} of answers, {money}"
        )


def bounds_of(graph: Graph, plan: NodePlan, configurations: Sequence[Configuration]) -> Mapping[str, CallBound]:
    """Return the bound of each configuration that calls a model, without answers that are stored or that an earlier one shares.

    Replies in the cache of calls are counted although they cost nothing. Raises what computing a key raises.
    """
    # What a target spends is its own.
    asked, bounds = [each for each in configurations if each.calls_model], dict[str, CallBound]()
    plan.check(asked, ["answers"])
    for configuration, missing in zip(asked, plan.missing(asked, ["answers"]).values(), strict=True):
        generator, context = configuration.answering, configuration.context
        if generator is None or context is None:
            continue
        questions = [query.text for query in graph.run.dataset.queries] if missing else []
        calls, prompts = len(missing) * len(questions), sum(generator.most_prompt_tokens(text, context.budget) for text in questions)
        tokens = len(missing) * prompts, calls * generator.most_output_tokens
        usd = cost_of(generator.prices, *tokens)
        bounds[configuration.name] = CallBound(calls, *tokens, usd, (usd or 0) * generator.most_tries)
    return bounds


def cost_of(prices: tuple[float, float] | None, input_tokens: float, output_tokens: float) -> float | None:
    """Return the cost of tokens by the prices of a million tokens of prompts and of answers, None without prices."""
    return None if prices is None else (input_tokens * prices[0] + output_tokens * prices[1]) / 1e6


def judging_bounds(graph: Graph, plan: NodePlan, configurations: Sequence[Configuration]) -> Mapping[str, CallBound]:
    """Return the most that judging each configuration costs, without judgements that are stored or that an earlier configuration shares.

    Contexts, answers and claims that are not stored are taken to be as long as they can be, with `CLAIMS_ASSUMED` claims in an answer, so
    their number alone can exceed the bound. Replies in the cache of calls are counted although they cost nothing. Raises what computing a
    key raises.
    """
    judging = graph.run.judging
    if judging is None or not any(True for component in judging.components.values() for _ in prompted(component)):
        return {}
    plan.check(configurations, _JUDGING)
    missing = plan.missing(configurations, _JUDGING)
    bounds = {
        name: sum((bound for planned in nodes for bound in _bounds(_Planned(graph, plan, planned.node), judging)), CallBound())
        for name, nodes in missing.items()
    }
    return {name: bound for name, bound in bounds.items() if bound.calls}


def _bounds(planned: "_Planned", judging: Judging) -> Iterator[CallBound]:
    """Yield the bound of each call of a node."""
    node = planned.node
    if node.stage == "judge_tests":
        task, judge = planned.run.judge_of(node.part)
        # Each known answer is judged twice.
        requests = 2 * [known_answer_request(case, task) for case in known_answers(task)]
        yield from (_bound(asker, asker.call([request])) for asker in prompted(judge) for request in requests)
    elif node.stage == "claims":
        yield from (_bound(asker, asker.call(request)) for asker in prompted(judging.claims) for request in planned.splits)
    elif node.stage == "verdicts" and node.part == SUPPORT:
        yield from (_bound(asker, asker.call([request])) for asker in prompted(judging.support) for request in planned.claimed)
    elif node.stage == "judgements":
        task, judge = planned.run.judge_of(node.part)
        yield from (_bound(asker, asker.call([request])) for asker in prompted(judge) for request in planned.judged(task))


def _bound(asker: AsksModel, call: ChatCall) -> CallBound:
    client, tokens = asker.client(), (most_prompt_tokens(call), call.max_tokens)
    prices = (client.price_input, client.price_output)
    free = (0.0, 0.0) if not client.billed else None
    known = None if prices[0] is None or prices[1] is None else (prices[0], prices[1])
    usd = cost_of(known or free, *tokens)
    return CallBound(1, *tokens, usd, (usd or 0) * client.most_tries)


class _Planned:
    """The requests of a node, from stored contexts, answers and claims, or from texts that are as long as they can be."""

    def __init__(self, graph: Graph, plan: NodePlan, node: Node) -> None:
        self.node, self.run = node, graph.run
        self._stored = {each.stage: graph.obtain(each) for each in graph.before(node) if plan.is_stored(each)}

    @cached_property
    def contexts(self) -> Mapping[int, tuple[Passage, ...]]:
        if "contexts" in self._stored:
            return passages_of(self._stored["contexts"])
        configuration = self.node.configuration
        cut, size = configuration.delivery(self.run.primary), configuration.fields.get("size") or _CHUNK
        number = cut.k or -(-(cut.tokens or 0) // size)
        budget = configuration.context.budget if configuration.context else number * size
        passage = Passage("", 0, 0, _text(max(1, budget // max(1, number))))
        return dict.fromkeys(range(len(self.run.dataset.queries)), (passage,) * number)

    @cached_property
    def answers(self) -> Mapping[int, str]:
        if "answers" in self._stored:
            return given_answers(self._stored["answers"])
        generator = self.node.configuration.answering
        return dict.fromkeys(range(len(self.run.dataset.queries)), _text((generator and generator.most_output_tokens) or _ANSWER))

    @property
    def splits(self) -> Iterator[SplitRequest]:
        return (SplitRequest(self.run.dataset.queries[query].text, text) for query, text in self.answers.items())

    @property
    def claimed(self) -> Iterator[JudgeRequest]:
        stored = self._stored.get("claims")
        if stored:
            claims = list(stored_claims(stored))
        else:
            part = {query: text[: -(-len(text) // CLAIMS_ASSUMED)] for query, text in self.answers.items()}
            claims = [(query, number, part[query]) for query in self.answers for number in range(CLAIMS_ASSUMED)]
        return support_requests(self.run.dataset.queries, self.contexts, self.answers, claims)

    def judged(self, task: Task) -> Iterator[JudgeRequest]:
        return (request for _, request in judgement_requests(task, self.run.dataset.queries, self.contexts, self.answers))


def _text(tokens: int) -> str:
    return "x" * (_BYTES * tokens)


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
        return f"{number(self.total, digits)} {interval(max(0.0, self.low), self.high, digits)}"


def pilot(experiment: ExperimentSpec, outputs: Path, say: Say) -> list[tuple[str, bool]]:
    """Ask a random sample of 20 questions of each configuration whose answers by a model are missing, and estimate what all of them cost.

    Returns a line about each, and whether it has an estimate, which needs an answer. The replies are in the cache of calls, so a sweep does not ask these questions again. Raises InputError if no such answer is missing.
    """
    check_code(experiment)
    graph = Graph(context_of(experiment, outputs))
    plan = graph.plan(experiment.configurations)
    bounds = bounds_of(graph, plan, experiment.configurations)
    asked = [each for each in experiment.configurations if each.name in bounds and bounds[each.name].calls]
    if not asked:
        raise InputError("no answer of a model is missing, so there is nothing to estimate", "leave out --pilot")
    results = []
    for configuration in asked:
        say(f"pilot: {configuration.name}")
        results.append(_estimated(graph, plan, configuration))
    return results


def _estimated(graph: Graph, plan: NodePlan, configuration: Configuration) -> tuple[str, bool]:
    requests, generator = _requests(graph, plan, configuration), configuration.answering
    if generator is None or not requests:
        return f"{configuration.name}: no question has a context", True
    random = np.random.default_rng(int(fingerprint([request.query.query_id for request in requests])[:8], 16))
    sample = [requests[place] for place in sorted(random.choice(len(requests), min(ITEMS, len(requests)), replace=False).tolist())]
    resources = AnswerResources(graph.run.workspace.vectors, graph.run.calls)
    answers = [answer for _, answer in generator.answer(sample, resources)]
    answered = [answer for answer in answers if not answer.error]
    return f"{configuration.name}: {_line(answered, answers, len(requests))}", bool(answered)


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


def _requests(graph: Graph, plan: NodePlan, configuration: Configuration) -> list[AnswerRequest]:
    """Return the questions of the variants without stored answers, with their contexts, computing what these need."""
    requests, queries = [], graph.run.dataset.queries
    for node, *_ in plan.missing([configuration], ["answers"])[configuration.name]:
        (contexts,) = (graph.obtain(earlier) for earlier in graph.before(node))
        requests += [AnswerRequest(queries[number], passages, node.variant) for number, passages in passages_of(contexts).items()]
    return requests
