"""A score by words, numbers and embeddings: how much of a text appears in others. No language model is needed."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BeforeValidator, Field, SerializeAsAny

from workbench.answering.base import AnswerResources
from workbench.core.words import VERSION
from workbench.embedding.base import Embedder
from workbench.embedding.registry import EMBEDDERS
from workbench.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.errors import InputError
from workbench.judging.base import Judge, Judgement, JudgeRequest, Task
from workbench.judging.compared_texts import ComparedTexts
from workbench.judging.flags import flags

# Requests whose sentences are in memory together.
_BLOCK = 2_048


def _embedder(settings: Any) -> Any:
    """Make an embedder from its settings with their `kind`."""
    if not isinstance(settings, dict):
        return settings
    kind = settings.get("kind", "sentence-transformers")
    if not isinstance(kind, str) or kind not in EMBEDDERS:
        raise ValueError(f"no kind {kind!r}; kinds are {', '.join(EMBEDDERS)}")
    return EMBEDDERS[kind].model_validate(settings)


class OverlapJudge(Judge):
    """The share of the words, numbers and meaning of a text that appears in another. It gives scores from 0 to 1, and no verdicts.

    Support of a claim: the mean of two parts. One is the largest share of its words, times the share of its numbers, in three consecutive
    sentences of a passage; the other the largest cosine with a sentence. The score hardly sees a negation, another name or another relation.
    Relevance to a question: the largest cosine of a sentence with it. Correctness: the support of the expected answer by the answer, the largest of its
    variants. Words are stemmed, without stop words. The embedder is that of the judge, not of the configuration, so that one
    measure judges all configurations.
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
        """Return the versions of the judge and of words, and everything that determines a vector."""
        vectors = [self.embedding.identity("query"), self.embedding.identity("document")]
        return {"kind": self.kind, "version": self.version, "words": VERSION, "embedding": vectors}

    def judge(self, requests: Sequence[JudgeRequest], resources: AnswerResources) -> Iterator[tuple[int, Judgement]]:
        """Yield the judgements in the order of the requests. Equal requests are judged once."""
        if wrong := next((request.task for request in requests if request.task not in self.tasks), None):
            raise InputError(f"judge 'overlap' has no score for {wrong}", "name a judge with a language model for it, such as chat")
        for start in range(0, len(requests), _BLOCK):
            read = [_Read.of(request) for request in requests[start : start + _BLOCK]]
            wanted = {text for request in read for text in request.wanted}
            passages = {text for request in read for text in request.passages}
            texts = ComparedTexts(sorted(wanted), sorted(passages), self.embedding, resources.vectors)
            judged = {request: _judged(request, texts) for request in dict.fromkeys(read)}
            yield from ((place, judged[request]) for place, request in enumerate(read, start))


class _Read(NamedTuple):
    """The texts of a request that a judgement reads: those to find, any of which is enough, and those to find them in."""

    task: Task
    wanted: tuple[str, ...]
    passages: tuple[str, ...]

    @classmethod
    def of(cls, request: JudgeRequest) -> "_Read":
        passages = tuple(passage.text for passage in request.passages)
        match request.task:
            case "support":
                return cls(request.task, (request.claim,), passages)
            case "context_relevance":
                return cls(request.task, (request.question,), passages)
            case "answer_relevance":
                return cls(request.task, (request.question,), (request.answer,))
            case _:
                return cls(request.task, request.expected, (request.answer,))


def _judged(read: _Read, texts: ComparedTexts) -> Judgement:
    if not read.wanted:
        return Judgement(error="the question has no expected answer")
    if read.task in ("context_relevance", "answer_relevance"):
        return Judgement(texts.cosine(read.wanted[0], read.passages))
    found = [texts.evidence(text, read.passages) for text in read.wanted]
    if read.task == "correctness":
        return Judgement(max(evidence.support for evidence in found))
    evidence = found[0]
    different = flags(read.wanted[0], evidence.text) if evidence.text else ()
    return Judgement(evidence.support, passage=evidence.passage, start=evidence.start, end=evidence.end, flags=different)
