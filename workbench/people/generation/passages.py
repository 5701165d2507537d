"""The passages of the documents: their order for asking, their similarity to a text, and the evidence that is quoted from them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, zip_longest

import numpy as np
from numpy.typing import NDArray

from workbench.components.chunking.markdown import MarkdownChunker
from workbench.components.context.contexts import content_words
from workbench.components.embedding.embed import embed
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.core.fingerprint import fingerprint
from workbench.core.records import Chunk, Document, Span
from workbench.core.storage.vector_cache import VectorCache, Vectors
from workbench.core.text.dates_and_numbers import WORDS as NUMBER_WORDS
from workbench.data.labels import TextSearch
from workbench.llm.models.files import MINILM

# Embeds questions, passages and answers, whichever models an experiment compares later.
EMBEDDER = SentenceTransformerEmbedder(model=MINILM)
# Shorter passages are headings and remains, which answer nothing.
_SHORTEST = 200
# Batches of other shapes change the seventh decimal, which must not change a result.
_DECIMALS = 5
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PassageIndex:
    """All passages in order of their documents, with their unit vectors, float32 (passages, dimension)."""

    passages: tuple[Chunk, ...]
    vectors: Vectors
    cache: VectorCache

    @classmethod
    def of(cls, documents: Sequence[Document], tokens: int, cache: VectorCache) -> "PassageIndex":
        chunker = MarkdownChunker(size=tokens, enrich=True, model=EMBEDDER.vocabulary)
        passages = tuple(chunk for document in documents for chunk in chunker.split(document))
        vectors = embed([passage.embedded_text for passage in passages], EMBEDDER, "document", cache, "passages").vectors
        return cls(passages, vectors, cache)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {passage.chunk_id: number for number, passage in enumerate(self.passages)}

    def spread(self, seed: int) -> Iterator[Chunk]:
        """Yield all passages that are long enough, one of each document after the other, in an order that the seed determines."""
        long = [passage for passage in self.passages if len(passage.text) >= _SHORTEST] or self.passages
        by_document: dict[str, list[Chunk]] = {}
        # A hash in place of a generator: passages keep their order when documents are added.
        for passage in sorted(long, key=lambda passage: fingerprint(seed, passage.chunk_id)):
            by_document.setdefault(passage.doc_id, []).append(passage)
        for layer in zip_longest(*by_document.values()):
            yield from (passage for passage in layer if passage is not None)

    def beside(self, passage: Chunk) -> list[Chunk]:
        """Return the passages before and after a passage in its document."""
        own = self._numbers[passage.chunk_id]
        numbers = (number for number in (own - 1, own + 1) if 0 <= number < len(self.passages))
        return [self.passages[number] for number in numbers if self.passages[number].doc_id == passage.doc_id]

    def partner(self, passage: Chunk) -> Chunk | None:
        """Return the passage of another document that is most similar, or None if there is only one document."""
        scores = self.vectors @ self.vectors[self._numbers[passage.chunk_id]]
        ranked = (self.passages[number] for number in _ranked(scores))
        return next((other for other in ranked if other.doc_id != passage.doc_id and len(other.text) >= _SHORTEST), None)

    def search(self, text: str) -> list[tuple[Chunk, float]]:
        """Return all passages with their cosine to a text, the most similar first."""
        scores = np.round(self.vectors @ text_vectors([text], self.cache)[0], _DECIMALS)
        return [(self.passages[number], float(scores[number])) for number in _ranked(scores)]


def _ranked(scores: NDArray[np.float32]) -> list[int]:
    ranked: list[int] = np.argsort(-np.round(scores, _DECIMALS), kind="stable").tolist()
    return ranked


def text_vectors(texts: Sequence[str], cache: VectorCache) -> Vectors:
    """Return the unit vectors of questions or answers, float32 (texts, dimension)."""
    return embed(texts, EMBEDDER, "query", cache, "questions").vectors


def cosines(texts: Sequence[str], others: Sequence[str], cache: VectorCache) -> NDArray[np.float32]:
    """Return the cosine of each text with each of the others, float32 (texts, others)."""
    if not texts or not others:
        return np.zeros((len(texts), len(others)), dtype=np.float32)
    return np.round(text_vectors(texts, cache) @ text_vectors(others, cache).T, _DECIMALS)


# The share of the expected answer's words that the other must have, or else their cosine. Numbers and negations must agree in any case.
WORDS, COSINE = 0.6, 0.8
_NEGATION = re.compile(r"\b(?:no|not|never|none|neither|nor|nobody|nothing|without|cannot|nein|nicht|nie|niemand|kein\w*|ohne)\b|n't\b")
_NUMBERS = {word: str(value) for word, value in NUMBER_WORDS.items()} | {"hundred": "100"}
# Words that two answers share whatever they say.
_COMMON = "at in on of to for by is are be was were it its and or with from as that this which there has have you your they"

# Characters of evidence. Shorter texts recur by chance.
SHORTEST, LONGEST = 20, 800
# A text in more places is a formula, which answers no question by itself.
MOST_PLACES = 20
# Remains that are too short to answer anything.
_REMAINS = 20


def answers_agree(answer: str, expected: str, cache: VectorCache) -> bool:
    """Return True if an answer says what the expected one says: its numbers, a negation or none, and most of its words or a similar meaning.

    Answers that say the same in very other words are not recognised, which costs a candidate.
    """
    given, wanted = _words(answer), _words(expected)
    if not given or not wanted:
        return False
    if {word for word in wanted if word[0].isdigit()} - given:
        return False
    if bool(_NEGATION.search(_plain(answer))) != bool(_NEGATION.search(_plain(expected))):
        return False
    if len(given & wanted) >= WORDS * len(wanted):
        return True
    return bool(cosines([answer], [expected], cache)[0, 0] >= COSINE)


def _words(text: str) -> set[str]:
    """Return the words of a text that say something, with numbers as digits."""
    words = {_NUMBERS.get(word, word) for word in content_words(text)}
    return words.difference(_COMMON.split()) or words


def _plain(text: str) -> str:
    return text.casefold().replace("’", "'")


def find_evidence(quote: str, passage: Chunk, search: TextSearch) -> tuple[Span, ...]:
    """Return the places of a quote, that in the passage first: verbatim or with other white space. None if the passage does not contain it.

    Verbatim recurrences of the same text, in any document, are the other places, as `workbench dataset import --recurrences` finds them.
    """
    text = quote.strip()
    if not text:
        return ()
    for places in (search.verbatim, search.loosely):
        inside = (span for span in places(text, [passage.doc_id]) if passage.start <= span.start and span.end <= passage.end)
        if span := next(inside, None):
            exact = passage.document.text[span.start : span.end]
            return tuple(dict.fromkeys([span, *islice(search.verbatim(exact), MOST_PLACES + 1)]))
    return ()


def fits(spans: Sequence[Span]) -> bool:
    """Return True if evidence is neither too short nor too long, and in few places."""
    return SHORTEST <= spans[0].end - spans[0].start <= LONGEST and len(spans) <= MOST_PLACES


def without_evidence(passages: Iterable[Chunk], spans: Iterable[Span]) -> list[Chunk]:
    """Cut evidence out of passages, and return each remaining part as a passage."""
    cuts: dict[str, list[tuple[int, int]]] = {}
    for span in spans:
        cuts.setdefault(span.doc_id, []).append((span.start, span.end))
    parts: dict[str, Chunk] = {}
    for passage in passages:
        start = passage.start
        for low, high in [*sorted(cuts.get(passage.doc_id, ())), (passage.end, passage.end)]:
            end = min(max(low, start), passage.end)
            part = Chunk(passage.document, start, end, passage.header)
            if len(part.text.strip()) >= _REMAINS:
                parts.setdefault(part.chunk_id, part)
            start = min(max(start, high), passage.end)
    return list(parts.values())
