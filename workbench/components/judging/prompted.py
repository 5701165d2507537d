"""Judges that send a prompt to a chat model: behind an API, or in a GGUF file in this process."""

from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from workbench.components.answering.base import AnswerResources
from workbench.components.judging.base import TASKS, Judge, Judgement, JudgeRequest, Task
from workbench.components.judging.prompt_file import JudgePrompt, ReplyForm, default_prompt, judge_prompt
from workbench.components.judging.replies import ALTERNATIVES, SCHEMAS, structured_judgements, yes_no_judgement
from workbench.core.records import LostTries
from workbench.llm.base import CallFailure, ChatCall, ChatClient, Reply, use_of
from workbench.llm.registry import ChatModel, GgufChatModel
from workbench.llm.replies.answers import VERSION as REPLIES_VERSION
from workbench.llm.session import ask_all

_PROMPT = "The prompt of the package or the path of a file, by default that of the form of replies."


class PromptedJudge(Judge):
    """A chat model that judges by prompts. The passages come first in a prompt and the claims last, so that a server can reuse its beginning.

    With replies `json`, a verdict of a claim counts only with a quote that is in a passage. With `yes_no`, the score is the probability of yes,
    contradictions are not told from missing evidence, and no passage is named.
    """

    calls_model: ClassVar[bool] = True
    version: ClassVar[int] = 4

    replies: ReplyForm = Field(default="json", description="`json`, or `yes_no` for the log-probabilities of a single word.")
    claims_per_call: int = Field(default=1, ge=1, le=50, description="How many claims of an answer are judged in a call.")
    fenced: bool = Field(
        default=True, description="Whether quoted texts are between marks that they cannot contain, and declared to be data."
    )
    temperature: float | None = Field(default=0.0, ge=0, le=2, description="The sampling temperature; null for the model's own.")
    max_tokens: int = Field(default=512, ge=1, le=1_000_000, description="The most tokens of a reply, for each of its claims.")
    seed: int | None = Field(default=None, ge=0, le=2**31 - 1, description="The seed of sampling, for models that have one.")
    support_prompt: str | None = Field(default=None, min_length=1, description=_PROMPT)
    context_relevance_prompt: str | None = Field(default=None, min_length=1, description=_PROMPT)
    answer_relevance_prompt: str | None = Field(default=None, min_length=1, description=_PROMPT)
    correctness_prompt: str | None = Field(default=None, min_length=1, description=_PROMPT)
    rubric_prompt: str | None = Field(default=None, min_length=1, description=_PROMPT)

    @model_validator(mode="after")
    def _one_word_is_about_one_claim(self) -> "PromptedJudge":
        if self.replies == "yes_no" and self.claims_per_call > 1:
            raise ValueError("claims_per_call is above 1, and a reply of one word is about one claim; write replies: json")
        return self

    @abstractmethod
    def client(self) -> ChatClient:
        """Return the client that calls the model."""

    @property
    def finds_contradictions(self) -> bool:
        """True if replies have verdicts, which a yes or a no has not."""
        return self.replies == "json"

    def check(self) -> None:
        for task in TASKS:
            self._prompt(task)
        self.client().check()

    def identity(self, task: Task) -> dict[str, Any]:
        """Everything that determines a judgement and its cost: the contents of the task's prompt, the settings of the call, the model, its prices."""
        prompt, client = self._prompt(task), self.client()
        return {
            "kind": self.kind,
            "version": self.version,
            "replies": REPLIES_VERSION,
            "prompt": [prompt.system, prompt.user],
            "call": [self.replies, self.fenced, self.temperature, self.max_tokens, self.seed],
            "client": client.identity(),
            "prices": [client.price_input, client.price_output],
        } | ({"claims_per_call": self.claims_per_call} if task == "support" else {})

    def call(self, requests: Sequence[JudgeRequest]) -> ChatCall:
        """Return the call that judges requests that differ in their claims only."""
        task, in_json = requests[0].task, self.replies == "json"
        messages = self._prompt(task).messages(requests, self.fenced, numbered=in_json)
        if in_json:
            return ChatCall(messages, self.max_tokens * len(requests), self.temperature, self.seed, schema=SCHEMAS[task])
        return ChatCall(messages, 1, self.temperature, self.seed, top_logprobs=ALTERNATIVES)

    def judge(self, requests: Sequence[JudgeRequest], resources: AnswerResources) -> Iterator[tuple[int, Judgement]]:
        """Yield the judgements as the calls finish. No call is made for what is decided without a model."""
        decided = {place: judgement for place, request in enumerate(requests) if (judgement := _decided(request))}
        yield from decided.items()
        groups = self._groups(requests, decided.keys())
        calls = [self.call([requests[place] for place in group]) for group in groups]
        for number, outcome in ask_all(self.client(), calls, resources.calls) if calls else ():
            judged = self._judgements(outcome, [requests[place] for place in groups[number]])
            yield from zip(groups[number], judged, strict=True)

    def _groups(self, requests: Sequence[JudgeRequest], without: Collection[int]) -> list[list[int]]:
        """Return the places of requests by calls. Claims share a call only if they are of one answer and context."""
        groups: dict[Any, list[int]] = {}
        for place, request in enumerate(requests):
            if place not in without:
                shared = (request.question, request.answer, tuple(request.passages)) if request.task == "support" else place
                groups.setdefault(shared, []).append(place)
        size = self.claims_per_call
        return [places[start : start + size] for places in groups.values() for start in range(0, len(places), size)]

    def _judgements(self, outcome: Reply | CallFailure, requests: Sequence[JudgeRequest]) -> list[Judgement]:
        if isinstance(outcome, CallFailure):
            return [Judgement(error=outcome.reason, lost=_lost(outcome, place)) for place in range(len(requests))]
        if self.replies == "yes_no":
            judged = [yes_no_judgement(requests[0].task, outcome.logprobs)]
        elif outcome.finish_reason == "length":
            judged = [Judgement(error="the reply is longer than max_tokens") for _ in requests]
        else:
            judged = structured_judgements(outcome.text, requests)
        return [replace(judgement, **_share(outcome, place, len(judged))) for place, judgement in enumerate(judged)]

    def _prompt(self, task: Task) -> JudgePrompt:
        return judge_prompt(task, getattr(self, f"{task}_prompt") or default_prompt(task, self.replies))


