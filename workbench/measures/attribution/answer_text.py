"""Signs of a failure in the texts of a question, its context and its answer, without a judge."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from workbench.components.answering.refusals import is_refusal
from workbench.components.chunking.sentences import sentences
from workbench.core.records import Passage, Query
from workbench.core.text.words import words
from workbench.measures.metrics.answers import normalised, tokens, without_citations

# Shorter answers are in other passages by chance, and count only in delivered evidence. Measured in docs/attribution.md.
FEWEST_WORDS = 4
# The words of an expected answer can be in another order, and among as many others.
_STRETCH = 2
# 1 000 is one number, as 1,000 is.
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:[ \u00a0\u2009\u202f]\d{3})+(?![\d.,]?\d)")
# Chunkers omit the blanks between two chunks.
_MOST_BLANKS = 2
# A question that asks for more than yes or no takes something for granted.
_OPEN = re.compile(
    r"\b(?:who|whom|whose|what|when|where|which|why|how|wer|wen|wem|was|wann|wo|woher|wohin|warum|wieso|weshalb|wie|welche[mnrs]?)\b", re.I
)
_DENIAL = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|cannot|false|incorrect|nicht|nie|niemals|niemand|nichts|keine?[mnrs]?)\b|n['’]t\b",
    re.I,
)
_CONTENT_LETTERS, _SHARED_WORDS = 4, 2


@dataclass(frozen=True, slots=True)
class AnswerText:
    """Signs in the text of an answer.

    `empty`: it has no word. `truncated`: the generator was cut off at its token limit. `expected`: it states the expected answer, which is no
    single word such as "yes". `equal`: it has the words of an expected answer and no others. `denies`: it denies what an open question takes for granted. `invented`: the first sentence after a refusal with a number that neither
    the context nor the question has.
    """

    empty: bool = False
    truncated: bool = False
    expected: bool = False
    equal: bool = False
    denies: bool = False
    invented: str = ""


def expected_answers(query: Query) -> tuple[str, ...]:
    """Return the expected answer of a question and its variants."""
    return tuple(filter(str.strip, (query.answer, *query.answer_variants)))


def answer_text(query: Query, passages: Sequence[Passage], answer: str, *, refused: bool, truncated: bool = False) -> AnswerText:
    """Read an answer to a question from the passages of its context."""
    return AnswerText(
        empty=not words(answer),
        truncated=truncated,
        expected=states(without_citations(answer), _telling(expected_answers(query))),
        equal=any(_tokens(without_citations(answer)) == wanted for each in expected_answers(query) if (wanted := _tokens(each))),
        denies=not query.answerable and not refused and _denies(query.text, answer),
        invented=_invented(query.text, passages, answer) if refused else "",
    )


def states(text: str, expected: Iterable[str]) -> bool:
    """Check that a text contains all words of an expected answer, in any order and near to each other.

    Case, punctuation, articles and the form of numbers make no difference, as for `answer_recall`.

    Examples
    --------
    >>> states("The fee for a berth is €1,000 a year.", ["1000 a year"])
    True
    """
    found = _tokens(text)
    return any(_near(_tokens(each), found) for each in expected)


def delivers(passages: Sequence[Passage], expected: Sequence[str]) -> bool:
    """Check that a context contains an expected answer that is long enough to be no coincidence."""
    telling = [each for each in expected if len(words(normalised(each))) >= FEWEST_WORDS]
    return bool(telling) and any(states(text, telling) for text in _joined(passages))


def delivers_part(passages: Sequence[Passage], evidence: Passage, expected: Sequence[str]) -> bool:
    """Check that the delivered part of a piece of evidence contains an expected answer, which can be short, but not a single word."""
    telling = _telling(expected)
    near = (each for each in passages if each.doc_id == evidence.doc_id and each.start < evidence.end and evidence.start < each.end)
    parts = (
        evidence.text[max(each.start - evidence.start, 0) : each.end - evidence.start] for each in sorted(near, key=lambda each: each.start)
    )
    return states(" ".join(parts), telling)


def _telling(expected: Sequence[str]) -> list[str]:
    """Return the expected answers that are no single word, such as "yes", unless it is a number."""
    return [each for each in expected if len(found := _tokens(each)) > 1 or (found and found[0].isdigit())]


@lru_cache(maxsize=2**14)
def _tokens(text: str) -> tuple[str, ...]:
    return tuple(tokens(_GROUPED.sub(lambda number: re.sub(r"\D", "", number[0]), text)))


def _near(wanted: Sequence[str], found: Sequence[str]) -> bool:
    """Check that a stretch of a text has all the wanted words."""
    missing, width = Counter(wanted), _STRETCH * len(wanted) if len(wanted) > 1 else 1
    left = len(missing)
    if not left:
        return False
    for place, word in enumerate(found):
        if word in missing:
            missing[word] -= 1
            left -= missing[word] == 0
        if place >= width and (gone := found[place - width]) in missing:
            left += missing[gone] == 0
            missing[gone] += 1
        if not left:
            return True
    return False


def _joined(passages: Sequence[Passage]) -> list[str]:
    """Return the texts of passages, those that follow each other in a document as one."""
    texts: list[str] = []
    before: Passage | None = None
    for each in sorted(passages, key=lambda each: (each.doc_id, each.start, each.end)):
        if before and each.doc_id == before.doc_id and each.start <= before.end + _MOST_BLANKS and not (each.planted or before.planted):
            if each.end <= before.end:
                continue
            texts[-1] += each.text[before.end - each.start :] if each.start < before.end else f" {each.text}"
        else:
            texts.append(each.text)
        before = each
    return texts


def _denies(question: str, answer: str) -> bool:
    start, end = next(iter(sentences(answer)), (0, 0))
    first = answer[start:end]
    return bool(_OPEN.search(question) and _DENIAL.search(first)) and len(_content(first) & _content(question)) >= _SHARED_WORDS


def _content(text: str) -> set[str]:
    return {word for word in words(text) if len(word) >= _CONTENT_LETTERS}


def _invented(question: str, passages: Sequence[Passage], answer: str) -> str:
    known = {number for text in (question, *(each.text for each in passages)) for number in _tokens(text) if number.isdigit()}
    plain = without_citations(answer)
    for start, end in sentences(plain):
        sentence = plain[start:end]
        if not is_refusal(sentence) and any(number.isdigit() and number not in known for number in _tokens(sentence)):
            return sentence
    return ""
