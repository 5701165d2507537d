"""Compare ids of labels with those of documents and queries: suggest the id that was meant, and accept another Unicode form."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import cache, cached_property

from workbench.core.formatting import nearest_word, same_letters
from workbench.datasets.draft import DatasetDraft

_SUFFIX = re.compile(r"\.(md|markdown|txt|html?|pdf|docx?|rst|json)$")
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)|(?<=\d)\.0$")
_LIKENESS = 0.75
# Bounds on the comparisons of ids that are only similar.
_COMPARED, _SUGGESTED = 1000, 100


class IdLookup:
    """Known ids, searched for the one that an unknown id probably means."""

    def __init__(self, ids: Iterable[str]) -> None:
        self._ids = dict.fromkeys(ids)
        self._compared = 0
        self.meant = cache(self._meant)

    def lacks(self, identity: str) -> bool:
        """Return whether an id is unknown. If no id could be read at all, the fault is elsewhere."""
        return bool(self._ids) and identity not in self._ids

    def unknown(self, what: str, wrong: str) -> str:
        """Return the end of a fault that names an unknown id, with the id that was probably meant."""
        return f"but this {what} does not exist{self.meant(wrong)}"

    def _meant(self, wrong: str) -> str:
        """Suggest an id in brackets, or return an empty text.

        An id matches without regard to case, blanks, leading zeros, the folder and the suffix of its file. Similar ids must have the same
        digits, because those of 'MED-12' and 'MED-13' tell documents apart.
        """
        if len(several := [part.strip() for part in wrong.split(",")]) > 1 and all(part in self._ids for part in several):
            return " (separate ids by ';', or write a JSON list)"
        plain = _plain(wrong)
        parts = plain.split("/")
        tails = ["/".join(parts[start:]) for start in range(len(parts))]
        for form, known in [*((tail, self._plain) for tail in tails), (parts[-1], self._last)]:
            if doc_ids := known.get(form):
                return f" (did you mean {doc_ids[0]!r}?)" if len(doc_ids) == 1 else ""
        close = self._similar(wrong)
        return f" (did you mean {close!r}?)" if close else ""

    def _similar(self, wrong: str) -> str | None:
        same = self._by_digits[_digits(wrong)]
        self._compared += 1
        return nearest_word(wrong, same, _LIKENESS) if len(same) <= _COMPARED and self._compared <= _SUGGESTED else None

    @cached_property
    def _plain(self) -> dict[str, list[str]]:
        return _grouped((_plain(known), known) for known in self._ids)

    @cached_property
    def _last(self) -> dict[str, list[str]]:
        return _grouped((_plain(known).rpartition("/")[2], known) for known in self._ids)

    @cached_property
    def _by_digits(self) -> dict[str, list[str]]:
        return _grouped((_digits(known), known) for known in self._ids)


def match_unicode(draft: DatasetDraft) -> None:
    """Give labels the id of the document that they name in another Unicode form, as macOS writes file names, and note it.

    An id that several documents have in other forms stays as it is.
    """
    known = {document.doc_id for document, _ in draft.documents}
    rows = [*((qrel.doc_id, where) for qrel, where in draft.qrels), *((row.span.doc_id, row.where) for row in draft.evidence)]
    rows += [(quote.doc_id, quote.where) for quote in draft.quotes if quote.doc_id is not None]
    strange = {doc_id: where for doc_id, where in reversed(rows) if doc_id not in known and not doc_id.isascii()}
    if not strange:
        return
    forms = _grouped((unicodedata.normalize("NFC", doc_id), doc_id) for doc_id in known)
    same = {doc_id: forms[unicodedata.normalize("NFC", doc_id)] for doc_id in strange}
    own = {doc_id: doc_ids[0] for doc_id, doc_ids in same.items() if len(doc_ids) == 1}
    draft.qrels = [(replace(qrel, doc_id=own.get(qrel.doc_id, qrel.doc_id)), where) for qrel, where in draft.qrels]
    draft.evidence = [replace(row, span=replace(row.span, doc_id=own.get(row.span.doc_id, row.span.doc_id))) for row in draft.evidence]
    draft.quotes = [replace(quote, doc_id=own.get(quote.doc_id or "", quote.doc_id)) for quote in draft.quotes]
    draft.notes += [
        f"{strange[doc_id]} writes the id {doc_id!r} in another Unicode form than its document; both are the same" for doc_id in own
    ]


def _plain(identity: str) -> str:
    text = same_letters(identity).strip().replace("\\", "/").strip("/")
    return _ZEROS.sub("", _SUFFIX.sub("", text))


def _digits(identity: str) -> str:
    return "".join(re.findall(r"\d", identity))


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    groups = defaultdict[str, list[str]](list)
    for key, identity in pairs:
        groups[key].append(identity)
    return groups
