"""Find the passage that a text probably means if no document contains it verbatim."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from functools import cached_property

from workbench.core.records import Document, Span

_QUOTES, _APOSTROPHES, _DASHES = '"“”„‟«»″', "'‘’‚‛′`´", "-‐‑‒–—―−"
_SIGNS = {sign: signs for signs in (_QUOTES, _APOSTROPHES, _DASHES) for sign in signs}
# What a text may differ in and still be the same to a reader, each with the form in which it does not.
_FORMS: dict[str, Callable[[str], str]] = {
    "white space": lambda text: " ".join(text.split()),
    "upper and lower case": str.casefold,
    "quotation marks, apostrophes or dashes": lambda text: text.translate({ord(sign): signs[0] for sign, signs in _SIGNS.items()}),
    "Unicode form (NFC or NFD)": lambda text: unicodedata.normalize("NFC", text),
}
# Bounds in characters: what all searches may read together (some 10 seconds), a corpus whose words are compared, a text that is looked for.
_READ, _COMPARED, _LONGEST = 300_000_000, 10_000_000, 2_000
# Aligning a document takes about as long as reading it this many times.
_ALIGNING = 20
_LIKENESS = 0.6
_WORD = re.compile(r"\S+")


class PassageFinder:
    """Documents, searched for texts that are not where they should be. Searches stop after a fixed amount of text."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._left = _READ

    def describe(self, text: str, doc_id: str | None = None) -> str:
        """Say where a text is, or the passage nearest to it, in this document or else in any. Returns an empty text if nothing is near."""
        if len(text) > _LONGEST or not text.strip():
            return ""
        own = [document for document in self._documents if document.doc_id == doc_id]
        for documents in (own, self._documents):
            self._left -= sum(len(document.text) for document in documents)
            if self._left > 0 and (description := _same(text, documents) or self._near(text, documents)):
                return description
        return ""

    def _near(self, text: str, documents: Sequence[Document]) -> str:
        """Describe the passage that shares most characters with the text, among the documents that share its rarest words."""
        if sum(len(document.text) for document in documents) > _COMPARED:
            return ""
        words = set(text.casefold().split())
        shared = {document: words & self._words[document.doc_id] for document in documents}
        often = Counter(word for own in shared.values() for word in own)
        ranked = sorted(documents, key=lambda document: -sum(1 / often[word] for word in shared[document]))
        near = []
        for document in ranked[:3]:
            self._left -= _ALIGNING * len(document.text)
            if shared[document] and self._left > 0:
                near.append(_aligned(text, document))
        likeness, span, passage = max(near, default=(0.0, Span("", 0, 0), ""), key=lambda candidate: candidate[0])
        return f"the nearest passage is {_at(span)}: {_shown(passage)}" if likeness >= _LIKENESS else ""

    @cached_property
    def _words(self) -> dict[str, set[str]]:
        return {document.doc_id: set(document.text.casefold().split()) for document in self._documents}


def _same(text: str, documents: Sequence[Document]) -> str:
    """Describe a passage that differs only in form, or return an empty text."""
    words = unicodedata.normalize("NFC", text).split()
    pattern = re.compile(r"\s+".join("".join(map(_loosely, word)) for word in words), re.IGNORECASE)
    for document in documents:
        if (at := document.text.find(text)) >= 0:
            return f"it is {_at(Span(document.doc_id, at, at + len(text)))}"
        if match := pattern.search(document.text):
            differing = " and ".join(differences(text, match[0]))
            return f"{_shown(match[0])} {_at(Span(document.doc_id, *match.span()))} differs only in {differing}"
    return ""


def differences(first: str, second: str) -> list[str]:
    """Return the forms in which two texts differ, if they differ only in these."""

    def plain(text: str, but: str) -> str:
        for name, form in _FORMS.items():
            text = text if name == but else form(text)
        return text

    return [name for name in _FORMS if plain(first, name) != plain(second, name)]


def _loosely(char: str) -> str:
    if char in _SIGNS:
        return f"[{re.escape(_SIGNS[char])}]"
    forms = dict.fromkeys((char, unicodedata.normalize("NFD", char)))
    return re.escape(char) if len(forms) == 1 else f"(?:{'|'.join(map(re.escape, forms))})"


def _aligned(text: str, document: Document) -> tuple[float, Span, str]:
    """Return the passage around the longest run of common words, as long as the text in words, with its likeness (0 to 1)."""
    places = [match.span() for match in _WORD.finditer(document.text)]
    words, wanted = [document.text[start:end].casefold() for start, end in places], text.casefold().split()
    block = SequenceMatcher(None, words, wanted, autojunk=False).find_longest_match()
    first = max(0, block.a - block.b)
    last = min(len(places), block.a - block.b + len(wanted)) - 1
    span = Span(document.doc_id, places[first][0], places[last][1])
    passage = document.text[span.start : span.end]
    return SequenceMatcher(None, passage.casefold(), text.casefold(), autojunk=False).ratio(), span, passage


def _at(span: Span) -> str:
    return f"in document {span.doc_id!r} at [{span.start}, {span.end})"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
