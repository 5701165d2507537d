"""The base of generators that send a prompt to a chat model."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from pydantic import Field

from workbench.components.answering.base import AnswerRequest, AnswerResources, Generator
from workbench.components.answering.citations import citations_in
from workbench.components.answering.prompt_file import Prompt, fence, prompt_of
from workbench.components.answering.refusals import is_refusal
from workbench.components.context.conditions import NONE
from workbench.core.records import Answer
from workbench.llm.base import CallFailure, ChatCall, ChatClient, Message, Reply, use_of
from workbench.llm.models.tokenizers import count
from workbench.llm.session import ask_all

# What a chat template adds to each message: its role and the marks of its beginning and end.
_MESSAGE_TOKENS = 4


class PromptedGenerator(Generator):
    """A chat model that answers a prompt with the question and the numbered passages.

    Repeats are separate calls; with a `seed`, each has the seed plus its number.
    """

    calls_model: ClassVar[bool] = True

    prompt: str = Field(default="cited-1", min_length=1, description="A prompt of the package, or the path of a file.")
    temperature: float | None = Field(default=0.0, ge=0, le=2, description="The sampling temperature; null for the model's own.")
    max_tokens: int = Field(default=512, ge=1, le=1_000_000, description="The most tokens of an answer.")
    seed: int | None = Field(default=None, ge=0, le=2**31 - 1, description="The seed of sampling, for models that have one.")
    refusal_phrases: tuple[str, ...] = Field(default=(), description="Texts that make an answer a refusal, besides those that are known.")

    @abstractmethod
    def client(self) -> ChatClient:
        """Return the client that calls the model."""

    def check(self) -> None:
        """Raise InputError if the prompt is not usable, or a package, a file or a key that the model needs is missing."""
        self._prompt()
        self.client().check()
        count("", self.vocabulary)

    def identity(self) -> dict[str, Any]:
        """Everything that determines an answer and its cost: the contents of the prompt, the settings of the call, the model and its prices."""
        prompt, client = self._prompt(), self.client()
        return {
            "kind": self.kind,
            "version": self.version,
            "prompt": [prompt.system, prompt.user, prompt.closed_book],
            "call": [self.temperature, self.max_tokens, self.seed],
            "refusal_phrases": list(self.refusal_phrases),
            "client": client.identity(),
            "prices": [client.price_input, client.price_output],
        }

    @property
    def most_output_tokens(self) -> int:
        """Return the most tokens of an answer."""
        return self.max_tokens

    @property
    def most_tries(self) -> int:
        """Return how often a call may be sent."""
        return self.client().most_tries

    @property
    def prices(self) -> tuple[float, float] | None:
        """Return the prices of a million tokens of prompts and of answers, 0 for a model on this machine, None if they are not known."""
        client = self.client()
        if client.price_input is None or client.price_output is None:
            return None if client.billed else (0.0, 0.0)
        return client.price_input, client.price_output

    def overhead(self, question: str) -> int:
        """Return the tokens of the prompt with a question and no passage."""
        return self._tokens(self._prompt().messages(question, ()))

    def most_prompt_tokens(self, question: str, budget: int) -> int:
        """Return the most tokens of a prompt with a question, also of one that asks without passages."""
        return max(super().most_prompt_tokens(question, budget), self._tokens(self._prompt().closed_book_messages(question)))

    def passage_overhead(self, number: int) -> int:
        """Return the tokens of a passage's number and fences."""
        return count(fence(number, "\n"), self.vocabulary)

    def call(self, request: AnswerRequest) -> ChatCall:
        """Return the call that answers a request."""
        repeat = request.variant.repeat
        seed = None if self.seed is None else self.seed + repeat
        prompt, question = self._prompt(), request.query.text
        closed_book = request.variant.condition == NONE
        messages = prompt.closed_book_messages(question) if closed_book else prompt.messages(question, request.passages)
        return ChatCall(messages, self.max_tokens, self.temperature, seed, repeat=repeat)

    def answer(self, requests: Sequence[AnswerRequest], resources: AnswerResources) -> Iterator[tuple[int, Answer]]:
        """Yield the answers as the calls finish."""
        calls = [self.call(request) for request in requests]
        for place, outcome in ask_all(self.client(), calls, resources.calls):
            yield place, self._answer(outcome, requests[place])

    def _answer(self, outcome: Reply | CallFailure, request: AnswerRequest) -> Answer:
        if isinstance(outcome, CallFailure):
            return Answer(error=outcome.reason, lost=outcome.lost)
        refused = True if self.refusal_phrases and is_refusal(outcome.text, self.refusal_phrases, request.query.text) else None
        return Answer(
            outcome.text,
            citations_in(outcome.text, len(request.passages)).passages,
            refused=refused,
            truncated=outcome.finish_reason == "length",
            reasoned=outcome.reasoned,
            unopened=outcome.unopened,
            **use_of(outcome),
        )

    def _tokens(self, messages: Sequence[Message]) -> int:
        return sum(count(message.content, self.vocabulary) + _MESSAGE_TOKENS for message in messages)

    def _prompt(self) -> Prompt:
        return prompt_of(self.prompt)
