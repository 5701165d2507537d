"""A score by words, numbers and embeddings: how much of a text appears in others. No language model is needed."""

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, SerializeAsAny

from workbench.components.answering.base import AnswerResources
from workbench.components.chunking.packing import Slice
from workbench.components.chunking.sentences import quotable
from workbench.components.embedding.base import Embedder
from workbench.components.embedding.embed import Words, read_texts
from workbench.components.embedding.registry import EMBEDDERS
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.judging.base import Judge, Judgement, JudgeRequest, Task
from workbench.core.environment import require_installed
from workbench.core.errors import InputError
from workbench.core.fingerprint import fingerprint
from workbench.core.storage.vector_cache import VectorCache, Vectors
from workbench.core.text.dates_and_numbers import numbers_in
from workbench.core.text.words import VERSION

Floats = NDArray[np.float64]

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
# Batches of other shapes change the seventh decimal, which must not change a score.
_DECIMALS = 5
# Consecutive sentences that are read together.
_WINDOW = 3
# 60 MB of vectors from all-MiniLM-L6-v2.
_MOST_SENTENCES = 40_000


@dataclass(frozen=True)
class Evidence:
    """The share of a text that passages contain, from 0 to 1, and the sentence that is closest to it.

    `overlap` is the largest share of the text's words times the share of its numbers in a few consecutive sentences, `cosine` the largest of a
    sentence. The closest sentence is [start, end) of the passage with this number, and its text; -1 and empty if no sentence shares anything.
    """

    overlap: float = 0.0
    cosine: float = 0.0
    passage: int = -1
    start: int = -1
    end: int = -1
    text: str = ""

    @property
    def support(self) -> float:
        """Return the mean of overlap and cosine."""
        return round(0.5 * self.overlap + 0.5 * self.cosine, _DECIMALS)


@dataclass(frozen=True)
class _Passage:
    """The sentences of a passage: slices, vectors (n, dimension), words; and the words and numbers of each with the sentences after it."""

    slices: Sequence[Slice]
    vectors: Vectors
    words: Sequence[Words]
    window_words: Sequence[Words]
    window_numbers: Sequence[Words]


_MEMORY: dict[tuple[str, str], _Passage] = {}


class ComparedTexts:
    """Some texts, and the passages that they are compared with. Passages are remembered, since configurations share many."""

    def __init__(self, texts: Iterable[str], passages: Iterable[str], embedder: Embedder, cache: VectorCache) -> None:
        self._texts = read_texts(texts, embedder, "document", cache)
        self._passages = _remembered(dict.fromkeys(passages), embedder, cache)

    def evidence(self, text: str, passages: Sequence[str]) -> Evidence:
        """Find a text in passages. A text without numbers has them all; of a text without words, nothing is contained."""
        cosines = self._cosines(text, passages)
        if not len(cosines):
            return Evidence()
        words, numbers = self._texts[text].words, numbers_of(text)
        parts = [self._passages[passage] for passage in passages]
        overlaps = _shares(words, (window for part in parts for window in part.window_words))
        if numbers:
            overlaps *= _shares(numbers, (window for part in parts for window in part.window_numbers))
        closeness = cosines + _shares(words, (sentence for part in parts for sentence in part.words))
        best = int(np.argmax(closeness))
        found = Evidence(float(overlaps.max()), float(cosines.max()))
        if not closeness[best]:
            return found
        number, (start, end) = next(itertools.islice(_places(parts), best, None))
        return replace(found, passage=number, start=start, end=end, text=passages[number][start:end])

    def cosine(self, text: str, passages: Sequence[str]) -> float:
        """Return the largest cosine of a sentence of the passages with a text, 0 without a sentence."""
        return float(self._cosines(text, passages).max(initial=0.0))

    def _cosines(self, text: str, passages: Sequence[str]) -> Floats:
        cosines = [self._passages[passage].vectors @ self._texts[text].vector for passage in passages if self._passages[passage].slices]
        found: Floats = np.round(np.clip(np.concatenate([np.zeros(0), *cosines]), 0, 1), _DECIMALS)
        return found


def numbers_of(text: str) -> Words:
    """Return the numbers of a text in digits, without separators of thousands. Numbers in words are included."""
    written = {number.replace(",", "") for number in _NUMBER.findall(text)}
    return frozenset(written | {f"{number.value.normalize():f}" for number in numbers_in(text)})


def _places(parts: Sequence[_Passage]) -> Iterable[tuple[int, Slice]]:
    return ((number, piece) for number, part in enumerate(parts) for piece in part.slices)


def _shares(wanted: Words, found: Iterable[Words]) -> Floats:
    return np.array([len(wanted & some) for some in found], dtype=np.float64) / max(1, len(wanted))


def _windows(sets: Sequence[Words]) -> list[Words]:
    """Return the union of each set with those after it."""
    return [frozenset().union(*sets[place : place + _WINDOW]) for place in range(len(sets))]


