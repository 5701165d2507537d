"""Whether two short answers say the same."""

import re

from workbench.context.answer_words import content_words
from workbench.generation.passages import cosines
from workbench.storage.vector_cache import VectorCache

# The share of the expected answer's words that the other must have, or else their cosine. Numbers and negations must agree in any case.
WORDS, COSINE = 0.5, 0.8
_NEGATION = re.compile(r"\b(?:no|not|never|none|neither|nor|nobody|nothing|without|cannot|nein|nicht|nie|niemand|kein\w*|ohne)\b|n't\b")


def answers_agree(answer: str, expected: str, cache: VectorCache) -> bool:
    """Return whether an answer says what the expected one says: the same numbers and negations, and the same words or meaning.

    Answers that say the same in other words and numbers ("thirty days") may not be recognised, which costs a candidate but accepts no wrong one.
    """
    given, wanted = content_words(answer), content_words(expected)
    if not given or not wanted:
        return False
    if {word for word in wanted if word[0].isdigit()} - set(given):
        return False
    if bool(_NEGATION.search(_plain(answer))) != bool(_NEGATION.search(_plain(expected))):
        return False
    if len(set(given) & set(wanted)) >= WORDS * len(set(wanted)):
        return True
    return bool(cosines([answer], [expected], cache)[0, 0] >= COSINE)


def _plain(text: str) -> str:
    return text.casefold().replace("’", "'")
