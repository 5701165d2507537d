"""Bound the calls, tokens and money that answers can cost, and estimate them from a pilot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.core.formatting import count, number, plural
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.graph import Graph


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


def bounds_of(graph: Graph, configurations: Sequence[Configuration]) -> Mapping[str, CallBound]:
    """Return the bound of each configuration that calls a model, without answers that are stored or that an earlier one shares.

    Replies in the cache of calls are counted although they cost nothing. Raises what computing a key raises.
    """
    counted, bounds = set[str](), dict[str, CallBound]()
    for configuration in configurations:
        generator, context = configuration.answering, configuration.context
        # What a target spends is its own.
        if generator is None or context is None or not configuration.calls_model:
            continue
        missing = {graph.key(node) for node in graph.nodes(configuration, ["answers"]) if not graph.is_stored(node)} - counted
        counted |= missing
        questions = [query.text for query in graph.run.dataset.queries] if missing else []
        calls, prompts = len(missing) * len(questions), sum(generator.most_prompt_tokens(text, context.budget) for text in questions)
        tokens = len(missing) * prompts, calls * generator.most_output_tokens
        usd = cost_of(generator.prices, *tokens)
        bounds[configuration.name] = CallBound(calls, *tokens, usd, (usd or 0) * generator.most_tries)
    return bounds


def cost_of(prices: tuple[float, float] | None, input_tokens: float, output_tokens: float) -> float | None:
    """Return the cost of tokens by the prices of a million tokens of prompts and of answers, None without prices."""
    return None if prices is None else (input_tokens * prices[0] + output_tokens * prices[1]) / 1e6