def _remembered(texts: Iterable[str], embedder: Embedder, cache: VectorCache) -> Mapping[str, _Passage]:
    """Return the passages, reading those that this process does not remember."""
    identity = fingerprint(embedder.identity("document"))
    known = {text: _MEMORY[identity, text] for text in texts if (identity, text) in _MEMORY}
    known |= _read([text for text in texts if text not in known], embedder, cache)
    _MEMORY.update({(identity, text): passage for text, passage in known.items()})
    if sum(len(passage.slices) for passage in _MEMORY.values()) > _MOST_SENTENCES:
        _MEMORY.clear()
    return known


def _read(texts: Sequence[str], embedder: Embedder, cache: VectorCache) -> dict[str, _Passage]:
    slices = {text: quotable(text) for text in texts}
    units = {text: [text[start:end] for start, end in pieces] for text, pieces in slices.items()}
    read = read_texts(itertools.chain.from_iterable(units.values()), embedder, "document", cache)
    numbers = {unit: numbers_of(unit) for unit in read}

    def passage(text: str) -> _Passage:
        vectors = np.stack([read[unit].vector for unit in units[text]]) if units[text] else np.zeros((0, 1), dtype=np.float32)
        words = [read[unit].words for unit in units[text]]
        return _Passage(slices[text], vectors, words, _windows(words), _windows([numbers[unit] for unit in units[text]]))

    return {text: passage(text) for text in texts}


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
        require_installed("the judge 'overlap'", "bm25s", "Stemmer")
        self.embedding.check()

    def identity(self, task: Task) -> dict[str, Any]:
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


FLAGS = ("number", "negation", "antonym", "name")

_NEGATION = re.compile(r"\b(?:no|not|never|none|nobody|nothing|neither|nor|without|cannot)\b|n['’]t\b", re.IGNORECASE)
# A word in capitals, inside a sentence or with a second capital or digit.
_NAME = re.compile(r"(?<=[\w,;:] )[A-Z][\w&-]*\w|\b\w*[A-Z]\w*[A-Z\d]\w*\b")
_LETTERS = re.compile(r"[^\W\d_]+")
_ANTONYMS = (
    "before after, always never, all none, every none, minimum maximum, most least, more less, more fewer, above below, over under, first last, increase"
    " decrease, rise fall, raise lower, high low, higher lower, highest lowest, include exclude, allow forbid, allow prohibit, permit forbid, may must,"
    " required optional, mandatory optional, mandatory voluntary, open close, start end, begin end, early late, earlier later, earliest latest,"
    " internal external, inside outside, with without, paid unpaid, accept reject, accept refuse, approve reject, approve refuse, enable disable,"
    " upper lower, long short, longer shorter, longest shortest, old new, older newer, oldest newest, public private, public secret, same different, import"
    " export, buy sell, credit debit, day night, inbound outbound, gross net, major minor, large small, larger smaller, largest smallest, win lose, arrive"
    " depart, join leave, add remove, valid invalid, true false, succeed fail, entry exit, lend borrow, both neither, only also, up down, on off"
)


def flags(claim: str, sentence: str) -> tuple[str, ...]:
    """Return in which ways a claim differs from a sentence, in order of FLAGS.

    `number`: it has a number that the sentence, which has numbers, does not have. `negation`: one of them is negated. `antonym`: it has the opposite of a
    word of the sentence. `name`: it has a name that the sentence does not have.
    """
    found = (
        _has_other_number(claim, sentence),
        bool(_NEGATION.search(claim)) != bool(_NEGATION.search(sentence)),
        _has_antonym(claim, sentence),
        _has_other_name(claim, sentence),
    )
    return tuple(flag for flag, is_found in zip(FLAGS, found, strict=True) if is_found)


def _has_other_number(claim: str, sentence: str) -> bool:
    there = {number.value for number in numbers_in(sentence)}
    return bool(there) and any(number.value not in there for number in numbers_in(claim))


def _has_antonym(claim: str, sentence: str) -> bool:
    own, other = _stems(claim), _stems(sentence)
    return any(_opposites()[stem] & (other - own) for stem in own - other if stem in _opposites())


def _has_other_name(claim: str, sentence: str) -> bool:
    there = sentence.casefold()
    return any(name.casefold() not in there for name in _NAME.findall(claim))


def _stems(text: str) -> frozenset[str]:
    return frozenset(_stemmed([word.casefold() for word in _LETTERS.findall(text)]))


def _stemmed(words: list[str]) -> list[str]:
    import Stemmer

    return list(Stemmer.Stemmer("english").stemWords(words))


@functools.cache
def _opposites() -> Mapping[str, frozenset[str]]:
    pairs = [_stemmed(pair.split()) for pair in _ANTONYMS.split(", ")]
    both = [*pairs, *([other, one] for one, other in pairs)]
    return {word: frozenset(other for one, other in both if one == word) for word, _ in both}
