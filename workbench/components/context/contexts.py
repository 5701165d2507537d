"""Make the context of a question under a condition, or say why the condition does not apply to it."""

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice, zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.components.context.conditions import GOLD, GOLD_DISTRACTORS, IRRELEVANT_ONLY, MISSING_GOLD, NONE, RETRIEVED
from workbench.components.context.context_packing import ContextPacking, PackedContext, PromptTokens, pack_context
from workbench.components.context.delivered_slices import DeliveredSlices, fewest_covering
from workbench.components.context.question_labels import QuestionLabels, missing_characters
from workbench.core.records import Passage
from workbench.core.text.words import words

UNANSWERABLE, UNLABELLED = "unanswerable", "the question has no relevant document"
NO_CHUNK = "no chunk contains any of the evidence"
NO_ROOM = "the evidence alone is as long as the retrieved context"
NO_DISTRACTOR = "no chunk without evidence was retrieved, and the question has no hard negative"
ALL_EVIDENCE = "every retrieved chunk contains evidence"
ANSWER_REMAINS = "a retrieved chunk without labelled evidence contains the expected answer"
ALL_RELEVANT = "every document is relevant or contains the expected answer"


def gold_passages(labels: QuestionLabels, slices: DeliveredSlices, k: int | None) -> list[Passage]:
    """Return the fewest slices with the evidence, need by need. Without evidence, return the best slices of relevant documents, at most k.

    Of a need's alternatives, the first is chosen of those that lose the fewest characters in the chunks.
    """
    if labels.needs:
        chosen = [passage for need in labels.needs for passage in _of_need(need, slices)]
        return list(dict.fromkeys(chosen))
    return best_of_documents([slices.of_document(doc_id) for doc_id in labels.relevant], labels)[:k]


def best_of_documents(documents: Sequence[Sequence[Passage]], labels: QuestionLabels) -> list[Passage]:
    """Order the slices of documents by the rare words that they share with the question and its expected answers.

    The best slice of every document comes first, then every document's second.
    """
    wanted = set(content_words(labels.query.text)).union(*map(content_words, labels.answers))
    words = {passage: wanted & set(content_words(passage.text)) for passages in documents for passage in passages}
    frequency = {word: sum(word in found for found in words.values()) for word in wanted}
    weight = {passage: sum(math.log1p(len(words) / frequency[word]) for word in sorted(found)) for passage, found in words.items()}
    by_document = [sorted(passages, key=lambda passage: -weight[passage]) for passages in documents]
    return [passage for rank in zip_longest(*by_document) for passage in rank if passage is not None]


def _of_need(need: Iterable[Passage], slices: DeliveredSlices) -> list[Passage]:
    covers = [(span, fewest_covering(span, slices.around(span))) for span in need]
    return min(covers, key=lambda cover: missing_characters(*cover))[1] if covers else []


@dataclass(frozen=True)
class ContextOutcome:
    """A context with the record of what is `planted` in it, or the `reason` why the condition does not apply to the question."""

    packed: PackedContext = field(default_factory=PackedContext)
    planted: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, eq=False)
