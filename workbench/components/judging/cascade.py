"""A cheap judge that decides what it can be trusted with, and an expensive one for the rest."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from workbench.components.answering.base import AnswerResources
from workbench.components.judging.base import Judge, Judgement, JudgeRequest, Task
from workbench.core.component import Component
from workbench.core.fingerprint import fingerprint


def _made(value: Any) -> Any:
    """Make a judge from its settings with their `kind`."""
    return Judge.of_kind(value) if isinstance(value, Mapping) else value


Nested = Annotated[SerializeAsAny[Judge], BeforeValidator(_made)]


@dataclass(frozen=True)
class TrustedScores:
    """Scores of the cheap judge whose decision agrees with the expensive judge: up to `low` a no, from `high` on a yes, but not both.

    `no` and `yes` are the shares of such items of the sample that the expensive judge approves, with one approval and one rejection added.
    `agreement` is the share of the `sampled` items with such a score on which both judges agree, None if there are none.
    """

    low: float
    high: float
    no: float
    yes: float
    agreement: float | None
    sampled: int

    def decision(self, score: float | None) -> float | None:
        """Return the share that is approved among items with such a score, or None if the expensive judge must decide."""
        if score is None:
            return None
        no, yes = score <= self.low, score >= self.high
        return None if no == yes else self.yes if yes else self.no


class CascadeJudge(Judge):
    """Two judges. Both judge a sample, whose agreement decides which scores of the cheap judge are trusted; the expensive one judges the rest.

    The sample are the items with the smallest hashes, so that it does not depend on their order, and the same item is drawn for every
    configuration. A score is trusted where the expensive judge's decisions (0.5 or more is a yes) agree with the cheap one's on a share of
    at least `agreement` of the sampled items with such a score, computed as (agreeing + 1) / (items + 2), so that few items prove nothing.

    The score of an item that the cheap judge decides is the share of those items that the expensive judge approves. The flags that begin with
    `cascade` say which judge decided, the agreement, and how many items the expensive judge was asked for. An item whose cheap reply cannot be
    read goes to the expensive judge; one whose cheap call failed is not judged, so that the next run asks again.
    """

    calls_model: ClassVar[bool] = True
    nested: ClassVar[Mapping[str, type[Component]]] = {"cheap": Judge, "expensive": Judge}

    kind: Literal["cascade"] = "cascade"
    cheap: Nested = Field(description="The judge of every item, such as `{kind: overlap}`.")
    expensive: Nested = Field(description="The judge of the sample and of what the cheap one cannot decide.")
    sample: float = Field(default=0.1, gt=0, le=1, description="The share of items that both judge.")
    least: int = Field(default=30, ge=1, description="The least number of items that both judge.")
    agreement: float = Field(default=0.9, gt=0.5, lt=1, description="The share of equal decisions from which on scores are trusted.")

    @model_validator(mode="after")
    def _expensive_gives_verdicts(self) -> Self:
        if not self.expensive.gives_verdicts:
            raise ValueError(f"the expensive judge {self.expensive.kind!r} only scores; name one that gives verdicts, such as chat")
        return self

    @property
    def finds_contradictions(self) -> bool:
        return self.cheap.finds_contradictions and self.expensive.finds_contradictions

    @property
    def label(self) -> str:
        return f"{self.kind}: {self.cheap.label}, then {self.expensive.label}"

    def check(self) -> None:
        self.cheap.check()
        self.expensive.check()

    def identity(self, task: Task) -> dict[str, Any]:
        judges = {"cheap": self.cheap.identity(task), "expensive": self.expensive.identity(task)}
        return {"kind": self.kind, "version": self.version, "settings": [self.sample, self.least, self.agreement], **judges}

    def recorded_settings(self) -> dict[str, Any]:
        nested = {"cheap": self.cheap.recorded_settings(), "expensive": self.expensive.recorded_settings()}
        return super().recorded_settings() | nested

    def judge(self, requests: Sequence[JudgeRequest], resources: AnswerResources) -> Iterator[tuple[int, Judgement]]:
        """Yield the judgements of the sample, then of what the cheap judge decides, then of the rest, each task by itself."""
        for task in dict.fromkeys(request.task for request in requests):
            places = [place for place, request in enumerate(requests) if request.task == task]
            for place, judgement in self._judged([requests[place] for place in places], resources):
                yield places[place], judgement

    def _judged(self, requests: Sequence[JudgeRequest], resources: AnswerResources) -> Iterator[tuple[int, Judgement]]:
        every = dict(self.cheap.judge(requests, resources))
        failed = {place: judged for place, judged in every.items() if self.cheap.calls_model and judged.error and not judged.replied}
        yield from failed.items()
        cheap = {place: judged for place, judged in every.items() if place not in failed}
        size = min(len(cheap), max(self.least, math.ceil(self.sample * len(cheap))))
        drawn = sorted(cheap, key=lambda place: (_draw(requests[place]), place))[:size]
        expensive = dict(self._ask(drawn, requests, resources))
        trusted = trusted_scores([(cheap[place].score, expensive[place].score) for place in drawn], self.agreement)
        decisions = {place: trusted.decision(judged.score) for place, judged in cheap.items() if place not in expensive}
        rest = [place for place, decision in sorted(decisions.items()) if decision is None]
        flags = _flags(trusted, len(drawn) + len(rest), len(requests))
        yield from ((place, _by_expensive(judged, cheap[place], flags)) for place, judged in expensive.items())
        for place, decision in decisions.items():
            if decision is not None:
                yield place, _by_cheap(requests[place], cheap[place], decision, flags)
        for place, judged in self._ask(rest, requests, resources):
            yield place, _by_expensive(judged, cheap[place], flags)

    def _ask(self, places: Sequence[int], requests: Sequence[JudgeRequest], resources: AnswerResources) -> Iterator[tuple[int, Judgement]]:
        """Yield the judgements of the expensive judge by the places of its requests."""
        for number, judged in self.expensive.judge([requests[place] for place in places], resources) if places else ():
            yield places[number], judged


def _by_expensive(judged: Judgement, cheap: Judgement, flags: tuple[str, ...]) -> Judgement:
    counts = {name: _sum(getattr(judged, name), getattr(cheap, name)) for name in ("input_tokens", "output_tokens", "cost")}
    seconds, lost = judged.seconds + cheap.seconds, judged.lost + cheap.lost
    return replace(judged, **counts, seconds=seconds, lost=lost, flags=(*judged.flags, "cascade decided by expensive", *flags))


def _by_cheap(request: JudgeRequest, judged: Judgement, score: float, flags: tuple[str, ...]) -> Judgement:
    verdict = judged.verdict
    if request.task == "support":
        verdict = "supported" if score >= 0.5 else "contradicted" if verdict == "contradicted" else "absent"
    confidence = max(score, 1 - score)
    flags = (*judged.flags, "cascade decided by cheap", *flags)
    return replace(judged, score=score, verdict=verdict, confidence=confidence, flags=flags)


def trusted_scores(pairs: Sequence[tuple[float | None, float | None]], agreement: float) -> TrustedScores:
    """Return the scores of a cheap judge that are trusted, by its scores of a sample and those of the expensive judge.

    Pairs with a None are left out. The trusted scores are as many as the sample allows: `low` is as high and `high` as low as possible.
    """
    scored = sorted((cheap, expensive >= 0.5) for cheap, expensive in pairs if cheap is not None and expensive is not None)
    scores, approved = np.array([score for score, _ in scored], dtype=float), np.array([yes for _, yes in scored], dtype=bool)
    edges = np.unique(scores)
    low = max((float(edge) for edge in edges if _share(~approved[scores <= edge]) >= agreement), default=-math.inf)
    high = min((float(edge) for edge in edges if _share(approved[scores >= edge]) >= agreement), default=math.inf)
    no, yes = (scores <= low) & (scores < high), (scores >= high) & (scores > low)
    decided = int(no.sum() + yes.sum())
    agreeing = float(((no & ~approved) | (yes & approved)).sum()) / decided if decided else None
    return TrustedScores(low, high, 1 - _share(~approved[no]), _share(approved[yes]), agreeing, decided)


def _share(agreeing: np.ndarray[Any, np.dtype[np.bool_]]) -> float:
    """Return the share of agreeing items after one of each kind is added (Laplace's rule of succession)."""
    return float((agreeing.sum() + 1) / (len(agreeing) + 2))


def _flags(trusted: TrustedScores, asked: int, of: int) -> tuple[str, ...]:
    agreement = "none" if trusted.agreement is None else f"{trusted.agreement:.2f} of {trusted.sampled}"
    return (f"cascade agreement {agreement}", f"cascade expensive {asked} of {of}")


def _draw(request: JudgeRequest) -> str:
    """Return the hash by which a request is drawn: of what is judged, without its passages, which differ between configurations."""
    return fingerprint(request.task, request.question, request.claim, request.answer, list(request.expected))


def _sum(first: float | None, second: float | None) -> Any:
    return first if second is None else second if first is None else first + second
