"""A score by words, numbers and embeddings: how much of a text appears in others. No language model is needed."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny

from workbench.answering.base import AnswerResources
from workbench.embedding.base import Embedder
from workbench.embedding.registry import EMBEDDERS
from workbench.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.errors import InputError
from workbench.judging.base import Judge, Judgement, JudgeRequest, Task
from workbench.judging.compared_texts import ComparedTexts, Evidence
from workbench.judging.flags import flags
from workbench.records import Passage

# Requests whose sentences are in memory together.
_BLOCK = 2_048
_NOTHING = -1


def _embedder(settings: Any) -> Any:
    """Make an embedder from its settings with their `kind`."""
    if not isinstance(settings, dict):
        return settings
    kind = settings.get("kind", "sentence-transformers")
    if kind not in EMBEDDERS:
        raise ValueError(f"no kind {kind!r}; kinds are {', '.join(EMBEDDERS)}")
    return EMBEDDERS[kind].model_validate(settings)


class OverlapJudge(Judge):
    """How much of the words, numbers and meaning of a text appears in another. It gives scores from 0 to 1, and no verdicts.

    Support of a claim: the mean of the share of its words that the passages contain, times the share of its numbers, and the largest
    cosine with a sentence of the passages. The score hardly sees a negation, another name or another relation. Words are stemmed, without
    stop words. The embedder is that of the judge, not of the configuration, so that one measure judges all configurations.
    """

    tasks: ClassVar[tuple[Task, ...]] = ("support", "context_relevance", "answer_relevance", "correctness")
    gives_verdicts: ClassVar[bool] = False

    kind: Literal["overlap"] = "overlap"
    embedding: Annotated[SerializeAsAny[Embedder], BeforeValidator(_embedder)] = Field(
        default_factory=SentenceTransformerEmbedder, description="The embedder that compares texts; all-MiniLM-L6-v2 by default."
    )

    def check(self) -> None:
        """Raise InputError if files of the model are missing."""
        self.embedding.check()

    def identity(self, task: Task) -> dict[str, Any]:
        """Return the version and everything that determines a vector."""
        vectors = [self.embedding.identity("query"), self.embedding.identity("document")]
        return {"kind": self.kind, "version": self.version, "embedding": vectors}

    def judge(self, requests: Sequence[JudgeRequest], resources: AnswerResources) -> Iterator[tuple[int, Judgement]]:
        """Yield the judgements in the order of the requests. Nothing fails but what the embedder cannot do."""
        if wrong := next((request.task for request in requests if request.task not in self.tasks), None):
            raise InputError(f"judge 'overlap' has no score for {wrong}", "name a judge with a language model for it, such as chat")
        for start in range(0, len(requests), _BLOCK):
            block = requests[start : start + _BLOCK]
            texts = ComparedTexts(itertools.chain.from_iterable(map(_read, block)), self.embedding, resources.vectors)
            known: dict[Any, Judgement] = {}
            for place, request in enumerate(block, start):
                key = (request.task, *_read(request))
                if key not in known:
                    known[key] = _judged(request, texts)
                yield place, known[key]


def _read(request: JudgeRequest) -> tuple[str, ...]:
    """Return the texts that a judgement reads."""
    passages = [passage.text for passage in request.passages]
    match request.task:
        case "support":
            return (request.claim, *passages)
        case "context_relevance":
            return (request.question, *passages)
        case "answer_relevance":
            return (request.question, request.answer)
        case _:
            return (request.answer, *request.expected)


def _judged(request: JudgeRequest, texts: ComparedTexts) -> Judgement:
    match request.task:
        case "support":
            return _support(request.claim, request.passages, texts)
        case "context_relevance":
            return _found(texts.evidence(request.question, [passage.text for passage in request.passages]).relevance, None)
        case "answer_relevance":
            return _found(texts.evidence(request.question, [request.answer]).relevance, None)
        case _:
            return _found(max((texts.evidence(expected, [request.answer]).support for expected in request.expected), default=None), None)


def _support(claim: str, passages: Sequence[Passage], texts: ComparedTexts) -> Judgement:
    evidence = texts.evidence(claim, [passage.text for passage in passages])
    return _found(evidence.support, evidence, claim)


def _found(score: float | None, evidence: Evidence | None, claim: str = "") -> Judgement:
    if score is None:
        return Judgement(error="the question has no expected answer")
    if evidence is None or evidence.passage < 0:
        return Judgement(float(score))
    different = flags(claim, evidence.text)
    return Judgement(float(score), passage=evidence.passage, start=evidence.start, end=evidence.end, flags=different)
