"""What the replies of a target state."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from workbench.answering.base import Answer
from workbench.core.words import folded, terms, whole
from workbench.records import TargetHit
from workbench.targets.freshness.cases import Stated


@dataclass(frozen=True)
class ObservedReply:
    """The reply to one question: hits and answer, each None with the reason why there is none."""

    hits: tuple[TargetHit, ...] | None = None
    answer: Answer | None = None
    no_hits: str = ""
    no_answer: str = ""

    def texts(self, part: str) -> tuple[list[str], str]:
        """Return the texts of a part, `chunks` or `answer`, or the reason why there are none."""
        if part == "answer":
            return ([self.answer.text], "") if self.answer else ([], self.no_answer)
        texts = [hit.text for hit in self.hits or () if hit.text]
        return texts, self.no_hits if self.hits is None else "" if texts or not self.hits else "the hits have no text"


def seen(texts: Sequence[str], stated: Stated, part: str) -> str:
    """Return the words by which texts state a value, or an empty text.

    They are the passage that states it in the document. An answer can use other words, so the value alone is enough in its text.
    """
    phrases = (stated.passage, stated.value) if part == "answer" else (stated.passage,)
    return next((phrase for phrase in phrases if any(contains(text, phrase) for text in texts)), "")


def has_words(texts: Sequence[str], phrase: str) -> bool:
    """Return whether texts have all words and numbers of a phrase, each in any of them."""
    return set(terms(phrase)) <= {term for text in texts for term in terms(text)}


def contained(phrase: str, documents: Collection[str]) -> bool:
    """Return whether one of the documents contains a phrase."""
    return any(contains(text, phrase) for text in documents)


def contains(text: str, phrase: str) -> bool:
    """Return whether a text contains a phrase as whole words and numbers, in any case and with any blanks between the words.

    Examples
    --------
    >>> contains("after 14  days", "14 days"), contains("114 days", "14 days"), contains("a factor of 1.25", "1.2"), contains("3,180", "180")
    (True, False, False, False)
    """
    words, folded = _folded(phrase), _folded(text)
    # The pattern is slow, and most texts do not contain the phrase at all.
    return bool(words) and words in folded and whole(words).search(folded) is not None


@lru_cache(maxsize=1024)
def _folded(text: str) -> str:
    return folded(" ".join(text.split()))


def hit_keys(hits: Sequence[TargetHit]) -> list[tuple[str, str, int, int]]:
    """Return what identifies each hit, sorted, so that hits of equal scores can be in any order."""
    return sorted(
        (hit.doc_id or "", hit.text or "", -1 if hit.start is None else hit.start, -1 if hit.end is None else hit.end) for hit in hits
    )