def _decided(request: JudgeRequest) -> Judgement | None:
    """Return the judgement of a claim without passages, which is absent, and why an answer without an expected one has none."""
    if request.task == "support" and not request.passages:
        return Judgement(score=0.0, verdict="absent", confidence=1.0)
    if request.task == "correctness" and not request.expected:
        return Judgement(error="the question has no expected answer")
    return None


def _share(reply: Reply, place: int, of: int) -> dict[str, Any]:
    """Return the share that a judgement has of a reply's tokens, cost and time, so that all of them add up to those of the reply."""
    tokens = {
        name: None if (count := getattr(reply, name)) is None else count // of + (place < count % of)
        for name in ("input_tokens", "output_tokens")
    }
    cost = None if reply.cost is None else reply.cost / of
    return use_of(reply) | {**tokens, "cost": cost, "seconds": reply.seconds / of, "lost": _lost(reply, place)}


def _lost(outcome: Reply | CallFailure, place: int) -> LostTries:
    """Return the lost tries of a call for the first of its judgements, none for the others."""
    return LostTries() if place else outcome.lost


class ChatJudge(ChatModel, PromptedJudge):
    """A chat model behind an API that judges. Provider, model and address that are not set are those of the `RAG_EVAL_*` variables."""

    kind: Literal["chat"] = "chat"

    @property
    def label(self) -> str:
        return f"{self.kind}: {self.recorded_settings()['model']}"


class LocalJudge(GgufChatModel, PromptedJudge):
    """A chat model in a GGUF file that judges, run by llama.cpp in this process (extra `local`).

    By default its score is the probability of the word yes in reply to a question, which small models decide better than they write JSON.
    """

    kind: Literal["local"] = "local"
    replies: ReplyForm = Field(default="yes_no", description="`json`, or `yes_no` for the log-probabilities of a single word.")

    @property
    def label(self) -> str:
        return f"{self.kind}: {Path(self.path).name}"
