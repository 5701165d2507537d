"""The base of generators: a question and the passages of its context become an answer."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.components.context.context_packing import PromptTokens
from workbench.core.component import Component
from workbench.core.records import Answer, Document, Passage, Query, Variant
from workbench.llm.models.tokenizers import BUDGET_VOCABULARY, Places, tokenise

if TYPE_CHECKING:
    from workbench.core.storage.vector_cache import VectorCache
    from workbench.llm.session import CallResources


@dataclass(frozen=True)
class AnswerRequest:
    """A question with the passages of its context, best placed first, in a variant of the run."""

    query: Query
    passages: Sequence[Passage]
    variant: Variant


@dataclass(frozen=True)
class AnswerResources:
    """Resources shared by the generators of a run: the cache of vectors, the cache and budget of calls, and the documents of the dataset."""

    vectors: "VectorCache"
    calls: "CallResources"
    documents: Sequence[Document] = ()


class Generator(Component, ABC):
    """Answers questions from contexts. Raise `version` when equal requests begin to get other answers."""

    stage: ClassVar[str] = "answering"
    # Whether answers are copied from the context, so that they can neither be unfaithful nor obey it.
    verbatim: ClassVar[bool] = False
    # Whether repeats can differ, and calls cost time or money.
    calls_model: ClassVar[bool] = False

    def identity(self) -> Any:
        """Return everything that determines an answer besides the request, as canonical JSON."""
        return {"version": self.version, **self.model_dump(mode="json")}

    @property
    def vocabulary(self) -> str:
        """Return the vocabulary that counts the tokens of a context: `cl100k`, a model, or that of `@2000t`."""
        return BUDGET_VOCABULARY

    def overhead(self, question: str) -> int:
        """Return the tokens of everything besides the passages: system prompt, template and question. 0 if the generator has no prompt."""
        return 0

    def passage_overhead(self, number: int) -> int:
        """Return the tokens that the prompt adds around the passage with a number, from 1."""
        return 0

    def most_prompt_tokens(self, question: str, budget: int) -> int:
        """Return the most tokens of a prompt with a question. A prompt that exceeds the budget without passages is sent without passages."""
        return max(budget, self.overhead(question))

    @property
    def most_output_tokens(self) -> int:
        """Return the most tokens of an answer of a model, 0 without a model."""
        return 0

    @property
    def most_tries(self) -> int:
        """Return how often a call may be sent."""
        return 1

    @property
    def prices(self) -> tuple[float, float] | None:
        """Return the prices of a million tokens of prompts and of answers, None if they are not known."""
        return None

    @abstractmethod
    def answer(self, requests: Sequence[AnswerRequest], resources: AnswerResources) -> Iterator[tuple[int, Answer]]:
        """Yield the answer of each request with its place, in any order, each once. A failed call is an answer with an `error`."""


def prompt_tokens(generator: Generator, overhead: int) -> PromptTokens:
    """Return the counts of a prompt whose system prompt, template and question have `overhead` tokens."""

    def starts(texts: Sequence[str]) -> list[Places]:
        return [tokens.starts for tokens in tokenise(texts, generator.vocabulary)]

    return PromptTokens(starts, overhead, generator.passage_overhead)
