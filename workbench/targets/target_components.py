"""The chunker, the retriever and the generator of the configuration that a target makes. None of them can be named in a file."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal, NoReturn

from workbench.answering.base import AnswerRequest, AnswerResources, GeneratedAnswer, Generator
from workbench.chunking.base import Chunker
from workbench.context.conditions import RETRIEVED
from workbench.errors import RunError
from workbench.llm.base import ModelUse
from workbench.records import Chunk, Document
from workbench.retrieval.base import Corpus, QueryBatch, Ranking, Retriever, SearchDepth
from workbench.targets.asking import TargetReply, TargetRequest, ask_target
from workbench.targets.base import Target, TargetResources

_CONTEXT_FIELDS = ("input_tokens", "output_tokens", "cost", "model", "lost")
_OWN_FIELDS = ("text", "confidence", "refused", "truncated", "reasoned", "unopened")


class TargetChunker(Chunker):
    """The chunks of a target are the slices of documents that it returns."""

    kind: Literal["target"] = "target"

    def split(self, document: Document) -> list[Chunk]:
        """Raise RunError: the target has split the documents."""
        _of_the_target()


class TargetRetriever(Retriever):
    """The rankings of a target are what it returns for each question."""

    kind: Literal["target"] = "target"

    def retrieve(self, queries: QueryBatch, corpus: Corpus, depth: SearchDepth) -> Ranking:
        """Raise RunError: the stage `responses` has the rankings."""
        _of_the_target()


class TargetGenerator(Generator):
    """Answers by asking a target: for its own context under the condition `retrieved`, from the passages under every other."""

    calls_model: ClassVar[bool] = True

    kind: Literal["target"] = "target"
    target: Target

    def identity(self) -> Any:
        """Return the identity of the target."""
        return [self.version, self.target.identity()]

    def answer(self, requests: Sequence[AnswerRequest], resources: AnswerResources) -> Iterator[tuple[int, GeneratedAnswer]]:
        """Yield the answer of each request. The answer of a request that failed is its error."""
        asked = [answer_request(request) for request in requests]
        for place, reply in ask_target(self.target, asked, TargetResources(resources.calls, resources.documents)):
            yield place, _generated(reply)


def answer_request(request: AnswerRequest) -> TargetRequest:
    """Return the request to a target for an answer."""
    own = request.variant.condition == RETRIEVED
    return TargetRequest("answer", request.query, context=None if own else request.passages, repeat=request.variant.repeat)


def _generated(reply: TargetReply) -> GeneratedAnswer:
    if reply.answer is None:
        return GeneratedAnswer(error=reply.error, seconds=reply.seconds)
    answer = reply.answer
    use = ModelUse(**{name: getattr(answer, name) for name in _CONTEXT_FIELDS}, seconds=reply.seconds, cached=reply.cached)
    own = {name: getattr(answer, name) for name in _OWN_FIELDS}
    return GeneratedAnswer(**own, **vars(use))


def _of_the_target() -> NoReturn:
    raise RunError("a target splits and searches documents by itself", "report this as a fault of Workbench")
