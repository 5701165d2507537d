"""The judges of a run and the thresholds of its end-to-end test."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny

from workbench.components.judging.base import ClaimSplitter, Judge, Task
from workbench.core.component import Component, code_named_by, inner_components
from workbench.llm.base import ChatCall, ChatClient


@runtime_checkable
class AsksModel(Protocol):
    """A judge or a splitter that asks a chat model by a prompt."""

    def client(self) -> ChatClient:
        """Return the client that calls the model."""
        ...

    # The call about a list of equal tasks of a judge, or about one answer of a splitter.
    call: Callable[..., ChatCall]


def prompted(component: Component) -> Iterator[AsksModel]:
    """Yield the component itself or the components inside it that ask a model by a prompt."""
    if isinstance(component, AsksModel):
        yield component
    for inner in inner_components(component):
        yield from prompted(inner)


class EndToEndThresholds(BaseModel):
    """Thresholds of the end-to-end test, which also requires a retrieved document that is expected, and no wrong refusal."""

    # Strict, since pydantic reads `yes` as 1.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)

    context_relevance: float = Field(default=0.5, ge=0, le=1, description="The least relevance of every passage of the context.")
    faithfulness: float = Field(default=0.85, ge=0, le=1, description="The least share of supported claims.")
    answer_relevance: float = Field(default=0.5, ge=0, le=1, description="The least relevance of the answer to the question.")
    correctness: float = Field(default=0.5, ge=0, le=1, description="The least score of correctness.")
    characters: int = Field(default=50, ge=0, description="The number of characters that an answer must exceed.")


class Judging(BaseModel):
    """The judges of a run, which are the same for all configurations, and how answers are split into claims.

    `relevance` judges passages and answers. `rubric` is None if no judge is named for it. `conditions` names those whose answers are judged, all
    of the run if empty.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    claims: SerializeAsAny[ClaimSplitter]
    support: SerializeAsAny[Judge]
    relevance: SerializeAsAny[Judge]
    correctness: SerializeAsAny[Judge]
    rubric: SerializeAsAny[Judge] | None = None
    conditions: tuple[str, ...] = ()
    thresholds: EndToEndThresholds = EndToEndThresholds()

    @property
    def judges(self) -> Mapping[Task, Judge]:
        """Return the judge of each task, in order of the tasks."""
        tasks: dict[Task, Judge] = {
            "support": self.support,
            "context_relevance": self.relevance,
            "answer_relevance": self.relevance,
            "correctness": self.correctness,
        }
        return tasks | ({"rubric": self.rubric} if self.rubric else {})

    @property
    def components(self) -> Mapping[str, Component]:
        """Return the splitter and the judges by their keys."""
        parts = {"claims": self.claims, "support": self.support, "relevance": self.relevance, "correctness": self.correctness}
        return parts | ({"rubric": self.rubric} if self.rubric else {})

    @property
    def named_code(self) -> tuple[str, ...]:
        """Return the functions that the components name, and that judging executes."""
        return code_named_by(self.components.values())

    def recorded_settings(self) -> dict[str, Any]:
        """Return all settings as a run records them."""
        parts = {name: part.recorded_settings() for name, part in self.components.items()}
        return parts | {"conditions": list(self.conditions), "thresholds": self.thresholds.model_dump()}
