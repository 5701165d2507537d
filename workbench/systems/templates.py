"""JSON templates of requests: `{query}` and other slots within any text of a nested value.

A text that is exactly one slot becomes the value itself: `{k}` a number, `{context}` a list of texts, `{metadata}` a mapping. Within a
longer text a list is joined by blank lines. Where a slot has no value (None), the key or the item that is exactly this slot is left
out, and a longer text has nothing in its place. `{{query}}` stays as the text `{query}`.

- A question has `{query}`, `{query_id}` and `{k}`, and an answer from given passages `{context}` also.
- A document has `{doc_id}`, `{text}`, `{title}` and `{metadata}`.
- Many documents in one request have `{doc_ids}`, `{texts}`, `{titles}` and `{metadatas}`, parallel lists, and `{documents}`, a list with
  one filled `document` template for each document.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from pydantic import JsonValue

from workbench.core.records import Document, Passage, Query
from workbench.core.text.formatting import listed, meant

Slots = Mapping[str, JsonValue]
QUESTION_SLOTS = ("query", "query_id", "k")
CONTEXT_SLOT = "context"
DOCUMENT_SLOTS = ("doc_id", "text", "title", "metadata")
DOCUMENTS_SLOTS = ("documents", "doc_ids", "texts", "titles", "metadatas")
_SLOT = re.compile(r"\{\{([A-Za-z_]\w*)\}\}|\{([A-Za-z_]\w*)\}")


def question_slots(query: Query, k: int, context: Sequence[Passage] | None = None) -> Slots:
    """Return the slots of a question. `context` is a list of texts, or None if there are no given passages. No template has the filter `where`."""
    texts: list[JsonValue] | None = None if context is None else [passage.text for passage in context]
    return {"query": query.text, "query_id": query.query_id, "k": k, CONTEXT_SLOT: texts, "where": dict(query.where)}


def document_slots(document: Document) -> Slots:
    """Return the slots of one document."""
    return {"doc_id": document.doc_id, "text": document.text, "title": document.title, "metadata": dict(document.metadata)}


def documents_slots(documents: Sequence[Document], template: JsonValue) -> Slots:
    """Return the slots of many documents in one request. `template` is that of one document in `{documents}`."""
    each = [document_slots(document) for document in documents]
    columns: dict[str, JsonValue] = {f"{name}s": [slots[name] for slots in each] for name in DOCUMENT_SLOTS}
    return {**columns, "documents": [fill(template, slots) for slots in each]}


def fill(template: JsonValue, slots: Slots) -> JsonValue:
    """Return the template with its slots filled. Values are not searched for slots again.

    Examples
    --------
    >>> fill({"q": "Find {query}", "top": "{k}", "context": "{context}"}, {"query": "cats", "k": 5, "context": None})
    {'q': 'Find cats', 'top': 5}
    """
    if isinstance(template, str):
        slot = _SLOT.fullmatch(template)
        return slots[slot[2]] if slot and slot[2] else _SLOT.sub(lambda match: _inside(match, slots), template)
    if isinstance(template, list):
        return [fill(item, slots) for item in template if not _absent(item, slots)]
    if isinstance(template, dict):
        return {name: fill(value, slots) for name, value in template.items() if not _absent(value, slots)}
    return template


def fill_url(template: str, slots: Slots) -> str:
    """Return an address with its slots filled by percent-encoded values."""
    return _SLOT.sub(lambda match: quote(_inside(match, slots), safe=""), template)


def slots_of(template: JsonValue) -> frozenset[str]:
    """Return the names of the slots in a template."""
    return frozenset(match[2] for text in _texts(template) for match in _SLOT.finditer(text) if match[2])


def check_slots(template: JsonValue, known: Sequence[str]) -> None:
    """Raise ValueError if the template has a slot besides the known ones."""
    for name in sorted(slots_of(template) - set(known)):
        raise ValueError(
            f"no slot {{{name}}}{meant(name, known)}; slots are {listed([f'{{{slot}}}' for slot in known], 12)}, "
            f"and {{{{{name}}}}} is the text {{{name}}}"
        )


def _absent(template: JsonValue, slots: Slots) -> bool:
    slot = _SLOT.fullmatch(template) if isinstance(template, str) else None
    return bool(slot and slot[2] and slots[slot[2]] is None)


def _inside(match: re.Match[str], slots: Slots) -> str:
    if match[1]:
        return f"{{{match[1]}}}"
    value = slots[match[2]]
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n\n".join(map(str, value))
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _texts(template: JsonValue) -> Iterator[str]:
    if isinstance(template, str):
        yield template
    elif isinstance(template, list | dict):
        for part in template.values() if isinstance(template, dict) else template:
            yield from _texts(part)
