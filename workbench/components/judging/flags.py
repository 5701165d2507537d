"""Differences between a claim and the sentence that is closest to it. They explain a score and are no part of it."""

import functools
import re
from collections.abc import Mapping

from workbench.components.perturb.values import numbers_in

FLAGS = ("number", "negation", "antonym", "name")

_NEGATION = re.compile(r"\b(?:no|not|never|none|nobody|nothing|neither|nor|without|cannot)\b|n['’]t\b", re.IGNORECASE)
# A word in capitals, inside a sentence or with a second capital or digit.
_NAME = re.compile(r"(?<=[\w,;:] )[A-Z][\w&-]*\w|\b\w*[A-Z]\w*[A-Z\d]\w*\b")
_WORD = re.compile(r"[^\W\d_]+")
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
    return frozenset(_stemmed([word.casefold() for word in _WORD.findall(text)]))


def _stemmed(words: list[str]) -> list[str]:
    import Stemmer

    return list(Stemmer.Stemmer("english").stemWords(words))


@functools.cache
def _opposites() -> Mapping[str, frozenset[str]]:
    pairs = [_stemmed(pair.split()) for pair in _ANTONYMS.split(", ")]
    both = [*pairs, *([other, one] for one, other in pairs)]
    return {word: frozenset(other for one, other in both if one == word) for word, _ in both}
