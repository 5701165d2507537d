"""Agreement of an answer's words with the expected answer: exact match, token F1 and token recall."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np

from workbench.core.words import VERSION, folded, terms, without_blanks
from workbench.metrics.case import Case, Cut, MetricValues
from workbench.metrics.definition import ANSWERABLE, EXPECTED, MetricDefinition

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
# What string.punctuation has besides the punctuation of Unicode.
_SYMBOLS = frozenset("$+<=>^`|~")
# The marks of cited passages, such as [1] and [1, 3-4].
_CITATIONS = re.compile(r"\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\]")


class _Letters(dict[int, int | None]):
    """Maps the number of a character to itself, or to None if it is punctuation."""

    def __missing__(self, number: int) -> int | None:
        char = chr(number)
        self[number] = None if char in _SYMBOLS or unicodedata.category(char).startswith("P") else number
        return self[number]


_LETTERS = _Letters()


def normalised(text: str) -> str:
    """Return the text in lower case without punctuation, articles and repeated blanks (Rajpurkar et al. 2016).

    Besides ASCII punctuation, that of Unicode is removed, and so are the blanks beside letters of scripts without blanks between words.
    """
    return without_blanks(" ".join(_ARTICLES.sub(" ", folded(text).translate(_LETTERS)).split()))


def tokens(text: str) -> list[str]:
    """Return the words of a normalised text; in scripts without blanks, each letter and each pair of neighbouring letters.

    A text of symbols only is one token.
    """
    plain = normalised(text)
    return terms(plain) or [*filter(None, [plain])]


def without_citations(text: str) -> str:
    """Remove the marks of cited passages, such as `[1]`, which are not words of the answer."""
    return _CITATIONS.sub(" ", text)


def token_f1_of(answer: str, expected: str) -> float:
    """Return the harmonic mean of the shares of the answer's and the expected answer's tokens that both have."""
    given, wanted = tokens(answer), tokens(expected)
    if not given or not wanted:
        return float(given == wanted)
    return 2 * _common(given, wanted) / (len(given) + len(wanted))


def token_recall_of(answer: str, expected: str) -> float:
    """Return the share of the expected answer's tokens that the answer has."""
    given, wanted = tokens(answer), tokens(expected)
    return _common(given, wanted) / len(wanted) if wanted else float(given == wanted)


def exact_match(case: Case, _: Cut) -> MetricValues:
    """1 if the normalised answer equals the expected answer or one of its variants."""
    return best_expected(case, lambda answer, expected: float(normalised(answer) == normalised(expected)))


def token_f1(case: Case, _: Cut) -> MetricValues:
    """2 common / (answer tokens + expected tokens), the best over the expected answer and its variants."""
    return best_expected(case, token_f1_of)


def answer_recall(case: Case, _: Cut) -> MetricValues:
    """Common tokens / tokens of the expected answer, which long answers do not lower."""
    return best_expected(case, token_recall_of)


def best_expected(case: Case, agreement: Callable[[str, str], float]) -> MetricValues:
    """Return the best agreement of each answer with an expected one: 0 for a refusal."""
    answers, values = case.answers, np.zeros(len(case))
    for place, expected in enumerate(case.labels.expected):
        if not answers.refused[place]:
            answer = without_citations(answers.texts[place])
            values[place] = max((agreement(answer, text) for text in expected), default=0.0)
    return MetricValues(values)


def _common(given: list[str], wanted: list[str]) -> int:
    return sum((Counter(given) & Counter(wanted)).values())


# The values depend on words.
WORDS_VERSION = 1 + VERSION
_metric = partial(
    MetricDefinition,
    reads=("answer",),
    requires=(ANSWERABLE, EXPECTED),
    source="Rajpurkar et al. 2016, SQuAD: lower case, without punctuation and articles; in scripts without blanks, the tokens are letters and pairs of them",
    version=WORDS_VERSION,
    usual=True,
    compares="words",
)
OVERLAP_METRICS = (
    _metric(
        "answer_recall",
        answer_recall,
        definition="share of the expected answer's tokens that the answer has, the best over its variants",
        formula="common / expected tokens; 0 for a refusal",
    ),
    _metric(
        "token_f1",
        token_f1,
        aliases=("f1",),
        definition="F1 of the answer's tokens and those of the expected answer, the best over its variants",
        formula="2 common / (answer tokens + expected tokens); 0 for a refusal",
    ),
    _metric(
        "exact_match",
        exact_match,
        aliases=("em",),
        definition="1 if the answer equals the expected answer or one of its variants",
        formula="1 if the normalised texts are equal, else 0; 0 for a refusal",
    ),
)