class ContextBuilder:
    """Everything that the contexts of a configuration are made of.

    `prompt` counts the prompt of a question. `ranking` has the passages that retrieval delivers for each question, best first; it is empty
    for conditions without a ranking. Retrieval delivers at most `k` passages or `tokens` tokens, None for no limit, which conditions without
    a ranking keep to. `findable` has the documents that each question's filter allows, None for all.
    """

    slices: DeliveredSlices
    labels: Sequence[QuestionLabels]
    packing: ContextPacking
    prompt: Callable[[str], PromptTokens]
    ranking: Sequence[Sequence[Passage]] = ()
    k: int | None = None
    tokens: int | None = None
    findable: Callable[[int], npt.NDArray[np.bool_] | None] = lambda _: None
    _gold_contexts: dict[int, ContextOutcome] = field(default_factory=dict, init=False, repr=False)

    def make(self, condition: str, query: int) -> ContextOutcome:
        """Make the context of the question at a position. Contexts of `gold` are remembered, since perturbed ones and others begin with them."""
        if condition != GOLD:
            return self._makers[condition](query)
        if query not in self._gold_contexts:
            self._gold_contexts[query] = self._gold(query)
        return self._gold_contexts[query]

    @cached_property
    def _makers(self) -> dict[str, Callable[[int], ContextOutcome]]:
        return {
            NONE: lambda query: ContextOutcome(self._packed(query, ())),
            GOLD_DISTRACTORS: self._gold_distractors,
            RETRIEVED: lambda query: ContextOutcome(self._packed(query, self.ranking[query])),
            MISSING_GOLD: self._missing_gold,
            IRRELEVANT_ONLY: self._irrelevant,
        }

    def _packed(self, query: int, candidates: Sequence[Passage], tokens: int | None = None) -> PackedContext:
        return pack_context(candidates, self.packing, self.prompt(self.labels[query].query.text), tokens=tokens)

    def _unlabelled(self, query: int) -> str:
        labels = self.labels[query]
        if not labels.query.answerable:
            return UNANSWERABLE
        return "" if labels.needs or labels.relevant else UNLABELLED

    def _gold(self, query: int) -> ContextOutcome:
        if reason := self._unlabelled(query):
            return ContextOutcome(reason=reason)
        passages = gold_passages(self.labels[query], self.slices, self.k)
        return ContextOutcome(self._packed(query, passages)) if passages else ContextOutcome(reason=NO_CHUNK)

    def _gold_distractors(self, query: int) -> ContextOutcome:
        gold, labels = self.make(GOLD, query), self.labels[query]
        if gold.reason:
            return gold
        prompt = self.prompt(labels.query.text)
        room = self._packed(query, self.ranking[query]).total - prompt.overhead
        evidence = gold_passages(labels, self.slices, self.k)
        negatives = (passage for doc_id in labels.negatives for passage in self.slices.of_document(doc_id))
        distractors = [passage for passage in (*self.ranking[query], *negatives) if not labels.is_evident(passage)]
        if not distractors:
            return ContextOutcome(reason=NO_DISTRACTOR)
        packed = self._packed(query, [*evidence, *_filling(distractors, None, room, prompt)], room)
        return ContextOutcome(packed) if max(packed.ranks, default=0) > len(evidence) else ContextOutcome(reason=NO_ROOM)

    def _missing_gold(self, query: int) -> ContextOutcome:
        labels = self.labels[query]
        if reason := self._unlabelled(query):
            return ContextOutcome(reason=reason)
        packed = self._packed(query, [passage for passage in self.ranking[query] if not labels.is_evident(passage)])
        if any(holds_answer(passage.text, labels.answers) for passage in packed.passages):
            return ContextOutcome(reason=ANSWER_REMAINS)
        return ContextOutcome(packed) if packed.passages else ContextOutcome(reason=ALL_EVIDENCE)

    def _irrelevant(self, query: int) -> ContextOutcome:
        prompt = self.prompt(self.labels[query].query.text)
        room = self.packing.budget - prompt.overhead if self.tokens is None else self.tokens
        packed = self._packed(query, list(_filling(self._drawn(query), self.k, room, prompt)), self.tokens)
        return ContextOutcome(packed) if packed.passages else ContextOutcome(reason=ALL_RELEVANT)

    def _drawn(self, query: int) -> Iterator[Passage]:
        """Yield the slices of documents that are not relevant, in an order drawn by the question's id."""
        labels, findable = self.labels[query], self.findable(query)
        for row in np.random.default_rng(seed(labels.query.query_id)).permutation(len(self.slices)).tolist():
            passage = self.slices.passage(row)
            hidden = findable is not None and not findable[self.slices.doc[row]]
            if not (
                hidden or passage.doc_id in labels.relevant or labels.is_evident(passage) or holds_answer(passage.text, labels.answers)
            ):
                yield passage


def seed(query_id: str) -> int:
    """Return the seed of everything that is drawn for a question."""
    return int.from_bytes(hashlib.blake2b(query_id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def _filling(passages: Iterable[Passage], k: int | None, room: int, prompt: PromptTokens) -> Iterator[Passage]:
    """Yield passages until k of them or the room is used up, so that no further ones are tokenised."""
    for passage in islice(passages, k):
        if room <= 0:
            return
        room -= prompt.count(passage.text)
        yield passage


# A word is compared as its numbers and its letters: 5kg as 5 kg, don't as don t.
_PARTS = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_][^\d'_]*")
# The commas that separate thousands.
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ARTICLES = frozenset({"a", "an", "the", "der", "die", "das", "ein", "eine"})
# Words that answer a question without naming anything that a passage could contain.
_POLARITY = frozenset({"yes", "no", "ja", "nein", "not", "never", "true", "false"})
# Passages, which are compared with the answers of many questions.
_REMEMBERED = 8_192
# A single word or number of fewer characters occurs almost anywhere.
_SHORTEST = 3


def content_words(text: str) -> tuple[str, ...]:
    """Return the words and numbers of a text in order, in lower case and without articles. Thousands are not separated."""
    parts = (part for word in words(_THOUSANDS.sub("", text)) for part in _PARTS.findall(word))
    return tuple(part for part in parts if part not in _ARTICLES)


def holds_answer(text: str, answers: Iterable[str]) -> bool:
    """Return True if a text contains all words of an expected answer in their order. Answers of yes and no are not looked for."""
    return any(f" {' '.join(answer)} " in _line(text) for answer in map(content_words, answers) if _is_telling(answer))


@lru_cache(maxsize=_REMEMBERED)
def _line(text: str) -> str:
    return f" {' '.join(content_words(text))} "


def _is_telling(answer: tuple[str, ...]) -> bool:
    telling = [word for word in answer if word not in _POLARITY]
    return len(telling) > 1 or any(len(word) >= _SHORTEST for word in telling)
