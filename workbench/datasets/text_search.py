"""Search documents for a text, verbatim or with other white space."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import accumulate

from workbench.records import Document, Span

# No document without faults contains it, so that no text is found across two of them.
_END = "\x00"


class TextSearch:
    """Documents joined into one text, so that one search covers all of them."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._documents = tuple(documents)
        self._joined = _Joined([document.text for document in self._documents])

    def verbatim(self, text: str) -> list[Span]:
        """Every place of the text, also overlapping ones, by document and position."""
        return [Span(self._documents[row].doc_id, start, start + len(text)) for row, start in self._joined.find(text)]

    def loosely(self, text: str) -> list[Span]:
        """Every place of the text's words with any white space between them, as offsets into the document."""
        words = text.split()
        rows = dict.fromkeys(row for row, _ in self._normalised.find(" ".join(words)))
        pattern = re.compile(r"\s+".join(re.escape(word) for word in words))
        documents = [self._documents[row] for row in rows]
        return [Span(document.doc_id, *match.span()) for document in documents for match in pattern.finditer(document.text)]

    @cached_property
    def _normalised(self) -> "_Joined":
        return _Joined([" ".join(document.text.split()) for document in self._documents])


class _Joined:
    """Texts end to end."""

    def __init__(self, texts: list[str]) -> None:
        self._text = _END.join(texts)
        self._starts = list(accumulate((len(text) + 1 for text in texts), initial=0))

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """(row of the text, position in it) of every occurrence."""
        if not text or _END in text:
            return
        at = self._text.find(text)
        while at >= 0:
            row = bisect_right(self._starts, at) - 1
            yield row, at - self._starts[row]
            at = self._text.find(text, at + 1)
