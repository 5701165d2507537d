"""Generators that send a prompt to a chat model: behind an API, or in a GGUF file in this process."""

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from workbench.components.answering.base import AnswerRequest, AnswerResources, Generator
from workbench.components.answering.prompt_file import fence, prompt_of
from workbench.components.answering.refusals import is_refusal
from workbench.components.context.conditions import NONE
from workbench.core.records import Answer
from workbench.llm.base import CallFailure, ChatCall, ChatClient, Message, Reply, use_of
from workbench.llm.models.server import OPENAI_ADDRESS
from workbench.llm.models.tokenizers import BUDGET_VOCABULARY, CL100K, count
from workbench.llm.providers.openai import OpenAIClient
from workbench.llm.registry import ChatModel, GgufChatModel
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
        prompt_of(self.prompt)
        self.client().check()
        count("", self.vocabulary)

    def identity(self) -> dict[str, Any]:
        """Everything that determines an answer and its cost: the contents of the prompt, the settings of the call, the model and its prices."""
        prompt, client = prompt_of(self.prompt), self.client()
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
        return self.max_tokens

    @property
    def most_tries(self) -> int:
        return self.client().most_tries

    @property
    def prices(self) -> tuple[float, float] | None:
        """Return the prices of a million tokens of prompts and of answers, 0 for a model on this machine, None if they are not known."""
        client = self.client()
        if client.price_input is None or client.price_output is None:
            return None if client.billed else (0.0, 0.0)
        return client.price_input, client.price_output

    def overhead(self, question: str) -> int:
        return self._tokens(prompt_of(self.prompt).messages(question, ()))

    def most_prompt_tokens(self, question: str, budget: int) -> int:
        return max(super().most_prompt_tokens(question, budget), self._tokens(prompt_of(self.prompt).closed_book_messages(question)))

    def passage_overhead(self, number: int) -> int:
        return count(fence(number, "\n"), self.vocabulary)

    def call(self, request: AnswerRequest) -> ChatCall:
        """Return the call that answers a request."""
        repeat = request.variant.repeat
        seed = None if self.seed is None else self.seed + repeat
        prompt, question = prompt_of(self.prompt), request.query.text
        closed_book = request.variant.condition == NONE
        messages = prompt.closed_book_messages(question) if closed_book else prompt.messages(question, request.passages)
        return ChatCall(messages, self.max_tokens, self.temperature, seed, repeat=repeat)

    def answer(self, requests: Sequence[AnswerRequest], resources: AnswerResources) -> Iterator[tuple[int, Answer]]:
        calls = [self.call(request) for request in requests]
        for place, outcome in ask_all(self.client(), calls, resources.calls):
            yield place, self._answer(outcome, requests[place])

    def _answer(self, outcome: Reply | CallFailure, request: AnswerRequest) -> Answer:
        if isinstance(outcome, CallFailure):
            return Answer(error=outcome.reason, lost=outcome.lost)
        refused = True if self.refusal_phrases and is_refusal(outcome.text, self.refusal_phrases, request.query.text) else None
        return Answer(
            outcome.text,
            citations_in(outcome.text, len(request.passages)),
            refused=refused,
            truncated=outcome.finish_reason == "length",
            reasoned=outcome.reasoned,
            unopened=outcome.unopened,
            **use_of(outcome),
        )

    def _tokens(self, messages: Sequence[Message]) -> int:
        return sum(count(message.content, self.vocabulary) + _MESSAGE_TOKENS for message in messages)


class ChatGenerator(ChatModel, PromptedGenerator):
    """A chat model behind an API. Provider, model and address that are not set are those of the `RAG_EVAL_*` variables.

    The tokens of a context are counted in OpenAI's vocabulary cl100k for models of OpenAI, and in that of `@2000t` for others.
    """

    kind: Literal["chat"] = "chat"

    @property
    def vocabulary(self) -> str:
        client = self.client()
        return CL100K if isinstance(client, OpenAIClient) and client.address == OPENAI_ADDRESS else BUDGET_VOCABULARY


class LocalGenerator(GgufChatModel, PromptedGenerator):
    """A chat model in a GGUF file, run by llama.cpp in this process (extra `local`). Questions are answered one after another."""

    kind: Literal["local"] = "local"


# Part of the key of answers whose citations are read. Raise it when equal texts begin to get other citations.
CITATIONS_VERSION = 2

_CITED_NAME = r"(?:[\^#]|(?:passages?|sources?|citations?|cite|documents?|docs?|references?|refs?|quellen?|contexts?|chunks?)\s*[:#.]?)"
_CITED_NUMBER = rf"(?:{_CITED_NAME}\s*)?\d{{1,4}}"
_CITED_AND = r"(?:and|und|&)"
_CITED_LIST = re.compile(
    rf"[\[【［]\s*({_CITED_NUMBER}(?:\s*(?:[,;，、](?:\s*{_CITED_AND})?|[–—-]|{_CITED_AND})\s*{_CITED_NUMBER})*)\s*(?:†[^\]】］\n]{{0,80}})?[\]】］]",
    re.IGNORECASE,
)
_CITED_RANGE = re.compile(r"(\d+)(?:\s*[–—-]\s*(\d+))?")


def citations_in(text: str, passages: int) -> tuple[int, ...]:
    """Return the passages that an answer cites, numbered from 0 in the order of the text, of a context with this many. Each counts once."""
    cited = [
        number
        for group in _CITED_LIST.finditer(text)
        for match in _CITED_RANGE.finditer(group[1])
        for number in _cited_numbers(match, passages)
    ]
    return tuple(number - 1 for number in dict.fromkeys(cited) if 1 <= number <= passages)


def _cited_numbers(match: re.Match[str], passages: int) -> range:
    """Return the numbers of `1` or `1-3`, of a range only up to the last passage."""
    first, last = int(match[1]), int(match[2] or match[1])
    return range(first, max(first, min(last, passages + 1)) + 1)
