"""Questions as texts: which are the same, and which are nearly the same."""

from collections.abc import Sequence

import numpy as np

from workbench.components.perturb.values import WORDS
from workbench.core.storage.vector_cache import Vectors
from workbench.core.text.words import folded, terms
from workbench.measures.metrics.coverage import Ints

# Of all-MiniLM-L6-v2. Rule paraphrases are this similar to their original in 89 % of cases, other questions of denser sets in 0 to 7 %.
NEAR = 0.85
# Letters of a question that are compared. What is longer is no question, and takes seconds.
LONGEST = 4_000
_NEGATION_WORDS = (
    "no not never none nobody nothing neither nor without cannot nein nicht nie niemals niemand nichts ohne kein keine keinen keiner keinem keines non ne "
    "pas jamais aucun aucune sans rien ni sin nunca nadie nada não nem sem nunca nenhum nenhuma niente nessuno nessuna senza mai geen niet nooit zonder "
    "niets inte ingen inga aldrig utan ikke aldri uten bez nigdy нет не ни без никогда yok değil لا ليس אין नहीं tidak 不 没 沒 无 無 非 未 ない せん なし ไม่"
)
_NEGATIONS = frozenset(_NEGATION_WORDS.split())


def normalised(text: str) -> str:
    """Return a question without case, repeated blanks and marks at its end, so that equal questions are equal texts."""
    return " ".join(folded(text[:LONGEST]).split()).rstrip(" ?!.？。！؟")


def signature(text: str) -> tuple[str, ...]:
    """Return the numbers of a question, in digits or words, and `not` if it is negated: near-duplicates must agree in them.

    "12 metres" and "14 metres" have a cosine of .95, "am I allowed" and "am I not allowed" one of .98. "One" is no number: it is often a pronoun.
    """
    parts = terms(text)
    numbers = {str(WORDS.get(part, part)) for part in parts if part != "one" and (part in WORDS or any(map(str.isdigit, part)))}
    return (*sorted(numbers), *(("not",) if any(part in _NEGATIONS or part.endswith("n't") for part in parts) else ()))


def leaders(vectors: Vectors, signatures: Sequence[tuple[str, ...]], least: float = NEAR) -> Ints:
    """Return the place of the leader of each question (n): the first leader before it with its signature and a cosine of `least`, else itself.

    `vectors` are unit vectors, float32 (n, dimension). The order of the questions decides, so the most frequent should be first.
    """
    leader = np.full(len(vectors), -1, dtype=np.int64)
    groups: dict[tuple[str, ...], list[int]] = {}
    for question, key in enumerate(signatures):
        groups.setdefault(key, []).append(question)
    for members in map(np.array, groups.values()):
        own = vectors[members]
        for number, question in enumerate(members.tolist()):
            if leader[question] < 0:
                leader[question] = question
                later = members[number:]
                leader[later[(leader[later] < 0) & (own[number:] @ own[number] >= least)]] = question
    return leader
