"""Match the hits of a target with the documents of a dataset."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from workbench.core.records import Document, TargetHit
from workbench.core.text.display import excerpt
from workbench.core.text.words import words

AUTO, BY_ID, BY_TEXT = "auto", "id", "text"
# A shorter text stands for a document only if no other contains it.
_FEWEST_WORDS = 4
# Ids are names of files without this.
_FILE = re.compile(r"\.(md|txt|html?)$")


class DocumentPlace(NamedTuple):
    """The place of a hit in the dataset: the position `doc` of its document and characters [start, end) of it, each -1 if not known.

    `fault` says why the document or its characters are not known, empty if both are. A hit that is an id only has no characters and no fault.
    """

    doc: int = -1
    start: int = -1
    end: int = -1
    fault: str = ""


@dataclass(frozen=True)
class HitMatcher:
    """Matches hits with documents by `match`: `id`, `text`, the name of a field of the metadata, or `auto` for the id and then the text.

    The value of a field is that of the same field of the document, or the document's id.
    """

    documents: Sequence[Document]
    match: str = AUTO
    _by_text: dict[str, int] = field(default_factory=dict, repr=False, compare=False)

    def place(self, hit: TargetHit) -> DocumentPlace:
        """Return where a hit is. Text that is in several documents, or several times in one, is taken for its first occurrence."""
        # A list of texts looks like a list of ids. A number or a word is the id of something that the dataset lacks.
        unknown = self.match == AUTO and not hit.text and hit.doc_id not in self._ids
        if unknown and len(words(hit.doc_id or "")) > 1 and self._containing(hit.doc_id) is not None:
            hit = replace(hit, doc_id=None, text=hit.doc_id)
        doc = self._document(hit)
        if doc is None:
            return DocumentPlace(fault=self._unmatched(hit))
        text = (hit.text or "").strip()
        # Positions that do not fit the text are those of the text as another program has read it.
        if hit.start is not None and hit.end is not None and (not text or text in self.documents[doc].text[hit.start : hit.end]):
            length, doc_id = len(self.documents[doc].text), self.documents[doc].doc_id
            fits = 0 <= hit.start < hit.end <= length
            fault = f"it is [{hit.start}, {hit.end}) of {doc_id!r}, which has {length} characters"
            return DocumentPlace(doc, hit.start, hit.end) if fits else DocumentPlace(doc, fault=fault)
        if not text:
            return DocumentPlace(doc)
        # The pattern is slow for long texts, most of which are either there as they are or not at all.
        if " ".join(text.split()) in self._spaced[doc]:
            if (start := self.documents[doc].text.find(text)) >= 0:
                return DocumentPlace(doc, start, start + len(text))
            if found := re.search(r"\s+".join(map(re.escape, text.split())), self.documents[doc].text):
                return DocumentPlace(doc, *found.span())
        return DocumentPlace(doc, fault=f"its text is not in {self.documents[doc].doc_id!r}")

    def _document(self, hit: TargetHit) -> int | None:
        if self.match == AUTO:
            known = self._ids.get(hit.doc_id or "", self._ids.get(_FILE.sub("", hit.doc_id or "")))
            return self._containing(hit.text) if known is None else known
        if self.match == BY_TEXT:
            return self._containing(hit.text)
        if self.match == BY_ID:
            return self._ids.get(hit.doc_id or "")
        value = str(hit.metadata.get(self.match, hit.doc_id))
        return self._fields.get(value, self._ids.get(value))

    @cached_property
    def _ids(self) -> Mapping[str, int]:
        return {document.doc_id: place for place, document in enumerate(self.documents) if not document.missing}

    @cached_property
    def _fields(self) -> Mapping[str, int]:
        """Return the first document with each value of the field."""
        named = [(place, document.metadata) for place, document in enumerate(self.documents) if self.match in document.metadata]
        return {str(metadata[self.match]): place for place, metadata in reversed(named)}

    @cached_property
    def _spaced(self) -> Sequence[str]:
        """Return the texts with single spaces, as programs that tidy white space give them."""
        return ["" if document.missing else " ".join(document.text.split()) for document in self.documents]

    def _containing(self, text: str | None) -> int | None:
        plain = " ".join((text or "").split())
        if not plain:
            return None
        if plain not in self._by_text:
            holding = (place for place, spaced in enumerate(self._spaced) if plain in spaced)
            first = next(holding, -1)
            # A word or two are in many documents by chance.
            self._by_text[plain] = -1 if len(plain.split()) < _FEWEST_WORDS and next(holding, -1) >= 0 else first
        place = self._by_text[plain]
        return place if place >= 0 else None

    def _unmatched(self, hit: TargetHit) -> str:
        if self.match not in (AUTO, BY_ID, BY_TEXT):
            return f"no document has {self.match}={excerpt(str(hit.metadata.get(self.match, hit.doc_id)))!r}"
        parts = [f"the id {excerpt(hit.doc_id)!r}" if hit.doc_id and self.match != BY_TEXT else ""]
        parts += [f"the text {excerpt(hit.text)!r}" if hit.text and self.match != BY_ID else ""]
        return f"no document has {' or '.join(filter(None, parts)) or 'it: it has neither id nor text'}"
