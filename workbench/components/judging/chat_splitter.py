"""Claims of an answer from a chat model, which may not add a word."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field

from workbench.components.answering.base import AnswerResources
from workbench.components.chunking.packing import Slice
from workbench.components.chunking.sentences import sentences
from workbench.components.judging.base import AnswerClaims, ClaimSplitter, SplitRequest
from workbench.components.judging.prompt_file import PROMPTS, fence_of
from workbench.components.judging.replies import UnreadableReplyError, entries, strict_object, whole_number
from workbench.core.records import Claim
from workbench.core.text.words import VERSION, search_terms
from workbench.llm.base import CallFailure, ChatCall, Message, Reply, use_of
from workbench.llm.prompt_files import PromptLayout, filled, names_in, read_prompt
from workbench.llm.registry import ChatModel
from workbench.llm.replies.answers import VERSION as REPLIES_VERSION
from workbench.llm.session import ask_all

_LAYOUT = PromptLayout((("system", ()), ("user", ("answer",))), ("question",))
_CLAIM = strict_object(claim={"type": "string"}, sentences={"type": "array", "items": {"type": "integer"}})
_SCHEMA = strict_object(claims={"type": "array", "items": _CLAIM})
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


class ChatSplitter(ChatModel, ClaimSplitter):
    """A chat model behind an API that splits answers. Each claim names the sentences of the answer that state it.

    A claim is dropped if it has a word or a number that is neither in the answer nor in the question, or none of its sentences' words: words are
    compared by their stems, without stop words. An answer whose claims are all dropped has an error instead of no claims.
    """

    calls_model: ClassVar[bool] = True
    version: ClassVar[int] = 4

    kind: Literal["chat"] = "chat"
    prompt: str = Field(default="claims-1", min_length=1, description="A prompt of the package, or the path of a file.")
    temperature: float | None = Field(default=0.0, ge=0, le=2, description="The sampling temperature; null for the model's own.")
    max_tokens: int = Field(default=1024, ge=1, le=1_000_000, description="The most tokens of a reply.")
    seed: int | None = Field(default=None, ge=0, le=2**31 - 1, description="The seed of sampling, for models that have one.")

    def check(self) -> None:
        self._prompt()
        self.client().check()

    def identity(self) -> dict[str, Any]:
        """Everything that determines claims and their cost: the contents of the prompt, the settings of the call, the model and its prices."""
        client = self.client()
        return {
            "kind": self.kind,
            "version": self.version,
            "replies": REPLIES_VERSION,
            "words": VERSION,
            "prompt": list(self._prompt()),
            "call": [self.temperature, self.max_tokens, self.seed],
            "client": client.identity(),
            "prices": [client.price_input, client.price_output],
        }

    def call(self, request: SplitRequest) -> ChatCall:
        """Return the call that splits an answer."""
        system, user = self._prompt()
        fence = fence_of([request.answer], [request.question])
        numbered = "\n".join(f"[{number}] {request.answer[start:end]}" for number, (start, end) in enumerate(sentences(request.answer), 1))
        content = filled(user, question=fence.around("question", request.question), answer=fence.around("answer", numbered))
        messages = (Message("user", f"{fence.declaration}\n\n{content}"),)
        whole = (Message("system", system), *messages) if system else messages
        return ChatCall(whole, self.max_tokens, self.temperature, self.seed, schema=_SCHEMA)

    def split(self, requests: Sequence[SplitRequest], resources: AnswerResources) -> Iterator[tuple[int, AnswerClaims]]:
        """Yield the claims as the calls finish. A blank answer has none, and no call is made."""
        asked = [place for place, request in enumerate(requests) if request.answer.strip()]
        yield from ((place, AnswerClaims()) for place, request in enumerate(requests) if not request.answer.strip())
        calls = [self.call(requests[place]) for place in asked]
        for number, outcome in ask_all(self.client(), calls, resources.calls) if calls else ():
            yield asked[number], _claims(outcome, requests[asked[number]])

    def _prompt(self) -> tuple[str, str]:
        offered = [name for name in names_in(PROMPTS) if name.startswith("claims")]
        sections = read_prompt(self.prompt, PROMPTS, _LAYOUT, offered)
        return sections.get("system", ""), sections["user"]


@dataclass(frozen=True)
class _StatedWords:
    """An answer with its sentences, and the stems and numbers of answer, question and each sentence."""

    slices: Sequence[Slice]
    known: frozenset[str]
    stated: Sequence[frozenset[str]]


def _claims(outcome: Reply | CallFailure, request: SplitRequest) -> AnswerClaims:
    if isinstance(outcome, CallFailure):
        return AnswerClaims(error=outcome.reason, lost=outcome.lost)
    claims: tuple[Claim, ...] = ()
    error = "the reply is longer than max_tokens" if outcome.finish_reason == "length" else ""
    try:
        if not error:
            claims = _stated(entries(outcome.text, "claims", ("claim", "sentences")), request)
    except UnreadableReplyError as fault:
        error = str(fault)
    return AnswerClaims(claims, error, **use_of(outcome))


def _stated(found: Sequence[Any], request: SplitRequest) -> tuple[Claim, ...]:
    """Return the claims that the answer states, in its order. Raises UnreadableReplyError if there are claims, and it states none."""
    slices = sentences(request.answer)
    texts = [request.answer[start:end] for start, end in slices]
    named = [_sentences(entry["sentences"], len(slices)) for entry in found]
    claims = [_text(entry["claim"]) for entry in found]
    stems = _stems([request.question, *texts, *claims])
    answer = _StatedWords(slices, frozenset().union(*stems[: len(texts) + 1]), stems[1 : len(texts) + 1])
    made = [
        _claim(claim, words, places, answer) for claim, words, places in zip(claims, stems[len(texts) + 1 :], named, strict=True) if claim
    ]
    stated = sorted({claim: None for claim in made if claim}, key=lambda claim: (claim.start, claim.end))
    if found and not stated:
        raise UnreadableReplyError("no claim in the reply is stated by the answer")
    return tuple(stated)


def _text(claim: Any) -> str:
    """Return the text of a claim, empty if it is not a text, or has half of a surrogate pair, which no output can contain."""
    usable = isinstance(claim, str) and not any("\ud800" <= character <= "\udfff" for character in claim)
    return " ".join(claim.split()) if usable else ""


def _sentences(numbers: Any, of: int) -> list[int]:
    """Return the sentences that a claim names, from 0. Raises UnreadableReplyError for a number that no sentence has."""
    named = [whole_number(number) for number in numbers] if isinstance(numbers, list) else []
    known = [number - 1 for number in named if number is not None and 0 < number <= of]
    if len(known) < len(named):
        # Sentences numbered from 0 would give a claim the place of another.
        raise UnreadableReplyError(f"the reply names a sentence that is not one of 1 to {of}")
    return known


def _claim(text: str, words: frozenset[str], places: Sequence[int], answer: _StatedWords) -> Claim | None:
    """Return a claim with the place of its sentences, or None if the answer does not state it."""
    if not places or not words <= answer.known or not words & frozenset().union(*(answer.stated[place] for place in places)):
        return None
    return Claim(text, answer.slices[min(places)][0], answer.slices[max(places)][1])


def _stems(texts: Sequence[str]) -> list[frozenset[str]]:
    """Return the stems of the words of each text, without stop words, and its numbers."""
    return [
        frozenset(words) | frozenset(_NUMBER.findall(text))
        for words, text in zip(search_terms(texts, "english", "english"), texts, strict=True)
    ]
