"""The base of judges, which turn a claim, a passage or an answer into a judgement or the error that prevented it, and of claim splitters."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from workbench.components.answering.base import AnswerResources
from workbench.core.component import Component
from workbench.core.records import Claim, ModelUse, Passage

# What a judge can be asked: whether passages support a claim, whether a passage helps to answer a question, whether an answer answers it,
# whether it agrees with the expected answer, and how good it is in all.
Task = Literal["support", "context_relevance", "answer_relevance", "correctness", "rubric"]
TASKS: tuple[Task, ...] = ("support", "context_relevance", "answer_relevance", "correctness", "rubric")
Verdict = Literal["supported", "contradicted", "absent", ""]


@dataclass(frozen=True)
class JudgeRequest:
    """Something to be judged. Each task reads its own fields.

    `support` reads `claim`, `answer`, `question` and `passages`; `context_relevance` `question` and its single passage; `answer_relevance` `question`
    and `answer`; `correctness` `question`, `answer` and `expected` (the expected answer and its variants); `rubric` all but `claim`.
    """

    task: Task
    question: str
    answer: str = ""
    claim: str = ""
    passages: Sequence[Passage] = ()
    expected: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judgement(ModelUse):
    """A judgement, or the `error` that prevented it.

    `score` is between 0 and 1, and better if higher. `verdict` is that of a claim, empty for other tasks and for a judge that only scores.
    `passage` is the number of the deciding passage, from 0, and [`start`, `end`) the deciding span in its text; -1 if nothing decides.
    `confidence` is between 0 and 1, None if the judge reports none. `flags` name differences between claim and passage, such as `number`, that explain
    a judgement and are no part of it.
    """

    score: float | None = None
    verdict: Verdict = ""
    confidence: float | None = None
    passage: int = -1
    start: int = -1
    end: int = -1
    flags: tuple[str, ...] = ()
    error: str = ""


class Judge(Component, ABC):
    """Judges claims, passages and answers. Raise `version` when equal requests begin to get other judgements."""

    stage: ClassVar[str] = "judging"
    tasks: ClassVar[tuple[Task, ...]] = TASKS
    # Whether judgements cost time or money.
    calls_model: ClassVar[bool] = False
    # Whether claims get verdicts. A judge without verdicts only scores.
    gives_verdicts: ClassVar[bool] = True

    def identity(self, task: Task) -> Any:
        """Return everything that determines a judgement of a task besides the request, as canonical JSON."""
        return {"version": self.version, **self.model_dump(mode="json")}

    @property
    def finds_contradictions(self) -> bool:
        """True if verdicts tell contradicted claims from absent ones. If not, no claim is `contradicted`."""
        return self.gives_verdicts

    @property
    def label(self) -> str:
        """Name the judge in tables and reports, with its model if it has one."""
        return self.kind

    @abstractmethod
    def judge(self, requests: Sequence[JudgeRequest], resources: AnswerResources) -> Iterator[tuple[int, Judgement]]:
        """Yield the judgement of each request with its place, in any order, each once. A failed call is a judgement with an `error`."""


@dataclass(frozen=True)
class AnswerClaims(ModelUse):
    """The claims of an answer in its order, none for an answer that claims nothing, or the `error` that is the reason why there are none."""

    claims: tuple[Claim, ...] = ()
    error: str = ""


@dataclass(frozen=True)
class SplitRequest:
    """An answer to split, with its question."""

    question: str
    answer: str


class ClaimSplitter(Component, ABC):
    """Splits answers into claims. Raise `version` when equal answers begin to get other claims."""

    stage: ClassVar[str] = "judging.claims"
    calls_model: ClassVar[bool] = False

    def identity(self) -> Any:
        """Return everything that determines the claims besides the answer, as canonical JSON."""
        return {"version": self.version, **self.model_dump(mode="json")}

    @abstractmethod
    def split(self, requests: Sequence[SplitRequest], resources: AnswerResources) -> Iterator[tuple[int, AnswerClaims]]:
        """Yield the claims of each answer with its place, in any order, each once. A failed call has an `error`."""
