"""Hyphens at the ends of printed lines: some divide a word, the others are a part of it."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise

# Marks a hyphen at the end of a line in a text. A soft hyphen inside of a line has another character by then.
LINE_END_HYPHEN = "\u00ad"
_DIVIDED = re.compile(rf"(?<![^\s{LINE_END_HYPHEN}])[^\s{LINE_END_HYPHEN}]*(?:{LINE_END_HYPHEN}[^\s{LINE_END_HYPHEN}]*)+")
_WORD = re.compile(r"[^\W\d_]+")
_COMPOUND = re.compile(r"[^\W\d_]+(?:[-\u2010\u2011][^\W\d_]+)+")
_HYPHENS = ("-", "\u2010", "\u2011")
_LAST_LETTERS = re.compile(r"(?<!\w)[^\W\d_]+$")
_FIRST_LETTERS = re.compile(r"[^\W\d_]++(?![\d_])")
_ADDRESS = re.compile(r"[/\\@=]|www\.")
# Follow a suspended hyphen: "Ein- und Ausfuhr", "pre- and post-war".
_CONJUNCTIONS = "and or to und oder bzw sowie bis et ou y o e en of och eller og lub a ja tai"
# The first language is that of texts without any of the words.
_FUNCTION_WORDS = {
    "en": "the of and is to with",
    "de": "der die und ist nicht mit",
    "fr": "le les des est une dans",
    "es": "el los las una del por",
    "it": "il della che sono per gli",
    "nl": "het een van niet zijn voor",
    "pt": "os uma não dos para com",
    "pl": "w z na się jest do",
    "sv": "och att det är som för",
    "da": "og det er til af ikke",
    "cs": "je na se že které pro",
    "fi": "ja on ei että se oli",
    "hu": "az és hogy nem egy is",
    "ru": "и в на не что с",
}
# A text is also in a language with this share of the function words of its first one.
_SECOND_LANGUAGE = 0.33
# German nouns have capitals also inside of a compound, so that a hyphen before a small letter divides a word. Loans such as "Know-how" end shortly.
_GERMAN_NOUN, _LOANS = re.compile("[A-ZÄÖÜ][a-zäöüß]+"), 3


class LineEndHyphens:
    """Decide on the hyphens at line ends by the other words of a document, then by dictionaries of its languages.

    A hyphen is removed only between two small letters (the first word may begin with a capital) if the joined word is known: it occurs elsewhere, more
    often than with its hyphen, or is in a dictionary that does not have it with its hyphen too. Hyphens before digits and capitals, in addresses and in
    part numbers always stay, and so do those behind one letter ("X-ray") and between two words of a longer compound ("mother-in-law").
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._words, self._compounds = Counter[str](), Counter[str]()
        for text in texts:
            whole = _DIVIDED.sub(" ", text) if LINE_END_HYPHEN in text else text
            self._words.update(word.casefold() for word in _WORD.findall(whole))
            for compound in _COMPOUND.findall(whole):
                parts = _WORD.findall(compound.casefold())
                self._compounds.update(f"{before}-{after}" for before, after in pairwise(parts))

    def resolved(self, text: str) -> str:
        """Return a text with each marked hyphen removed, or as a hyphen."""
        return _DIVIDED.sub(lambda found: self._whole(found[0]), text) if LINE_END_HYPHEN in text else text

    def _whole(self, token: str) -> str:
        whole, *parts = token.split(LINE_END_HYPHEN)
        for number, part in enumerate(parts):
            # A word of three lines is divided twice.
            rest = "".join(parts[number:])
            whole += ("-" if _ADDRESS.search(token) else self._between(whole, rest) and self._between(whole, part)) + part
        return whole

    def _between(self, before: str, after: str) -> str:
        left, right = _LAST_LETTERS.search(before), _FIRST_LETTERS.match(after)
        if not left or not right or not right[0][0].islower():
            return "-"
        joined = left[0] + right[0]
        closed, hyphenated = self._words[joined.casefold()], self._compounds[f"{left[0]}-{right[0]}".casefold()]
        if closed or hyphenated:
            return "" if closed > hyphenated else "-"
        compound = before[: left.start()].endswith(_HYPHENS) or after[right.end() :].startswith(_HYPHENS)
        if len(left[0]) == 1 or self._is_word(f"{left[0]}-{right[0]}") or (compound and self._is_word(left[0]) and self._is_word(right[0])):
            return "-"
        if self._is_word(joined):
            return ""
        if right[0] in _CONJUNCTIONS.split():
            return "- "
        german_noun = self._languages == ("de",) and _GERMAN_NOUN.fullmatch(left[0]) and len(right[0]) > _LOANS
        return "" if german_noun else "-"

    @cached_property
    def _languages(self) -> tuple[str, ...]:
        found = {name: sum(self._words[word] for word in words.split()) for name, words in _FUNCTION_WORDS.items()}
        most = max(found.values())
        return tuple(name for name, times in found.items() if times >= _SECOND_LANGUAGE * most and times) or ("en",)

    def _is_word(self, word: str) -> bool:
        import simplemma

        # A capital begins a sentence, or is a German noun's.
        return any(simplemma.is_known(form, self._languages) for form in {word, word.lower()})
