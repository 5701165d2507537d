"""The generator of a configuration that is a target. No file can name it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

from workbench.answering.base import Answer, AnswerRequest, AnswerResources, Generator
from workbench.context.conditions import RETRIEVED
from workbench.targets.asking import TargetReply, TargetRequest, ask_target
from workbench.targets.base import Target, TargetResources


class TargetGenerator(Generator):
    """Answers by asking a target: for its own context under the condition `retrieved`, from the passages under every other."""

    calls_model: ClassVar[bool] = True

    kind: Literal["target"] = "target"
    target: Target

    def identity(self) -> Any:
        """Return the identity of the target."""
        return [self.version, self.target.identity()]

    def answer(self, requests: Sequence[AnswerRequest], resources: AnswerResources) -> Iterator[tuple[int, Answer]]:
        """Yield the answer of each request. The answer of a request that failed is its error."""
        asked = [answer_request(request) for request in requests]
        for place, reply in ask_target(self.target, asked, TargetResources(resources.calls, resources.documents)):
            yield place, _generated(reply)


def answer_request(request: AnswerRequest) -> TargetRequest:
    """Return the request to a target for an answer."""
    own = request.variant.condition == RETRIEVED
    return TargetRequest("answer", request.query, context=None if own else request.passages, repeat=request.variant.repeat)


def _generated(reply: TargetReply) -> Answer:
    return replace(reply.answer or Answer(error=reply.error), seconds=reply.seconds, cached=reply.cached)
